#include "hints/hints_file.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/vint.h"
#include "hints/hints_parameters.h"

namespace cassandra_like {

namespace {

constexpr std::string_view kHintsSuffix = ".hints";
constexpr size_t kUuidText = 36;
constexpr size_t kFixedDescriptor = 4 + 8 + 16 + 4 + 4;  // before the parameters
constexpr size_t kMostParameters = 64 * 1024;
constexpr size_t kEntryHeader = 8;
constexpr size_t kEntryTrailer = 4;
constexpr size_t kSmallestHint = 8 + 1;
constexpr size_t kHintsPage = 512 * 1024;
constexpr size_t kChunkHeader = 8;
constexpr uint64_t kLargestChunk = uint64_t{256} << 20;  // uncompressed
constexpr uint64_t kBestCompression = 65536;             // more than any compressor reaches

uint32_t crc_of_int(uint32_t value, uint32_t previous) {
  char bytes[4];
  store_be(bytes, value);
  return crc32(BytesView(bytes, sizeof bytes), previous);
}
uint32_t crc_of_long(uint64_t value, uint32_t previous) {
  return crc_of_int(static_cast<uint32_t>(value >> 32), crc_of_int(static_cast<uint32_t>(value), previous));
}

uint32_t crc_of_fields(const HintsDescriptor& d, uint32_t parameters_size) {
  uint32_t crc = crc_of_int(static_cast<uint32_t>(d.version), 0);
  crc = crc_of_long(static_cast<uint64_t>(d.timestamp), crc);
  crc = crc_of_long(load_be<uint64_t>(d.host_id.view().data()), crc);
  crc = crc_of_long(load_be<uint64_t>(d.host_id.view().data() + 8), crc);
  return crc_of_int(parameters_size, crc);
}

std::optional<int64_t> parse_digits(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

// ---- names and descriptors

std::string HintsDescriptor::file_name() const {
  return fmt::format("{}-{}-{}{}", host_id.to_string(), timestamp, version, kHintsSuffix);
}

std::string hints_checksum_name(std::string_view file_name) {
  return std::string(file_name.substr(0, file_name.size() - kHintsSuffix.size())) + ".crc32";
}
std::string corrupt_hints_name(std::string_view file_name) {
  return std::string(file_name.substr(0, file_name.size() - kHintsSuffix.size())) + ".corrupt.hints";
}

std::optional<HintsFileName> parse_hints_file_name(std::string_view name) {
  if (!name.ends_with(kHintsSuffix) || name.size() <= kUuidText || name[kUuidText] != '-') return std::nullopt;
  const auto host_id = Uuid::parse(name.substr(0, kUuidText));
  name.remove_suffix(kHintsSuffix.size());
  name.remove_prefix(kUuidText + 1);
  const size_t dash = name.find('-');
  if (!host_id || dash == name.npos) return std::nullopt;
  const auto timestamp = parse_digits(name.substr(0, dash));
  if (!timestamp || !parse_digits(name.substr(dash + 1))) return std::nullopt;
  return HintsFileName{*host_id, *timestamp};
}

Bytes HintsDescriptor::serialize() const {
  Bytes out;
  const auto size = static_cast<uint32_t>(parameters.size());
  append_be(out, version);
  append_be(out, timestamp);
  out.append(host_id.view());
  append_be(out, size);
  const uint32_t crc = crc_of_fields(*this, size);
  append_be(out, crc);
  out.append(parameters);
  append_be(out, crc32(parameters, crc));
  return out;
}

// ---- entries

size_t hint_entry_size(int32_t gc_grace_seconds, size_t mutation_size) {
  return kEntryHeader + 8 + unsigned_vint_size(static_cast<uint64_t>(gc_grace_seconds)) + mutation_size + kEntryTrailer;
}

void append_hint_entry(Bytes& out, int64_t created_millis, int32_t gc_grace_seconds, BytesView mutation) {
  const auto size =
      static_cast<uint32_t>(hint_entry_size(gc_grace_seconds, mutation.size()) - kEntryHeader - kEntryTrailer);
  append_be(out, size);
  const uint32_t crc = crc_of_int(size, 0);
  append_be(out, crc);
  const size_t begin = out.size();
  append_be(out, created_millis);
  append_unsigned_vint(out, static_cast<uint64_t>(gc_grace_seconds));
  out.append(mutation);
  append_be(out, crc32(BytesView(out).substr(begin), crc));
}

// ---- reading

Result<std::unique_ptr<HintsFileReader>> HintsFileReader::open(std::unique_ptr<ReadFile> file) {
  std::unique_ptr<HintsFileReader> reader(new HintsFileReader(std::move(file)));
  TRY(reader->read_descriptor());
  const std::string& path = reader->file_->path();
  const HintsDescriptor& descriptor = reader->descriptor_;
  if (descriptor.version < kHintsVersion30 || descriptor.version > kHintsVersion50) {
    return invalid(fmt::format("The hints in {} are of version {}: versions {} to {} are read", path,
                               descriptor.version, kHintsVersion30, kHintsVersion50));
  }
  auto parameters = parse_hints_parameters(descriptor.parameters);
  if (!parameters) return reader->corrupt("its parameters are no JSON object");
  if (parameters->is_encrypted) return invalid(fmt::format("The hints in {} are encrypted, which is not read", path));
  if (!parameters->compressor.empty()) {
    auto compressor = Compressor::create(parameters->compressor, parameters->compressor_options);
    if (!compressor.ok()) {
      return invalid(fmt::format("The hints in {} are not read: {}", path, compressor.error().message()));
    }
    reader->compressor_ = std::move(*compressor);
  }
  return reader;
}

Error HintsFileReader::corrupt(const char* what) const {
  return Error(ErrorCode::kCorruption, fmt::format("Corrupt file of hints {}: {}", file_->path(), what));
}

Status HintsFileReader::read_descriptor() {
  char fixed[kFixedDescriptor];
  if (file_->size() < sizeof fixed) return corrupt("it ends within its descriptor");
  TRY(file_->read(0, fixed));
  Reader in(BytesView(fixed, sizeof fixed));
  descriptor_.version = in.i32();
  descriptor_.timestamp = in.i64();
  descriptor_.host_id = Uuid::from_bytes(in.take(16));
  const uint32_t size = in.u32();
  const uint32_t crc = crc_of_fields(descriptor_, size);
  if (in.u32() != crc) return corrupt("the checksum of its descriptor is wrong");
  if (size > kMostParameters || file_->size() - sizeof fixed < size + 4)
    return corrupt("it ends within its descriptor");
  Bytes rest(size + 4, '\0');
  TRY(file_->read(sizeof fixed, rest));
  descriptor_.parameters = rest.substr(0, size);
  if (load_be<uint32_t>(rest.data() + size) != crc32(descriptor_.parameters, crc)) {
    return corrupt("the checksum of its parameters is wrong");
  }
  begin_ = file_position_ = sizeof fixed + rest.size();
  return {};
}

Status HintsFileReader::load_bytes(size_t at_least) {
  const size_t size = std::min<uint64_t>(std::max(at_least, kHintsPage), file_->size() - file_position_);
  const size_t before = window_.size();
  window_.resize(before + size);
  TRY(file_->read(file_position_, std::span<char>(window_).subspan(before)));
  file_position_ += size;
  return {};
}

Status HintsFileReader::load_chunk() {
  const uint64_t left = file_->size() - file_position_;
  char header[kChunkHeader];
  if (left < sizeof header) {
    file_position_ = file_->size();
    return {};
  }
  TRY(file_->read(file_position_, header));
  const auto size = load_be<uint32_t>(header);
  const auto compressed_size = load_be<uint32_t>(header + 4);
  if (compressed_size > left - sizeof header || compressed_size == 0) {
    file_position_ = file_->size();
    torn_ = true;
    return {};
  }
  if (size > std::min(kLargestChunk, compressed_size * kBestCompression))
    return corrupt("the size of a compressed chunk is wrong");
  compressed_.resize(compressed_size);
  TRY(file_->read(file_position_ + sizeof header, compressed_));
  file_position_ += sizeof header + compressed_size;
  const size_t before = window_.size();
  window_.resize(before + size);
  const auto written = compressor_->decompress(compressed_, std::span<char>(window_).subspan(before));
  if (written != size) return corrupt("a compressed chunk is damaged");
  return {};
}

// False: so much is not there.
Result<bool> HintsFileReader::fill(size_t size) {
  if (window_.size() - at_ >= size) return true;
  window_.erase(0, at_);
  window_begin_ += at_;
  at_ = 0;
  while (window_.size() < size && file_position_ < file_->size()) {
    if (compressor_) {
      TRY(load_chunk());
    } else {
      TRY(load_bytes(size - window_.size()));
    }
  }
  return window_.size() >= size;
}

Result<bool> HintsFileReader::only_zeros_follow() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, fill(1));
    if (!more) return true;
    if (window_.find_first_not_of('\0', at_) != window_.npos) return false;
    at_ = window_.size();
  }
}

Result<bool> HintsFileReader::next(Hint& hint) {
  for (;;) {
    const uint64_t begin = position();
    ASSIGN_OR_RETURN(const bool has_header, fill(kEntryHeader));
    if (!has_header) {
      torn_ = torn_ || window_.size() > at_;
      return false;
    }
    const auto size = load_be<uint32_t>(window_.data() + at_);
    const uint32_t crc = crc_of_int(size, 0);
    if (size == 0) {
      ASSIGN_OR_RETURN(const bool zeros, only_zeros_follow());
      if (!zeros) return corrupt("an entry has no size");
      torn_ = true;
      return false;
    }
    if (load_be<uint32_t>(window_.data() + at_ + 4) != crc || size > 0x7FFFFFFF || size < kSmallestHint) {
      return corrupt("the size of an entry is wrong");
    }
    ASSIGN_OR_RETURN(const bool has_hint, fill(kEntryHeader + size + kEntryTrailer));
    if (!has_hint) {
      torn_ = true;
      return false;
    }
    hint.encoded = BytesView(window_).substr(at_ + kEntryHeader, size);
    at_ += kEntryHeader + size + kEntryTrailer;
    Reader in(hint.encoded);
    hint.position = begin;
    hint.created_millis = in.i64();
    const uint64_t gc_grace = read_unsigned_vint(in);
    hint.gc_grace_seconds = static_cast<int32_t>(std::min<uint64_t>(gc_grace, 0x7FFFFFFF));
    const bool intact = load_be<uint32_t>(hint.encoded.data() + size) == crc32(hint.encoded, crc);
    if (intact && !in.failed() && gc_grace <= 0x7FFFFFFF) return true;
    ++damaged_;
  }
}

Status HintsFileReader::seek(uint64_t position) {
  window_.clear();
  window_begin_ = 0;
  at_ = 0;
  file_position_ = begin_;
  if (!compressor_) {
    if (position > file_->size() - begin_) return corrupt("it is shorter than it was");
    window_begin_ = position;
    file_position_ += position;
    return {};
  }
  // Chunks that end before the position are passed over, compressed.
  while (file_->size() - file_position_ >= kChunkHeader) {
    char header[kChunkHeader];
    TRY(file_->read(file_position_, header));
    const auto size = load_be<uint32_t>(header);
    const auto compressed_size = load_be<uint32_t>(header + 4);
    if (window_begin_ + size > position || compressed_size > file_->size() - file_position_ - kChunkHeader) break;
    window_begin_ += size;
    file_position_ += kChunkHeader + compressed_size;
  }
  const uint64_t inside = position - window_begin_;
  ASSIGN_OR_RETURN(const bool there, fill(inside));
  if (!there) return corrupt("it is shorter than it was");
  at_ = inside;
  return {};
}

}  // namespace cassandra_like
