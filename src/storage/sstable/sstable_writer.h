// Writes one SSTable. Files are written under their final names except TOC.txt, which is TOC.txt.tmp until all others are
// on the disk: that tells an SSTable that a crash left unfinished from one that lost its TOC.txt.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "storage/sstable/bloom_filter.h"
#include "storage/sstable/index_writer.h"
#include "storage/sstable/partition_guard.h"
#include "storage/sstable/sstable.h"
#include "storage/sstable/statistics_collector.h"

namespace cassandra_like {

class DataWriter;

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
  // The share of the ring from one token to another, which Statistics.db tells of the SSTable. Unset: it does not.
  std::function<double(Token first, Token last)> coverage;
  SSTableOwner owner;  // recorded where the id does not tell
  SSTableGuardrails guardrails;
};

class SSTableWriter {
 public:
  static Result<std::unique_ptr<SSTableWriter>> create(Disk& disk, SSTableDescriptor descriptor, TablePtr table,
                                                       SSTableWriterOptions options);
  SSTableWriter(const SSTableWriter&) = delete;
  SSTableWriter& operator=(const SSTableWriter&) = delete;
  ~SSTableWriter();  // an unfinished SSTable's files are removed

  // Keys in ring order; unfiltereds in clustering order.
  Status begin_partition(const DecoratedKey& key, const DeletionTime& deletion, const Row& static_row);
  Status append(const Unfiltered& unfiltered);
  // Only when it takes them. The clustering has its comparable form.
  Status append(const UniformRow& row);
  // Whether the SSTable has all regular columns of the table, and no others.
  bool takes_uniform_rows() const { return takes_uniform_rows_; }
  Status end_partition();
  // In place of the option's.
  void set_repaired_at(int64_t repaired_at) { options_.repaired_at = repaired_at; }
  uint64_t bytes_written() const;
  // Writes the remaining components, syncs every file and the directory. At least one partition was written.
  Task<Result<SSTableInfo>> finish();

 private:
  SSTableWriter(Disk& disk, SSTableDescriptor descriptor, const SSTableVersion& version, TablePtr table,
                SSTableWriterOptions options);
  Status open();
  Error out_of_order(std::string_view what) const;
  uint64_t partition_offset() const;
  Status mark_unfinished();
  // Its result is the size of the unfiltered before it, or of the partition's header before the first one.
  Result<uint64_t> begin_unfiltered(const ClusteringPrefix& position, bool is_row);
  template <class AnyRow>
  Status append_row(const AnyRow& row, uint64_t previous_size);
  Status end_unfiltered();
  void end_block();
  void add_hashes();
  Statistics gather_statistics();
  Bytes checksums_of(const SmallComponents& small) const;
  Result<std::unique_ptr<WriteFile>> write_file(std::string_view component, BytesView content);
  SSTableInfo info(const Statistics& statistics) const;

  Disk& disk_;
  SSTableDescriptor descriptor_;
  const SSTableVersion& version_;
  TablePtr table_;
  SSTableWriterOptions options_;
  std::vector<HeaderColumn> static_columns_, regular_columns_;
  bool takes_uniform_rows_ = false;
  SerializationHeader header_;
  std::vector<std::string_view> created_;

  std::unique_ptr<DataWriter> data_;
  std::unique_ptr<IndexWriter> index_;
  BloomFilter filter_;
  // The hashes of the last partitions, which go to the filter together.
  static constexpr size_t kHashesAtOnce = 32;
  absl::InlinedVector<std::array<uint64_t, 2>, kHashesAtOnce> hashes_;
  StatisticsCollector statistics_;
  std::optional<PartitionGuard> guard_;  // none: no guardrail is set
  uint64_t small_bytes_ = 0;             // of the components that are written at the end
  bool finished_ = false;

  // The partition that is being written.
  bool in_partition_ = false;
  Bytes first_key_;  // of the SSTable
  Bytes key_;
  Token token_ = kMinimumToken;
  DeletionTime deletion_;
  uint64_t partition_start_ = 0;
  uint64_t header_bytes_ = 0;
  uint64_t previous_start_ = 0;  // of the last unfiltered, from the partition's start
  DeletionTime open_deletion_;
  // The block of its row index that is being filled.
  bool in_block_ = false;
  RowIndexBlock block_;
  BlockEnd block_first_, block_last_;
};

}  // namespace cassandra_like
