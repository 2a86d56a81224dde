#include "model/row.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "model/counter.h"

namespace cassandra_like {

namespace {

int sign(int c) { return c < 0 ? -1 : c > 0; }

// The order of a complex column's cells: of the elements of a set, the keys of a map, the time uuids that a list
// gives its elements, the positions of a UDT's fields.
int compare_paths(const Column& column, BytesView a, BytesView b) {
  if (a == b) return 0;
  static const TypePtr list_paths = types::timeuuid();
  static const TypePtr field_positions = types::smallint();
  switch (column.type->kind()) {
    case TypeKind::kList:
      return list_paths->compare(a, b);
    case TypeKind::kUdt:
      return field_positions->compare(a, b);
    default:
      return column.type->elements()[0]->compare(a, b);
  }
}

bool is_counter_cell(const Cell& c) { return c.column->type->is_counter() && !c.is_tombstone(); }

Cell merge_counters(const Cell& a, const Cell& b, Arena& arena) {
  // A tombstone wins whatever its timestamp: counters cannot be deleted and then used again.
  if (a.is_tombstone() != b.is_tombstone()) return a.is_tombstone() ? a : b;
  if (a.value.empty() || b.value.empty()) {
    // The value of a column that was not asked for.
    if (a.value.empty() != b.value.empty()) return a.value.empty() ? a : b;
    return a.timestamp > b.timestamp ? a : b;
  }
  Cell merged = a;
  merged.value = merge_counter_contexts(a.value, b.value, arena);
  merged.timestamp = std::max(a.timestamp, b.timestamp);
  return merged;
}

Cell merge_cells(const Cell& a, const Cell& b, Arena& arena) {
  if (a.timestamp != b.timestamp && !a.column->type->is_counter()) return a.timestamp > b.timestamp ? a : b;
  if (is_counter_cell(a) || is_counter_cell(b)) return merge_counters(a, b, arena);
  return reconcile(a, b) >= 0 ? a : b;
}

// The deletions over the cells of a row: its own or an enclosing one, and those of its complex columns that go further.
class ActiveDeletions {
 public:
  ActiveDeletions(const DeletionTime& row, std::span<const ComplexDeletion> complex) : row_(row), complex_(complex) {}

  bool none() const { return row_.is_live() && complex_.empty(); }
  bool deletes(const Cell& cell) const {
    if (row_.deletes(cell.timestamp)) return true;
    if (complex_.empty() || is_null(cell.path)) return false;
    for (const ComplexDeletion& d : complex_) {
      if (d.column == cell.column || compare_columns(d.column, cell.column) == 0) {
        return d.deletion.deletes(cell.timestamp);
      }
    }
    return false;
  }

 private:
  const DeletionTime& row_;
  std::span<const ComplexDeletion> complex_;
};

template <class T>
T* allocate(Arena& arena, size_t n) {
  return static_cast<T*>(arena.allocate(n * sizeof(T), alignof(T)));
}

std::span<const ComplexDeletion> merge_complex_deletions(std::span<const ComplexDeletion> a,
                                                         std::span<const ComplexDeletion> b, Arena& arena) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  auto* out = allocate<ComplexDeletion>(arena, a.size() + b.size());
  size_t n = 0, i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    int c = i == a.size() ? 1 : j == b.size() ? -1 : compare_columns(a[i].column, b[j].column);
    if (c == 0) {
      out[n++] = b[j].deletion.supersedes(a[i].deletion) ? b[j] : a[i];
      ++i, ++j;
    } else {
      out[n++] = c < 0 ? a[i++] : b[j++];
    }
  }
  return {out, n};
}

// The deletions that delete more than `active` does.
std::span<const ComplexDeletion> superseding(std::span<const ComplexDeletion> deletions, const DeletionTime& active,
                                             Arena& arena) {
  auto goes_further = [&](const ComplexDeletion& d) { return d.deletion.supersedes(active); };
  if (std::all_of(deletions.begin(), deletions.end(), goes_further)) return deletions;
  auto* out = allocate<ComplexDeletion>(arena, deletions.size());
  return {out, std::copy_if(deletions.begin(), deletions.end(), out, goes_further)};
}

// The cells for which keep() holds; the same span when that is all of them.
template <class Keep>
std::span<const Cell> filter_cells(std::span<const Cell> cells, Keep keep, Arena& arena) {
  auto first_gone = std::find_if_not(cells.begin(), cells.end(), keep);
  if (first_gone == cells.end()) return cells;
  auto* out = allocate<Cell>(arena, cells.size() - 1);
  Cell* end = std::copy(cells.begin(), first_gone, out);
  return {out, std::copy_if(first_gone + 1, cells.end(), end, keep)};
}

std::span<const Cell> merge_cell_lists(std::span<const Cell> a, std::span<const Cell> b, Arena& arena) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  auto* out = allocate<Cell>(arena, a.size() + b.size());
  size_t n = 0, i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    int c = compare_cells(a[i], b[j]);
    if (c == 0) {
      out[n++] = merge_cells(a[i++], b[j++], arena);
    } else {
      out[n++] = c < 0 ? a[i++] : b[j++];
    }
  }
  while (i < a.size()) out[n++] = a[i++];
  while (j < b.size()) out[n++] = b[j++];
  return {out, n};
}

// Like one after the other, in one pass: else each list but the first would cost a copy of what was merged before.
std::span<const Cell> merge_many_lists(std::span<std::span<const Cell>> lists, size_t total, Arena& arena) {
  auto* out = allocate<Cell>(arena, total);
  size_t n = 0;
  while (true) {
    const Cell* first = nullptr;
    for (const auto& list : lists) {
      if (!list.empty() && (first == nullptr || compare_cells(list.front(), *first) < 0)) first = &list.front();
    }
    if (first == nullptr) return {out, n};
    out[n] = *first;
    for (auto& list : lists) {
      if (list.empty()) continue;
      const bool is_first = &list.front() == first;
      if (!is_first && compare_cells(list.front(), *first) != 0) continue;
      if (!is_first) out[n] = merge_cells(out[n], list.front(), arena);
      list = list.subspan(1);
    }
    ++n;
  }
}

std::span<const BytesView> copy_views(std::span<const BytesView> views, Arena& arena) {
  auto out = arena.make_span<BytesView>(views.size());
  for (size_t i = 0; i < views.size(); ++i) out[i] = arena.copy(views[i]);
  return out;
}

}  // namespace

int compare_cells(const Cell& a, const Cell& b) {
  if (a.column != b.column) {
    if (int c = compare_columns(a.column, b.column); c != 0) return c;
  }
  return is_null(a.path) ? 0 : compare_paths(*a.column, a.path, b.path);
}

bool Liveness::supersedes(const Liveness& o) const {
  if (timestamp != o.timestamp) return timestamp > o.timestamp;
  bool expired = ttl == kExpiredLivenessTtl, other_expired = o.ttl == kExpiredLivenessTtl;
  if (expired != other_expired) return expired;
  if (is_expiring() != o.is_expiring()) return is_expiring();
  if (local_expiration_time != o.local_expiration_time) return local_expiration_time > o.local_expiration_time;
  return ttl < o.ttl;
}

bool Row::has_live_data(int64_t now_seconds) const {
  if (liveness.is_live(now_seconds)) return true;
  return std::any_of(cells.begin(), cells.end(), [&](const Cell& c) { return c.is_live(now_seconds); });
}

int reconcile(const Cell& a, const Cell& b) {
  if (a.timestamp != b.timestamp) return a.timestamp > b.timestamp ? 1 : -1;
  bool a_ends = a.local_deletion_time != kNoDeletionTime, b_ends = b.local_deletion_time != kNoDeletionTime;
  if (a_ends != b_ends) return a_ends ? 1 : -1;
  if (a_ends) {
    if (a.is_expiring() != b.is_expiring()) return a.is_expiring() ? -1 : 1;
    if (a.local_deletion_time != b.local_deletion_time) {
      return a.local_deletion_time > b.local_deletion_time ? 1 : -1;
    }
    // The lower ttl was probably written later, to end at the same time.
    if (a.ttl != b.ttl) return a.ttl < b.ttl ? 1 : -1;
  }
  return sign(a.value.compare(b.value));
}

Row merge_rows(std::span<const Row* const> rows, const DeletionTime& deletion, Arena& arena) {
  Row out;
  if (rows.empty()) return out;
  out.clustering = rows[0]->clustering;
  for (const Row* row : rows) {
    if (row->liveness.supersedes(out.liveness)) out.liveness = row->liveness;
    if (row->deletion.supersedes(out.deletion)) out.deletion = row->deletion;
    out.complex_deletions = merge_complex_deletions(out.complex_deletions, row->complex_deletions, arena);
  }
  DeletionTime active = deletion;
  if (out.deletion.supersedes(active)) {
    active = out.deletion;
  } else {
    out.deletion = {};
  }
  if (active.deletes(out.liveness.timestamp)) out.liveness = {};
  out.complex_deletions = superseding(out.complex_deletions, active, arena);

  // Deleted cells must go before others are merged with them: of a counter, a deleted shard must not come back.
  ActiveDeletions deletions(active, out.complex_deletions);
  auto left_of = [&](const Row& row) {
    if (deletions.none()) return row.cells;
    return filter_cells(
        row.cells, [&](const Cell& c) { return !deletions.deletes(c); }, arena);
  };
  constexpr size_t kMany = 1024;
  size_t total = 0;
  for (const Row* row : rows) total += row->cells.size();
  if (rows.size() <= 2 || total < kMany) {
    for (const Row* row : rows) out.cells = merge_cell_lists(out.cells, left_of(*row), arena);
    return out;
  }
  absl::InlinedVector<std::span<const Cell>, 8> lists;
  for (const Row* row : rows) lists.push_back(left_of(*row));
  out.cells = merge_many_lists({lists.data(), lists.size()}, total, arena);
  return out;
}

Row live_row(const Row& row, int64_t now_seconds, Arena& arena) {
  Row out;
  out.clustering = row.clustering;
  if (row.liveness.is_live(now_seconds)) out.liveness = row.liveness;
  out.cells = filter_cells(
      row.cells, [&](const Cell& c) { return c.is_live(now_seconds); }, arena);
  return out;
}

Row copy_row(const Row& row, Arena& arena) {
  Row out = row;
  out.clustering.values = copy_views(row.clustering.values, arena);
  out.clustering.comparable = arena.copy(row.clustering.comparable);
  auto* cells = allocate<Cell>(arena, row.cells.size());
  for (size_t i = 0; i < row.cells.size(); ++i) {
    cells[i] = row.cells[i];
    cells[i].value = arena.copy(row.cells[i].value);
    cells[i].path = arena.copy(row.cells[i].path);
  }
  out.cells = {cells, row.cells.size()};
  auto* deletions = allocate<ComplexDeletion>(arena, row.complex_deletions.size());
  std::copy(row.complex_deletions.begin(), row.complex_deletions.end(), deletions);
  out.complex_deletions = {deletions, row.complex_deletions.size()};
  return out;
}

}  // namespace cassandra_like
