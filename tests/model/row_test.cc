// Reconciliation: which of two cells wins, and what a row becomes of its versions, as Cassandra 5.0.9 decides.
#include "model/row.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/counter.h"
#include "model/row_codec.h"
#include "model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

// "timestamp ttl local-deletion-time value", as the oracle names its cells.
Cell parse_cell(const std::string& text, Arena& arena) {
  std::istringstream in(text);
  std::string value;
  Cell cell;
  in >> cell.timestamp >> cell.ttl >> cell.local_deletion_time >> value;
  cell.column = plain_table()->column("c0");
  cell.value = arena.copy(unhex(value));
  return cell;
}

TEST(RowTest, ReconcilesCells) {
  Arena arena;
  const auto& cases = oracle("reconcile");
  ASSERT_EQ(cases.size(), 26u);
  for (const OracleCase& a : cases) {
    std::string wins;
    for (const OracleCase& b : cases) {
      int c = reconcile(parse_cell(a.name, arena), parse_cell(b.name, arena));
      EXPECT_EQ(c, -reconcile(parse_cell(b.name, arena), parse_cell(a.name, arena)));
      wins += c >= 0 ? '1' : '0';
    }
    EXPECT_EQ(wins, a.results[0]) << a.name;
  }
}

Row only_row(BytesView mutation_bytes, Arena& arena) {
  auto mutation = deserialize_mutation(mutation_bytes, table_by_id, arena);
  EXPECT_TRUE(mutation.ok());
  return mutation->updates[0].rows[0];
}

TEST(RowTest, MergesVersionsOfARow) {
  for (const OracleCase& c : oracle("merge")) {
    SCOPED_TRACE(c.name);
    DeletionTime deletion{std::stoll(c.results[0]), std::stoll(c.results[1])};
    Bytes expected = unhex(c.results[2]);
    Arena arena;
    std::vector<Row> versions;
    for (size_t i = 3; i < c.results.size(); ++i) {
      versions.push_back(only_row(arena.copy(unhex(c.results[i])), arena));
    }
    std::vector<const Row*> pointers;
    for (const Row& row : versions) pointers.push_back(&row);

    for (int order = 0; order < 2; ++order) {
      Row merged = merge_rows(pointers, deletion, arena);
      auto update = deserialize_mutation(expected, table_by_id, arena);
      ASSERT_TRUE(update.ok());
      PartitionUpdate with_merged{update->updates[0].table, update->key, {}, {}, {}, {}};
      if (!merged.is_empty()) with_merged.rows = {&merged, 1};
      Bytes out;
      serialize({"k", update->key, {&with_merged, 1}}, out);
      EXPECT_EQ(to_hex(out), c.results[2]) << "order " << order;
      std::reverse(pointers.begin(), pointers.end());
    }
  }
}

TEST(RowTest, MergingOneVersionThatNothingDeletesCopiesNothing) {
  RowBuilder builder = insert_row(kTs);
  Row row = builder.build();
  const Row* rows[] = {&row};
  Arena arena;
  Row merged = merge_rows(rows, {}, arena);
  EXPECT_EQ(merged.cells.data(), row.cells.data());
  EXPECT_EQ(arena.reserved(), 0u);
}

// Row i of four has all elements whose number is at least i, newer than row i - 1.
TEST(RowTest, MergingManyLargeVersionsTakesOneListOfCells) {
  constexpr int kElements = 2000, kRows = 4;
  Arena values;
  std::vector<Row> rows;
  std::vector<const Row*> pointers;
  for (int r = 0; r < kRows; ++r) {
    RowBuilder builder = wide_row(1, "b");
    for (int i = r; i < kElements; ++i) {
      const Bytes path = encode_int(i);
      builder.put("m", kTs + r, values.copy(path), values.copy(encode_int(r)));
    }
    rows.push_back(builder.build());
  }
  for (const Row& row : rows) pointers.push_back(&row);
  Arena arena;
  const Row merged = merge_rows(pointers, {}, arena);
  ASSERT_EQ(merged.cells.size(), size_t{kElements});
  for (int i = 0; i < kElements; ++i) {
    const Cell& cell = merged.cells[static_cast<size_t>(i)];
    EXPECT_EQ(cell.path, encode_int(i));
    EXPECT_EQ(cell.value, encode_int(std::min(i, kRows - 1)));
  }
  EXPECT_LE(arena.reserved(), kRows * kElements * sizeof(Cell) + 8192);
}

TEST(RowTest, EmptyCounterValuesStandForThoseThatWereNotAskedFor) {
  RowBuilder a(counts_table()), b(counts_table());
  a.set("c", kTs, "");
  b.set("c", kTs + 1, make_counter_update(5));
  Row rows[] = {a.build(), b.build()};
  const Row* pointers[] = {&rows[0], &rows[1]};
  Arena arena;
  Row merged = merge_rows(pointers, {}, arena);
  EXPECT_EQ(merged.cells[0].value, "");
  EXPECT_EQ(merged.cells[0].timestamp, kTs);
}

std::vector<std::string> column_names(const Row& row) {
  std::vector<std::string> names;
  for (const Cell& c : row.cells) names.push_back(c.column->name);
  return names;
}

TEST(RowTest, LiveRowsHaveNeitherTombstonesNorWhatExpired) {
  RowBuilder builder = wide_row(1, "b");
  builder.live(kTs, 100, kNow + 100)
      .erase(kTs - 1, kNow)
      .set("v", kTs, encode_int(1))
      .tombstone("t", kTs, kNow)
      .erase_all("m", kTs - 1, kNow)
      .cell("m", kTs, 50, kNow + 50, encode_int(2), "gone")
      .put("m", kTs, "here", encode_int(3));
  Row row = builder.build();
  Arena arena;

  Row early = live_row(row, kNow + 49, arena);
  EXPECT_THAT(column_names(early), testing::ElementsAre("v", "m", "m"));
  EXPECT_EQ(early.liveness, row.liveness);
  EXPECT_TRUE(early.deletion.is_live());
  EXPECT_TRUE(early.complex_deletions.empty());

  Row late = live_row(row, kNow + 100, arena);
  EXPECT_THAT(column_names(late), testing::ElementsAre("v", "m"));
  EXPECT_EQ(late.cells[1].path, "here");
  EXPECT_TRUE(late.liveness.is_empty());
}

TEST(RowTest, LiveRowsOfNothingButLiveCellsAreNotCopied) {
  RowBuilder builder = insert_row(kTs);
  Row row = builder.build();
  Arena arena;
  EXPECT_EQ(live_row(row, kNow, arena).cells.data(), row.cells.data());
  EXPECT_EQ(arena.reserved(), 0u);
}

TEST(RowTest, HasLiveData) {
  EXPECT_TRUE(insert_row(kTs).build().has_live_data(kNow));
  EXPECT_FALSE(RowBuilder(plain_table()).erase(kTs, kNow).tombstone("c1", kTs, kNow).build().has_live_data(kNow));
  Row expiring = RowBuilder(plain_table()).cell("c1", kTs, 10, kNow + 10, "x").build();
  EXPECT_TRUE(expiring.has_live_data(kNow + 9));
  EXPECT_FALSE(expiring.has_live_data(kNow + 10));
  Row view_tombstone = RowBuilder(plain_table()).live(kTs, kExpiredLivenessTtl, kNow).build();
  EXPECT_FALSE(view_tombstone.has_live_data(0));
}

TEST(RowTest, LivenessSupersedes) {
  Liveness plain{kTs, kNoTtl, kNoDeletionTime};
  Liveness expiring{kTs, 10, kNow + 10};
  Liveness later{kTs, 20, kNow + 20};
  Liveness rewritten{kTs, 5, kNow + 10};
  Liveness removed{kTs, kExpiredLivenessTtl, kNow};
  Liveness newer{kTs + 1, kNoTtl, kNoDeletionTime};
  std::vector<Liveness> ascending{{}, plain, expiring, rewritten, later, removed, newer};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ascending[i].supersedes(ascending[j]), i > j) << i << " and " << j;
    }
  }
}

TEST(RowTest, CopiesOwnEverything) {
  Arena arena;
  Row copy;
  {
    Arena short_lived;
    RowBuilder builder(wide_table(), short_lived);
    builder.at(1, "b").live(kTs).put("m", kTs, "key", encode_int(1)).erase_all("m", kTs - 1, kNow);
    copy = copy_row(builder.build(), arena);
  }
  EXPECT_EQ(copy.clustering.values[1], "b");
  EXPECT_EQ(to_hex(copy.clustering.comparable), "4080000001409dff38");
  EXPECT_EQ(copy.cells[0].path, "key");
  EXPECT_EQ(copy.cells[0].value, encode_int(1));
  EXPECT_EQ(copy.complex_deletions[0].deletion, (DeletionTime{kTs - 1, kNow}));
}

}  // namespace
}  // namespace cassandra_like
