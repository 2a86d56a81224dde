// The four strategies behind CompactionStrategy.
#pragma once

#include "storage/compaction/strategy/strategy.h"

namespace cassandra_like {

// One SSTable for each task and flush, nothing to remember.
class SimpleCompaction : public CompactionStrategy {
 public:
  explicit SimpleCompaction(const CompactionOptions& options) : options_(options) {}

  CompactionTask user_defined(const CompactionView& view, std::vector<uint64_t> inputs) const override;
  OutputLimits flush_limits(const OwnedRanges& ranges, double flush_bytes) const override;
  void ended(const CompactionView& before, const CompactionTask& task, std::span<const CompactionCandidate> outputs,
             CompactionState& state) const override;

 protected:
  const CompactionOptions options_;
};

class SizeTieredCompaction final : public SimpleCompaction {
 public:
  using SimpleCompaction::SimpleCompaction;
  std::optional<CompactionTask> next(const CompactionView& view, CompactionState& state) const override;
  uint32_t estimated_tasks(const CompactionView& view, const CompactionState& state) const override;
  std::vector<CompactionTask> major(const CompactionView& view, bool split_output) const override;
};

class LeveledCompaction final : public SimpleCompaction {
 public:
  using SimpleCompaction::SimpleCompaction;
  std::optional<CompactionTask> next(const CompactionView& view, CompactionState& state) const override;
  uint32_t estimated_tasks(const CompactionView& view, const CompactionState& state) const override;
  std::vector<CompactionTask> major(const CompactionView& view, bool split_output) const override;
  CompactionTask user_defined(const CompactionView& view, std::vector<uint64_t> inputs) const override;
  void ended(const CompactionView& before, const CompactionTask& task, std::span<const CompactionCandidate> outputs,
             CompactionState& state) const override;
};

class TimeWindowCompaction final : public SimpleCompaction {
 public:
  using SimpleCompaction::SimpleCompaction;
  std::optional<CompactionTask> next(const CompactionView& view, CompactionState& state) const override;
  uint32_t estimated_tasks(const CompactionView& view, const CompactionState& state) const override;
  std::vector<CompactionTask> major(const CompactionView& view, bool split_output) const override;
};

class UnifiedCompaction final : public SimpleCompaction {
 public:
  using SimpleCompaction::SimpleCompaction;
  std::optional<CompactionTask> next(const CompactionView& view, CompactionState& state) const override;
  uint32_t estimated_tasks(const CompactionView& view, const CompactionState& state) const override;
  std::vector<CompactionTask> major(const CompactionView& view, bool split_output) const override;
  CompactionTask user_defined(const CompactionView& view, std::vector<uint64_t> inputs) const override;
  OutputLimits flush_limits(const OwnedRanges& ranges, double flush_bytes) const override;
};

// The ids of the SSTables, all of one group, that are sent to level 0 since they overlap others of their level
// (LeveledManifest.create).
std::vector<uint64_t> sent_to_level_0(std::span<const CompactionCandidate> sstables);

}  // namespace cassandra_like
