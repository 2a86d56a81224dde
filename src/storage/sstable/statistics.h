// Statistics.db: what is known of an SSTable without reading its data, and the serialization header that its rows were
// written with (io.sstable.metadata.*). Brackets: there when the SSTableVersion has the fact.
//
//   file       := components:i32, CRC-32 of it, (type:i32, position:i32)*, CRC-32 of all so far, (component, its CRC-32)*
//   validation := partitioner (u16 length, bytes), chance of false positives of the bloom filter:f64
//   compaction := length:i32, cardinality sketch (cardinality.h)
//   stats      := histogram of partition sizes, histogram of cells per partition, last commit log position,
//                 min and max timestamp:i64, local deletion time:u32, ttl:i32, compression ratio:f64,
//                 tombstone histogram, level:i32, repaired at:i64,
//                 [improved min max: clustering types, covered slice]
//                 [legacy min max: values of the least and of the greatest clustering (count:i32, (u16 length, bytes)*)]
//                 legacy counter shards:bool, cells:i64, rows:i64, first commit log position, commit log intervals,
//                 pending repair (bool, uuid), transient:bool, [host (bool, uuid)], [partition deletions:bool],
//                 [first and last key (vint length, bytes)], [token space coverage:f64]
//   tombstones := size:i32 twice, (time, number)*: i64 and i32; f64 and i64 when deletion times end in 2038, which are
//                 i32 elsewhere, too
//   header     := encoding stats (vints), key type, clustering types, static columns, regular columns
//   types      := vint count, (vint length, class name)*; columns: vint count, (name, type: vint length, bytes)*
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/row_codec.h"
#include "storage/sstable/sstable.h"
#include "storage/sstable/sstable_version.h"

namespace cassandra_like {

// EstimatedHistogram with a number of buckets of its own: offsets 1, 2, 3 …, each a fifth more than the last; one more
// bucket counts what is above.
class EstimatedHistogram {
 public:
  explicit EstimatedHistogram(size_t offsets);
  void add(uint64_t value);
  Bytes serialize() const;
  static bool skip(Reader& in);
  // Parses the bytes of serialize(): the upper bounds of the buckets that are not empty, and their counts.
  static std::vector<std::pair<uint64_t, uint64_t>> points(BytesView serialized);

 private:
  std::vector<uint64_t> offsets_;
  std::vector<uint64_t> counts_;
  size_t last_ = 0;  // the bucket of the last value
};

// When tombstones were or will be written off: seconds, rounded up to minutes, to their number. At most 100 points, the
// nearest are merged.
class TombstoneHistogram {
 public:
  using Point = std::pair<int64_t, uint32_t>;
  void add(int64_t seconds);
  const std::vector<Point>& finish();
  const std::vector<Point>& points() const { return points_; }

 private:
  void drain();
  void insert(int64_t seconds, uint64_t count);
  void merge_nearest();

  std::vector<Point> points_;
  std::vector<std::pair<int64_t, uint64_t>> pending_;  // of unfinished counting, unsorted
};

struct HeaderColumnType {
  std::string name;
  std::string type;  // class name
};

struct Statistics {
  // validation
  std::string partitioner = "org.apache.cassandra.dht.Murmur3Partitioner";
  double bloom_filter_fp_chance = 0.01;
  // compaction
  Bytes cardinality;
  // stats
  Bytes partition_sizes, cells_per_partition;  // serialized histograms
  int64_t min_timestamp = std::numeric_limits<int64_t>::min();
  int64_t max_timestamp = std::numeric_limits<int64_t>::max();
  int64_t min_local_deletion_time = kNoDeletionTime;
  int64_t max_local_deletion_time = kNoDeletionTime;
  int32_t min_ttl = 0, max_ttl = 0;
  double compression_ratio = -1;
  std::vector<TombstoneHistogram::Point> tombstones;
  int32_t level = 0;
  int64_t repaired_at = 0;
  std::vector<std::string> clustering_types;
  Bytes covered_start, covered_end;  // as the version has them
  bool has_legacy_counter_shards = false;
  uint64_t cells = 0;
  uint64_t rows = 0;
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>> commit_log_intervals;
  std::optional<Uuid> pending_repair;
  bool is_transient = false;
  std::optional<Uuid> host_id;
  bool has_partition_deletions = false;
  Bytes first_key, last_key;
  double token_space_coverage = std::numeric_limits<double>::quiet_NaN();
  // header
  EncodingStats encoding_stats;
  std::string key_type;
  std::vector<HeaderColumnType> static_columns, regular_columns;

  Bytes serialize(const SSTableVersion& version) const;
  // kCorruption without a file name.
  static Result<Statistics> parse(BytesView file, const SSTableVersion& version);
  uint64_t estimated_cells() const;

 private:
  Bytes serialize_stats(const SSTableVersion& version) const;
  Bytes serialize_header() const;
  bool parse_stats(Reader& in, const SSTableVersion& version);
  bool parse_min_max(Reader& in, const SSTableVersion& version);
  bool parse_header(Reader& in);
};

// Without what only the files themselves tell.
SSTableInfo make_sstable_info(const SSTableDescriptor& descriptor, const Statistics& statistics);

}  // namespace cassandra_like
