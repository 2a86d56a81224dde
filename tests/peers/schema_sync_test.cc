// One schema at all nodes.
#include <gmock/gmock.h>

#include "messaging/wire/control_codec.h"
#include "peers/schema_exchange.h"
#include "schema/internal_table.h"
#include "tests/peers/peers_fixture.h"
#include "tests/schema/recorded_schema.h"

namespace cassandra_like::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using storage_test::make_table;
using testing::ElementsAre;
using testing::HasSubstr;

Lines tables(PeersCluster& cluster, size_t node) { return table_names(cluster.node(node).replica()); }

// Nodes that have started long ago.
void grow_old(PeersCluster& cluster) { cluster.world().run_for(minutes(2)); }

// ---- Push

TEST(SchemaSync, AChangeIsPushedToAllLivePeers) {
  PeersCluster cluster(4, 2);
  cluster.part({3});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  auto arrived = [&] { return cluster.node(1).version() == cluster.node(0).version(); };
  ASSERT_TRUE(cluster.wait(arrived, milliseconds(100)));
  cluster.world().run_for(seconds(5));
  EXPECT_EQ(cluster.node(2).version(), cluster.node(0).version());
  EXPECT_EQ(tables(cluster, 1), (Lines{"t"}));
  EXPECT_EQ(tables(cluster, 3), (Lines{"no keyspace"}));
  EXPECT_EQ(cluster.node(0).sync->statistics().pushes, 2u);
  // Changes from elsewhere are not pushed again.
  EXPECT_EQ(cluster.node(1).sync->statistics().pushes, 0u);
}

TEST(SchemaSync, AChangeOfNothingIsNotPushed) {
  PeersCluster cluster(2, 1);
  ASSERT_TRUE(cluster.change(0, [](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> { return schema; }).ok());
  EXPECT_EQ(cluster.node(0).sync->statistics().pushes, 0u);
}

TEST(SchemaSync, APushThatIsNoChangeOfTheSchemaIsRefused) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  const std::string before = cluster.node(1).version();
  const Bytes write = cluster.write("a", "x");
  const SharedBytes elsewhere = join_schema_mutations({write});
  EXPECT_EQ(cluster.ask(0, 1, Verb::kSchemaPushReq, Bytes(elsewhere.view())), "<UNKNOWN>");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kSchemaPushReq, "garbage"), "<UNKNOWN>");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kSchemaPushReq, Bytes("\xff\xff\xff\xff", 4)), "<UNKNOWN>");
  EXPECT_EQ(cluster.rows(1, "t"), 0u);
  EXPECT_EQ(cluster.node(1).version(), before);
}

UserTypePtr user_type() { return types::udt("ks", "u", {"f"}, {types::text()}, true); }

SchemaTransformation add_type() {
  return [](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    auto keyspace = std::make_shared<KeyspaceMetadata>(*schema->keyspace("ks"));
    keyspace->types["u"] = user_type();
    return SchemaPtr(schema->with_keyspace(keyspace));
  };
}

TEST(SchemaSync, APushThatCannotBeReadYetComesAgainWithAPullAtOnce) {
  PeersCluster cluster(2, 1);
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  EXPECT_TRUE(cluster.gossip_until([&] { return cluster.agree(); }, seconds(3)));
  grow_old(cluster);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, add_type()).ok());
  cluster.part({});
  const std::string before = cluster.node(1).version();
  const size_t rows = cluster.rows(1, "tables", "system_schema");
  CapturedLog lines;
  const TablePtr t = make_table("t");
  auto column = std::make_shared<Column>(*make_table("d")->regular_columns[0]);
  column->name = "w";
  column->type = types::freeze(user_type());
  std::vector<ColumnPtr> others{column};
  const auto typed = std::make_shared<TableMetadata>("ks", "typed", Uuid::random(1, 2), t->partition_key,
                                                     std::vector<ColumnPtr>{}, others);
  ASSERT_TRUE(cluster.change(0, add_table(typed)).ok());
  cluster.world().run_for(seconds(1));
  EXPECT_EQ(lines.count("SCHEMA_PUSH_REQ of /10.0.0.1:7000 is refused: system_schema: column ks.typed.w: "), 1u);
  EXPECT_EQ(cluster.node(1).version(), before);
  EXPECT_EQ(cluster.rows(1, "tables", "system_schema"), rows);
  EXPECT_TRUE(cluster.gossip_until([&] { return cluster.agree(); }, seconds(3)));
  EXPECT_NE(cluster.node(1).replica().schema().current()->table("ks", "typed"), nullptr);
}

// ---- Pull

TEST(SchemaSync, ANodeThatStartsAsksForTheSchema) {
  PeersCluster cluster(3, 2);
  cluster.part({2});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t"), make_table("kv")})).ok());
  ASSERT_TRUE(cluster.change(0, drop_table("kv")).ok());
  const auto is_pushed = [&] { return cluster.node(1).version() == cluster.node(0).version(); };
  ASSERT_TRUE(cluster.gossip_until(is_pushed, seconds(10)));
  cluster.part({});
  EXPECT_TRUE(cluster.gossip_until([&] { return cluster.agree(); }, seconds(10)));
  EXPECT_EQ(tables(cluster, 2), (Lines{"t"}));
  // It asks both of them at a time, and merges one answer.
  EXPECT_EQ(cluster.node(2).sync->statistics().pulls, 2u);
  EXPECT_EQ(cluster.node(2).sync->statistics().merges, 1u);
}

TEST(SchemaSync, ANodeThatRunsWaitsForAMinute) {
  PeersCluster cluster(2, 1);
  grow_old(cluster);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.part({});
  EXPECT_FALSE(cluster.gossip_until([&] { return cluster.agree(); }, seconds(55)));
  EXPECT_TRUE(cluster.gossip_until([&] { return cluster.agree(); }, seconds(10)));
}

TEST(SchemaSync, ARequestForAnUnknownTableMakesItHurry) {
  PeersCluster cluster(2, 2);
  grow_old(cluster);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, make_keyspace({cluster.table("t")})).ok());
  cluster.part({});
  cluster.gossip();
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write("a", "x")), "");
  EXPECT_EQ(cluster.rows(1, "t"), 1u);
  EXPECT_TRUE(cluster.agree());
}

TEST(SchemaSync, AVersionThatCameMeanwhileIsNotAskedFor) {
  PeersCluster cluster(2, 1);
  grow_old(cluster);
  cluster.part({0});
  auto changed = cluster.change(0, make_keyspace({make_table("t")}));
  cluster.part({});
  cluster.gossip();
  ASSERT_TRUE(cluster.merge(1, changed->mutations).ok());
  cluster.world().run_for(minutes(5));
  EXPECT_EQ(cluster.node(1).sync->statistics().pulls, 0u);
  EXPECT_TRUE(cluster.node(1).sync->outstanding().empty());
}

TEST(SchemaSync, AnotherNodeIsAskedWhenOneFails) {
  SchemaSyncOptions options;
  options.max_outstanding = 1;
  PeersCluster cluster(4, 1, 3, {}, options);
  cluster.part({3});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.world().run_for(seconds(1));
  cluster.part({});
  // Node 0, which is told of first, cannot answer; node 2, the one that was told of last, answers nonsense.
  auto fail = [](InboundMessage) -> Task<VerbResult> { return VerbResult::failure(RequestFailureReason::kUnknown); };
  auto lie = [](InboundMessage) -> Task<VerbResult> { return VerbResult::answer(SharedBytes::copy_of("garbage")); };
  cluster.node(0).messengers[0]->handle(Verb::kSchemaPullReq, fail);
  cluster.node(2).messengers[0]->handle(Verb::kSchemaPullReq, lie);
  cluster.gossip();
  EXPECT_TRUE(cluster.wait([&] { return cluster.node(3).version() == cluster.node(0).version(); }, seconds(5)));
  EXPECT_EQ(cluster.node(3).sync->statistics().pulls, 3u);
  EXPECT_EQ(cluster.node(3).sync->statistics().failed_pulls, 2u);
}

TEST(SchemaSync, AFailedPullIsTriedAgainAfterAWhile) {
  PeersCluster cluster(2, 1);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.part({});
  int asked = 0;
  cluster.node(0).messengers[0]->handle(Verb::kSchemaPullReq, [&](InboundMessage) -> Task<VerbResult> {
    ++asked;
    return VerbResult::failure(RequestFailureReason::kUnknown);
  });
  cluster.gossip();
  cluster.world().run_for(seconds(10));
  EXPECT_GE(asked, 8);
  EXPECT_LE(asked, 12);
  cluster.node(0).sync->handle_verbs(*cluster.node(0).messengers[0], cluster.node(0).runtime->shard(0),
                                     cluster.node(0).replica());
  EXPECT_TRUE(cluster.wait([&] { return cluster.agree(); }, seconds(3)));
}

TEST(SchemaSync, PullsThatFailForEverAreToldOfOnceAMinute) {
  PeersCluster cluster(2, 1);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.part({});
  cluster.node(0).messengers[0]->handle(Verb::kSchemaPullReq, [](InboundMessage) -> Task<VerbResult> {
    return VerbResult::answer(SharedBytes::copy_of("garbage"));
  });
  CapturedLog lines;
  cluster.gossip();
  cluster.world().run_for(seconds(10));
  EXPECT_EQ(lines.count("The schema of /10.0.0.1:7000 was not merged: "), 1u);
  cluster.world().run_for(minutes(3));
  EXPECT_GE(cluster.node(1).sync->statistics().failed_pulls, 60u);
  EXPECT_LE(lines.count("was not merged"), 4u);
  EXPECT_GE(lines.count("more like it before"), 1u);
}

TEST(SchemaSync, IgnoredVersionsAndEndpointsAreNotAskedFor) {
  SchemaSyncOptions options;
  options.ignored_endpoints = {*InetAddressAndPort::parse("10.0.0.1:7000")};
  PeersCluster cluster(2, 1, 3, {}, options);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.part({});
  EXPECT_FALSE(cluster.gossip_until([&] { return cluster.agree(); }, minutes(3)));
  EXPECT_EQ(cluster.node(1).sync->statistics().pulls, 0u);
}

TEST(SchemaSync, ANodeThatIsGoneIsNotAskedFor) {
  PeersCluster cluster(2, 1);
  grow_old(cluster);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.part({});
  cluster.gossip();
  EXPECT_EQ(cluster.node(1).sync->outstanding().size(), 1u);
  cluster.on(1, 0, [&] { cluster.node(1).sync->on_gone(cluster.node(0).address()); });
  EXPECT_TRUE(cluster.node(1).sync->outstanding().empty());
  cluster.world().run_for(minutes(3));
  EXPECT_EQ(cluster.node(1).sync->statistics().pulls, 0u);
}

// ---- Agreement

TEST(SchemaSync, TheStartWaitsForTheSchemasOfOthers) {
  PeersCluster cluster(3, 1);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.part({});
  auto await = [&](Duration limit) {
    return cluster.run<Status>(2, [&] { return cluster.node(2).sync->await_agreement(limit); });
  };
  EXPECT_TRUE(await(seconds(5)).ok());
  cluster.gossip();
  EXPECT_TRUE(await(seconds(5)).ok());
  EXPECT_EQ(tables(cluster, 2), (Lines{"t"}));
}

TEST(SchemaSync, TheStartDoesNotWaitForEver) {
  PeersCluster cluster(2, 1);
  const std::string own = cluster.node(1).version();
  cluster.part({0});
  cluster.on(1, 0, [&] { cluster.node(1).sync->on_version(cluster.node(0).address(), Uuid::random(1, 2)); });
  Status status = cluster.run<Status>(1, [&] { return cluster.node(1).sync->await_agreement(seconds(5)); });
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("our version: (" + own + "), outstanding versions -> endpoints: {"));
  EXPECT_THAT(status.error().message(), HasSubstr("/10.0.0.1:7000"));
}

TEST(SchemaSync, TellsWhoHasWhichVersion) {
  PeersCluster cluster(3, 2);
  cluster.part({2});
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  cluster.world().run_for(seconds(1));
  using Versions = std::map<std::string, std::vector<InetAddressAndPort>>;
  const InetAddressAndPort gone = *InetAddressAndPort::parse("10.0.0.9:7000");
  std::vector<InetAddressAndPort> live;
  for (size_t i : {2u, 1u, 0u}) live.push_back(cluster.node(i).address());
  Versions versions = cluster.run<Versions>(0, [&] { return cluster.node(0).sync->versions(live, {gone}); });
  EXPECT_EQ(versions, (Versions{{cluster.node(0).version(), {live[2], live[1]}},
                                {cluster.node(2).version(), {live[0]}},
                                {"UNREACHABLE", {gone}}}));
}

// ---- Reset and reload

TEST(SchemaSync, AResetForgetsWhatNoOtherNodeHas) {
  PeersCluster cluster(2, 2);
  cluster.make_tables();
  grow_old(cluster);
  cluster.part({0});
  ASSERT_TRUE(cluster.change(1, add_table(make_table("d"))).ok());
  ASSERT_TRUE(cluster.ask(0, 1, Verb::kMutationReq, cluster.write("a", "x")).empty());
  auto reset = [&] { return cluster.run<Status>(1, [&] { return cluster.node(1).sync->reset(seconds(60)); }); };
  Status alone = reset();
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().message(), "Cannot reset local schema when there are no other live nodes");
  cluster.part({});
  cluster.on(1, 0, [&] {
    cluster.node(1).sync->on_version(cluster.node(0).address(),
                                     cluster.node(0).replica().schema().current()->version());
  });
  const size_t rows = cluster.rows(1, "tables", "system_schema");
  Status done = reset();
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(tables(cluster, 1), (Lines{"kv", "n", "t"}));
  EXPECT_TRUE(cluster.agree());
  EXPECT_EQ(cluster.rows(1, "t"), 1u);
  EXPECT_EQ(cluster.rows(1, "tables", "system_schema"), rows - 1);  // the node's own are there, too
}

TEST(SchemaSync, AResetThatGetsNoSchemaChangesNothing) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  const std::string before = cluster.node(1).version();
  Status failed = cluster.run<Status>(1, [&] { return cluster.node(1).sync->reset(seconds(5)); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "Schema reset failed - no schema received from other nodes");
  EXPECT_EQ(cluster.node(1).version(), before);
  ASSERT_TRUE(cluster.change(0, drop_table("n")).ok());
  EXPECT_TRUE(cluster.wait([&] { return cluster.agree(); }, seconds(5)));
}

TEST(SchemaSync, AReloadReadsTheTablesAgain) {
  PeersCluster cluster(1, 2);
  cluster.make_tables();
  const std::string before = cluster.node(0).version();
  const SchemaPtr schema = cluster.node(0).replica().schema().current();
  Arena arena;
  UpdateBuilder row(schema->table("system_schema", "tables"), {"ks"}, 4'000'000'000'000'000, arena);
  const PartitionUpdate update = row.row({"t"}).set("comment", "by hand").build();
  const Mutation mutation{"system_schema", update.key, {&update, 1}};
  ASSERT_TRUE(cluster.run<Status>(0, [&] { return cluster.node(0).replica().mutate(mutation); }).ok());
  EXPECT_EQ(cluster.node(0).version(), before);
  auto reloaded = cluster.run<Result<SchemaDiff>>(0, [&] { return cluster.node(0).replica().schema().reload(); });
  ASSERT_TRUE(reloaded.ok());
  EXPECT_EQ(reloaded->schema->table("ks", "t")->params.comment, "by hand");
  EXPECT_NE(cluster.node(0).version(), before);
}

// ---- Convergence

TEST(SchemaSync, ChangesOnBothSidesOfAPartitionConverge) {
  PeersCluster cluster(3, 2);
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t"), make_table("kv")})).ok());
  ASSERT_TRUE(cluster.wait([&] { return cluster.agree(); }, seconds(5)));
  grow_old(cluster);
  cluster.part({0});
  cluster.node(1).machine->shift_wall_clock(seconds(30));
  ASSERT_TRUE(cluster.change(0, comment("t", "early")).ok());
  ASSERT_TRUE(cluster.change(1, comment("t", "late")).ok());
  ASSERT_TRUE(cluster.change(0, drop_table("kv")).ok());
  ASSERT_TRUE(cluster.change(2, add_table(make_table("n"))).ok());
  ASSERT_TRUE(cluster.change(0, add_table(make_table("d"))).ok());
  EXPECT_FALSE(cluster.gossip_until([&] { return cluster.agree(); }, minutes(3)));
  cluster.part({});
  ASSERT_TRUE(cluster.gossip_until([&] { return cluster.agree(); }, minutes(5)));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tables(cluster, i), (Lines{"d", "n", "t"}));
    EXPECT_EQ(cluster.node(i).replica().schema().current()->table("ks", "t")->params.comment, "late");
  }
}

TEST(SchemaSync, ManyChangesOnAllNodesAtOnceConverge) {
  PeersCluster cluster(3, 1);
  ASSERT_TRUE(cluster.change(0, make_keyspace({make_table("t")})).ok());
  ASSERT_TRUE(cluster.wait([&] { return cluster.agree(); }, seconds(5)));
  grow_old(cluster);
  std::vector<std::optional<Result<SchemaDiff>>> done(30);
  std::vector<std::function<Task<Result<SchemaDiff>>()>> made(30);
  for (size_t i = 0; i < done.size(); ++i) {
    PeerNode& node = cluster.node(i % 3);
    made[i] = [&node, i] { return node.replica().schema().change(comment("t", "comment " + std::to_string(i))); };
    node.runtime->shard(0).executor.post(
        [&, i] { spawn(replica_node_internal::keep<Result<SchemaDiff>>(&made[i], &done[i])); });
  }
  ASSERT_TRUE(cluster.wait([&] { return std::ranges::all_of(done, [](auto& each) { return each.has_value(); }); }));
  ASSERT_TRUE(cluster.gossip_until([&] { return cluster.agree(); }, minutes(5)));
  const std::string last = cluster.node(0).replica().schema().current()->table("ks", "t")->params.comment;
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(cluster.node(i).replica().schema().current()->table("ks", "t")->params.comment, last);
  }
}

// A table that was dropped here does not come back from a node that has not heard of it.
TEST(SchemaSync, ADropTravelsWithThePull) {
  PeersCluster cluster(2, 2);
  cluster.make_tables();
  cluster.part({0});
  ASSERT_TRUE(cluster.change(0, drop_table("n")).ok());
  cluster.part({});
  ASSERT_TRUE(cluster.gossip_until([&] { return cluster.agree(); }, minutes(5)));
  EXPECT_EQ(tables(cluster, 0), (Lines{"kv", "t"}));
  EXPECT_EQ(tables(cluster, 1), (Lines{"kv", "t"}));
}

// ---- What is pulled

std::vector<Bytes> exported(PeersCluster& cluster, size_t node) {
  using Exported = Result<std::vector<Bytes>>;
  Exported out = cluster.run<Exported>(
      node, [&] { return export_schema(&cluster.node(node).runtime->shard(0), &cluster.node(node).replica()); });
  EXPECT_TRUE(out.ok());
  return *out;
}

TEST(SchemaExport, HasTheReplicatedSystemKeyspacesButNotTheNodesOwn) {
  PeersCluster cluster(1, 2);
  cluster.make_tables();
  const SchemaPtr schema = cluster.node(0).replica().schema().current();
  std::vector<std::string> keyspaces;
  for (const Bytes& bytes : exported(cluster, 0)) {
    Arena arena;
    auto mutation = deserialize_mutation(
        bytes, [&](const Uuid& id) { return schema->table(id).get(); }, arena);
    ASSERT_TRUE(mutation.ok());
    keyspaces.emplace_back(mutation->key.key);
  }
  EXPECT_THAT(keyspaces, ElementsAre("ks", "system_auth", "system_distributed", "system_traces"));
}

// The tables that have rows in a table of system_schema.
std::set<std::string> tables_in(const std::vector<Bytes>& mutations, const Schema& schema, const std::string& rows_of) {
  std::set<std::string> names;
  for (const Bytes& bytes : mutations) {
    Arena arena;
    auto mutation = deserialize_mutation(
        bytes, [&](const Uuid& id) { return schema.table(id).get(); }, arena);
    for (const PartitionUpdate& update : mutation->updates) {
      if (update.table->name != rows_of) continue;
      for (const Row& row : update.rows) names.emplace(row.clustering.values[0]);
    }
  }
  return names;
}

// However far the export has come when a table is made, it has all of the table or nothing.
TEST(SchemaExport, HasAChangeAsAWhole) {
  ReplicaNode node(2, 1, latest_options());
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("first")})).ok());
  for (int steps = 0; steps < 100; ++steps) {
    using Exported = Result<std::vector<Bytes>>;
    std::optional<Exported> out;
    std::function<Task<Exported>()> make = [&] { return export_schema(&node.runtime(1), &node.on(1)); };
    node.runtime(1).executor.post([&] { spawn(replica_node_internal::keep<Exported>(&make, &out)); });
    for (int i = 0; i < steps; ++i) node.world().step();
    ASSERT_TRUE(node.change(0, add_table(make_table("t" + std::to_string(steps)))).ok());
    ASSERT_TRUE(node.world().run_until([&] { return out.has_value(); }, minutes(1)));
    ASSERT_TRUE(out->ok());
    const SchemaPtr schema = node.on(0).schema().current();
    EXPECT_EQ(tables_in(**out, *schema, "tables"), tables_in(**out, *schema, "columns")) << "after steps: " << steps;
  }
}

// A real Cassandra's schema, merged here, goes on as it came.
TEST(SchemaExport, TheSchemaOfACassandraTravelsWhole) {
  for (const char* name : {"rich", "drops"}) {
    const RecordedSchema recorded = RecordedSchema::read(name);
    ReplicaNode node(2, 1, latest_options()), next(3, 1, latest_options());
    ASSERT_TRUE(node.merge(0, recorded.mutations(*node.on(0).schema().current())).ok());
    using Exported = Result<std::vector<Bytes>>;
    Exported out = node.run<Exported>(1, [&] { return export_schema(&node.runtime(1), &node.on(1)); });
    ASSERT_TRUE(out.ok());
    auto split = split_schema_mutations(join_schema_mutations(*out).view(), *next.on(0).schema().current());
    ASSERT_TRUE(split.ok()) << split.error().message();
    EXPECT_EQ(*split, *out);
    ASSERT_TRUE(next.merge(2, *split).ok());
    EXPECT_EQ(next.on(0).schema().current()->version().to_string(), recorded.version.to_string());
  }
}

}  // namespace
}  // namespace cassandra_like::test
