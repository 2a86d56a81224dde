// Mutations are, byte for byte, what Cassandra 5.0.9 serializes.
#include "model/mutation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/counter.h"
#include "model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

std::string expected(const std::string& name) { return oracle_result("mutation", name); }

TEST(MutationTest, SerializesAnInsert) {
  UpdateBuilder update(plain_table(), unhex("cafe"));
  update.row(insert_row(kTs));
  EXPECT_EQ(to_hex(update.serialized()), expected("insert"));
}

TEST(MutationTest, SerializesAnInsertWithTtl) {
  RowBuilder row(plain_table());
  row.live(kTs, 3600, kNow + 3600);
  for (char c : {'0', '1', '2', '3', '4'}) {
    row.cell(std::string("c") + c, kTs, 3600, kNow + 3600, unhex(std::string("b") + c));
  }
  UpdateBuilder update(plain_table(), unhex("cafe"));
  update.row(row);
  EXPECT_EQ(to_hex(update.serialized()), expected("insert with ttl"));
}

TEST(MutationTest, SerializesAnUpdateOfSomeColumns) {
  UpdateBuilder update(plain_table(), unhex("00"));
  update.row(
      RowBuilder(plain_table()).set("c1", kTs, unhex("01")).tombstone("c3", kTs + 1, kNow).set("c4", kTs + 2, ""));
  EXPECT_EQ(to_hex(update.serialized()), expected("update"));
}

TEST(MutationTest, SerializesTimesFarFromTheEpochs) {
  UpdateBuilder update(plain_table(), unhex("00"));
  update.row(RowBuilder(plain_table())
                 .set("c1", -5, unhex("01"))
                 .cell("c2", 3, 100, 4200000000, unhex("02"))
                 .cell("c3", 3, 200, kNow, unhex("03")));
  EXPECT_EQ(to_hex(update.serialized()), expected("negative timestamp"));
}

TEST(MutationTest, SerializesDeletions) {
  UpdateBuilder row(plain_table(), unhex("00"));
  row.row(RowBuilder(plain_table()).erase(kTs, kNow));
  EXPECT_EQ(to_hex(row.serialized()), expected("row deletion"));

  UpdateBuilder partition(plain_table(), unhex("00"));
  partition.erase(kTs, kNow);
  EXPECT_EQ(to_hex(partition.serialized()), expected("partition deletion"));

  UpdateBuilder nothing(plain_table(), unhex("00"));
  EXPECT_EQ(to_hex(nothing.serialized()), expected("nothing"));
}

TEST(MutationTest, SerializesStaticRowsAndCollections) {
  UpdateBuilder update(wide_table(), "key");
  build_rich(&update);
  EXPECT_EQ(to_hex(update.serialized()), expected("rich"));
}

TEST(MutationTest, SerializesRangeTombstonesAsMarkersBetweenRows) {
  UpdateBuilder update(wide_table(), "key");
  build_ranges(&update);
  EXPECT_EQ(to_hex(update.serialized()), expected("ranges"));
}

TEST(MutationTest, SerializesACounterUpdate) {
  Bytes key = serialize_partition_key(std::vector<BytesView>{"a", BytesView("\0\0\0\1", 4)});
  UpdateBuilder update(counts_table(), key);
  update.row(RowBuilder(counts_table()).set("c", kTs, make_counter_update(5)));
  EXPECT_EQ(to_hex(update.serialized()), expected("counter update"));
}

TEST(MutationTest, SerializesUpdatesOfSeveralTables) {
  UpdateBuilder plain(plain_table(), "key"), wide(wide_table(), "key");
  plain.row(insert_row(kTs));
  wide.row(wide_row(1, "b").live(kTs));
  std::vector<PartitionUpdate> updates{plain.build(), wide.build()};
  Bytes out;
  serialize({"k", DecoratedKey::of("key"), updates}, out);
  EXPECT_EQ(to_hex(out), expected("two tables"));
}

TEST(MutationTest, WritesAsManyBytesAsItSaidItWould) {
  UpdateBuilder update(wide_table(), "key");
  build_rich(&update);
  Mutation mutation{"k", DecoratedKey::of("key"), std::span(&update.build(), 1)};
  MutationSerializer serializer(mutation);
  Bytes out(serializer.size() + 1, '#');
  EXPECT_EQ(serializer.write(out.data()), out.data() + serializer.size());
  EXPECT_EQ(out.back(), '#');
  EXPECT_EQ(serialized_size(mutation), serializer.size());
}

TEST(MutationTest, ReadsBackWhatCassandraWrote) {
  for (const OracleCase& c : oracle("mutation")) {
    SCOPED_TRACE(c.name);
    Bytes bytes = unhex(c.results[0]);
    Arena arena;
    auto mutation = deserialize_mutation(bytes, table_by_id, arena);
    ASSERT_TRUE(mutation.ok()) << mutation.error().message();
    EXPECT_EQ(mutation->keyspace, "k");
    Bytes again;
    serialize(*mutation, again);
    EXPECT_EQ(to_hex(again), c.results[0]);
  }
}

TEST(MutationTest, ReadsRowsAndRangeTombstones) {
  Bytes bytes = unhex(expected("ranges"));
  Arena arena;
  auto mutation = deserialize_mutation(bytes, table_by_id, arena);
  ASSERT_TRUE(mutation.ok());
  EXPECT_EQ(mutation->key, DecoratedKey::of("key"));
  const PartitionUpdate& update = mutation->updates[0];
  ASSERT_EQ(update.rows.size(), 5u);
  EXPECT_EQ(update.rows[1].clustering.values[0], encode_int(2));
  EXPECT_EQ(update.rows[1].clustering.values[1], "q");
  EXPECT_EQ(update.rows[1].cells[0].column, wide_table()->column("v"));
  EXPECT_EQ(update.rows[1].cells[0].timestamp, kTs + 9);
  ASSERT_EQ(update.range_tombstones.size(), 4u);
  EXPECT_EQ(update.range_tombstones[0].end.kind, ClusteringKind::kExclEndBound);
  EXPECT_EQ(update.range_tombstones[1].start.kind, ClusteringKind::kInclStartBound);
  EXPECT_EQ(update.range_tombstones[1].deletion, (DeletionTime{kTs + 1, kNow + 1}));
  EXPECT_TRUE(update.range_tombstones[3].end.values.empty());
}

TEST(MutationTest, RefusesUnknownTables) {
  Bytes bytes = unhex(expected("insert"));
  Arena arena;
  auto mutation = deserialize_mutation(
      bytes, [](const Uuid&) { return nullptr; }, arena);
  ASSERT_FALSE(mutation.ok());
  EXPECT_EQ(mutation.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(mutation.error().message(), "Unknown table 11111111-1111-1111-1111-111111111111");
}

TEST(MutationTest, RefusesTruncatedBytes) {
  for (const OracleCase& c : oracle("mutation")) {
    Bytes bytes = unhex(c.results[0]);
    for (size_t n = 0; n < bytes.size(); ++n) {
      // A copy of its own, so that the sanitizer sees a read past the end.
      Bytes prefix = bytes.substr(0, n);
      Arena arena;
      auto mutation = deserialize_mutation(prefix, table_by_id, arena);
      ASSERT_FALSE(mutation.ok()) << c.name << " cut to " << n;
      EXPECT_EQ(mutation.error().code(), ErrorCode::kCorruption);
    }
  }
}

TEST(MutationTest, WithstandsDamagedBytes) {
  size_t refused = 0;
  for (const OracleCase& c : oracle("mutation")) {
    Bytes bytes = unhex(c.results[0]);
    for (size_t i = 17; i < bytes.size(); ++i) {
      for (char flip : {'\x01', '\x40', '\xff'}) {
        Bytes damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        Arena arena;
        refused += !deserialize_mutation(damaged, table_by_id, arena).ok();
      }
    }
  }
  EXPECT_GT(refused, 0u);
}

// The plain table without c1, which was dropped, and with c3 dropped and added again.
TablePtr altered_table() {
  std::vector<ColumnPtr> others;
  for (const ColumnPtr& c : plain_table()->regular_columns) {
    if (c->name != "c1") others.push_back(c);
  }
  auto table = std::make_shared<TableMetadata>("k", "plain", plain_table()->id, plain_table()->partition_key,
                                               std::vector<ColumnPtr>{}, others);
  table->dropped_columns["c1"] = {plain_table()->regular_columns[1], kTs + 5};
  table->dropped_columns["c3"] = {plain_table()->regular_columns[3], kTs + 5};
  return table;
}

TEST(MutationTest, SkipsCellsOfDroppedColumns) {
  TablePtr table = altered_table();
  auto find = [&](const Uuid&) { return table.get(); };
  auto columns_after = [&](int64_t ts) {
    UpdateBuilder update(plain_table(), unhex("cafe"));
    update.row(insert_row(ts));
    Bytes bytes = update.serialized();
    Arena arena;
    auto mutation = deserialize_mutation(bytes, find, arena);
    EXPECT_TRUE(mutation.ok());
    std::vector<std::string> names;
    for (const Cell& cell : mutation->updates[0].rows[0].cells) names.push_back(cell.column->name);
    return names;
  };
  EXPECT_THAT(columns_after(kTs), testing::ElementsAre("c0", "c2", "c4"));
  EXPECT_THAT(columns_after(kTs + 6), testing::ElementsAre("c0", "c2", "c3", "c4"));
}

TEST(MutationTest, RefusesColumnsThatTheTableNeverHad) {
  auto table = std::make_shared<TableMetadata>("k", "plain", plain_table()->id, plain_table()->partition_key,
                                               std::vector<ColumnPtr>{}, std::vector<ColumnPtr>{});
  Bytes bytes = unhex(expected("insert"));
  Arena arena;
  auto mutation = deserialize_mutation(
      bytes, [&](const Uuid&) { return table.get(); }, arena);
  ASSERT_FALSE(mutation.ok());
  EXPECT_THAT(mutation.error().message(), testing::HasSubstr("Unknown column c0 during deserialization"));
}

}  // namespace
}  // namespace cassandra_like
