// Random operations against a model of plain maps, with flushes, compactions, kills, power failures and reboots between.
#include <fmt/format.h>

#include <map>
#include <set>

#include "fixture.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::storage_test::model_test {
namespace {

// Values with their timestamps; deletions as timestamps. Reads follow from these by Cassandra's rules.
class Model {
 public:
  void write(const std::string& key, int c, const std::string& column, const std::string& value, int64_t ts) {
    auto& cell = rows_[key][c].cells[column];
    if (ts > cell.second || (ts == cell.second && value > cell.first)) cell = {value, ts};
  }
  void insert(const std::string& key, int c, int64_t ts) {
    auto& row = rows_[key][c];
    row.live = std::max(row.live, ts);
  }
  void delete_cell(const std::string& key, int c, const std::string& column, int64_t ts) {
    auto& deleted = rows_[key][c].deleted_cells[column];
    deleted = std::max(deleted, ts);
  }
  void delete_row(const std::string& key, int c, int64_t ts) {
    auto& row = rows_[key][c];
    row.deleted = std::max(row.deleted, ts);
  }
  void delete_partition(const std::string& key, int64_t ts) { partitions_[key] = std::max(partitions_[key], ts); }

  Lines read(const std::string& key) const {
    Lines out;
    auto found = rows_.find(key);
    if (found == rows_.end()) return out;
    auto partition = partitions_.find(key);
    for (const auto& [c, row] : found->second) {
      int64_t deleted = std::max(row.deleted, partition == partitions_.end() ? 0 : partition->second);
      std::string line;
      if (row.live > deleted) line += fmt::format(" @{}", row.live);
      for (const auto& [column, cell] : row.cells) {
        auto gone = row.deleted_cells.find(column);
        // A tombstone wins a tie.
        if (cell.second <= std::max(deleted, gone == row.deleted_cells.end() ? 0 : gone->second)) continue;
        line += fmt::format(" {}={}@{}", column, cell.first, cell.second);
      }
      if (line.empty()) continue;
      if (out.empty()) out.push_back(key);
      out.push_back(fmt::format("  {}:{}", c, line));
    }
    return out;
  }

 private:
  struct ModelRow {
    int64_t live = 0, deleted = 0;
    std::map<std::string, std::pair<std::string, int64_t>> cells;
    std::map<std::string, int64_t> deleted_cells;
  };
  std::map<std::string, std::map<int, ModelRow>> rows_;
  std::map<std::string, int64_t> partitions_;
};

class Course {
 public:
  Course(uint64_t seed, CommitLogSync sync) : node_(seed, 2, options(sync)), random_(node_.world().random()) {}

  void step() {
    auto t = node_.table("t");
    std::string key(1, static_cast<char>('a' + random_.below(6)));
    int c = static_cast<int>(random_.below(8));
    auto ts = static_cast<int64_t>(1 + random_.below(1000));
    std::string column = random_.below(2) == 0 ? "v" : "w";
    std::string value(1 + random_.below(40), static_cast<char>('a' + random_.below(26)));
    switch (random_.below(10)) {
      case 0:
        apply(Update(t, key).at(ts).row(c).delete_row());
        return model_.delete_row(key, c, ts);
      case 1:
        apply(Update(t, key).at(ts).row(c).tombstone(column));
        return model_.delete_cell(key, c, column, ts);
      case 2:
        if (random_.below(4) != 0) return;
        apply(Update(t, key).at(ts).delete_partition());
        return model_.delete_partition(key, ts);
      case 3:
        apply(Update(t, key).at(ts).row(c).live());
        return model_.insert(key, c, ts);
      default:
        apply(Update(t, key).at(ts).row(c).cell(column, value));
        return model_.write(key, c, column, value, ts);
    }
  }

  void disturb(bool power_failures) {
    switch (random_.below(40)) {
      case 0:
      case 1:
        return all([](Engine& engine) { return engine.maintenance().flush({}); });
      case 2:
        return all([](Engine& engine) { return engine.maintenance().compact({}); });
      case 3:
        node_.kill();
        ASSERT_TRUE(node_.boot()) << node_.error();
        return;
      case 4:
        if (!power_failures) return;
        node_.crash();
        ASSERT_TRUE(node_.boot()) << node_.error();
        return;
      default:
        return;
    }
  }

  void check() {
    std::multiset<std::string> scanned, expected;
    for (char k = 'a'; k < 'a' + 6; ++k) {
      std::string key(1, k);
      Lines wanted = model_.read(key);
      ASSERT_EQ(node_.read("t", key), wanted);
      expected.insert(wanted.begin(), wanted.end());
    }
    for (std::string& line : node_.scan("t")) scanned.insert(line);
    ASSERT_EQ(scanned, expected);
  }

 private:
  static EngineOptions options(CommitLogSync sync) {
    EngineOptions out;
    out.commitlog_sync = sync;
    out.commitlog_group_window = std::chrono::milliseconds(2);
    out.commitlog_segment_bytes = 8 << 10;
    out.memtable_bytes = 256 << 10;
    return out;
  }
  void apply(Update& update) { ASSERT_TRUE(node_.apply(update).ok()); }
  void all(std::function<Task<Status>(Engine&)> work) {
    for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(node_.run(work(node_.engine(i))).ok());
  }

  Node node_;
  Random& random_;
  Model model_;
};

class ModelTest : public testing::TestWithParam<CommitLogSync> {};

TEST_P(ModelTest, ReadsAgreeWithPlainMaps) {
  for (uint64_t seed = 1; seed <= (test::kIsSanitized ? 3 : 25); ++seed) {
    SCOPED_TRACE(seed);
    Course run(seed, GetParam());
    for (int step = 0; step < 400; ++step) {
      run.step();
      run.disturb(GetParam() != CommitLogSync::kPeriodic);
      if (step % 20 == 19) run.check();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, ModelTest,
                         testing::Values(CommitLogSync::kPeriodic, CommitLogSync::kBatch, CommitLogSync::kGroup));

}  // namespace
}  // namespace cassandra_like::storage_test::model_test
