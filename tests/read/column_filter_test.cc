// The columns that a statement asks its replicas for, and the rows that they answer with.
#include "read/column_filter.h"

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/model/model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

const TableMetadata& table() { return *wide_table(); }  // k; a, b; statics s and sm

std::string names(const ColumnFilter::Columns& columns) {
  std::string out;
  for (const Column* column : columns) out += (out.empty() ? "" : " ") + column->name;
  return out;
}

ColumnFilter named(std::initializer_list<const char*> columns, bool all_statics) {
  ColumnFilter::Columns out;
  for (const char* name : columns) out.push_back(table().column(name));
  return ColumnFilter::of_named(table(), out, all_statics);
}

TEST(ColumnFilterTest, FetchesWhatTellsWhetherARowLivesAndQueriesWhatIsNamed) {
  const ColumnFilter all = ColumnFilter::all(table());
  const ColumnFilter filter = named({"t", "k", "v", "a"}, true);
  EXPECT_FALSE(filter.is_wildcard);
  EXPECT_EQ(filter.fetching, ColumnFilter::Fetching::kAllColumns);
  EXPECT_EQ(names(filter.fetched_regulars), names(all.fetched_regulars));
  EXPECT_EQ(names(filter.fetched_statics), "s sm");
  EXPECT_EQ(names(filter.queried_regulars), "t v");
  EXPECT_EQ(names(filter.queried_statics), "");
  EXPECT_TRUE(filter.queries(*table().column("t")));
  EXPECT_FALSE(filter.queries(*table().column("s")));
}

TEST(ColumnFilterTest, FetchesStaticColumnsThatNobodyNamedOnlyForWholePartitions) {
  const ColumnFilter filter = named({"v", "s"}, false);
  EXPECT_EQ(filter.fetching, ColumnFilter::Fetching::kAllRegularsAndQueriedStatics);
  EXPECT_EQ(names(filter.fetched_statics), "s");
  EXPECT_EQ(names(filter.queried_statics), "s");
}

TEST(ColumnFilterTest, WithoutAColumnBesideTheKeyOrWithAllOfThemEverythingIsWanted) {
  const ColumnFilter all = ColumnFilter::all(table());
  EXPECT_EQ(named({}, true), all);
  EXPECT_EQ(named({"k", "a", "b"}, false), all);
  ColumnFilter::Columns every = all.fetched_regulars;
  every.insert(every.end(), all.fetched_statics.begin(), all.fetched_statics.end());
  EXPECT_EQ(ColumnFilter::of_named(table(), every, true), all);
}

// Each cell with its age and the bytes of its value.
std::string cells(const Row& row) {
  std::string out;
  for (const Cell& cell : row.cells) {
    out += fmt::format("{}@{}:{} ", cell.column->name, cell.timestamp - kTs, cell.value.size());
  }
  return out;
}

TEST(ColumnFilterTest, OfAColumnThatIsNotQueriedTheAgeIsLeftAndNothingThatIsOlderThanItsRow) {
  const ColumnFilter filter = named({"v"}, true);
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
