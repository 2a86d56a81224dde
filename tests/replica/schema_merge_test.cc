// Changes of the schema that other nodes made, and clocks that go back.
#include <gmock/gmock.h>

#include <algorithm>

#include "model/values.h"
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

// A view that is made again in a Cassandra must not pass for built.
TEST(SchemaMerge, AViewOfACassandraCanBeDropped) {
  RecordedSchema recorded = RecordedSchema::read("rich");
  ReplicaNode node(2, 1, latest_options());
  ASSERT_TRUE(node.merge(0, recorded.mutations(*node.on(0).schema().current())).ok());
  const KeyspacePtr shop = node.on(1).schema().current()->keyspace("shop");
  const ViewPtr view = shop->view("by_c");
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(shop->views_of(*shop->table("plain")), std::vector{view});
  EXPECT_TRUE(view->includes_all_columns);
  EXPECT_EQ(view->table->partition_key[0]->name, "c");
  Arena arena;
  UpdateBuilder built(node.table("built_views", "system"), {"shop"}, 1, arena);
  PartitionUpdate update = built.row({"by_c"}).set("status_replicated", encode_boolean(true)).build();
  const Mutation mutation{"system", update.key, {&update, 1}};
  ASSERT_TRUE(node.run<Status>(0, [&] { return node.on(0).mutate(mutation); }).ok());

  ASSERT_TRUE(node.change(1,
                          [](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
                            return SchemaPtr(schema->with_keyspace(without_view(*schema->keyspace("shop"), "by_c")));
                          })
                  .ok());
  node.kill();
  node.boot(2);
  EXPECT_EQ(node.on(0).schema().current()->keyspace("shop")->views.size(), 0u);
  EXPECT_EQ(rows_of(node, "system_schema", "views").size(), 0u);
  EXPECT_EQ(rows_of(node, "system", "built_views").size(), 0u);
  EXPECT_EQ(tables(node, "shop"), (Lines{"hits", "orders", "plain", "secret"}));
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
        EXPECT_TRUE(other.merge(static_cast<unsigned>(round), {mutation}).ok());
      }
      EXPECT_EQ(tables(other), expected);
      EXPECT_EQ(other.table("kv")->params.comment, "altered");
      EXPECT_EQ(version(other), version(maker));
    }
  }
}

// A node that was away for longer than gc_grace_seconds sends what it has.
TEST(SchemaMerge, ADropThatMayBePurgedHoldsAsLongAsItIsStored) {
  ReplicaNode node(2);
  auto base = node.change(0, make_keyspace({make_table("t"), make_table("kv")}));
  ASSERT_TRUE(base.ok());
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  const std::string before = version(node);
  node.machine().shift_wall_clock(std::chrono::hours(24 * 30));
  ASSERT_TRUE(node.merge(0, base->mutations).ok());
  EXPECT_EQ(tables(node), (Lines{"kv"}));
  EXPECT_EQ(version(node), before);
  node.kill();
  node.boot(2);
  EXPECT_EQ(tables(node), (Lines{"kv"}));
  EXPECT_EQ(version(node), before);
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

// --- What cannot be used is not written ---

constexpr int64_t kLater = 4'000'000'000'000'000;

// A mutation of system_schema with one row.
class SchemaRow {
 public:
  SchemaRow(ReplicaNode& node, const std::string& table, const std::string& keyspace, std::vector<Bytes> clustering)
      : builder_(node.table(table, "system_schema"), {keyspace}, kLater, arena_) {
    builder_.row(std::move(clustering));
  }
  SchemaRow& set(const char* column, BytesView value) {
    builder_.set(column, value);
    return *this;
  }
  Bytes mutation() {
    const PartitionUpdate update = builder_.build();
    Bytes bytes;
    serialize(Mutation{"system_schema", update.key, {&update, 1}}, bytes);
    return bytes;
  }

 private:
  Arena arena_;
  UpdateBuilder builder_;
};

Bytes table_row(ReplicaNode& node, const std::string& keyspace, const std::string& table, const Uuid& id) {
  return SchemaRow(node, "tables", keyspace, {table}).set("id", id.view()).mutation();
}

Bytes column_row(ReplicaNode& node, const std::string& keyspace, const std::string& table, const std::string& column,
                 const std::string& type, const std::string& kind = "regular") {
  return SchemaRow(node, "columns", keyspace, {table, column})
      .set("clustering_order", "none")
      .set("kind", kind)
      .set("position", encode_int(kind == "regular" ? -1 : 0))
      .set("type", type)
      .mutation();
}

// A table with one column.
std::vector<Bytes> table_rows(ReplicaNode& node, const std::string& keyspace, const std::string& table,
                              const Uuid& id) {
  return {table_row(node, keyspace, table, id), column_row(node, keyspace, table, "k", "int", "partition_key")};
}

Bytes keyspace_row(ReplicaNode& node, const std::string& keyspace) {
  return SchemaRow(node, "keyspaces", keyspace, {}).set("durable_writes", encode_boolean(true)).mutation();
}

// Merges them, and expects that nothing comes of it but the error.
std::string refused(ReplicaNode& node, const std::vector<Bytes>& mutations) {
  const SchemaPtr before = node.on(0).schema().current();
  std::vector<size_t> rows;
  const std::vector<std::string> names{"keyspaces", "tables", "columns", "indexes", "types"};
  for (const std::string& name : names) rows.push_back(rows_of(node, "system_schema", name).size());
  auto merged = node.merge(0, mutations);
  EXPECT_FALSE(merged.ok());
  EXPECT_EQ(node.on(0).schema().current(), before);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(rows_of(node, "system_schema", names[i]).size(), rows[i]);
  return merged.ok() ? "" : merged.error().message();
}

class SchemaRefusal : public testing::Test {
 protected:
  SchemaRefusal() : node(2) { EXPECT_TRUE(node.change(0, make_keyspace({make_table("t"), make_table("kv")})).ok()); }
  // Whatever was refused is in nobody's way.
  ~SchemaRefusal() override {
    EXPECT_TRUE(node.change(1, comment("t", "later")).ok());
    EXPECT_TRUE(node.change(1, add_table(make_table("n"))).ok());
    const std::string before = version(node);
    node.kill();
    node.boot(2);
    EXPECT_EQ(version(node), before);
    EXPECT_EQ(tables(node), (Lines{"kv", "n", "t"}));
  }

  ReplicaNode node;
};

TEST_F(SchemaRefusal, OfTablesThatCannotBeRead) {
  EXPECT_THAT(refused(node, {column_row(node, "ks", "t", "extra", "nonsense")}),
              testing::HasSubstr("system_schema: column ks.t.extra: "));
  EXPECT_THAT(
      refused(node, {column_row(node, "ks", "a", "v", "nonsense"), table_row(node, "ks", "a", Uuid::random(1, 2))}),
      testing::HasSubstr("system_schema: column ks.a.v: "));
  EXPECT_THAT(refused(node, {SchemaRow(node, "types", "ks", {"u"})
                                 .set("field_names", encode_text_list({"f"}))
                                 .set("field_types", encode_text_list({"frozen<missing>"}))
                                 .mutation()}),
              testing::HasSubstr("system_schema: type ks.u: "));
}

TEST_F(SchemaRefusal, LeavesOtherKeyspacesOfTheMergeAlone) {
  std::vector<Bytes> mutations{keyspace_row(node, "good"), column_row(node, "ks", "t", "extra", "nonsense")};
  for (const Bytes& mutation : table_rows(node, "good", "a", Uuid::random(1, 2))) mutations.push_back(mutation);
  const size_t columns = rows_of(node, "system_schema", "columns").size();
  auto merged = node.merge(0, mutations);
  ASSERT_FALSE(merged.ok());
  EXPECT_THAT(merged.error().message(), testing::HasSubstr("column ks.t.extra"));
  EXPECT_EQ(tables(node, "good"), (Lines{"a"}));
  EXPECT_EQ(rows_of(node, "system_schema", "columns").size(), columns + 1);
}

// Rows whose keyspace is not there are read when it is made.
TEST_F(SchemaRefusal, OfTablesThatWaitForTheirKeyspace) {
  EXPECT_THAT(
      refused(node, {column_row(node, "late", "a", "v", "nonsense"), table_row(node, "late", "a", Uuid::random(1, 2))}),
      testing::HasSubstr("system_schema: column late.a.v: "));
  ASSERT_TRUE(node.merge(0, table_rows(node, "late", "a", Uuid::random(1, 2))).ok());
  EXPECT_EQ(tables(node, "late"), (Lines{"no keyspace"}));
  ASSERT_TRUE(node.merge(0, {keyspace_row(node, "late")}).ok());
  EXPECT_EQ(tables(node, "late"), (Lines{"a"}));
}

// The drop takes the table's key, and the rows of the ALTER are later than the drop.
TEST(SchemaMerge, ADropAndAnAlterAtOnceEndWithoutTheTable) {
  ReplicaNode a(2), b(1);
  auto base = a.change(0, make_keyspace({make_table("t"), make_table("kv")}));
  ASSERT_TRUE(b.merge(0, base->mutations).ok());
  ASSERT_TRUE(b.write(0, Update(b.table("t"), "key").row(1).cell("v", "x")).ok());
  b.machine().shift_wall_clock(std::chrono::seconds(5));
  auto dropped = a.change(0, drop_table("t"));
  auto altered = b.change(0, comment("t", "altered"));
  ASSERT_TRUE(dropped.ok() && altered.ok());
  ASSERT_TRUE(a.merge(0, altered->mutations).ok());
  ASSERT_TRUE(b.merge(0, dropped->mutations).ok());
  for (ReplicaNode* node : {&a, &b}) {
    EXPECT_EQ(tables(*node), (Lines{"kv"}));
    node->kill();
    node->boot(1);
    EXPECT_EQ(tables(*node), (Lines{"kv"}));
  }
  EXPECT_EQ(version(a), version(b));
  // A table of the name can be made again, and has nothing of the old one's rows.
  auto made = a.change(0, add_table(make_table("t")));
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(b.merge(0, made->mutations).ok());
  EXPECT_EQ(version(a), version(b));
  EXPECT_EQ(b.table("t")->params.comment, "");
  EXPECT_EQ(b.scan(0, "t"), Lines());
}

TEST_F(SchemaRefusal, OfAnIdThatAnotherTableHas) {
  const Uuid id = node.table("t")->id;
  const std::string text = id.to_string();
  EXPECT_EQ(refused(node, table_rows(node, "ks", "a", id)), "Table ks.a has the id of table ks.t: " + text);
  std::vector<Bytes> elsewhere = table_rows(node, "elsewhere", "t", id);
  elsewhere.push_back(keyspace_row(node, "elsewhere"));
  EXPECT_EQ(refused(node, elsewhere), "Table elsewhere.t has the id of table ks.t: " + text);
  // A table changes its id, two come together, and one has the id of a node's own table.
  EXPECT_EQ(refused(node, {table_row(node, "ks", "kv", id)}), "Table ks.kv has the id of table ks.t: " + text);
  std::vector<Bytes> both = table_rows(node, "ks", "a", Uuid::random(1, 2));
  for (const Bytes& mutation : table_rows(node, "ks", "b", Uuid::random(1, 2))) both.push_back(mutation);
  EXPECT_THAT(refused(node, both), testing::HasSubstr("Table ks.b has the id of table ks.a: "));
  EXPECT_THAT(refused(node, table_rows(node, "ks", "a", node.table("local", "system")->id)),
              testing::HasSubstr("Table ks.a has the id of table system.local: "));
  auto here = node.change(1, [&](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    auto table = std::make_shared<TableMetadata>("ks", "a", id, make_table("t")->partition_key,
                                                 std::vector<ColumnPtr>{}, std::vector<ColumnPtr>{});
    return SchemaPtr(schema->with_keyspace(with_table(*schema->keyspace("ks"), table)));
  });
  ASSERT_FALSE(here.ok());
  EXPECT_EQ(here.error().message(), "Table ks.a has the id of table ks.t: " + text);
}

TEST_F(SchemaRefusal, TakesTheIdOfATableThatWasDropped) {
  const TablePtr kv = node.table("kv");
  const auto again = [&](const std::string& name) {
    return std::make_shared<TableMetadata>("ks", name, kv->id, kv->partition_key, kv->clustering, kv->regular_columns);
  };
  ASSERT_TRUE(node.change(0, drop_table("kv")).ok());
  ASSERT_TRUE(node.change(0, add_table(again("other"))).ok());
  // In one change.
  ASSERT_TRUE(node.change(0,
                          [&](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
                            const KeyspacePtr without = without_table(*schema->keyspace("ks"), "other");
                            return SchemaPtr(schema->with_keyspace(with_table(*without, again("kv"))));
                          })
                  .ok());
  ASSERT_TRUE(node.write(0, Update(node.table("kv"), "a").row(std::vector<int32_t>{}).cell("v1", "x")).ok());
  EXPECT_EQ(node.scan(0, "kv"), (Lines{"a", "  v1=x@1"}));
}

TEST_F(SchemaRefusal, OfNamesThatAreNoNamesOfFolders) {
  const auto keyspace = [&](const std::string& name) {
    std::vector<Bytes> rows = table_rows(node, name, "a", Uuid::random(1, 2));
    rows.push_back(keyspace_row(node, name));
    return refused(node, rows);
  };
  const auto table = [&](const std::string& name) {
    return refused(node, table_rows(node, "ks", name, Uuid::random(1, 2)));
  };
  for (const std::string name : {"../../x", "..", "a/b", "a b", "a\n", "\xc3\xa9"}) {
    EXPECT_THAT(keyspace(name), testing::HasSubstr("Keyspace name must not be empty and must contain"));
    EXPECT_THAT(table(name), testing::HasSubstr("Table name must not be empty or not contain"));
  }
  EXPECT_THAT(table(""), testing::HasSubstr("Table name must not be empty or not contain"));
  EXPECT_THAT(keyspace(std::string(49, 'a')), testing::HasSubstr("not be more than 48 characters long (got 49 "));
  EXPECT_THAT(table(std::string(223, 'a')), testing::HasSubstr("not be more than 222 characters long (got 223 "));
  const auto index = [&](const std::string& name) {
    return refused(node, {SchemaRow(node, "indexes", "ks", {"t", name})
                              .set("kind", "COMPOSITES")
                              .set("options", encode_text_map({{"target", "v"}}))
                              .mutation()});
  };
  EXPECT_EQ(index("../x"), "Illegal index name ../x");
  EXPECT_THAT(index(std::string(300, 'a')), testing::HasSubstr("not be more than 254 characters long (got 300 "));
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
