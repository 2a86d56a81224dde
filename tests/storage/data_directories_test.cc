// Several data directories: which one a key belongs to, and what happens when a disk takes nothing.
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

Status relocate(Node& node) {
  SSTableRewrite order;
  order.operation = CompactionOperation::kRelocate;
  return node.run(node.engine().maintenance().rewrite({"ks", "t"}, order));
}

class DataDirectoriesTest : public testing::Test {
 protected:
  DataDirectoriesTest() {
    node.wrap_disk = [this](Disk& disk) { return std::make_unique<DisksOfTwoSizes>(disk, faults); };
    node.restart();
  }
  void write(const TablePtr& table, const std::string& key) {
    ++timestamp;
    ASSERT_TRUE(node.apply(Update(table, key).at(timestamp).row(timestamp).cell("v", "x")).ok());
  }
  Status flush(const TablePtr& table) {
    return node.run(node.engine().maintenance().flush({table->keyspace, table->name}));
  }
  Status flush_row(const TablePtr& table, const std::string& key = kOfSecond) {
    write(table, key);
    return flush(table);
  }
  void use_directories(std::vector<std::string> directories) {
    node.options.data_directories = std::move(directories);
    node.restart();
  }
  // The data directories of a table's SSTables, the newest first.
  std::string directories_of(const TablePtr& table) {
    std::string out;
    for (const SSTableInfo& info : node.engine().maintenance().sstables(table->id)) {
      out += info.descriptor.directory.substr(1, 1);
    }
    return out;
  }

  // For two directories with half of the ring each.
  static constexpr const char *kOfFirst = "a", *kOfSecond = "b";

  Faults faults;
  int timestamp = 0;
  Node node{1, 1, with_two_directories()};
  TablePtr t = node.table("t");
};

// Each half of the ring has its directory, in flushes and in compactions.
TEST_F(DataDirectoriesTest, EachKeyHasItsDirectory) {
  for (int round = 0; round < 3; ++round) {
    for (char key = 'a'; key <= 'z'; ++key) write(t, std::string(1, key));
    ASSERT_TRUE(flush(t).ok());
    EXPECT_EQ(directories_of(t).size(), 2u * (round + 1));
  }
  const Lines written = node.scan("t");
  node.compact();
  std::map<std::string, std::pair<Token, Token>> tokens;
  for (const SSTableInfo& info : node.engine().maintenance().sstables(t->id)) {
    tokens[info.descriptor.directory.substr(0, 2)] = {murmur3_token(info.first_key), murmur3_token(info.last_key)};
  }
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_LE(tokens["/a"].second, -1);
  EXPECT_GT(tokens["/b"].first, -1);
  EXPECT_EQ(node.scan("t"), written);
  node.restart();
  EXPECT_EQ(node.scan("t"), written);
}

// The owner of the node says which ranges it has.
TEST_F(DataDirectoriesTest, TheBoundariesAreThoseOfTheKeyspace) {
  node.options.disk_boundaries = [](const TableMetadata& table, size_t directories) {
    EXPECT_EQ(table.qualified_name(), "ks.t");
    EXPECT_EQ(directories, 2u);
    return DiskBoundaries({murmur3_token("w")});
  };
  node.restart();
  for (const char* key : {"a", "w"}) write(t, key);
  ASSERT_TRUE(flush(t).ok());
  EXPECT_EQ(directories_of(t), "a");
}

// The data came while there was one disk. A deletion came since, with another disk.
TEST_F(DataDirectoriesTest, ADeletionMeetsItsDataWhereverThatLies) {
  use_directories({"/a"});
  ASSERT_TRUE(flush_row(t).ok());
  use_directories({"/a", "/b"});
  ASSERT_TRUE(node.apply(Update(t, kOfSecond).at(100).delete_partition()).ok());
  ASSERT_TRUE(flush(t).ok());
  EXPECT_EQ(directories_of(t), "ba");
  node.compact();
  EXPECT_EQ(directories_of(t), "b");
  EXPECT_EQ(node.read("t", kOfSecond), Lines());
}

TEST_F(DataDirectoriesTest, RelocationBringsKeysWhereTheyBelong) {
  use_directories({"/a"});
  for (char key = 'a'; key <= 'z'; ++key) write(t, std::string(1, key));
  ASSERT_TRUE(flush(t).ok());
  ASSERT_TRUE(flush_row(t, kOfFirst).ok());
  ASSERT_TRUE(flush_row(t, kOfSecond).ok());
  ASSERT_TRUE(node.apply(Update(t, kOfSecond).at(1).delete_partition()).ok());
  ASSERT_TRUE(flush(t).ok());
  const Lines written = node.scan("t");
  use_directories({"/a", "/b"});
  const std::string untouched = node.engine().maintenance().sstables(t->id)[1].descriptor.id;
  ASSERT_TRUE(relocate(node).ok());
  std::string directories = directories_of(t);
  std::sort(directories.begin(), directories.end());
  EXPECT_EQ(directories, "aabbb");
  EXPECT_EQ(node.engine().maintenance().sstables(t->id)[1].descriptor.id, untouched);
  EXPECT_EQ(node.scan("t"), written);
  // There is nothing left to do.
  const std::string newest = node.engine().maintenance().sstables(t->id)[0].descriptor.id;
  ASSERT_TRUE(relocate(node).ok());
  EXPECT_EQ(node.engine().maintenance().sstables(t->id)[0].descriptor.id, newest);
}

TEST_F(DataDirectoriesTest, TheKeysOfAnIndexHaveTheirDirectoriesToo) {
  auto indexed = std::make_shared<TableMetadata>(*t);
  indexed->indexes["by"] = {"by", IndexKind::kComposites, {{"target", "v"}}};
  node.set_tables({indexed});
  for (char key = 'a'; key <= 'z'; ++key) {
    ASSERT_TRUE(node.apply(Update(indexed, std::string(1, key)).at(1).row(1).cell("v", std::string(1, key))).ok());
  }
  ASSERT_TRUE(node.run(node.engine().maintenance().flush({})).ok());
  for (const char* data : {"/a", "/b"}) {
    const std::string directory = std::string(data) + "/ks/" + t->directory_name() + "/.by";
    EXPECT_EQ(find_sstables(node.disk(), directory).value().size(), 1u) << directory;
  }
}

// A node whose data lies on one disk has a second one since.
class Relocating {
 public:
  Relocating() {
    for (char key = 'a'; key <= 'z'; ++key) {
      EXPECT_TRUE(node.apply(Update(t, std::string(1, key)).at(1).row(1).cell("v", "x")).ok());
    }
    node.flush();
    written = node.scan("t");
    node.options.data_directories = {"/a", "/b"};
    node.restart();
  }
  static EngineOptions with_one_directory() {
    EngineOptions options = with_two_directories();
    options.data_directories.pop_back();
    return options;
  }
  std::set<std::string> directories() {
    std::set<std::string> out;
    for (const SSTableInfo& info : node.engine().maintenance().sstables(t->id)) {
      out.insert(info.descriptor.directory.substr(0, 2));
    }
    return out;
  }

  Node node{1, 1, with_one_directory()};
  TablePtr t = node.table("t");
  Lines written;
};

// Power goes at every step of a relocation. The next one comes to its end.
TEST(Relocation, ThatIsCutLosesNothing) {
  int undone = 0, done = 0;
  bool came = true;
  for (uint64_t operations = 0; came; ++operations) {
    Relocating m;
    SimFaults& faults = m.node.machine().faults();
    faults.fault = SimFaults::Fault::kAllAfter;
    faults.operations_until_fault = operations;
    static_cast<void>(relocate(m.node));
    came = !faults.operations_until_fault || *faults.operations_until_fault == 0;
    faults.operations_until_fault.reset();
    m.node.crash();
    ASSERT_TRUE(m.node.boot()) << m.node.error();
    ASSERT_EQ(m.node.scan("t"), m.written) << operations;
    (m.directories().size() == 1 ? undone : done) += 1;
    ASSERT_TRUE(relocate(m.node).ok());
    ASSERT_EQ(m.directories(), (std::set<std::string>{"/a", "/b"})) << operations;
    ASSERT_EQ(m.node.scan("t"), m.written) << operations;
  }
  EXPECT_GT(undone, 10);
  EXPECT_GT(done, 3);
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
  EXPECT_EQ(node.read("t", kOfSecond), (Lines{"b", "  1: v=x@1", "  2: v=x@2", "  3: v=x@3"}));
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

// Its SSTables could not be removed.
TEST_F(DataDirectoriesTest, AutomaticCompactionsLeaveOutOneThatIsPassedOver) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(flush_row(t).ok());
  faults["/b"] = ErrorCode::kIo;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(flush_row(t).ok());
  EXPECT_EQ(directories_of(t), "aaaabbb");
  node.engine().maintenance().set_auto_compaction({"ks", "t"}, true);
  node.world().run_for(std::chrono::seconds(10));
  EXPECT_EQ(directories_of(t), "abbb");
}

TEST_F(DataDirectoriesTest, WhenNoneIsLeftAllAreTried) {
  faults = {{"/a", ErrorCode::kIo}, {"/b", ErrorCode::kIo}};
  EXPECT_FALSE(flush_row(t).ok());
  EXPECT_FALSE(flush_row(t).ok());
  faults.erase("/b");
  node.world().run_for(std::chrono::seconds(10));
  EXPECT_EQ(directories_of(t), "bb");
  EXPECT_EQ(node.read("t", kOfSecond), (Lines{"b", "  1: v=x@1", "  2: v=x@2"}));
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
