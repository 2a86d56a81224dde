// Writes an SSTable: rows into Data.db, on the way blocks and keys into the index and the bloom filter, and everything into the
// statistics.
//
//   Data.db := (key: u16 length, bytes; partition deletion; [static row]; unfiltered*; 0x01)*
#include "storage/sstable/sstable_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/dcheck.h"
#include "runtime/gather.h"
#include "storage/sstable/checksums.h"
#include "storage/sstable/data_writer.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

SSTableWriter::SSTableWriter(Disk& disk, SSTableDescriptor descriptor, const SSTableVersion& version, TablePtr table,
                             SSTableWriterOptions options)
    : disk_(disk),
      descriptor_(std::move(descriptor)),
      version_(version),
      table_(std::move(table)),
      options_(std::move(options)),
      filter_(options_.estimated_partitions, table_->params.bloom_filter_fp_chance),
      statistics_(*table_) {
  if (options_.guardrails.any()) {
    guard_.emplace(options_.guardrails, *table_, descriptor_.file(components::kData));
  }
  for (const ColumnPtr& c : options_.static_columns) static_columns_.push_back(HeaderColumn::of(c.get()));
  for (const ColumnPtr& c : options_.regular_columns) regular_columns_.push_back(HeaderColumn::of(c.get()));
  auto before = [](const HeaderColumn& a, const HeaderColumn& b) { return compare_columns(a.column, b.column) < 0; };
  std::sort(static_columns_.begin(), static_columns_.end(), before);
  std::sort(regular_columns_.begin(), regular_columns_.end(), before);
  takes_uniform_rows_ = std::equal(
      regular_columns_.begin(), regular_columns_.end(), table_->regular_columns.begin(), table_->regular_columns.end(),
      [](const HeaderColumn& written, const ColumnPtr& c) { return written.column == c.get(); });
  const int64_t max = version_.max_deletion_time();
  options_.stats.min_local_deletion_time = std::min(options_.stats.min_local_deletion_time, max);
  header_ = {options_.stats, table_->clustering_types(), static_columns_, regular_columns_, max};
}

SSTableWriter::~SSTableWriter() {
  if (finished_) return;
  // Best effort: at the next start, an unfinished SSTable is removed.
  if (!created_.empty()) static_cast<void>(remove_sstable(disk_, descriptor_));
}

uint64_t SSTableWriter::bytes_written() const { return data_->file_bytes(); }

Status SSTableWriter::open() {
  ASSIGN_OR_RETURN(CompressionParams compression, CompressionParams::of(table_->params.compression));
  created_ = IndexWriter::components(version_);
  created_.insert(created_.end(), {components::kData, components::kStatistics, components::kDigest,
                                   compression.enabled() ? components::kCompressionInfo : components::kCrc});
  if (!filter_.always_present()) created_.push_back(components::kFilter);
  created_.push_back(components::kToc);
  for (std::string_view component : created_) {
    if (disk_.exists(descriptor_.file(component))) {
      created_.clear();
      return Error(ErrorCode::kIo, descriptor_.file(component) + " exists already");
    }
  }
  std::sort(created_.begin(), created_.end());
  TRY(mark_unfinished());
  ASSIGN_OR_RETURN(data_, DataWriter::create(disk_, descriptor_.file(components::kData), std::move(compression)));
  ASSIGN_OR_RETURN(index_, IndexWriter::create(disk_, descriptor_, *table_, header_, version_));
  return {};
}

// Sources may be damaged, or a Cassandra of old may have written them so.
Error SSTableWriter::out_of_order(std::string_view what) const {
  return Error(ErrorCode::kCorruption,
               fmt::format("A source of {} has {} that are not in order: nodetool scrub writes them in order",
                           descriptor_.file(components::kData), what));
}

uint64_t SSTableWriter::partition_offset() const { return data_->position() - partition_start_; }

// The first file of all, and the last that is given its final name.
Status SSTableWriter::mark_unfinished() {
  Bytes toc;
  for (std::string_view name : created_) toc.append(name).push_back('\n');
  small_bytes_ += toc.size();
  ASSIGN_OR_RETURN(auto file, disk_.create(descriptor_.file(components::kUnfinished)));
  return file->append(toc);
}

Status SSTableWriter::begin_partition(const DecoratedKey& key, const DeletionTime& deletion, const Row& static_row) {
  CHECK(!in_partition_ && key.key.size() <= 0xFFFF);
  if (statistics_.partitions() > 0 && !(DecoratedKey{token_, key_} < key)) return out_of_order("partitions");
  if (deletion.is_before_1970() && version_.has_uint_deletion_time) {
    return invalid(
        fmt::format("{}: the partition {} is deleted with timestamp {}, which this version cannot hold: nb can",
                    descriptor_.file(components::kData), to_hex(key.key), deletion.marked_for_delete_at));
  }
  in_partition_ = true;
  if (statistics_.partitions() == 0) first_key_.assign(key.key);
  key_.assign(key.key);
  token_ = key.token;
  deletion_ = deletion;
  partition_start_ = data_->position();
  previous_start_ = 0;
  open_deletion_ = {};
  in_block_ = false;
  index_->begin_partition();

  Bytes& out = data_->buffer();
  append_be<uint16_t>(out, static_cast<uint16_t>(key.key.size()));
  out.append(key.key);
  append_deletion(out, deletion, version_);
  statistics_.begin_partition(key.key, deletion);
  if (guard_) guard_->begin_partition(deletion);
  if (static_columns_.empty()) {
    CHECK(static_row.is_empty());
    header_bytes_ = partition_offset();
    return {};
  }
  Row row = static_row;
  row.clustering.kind = ClusteringKind::kStaticClustering;
  TRY(append_row(row, 0));
  header_bytes_ = partition_offset();
  if (row.is_empty()) return {};
  statistics_.add(row);
  if (guard_) guard_->add(key_, row);
  return {};
}

Result<uint64_t> SSTableWriter::begin_unfiltered(const ClusteringPrefix& position, bool is_row) {
  uint64_t start = partition_offset();
  if (previous_start_ != 0) {
    const int order = position.comparable.compare(block_last_.comparable);
    if (order < 0 || (order == 0 && is_row)) return out_of_order("rows");
  }
  if (!in_block_) {
    in_block_ = true;
    block_ = {start, open_deletion_};
    block_first_.assign(position);
  }
  block_last_.assign(position);
  return start - std::exchange(previous_start_, start);
}

// The begin of a large row is written while the rest is appended.
template <class AnyRow>
Status SSTableWriter::append_row(const AnyRow& row, uint64_t previous_size) {
  Status status;
  append_sstable_row(data_->buffer(), header_, row, previous_size, [&] {
    if (status.ok()) status = data_->flush_chunks();
  });
  return status;
}

Status SSTableWriter::append(const Unfiltered& unfiltered) {
  ASSIGN_OR_RETURN(const uint64_t previous_size, begin_unfiltered(unfiltered.position(), unfiltered.is_row));
  if (unfiltered.is_row) {
    TRY(append_row(unfiltered.row, previous_size));
    statistics_.add(unfiltered.row);
    if (guard_) guard_->add(key_, unfiltered.row);
  } else {
    append_sstable_marker(data_->buffer(), header_, unfiltered.marker, previous_size);
    statistics_.add(unfiltered.marker);
    if (guard_) guard_->add(unfiltered.marker);
    open_deletion_ = unfiltered.marker.open;
  }
  return end_unfiltered();
}

Status SSTableWriter::append(const UniformRow& row) {
  DCHECK(takes_uniform_rows_);
  ASSIGN_OR_RETURN(const uint64_t previous_size, begin_unfiltered(row.clustering, true));
  TRY(append_row(row, previous_size));
  statistics_.add(row);
  if (guard_) guard_->add(row);
  return end_unfiltered();
}

Status SSTableWriter::end_unfiltered() {
  const bool is_full = partition_offset() - block_.offset >= options_.row_index_granularity;
  // The index would have to say what is open between two blocks.
  if (is_full && !open_deletion_.is_before_1970()) end_block();
  return data_->flush_chunks();
}

void SSTableWriter::end_block() {
  index_->add_block({&block_first_, &block_last_, block_, partition_offset(), open_deletion_});
  in_block_ = false;
}

Status SSTableWriter::end_partition() {
  CHECK(in_partition_);
  in_partition_ = false;
  uint64_t end = partition_offset();
  data_->buffer().push_back(kEndOfPartition);
  if (index_->blocks() > 0 && in_block_) end_block();
  statistics_.end_partition(partition_offset());
  if (guard_) guard_->end_partition(key_, partition_offset());

  const std::array<uint64_t, 2> hash = murmur3_128(key_);
  hashes_.push_back(hash);
  if (hashes_.size() == kHashesAtOnce) add_hashes();
  index_->end_partition({{token_, key_}, hash, partition_start_, header_bytes_, end, deletion_});
  TRY(data_->flush_chunks());
  return index_->status();
}

void SSTableWriter::add_hashes() {
  filter_.add(hashes_);
  hashes_.clear();
}

Statistics SSTableWriter::gather_statistics() {
  Statistics s;
  statistics_.finish(header_, version_, &s);
  s.bloom_filter_fp_chance = table_->params.bloom_filter_fp_chance;
  if (data_->compressed()) {
    s.compression_ratio = static_cast<double>(data_->compressed_bytes()) / static_cast<double>(data_->position());
  }
  s.level = options_.level;
  s.repaired_at = options_.repaired_at;
  s.pending_repair = options_.pending_repair;
  for (const ColumnPtr& c : table_->clustering) s.clustering_types.push_back(c->type->class_name());
  s.commit_log_intervals = options_.commit_log_intervals;
  if (!options_.host_id.is_nil()) s.host_id = options_.host_id;
  s.first_key = first_key_;
  s.last_key = key_;
  if (options_.coverage) {
    s.token_space_coverage = options_.coverage(murmur3_token(first_key_), murmur3_token(key_));
  }
  s.encoding_stats = options_.stats;
  s.key_type = table_->partition_key_type()->class_name();
  for (const HeaderColumn& c : static_columns_)
    s.static_columns.push_back({c.column->name, c.column->type->class_name()});
  for (const HeaderColumn& c : regular_columns_) {
    s.regular_columns.push_back({c.column->name, c.column->type->class_name()});
  }
  return s;
}

Bytes SSTableWriter::checksums_of(const SmallComponents& small) const {
  ComponentChecksums checksums;
  index_->add_checksums(&checksums);
  for (const auto& [component, content] : small) {
    // Statistics.db has checksums of its own, and Cassandra changes it in place.
    if (component != components::kStatistics) checksums.emplace(component, crc32(content));
  }
  if (sequence_number(descriptor_.id)) record_owner(checksums, {options_.owner, data_->digest()});
  return serialize_checksums(checksums);
}

Result<std::unique_ptr<WriteFile>> SSTableWriter::write_file(std::string_view component, BytesView content) {
  small_bytes_ += content.size();
  ASSIGN_OR_RETURN(auto file, disk_.create(descriptor_.file(component)));
  TRY(file->append(content));
  return file;
}

Task<Result<SSTableInfo>> SSTableWriter::finish() {
  CHECK(!in_partition_ && statistics_.partitions() > 0);
  CO_TRY(data_->finish());
  CO_TRY(index_->finish());
  add_hashes();

  Statistics statistics = gather_statistics();
  SmallComponents small;
  small.emplace_back(components::kStatistics, statistics.serialize(version_));
  index_->add_small_components(&small);
  small.emplace_back(data_->compressed() ? components::kCompressionInfo : components::kCrc, data_->serialize_info());
  small.emplace_back(components::kDigest, fmt::format("{}", data_->digest()));
  if (!filter_.always_present()) small.emplace_back(components::kFilter, filter_.serialize());
  small.emplace_back(components::kChecksums, checksums_of(small));

  // All at once: a disk makes one journal entry of many syncs that wait together.
  std::vector<std::unique_ptr<WriteFile>> files;
  std::vector<Task<Status>> syncs;
  syncs.push_back(data_->sync());
  index_->add_syncs(&syncs);
  for (const auto& [component, content] : small) {
    auto file = write_file(component, content);
    if (!file.ok()) co_return std::move(file.error());
    syncs.push_back((*file)->sync());
    files.push_back(std::move(*file));
  }
  syncs.push_back(disk_.sync_file(descriptor_.file(components::kUnfinished)));
  syncs.push_back(disk_.sync_directory(descriptor_.directory));
  Status status = co_await run_together(std::move(syncs));
  CO_TRY(std::move(status));
  CO_TRY(disk_.rename(descriptor_.file(components::kUnfinished), descriptor_.file(components::kToc)));
  status = co_await disk_.sync_directory(descriptor_.directory);
  CO_TRY(std::move(status));
  finished_ = true;
  co_return info(statistics);
}

SSTableInfo SSTableWriter::info(const Statistics& statistics) const {
  SSTableInfo info = make_sstable_info(descriptor_, statistics);
  info.data_bytes = data_->file_bytes();
  info.uncompressed_bytes = data_->position();
  info.total_bytes = info.data_bytes + index_->bytes() + small_bytes_;
  info.partitions = statistics_.partitions();
  return info;
}

Result<std::unique_ptr<SSTableWriter>> SSTableWriter::create(Disk& disk, SSTableDescriptor descriptor, TablePtr table,
                                                             SSTableWriterOptions options) {
  const SSTableVersion* version = descriptor.known_version();
  const bool is_written = version != nullptr && (version->format == SSTableFormat::kBti || version->letters >= "nb");
  if (!is_written) {
    return invalid(
        fmt::format("Writing SSTable format {}-{} is not supported yet", descriptor.format, descriptor.version));
  }
  std::unique_ptr<SSTableWriter> writer(
      new SSTableWriter(disk, std::move(descriptor), *version, std::move(table), std::move(options)));
  TRY(writer->open());
  return writer;
}

}  // namespace cassandra_like
