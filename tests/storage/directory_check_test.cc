// Data directories that a start must leave alone.
#include "storage/table/directory_check.h"

#include "fixture.h"

namespace cassandra_like::storage_test {
namespace {

constexpr const char* kUuid = "3h5p_036j_4webe2w65tcvh3vp00";

class DirectoryCheckTest : public testing::Test {
 protected:
  void put(const std::string& directory, const std::string& name) {
    ASSERT_TRUE(disk.make_directories(directory).ok());
    ASSERT_TRUE(disk.create(directory + "/" + name).ok());
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
  put("/a/ks/t-1/snapshots/old", "nb-1-big-Data.db");
  put("/a/ks/t-1/backups", "nb-1-big-Data.db");
  put("/a/ks/t-1", "manifest.json");
  EXPECT_EQ(refusal(), "");
}

TEST_F(DirectoryCheckTest, RefusesOtherFormatsInEveryDirectory) {
  put("/b/system/local-7ad5", "nb-1-big-Data.db");
  EXPECT_EQ(refusal(true).substr(0, 72), "/b/system/local-7ad5/nb-1-big-Data.db is of format nb-big, which is not ");
  ASSERT_TRUE(disk.remove("/b/system/local-7ad5/nb-1-big-Data.db").ok());
  put("/b/ks/t-1/.index", "oa-5-big-Data.db");
  EXPECT_EQ(refusal(true).substr(0, 43), "/b/ks/t-1/.index/oa-5-big-Data.db is of for");
  ASSERT_TRUE(disk.remove("/b/ks/t-1/.index/oa-5-big-Data.db").ok());
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

TEST_F(DirectoryCheckTest, RefusesWhatCassandraDidNotFinishAndWhatIsNotUsed) {
  put("/a/ks/t-1", "da_txn_compaction_5d5f0b40.log");
  EXPECT_NE(refusal(true).find("da_txn_compaction_5d5f0b40.log is of a transaction"), std::string::npos);
  ASSERT_TRUE(disk.remove("/a/ks/t-1/da_txn_compaction_5d5f0b40.log").ok());
  put("/system/system/local-1", std::string("da-") + kUuid + "-bti-Data.db");
  EXPECT_NE(refusal(true).find("lies in local_system_data_file_directory"), std::string::npos);
}

}  // namespace
}  // namespace cassandra_like::storage_test
