#include <algorithm>

#include "cql/modification/modification.h"

namespace cassandra_like {

PartitionUpdate UpdateCollector::merge(std::span<const PartitionUpdate* const> parts) {
  PartitionUpdate result = *parts[0];
  std::vector<const Row*> static_rows, rows;
  std::vector<RangeTombstone> tombstones;
  for (const PartitionUpdate* part : parts) {
    if (part->partition_deletion.supersedes(result.partition_deletion)) {
      result.partition_deletion = part->partition_deletion;
    }
    if (!part->static_row.is_empty()) static_rows.push_back(&part->static_row);
    for (const Row& row : part->rows) rows.push_back(&row);
    tombstones.insert(tombstones.end(), part->range_tombstones.begin(), part->range_tombstones.end());
  }
  if (static_rows.size() > 0) result.static_row = merge_rows(static_rows, DeletionTime{}, arena_);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row* a, const Row* b) { return a->clustering.comparable < b->clustering.comparable; });
  auto merged = arena_.make_span<Row>(rows.size());
  size_t count = 0;
  for (size_t i = 0; i < rows.size();) {
    size_t end = i + 1;
    while (end < rows.size() && rows[end]->clustering.comparable == rows[i]->clustering.comparable) ++end;
    merged[count++] = end == i + 1 ? *rows[i] : merge_rows(std::span(rows).subspan(i, end - i), DeletionTime{}, arena_);
    i = end;
  }
  result.rows = merged.first(count);
  auto all = arena_.make_span<RangeTombstone>(tombstones.size());
  std::copy(tombstones.begin(), tombstones.end(), all.begin());
  std::stable_sort(all.begin(), all.end(), [](const RangeTombstone& a, const RangeTombstone& b) {
    return a.start.comparable < b.start.comparable;
  });
  result.range_tombstones = all;
  return result;
}

std::span<const Mutation> UpdateCollector::mutations() {
  // The usual case: one statement, one partition.
  auto updates = updates_.span();
  if (updates.size() == 1) {
    mutations_.push_back({updates[0].table->keyspace, updates[0].key, updates});
    return mutations_.span();
  }
  std::vector<bool> taken(updates.size());
  for (size_t i = 0; i < updates.size(); ++i) {
    if (taken[i]) continue;
    std::vector<PartitionUpdate> of_key;
    for (size_t j = i; j < updates.size(); ++j) {
      if (taken[j] || !(updates[j].key == updates[i].key) || updates[j].table->keyspace != updates[i].table->keyspace) {
        continue;
      }
      std::vector<const PartitionUpdate*> same_table;
      for (size_t k = j; k < updates.size(); ++k) {
        if (!taken[k] && updates[k].table->id == updates[j].table->id && updates[k].key == updates[j].key) {
          taken[k] = true;
          same_table.push_back(&updates[k]);
        }
      }
      of_key.push_back(same_table.size() == 1 ? *same_table[0] : merge(same_table));
    }
    auto stored = arena_.make_span<PartitionUpdate>(of_key.size());
    std::copy(of_key.begin(), of_key.end(), stored.begin());
    mutations_.push_back({updates[i].table->keyspace, updates[i].key, stored});
  }
  return mutations_.span();
}

}  // namespace cassandra_like
