// Finding partitions: by key, by ranges of the ring, and not finding them.
#include <algorithm>
#include <random>

#include "model/values.h"
#include "tests/sstable/fixture/fixture.h"

namespace cassandra_like::test {
namespace {

class Lookup : public testing::TestWithParam<std::string> {
 protected:
  Lookup() {
    auto scanner = must(sstable_->scan(fixture_.table, KeyRange(), SliceSelection()));
    while (PartitionReader* partition = must(scanner->next())) keys_.emplace_back(partition->key().key);
  }
  std::vector<std::string> scan(const KeyRange& range) {
    std::vector<std::string> keys;
    auto scanner = must(sstable_->scan(fixture_.table, range, SliceSelection()));
    while (PartitionReader* partition = must(scanner->next())) keys.emplace_back(partition->key().key);
    return keys;
  }
  std::vector<std::string> filtered(const KeyRange& range) {
    std::vector<std::string> keys;
    for (const std::string& key : keys_) {
      if (range.contains(DecoratedKey::of(key))) keys.push_back(key);
    }
    return keys;
  }

  LinuxDisk world_;
  Fixture fixture_ = load_fixture(world_, GetParam());
  SSTablePtr sstable_ = must(SSTable::open(world_.disk(), fixture_.descriptor, fixture_.table));
  std::vector<std::string> keys_;
};

TEST_P(Lookup, AbsentKeysAreNotFound) {
  ASSERT_EQ(keys_.size(), 900u);
  int let_through = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string name = "absent-" + std::to_string(i);
    DecoratedKey key = DecoratedKey::of(name);
    if (!sstable_->may_contain(key)) continue;
    ++let_through;
    EXPECT_EQ(must(sstable_->read(fixture_.table, key, SliceSelection())), nullptr);
  }
  // The filter was made for one percent.
  EXPECT_GT(let_through, 20);
  EXPECT_LT(let_through, 400);
  EXPECT_EQ(sstable_->false_positives(), static_cast<uint64_t>(let_through));
}

TEST_P(Lookup, RangesOfTheRing) {
  std::mt19937_64 random(3);
  auto position = [&]() -> RingPosition {
    const std::string& key = keys_[random() % keys_.size()];
    switch (random() % 6) {
      case 0:
        return RingPosition::minimum();
      case 1:
        return RingPosition::maximum();
      case 2:
        return RingPosition::before(murmur3_token(key));
      case 3:
        return RingPosition::after(murmur3_token(key));
      case 4:
        return RingPosition::before(static_cast<Token>(random()));
      default:
        return RingPosition::at(DecoratedKey::of(key));
    }
  };
  for (int i = 0; i < 300; ++i) {
    KeyRange range{position(), position(), random() % 2 == 0, random() % 2 == 0};
    ASSERT_EQ(scan(range), filtered(range)) << range.start.token << " " << range.end.token;
  }
}

// Whether a partition is read to its end decides how the next one is found.
TEST_P(Lookup, PartitionsMayBeLeftInTheMiddle) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    const uint64_t share = random() % 4;  // of four, of the partitions that are read
    KeyRange range;
    if (round % 2 == 1) range.start = RingPosition::at(DecoratedKey::of(keys_[random() % keys_.size()]));
    std::vector<std::string> keys;
    auto scanner = must(sstable_->scan(fixture_.table, range, SliceSelection()));
    while (PartitionReader* partition = must(scanner->next())) {
      keys.emplace_back(partition->key().key);
      const bool reads_all = random() % 4 < share;
      if (!reads_all && random() % 2 == 0) continue;
      while (must(partition->next()) != nullptr && reads_all) continue;
    }
    ASSERT_EQ(keys, filtered(range));
  }
}

TEST_P(Lookup, AReaderKeepsItsSSTableOpen) {
  auto reader = must(sstable_->read(fixture_.table, DecoratedKey::of(keys_[5]), SliceSelection()));
  sstable_.reset();
  const Unfiltered* row = must(reader->next());
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->row.cells.size(), 1u);
  EXPECT_EQ(must(reader->next()), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Lookup, testing::Values("many", "nb_many", "oa_many"),
                         [](const auto& info) { return info.param; });

TEST(SchemaChanges, AColumnThatTheTableNeverHadIsAnError) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "simple");
  const TableMetadata& t = *fixture.table;
  std::vector<ColumnPtr> others;
  for (const ColumnPtr& c : t.regular_columns) {
    if (c->name != "w") others.push_back(c);
  }
  auto without_w = std::make_shared<TableMetadata>(t.keyspace, t.name, t.id, t.partition_key, t.clustering, others);
  auto opened = SSTable::open(world.disk(), fixture.descriptor, without_w);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(opened.error().message().find("Unknown column w during deserialization"), std::string::npos);
}

TEST(SchemaChanges, AReadSeesTheColumnsOfItsOwnSchema) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "simple");
  const TableMetadata& t = *fixture.table;
  SSTablePtr sstable = must(SSTable::open(world.disk(), fixture.descriptor, fixture.table));
  std::vector<ColumnPtr> others;
  for (const ColumnPtr& c : t.regular_columns) {
    if (c->name != "w") others.push_back(c);
  }
  auto dropped = std::make_shared<TableMetadata>(t.keyspace, t.name, t.id, t.partition_key, t.clustering, others);
  // Cells that are newer than the drop stay, but there is no column for them.
  for (const ColumnPtr& c : t.regular_columns) {
    if (c->name == "w") dropped->dropped_columns["w"] = {c, 9'000'000};
  }
  Bytes id = encode_int(20);
  for (const auto& [table, cells] : std::vector<std::pair<TablePtr, size_t>>{{fixture.table, 2}, {dropped, 1}}) {
    auto reader = must(sstable->read(table, DecoratedKey::of(id), SliceSelection()));
    const Unfiltered* row = must(reader->next());
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->row.cells.size(), cells);
  }
}

}  // namespace
}  // namespace cassandra_like::test
