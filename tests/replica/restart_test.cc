// The data of a node after it was killed or drained, also with another number of shards.
#include <set>

#include "model/schema_text.h"
#include "model/values.h"
#include "replica/disk_boundary_manager.h"
#include "schema/internal_table.h"
#include "schema/local_state.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

// A row for each of ten keys; `value` tells rounds apart.
void fill(ReplicaNode& node, const std::string& value, int64_t timestamp) {
  for (char key = 'a'; key < 'k'; ++key) {
    Update update(node.table("t"), std::string(1, key));
    ASSERT_TRUE(node.write(0, std::move(update.at(timestamp).row(1).cell("v", value))).ok());
  }
}

TEST(Restart, WithAnotherNumberOfShards) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  int64_t round = 0;
  for (unsigned shards : {3u, 1u, 4u, 4u, 2u}) {
    ++round;
    fill(node, "round " + std::to_string(round), round);
    Lines before = node.scan(0, "t");
    EXPECT_EQ(before.size(), 20u);
    round % 2 == 0 ? node.drain() : node.kill();
    node.boot(shards);
    for (unsigned shard = 0; shard < shards; ++shard) EXPECT_EQ(node.scan(shard, "t"), before) << round;
  }
}

TEST(Restart, TruncatedStaysTruncated) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  fill(node, "flushed", 1);
  ASSERT_TRUE(
      node.run<Status>(
              0,
              [&] { return node.on(0).on_every_engine([](Engine& engine) { return engine.maintenance().flush({}); }); })
          .ok());
  fill(node, "in memory", 2);
  TablePtr table = node.table("t");
  ASSERT_TRUE(node.run<Status>(1, [&] { return node.on(1).truncate(table); }).ok());
  for (unsigned shard : {0u, 1u}) EXPECT_EQ(node.scan(shard, "t"), Lines());
  // The old writes are still in the commit log, and must not come back.
  node.kill();
  node.boot(2);
  EXPECT_EQ(node.scan(0, "t"), Lines());
  fill(node, "later", 3);
  node.kill();
  node.boot(3);
  EXPECT_EQ(node.scan(0, "t").size(), 20u);
}

Endpoint endpoint_with(std::vector<Token> tokens, const std::string& name) {
  Endpoint out;
  out.host_id = Uuid::name_based(name);
  out.address = name;
  out.datacenter = "datacenter1";
  out.rack = "rack1";
  out.tokens = std::move(tokens);
  return out;
}

Status save_peer(ReplicaNode& node, const Endpoint& peer) {
  Arena arena;
  UpdateBuilder row(node.table("peers_v2", "system"), {*parse_inet(peer.address)}, 10, arena);
  row.row({encode_int(7000)}).set("host_id", peer.host_id.view());
  row.set("data_center", peer.datacenter).set("rack", peer.rack).replace("tokens");
  for (Token token : peer.tokens) row.element("tokens", std::to_string(token), "");
  std::vector<PartitionUpdate> updates{row.build()};
  const Mutation mutation{"system", updates[0].key, updates};
  return node.run<Status>(0, [&] { return node.on(0).mutate(mutation); });
}

// The peer has half of what the node would have alone.
TEST(Restart, AReplayFlushesToTheDirectoriesOfTheSavedRing) {
  ReplicaNode node(1);
  ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
  const std::vector<Token> tokens = node.on(0).local_node().tokens;
  ASSERT_EQ(tokens.size(), 4u);
  const Endpoint self = endpoint_with(tokens, "127.0.0.1");
  const Endpoint peer = endpoint_with({tokens[2] - 1, tokens[3] - 1}, "127.0.0.2");
  ASSERT_TRUE(save_peer(node, peer).ok());
  for (int i = 0; i < 400; ++i) {
    Update update(node.table("t"), "key" + std::to_string(i));
    ASSERT_TRUE(node.write(0, std::move(update.at(1).row(1).cell("v", std::string(1000, 'x')))).ok());
  }
  node.options.data_directories = {"/data", "/more"};
  node.options.memtable_bytes = 256 << 10;
  node.kill();
  node.boot(1);
  const ReplicationParams replication = node.on(0).schema().current()->keyspace("ks")->replication;
  const std::vector<Endpoint> both{self, peer};
  const auto ring = std::make_shared<Topology>(std::make_shared<TokenRing>(both, 0), std::vector<bool>(2, true));
  const DiskBoundaries boundaries = DiskBoundaryManager().of(ring, replication, 2);
  EXPECT_NE(boundaries, DiskBoundaryManager().of(Topology::of_one(self), replication, 2));
  std::set<std::string> used;
  for (const SSTableInfo& info : node.on(0).maintenance().sstables(node.table("t")->id)) {
    const size_t place = info.descriptor.directory.starts_with("/data/") ? 0 : 1;
    used.insert(info.descriptor.directory);
    EXPECT_TRUE(boundaries.has(place, murmur3_token(info.first_key), murmur3_token(info.last_key)));
  }
  EXPECT_EQ(used.size(), 2u);
}

// Puts a table t into keyspace ks: make_table("t") with another column, w.
void set_table_with_column(KeyspaceMetadata& keyspace, TypePtr type) {
  const TablePtr plain = make_table("t");
  std::vector<ColumnPtr> others = plain->regular_columns;
  auto column = std::make_shared<Column>(*others[0]);
  column->name = "w";
  column->type = std::move(type);
  others.push_back(std::move(column));
  keyspace.tables.set("t", std::make_shared<TableMetadata>("ks", "t", plain->id, plain->partition_key,
                                                           plain->clustering, std::move(others)));
}

// User types of user types, and a table with a column of the outermost, which has `levels` levels.
SchemaTransformation nested_types(uint32_t levels) {
  return [levels](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    auto keyspace = std::make_shared<KeyspaceMetadata>(*schema->keyspace("ks"));
    TypePtr type = types::int_();
    for (uint32_t level = 1; level < levels; ++level) {
      const std::string name = "u" + std::to_string(level);
      keyspace->types[name] = types::udt("ks", name, {"a"}, {type}, true);
      type = types::freeze(keyspace->types[name]);
    }
    set_table_with_column(*keyspace, type);
    return SchemaPtr(schema->with_keyspace(std::move(keyspace)));
  };
}

TEST(Restart, TheDeepestTypeIsReadAgainAndADeeperOneIsRefused) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({})).ok());
  const auto refused = node.change(0, nested_types(types::kMaxTypeDepth + 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "Type ks.u128: Types nested 129 levels deep; 128 levels are supported");
  EXPECT_EQ(table_names(node.on(0)), Lines());

  ASSERT_TRUE(node.change(0, nested_types(types::kMaxTypeDepth)).ok());
  fill(node, "value", 1);
  const Lines before = node.scan(0, "t");
  EXPECT_EQ(before.size(), 20u);
  node.drain();  // into SSTables, whose headers have the type's class name
  node.boot(2);
  EXPECT_EQ(node.scan(0, "t"), before);
}

// In Cassandra a user type "int" ends the next start.
TEST(Restart, AUserTypeMayHaveTheNameOfATypeOfCql) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({})).ok());
  for (const std::string name : {"int", "varchar", "empty", "byte", "frozen", "tuple", "Int", "a\"b>", "a b"}) {
    UserTypePtr type = types::udt("ks", name, {"a"}, {types::int_()}, true);
    auto with_type_and_table = [type](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
      auto keyspace = std::make_shared<KeyspaceMetadata>(*with_type(*schema->keyspace("ks"), type));
      set_table_with_column(*keyspace, types::tuple({types::freeze(type), types::list(types::freeze(type), false)}));
      return SchemaPtr(schema->with_keyspace(std::move(keyspace)));
    };
    const auto changed = node.change(0, with_type_and_table);
    ASSERT_TRUE(changed.ok()) << changed.error().message();
    const std::string before = node.table("t")->column("w")->type->class_name();
    node.kill();
    node.boot(2);
    EXPECT_EQ(node.table("t")->column("w")->type->class_name(), before);
  }
}

TEST(Restart, ATypeThatCouldNotBeReadAgainIsRefused) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({})).ok());
  const auto refused = node.change(0, [](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    auto keyspace = std::make_shared<KeyspaceMetadata>(*schema->keyspace("ks"));
    set_table_with_column(*keyspace, types::udt("ks", "nowhere", {"a"}, {types::int_()}, true));
    return SchemaPtr(schema->with_keyspace(std::move(keyspace)));
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "Column ks.t.w: Unknown type ks.nowhere");
  node.kill();
  node.boot(2);
  EXPECT_EQ(table_names(node.on(0)), Lines());
}

// The only snapshot: "tag table: schema.cql".
std::string snapshot_of(ReplicaNode& node) {
  auto snapshots = list_snapshots(node.runtime(0).disk, node.options);
  EXPECT_TRUE(snapshots.ok());
  if (!snapshots.ok() || snapshots->size() != 1) return "not one snapshot";
  const SnapshotInfo& only = snapshots->front();
  Disk& disk = node.runtime(0).disk;
  auto tables = disk.list("/data/" + only.keyspace);
  EXPECT_EQ(tables->size(), 1u);
  auto file =
      disk.open("/data/" + only.keyspace + "/" + tables->front().name + "/snapshots/" + only.tag + "/schema.cql");
  EXPECT_TRUE(file.ok()) << file.error().message();
  std::string text((*file)->size(), '\0');
  EXPECT_TRUE((*file)->read(0, text).ok());
  return only.tag.substr(0, only.tag.find('-')) + " " + only.table + ": " + text;
}

TEST(Restart, TruncateAndDropLeaveASnapshotWithTheSchema) {
  for (bool drop : {false, true}) {
    ReplicaNode node(2);
    ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
    fill(node, "x", 1);
    TablePtr table = node.table("t");
    KeyspacePtr keyspace = node.on(0).schema().current()->keyspace("ks");
    if (drop) {
      ASSERT_TRUE(node.change(0, drop_table("t")).ok());
    } else {
      ASSERT_TRUE(node.run<Status>(0, [&] { return node.on(0).truncate(table); }).ok());
    }
    EXPECT_EQ(snapshot_of(node), (drop ? "dropped t: " : "truncated t: ") + snapshot_schema_text(*keyspace, *table));
  }
}

TEST(Restart, TheNodeIsTheSame) {
  ReplicaNode node(2);
  Uuid id = node.on(0).local_node().host_id;
  std::vector<Token> tokens = node.on(0).local_node().tokens;
  EXPECT_FALSE(id.is_nil());
  EXPECT_EQ(tokens.size(), 4u);
  node.kill();
  node.boot(3);
  EXPECT_EQ(node.on(2).local_node().host_id, id);
  EXPECT_EQ(node.on(2).local_node().tokens, tokens);
}

// Cassandra reads them there before it replays the commit log.
TEST(Restart, SchemaIdentityAndTruncationsComeToSSTables) {
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(1, make_keyspace({make_table("t"), make_table("u")})).ok());
  const Uuid id = node.on(0).local_node().host_id;
  const TablePtr table = node.table("t");
  fill(node, "void", 1);
  ASSERT_TRUE(node.run<Status>(0, [&] { return node.on(0).truncate(table); }).ok());
  node.world().run_for(std::chrono::milliseconds(200));
  node.kill();
  node.options.commitlog_directory = "/empty";
  node.boot(2);
  EXPECT_EQ(table_names(node.on(0)), (Lines{"t", "u"}));
  EXPECT_EQ(node.on(0).local_node().host_id, id);
  ReadCommand command;
  command.table = node.table("local", "system");
  command.range = KeyRange{};
  InternalRows local(command.table);
  ASSERT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(command, local); }).ok());
  EXPECT_EQ(parse_local(local.rows).truncated.count(table->id), 1u);
}

TEST(Restart, AnotherClustersDirectoryIsRefused) {
  ReplicaNode node(1);
  node.drain();
  node.local.cluster_name = "Another";
  EXPECT_EQ(node.try_boot(1), "Saved cluster name Test Cluster != configured name Another");
  node.local.cluster_name = "Test Cluster";
  node.boot(1);
}

TEST(Restart, WhatIsBuiltOfIndexesIsSaidWhileTheNodeRuns) {
  auto indexed = std::make_shared<TableMetadata>(*make_table("t"));
  IndexMetadata index;
  index.name = "by_v";
  index.options = {{"target", "v"}};
  indexed->indexes = {{"by_v", index}};
  ReplicaNode node(2);
  ASSERT_TRUE(node.change(0, make_keyspace({indexed})).ok());
  auto listed = [&] {
    ReadCommand read = node.command("t");
    read.table = node.table("IndexInfo", "system");
    struct Names : RowSink {
      Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
      Next row(const Row& row) override {
        names.emplace_back(row.clustering.values[0]);
        return Next::kContinue;
      }
      std::vector<std::string> names;
    } sink;
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, sink); }).ok());
    return sink.names;
  };
  TablePtr table = node.table("t");
  ASSERT_TRUE(node.run<Status>(1, [&] { return node.on(1).build_index(table, "by_v"); }).ok());
  EXPECT_EQ(listed(), (std::vector<std::string>{"by_v"}));
  node.drain();
  node.boot(2);
  EXPECT_EQ(listed(), (std::vector<std::string>{"by_v"}));
}

}  // namespace
}  // namespace cassandra_like::test
