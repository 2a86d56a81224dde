// Rows and markers in their SSTable form are, byte for byte, what Cassandra 5.0.9 writes.
#include "model/row_codec.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model_testing.h"

namespace cassandra_like {
namespace {

using namespace model_testing;

const EncodingStats kStats{kTs - 10, kNow - 10, 5};

std::string written(const TablePtr& table, const Row& row, uint64_t previous_size) {
  TableHeader header(table, kStats);
  Bytes out;
  append_sstable_row(out, header.get(), row, previous_size);
  return to_hex(out);
}

RowBuilder many_row(bool (*has)(int)) {
  RowBuilder row(many_table());
  for (int i = 0; i < 70; ++i) {
    if (has(i)) row.set(many_table()->regular_columns[static_cast<size_t>(i)]->name, kTs, encode_int(i));
  }
  return row;
}

TEST(RowCodecTest, WritesRowsWithTheirSizes) {
  RowBuilder insert = insert_row(kTs);
  EXPECT_EQ(written(plain_table(), insert.build(), 0), oracle_result("sstable row", "plain"));

  UpdateBuilder rich(wide_table(), "key");
  build_rich(&rich);
  const PartitionUpdate& update = rich.build();
  EXPECT_EQ(written(wide_table(), update.static_row, 0), oracle_result("sstable row", "rich static"));
  const char* names[] = {"rich a=1, b=b", "rich a=1, b=a", "rich a=2, b=", "rich a=3, b=c"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(written(wide_table(), update.rows[i], 17), oracle_result("sstable row", names[i])) << names[i];
  }
}

// A row of an SSTable is written to another one, whose header begins to count elsewhere.
TEST(RowCodecTest, UniformRowsAreWrittenAsOtherRows) {
  RowBuilder forever = insert_row(kTs), expiring(plain_table());
  expiring.live(kTs, 60, kNow + 60);
  for (const ColumnPtr& c : plain_table()->regular_columns) expiring.cell(c->name, kTs, 60, kNow + 60, c->name);
  const TableHeader read(plain_table(), kStats), other(plain_table(), {kTs - 70'000, kNow - 300, 1});
  for (RowBuilder* builder : {&forever, &expiring}) {
    const Row row = builder->build();
    Bytes from, expected, written;
    append_sstable_row(from, read.get(), row, 300);
    append_sstable_row(expected, other.get(), row, 17);

    Arena arena;
    RowDecoder decoder(read.get(), RowForm::kSstable, arena);
    Reader in(from);
    std::vector<BytesView> values(plain_table()->regular_columns.size());
    UniformRow uniform;
    ASSERT_TRUE(decoder.next(in));
    ASSERT_TRUE(decoder.read_plain_body(in, kNow, values.data(), &uniform));
    uniform.clustering = decoder.position();
    uniform.values = values;
    append_sstable_row(written, other.get(), uniform, 17);
    EXPECT_EQ(to_hex(written), to_hex(expected));
    uniform.cells = {};
    written.clear();
    append_sstable_row(written, other.get(), uniform, 17);
    EXPECT_EQ(to_hex(written), to_hex(expected));
  }
}

TEST(RowCodecTest, UniformRowsMayMissManyColumns) {
  const TableHeader header(many_table(), kStats);
  for (auto has : {+[](int i) { return i % 30 == 1; }, +[](int i) { return i % 7 != 3; }, +[](int) { return true; }}) {
    RowBuilder builder = many_row(has);
    const Row row = builder.build();
    std::vector<BytesView> values;
    for (auto cell = row.cells.begin(); const ColumnPtr& column : many_table()->regular_columns) {
      const bool has_it = cell != row.cells.end() && cell->column == column.get();
      values.push_back(has_it ? (cell++)->value : kNull);
    }
    Bytes expected, written;
    append_sstable_row(expected, header.get(), row, 17);
    append_sstable_row(written, header.get(),
                       UniformRow{row.clustering, values, {kTs, kNoTtl, kNoDeletionTime}, false, {}}, 17);
    EXPECT_EQ(to_hex(written), to_hex(expected));
  }
}

// Who writes a large row to a file takes what there is of it, piece by piece.
TEST(RowCodecTest, ALargeRowIsWrittenInPieces) {
  const TableHeader header(wide_table(), kStats);
  RowBuilder builder = wide_row(1, "b");
  const Bytes large(300'000, 'x'), small(100, 'y');
  for (int i = 0; i < 5000; ++i) builder.put("m", kTs, program_arena().copy(encode_int(i)), i == 2500 ? large : small);
  const Row row = builder.build();
  Bytes whole, out, written;
  append_sstable_row(whole, header.get(), row, 17);
  size_t most = 0;
  append_sstable_row(out, header.get(), row, 17, [&] {
    most = std::max(most, out.size());
    written += out;
    out.clear();
  });
  EXPECT_TRUE(written + out == whole);
  EXPECT_LT(most, 200'000u);
  EXPECT_GT(whole.size(), 800'000u);
}

// Cells of a large collection are made where they stay, and there may be a bound.
TEST(RowCodecTest, ManyCellsAreMadeInOnePieceOfTheArena) {
  const TableHeader header(wide_table(), kStats);
  RowBuilder builder = wide_row(1, "b");
  for (int i = 0; i < 10'000; ++i) builder.put("m", kTs, program_arena().copy(encode_int(i)), "");
  Bytes bytes;
  append_sstable_row(bytes, header.get(), builder.build(), 17);
  Arena arena;
  RowDecoder decoder(header.get(), RowForm::kSstable, arena);
  Unfiltered unfiltered;
  Reader in(bytes);
  ASSERT_TRUE(decoder.next(in));
  decoder.read_body(in, &unfiltered);
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(unfiltered.row.cells.size(), 10'000u);
  EXPECT_LT(arena.reserved(), 10'100 * sizeof(Cell));

  decoder.limit_cells(10'000 * sizeof(Cell) - 1);
  Reader again(bytes);
  ASSERT_TRUE(decoder.next(again));
  decoder.read_body(again, &unfiltered);
  EXPECT_TRUE(again.failed());
  EXPECT_TRUE(unfiltered.row.cells.empty());
  EXPECT_GE(decoder.refused_cell_bytes(), 10'000 * sizeof(Cell));
}

TEST(RowCodecTest, ListsTheShorterOfPresentAndMissingColumns) {
  RowBuilder few = many_row([](int i) { return i % 30 == 1; });
  RowBuilder most = many_row([](int i) { return i % 7 != 3; });
  RowBuilder all = many_row([](int) { return true; });
  EXPECT_EQ(written(many_table(), few.build(), 0), oracle_result("sstable row", "few of many columns"));
  EXPECT_EQ(written(many_table(), most.build(), 300), oracle_result("sstable row", "most of many columns"));
  EXPECT_EQ(written(many_table(), all.build(), 0), oracle_result("sstable row", "all of many columns"));
}

ClusteringPrefix wide_bound(ClusteringKind kind, std::span<const BytesView> values, Arena& arena) {
  return make_clustering(*wide_table(), values, kind, arena);
}

TEST(RowCodecTest, WritesMarkers) {
  using enum ClusteringKind;
  Arena arena;
  Bytes i1 = encode_int(1), i2 = encode_int(2), i4 = encode_int(4), i5 = encode_int(5), i9 = encode_int(9);
  BytesView v1[] = {i1}, v2[] = {i2}, v4[] = {i4}, v5x[] = {i5, "x"}, v5[] = {i5}, v9[] = {i9};
  DeletionTime d0{kTs, kNow}, d1{kTs + 1, kNow + 1}, d2{kTs + 2, kNow}, d3{kTs + 3, kNow}, none;
  std::vector<RangeTombstoneMarker> markers{
      {wide_bound(kInclStartBound, v1, arena), d0, none}, {wide_bound(kExclEndInclStartBoundary, v2, arena), d1, d0},
      {wide_bound(kInclEndBound, v4, arena), none, d1},   {wide_bound(kExclStartBound, v5x, arena), d2, none},
      {wide_bound(kInclEndBound, v5, arena), none, d2},   {wide_bound(kExclStartBound, v9, arena), d3, none},
      {wide_bound(kInclEndBound, {}, arena), none, d3},
  };
  TableHeader header(wide_table(), kStats);
  for (size_t i = 0; i < markers.size(); ++i) {
    Bytes out;
    append_sstable_marker(out, header.get(), markers[i], 200);
    EXPECT_EQ(to_hex(out), oracle_result("sstable marker", "marker " + std::to_string(i)));
  }
}

// All rows of Cassandra's one after the other, as in a partition.
Bytes wide_partition() {
  Bytes out;
  for (const char* name : {"rich a=1, b=b", "rich a=1, b=a", "rich a=2, b=", "rich a=3, b=c"}) {
    out += unhex(oracle_result("sstable row", name));
  }
  for (const OracleCase& c : oracle("sstable marker")) out += unhex(c.results[0]);
  out.push_back(kEndOfPartition);
  return out;
}

TEST(RowCodecTest, ReadsBackWhatItWrites) {
  TableHeader header(wide_table(), kStats);
  Bytes data = wide_partition(), again;
  Arena arena;
  RowDecoder decoder(header.get(), RowForm::kSstable, arena);
  Reader in(data);
  size_t rows = 0, markers = 0;
  while (decoder.next(in)) {
    Unfiltered u;
    decoder.read_body(in, &u);
    u.is_row ? ++rows : ++markers;
    if (u.is_row) {
      append_sstable_row(again, header.get(), u.row, 17);
    } else {
      append_sstable_marker(again, header.get(), u.marker, 200);
    }
  }
  EXPECT_FALSE(in.failed());
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(rows, 4u);
  EXPECT_EQ(markers, 7u);
  again.push_back(kEndOfPartition);
  EXPECT_EQ(to_hex(again), to_hex(data));
}

TEST(RowCodecTest, SkipsBodiesByTheirSize) {
  TableHeader header(wide_table(), kStats);
  Bytes data = unhex(oracle_result("sstable row", "rich static")) + wide_partition();
  Arena arena;
  RowDecoder decoder(header.get(), RowForm::kSstable, arena);
  Reader in(data);
  decoder.skip_static_row(in);
  Slice wanted = Slice::of_prefix(*wide_table(), std::vector<BytesView>{BytesView("\0\0\0\3", 4)});
  std::vector<std::string> found;
  while (decoder.next(in)) {
    if (!decoder.is_row() || !wanted.contains(decoder.position().comparable)) {
      decoder.skip_body(in);
      continue;
    }
    Unfiltered u;
    decoder.read_body(in, &u);
    found.emplace_back(u.row.clustering.values[1]);
  }
  EXPECT_FALSE(in.failed());
  EXPECT_THAT(found, testing::ElementsAre("c"));
}

TablePtr table_clustered_by(const std::vector<TypePtr>& types) {
  std::vector<ColumnPtr> clustering;
  for (size_t i = 0; i < types.size(); ++i) {
    clustering.push_back(std::make_shared<Column>(
        Column{"c" + std::to_string(i), types[i], ColumnKind::kClustering, static_cast<int>(i)}));
  }
  auto key = std::make_shared<Column>(Column{"k", types::int_(), ColumnKind::kPartitionKey, 0});
  auto value = std::make_shared<Column>(Column{"v", types::text(), ColumnKind::kRegular});
  return std::make_shared<TableMetadata>("k", "clustered", Uuid(), std::vector<ColumnPtr>{key}, clustering,
                                         std::vector<ColumnPtr>{value});
}

// Rows of one value of their own each, in order.
std::vector<Row> rows_at(const TablePtr& table, const std::vector<std::vector<Bytes>>& clusterings, Arena& arena) {
  std::vector<Row> rows;
  for (const std::vector<Bytes>& clustering : clusterings) {
    auto values = arena.make_span<BytesView>(clustering.size());
    for (size_t i = 0; i < clustering.size(); ++i) values[i] = arena.copy(clustering[i]);
    Row row = RowBuilder(table, arena).live(kTs).set("v", kTs, "a value").build();
    row.clustering = make_clustering(*table, values, ClusteringKind::kClustering, arena);
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.clustering.comparable < b.clustering.comparable; });
  return rows;
}

void expect_skips_to_every_row(const TablePtr& table, const std::vector<std::vector<Bytes>>& clusterings) {
  Arena arena;
  TableHeader header(table, kStats);
  const std::vector<Row> rows = rows_at(table, clusterings, arena);
  Bytes data;
  std::vector<size_t> begins;
  for (const Row& row : rows) {
    begins.push_back(data.size());
    append_sstable_row(data, header.get(), row, 17);
  }
  data.push_back(kEndOfPartition);
  RowDecoder decoder(header.get(), RowForm::kSstable, arena);
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    Bytes bound(rows[i].clustering.comparable);
    bound.back() = kAfterTerminator;
    Reader in(data);
    decoder.skip_rows(in, bound);
    ASSERT_EQ(static_cast<size_t>(in.position() - data.data()), begins[i + 1]);
    ASSERT_TRUE(decoder.next(in));
    ASSERT_EQ(to_hex(decoder.position().comparable), to_hex(rows[i + 1].clustering.comparable));
    ASSERT_TRUE(std::ranges::equal(decoder.position().values, rows[i + 1].clustering.values));
  }
  // A row that is not there as a whole is not passed over.
  Reader truncated(BytesView(data).substr(0, begins.back() + 5));
  decoder.skip_rows(truncated, "\xFF\xFF");
  EXPECT_EQ(static_cast<size_t>(truncated.position() - data.data()), begins.back());
}

TEST(RowCodecTest, SkipsRowsUpToABoundWhateverTheirClusteringsAre) {
  std::vector<std::vector<Bytes>> bigints, pairs, texts;
  for (int64_t i : {INT64_MIN, -70000L, -129L, -64L, -1L, 0L, 1L, 63L, 64L, 128L, 40000L, 1L << 40, INT64_MAX}) {
    bigints.push_back({encode_bigint(i)});
    pairs.push_back({encode_int(static_cast<int32_t>(i % 3)), encode_bigint(i)});
    texts.push_back({"text " + std::to_string(i)});
  }
  // A missing value is told apart by a bit set in front.
  pairs.push_back({encode_int(7), Bytes()});
  expect_skips_to_every_row(table_clustered_by({types::bigint()}), bigints);
  expect_skips_to_every_row(table_clustered_by({types::reversed(types::bigint())}), bigints);
  expect_skips_to_every_row(table_clustered_by({types::reversed(types::int_()), types::bigint()}), pairs);
  expect_skips_to_every_row(table_clustered_by({types::text()}), texts);
}

TEST(RowCodecTest, ReadsStaticRowsAndLeavesOutUnwantedColumns) {
  TableHeader all(wide_table(), kStats);
  std::vector<HeaderColumn> columns(all.get().static_columns.begin(), all.get().static_columns.end());
  columns[1].column = nullptr;
  SerializationHeader header = all.get();
  header.static_columns = columns;
  Bytes data = unhex(oracle_result("sstable row", "rich static"));
  Arena arena;
  RowDecoder decoder(header, RowForm::kSstable, arena);
  Reader in(data);
  Row row = decoder.read_static_row(in);
  EXPECT_TRUE(in.at_end() && !in.failed());
  EXPECT_EQ(row.clustering.kind, ClusteringKind::kStaticClustering);
  ASSERT_EQ(row.cells.size(), 1u);
  EXPECT_EQ(row.cells[0].column, wide_table()->column("s"));
  EXPECT_EQ(row.cells[0].value, encode_int(7));
  EXPECT_TRUE(row.complex_deletions.empty());
}

TEST(RowCodecTest, ReadsRowsWithManyColumns) {
  TableHeader header(many_table(), kStats);
  for (const char* name : {"few of many columns", "most of many columns", "all of many columns"}) {
    Bytes data = unhex(oracle_result("sstable row", name));
    Arena arena;
    RowDecoder decoder(header.get(), RowForm::kSstable, arena);
    Reader in(data);
    ASSERT_TRUE(decoder.next(in));
    Unfiltered u;
    decoder.read_body(in, &u);
    Bytes again;
    append_sstable_row(again, header.get(), u.row, name[0] == 'm' ? 300 : 0);
    EXPECT_EQ(to_hex(again), to_hex(data)) << name;
  }
}

TEST(RowCodecTest, FailsOnTruncatedRows) {
  TableHeader header(wide_table(), kStats);
  Bytes data = wide_partition();
  for (size_t n = 0; n < data.size(); ++n) {
    Bytes prefix = data.substr(0, n);
    Arena arena;
    RowDecoder decoder(header.get(), RowForm::kSstable, arena);
    Reader in(prefix);
    Unfiltered u;
    while (decoder.next(in)) decoder.read_body(in, &u);
    EXPECT_TRUE(in.failed()) << n;
  }
}

TEST(RowCodecTest, PartitionDeletions) {
  auto round_trip = [](const DeletionTime& d) {
    Bytes out;
    append_partition_deletion(out, d);
    Reader in(out);
    EXPECT_EQ(read_partition_deletion(in), d);
    EXPECT_TRUE(in.at_end());
    return to_hex(out);
  };
  EXPECT_EQ(round_trip({}), "80");
  EXPECT_EQ(round_trip({0x0102030405060708, 4000000000}), "0102030405060708ee6b2800");

  Bytes live = unhex("7fffffff8000000000000000"), deleted = unhex("6553f1000102030405060708");
  Reader in_live(live), in_deleted(deleted);
  EXPECT_EQ(read_legacy_partition_deletion(in_live), DeletionTime{});
  EXPECT_EQ(read_legacy_partition_deletion(in_deleted), (DeletionTime{0x0102030405060708, 1700000000}));

  Bytes bad = unhex("81");
  Reader in_bad(bad);
  read_partition_deletion(in_bad);
  EXPECT_TRUE(in_bad.failed());
}

TEST(RowCodecTest, EncodingStatsAreRelativeToTheirEpochs) {
  Bytes out;
  append_encoding_stats(out, {});
  EXPECT_EQ(to_hex(out), "000000");
  Bytes stats;
  append_encoding_stats(stats, kStats);
  Reader in(stats);
  EXPECT_EQ(read_encoding_stats(in), kStats);
}

TEST(RowCodecTest, GathersEncodingStats) {
  EXPECT_EQ(EncodingStatsCollector().get(), EncodingStats{});
  EncodingStatsCollector collector;
  RowBuilder row(plain_table());
  row.live(kTs + 3, 50, kNow + 50).tombstone("c1", kTs + 1, kNow + 7).cell("c2", kTs + 2, 9, kNow + 9, "x");
  collector.update(row.build());
  EXPECT_EQ(collector.get(), (EncodingStats{kTs + 1, kNow + 7, 9}));
}

TEST(RowCodecTest, ResolvesColumnsOfTheHeader) {
  TableMetadata table = *wide_table();
  table.dropped_columns["old"] = {nullptr, kTs};
  auto v = resolve_header_column(table, "v", *types::int_(), false);
  ASSERT_TRUE(v.has_value());
  EXPECT_EQ(v->column, table.column("v"));
  EXPECT_EQ(v->fixed_length, 4);
  auto old = resolve_header_column(table, "old", *types::text(), false);
  ASSERT_TRUE(old.has_value());
  EXPECT_EQ(old->column, nullptr);
  EXPECT_EQ(old->fixed_length, -1);
  EXPECT_EQ(resolve_header_column(table, "never", *types::text(), false), std::nullopt);
  EXPECT_EQ(resolve_header_column(table, "v", *types::int_(), true), std::nullopt);
}

}  // namespace
}  // namespace cassandra_like
