// Names of snapshots, and what removing snapshots leaves alone.
#include "fixture.h"

namespace cassandra_like::storage_test {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> names_in(Disk& disk, const std::string& path) {
  auto entries = disk.list(path);
  EXPECT_TRUE(entries.ok()) << path;
  std::vector<std::string> out;
  for (const DirectoryEntry& entry : *entries) out.push_back(entry.name);
  return out;
}

class SnapshotTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(node.apply(Update(t, "a").row(1).cell("v", "x")).ok());
    node.flush();
  }
  Status snapshot(std::string tag) {
    TableSelection table("ks", "t");
    SnapshotRequest request(std::move(tag), "CREATE TABLE …");
    return node.run(node.engine().maintenance().snapshot(table, request));
  }
  void put(const std::string& path, const std::string& content = "x") {
    auto file = node.disk().create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(content).ok());
  }

  Node node;
  TablePtr t = node.table("t");
  std::string directory = "/data/ks/" + t->directory_name();
  std::string snapshots = directory + "/snapshots";
};

TEST_F(SnapshotTest, ATagThatIsNoNameOfADirectoryIsRefusedAndNothingIsRemoved) {
  ASSERT_TRUE(snapshot("kept").ok());
  const auto before = names_in(node.disk(), directory);
  for (const std::string& tag : {".."s, "."s, "..\0"s, "../.."s, "a/b"s, "\0"s, std::string(300, 'x')}) {
    EXPECT_EQ(snapshot(tag).error().code(), ErrorCode::kInvalid) << tag;
    EXPECT_EQ(clear_snapshot(node.disk(), node.options, "ks", tag).error().code(), ErrorCode::kInvalid) << tag;
  }
  EXPECT_EQ(snapshot("").error().message(), "Snapshot name is empty");
  EXPECT_EQ(names_in(node.disk(), directory), before);
  EXPECT_EQ(names_in(node.disk(), snapshots), std::vector<std::string>{"kept"});
}

TEST_F(SnapshotTest, AllSnapshotsOrOneAreRemoved) {
  for (const char* tag : {"first", "second", "third"}) ASSERT_TRUE(snapshot(tag).ok());
  ASSERT_TRUE(clear_snapshot(node.disk(), node.options, "ks", "second").ok());
  EXPECT_EQ(names_in(node.disk(), snapshots), (std::vector<std::string>{"first", "third"}));
  ASSERT_TRUE(clear_snapshot(node.disk(), node.options, "", "").ok());
  EXPECT_FALSE(node.disk().exists(snapshots));
  node.restart();
  EXPECT_EQ(node.scan("t"), (Lines{"a", "  1: v=x@1"}));
}

// With TOC.txt.tmp in it, the next start would remove the SSTable that is restored from it.
TEST_F(SnapshotTest, WhatIsBeingChangedIsNotInIt) {
  const SSTableDescriptor sstable = node.engine().maintenance().sstables(t->id)[0].descriptor;
  const auto before = names_in(node.disk(), directory);
  for (const char* component : {"TOC.txt.tmp", "Statistics.db.tmp"}) put(sstable.file(component));
  ASSERT_TRUE(snapshot("one").ok());
  for (const std::string& name : names_in(node.disk(), snapshots + "/one")) {
    EXPECT_FALSE(name.ends_with(".tmp")) << name;
  }
  EXPECT_TRUE(clear_snapshot(node.disk(), node.options, "ks", "one").ok());
}

// The other is of a table of the same name that was dropped.
TEST_F(SnapshotTest, OneExpiresAndAnotherOfTheSameTagStays) {
  ASSERT_TRUE(snapshot("daily").ok());
  for (const char* id : {"00000000000000000000000000000000", "ffffffffffffffffffffffffffffffff"}) {
    const std::string old = std::string("/data/ks/t-") + id + "/snapshots/daily";
    ASSERT_TRUE(node.disk().make_directories(old).ok());
    put(old + "/manifest.json", "{ \"expires_at\" : \"2020-01-01T00:00:00.000Z\" }");
    EXPECT_TRUE(clear_expired_snapshots(node.disk(), node.options, kNow * 1000).ok());
    EXPECT_FALSE(node.disk().exists(old)) << id;
    EXPECT_EQ(names_in(node.disk(), snapshots), std::vector<std::string>{"daily"}) << id;
  }
}

TEST_F(SnapshotTest, FlushesAreBackedUpWhereTheNodeAndTheTableWantIt) {
  const std::string backups = directory + "/backups";
  EXPECT_EQ(names_in(node.disk(), backups), std::vector<std::string>());
  EngineSettings settings = node.engine().maintenance().settings();
  settings.incremental_backups = true;
  node.engine().maintenance().use(settings);
  ASSERT_TRUE(node.apply(Update(t, "b").row(1).cell("v", "y")).ok());
  node.flush();
  const std::vector<std::string> kept = names_in(node.disk(), backups);
  const std::vector<SSTableInfo> sstables = node.engine().maintenance().sstables(t->id);
  ASSERT_EQ(sstables.size(), 2u);
  const std::string name = sstables.back().descriptor.file("").substr(directory.size() + 1);
  EXPECT_GE(kept.size(), 6u);
  for (const std::string& file : kept) {
    EXPECT_TRUE(file.starts_with(name)) << file;
    EXPECT_EQ(node.disk().open(backups + "/" + file).value()->size(),
              node.disk().open(directory + "/" + file).value()->size());
  }
  // A compaction leaves them there, and is no flush.
  node.compact();
  EXPECT_EQ(names_in(node.disk(), backups), kept);
  auto without = std::make_shared<TableMetadata>(*t);
  without->params.incremental_backups = false;
  node.set_tables({without});
  ASSERT_TRUE(node.apply(Update(without, "c").row(1).cell("v", "z")).ok());
  node.flush();
  EXPECT_EQ(names_in(node.disk(), backups), kept);
  node.restart();
  EXPECT_EQ(node.scan("t").size(), 6u);
}

TEST_F(SnapshotTest, ASnapshotThatHoldsSomethingElseStaysWhole) {
  ASSERT_TRUE(snapshot("one").ok());
  put(snapshots + "/one/thesis.odt");
  const auto before = names_in(node.disk(), snapshots + "/one");
  const Status refused = clear_snapshot(node.disk(), node.options, "ks", "one");
  EXPECT_EQ(refused.error().message(), snapshots +
                                           "/one/thesis.odt belongs to no snapshot: move it away, then clear the "
                                           "snapshot again");
  EXPECT_EQ(names_in(node.disk(), snapshots + "/one"), before);
  // A directory that is none of an index's.
  ASSERT_TRUE(snapshot("two").ok());
  ASSERT_TRUE(node.disk().make_directories(snapshots + "/two/home").ok());
  put(snapshots + "/two/home/da-1-bti-Data.db");
  EXPECT_FALSE(clear_snapshot(node.disk(), node.options, "ks", "two").ok());
  EXPECT_TRUE(node.disk().exists(snapshots + "/two/home/da-1-bti-Data.db"));
  EXPECT_TRUE(node.disk().exists(snapshots + "/two/manifest.json"));
  // The others go.
  ASSERT_TRUE(snapshot("plain").ok());
  EXPECT_FALSE(clear_snapshot(node.disk(), node.options, "", "").ok());
  EXPECT_TRUE(node.disk().exists(snapshots + "/two/manifest.json"));
  EXPECT_FALSE(node.disk().exists(snapshots + "/plain"));
}

}  // namespace
}  // namespace cassandra_like::storage_test
