// Rows as a filter of columns leaves them.
#include "read/column_filter.h"

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/model/model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

const TableMetadata& table() { return *wide_table(); }  // k; a, b; statics s and sm

// Each cell with its age and the bytes of its value.
std::string cells(const Row& row) {
  std::string out;
  for (const Cell& cell : row.cells) {
    out += fmt::format("{}@{}:{} ", cell.column->name, cell.timestamp - kTs, cell.value.size());
  }
  return out;
}

TEST(ColumnFilterTest, OfAColumnThatIsNotQueriedTheAgeIsLeftAndNothingThatIsOlderThanItsRow) {
  ColumnFilter filter = ColumnFilter::all(table());
  filter.is_wildcard = false;
  filter.queried_regulars = {table().column("v")};
  EXPECT_TRUE(filter.queries(*table().column("v")));
  EXPECT_FALSE(filter.queries(*table().column("t")));
  const ColumnSelector selector(filter, table());
  Arena arena;
  RowBuilder row(wide_table());
  row.at(1, "x").live(kTs).set("t", kTs + 1, "a text").set("v", kTs + 2, encode_int(7));
  EXPECT_EQ(cells(selector.select(row.build(), arena)), "t@1:0 v@2:4 ");
  RowBuilder old(wide_table());
  old.at(1, "x").live(kTs).set("t", kTs - 1, "a text").set("v", kTs + 2, encode_int(7));
  EXPECT_EQ(cells(selector.select(old.build(), arena)), "v@2:4 ");
}

}  // namespace
}  // namespace cassandra_like
