// Sections, then the unmarked tail, of one commit log segment.
#include "storage/commitlog/segment_reader.h"

#include <fmt/format.h>

#include "base/checksum.h"

namespace cassandra_like {

namespace {

enum class RecordState { kWhole, kEnd, kBadSize, kBadMutation };

// Whether a marker's section was on the disk when the power failed.
enum class MarkerState { kStored, kTorn, kDamaged };

struct Record {
  RecordState state = RecordState::kEnd;
  BytesView mutation;
  uint32_t end = 0;  // also of kBadMutation, whose size is trustworthy
};

Record record_at(BytesView file, uint32_t offset, uint32_t limit) {
  if (limit - offset < 4) return {};
  auto size = load_be<uint32_t>(file.data() + offset);
  if (size == 0) return {};
  if (size < kSmallestMutation || size > limit - offset || limit - offset - size < kRecordOverhead) {
    return {.state = RecordState::kBadSize};
  }
  uint32_t crc = size_crc(size);
  if (crc != load_be<uint32_t>(file.data() + offset + 4)) return {.state = RecordState::kBadSize};
  BytesView mutation = file.substr(offset + 8, size);
  bool whole = crc32(mutation, crc) == load_be<uint32_t>(file.data() + offset + 8 + size);
  return {whole ? RecordState::kWhole : RecordState::kBadMutation, mutation, offset + kRecordOverhead + size};
}

class SegmentRun {
 public:
  SegmentRun(BytesView file, const std::string& path, const SegmentDescriptor& descriptor,
             const SegmentReadOptions& options, absl::FunctionRef<Status(BytesView, uint32_t)> record)
      : file_(file), path_(path), id_(descriptor.id), options_(options), record_(record) {}

  Result<SegmentSummary> run(uint32_t marker) {
    summary_.end = marker;
    while (!stopped_ && marker != 0 && has_marker_at(marker)) {
      switch (marker_state(marker)) {
        case MarkerState::kStored:
          TRY(read_section(marker + kMarkerSize, end_at(marker)));
          marker = end_at(marker);
          summary_.durable = marker;
          break;
        case MarkerState::kTorn: {
          ASSIGN_OR_RETURN(marker, read_tail(marker + kMarkerSize));
          break;
        }
        case MarkerState::kDamaged:
          TRY(
              damage(fmt::format("Encountered bad header at position {} of commit log {}, with invalid CRC. The end of "
                                 "segment marker should be zero.",
                                 marker, path_)));
          return summary_;
      }
    }
    return summary_;
  }

 private:
  Status read_section(uint32_t offset, uint32_t end) {
    while (offset < end && !stopped_) {
      Record found = record_at(file_, offset, end);
      switch (found.state) {
        case RecordState::kWhole:
          TRY(take(found));
          break;
        case RecordState::kBadMutation:
          TRY(damage(fmt::format("Mutation checksum failure at {} in {}", offset, path_)));
          break;
        case RecordState::kEnd:
        case RecordState::kBadSize:
          // Where the next record begins is lost with the size; the next marker is not.
          return damage(fmt::format("Mutation size checksum failure at {} in {}", offset, path_));
      }
      offset = found.end;
    }
    return {};
  }

  // Returns where a stored marker follows (its predecessor was lost); 0 at the end.
  Result<uint32_t> read_tail(uint32_t offset) {
    auto limit = static_cast<uint32_t>(file_.size());
    while (offset < limit) {
      Record found = record_at(file_, offset, limit);
      if (found.state != RecordState::kWhole && has_marker_at(offset)) {
        if (marker_state(offset) == MarkerState::kTorn) {
          found = record_at(file_, offset + kMarkerSize, limit);
        } else if (is_marked(offset)) {
          return offset;
        }
      }
      if (found.state != RecordState::kWhole) {
        summary_.torn = found.state != RecordState::kEnd;
        return 0u;
      }
      TRY(take(found));
      offset = found.end;
    }
    return 0u;
  }

  bool has_marker_at(uint32_t offset) const { return file_.size() >= offset + kMarkerSize; }

  uint32_t end_at(uint32_t marker) const { return load_be<uint32_t>(file_.data() + marker); }
  uint32_t crc_at(uint32_t marker) const { return load_be<uint32_t>(file_.data() + marker + 4); }
  bool is_marked(uint32_t offset) const { return crc_at(offset) == marker_crc(id_, offset); }

  // A power failure leaves a marker as it was before, zeros, or, of one that lies in two sectors of the disk, either
  // half. Its checksum does not cover its end: that this is right shows in the marker that is there.
  MarkerState marker_state(uint32_t marker) const {
    constexpr uint32_t kSector = 512;
    const uint32_t end = end_at(marker);
    if (end == 0 || crc_at(marker) == 0) return MarkerState::kTorn;
    const bool right = is_marked(marker) && end >= marker + kMarkerSize && end <= file_.size();
    if (marker % kSector <= kSector - kMarkerSize) return right ? MarkerState::kStored : MarkerState::kDamaged;
    return right && (!has_marker_at(end) || is_marked(end)) ? MarkerState::kStored : MarkerState::kTorn;
  }

  Status take(const Record& found) {
    ++summary_.records;
    summary_.end = found.end;
    return record_(found.mutation, found.end);
  }

  Status damage(std::string message) {
    if (options_.tolerate_truncation) {
      summary_.torn = stopped_ = true;
      return {};
    }
    return options_.on_damage(Error(ErrorCode::kCorruption, std::move(message)));
  }

  BytesView file_;
  const std::string& path_;
  int64_t id_;
  const SegmentReadOptions& options_;
  absl::FunctionRef<Status(BytesView, uint32_t)> record_;
  SegmentSummary summary_;
  bool stopped_ = false;
};

}  // namespace

Result<SegmentSummary> read_segment(BytesView file, const std::string& path, const SegmentDescriptor& descriptor,
                                    const SegmentReadOptions& options,
                                    absl::FunctionRef<Status(BytesView, uint32_t)> record) {
  return SegmentRun(file, path, descriptor, options, record).run(descriptor.header_size);
}

}  // namespace cassandra_like
