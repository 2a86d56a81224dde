// One SSTable: an immutable set of files that hold partitions in ring order.
//
// Two formats, in the versions that sstable_version.h lists: BTI (io.sstable.format.bti, BtiFormat.md) and BIG
// (io.sstable.format.big). Both have Data.db (compressed in chunks, with CompressionInfo.db, or plain with CRC.db),
// Filter.db, Statistics.db, Digest.crc32 and TOC.txt. BTI has Partitions.db and Rows.db, which are tries; BIG has Index.db,
// a list, and Summary.db, a sample of it.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/uuid.h"
#include "model/row_codec.h"
#include "read/partition_reader.h"
#include "runtime/disk.h"
#include "storage/cache/chunk_cache.h"
#include "storage/commit_log_position.h"
#include "storage/sstable/bloom_filter.h"
#include "storage/sstable/sstable_ids.h"
#include "storage/sstable_guardrails.h"

namespace cassandra_like {

class ColdReads;
class ComponentSet;
class DataFile;
class PartitionLookup;
struct ResolvedHeader;
struct SSTableFiles;
struct SSTableVersion;

// Names the files: <directory>/<version>-<id>-<format>-<component>, id as Cassandra prints SSTableId: 28 characters of a
// uuid, or a number.
struct SSTableDescriptor {
  std::string directory;
  std::string version = "da";
  std::string format = "bti";
  std::string id;

  std::string file(std::string_view component) const;
  bool operator==(const SSTableDescriptor&) const = default;
  // nullptr: of a version that this node does not know.
  const SSTableVersion* known_version() const;
  // An SSTable of a version; null: BTI da.
  static SSTableDescriptor of(const SSTableVersion* version, std::string directory, std::string id);
  // From a Data.db file's name; nullopt when it is not one.
  static std::optional<SSTableDescriptor> parse(const std::string& directory, std::string_view file_name);
  // The 28 characters of a time-based uuid (UUIDBasedSSTableId.toString), and back.
  static std::string id_of(const Uuid& uuid);
  static std::optional<Uuid> uuid_of(std::string_view id);
};

// Facts of an SSTable that need no read of its data (from Statistics.db and the files' sizes).
struct SSTableInfo {
  SSTableDescriptor descriptor;
  uint64_t data_bytes = 0;  // of Data.db, on disk
  uint64_t uncompressed_bytes = 0;
  uint64_t total_bytes = 0;  // of all components
  uint64_t partitions = 0;   // estimated from the key cardinality or counted
  uint64_t rows = 0;
  uint64_t cells = 0;
  int64_t min_timestamp = 0, max_timestamp = 0;
  int64_t min_local_deletion_time = 0, max_local_deletion_time = 0;
  int32_t min_ttl = 0, max_ttl = 0;
  double compression_ratio = -1;
  int level = 0;
  int64_t repaired_at = 0;
  std::optional<Uuid> pending_repair;
  Bytes first_key, last_key;
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>> commit_log_intervals;
  Uuid originating_host;
  // How many partitions have at most so many bytes, and so many cells (and more than the number before).
  std::vector<std::pair<uint64_t, uint64_t>> partition_sizes, cells_per_partition;

  // When its tombstones were or will be written off, in seconds, and their numbers: ascending, at most 100.
  std::vector<std::pair<int64_t, uint32_t>> tombstones;
  uint64_t estimated_cells = 0;

  // Tombstones that may be dropped before a time, for each cell (StatsMetadata.getEstimatedDroppableTombstoneRatio).
  double droppable_before(int64_t seconds) const;
  // EstimatedHistogram.rawMean of partition_sizes, bytes; 0 when there is none.
  double mean_partition_bytes() const;
};

// A key as lookups take it: hashed once, however many SSTables are asked. The key must outlive it.
struct HashedKey {
  HashedKey(const DecoratedKey& k) : key(k), hash(murmur3_128(k.key)) {}  // NOLINT: implicit on purpose

  const DecoratedKey& key;
  KeyHash hash;
};

class SSTable final : public std::enable_shared_from_this<SSTable> {
 public:
  // Reads the small components, maps the index. Fails with kCorruption naming the file and offset, or with kInvalid
  // "… is not supported yet" for other versions and formats. Reads of keys use and fill the cache, scans only use it; it
  // outlives the SSTable.
  static Result<std::shared_ptr<SSTable>> open(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table,
                                               ChunkCache* cache = nullptr);
  // open() for one that this process has just written: its components are not compared with their checksums.
  static Result<std::shared_ptr<SSTable>> open_written(Disk& disk, const SSTableDescriptor& descriptor,
                                                       const TablePtr& table, ChunkCache* cache);
  // One that scrub_sstable() is to read, and nobody else: components that are missing or damaged are done without, but for
  // Data.db, Statistics.db and, of compressed data, CompressionInfo.db. The index may be missing (lookup is null).
  static Result<std::shared_ptr<SSTable>> open_damaged(Disk& disk, const SSTableDescriptor& descriptor,
                                                       const TablePtr& table);
  SSTable(const SSTable&) = delete;
  SSTable& operator=(const SSTable&) = delete;
  ~SSTable();

  const SSTableInfo& info() const { return info_; }
  // Else it is a Cassandra's system.batches, in the order of keys, and only a scrub can read it.
  bool is_in_token_order() const { return is_in_token_order_; }
  // False: the partition is certainly not here (bloom filter, key bounds).
  bool may_contain(const HashedKey& key) const { return in_bounds(key.key) && filter_->may_contain(key.hash); }
  void prefetch(const HashedKey& key) const { filter_->prefetch(key.hash); }  // for may_contain()
  // These keys are about to be read: has what that needs of the filter, the index and the cached data brought into the
  // processor's caches. All keys wait for memory at the same time, so it is worth the more the more there are.
  void prefetch(std::span<const KeyHash> keys) const;
  // Reads a partition that may be here; nullptr when it is not. The table is the schema's current version: cells of columns that it
  // dropped (and that were written before) are left out. The reader keeps this SSTable open. Views are owned by the
  // reader; the selection's slices must outlive it. With `cold`, which outlives the reader, nothing waits for the disk:
  // what would have to fails with kDiskWait.
  Result<std::unique_ptr<PartitionReader>> read(const TablePtr& table, const HashedKey& key,
                                                const SliceSelection& selection, ColdReads* cold = nullptr) const;
  Result<std::unique_ptr<PartitionScanner>> scan(const TablePtr& table, const KeyRange& range,
                                                 const SliceSelection& selection, ColdReads* cold = nullptr) const;
  // Between the slices of whoever scans all of it without `cold`: has the data that comes next brought into memory.
  Task<Status> read_ahead(Disk& disk) const;
  // How many partitions lie in the range, from their share of the data and the mean partition: Cassandra's
  // SSTableReader.estimatedKeysForRanges. Exact when the range covers the whole SSTable.
  Result<uint64_t> estimated_partitions(const KeyRange& range) const;
  // Reads all data and checks every checksum and order: all at once what an SSTableVerifier does in steps.
  Status verify() const;
  // For readers and the verifier: the open files, the columns as a version of the schema sees them, the checksum of Data.db.
  SSTableFiles files(bool fills_cache, ColdReads* cold = nullptr) const;
  Result<std::shared_ptr<const ResolvedHeader>> resolve(const TablePtr& table) const;
  std::optional<uint32_t> digest() const { return digest_; }
  // After mutate_repaired_at().
  void set_repaired_at(int64_t repaired_at) { info_.repaired_at = repaired_at; }
  size_t memory_used() const;  // bloom filter, chunk offsets, index summary
  // Bloom filter accounting: lookups that it let through and that found nothing.
  uint64_t false_positives() const { return false_positives_; }

 private:
  // A column as Statistics.db has it.
  struct WrittenColumn {
    std::string name;
    TypePtr type;
  };

  SSTable() = default;
  static Result<std::shared_ptr<SSTable>> open(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table,
                                               ChunkCache* cache, bool verify);
  Status load(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table, ChunkCache* cache, bool verify);
  Status load_damaged(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table);
  Status read_statistics(const ComponentSet& components, bool puts_in_order);
  Status open_data(Disk& disk, const ComponentSet& components, ChunkCache* cache);
  Status open_filter(const ComponentSet& components);
  Status open_index(const ComponentSet& components);
  Status check_bounds(const TablePtr& table) const;
  bool in_bounds(const DecoratedKey& key) const { return first_key_ <= key && key <= last_key_; }

  SSTableInfo info_;
  const SSTableVersion* version_ = nullptr;
  TablePtr table_;
  size_t clustering_columns_ = 0;
  bool is_in_token_order_ = true;
  std::vector<WrittenColumn> static_columns_, regular_columns_;
  EncodingStats encoding_stats_;
  std::optional<BloomFilter> filter_;
  std::unique_ptr<DataFile> data_;
  std::unique_ptr<PartitionLookup> lookup_;
  DecoratedKey first_key_, last_key_;
  std::optional<uint32_t> digest_;                          // of Data.db
  mutable std::shared_ptr<const ResolvedHeader> resolved_;  // for the table that asked last
  mutable uint64_t false_positives_ = 0;
};
using SSTablePtr = std::shared_ptr<SSTable>;

// Writes it into Statistics.db, which is replaced as one step.
Task<Status> mutate_repaired_at(Disk* disk, SSTableDescriptor descriptor, int64_t repaired_at);
// The SSTables of a directory that are not unfinished, in the order of their names.
Result<std::vector<SSTableDescriptor>> list_sstables(Disk& disk, const std::string& directory);
Status remove_sstable(Disk& disk, const SSTableDescriptor& descriptor);

}  // namespace cassandra_like
