// SSTables of another directory become a table's: all of them or those of the whole directories, by all shards at once.
#include <algorithm>

#include <fmt/format.h>

#include "fixture.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_ids.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::storage_test::import_test {
namespace {

constexpr char kSource[] = "/restore/ks/t";

EngineOptions without_policy() {
  EngineOptions options;
  options.disk_failure_policy = FailurePolicy::kIgnore;
  options.commitlog_sync = CommitLogSync::kBatch;
  return options;
}

// A node whose table is empty, and a directory with two SSTables of each shard, which another node has written.
class Importing {
 public:
  explicit Importing(unsigned shards = 2, uint64_t seed = 1, EngineOptions options = without_policy())
      : node(seed, shards, std::move(options)), t(node.table("t")) {
    for (int64_t timestamp : {10, 20}) {
      for (char key = 'a'; key <= 'z'; ++key) {
        Update rows(t, std::string(1, key));
        rows.at(timestamp).static_row().cell("s", fmt::format("static{}", timestamp));
        for (int c = 0; c < 3; ++c) rows.row(c + static_cast<int>(timestamp)).live().cell("v", "x");
        EXPECT_TRUE(node.apply(rows).ok());
      }
      for (unsigned i = 0; i < shards; ++i) EXPECT_TRUE(node.run(maintenance(i).flush({"ks", "t"})).ok());
    }
    expected = rows();
    EXPECT_TRUE(node.disk().make_directories(kSource).ok());
    for (const std::string& data : node.options.data_directories) link_to_source(data);
    for (const char* directory : {"/", "/restore", "/restore/ks", kSource}) {
      EXPECT_TRUE(node.run(node.disk().sync_directory(directory)).ok());
    }
    const auto positions = node.truncate(t);
    EXPECT_TRUE(positions.ok());
    TruncationRecord record{0, (*positions)[0], *positions};
    node.truncated[t->id] = record;
    EXPECT_EQ(rows(), Lines());
  }

  void link_to_source(const std::string& data) {
    const std::string directory = data + "/ks/" + t->directory_name();
    const std::vector<SSTableOnDisk> written = find_sstables(node.disk(), directory).value();
    for (const SSTableOnDisk& files : written) {
      for (const std::string& component : files.components) {
        SSTableDescriptor target = files.descriptor;
        target.directory = kSource;
        EXPECT_TRUE(node.disk().link(files.descriptor.file(component), target.file(component)).ok());
      }
    }
  }

  using Failed = std::vector<std::string>;
  Result<Failed> restore(SSTableImport order = SSTableImport()) {
    if (order.directories.empty()) order.directories = {kSource};
    return node.run(maintenance().import_sstables(t, order));
  }
  Status load_new() { return node.run(maintenance().load_new_sstables(t)); }
  void damage(const SSTableDescriptor& source) {
    const std::string data = source.file(components::kData);
    Bytes content(node.disk().open(data).value()->size(), '\0');
    ASSERT_TRUE(node.disk().open(data).value()->read(0, content).ok());
    content[20] ^= 8;
    ASSERT_TRUE(node.disk().remove(data).ok());
    ASSERT_TRUE(node.disk().create(data).value()->append(content).ok());
  }
  void move_sources(
      const std::string& directory,
      const std::function<bool(const SSTableDescriptor&)>& which = [](const SSTableDescriptor&) { return true; }) {
    const std::vector<SSTableOnDisk> all = find_sstables(node.disk(), kSource).value();
    for (const SSTableOnDisk& files : all) {
      if (!which(files.descriptor)) continue;
      for (const std::string& component : files.components) {
        SSTableDescriptor target = files.descriptor;
        target.directory = directory;
        ASSERT_TRUE(node.disk().rename(files.descriptor.file(component), target.file(component)).ok());
      }
    }
  }
  Maintenance& maintenance(unsigned shard = 0) { return node.engine(shard).maintenance(); }
  std::string table_directory() { return "/data/ks/" + t->directory_name(); }
  // Ids of all shards' SSTables, and of those in backups/.
  std::vector<std::string> live() {
    std::vector<std::string> ids;
    for (unsigned shard = 0; shard < node.runtime().shard_count(); ++shard) {
      for (const SSTableInfo& info : maintenance(shard).sstables(t->id)) ids.push_back(info.descriptor.id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  std::vector<std::string> backups() {
    std::vector<std::string> ids;
    const std::vector<SSTableOnDisk> all = find_sstables(node.disk(), table_directory() + "/backups").value();
    for (const SSTableOnDisk& files : all) {
      if (files.has(components::kData)) ids.push_back(files.descriptor.id);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  size_t sources() { return list_sstables(node.disk(), kSource).value().size(); }
  Lines rows() {
    Lines lines = node.scan("t");
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  Node node;
  TablePtr t;
  Lines expected;
};

TEST(Import, EachShardGetsItsPart) {
  Importing m;
  ASSERT_EQ(m.sources(), 4u);
  EXPECT_EQ(m.restore().value(), Importing::Failed());
  EXPECT_EQ(m.rows(), m.expected);
  EXPECT_EQ(m.sources(), 0u);
  for (unsigned shard = 0; shard < 2; ++shard) {
    EXPECT_EQ(m.maintenance(shard).sstables(m.t->id).size(), 2u);
    for (const SSTableInfo& info : m.maintenance(shard).sstables(m.t->id)) {
      EXPECT_EQ(sstable_owner(info.descriptor.id), (SSTableOwner{shard, 2}));
      EXPECT_EQ(info.commit_log_intervals.size(), 0u);
    }
  }
  m.node.restart();
  EXPECT_EQ(m.rows(), m.expected);
}

TEST(Import, WithAnotherNumberOfShards) {
  Importing m(3);
  m.node.kill();
  m.node.set_shards(1);
  ASSERT_TRUE(m.node.boot()) << m.node.error();
  EXPECT_EQ(m.restore().value(), Importing::Failed());
  EXPECT_EQ(m.rows(), m.expected);
}

TEST(Import, SourcesMayStay) {
  Importing m;
  SSTableImport order;
  order.copies = true;
  EXPECT_EQ(m.restore(order).value(), Importing::Failed());
  EXPECT_EQ(m.sources(), 4u);
  EXPECT_EQ(m.rows(), m.expected);
  EXPECT_EQ(m.restore(order).value(), Importing::Failed());
  EXPECT_EQ(m.rows(), m.expected);
}

// A snapshot has links to them; a symbolic link may lead to the table's own directory.
TEST(Import, SSTablesThatTheTableHasStayWhereTheyAre) {
  Importing m;
  EXPECT_EQ(m.restore().value(), Importing::Failed());
  ASSERT_TRUE(m.node.run(m.maintenance().snapshot({"ks", "t"}, SnapshotRequest("now"))).ok());
  const std::vector<SSTableInfo> before = m.maintenance().sstables(m.t->id);
  SSTableImport order;
  order.directories = {m.table_directory() + "/snapshots/now"};
  EXPECT_EQ(m.restore(order).value(), Importing::Failed());
  EXPECT_EQ(m.maintenance().sstables(m.t->id).size(), before.size());
  EXPECT_EQ(list_sstables(m.node.disk(), order.directories[0]).value().size(), before.size());
  EXPECT_EQ(m.rows(), m.expected);
}

TEST(Import, LevelAndRepairGoUnlessTheyAreToStay) {
  for (const bool keeps : {false, true}) {
    Importing m(1);
    const std::vector<SSTableDescriptor> sources = list_sstables(m.node.disk(), kSource).value();
    for (const SSTableDescriptor& source : sources) {
      ASSERT_TRUE(m.node.run(mutate_repaired_at(&m.node.disk(), source, 1234)).ok());
    }
    SSTableImport order;
    order.keeps_repaired = keeps;
    EXPECT_EQ(m.restore(order).value(), Importing::Failed());
    for (const SSTableInfo& info : m.maintenance().sstables(m.t->id)) EXPECT_EQ(info.repaired_at, keeps ? 1234 : 0);
  }
}

TEST(Import, ADirectoryWithDamageIsLeftAsItIs) {
  Importing m(1);
  const std::string other = "/restore/other";
  ASSERT_TRUE(m.node.disk().make_directories(other).ok());
  const std::vector<SSTableDescriptor> sources = list_sstables(m.node.disk(), kSource).value();
  ASSERT_EQ(sources.size(), 2u);
  m.move_sources(other, [&](const SSTableDescriptor& source) { return source == sources[0]; });
  m.damage(sources[1]);
  SSTableImport order;
  order.directories = {kSource, other + "/"};
  EXPECT_EQ(m.restore(order).value(), Importing::Failed{kSource});
  EXPECT_EQ(m.sources(), 1u);
  EXPECT_EQ(list_sstables(m.node.disk(), other).value().size(), 0u);
  EXPECT_EQ(m.maintenance().sstables(m.t->id).size(), 1u);
}

// The first SSTable is whole, and without a verification the damage of the second is found only when it is read.
TEST(Import, ADirectoryComesAsAWholeOrNotAtAll) {
  for (unsigned shards : {1u, 2u}) {
    Importing m(shards);
    const std::vector<SSTableDescriptor> sources = list_sstables(m.node.disk(), kSource).value();
    m.damage(sources.back());
    SSTableImport order;
    order.verifies = false;
    EXPECT_EQ(m.restore(order).value(), Importing::Failed{kSource});
    EXPECT_EQ(m.rows(), Lines());
    EXPECT_EQ(m.sources(), sources.size());
    m.node.restart();
    EXPECT_EQ(m.rows(), Lines());
  }
}

TEST(Import, NewSSTablesInTheTablesOwnDirectoryAreLoaded) {
  for (unsigned shards : {1u, 2u}) {
    Importing m(shards);
    m.move_sources(m.table_directory());
    ASSERT_TRUE(m.load_new().ok());
    EXPECT_EQ(m.rows(), m.expected);
    // Nothing else is new: not what was made of them, nor what is flushed.
    Update update(m.t, "more");
    update.at(30).row(1).live().cell("v", "y");
    ASSERT_TRUE(m.node.apply(update).ok());
    m.node.flush();
    const Lines all = m.rows();
    const size_t sstables = list_sstables(m.node.disk(), m.table_directory()).value().size();
    ASSERT_TRUE(m.load_new().ok());
    EXPECT_EQ(list_sstables(m.node.disk(), m.table_directory()).value().size(), sstables);
    EXPECT_EQ(m.rows(), all);
    m.node.restart();
    EXPECT_EQ(m.rows(), all);
  }
}

TEST(Import, NewSSTablesAreLoadedFromEachDataDirectory) {
  EngineOptions options = without_policy();
  options.data_directories = {"/data", "/more"};
  Importing m(2, 1, options);
  const std::string more = "/more/ks/" + m.t->directory_name();
  const std::vector<SSTableDescriptor> sources = list_sstables(m.node.disk(), kSource).value();
  m.move_sources(more, [&](const SSTableDescriptor& source) { return source == sources[0]; });
  m.move_sources(m.table_directory());
  ASSERT_TRUE(m.load_new().ok());
  EXPECT_EQ(m.rows(), m.expected);
  EXPECT_FALSE(list_sstables(m.node.disk(), more).value().empty());
  m.node.restart();
  EXPECT_EQ(m.rows(), m.expected);
}

// SSTableImporter.getTargetDirectory: where the first of its keys belongs.
TEST(Import, EachSSTableGoesToItsDataDirectory) {
  EngineOptions options = without_policy();
  options.data_directories = {"/data", "/more"};
  Importing m(1, 1, options);
  ASSERT_TRUE(m.restore().ok());
  EXPECT_EQ(m.rows(), m.expected);
  std::set<std::string> directories;
  const std::vector<SSTableInfo> sstables = m.maintenance().sstables(m.t->id);
  for (const SSTableInfo& info : sstables) {
    directories.insert(info.descriptor.directory);
    EXPECT_EQ(info.descriptor.directory.starts_with("/data/"), murmur3_token(info.last_key) <= -1);
  }
  EXPECT_EQ(directories.size(), 2u);
  m.node.restart();
  EXPECT_EQ(m.rows(), m.expected);
}

TEST(Import, DamageAmongNewSSTablesLeavesThemAll) {
  Importing m(1);
  const std::vector<SSTableDescriptor> sources = list_sstables(m.node.disk(), kSource).value();
  m.damage(sources.back());
  m.move_sources(m.table_directory());
  const Status loaded = m.load_new();
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(m.rows(), Lines());
  EXPECT_EQ(list_sstables(m.node.disk(), m.table_directory()).value().size(), sources.size());
}

// SSTables appear while flushes and compactions of the table go on.
TEST(Import, NewSSTablesAreLoadedBesideFlushesAndCompactions) {
  for (uint64_t seed = 1; seed <= (test::kIsSanitized ? 3 : 20); ++seed) {
    Importing m(2, seed);
    m.move_sources(m.table_directory());
    std::vector<std::optional<Status>> done(3);
    std::vector<Lines> expected;
    for (int round = 0; round < 3; ++round) {
      for (char key = 'a'; key <= 'z'; ++key) {
        Update update(m.t, std::string(1, key));
        update.at(40 + round).row(100 + round).live().cell("v", "z");
        ASSERT_TRUE(m.node.apply(update).ok());
      }
      m.node.flush();
    }
    spawn(finish<Status>(m.maintenance(0).load_new_sstables(m.t), &done[0]));
    spawn(finish<Status>(m.maintenance(0).compact({"ks", "t"}), &done[1]));
    spawn(finish<Status>(m.maintenance(1).compact({"ks", "t"}), &done[2]));
    ASSERT_TRUE(m.node.world().run_until(
        [&] { return done[0].has_value() && done[1].has_value() && done[2].has_value(); }, std::chrono::hours(1)));
    for (const auto& each : done) EXPECT_TRUE(each->ok()) << each->error().message();
    const Lines all = m.rows();
    EXPECT_EQ(all.size(), m.expected.size() + 26 * 3) << seed;
    m.node.restart();
    EXPECT_EQ(m.rows(), all);
  }
}

// Tracker.addSSTables. Both ways of bringing SSTables, and what a compaction of them leaves there.
TEST(Import, WhatComesIsBackedUpWhereTheNodeAndTheTableWantIt) {
  for (const bool is_wanted : {false, true}) {
    for (const bool is_placed : {false, true}) {
      Importing m;
      EngineSettings settings = m.maintenance().settings();
      settings.incremental_backups = is_wanted;
      for (unsigned shard = 0; shard < 2; ++shard) m.maintenance(shard).use(settings);
      if (is_placed) {
        m.move_sources(m.table_directory());
        ASSERT_TRUE(m.load_new().ok());
      } else {
        ASSERT_EQ(m.restore().value(), Importing::Failed());
      }
      const std::vector<std::string> imported = m.live();
      for (unsigned shard = 0; shard < 2; ++shard) {
        ASSERT_TRUE(m.node.run(m.maintenance(shard).compact({"ks", "t"}, {})).ok());
      }
      ASSERT_EQ(imported.size(), 4u);
      EXPECT_EQ(m.backups(), is_wanted ? imported : std::vector<std::string>()) << is_placed;
    }
  }
}

// A split among shards brings nothing.
TEST(Import, ASplitIsNotBackedUp) {
  Importing m(1);
  ASSERT_EQ(m.restore().value(), Importing::Failed());
  m.node.kill();
  m.node.set_shards(2);
  m.node.options.incremental_backups = true;
  ASSERT_TRUE(m.node.boot()) << m.node.error();
  for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(m.node.engine(i).remove_foreign_segments().ok());
  for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(m.node.run(m.maintenance(i).relocate({"ks", "t"})).ok());
  EXPECT_EQ(m.maintenance(0).sstables(m.t->id).size(), 2u);
  EXPECT_EQ(m.maintenance(1).sstables(m.t->id).size(), 2u);
  EXPECT_EQ(m.backups(), std::vector<std::string>());
}

TEST(Import, KeysOfOthersAreRefused) {
  Importing m(1);
  SSTableImport order;
  order.owned = [](const TableMetadata&) { return OwnedTokens(); };
  EXPECT_EQ(m.restore(order).value(), Importing::Failed{kSource});
  EXPECT_EQ(m.rows(), Lines());
  EXPECT_EQ(m.sources(), 2u);
}

TEST(Import, DirectoriesThatCannotBeSourcesAreRefused) {
  Importing m(1);
  SSTableImport order;
  order.directories = {kSource, "/nosuch"};
  EXPECT_EQ(m.restore(order).error().message(), "Directory /nosuch does not exist");
  order.directories = {m.table_directory() + "/"};
  EXPECT_EQ(m.restore(order).error().message(), m.table_directory() + " is the directory of ks.t itself");
  EXPECT_EQ(m.rows(), Lines());
}

class ImportFaults : public testing::TestWithParam<SimFaults::Fault> {};

// A fault at the n-th change of the disk, a power cut, and the import again.
TEST_P(ImportFaults, NothingIsLostWhereverItFails) {
  int failures = 0;
  for (uint64_t operations = 0;; operations += test::kIsSanitized ? 17 : 1) {
    EngineOptions options = without_policy();
    options.incremental_backups = true;
    Importing m(2, operations + 1, options);
    SimFaults& faults = m.node.machine().faults();
    faults.operations_until_fault = operations;
    faults.fault = GetParam();
    auto first = m.restore();
    failures += first.ok() && first->empty() ? 0 : 1;
    const bool ended = faults.operations_until_fault && *faults.operations_until_fault > 0;
    faults.operations_until_fault.reset();
    m.node.crash();
    ASSERT_TRUE(m.node.boot()) << operations << ": " << m.node.error();
    const Lines left = m.rows();
    ASSERT_TRUE(left.empty() || left == m.expected) << operations << ": a part of the directory is there";
    auto second = m.restore();
    ASSERT_TRUE(second.ok()) << operations << ": " << second.error().message();
    ASSERT_EQ(*second, Importing::Failed()) << operations;
    ASSERT_EQ(m.rows(), m.expected) << operations;
    ASSERT_EQ(m.sources(), 0u) << operations;
    const std::vector<std::string> live = m.live(), backups = m.backups();
    ASSERT_TRUE(std::includes(backups.begin(), backups.end(), live.begin(), live.end())) << operations;
    if (ended) {
      EXPECT_GT(operations, 50u);
      EXPECT_GT(failures, test::kIsSanitized ? 2 : 30);
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, ImportFaults,
                         testing::Values(SimFaults::Fault::kAllAfter, SimFaults::Fault::kOne,
                                         SimFaults::Fault::kOneDiskFull));

}  // namespace
}  // namespace cassandra_like::storage_test::import_test
