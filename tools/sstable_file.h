// An SSTable as offline tools know it: by the path of one of its files, and without a schema. Names and types of columns
// are those of Statistics.db; key columns have none, and are called as Cassandra's Util.metadataFromSSTable calls them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/sstable/data_reader.h"
#include "storage/sstable/partition_lookup.h"
#include "storage/sstable/sstable_partition_reader.h"
#include "storage/sstable/statistics.h"

namespace cassandra_like::sstable_tools {

// From the path of any component. kInvalid with Cassandra's message when the name is not one of an SSTable.
Result<SSTableDescriptor> descriptor_of(const std::string& path);

struct SSTableFile {
  SSTableDescriptor descriptor;
  const SSTableVersion* version = nullptr;
  Statistics statistics;
  std::string compressor;  // simple class name; empty: none

  // LocalPartitioner, which hidden tables of indexes have: a key is its own token, and its type gives the order.
  bool is_local() const { return statistics.partitioner.ends_with(".LocalPartitioner"); }

  static Result<SSTableFile> open(Disk& disk, const SSTableDescriptor& descriptor);
};

// An SSTable as a node opens it, and a table with the columns that it was written with.
struct OpenSSTableFile {
  std::shared_ptr<SSTable> sstable;
  TablePtr table;

  static Result<OpenSSTableFile> open(Disk& disk, const SSTableDescriptor& descriptor);
};

// An SSTableFile whose data can be read, from its beginning to its end or by key, as Cassandra's SSTableScanner does: it
// tells where in the uncompressed data it stands.
class SSTableData {
 public:
  static Result<std::unique_ptr<SSTableData>> open(Disk& disk, const SSTableFile& file);

  const TablePtr& table() const { return header_->table; }
  bool is_index() const { return is_index_; }
  uint64_t size() const { return data_->size(); }  // uncompressed
  BytesView first_key() const { return lookup_->first_key(); }
  BytesView last_key() const { return lookup_->last_key(); }

  // Partitions in the order of the file: all, or after only() those of some keys.
  void only(std::vector<Bytes> keys);
  // False at the end. The reader is behind the partition's header and static row.
  Result<bool> next();
  SSTablePartitionReader& partition() { return *reader_; }
  // Where the data goes on behind what was read last (getCurrentPosition).
  uint64_t position() const { return reader_->end_position(); }

 private:
  SSTableData() = default;
  Result<bool> next_of_tokens();
  Result<bool> next_of_keys();
  Result<bool> read_next();

  bool is_index_ = false;
  bool is_in_ring_order_ = true;
  std::unique_ptr<DataFile> data_;
  std::unique_ptr<PartitionLookup> lookup_;
  std::shared_ptr<const ResolvedHeader> header_;
  std::unique_ptr<SSTablePartitionReader> reader_;
  std::unique_ptr<PartitionWalk> walk_;
  std::optional<std::vector<Token>> tokens_;
  size_t token_ = 0;
  std::optional<std::set<Bytes>> keys_;
};

}  // namespace cassandra_like::sstable_tools
