// Inserting into a memtable, and merging with what is there.
#include "storage/memtable/memtable.h"

#include <algorithm>

#include "model/counter.h"

namespace cassandra_like {

namespace {

constexpr size_t kFirstChunk = 1024;

bool is_live_counter(const Cell& c) { return c.column->type->is_counter() && !c.is_tombstone(); }

}  // namespace

const MemtableRow* MemtablePartition::row(BytesView comparable) const {
  if (only_row != nullptr) return only_row;
  if (rows == nullptr) return nullptr;
  auto found = rows->find(RowKey(comparable));
  return found == rows->end() ? nullptr : found->row;
}

Memtable::Memtable(TablePtr table, CommitLogPosition lower)
    : tables_{std::move(table)},
      lower_(lower),
      arena_(kFirstChunk),
      scratch_(kFirstChunk),
      partitions_(PartitionOrder(), ArenaAllocator<PartitionEntry>(&arena_)) {}

void Memtable::use_table(TablePtr table) {
  if (table == tables_.back()) return;
  for (const Column* column : seen_) has_old_columns_ |= table->column(column->name) != column;
  tables_.push_back(std::move(table));
}

const MemtablePartition* Memtable::find(const DecoratedKey& key) const {
  auto found = partitions_.find(key);
  return found == partitions_.end() ? nullptr : found->partition;
}

void Memtable::apply(const PartitionUpdate& update) {
  auto at = partitions_.lower_bound(update.key);
  if (at == partitions_.end() || at->token != update.key.token || at->partition->key.key != update.key.key) {
    auto* made = arena_.make<MemtablePartition>();
    made->key = {update.key.token, arena_.copy(update.key.key)};
    at = partitions_.emplace_hint(at, PartitionEntry{update.key.token, made});
  }
  MemtablePartition& partition = *at->partition;
  if (!update.partition_deletion.is_live()) {
    stats_.update(update.partition_deletion);
    if (update.partition_deletion.supersedes(partition.deletion)) partition.deletion = update.partition_deletion;
  }
  if (!update.static_row.is_empty()) {
    note(update.static_row);
    if (partition.static_row == nullptr) {
      partition.static_row = make_row(update.static_row);
    } else {
      merge_into(*partition.static_row, update.static_row);
    }
  }
  for (const Row& row : update.rows) {
    note(row);
    bool made = false;
    MemtableRow* into = find_or_make(partition, row, &made);
    if (made) {
      ++row_count_;
    } else {
      merge_into(*into, row);
    }
  }
  for (const RangeTombstone& range : update.range_tombstones) {
    if (partition.ranges == nullptr) partition.ranges = &ranges_.emplace_back();
    stats_.update(range.deletion);
    partition.ranges->add({copy_prefix(range.start), copy_prefix(range.end), range.deletion});
  }
}

MemtableRow* Memtable::find_or_make(MemtablePartition& partition, const Row& row, bool* made) {
  if (tables_.back()->clustering.empty()) {
    if (partition.only_row == nullptr) {
      partition.only_row = make_row(row);
      *made = true;
    }
    return partition.only_row;
  }
  if (partition.rows == nullptr) {
    partition.rows =
        new (arena_.allocate(sizeof(RowTree), alignof(RowTree))) RowTree(RowOrder(), ArenaAllocator<RowEntry>(&arena_));
  }
  RowKey key(row.clustering.comparable);
  auto at = partition.rows->lower_bound(key);
  if (at != partition.rows->end() && at->prefix == key.prefix && at->row->row.clustering.comparable == key.comparable) {
    return at->row;
  }
  *made = true;
  MemtableRow* fresh = make_row(row);
  partition.rows->emplace_hint(at, RowEntry{key.prefix, fresh});
  return fresh;
}

ClusteringPrefix Memtable::copy_prefix(const ClusteringPrefix& prefix) {
  ClusteringPrefix out = prefix;
  auto values = arena_.make_span<BytesView>(prefix.values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = arena_.copy(prefix.values[i]);
  out.values = values;
  out.comparable = arena_.copy(prefix.comparable);
  return out;
}

Cell Memtable::copy_cell(const Cell& cell) {
  Cell out = cell;
  out.value = arena_.copy(cell.value);
  out.path = arena_.copy(cell.path);
  return out;
}

MemtableRow* Memtable::make_row(const Row& row) {
  auto* out = arena_.make<MemtableRow>();
  out->row = row;
  out->row.clustering = copy_prefix(row.clustering);
  out->capacity = static_cast<uint32_t>(row.cells.size());
  out->cells = static_cast<Cell*>(arena_.allocate(row.cells.size() * sizeof(Cell), alignof(Cell)));
  for (size_t i = 0; i < row.cells.size(); ++i) new (out->cells + i) Cell(copy_cell(row.cells[i]));
  out->row.cells = {out->cells, row.cells.size()};
  auto deletions = arena_.make_span<ComplexDeletion>(row.complex_deletions.size());
  std::copy(row.complex_deletions.begin(), row.complex_deletions.end(), deletions.begin());
  out->row.complex_deletions = deletions;
  // A row may come with cells that its own deletions cover.
  if (!row.deletion.is_live() || !row.complex_deletions.empty()) {
    const Row* self = &out->row;
    Row merged = merge_rows({&self, 1}, {}, arena_);
    out->row = merged;
    out->cells = const_cast<Cell*>(merged.cells.data());
    out->capacity = static_cast<uint32_t>(merged.cells.size());
  }
  return out;
}

void Memtable::merge_into(MemtableRow& into, const Row& row) {
  if (!merge_simple(into, row)) merge_general(into, row);
}

void Memtable::write_cell(Cell& into, const Cell& from) {
  BytesView place = into.value;
  into.column = from.column;
  into.timestamp = from.timestamp;
  into.local_deletion_time = from.local_deletion_time;
  into.ttl = from.ttl;
  if (from.value.empty() || from.value.size() > place.size()) {
    into.value = arena_.copy(from.value);
    return;
  }
  std::memcpy(const_cast<char*>(place.data()), from.value.data(), from.value.size());
  into.value = place.substr(0, from.value.size());
}

void Memtable::insert_cell(MemtableRow& into, size_t at, const Cell& cell) {
  size_t size = into.row.cells.size();
  if (size == into.capacity) {
    // Doubling keeps a collection that grows by appends from filling the arena with its older, shorter selves.
    into.capacity = std::max<uint32_t>(4, into.capacity * 2);
    auto* cells = static_cast<Cell*>(arena_.allocate(into.capacity * sizeof(Cell), alignof(Cell)));
    std::copy_n(into.cells, size, cells);
    into.cells = cells;
  }
  std::copy_backward(into.cells + at, into.cells + size, into.cells + size + 1);
  into.cells[at] = copy_cell(cell);
  into.row.cells = {into.cells, size + 1};
}

// Updates that delete nothing: cell by cell, in place. False when the row needs merge_general(); then nothing has
// changed yet.
bool Memtable::merge_simple(MemtableRow& into, const Row& row) {
  if (!row.deletion.is_live() || !row.complex_deletions.empty() || !into.row.complex_deletions.empty()) return false;
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
    if (!deletion.is_live() && deletion.deletes(cell.timestamp)) continue;
    int order = 1;
    for (; at < into.row.cells.size(); ++at) {
      const Cell& old = into.cells[at];
      bool same = old.column == cell.column && is_null(cell.path);
      order = same ? 0 : compare_cells(old, cell);
      if (order >= 0) break;
    }
    if (order != 0 || at == into.row.cells.size()) {
      insert_cell(into, at, cell);
    } else if (counters) {
      Cell merged = cell;
      merged.value = merge_counter_contexts(into.cells[at].value, cell.value, scratch_);
      merged.timestamp = std::max(into.cells[at].timestamp, cell.timestamp);
      write_cell(into.cells[at], merged);
      scratch_.reset();
    } else if (reconcile(cell, into.cells[at]) > 0) {
      write_cell(into.cells[at], cell);
    }
    ++at;
  }
  return true;
}

void Memtable::merge_general(MemtableRow& into, const Row& row) {
  Row copy = copy_row(row, arena_);
  const Row* both[] = {&into.row, &copy};
  ClusteringPrefix clustering = into.row.clustering;
  into.row = merge_rows(both, {}, arena_);
  into.row.clustering = clustering;
  into.cells = const_cast<Cell*>(into.row.cells.data());
  into.capacity = static_cast<uint32_t>(into.row.cells.size());
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
