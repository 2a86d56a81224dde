// Data directories that a start must leave alone.
#include "storage/table/directory_check.h"

#include "fixture.h"
#include "storage/sstable/transaction_log.h"

namespace cassandra_like::storage_test {
namespace {

constexpr const char* kUuid = "3h5p_036j_4webe2w65tcvh3vp00";

class DirectoryCheckTest : public testing::Test {
 protected:
  void put(const std::string& directory, const std::string& name) {
    ASSERT_TRUE(disk.make_directories(directory).ok());
    ASSERT_TRUE(disk.create(directory + "/" + name).ok());
  }
  void write(const std::string& path, const std::string& text) {
    auto file = disk.create(path);
    ASSERT_TRUE(file.ok() && (*file)->append(text).ok());
  }
  std::string refusal() {
    const Result<FoundIds> status = check_data_directories(disk, {{"/a", "/b"}, "/system"});
    if (status.ok()) return "";
    EXPECT_EQ(status.error().code(), ErrorCode::kConfigError);
    return status.error().message();
  }

  Node node;
  Disk& disk = node.disk();
};

TEST_F(DirectoryCheckTest, TakesWhatThisNodeReadsAndWrites) {
  EXPECT_EQ(refusal(), "");
  put("/a/ks/t-1", std::string("da-") + kUuid + "-bti-Data.db");
  put("/a/ks/t-1/.index", std::string("da-") + kUuid + "-bti-Data.db");
  put("/a/ks/t-1", std::string("nb-") + kUuid + "-big-Data.db");
  put("/a/ks/t-1", std::string("oa-") + kUuid + "-big-Data.db");
  put("/a/ks/t-1/snapshots/old", "lb-1-big-Data.db");
  put("/a/ks/t-1/backups", "lb-1-big-Data.db");
  put("/a/ks/t-1", "manifest.json");
  EXPECT_EQ(refusal(), "");
}

TEST_F(DirectoryCheckTest, LeavesOutWhatTheFileSystemFound) {
  put("/a/lost+found/t-1", "lb-1-big-Data.db");
  EXPECT_EQ(refusal(), "");
}

TEST_F(DirectoryCheckTest, RefusesOtherFormatsInEveryDirectory) {
  put("/b/system/local-7ad5", "lb-1-big-Data.db");
  EXPECT_EQ(refusal().substr(0, 72), "/b/system/local-7ad5/lb-1-big-Data.db is of format lb-big, which is not ");
  ASSERT_TRUE(disk.remove("/b/system/local-7ad5/lb-1-big-Data.db").ok());
  put("/b/ks/t-1/.index", "pa-5-big-Data.db");
  EXPECT_EQ(refusal().substr(0, 43), "/b/ks/t-1/.index/pa-5-big-Data.db is of for");
  ASSERT_TRUE(disk.remove("/b/ks/t-1/.index/pa-5-big-Data.db").ok());
  put("/a/ks/t-1", "keyspace-table-jb-1-Data.db");
  EXPECT_EQ(refusal(),
            "/a/ks/t-1/keyspace-table-jb-1-Data.db is an SSTable of a format that is not known: move it away");
}

TEST_F(DirectoryCheckTest, FindsBothKindsOfIds) {
  auto found = [this] {
    const Result<FoundIds> ids = check_data_directories(disk, {{"/a", "/b"}, "/system"});
    return std::pair(ids->numbers, ids->uuids);
  };
  EXPECT_EQ(found(), std::pair(false, false));
  put("/a/ks/t-1/backups", "da-6-bti-Data.db");
  EXPECT_EQ(found(), std::pair(false, false));
  put("/a/ks/t-1", "da-7-bti-Data.db");
  EXPECT_EQ(found(), std::pair(true, false));
  put("/b/ks/t-1", std::string("da-") + kUuid + "-bti-Data.db");
  EXPECT_EQ(found(), std::pair(true, true));
}

TEST_F(DirectoryCheckTest, FindsDirectoriesThatMayLackTheirDisk) {
  ASSERT_TRUE(disk.make_directories("/one/lost+found").ok());
  const std::vector<std::string> all{"/one", "/two", "/three"};
  EXPECT_EQ(empty_data_directories(disk, all), Lines());
  put("/one/ks/t-1", "da-7-bti-Data.db");
  EXPECT_EQ(empty_data_directories(disk, all), (Lines{"/two", "/three"}));
  put("/two/ks/t-1", "da-8-bti-Data.db");
  put("/three/ks/t-1", "da-9-bti-Data.db");
  EXPECT_EQ(empty_data_directories(disk, all), Lines());
}

TEST_F(DirectoryCheckTest, RefusesTheLastNumbers) {
  put("/a/ks/t-1", "da-2000000001-bti-Data.db");
  EXPECT_EQ(refusal(),
            "/a/ks/t-1/da-2000000001-bti-Data.db has a number after which there are too few for other SSTables: give "
            "all its files a smaller one that no other SSTable of the table has");
}

// Later ones are being written: nobody else looks at them.
TEST_F(DirectoryCheckTest, RemovesUnfinishedSSTables) {
  for (const std::string& id : {std::string("7"), std::string(kUuid)}) {
    put("/a/ks/t-1", "da-" + id + "-bti-Data.db");
    put("/a/ks/t-1", "da-" + id + "-bti-TOC.txt.tmp");
  }
  put("/a/ks/t-1", "da-8-bti-Data.db");
  ASSERT_TRUE(node.run(finish_transactions(&disk, {"/a", "/b"})).ok());
  ASSERT_EQ(disk.list("/a/ks/t-1")->size(), 1u);
  EXPECT_EQ(disk.list("/a/ks/t-1")->front().name, "da-8-bti-Data.db");
}

TEST_F(DirectoryCheckTest, RefusesWhatIsNotUsed) {
  put("/system/system/local-1", std::string("da-") + kUuid + "-bti-Data.db");
  EXPECT_NE(refusal().find("lies in local_system_data_file_directory"), std::string::npos);
}

TEST_F(DirectoryCheckTest, RefusesALogThatDoesNotFitItsFiles) {
  const std::string sstable = std::string("/a/ks/t-1/da-") + kUuid + "-bti-";
  put("/a/ks/t-1", std::string("da-") + kUuid + "-bti-Data.db");
  const TransactionRecord removal{TransactionRecord::Type::kRemove, sstable, 1'000'000, 1};
  write("/a/ks/t-1/bti-da_txn_compaction_5d5f0b40.log", removal.line() + "\n" + TransactionRecord().line() + "\n");
  EXPECT_EQ(
      refusal(),
      "/a/ks/t-1/bti-da_txn_compaction_5d5f0b40.log says of the files " + sstable +
          "* that they were written at 1000000 ms and may be removed, but they are of 1767225600003 ms: if they were "
          "put there since, move the log away; else move them and the log away");
}

TEST_F(DirectoryCheckTest, TakesFilesOfOtherFormatsThatALogVoids) {
  put("/a/ks/t-1", "nb-1-big-Data.db");
  const TransactionRecord addition{TransactionRecord::Type::kAdd, "/a/ks/t-1/nb-1-big-", 0, 8};
  write("/a/ks/t-1/nb_txn_compaction_5d5f0b40.log", addition.line() + "\n");
  EXPECT_EQ(refusal(), "");
  ASSERT_TRUE(node.run(finish_transactions(&disk, {"/a", "/b"})).ok());
  EXPECT_TRUE(disk.list("/a/ks/t-1")->empty());
}

}  // namespace
}  // namespace cassandra_like::storage_test
