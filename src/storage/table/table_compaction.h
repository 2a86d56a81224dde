// The part of a table's store that automatic compaction needs: the strategy of its compaction parameter, what that remembers of
// each group of SSTables, and whether the table is compacted by itself at all.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "storage/compaction/strategy/strategy.h"

namespace cassandra_like {

struct TableCompaction {
  explicit TableCompaction(const StringPairs& parameter) {
    use(parameter);
    enabled = options.enabled;
  }

  // Called after CREATE and ALTER. A switch by nodetool stays, unless it equals the parameter
  // (CompactionStrategyManager.reloadParamsFromSchema).
  void use(const StringPairs& parameter) {
    if (strategy != nullptr && parameter == parameter_) return;
    const bool was_enabled_by_parameter = options.enabled;
    Result<CompactionOptions> parsed = parse_compaction_options(parameter);
    // The schema refuses wrong ones; Cassandra's may have options that only it knows.
    options = parsed.ok() ? std::move(*parsed) : CompactionOptions();
    if (enabled == was_enabled_by_parameter) enabled = options.enabled;
    if (thresholds_) std::tie(options.min_threshold, options.max_threshold) = *thresholds_;
    strategy = make_compaction_strategy(options);
    states.clear();
    parameter_ = parameter;
  }

  // From then on the parameter's do not count (ColumnFamilyStore.setCompactionThresholds).
  void set_thresholds(int32_t min, int32_t max) {
    thresholds_ = {min, max};
    std::tie(options.min_threshold, options.max_threshold) = *thresholds_;
    strategy = make_compaction_strategy(options);
  }

  // An SSTable of so many bytes on disk was flushed. The mean is that of Cassandra's ExpMovingAverage.decayBy1000.
  void note_flush(uint64_t bytes) {
    constexpr double kShare = 0.0046;
    const double flushed = static_cast<double>(bytes);
    flush_bytes += (flush_bytes == 0 ? 1 : kShare) * (flushed - flush_bytes);
  }

  CompactionOptions options;
  std::shared_ptr<const CompactionStrategy> strategy;
  std::map<uint32_t, CompactionState> states;  // of each group
  bool enabled = true;
  double flush_bytes = 0;
  // A coroutine of the engine asks the strategy, or is about to; and whether it has to ask once more.
  bool asking = false, ask_again = false;
  unsigned interrupts = 0;  // how many operations want the automatic compaction to end

 private:
  StringPairs parameter_;
  std::optional<std::pair<int32_t, int32_t>> thresholds_;  // least and most, by nodetool
};

}  // namespace cassandra_like
