// The cost of one CREATE TABLE does not grow with the schema: heap allocations, rows of system_schema that are read and
// written, events and tables that listeners are told of. The version is the one exception: its MD5 runs over all of the schema
// (schema/schema_digest.h), which allocates nothing for a table.
#include <fmt/format.h>

#include "bench/allocations.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

constexpr unsigned kShards = 2;
constexpr int kCreated = 8;
constexpr int kAtOnce = 50;

struct Cost {
  uint64_t allocations = 0;
  uint64_t reads = 0, rows_read = 0, writes = 0;  // of system_schema, on all shards
  uint64_t told = 0;                              // events and altered tables, to the listeners of all shards
};

Cost schema_traffic(ReplicaNode& node) {
  Cost out;
  const KeyspacePtr keyspace = node.on(0).schema().current()->keyspace("system_schema");
  for (const auto& [name, table] : keyspace->tables) {
    for (unsigned shard = 0; shard < kShards; ++shard) {
      const Result<TableStatistics> statistics = node.on(shard).maintenance().table_statistics(table->id);
      CHECK(statistics.ok());
      out.reads += statistics->reads;
      out.rows_read += statistics->live_rows_per_read.sum();
      out.writes += statistics->writes;
    }
  }
  return out;
}

SchemaTransformation add_tables(int begin, int end) {
  return [begin, end](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    auto keyspace = std::make_shared<KeyspaceMetadata>(*schema->keyspace("ks"));
    for (int i = begin; i < end; ++i) {
      const TablePtr table = make_table(fmt::format("there{}", i));
      keyspace->tables[table->name] = table;
    }
    return SchemaPtr(schema->with_keyspace(keyspace));
  };
}

// The cost of kCreated statements, one after the other, among so many tables of one keyspace.
Cost cost_among(int tables) {
  ReplicaNode node(kShards);
  CHECK(node.change(0, make_keyspace({})).ok());
  // A mutation has room for so many.
  for (int i = 0; i < tables; i += kAtOnce) CHECK(node.change(0, add_tables(i, std::min(tables, i + kAtOnce))).ok());
  Cost cost;
  for (unsigned shard = 0; shard < kShards; ++shard) {
    node.on(shard).schema().add_listener(
        [&cost](const SchemaDiff& diff) { cost.told += diff.events.size() + diff.changed_tables.size(); });
  }
  // The first change after the start may fill what later ones find filled.
  CHECK(node.change(0, add_table(make_table("before"))).ok());
  cost = schema_traffic(node);
  std::vector<SchemaTransformation> changes;
  for (int i = 0; i < kCreated; ++i) changes.push_back(add_table(make_table(fmt::format("created{}", i))));
  const uint64_t allocated = allocations();
  for (SchemaTransformation& change : changes) CHECK(node.change(0, std::move(change)).ok());
  cost.allocations = allocations() - allocated;
  const Cost after = schema_traffic(node);
  cost.reads = after.reads - cost.reads;
  cost.rows_read = after.rows_read - cost.rows_read;
  cost.writes = after.writes - cost.writes;
  return cost;
}

TEST(SchemaCost, OfOneTableIsTheSameAmongTenAndAmongAThousand) {
  const Cost few = cost_among(10), many = cost_among(1000);
  EXPECT_EQ(few.told, uint64_t{kShards} * kCreated);
  EXPECT_EQ(many.told, few.told);
  EXPECT_GT(few.rows_read, 0u);
  EXPECT_EQ(many.reads, few.reads);
  EXPECT_EQ(many.rows_read, few.rows_read);
  EXPECT_GT(few.writes, 0u);
  EXPECT_EQ(many.writes, few.writes);
  // Trees grow deeper and vectors are doubled. A step that allocates for each table would allocate 990 times more a statement.
  EXPECT_GT(few.allocations, 0u);
  EXPECT_LT(many.allocations, few.allocations + uint64_t{kCreated} * 99)
      << few.allocations << " among 10 tables, " << many.allocations << " among 1000";
}

}  // namespace
}  // namespace cassandra_like::test
