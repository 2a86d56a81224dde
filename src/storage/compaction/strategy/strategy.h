// Compaction strategies: which SSTables of a table are to be compacted next, and how the outputs are cut.
//
// A strategy is a pure function of what it is shown. It reads no file, no clock and no counter, keeps nothing between
// calls and marks nothing. The caller shows all live SSTables of one table on one shard, runs the task that it gets,
// and shows the SSTables again with the task's inputs marked busy. A strategy that returns no task is quiet until an
// SSTable comes or goes, or until time passes.
//
// SSTables fall into groups: only those of one group may be compacted together. A group is one data directory and one
// state of repair (unrepaired, repaired, pending in one session), as CompactionStrategyManager has one strategy instance
// for each. SSTables of other groups count where data may overlap, and nowhere else.
//
// The facts follow Cassandra 5.0.9's classes of the same names (db.compaction.*).
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/key.h"
#include "storage/compaction/strategy/options.h"
#include "storage/compaction/strategy/owned_ranges.h"

namespace cassandra_like {

// The facts of an SSTable that a strategy may know.
struct CompactionCandidate {
  uint64_t id = 0;     // the caller's name for it: unique, and larger for an SSTable with a later id
  uint32_t group = 0;  // see above
  // Never picked: an input of a running task; an SSTable whose data is damaged (unless it has expired and goes unread);
  // one that other shards share or that is set aside. Each still counts where data may overlap.
  bool busy = false;
  bool suspect = false;
  bool shared = false;
  bool repaired = false;

  uint64_t data_bytes = 0;   // of Data.db on disk (onDiskLength): sizes of all strategies
  uint64_t total_bytes = 0;  // of all components (bytesOnDisk)
  uint64_t partitions = 0;
  DecoratedKey first, last;                                     // both are in it; borrowed
  int32_t level = 0;                                            // 0 to 8, as Statistics.db has it
  int64_t min_timestamp = std::numeric_limits<int64_t>::min();  // of the writes
  int64_t max_timestamp = std::numeric_limits<int64_t>::max();
  int64_t max_local_deletion_time = std::numeric_limits<int64_t>::max();  // seconds; max(): something never expires
  int64_t created_millis = 0;                                             // last change of Data.db
  double droppable_ratio = 0;  // tombstones for each cell that CompactionView::gc_before lets go (droppable_before)
  double token_coverage = std::numeric_limits<double>::quiet_NaN();  // share of the ring, NaN: unknown
  double read_rate = 0;                                              // reads a second for each partition; 0: unknown
  // How many partitions have left <= token < right. Unset: estimated from the tokens' share.
  std::function<uint64_t(Token left, Token right)> partitions_between;
};

struct CompactionView {
  std::span<const CompactionCandidate> sstables;  // all live ones whose keys this shard serves
  uint32_t group = 0;                             // the one to pick from
  const OwnedRanges* ranges = nullptr;            // of this shard; outlives the call
  int64_t now_millis = 0;
  int64_t gc_before = 0;  // seconds: tombstones that were written before may go
  bool never_purge = false;
  // The least timestamp in memtables, also those being flushed; max(): they are empty.
  int64_t min_memtable_timestamp = std::numeric_limits<int64_t>::max();
  double flush_bytes = 0;  // what flushes of this table on this shard wrote lately, on disk; 0: none yet
};

// A strategy's memory of one group from call to call: a plain value that the caller keeps, empty at first and after a
// restart.
struct CompactionState {
  static constexpr size_t kLevels = 9;
  struct Key {
    Token token = kMinimumToken;
    Bytes key;
  };

  bool begun = false;
  int64_t last_expired_check_millis = 0;                   // UCS, TWCS
  int64_t highest_window_millis = 0;                       // TWCS
  int64_t flush_bytes = 0;                                 // UCS: that levels are made for
  uint64_t random = 0x9E3779B97F4A7C15;                    // UCS: which of several equal buckets
  std::array<std::optional<Key>, kLevels> last_compacted;  // LCS: where the last compaction of each level ended
  std::array<uint32_t, kLevels> rounds_without{};          // LCS: since a level was compacted
};

// How a task cuts its outputs.
struct OutputLimits {
  enum class Shape : uint8_t {
    kOne,     // one SSTable, or as many as max_bytes and boundaries make
    kLevels,  // a major leveled compaction: the level rises whenever a level is full
    kHalves,  // each is half of the rest, until less than 50 MB are left (a size-tiered compaction with split output)
  };
  Shape shape = Shape::kOne;
  int32_t level = 0;                                          // of the outputs; where kLevels begins
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();  // on disk; an output that has more is ended
  int32_t fanout = 10;                                        // kLevels
  uint64_t total_bytes = 0;                                   // kHalves: of all inputs
  // Ascending. An output that has data ends where the next key's token is greater than a boundary.
  std::vector<Token> boundaries;
  bool tells_coverage = false;  // Statistics.db tells the share of the ring that an output spans
};

struct CompactionTask {
  enum class Kind : uint8_t {
    kCompaction,  // ordinary
    kTombstones,  // one SSTable is written anew without what may go
    kExpired,     // all inputs were found wholly expired: nothing is read. The caller checks fully_expired() again
    kLevelMove,   // the one input is given limits.level; nothing is read
  };
  Kind kind = Kind::kCompaction;
  std::vector<uint64_t> inputs;  // candidates' ids
  OutputLimits limits;
  // The inputs that may be left out where disk space is short (without_largest()).
  enum class Shrink : uint8_t { kNever, kLargest, kLargestOfLevel0 };
  Shrink shrink = Shrink::kLargest;
};

class CompactionStrategy {
 public:
  virtual ~CompactionStrategy() = default;

  // The task to run next; nullopt: quiet.
  virtual std::optional<CompactionTask> next(const CompactionView& view, CompactionState& state) const = 0;
  // How many tasks would follow if nothing else was written.
  virtual uint32_t estimated_tasks(const CompactionView& view, const CompactionState& state) const = 0;
  // `nodetool compact`: everything that may be picked. split_output: -s.
  virtual std::vector<CompactionTask> major(const CompactionView& view, bool split_output) const = 0;
  // The named SSTables into one, or as they must be cut. `inputs` is not empty.
  virtual CompactionTask user_defined(const CompactionView& view, std::vector<uint64_t> inputs) const = 0;
  // How a flush is cut. flush_bytes: as CompactionView has it, before this flush.
  virtual OutputLimits flush_limits(const OwnedRanges& ranges, double flush_bytes) const = 0;
  // A task of next() has ended with these outputs (which may be none).
  virtual void ended(const CompactionView& before, const CompactionTask& task,
                     std::span<const CompactionCandidate> outputs, CompactionState& state) const = 0;
};

std::unique_ptr<CompactionStrategy> make_compaction_strategy(const CompactionOptions& options);

// The ones among `inputs` that serve no purpose any more and may be dropped unread: each of their cells has expired or is a
// tombstone older than gc_before, and neither another SSTable that overlaps the inputs nor a memtable has live data that
// is older (CompactionController.getFullyExpiredSSTables).
std::vector<uint64_t> fully_expired(const CompactionView& view, std::span<const uint64_t> inputs,
                                    const CompactionOptions& options);

// Takes the largest input out where disk space is short, as reduceScopeForLimitedSpace does; false: it must not shrink.
bool without_largest(const CompactionView& view, CompactionTask& task);

// Tells the writer of a task where outputs end, in the order that keys come.
class OutputCutter {
 public:
  explicit OutputCutter(OutputLimits limits);
  // Whether the output that has `bytes` (on disk, estimated; 0: nothing was written) ends before a key of this token.
  bool ends_before(Token token, uint64_t bytes);
  // Estimates which share of the rest goes to the output that begins with this token: more than 0, at most 1. The rest has
  // `bytes` (on disk) and ends with token `last`. ends_before() was called with the token.
  double share_of_output(Token token, Token last, uint64_t bytes) const;
  int32_t level() const { return level_; }  // of the output under way

 private:
  bool full(uint64_t bytes);

  OutputLimits limits_;
  size_t next_boundary_ = 0;
  int32_t level_ = 0;
  uint64_t level_bytes_ = 0;
  std::vector<uint64_t> halves_;
  size_t half_ = 0;
};

}  // namespace cassandra_like
