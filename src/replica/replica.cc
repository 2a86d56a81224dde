#include "replica/replica.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
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
}

// Passes everything on and remembers whether the sink has had enough.
class CountingSink : public RowSink {
 public:
  CountingSink(RowSink& sink, const ReadCommand& command)
      : sink_(sink), limit_(command.limit), counts_static_(command.counts_static_rows()) {}
  Next begin_partition(const DecoratedKey& key, const Row& static_row) override {
    rows_in_partition_ = 0;
    return note(sink_.begin_partition(key, static_row));
  }
  void continue_partition(const DecoratedKey& key) override { sink_.continue_partition(key); }
  Next row(const Row& row) override {
    ++rows_in_partition_;
    ++delivered_;
    Next next = note(sink_.row(row));
    return next == Next::kContinue && delivered_ >= limit_ ? note(Next::kStop) : next;
  }
  Next end_partition() override {
    if (rows_in_partition_ == 0 && counts_static_) ++delivered_;
    return note(sink_.end_partition());
  }
  bool callable_from_any_shard() const override { return sink_.callable_from_any_shard(); }
  bool stopped() const { return stopped_ || delivered_ >= limit_; }
  uint64_t remaining() const { return limit_ - std::min(limit_, delivered_); }

 private:
  Next note(Next next) {
    stopped_ = stopped_ || next == Next::kStop;
    return next;
  }
  RowSink& sink_;
  uint64_t limit_;
  bool counts_static_;
  uint64_t delivered_ = 0;
  uint64_t rows_in_partition_ = 0;
  bool stopped_ = false;
};

// A shard's part of a range.
struct Part {
  Status status;
  ReadStatistics statistics;
  std::unique_ptr<RowBuffer> rows = std::make_unique<RowBuffer>();
};

Task<Part> read_part(Engine* engine, const ReadCommand* command, int64_t deadline) {
  Part part;
  RowBuffer& rows = *part.rows;
  Result<ReadStatistics> statistics = co_await engine->read(*command, rows, deadline);
  if (statistics.ok()) {
    part.statistics = *statistics;
  } else {
    part.status = std::move(statistics.error());
  }
  co_return part;
}

}  // namespace

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

Task<Result<ReadStatistics>> ReplicaImpl::read(const ReadCommand& command, RowSink& sink, int64_t deadline) {
  if (command.table->is_virtual) {
    VirtualTable* table = virtual_tables_.find(command.table->id);
    if (table == nullptr)
      return Result<ReadStatistics>(invalid("Unknown virtual table " + command.table->qualified_name()));
    return read_virtual(table, &command, &sink);
  }
  if (command.range) {
    if (shard_count_ > 1) return read_range(&command, &sink, deadline);
    return engine().read(command, sink, deadline);
  }
  const bool local = std::all_of(command.keys.begin(), command.keys.end(),
                                 [this](const DecoratedKey& key) { return owner(key) == shard_; });
  if (!local && command.keys.size() > 1) return read_keys(&command, &sink, deadline);
  count(local);
  return local ? engine().read(command, sink, deadline) : read_elsewhere(command, sink, deadline);
}

// Key by key, in the command's order.
Task<Result<ReadStatistics>> ReplicaImpl::read_keys(const ReadCommand* command, RowSink* sink, int64_t deadline) {
  ReadStatistics total;
  CountingSink counting(*sink, *command);
  for (const DecoratedKey& key : command->keys) {
    if (counting.stopped()) break;
    ReadCommand part = *command;
    part.keys = {key};
    part.limit = counting.remaining();
    CO_ASSIGN_OR_RETURN(ReadStatistics statistics, co_await read(part, counting, deadline));
    add(total, statistics);
  }
  co_return total;
}

// The owner writes the rows to the sink where it lies, or to a copy for it.
Task<Result<ReadStatistics>> ReplicaImpl::read_elsewhere(const ReadCommand& command, RowSink& sink, int64_t deadline) {
  if (!sink.callable_from_any_shard()) return read_copied(&command, &sink, deadline);
  unsigned shard = owner(command.keys[0]);
  auto read = [engine = shared_.engines[shard].get(), borrowed = &command, into = &sink, deadline] {
    return engine->read(*borrowed, *into, deadline);
  };
  constexpr uint64_t kFewRows = 128;
  if (command.limit > kFewRows) return run_on<Result<ReadStatistics>>(executor(shard_), executor(shard), read);
  return run_briefly_on<Result<ReadStatistics>>(executor(shard_), executor(shard), read);
}

Task<Result<ReadStatistics>> ReplicaImpl::read_copied(const ReadCommand* command, RowSink* sink, int64_t deadline) {
  unsigned shard = owner(command->keys[0]);
  RowBuffer rows;
  auto read = [engine = shared_.engines[shard].get(), command, into = &rows, deadline] {
    return engine->read(*command, *into, deadline);
  };
  CO_ASSIGN_OR_RETURN(auto statistics,
                      co_await run_on<Result<ReadStatistics>>(executor(shard_), executor(shard), read));
  uint64_t delivered = 0;
  while (rows.has_partition() && rows.deliver(*command, *sink, &delivered) != RowSink::Next::kStop) {
  }
  co_return statistics;
}

// Every shard gives its first `limit` rows of the range; merged by ring order, the first `limit` of those are the answer.
Task<Result<ReadStatistics>> ReplicaImpl::read_range(const ReadCommand* command, RowSink* sink, int64_t deadline) {
  auto* shared = &shared_;
  std::function<Task<Part>(unsigned)> read = [shared, command, deadline](unsigned shard) {
    return read_part(shared->engines[shard].get(), command, deadline);
  };
  auto parts = co_await gather<Part>(shared_.runtime, executor(shard_), std::move(read));
  ReadStatistics total;
  for (Part& part : parts) {
    CO_TRY(std::move(part.status));
    add(total, part.statistics);
  }
  uint64_t delivered = 0;
  while (delivered < command->limit) {
    RowBuffer* first = nullptr;
    for (Part& part : parts) {
      RowBuffer& rows = *part.rows;
      if (rows.has_partition() && (first == nullptr || rows.key() < first->key())) first = &rows;
    }
    if (first == nullptr || first->deliver(*command, *sink, &delivered) == RowSink::Next::kStop) break;
  }
  co_return total;
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
  using Position = Result<CommitLogPosition>;
  std::function<Task<Position>(unsigned)> truncate_on = [shared, table, tag](unsigned shard) {
    return shared->engines[shard]->truncate(table, tag);
  };
  auto positions = co_await gather<Position>(shared_.runtime, executor(shard_), std::move(truncate_on));
  TruncationRecord record;
  record.truncated_at_millis = millis;
  for (Position& position : positions) {
    if (!position.ok()) co_return std::move(position.error());
    record.position = std::max(record.position, *position);
    record.of_shards.push_back(*position);
  }
  Arena arena;
  auto updates = truncation_update(*store_.current(), table->id, record, shared_.timestamps.next(millis * 1000), arena);
  Mutation mutation{"system", updates[0].key, updates};
  CO_TRY(co_await mutate(mutation));
  co_return co_await on_every_engine([](Engine& engine) { return engine.sync_commitlog(); });
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
    auto statistics = shared->engines[shard]->table_statistics(table);
    return Task<TableStatistics>(statistics.ok() ? std::move(*statistics) : TableStatistics{});
  };
  co_return co_await gather<TableStatistics>(shared_.runtime, executor(shard_), ask);
}

Task<std::vector<EngineStatistics>> ReplicaImpl::engine_statistics() {
  auto* shared = &shared_;
  auto ask = [shared](unsigned shard) { return Task<EngineStatistics>(shared->engines[shard]->statistics()); };
  co_return co_await gather<EngineStatistics>(shared_.runtime, executor(shard_), ask);
}

Task<Status> ReplicaImpl::build_index(TablePtr table, std::string index) {
  std::function<Task<Status>(Engine&)> build = [table, index](Engine& engine) {
    return engine.build_index(table, index);
  };
  CO_TRY(co_await on_every_engine(std::move(build)));
  Arena arena;
  auto update = index_built(*store_.current(), *table, index,
                            shared_.timestamps.next(shared_.runtime.shard(shard_).clock.wall_micros()), arena);
  Mutation mutation{"system", update.key, {&update, 1}};
  co_return co_await mutate(mutation);
}

}  // namespace cassandra_like
