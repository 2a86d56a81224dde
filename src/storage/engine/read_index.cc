// Reads through a secondary index: entries first, then the base rows that they point to, which decide.
#include <algorithm>

#include <fmt/format.h>

#include "read/merge.h"
#include "storage/engine/read_sources.h"

namespace cassandra_like {

namespace {

// Comparables of entries begin with the ring position of the base key: separator, then (token, key) as
// PartitionerDefinedOrder encodes them.
Bytes ring_prefix(Token token) {
  Bytes out{0x40, 0x40};
  append_be(out, token ^ kMinimumToken);
  return out;
}

Bytes entry_bound(const IndexStore& index, const RingPosition& position, bool is_start, bool inclusive) {
  Bytes out;
  switch (position.kind) {
    case RingPosition::Kind::kTokenStart:
      return ring_prefix(position.token);
    case RingPosition::Kind::kTokenEnd:
      out = ring_prefix(position.token);
      out.push_back(static_cast<char>(0xFF));
      return out;
    case RingPosition::Kind::kKey: {
      BytesView key = position.key;
      auto kind = is_start ? (inclusive ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound)
                           : (inclusive ? ClusteringKind::kInclEndBound : ClusteringKind::kExclEndBound);
      append_comparable(out, *index.store->table, {&key, 1}, kind);
      return out;
    }
  }
  return out;
}

bool in_slices(const Slices& slices, BytesView comparable) {
  return slices.empty() ||
         std::any_of(slices.begin(), slices.end(), [&](const Slice& s) { return s.contains(comparable); });
}

const IndexStore* find_index(const TableStore& store, const std::string& name) {
  for (const auto& index : store.indexes) {
    if (index->metadata.name == name) return index.get();
  }
  return nullptr;
}

}  // namespace

Status Engine::read_index(TableStore& store, const ReadCommand& command, ReadPipeline& feed,
                          ReadStatistics& statistics) {
  const IndexStore* index = find_index(store, command.index->name);
  if (index == nullptr || command.index_expression >= command.filter.size()) {
    return invalid(fmt::format("Index {} cannot be read: it is unknown or of a kind that is not supported yet",
                               command.index->name));
  }
  if (index->store->needs_rebuild) {
    return invalid(fmt::format("The secondary index '{}' is not yet available", command.index->name));
  }
  const Bytes value = index_key(*index, command.filter[command.index_expression]);
  const DecoratedKey key = DecoratedKey::of(value);
  StaleEntries stale;
  std::optional<Bytes> last;  // the base partition that was read last
  const auto read = [&](std::span<const IndexEntry> hits) -> Result<bool> {
    TRY(read_index_hits(store, *index, command, key, hits, feed, statistics, stale));
    last = Bytes(hits[0].base_key);
    return !feed.stopped() && !feed.paused();
  };
  Status status = visit_hits(store, *index, key, command, read);
  if (is_disk_wait(status) && !feed.paused() && last) feed.wait_behind(DecoratedKey::of(*last));
  remove_stale(store, *index, key, stale, command.now_seconds);
  return status;
}

Status Engine::visit_hits(const TableStore& store, const IndexStore& index, const DecoratedKey& value,
                          const ReadCommand& command, VisitHits visit) {
  Slices slices;
  if (command.range) {
    Slice slice{entry_bound(index, command.range->start, true, command.range->start_inclusive),
                entry_bound(index, command.range->end, false, command.range->end_inclusive)};
    // Tokens that exclude each other.
    if (!slice.end.empty() && slice.end <= slice.start) return {};
    slices.push_back(std::move(slice));
  } else {
    DecoratedKeys keys = command.keys;
    std::sort(keys.begin(), keys.end());
    for (const DecoratedKey& base : keys) slices.push_back(entries_of_key(index, base.key));
  }
  // Always forward: base partitions come in ring order, and their rows are put in order by the base table's read.
  ASSIGN_OR_RETURN(auto readers, open_key(*index.store, value, SliceSelection{slices, false, true}));
  if (readers.empty()) return {};
  MergedPartition entries(std::move(readers), false);
  Arena arena;
  std::vector<IndexEntry> hits;  // of one base partition
  while (true) {
    ASSIGN_OR_RETURN(const Unfiltered* unfiltered, entries.next());
    if (unfiltered != nullptr && (!unfiltered->is_row || !unfiltered->row.liveness.is_live(command.now_seconds))) {
      continue;
    }
    bool ends = unfiltered == nullptr || (!hits.empty() && unfiltered->row.clustering.values[0] != hits[0].base_key);
    if (ends && !hits.empty()) {
      ASSIGN_OR_RETURN(const bool goes_on, visit(hits));
      if (!goes_on) break;
      hits.clear();
      arena.reset();
    }
    if (unfiltered == nullptr) break;
    hits.push_back(decode_entry(index, *store.table, value, unfiltered->row, arena));
  }
  return {};
}

// Only when nothing iterates over the memtable any more. The rows of entries may be in SSTables that are set aside: those can
// come back.
void Engine::remove_stale(const TableStore& store, const IndexStore& index, const DecoratedKey& value,
                          const StaleEntries& stale, int64_t now_seconds) {
  if (store.has_unread()) return;
  Memtable& hidden = *index.store->memtable;
  const size_t before = hidden.memory_used();
  for (const Row& entry : stale.rows) {
    remove_entry(index, value, entry, now_seconds, [&](const PartitionUpdate& update) { hidden.apply(update); });
  }
  active_bytes_ += hidden.memory_used() - before;
}

namespace {

// Slices of the rows that entries point to, each once, in clustering order.
Slices slices_of_hits(const TableMetadata& base, const ReadCommand& command, std::span<const IndexEntry> hits,
                      Arena& arena) {
  Slices slices;
  for (const IndexEntry& hit : hits) {
    bool no_row = std::all_of(hit.base_clustering.begin(), hit.base_clustering.end(), is_null);
    if (no_row && !base.clustering.empty()) continue;  // of a static row
    ClusteringPrefix at = make_clustering(base, hit.base_clustering, ClusteringKind::kClustering, arena);
    if (!in_slices(command.slices, at.comparable)) continue;
    slices.push_back(Slice::of_prefix(base, hit.base_clustering));
  }
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.start < b.start; });
  auto same = [](const Slice& a, const Slice& b) { return a.start == b.start; };
  slices.erase(std::unique(slices.begin(), slices.end(), same), slices.end());
  return slices;
}

// The rows of a base partition that have the value.
class RowsWithValue final : public PartitionReader {
 public:
  RowsWithValue(PartitionReader& partition, const IndexStore& index, const TableMetadata& base, BytesView value,
                int64_t now_seconds)
      : partition_(partition), index_(index), base_(base), value_(value), now_seconds_(now_seconds) {
    key_ = partition.key();
    partition_deletion_ = partition.partition_deletion();
    static_row_ = partition.static_row();
  }
  Result<const Unfiltered*> next() override {
    while (true) {
      ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition_.next());
      const bool leaves_out =
          unfiltered != nullptr && unfiltered->is_row && is_stale(index_, base_, unfiltered->row, value_, now_seconds_);
      if (!leaves_out) return unfiltered;
    }
  }

 private:
  PartitionReader& partition_;
  const IndexStore& index_;
  const TableMetadata& base_;
  const BytesView value_;
  const int64_t now_seconds_;
};

}  // namespace

// For another node (CompositesSearcher): what the pipeline does not send is decided there. Entries without a partition go.
Status Engine::read_unfiltered_hits(const TableStore& store, const IndexStore& index, const DecoratedKey& value,
                                    const ReadCommand& command, UnfilteredPipeline& pipeline,
                                    ReadStatistics& statistics) {
  const TableMetadata& base = *store.table;
  const bool is_static = index.is_static(base);
  const bool whole = is_static || base.clustering.empty();
  StaleEntries stale;
  std::optional<Bytes> last;  // the base partition that was fed last
  const auto read = [&](std::span<const IndexEntry> hits) -> Result<bool> {
    const DecoratedKey key = DecoratedKey::of(hits[0].base_key);
    if (!is_mine(key.token) || (command.range && !command.range->contains(key))) return true;
    Arena arena;
    const Slices slices = whole ? command.slices : slices_of_hits(base, command, hits, arena);
    if (!whole && slices.empty()) return true;
    const SliceSelection selection{slices, command.reversed, command.wants_rows};
    ASSIGN_OR_RETURN(auto readers, open_key(store, key, selection));
    statistics.sstables = std::max<uint64_t>(statistics.sstables, readers.size());
    if (readers.empty()) {
      for (const IndexEntry& hit : hits) stale.rows.push_back(copy_row(hit.row, stale.arena));
      return true;
    }
    MergedPartition partition(std::move(readers), command.reversed);
    if (is_static) {
      const bool has_value = !is_stale(index, base, partition.static_row(), value.key, command.now_seconds);
      if (has_value) TRY(feed_unfiltered(partition, pipeline));
    } else {
      RowsWithValue rows(partition, index, base, value.key, command.now_seconds);
      TRY(feed_unfiltered(rows, pipeline));
    }
    last = Bytes(key.key);
    return !pipeline.stopped() && !pipeline.paused();
  };
  Status status = visit_hits(store, index, value, command, read);
  if (is_disk_wait(status) && !pipeline.paused() && last) pipeline.wait_behind(DecoratedKey::of(*last));
  remove_stale(store, index, value, stale, command.now_seconds);
  return status;
}

Status Engine::read_index_hits(TableStore& store, const IndexStore& index, const ReadCommand& command,
                               const DecoratedKey& value, std::span<const IndexEntry> hits, ReadPipeline& feed,
                               ReadStatistics& statistics, StaleEntries& stale_entries) {
  const TableMetadata& base = *store.table;
  DecoratedKey key = DecoratedKey::of(hits[0].base_key);
  // Each shard reads the entries of its own base keys from SSTables that all shards share.
  if (!is_mine(key.token) || (command.range && !command.range->contains(key))) return {};
  Arena arena;
  bool is_static = index.is_static(base);
  bool whole = is_static || base.clustering.empty();
  Slices slices = whole ? command.slices : slices_of_hits(base, command, hits, arena);
  // An entry of a static row alone still makes its partition a result.
  SliceSelection selection{slices, command.reversed, whole || !slices.empty()};
  ASSIGN_OR_RETURN(auto readers, open_key(store, key, selection));
  statistics.sstables += readers.size();
  auto forget = [&](const IndexEntry& hit) { stale_entries.rows.push_back(copy_row(hit.row, stale_entries.arena)); };
  auto forget_all = [&] { std::for_each(hits.begin(), hits.end(), forget); };
  if (readers.empty()) {
    forget_all();
    return {};
  }
  MergedPartition partition(std::move(readers), command.reversed);
  if (is_static && is_stale(index, base, partition.static_row(), value.key, command.now_seconds)) {
    forget_all();
    return {};
  }
  ASSIGN_OR_RETURN(const Unfiltered* unfiltered, first_or_wait(partition, feed, cold_));
  std::vector<Bytes> stale;
  bool any_row = feed.is_open();  // it paused in the partition
  for (ReadPipeline::Step step = ReadPipeline::Step::kContinue;
       unfiltered != nullptr && step == ReadPipeline::Step::kContinue;) {
    const bool is_stale_row =
        unfiltered->is_row && !is_static && is_stale(index, base, unfiltered->row, value.key, command.now_seconds);
    if (is_stale_row) {
      stale.emplace_back(unfiltered->row.clustering.comparable);
    } else if (unfiltered->is_row) {
      any_row = true;
      ASSIGN_OR_RETURN(step, feed.row(unfiltered->row));
    }
    if (step == ReadPipeline::Step::kContinue) {
      ASSIGN_OR_RETURN(unfiltered, next_or_wait(partition, feed, cold_));
    }
  }
  bool static_hit = is_static || index.shape == IndexShape::kPartitionKey;
  if (any_row || static_hit || feed.stopped()) feed.end();
  for (const IndexEntry& hit : hits) {
    if (stale.empty() || hit.base_clustering.size() != base.clustering.size()) break;
    ClusteringPrefix at = base.clustering.empty()
                              ? empty_clustering()
                              : make_clustering(base, hit.base_clustering, ClusteringKind::kClustering, arena);
    if (std::find(stale.begin(), stale.end(), at.comparable) != stale.end()) forget(hit);
  }
  return {};
}

}  // namespace cassandra_like
