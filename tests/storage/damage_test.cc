// Every component of an SSTable damaged, cut or gone, and the node started again: an error that names a file, or the right
// rows; never fewer rows without a word.
#include "base/log.h"
#include "fixture.h"
#include "storage/sstable/sstable_files.h"
#include "storage/table/index_store.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like::storage_test {
namespace {

Bytes content_of(Disk& disk, const std::string& path) {
  auto file = disk.open(path);
  CHECK(file.ok());
  Bytes content((*file)->size(), '\0');
  if (!content.empty()) CHECK((*file)->read(0, content).ok());
  return content;
}

TablePtr table_with(bool compressed) {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  if (!compressed) table->params.compression = {{"enabled", "false"}};
  return table;
}

class DamageTest : public testing::TestWithParam<bool> {
 protected:
  // 300 partitions, of which some have a row index and rows that lie in several chunks.
  void SetUp() override {
    for (int k = 0; k < 300; ++k) {
      Update update(t, "key" + std::to_string(k));
      for (int c = 0; c < (k % 50 == 0 ? 200 : 2); ++c) update.row(c).cell("v", std::string(150, 'a' + (k + c) % 26));
      ASSERT_TRUE(node.apply(update).ok());
    }
    node.flush();
    rows = node.scan("t");
    ASSERT_EQ(rows.size(), 300u + 294 * 2 + 6 * 200);
    sstable = node.engine().maintenance().sstables(t->id)[0].descriptor;
    for (const std::string& component : must_find().components) {
      undamaged[component] = content_of(node.disk(), sstable.file(component));
    }
  }
  SSTableOnDisk must_find() {
    auto found = find_sstables(node.disk(), sstable.directory);
    CHECK(found.ok() && found->size() == 1);
    return found->front();
  }
  void replace(const std::string& component, BytesView content) {
    CHECK(node.disk().remove(sstable.file(component)).ok());
    if (is_null(content)) return;
    auto file = node.disk().create(sstable.file(component));
    CHECK(file.ok() && (*file)->append(content).ok());
  }
  // Boots and asks for everything, by range and by key. "" when all answers are right.
  std::string start_and_read() {
    node.kill();
    if (!node.boot()) return node.error();
    const Lines all = node.scan("t");
    std::string error = all.empty() ? "" : all.back();
    if (error.starts_with("error: ")) return error;
    EXPECT_EQ(all, rows);
    for (int k = 0; k < 300; k += 7) {
      const std::string key = "key" + std::to_string(k);
      const Lines one = node.read("t", key);
      if (!one.empty() && one.back().starts_with("error: ")) return one.back();
      EXPECT_FALSE(one.empty()) << key;
      if (one.empty()) return "a row is gone";
    }
    return "";
  }

  TablePtr t = table_with(GetParam());
  Node node{1, 1, {}, {t}};
  Lines rows;
  SSTableDescriptor sstable;
  std::map<std::string, Bytes> undamaged;
};

TEST_P(DamageTest, IsNamedOrDoesNotMatter) {
  int errors = 0;
  Bytes told;  // by lines of the log
  set_log_level(LogLevel::kWarn);
  set_log_sink([&](const LogRecord& record) { told += record.text; });
  for (const auto& [component, content] : undamaged) {
    for (int round = 0; round < 24; ++round) {
      Bytes damaged = content;
      if (round < 12) {
        damaged[damaged.size() * static_cast<size_t>(round) / 12] ^= static_cast<char>(1 << round % 8);
      } else {
        damaged.resize(damaged.size() * static_cast<size_t>(round - 12) / 12);
      }
      replace(component, damaged);
      told.clear();
      const std::string error = start_and_read();
      if (!error.empty()) {
        ++errors;
        EXPECT_NE(error.find(sstable.directory + "/da-" + sstable.id), std::string::npos) << error;
      }
      // A filter and our own checksums are not needed for right answers: their damage is a line in the log. TOC.txt is a
      // list for people.
      const bool may_be_told = component == "Filter.db" || component == "Checksums.crc32";
      const bool is_told = may_be_told && told.find(sstable.file(component)) != told.npos;
      EXPECT_TRUE(component == "TOC.txt" || is_told || !error.empty()) << component << " round " << round << told;
      replace(component, content);
      if (HasFailure()) break;
    }
  }
  set_log_sink(nullptr);
  set_log_level(LogLevel::kOff);
  EXPECT_GT(errors, 100);
}

TEST_P(DamageTest, AMissingComponentIsNamedOrDoesNotMatter) {
  for (const auto& [component, content] : undamaged) {
    replace(component, kNull);
    const std::string error = start_and_read();
    const bool may_be_missed = component == "TOC.txt" || component == "Filter.db" || component == "Digest.crc32" ||
                               component == "Checksums.crc32";
    if (may_be_missed) {
      EXPECT_EQ(error, "") << component;
    } else {
      EXPECT_NE(error.find(sstable.file(component) + " is missing"), std::string::npos) << component << ": " << error;
    }
    // Nothing else went with it.
    for (const auto& [other, bytes] : undamaged) {
      if (other == component) continue;
      EXPECT_EQ(content_of(node.disk(), sstable.file(other)), bytes);
    }
    replace(component, content);
  }
}

// Cassandra writes the list again, too.
TEST_P(DamageTest, ALostTocIsWrittenAgain) {
  replace("TOC.txt", kNull);
  ASSERT_EQ(start_and_read(), "");
  EXPECT_EQ(content_of(node.disk(), sstable.file("TOC.txt")), undamaged.at("TOC.txt"));
  // But not for data that is not whole.
  replace("TOC.txt", kNull);
  Bytes damaged = undamaged.at("Data.db");
  damaged[damaged.size() / 2] ^= 1;
  replace("Data.db", damaged);
  const std::string error = start_and_read();
  EXPECT_NE(error.find(sstable.file("Data.db")), std::string::npos) << error;
  EXPECT_FALSE(node.disk().exists(sstable.file("TOC.txt")));
}

TEST_P(DamageTest, WhatACrashLeftUnfinishedIsRemoved) {
  ASSERT_TRUE(node.disk().rename(sstable.file("TOC.txt"), sstable.file("TOC.txt.tmp")).ok());
  ASSERT_TRUE(node.disk().remove(sstable.file("Filter.db")).ok());
  node.kill();
  ASSERT_TRUE(node.boot()) << node.error();
  EXPECT_TRUE(find_sstables(node.disk(), sstable.directory)->empty());
}

TEST_P(DamageTest, IsNotCompactedOn) {
  Bytes damaged = undamaged.at("Data.db");
  damaged[damaged.size() / 2] ^= 1;
  replace("Data.db", damaged);
  node.restart();
  ASSERT_TRUE(node.apply(Update(t, "another").row(1).cell("v", "x")).ok());
  node.flush();
  EXPECT_FALSE(node.run(node.engine().maintenance().compact({})).ok());
  EXPECT_EQ(content_of(node.disk(), sstable.file("Data.db")), damaged);
  EXPECT_TRUE(node.disk().exists(sstable.file("TOC.txt")));
}

TEST_P(DamageTest, EndsTheNodeUnderTheParanoidPolicies) {
  Bytes damaged = undamaged.at("Data.db");
  damaged[damaged.size() / 2] ^= 1;
  replace("Data.db", damaged);
  for (FailurePolicy policy : {FailurePolicy::kStop, FailurePolicy::kStopParanoid, FailurePolicy::kDie}) {
    const bool ends = policy != FailurePolicy::kStop;
    node.options.disk_failure_policy = policy;
    node.restart();
    ASSERT_TRUE(node.apply(Update(t, "another").row(1).cell("v", "x")).ok());
    node.flush();
    EXPECT_TRUE(node.failures.empty());
    EXPECT_TRUE(node.scan("t").back().starts_with("error: "));
    EXPECT_EQ(node.failures.size(), ends ? 1u : 0u);
    EXPECT_FALSE(node.run(node.engine().maintenance().compact({})).ok());
    EXPECT_EQ(node.failures.size(), ends ? 2u : 0u);
    node.failures.clear();
  }
}

// A disk on which a file cannot be opened since the process has no descriptor left.
class DiskWithoutDescriptors final : public test::ForwardingDisk {
 public:
  DiskWithoutDescriptors(Disk& disk, std::string refused) : ForwardingDisk(disk), refused_(std::move(refused)) {}
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    if (path == refused_) return Error(ErrorCode::kOverloaded, "Cannot open " + path + ": Too many open files");
    return disk_.open(path);
  }

 private:
  const std::string refused_;
};

TEST_P(DamageTest, AShortageOfDescriptorsIsNoDamage) {
  for (const char* component : {"Data.db", "Statistics.db", "Partitions.db"}) {
    DiskWithoutDescriptors disk(node.disk(), sstable.file(component));
    TableStore store(t, "ks/" + t->directory_name(), CommitLogPosition());
    const Status opened = store.open(disk, {"/data"}, SSTableOwner{0, 1}, FailurePolicy::kIgnore, nullptr);
    ASSERT_FALSE(opened.ok()) << component;
    EXPECT_EQ(opened.error().code(), ErrorCode::kOverloaded);
    EXPECT_FALSE(store.has_unread());
  }
}

TEST_P(DamageTest, ThePoliciesIgnoreAndBestEffortGoOnWithoutTheSSTable) {
  node.options.disk_failure_policy = FailurePolicy::kIgnore;
  replace("Data.db", kNull);
  std::vector<std::string> lines;
  set_log_level(LogLevel::kError);
  set_log_sink([&](const LogRecord& record) { lines.push_back(record.text); });
  node.kill();
  const bool booted = node.boot();
  set_log_sink(nullptr);
  set_log_level(LogLevel::kOff);
  ASSERT_TRUE(booted) << node.error();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(sstable.file("Data.db") + " is missing"), std::string::npos) << lines[0];
}

// Without the schema or without system.local, the node would lose more than this SSTable's rows.
TEST_P(DamageTest, WhatTheNodeNeedsToBeItselfIsNotIgnored) {
  replace("Data.db", kNull);
  std::vector<std::string> needed;
  for (const auto& [keyspace, name] : {std::pair("ks", "local"), std::pair("system", "local"),
                                       std::pair("system", "peers_v2"), std::pair("system_schema", "tables")}) {
    auto table = std::make_shared<TableMetadata>(*t);
    table->keyspace = keyspace;
    table->name = name;
    TableStore store(table, "ks/" + t->directory_name(), CommitLogPosition());
    for (FailurePolicy policy : {FailurePolicy::kIgnore, FailurePolicy::kBestEffort}) {
      const Status opened = store.open(node.disk(), {"/data"}, SSTableOwner{0, 1}, policy, nullptr);
      if (!opened.ok()) needed.push_back(table->qualified_name());
    }
  }
  EXPECT_EQ(needed, (Lines{"system.local", "system.local", "system_schema.tables", "system_schema.tables"}));
}

TEST_P(DamageTest, ChecksumsThatCassandraLeftBehindGo) {
  for (const auto& [component, content] : undamaged) {
    if (component != "Checksums.crc32") replace(component, kNull);
  }
  node.restart();
  EXPECT_TRUE(find_sstables(node.disk(), sstable.directory)->empty());
}

INSTANTIATE_TEST_SUITE_P(Storage, DamageTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Compressed" : "Plain"; });

}  // namespace
}  // namespace cassandra_like::storage_test
