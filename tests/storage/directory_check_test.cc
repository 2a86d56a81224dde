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
  std::string refusal(bool uuid_identifiers = false) {
    const Status status = check_data_directories(disk, {{"/a", "/b"}, "/system", uuid_identifiers});
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
  put("/a/ks/t-1/snapshots/old", "me-1-big-Data.db");
  put("/a/ks/t-1/backups", "me-1-big-Data.db");
  put("/a/ks/t-1", "manifest.json");
  EXPECT_EQ(refusal(), "");
}

TEST_F(DirectoryCheckTest, RefusesOtherFormatsInEveryDirectory) {
  put("/b/system/local-7ad5", "me-1-big-Data.db");
  EXPECT_EQ(refusal(true).substr(0, 72), "/b/system/local-7ad5/me-1-big-Data.db is of format me-big, which is not ");
  ASSERT_TRUE(disk.remove("/b/system/local-7ad5/me-1-big-Data.db").ok());
  put("/b/ks/t-1/.index", "pa-5-big-Data.db");
  EXPECT_EQ(refusal(true).substr(0, 43), "/b/ks/t-1/.index/pa-5-big-Data.db is of for");
  ASSERT_TRUE(disk.remove("/b/ks/t-1/.index/pa-5-big-Data.db").ok());
  put("/a/ks/t-1", "keyspace-table-jb-1-Data.db");
  EXPECT_EQ(refusal(true),
            "/a/ks/t-1/keyspace-table-jb-1-Data.db is an SSTable of a format that is not known: move it away");
}

TEST_F(DirectoryCheckTest, RefusesWhatCassandraWouldRefuseAfterwards) {
  put("/a/ks/t-1", "da-7-bti-Data.db");
  EXPECT_EQ(refusal(true), "");
  EXPECT_EQ(
      refusal(false),
      "/a/ks/t-1/da-7-bti-Data.db has a sequence number: the Cassandra that wrote it refuses this directory once this "
      "node has written SSTables with uuids there: set uuid_sstable_identifiers_enabled: true, here and in "
      "Cassandra's configuration");
}

TEST_F(DirectoryCheckTest, RefusesWhatIsNotUsed) {
  put("/system/system/local-1", std::string("da-") + kUuid + "-bti-Data.db");
  EXPECT_NE(refusal(true).find("lies in local_system_data_file_directory"), std::string::npos);
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
