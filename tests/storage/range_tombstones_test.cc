// Range deletions against a brute-force model: for each clustering, the newest deletion that covers it.
#include <fmt/format.h>

#include <map>

#include "fixture.h"
#include "read/range_tombstones.h"

namespace cassandra_like::storage_test::range_tombstones_test {
namespace {

constexpr int kKeys = 20;

struct Model {
  std::map<int, int64_t> written;  // clustering to timestamp
  std::map<int, int64_t> deleted;

  Lines lines(bool reversed, int from = 0, int to = kKeys) const {
    Lines out;
    for (int i = 0; i < kKeys; ++i) {
      int c = reversed ? kKeys - 1 - i : i;
      auto row = written.find(c);
      auto deletion = deleted.find(c);
      if (c < from || c >= to || row == written.end()) continue;
      if (deletion != deleted.end() && row->second <= deletion->second) continue;
      if (out.empty()) out.push_back("key");
      out.push_back(fmt::format("  {}: v=x@{}", c, row->second));
    }
    return out;
  }
};

// The slice [from, to) of the first clustering column.
Slice slice_of(const TableMetadata& table, int from, int to) {
  Slice out;
  std::string low = int_bytes(from), high = int_bytes(to);
  BytesView low_view[] = {low}, high_view[] = {high};
  append_comparable(out.start, table, low_view, ClusteringKind::kInclStartBound);
  append_comparable(out.end, table, high_view, ClusteringKind::kExclEndBound);
  return out;
}

TEST(RangeTombstonesTest, ReadsAgreeWithBruteForceForwardAndReversedFromMemtablesAndSstables) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Node node(seed);
    auto t = node.table("t");
    Model model;
    Random& random = node.world().random();
    for (int step = 0; step < 120; ++step) {
      auto ts = static_cast<int64_t>(1 + random.below(50));
      int from = static_cast<int>(random.below(kKeys)), to = from + static_cast<int>(random.below(8));
      bool from_inclusive = random.below(2) == 0, to_inclusive = random.below(2) == 0;
      if (random.below(2) == 0) {
        ASSERT_TRUE(node.apply(Update(t, "key").at(ts).row(from).cell("v", "x")).ok());
        model.written[from] = std::max(model.written[from], ts);
      } else if (from < to || (from_inclusive && to_inclusive)) {
        ASSERT_TRUE(node.apply(Update(t, "key").at(ts).delete_range(from, from_inclusive, to, to_inclusive)).ok());
        for (int c = from + (from_inclusive ? 0 : 1); c <= to - (to_inclusive ? 0 : 1); ++c) {
          model.deleted[c] = std::max(model.deleted[c], ts);
        }
      }
      if (random.below(25) == 0) node.flush();
      if (random.below(60) == 0) node.compact();
      if (step % 10 != 9) continue;
      ASSERT_EQ(node.read("t", "key"), model.lines(false)) << "seed " << seed << " step " << step;
      ASSERT_EQ(node.read("t", "key", {}, true), model.lines(true)) << "seed " << seed << " step " << step;
      int low = static_cast<int>(random.below(kKeys)), high = low + 1 + static_cast<int>(random.below(5));
      Slices slices{slice_of(*t, low, high)};
      ASSERT_EQ(node.read("t", "key", slices), model.lines(false, low, high)) << "seed " << seed << " step " << step;
      ASSERT_EQ(node.read("t", "key", slices, true), model.lines(true, low, high))
          << "seed " << seed << " step " << step;
    }
  }
}

class RangesTest : public testing::Test {
 protected:
  void add(int from, bool from_inclusive, int to, bool to_inclusive, int64_t timestamp) {
    Update update(table, "key");
    update.at(timestamp).delete_range(from, from_inclusive, to, to_inclusive);
    for (const RangeTombstone& range : update.build().range_tombstones) ranges.add(range);
    kept.push_back(std::move(update));
  }
  // [from, to)@timestamp for each.
  std::string text() {
    std::string out;
    for (const RangeTombstone& r : ranges.ranges()) {
      out += fmt::format("{}{}, {}{}@{} ", r.start.kind == ClusteringKind::kInclStartBound ? "[" : "(",
                         load_be<int32_t>(r.start.values[0].data()), load_be<int32_t>(r.end.values[0].data()),
                         r.end.kind == ClusteringKind::kInclEndBound ? "]" : ")", r.deletion.marked_for_delete_at);
    }
    return out;
  }
  TablePtr table = make_table("t");
  RangeTombstones ranges;
  std::vector<Update> kept;
};

TEST_F(RangesTest, ANewerRangeCutsAnOlderOne) {
  add(1, true, 10, true, 5);
  add(3, true, 4, false, 6);
  EXPECT_EQ(text(), "[1, 3)@5 [3, 4)@6 [4, 10]@5 ");
}

TEST_F(RangesTest, AnOlderRangeFillsGaps) {
  add(3, true, 4, true, 6);
  add(7, false, 8, true, 6);
  add(1, true, 10, false, 5);
  EXPECT_EQ(text(), "[1, 3)@5 [3, 4]@6 (4, 7]@5 (7, 8]@6 (8, 10)@5 ");
}

TEST_F(RangesTest, TheSameDeletionJoins) {
  add(1, true, 3, false, 5);
  add(3, true, 6, true, 5);
  EXPECT_EQ(text(), "[1, 6]@5 ");
}

}  // namespace
}  // namespace cassandra_like::storage_test::range_tombstones_test
