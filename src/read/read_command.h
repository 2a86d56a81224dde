// The request of a read to a replica, and the way in which rows come back.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "model/row.h"
#include "read/abandonment.h"
#include "read/limits.h"

namespace cassandra_like {

// One condition on a row that the key does not express. Conditions are joined by AND.
enum class Operator : uint8_t {
  kEq = 0,
  kLt = 4,
  kLte = 3,
  kGte = 1,
  kGt = 2,
  kIn = 7,
  kContains = 5,
  kContainsKey = 6,
  kNeq = 8,
  kIsNotNull = 9,
  kLikePrefix = 10,
  kLikeSuffix = 11,
  kLikeContains = 12,
  kLikeMatches = 13,
  kLike = 14,
  kAnn = 15,
};
struct FilterExpression {
  const Column* column = nullptr;
  Operator op = Operator::kEq;
  Bytes value;    // of kIn: a frozen list
  Bytes map_key;  // with is_map_entry: m[map_key] op value
  bool is_map_entry = false;
};
using RowFilter = std::vector<FilterExpression>;

// Whether a live row (with its partition's key and live static row) satisfies all conditions.
bool satisfies(const RowFilter& filter, const TableMetadata& table, const DecoratedKey& key, const Row& static_row,
               const Row& row, int64_t now_seconds);

// Mostly one.
using DecoratedKeys = absl::InlinedVector<DecoratedKey, 1>;
using Slices = absl::InlinedVector<Slice, 1>;

// The tombstones that a read has met, on all its shards and in all its parts. Thresholds are for their sum.
struct TombstoneCount {
  std::atomic<uint64_t> sum{0};
  std::atomic<bool> warned{false};  // a line of the log tells of them
};

struct ReadCommand {
  TablePtr table;
  int64_t now_seconds = 0;
  // Either single keys, in the order in which their partitions are wanted, or a range of the ring.
  DecoratedKeys keys;
  std::optional<KeyRange> range;
  Slices slices;  // sorted, disjoint; empty: the whole partition
  // The static row is asked for, too. A partition whose rows are all deleted but whose static row lives is reported.
  bool wants_static = true;
  // Rows of the slices may be left out altogether (SELECT DISTINCT, static columns only).
  bool wants_rows = true;
  bool reversed = false;  // slices and rows from the partition's end
  RowFilter filter;
  const IndexMetadata* index = nullptr;  // answer through this index with filter[index_expression]
  size_t index_expression = 0;
  DataLimits limits;
  // The deadline of the read is for so many rows, and begins anew behind them. So the read of a whole table has no
  // deadline of its own, but each part of the size of a page has one.
  uint64_t rows_of_deadline = DataLimits::kNone;
  // Where tombstones are counted when the command is a part of a read; null: it is a read of its own.
  TombstoneCount* tombstones = nullptr;
  // Where clients wait for the disk (commitlog_sync batch and group), the read waits for it, too: it shows nothing that a power
  // failure may take back. Counters are always read so.
  bool only_durable = false;
  // Looked at between the turns of a long read, on any shard; null: the answer is always wanted.
  Abandonment* abandonment = nullptr;

  // Whether a partition that has a static row alone counts as a row. With a restriction on clusterings the sink shows no
  // such row, and the limit is for what it shows.
  bool counts_static_rows() const { return slices.empty() || !wants_rows; }
};

// Cuts the command to the part behind a row or a bound of a partition, whose comparable form is given, or behind the whole
// partition when that is empty. Returns the rest of that partition, if it may have one. The result refers to the key.
std::optional<ReadCommand> continue_behind(ReadCommand& command, const DecoratedKey& key, const Bytes& clustering);
// Leaves of the slices what lies before the row at `clustering` in the direction of the read, and the row.
void end_slices_behind(Slices& slices, Bytes clustering, bool reversed);

// No read ends before it, in nanoseconds of the monotonic clock.
inline constexpr int64_t kNoDeadline = std::numeric_limits<int64_t>::max();
// When a read began, of one that begins when it is called.
inline constexpr int64_t kBeginsNow = std::numeric_limits<int64_t>::min();

class EncodingSink;

// Receives live rows as they are found; the views are valid during the call. Rows of one partition come in clustering
// order (reversed: from the end), partitions in the command's key order or in ring order.
class RowSink {
 public:
  enum class Next { kContinue, kSkipPartition, kStop };
  virtual ~RowSink() = default;
  // static_row has no live cells when there is none. Called once for each partition that has a live row (after
  // filtering), or a live static row with no row of the slices (the sink decides whether that is a result).
  virtual Next begin_partition(const DecoratedKey& key, const Row& static_row) = 0;
  virtual Next row(const Row& row) = 0;
  // The read took a break in the partition, and goes on. The views of the key are gone; it is this one now.
  virtual void continue_partition(const DecoratedKey&) {}
  // Whether another shard than the one that made it may call it, while that one waits: it refers to nothing that is changed
  // there meanwhile.
  virtual bool callable_from_any_shard() const { return false; }
  // Partitions of a range may come in any order.
  virtual bool takes_any_order() const { return false; }
  // A sink that wants nothing of rows but their values may be given plain ones as such.
  virtual bool takes_uniform_rows() const { return false; }
  virtual Next uniform_row(const UniformRow&) { return Next::kStop; }
  virtual Next end_partition() { return Next::kContinue; }
  // The limits of the command end the read behind this row of the partition that was the last to end; nullptr: behind the
  // partition. left_in_partition: of PER PARTITION LIMIT.
  virtual void ended_behind(const ClusteringPrefix* /*row*/, uint64_t /*left_in_partition*/) {}

  // A sink for one other shard, which makes of rows the bytes that this one would. Null when this one wants the rows.
  // It refers to what this one refers to, but not to this one.
  virtual std::unique_ptr<EncodingSink> fork() const { return nullptr; }
  // In place of all calls for a partition, or for a part of one: what a fork made of so many rows.
  virtual Next encoded_rows(const DecoratedKey&, BytesView /*bytes*/, uint64_t /*rows*/) { return Next::kStop; }
};

// Keeps what it makes of rows, one behind the other, and has no limit of its own.
class EncodingSink : public RowSink {
 public:
  // Valid until the next row.
  virtual BytesView encoded() const = 0;
  // Forgets it but keeps its memory.
  virtual void clear_encoded() = 0;
};

// The cost of a read, for tracing, warnings, metrics and tombstone thresholds.
struct ReadStatistics {
  uint64_t rows = 0;  // that the limits counted
  uint64_t tombstones = 0;
  uint64_t tombstones_of_last = 0;  // of them, in the partition that it looked at last
  uint64_t sstables = 0;
  uint64_t memtables = 0;
  bool stopped = false;  // by the limits or by the sink: there may be more
  int64_t ended = 0;     // by the monotonic clock of the shard that read, in ns; 0: many shards or nodes read
};

}  // namespace cassandra_like
