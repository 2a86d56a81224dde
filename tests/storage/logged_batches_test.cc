// SSTables of system.batches as a Cassandra writes them: in the order of keys, and named so in Statistics.db.
#include "storage/engine/logged_batches.h"

#include "fixture.h"
#include "gmock/gmock.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"
#include "storage/sstable/statistics.h"

namespace cassandra_like::storage_test {
namespace {

TablePtr make_batches(const std::string& name) {
  const TablePtr like = make_table("kv");
  return std::make_shared<TableMetadata>("system", name, Uuid::name_based("system." + name), like->partition_key,
                                         like->clustering, like->regular_columns);
}

class LoggedBatchesTest : public testing::Test {
 protected:
  // Batches in the only SSTable of a table with the same columns, which is moved to system.batches.
  void write_sstable(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      ASSERT_TRUE(node.apply(Update(twin, key).at(3).row(std::vector<int32_t>{}).cell("v1", "x")).ok());
    }
    node.flush();
    in_sstable = node.scan("twin");
    const SSTableDescriptor from = node.engine().maintenance().sstables(twin->id)[0].descriptor;
    sstable = from;
    sstable.directory = node.options.data_directories[0] + "/system/" + batches->directory_name();
    const auto files = *node.disk().list(from.directory);
    for (const DirectoryEntry& file : files) {
      if (file.is_directory) continue;
      ASSERT_TRUE(node.disk().rename(from.directory + "/" + file.name, sstable.directory + "/" + file.name).ok());
    }
  }
  void kill() {
    node.kill();
    node.set_tables({batches});
  }
  // The SSTable becomes one of a Cassandra.
  void name_local_partitioner() {
    const std::string path = sstable.file(components::kStatistics);
    auto statistics = Statistics::parse(content_of(path), SSTableVersion::da());
    ASSERT_TRUE(statistics.ok());
    statistics->partitioner = "org.apache.cassandra.dht.LocalPartitioner";
    replace(path, statistics->serialize(SSTableVersion::da()));
    ASSERT_TRUE(node.disk().remove(sstable.file(components::kChecksums)).ok());
  }
  void move_before_engines() {
    node.before_engines = [this](ShardRuntime& runtime) {
      return log_batches_of_sstables(&runtime, node.options, batches);
    };
  }
  Bytes content_of(const std::string& path) {
    auto file = node.disk().open(path);
    Bytes content((*file)->size(), '\0');
    EXPECT_TRUE((*file)->read(0, content).ok());
    return content;
  }
  void replace(const std::string& path, BytesView content) {
    ASSERT_TRUE(node.disk().remove(path).ok());
    auto file = node.disk().create(path);
    ASSERT_TRUE((*file)->append(content).ok());
  }
  size_t sstables(unsigned shard = 0) { return node.engine(shard).maintenance().sstables(batches->id).size(); }

  const TablePtr batches = make_batches("batches"), twin = make_batches("twin");
  Node node{1, 1, {}, {batches, twin}};
  SSTableDescriptor sstable;
  Lines in_sstable;
};

TEST_F(LoggedBatchesTest, OfACassandraMoveToTheLog) {
  write_sstable({"a", "b", "c", "d"});
  name_local_partitioner();
  kill();
  EXPECT_FALSE(node.boot());
  EXPECT_THAT(node.error(), testing::HasSubstr("LocalPartitioner is not supported yet"));

  move_before_engines();
  node.set_shards(3);
  node.restart();
  EXPECT_THAT(node.scan("batches"), testing::UnorderedElementsAreArray(in_sstable));
  EXPECT_FALSE(node.disk().exists(sstable.file(components::kData)));
  EXPECT_EQ(sstables(0) + sstables(1) + sstables(2), 0u);
  node.crash();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_THAT(node.scan("batches"), testing::UnorderedElementsAreArray(in_sstable));
}

// A scrub by hand leaves them so.
TEST_F(LoggedBatchesTest, InTheOrderOfTokensMoveToTheLog) {
  write_sstable({"a", "b", "c"});
  kill();
  move_before_engines();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_EQ(node.scan("batches"), in_sstable);
  EXPECT_EQ(sstables(), 0u);
}

TEST_F(LoggedBatchesTest, ThatAreDamagedStopTheStart) {
  write_sstable({"a"});
  name_local_partitioner();
  const std::string data = sstable.file(components::kData);
  Bytes content = content_of(data);
  content[content.size() / 2] ^= 1;
  replace(data, content);
  kill();

  move_before_engines();
  EXPECT_FALSE(node.boot());
  EXPECT_THAT(node.error(), testing::HasSubstr("Cannot take over the logged batches in " + data));
  EXPECT_TRUE(node.disk().exists(data));
}

// The commit log cannot keep as many as memtables may have.
TEST_F(LoggedBatchesTest, ThatAreManyComeToSSTables) {
  EngineOptions options;
  options.memtable_bytes = 1 << 20;
  Node small(1, 1, options, {batches, twin});
  auto sstables = [&] { return small.engine().maintenance().sstables(batches->id).size(); };
  constexpr int kBatches = 300;
  for (int i = 0; i < kBatches; ++i) {
    Update begin(batches, fmt::format("batch{}", i));
    ASSERT_TRUE(small.apply(begin.at(1).row(std::vector<int32_t>{}).cell("v1", std::string(10'000, 'x'))).ok()) << i;
  }
  EXPECT_GT(sstables(), 0u);
  EXPECT_EQ(small.scan("batches").size(), 2u * kBatches);
  for (int i = 0; i < kBatches; ++i) {
    ASSERT_TRUE(small.apply(Update(batches, fmt::format("batch{}", i)).at(2).delete_partition()).ok()) << i;
  }
  small.restart();
  EXPECT_EQ(small.scan("batches"), Lines{});
}

}  // namespace
}  // namespace cassandra_like::storage_test
