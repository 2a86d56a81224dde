// SSTables as files of a directory: names, what a crash leaves behind, what is refused.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "model/values.h"
#include "runtime/sim/sim_runtime.h"
#include "storage/sstable/checksums.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_writer.h"
#include "tests/sstable/fixture/fixture.h"
#include "tests/sstable/fixture/json_dump.h"

namespace cassandra_like::test {
namespace {

TEST(Descriptors, NamesAreCassandras) {
  // The name that Cassandra gave one of its SSTables.
  Uuid uuid = *SSTableDescriptor::uuid_of("3h5p_036j_4webe2w65tcvh3vp00");
  EXPECT_EQ(uuid.version(), 1);
  EXPECT_EQ(SSTableDescriptor::id_of(uuid), "3h5p_036j_4webe2w65tcvh3vp00");
  SSTableDescriptor d = *SSTableDescriptor::parse("/d", "da-3h5p_036j_4webe2w65tcvh3vp00-bti-Data.db");
  EXPECT_EQ(d.version, "da");
  EXPECT_EQ(d.format, "bti");
  EXPECT_EQ(d.file("TOC.txt"), "/d/da-3h5p_036j_4webe2w65tcvh3vp00-bti-TOC.txt");
  EXPECT_EQ(SSTableDescriptor::parse("/d", "nb-17-big-Data.db")->format, "big");
  for (const char* name : {"da-1-bti-Rows.db", "Data.db", "da--bti-Data.db", "manifest.json", "backups", "da-1-bti-"}) {
    EXPECT_EQ(SSTableDescriptor::parse("/d", name), std::nullopt) << name;
  }
}

TEST(Descriptors, OtherFormatsAreRefusedByName) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "simple");
  auto opened = SSTable::open(world.disk(), {"/d", "lb", "big", "1"}, fixture.table);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(
      opened.error().message(),
      "/d/lb-1-big-Data.db is of format lb-big, which is not supported yet: let a Cassandra that reads it rewrite all "
      "SSTables (nodetool upgradesstables)");
}

TEST(Directories, UnfinishedSSTablesAreToldFromThoseThatLostSomething) {
  LinuxDisk world;
  TemporaryDirectory directory;
  for (const char* name : {"da-1-bti-Data.db", "da-1-bti-TOC.txt.tmp", "da-2-bti-Data.db", "da-2-bti-TOC.txt",
                           "da-3-bti-Rows.db", "da-2-bti-Statistics.db.tmp", "manifest.json"}) {
    std::ofstream(directory.path() + "/" + name) << "x";
  }
  auto found = must(find_sstables(world.disk(), directory.path()));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].is_unfinished());
  EXPECT_THAT(found[1].components, testing::ElementsAre("Data.db", "TOC.txt"));
  EXPECT_FALSE(found[2].is_unfinished());
  auto finished = must(list_sstables(world.disk(), directory.path()));
  ASSERT_EQ(finished.size(), 2u);
  EXPECT_EQ(finished[0].id, "2");
}

TEST(Checksums, NoticeTheirOwnDamage) {
  const ComponentChecksums checksums{{"Filter.db", 7}, {"Rows.db", 4003766670}};
  const Bytes text = serialize_checksums(checksums);
  EXPECT_EQ(text.substr(0, text.rfind(' ')), "Filter.db 7\nRows.db 4003766670\nChecksums.crc32");
  EXPECT_EQ(parse_checksums(text), checksums);
  for (size_t i = 0; i < text.size(); ++i) {
    Bytes damaged = text;
    damaged[i] ^= 1;
    EXPECT_EQ(parse_checksums(damaged), std::nullopt) << i;
    EXPECT_EQ(parse_checksums(text.substr(0, i)), std::nullopt) << i;
  }
}

TEST(Directories, RemovingAnSSTableRemovesAllItsFiles) {
  LinuxDisk world;
  TemporaryDirectory directory;
  for (const char* name :
       {"da-1-bti-Data.db", "da-1-bti-TOC.txt", "da-1-bti-SAI+aa+idx+Meta.db", "da-10-bti-Data.db"}) {
    std::ofstream(directory.path() + "/" + name) << "x";
  }
  EXPECT_TRUE(remove_sstable(world.disk(), {directory.path(), "da", "bti", "1"}).ok());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, testing::ElementsAre("da-10-bti-Data.db"));
}

TablePtr people() {
  auto column = [](const char* name, TypePtr type, ColumnKind kind, int position) {
    return std::make_shared<Column>(Column{name, std::move(type), kind, position, ""});
  };
  return std::make_shared<TableMetadata>(
      "ks", "people", Uuid::random(1, 2),
      std::vector<ColumnPtr>{column("id", types::int_(), ColumnKind::kPartitionKey, 0)},
      std::vector<ColumnPtr>{column("day", types::int_(), ColumnKind::kClustering, 0)},
      std::vector<ColumnPtr>{column("name", types::text(), ColumnKind::kRegular, -1)});
}

Task<Status> write_people(Disk* disk, SSTableDescriptor descriptor, TablePtr table) {
  SSTableWriterOptions options;
  options.regular_columns = table->regular_columns;
  options.estimated_partitions = 100;
  CO_ASSIGN_OR_RETURN(auto writer, SSTableWriter::create(*disk, descriptor, table, options));
  std::vector<Bytes> keys;
  for (int i = 0; i < 100; ++i) keys.push_back(encode_int(i));
  std::sort(keys.begin(), keys.end(),
            [](const Bytes& a, const Bytes& b) { return DecoratedKey::of(a) < DecoratedKey::of(b); });
  for (const Bytes& key : keys) {
    CO_TRY(writer->begin_partition(DecoratedKey::of(key), {}, Row()));
    Arena arena;
    Bytes day = encode_int(7);
    std::vector<BytesView> values{day};
    Cell cell;
    cell.column = table->regular_columns[0].get();
    cell.timestamp = 5;
    cell.value = "Ada";
    Unfiltered row;
    row.row.clustering = make_clustering(*table, values, ClusteringKind::kClustering, arena);
    row.row.liveness.timestamp = 5;
    row.row.cells = {&cell, 1};
    CO_TRY(writer->append(row));
    CO_TRY(writer->end_partition());
  }
  Result<SSTableInfo> info = co_await writer->finish();
  CO_TRY(info);
  co_return Status();
}

TEST(Writing, AnUnfinishedSSTableLeavesNothing) {
  LinuxDisk world;
  TemporaryDirectory directory;
  TablePtr table = people();
  SSTableDescriptor descriptor{directory.path(), "da", "bti", "1"};
  {
    auto writer = must(SSTableWriter::create(world.disk(), descriptor, table, {}));
    EXPECT_TRUE(std::filesystem::exists(descriptor.file("Data.db")));
    // A file that is there is not written over, nor removed by whoever tried.
    EXPECT_FALSE(SSTableWriter::create(world.disk(), descriptor, table, {}).ok());
    EXPECT_TRUE(std::filesystem::exists(descriptor.file("Data.db")));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

Task<void> write_and_note(Disk* disk, SSTableDescriptor descriptor, TablePtr table, bool* written) {
  Status made = co_await disk->sync_directory("/");
  CHECK(made.ok());
  made = co_await disk->sync_directory("/data");
  CHECK(made.ok());
  Status status = co_await write_people(disk, descriptor, table);
  *written = status.ok();
}

// A crash at any moment leaves a whole SSTable or none; once finish() has completed, a whole one.
TEST(Writing, SurvivesCrashes) {
  TablePtr table = people();
  int survived = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    auto world = SimWorld::create(seed);
    SimMachine& machine = world->add_machine("127.0.0.1");
    bool written = false;
    {
      Disk& disk = machine.boot(1).shard(0).disk;
      ASSERT_TRUE(disk.make_directories("/data/people").ok());
      spawn(write_and_note(&disk, {"/data/people", "da", "bti", "1"}, table, &written));
      world->run_for(Duration(static_cast<int64_t>(seed) * 700'000));
      machine.crash();
    }
    Disk& disk = machine.boot(1).shard(0).disk;
    if (!disk.exists("/data/people")) {
      EXPECT_FALSE(written);
      continue;
    }
    auto found = must(list_sstables(disk, "/data/people"));
    if (written) {
      ASSERT_EQ(found.size(), 1u) << "seed " << seed;
    }
    if (found.empty()) continue;
    ++survived;
    SSTablePtr sstable = must(SSTable::open(disk, found[0], table));
    Status status = sstable->verify();
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message();
    EXPECT_EQ(must(dump_json(*sstable, table)).size(), 100u);
  }
  EXPECT_GT(survived, 5);
  EXPECT_LT(survived, 60);
}

}  // namespace
}  // namespace cassandra_like::test
