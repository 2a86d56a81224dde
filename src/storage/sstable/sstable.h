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
#include "storage/sstable/sstable_ids.h"
#include "storage/sstable_guardrails.h"

namespace cassandra_like {

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
  // Tombstones and expiring cells, whenever they may go, for each cell: droppable_before() of the end of time.
  double droppable_tombstones = 0;
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

struct SSTableWriterOptions {
  EncodingStats stats;                                     // lower bounds of all that will be written
  std::vector<ColumnPtr> static_columns, regular_columns;  // those that occur (or all of the table)
  uint64_t estimated_partitions = 1;
  Uuid host_id;
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>> commit_log_intervals;
  uint32_t row_index_granularity = 16384;  // column_index_size, bytes
  int level = 0;
  int64_t repaired_at = 0;
  std::optional<Uuid> pending_repair;
  double token_space_coverage = std::numeric_limits<double>::quiet_NaN();  // share of the ring, when it is known
  SSTableOwner owner;                                                      // recorded where the id does not tell
  SSTableGuardrails guardrails;
};

// Writes one SSTable. Files are written under their final names except TOC.txt, which is TOC.txt.tmp until all others are
// on the disk: that tells an SSTable that a crash left unfinished from one that lost its TOC.txt.
class SSTableWriter {
 public:
  static Result<std::unique_ptr<SSTableWriter>> create(Disk& disk, SSTableDescriptor descriptor, TablePtr table,
                                                       SSTableWriterOptions options);
  virtual ~SSTableWriter() = default;  // an unfinished SSTable's files are removed

  // Keys in ring order; unfiltereds in clustering order.
  virtual Status begin_partition(const DecoratedKey& key, const DeletionTime& deletion, const Row& static_row) = 0;
  virtual Status append(const Unfiltered& unfiltered) = 0;
  virtual Status end_partition() = 0;
  // In place of the option's.
  virtual void set_repaired_at(int64_t repaired_at) = 0;
  virtual uint64_t bytes_written() const = 0;
  // Writes the remaining components, syncs every file and the directory. At least one partition was written.
  virtual Task<Result<SSTableInfo>> finish() = 0;
};

// A key as lookups take it: hashed once, however many SSTables are asked. The key must outlive it.
struct HashedKey {
  HashedKey(const DecoratedKey& k) : key(k), hash(murmur3_128(k.key)) {}  // NOLINT: implicit on purpose

  const DecoratedKey& key;
  std::array<uint64_t, 2> hash;
};

class SSTable : public std::enable_shared_from_this<SSTable> {
 public:
  // Reads the small components, maps the index. Fails with kCorruption naming the file and offset, or with kInvalid
  // "… is not supported yet" for other versions and formats. Reads of keys use and fill the cache, scans only use it; it
  // outlives the SSTable.
  static Result<std::shared_ptr<SSTable>> open(Disk& disk, const SSTableDescriptor& descriptor, const TablePtr& table,
                                               ChunkCache* cache = nullptr);
  virtual ~SSTable() = default;

  virtual const SSTableInfo& info() const = 0;
  // False: the partition is certainly not here (bloom filter, key bounds).
  virtual bool may_contain(const HashedKey& key) const = 0;
  // Reads a partition that may be here; nullptr when it is not. The table is the schema's current version: cells of columns that it
  // dropped (and that were written before) are left out. The reader keeps this SSTable open. Views are owned by the
  // reader; the selection's slices must outlive it.
  virtual Result<std::unique_ptr<PartitionReader>> read(const TablePtr& table, const HashedKey& key,
                                                        const SliceSelection& selection) const = 0;
  virtual Result<std::unique_ptr<PartitionScanner>> scan(const TablePtr& table, const KeyRange& range,
                                                         const SliceSelection& selection) const = 0;
  // How many partitions lie in the range, from their share of the data and the mean partition: Cassandra's
  // SSTableReader.estimatedKeysForRanges. Exact when the range covers the whole SSTable.
  virtual Result<uint64_t> estimated_partitions(const KeyRange& range) const = 0;
  // Reads all data and checks every checksum and order: all at once what an SSTableVerifier does in steps.
  virtual Status verify() const = 0;
  // For readers and the verifier: the open files, the columns as a version of the schema sees them, the checksum of Data.db.
  virtual SSTableFiles files(bool fills_cache) const = 0;
  virtual Result<std::shared_ptr<const ResolvedHeader>> resolve(const TablePtr& table) const = 0;
  virtual std::optional<uint32_t> digest() const = 0;
  // After mutate_repaired_at().
  virtual void set_repaired_at(int64_t repaired_at) = 0;
  virtual size_t memory_used() const = 0;  // bloom filter, chunk offsets, index summary
  // Bloom filter accounting: lookups that it let through and that found nothing.
  virtual uint64_t false_positives() const = 0;
};
using SSTablePtr = std::shared_ptr<SSTable>;

// Writes it into Statistics.db, which is replaced as one step.
Task<Status> mutate_repaired_at(Disk* disk, SSTableDescriptor descriptor, int64_t repaired_at);
// The SSTables of a directory that are not unfinished, in the order of their names.
Result<std::vector<SSTableDescriptor>> list_sstables(Disk& disk, const std::string& directory);
Status remove_sstable(Disk& disk, const SSTableDescriptor& descriptor);

}  // namespace cassandra_like
