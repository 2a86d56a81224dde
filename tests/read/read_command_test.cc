// Conditions on rows hold where they hold in Cassandra 5.0.9.
#include "read/read_command.h"

#include "gtest/gtest.h"
#include "model/mutation.h"
#include "tests/model/model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

TEST(RowFilterTest, AgreesWithCassandra) {
  const auto& cases = oracle("filter");
  ASSERT_GT(cases.size(), 150u);
  for (const OracleCase& c : cases) {
    // The mutation with the row, the column, operator, key of a map's entry, value; the answer.
    const auto& f = c.results;
    ASSERT_EQ(f.size(), 6u);
    Arena arena;
    auto mutation = deserialize_mutation(arena.copy(unhex(f[0])), table_by_id, arena);
    ASSERT_TRUE(mutation.ok());
    const PartitionUpdate& update = mutation->updates[0];
    int64_t now = kNow + 150;
    FilterExpression e;
    e.column = update.table->column(f[1]);
    e.op = static_cast<Operator>(std::stoi(f[2]));
    e.is_map_entry = f[3] != "null";
    if (e.is_map_entry) e.map_key = unhex(f[3]);
    e.value = unhex(f[4]);
    Row row = live_row(update.rows[0], now, arena);
    Row static_row = live_row(update.static_row, now, arena);
    EXPECT_EQ(satisfies({e}, *update.table, update.key, static_row, row, now), f[5] == "true") << c.name;
    if (e.column->is_primary_key()) continue;
    EXPECT_FALSE(satisfies({e}, *update.table, update.key, Row{}, Row{row.clustering}, now)) << c.name;
  }
}

TEST(RowFilterTest, AllConditionsMustHold) {
  RowBuilder builder = wide_row(1, "b");
  Row row = builder.live(kTs).set("v", kTs, encode_int(5)).build();
  DecoratedKey key = DecoratedKey::of("key");
  const TableMetadata& table = *wide_table();
  FilterExpression five{table.column("v"), Operator::kEq, encode_int(5), "", false};
  FilterExpression first{table.column("a"), Operator::kEq, encode_int(1), "", false};
  FilterExpression second{table.column("a"), Operator::kEq, encode_int(2), "", false};
  EXPECT_TRUE(satisfies({}, table, key, Row{}, row, kNow));
  EXPECT_TRUE(satisfies({five, first}, table, key, Row{}, row, kNow));
  EXPECT_FALSE(satisfies({five, second}, table, key, Row{}, row, kNow));
}

// From, to.
using Bounds = std::vector<std::pair<Bytes, Bytes>>;

// The rest of a partition behind a place; none when nothing is left.
std::optional<Bounds> rest_behind(const Bytes& place, bool reversed, const Bounds& slices = {}) {
  ReadCommand command;
  command.table = wide_table();
  command.keys = {DecoratedKey::of("key")};
  for (const auto& [from, to] : slices) command.slices.push_back({from, to});
  command.reversed = reversed;
  std::optional<ReadCommand> rest = continue_behind(command, DecoratedKey::of("key"), place);
  if (!rest) return std::nullopt;
  Bounds bounds;
  for (const Slice& slice : rest->slices) bounds.emplace_back(slice.start, slice.end);
  return bounds;
}

Bytes place(int32_t first, char terminator) {
  const Bytes value = encode_int(first);
  const BytesView values[] = {value};
  Bytes out = Slice::of_prefix(*wide_table(), values).start;
  out.back() = terminator;
  return out;
}

TEST(ContinueBehindTest, IsTheRestInTheDirectionOfTheRead) {
  const Bytes before = place(5, kBeforeTerminator), behind = place(5, kAfterTerminator);
  EXPECT_EQ(rest_behind(behind, false), (Bounds{{behind, {}}}));
  EXPECT_EQ(rest_behind(before, true), (Bounds{{{}, before}}));
  const Bounds five{{before, behind}}, seven{{place(7, kBeforeTerminator), place(7, kAfterTerminator)}};
  const Bounds both{five[0], seven[0]};
  EXPECT_EQ(rest_behind(behind, false, both), seven);
  EXPECT_EQ(rest_behind(place(7, kBeforeTerminator), true, both), five);
  EXPECT_EQ(rest_behind(behind, false, five), std::nullopt);
}

// The end of a range deletion without an end: such a bound, in a request, would be that of the whole partition.
TEST(ContinueBehindTest, NothingIsLeftBehindTheBoundsOfThePartition) {
  const Bytes top(1, kAfterTerminator), bottom(1, kBeforeTerminator);
  EXPECT_EQ(rest_behind(top, false), std::nullopt);
  EXPECT_EQ(rest_behind(bottom, true), std::nullopt);
  EXPECT_EQ(rest_behind(bottom, false), (Bounds{{bottom, {}}}));
  EXPECT_EQ(rest_behind(top, true), (Bounds{{{}, top}}));
}

}  // namespace
}  // namespace cassandra_like
