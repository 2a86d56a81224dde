// Indexes come to a table that has rows: by a change here, by a change elsewhere, and by one that a kill cut off.
#include <gmock/gmock.h>

#include "schema/internal_table.h"
#include "schema/schema_mutations.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

TablePtr with_index(const TablePtr& table) {
  auto indexed = std::make_shared<TableMetadata>(*table);
  IndexMetadata index;
  index.name = "by_v";
  index.options = {{"target", "v"}};
  indexed->indexes = {{"by_v", index}};
  return indexed;
}

class IndexBuild : public testing::Test {
 protected:
  // A table whose rows are in SSTables of both shards and no longer in the commit log.
  void fill(ReplicaNode& node) {
    ASSERT_TRUE(node.change(0, make_keyspace({make_table("t")})).ok());
    for (unsigned shard : {0u, 1u}) {
      Update update(node.table("t"), node.key_of(shard));
      ASSERT_TRUE(node.write(shard, std::move(update.at(1).row(1).live().cell("v", "red"))).ok());
    }
    node.drain();
    node.boot(2);
  }
  // How many rows the index finds.
  size_t found(ReplicaNode& node) {
    TablePtr table = node.table("t");
    ReadCommand read = node.command("t");
    read.range = KeyRange{};
    read.index = &table->indexes.at("by_v");
    FilterExpression condition;
    condition.column = table->column("v");
    condition.op = Operator::kEq;
    condition.value = "red";
    read.filter.push_back(condition);
    InternalRows rows(table);
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, rows); }).ok());
    return rows.rows.size();
  }
  // The rows of system."IndexInfo".
  Lines listed(ReplicaNode& node) {
    ReadCommand read = node.command("t");
    read.table = node.table("IndexInfo", "system");
    read.range = KeyRange{};
    InternalRows rows(read.table);
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, rows); }).ok());
    Lines lines;
    for (const InternalRow& row : rows.rows) lines.push_back(row.text("table_name") + "." + row.text("index_name"));
    return lines;
  }
};

TEST_F(IndexBuild, AnIndexThatIsCreatedHereHasTheRowsThatWereThere) {
  ReplicaNode node(2);
  fill(node);
  ASSERT_TRUE(node.change(1, add_table(with_index(make_table("t")))).ok());
  EXPECT_EQ(found(node), 2u);
  EXPECT_EQ(listed(node), (Lines{"ks.by_v"}));
}

TEST_F(IndexBuild, AnIndexThatAnotherNodeCreatedHasTheRowsThatWereThere) {
  ReplicaNode node(2), other(1);
  fill(node);
  ASSERT_TRUE(other.change(0, make_keyspace({make_table("t")})).ok());
  auto created = other.change(0, add_table(with_index(make_table("t"))));
  ASSERT_TRUE(created.ok());
  ASSERT_TRUE(node.merge(1, created->mutations).ok());
  EXPECT_EQ(found(node), 2u);
  EXPECT_EQ(listed(node), (Lines{"ks.by_v"}));
}

// The change is in the schema's tables, and the node is killed before it does anything else.
TEST_F(IndexBuild, AnIndexThatAKillLeftUnbuiltIsBuiltAtTheStart) {
  ReplicaNode node(2);
  fill(node);
  const SchemaPtr schema = node.on(0).schema().current();
  const KeyspacePtr after = with_table(*schema->keyspace("ks"), with_index(make_table("t")));
  Arena arena;
  auto updates = schema_updates(*schema, schema->keyspace("ks").get(), after.get(), {int64_t{1} << 60, false}, arena);
  Mutation mutation{"system_schema", updates[0].key, updates};
  ASSERT_TRUE(node.run<Status>(0, [&] { return node.on(0).mutate(mutation); }).ok());
  node.kill();
  node.boot(2);
  EXPECT_EQ(found(node), 2u);
  EXPECT_EQ(listed(node), (Lines{"ks.by_v"}));
}

}  // namespace
}  // namespace cassandra_like::test
