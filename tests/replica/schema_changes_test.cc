// Changes of the schema: one after the other, from any shard, on all shards, and kept.
#include <limits>

#include "schema/schema_mutations.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

Uuid version(ReplicaNode& node, unsigned shard) { return node.on(shard).schema().current()->version(); }

TEST(SchemaChanges, ReachEveryShardWithTheirListeners) {
  ReplicaNode node(3);
  std::vector<std::string> told;
  for (unsigned shard : {0u, 1u, 2u}) {
    node.on(shard).schema().add_listener([&told, shard](const SchemaDiff& diff) {
      told.push_back(std::to_string(shard) + " " + diff.events[0].change + " " + diff.events[0].target);
    });
  }
  Uuid before = version(node, 0);
  auto diff = node.change(1, make_keyspace({make_table("t")}));
  ASSERT_TRUE(diff.ok());
  EXPECT_EQ(diff->events,
            (std::vector<SchemaEvent>{{"CREATED", "KEYSPACE", "ks", "", {}}, {"CREATED", "TABLE", "ks", "t", {}}}));
  EXPECT_NE(version(node, 0), before);
  for (unsigned shard : {0u, 1u, 2u}) {
    EXPECT_EQ(node.on(shard).schema().current(), diff->schema);
    EXPECT_TRUE(node.on(shard).maintenance().table_statistics(node.table("t")->id).ok());
  }
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, (std::vector<std::string>{"0 CREATED KEYSPACE", "1 CREATED KEYSPACE", "2 CREATED KEYSPACE"}));
}

TEST(SchemaChanges, RunOneAfterTheOther) {
  ReplicaNode node(3);
  ASSERT_TRUE(node.change(0, make_keyspace({})).ok());
  // All at once, from different shards; none may lose what another did.
  int done = 0;
  auto start = [&](unsigned shard, const std::string& name) {
    static const auto change = [](ReplicaNode* node, unsigned shard, std::string name, int* done) -> Task<void> {
      SchemaTransformation transformation = add_table(make_table(name));
      auto result = co_await node->on(shard).schema().change(transformation);
      EXPECT_TRUE(result.ok());
      EXPECT_NE(node->table(name), nullptr);
      ++*done;
    };
    node.runtime(shard).executor.post([&, shard, name] { spawn(change(&node, shard, name, &done)); });
  };
  start(2, "t");
  start(1, "kv");
  start(0, "d");
  start(1, "n");
  EXPECT_TRUE(node.world().run_until([&] { return done == 4; }, std::chrono::minutes(1)));
  EXPECT_EQ(node.on(2).schema().current()->keyspace("ks")->tables.size(), 4u);
}

TEST(SchemaChanges, OneThatIsRefusedChangesNothing) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  SchemaPtr before = node.on(0).schema().current();
  bool told = false;
  node.on(1).schema().add_listener([&](const SchemaDiff&) { told = true; });
  auto refused = node.change(1, drop_table("nothing"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "Table 'ks.nothing' doesn't exist");
  for (unsigned shard : {0u, 1u}) EXPECT_EQ(node.on(shard).schema().current(), before);
  EXPECT_FALSE(told);
  // The next one is not held up.
  EXPECT_TRUE(node.change(1, drop_table("t")).ok());
  EXPECT_TRUE(told);
}

TEST(SchemaChanges, OneThatChangesNothingTellsNobody) {
  ReplicaNode node(2);
  bool told = false;
  node.on(0).schema().add_listener([&](const SchemaDiff&) { told = true; });
  SchemaPtr before = node.on(0).schema().current();
  auto same = node.change(1, [](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> { return schema; });
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(node.on(1).schema().current(), before);
  EXPECT_FALSE(told);
}

TEST(SchemaChanges, OneThatTheDiskRefusesIsNotPublished) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  SchemaPtr before = node.on(0).schema().current();
  node.machine().faults().io_error_ppm = 1'000'000;
  EXPECT_FALSE(node.change(0, add_table(make_table("kv"))).ok());
  for (unsigned shard : {0u, 1u}) EXPECT_EQ(node.on(shard).schema().current(), before);
}

// A replay passes over a record that has writes of a table that is gone. Here one record has writes of t and of kv.
Status write_both(ReplicaNode& node, unsigned shard, const std::string& key, TablePtr kv_table) {
  Update t(node.table("t"), key), kv(std::move(kv_table), key);
  t.row(1).cell("v", "x");
  kv.row(std::vector<int32_t>{}).cell("v1", "y");
  const PartitionUpdate updates[] = {t.build(), kv.build()};
  const Mutation both{"ks", updates[0].key, updates};
  return node.run<Status>(shard, [&] { return node.on(shard).mutate(both); });
}

Status write_both(ReplicaNode& node) { return write_both(node, 0, "key", node.table("kv")); }

void expect_kv_alone_after_a_kill(ReplicaNode& node) {
  node.kill();
  node.boot(1);
  EXPECT_EQ(table_names(node.on(0)), (Lines{"kv"}));
  EXPECT_EQ(node.scan(0, "kv"), (Lines{"key", "  v1=y@1"}));
}

// The rows of ks in system_schema, as a peer sends them, with the tables that have these names.
std::vector<Bytes> whole_schema(ReplicaNode& node, const KeyspaceMetadata& ks) {
  Arena arena;
  const SchemaPtr schema = node.on(0).schema().current();
  const auto updates = schema_updates(*schema, nullptr, &ks, {storage_test::kNow * 1'000'000, false}, arena);
  std::vector<Bytes> whole(1);
  serialize(Mutation{"system_schema", updates[0].key, updates}, whole[0]);
  return whole;
}

TEST(SchemaChanges, ASchemaThatReplacesThisOneHidesNoOtherTablesWrites) {
  ReplicaNode node(1);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t"), make_table("kv")})).ok());
  ASSERT_TRUE(write_both(node).ok());
  const SchemaPtr schema = node.on(0).schema().current();
  const std::vector<Bytes> whole = whole_schema(node, *without_table(*schema->keyspace("ks"), "t"));
  const auto replaced = node.run<Result<SchemaDiff>>(0, [&] { return node.on(0).schema().replace(whole); });
  ASSERT_TRUE(replaced.ok()) << replaced.error().message();
  EXPECT_EQ(table_names(node.on(0)), (Lines{"kv"}));
  expect_kv_alone_after_a_kill(node);
}

// The node is killed after so many steps of the change, at most, and starts again. The schema comes once more, as an
// operator's second `nodetool resetlocalschema` brings it.
struct KilledReplacement {
  int steps = 0;
  bool ended = false;
  bool left_no_schema = false;
};

KilledReplacement kill_while_the_schema_is_replaced(int most_steps) {
  SCOPED_TRACE(most_steps);
  KilledReplacement out;
  ReplicaNode node(1);
  EXPECT_TRUE(node.change(0, make_keyspace({make_table("t"), make_table("kv")})).ok());
  EXPECT_TRUE(write_both(node).ok());
  const SchemaPtr schema = node.on(0).schema().current();
  const std::vector<Bytes> whole = whole_schema(node, *schema->keyspace("ks"));
  std::function<Task<Result<SchemaDiff>>()> replace = [&] { return node.on(0).schema().replace(whole); };
  auto replaced = std::make_shared<std::optional<Result<SchemaDiff>>>();
  node.runtime(0).executor.post([&] { spawn(replica_node_internal::keep(&replace, replaced.get())); });
  auto stops = [&] { return replaced->has_value() || out.steps++ == most_steps; };
  node.world().run_until(stops, std::chrono::minutes(1));
  out.ended = replaced->has_value();
  node.kill();
  node.boot(1);
  out.left_no_schema = node.on(0).schema().current()->keyspace("ks") == nullptr;
  EXPECT_TRUE(node.run<Result<SchemaDiff>>(0, replace).ok());
  EXPECT_EQ(node.scan(0, "kv"), (Lines{"key", "  v1=y@1"}));
  EXPECT_EQ(node.scan(0, "t"), (Lines{"key", "  1: v=x@1"}));
  return out;
}

// The schema is gone for two or three steps near the end: each of the last steps is tried, and every fifth of the others.
TEST(SchemaChanges, AKillWhileTheSchemaIsReplacedHidesNoWrites) {
  const KilledReplacement whole = kill_while_the_schema_is_replaced(std::numeric_limits<int>::max());
  ASSERT_TRUE(whole.ended);
  int without_schema = 0;
  for (int steps = 0; steps < whole.steps; steps += steps + 30 < whole.steps ? 5 : 1) {
    const KilledReplacement killed = kill_while_the_schema_is_replaced(steps);
    EXPECT_FALSE(killed.ended) << steps;
    without_schema += killed.left_no_schema;
  }
  EXPECT_GT(without_schema, 0);
}

// The disk fails in each step of a CREATE. It may have come to some shards, and a second one replaces its table by
// another of this name.
TEST(SchemaChanges, ACreateThatFailsHalfwayHidesNoOtherTablesWrites) {
  auto other = std::make_shared<TableMetadata>("ks", "kv", Uuid::name_based("another"), make_table("kv")->partition_key,
                                               std::vector<ColumnPtr>{}, make_table("kv")->regular_columns);
  bool ended = false;
  int replaced_after_failure = 0;
  for (int steps = 0; !ended; ++steps) {
    SCOPED_TRACE(steps);
    ReplicaNode node(2);
    ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
    std::function<Task<Result<SchemaDiff>>()> create = [&] {
      return node.on(0).schema().change(add_table(make_table("kv")));
    };
    auto created = std::make_shared<std::optional<Result<SchemaDiff>>>();
    node.runtime(0).executor.post([&] { spawn(replica_node_internal::keep(&create, created.get())); });
    auto run_for = [&](int most) {
      int taken = 0;
      node.world().run_until([&] { return created->has_value() || taken++ == most; }, std::chrono::minutes(1));
    };
    run_for(steps);
    ended = created->has_value();
    node.machine().faults().io_error_ppm = 1'000'000;
    run_for(1);
    node.machine().faults().io_error_ppm = 0;
    run_for(std::numeric_limits<int>::max());
    Lines expected;
    for (unsigned shard : {0u, 1u}) {
      const TablePtr kv = node.on(shard).schema().current()->table("ks", "kv");
      if (kv == nullptr || !write_both(node, shard, node.key_of(shard), kv).ok()) continue;
      expected.insert(expected.end(), {node.key_of(shard), "  1: v=x@1"});
    }
    const bool replaced = node.change(0, add_table(other)).ok();
    replaced_after_failure += replaced && !(*created)->ok();
    node.kill();
    node.boot(2);
    ASSERT_EQ(node.scan(0, "t"), expected);
  }
  EXPECT_GT(replaced_after_failure, 0);
}

TEST(SchemaChanges, ADropWhoseRowsCannotBeReadChangesNothing) {
  ReplicaNode node(1);
  node.options.chunk_cache_bytes = 0;
  node.options.disk_failure_policy = FailurePolicy::kIgnore;
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  table->dropped_columns["v"] = {table->regular_columns[0], 0};
  ASSERT_TRUE(node.change(0, make_keyspace({table, make_table("kv")})).ok());
  node.drain();
  node.boot(1);
  const Uuid before = version(node, 0);
  node.machine().faults().unreadable = "/system_schema/dropped_columns-";
  auto interrupted = node.change(0, drop_table("t"));
  ASSERT_FALSE(interrupted.ok());
  EXPECT_NE(interrupted.error().message().find("Input/output error"), std::string::npos)
      << interrupted.error().message();
  EXPECT_EQ(version(node, 0), before);
  ASSERT_TRUE(write_both(node).ok());
  node.machine().faults().unreadable = "";
  node.kill();
  node.boot(1);
  EXPECT_EQ(version(node, 0), before);
  EXPECT_EQ(table_names(node.on(0)), (Lines{"kv", "t"}));
  EXPECT_EQ(node.scan(0, "t"), (Lines{"key", "  1: v=x@1"}));
  EXPECT_EQ(node.scan(0, "kv"), (Lines{"key", "  v1=y@1"}));
}

TEST(SchemaChanges, AreThereAfterARestart) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t"), make_table("d")})).ok());
  ASSERT_TRUE(node.change(1, add_table(make_table("kv"))).ok());
  ASSERT_TRUE(node.change(1, drop_table("t")).ok());
  Uuid before = version(node, 0);
  for (bool clean : {false, true}) {
    clean ? node.drain() : node.kill();
    node.boot(clean ? 3 : 2);
    EXPECT_EQ(version(node, 0), before);
    std::vector<std::string> names;
    for (const auto& [name, table] : node.on(1).schema().current()->keyspace("ks")->tables) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"d", "kv"}));
    EXPECT_EQ(node.table("d")->clustering[0]->type->cql_name(), "int");
    EXPECT_TRUE(node.table("d")->clustering[0]->type->is_reversed());
  }
}

}  // namespace
}  // namespace cassandra_like::test
