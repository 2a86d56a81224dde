// SSTables of system.batches as a Cassandra writes them: in the order of keys, and named so in Statistics.db.
#include "storage/engine/cassandra_batches.h"

#include "fixture.h"
#include "gmock/gmock.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"
#include "storage/sstable/statistics.h"

namespace cassandra_like::storage_test {
namespace {

TablePtr make_batches() {
  const TablePtr like = make_table("kv");
  return std::make_shared<TableMetadata>("system", "batches", Uuid::name_based("system.batches"), like->partition_key,
                                         like->clustering, like->regular_columns);
}

class CassandraBatchesTest : public testing::Test {
 protected:
  // The only SSTable becomes one of a Cassandra.
  void name_local_partitioner() {
    Disk& disk = node.disk();
    const SSTableDescriptor sstable = node.engine().maintenance().sstables(batches->id)[0].descriptor;
    auto file = disk.open(sstable.file(components::kStatistics));
    Bytes content((*file)->size(), '\0');
    ASSERT_TRUE((*file)->read(0, content).ok());
    auto statistics = Statistics::parse(content, SSTableVersion::da());
    ASSERT_TRUE(statistics.ok());
    statistics->partitioner = "org.apache.cassandra.dht.LocalPartitioner";
    ASSERT_TRUE(disk.remove(sstable.file(components::kStatistics)).ok());
    auto changed = disk.create(sstable.file(components::kStatistics));
    ASSERT_TRUE((*changed)->append(statistics->serialize(SSTableVersion::da())).ok());
    ASSERT_TRUE(disk.remove(sstable.file(components::kChecksums)).ok());
  }

  const TablePtr batches = make_batches();
  Node node{1, 1, {}, {batches}};
};

TEST_F(CassandraBatchesTest, AreWrittenAnewAtTheStart) {
  for (const char* key : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(node.apply(Update(batches, key).at(3).row(std::vector<int32_t>{}).cell("v1", "x")).ok());
  }
  node.flush();
  const Lines open = node.scan("batches");
  name_local_partitioner();
  node.kill();
  EXPECT_FALSE(node.boot());
  EXPECT_THAT(node.error(), testing::HasSubstr("LocalPartitioner is not supported yet"));

  node.kill();
  node.before_engines = [this](ShardRuntime& runtime) { return put_batches_in_order(&runtime, node.options, batches); };
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.scan("batches"), open);
  EXPECT_EQ(node.engine().maintenance().sstables(batches->id).size(), 1u);
  node.set_shards(3);
  node.restart();
  EXPECT_EQ(node.engine().maintenance().sstables(batches->id).size(), 1u);
}

TEST_F(CassandraBatchesTest, ThatAreDamagedStopTheStart) {
  ASSERT_TRUE(node.apply(Update(batches, "a").at(3).row(std::vector<int32_t>{}).cell("v1", "x")).ok());
  node.flush();
  name_local_partitioner();
  const std::string data = node.engine().maintenance().sstables(batches->id)[0].descriptor.file(components::kData);
  auto file = node.disk().open(data);
  Bytes content((*file)->size(), '\0');
  ASSERT_TRUE((*file)->read(0, content).ok());
  content[content.size() / 2] ^= 1;
  ASSERT_TRUE(node.disk().remove(data).ok());
  auto damaged = node.disk().create(data);
  ASSERT_TRUE((*damaged)->append(content).ok());
  node.kill();

  node.before_engines = [this](ShardRuntime& runtime) { return put_batches_in_order(&runtime, node.options, batches); };
  EXPECT_FALSE(node.boot());
  EXPECT_THAT(node.error(), testing::HasSubstr("Cannot take over the logged batches in " + data));
  EXPECT_TRUE(node.disk().exists(data));
}

}  // namespace
}  // namespace cassandra_like::storage_test
