// Inserting into a memtable, and merging with what is there.
#include "storage/memtable/memtable.h"

#include <algorithm>

#include "model/counter.h"

namespace cassandra_like {

namespace {

constexpr size_t kFirstChunk = 1024;

// Whether the row has a deletion that covers the cell.
bool is_deleted(const Row& row, const Cell& cell) {
  if (!row.deletion.is_live() && row.deletion.deletes(cell.timestamp)) return true;
  const auto covers = [&cell](const ComplexDeletion& d) {
    return d.deletion.deletes(cell.timestamp) && compare_columns(d.column, cell.column) == 0;
  };
  return std::any_of(row.complex_deletions.begin(), row.complex_deletions.end(), covers);
}

bool is_live_counter(const Cell& c) { return c.column->type->is_counter() && !c.is_tombstone(); }

}  // namespace

const MemtableRow* MemtablePartition::row(BytesView comparable) const {
  if (only_row != nullptr) return only_row;
  if (rows == nullptr) return nullptr;
  auto found = rows->tree.find(RowKey(comparable));
  return found == rows->tree.end() ? nullptr : found->row;
}

const Row& MemtablePartition::static_part() const {
  static const Row none = [] {
    Row row;
    row.clustering = static_clustering();
    return row;
  }();
  return static_row == nullptr ? none : static_row->row;
}

Memtable::Memtable(TablePtr table, CommitLogPosition lower)
    : tables_{std::move(table)}, lower_(lower), arena_(kFirstChunk), scratch_(kFirstChunk), partitions_(&arena_) {}

void Memtable::use_table(TablePtr table) {
  if (table == tables_.back()) return;
  for (const Column* column : seen_) has_old_columns_ |= table->column(column->name) != column;
  tables_.push_back(std::move(table));
}

MemtablePartition* Memtable::make_partition(const DecoratedKey& key) {
  auto* partition = arena_.make<MemtablePartition>();
  partition->key = {key.token, arena_.copy(key.key)};
  return partition;
}

void Memtable::apply(const PartitionUpdate& update) {
  MemtablePartition& partition = partitions_.find_or_insert(update.key, [&] { return make_partition(update.key); });
  if (!update.partition_deletion.is_live()) {
    stats_.update(update.partition_deletion);
    if (update.partition_deletion.supersedes(partition.deletion)) partition.deletion = update.partition_deletion;
  }
  if (!update.static_row.is_empty()) {
    note(update.static_row);
    if (partition.static_row == nullptr) {
      const Row& row = update.static_row;
      partition.static_row = GeneralRow::make(row, arena_.copy(row.clustering.comparable), arena_);
    } else {
      merge_into(*partition.static_row, update.static_row, arena_);
    }
  }
  for (const Row& row : update.rows) {
    note(row);
    put_row(partition, row);
  }
  for (const RangeTombstone& range : update.range_tombstones) {
    if (partition.ranges == nullptr) partition.ranges = &ranges_.emplace_back();
    stats_.update(range.deletion);
    partition.ranges->add({copy_prefix(range.start), copy_prefix(range.end), range.deletion});
  }
}

void Memtable::put_row(MemtablePartition& partition, const Row& row) {
  const TableMetadata& table = *tables_.back();
  if (table.clustering.empty()) {
    if (partition.only_row != nullptr) return merge_into(partition.only_row, row, arena_);
    partition.only_row = MemtableRow::make(table, row, arena_);
    ++row_count_;
    return;
  }
  if (partition.rows == nullptr) {
    partition.rows = new (arena_.allocate(sizeof(PartitionRows), alignof(PartitionRows))) PartitionRows(arena_);
  }
  auto& [arena, tree] = *partition.rows;
  RowKey key(row.clustering.comparable);
  auto at = tree.lower_bound(key);
  if (at != tree.end() && at->prefix == key.prefix && at->row->comparable() == key.comparable) {
    return merge_into(at->row, row, arena);
  }
  tree.emplace_hint(at, RowEntry{key.prefix, MemtableRow::make(table, row, arena)});
  ++row_count_;
}

ClusteringPrefix Memtable::copy_prefix(const ClusteringPrefix& prefix) {
  ClusteringPrefix out = prefix;
  auto values = arena_.make_span<BytesView>(prefix.values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = arena_.copy(prefix.values[i]);
  out.values = values;
  out.comparable = arena_.copy(prefix.comparable);
  return out;
}

void Memtable::merge_into(MemtableRow*& into, const Row& row, Arena& arena) {
  if (into->is_packed()) {
    if (MemtableRow* replacement = into->replaced_by(*tables_.back(), row, arena)) {
      into = replacement;
      return;
    }
  }
  merge_into(into->become_general(arena), row, arena);
}

void Memtable::merge_into(GeneralRow& into, const Row& row, Arena& arena) {
  if (merge_simple(into, row, arena)) return;
  Row copy = copy_row(row, arena);
  const Row* both[] = {&into.row, &copy};
  ClusteringPrefix clustering = into.row.clustering;
  into.row = merge_rows(both, {}, arena);
  into.row.clustering = clustering;
  into.cells = const_cast<Cell*>(into.row.cells.data());
  into.capacity = static_cast<uint32_t>(into.row.cells.size());
}

namespace {

void write_cell(Cell& into, const Cell& from, Arena& arena) {
  BytesView place = into.value;
  into.column = from.column;
  into.timestamp = from.timestamp;
  into.local_deletion_time = from.local_deletion_time;
  into.ttl = from.ttl;
  if (from.value.empty() || from.value.size() > place.size()) {
    into.value = arena.copy(from.value);
    return;
  }
  std::memcpy(const_cast<char*>(place.data()), from.value.data(), from.value.size());
  into.value = place.substr(0, from.value.size());
}

void insert_cell(GeneralRow& into, size_t at, const Cell& cell, Arena& arena) {
  size_t size = into.row.cells.size();
  if (size == into.capacity) {
    // Doubling keeps a collection that grows by appends from filling the arena with its older, shorter selves.
    into.capacity = std::max<uint32_t>(4, into.capacity * 2);
    auto* cells = static_cast<Cell*>(arena.allocate(into.capacity * sizeof(Cell), alignof(Cell)));
    std::copy_n(into.cells, size, cells);
    into.cells = cells;
  }
  std::copy_backward(into.cells + at, into.cells + size, into.cells + size + 1);
  into.cells[at] = cell;
  into.cells[at].value = arena.copy(cell.value);
  into.cells[at].path = arena.copy(cell.path);
  into.row.cells = {into.cells, size + 1};
}

// Where the cell may be, from `at` on: of many cells, not far before it.
size_t first_candidate(const GeneralRow& into, size_t at, const Cell& cell) {
  constexpr size_t kFew = 32;
  const std::span<const Cell> rest = into.row.cells.subspan(at);
  if (rest.size() <= kFew) return at;
  const auto found = std::lower_bound(rest.begin(), rest.end(), cell,
                                      [](const Cell& a, const Cell& b) { return compare_cells(a, b) < 0; });
  return at + static_cast<size_t>(found - rest.begin());
}

}  // namespace

// Updates that delete nothing: cell by cell, in place. False when they do; then nothing has changed yet.
bool Memtable::merge_simple(GeneralRow& into, const Row& row, Arena& arena) {
  if (!row.deletion.is_live() || !row.complex_deletions.empty()) return false;
  bool counters = tables_.back()->is_counter();
  if (counters && !(std::all_of(row.cells.begin(), row.cells.end(), is_live_counter) &&
                    std::all_of(into.row.cells.begin(), into.row.cells.end(), is_live_counter))) {
    return false;
  }
  const DeletionTime& deletion = into.row.deletion;
  if (row.liveness.supersedes(into.row.liveness) && !deletion.deletes(row.liveness.timestamp)) {
    into.row.liveness = row.liveness;
  }
  size_t at = 0;
  for (const Cell& cell : row.cells) {
    if (is_deleted(into.row, cell)) continue;
    at = first_candidate(into, at, cell);
    int order = 1;
    for (; at < into.row.cells.size(); ++at) {
      const Cell& old = into.cells[at];
      bool same = old.column == cell.column && is_null(cell.path);
      order = same ? 0 : compare_cells(old, cell);
      if (order >= 0) break;
    }
    if (order != 0 || at == into.row.cells.size()) {
      insert_cell(into, at, cell, arena);
    } else if (counters) {
      Cell merged = cell;
      merged.value = merge_counter_contexts(into.cells[at].value, cell.value, scratch_);
      merged.timestamp = std::max(into.cells[at].timestamp, cell.timestamp);
      write_cell(into.cells[at], merged, arena);
      scratch_.reset();
    } else if (reconcile(cell, into.cells[at]) > 0) {
      write_cell(into.cells[at], cell, arena);
    }
    ++at;
  }
  return true;
}

void Memtable::note(const Row& row) {
  stats_.update(row);
  size_t at = 0;  // rows mostly have the same columns in the same order
  auto see = [&](const Column* column) {
    if (at < seen_.size() && seen_[at] == column) {
      ++at;
      return;
    }
    auto found = std::find(seen_.begin(), seen_.end(), column);
    at = static_cast<size_t>(found - seen_.begin()) + 1;
    if (found == seen_.end()) seen_.push_back(column);
  };
  for (const Cell& cell : row.cells) see(cell.column);
  for (const ComplexDeletion& deletion : row.complex_deletions) see(deletion.column);
}

std::vector<ColumnPtr> Memtable::columns(bool is_static) const {
  const TableMetadata& table = *tables_.back();
  std::vector<ColumnPtr> out;
  for (const ColumnPtr& column : is_static ? table.static_columns : table.regular_columns) {
    auto same = [&](const Column* seen) { return seen == column.get() || seen->name == column->name; };
    if (std::any_of(seen_.begin(), seen_.end(), same)) out.push_back(column);
  }
  return out;
}

}  // namespace cassandra_like
