// Slices of a wide partition, forwards and backwards, through row indexes of all granularities: what a reader returns is
// compared with what a filter over the whole partition gives.
#include <algorithm>
#include <random>

#include "model/row_codec.h"
#include "storage/sstable/sstable_writer.h"
#include "tests/sstable/fixture/fixture.h"
#include "tests/support/sanitized.h"

namespace cassandra_like::test {
namespace {

struct Item {
  Bytes comparable;
  bool is_row;
  Bytes content;  // of a row, as in messages
  DeletionTime open, close;

  bool operator==(const Item&) const = default;
};

void PrintTo(const Item& item, std::ostream* out) {
  auto deletion = [](const DeletionTime& d) { return d.is_live() ? "-" : std::to_string(d.marked_for_delete_at); };
  *out << to_hex(item.comparable)
       << (item.is_row ? " row " + to_hex(item.content)
                       : " marker open " + deletion(item.open) + " close " + deletion(item.close));
}

Item item_of(const TablePtr& table, const SerializationHeader& header, const Unfiltered& u) {
  Item item{Bytes(u.position().comparable), u.is_row, "", {}, {}};
  if (u.is_row) {
    item.content.resize(row_size(header, u.row));
    write_row(item.content.data(), header, u.row);
  } else {
    item.open = u.marker.open;
    item.close = u.marker.close;
    // The values say the same as the comparable form.
    Bytes again;
    append_comparable(again, *table, u.marker.bound.values, u.marker.bound.kind);
    EXPECT_EQ(to_hex(again), to_hex(item.comparable));
  }
  return item;
}

std::vector<Item> read_all(PartitionReader& reader, const TablePtr& table) {
  const TableHeader header(table, {});
  std::vector<Item> items;
  while (const Unfiltered* u = must(reader.next())) items.push_back(item_of(table, header.get(), *u));
  return items;
}

std::vector<Item> expected_of(const std::vector<Item>& all, const std::vector<Slice>& slices, bool reversed) {
  std::vector<Item> out;
  for (const Slice& slice : slices) {
    DeletionTime open;
    for (const Item& item : all) {
      if (!slice.start.empty() && item.comparable <= slice.start && !item.is_row) open = item.open;
    }
    if (!open.is_live()) out.push_back({slice.start, false, "", open, {}});
    for (const Item& item : all) {
      if (!slice.contains(item.comparable)) continue;
      out.push_back(item);
      if (!item.is_row) open = item.open;
    }
    if (!open.is_live()) out.push_back({slice.end, false, "", {}, open});
  }
  if (reversed) {
    for (Item& item : out) std::swap(item.open, item.close);
    std::reverse(out.begin(), out.end());
  }
  return out;
}

// The bound before or after a prefix of some position of the partition, or of one that is not in it.
Bytes random_bound(const TableMetadata& table, const std::vector<Item>& all, std::mt19937& random) {
  Arena arena;
  ClusteringPrefix position;
  EXPECT_TRUE(split_comparable(table, all[random() % all.size()].comparable, arena, &position));
  std::vector<BytesView> values(position.values.begin(), position.values.end());
  if (values.empty()) return {};
  values.resize(1 + random() % values.size());
  if (random() % 4 == 0) values.back() = values.size() == 1 ? BytesView("\0\0\0\x11", 4) : BytesView("b22");
  Bytes bound;
  append_comparable(bound, table, values,
                    random() % 2 == 0 ? ClusteringKind::kInclStartBound : ClusteringKind::kInclEndBound);
  return bound;
}

std::vector<Slice> random_slices(const TableMetadata& table, const std::vector<Item>& all, std::mt19937& random) {
  std::vector<Bytes> bounds;
  size_t count = 1 + random() % 3;
  while (bounds.size() < 2 * count) {
    Bytes bound = random_bound(table, all, random);
    if (!bound.empty()) bounds.push_back(bound);
  }
  std::sort(bounds.begin(), bounds.end());
  std::vector<Slice> slices;
  for (size_t i = 0; i < count; ++i) {
    if (bounds[2 * i] < bounds[2 * i + 1]) slices.push_back({bounds[2 * i], bounds[2 * i + 1]});
  }
  if (slices.empty()) return {Slice::all()};
  if (random() % 5 == 0) slices.front().start.clear();
  if (random() % 5 == 0) slices.back().end.clear();
  return slices;
}

constexpr int kRounds = test::kIsSanitized ? 4 : 25;

void check_slices(const SSTable& sstable, const TablePtr& table) {
  for (const char* name : {"wide", "middling", "deleted", "small"}) {
    DecoratedKey key = DecoratedKey::of(name);
    auto whole = must(sstable.read(table, key, SliceSelection()));
    ASSERT_NE(whole, nullptr);
    std::vector<Item> all = read_all(*whole, table);
    std::mt19937 random(7);
    for (int round = 0; round < kRounds; ++round) {
      std::vector<Slice> slices = round == 0 ? std::vector<Slice>{Slice::all()} : random_slices(*table, all, random);
      for (bool reversed : {false, true}) {
        auto reader = must(sstable.read(table, key, {slices, reversed, true}));
        ASSERT_EQ(read_all(*reader, table), expected_of(all, slices, reversed))
            << name << " round " << round << (reversed ? " reversed" : "") << " from " << to_hex(slices.front().start)
            << " to " << to_hex(slices.front().end) << ", " << slices.size() << " slices";
      }
    }
  }
}

TEST(Slices, OfWhatCassandraWrote) {
  LinuxDisk world;
  for (const char* name : {"wide", "plain", "nb_wide", "nb_plain", "oa_wide"}) {
    Fixture fixture = load_fixture(world, name);
    check_slices(*must(SSTable::open(world.disk(), fixture.descriptor, fixture.table)), fixture.table);
  }
}

TEST(Slices, ThroughRowIndexesOfAllGranularities) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "wide");
  for (const SSTableVersion* version : {&SSTableVersion::da(), &SSTableVersion::nb(), &SSTableVersion::oa()}) {
    for (uint32_t granularity : {1u, 100u, 700u, 5000u}) {
      for (const char* chunk : {"4", "64"}) {
        TemporaryDirectory directory;
        const StringPairs compression{{"class", "LZ4Compressor"}, {"chunk_length_in_kb", chunk}};
        SSTablePtr sstable = rewritten(world, fixture, directory.path(), {granularity, compression, version});
        EXPECT_TRUE(sstable->verify().ok());
        check_slices(*sstable, fixture.table);
      }
    }
  }
}

// DELETE … WHERE p = 'x' AND a = 5 leaves such a one. The separator before the second block is the whole of its only position.
TEST(Slices, OfARangeTombstoneWhoseEndIsABlockOfItsOwn) {
  LinuxDisk world;
  const TablePtr table = load_fixture(world, "wide").table;
  const DecoratedKey key = DecoratedKey::of("x");
  const std::vector<BytesView> five{BytesView("\0\0\0\x05", 4)};
  const DeletionTime deletion{100, 200};
  Bytes before, after;
  append_comparable(before, *table, five, ClusteringKind::kInclStartBound);
  append_comparable(after, *table, five, ClusteringKind::kInclEndBound);
  Unfiltered start, end;
  start.is_row = end.is_row = false;
  start.marker = {{ClusteringKind::kInclStartBound, five, before}, deletion, {}};
  end.marker = {{ClusteringKind::kInclEndBound, five, after}, {}, deletion};
  const TableHeader header(table, {});
  const std::vector<Item> both{item_of(table, header.get(), start), item_of(table, header.get(), end)};

  for (const SSTableVersion* version : {&SSTableVersion::da(), &SSTableVersion::nb(), &SSTableVersion::oa()}) {
    TemporaryDirectory directory;
    const auto descriptor = SSTableDescriptor::of(version, directory.path(), "3g1a_0000_00000000000000000000");
    SSTableWriterOptions options;
    options.row_index_granularity = 1;
    auto writer = must(SSTableWriter::create(world.disk(), descriptor, table, options));
    ASSERT_TRUE(writer->begin_partition(key, {}, Row()).ok());
    ASSERT_TRUE(writer->append(start).ok());
    ASSERT_TRUE(writer->append(end).ok());
    ASSERT_TRUE(writer->end_partition().ok());
    ASSERT_TRUE(world.run(writer->finish()).ok());

    SSTablePtr sstable = must(SSTable::open(world.disk(), descriptor, table));
    EXPECT_TRUE(sstable->verify().ok());
    for (const Slice& slice : {Slice::all(), Slice{before, after}, Slice{{}, after}, Slice{before, {}}}) {
      for (bool reversed : {false, true}) {
        const std::vector<Slice> slices{slice};
        auto reader = must(sstable->read(table, key, {slices, reversed, true}));
        ASSERT_NE(reader, nullptr);
        EXPECT_EQ(read_all(*reader, table).size(), 2u) << version->letters;
      }
    }
    EXPECT_EQ(read_all(*must(sstable->read(table, key, SliceSelection())), table), both);
  }
}

TEST(Slices, StartAfterARowThatWasSeen) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "wide");
  SSTablePtr sstable = must(SSTable::open(world.disk(), fixture.descriptor, fixture.table));
  DecoratedKey key = DecoratedKey::of("small");
  std::vector<Item> all = read_all(*must(sstable->read(fixture.table, key, SliceSelection())), fixture.table);
  ASSERT_EQ(all.size(), 5u);
  std::vector<Slice> rest{{all[1].comparable, {}}};
  auto reader = must(sstable->read(fixture.table, key, {rest, false, true}));
  std::vector<Item> seen = read_all(*reader, fixture.table);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].comparable, all[2].comparable);
}

TEST(Slices, NoRowsWhenNoneAreWanted) {
  LinuxDisk world;
  Fixture fixture = load_fixture(world, "wide");
  SSTablePtr sstable = must(SSTable::open(world.disk(), fixture.descriptor, fixture.table));
  auto scanner = must(sstable->scan(fixture.table, KeyRange(), {{}, false, false}));
  std::vector<std::string> statics;
  while (PartitionReader* partition = must(scanner->next())) {
    const Row& row = partition->static_row();
    statics.emplace_back(row.is_empty() ? "nothing" : row.cells[0].value);
    EXPECT_EQ(must(partition->next()), nullptr);
  }
  EXPECT_EQ(statics, (std::vector<std::string>{"middling static", "small static", "wide static", "nothing"}));
}

}  // namespace
}  // namespace cassandra_like::test
