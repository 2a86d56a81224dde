// Applying mutations, and the memory that they take.
//
// A mutation that has to wait for memory waits as bytes: the request that it came with may end meanwhile. Everything that
// a write decides by what is there (the sum of a counter, the entries of an index that are void) it decides behind all
// its waits, in one turn of the shard with its record in the log and its rows in the memtable.
//
// Half of the budget may be in memtables that are written to; then the largest is flushed. When what is being flushed
// fills the rest, writes wait, and are refused when they have waited for kLongestWait or too many others do.
#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "model/counter.h"
#include "read/merge.h"
#include "storage/engine/engine.h"
#include "storage/memtable/column_versions.h"
#include "storage/memtable_budget.h"

namespace cassandra_like {

namespace {
constexpr size_t kMostWaitingWrites = 4096;
constexpr Duration kLongestWait = std::chrono::seconds(2);

size_t payload_size(const Row& row) {
  size_t size = row.clustering.comparable.size();
  for (const Cell& cell : row.cells) size += cell.value.size() + cell.path.size();
  return size;
}
size_t payload_size(const PartitionUpdate& update) {
  size_t size = update.key.key.size() + payload_size(update.static_row);
  for (const Row& row : update.rows) size += payload_size(row);
  return size;
}
}  // namespace

Task<Status> Engine::apply(const MutationPayload& mutation) {
  if (options_.memtables->is_full()) return apply_later(mutation.serialized());
  Status applied;
  if (const Mutation* rows = mutation.rows()) {
    applied = apply_now(*rows, mutation.bytes());
  } else {
    applied = apply_serialized(mutation.serialized());
  }
  if (!applied.ok() || !log_.must_wait()) return applied;
  return log_.durable();
}

Task<Status> Engine::apply_later(SerializedMutation mutation) {
  CO_TRY(co_await wait_for_memory());
  Status applied = apply_serialized(mutation);
  if (!applied.ok() || !log_.must_wait()) co_return applied;
  Status durable = co_await log_.durable();
  co_return durable;
}

Status Engine::apply_serialized(const SerializedMutation& mutation) {
  write_arena_.reset();
  ASSIGN_OR_RETURN(Mutation rows, read_serialized(mutation, write_arena_));
  return apply_now(rows, mutation.view());
}

// Takes the tables as they are now: they may have been altered since the mutation was made.
Result<Mutation> Engine::read_serialized(const SerializedMutation& mutation, Arena& arena) {
  auto find_table = [this](const Uuid& id) -> const TableMetadata* {
    auto found = stores_.find(id);
    return found == stores_.end() ? nullptr : found->second->table.get();
  };
  return deserialize_mutation(mutation.view(), find_table, arena);
}

// An indexed value is a partition key of the index, whose length is written in 16 bits
// (index.internal.CassandraIndex.validateIndexedValue).
Status Engine::check_indexed_values(const TableStore& store, const PartitionUpdate& update) {
  if (payload_size(update) < kIndexedValueLimit / 2) return {};  // nearly always: no value can be that long
  size_t longest = 0;
  for (const auto& index : store.indexes) {
    index_arena_.reset();
    update_index(*index, update, nullptr, 0, index_arena_,
                 [&](const PartitionUpdate& entry) { longest = std::max(longest, entry.key.key.size()); });
    if (longest < kIndexedValueLimit) continue;
    return invalid(fmt::format("Cannot index value of size {} for index {} on {}({}) (maximum allowed size={})",
                               longest, index->metadata.name, store.table->qualified_name(), index->column_name,
                               kIndexedValueLimit));
  }
  return {};
}

Status Engine::apply_now(const Mutation& mutation, BytesView serialized) {
  if (refusing_) return Error(ErrorCode::kClosed, "The node is stopping: it takes no more writes");
  DCHECK(is_mine(mutation.key.token));
  int64_t begun = runtime_.clock.monotonic_nanos();
  absl::InlinedVector<TableStore*, 4> stores;
  for (const PartitionUpdate& update : mutation.updates) {
    DCHECK(update.key == mutation.key);
    auto found = stores_.find(update.table->id);
    if (found == stores_.end()) return invalid(fmt::format("Unknown table {}", update.table->qualified_name()));
    if (update.partition_deletion.is_before_1970()) {
      return invalid(fmt::format("Cannot delete a partition of {} with timestamp {}: it must not be negative",
                                 update.table->qualified_name(), update.partition_deletion.marked_for_delete_at));
    }
    stores.push_back(found->second.get());
    if (!stores.back()->indexes.empty() && update.table == stores.back()->table.get()) {
      TRY(check_indexed_values(*stores.back(), update));
    }
  }
  TRY(log_mutation(mutation, stores, serialized));
  for (size_t i = 0; i < stores.size(); ++i) apply_to(*stores[i], mutation.updates[i]);
  const int64_t now = runtime_.clock.monotonic_nanos();
  const auto micros = static_cast<uint64_t>(now - begun) / 1000;
  for (size_t i = 0; i < stores.size(); ++i) {
    TableCounters& counters = stores[i]->counters;
    ++counters.writes;
    counters.write_micros.record(micros);
    if (counters.samplers) counters.samplers->write(mutation.updates[i], now);
  }
  if (active_bytes_ >= tell_at_) tell_memory();
  return {};
}

Status Engine::log_mutation(const Mutation& mutation, std::span<TableStore* const> stores, BytesView serialized) {
  absl::InlinedVector<LogTable*, 4> logged;
  bool is_shared = stores.size() > 1;
  for (TableStore* store : stores) {
    if (store->durable) logged.push_back(&store->log);
    is_shared &= !store->logs_alone;
  }
  if (logged.empty()) return {};
  if (is_shared) {
    for (TableStore* store : stores) store->shares_records = true;
  }
  if (is_shared || stores.size() == 1) return log_.append(mutation, logged, serialized);
  for (size_t i = 0; i < stores.size(); ++i) {
    const Mutation one{mutation.keyspace, mutation.key, mutation.updates.subspan(i, 1)};
    LogTable* const log = &stores[i]->log;
    if (stores[i]->durable) TRY(log_.append(one, {&log, 1}));
  }
  return {};
}

void Engine::apply_to(TableStore& store, const PartitionUpdate& update) {
  if (update.table != store.table.get()) {
    Arena arena;
    return apply_to(store, with_current_columns(update, *store.table, arena));
  }
  size_t before = store.memtable->memory_used();
  if (!store.indexes.empty()) {
    index_arena_.reset();
    const MemtablePartition* old = store.memtable->find(update.key);
    for (const auto& index : store.indexes) {
      Memtable& hidden = *index->store->memtable;
      size_t hidden_before = hidden.memory_used();
      update_index(*index, update, old, runtime_.clock.wall_seconds(), index_arena_, [&](const PartitionUpdate& entry) {
        if (entry.key.key.size() < kIndexedValueLimit) hidden.apply(entry);
      });
      active_bytes_ += hidden.memory_used() - hidden_before;
    }
  }
  store.memtable->apply(update);
  active_bytes_ += store.memtable->memory_used() - before;
}

// Success: there is memory, now, until the caller's shard does something else.
Task<Status> Engine::wait_for_memory() {
  while (options_.memtables->is_full() && !refusing_) {
    tell_memory();
    options_.memtables->wait(shard_);
    if (!options_.memtables->is_full()) break;
    if (memory_waiters_.size() >= kMostWaitingWrites) {
      co_return Error(ErrorCode::kOverloaded, "Too many writes wait for memtables to be flushed");
    }
    Promise<bool> turn;
    memory_waiters_.push_back(&turn);
    TimerId timer = runtime_.executor.schedule(kLongestWait, [this, waiter = &turn, alive = alive_] {
      if (!*alive) return;
      std::erase(memory_waiters_, waiter);
      waiter->set(false);
    });
    bool free = co_await turn;
    if (!free) co_return Error(ErrorCode::kOverloaded, "No memory for memtables: flushing does not keep up");
    runtime_.executor.cancel(timer);
  }
  co_return Status();
}

void Engine::wake_writers() {
  auto waiting = std::exchange(memory_waiters_, {});
  for (Promise<bool>* waiter : waiting) waiter->set(true);
}

void Engine::recount_memory() {
  active_bytes_ = flushing_bytes_ = 0;
  auto count = [this](const TableStore& store) {
    active_bytes_ += store.memtable->memory_used();
    for (const auto& old : store.flushing) flushing_bytes_ += old->memory_used();
  };
  for (const auto& [id, store] : stores_) {
    count(*store);
    for (const auto& index : store->indexes) count(*index->store);
  }
  tell_at_ = active_bytes_ + options_.memtables->step();
  options_.memtables->settle(shard_, {active_bytes_, flushing_bytes_});
}

void Engine::join_memtable_budget() {
  options_.memtables->join(shard_, {.executor = &runtime_.executor,
                                    .flush =
                                        [this, alive = alive_] {
                                          if (*alive) relieve_memory();
                                        },
                                    .wake =
                                        [this, alive = alive_] {
                                          if (*alive) wake_writers();
                                        }});
  recount_memory();
}

void Engine::tell_memory() {
  tell_at_ = active_bytes_ + options_.memtables->step();
  options_.memtables->grow(shard_, {active_bytes_, flushing_bytes_});
}

// Flushes the largest table, as the budget asked.
void Engine::relieve_memory() {
  TableStorePtr largest;
  size_t most = 0;
  for (const auto& [id, store] : stores_) {
    if (store->flush_requested) return;
    if (!store->flushing.empty()) continue;
    size_t bytes = store->memtable->memory_used();
    bytes -= std::min(bytes, store->kept_bytes);
    for (const auto& index : store->indexes) bytes += index->store->memtable->memory_used();
    if (bytes > most || (bytes == most && largest && store->directory < largest->directory)) {
      most = bytes;
      largest = store;
    }
  }
  // While others are being flushed, small ones would only make small SSTables.
  const bool waits = flushing_bytes_ > 0 && most < options_.memtables->share() / 16;
  if (largest == nullptr || waits) return options_.memtables->decline(shard_);
  spawn(flush_in_background(largest));
}

// Reading the old sums and logging the new ones is one step: nothing may come between, or an increment that came there
// would be lost.
//
// Nobody else sees a new sum before it is on the disk: neither replicas, nor who reads here (a coordinator repairs others
// with it). This node alone gives out the counts of its own shard of a counter. After a power cut it would count on from
// an older one, with a newer clock, and an increment that others have shown already would vanish.
Task<Result<SerializedMutation>> Engine::apply_counter(const MutationPayload& deltas) {
  ColdReads cold;
  if (options_.memtables->is_full()) return apply_counter_later(deltas.serialized(), std::move(cold));
  Turn turn(*this, &cold);
  Result<SerializedMutation> applied = apply_counter_now(deltas);
  if (!applied.ok() && is_disk_wait(applied.error())) return apply_counter_later(deltas.serialized(), std::move(cold));
  if (!applied.ok() || !log_.must_wait()) return applied;
  return durable_counter(std::move(*applied));
}

Task<Result<SerializedMutation>> Engine::apply_counter_later(SerializedMutation deltas, ColdReads cold) {
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  MutationPayload payload(std::move(deltas));
  Result<SerializedMutation> applied = co_await apply_counter_when_there(&payload, &cold);
  gate_.leave();  // who waits for it may destroy the engine
  if (!applied.ok() || !log_.must_wait()) co_return applied;
  CO_TRY(co_await log_.durable());
  co_return applied;
}

// Waits until there is memory for the new sums, and until all that the old ones are read from has come from the disk.
Task<Result<SerializedMutation>> Engine::apply_counter_when_there(const MutationPayload* deltas, ColdReads* cold) {
  const int64_t deadline = runtime_.clock.monotonic_nanos() + Duration(kLongestWait).count();
  while (true) {
    if (cold->waits()) CO_TRY(co_await wait_for_disk(cold, deadline));
    if (runtime_.clock.monotonic_nanos() > deadline) {
      co_return Error(ErrorCode::kOverloaded, "The counts that a write adds to do not come from the disk in time");
    }
    CO_TRY(co_await wait_for_memory());
    Turn turn(*this, cold->has_to_block() ? nullptr : cold);
    Result<SerializedMutation> applied = apply_counter_now(*deltas);
    if (applied.ok() || !is_disk_wait(applied.error())) co_return applied;
    cold->count_turn(false);
  }
}

Task<Result<SerializedMutation>> Engine::durable_counter(SerializedMutation applied) {
  CO_TRY(co_await log_.durable());
  co_return applied;
}

Result<SerializedMutation> Engine::apply_counter_now(const MutationPayload& deltas) {
  write_arena_.reset();
  Mutation read;
  const Mutation* rows = deltas.rows();
  if (rows == nullptr) {
    ASSIGN_OR_RETURN(read, read_serialized(deltas.serialized(), write_arena_));
    rows = &read;
  }
  ASSIGN_OR_RETURN(Mutation sums, resolve_counters(*rows, write_arena_));
  SerializedMutation serialized(sums);
  TRY(apply_now(sums, serialized.view()));
  records_of_counts_ = log_.completed();
  return serialized;
}

// Where the log has failed and the node goes on to serve reads (commit_failure_policy), there is nothing to wait for.
Task<Result<ReadStatistics>> Engine::when_durable(Result<ReadStatistics> read) {
  (void)co_await log_.durable();
  co_return read;
}

Result<Mutation> Engine::resolve_counters(const Mutation& mutation, Arena& arena) {
  auto updates = arena.make_span<PartitionUpdate>(mutation.updates.size());
  for (size_t i = 0; i < updates.size(); ++i) {
    updates[i] = mutation.updates[i];
    TableStorePtr store = find(updates[i].table->id);
    if (!store) return invalid(fmt::format("Unknown table {}", updates[i].table->qualified_name()));
    if (!updates[i].static_row.is_empty()) {
      ASSIGN_OR_RETURN(updates[i].static_row,
                       resolve_counter_row(*store, updates[i].key, updates[i].static_row, true, arena));
    }
    auto rows = arena.make_span<Row>(updates[i].rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      ASSIGN_OR_RETURN(rows[r], resolve_counter_row(*store, updates[i].key, mutation.updates[i].rows[r], false, arena));
    }
    updates[i].rows = rows;
  }
  return Mutation{mutation.keyspace, mutation.key, updates};
}

// The row with, for each delta, this node's new count in place of it.
Result<Row> Engine::resolve_counter_row(const TableStore& store, const DecoratedKey& key, const Row& row,
                                        bool is_static, Arena& arena) {
  SliceSelection selection;
  Slices slices;
  if (!is_static && !store.table->clustering.empty()) {
    slices.push_back(Slice::of_prefix(*store.table, row.clustering.values));
    selection.slices = slices;
  }
  selection.wants_rows = !is_static;
  ASSIGN_OR_RETURN(auto current, open_key(store, key, selection));
  Row before;
  if (current.empty()) {
    // Nothing yet.
  } else {
    MergedPartition merged(std::move(current), false);
    if (is_static) before = copy_row(merged.static_row(), arena);
    while (!is_static) {
      ASSIGN_OR_RETURN(const Unfiltered* unfiltered, merged.next());
      if (unfiltered == nullptr) break;
      if (unfiltered->is_row) before = copy_row(unfiltered->row, arena);
    }
  }
  Row out = row;
  auto cells = arena.make_span<Cell>(row.cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = row.cells[i];
    if (cells[i].is_tombstone() || !cells[i].column->type->is_counter()) continue;
    const int64_t delta = counter_total(cells[i].value);
    BytesView context;
    for (const Cell& old : before.cells) {
      bool same = old.column == cells[i].column || old.column->name == cells[i].column->name;
      if (same && !old.is_tombstone()) context = old.value;
    }
    int64_t clock = std::max(runtime_.clock.wall_micros(), counter_clock(context, options_.host_id) + 1);
    cells[i].value = arena.copy(add_to_counter(context, options_.host_id, delta, clock));
  }
  out.cells = cells;
  return out;
}

}  // namespace cassandra_like
