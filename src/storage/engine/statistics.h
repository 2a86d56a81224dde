// Numbers of one shard's engine and of its tables.
#pragma once

#include <string>

#include "base/histogram.h"
#include "base/uuid.h"
#include "model/schema.h"
#include "storage/cache/chunk_cache.h"
#include "storage/options.h"

namespace cassandra_like {

// Numbers of one table on one shard, for tablestats, tablehistograms and metrics.
struct TableStatistics {
  uint64_t sstables = 0;
  uint64_t live_disk_bytes = 0;
  uint64_t total_disk_bytes = 0;
  uint64_t snapshot_bytes = 0;
  double compression_ratio = -1;
  uint64_t estimated_partitions = 0;
  uint64_t memtable_rows = 0;
  uint64_t memtable_bytes = 0;
  uint64_t memtable_switches = 0;
  uint64_t reads = 0;  // of keys, as read_micros
  uint64_t writes = 0;
  uint64_t pending_flushes = 0;
  uint64_t bloom_false_positives = 0;
  uint64_t bloom_bytes = 0;
  uint64_t index_summary_bytes = 0;
  uint64_t compression_metadata_bytes = 0;
  Histogram read_micros, range_micros, write_micros, sstables_per_read, partition_bytes, cells_per_partition,
      tombstones_per_read, live_rows_per_read;
};

// The estimate of one shard's SSTables for a range of the ring. The mean partition is partition_bytes / counted.
struct SizeEstimate {
  uint64_t partitions = 0;       // in the range
  uint64_t partition_bytes = 0;  // of all partitions of the SSTables that reach into the range
  uint64_t counted = 0;          // those partitions
};

// A compaction under way.
struct RunningCompaction {
  Uuid id;
  TablePtr table;  // may be the hidden one of an index
  CompactionOperation operation = CompactionOperation::kCompaction;
  uint64_t completed = 0, total = 0;  // bytes of the inputs, uncompressed; completed is an estimate
  uint64_t total_compressed = 0;      // of the inputs, on disk
  size_t sstables = 0;                // the inputs
  std::string directory;              // of the outputs
};

// Automatic compaction of a table, or of the hidden table of an index, whose name is "table.index".
struct AutoCompactionState {
  std::string keyspace, table;
  bool running = false;        // it is switched on
  uint32_t pending_tasks = 0;  // that the strategy would give if nothing else was written
  int32_t min_threshold = 0, max_threshold = 0;
};

struct EngineStatistics {
  uint64_t commitlog_bytes = 0;
  uint64_t commitlog_segments = 0;
  uint64_t commitlog_pending = 0;  // writes waiting for a sync
  uint64_t commitlog_completed = 0;
  uint64_t memtable_bytes = 0;
  uint64_t flushes_completed = 0;
  uint64_t flushes_pending = 0;
  uint64_t compactions_completed = 0;
  double compactions_per_second = 0;  // of the last fifteen minutes (meter.h)
  uint64_t compactions_pending = 0;
  uint64_t bytes_compacted = 0;  // read, uncompressed
  // Automatic ones that had no room: not run, or run with fewer SSTables, and how many fewer.
  uint64_t compactions_aborted = 0, compactions_reduced = 0, sstables_left_out = 0;
  uint64_t compaction_throughput = 0;  // of the node, bytes a second; 0: no limit
  unsigned concurrent_compactors = 0;  // of the node
  uint64_t compressed_bytes_compacted = 0;
  ChunkCache::Statistics chunk_cache;
  Histogram disk_wait_micros;  // of reads that found something not in memory, each wait
};

}  // namespace cassandra_like
