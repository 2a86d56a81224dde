// Changes of the schema that other nodes made, and clocks that go back.
#include <gmock/gmock.h>

#include <algorithm>

#include "schema/internal_table.h"
#include "tests/replica/fixture/replica_node.h"
#include "tests/schema/recorded_schema.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

std::string version(ReplicaNode& node) { return node.on(0).schema().current()->version().to_string(); }

Lines tables(ReplicaNode& node, const std::string& keyspace = "ks") { return table_names(node.on(0), keyspace); }

std::vector<InternalRow> rows_of(ReplicaNode& node, const std::string& keyspace, const std::string& table) {
  ReadCommand command;
  command.table = node.table(table, keyspace);
  command.range = KeyRange{};
  command.now_seconds = storage_test::kNow;
  InternalRows rows(command.table);
  auto done = node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(command, rows); });
  EXPECT_TRUE(done.ok());
  return rows.rows;
}

TEST(SchemaMerge, AFreshNodeHasTheVersionOfAFreshCassandra) {
  ReplicaNode node(2), latest(3, 1, latest_options());
  EXPECT_EQ(version(node), RecordedSchema::read("fresh_default").version.to_string());
  EXPECT_EQ(version(latest), RecordedSchema::read("fresh").version.to_string());
}

TEST(SchemaMerge, TheSchemaOfACassandraHasItsVersionHere) {
  for (const char* name : {"rich", "drops"}) {
    RecordedSchema recorded = RecordedSchema::read(name);
    ReplicaNode node(2, 1, latest_options());
    auto merged = node.merge(1, recorded.mutations(*node.on(0).schema().current()));
    ASSERT_TRUE(merged.ok()) << merged.error().message();
    EXPECT_EQ(version(node), recorded.version.to_string()) << name;
    EXPECT_EQ(tables(node, "shop"), (Lines{"hits", "orders", "plain", "secret"})) << name;
    EXPECT_EQ(node.on(1).schema().current()->keyspace("shop")->types.size(), 2u);
    node.kill();
    node.boot(3);
    EXPECT_EQ(version(node), recorded.version.to_string()) << name;
  }
}

// Functions, aggregates, views and masks are not served, but stay and count.
TEST(SchemaMerge, KeepsWhatItDoesNotServe) {
  RecordedSchema recorded = RecordedSchema::read("rich");
  ReplicaNode node(2, 1, latest_options());
  ASSERT_TRUE(node.merge(0, recorded.mutations(*node.on(0).schema().current())).ok());
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  ASSERT_TRUE(node.change(1,
                          [](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
                            return SchemaPtr(schema->with_keyspace(without_table(*schema->keyspace("shop"), "hits")));
                          })
                  .ok());
  node.kill();
  node.boot(2);
  EXPECT_EQ(tables(node, "shop"), (Lines{"orders", "plain", "secret"}));
  EXPECT_EQ(rows_of(node, "system_schema", "functions").size(), 2u);
  EXPECT_EQ(rows_of(node, "system_schema", "aggregates").size(), 1u);
  EXPECT_EQ(rows_of(node, "system_schema", "views").size(), 1u);
  EXPECT_EQ(rows_of(node, "system_schema", "column_masks").size(), 2u);
}

TEST(SchemaMerge, AnyOrderAndAnyRepetitionEndsTheSame) {
  ReplicaNode maker(2);
  std::vector<Bytes> mutations;
  auto change = [&](SchemaTransformation transformation) {
    auto diff = maker.change(0, std::move(transformation));
    ASSERT_TRUE(diff.ok());
    ASSERT_FALSE(diff->mutations.empty());
    mutations.insert(mutations.end(), diff->mutations.begin(), diff->mutations.end());
  };
  change(make_keyspace({make_table("t"), make_table("kv")}));
  change(drop_table("t"));
  change(add_table(make_table("d")));
  change(comment("kv", "altered"));
  const Lines expected{"d", "kv"};
  ASSERT_EQ(tables(maker), expected);
  for (bool reversed : {false, true}) {
    ReplicaNode other(3);
    if (reversed) std::reverse(mutations.begin(), mutations.end());
    for (int round : {0, 1}) {
      for (const Bytes& mutation : mutations) {
        auto merged = other.merge(static_cast<unsigned>(round), {mutation});
        if (merged.ok()) continue;
        // A table that was altered before it was made: the keyspace waits for the rest.
        EXPECT_TRUE(reversed && round == 0);
        EXPECT_THAT(merged.error().message(), testing::HasSubstr("table ks.kv has no id or no partition key column"));
      }
      EXPECT_EQ(tables(other), expected);
      EXPECT_EQ(other.table("kv")->params.comment, "altered");
      EXPECT_EQ(version(other), version(maker));
    }
  }
}

TEST(SchemaMerge, ChangesMadeAtOnceConverge) {
  ReplicaNode a(2), b(1);
  auto base = a.change(0, make_keyspace({make_table("t"), make_table("kv")}));
  ASSERT_TRUE(base.ok());
  ASSERT_TRUE(b.merge(0, base->mutations).ok());
  EXPECT_EQ(version(a), version(b));
  b.machine().shift_wall_clock(std::chrono::seconds(5));  // the later one, whatever is told first
  auto on_a = a.change(0, comment("t", "a"));
  auto on_b = b.change(0, comment("t", "b"));
  auto dropped = a.change(0, drop_table("kv"));
  auto added = b.change(0, add_table(make_table("n")));
  ASSERT_TRUE(on_a.ok() && on_b.ok() && dropped.ok() && added.ok());
  EXPECT_NE(version(a), version(b));
  ASSERT_TRUE(a.merge(1, added->mutations).ok());
  ASSERT_TRUE(a.merge(1, on_b->mutations).ok());
  ASSERT_TRUE(b.merge(0, on_a->mutations).ok());
  ASSERT_TRUE(b.merge(0, dropped->mutations).ok());
  EXPECT_EQ(version(a), version(b));
  for (ReplicaNode* node : {&a, &b}) {
    EXPECT_EQ(tables(*node), (Lines{"n", "t"}));
    EXPECT_EQ(node->table("t")->params.comment, "b");
  }
}

TEST(SchemaMerge, RefusesWritesToOtherTables) {
  ReplicaNode node(1);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("kv")})).ok());
  const std::string before = version(node);
  Bytes bytes;
  serialize(Update(node.table("kv"), "a").row(std::vector<int32_t>{}).cell("v1", "x").mutation(), bytes);
  auto refused = node.merge(0, {bytes});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "A change of the schema that writes to ks.kv");
  EXPECT_FALSE(node.merge(0, {"garbage"}).ok());
  EXPECT_EQ(version(node), before);
  EXPECT_EQ(node.scan(0, "kv"), Lines());
}

// --- A clock that goes back ---

TEST(SchemaClock, ADropAndACreateAfterTheClockWentBackStay) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  node.kill();
  node.machine().shift_wall_clock(-std::chrono::hours(1));
  node.boot(2);
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  ASSERT_TRUE(node.change(1, add_table(make_table("kv"))).ok());
  node.machine().shift_wall_clock(-std::chrono::hours(1));
  ASSERT_TRUE(node.change(1, comment("kv", "later")).ok());
  const std::string before = version(node);
  // From the commit log, then from SSTables, which have the tombstones of what was dropped.
  for (bool clean : {false, true}) {
    clean ? node.drain() : node.kill();
    node.machine().shift_wall_clock(-std::chrono::hours(1));
    node.boot(2);
    EXPECT_EQ(tables(node), (Lines{"kv"}));
    EXPECT_EQ(node.table("kv")->params.comment, "later");
    EXPECT_EQ(version(node), before);
  }
  ASSERT_TRUE(node.change(0, add_table(make_table("t"))).ok());
  node.kill();
  node.boot(2);
  EXPECT_EQ(tables(node), (Lines{"kv", "t"}));
}

TEST(SchemaClock, ATruncateAfterTheClockWentBackStays) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  TablePtr table = node.table("t");
  auto truncate = [&] { return node.run<Status>(1, [&] { return node.on(1).truncate(table); }); };
  ASSERT_TRUE(truncate().ok());
  node.machine().shift_wall_clock(-std::chrono::hours(1));
  ASSERT_TRUE(node.write(0, Update(table, "a").row(1).live().cell("v", "x")).ok());
  ASSERT_TRUE(truncate().ok());
  EXPECT_EQ(node.scan(0, "t"), Lines());
  node.kill();
  node.boot(2);
  EXPECT_EQ(node.scan(0, "t"), Lines());
}

// Peers take the word of the higher generation only.
TEST(SchemaClock, TheGossipGenerationGrowsWithEachStart) {
  ReplicaNode node(2);
  auto generation = [&] { return rows_of(node, "system", "local").at(0).integer("gossip_generation"); };
  int32_t last = generation();
  for (int i = 0; i < 3; ++i) {
    node.kill();
    node.machine().shift_wall_clock(-std::chrono::hours(1));
    node.boot(2);
    EXPECT_GT(generation(), last);
    last = generation();
  }
}

}  // namespace
}  // namespace cassandra_like::test
