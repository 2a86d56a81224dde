// Step by step through the phases.
#include "storage/sstable/sstable_verifier.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"
#include "storage/sstable/bloom_filter.h"
#include "storage/sstable/index_summary.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/statistics.h"

namespace cassandra_like {

namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr int kKeysTogether = 16, kRowsTogether = 32, kBlocksTogether = 128;
constexpr size_t kSamplesTogether = 512;

}  // namespace

bool has_latest_version(const SSTableDescriptor& descriptor, const SSTableVersion* written) {
  const bool writes_big = written != nullptr && written->format == SSTableFormat::kBig;
  const SSTableVersion& big = writes_big ? *written : SSTableVersion::oa();
  const SSTableVersion* version = descriptor.known_version();
  return version == &SSTableVersion::da() || version == &big;
}

SSTableVerifier::SSTableVerifier(Disk* disk, std::shared_ptr<const SSTable> sstable, TablePtr table,
                                 SSTableVerifyOptions options)
    : disk_(disk),
      sstable_(std::move(sstable)),
      table_(std::move(table)),
      options_(std::move(options)),
      files_(sstable_->files(false)) {}

Error SSTableVerifier::corrupt(std::string_view component, uint64_t at, std::string_view what) const {
  return Error(ErrorCode::kCorruption,
               fmt::format("{} at {}: {}", sstable_->info().descriptor.file(component), at, what));
}

double SSTableVerifier::done() const {
  if (phase_ == Phase::kEnd) return 1;
  const double passes = reads_rows() ? 2 : 1;
  const size_t chunks = files_.data->chunks();
  const double of_data = chunks == 0 ? 0 : static_cast<double>(chunk_) / static_cast<double>(chunks);
  const double of_rows =
      static_cast<double>(next_partition_) / static_cast<double>(std::max<uint64_t>(files_.data->size(), 1));
  return (of_data + of_rows) / passes;
}

Status SSTableVerifier::run() {
  while (true) {
    ASSIGN_OR_RETURN(const bool more, step());
    if (!more) return {};
  }
}

Result<bool> SSTableVerifier::step() {
  switch (phase_) {
    case Phase::kBegin:
      TRY(begin());
      break;
    case Phase::kComponents:
      TRY(check_piece_of_component());
      break;
    case Phase::kKeys:
      TRY(check_keys());
      break;
    case Phase::kSamples:
      TRY(check_samples());
      break;
    case Phase::kData:
      TRY(check_chunk());
      break;
    case Phase::kRows:
      TRY(check_rows());
      break;
    case Phase::kEnd:
      break;
  }
  return phase_ != Phase::kEnd;
}

Status SSTableVerifier::begin() {
  if (disk_ == nullptr) {
    digest_ = sstable_->digest();
    return begin_keys();
  }
  ASSIGN_OR_RETURN(const ComponentSet components, ComponentSet::open(*disk_, sstable_->info().descriptor, false));
  TRY(components.check_toc());
  TRY(components.check_listed());
  if (components.has(components::kChecksums) && components.has_damaged_checksums()) {
    return corrupt(components::kChecksums, 0, "its own checksum does not match");
  }
  ASSIGN_OR_RETURN(digest_, components.data_digest());
  misses_digest_ = !digest_;
  TRY(read_small_components(components));
  for (std::string_view component : components::kAll) {
    const std::optional<uint32_t> expected = components.checksum_of(component);
    if (expected && components.has(component)) left_.emplace(component, *expected);
  }
  phase_ = Phase::kComponents;
  return {};
}

Status SSTableVerifier::read_small_components(const ComponentSet& components) {
  ASSIGN_OR_RETURN(const Bytes statistics, components.read(components::kStatistics));
  auto parsed = Statistics::parse(statistics, *files_.version);
  if (!parsed.ok()) return corrupt(components::kStatistics, 0, parsed.error().message());
  if (components.has(components::kFilter) && !components.is_verified(components::kFilter)) {
    ASSIGN_OR_RETURN(auto file, disk_->open(components.path(components::kFilter)));
    Bytes head(std::min<uint64_t>(file->size(), BloomFilter::kHeaderBytes), '\0');
    if (!head.empty()) TRY(file->read(0, head));
    if (!BloomFilter::is_header_of(head, file->size()))
      return corrupt(components::kFilter, 0, "a malformed bloom filter");
  }
  if (files_.version->format != SSTableFormat::kBig || components.is_verified(components::kSummary)) return {};
  if (!components.has(components::kSummary)) return corrupt(components::kSummary, 0, "the index summary is missing");
  ASSIGN_OR_RETURN(Bytes summary, components.read(components::kSummary));
  return IndexSummary::parse(std::move(summary)) ? Status()
                                                 : corrupt(components::kSummary, 0, "a malformed index summary");
}

Status SSTableVerifier::check_piece_of_component() {
  if (left_.empty()) return begin_keys();
  const std::string component = left_.begin()->first;
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(file_, disk_->open(sstable_->info().descriptor.file(component)));
    at_ = 0;
    crc_ = 0;
  }
  piece_.resize(std::min<uint64_t>(kPieceBytes, file_->size() - at_));
  if (!piece_.empty()) TRY(file_->read(at_, piece_));
  crc_ = crc32(BytesView(piece_.data(), piece_.size()), crc_);
  at_ += piece_.size();
  if (at_ < file_->size()) return {};
  if (crc_ != left_.begin()->second) {
    return corrupt(component, 0, fmt::format("the checksum in {} does not match", components::kChecksums));
  }
  file_ = nullptr;
  left_.erase(left_.begin());
  return {};
}

Status SSTableVerifier::begin_keys() {
  ASSIGN_OR_RETURN(header_, sstable_->resolve(table_));
  walk_ = files_.lookup->walk(RingPosition::minimum());
  SliceSelection nothing;
  nothing.wants_rows = false;
  reader_ = std::make_unique<SSTablePartitionReader>(files_, header_, nothing);
  phase_ = Phase::kKeys;
  return {};
}

Status SSTableVerifier::check_keys() {
  for (int i = 0; i < kKeysTogether; ++i) {
    PartitionPlace place;
    ASSIGN_OR_RETURN(const bool found, walk_->next(&place));
    if (!found) {
      if (keys_ != files_.lookup->count() || last_key_ != files_.lookup->last_key()) return files_.lookup->corrupt();
      phase_ = Phase::kSamples;
      return {};
    }
    if (is_null(place.key)) {
      TRY(reader_->begin(place, nullptr));
      place.key = reader_->key().key;
    }
    const DecoratedKey key = DecoratedKey::of(place.key);
    if (keys_++ > 0 && !(DecoratedKey::of(last_key_) < key)) {
      return corrupt_data(place.data_position, "partitions out of order");
    }
    if (options_.owns && !options_.owns(key.token)) {
      return corrupt_data(place.data_position, fmt::format("Key {} of token {} is not contained in the given ranges",
                                                           to_hex(key.key), key.token));
    }
    last_key_.assign(key.key);
  }
  return {};
}

Status SSTableVerifier::check_samples() {
  ASSIGN_OR_RETURN(const bool more, files_.lookup->verify(&sample_, kSamplesTogether));
  if (more) return {};
  walk_ = nullptr;
  reader_ = nullptr;
  if (!options_.quick) return begin_data();
  phase_ = Phase::kEnd;
  return {};
}

Status SSTableVerifier::begin_data() {
  if (disk_ != nullptr) {
    ASSIGN_OR_RETURN(file_, disk_->open(files_.data->path()));
    if (file_->size() != files_.data->file_bytes()) {
      return corrupt_data(file_->size(), fmt::format("the file had {} bytes", files_.data->file_bytes()));
    }
  }
  phase_ = Phase::kData;
  return {};
}

Status SSTableVerifier::check_chunk() {
  if (chunk_ < files_.data->chunks()) {
    const DataFile::Piece place = files_.data->piece(chunk_);
    piece_.resize(place.bytes);
    const std::span<char> piece(piece_.data(), piece_.size());
    TRY(file_ != nullptr ? file_->read(place.offset, piece) : files_.data->read_raw(place.offset, piece));
    crc_ = crc32(BytesView(piece_.data(), piece_.size()), chunk_ == 0 ? 0 : crc_);
    TRY(files_.data->check_piece(chunk_, BytesView(piece_.data(), piece_.size())));
    ++chunk_;
    return {};
  }
  file_ = nullptr;
  if (digest_ && crc_ != *digest_) return corrupt_data(0, "Digest.crc32 does not match");
  if (reads_rows()) return begin_rows();
  phase_ = Phase::kEnd;
  return {};
}

Status SSTableVerifier::begin_rows() {
  walk_ = files_.lookup->walk(RingPosition::minimum());
  reader_ = std::make_unique<SSTablePartitionReader>(files_, header_, SliceSelection());
  phase_ = Phase::kRows;
  return {};
}

Status SSTableVerifier::check_rows() {
  if (blocks_to_collect_ != nullptr) return collect_blocks();
  if (!in_partition_) {
    PartitionPlace place;
    ASSIGN_OR_RETURN(const bool found, walk_->next(&place));
    if (found) {
      if (options_.on_partition) options_.on_partition(next_partition_);
      return begin_partition(place);
    }
    if (next_partition_ != files_.data->size()) return corrupt_data(next_partition_, "data after the last partition");
    if (partitions_ != files_.lookup->count() || last_key_ != files_.lookup->last_key())
      return files_.lookup->corrupt();
    phase_ = Phase::kEnd;
    return {};
  }
  for (int i = 0; i < kRowsTogether; ++i) {
    const uint64_t start = reader_->end_position();
    ASSIGN_OR_RETURN(const Unfiltered* unfiltered, reader_->next());
    if (unfiltered == nullptr) return end_partition();
    TRY(check_unfiltered(*unfiltered, start));
  }
  return {};
}

// The partition is read as it lies, whether or not it has a row index.
Status SSTableVerifier::begin_partition(const PartitionPlace& place) {
  if (place.data_position != next_partition_) {
    return corrupt_data(place.data_position, "a partition that does not follow the one before it");
  }
  PartitionPlace in_data;
  in_data.data_position = place.data_position;
  in_data.key = place.key;
  TRY(reader_->begin(in_data, nullptr));
  const DecoratedKey& key = reader_->key();
  if (partitions_ > 0 && !(DecoratedKey::of(last_key_) < key)) {
    return corrupt_data(place.data_position, "partitions out of order");
  }
  last_key_.assign(key.key);
  const HashedKey hashed = key;
  if (!sstable_->may_contain(hashed)) {
    return corrupt_data(place.data_position, "a key that the bloom filter does not know");
  }
  PartitionPlace found;
  ASSIGN_OR_RETURN(const bool is_found, files_.lookup->find(hashed, &found));
  if (!is_found || found.data_position != place.data_position) return files_.lookup->corrupt();
  in_partition_ = true;
  last_position_.clear();
  open_ = {};
  if (place.blocks == 0) return {};
  blocks_to_collect_ = files_.lookup->open_blocks(place, header_->header, &blocks_space_);
  if (place.deletion != reader_->partition_deletion()) return blocks_to_collect_->corrupt();
  blocks_to_collect_->seek_last();
  return {};
}

Status SSTableVerifier::collect_blocks() {
  for (int i = 0; i < kBlocksTogether; ++i) {
    RowIndexBlock block;
    ASSIGN_OR_RETURN(const bool found, blocks_to_collect_->previous(&block));
    if (!found) {
      if (blocks_.empty()) return blocks_to_collect_->corrupt();
      blocks_to_collect_ = nullptr;
      return {};
    }
    if (!blocks_.empty() && block.offset >= blocks_.back().offset) return blocks_to_collect_->corrupt();
    blocks_.push_back(block);
  }
  return {};
}

// Whether the next block begins here, with what is open here. Rows of which the table has no column any more are not seen: a
// block may begin with one.
Status SSTableVerifier::check_block(uint64_t position) {
  const uint64_t offset = position - reader_->start_position();
  while (!blocks_.empty() && blocks_.back().offset <= offset) {
    const RowIndexBlock& block = blocks_.back();
    if (block.offset == offset ? block.open_deletion != open_ : table_->dropped_columns.empty()) {
      return corrupt_data(reader_->start_position() + block.offset, "no block of the row index begins here");
    }
    blocks_.pop_back();
  }
  return {};
}

Status SSTableVerifier::check_unfiltered(const Unfiltered& unfiltered, uint64_t start) {
  TRY(check_block(start));
  const BytesView position = unfiltered.position().comparable;
  if (!last_position_.empty() && position <= last_position_) {
    return corrupt_data(reader_->end_position(), "rows out of order");
  }
  last_position_.assign(position);
  if (unfiltered.is_row) return {};
  if (unfiltered.marker.close != open_) {
    return corrupt_data(reader_->end_position(), "a range tombstone that does not end where it should");
  }
  open_ = unfiltered.marker.open;
  return {};
}

Status SSTableVerifier::end_partition() {
  next_partition_ = reader_->end_position();
  if (!open_.is_live()) return corrupt_data(next_partition_, "a range tombstone without an end");
  // BTI has one block more, which begins at the partition's end: before its mark, or behind it.
  const uint64_t end = next_partition_ - reader_->start_position();
  if (!blocks_.empty() && (blocks_[0].offset == end - 1 || blocks_[0].offset == end)) blocks_.erase(blocks_.begin());
  TRY(check_block(next_partition_));
  if (!blocks_.empty())
    return corrupt_data(next_partition_, "the row index has a block behind this end of a partition");
  in_partition_ = false;
  ++partitions_;
  if (options_.on_sound_partition) options_.on_sound_partition(last_key_, reader_->start_position(), next_partition_);
  return {};
}

}  // namespace cassandra_like
