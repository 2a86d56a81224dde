#include "schema/internal_table.h"

#include <algorithm>

#include "model/values.h"

namespace cassandra_like {
namespace {

// The order of the elements of a multi-cell collection: a list's are ordered by time.
const Type& path_type(const Column& column) {
  static const TypePtr kTimeuuid = types::timeuuid();
  return column.type->kind() == TypeKind::kList ? *kTimeuuid : *column.type->elements()[0];
}

}  // namespace

UpdateBuilder::UpdateBuilder(TablePtr table, std::vector<Bytes> partition_key, int64_t timestamp_micros, Arena& arena)
    : table_(std::move(table)), arena_(arena), timestamp_(timestamp_micros) {
  std::vector<BytesView> components(partition_key.begin(), partition_key.end());
  key_ = serialize_partition_key(components);
}

ClusteringPrefix UpdateBuilder::position(const std::vector<Bytes>& values, ClusteringKind kind) {
  auto views = arena_.make_span<BytesView>(values.size());
  for (size_t i = 0; i < values.size(); ++i) views[i] = arena_.copy(values[i]);
  return make_clustering(*table_, views, kind, arena_);
}

UpdateBuilder& UpdateBuilder::row(std::vector<Bytes> clustering) {
  PendingRow row;
  row.clustering = position(clustering, ClusteringKind::kClustering);
  row.liveness.timestamp = timestamp_;
  if (ttl_ != 0) {
    row.liveness.ttl = ttl_;
    row.liveness.local_expiration_time = timestamp_ / 1000000 + ttl_;
  }
  rows_.push_back(std::move(row));
  return *this;
}

Cell UpdateBuilder::cell(const Column* column, BytesView value) const {
  CHECK(column != nullptr);
  Cell cell;
  cell.column = column;
  cell.timestamp = timestamp_;
  if (is_null(value)) {
    cell.local_deletion_time = timestamp_ / 1000000;
    cell.value = BytesView("", 0);
  } else {
    cell.value = arena_.copy(value);
    if (ttl_ != 0) {
      cell.ttl = ttl_;
      cell.local_deletion_time = timestamp_ / 1000000 + ttl_;
    }
  }
  return cell;
}

UpdateBuilder& UpdateBuilder::set(std::string_view column, BytesView value) {
  rows_.back().cells.push_back(cell(table_->column(column), value));
  return *this;
}

UpdateBuilder& UpdateBuilder::element(std::string_view column, BytesView path, BytesView value) {
  Cell element = cell(table_->column(column), value);
  element.path = arena_.copy(path);
  rows_.back().cells.push_back(element);
  return *this;
}

UpdateBuilder& UpdateBuilder::replace(std::string_view column) {
  // One microsecond earlier, so that the elements which follow survive it.
  rows_.back().complex_deletions.push_back({table_->column(column), {timestamp_ - 1, timestamp_ / 1000000}});
  return *this;
}

UpdateBuilder& UpdateBuilder::ttl(int32_t seconds) {
  ttl_ = seconds;
  return *this;
}

UpdateBuilder& UpdateBuilder::delete_previous() {
  rows_.back().deletion = {timestamp_ - 1, timestamp_ / 1000000};
  return *this;
}

UpdateBuilder& UpdateBuilder::delete_partition() {
  partition_deletion_ = {timestamp_, timestamp_ / 1000000};
  return *this;
}

UpdateBuilder& UpdateBuilder::delete_prefix(std::vector<Bytes> clustering) {
  DeletionTime deletion{timestamp_, timestamp_ / 1000000};
  if (clustering.size() == table_->clustering.size()) {
    PendingRow row;
    row.clustering = position(clustering, ClusteringKind::kClustering);
    row.deletion = deletion;
    rows_.push_back(std::move(row));
  } else {
    tombstones_.push_back({position(clustering, ClusteringKind::kInclStartBound),
                           position(clustering, ClusteringKind::kInclEndBound), deletion});
  }
  return *this;
}

PartitionUpdate UpdateBuilder::build() {
  auto by_position = [](const auto& a, const auto& b) { return a.clustering.comparable < b.clustering.comparable; };
  std::stable_sort(rows_.begin(), rows_.end(), by_position);
  std::sort(tombstones_.begin(), tombstones_.end(),
            [](const auto& a, const auto& b) { return a.start.comparable < b.start.comparable; });
  auto rows = arena_.make_span<Row>(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    PendingRow& from = rows_[i];
    std::stable_sort(from.cells.begin(), from.cells.end(), [](const Cell& a, const Cell& b) {
      int order = compare_columns(a.column, b.column);
      if (order != 0) return order < 0;
      return a.column->is_complex() && path_type(*a.column).compare(a.path, b.path) < 0;
    });
    std::sort(from.complex_deletions.begin(), from.complex_deletions.end(),
              [](const auto& a, const auto& b) { return compare_columns(a.column, b.column) < 0; });
    auto cells = arena_.make_span<Cell>(from.cells.size());
    std::copy(from.cells.begin(), from.cells.end(), cells.begin());
    auto complex = arena_.make_span<ComplexDeletion>(from.complex_deletions.size());
    std::copy(from.complex_deletions.begin(), from.complex_deletions.end(), complex.begin());
    rows[i] = Row{from.clustering, from.liveness, from.deletion, cells, complex};
  }
  auto tombstones = arena_.make_span<RangeTombstone>(tombstones_.size());
  std::copy(tombstones_.begin(), tombstones_.end(), tombstones.begin());
  PartitionUpdate update;
  update.table = table_.get();
  update.key = DecoratedKey::of(arena_.copy(key_));
  update.partition_deletion = partition_deletion_;
  update.rows = rows;
  update.range_tombstones = tombstones;
  return update;
}

const Bytes& InternalRow::get(std::string_view column) const {
  static const Bytes kAbsent;
  auto it = values.find(column);
  return it == values.end() ? kAbsent : it->second;
}

int32_t InternalRow::integer(std::string_view column) const {
  const Bytes& value = get(column);
  return value.size() == 4 ? decode_int(value) : 0;
}

bool InternalRow::boolean(std::string_view column) const {
  const Bytes& value = get(column);
  return value.size() == 1 && value[0] != 0;
}

double InternalRow::real(std::string_view column) const {
  const Bytes& value = get(column);
  return value.size() == 8 ? decode_double(value) : 0;
}

std::optional<Uuid> InternalRow::uuid(std::string_view column) const {
  const Bytes& value = get(column);
  if (value.size() != 16) return std::nullopt;
  return Uuid::from_bytes(value);
}

std::map<std::string, std::string> InternalRow::text_map(std::string_view column) const {
  std::map<std::string, std::string> map;
  const Bytes& value = get(column);
  if (value.size() < 4) return map;
  Reader in(value);
  int32_t pairs = in.i32();
  for (int32_t i = 0; i < pairs && !in.failed(); ++i) {
    auto key = in.take(in.u32());
    auto mapped = in.take(in.u32());
    if (!in.failed()) map.emplace(key, mapped);
  }
  return map;
}

std::vector<std::string> InternalRow::text_list(std::string_view column) const {
  std::vector<std::string> list;
  const Bytes& value = get(column);
  if (value.size() < 4) return list;
  auto elements = ElementReader::collection(value);
  BytesView element;
  while (elements.next(&element)) list.emplace_back(element);
  return list;
}

RowSink::Next InternalRows::begin_partition(const DecoratedKey& key, const Row& static_row) {
  prototype_ = {};
  auto components = split_partition_key(*table_, key.key);
  for (size_t i = 0; i < components.size(); ++i) {
    prototype_.values.emplace(table_->partition_key[i]->name, components[i]);
  }
  for (const Cell& cell : static_row.cells) prototype_.values.emplace(cell.column->name, cell.value);
  return Next::kContinue;
}

RowSink::Next InternalRows::row(const Row& row) {
  InternalRow result = prototype_;
  for (size_t i = 0; i < row.clustering.values.size(); ++i) {
    result.values.emplace(table_->clustering[i]->name, row.clustering.values[i]);
  }
  for (const Cell& cell : row.cells) {
    if (cell.column->is_complex()) {
      result.elements[cell.column->name].emplace(cell.path, cell.value);
    } else {
      result.values.emplace(cell.column->name, cell.value);
    }
  }
  rows.push_back(std::move(result));
  return Next::kContinue;
}

Bytes encode_text_map(const std::map<std::string, std::string>& map) {
  Bytes out;
  append_be<int32_t>(out, static_cast<int32_t>(map.size()));
  for (const auto& [key, value] : map) {
    append_element(out, key);
    append_element(out, value);
  }
  return out;
}

Bytes encode_text_list(const std::vector<std::string>& list) {
  Bytes out;
  append_be<int32_t>(out, static_cast<int32_t>(list.size()));
  for (const auto& text : list) append_element(out, text);
  return out;
}

}  // namespace cassandra_like
