// Each strategy chooses what Cassandra's class of the same name chose: the lives of tables whose SSTables come, go, are busy,
// damaged or of another group, as oracle/StrategyOracle.java played them.
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "tests/strategy/recorded.h"

namespace cassandra_like::strategy_test {
namespace {

// The keys of a case: each is its token's eight bytes.
class Keys {
 public:
  DecoratedKey key(Token token) {
    Bytes bytes;
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(token >> shift));
    bytes_.push_back(bytes);
    return {token, bytes_.back()};
  }

 private:
  std::deque<Bytes> bytes_;
};

std::vector<uint64_t> ids(const std::string& text) {
  std::vector<uint64_t> result;
  if (text.empty()) return result;
  for (const std::string& id : split(text, ',')) result.push_back(std::stoull(id));
  return result;
}

std::string text_of(std::vector<uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (uint64_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

// One table, and our strategy of it.
class RecordedTable {
 public:
  explicit RecordedTable(const Fields& line) : ranges_(recorded_ranges(line[7])) {
    auto map = normal_compaction(recorded_map(line[2]));
    EXPECT_TRUE(map.ok());
    auto options = parse_compaction_options(*map);
    EXPECT_TRUE(options.ok());
    options_ = *options;
    strategy_ = make_compaction_strategy(options_);
    view_.ranges = &ranges_;
    view_.now_millis = std::stoll(line[3]);
    view_.gc_before = std::stoll(line[4]);
    view_.flush_bytes = std::stod(line[5]);
    view_.min_memtable_timestamp = std::stoll(line[6]);
    // Cassandra's strategy was made when the case began.
    if (options_.strategy == CompactionOptions::Strategy::kUnified) strategy_->next(view_, state_);
  }

  void add(const Fields& line) {
    CompactionCandidate c;
    c.id = std::stoull(line[1]);
    c.data_bytes = std::stoull(line[2]);
    c.total_bytes = c.data_bytes + 4096;
    c.first = keys_.key(std::stoll(line[3]));
    c.last = keys_.key(std::stoll(line[4]));
    c.level = std::stoi(line[5]);
    constexpr int64_t kStartMillis = 1700000000000;
    c.min_timestamp = kStartMillis * 1000 + std::stoll(line[6]);
    c.max_timestamp = kStartMillis * 1000 + std::stoll(line[7]);
    if (line[8] != "-") c.max_local_deletion_time = std::stoll(line[8]);
    c.droppable_ratio = std::stod(line[9]) / 1e6;
    c.created_millis = kStartMillis + std::stoll(line[10]);
    c.repaired = line[11] == "1";
    if (line[12] != "-") c.token_coverage = std::stod(line[12]);
    c.partitions = std::stoull(line[13]);
    if (line[14] != "-") c.read_rate = std::stod(line[14]);
    sstables_[c.id] = c;
  }
  void change(const Fields& line) {
    CompactionCandidate& c = sstables_.at(std::stoull(line[1]));
    if (line[0] == "b" || line[0] == "f") c.busy = line[0] == "b";
    if (line[0] == "o") c.group = 1;
    if (line[0] == "x") c.suspect = true;
  }
  void at(int64_t millis) { view_.now_millis = millis; }

  // The choice as the record prints it, without what the record leaves out.
  std::string choose(const Fields& recorded) {
    const std::vector<CompactionCandidate> all = show();
    CompactionState before = state_;
    task_ = strategy_->next(view_, state_);
    const std::string& tasks = recorded[recorded.size() > 3 ? 3 : 2];
    // The strategy has estimated what there was when it chose.
    before.begun = state_.begun;
    before.last_compacted = state_.last_compacted;
    const std::string estimated = tasks == "-" ? "-" : std::to_string(strategy_->estimated_tasks(view_, before));
    if (!task_) return ">\tquiet\t" + estimated;
    const OutputLimits& limits = task_->limits;
    const bool leveled = options_.strategy == CompactionOptions::Strategy::kLeveled;
    const bool has_max = limits.max_bytes != std::numeric_limits<uint64_t>::max();
    const bool has_shares = recorded.size() > 4 && recorded[4] != "-";
    return ">\t" + (leveled ? std::to_string(limits.level) : "-") + "\t" +
           (has_max ? std::to_string(limits.max_bytes) : "-") + "\t" + estimated + "\t" +
           (has_shares ? std::to_string(limits.boundaries.size() + 1) : "-") + "\t" + text_of(task_->inputs);
  }

  void end(const Fields& line) {
    const std::vector<CompactionCandidate> all = show();
    std::vector<CompactionCandidate> outputs;
    for (uint64_t id : ids(line[2])) outputs.push_back(sstables_.at(id));
    CompactionTask task;
    task.inputs = ids(line[1]);
    strategy_->ended(view_, task, outputs, state_);
    for (uint64_t id : task.inputs) sstables_.erase(id);
  }

  // Whether the kind of the last choice is the one that its inputs tell.
  bool kind_is_right() {
    const std::vector<CompactionCandidate> all = show();
    const bool expired = fully_expired(view_, task_->inputs, options_).size() == task_->inputs.size();
    using Kind = CompactionTask::Kind;
    if (task_->kind == Kind::kExpired) return expired;
    if (task_->kind == Kind::kTombstones) return !task_->inputs.empty();
    return task_->inputs.size() > 1 || options_.strategy == CompactionOptions::Strategy::kLeveled;
  }
  bool has_choice() const { return task_.has_value(); }

 private:
  std::vector<CompactionCandidate> show() {
    std::vector<CompactionCandidate> all;
    for (const auto& [id, candidate] : sstables_) all.push_back(candidate);
    view_.sstables = all;
    return all;
  }

  OwnedRanges ranges_;
  Keys keys_;
  CompactionOptions options_;
  std::unique_ptr<CompactionStrategy> strategy_;
  CompactionView view_;
  CompactionState state_;
  std::map<uint64_t, CompactionCandidate> sstables_;
  std::optional<CompactionTask> task_;
};

std::string joined(const Fields& fields) {
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : "\t") + field;
  return text;
}

// Plays the cases whose name begins so; how many choices were compared.
size_t play(const std::string& prefix) {
  std::optional<RecordedTable> table;
  std::string name;
  bool skips = true;
  size_t choices = 0;
  for (const Fields& line : recorded_lines("choices.txt")) {
    if (line[0] == "case") {
      name = line[1];
      skips = !name.starts_with(prefix);
      if (!skips) table.emplace(line);
    }
    if (skips || line[0] == "case") continue;
    if (line[0] == "+")
      table->add(line);
    else if (line[0] == "now")
      table->at(std::stoll(line[1]));
    else if (line[0] == "=")
      table->end(line);
    else if (line[0] == ">") {
      ++choices;
      const std::string ours = table->choose(line);
      EXPECT_EQ(ours, joined(line)) << name << ", choice " << choices;
      if (table->has_choice()) {
        EXPECT_TRUE(table->kind_is_right()) << name;
      }
      if (ours != joined(line)) skips = true;  // what follows is the life of another table
    } else
      table->change(line);
  }
  return choices;
}

TEST(RecordedChoices, SizeTiered) { EXPECT_GT(play("stcs"), 100u); }
TEST(RecordedChoices, TimeWindow) { EXPECT_GT(play("twcs"), 100u); }
TEST(RecordedChoices, Leveled) { EXPECT_GT(play("lcs"), 100u); }
TEST(RecordedChoices, Unified) { EXPECT_GT(play("ucs"), 100u); }

}  // namespace
}  // namespace cassandra_like::strategy_test
