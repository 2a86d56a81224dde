// An open SSTable: its small components in memory, its indexes mapped, its data read as it is wanted.
#include <fmt/format.h>

#include <cmath>

#include "base/checksum.h"
#include "base/log.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/data_reader.h"
#include "storage/sstable/partition_lookup.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_partition_reader.h"
#include "storage/sstable/sstable_verifier.h"
#include "storage/sstable/statistics.h"

namespace cassandra_like {

namespace {

constexpr std::string_view kPartitioner = "Murmur3Partitioner", kLocalPartitioner = "LocalPartitioner";

Error corrupt_file(const std::string& path, uint64_t at, std::string_view what) {
  return Error(ErrorCode::kCorruption, fmt::format("{} at {}: {}", path, at, what));
}

}  // namespace

SSTable::~SSTable() = default;

size_t SSTable::memory_used() const { return filter_->memory_used() + data_->memory_used() + lookup_->memory_used(); }

SSTableFiles SSTable::files(bool fills_cache, ColdReads* cold) const {
  return {shared_from_this(), version_, data_.get(), lookup_.get(), fills_cache, cold};
}

Task<Status> SSTable::read_ahead(Disk& disk) const { return data_->read_ahead(disk); }

Status SSTable::load(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table, ChunkCache* cache,
                     bool verify) {
  info_.descriptor = descriptor;
  version_ = descriptor.known_version();
  table_ = table;
  ASSIGN_OR_RETURN(const ComponentSet components, ComponentSet::open(disk, descriptor, verify));
  ASSIGN_OR_RETURN(digest_, components.data_digest());
  TRY(read_statistics(components, false));
  TRY(open_data(disk, components, cache));
  TRY(open_filter(components));
  TRY(open_index(components));
  info_.total_bytes = components.total_bytes();
  ASSIGN_OR_RETURN(resolved_, resolve(table));
  // Without a checksum of the index, its ends are tried: what else is wrong in it is found by those who read all.
  return components.is_verified(lookup_->component()) ? Status() : check_bounds(table);
}

Status SSTable::load_damaged(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table) {
  info_.descriptor = descriptor;
  version_ = descriptor.known_version();
  table_ = table;
  ASSIGN_OR_RETURN(const ComponentSet components, ComponentSet::open_damaged(disk, descriptor));
  // A scrub puts partitions in order. The files of an index are built anew.
  TRY(read_statistics(components, !table->is_index));
  const std::string path = components.path(components::kData);
  if (components.has(components::kCompressionInfo)) {
    TRY(open_data(disk, components, nullptr));
  } else if (!components.has(components::kCrc)) {
    return corrupt_file(components.path(components::kCompressionInfo), 0, "it is missing, and so is CRC.db");
  } else {
    ASSIGN_OR_RETURN(data_, DataFile::open_unchecked(disk, path));
    info_.data_bytes = info_.uncompressed_bytes = data_->size();
  }
  filter_ = BloomFilter::parse({}, false);
  info_.total_bytes = components.total_bytes();
  ASSIGN_OR_RETURN(resolved_, resolve(table));
  auto lookup = PartitionLookup::open(components, *table_, *version_);
  if (lookup.ok()) {
    lookup_ = std::move(*lookup);
    info_.partitions = lookup_->count();
  } else {
    LOG_WARN("Index is unreadable, scrubbing will continue without index: {}", lookup.error().message());
  }
  return {};
}

Status SSTable::read_statistics(const ComponentSet& components, bool puts_in_order) {
  const std::string path = components.path(components::kStatistics);
  ASSIGN_OR_RETURN(Bytes content, components.read(components::kStatistics));
  auto parsed = Statistics::parse(content, *version_);
  if (!parsed.ok()) return corrupt_file(path, 0, parsed.error().message());
  const Statistics& statistics = *parsed;
  is_in_token_order_ = statistics.partitioner.ends_with(kPartitioner);
  if (!is_in_token_order_ && !(puts_in_order && statistics.partitioner.ends_with(kLocalPartitioner))) {
    return invalid(fmt::format("{}: partitioner {} is not supported yet", path, statistics.partitioner));
  }
  clustering_columns_ = statistics.clustering_types.size();
  encoding_stats_ = statistics.encoding_stats;
  auto parse_columns = [&](const std::vector<HeaderColumnType>& from, std::vector<WrittenColumn>& to) -> Status {
    for (const HeaderColumnType& column : from) {
      ASSIGN_OR_RETURN(TypePtr type, types::parse_class(column.type));
      to.push_back({column.name, std::move(type)});
    }
    return {};
  };
  TRY(parse_columns(statistics.static_columns, static_columns_));
  TRY(parse_columns(statistics.regular_columns, regular_columns_));
  info_ = make_sstable_info(info_.descriptor, statistics);
  return {};
}

Status SSTable::open_data(Disk& disk, const ComponentSet& components, ChunkCache* cache) {
  const std::string path = components.path(components::kData);
  if (components.has(components::kCompressionInfo)) {
    ASSIGN_OR_RETURN(Bytes info, components.read(components::kCompressionInfo));
    ASSIGN_OR_RETURN(data_, DataFile::open_compressed(disk, path, info, *version_, cache));
  } else {
    ASSIGN_OR_RETURN(Bytes crcs, components.read(components::kCrc));
    ASSIGN_OR_RETURN(data_, DataFile::open_plain(disk, path, std::move(crcs)));
  }
  info_.data_bytes = data_->file_bytes();
  info_.uncompressed_bytes = data_->size();
  return {};
}

// Without a filter, as with one that is not wanted, every key may be here.
Status SSTable::open_filter(const ComponentSet& components) {
  Bytes content;
  if (components.has(components::kFilter)) {
    Result<Bytes> read = components.read(components::kFilter);
    if (read.ok()) {
      content = std::move(*read);
    } else if (read.error().code() != ErrorCode::kCorruption) {
      return std::move(read.error());
    } else {
      LOG_WARN("{}: not used, reads of keys that are not in the SSTable take longer", read.error().message());
    }
  }
  filter_ = BloomFilter::parse(content, version_->has_old_bf_format);
  if (!filter_) return corrupt_file(components.path(components::kFilter), 0, "a malformed bloom filter");
  return {};
}

Status SSTable::open_index(const ComponentSet& components) {
  ASSIGN_OR_RETURN(lookup_, PartitionLookup::open(components, *table_, *version_));
  first_key_ = DecoratedKey::of(lookup_->first_key());
  last_key_ = DecoratedKey::of(lookup_->last_key());
  const bool is_of_data =
      info_.first_key.empty() || (lookup_->first_key() == info_.first_key && lookup_->last_key() == info_.last_key);
  const std::string path = components.path(lookup_->component());
  if (!is_of_data) return corrupt_file(path, 0, "other first and last keys than Statistics.db has");
  if (!(first_key_ <= last_key_)) return corrupt_file(path, 0, "keys out of order");
  info_.first_key = Bytes(lookup_->first_key());
  info_.last_key = Bytes(lookup_->last_key());
  info_.partitions = lookup_->count();
  return {};
}

Status SSTable::check_bounds(const TablePtr& table) const {
  for (const DecoratedKey* key : {&first_key_, &last_key_}) {
    const HashedKey hashed(*key);
    if (!filter_->may_contain(hashed.hash)) {
      return corrupt_file(info_.descriptor.file(components::kFilter), 0, "the bloom filter does not know a key");
    }
    SliceSelection nothing;
    nothing.wants_rows = false;
    ASSIGN_OR_RETURN(auto found, read(table, hashed, nothing, nullptr));
    if (found == nullptr) return lookup_->corrupt();
  }
  return {};
}

Result<std::shared_ptr<const ResolvedHeader>> SSTable::resolve(const TablePtr& table) const {
  if (resolved_ != nullptr && resolved_->table == table) return resolved_;
  auto resolved = std::make_shared<ResolvedHeader>();
  resolved->table = table;
  if (table->clustering.size() != clustering_columns_) {
    return Error(ErrorCode::kCorruption,
                 fmt::format("{} has {} clustering columns, but {} has {}", info_.descriptor.file(components::kData),
                             clustering_columns_, table->qualified_name(), table->clustering.size()));
  }
  auto add = [&](const std::vector<WrittenColumn>& from, bool is_static, std::vector<HeaderColumn>& to) -> Status {
    for (const WrittenColumn& column : from) {
      auto header_column = resolve_header_column(*table, column.name, *column.type, is_static);
      if (!header_column) {
        return Error(ErrorCode::kCorruption, fmt::format("Unknown column {} during deserialization of {}", column.name,
                                                         info_.descriptor.file(components::kData)));
      }
      to.push_back(*header_column);
    }
    return {};
  };
  TRY(add(static_columns_, true, resolved->static_columns));
  TRY(add(regular_columns_, false, resolved->regular_columns));
  resolved->header = {encoding_stats_, table->clustering_types(), resolved->static_columns, resolved->regular_columns,
                      version_->max_deletion_time()};
  resolved->has_plain_rows =
      std::equal(resolved->regular_columns.begin(), resolved->regular_columns.end(), table->regular_columns.begin(),
                 table->regular_columns.end(), [](const HeaderColumn& written, const ColumnPtr& column) {
                   return written == HeaderColumn::of(column.get()) && !written.complex && !column->type->is_counter();
                 });
  resolved_ = resolved;
  return resolved_;
}

Result<std::unique_ptr<PartitionReader>> SSTable::read(const TablePtr& table, const HashedKey& key,
                                                       const SliceSelection& selection, ColdReads* cold) const {
  std::unique_ptr<PartitionReader> none;
  PartitionPlace place;
  ASSIGN_OR_RETURN(const bool found, lookup_->find(key, &place));
  if (found) {
    ASSIGN_OR_RETURN(auto header, resolve(table));
    auto reader = std::make_unique<SSTablePartitionReader>(files(true, cold), std::move(header), selection);
    ASSIGN_OR_RETURN(bool is_it, reader->begin(place, &key.key));
    if (is_it) return std::unique_ptr<PartitionReader>(std::move(reader));
  }
  if (!filter_->always_present()) ++false_positives_;
  return none;
}

namespace {

// A partition that was read to its end is followed by the next one. The partition index knows where the next one is when a
// reader leaves out something.
class SSTableScanner final : public PartitionScanner {
 public:
  SSTableScanner(std::shared_ptr<const SSTable> sstable, std::shared_ptr<const ResolvedHeader> header,
                 const KeyRange& range, const SliceSelection& selection, ColdReads* cold)
      : sstable_(std::move(sstable)),
        range_(range),
        lookup_(*sstable_->files(false).lookup),
        reader_(sstable_->files(false, cold), std::move(header), selection),
        follows_data_(selection.slices.empty() && selection.wants_rows && !selection.reversed),
        walk_(lookup_.walk(range_.start)) {}

  Result<PartitionReader*> next() override {
    while (!done_) {
      ASSIGN_OR_RETURN(const bool found, begin_next());
      if (!found) break;
      if (partitions_++ > 0 && reader_.key().token < last_) return lookup_.corrupt();
      last_ = reader_.key().token;
      if (range_.contains(reader_.key())) return &reader_;
      // A walk may begin before the range.
      done_ = range_.start.compare(reader_.key()) < 0;
    }
    const bool of_all =
        range_.start.compare(RingPosition::minimum()) == 0 && range_.end.compare(RingPosition::maximum()) == 0;
    if (!done_ && of_all && partitions_ != lookup_.count()) return lookup_.corrupt();
    done_ = true;
    return nullptr;
  }
  SSTablePartitionReader& reader() { return reader_; }

 private:
  Result<bool> begin_next() {
    PartitionPlace place;
    if (follows_data_ && partitions_ > 0 && reader_.is_at_end()) {
      walk_ = nullptr;
      place.data_position = reader_.end_position();
      if (place.data_position == sstable_->info().uncompressed_bytes) return false;
    } else {
      const bool begins = walk_ == nullptr;
      if (begins) walk_ = lookup_.walk(RingPosition::at(reader_.key()));
      do {
        ASSIGN_OR_RETURN(const bool found, walk_->next(&place));
        if (!found) return false;
      } while (begins && place.data_position <= reader_.start_position());
    }
    TRY(reader_.begin(place, nullptr));
    return true;
  }

  std::shared_ptr<const SSTable> sstable_;
  KeyRange range_;
  const PartitionLookup& lookup_;
  SSTablePartitionReader reader_;
  const bool follows_data_;              // where it can
  std::unique_ptr<PartitionWalk> walk_;  // none while the data is followed
  uint64_t partitions_ = 0;
  Token last_ = kMinimumToken;
  bool done_ = false;
};

// Where the first partition at or behind a place of the ring begins in the data; the data's end when there is none.
Result<uint64_t> data_position(const std::shared_ptr<const SSTable>& sstable, const TablePtr& table,
                               const RingPosition& place) {
  ASSIGN_OR_RETURN(auto header, sstable->resolve(table));
  KeyRange rest;
  rest.start = place;
  const SliceSelection everything;
  SSTableScanner scanner(sstable, std::move(header), rest, everything, nullptr);
  ASSIGN_OR_RETURN(const PartitionReader* first, scanner.next());
  return first == nullptr ? sstable->info().uncompressed_bytes : scanner.reader().start_position();
}

}  // namespace

Result<uint64_t> SSTable::estimated_partitions(const KeyRange& range) const {
  if (range.end.compare(first_key_) < 0 || range.start.compare(last_key_) > 0) return uint64_t{0};
  const bool from_start = range.start.compare(first_key_)<0, to_end = range.end.compare(last_key_)> 0;
  if (from_start && to_end) return lookup_->count();
  const auto self = shared_from_this();
  uint64_t start = 0, end = info_.uncompressed_bytes;
  if (!from_start) {
    ASSIGN_OR_RETURN(start, data_position(self, table_, range.start));
  }
  if (!to_end) {
    ASSIGN_OR_RETURN(end, data_position(self, table_, range.end));
  }
  const double mean = info_.mean_partition_bytes();
  if (mean <= 0 || end <= start) return uint64_t{0};
  return static_cast<uint64_t>(std::llround(static_cast<double>(end - start) / mean));
}

Result<std::unique_ptr<PartitionScanner>> SSTable::scan(const TablePtr& table, const KeyRange& range,
                                                        const SliceSelection& selection, ColdReads* cold) const {
  ASSIGN_OR_RETURN(auto header, resolve(table));
  return std::unique_ptr<PartitionScanner>(
      std::make_unique<SSTableScanner>(shared_from_this(), std::move(header), range, selection, cold));
}

Status SSTable::verify() const {
  SSTableVerifyOptions options;
  options.extended = true;
  SSTableVerifier verifier(nullptr, shared_from_this(), table_, std::move(options));
  return verifier.run();
}

Result<SSTablePtr> SSTable::open(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table,
                                 ChunkCache* cache, bool verify) {
  if (!is_supported_format(descriptor)) return unsupported_format(descriptor);
  std::shared_ptr<SSTable> sstable(new SSTable());
  TRY(sstable->load(disk, descriptor, table, cache, verify));
  return sstable;
}

Result<SSTablePtr> SSTable::open_damaged(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table) {
  if (!is_supported_format(descriptor)) return unsupported_format(descriptor);
  std::shared_ptr<SSTable> sstable(new SSTable());
  TRY(sstable->load_damaged(disk, descriptor, table));
  return sstable;
}

double SSTableInfo::mean_partition_bytes() const {
  uint64_t count = 0;
  double sum = 0;
  for (const auto& [bytes, partitions_of_size] : partition_sizes) {
    count += partitions_of_size;
    sum += static_cast<double>(bytes) * static_cast<double>(partitions_of_size);
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

Result<SSTablePtr> SSTable::open(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table,
                                 ChunkCache* cache) {
  return open(disk, descriptor, table, cache, true);
}

Result<SSTablePtr> SSTable::open_written(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table,
                                         ChunkCache* cache) {
  return open(disk, descriptor, table, cache, false);
}

}  // namespace cassandra_like
