// SSTables that several shards read are split into one for each: nothing is lost, doubled or purged, wherever it fails.
#include <set>

#include <fmt/format.h>

#include "fixture.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_ids.h"
#include "storage/sstable/sstable_writer.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::storage_test::relocate_test {
namespace {

constexpr int kGrace = 10;
using std::chrono::microseconds;

TablePtr table_with_grace() {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  table->params.gc_grace_seconds = kGrace;
  return table;
}

Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

class Relocating {
 public:
  explicit Relocating(unsigned shards = 2, uint64_t seed = 1, EngineOptions options = {})
      : node(seed, shards, with_policy(std::move(options)), {table_with_grace(), make_table("kv")}),
        t(node.table("t")) {
    node.machine().shift_wall_clock(std::chrono::seconds(kNow) -
                                    microseconds(node.runtime().shard(0).clock.wall_micros()));
  }
  static EngineOptions with_policy(EngineOptions options) {
    options.disk_failure_policy = FailurePolicy::kIgnore;
    options.commitlog_sync = CommitLogSync::kBatch;
    return options;
  }

  // Rows of 26 keys in an SSTable of each shard, and deletions of some in another, which may be purged.
  void write() {
    for (char key = 'a'; key <= 'z'; ++key) {
      Update rows(t, std::string(1, key));
      rows.at(10).static_row().cell("s", "static");
      for (int c = 0; c < 4; ++c) rows.row(c).live().cell("v", "x").element("m", "k", "e");
      ASSERT_TRUE(node.apply(rows).ok());
    }
    flush();
    for (char key = 'a'; key <= 'z'; key = static_cast<char>(key + 3)) {
      Update deletions(t, std::string(1, key));
      deletions.at(20).row(0).delete_row().row(1).tombstone("v").clear("m").delete_range(2, true, 3, false);
      ASSERT_TRUE(node.apply(deletions).ok());
    }
    ASSERT_TRUE(node.apply(Update(t, "b").at(20).delete_partition()).ok());
    flush();
  }
  void flush() {
    for (Maintenance* shard : shards()) ASSERT_TRUE(node.run(shard->flush({})).ok());
  }
  // Another number of shards, once they have all that the log has.
  void restart_with(unsigned count) {
    node.kill();
    node.set_shards(count);
    ASSERT_TRUE(node.boot()) << node.error();
    retire_segments();
  }
  void retire_segments() {
    flush();
    for (unsigned i = 0; i < node.runtime().shard_count(); ++i) {
      ASSERT_TRUE(node.engine(i).remove_foreign_segments().ok());
    }
    ASSERT_TRUE(node.run(node.disk().sync_directory(node.options.commitlog_directory)).ok());
  }
  bool relocate() {
    bool all = true;
    for (Maintenance* shard : shards()) all &= node.run(shard->relocate()).ok();
    return all;
  }
  bool compact() {
    bool all = true;
    for (Maintenance* shard : shards()) all &= node.run(shard->compact({"ks", "t"})).ok();
    return all;
  }
  std::vector<Maintenance*> shards() {
    std::vector<Maintenance*> out;
    for (unsigned i = 0; i < node.runtime().shard_count(); ++i) out.push_back(&node.engine(i).maintenance());
    return out;
  }
  // By shard: how many SSTables of others it reads, without those of one partition.
  std::vector<int> shared() {
    std::vector<int> out;
    for (unsigned i = 0; i < node.runtime().shard_count(); ++i) {
      const std::vector<SSTableInfo> sstables = node.engine(i).maintenance().sstables(t->id);
      const SSTableOwner self{i, node.runtime().shard_count()};
      out.push_back(static_cast<int>(std::count_if(sstables.begin(), sstables.end(), [&](const SSTableInfo& info) {
        return writer_of(node.disk(), on_disk(info.descriptor)) != self && info.first_key != info.last_key;
      })));
    }
    return out;
  }
  SSTableOnDisk on_disk(const SSTableDescriptor& descriptor) {
    const auto found = find_sstables(node.disk(), descriptor.directory).value();
    for (const SSTableOnDisk& files : found) {
      if (files.descriptor == descriptor) return files;
    }
    return {};
  }
  std::vector<SSTableInfo> sstables(unsigned shard = 0) { return node.engine(shard).maintenance().sstables(t->id); }
  size_t files() { return find_sstables(node.disk(), "/data/ks/" + t->directory_name())->size(); }
  Lines rows() { return sorted(node.scan("t")); }

  Node node;
  TablePtr t;
};

TEST(Relocate, EachShardGetsItsPart) {
  Relocating r(2);
  r.write();
  const Lines expected = r.rows();
  ASSERT_GT(expected.size(), 100u);
  r.restart_with(5);
  EXPECT_EQ(r.shared(), (std::vector<int>{4, 4, 4, 4, 4}));
  ASSERT_TRUE(r.relocate());
  EXPECT_EQ(r.shared(), (std::vector<int>{0, 0, 0, 0, 0}));
  EXPECT_EQ(r.rows(), expected);
  uint64_t partitions = 0;
  for (unsigned shard = 0; shard < 5; ++shard) {
    for (const SSTableInfo& info : r.sstables(shard)) {
      partitions += info.partitions;
      EXPECT_TRUE(info.commit_log_intervals.empty());
    }
  }
  EXPECT_EQ(partitions, 26u + 10u);  // nothing is merged or purged
  ASSERT_TRUE(r.compact());
  for (unsigned shard = 0; shard < 5; ++shard) EXPECT_EQ(r.sstables(shard).size(), 1u);
  EXPECT_EQ(r.rows(), expected);
  r.node.crash();
  ASSERT_TRUE(r.node.boot()) << r.node.error();
  EXPECT_EQ(r.shared(), (std::vector<int>{0, 0, 0, 0, 0}));
  EXPECT_EQ(r.rows(), expected);
}

TEST(Relocate, AnSSTableThatShardsShareCountsOnce) {
  Relocating r(2);
  r.write();
  r.restart_with(5);
  uint64_t count = 0, bytes = 0, of_one = 0;
  for (unsigned shard = 0; shard < 5; ++shard) {
    const TableStatistics numbers = r.node.engine(shard).maintenance().table_statistics(r.t->id).value();
    count += numbers.sstables;
    bytes += numbers.live_disk_bytes;
  }
  EXPECT_EQ(count, r.files());
  for (const SSTableInfo& info : r.sstables()) of_one += info.total_bytes;
  EXPECT_EQ(r.shared(), (std::vector<int>{4, 4, 4, 4, 4}));
  EXPECT_LT(bytes, 2 * of_one);
}

// Halves of the ring are quarters of it: the files need not be written again.
TEST(Relocate, FewerShardsTakeWhatIsTheirsAlone) {
  Relocating r(4);
  r.write();
  const Lines expected = r.rows();
  r.restart_with(2);
  const size_t files = r.files();
  EXPECT_EQ(r.sstables(0).size() + r.sstables(1).size(), files);
  ASSERT_TRUE(r.relocate());
  EXPECT_EQ(r.files(), files);
  EXPECT_EQ(r.rows(), expected);
  ASSERT_TRUE(r.compact());
  for (unsigned shard = 0; shard < 2; ++shard) EXPECT_EQ(r.sstables(shard).size(), 1u);
  r.restart_with(1);
  EXPECT_EQ(r.sstables().size(), 2u);
  ASSERT_TRUE(r.compact());
  EXPECT_EQ(r.files(), 1u);
  EXPECT_EQ(r.rows(), expected);
}

TEST(Relocate, AnSSTableOfOnePartitionHasAnOwner) {
  Relocating r(2);
  ASSERT_TRUE(r.node.apply(Update(r.t, "a").at(10).row(1).live()).ok());
  r.flush();
  r.restart_with(3);
  const unsigned owner = shard_of(murmur3_token("a"), 3);
  for (unsigned shard = 0; shard < 3; ++shard) EXPECT_EQ(r.sstables(shard).size(), shard == owner ? 1u : 0u);
  ASSERT_TRUE(r.relocate());
  EXPECT_EQ(sstable_owner(r.sstables(owner)[0].descriptor.id)->shards, 2u);
  EXPECT_EQ(r.rows(), (Lines{"  1: @10", "a"}));
}

// Level and state of repair stay, as in Cassandra's rewrites. The node is the one that wrote the part.
TEST(Relocate, PartsOfAnSSTableOfCassandraKeepItsState) {
  Relocating r(1);
  SSTableDescriptor descriptor;
  descriptor.directory = "/data/ks/" + r.t->directory_name();
  descriptor.id = "7";
  SSTableWriterOptions options;
  options.regular_columns = r.t->regular_columns;
  options.static_columns = r.t->static_columns;
  options.estimated_partitions = 20;
  options.level = 3;
  options.repaired_at = 1'700'000'000'000;
  options.pending_repair = Uuid::name_based("repair");
  options.host_id = Uuid::name_based("another host");
  options.commit_log_intervals = {{{1, 0}, {9, 9}}};
  auto writer = SSTableWriter::create(r.node.disk(), descriptor, r.t, options);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  std::vector<std::string> keys;
  for (char key = 'a'; key < 'u'; ++key) keys.emplace_back(1, key);
  std::sort(keys.begin(), keys.end(),
            [](const std::string& a, const std::string& b) { return DecoratedKey::of(a) < DecoratedKey::of(b); });
  for (const std::string& key : keys) {
    Update update(r.t, key);
    const PartitionUpdate& one = update.at(10).row(1).live().cell("v", "x").build();
    ASSERT_TRUE((*writer)->begin_partition(one.key, DeletionTime(), one.static_row).ok());
    Unfiltered unfiltered;
    unfiltered.is_row = true;
    unfiltered.row = one.rows[0];
    ASSERT_TRUE((*writer)->append(unfiltered).ok());
    ASSERT_TRUE((*writer)->end_partition().ok());
  }
  ASSERT_TRUE(r.node.run((*writer)->finish()).ok());
  r.restart_with(2);
  ASSERT_TRUE(r.relocate());
  EXPECT_EQ(r.rows().size(), 40u);
  for (unsigned shard = 0; shard < 2; ++shard) {
    ASSERT_EQ(r.sstables(shard).size(), 1u);
    const SSTableInfo info = r.sstables(shard)[0];
    EXPECT_EQ(info.level, 3);
    EXPECT_EQ(info.repaired_at, 1'700'000'000'000);
    EXPECT_EQ(info.pending_repair, Uuid::name_based("repair"));
    EXPECT_EQ(info.originating_host, r.node.options.host_id);
    EXPECT_EQ(info.min_timestamp, 10);
    EXPECT_EQ(info.max_timestamp, 10);
    EXPECT_TRUE(info.commit_log_intervals.empty());
  }
}

// A deletion in a file of its own stays as long as the file that all share may have what it hides.
TEST(Relocate, WhatIsSharedIsNotPurgedAround) {
  Relocating r(2);
  for (const char* key : {"a", "b", "c", "d"}) ASSERT_TRUE(r.node.apply(Update(r.t, key).at(10).row(1).live()).ok());
  r.flush();
  r.restart_with(3);
  for (const char* key : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(r.node.apply(Update(r.t, key).at(20).delete_partition()).ok());
  }
  r.flush();
  ASSERT_TRUE(r.compact());
  EXPECT_EQ(r.rows(), Lines());
  r.node.restart();
  EXPECT_EQ(r.rows(), Lines());
  ASSERT_TRUE(r.relocate());
  ASSERT_TRUE(r.compact());
  EXPECT_EQ(r.rows(), Lines());
}

// The intervals of the shared file say what of the other log is in it: they are needed as long as that log is there.
TEST(Relocate, WaitsForTheLogOfAnotherOwner) {
  Relocating r(2);
  r.write();
  const Lines expected = r.rows();
  r.node.kill();
  r.node.set_shards(3);
  ASSERT_TRUE(r.node.boot()) << r.node.error();
  ASSERT_FALSE(r.node.engine(0).foreign_segments().empty());
  EXPECT_FALSE(r.relocate());
  EXPECT_EQ(r.shared(), (std::vector<int>{4, 4, 4}));
  r.retire_segments();
  EXPECT_TRUE(r.relocate());
  EXPECT_EQ(r.shared(), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(r.rows(), expected);
}

TEST(Relocate, ADamagedFileStaysAndTheOthersAreSplit) {
  EngineOptions options;
  options.chunk_cache_bytes = 0;
  Relocating r(2, 1, options);
  r.write();
  r.restart_with(3);
  const std::string data = r.sstables()[0].descriptor.file("Data.db");
  auto file = r.node.disk().open(data);
  Bytes content((*file)->size(), '\0');
  ASSERT_TRUE((*file)->read(0, content).ok());
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  ASSERT_TRUE(r.node.disk().remove(data).ok());
  auto damaged = r.node.disk().create(data);
  ASSERT_TRUE(damaged.ok() && (*damaged)->append(content).ok());
  r.node.restart();
  EXPECT_FALSE(r.relocate());
  EXPECT_EQ(r.shared(), (std::vector<int>{1, 1, 1}));
  EXPECT_TRUE(r.relocate());  // it is not tried again
}

// Starts a relocation on every shard, and does something else `after` a time.
class Middle {
 public:
  Middle(uint64_t seed, Duration after) : r(2, seed) {
    r.write();
    expected = r.rows();
    r.restart_with(3);
    // Slow enough that there is a middle.
    for (Maintenance* shard : r.shards()) shard->set_compaction_throughput(1 << 20);
    results.resize(3);
    for (unsigned i = 0; i < 3; ++i) spawn(finish<Status>(r.shards()[i]->relocate(), &results[i]));
    r.node.world().run_for(after);
  }
  bool is_done() const { return results[0] && results[1] && results[2]; }
  void wait() {
    ASSERT_TRUE(r.node.world().run_until([this] { return is_done(); }, std::chrono::hours(1)));
  }

  Relocating r;
  Lines expected;
  std::vector<std::optional<Status>> results;
};

constexpr int kMoments = 60;
constexpr microseconds kBetween{1500};

TEST(Relocate, ReadsSeeEachRowOnceAllTheTime) {
  Middle m(1, microseconds(0));
  int reads = 0;
  for (; !m.is_done(); ++reads) {
    ASSERT_EQ(m.r.rows(), m.expected) << reads;
    m.r.node.world().run_for(microseconds(200));
  }
  EXPECT_GT(reads, 5);
  EXPECT_EQ(m.r.rows(), m.expected);
  EXPECT_EQ(m.r.shared(), (std::vector<int>{0, 0, 0}));
}

TEST(Relocate, TruncatedInTheMiddleNothingComesBack) {
  int stopped = 0;
  for (int i = 0; i < kMoments; ++i) {
    Middle m(static_cast<uint64_t>(i) + 1, kBetween * i);
    const auto truncated = m.r.node.truncate(m.r.t);
    ASSERT_TRUE(truncated.ok()) << truncated.error().message();
    EXPECT_EQ(m.r.rows(), Lines()) << i;
    m.wait();
    for (const auto& result : m.results) stopped += result->ok() ? 0 : 1;
    EXPECT_EQ(m.r.rows(), Lines()) << i;
    m.r.node.crash();
    ASSERT_TRUE(m.r.node.boot()) << m.r.node.error();
    EXPECT_EQ(m.r.rows(), Lines()) << i;
  }
  EXPECT_GT(stopped, 0);
}

TEST(Relocate, DroppedInTheMiddleItLeavesNothing) {
  for (int i = 0; i < kMoments; i += 3) {
    Middle m(static_cast<uint64_t>(i) + 1, kBetween * i);
    m.r.node.set_tables({m.r.node.table("kv")});
    m.wait();
    EXPECT_EQ(m.r.files(), 0u) << i;
  }
}

TEST(Relocate, ASnapshotInTheMiddleHasEverything) {
  for (int i = 0; i < kMoments; i += 2) {
    Middle m(static_cast<uint64_t>(i) + 1, kBetween * i);
    // One shard after the other, with some time between.
    for (unsigned shard = 0; shard < 3; ++shard) {
      SnapshotRequest request("s", "");
      TableSelection selection("ks", "t");
      ASSERT_TRUE(m.r.node.run(m.r.shards()[shard]->snapshot(selection, request)).ok()) << i;
    }
    m.wait();
    m.r.node.kill();
    Disk& disk = m.r.node.machine().boot(1).shard(0).disk;
    const std::string directory = "/data/ks/" + m.r.t->directory_name(), kept = directory + "/snapshots/s";
    const auto live = disk.list(directory).value();
    for (const DirectoryEntry& entry : live) {
      if (entry.is_directory) continue;
      ASSERT_TRUE(disk.remove(directory + "/" + entry.name).ok());
    }
    const auto linked = disk.list(kept).value();
    for (const DirectoryEntry& entry : linked) {
      if (entry.name.find("-bti-") == std::string::npos) continue;
      ASSERT_TRUE(disk.rename(kept + "/" + entry.name, directory + "/" + entry.name).ok());
    }
    m.r.node.machine().shut_down();
    ASSERT_TRUE(m.r.node.boot()) << m.r.node.error();
    EXPECT_EQ(m.r.rows(), m.expected) << i;
  }
}

TEST(Relocate, StoppedOrDrainedInTheMiddleItLosesNothing) {
  int stopped = 0;
  for (int i = 0; i < kMoments; i += 3) {
    Middle m(static_cast<uint64_t>(i) + 1, kBetween * i);
    if (i % 2 == 0) {
      for (Maintenance* shard : m.r.shards()) {
        stopped += static_cast<int>(shard->stop_compactions(
            [](const RunningCompaction& running) { return running.operation == CompactionOperation::kRelocate; }));
      }
      m.wait();
      EXPECT_EQ(m.r.rows(), m.expected) << i;
      EXPECT_TRUE(m.r.relocate());
      EXPECT_EQ(m.r.shared(), (std::vector<int>{0, 0, 0}));
    } else {
      for (unsigned shard = 0; shard < 3; ++shard) ASSERT_TRUE(m.r.node.run(m.r.node.engine(shard).drain()).ok());
      m.wait();
    }
    m.r.node.restart();
    EXPECT_EQ(m.r.rows(), m.expected) << i;
  }
  EXPECT_GT(stopped, 0);
}

// A fault at the n-th change of the disk since the first split began; then a power cut, another number of shards, and again.
class RelocateFaults : public testing::TestWithParam<std::tuple<SimFaults::Fault, bool>> {};

TEST_P(RelocateFaults, NothingIsLostAndNothingComesBackWhereverItFails) {
  const auto [fault, sequence_ids] = GetParam();
  EngineOptions options;
  options.sequence_ids = sequence_ids;
  int failures = 0;
  for (uint64_t operations = 0;; operations += test::kIsSanitized ? 23 : 1) {
    Relocating r(2, operations + 1, options);
    r.write();
    const Lines expected = r.rows();
    r.restart_with(3);
    SimFaults& faults = r.node.machine().faults();
    faults.operations_until_fault = operations;
    faults.fault = fault;
    failures += r.relocate() ? 0 : 1;
    const bool ended = faults.operations_until_fault && *faults.operations_until_fault > 0;
    faults.operations_until_fault.reset();
    const std::string at = fmt::format("operation {}", operations);
    if (fault != SimFaults::Fault::kAllAfter) {
      ASSERT_EQ(r.rows(), expected) << at;
      if (operations % 2 == 0) {
        ASSERT_TRUE(r.relocate()) << at;
        ASSERT_EQ(r.rows(), expected) << at;
        ASSERT_TRUE(r.compact()) << at;
        ASSERT_EQ(r.rows(), expected) << at;
      }
    }
    for (unsigned shards : {3, operations % 3 == 0 ? 5 : 3, operations % 3 == 1 ? 1 : 2}) {
      r.node.crash();
      r.node.set_shards(shards);
      ASSERT_TRUE(r.node.boot()) << at << ": " << r.node.error();
      ASSERT_EQ(r.rows(), expected) << at;
      r.retire_segments();
      ASSERT_TRUE(r.relocate()) << at;
      ASSERT_EQ(r.rows(), expected) << at;
      ASSERT_TRUE(r.compact()) << at;
      ASSERT_EQ(r.rows(), expected) << at;
      for (unsigned shard = 0; shard < shards; ++shard) ASSERT_LE(r.sstables(shard).size(), 1u) << at;
    }
    if (ended) {
      EXPECT_GT(operations, 100u);
      EXPECT_GT(failures, test::kIsSanitized ? 2 : 60);
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, RelocateFaults,
                         testing::Combine(testing::Values(SimFaults::Fault::kAllAfter, SimFaults::Fault::kOne,
                                                          SimFaults::Fault::kOneDiskFull),
                                          testing::Bool()));

// Another number of shards at every start, with writes that only the log has.
TEST(Relocate, ManyNumbersOfShardsLoseNothing) {
  Relocating r(2);
  Lines expected;
  int row = 0;
  for (unsigned shards : {5u, 1u, 3u, 2u, 4u, 1u, 2u}) {
    for (char key = 'a'; key <= 'z'; ++key, ++row) {
      ASSERT_TRUE(r.node.apply(Update(r.t, std::string(1, key)).at(10).row(row).live()).ok());
      expected.push_back(fmt::format("  {}: @10", row));
    }
    if (row % 52 == 0) r.flush();
    r.node.crash();
    r.node.set_shards(shards);
    ASSERT_TRUE(r.node.boot()) << r.node.error();
    r.retire_segments();
    ASSERT_TRUE(r.relocate());
    ASSERT_TRUE(r.compact());
    Lines rows = r.rows();
    std::erase_if(rows, [](const std::string& line) { return line[0] != ' '; });
    EXPECT_EQ(rows, sorted(expected));
    for (unsigned shard = 0; shard < shards; ++shard) EXPECT_EQ(r.sstables(shard).size(), 1u);
  }
}

EngineOptions numbers() {
  EngineOptions options;
  options.sequence_ids = true;
  return options;
}

TEST(SequenceIds, AreNewAndOfTheirShard) {
  Relocating r(3, 1, numbers());
  r.write();
  std::set<std::string> ids;
  for (unsigned shard = 0; shard < 3; ++shard) {
    for (const SSTableInfo& info : r.sstables(shard)) {
      EXPECT_EQ(sequence_number(info.descriptor.id).value() % 3, shard);
      EXPECT_TRUE(ids.insert(info.descriptor.id).second);
    }
  }
  EXPECT_EQ(ids.size(), 6u);
  ASSERT_TRUE(r.compact());
  for (unsigned shard = 0; shard < 3; ++shard) EXPECT_FALSE(ids.contains(r.sstables(shard).at(0).descriptor.id));
  // Backups count and snapshots do not, as in Cassandra.
  const std::string directory = "/data/ks/" + r.t->directory_name();
  for (const char* file : {"/backups/da-300-bti-Data.db", "/snapshots/s/da-400-bti-Data.db"}) {
    const std::string path = directory + file;
    ASSERT_TRUE(r.node.disk().make_directories(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(r.node.disk().create(path).ok());
  }
  r.restart_with(3);
  ASSERT_TRUE(r.compact());
  for (unsigned shard = 0; shard < 3; ++shard) {
    const uint32_t number = sequence_number(r.sstables(shard).at(0).descriptor.id).value();
    EXPECT_TRUE(number > 300 && number < 310) << number;
  }
}

TEST(SequenceIds, TheOwnerIsBesideTheSSTable) {
  Relocating r(3, 1, numbers());
  r.write();
  const Lines expected = r.rows();
  r.restart_with(3);
  EXPECT_EQ(r.shared(), (std::vector<int>{0, 0, 0}));
  for (unsigned shard = 0; shard < 3; ++shard) EXPECT_EQ(r.sstables(shard).size(), 2u);
  EXPECT_EQ(r.rows(), expected);
  r.restart_with(5);
  EXPECT_GE(r.sstables().size(), 5u);
  ASSERT_TRUE(r.relocate());
  EXPECT_EQ(r.shared(), (std::vector<int>{0, 0, 0, 0, 0}));
  // Both kinds in one directory.
  r.node.options.sequence_ids = false;
  r.node.restart();
  ASSERT_TRUE(r.node.apply(Update(r.t, "a").at(30).row(9).live()).ok());
  r.flush();
  const Lines more = r.rows();
  EXPECT_EQ(more.size(), expected.size() + 1);
  r.node.options.sequence_ids = true;
  r.node.restart();
  EXPECT_EQ(r.rows(), more);
  ASSERT_TRUE(r.compact());
  EXPECT_EQ(r.rows(), more);
  for (unsigned shard = 0; shard < 5; ++shard) {
    EXPECT_TRUE(sequence_number(r.sstables(shard).at(0).descriptor.id).has_value());
  }
}

// Cassandra has removed an SSTable, and given its number to another: only our Checksums.crc32 is of the first.
TEST(SequenceIds, ANumberThatIsGivenAgainIsAnotherSSTable) {
  Relocating r(1, 1, numbers());
  r.write();
  const SSTableDescriptor first = r.sstables()[0].descriptor, second = r.sstables()[1].descriptor;
  r.node.kill();
  Disk& disk = r.node.machine().boot(1).shard(0).disk;
  auto copy = [&disk](const std::string& from, const std::string& to) {
    ASSERT_TRUE(disk.remove(to).ok());
    ASSERT_TRUE(disk.link(from, to).ok());
  };
  copy(first.file("Checksums.crc32"), second.file("Checksums.crc32"));
  r.node.machine().shut_down();
  r.restart_with(2);
  EXPECT_FALSE(r.rows().empty());
  // The first is from one shard, the second from nobody that is known.
  EXPECT_EQ(writer_of(r.node.disk(), r.on_disk(first)), (SSTableOwner{0, 1}));
  EXPECT_EQ(writer_of(r.node.disk(), r.on_disk(second)), std::nullopt);
  EXPECT_TRUE(r.relocate());
  EXPECT_EQ(r.shared(), (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace cassandra_like::storage_test::relocate_test
