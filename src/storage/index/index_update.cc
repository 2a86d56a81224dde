// The entries that writes of base rows make and unmake (index.internal.CassandraIndex.indexerFor).
#include <algorithm>

#include "storage/index/secondary_index.h"

namespace cassandra_like {

namespace {

class EntryWriter {
 public:
  EntryWriter(const IndexStore& index, const TableMetadata& base, const DecoratedKey& key, int64_t now_seconds,
              Arena& arena, IndexWrite write)
      : index_(index), base_(base), key_(key), now_seconds_(now_seconds), arena_(arena), write_(write) {
    if (index.shape == IndexShape::kPartitionKey) {
      auto components = split_partition_key(base, key.key);
      partition_key_component_ = components[static_cast<size_t>(index.column(base)->position)];
    }
  }

  void insert(const ClusteringPrefix& clustering, const Cell* cell, const Liveness& liveness) {
    Row row;
    row.liveness = liveness;
    put(clustering, cell, row);
  }
  void remove(const ClusteringPrefix& clustering, const Cell* cell, const DeletionTime& deletion) {
    Row row;
    row.deletion = deletion;
    put(clustering, cell, row);
  }
  void insert_cell(const ClusteringPrefix& clustering, const Cell& cell) {
    Liveness liveness{cell.timestamp, cell.ttl, cell.is_expiring() ? cell.local_deletion_time : kNoDeletionTime};
    insert(clustering, &cell, liveness);
  }
  void remove_cell(const ClusteringPrefix& clustering, const Cell& cell) {
    remove(clustering, &cell, {cell.timestamp, now_seconds_});
  }

  // An index on a column of the primary key has an entry for every row, as young as its youngest live cell.
  void index_primary_key(const Row& row) {
    Liveness liveness = row.liveness;
    for (const Cell& cell : row.cells) {
      if (cell.is_live(now_seconds_) && cell.timestamp > liveness.timestamp) liveness.timestamp = cell.timestamp;
    }
    if (!liveness.is_empty()) {
      liveness.local_expiration_time = liveness.is_expiring() ? now_seconds_ + liveness.ttl : kNoDeletionTime;
      insert(row.clustering, nullptr, liveness);
    }
    if (!row.deletion.is_live()) remove(row.clustering, nullptr, row.deletion);
  }

 private:
  BytesView indexed_value(const ClusteringPrefix& clustering, const Cell* cell) {
    switch (index_.shape) {
      case IndexShape::kClustering:
        return clustering.values[static_cast<size_t>(index_.column(base_)->position)];
      case IndexShape::kPartitionKey:
        return partition_key_component_;
      case IndexShape::kCollectionKey:
        return cell->path;
      case IndexShape::kCollectionEntry: {
        BytesView components[] = {cell->path, cell->value};
        return arena_.copy(serialize_partition_key(components));
      }
      default:
        return cell->value;
    }
  }

  void put(const ClusteringPrefix& clustering, const Cell* cell, Row& row) {
    const TableMetadata& hidden = *index_.store->table;
    auto values = arena_.make_span<BytesView>(hidden.clustering.size());
    values[0] = key_.key;
    size_t next = 1;
    for (size_t i = 0; i < clustering.values.size(); ++i) {
      bool indexed = index_.shape == IndexShape::kClustering && base_.clustering[i]->name == index_.column_name;
      if (!indexed) values[next++] = clustering.values[i];
    }
    if (index_.shape == IndexShape::kCollectionValue) values.back() = cell->path;
    row.clustering = make_clustering(hidden, values, ClusteringKind::kClustering, arena_);
    PartitionUpdate update;
    update.table = &hidden;
    update.key = DecoratedKey::of(indexed_value(clustering, cell));
    update.rows = {&row, 1};
    write_(update);
  }

  const IndexStore& index_;
  const TableMetadata& base_;
  const DecoratedKey& key_;
  int64_t now_seconds_;
  Arena& arena_;
  IndexWrite write_;
  BytesView partition_key_component_;
};

const Cell* find_cell(const Row* row, const Cell& wanted) {
  if (row == nullptr) return nullptr;
  for (const Cell& cell : row->cells) {
    if (cell.column == wanted.column && cell.path == wanted.path) return &cell;
  }
  return nullptr;
}

bool covers(const Row& row, const Cell& cell) {
  if (row.deletion.deletes(cell.timestamp)) return true;
  return std::any_of(row.complex_deletions.begin(), row.complex_deletions.end(), [&](const ComplexDeletion& d) {
    return d.column == cell.column && d.deletion.deletes(cell.timestamp);
  });
}

void update_row(EntryWriter& out, const Column* column, const Row& row, const Row* old, int64_t now) {
  if (old != nullptr) {
    for (const Cell& cell : old->cells) {
      if (cell.column != column || !cell.is_live(now)) continue;
      const Cell* by = find_cell(&row, cell);
      bool replaced = by != nullptr && reconcile(*by, cell) > 0 && (!by->is_live(now) || by->value != cell.value);
      if (replaced || covers(row, cell)) out.remove_cell(old->clustering, cell);
    }
  }
  for (const Cell& cell : row.cells) {
    if (cell.column != column || !cell.is_live(now)) continue;
    const Cell* before = find_cell(old, cell);
    if (before == nullptr || reconcile(cell, *before) > 0) out.insert_cell(row.clustering, cell);
  }
}

}  // namespace

void update_index(const IndexStore& index, const PartitionUpdate& update, const MemtablePartition* before,
                  int64_t now_seconds, Arena& arena, IndexWrite write) {
  EntryWriter out(index, *update.table, update.key, now_seconds, arena, write);
  const Column* column = index.column(*update.table);
  if (column->is_primary_key()) {
    for (const Row& row : update.rows) out.index_primary_key(row);
    if (column->kind == ColumnKind::kPartitionKey && !update.static_row.is_empty()) {
      out.index_primary_key(update.static_row);
    }
    return;
  }
  if (column->kind == ColumnKind::kStatic) {
    const Row* old = before == nullptr || before->static_row == nullptr ? nullptr : &before->static_row->row;
    update_row(out, column, update.static_row, old, now_seconds);
    return;
  }
  for (const Row& row : update.rows) {
    const MemtableRow* found = before == nullptr ? nullptr : before->row(row.clustering.comparable);
    const Row old = found == nullptr ? Row() : found->row(arena);
    update_row(out, column, row, found == nullptr ? nullptr : &old, now_seconds);
  }
}

void index_row(const IndexStore& index, const TableMetadata& base, const DecoratedKey& key, const Row& row,
               int64_t now_seconds, Arena& arena, IndexWrite write) {
  PartitionUpdate update;
  update.table = &base;
  update.key = key;
  if (row.clustering.kind == ClusteringKind::kStaticClustering) {
    update.static_row = row;
  } else {
    update.rows = {&row, 1};
  }
  update_index(index, update, nullptr, now_seconds, arena, write);
}

void remove_entry(const IndexStore& index, const DecoratedKey& value, const Row& entry, int64_t now_seconds,
                  IndexWrite write) {
  Row row;
  row.clustering = entry.clustering;
  row.deletion = {entry.liveness.timestamp, now_seconds};
  PartitionUpdate update;
  update.table = index.store->table.get();
  update.key = value;
  update.rows = {&row, 1};
  write(update);
}

}  // namespace cassandra_like
