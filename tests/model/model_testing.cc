#include "model_testing.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/result.h"

namespace cassandra_like::model_testing {

namespace {

std::map<std::string, std::vector<OracleCase>> read_oracle() {
  std::map<std::string, std::vector<OracleCase>> groups;
  std::ifstream in(SOURCE_DIR "/tests/model/data/model.txt");
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields;
    size_t from = 0;
    for (size_t tab; (tab = line.find('\t', from)) != std::string::npos; from = tab + 1) {
      fields.push_back(line.substr(from, tab - from));
    }
    fields.push_back(line.substr(from));
    groups[fields[0]].push_back({fields[1], {fields.begin() + 2, fields.end()}});
  }
  return groups;
}

Uuid table_id(char digit) {
  std::string id = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  std::replace(id.begin(), id.end(), 'x', digit);
  return *Uuid::parse(id);
}

ColumnPtr column(std::string name, TypePtr type, ColumnKind kind, int position = -1) {
  return std::make_shared<Column>(Column{std::move(name), std::move(type), kind, position, ""});
}

}  // namespace

const std::vector<OracleCase>& oracle(const std::string& group) {
  static const auto groups = read_oracle();
  return groups.at(group);
}

std::string oracle_result(const std::string& group, const std::string& name) {
  for (const OracleCase& c : oracle(group)) {
    if (c.name == name) return c.results.at(0);
  }
  return "no such case";
}

Bytes unhex(std::string_view hex) {
  Bytes out;
  CHECK(from_hex(hex, &out));
  return out;
}

BytesView unhex_or_null(std::string_view hex, Arena& arena) { return hex == "null" ? kNull : arena.copy(unhex(hex)); }

TablePtr plain_table() {
  static const TablePtr table = [] {
    std::vector<ColumnPtr> others;
    for (char c : {'0', '1', '2', '3', '4'}) {
      others.push_back(column(std::string("c") + c, types::blob(), ColumnKind::kRegular));
    }
    return std::make_shared<TableMetadata>("k", "plain", table_id('1'),
                                           std::vector{column("k", types::blob(), ColumnKind::kPartitionKey, 0)},
                                           std::vector<ColumnPtr>{}, others);
  }();
  return table;
}

TablePtr wide_table() {
  static const TablePtr table = [] {
    using enum ColumnKind;
    return std::make_shared<TableMetadata>(
        "k", "wide", table_id('2'), std::vector{column("k", types::text(), kPartitionKey, 0)},
        std::vector{column("a", types::int_(), kClustering, 0),
                    column("b", types::reversed(types::text()), kClustering, 1)},
        std::vector{column("s", types::int_(), kStatic),
                    column("sm", types::map(types::text(), types::int_(), true), kStatic),
                    column("v", types::int_(), kRegular), column("t", types::text(), kRegular),
                    column("l", types::list(types::int_(), true), kRegular),
                    column("m", types::map(types::text(), types::int_(), true), kRegular),
                    column("st", types::set(types::text(), true), kRegular),
                    column("fl", types::list(types::int_(), false), kRegular),
                    column("fm", types::map(types::text(), types::int_(), false), kRegular)});
  }();
  return table;
}

TablePtr many_table() {
  static const TablePtr table = [] {
    std::vector<ColumnPtr> others;
    for (int i = 0; i < 70; ++i) {
      others.push_back(
          column(std::string("r") + (i < 10 ? "0" : "") + std::to_string(i), types::int_(), ColumnKind::kRegular));
    }
    return std::make_shared<TableMetadata>("k", "many", table_id('3'),
                                           std::vector{column("k", types::int_(), ColumnKind::kPartitionKey, 0)},
                                           std::vector<ColumnPtr>{}, others);
  }();
  return table;
}

TablePtr counts_table() {
  static const TablePtr table = [] {
    using enum ColumnKind;
    auto t = std::make_shared<TableMetadata>(
        "k", "counts", table_id('4'),
        std::vector{column("k1", types::text(), kPartitionKey, 0), column("k2", types::int_(), kPartitionKey, 1)},
        std::vector<ColumnPtr>{},
        std::vector{column("c", types::counter(), kRegular), column("d", types::counter(), kRegular)});
    t->flags.counter = true;
    return t;
  }();
  return table;
}

const TableMetadata* table_by_id(const Uuid& id) {
  for (const TablePtr& t : {plain_table(), wide_table(), many_table(), counts_table()}) {
    if (t->id == id) return t.get();
  }
  return nullptr;
}

Arena& program_arena() {
  static Arena arena;
  return arena;
}

RowBuilder& RowBuilder::at(int a, std::string_view b) {
  auto values = arena_->make_span<BytesView>(2);
  values[0] = arena_->copy(encode_int(a));
  values[1] = arena_->copy(b);
  row_.clustering = make_clustering(*table_, values, ClusteringKind::kClustering, *arena_);
  return *this;
}

RowBuilder& RowBuilder::at_static() {
  row_.clustering = static_clustering();
  return *this;
}

RowBuilder& RowBuilder::live(int64_t ts, int32_t ttl, int64_t expires) {
  row_.liveness = {ts, ttl, expires};
  return *this;
}

RowBuilder& RowBuilder::erase(int64_t ts, int64_t seconds) {
  row_.deletion = {ts, seconds};
  return *this;
}

RowBuilder& RowBuilder::set(std::string_view column, int64_t ts, BytesView value) {
  return cell(column, ts, kNoTtl, kNoDeletionTime, value);
}

RowBuilder& RowBuilder::put(std::string_view column, int64_t ts, BytesView path, BytesView value) {
  return cell(column, ts, kNoTtl, kNoDeletionTime, value, path);
}

RowBuilder& RowBuilder::tombstone(std::string_view column, int64_t ts, int64_t seconds) {
  return cell(column, ts, kNoTtl, seconds, "");
}

RowBuilder& RowBuilder::cell(std::string_view column, int64_t ts, int32_t ttl, int64_t seconds, BytesView value,
                             BytesView path) {
  cells_.push_back({table_->column(column), ts, seconds, ttl, arena_->copy(value), arena_->copy(path)});
  return *this;
}

RowBuilder& RowBuilder::erase_all(std::string_view column, int64_t ts, int64_t seconds) {
  deletions_.push_back({table_->column(column), {ts, seconds}});
  return *this;
}

Row RowBuilder::build() {
  std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return compare_cells(a, b) < 0; });
  std::sort(deletions_.begin(), deletions_.end(),
            [](const ComplexDeletion& a, const ComplexDeletion& b) { return compare_columns(a.column, b.column) < 0; });
  Row row = row_;
  row.cells = cells_;
  row.complex_deletions = deletions_;
  return copy_row(row, *arena_);
}

RowBuilder insert_row(int64_t ts) {
  RowBuilder row(plain_table());
  row.live(ts);
  for (char c : {'0', '1', '2', '3', '4'}) {
    row.set(std::string("c") + c, ts, unhex(std::string("a0a1a2a") + c));
  }
  return row;
}

RowBuilder wide_row(int a, std::string_view b) { return RowBuilder(wide_table()).at(a, b); }

Bytes list_path(int i) { return unhex("0000000000001000800000000000000" + std::to_string(i)); }

Bytes frozen_list(std::initializer_list<int> v) {
  Bytes out = encode_int(static_cast<int32_t>(v.size()));
  for (int i : v) append_element(out, encode_int(i));
  return out;
}

UpdateBuilder& UpdateBuilder::erase(int64_t ts, int64_t seconds) {
  update_.partition_deletion = {ts, seconds};
  return *this;
}

UpdateBuilder& UpdateBuilder::static_row(RowBuilder row) {
  update_.static_row = row.build();
  return *this;
}

UpdateBuilder& UpdateBuilder::row(RowBuilder row) {
  rows_.push_back(row.build());
  return *this;
}

UpdateBuilder& UpdateBuilder::range(ClusteringKind from_kind, std::vector<Bytes> from, ClusteringKind to_kind,
                                    std::vector<Bytes> to, int64_t ts, int64_t seconds) {
  ranges_.push_back({bound(from, from_kind), bound(to, to_kind), {ts, seconds}});
  return *this;
}

ClusteringPrefix UpdateBuilder::bound(const std::vector<Bytes>& values, ClusteringKind kind) {
  auto views = arena_.make_span<BytesView>(values.size());
  for (size_t i = 0; i < values.size(); ++i) views[i] = arena_.copy(values[i]);
  return make_clustering(*table_, views, kind, arena_);
}

const PartitionUpdate& UpdateBuilder::build() {
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.clustering.comparable < b.clustering.comparable; });
  update_.table = table_.get();
  update_.key = DecoratedKey::of(key_);
  update_.rows = rows_;
  update_.range_tombstones = ranges_;
  return update_;
}

Bytes UpdateBuilder::serialized() {
  Mutation mutation{table_->keyspace, DecoratedKey::of(key_), std::span(&build(), 1)};
  Bytes out;
  serialize(mutation, out);
  return out;
}

void build_rich(UpdateBuilder* out) {
  out->static_row(RowBuilder(wide_table())
                      .at_static()
                      .set("s", kTs, encode_int(7))
                      .erase_all("sm", kTs - 1, kNow)
                      .put("sm", kTs, "x", encode_int(1))
                      .put("sm", kTs, "y", encode_int(2)));
  out->row(wide_row(1, "b")
               .live(kTs)
               .set("v", kTs, encode_int(5))
               .tombstone("t", kTs, kNow)
               .put("l", kTs, list_path(1), encode_int(10))
               .put("l", kTs, list_path(2), encode_int(20)));
  out->row(wide_row(1, "a")
               .live(kTs + 5, 100, kNow + 100)
               .cell("v", kTs + 5, 100, kNow + 100, encode_int(6))
               .cell("t", kTs + 6, 200, kNow + 200, "six"));
  out->row(wide_row(2, "").erase(kTs + 7, kNow + 7));
  out->row(wide_row(3, "c")
               .erase_all("m", kTs, kNow)
               .put("m", kTs + 1, "k", encode_int(1))
               .erase_all("st", kTs, kNow)
               .put("l", kTs, list_path(1), encode_int(9))
               .set("fl", kTs, frozen_list({1, 2})));
}

void build_ranges(UpdateBuilder* out) {
  using enum ClusteringKind;
  auto i = [](int v) { return encode_int(v); };
  out->range(kInclStartBound, {i(1)}, kExclEndBound, {i(2)}, kTs, kNow);
  out->range(kInclStartBound, {i(2)}, kInclEndBound, {i(4)}, kTs + 1, kNow + 1);
  out->range(kExclStartBound, {i(5), "x"}, kInclEndBound, {i(5)}, kTs + 2, kNow);
  out->range(kExclStartBound, {i(9)}, kInclEndBound, {}, kTs + 3, kNow);
  out->row(wide_row(0, "z").set("v", kTs, i(0)));
  out->row(wide_row(2, "q").set("v", kTs + 9, i(2)));
  out->row(wide_row(5, "y").live(kTs + 9));
  out->row(wide_row(5, "a").live(kTs + 9));
  out->row(wide_row(7, "a").set("t", kTs + 9, "seven"));
}

}  // namespace cassandra_like::model_testing
