#include "storage/memtable/memtable_row.h"

#include <algorithm>

namespace cassandra_like {

namespace {

constexpr size_t kMostPacked = size_t{1} << 29;  // bytes of values

// The age that all of a packed row has. It is a cell's where the row has no liveness, and the other way round.
Liveness age_of(const Row& row) {
  if (!row.liveness.is_empty()) return row.liveness;
  const Cell& cell = row.cells[0];
  return {cell.timestamp, cell.ttl, cell.local_deletion_time};
}

bool is_of(const Cell& cell, const Liveness& age) {
  return cell.timestamp == age.timestamp && cell.ttl == age.ttl &&
         cell.local_deletion_time == age.local_expiration_time;
}

// Without an end, or with one that fits in 32 bits as Cassandra's do.
bool may_be_packed(const Liveness& age) {
  if (!age.is_expiring()) return age.local_expiration_time == kNoDeletionTime;
  return age.ttl != kExpiredLivenessTtl && age.local_expiration_time >= 0 &&
         age.local_expiration_time <= kInvalidDeletionTime;
}

bool can_pack(const TableMetadata& table, const Row& row) {
  if (!row.deletion.is_live() || !row.complex_deletions.empty() || table.is_counter()) return false;
  if (row.clustering.kind != ClusteringKind::kClustering) return false;
  if (row.clustering.values.size() != table.clustering.size()) return false;
  if (row.liveness.is_empty() && row.cells.empty()) return false;
  // With many columns without a value, the sizes alone would take more than a cell.
  const auto& columns = table.regular_columns;
  if (columns.size() * sizeof(uint32_t) > (row.cells.size() + 1) * sizeof(Cell)) return false;
  if (std::any_of(row.clustering.values.begin(), row.clustering.values.end(), is_null)) return false;
  const Liveness age = age_of(row);
  if (!may_be_packed(age)) return false;
  size_t at = 0, bytes = 0;
  for (const Cell& cell : row.cells) {
    if (!is_of(cell, age)) return false;
    while (at < columns.size() && columns[at].get() != cell.column) ++at;
    if (at == columns.size() || cell.column->is_complex() || is_null(cell.value)) return false;
    ++at;
    bytes += cell.value.size();
  }
  return bytes < kMostPacked;
}

size_t bytes_of(std::span<const Cell> cells) {
  size_t bytes = 0;
  for (const Cell& cell : cells) bytes += cell.value.size();
  return bytes;
}

}  // namespace

GeneralRow* GeneralRow::make(const Row& row, BytesView comparable, Arena& arena) {
  auto* out = arena.make<GeneralRow>();
  auto values = arena.make_span<BytesView>(row.clustering.values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = arena.copy(row.clustering.values[i]);
  auto cells = arena.make_span<Cell>(row.cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = row.cells[i];
    cells[i].value = arena.copy(row.cells[i].value);
    cells[i].path = arena.copy(row.cells[i].path);
  }
  auto deletions = arena.make_span<ComplexDeletion>(row.complex_deletions.size());
  std::copy(row.complex_deletions.begin(), row.complex_deletions.end(), deletions.begin());
  out->row = {{row.clustering.kind, values, comparable}, row.liveness, row.deletion, cells, deletions};
  // A row may come with cells that its own deletions cover.
  if (!row.deletion.is_live() || !row.complex_deletions.empty()) {
    const Row* self = &out->row;
    out->row = merge_rows({&self, 1}, {}, arena);
  }
  out->cells = const_cast<Cell*>(out->row.cells.data());
  out->capacity = static_cast<uint32_t>(out->row.cells.size());
  return out;
}

MemtableRow* MemtableRow::make(const TableMetadata& table, const Row& row, Arena& arena) {
  if (can_pack(table, row)) return make_packed(table, row, arena);
  MemtableRow* out = allocate(row.clustering.comparable, 0, arena);
  out->general_ = GeneralRow::make(row, out->comparable(), arena);
  return out;
}

MemtableRow* MemtableRow::allocate(BytesView comparable, size_t more, Arena& arena) {
  void* place = arena.allocate(sizeof(MemtableRow) + comparable.size() + more, alignof(MemtableRow));
  auto* out = new (place) MemtableRow();
  out->comparable_size_ = static_cast<uint32_t>(comparable.size());
  std::memcpy(out->bytes(), comparable.data(), comparable.size());
  return out;
}

MemtableRow* MemtableRow::make_packed(const TableMetadata& table, const Row& row, Arena& arena) {
  const auto& clustering = row.clustering.values;
  const size_t capacity = needed_for(row);
  size_t more = (table.clustering.size() + table.regular_columns.size()) * sizeof(uint32_t) + capacity;
  for (BytesView value : clustering) more += value.size();
  MemtableRow* out = allocate(row.clustering.comparable, more, arena);
  out->table_ = &table;
  out->capacity_ = static_cast<uint32_t>(capacity);
  char* to = const_cast<char*>(out->values());
  for (size_t i = 0; i < clustering.size(); ++i) {
    out->put_size(i, static_cast<uint32_t>(clustering[i].size()));
    std::memcpy(to, clustering[i].data(), clustering[i].size());
    to += clustering[i].size();
  }
  out->write(row);
  return out;
}

const char* MemtableRow::values() const {
  return sizes() + (table_->clustering.size() + table_->regular_columns.size()) * sizeof(uint32_t);
}

uint32_t MemtableRow::size_at(size_t i) const {
  uint32_t size;
  std::memcpy(&size, sizes() + i * sizeof size, sizeof size);
  return size;
}

void MemtableRow::put_size(size_t i, uint32_t size) {
  std::memcpy(const_cast<char*>(sizes()) + i * sizeof size, &size, sizeof size);
}

size_t MemtableRow::clustering_bytes() const {
  size_t bytes = 0;
  for (size_t i = 0; i < table_->clustering.size(); ++i) bytes += size_at(i);
  return bytes;
}

MemtableRow::End MemtableRow::end() const {
  End end;
  std::memcpy(&end, values() + clustering_bytes(), sizeof end);
  return end;
}

size_t MemtableRow::needed_for(const Row& row) {
  return bytes_of(row.cells) + (age_of(row).is_expiring() ? sizeof(End) : 0);
}

// All but the clustering.
void MemtableRow::write(const Row& row) {
  const Liveness age = age_of(row);
  timestamp_ = age.timestamp;
  has_liveness_ = !row.liveness.is_empty();
  expires_ = age.is_expiring();
  char* to = const_cast<char*>(values()) + clustering_bytes();
  if (expires_) {
    const End end{age.ttl, static_cast<uint32_t>(age.local_expiration_time)};
    std::memcpy(to, &end, sizeof end);
    to += sizeof end;
  }
  const size_t clustering = table_->clustering.size();
  const auto& columns = table_->regular_columns;
  auto cell = row.cells.begin();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (cell == row.cells.end() || cell->column != columns[i].get()) {
      put_size(clustering + i, kAbsent);
      continue;
    }
    put_size(clustering + i, static_cast<uint32_t>(cell->value.size()));
    std::memcpy(to, cell->value.data(), cell->value.size());
    to += cell->value.size();
    ++cell;
  }
}

Liveness MemtableRow::age() const {
  if (!expires_) return {timestamp_, kNoTtl, kNoDeletionTime};
  return {timestamp_, end().ttl, end().expiration};
}

UniformRow MemtableRow::uniform(std::vector<BytesView>& views) const {
  const size_t clustering = table_->clustering.size(), n = clustering + table_->regular_columns.size();
  views.resize(n);
  const char* at = values();
  for (size_t i = 0; i < n; ++i) {
    if (i == clustering && expires_) at += sizeof(End);
    const uint32_t size = size_at(i);
    if (size == kAbsent) {
      views[i] = kNull;
    } else {
      views[i] = {at, size};
      at += size;
    }
  }
  std::span<const BytesView> all(views);
  return {{ClusteringKind::kClustering, all.first(clustering), comparable()}, all.subspan(clustering)};
}

UniformRow MemtableRow::uniform_with_age(std::vector<BytesView>& views) const {
  UniformRow row = uniform(views);
  row.age = age();
  row.has_liveness = has_liveness_ != 0;
  return row;
}

Row MemtableRow::row(Arena& arena) const {
  if (!is_packed()) return general_->row;
  const size_t clustering = table_->clustering.size();
  const auto& columns = table_->regular_columns;
  auto prefix = arena.make_span<BytesView>(clustering);
  auto* cells = static_cast<Cell*>(arena.allocate(columns.size() * sizeof(Cell), alignof(Cell)));
  const char* at = values();
  for (size_t i = 0; i < clustering; at += prefix[i++].size()) prefix[i] = {at, size_at(i)};
  const Liveness age = this->age();
  if (expires_) at += sizeof(End);
  size_t n = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint32_t size = size_at(clustering + i);
    if (size == kAbsent) continue;
    new (cells + n++) Cell{columns[i].get(), age.timestamp, age.local_expiration_time, age.ttl, {at, size}, kNull};
    at += size;
  }
  Row out;
  out.clustering = {ClusteringKind::kClustering, prefix, comparable()};
  if (has_liveness_) out.liveness = age;
  out.cells = {cells, n};
  return out;
}

bool MemtableRow::has_all_of(const Row& row) const {
  if (!row.liveness.is_empty() && !has_liveness_) return false;
  const auto& columns = table_->regular_columns;
  size_t at = 0;
  return std::all_of(row.cells.begin(), row.cells.end(), [&](const Cell& cell) {
    while (columns[at].get() != cell.column) ++at;
    return size_at(table_->clustering.size() + at) != kAbsent;
  });
}

bool MemtableRow::is_all_in(const Row& row) const {
  if (has_liveness_ && row.liveness.is_empty()) return false;
  const auto& columns = table_->regular_columns;
  auto cell = row.cells.begin();
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool given = cell != row.cells.end() && cell->column == columns[i].get();
    if (given) ++cell;
    if (!given && size_at(table_->clustering.size() + i) != kAbsent) return false;
  }
  return true;
}

// Whether the write repeats the row. The clustering is known to be the same.
bool MemtableRow::is_same(const Row& row) const {
  const Liveness age = age_of(row);
  if (age.timestamp != timestamp_ || age.is_expiring() != expires_ || row.liveness.is_empty() == has_liveness_)
    return false;
  const char* at = values() + clustering_bytes();
  if (expires_) {
    if (age.ttl != end().ttl || age.local_expiration_time != end().expiration) return false;
    at += sizeof(End);
  }
  const auto& columns = table_->regular_columns;
  auto cell = row.cells.begin();
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint32_t size = size_at(table_->clustering.size() + i);
    const bool given = cell != row.cells.end() && cell->column == columns[i].get();
    if (given != (size != kAbsent)) return false;
    if (!given) continue;
    if (cell->value != BytesView(at, size)) return false;
    at += size;
    ++cell;
  }
  return true;
}

MemtableRow* MemtableRow::replaced_by(const TableMetadata& table, const Row& row, Arena& arena) {
  if (&table != table_ || !can_pack(table, row)) return nullptr;
  const int64_t timestamp = age_of(row).timestamp;
  if (timestamp < timestamp_) return has_all_of(row) ? this : nullptr;
  if (timestamp == timestamp_) return is_same(row) ? this : nullptr;
  if (!is_all_in(row)) return nullptr;
  MemtableRow* out = this;
  if (const size_t needed = needed_for(row); needed > capacity_) {
    // The clustering stays as it was written first.
    const size_t kept = static_cast<size_t>(values() - sizes()) + clustering_bytes();
    out = allocate(comparable(), kept + needed, arena);
    out->table_ = table_;
    out->capacity_ = static_cast<uint32_t>(needed);
    std::memcpy(out->bytes() + comparable_size_, sizes(), kept);
  }
  out->write(row);
  return out;
}

GeneralRow& MemtableRow::become_general(Arena& arena) {
  if (!is_packed()) return *general_;
  auto* general = arena.make<GeneralRow>();
  general->row = row(arena);
  general->cells = const_cast<Cell*>(general->row.cells.data());
  general->capacity = static_cast<uint32_t>(table_->regular_columns.size());
  table_ = nullptr;
  general_ = general;
  return *general;
}

}  // namespace cassandra_like
