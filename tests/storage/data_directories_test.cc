// Several data directories: which one an SSTable goes to, and what happens when a disk takes none.
#include "fixture.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like::storage_test::data_directories_test {
namespace {

// Whether files can be made in a directory; unset: yes.
using Faults = std::map<std::string, ErrorCode>;

// The first data directory has less room than the second. Files cannot be made where a fault says so.
class DisksOfTwoSizes final : public test::ForwardingDisk {
 public:
  DisksOfTwoSizes(Disk& disk, const Faults& faults) : ForwardingDisk(disk), faults_(faults) {}
  Result<DiskSpace> space(const std::string& path) override {
    return DiskSpace{.total = 1 << 30, .available = path.starts_with("/a/") ? 100u << 20 : 200u << 20};
  }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    for (const auto& [directory, code] : faults_) {
      if (path.starts_with(directory + "/")) return Error(code, "cannot create " + path);
    }
    return disk_.create(path);
  }

 private:
  const Faults& faults_;
};

EngineOptions with_two_directories() {
  EngineOptions options;
  options.data_directories = {"/a", "/b"};
  options.disk_failure_policy = FailurePolicy::kBestEffort;
  return options;
}

TablePtr table_of(const std::string& keyspace, const std::string& name) {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  table->keyspace = keyspace;
  table->name = name;
  table->id = Uuid::name_based(table->qualified_name());
  return table;
}

class DataDirectoriesTest : public testing::Test {
 protected:
  DataDirectoriesTest() {
    node.wrap_disk = [this](Disk& disk) { return std::make_unique<DisksOfTwoSizes>(disk, faults); };
    node.restart();
  }
  Status flush_row(const TablePtr& table) {
    ++timestamp;
    EXPECT_TRUE(node.apply(Update(table, "a").at(timestamp).row(timestamp).cell("v", "x")).ok());
    return node.run(node.engine().maintenance().flush({table->keyspace, table->name}));
  }
  // The data directories of a table's SSTables, the newest first.
  std::string directories_of(const TablePtr& table) {
    std::string out;
    for (const SSTableInfo& info : node.engine().maintenance().sstables(table->id)) {
      out += info.descriptor.directory.substr(1, 1);
    }
    return out;
  }

  Faults faults;
  int timestamp = 0;
  Node node{1, 1, with_two_directories()};
  TablePtr t = node.table("t");
};

TEST_F(DataDirectoriesTest, AnSSTableGoesWhereMostRoomIs) {
  ASSERT_TRUE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "b");
}

// Directories.isStoredInLocalSystemKeyspacesDataLocation
TEST_F(DataDirectoriesTest, TablesOfTheNodeItselfLieInTheFirst) {
  const std::vector<TablePtr> tables{table_of("system", "local"), table_of("system", "paxos"),
                                     table_of("system_schema", "tables"), table_of("system_auth", "roles")};
  SchemaPtr schema = make_schema({t});
  for (const char* name : {"system", "system_schema", "system_auth"}) {
    KeyspaceMetadata keyspace;
    keyspace.name = name;
    for (const TablePtr& table : tables) {
      if (table->keyspace == name) keyspace.tables[table->name] = table;
    }
    schema = schema->with_keyspace(std::make_shared<KeyspaceMetadata>(keyspace));
  }
  ASSERT_TRUE(node.run(node.engine().set_schema(schema)).ok());
  std::string first, second;
  for (const TablePtr& table : tables) {
    ASSERT_TRUE(flush_row(table).ok());
    first += directories_of(table);
  }
  faults["/a"] = ErrorCode::kIo;
  for (const TablePtr& table : tables) {
    ASSERT_TRUE(flush_row(table).ok());
    second += directories_of(table) + " ";
  }
  EXPECT_EQ(first, "abab");
  EXPECT_EQ(second, "ba bb ba bb ");
}

TEST_F(DataDirectoriesTest, OneThatCannotBeWrittenToIsPassedOver) {
  faults["/b"] = ErrorCode::kIo;
  EXPECT_TRUE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "a");
  // It is left alone until the next start.
  faults.clear();
  node.world().run_for(std::chrono::hours(1));
  EXPECT_TRUE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "aa");
  node.restart();
  EXPECT_TRUE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "baa");
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=x@1", "  2: v=x@2", "  3: v=x@3"}));
}

TEST_F(DataDirectoriesTest, AFullOneIsTriedAgainLater) {
  faults["/b"] = ErrorCode::kDiskFull;
  EXPECT_TRUE(flush_row(t).ok());
  EXPECT_TRUE(flush_row(t).ok());
  faults.clear();
  EXPECT_TRUE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "aaa");
  node.world().run_for(std::chrono::seconds(61));
  EXPECT_TRUE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "baaa");
}

TEST_F(DataDirectoriesTest, WhenNoneIsLeftAllAreTried) {
  faults = {{"/a", ErrorCode::kIo}, {"/b", ErrorCode::kIo}};
  EXPECT_FALSE(flush_row(t).ok());
  EXPECT_FALSE(flush_row(t).ok());
  faults.erase("/b");
  node.world().run_for(std::chrono::seconds(10));
  EXPECT_EQ(directories_of(t), "bb");
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=x@1", "  2: v=x@2"}));
}

// A node that does not go on tries nothing else.
TEST_F(DataDirectoriesTest, UnderThePolicyStopAFlushEndsTheNode) {
  node.options.disk_failure_policy = FailurePolicy::kStop;
  node.restart();
  faults["/b"] = ErrorCode::kIo;
  EXPECT_FALSE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "");
  EXPECT_EQ(node.failures.size(), 1u);
}

}  // namespace
}  // namespace cassandra_like::storage_test::data_directories_test
