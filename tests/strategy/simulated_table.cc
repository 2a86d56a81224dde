#include "tests/strategy/simulated_table.h"

#include <algorithm>
#include <set>

namespace cassandra_like::strategy_test {

SimulatedTable::SimulatedTable(Setup setup) : setup_(std::move(setup)) {
  auto map = normal_compaction(setup_.compaction);
  CHECK(map.ok());
  auto options = parse_compaction_options(*map);
  CHECK(options.ok());
  options_ = *options;
  strategy_ = make_compaction_strategy(options_);
  // The ends of as many equal shares as there are keys: one key in each.
  tokens_ = setup_.ranges.boundaries(setup_.keys + 1);
  CHECK(tokens_.size() == setup_.keys);
}

CompactionView SimulatedTable::show() {
  shown_.clear();
  for (const auto& [id, stored] : sstables_) {
    shown_.push_back(stored.facts);
    shown_.back().droppable_ratio = droppable_;
  }
  CompactionView view;
  view.sstables = shown_;
  view.ranges = &setup_.ranges;
  view.now_millis = now_millis_;
  view.gc_before = now_millis_ / 1000;
  view.flush_bytes = flush_bytes_;
  return view;
}

void SimulatedTable::flush(std::mt19937_64& random, size_t rows, int64_t after_millis) {
  now_millis_ += after_millis;
  std::map<uint32_t, int64_t> memtable;
  for (size_t i = 0; i < rows; ++i) memtable[static_cast<uint32_t>(random() % setup_.keys)] = now_millis_;
  std::vector<SimulatedRow> sorted;
  for (const auto& [key, millis] : memtable) {
    sorted.push_back({key, millis});
    newest_[key] = millis;
  }
  const uint64_t bytes = sorted.size() * setup_.row_bytes;
  const OutputLimits limits = strategy_->flush_limits(setup_.ranges, flush_bytes_);
  flush_bytes_ = flush_bytes_ == 0 ? static_cast<double>(bytes) : 0.9 * flush_bytes_ + 0.1 * static_cast<double>(bytes);
  flushed_ += bytes;
  store(std::move(sorted), limits, nullptr);
}

void SimulatedTable::store(std::vector<SimulatedRow> rows, const OutputLimits& limits,
                           std::vector<CompactionCandidate>* outputs) {
  OutputCutter cutter(limits);
  std::vector<SimulatedRow> output;
  int32_t level = cutter.level();
  for (const SimulatedRow& row : rows) {
    if (cutter.ends_before(token_of(row.key), output.size() * setup_.row_bytes)) {
      store_one(std::move(output), level, outputs);
      output.clear();
      level = cutter.level();
    }
    output.push_back(row);
  }
  if (!output.empty()) store_one(std::move(output), level, outputs);
}

void SimulatedTable::store_one(std::vector<SimulatedRow> rows, int32_t level,
                               std::vector<CompactionCandidate>* outputs) {
  Stored stored;
  CompactionCandidate& facts = stored.facts;
  facts.id = next_id_++;
  facts.data_bytes = rows.size() * setup_.row_bytes;
  facts.total_bytes = facts.data_bytes;
  facts.partitions = rows.size();
  facts.first = {token_of(rows.front().key), {}};
  facts.last = {token_of(rows.back().key), {}};
  facts.level = level;
  const auto [oldest, newest] = std::minmax_element(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.written_millis < b.written_millis; });
  facts.min_timestamp = oldest->written_millis * 1000;
  facts.max_timestamp = newest->written_millis * 1000;
  if (setup_.ttl_millis > 0) facts.max_local_deletion_time = (newest->written_millis + setup_.ttl_millis) / 1000;
  facts.created_millis = now_millis_;
  facts.token_coverage = setup_.ranges.spanned(facts.first.token, facts.last.token);
  written_ += facts.data_bytes;
  stored.rows = std::move(rows);
  if (outputs != nullptr) outputs->push_back(facts);
  sstables_.emplace(facts.id, std::move(stored));
}

void SimulatedTable::run(const CompactionView& view, const CompactionTask& task) {
  std::vector<CompactionCandidate> outputs;
  if (task.kind == CompactionTask::Kind::kTombstones) ++tombstone_tasks_;
  if (task.kind == CompactionTask::Kind::kLevelMove) {
    CHECK(task.inputs.size() == 1);
    CompactionCandidate& facts = sstables_.at(task.inputs[0]).facts;
    facts.level = task.limits.level;
    outputs.push_back(facts);
    strategy_->ended(view, task, outputs, state_);
    return;
  }
  std::map<uint32_t, int64_t> merged;
  const std::vector<uint64_t> unread = fully_expired(view, task.inputs, options_);
  const std::set<uint64_t> expired(unread.begin(), unread.end());
  dropped_unread_ += expired.size();
  CHECK(task.kind != CompactionTask::Kind::kExpired || expired.size() == task.inputs.size());
  for (uint64_t id : task.inputs) {
    for (const SimulatedRow& row : sstables_.at(id).rows) {
      const bool gone = setup_.ttl_millis > 0 && row.written_millis + setup_.ttl_millis <= now_millis_;
      if (gone || expired.contains(id)) continue;
      int64_t& newest = merged[row.key];
      newest = std::max(newest, row.written_millis);
    }
  }
  std::vector<SimulatedRow> rows;
  for (const auto& [key, millis] : merged) rows.push_back({key, millis});
  store(std::move(rows), task.limits, &outputs);
  strategy_->ended(view, task, outputs, state_);
  for (uint64_t id : task.inputs) sstables_.erase(id);
}

size_t SimulatedTable::compact(size_t most) {
  for (size_t tasks = 0; tasks < most; ++tasks) {
    const CompactionView view = show();
    const std::optional<CompactionTask> task = strategy_->next(view, state_);
    if (!task) return tasks;
    CHECK(!task->inputs.empty());
    run(view, *task);
  }
  return most;
}

void SimulatedTable::compact_all() {
  const CompactionView view = show();
  for (const CompactionTask& task : strategy_->major(view, false)) run(view, task);
}

size_t SimulatedTable::sstables_at_level(int32_t level) const {
  return static_cast<size_t>(std::count_if(sstables_.begin(), sstables_.end(),
                                           [level](const auto& entry) { return entry.second.facts.level == level; }));
}

size_t SimulatedTable::most_overlap() const {
  std::map<Token, int> changes;
  for (const auto& [id, stored] : sstables_) {
    ++changes[stored.facts.first.token];
    --changes[stored.facts.last.token + 1];
  }
  int open = 0, most = 0;
  for (const auto& [token, change] : changes) most = std::max(most, open += change);
  return static_cast<size_t>(most);
}

uint64_t SimulatedTable::live_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [id, stored] : sstables_) bytes += stored.facts.data_bytes;
  return bytes;
}

uint64_t SimulatedTable::largest_sstable() const {
  uint64_t bytes = 0;
  for (const auto& [id, stored] : sstables_) bytes = std::max(bytes, stored.facts.data_bytes);
  return bytes;
}

uint32_t SimulatedTable::estimated_tasks() { return strategy_->estimated_tasks(show(), state_); }

bool SimulatedTable::has_what_was_written() const {
  std::map<uint32_t, int64_t> stored, written = newest_;
  for (const auto& [id, sstable] : sstables_) {
    for (const SimulatedRow& row : sstable.rows) stored[row.key] = std::max(stored[row.key], row.written_millis);
  }
  if (setup_.ttl_millis == 0) return stored == written;
  auto is_gone = [this](const auto& row) { return row.second + setup_.ttl_millis <= now_millis_; };
  std::erase_if(stored, is_gone);
  std::erase_if(written, is_gone);
  return stored == written;
}

bool SimulatedTable::levels_are_disjoint() const {
  std::map<int32_t, std::map<Token, Token>> levels;
  for (const auto& [id, stored] : sstables_)
    levels[stored.facts.level][stored.facts.first.token] = stored.facts.last.token;
  levels.erase(0);
  for (const auto& [level, bounds] : levels) {
    if (bounds.size() != sstables_at_level(level)) return false;
    for (auto it = bounds.begin(); std::next(it) != bounds.end(); ++it) {
      if (it->second >= std::next(it)->first) return false;
    }
  }
  return true;
}

}  // namespace cassandra_like::strategy_test
