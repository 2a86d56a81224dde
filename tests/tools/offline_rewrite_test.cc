// sstableupgrade, sstablesplit and sstablescrub on the directory of a node that is gone, in the simulated world: what they
// write, what they print, and what is there when they are cut off.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "offline_table.h"
#include "sstable_tools.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"
#include "tests/sstable/fixture/schema_file.h"
#include "tests/storage/fixture.h"
#include "tests/tools/offline_node.h"

namespace cassandra_like::sstable_tools {
namespace {

using storage_test::Lines;
using storage_test::Update;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<const SSTableVersion*> kVersions{&SSTableVersion::da(), &SSTableVersion::oa(), &SSTableVersion::nb()};

void fill(storage_test::Node& node, int keys) {
  for (int k = 0; k < keys; ++k) {
    Update update(node.table("t"), fmt::format("key{:04}", k));
    update.at(10 + k).static_row().cell("s", "static");
    for (int c = 0; c < 4; ++c) update.row(c).live().cell("v", fmt::format("{:0150}", k * 10 + c));
    update.row(9).tombstone("w").delete_range(5, true, 7, false);
    ASSERT_TRUE(node.apply(update).ok());
  }
  node.flush();
}

// --- sstableupgrade ---

TEST(SSTableUpgrade, WritesTheVersionOfTheNode) {
  for (const SSTableVersion* from : kVersions) {
    for (const SSTableVersion* to : kVersions) {
      SCOPED_TRACE(fmt::format("{} to {}", from->letters, to->letters));
      OfflineNode offline(1, *from, {storage_test::make_table("t"), storage_test::make_table("kv")});
      fill(offline.node, 50);
      const Lines before = offline.node.scan("t");
      const SSTableInfo old = offline.sstables("t")[0];
      const Ran ran = offline.run(run_sstableupgrade, {"ks", "t"}, *to);
      EXPECT_EQ(ran.exit, 0) << ran.err;
      EXPECT_EQ(ran.err, "");
      const std::string name = reader_name(old.descriptor);
      if (from == to) {
        EXPECT_EQ(ran.out, "Found 0 sstables that need upgrading.\n");
      } else {
        EXPECT_EQ(ran.lines(), Lines({"Found 1 sstables that need upgrading.", "Upgrading " + name,
                                      "Upgrade of " + name + " complete."}));
      }
      offline.boot(*to);
      EXPECT_EQ(offline.node.scan("t"), before);
      const auto now = offline.sstables("t");
      ASSERT_EQ(now.size(), 1u);
      EXPECT_EQ(now[0].descriptor.known_version(), to);
      EXPECT_EQ(now[0].descriptor == old.descriptor, from == to);
      // It still says the same of the commit log, and is the shard's own.
      EXPECT_EQ(now[0].commit_log_intervals, old.commit_log_intervals);
      EXPECT_FALSE(old.commit_log_intervals.empty());
      EXPECT_EQ(now[0].originating_host, old.originating_host);
      EXPECT_EQ(sstable_owner(now[0].descriptor.id), sstable_owner(old.descriptor.id));
      EXPECT_EQ(find_sstables(offline.node.disk(), offline.directory("t"))->size(), 1u);
    }
  }
}

TEST(SSTableUpgrade, KeepsTheSource) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
  fill(offline.node, 10);
  const Lines before = offline.node.scan("t");
  EXPECT_EQ(offline.run(run_sstableupgrade, {"-k", "ks", "t"}, SSTableVersion::da()).exit, 0);
  offline.boot(SSTableVersion::da());
  EXPECT_EQ(offline.sstables("t").size(), 2u);
  EXPECT_EQ(offline.node.scan("t"), before);
}

TEST(SSTableUpgrade, OfASnapshotLeavesTheTable) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
  fill(offline.node, 10);
  ASSERT_TRUE(offline.node.run(offline.node.engine().maintenance().snapshot({}, SnapshotRequest("tag"))).ok());
  const SSTableDescriptor old = offline.sstables("t")[0].descriptor;
  const Ran none = offline.run(run_sstableupgrade, {"ks", "t", "other"}, SSTableVersion::da());
  EXPECT_EQ(none.out, "Found 0 sstables that need upgrading.\n");
  const Ran ran = offline.run(run_sstableupgrade, {"ks", "t", "tag"}, SSTableVersion::da());
  EXPECT_THAT(ran.out, HasSubstr("/snapshots/tag/"));
  EXPECT_EQ(ran.exit, 0);
  offline.boot(SSTableVersion::nb());
  EXPECT_EQ(offline.sstables("t")[0].descriptor, old);
  const auto snapshot = find_sstables(offline.node.disk(), offline.directory("t") + "/snapshots/tag");
  ASSERT_EQ(snapshot->size(), 1u);
  EXPECT_EQ((*snapshot)[0].descriptor.version, "da");
}

TEST(SSTableUpgrade, GivesNumbersWhereTheNodeDoes) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
  offline.node.options.sequence_ids = true;
  offline.boot(SSTableVersion::nb());
  fill(offline.node, 10);
  fill(offline.node, 10);
  const Ran ran = offline.run(run_sstableupgrade, {"ks", "t"}, SSTableVersion::oa());
  EXPECT_EQ(ran.exit, 0) << ran.err;
  offline.boot(SSTableVersion::oa());
  std::set<std::string> ids;
  for (const SSTableInfo& info : offline.sstables("t")) ids.insert(info.descriptor.id);
  EXPECT_EQ(ids, (std::set<std::string>{"3", "4"}));
}

// Wherever it is cut off, the table has the old SSTable or the new one.
TEST(SSTableUpgrade, CutOffAtEachOperationLosesNothing) {
  Lines expected;
  bool has_ended = false;
  for (uint64_t operations = 0; !has_ended; ++operations) {
    ASSERT_LT(operations, 500u);
    SCOPED_TRACE(operations);
    OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
    fill(offline.node, 20);
    expected = offline.node.scan("t");
    SimFaults faults;
    faults.operations_until_fault = operations;
    faults.fault = SimFaults::Fault::kAllAfter;
    const Ran ran = offline.run(run_sstableupgrade, {"ks", "t"}, SSTableVersion::da(), faults);
    has_ended = ran.exit == 0;
    if (operations % 3 == 0) offline.node.machine().crash();
    // The tool itself, or the node, goes on from there.
    if (operations % 2 == 0) {
      const Ran again = offline.run(run_sstableupgrade, {"ks", "t"}, SSTableVersion::da());
      EXPECT_EQ(again.exit, 0) << again.err;
    }
    offline.boot(SSTableVersion::da());
    EXPECT_EQ(offline.node.scan("t"), expected);
    EXPECT_EQ(offline.sstables("t").size(), 1u);
    EXPECT_EQ(find_sstables(offline.node.disk(), offline.directory("t"))->size(), 1u);
  }
}

TEST(SSTableUpgrade, OnAFullDiskLeavesTheOldFiles) {
  for (uint64_t operations = 0;; ++operations) {
    ASSERT_LT(operations, 500u);
    SCOPED_TRACE(operations);
    OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
    fill(offline.node, 20);
    const Lines expected = offline.node.scan("t");
    SimFaults faults;
    faults.operations_until_fault = operations;
    faults.fault = SimFaults::Fault::kOneDiskFull;
    const Ran ran = offline.run(run_sstableupgrade, {"ks", "t"}, SSTableVersion::da(), faults);
    offline.boot(SSTableVersion::da());
    EXPECT_EQ(offline.node.scan("t"), expected);
    EXPECT_EQ(offline.sstables("t").size(), 1u);
    if (ran.exit == 0) break;
    EXPECT_EQ(ran.exit, 1);
    EXPECT_THAT(ran.err, HasSubstr("/data/"));
  }
}

TEST(SSTableUpgrade, NamesWhatItCannotRead) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
  fill(offline.node, 300);
  const SSTableDescriptor old = offline.sstables("t")[0].descriptor;
  Ran ran = offline.run(run_sstableupgrade, {"ks", "gone"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err, "Unknown keyspace/table ks.gone\n");

  flip(offline.disk(), old.file(components::kData), 3000);
  ran = offline.run(run_sstableupgrade, {"ks", "t"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.err, StartsWith("Error upgrading " + reader_name(old) + ": " + old.file(components::kData) + " at "));
  flip(offline.disk(), old.file(components::kStatistics), 30);
  ran = offline.run(run_sstableupgrade, {"ks", "t"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out, "Found 0 sstables that need upgrading.\n");
  EXPECT_THAT(ran.err, StartsWith("Error Loading " + base_name(old) + ": " + old.file(components::kStatistics)));
  EXPECT_EQ(list_sstables(offline.disk(), old.directory)->size(), 1u);
}

// --- The files of Cassandra ---

const std::string kCassandrasFiles = SOURCE_DIR "/tests/sstable/data";

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

// The lines of sstabledump -d, without positions.
std::string dumped(OfflineNode& offline, const std::string& directory) {
  std::string all;
  const auto sstables = list_sstables(offline.disk(), directory);
  for (const SSTableDescriptor& one : *sstables) {
    const Ran ran = offline.run(run_sstabledump, {one.file(components::kData), "-d"}, SSTableVersion::da());
    EXPECT_EQ(ran.exit, 0) << ran.err;
    for (std::string line : ran.lines()) {
      const size_t at = line.find("]@"), end = line.find(' ', at);
      if (at != line.npos) line.erase(at + 1, end - at - 1);
      all += line + "\n";
    }
  }
  return all;
}

TEST(SSTableUpgrade, FilesThatCassandraWroteSayTheSameAfterwards) {
  size_t upgraded = 0;
  for (const auto& fixture : std::filesystem::directory_iterator(kCassandrasFiles)) {
    const std::string name = fixture.path().filename();
    // Cells of dropped columns go.
    if (!std::filesystem::exists(fixture.path() / "schema") || name.ends_with("dropped")) continue;
    SCOPED_TRACE(name);
    const bool is_old = name.starts_with("nb_") || (name.starts_with("m") && name[2] == '_');
    const auto table = std::make_shared<TableMetadata>(*test::parse_schema(content_of(fixture.path() / "schema")));
    table->name = "fixture";  // system_schema has a table `types`
    const SSTableVersion& to = is_old                   ? SSTableVersion::da()
                               : name.starts_with("oa") ? SSTableVersion::nb()
                                                        : SSTableVersion::oa();
    OfflineNode offline(1, to, {table});
    const std::string directory = offline.directory(table->name);
    {
      Disk& disk = offline.disk();
      for (const auto& file : std::filesystem::directory_iterator(fixture.path())) {
        if (file.path().filename().string().find('-') == std::string::npos) continue;
        auto copy = disk.create(directory + "/" + file.path().filename().string());
        ASSERT_TRUE(copy.ok() && (*copy)->append(content_of(file.path())).ok());
      }
    }
    const std::string before = dumped(offline, directory);
    const Ran ran = offline.run(run_sstableupgrade, {table->keyspace, table->name}, to);
    EXPECT_EQ(ran.exit, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, EndsWith(" complete.\n"));
    const auto now = *list_sstables(offline.disk(), directory);
    ASSERT_EQ(now.size(), 1u);
    EXPECT_EQ(now[0].known_version(), &to);
    EXPECT_FALSE(sstable_owner(now[0].id)) << "it stays nobody's, so each shard reads its part";
    EXPECT_TRUE(dumped(offline, directory) == before);
    ++upgraded;
  }
  EXPECT_GT(upgraded, 20u);
}

// --- sstablesplit ---

void fill_with_megabytes(storage_test::Node& node, int megabytes) {
  uint64_t random = 1;
  for (int k = 0; k < megabytes * 64; ++k) {
    std::string value(16 << 10, '\0');
    for (char& c : value)
      c = static_cast<char>((random = random * 6364136223846793005ULL + 1442695040888963407ULL) >> 56);
    ASSERT_TRUE(
        node.apply(Update(node.table("kv"), fmt::format("key{:04}", k)).row(std::vector<int32_t>{}).cell("v1", value))
            .ok());
  }
  node.flush();
}

TEST(SSTableSplit, MakesSSTablesOfTheSize) {
  OfflineNode offline(1, SSTableVersion::da(), {storage_test::make_table("kv")});
  fill_with_megabytes(offline.node, 4);
  const Lines before = offline.node.scan("kv");
  const SSTableInfo old = offline.sstables("kv")[0];
  const std::string data = old.descriptor.file(components::kData);
  const Ran skipped = offline.run(run_sstablesplit, {data}, SSTableVersion::da());
  EXPECT_EQ(skipped.out, fmt::format("Skipping {}: it's size ({:.3f} MB) is less than the split size (50 MB)\n"
                                     "No sstables needed splitting.\n",
                                     data, static_cast<double>(old.data_bytes) / (1 << 20)));
  const Ran ran = offline.run(run_sstablesplit, {"-s", "1", data.substr(1)}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, StartsWith("Pre-split sstables snapshotted into snapshot pre-split-"));
  const std::string tag = ran.lines()[0].substr(ran.lines()[0].rfind(' ') + 1);
  offline.boot(SSTableVersion::da());
  EXPECT_EQ(offline.node.scan("kv"), before);
  const auto now = offline.sstables("kv");
  EXPECT_EQ(now.size(), 4u);
  size_t small = 0;
  for (const SSTableInfo& info : now) {
    EXPECT_LT(info.data_bytes, (1u << 20) + (64u << 10));
    small += info.data_bytes <= 1u << 20 ? 1 : 0;
    EXPECT_EQ(info.commit_log_intervals, old.commit_log_intervals);
  }
  EXPECT_LE(small, 1u);
  const auto snapshot = find_sstables(offline.node.disk(), offline.directory("kv") + "/snapshots/" + tag);
  ASSERT_EQ(snapshot->size(), 1u);
  EXPECT_EQ((*snapshot)[0].descriptor.id, old.descriptor.id);
}

TEST(SSTableSplit, WithoutASnapshotAndWithABadSize) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("kv"), storage_test::make_table("t")});
  fill_with_megabytes(offline.node, 2);
  fill(offline.node, 3);
  const SSTableDescriptor old = offline.sstables("kv")[0].descriptor;
  const std::string data = old.file(components::kData);
  const std::string of_another = offline.sstables("t")[0].descriptor.file(components::kData);
  Ran ran = offline.run(run_sstablesplit, {data, of_another}, SSTableVersion::nb());
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err, "All sstables must be part of the same table\n");
  ran = offline.run(run_sstablesplit, {"--no-snapshot", "-s", "0", data}, SSTableVersion::nb());
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.err,
            "Error splitting " + reader_name(old) + ": Invalid target size for SSTables, must be > 0 (got: 0)\n");
  ran = offline.run(run_sstablesplit, {"--no-snapshot", "-s", "1", data, data}, SSTableVersion::nb());
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(list_sstables(offline.disk(), old.directory)->size(), 2u);
  EXPECT_FALSE(offline.disk().exists(old.directory + "/snapshots"));
}

// --- sstablescrub ---

TEST(SSTableScrub, PrintsWhatItDoesAndKeepsWhatIsWhole) {
  for (const SSTableVersion* version : kVersions) {
    SCOPED_TRACE(version->letters);
    OfflineNode offline(1, *version, {storage_test::make_table("t")});
    fill(offline.node, 300);
    const Lines before = offline.node.scan("t");
    const SSTableInfo old = offline.sstables("t")[0];
    const std::string name = reader_name(old.descriptor);
    Ran ran = offline.run(run_sstablescrub, {"-m", "ks", "t"}, *version);
    EXPECT_THAT(ran.out, StartsWith("Pre-scrub sstables snapshotted into snapshot pre-scrub-"));
    EXPECT_EQ(ran.lines().size(), 1u);
    ran = offline.run(run_sstablescrub, {"ks", "t"}, *version);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    ASSERT_EQ(ran.lines().size(), 3u) << ran.out;
    EXPECT_THAT(ran.lines()[1], StartsWith("Scrubbing " + name + " ("));
    EXPECT_EQ(
        ran.lines()[2],
        "Scrub of " + name + " complete: 300 partitions in new sstable and 0 empty (tombstoned) partitions dropped");
    offline.boot(*version);
    EXPECT_EQ(offline.node.scan("t"), before);
    EXPECT_EQ(offline.sstables("t").size(), 1u);

    const SSTableInfo whole = offline.sstables("t")[0];
    flip(offline.disk(), whole.descriptor.file(components::kData), whole.data_bytes / 2);
    ran = offline.run(run_sstablescrub, {"-v", "ks", "t"}, *version);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\nReading row at 0\npartition key"));
    EXPECT_THAT(ran.out, HasSubstr("\nWARNING: Error reading partition key"));
    EXPECT_THAT(ran.out, HasSubstr(" is unreadable; skipping to next\n"));
    EXPECT_THAT(ran.out, HasSubstr("\nWARNING: Unable to recover "));
    offline.boot(*version);
    const Lines kept = offline.node.scan("t");
    EXPECT_LT(kept.size(), before.size());
    EXPECT_GT(kept.size(), before.size() / 2);
    EXPECT_TRUE(
        std::includes(before.begin(), before.end(), kept.begin(), kept.end(), [&](const auto& a, const auto& b) {
          return std::find(before.begin(), before.end(), a) < std::find(before.begin(), before.end(), b);
        }));
  }
}

TEST(SSTableScrub, StopsAtACounterUnlessItMaySkipIt) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("n")});
  for (int k = 0; k < 2000; ++k) {
    Update update(offline.node.table("n"), fmt::format("key{}", k));
    update.row(1).cell("n", storage_test::int_bytes(0) + storage_test::int_bytes(k));
    ASSERT_TRUE(offline.node.run(offline.node.engine().apply_counter(update.mutation())).ok());
  }
  offline.node.flush();
  const SSTableInfo old = offline.sstables("n")[0];
  flip(offline.disk(), old.descriptor.file(components::kData), old.data_bytes / 2);
  Ran ran = offline.run(run_sstablescrub, {"ks", "n"}, SSTableVersion::nb());
  EXPECT_EQ(ran.exit, 1);
  EXPECT_THAT(ran.out, HasSubstr("WARNING: An error occurred while scrubbing the partition with key 'key"));
  EXPECT_THAT(ran.out, HasSubstr("re-run the scrub with the --skip-corrupted option.\n" +
                                 old.descriptor.file(components::kData)));
  EXPECT_THAT(ran.err, StartsWith("Exception in thread \"main\" java.io.IOError: "));
  auto found = list_sstables(offline.disk(), old.descriptor.directory);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0], old.descriptor);
  ran = offline.run(run_sstablescrub, {"-s", "ks", "n"}, SSTableVersion::nb());
  EXPECT_EQ(ran.exit, 0) << ran.err;
  found = list_sstables(offline.disk(), old.descriptor.directory);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_NE((*found)[0], old.descriptor);
}

TEST(SSTableScrub, PassesOverWhatItCannotOpen) {
  OfflineNode offline(1, SSTableVersion::da(), {storage_test::make_table("t")});
  fill(offline.node, 5);
  const SSTableDescriptor old = offline.sstables("t")[0].descriptor;
  ASSERT_TRUE(offline.disk().remove(old.file(components::kStatistics)).ok());
  Ran ran = offline.run(run_sstablescrub, {"ks", "t"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.err, StartsWith("Error Loading " + base_name(old) + ": " + old.file(components::kStatistics)));
  EXPECT_EQ(ran.lines().size(), 1u);
  ran = offline.run(run_sstablescrub, {"gone", "t"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err, "Unknown keyspace gone\n");
  ran = offline.run(run_sstablescrub, {"--debug", "ks", "gone"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err,
            "Unknown keyspace/cf pair (ks.gone)\n"
            "java.lang.IllegalArgumentException: Unknown keyspace/cf pair (ks.gone)\n");
}

// A filter for so many would take all memory.
TEST(SSTableScrub, AnIndexThatCountsTooManyPartitionsDoesNoHarm) {
  OfflineNode offline(1, SSTableVersion::da(), {storage_test::make_table("t")});
  fill(offline.node, 5);
  const Lines before = offline.node.scan("t");
  const SSTableDescriptor old = offline.sstables("t")[0].descriptor;
  {
    Disk& disk = offline.disk();
    const std::string path = old.file(components::kPartitions);
    const size_t size = (*disk.open(path))->size();
    flip(disk, path, size - 16, 0x20);  // the number of keys
    ASSERT_TRUE(disk.remove(old.file(components::kChecksums)).ok());
  }
  const Ran ran = offline.run(run_sstablescrub, {"ks", "t"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(" complete: 5 partitions in new sstable"));
  offline.boot(SSTableVersion::da());
  EXPECT_EQ(offline.node.scan("t"), before);
}

TEST(SSTableScrub, SendsSSTablesThatOverlapToLevel0) {
  auto leveled = std::make_shared<TableMetadata>(*storage_test::make_table("t"));
  leveled->params.compaction = {{"class", "org.apache.cassandra.db.compaction.LeveledCompactionStrategy"}};
  OfflineNode offline(1, SSTableVersion::da(), {leveled});
  for (int i = 0; i < 2; ++i) fill(offline.node, 5);
  auto level_1 = [](const std::vector<std::string>&, const ToolContext& context) {
    const auto table = find_table(context, "ks", "t");
    const auto sstables = sstables_of(context, **table);
    for (const SSTableOnDisk& one : *sstables) {
      EXPECT_TRUE(rewrite_statistics(context, one.descriptor, [](Statistics& s) { s.level = 1; }).ok());
    }
    return 0;
  };
  offline.run(level_1, {}, SSTableVersion::da());
  const Ran ran = offline.run(run_sstablescrub, {"-m", "ks", "t"}, SSTableVersion::da());
  EXPECT_EQ(ran.exit, 0) << ran.err;
  offline.boot(SSTableVersion::da());
  std::vector<int> levels;
  for (const SSTableInfo& info : offline.sstables("t")) levels.push_back(info.level);
  std::sort(levels.begin(), levels.end());
  EXPECT_EQ(levels, (std::vector<int>{0, 1}));
}

// Cassandra 3 and 4 had 31 bits for the end of a cell. Ends are relative to what Statistics.db has: so they become negative.
int overflow(const std::vector<std::string>&, const ToolContext& context) {
  const auto table = find_table(context, "ks", "t");
  const auto sstables = sstables_of(context, **table);
  for (const SSTableOnDisk& one : *sstables) {
    auto negative = [](Statistics& s) { s.encoding_stats.min_local_deletion_time = -1000; };
    EXPECT_TRUE(rewrite_statistics(context, one.descriptor, negative).ok());
    EXPECT_TRUE(context.disk.remove(one.descriptor.file(components::kChecksums)).ok());
  }
  return 0;
}

TEST(SSTableScrub, ReinsertsCellsWhoseEndHadOverflowed) {
  constexpr int64_t kEnd = 2'100'000'000;
  for (const bool reinserts : {false, true}) {
    OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
    Update update(offline.node.table("t"), "a");
    update.at(5).row(1).live(630720000, kEnd).cell("v", "x", 630720000, kEnd);
    ASSERT_TRUE(offline.node.apply(update).ok());
    offline.node.flush();
    offline.run(overflow, {}, SSTableVersion::nb());
    std::vector<std::string> arguments{"ks", "t"};
    if (reinserts) arguments.insert(arguments.begin(), "-r");
    const Ran ran = offline.run(run_sstablescrub, arguments, SSTableVersion::nb());
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    const bool has_fixed = ran.out.find("\nFixed 1 rows with overflowed local deletion time.\n") != std::string::npos;
    EXPECT_EQ(has_fixed, reinserts) << ran.out;
    offline.boot(SSTableVersion::nb());
    const Lines now = offline.node.scan("t");
    EXPECT_EQ(now == Lines({"a", "  1: @6+630720000 v=x@6+630720000"}), reinserts) << testing::PrintToString(now);
  }
}

}  // namespace
}  // namespace cassandra_like::sstable_tools
