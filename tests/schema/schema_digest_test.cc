// The version of a schema against those of real Cassandra 5.0.9 nodes.
#include "schema/schema_digest.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schema/schema_mutations.h"
#include "tests/schema/recorded_schema.h"

namespace cassandra_like::test {
namespace {

size_t index_of(const std::string& table) {
  const auto& tables = schema_tables_in_digest_order();
  return static_cast<size_t>(std::find(tables.begin(), tables.end(), table) - tables.begin());
}

// Puts in the rows of serialized mutations. Rows of one name must come together, in their order.
void put(SchemaDigest& digest, const Schema& schema, const std::vector<Bytes>& mutations) {
  std::map<std::tuple<size_t, std::string, std::string>, Bytes> groups;
  for (const Bytes& bytes : mutations) {
    Arena arena;
    auto mutation = deserialize_mutation(
        bytes, [&](const Uuid& id) { return schema.table(id).get(); }, arena);
    ASSERT_TRUE(mutation.ok());
    for (const PartitionUpdate& update : mutation->updates) {
      for (const Row& row : update.rows) {
        const BytesView name = row.clustering.values.empty() ? BytesView("", 0) : row.clustering.values[0];
        append_row_digest(groups[{index_of(update.table->name), std::string(update.key.key), std::string(name)}], row);
      }
    }
  }
  for (auto& [place, rows] : groups) {
    const auto& [table, keyspace, name] = place;
    digest.set(table, DecoratedKey::of(keyspace), name, rows);
  }
}

TEST(SchemaDigest, IsTheVersionThatCassandraHasForTheSameRows) {
  SchemaPtr schema = builtin_schema();
  for (const char* name : {"fresh", "fresh_default", "rich", "drops"}) {
    RecordedSchema recorded = RecordedSchema::read(name);
    SchemaDigest digest(*schema);
    put(digest, *schema, recorded.mutations(*schema));
    EXPECT_EQ(digest.version().to_string(), recorded.version.to_string()) << name;
  }
}

// The rows of the replicated system keyspaces as this node writes them, in a cluster that has nothing else.
TEST(SchemaDigest, OfAFreshNodeIsThatOfAFreshCassandra) {
  const std::pair<const char*, SystemKeyspaceOptions> kCases[] = {{"fresh_default", {}}, {"fresh", latest_options()}};
  for (const auto& [name, options] : kCases) {
    SchemaPtr schema = builtin_schema(options);
    std::vector<Bytes> mutations;
    const std::pair<const char*, int64_t> kGenerations[] = {
        {"system_traces", 1577836800000002}, {"system_distributed", 6}, {"system_auth", 1}};
    for (const auto& [keyspace, generation] : kGenerations) {
      Arena arena;
      auto updates = schema_updates(*schema, nullptr, schema->keyspace(keyspace).get(), {generation, false}, arena);
      serialize(Mutation{"system_schema", updates[0].key, updates}, mutations.emplace_back());
    }
    SchemaDigest digest(*schema);
    put(digest, *schema, mutations);
    EXPECT_EQ(digest.version().to_string(), RecordedSchema::read(name).version.to_string()) << name;
  }
}

TEST(SchemaDigest, ForgetsWhatIsTakenAway) {
  SchemaPtr schema = builtin_schema();
  SchemaDigest digest(*schema);
  const Uuid empty = digest.version();
  const DecoratedKey shop = DecoratedKey::of("shop"), system = DecoratedKey::of("system");
  digest.set(0, shop, "a", "rows");
  const Uuid one = digest.version();
  EXPECT_NE(one, empty);
  digest.set(0, shop, "b", "rows");
  EXPECT_NE(digest.version(), one);
  digest.set(0, shop, "b", "");
  EXPECT_EQ(digest.version(), one);
  digest.clear(0, shop);
  EXPECT_EQ(digest.version(), empty);
  // The local system keyspaces are each node's own.
  digest.set(0, system, "a", "rows");
  EXPECT_EQ(digest.version(), empty);
}

}  // namespace
}  // namespace cassandra_like::test
