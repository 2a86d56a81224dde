// A table in memory that a strategy compacts: SSTables are sorted lists of rows, flushes and compactions are instant. Keys are
// numbers, spread evenly over the tokens of one shard.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>

#include "storage/compaction/strategy/strategy.h"

namespace cassandra_like::strategy_test {

struct SimulatedRow {
  uint32_t key = 0;
  int64_t written_millis = 0;
  bool operator==(const SimulatedRow&) const = default;
};

class SimulatedTable {
 public:
  struct Setup {
    StringPairs compaction;
    uint32_t keys = 20'000;
    uint64_t row_bytes = 10'000;
    int64_t ttl_millis = 0;  // 0: rows stay
    OwnedRanges ranges;
  };
  explicit SimulatedTable(Setup setup);

  // Time passes, then rows of random keys (with a key as often as it comes) are written and flushed.
  void flush(std::mt19937_64& random, size_t rows, int64_t after_millis);
  // Runs tasks until there is none; how many there were. Stops after `most`.
  size_t compact(size_t most);
  void pass(int64_t millis) { now_millis_ += millis; }
  // The whole table becomes what `nodetool compact` makes of it.
  void compact_all();

  size_t sstables() const { return sstables_.size(); }
  size_t sstables_at_level(int32_t level) const;
  // How many SSTables have bounds around the key that has most.
  size_t most_overlap() const;
  uint64_t live_bytes() const;
  // Bytes that flushes and compactions wrote, for each byte that flushes wrote.
  double write_amplification() const { return static_cast<double>(written_) / static_cast<double>(flushed_); }
  uint64_t largest_sstable() const;
  size_t dropped_unread() const { return dropped_unread_; }
  size_t tombstone_tasks() const { return tombstone_tasks_; }
  uint32_t estimated_tasks();
  // The newest row of each key that has not expired: what must be left whatever was compacted.
  bool has_what_was_written() const;
  // All rows of levels from 1 on are in ring order without overlap.
  bool levels_are_disjoint() const;
  // Sets the share of tombstones that every SSTable seems to have.
  void pretend_droppable(double ratio) { droppable_ = ratio; }

 private:
  struct Stored {
    std::vector<SimulatedRow> rows;  // ascending keys
    CompactionCandidate facts;
  };

  Token token_of(uint32_t key) const { return tokens_[key]; }
  void store(std::vector<SimulatedRow> rows, const OutputLimits& limits, std::vector<CompactionCandidate>* outputs);
  void store_one(std::vector<SimulatedRow> rows, int32_t level, std::vector<CompactionCandidate>* outputs);
  void run(const CompactionView& view, const CompactionTask& task);
  CompactionView show();

  Setup setup_;
  CompactionOptions options_;
  std::unique_ptr<CompactionStrategy> strategy_;
  CompactionState state_;
  std::vector<Token> tokens_;
  std::map<uint64_t, Stored> sstables_;
  std::vector<CompactionCandidate> shown_;
  std::map<uint32_t, int64_t> newest_;
  int64_t now_millis_ = 1'700'000'000'000;
  uint64_t next_id_ = 1, written_ = 0, flushed_ = 0;
  double flush_bytes_ = 0, droppable_ = 0;
  size_t dropped_unread_ = 0, tombstone_tasks_ = 0;
};

}  // namespace cassandra_like::strategy_test
