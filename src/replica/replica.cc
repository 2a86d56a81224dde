#include "replica/replica.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "read/read_pipeline.h"
#include "replica/range_read.h"
#include "replica/replica_impl.h"
#include "runtime/gather.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

void add(ReadStatistics& total, const ReadStatistics& part) {
  total.rows += part.rows;
  total.tombstones += part.tombstones;
  total.sstables += part.sstables;
  total.memtables += part.memtables;
  total.stopped |= part.stopped;
}

}  // namespace

Maintenance& Replica::maintenance() { return engine().maintenance(); }

ReplicaImpl::ReplicaImpl(NodeShared& shared, unsigned shard)
    : shared_(shared),
      shard_(shard),
      shard_count_(shared.runtime.shard_count()),
      store_(&shared.schema_updates, shard) {}

// Shards that sleep will be asked in their place (run_briefly_on): so it is this thread that will wait for memory.
void ReplicaImpl::prefetch(std::span<const PrefetchKey> partitions) {
  auto is_of = [this](unsigned shard) {
    return [this, shard](const PrefetchKey& partition) { return owner(partition.token) == shard; };
  };
  if (std::all_of(partitions.begin(), partitions.end(), is_of(shard_))) return engine().prefetch(partitions);
  absl::InlinedVector<PrefetchKey, 16> by_shard(partitions.begin(), partitions.end());
  for (auto begin = by_shard.begin(), end = begin; begin != by_shard.end(); begin = end) {
    const unsigned shard = owner(begin->token);
    end = std::partition(begin, by_shard.end(), is_of(shard));
    const std::span<const PrefetchKey> of_shard(begin, end);
    Engine& engine = *shared_.engines[shard];
    if (shard == shard_) {
      engine.prefetch(of_shard);
    } else if (of_shard.size() > 1) {
      executor(shard).run_if_asleep([&] { engine.prefetch(of_shard); });
    }
  }
}

Task<Status> ReplicaImpl::mutate(const MutationPayload& mutation) { return write(mutation, &Engine::apply); }

Task<Result<SerializedMutation>> ReplicaImpl::mutate_counter(const MutationPayload& deltas) {
  return write(deltas, &Engine::apply_counter);
}

// An owner that sleeps applies the mutation here and now, as it lies. One that is awake gets the bytes.
template <class T>
Task<T> ReplicaImpl::write(const MutationPayload& mutation, Task<T> (Engine::*apply)(const MutationPayload&)) {
  DCHECK(executor(shard_).is_current());
  const unsigned shard = owner(mutation.token());
  Engine* engine = shared_.engines[shard].get();
  count(shard == shard_);
  if (shard == shard_) return (engine->*apply)(mutation);
  Executor &here = executor(shard_), &there = executor(shard);
  std::optional<Task<T>> begun;
  if (there.run_if_asleep([&] { begun.emplace((engine->*apply)(mutation)); })) {
    if (begun->ready()) return std::move(*begun);
    auto rest = [task = std::move(*begun)]() mutable { return std::move(task); };
    return run_on<T>(here, there, std::move(rest));
  }
  auto apply_there = [engine, apply, bytes = mutation.serialized()] {
    MutationPayload payload(bytes);
    return (engine->*apply)(payload);
  };
  return run_on<T>(here, there, std::move(apply_there));
}

Task<Result<ReadStatistics>> ReplicaImpl::read(const ReadCommand& command, RowSink& sink, int64_t deadline,
                                               int64_t begun) {
  DCHECK(executor(shard_).is_current());
  if (command.table->is_virtual) {
    VirtualTable* table = virtual_tables_.find(command.table->id);
    if (table == nullptr)
      return Result<ReadStatistics>(invalid("Unknown virtual table " + command.table->qualified_name()));
    return read_virtual(table, &command, &sink);
  }
  if (command.range) {
    if (shard_count_ > 1) return read_range(&command, &sink, deadline);
    return engine().read(command, sink, deadline, begun);
  }
  const bool local = std::all_of(command.keys.begin(), command.keys.end(),
                                 [this](const DecoratedKey& key) { return owner(key) == shard_; });
  if (!local && command.keys.size() > 1) return read_keys(&command, &sink, deadline);
  count(local);
  return local ? engine().read(command, sink, deadline, begun) : read_elsewhere(command, sink, deadline);
}

// In the command's order. Keys that follow each other and are of one shard are asked for together when nothing has to be
// copied.
Task<Result<ReadStatistics>> ReplicaImpl::read_keys(const ReadCommand* command, RowSink* sink, int64_t deadline) {
  ReadStatistics total;
  TombstoneCount tombstones;
  const bool together = sink->callable_from_any_shard();
  const Clock& clock = shared_.runtime.shard(shard_).clock;
  const int64_t allowance = deadline == kNoDeadline ? 0 : deadline - clock.monotonic_nanos();
  uint64_t rows_before = 0;  // when the deadline began
  ReadCommand part = *command;
  if (part.tombstones == nullptr) part.tombstones = &tombstones;
  for (auto key = command->keys.begin(); key != command->keys.end() && !total.stopped;) {
    CO_TRY(check_wanted(command->abandonment));
    // A part may be too short for its engine to look at the clock.
    if (deadline != kNoDeadline && key != command->keys.begin()) {
      const int64_t now = clock.monotonic_nanos();
      if (total.rows - rows_before >= command->rows_of_deadline) {
        deadline = now + allowance;
        rows_before = total.rows;
      }
      if (now > deadline) co_return read_timeout(*command->table);
    }
    part.keys.clear();
    const unsigned shard = owner(*key);
    do {
      part.keys.push_back(*key++);
    } while (together && key != command->keys.end() && owner(*key) == shard);
    DCHECK(total.rows < command->limits.rows);
    part.limits.rows = command->limits.rows - total.rows;
    count(shard == shard_);
    Task<Result<ReadStatistics>> reading =
        shard == shard_ ? engine().read(part, *sink, deadline) : read_elsewhere(part, *sink, deadline);
    CO_ASSIGN_OR_RETURN(ReadStatistics statistics, co_await reading);
    add(total, statistics);
  }
  co_return total;
}

// The owner of the keys writes the rows to the sink where it lies, or to a copy for it.
Task<Result<ReadStatistics>> ReplicaImpl::read_elsewhere(const ReadCommand& command, RowSink& sink, int64_t deadline) {
  if (!sink.callable_from_any_shard()) return read_copied(&command, &sink, deadline);
  unsigned shard = owner(command.keys[0]);
  auto read = [engine = shared_.engines[shard].get(), borrowed = &command, into = &sink, deadline] {
    return engine->read(*borrowed, *into, deadline);
  };
  constexpr uint64_t kFewRows = 128;
  if (command.limits.rows > kFewRows) return run_on<Result<ReadStatistics>>(executor(shard_), executor(shard), read);
  return run_briefly_on<Result<ReadStatistics>>(executor(shard_), executor(shard), read);
}

// A partition comes in pieces, each of which shows what was there at one time: of a page of rows, if they are not large.
Task<Result<ReadStatistics>> ReplicaImpl::read_copied(const ReadCommand* command, RowSink* sink, int64_t deadline) {
  constexpr RowBuffer::WholePartition kPage{ReadPipeline::kPage, 16 << 20};
  const DecoratedKey key = command->keys[0];
  Engine* engine = shared_.engines[owner(key)].get();
  RowBuffer rows(kPage);
  RowCounter counter(command->limits, command->counts_static_rows());
  ReadStatistics total;
  TombstoneCount tombstones;
  std::optional<ReadCommand> piece = *command;
  if (piece->tombstones == nullptr) piece->tombstones = &tombstones;
  for (bool goes_on = false;; goes_on = true) {
    CO_TRY(check_wanted(command->abandonment));
    // A piece may be too short for its engine to look at the clock.
    if (goes_on && shared_.runtime.shard(shard_).clock.monotonic_nanos() > deadline) {
      co_return read_timeout(*command->table);
    }
    auto read = [engine, part = &*piece, into = &rows, deadline] { return engine->read(*part, *into, deadline); };
    Task<Result<ReadStatistics>> reading = run_on<Result<ReadStatistics>>(executor(shard_), executor(owner(key)), read);
    CO_ASSIGN_OR_RETURN(ReadStatistics statistics, co_await reading);
    add(total, statistics);
    total.stopped = false;
    const bool cut = rows.is_cut();
    const bool any = rows.has_partition();
    if (any) total.stopped = rows.deliver(*sink, counter, goes_on) == RowSink::Next::kStop;
    if (!any && goes_on) total.stopped = sink->end_partition() == RowSink::Next::kStop;
    if (total.stopped || !cut) break;
    ReadCommand rest = *piece;
    piece = continue_behind(rest, key, rows.last_clustering(*command->table));
    if (!piece) {
      total.stopped = sink->end_partition() == RowSink::Next::kStop;
      break;
    }
    piece->limits.rows = counter.left();
    piece->limits.continued_key = key.key;
    piece->limits.left_in_continued = counter.left_in_partition();
    rows.clear();
  }
  total.rows = counter.rows();
  co_return total;
}

Task<Result<ReadStatistics>> ReplicaImpl::read_range(const ReadCommand* command, RowSink* sink, int64_t deadline) {
  RangeRead read(shared_, shard_, *command, *sink, deadline);
  co_return co_await read.run();
}

Task<Status> ReplicaImpl::truncate(TablePtr table) {
  if (table->is_virtual) {
    VirtualTable* found = virtual_tables_.find(table->id);
    co_return found == nullptr ? Status(invalid("Unknown virtual table " + table->qualified_name()))
                               : found->truncate();
  }
  int64_t millis = shared_.runtime.shard(shard_).clock.wall_millis();
  std::string tag;
  if (shared_.engine_options.auto_snapshot && table->params.allow_auto_snapshot) {
    tag = "truncated-" + std::to_string(millis) + "-" + table->name;
  }
  auto* shared = &shared_;
  std::function<Maintenance*(unsigned)> engine_of = [shared](unsigned shard) {
    Engine* engine = shared->engines[shard].get();
    return engine == nullptr ? nullptr : &engine->maintenance();
  };
  TruncationRecord record;
  record.truncated_at_millis = millis;
  CO_ASSIGN_OR_RETURN(record.of_shards,
                      co_await truncate_on_all_shards(&shared_.runtime, &executor(shard_), engine_of, table, tag));
  record.position = *std::max_element(record.of_shards.begin(), record.of_shards.end());
  Arena arena;
  auto updates = truncation_update(*store_.current(), table->id, record, shared_.timestamps.next(millis * 1000), arena);
  Mutation mutation{"system", updates[0].key, updates};
  CO_TRY(co_await mutate(mutation));
  CO_TRY(co_await on_every_engine([](Engine& engine) { return engine.sync_commitlog(); }));
  // Cassandra's replay sees the record in an SSTable alone. A full disk does not keep TRUNCATE from making room.
  const TableSelection local("system", "local");
  std::function<Task<Status>(Engine&)> flush = [&local](Engine& engine) { return engine.maintenance().flush(local); };
  Status flushed = co_await on_every_engine(std::move(flush));
  if (!flushed.ok()) LOG_WARN("A truncation stays in the commit log: {}", flushed.error().message());
  co_return Status();
}

DiskBoundaries ReplicaImpl::disk_boundaries(const TableMetadata& table, size_t directories) {
  const KeyspacePtr keyspace = store_.current()->keyspace(table.keyspace);
  if (keyspace == nullptr) return DiskBoundaries::divide({}, directories, false);  // it was dropped
  return disk_boundaries_.of(topology_.current(), keyspace->replication, directories);
}

Task<Status> ReplicaImpl::on_every_engine(std::function<Task<Status>(Engine&)> work) {
  auto* shared = &shared_;
  std::function<Task<Status>(unsigned)> each = [shared, work](unsigned shard) { return work(*shared->engines[shard]); };
  auto statuses = co_await gather<Status>(shared_.runtime, executor(shard_), std::move(each));
  co_return first_error(std::move(statuses));
}

Task<std::vector<TableStatistics>> ReplicaImpl::table_statistics(Uuid table) {
  auto* shared = &shared_;
  auto ask = [shared, table](unsigned shard) {
    auto statistics = shared->engines[shard]->maintenance().table_statistics(table);
    return Task<TableStatistics>(statistics.ok() ? *statistics : TableStatistics());
  };
  co_return co_await gather<TableStatistics>(shared_.runtime, executor(shard_), ask);
}

Task<std::vector<EngineStatistics>> ReplicaImpl::engine_statistics() {
  auto* shared = &shared_;
  auto ask = [shared](unsigned shard) {
    return Task<EngineStatistics>(shared->engines[shard]->maintenance().statistics());
  };
  co_return co_await gather<EngineStatistics>(shared_.runtime, executor(shard_), ask);
}

Task<Status> ReplicaImpl::build_index(TablePtr table, std::string index) {
  std::function<Task<Status>(Engine&)> build = [table, index](Engine& engine) {
    return engine.maintenance().build_index(table, index);
  };
  CO_TRY(co_await on_every_engine(std::move(build)));
  const TablePtr& now = store_.current()->table(table->id);
  if (now == nullptr || !now->indexes.contains(index)) co_return Status();  // dropped meanwhile
  Arena arena;
  auto update = index_built(*store_.current(), *table, index,
                            shared_.timestamps.next(shared_.runtime.shard(shard_).clock.wall_micros()), arena);
  Mutation mutation{"system", update.key, {&update, 1}};
  co_return co_await mutate(mutation);
}

}  // namespace cassandra_like
