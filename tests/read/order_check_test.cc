// The order that sources of a merge must have, in builds with DCHECK.
#include "read/order_check.h"

#include <gtest/gtest.h>

#ifndef NDEBUG

namespace cassandra_like {
namespace {

const DeletionTime kDeletion{10, 20};

Unfiltered row(BytesView place) {
  Unfiltered out;
  out.row.clustering.comparable = place;
  return out;
}

Unfiltered marker(BytesView place, const DeletionTime& open, const DeletionTime& close) {
  Unfiltered out;
  out.is_row = false;
  out.marker.bound.comparable = place;
  out.marker.open = open;
  out.marker.close = close;
  return out;
}

void read(const std::vector<Unfiltered>& unfiltereds, bool reversed = false) {
  UnfilteredOrderCheck check;
  for (const Unfiltered& unfiltered : unfiltereds) check.next(&unfiltered, reversed);
  check.next(nullptr, reversed);
}

TEST(OrderCheckTest, RowsAndMarkersGrowOrFall) {
  read({marker("a", kDeletion, {}), row("b"), marker("c", {}, kDeletion), row("d")});
  read({row("d"), marker("c", kDeletion, {}), row("b"), marker("a", {}, kDeletion)}, true);
  EXPECT_DEATH(read({row("b"), row("b")}), "invariant broken");
  EXPECT_DEATH(read({row("a"), row("b")}, true), "invariant broken");
}

TEST(OrderCheckTest, ARangeTombstoneBeginsAgainWhereSlicesTouch) {
  read(
      {marker("a", kDeletion, {}), marker("b", {}, kDeletion), marker("b", kDeletion, {}), marker("c", {}, kDeletion)});
  EXPECT_DEATH(read({marker("a", kDeletion, {}), marker("a", {}, kDeletion)}), "invariant broken");
}

TEST(OrderCheckTest, MarkersPair) {
  EXPECT_DEATH(read({marker("a", kDeletion, {})}), "invariant broken: open_.is_live");
  EXPECT_DEATH(read({marker("a", {}, kDeletion)}), "invariant broken: unfiltered->marker.close == open_");
}

TEST(OrderCheckTest, KeysGrow) {
  KeyOrderCheck check;
  check.next({1, "b"});
  check.next({1, "c"});
  check.next({2, "a"});
  EXPECT_DEATH(check.next({2, "a"}), "invariant broken");
}

}  // namespace
}  // namespace cassandra_like

#endif
