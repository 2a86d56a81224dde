// Both kinds of index.
#include "storage/sstable/index_writer.h"

#include "base/vint.h"
#include "storage/sstable/big_index.h"
#include "storage/sstable/index_summary.h"
#include "storage/sstable/partition_index.h"
#include "storage/sstable/row_index.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

class TrieIndexWriter final : public IndexWriter {
 public:
  TrieIndexWriter(std::unique_ptr<FileWriter> partitions, std::unique_ptr<FileWriter> rows)
      : partitions_(std::move(partitions)),
        rows_(std::move(rows)),
        partition_index_(*partitions_),
        row_index_(*rows_) {}

  void begin_partition() override { row_index_.reset(); }
  void add_block(const WrittenBlock& block) override {
    row_index_.add(block.first->comparable, block.last->comparable, block.start);
  }
  uint32_t blocks() const override { return row_index_.blocks(); }

  void end_partition(const WrittenPartition& partition) override {
    IndexPosition position{false, partition.position};
    // One block says nothing that the partition's position does not say.
    if (row_index_.blocks() > 1) {
      const uint64_t root = row_index_.complete(partition.end_offset);
      position = {true, rows_->position()};
      append_row_index_entry(*rows_, partition.key.key,
                             {partition.position, root, row_index_.blocks(), partition.deletion});
    }
    partition_index_.add(partition.key, partition.hash, position);
  }

  Status status() const override { return rows_->status().ok() ? partitions_->status() : rows_->status(); }

  Status finish() override {
    partition_index_.finish();
    rows_->flush();
    partitions_->flush();
    return status();
  }
  void add_syncs(std::vector<Task<Status>>* syncs) override {
    syncs->push_back(rows_->sync());
    syncs->push_back(partitions_->sync());
  }

  uint64_t bytes() const override { return rows_->position() + partitions_->position(); }
  void add_checksums(ComponentChecksums* checksums) const override {
    checksums->emplace(components::kPartitions, partitions_->checksum());
    checksums->emplace(components::kRows, rows_->checksum());
  }

 private:
  std::unique_ptr<FileWriter> partitions_, rows_;
  PartitionIndexWriter partition_index_;
  RowIndexWriter row_index_;
};

class BigIndexWriter final : public IndexWriter {
 public:
  BigIndexWriter(std::unique_ptr<FileWriter> index, const TableMetadata& table, const SerializationHeader& header,
                 const SSTableVersion& version)
      : index_(std::move(index)),
        table_(table),
        header_(header),
        version_(version),
        summary_(table.params.min_index_interval) {}

  void begin_partition() override { row_index_.reset(); }

  void add_block(const WrittenBlock& block) override {
    Arena arena;
    BigIndexInfo info;
    info.first = prefix(*block.first, arena);
    info.last = prefix(*block.last, arena);
    info.offset = block.start.offset;
    info.bytes = block.end_offset - block.start.offset;
    info.open_at_end = block.open_at_end;
    row_index_.add(info, header_, version_);
  }
  uint32_t blocks() const override { return row_index_.blocks(); }

  void end_partition(const WrittenPartition& partition) override {
    const BytesView key = partition.key.key;
    summary_.add(key, index_->position());
    entry_.clear();
    append_be<uint16_t>(entry_, static_cast<uint16_t>(key.size()));
    entry_.append(key);
    append_unsigned_vint(entry_, partition.position);
    row_index_.append_to(entry_, partition.header_bytes, partition.deletion, version_);
    index_->append(entry_);
  }

  Status status() const override { return index_->status(); }
  Status finish() override {
    index_->flush();
    return status();
  }
  void add_syncs(std::vector<Task<Status>>* syncs) override { syncs->push_back(index_->sync()); }
  uint64_t bytes() const override { return index_->position(); }
  void add_checksums(ComponentChecksums* checksums) const override {
    checksums->emplace(components::kPrimaryIndex, index_->checksum());
  }
  void add_small_components(SmallComponents* small) const override {
    small->emplace_back(components::kSummary, summary_.serialize());
  }

 private:
  ClusteringPrefix prefix(const BlockEnd& end, Arena& arena) const {
    ClusteringPrefix prefix;
    CHECK(split_comparable(table_, end.comparable, arena, &prefix));
    prefix.kind = end.kind;
    return prefix;
  }

  std::unique_ptr<FileWriter> index_;
  const TableMetadata& table_;
  const SerializationHeader& header_;
  const SSTableVersion& version_;
  BigRowIndexWriter row_index_;
  IndexSummaryBuilder summary_;
  Bytes entry_;
};

}  // namespace

std::vector<std::string_view> IndexWriter::components(const SSTableVersion& version) {
  if (version.format == SSTableFormat::kBti) return {components::kPartitions, components::kRows};
  return {components::kPrimaryIndex, components::kSummary};
}

Result<std::unique_ptr<IndexWriter>> IndexWriter::create(Disk& disk, const SSTableDescriptor& descriptor,
                                                         const TableMetadata& table, const SerializationHeader& header,
                                                         const SSTableVersion& version) {
  if (version.format == SSTableFormat::kBti) {
    ASSIGN_OR_RETURN(auto rows, FileWriter::create(disk, descriptor.file(components::kRows)));
    ASSIGN_OR_RETURN(auto partitions, FileWriter::create(disk, descriptor.file(components::kPartitions)));
    return std::unique_ptr<IndexWriter>(std::make_unique<TrieIndexWriter>(std::move(partitions), std::move(rows)));
  }
  ASSIGN_OR_RETURN(auto index, FileWriter::create(disk, descriptor.file(components::kPrimaryIndex)));
  return std::unique_ptr<IndexWriter>(std::make_unique<BigIndexWriter>(std::move(index), table, header, version));
}

}  // namespace cassandra_like
