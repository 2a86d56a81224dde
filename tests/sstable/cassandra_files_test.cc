// SSTables that Cassandra wrote: our reader sees in them what sstabledump of 5.0.9 sees. Our writer writes the same bytes again
// where it writes that version, and the same rows in a version of today where Cassandra 3 wrote it.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/sstable/fixture/fixture.h"
#include "tests/sstable/fixture/json_dump.h"
#include "tests/sstable/fixture/rewrite.h"

namespace cassandra_like::test {
namespace {

class CassandraFiles : public testing::TestWithParam<std::string> {
 protected:
  LinuxDisk world_;
  Fixture fixture_ = load_fixture(world_, GetParam());
};

TEST_P(CassandraFiles, ReaderSeesWhatSstabledumpSees) {
  SSTablePtr sstable = must(SSTable::open(world_.disk(), fixture_.descriptor, fixture_.table));
  auto expected = nlohmann::json::parse(fixture_.dump);
  auto seen = must(dump_json(*sstable, fixture_.table));
  ASSERT_EQ(seen.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(seen[i], expected[i]);
  EXPECT_EQ(sstable->info().partitions, expected.size());
}

TEST_P(CassandraFiles, VerifyFindsNoFault) {
  SSTablePtr sstable = must(SSTable::open(world_.disk(), fixture_.descriptor, fixture_.table));
  Status status = sstable->verify();
  EXPECT_TRUE(status.ok()) << status.error().message();
}

TEST_P(CassandraFiles, EachPartitionIsFoundByItsKey) {
  SSTablePtr sstable = must(SSTable::open(world_.disk(), fixture_.descriptor, fixture_.table));
  auto scanner = must(sstable->scan(fixture_.table, KeyRange(), SliceSelection()));
  while (PartitionReader* partition = must(scanner->next())) {
    auto found = must(sstable->read(fixture_.table, partition->key(), SliceSelection()));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->key(), partition->key());
    EXPECT_EQ(found->partition_deletion(), partition->partition_deletion());
    while (const Unfiltered* expected = must(partition->next())) {
      const Unfiltered* unfiltered = must(found->next());
      ASSERT_NE(unfiltered, nullptr);
      EXPECT_EQ(unfiltered_json(*fixture_.table, *unfiltered), unfiltered_json(*fixture_.table, *expected));
    }
    EXPECT_EQ(must(found->next()), nullptr);
  }
  EXPECT_EQ(sstable->false_positives(), 0u);
}

class FilesOfVersionsThatWeWrite : public CassandraFiles {};

TEST_P(FilesOfVersionsThatWeWrite, WriterWritesTheSameBytes) {
  // Other zlib and zstd libraries compress the same data otherwise, and data without its dropped columns is different.
  std::vector<std::string> different;
  if (GetParam() == "deflate" || GetParam() == "zstd")
    different = {"Data.db", "Digest.crc32", "CompressionInfo.db", "Statistics.db"};
  if (GetParam() == "plain_rewritten") different = {"CRC.db"};  // Cassandra adds the checksum of an empty chunk
  if (GetParam().ends_with("dropped"))
    different = {"Data.db", "Digest.crc32", "CompressionInfo.db", "Statistics.db", "Partitions.db", "Index.db"};

  TemporaryDirectory directory;
  SSTablePtr ours = rewritten(world_, fixture_, directory.path(), {});
  EXPECT_TRUE(ours->verify().ok());
  for (const auto& entry : std::filesystem::directory_iterator(fixture_.directory)) {
    std::string name = entry.path().filename();
    if (!name.starts_with(fixture_.descriptor.version + "-") ||
        testing::Matches(testing::Contains(name.substr(name.rfind('-') + 1)))(different))
      continue;
    Bytes expected = must(read_file(world_.disk(), entry.path()));
    EXPECT_EQ(to_hex(must(read_file(world_.disk(), directory.path() + "/" + name))), to_hex(expected)) << name;
  }
  auto seen = must(dump_json(*ours, fixture_.table));
  EXPECT_EQ(seen, nlohmann::json::parse(fixture_.dump));
}

class FilesOfCassandra3 : public CassandraFiles {};

TEST_P(FilesOfCassandra3, AreWrittenInAVersionOfToday) {
  for (const SSTableVersion* version : {&SSTableVersion::nb(), &SSTableVersion::da()}) {
    TemporaryDirectory directory;
    SSTablePtr ours = rewritten(world_, fixture_, directory.path(), {.version = version});
    EXPECT_TRUE(ours->verify().ok());
    EXPECT_EQ(must(dump_json(*ours, fixture_.table)), nlohmann::json::parse(fixture_.dump));
  }
}

// Fixtures of Cassandra 3 are named after their version: "me_simple".
std::vector<std::string> fixtures(bool of_cassandra_3) {
  std::vector<std::string> names = fixture_names();
  std::erase_if(names, [&](const std::string& name) {
    return (name.size() > 2 && name[0] == 'm' && name[2] == '_') != of_cassandra_3;
  });
  return names;
}

constexpr auto kName = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Fixtures, CassandraFiles, testing::ValuesIn(fixture_names()), kName);
INSTANTIATE_TEST_SUITE_P(Fixtures, FilesOfVersionsThatWeWrite, testing::ValuesIn(fixtures(false)), kName);
INSTANTIATE_TEST_SUITE_P(Fixtures, FilesOfCassandra3, testing::ValuesIn(fixtures(true)), kName);

// The figures that sstablemetadata prints of the fixture "wide".
TEST(SSTableInfo, IsWhatStatisticsAndFilesSay) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "wide");
  SSTablePtr sstable = must(SSTable::open(world.disk(), fixture.descriptor, fixture.table));
  const SSTableInfo& info = sstable->info();
  EXPECT_EQ(info.partitions, 4u);
  EXPECT_EQ(info.rows, 740u);
  EXPECT_EQ(info.cells, 737u);
  EXPECT_EQ(info.min_timestamp, 10);
  EXPECT_EQ(info.max_timestamp, 100000005);
  EXPECT_EQ(info.min_ttl, 0);
  EXPECT_EQ(info.level, 0);
  EXPECT_DOUBLE_EQ(info.compression_ratio, 0.27076786899756583);
  EXPECT_DOUBLE_EQ(info.droppable_before(kMaxDeletionTime), 0.046798029556650245);
  EXPECT_EQ(info.first_key, "middling");
  EXPECT_EQ(info.last_key, "deleted");
  EXPECT_GT(info.uncompressed_bytes, info.data_bytes);
  uint64_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fixture.directory)) {
    if (entry.path().filename().string().starts_with("da-")) total += entry.file_size();
  }
  EXPECT_EQ(info.total_bytes, total);
}

}  // namespace
}  // namespace cassandra_like::test
