#include "model/schema.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;
using testing::ElementsAre;
using testing::ElementsAreArray;

TablePtr table_with_odd_names() {
  std::vector<ColumnPtr> others;
  auto add = [&](std::string name, TypePtr type, ColumnKind kind) {
    others.push_back(std::make_shared<Column>(Column{std::move(name), std::move(type), kind, -1, ""}));
  };
  for (const char* n : {"zz", "été", "aé", "az", "upper", "a", "abcdefgh", "abcdefghi", "abcdefé", "_u"}) {
    add(n, types::int_(), ColumnKind::kRegular);
  }
  TypePtr set = types::set(types::text(), true);
  for (const char* n : {"ba", "über", "bé"}) add(n, set, ColumnKind::kRegular);
  add("stat", types::int_(), ColumnKind::kStatic);
  add("amap", types::map(types::text(), types::int_(), true), ColumnKind::kStatic);
  auto key = std::make_shared<Column>(Column{"k", types::int_(), ColumnKind::kPartitionKey, 0, ""});
  return std::make_shared<TableMetadata>("k", "order", Uuid{}, std::vector<ColumnPtr>{key}, std::vector<ColumnPtr>{},
                                         others);
}

std::vector<std::string> oracle_names(const std::string& name) {
  for (const OracleCase& c : oracle("column order")) {
    if (c.name == name) return c.results;
  }
  return {};
}

TEST(SchemaTest, ColumnsAreInCassandrasOrder) {
  TablePtr table = table_with_odd_names();
  std::vector<std::string> cells, select;
  for (const ColumnPtr& c : table->regular_columns) cells.push_back(c->name);
  for (const Column* c : table->all_columns_in_select_order()) select.push_back(c->name);
  EXPECT_THAT(cells, ElementsAreArray(oracle_names("cells")));
  EXPECT_THAT(select, ElementsAreArray(oracle_names("select")));
}

TEST(SchemaTest, TablesKnowTheirColumnsByName) {
  TablePtr table = wide_table();
  EXPECT_EQ(table->column("b")->kind, ColumnKind::kClustering);
  EXPECT_EQ(table->column("s")->kind, ColumnKind::kStatic);
  EXPECT_EQ(table->column("nothing"), nullptr);
  EXPECT_TRUE(table->has_static_columns());
  EXPECT_EQ(table->qualified_name(), "k.wide");
  EXPECT_EQ(table->partition_key_type()->cql_name(), "text");
  EXPECT_EQ(counts_table()->partition_key_type()->class_name(),
            "org.apache.cassandra.db.marshal.CompositeType(org.apache.cassandra.db.marshal.UTF8Type,"
            "org.apache.cassandra.db.marshal.Int32Type)");
}

TEST(SchemaTest, DirectoriesAreNamedAfterTableAndId) {
  EXPECT_EQ(plain_table()->directory_name(), "plain-11111111111111111111111111111111");
  TableMetadata index("k", "plain.by_c1", plain_table()->id, plain_table()->partition_key, {}, {});
  EXPECT_EQ(index.directory_name(), "plain-11111111111111111111111111111111/.by_c1");
}

TEST(SchemaTest, IndexTargets) {
  auto parse = [](const char* text) {
    IndexTarget t = parse_index_target(text);
    return std::pair(t.column, t.type);
  };
  EXPECT_EQ(parse("v"), std::pair(std::string("v"), IndexTargetType::kSimple));
  EXPECT_EQ(parse("keys(m)"), std::pair(std::string("m"), IndexTargetType::kKeys));
  EXPECT_EQ(parse("values(m)"), std::pair(std::string("m"), IndexTargetType::kValues));
  EXPECT_EQ(parse("entries(m)"), std::pair(std::string("m"), IndexTargetType::kEntries));
  EXPECT_EQ(parse("full(f)"), std::pair(std::string("f"), IndexTargetType::kFull));
  EXPECT_EQ(parse("\"A b\""), std::pair(std::string("A b"), IndexTargetType::kSimple));
  EXPECT_EQ(parse("keys(\"say \"\"hi\"\"\")"), std::pair(std::string("say \"hi\""), IndexTargetType::kKeys));
  EXPECT_EQ(parse("\"keys(m)\""), std::pair(std::string("keys(m)"), IndexTargetType::kSimple));
}

KeyspacePtr keyspace_of(std::string name, std::vector<TablePtr> tables) {
  auto keyspace = std::make_shared<KeyspaceMetadata>();
  keyspace->name = std::move(name);
  for (const TablePtr& t : tables) keyspace->tables[t->name] = t;
  return keyspace;
}

TEST(SchemaTest, ChangesMakeCopies) {
  auto empty = std::make_shared<const Schema>();
  auto one = empty->with_keyspace(keyspace_of("k", {plain_table()}));
  auto two = one->with_keyspace(with_table(*one->keyspace("k"), wide_table()));
  auto dropped = two->with_keyspace(without_table(*two->keyspace("k"), "plain"));
  auto none = dropped->without_keyspace("k");
  auto versioned = none->with_version(plain_table()->id);

  EXPECT_EQ(empty->keyspace("k"), nullptr);
  EXPECT_EQ(one->table("k", "plain"), plain_table());
  EXPECT_EQ(one->table(wide_table()->id), nullptr);
  EXPECT_EQ(two->table("k", "wide"), wide_table());
  EXPECT_EQ(two->table(wide_table()->id), wide_table());
  EXPECT_EQ(dropped->table("k", "plain"), nullptr);
  EXPECT_EQ(dropped->table(plain_table()->id), nullptr);
  EXPECT_EQ(none->table("k", "wide"), nullptr);
  EXPECT_TRUE(none->keyspaces().empty());
  EXPECT_EQ(versioned->version(), plain_table()->id);
}

TEST(SchemaTest, TypesComeAfterThoseTheyUse) {
  auto zip = types::udt("k", "zip", {"code"}, {types::int_()}, true);
  auto address = types::udt("k", "address", {"zip"}, {types::freeze(zip)}, true);
  auto book = types::udt("k", "book", {"all"}, {types::list(types::freeze(address), false)}, true);
  KeyspacePtr keyspace = keyspace_of("k", {});
  for (const UserTypePtr& t : {zip, address, book}) keyspace = with_type(*keyspace, t);
  EXPECT_THAT(keyspace->types_in_dependency_order(), ElementsAre(zip, address, book));
  EXPECT_THAT(without_type(*keyspace, "book")->types_in_dependency_order(), ElementsAre(zip, address));
}

TEST(SchemaTest, ReplicationClassesHaveShortNames) {
  ReplicationParams params;
  EXPECT_EQ(params.short_class(), "");
  params.options["class"] = "org.apache.cassandra.locator.NetworkTopologyStrategy";
  EXPECT_EQ(params.short_class(), "NetworkTopologyStrategy");
  params.options["class"] = "SimpleStrategy";
  EXPECT_EQ(params.short_class(), "SimpleStrategy");
}

TEST(SchemaTest, SystemKeyspaces) {
  for (const char* name : {"system", "system_schema"}) EXPECT_TRUE(is_local_system_keyspace(name)) << name;
  for (const char* name : {"system_views", "system_virtual_schema"}) EXPECT_TRUE(is_virtual_keyspace(name)) << name;
  for (const char* name : {"system", "system_schema", "system_views", "system_virtual_schema", "system_auth",
                           "system_distributed", "system_traces", "SYSTEM_AUTH"}) {
    EXPECT_TRUE(is_system_keyspace(name)) << name;
  }
  EXPECT_FALSE(is_system_keyspace("systems"));
  EXPECT_FALSE(is_local_system_keyspace("system_auth"));
}

}  // namespace
}  // namespace cassandra_like
