// Purging rows, range tombstones and partitions.
#include "storage/compaction/purge.h"

#include <fmt/format.h>

#include "fixture.h"
#include "model/values.h"

namespace cassandra_like::storage_test::purge_test {
namespace {

constexpr int64_t kGrace = 50;
constexpr int64_t kDeleted = kNow - 100;  // when the fixture's deletions were made, seconds

std::string to_text(const DeletionTime& deletion) {
  return deletion.is_live() ? "-" : fmt::format("x{}", deletion.marked_for_delete_at);
}

class PurgeTest : public testing::Test {
 protected:
  PurgeTest() {
    rules.now_seconds = kNow;
    rules.gc_before = kNow - kGrace;
    rules.oldest_outside = [this](const DecoratedKey&) {
      ++asked;
      return outside;
    };
  }

  // "gone", or the row with all its deletions.
  std::string purged(Row row) {
    Purger purger(rules);
    const DecoratedKey key = DecoratedKey::of("a");
    purger.begin_partition(key);
    if (!purger.purge(row, arena)) return "gone";
    std::string out = to_line(*table, row);
    if (!row.deletion.is_live()) out += " " + to_text(row.deletion);
    for (const ComplexDeletion& c : row.complex_deletions) out += " " + c.column->name + to_text(c.deletion);
    for (const Cell& c : row.cells) {
      if (c.is_tombstone()) out += fmt::format(" {} died {}", c.column->name, c.local_deletion_time - kNow);
    }
    return out;
  }
  std::string purged(Update& update) { return purged(update.build().rows[0]); }
  std::string purged(RangeTombstoneMarker marker) {
    Purger purger(rules);
    const DecoratedKey key = DecoratedKey::of("a");
    purger.begin_partition(key);
    return purger.purge(marker) ? to_text(marker.close) + to_text(marker.open) : "gone";
  }

  TablePtr table = make_table("t");
  Arena arena;
  PurgeRules rules;
  int64_t outside = PurgeRules::kNothingOutside;
  int asked = 0;
};

TEST_F(PurgeTest, WhatLivesStaysAndNobodyIsAsked) {
  Update row = Update(table, "a").at(10).row(1).live().cell("v", "x");
  EXPECT_EQ(purged(row), "1: @10 v=x@10");
  EXPECT_EQ(asked, 0);
}

TEST_F(PurgeTest, TombstonesGoWhenTheyAreOldEnough) {
  Update cell = Update(table, "a").at(10).row(1).tombstone("v");
  Update row = Update(table, "a").at(10).row(1).delete_row();
  Update map = Update(table, "a").at(10).row(1).clear("m");
  EXPECT_EQ(purged(cell), "gone");
  EXPECT_EQ(purged(row), "gone");
  EXPECT_EQ(purged(map), "gone");
  rules.gc_before = kDeleted;  // not before it
  EXPECT_EQ(purged(cell), "1: v=@10 v died -100");
  EXPECT_EQ(purged(row), "1: x10");
  EXPECT_EQ(purged(map), "1: mx10");
  rules.gc_before = PurgeRules::kNever;
  EXPECT_EQ(purged(row), "1: x10");
}

TEST_F(PurgeTest, TombstonesOfAPartitionMayGoBeforeTheirTime) {
  Update row = Update(table, "a").at(10).row(1).delete_row();
  rules.gc_before = kDeleted;
  rules.purges_young = [](const DecoratedKey& key) { return key.key == "b"; };
  EXPECT_EQ(purged(row), "1: x10");
  rules.purges_young = [](const DecoratedKey& key) { return key.key == "a"; };
  EXPECT_EQ(purged(row), "gone");
  outside = 10;
  EXPECT_EQ(purged(row), "1: x10");
  outside = PurgeRules::kNothingOutside;
  rules.gc_before = PurgeRules::kNever;
  EXPECT_EQ(purged(row), "1: x10");
}

TEST_F(PurgeTest, TombstonesStayWhileOlderDataMayBeOutside) {
  Update row = Update(table, "a").at(10).row(1).delete_row();
  outside = 11;
  EXPECT_EQ(purged(row), "gone");
  outside = 10;
  EXPECT_EQ(purged(row), "1: x10");
}

TEST_F(PurgeTest, OneQuestionServesAPartition) {
  Purger purger(rules);
  const DecoratedKey a = DecoratedKey::of("a"), b = DecoratedKey::of("b");
  purger.begin_partition(a);
  EXPECT_TRUE(purger.purge(DeletionTime{5, kDeleted}).is_live());
  EXPECT_TRUE(purger.purge(DeletionTime{6, kDeleted}).is_live());
  EXPECT_EQ(asked, 1);
  purger.begin_partition(b);
  EXPECT_TRUE(purger.purge(DeletionTime{5, kDeleted}).is_live());
  EXPECT_EQ(asked, 2);
}

TEST_F(PurgeTest, OnlyWhatIsDeletedGoesFromARow) {
  Update row =
      Update(table, "a").at(10).row(1).live().tombstone("v").cell("w", "stays").clear("m").element("m", "k", "e");
  EXPECT_EQ(purged(row), "1: @10 w=stays@10 m[k]=e@10");
}

// AbstractCell.purge: as long as it may not go, a cell that has expired is a tombstone of the time when it was written.
TEST_F(PurgeTest, ExpiredCellsBecomeTombstonesAndGoLater) {
  auto expiring = [&](int64_t expires) { return Update(table, "a").at(10).row(1).cell("v", "x", 20, expires); };
  Update live = expiring(kNow + 1), fresh = expiring(kNow - 1), old = expiring(kNow - kGrace - 1);
  Update written_long_ago = expiring(kNow - kGrace + 10);
  EXPECT_EQ(purged(live), "1: v=x@10+20");
  EXPECT_EQ(purged(fresh), "1: v=@10 v died -21");
  EXPECT_EQ(purged(old), "gone");
  EXPECT_EQ(purged(written_long_ago), "gone");
}

TEST_F(PurgeTest, AnExpiredMarkerGoesWithItsGrace) {
  Update fresh = Update(table, "a").at(10).row(1).live(20, kNow - 1).cell("v", "x");
  Update old = Update(table, "a").at(10).row(1).live(20, kNow - kGrace - 1).cell("v", "x");
  EXPECT_EQ(purged(fresh), "1: @10+20 v=x@10");
  EXPECT_EQ(purged(old), "1: v=x@10");
}

TEST_F(PurgeTest, HalfABoundaryMayGo) {
  const ClusteringPrefix place =
      make_clustering(*table, arena.make_span<BytesView>(0), ClusteringKind::kInclStartBound, arena);
  const DeletionTime old{5, kDeleted}, fresh{7, kNow - 1};
  EXPECT_EQ(purged(RangeTombstoneMarker{place, old, {}}), "gone");
  EXPECT_EQ(purged(RangeTombstoneMarker{place, fresh, {}}), "-x7");
  EXPECT_EQ(purged(RangeTombstoneMarker{place, {}, fresh}), "x7-");
  EXPECT_EQ(purged(RangeTombstoneMarker{place, old, old}), "gone");
  EXPECT_EQ(purged(RangeTombstoneMarker{place, fresh, old}), "-x7");
  EXPECT_EQ(purged(RangeTombstoneMarker{place, old, fresh}), "x7-");
  EXPECT_EQ(purged(RangeTombstoneMarker{place, fresh, fresh}), "x7x7");
}

}  // namespace
}  // namespace cassandra_like::storage_test::purge_test
