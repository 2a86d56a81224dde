#include <algorithm>

#include "absl/container/flat_hash_map.h"
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
  // A statement may name as many partitions as it has room for: each is looked up, not searched for.
  struct Partition {
    std::vector<std::vector<const PartitionUpdate*>> tables;
  };
  std::vector<Partition> partitions;
  absl::flat_hash_map<std::pair<std::string_view, BytesView>, size_t> places;
  for (const PartitionUpdate& update : updates) {
    const std::pair<std::string_view, BytesView> key{update.table->keyspace, update.key.key};
    const auto [place, is_new] = places.try_emplace(key, partitions.size());
    if (is_new) partitions.emplace_back();
    auto& tables = partitions[place->second].tables;
    auto same = std::find_if(tables.begin(), tables.end(),
                             [&](const auto& parts) { return parts[0]->table->id == update.table->id; });
    if (same == tables.end()) same = tables.emplace(tables.end());
    same->push_back(&update);
  }
  for (const Partition& partition : partitions) {
    auto stored = arena_.make_span<PartitionUpdate>(partition.tables.size());
    std::transform(partition.tables.begin(), partition.tables.end(), stored.begin(),
                   [this](const auto& parts) { return parts.size() == 1 ? *parts[0] : merge(parts); });
    mutations_.push_back({stored[0].table->keyspace, stored[0].key, stored});
  }
  return mutations_.span();
}

}  // namespace cassandra_like
