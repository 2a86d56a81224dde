// Two things that BIG alone has: Summary.db, which can be made again, and deletion times that end in 2038.
#include <filesystem>
#include <fstream>

#include "model/values.h"
#include "storage/sstable/index_summary.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_writer.h"
#include "tests/sstable/fixture/fixture.h"
#include "tests/sstable/fixture/json_dump.h"
#include "tests/sstable/fixture/rewrite.h"

namespace cassandra_like::test {
namespace {

TEST(SSTableVersions, HaveTheFactsOfCassandras) {
  const SSTableVersion& nb = *SSTableVersion::find("big", "nb");
  EXPECT_TRUE(nb.has_legacy_min_max && nb.has_originating_host_id);
  EXPECT_FALSE(nb.has_improved_min_max || nb.has_key_range || nb.has_uint_deletion_time || nb.has_token_space_coverage);
  EXPECT_EQ(nb.max_deletion_time(), 2147483646);
  for (const SSTableVersion* of_5_0 : {SSTableVersion::find("big", "oa"), SSTableVersion::find("bti", "da")}) {
    EXPECT_TRUE(of_5_0->has_improved_min_max && of_5_0->has_key_range && of_5_0->has_uint_deletion_time &&
                of_5_0->has_token_space_coverage && of_5_0->has_partition_level_deletions_presence_marker);
    EXPECT_FALSE(of_5_0->has_legacy_min_max);
  }
  EXPECT_FALSE(SSTableVersion::find("big", "na")->has_originating_host_id);
  const SSTableVersion& me = *SSTableVersion::find("big", "me");
  EXPECT_TRUE(me.has_originating_host_id && me.has_accurate_min_max && me.has_commit_log_intervals &&
              me.has_old_bf_format);
  EXPECT_FALSE(me.has_metadata_checksum || me.has_max_compressed_length || me.has_pending_repair ||
               me.has_is_transient);
  EXPECT_FALSE(SSTableVersion::find("big", "mc")->has_accurate_min_max);
  EXPECT_FALSE(SSTableVersion::find("big", "mb")->has_commit_log_intervals);
  EXPECT_FALSE(SSTableVersion::find("big", "ma")->has_commit_log_lower_bound);
  for (auto [format, letters] : {std::pair{"big", "lb"}, {"big", "da"}, {"bti", "nb"}, {"big", "pa"}}) {
    EXPECT_EQ(SSTableVersion::find(format, letters), nullptr) << format << letters;
  }
}

class Summary : public testing::Test {
 protected:
  Summary() {
    std::filesystem::copy(fixture_.directory, directory_.path());
    descriptor_.directory = directory_.path();
  }
  std::string path() const { return descriptor_.file("Summary.db"); }
  Bytes content() { return must(read_file(world_.disk(), path())); }
  void write(const Bytes& content) { std::ofstream(path(), std::ios::binary) << content; }
  void expect_all_keys() {
    SSTablePtr sstable = must(SSTable::open(world_.disk(), descriptor_, fixture_.table));
    EXPECT_EQ(sstable->info().partitions, 900u);
    EXPECT_TRUE(sstable->verify().ok());
    auto scanner = must(sstable->scan(fixture_.table, KeyRange(), SliceSelection()));
    while (PartitionReader* partition = must(scanner->next())) {
      EXPECT_NE(must(sstable->read(fixture_.table, partition->key(), SliceSelection())), nullptr);
    }
  }

  LinuxDisk world_;
  Fixture fixture_ = load_fixture(world_, "nb_many");
  SSTableDescriptor descriptor_ = fixture_.descriptor;
  TemporaryDirectory directory_;
};

TEST_F(Summary, HasEvery128thKey) {
  IndexSummary summary = *IndexSummary::parse(content());
  EXPECT_EQ(summary.size(), 8u);
  EXPECT_EQ(summary.interval(), 128);
  EXPECT_TRUE(summary.is_full());
  EXPECT_EQ(summary.key(0).key, summary.first_key());
  EXPECT_EQ(summary.position(0), 0u);
  for (size_t i = 0; i < summary.size(); ++i) {
    EXPECT_EQ(summary.floor(summary.key(i)), i);
    EXPECT_EQ(summary.floor(RingPosition::at(summary.key(i))), i);
    EXPECT_EQ(summary.floor(RingPosition::before(summary.key(i).token)), i == 0 ? summary.size() : i - 1);
  }
  EXPECT_EQ(summary.floor(RingPosition::maximum()), 7u);
  EXPECT_EQ(summary.floor(RingPosition::minimum()), 8u);
}

TEST_F(Summary, IsNotNeeded) {
  std::filesystem::remove(path());
  expect_all_keys();
}

TEST_F(Summary, OfAnotherSSTableIsNotUsed) {
  Fixture other = load_fixture(world_, "nb_simple");
  write(must(read_file(world_.disk(), other.descriptor.file("Summary.db"))));
  expect_all_keys();
}

TEST_F(Summary, ThatIsCutOrEmptyIsNotUsed) {
  const Bytes whole = content();
  for (size_t size : {size_t{0}, size_t{10}, size_t{24}, size_t{100}, whole.size() - 1}) {
    write(whole.substr(0, size));
    expect_all_keys();
  }
}

TEST_F(Summary, ThatWasThinnedOutIsNotUsed) {
  Bytes thin = content();
  thin[19] = 64;  // the sampling level, of 128
  EXPECT_FALSE(IndexSummary::parse(thin)->is_full());
  write(thin);
  expect_all_keys();
}

// A sample with another key than the entry that it leads to: it is out of order, or else keys next to it that would not be
// found are an error.
TEST_F(Summary, WithAWrongKeyHidesNothing) {
  const Bytes right = content();
  IndexSummary summary = *IndexSummary::parse(right);
  const size_t at = right.find(summary.key(3).key);
  ASSERT_NE(at, right.npos);
  int unused = 0, in_order = 0;
  for (int c = 1; c < 256; ++c) {
    Bytes wrong = right;
    wrong[at + 4] = static_cast<char>(c);
    if (wrong == right) continue;
    write(wrong);
    auto parsed = IndexSummary::parse(wrong);
    if (!parsed) {
      if (unused++ == 0) expect_all_keys();
      continue;
    }
    ++in_order;
    SSTablePtr sstable = must(SSTable::open(world_.disk(), descriptor_, fixture_.table));
    EXPECT_EQ(sstable->verify().error().code(), ErrorCode::kCorruption);
    size_t answers = 0, errors = 0;
    SSTablePtr good = must(SSTable::open(world_.disk(), fixture_.descriptor, fixture_.table));
    auto scanner = must(good->scan(fixture_.table, KeyRange(), SliceSelection()));
    while (PartitionReader* partition = must(scanner->next())) {
      auto found = sstable->read(fixture_.table, partition->key(), SliceSelection());
      if (found.ok()) {
        EXPECT_NE(*found, nullptr) << partition->key().key;
      }
      ++(found.ok() ? answers : errors);
    }
    EXPECT_EQ(answers + errors, 900u);
    EXPECT_GT(answers, 600u);
  }
  EXPECT_GT(unused, 100);
  EXPECT_GT(in_order, 5);
}

Task<Status> write_partition(Disk* disk, SSTableDescriptor descriptor, TablePtr table, DeletionTime deletion) {
  const int64_t expires = deletion.local_deletion_time;
  SSTableWriterOptions options;
  options.regular_columns = table->regular_columns;
  options.stats.min_local_deletion_time = expires;
  CO_ASSIGN_OR_RETURN(auto writer, SSTableWriter::create(*disk, descriptor, table, options));
  const Bytes key = encode_int(1);
  CO_TRY(writer->begin_partition(DecoratedKey::of(key), deletion, Row()));
  Cell cell;
  cell.column = table->regular_columns[0].get();
  cell.timestamp = 7;
  cell.ttl = kMaxTtl;
  cell.local_deletion_time = expires;
  cell.value = "long";
  Unfiltered row;
  row.row.clustering = empty_clustering();
  row.row.liveness = {7, kMaxTtl, expires};
  row.row.cells = {&cell, 1};
  CO_TRY(writer->append(row));
  CO_TRY(writer->end_partition());
  Result<SSTableInfo> info = co_await writer->finish();
  CO_TRY(info);
  co_return Status();
}

TablePtr table_of_texts() {
  return std::make_shared<TableMetadata>(
      "ks", "t", Uuid::random(1, 2),
      std::vector<ColumnPtr>{std::make_shared<Column>(Column{"id", types::int_(), ColumnKind::kPartitionKey, 0, ""})},
      std::vector<ColumnPtr>{},
      std::vector<ColumnPtr>{std::make_shared<Column>(Column{"v", types::text(), ColumnKind::kRegular, -1, ""})});
}

// Version nb has them from Cassandra 4. A compaction of such an SSTable into da fails and loses nothing.
TEST(DeletionTimes, OfPartitionsAreAfter1970InVersionsOf5) {
  LinuxDisk world;
  const auto table = table_of_texts();
  for (const SSTableVersion* version : {&SSTableVersion::nb(), &SSTableVersion::oa(), &SSTableVersion::da()}) {
    TemporaryDirectory directory;
    const auto descriptor = SSTableDescriptor::of(version, directory.path(), "1");
    const Status written = world.run(write_partition(&world.disk(), descriptor, table, {-5, 1'700'000'000}));
    EXPECT_EQ(written.ok(), version == &SSTableVersion::nb());
    if (written.ok()) continue;
    EXPECT_EQ(written.error().message(),
              descriptor.file(components::kData) +
                  ": the partition 00000001 is deleted with timestamp -5, which this version cannot hold: nb can");
  }
}

// ExpirationDateOverflowHandling caps in this way, too.
TEST(DeletionTimes, EndIn2038InVersionsBefore5) {
  LinuxDisk world;
  const auto table = table_of_texts();
  const int64_t in_2046 = 2'400'000'000;
  for (const SSTableVersion* version : {&SSTableVersion::nb(), &SSTableVersion::oa(), &SSTableVersion::da()}) {
    TemporaryDirectory directory;
    const auto descriptor = SSTableDescriptor::of(version, directory.path(), "1");
    const int64_t expected = std::min(in_2046, version->max_deletion_time());
    ASSERT_TRUE(world.run(write_partition(&world.disk(), descriptor, table, {5, in_2046})).ok());
    SSTablePtr sstable = must(SSTable::open(world.disk(), descriptor, table));
    EXPECT_TRUE(sstable->verify().ok());
    EXPECT_EQ(sstable->info().max_local_deletion_time, expected);
    const Bytes key = encode_int(1);
    auto reader = must(sstable->read(table, DecoratedKey::of(key), SliceSelection()));
    EXPECT_EQ(reader->partition_deletion(), (DeletionTime{5, expected}));
    const Unfiltered* row = must(reader->next());
    EXPECT_EQ(row->row.liveness.local_expiration_time, expected);
    ASSERT_EQ(row->row.cells.size(), 1u);
    EXPECT_EQ(row->row.cells[0].local_deletion_time, expected);
    EXPECT_EQ(row->row.cells[0].ttl, kMaxTtl);
  }
}

TEST(Writing, OnlyVersionsThatCassandra5WritesAreWritten) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "simple");
  auto writer = SSTableWriter::create(world.disk(), {"/d", "na", "big", "1"}, fixture.table, {});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().message(), "Writing SSTable format big-na is not supported yet");
}

}  // namespace
}  // namespace cassandra_like::test
