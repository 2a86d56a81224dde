// The mutations of a change: which rows, and that reading them gives the change again.
#include "schema/schema_mutations.h"

#include <gtest/gtest.h>

#include "schema/schema_diff.h"
#include "schema/system_tables.h"

namespace cassandra_like::test {
namespace {

using Lines = std::vector<std::string>;

ColumnPtr column(const std::string& name, TypePtr type, ColumnKind kind = ColumnKind::kRegular, int position = -1) {
  auto result = std::make_shared<Column>();
  result->name = name;
  result->type = std::move(type);
  result->kind = kind;
  result->position = position;
  return result;
}

std::shared_ptr<TableMetadata> table(std::vector<ColumnPtr> others) {
  return std::make_shared<TableMetadata>("ks", "t", Uuid::random(1, 2),
                                         std::vector{column("k", types::int_(), ColumnKind::kPartitionKey, 0)},
                                         std::vector<ColumnPtr>(), std::move(others));
}

KeyspacePtr keyspace(std::vector<TablePtr> tables) {
  auto result = std::make_shared<KeyspaceMetadata>();
  result->name = "ks";
  result->replication.options = {{"class", "org.apache.cassandra.locator.SimpleStrategy"}, {"replication_factor", "1"}};
  for (TablePtr& t : tables) result->tables[t->name] = t;
  return result;
}

// "table clustering: N cells", or what is deleted; by table.
Lines lines(const std::vector<PartitionUpdate>& updates) {
  Lines out;
  for (const PartitionUpdate& update : updates) {
    if (!update.partition_deletion.is_live()) out.push_back(update.table->name + " deleted");
    auto add = [&](std::span<const BytesView> values, const std::string& what) {
      std::string line = update.table->name;
      for (BytesView value : values) line += " " + std::string(value);
      out.push_back(line + ": " + what);
    };
    for (const Row& row : update.rows) {
      add(row.clustering.values, row.liveness.is_empty() ? "deleted" : std::to_string(row.cells.size()) + " cells");
    }
    for (const RangeTombstone& range : update.range_tombstones) add(range.start.values, "all deleted");
  }
  return out;
}

Lines difference(const KeyspacePtr& before, const KeyspacePtr& after) {
  Arena arena;
  return lines(schema_updates(*builtin_schema(), before.get(), after.get(), {100, false}, arena));
}

TEST(SchemaMutations, OfANewKeyspace) {
  EXPECT_EQ(difference(nullptr, keyspace({table({column("v", types::text())})})),
            (Lines{"column_masks t k: deleted", "column_masks t v: deleted", "columns t k: 5 cells",
                   "columns t v: 5 cells", "keyspaces: 2 cells", "tables t: 19 cells"}));
}

TEST(SchemaMutations, WriteOnlyTheColumnsThatChanged) {
  auto before = table({column("a", types::text()), column("b", types::text())});
  auto after = table({before->regular_columns[0], column("c", types::int_())});
  after->dropped_columns["b"] = {before->regular_columns[1], 5000};
  EXPECT_EQ(difference(keyspace({before}), keyspace({after})),
            (Lines{"column_masks t c: deleted", "columns t b: deleted", "columns t c: 5 cells",
                   "dropped_columns t b: 3 cells", "keyspaces: 2 cells", "tables t: 19 cells"}));
  EXPECT_EQ(difference(keyspace({before}), keyspace({before})), Lines());
}

TEST(SchemaMutations, OfDrops) {
  auto dropped = table({column("v", types::text())});
  dropped->indexes["i"] = {"i", IndexKind::kComposites, {{"target", "v"}}, Uuid()};
  EXPECT_EQ(difference(keyspace({dropped}), keyspace({})),
            (Lines{"columns t k: deleted", "columns t v: deleted", "indexes t i: deleted", "keyspaces: 2 cells",
                   "tables t: deleted", "triggers t: all deleted"}));
  EXPECT_EQ(difference(keyspace({}), nullptr),
            (Lines{"aggregates deleted", "column_masks deleted", "columns deleted", "dropped_columns deleted",
                   "functions deleted", "indexes deleted", "keyspaces deleted", "tables deleted", "triggers deleted",
                   "types deleted", "views deleted"}));
}

TEST(SchemaMutations, OfADroppedView) {
  auto before = std::make_shared<KeyspaceMetadata>(*keyspace({}));
  auto view = std::make_shared<ViewMetadata>();
  view->table = table({column("v", types::text())});
  before->views["t"] = std::move(view);
  EXPECT_EQ(difference(before, keyspace({})),
            (Lines{"columns t k: deleted", "columns t v: deleted", "keyspaces: 2 cells", "views t: deleted"}));
}

TEST(SchemaMutations, TellWhatTheyTouch) {
  SchemaPtr schema = builtin_schema();
  Arena arena;
  auto before = keyspace({table({column("v", types::text())})});
  auto dropped = schema_updates(*schema, before.get(), keyspace({}).get(), {100, false}, arena);
  SchemaScope scope = touched(Mutation{"system_schema", dropped[0].key, dropped});
  EXPECT_FALSE(scope.whole);
  EXPECT_EQ(scope.tables, (std::set<std::string>{"t"}));
  auto all = schema_updates(*schema, before.get(), nullptr, {100, false}, arena);
  EXPECT_TRUE(touched(Mutation{"system_schema", all[0].key, all}).whole);
  EXPECT_EQ(max_timestamp(all[0]), 100);
}

TEST(SchemaMutations, TellWhichTablesTheyMayDrop) {
  const TablePtr t = table({}), altered = table({column("v", types::text())});
  const KeyspacePtr before = keyspace({t});
  const SchemaPtr schema = builtin_schema()->with_keyspace(before);
  const auto dropped_by = [&](const KeyspacePtr& after) {
    Arena arena;
    const auto updates = schema_updates(*schema, before.get(), after.get(), {100, false}, arena);
    return dropped_tables(*schema, Mutation{"system_schema", updates[0].key, updates});
  };
  EXPECT_EQ(dropped_by(keyspace({})), std::vector{t->id});
  EXPECT_EQ(dropped_by(nullptr), std::vector{t->id});
  EXPECT_EQ(dropped_by(keyspace({altered})), std::vector<Uuid>());
}

TEST(SchemaMutations, OfAWholeSchemaTellWhichTablesItDoesNotHave) {
  const TablePtr t = table({});
  const KeyspacePtr before = keyspace({t});
  const SchemaPtr schema = builtin_schema()->with_keyspace(before);
  const auto t_is_missing = [&](const KeyspacePtr& whole) {
    Arena arena;
    const auto updates = schema_updates(*schema, nullptr, whole.get(), {100, false}, arena);
    const Mutation mutation{"system_schema", updates[0].key, updates};
    const std::vector<Uuid> missing = missing_tables(*schema, {&mutation, 1});
    EXPECT_EQ(std::count(missing.begin(), missing.end(), schema->table("system", "local")->id), 0);
    return std::count(missing.begin(), missing.end(), t->id) == 1;
  };
  EXPECT_TRUE(t_is_missing(keyspace({})));
  EXPECT_FALSE(t_is_missing(before));
  const auto of_its_name = std::make_shared<TableMetadata>("ks", "t", Uuid::random(3, 4), t->partition_key,
                                                           t->clustering, std::vector<ColumnPtr>());
  EXPECT_TRUE(t_is_missing(keyspace({of_its_name})));
}

}  // namespace
}  // namespace cassandra_like::test
