#include "coordinator/coordinator.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "coordinator/context/all_of.h"
#include "coordinator/context/request_context.h"
#include "coordinator/denylist.h"
#include "coordinator/pending_writes.h"
#include "coordinator/quorum/request_errors.h"
#include "coordinator/read/read_warnings.h"
#include "coordinator/read/replicated_reads.h"
#include "coordinator/tracing.h"
#include "coordinator/write/replicated_writes.h"

namespace cassandra_like {
namespace {

Status to_status(Result<SerializedMutation> written) {
  return written.ok() ? Status() : Status(std::move(written.error()));
}

// Other replicas will need what was written; one that is alone does not.
Task<Status> without_result(Task<Result<SerializedMutation>> write) {
  Result<SerializedMutation> written = co_await write;
  co_return to_status(std::move(written));
}

// How many replicas live, and where.
struct LiveReplicas {
  int all = 0;
  std::map<std::string_view, int> by_datacenter;  // of the replicas' data centers
};

LiveReplicas count_live(const Topology& topology, std::span<const EndpointIndex> replicas) {
  LiveReplicas live;
  for (EndpointIndex endpoint : replicas) {
    if (!topology.is_alive(endpoint)) continue;
    ++live.all;
    ++live.by_datacenter[topology.ring()->endpoint(endpoint).datacenter];
  }
  return live;
}

// A serial read of a partition fetches at a quorum, and says so when there is none.
Consistency consistency_to_fetch(const ReadCommand& command, Consistency consistency) {
  if (command.range || !is_serial(consistency)) return consistency;
  return consistency == Consistency::kSerial ? Consistency::kQuorum : Consistency::kLocalQuorum;
}

void trace_locally(Trace& trace, std::span<const Mutation> mutations) {
  for (const Mutation& mutation : mutations) {
    trace.event("Determining replicas for mutation");
    trace_mutation(trace, mutation);
  }
}

Task<Result<ReadStatistics>> traced(Task<Result<ReadStatistics>> read, TracePtr trace) {
  Result<ReadStatistics> result = co_await read;
  if (result.ok()) trace_rows(*trace, *result);
  co_return result;
}

BatchlogOptions batchlog_options(const CoordinatorOptions& options) {
  return {2 * options.write_timeout, options.batchlog_replay_bytes_per_second};
}

// A consistency level where all tokens have the same replicas: how many must live, and whether they do.
struct LevelState {
  int required = 1;
  bool is_available = false;
};

// Facts of a table while its schema and the topology are current.
struct TableState {
  std::shared_ptr<const KeyspaceReplicas> replicas;  // nullptr: the keyspace is gone
  TableRequests* requests = nullptr;
  bool is_local = true;  // no other node has keys of it
  // Nothing: tokens differ in their replicas.
  std::optional<std::array<LevelState, kConsistencyLevels>> levels;
};

class CoordinatorImpl : public Coordinator, public DenylistReader {
 public:
  CoordinatorImpl(ShardRuntime& runtime, Replica& replica, CoordinatorOptions options, CoordinatorPeers peers)
      : runtime_(runtime),
        replica_(replica),
        local_(replica),
        options_(options),
        tracing_(runtime, *this, options_),
        context_(runtime, replica, peers.messenger, peers.hints, options_, statistics_),
        batchlog_(runtime, replica, replica.schema(), batchlog_options(options)),
        replicated_writes_(ReplicatedWrites::create(context_, batchlog_)),
        replicated_reads_(context_),
        writes_(runtime, options_.write_timeout),
        counter_writes_(runtime, options_.counter_write_timeout) {
    if (peers.messenger != nullptr) peers.messenger->trace_with(&tracing_);
    batchlog_.replay_through(*replicated_writes_);
    if (options_.denylist.enabled) {
      denylist_ = std::make_unique<Denylist>(runtime, replica.schema(), *this, options_.denylist, statistics_);
    }
    // Tables of an old snapshot must not be found by their address.
    replica_.schema().add_listener([this](const SchemaDiff& diff) { follow_schema(diff); });
    replica_.topology().add_listener([this](const TopologyPtr& topology) {
      forget_tables();
      context_.use(topology);
    });
  }

  Task<Status> write(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                     const TracePtr& trace) override;
  Task<Status> write_counters(std::span<const Mutation> mutations, Consistency consistency,
                              const TracePtr& trace) override;
  Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink,
                                    const TracePtr& trace, std::vector<std::string>* warnings) override;
  Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink) override {
    return read(command, consistency, sink, kUntraced, nullptr);
  }
  Task<Status> truncate(TablePtr table) override;
  Batchlog& batchlog() override { return batchlog_; }
  ReplicatedWrites& replicated_writes() override { return *replicated_writes_; }
  Tracing& tracing() override { return tracing_; }
  Task<void> stop() override;

  Denylist* denylist() override { return denylist_.get(); }
  const CoordinatorOptions& options() const override { return options_; }
  void set_timeout(Duration CoordinatorOptions::*which, Duration timeout) override { options_.*which = timeout; }
  Replica& replica() override { return replica_; }
  SchemaStore& schema() override { return replica_.schema(); }
  const CoordinatorStatistics& statistics() const override { return statistics_; }
  CoordinatorStatistics& statistics() override { return statistics_; }
  const TableRequests* requests(const Uuid& table) const override {
    auto it = context_.tables.find(table);
    return it == context_.tables.end() ? nullptr : it->second.get();
  }

 private:
  bool can_read_all(const TableMetadata& table, Consistency consistency) override;
  Task<Status> check_and_write(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                               TracePtr trace);
  Task<Result<ReadStatistics>> check_and_read(const ReadCommand* command, Consistency consistency, RowSink* sink,
                                              TracePtr trace, std::vector<std::string>* warnings);
  Task<Status> write_permitted(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                               const TracePtr& trace);
  Task<Status> write_permitted_counters(std::span<const Mutation> mutations, Consistency consistency,
                                        const TracePtr& trace);
  Task<Result<ReadStatistics>> read_permitted(const ReadCommand& command, Consistency consistency, RowSink& sink,
                                              const TracePtr& trace, std::vector<std::string>* warnings);
  const TableState& state(const TableMetadata& table);  // valid until the next call
  TableState make_state(const TableMetadata& table);
  bool is_uniformly_local(const KeyspaceReplicas& replicas);
  bool is_local(const TableMetadata& table, Token token);
  bool is_local(const ReadCommand& command, Consistency consistency);
  bool is_alone() { return context_.messenger == nullptr || topology().ring()->endpoints().size() == 1; }
  void follow_schema(const SchemaDiff& diff);
  void forget_tables();
  const Topology& topology() { return *replica_.topology().current(); }
  const std::string& local_datacenter() { return topology().local().datacenter; }
  int required(const TableMetadata& table, Consistency consistency);
  Status check_replicas(const KeyspaceReplicas* replicas, Token token, Consistency consistency, bool is_write);
  Status check_available(const TableMetadata& table, Token token, Consistency consistency, bool is_write);
  Status check_writable(std::span<const Mutation> mutations, Consistency consistency);
  Status check_readable(const ReadCommand& command, Consistency consistency);
  Task<Status> finish_writes(Writes writes, std::span<const Mutation> mutations, Consistency consistency,
                             WriteType type, int64_t began);
  Task<Status> finish_later(Task<std::optional<Status>> pending, std::span<const Mutation> mutations,
                            Consistency consistency, WriteType type, int64_t began);
  Task<Status> write_batch(std::span<const Mutation> mutations, Consistency consistency, int64_t began);
  Task<Status> finish_batch(Uuid id, Writes writes);
  Task<Result<ReadStatistics>> read_later(Task<Result<ReadStatistics>> pending, const ReadCommand* command,
                                          Consistency consistency, int64_t began);
  Result<ReadStatistics> finish_read(Result<ReadStatistics> result, const ReadCommand& command, Consistency consistency,
                                     int64_t began);
  Task<Result<ReadStatistics>> warned(Task<Result<ReadStatistics>> read, const ReadCommand* command,
                                      Consistency consistency, std::vector<std::string>* warnings);
  bool is_local(std::span<const Mutation> mutations, WriteType type);
  void count_partitions(size_t partitions, WriteType type);
  Task<Status> finish_replicated(Task<Status> write, std::span<const Mutation> mutations, WriteType type,
                                 int64_t began);
  Task<Result<ReadStatistics>> finish_replicated(Task<Result<ReadStatistics>> read, const ReadCommand* command,
                                                 int64_t began);
  bool was_abandoned(const Result<ReadStatistics>& result, const ReadCommand& command);
  void count_read(const ReadCommand& command, int64_t began);
  void count_write(const Status& status, std::span<const Mutation> mutations, int64_t began);
  int64_t now() const { return runtime_.clock.monotonic_nanos(); }
  uint64_t micros_since(int64_t began) const { return static_cast<uint64_t>(now() - began) / 1000; }

  ShardRuntime& runtime_;
  Replica& replica_;
  Verbs& local_;  // this node as a replica: the only one that is asked for keys that nobody else has
  CoordinatorOptions options_;
  CoordinatorStatistics statistics_;
  Tracing tracing_;
  RequestContext context_;
  Batchlog batchlog_;
  std::unique_ptr<ReplicatedWrites> replicated_writes_;
  ReplicatedReads replicated_reads_;
  PendingWrites writes_, counter_writes_;
  std::unique_ptr<Denylist> denylist_;  // null: it is not enabled
  absl::flat_hash_map<const TableMetadata*, TableState> tables_;
  // The last answer of state(): a request asks for the same table several times.
  const TableMetadata* last_table_ = nullptr;
  const TableState* last_state_ = nullptr;
};

// ---- Replicas

const TableState& CoordinatorImpl::state(const TableMetadata& table) {
  if (last_table_ != &table) {
    auto it = tables_.find(&table);
    last_state_ = it != tables_.end() ? &it->second : &tables_.emplace(&table, make_state(table)).first->second;
    last_table_ = &table;
  }
  return *last_state_;
}

TableState CoordinatorImpl::make_state(const TableMetadata& table) {
  TableState state;
  state.replicas = context_.replicas_of(table.keyspace);
  const KeyspaceReplicas* replicas = state.replicas.get();
  state.is_local = table.is_virtual || replicas == nullptr || is_uniformly_local(*replicas);
  if (replicas == nullptr || (replicas->natural.is_uniform() && replicas->pending.empty())) {
    state.levels.emplace();
    for (size_t level = 0; level < kConsistencyLevels; ++level) {
      const auto consistency = static_cast<Consistency>(level);
      if (replicas != nullptr) {
        (*state.levels)[level].required = block_for(consistency, replicas->strategy, local_datacenter());
      }
      (*state.levels)[level].is_available = check_replicas(replicas, kMinimumToken, consistency, false).ok();
    }
  }
  state.requests = context_.requests_of(table.id).get();
  return state;
}

void CoordinatorImpl::forget_tables() {
  tables_.clear();
  last_table_ = nullptr;
}

bool CoordinatorImpl::is_uniformly_local(const KeyspaceReplicas& replicas) {
  if (context_.messenger == nullptr) return true;
  if (!replicas.natural.is_uniform() || !replicas.pending.empty()) return false;
  std::span<const EndpointIndex> all = replicas.natural.replicas(kMinimumToken);
  return all.size() == 1 && all[0] == topology().ring()->local();
}

// This node is the only replica of the token.
bool CoordinatorImpl::is_local(const TableMetadata& table, Token token) {
  const TableState& known = state(table);
  if (known.is_local) return true;
  std::span<const EndpointIndex> natural = known.replicas->natural.replicas(token);
  return natural.size() == 1 && natural[0] == topology().ring()->local() && known.replicas->pending.of(token).empty();
}

// The read needs no other node: nobody else has the keys, or one replica is enough and this node is one. Dynamic snitches
// aside, this node is its own nearest replica.
bool CoordinatorImpl::is_local(const ReadCommand& command, Consistency consistency) {
  if (is_alone()) return true;
  const TableState& known = state(*command.table);
  if (known.is_local) return true;
  const bool one_is_enough = consistency == Consistency::kOne || consistency == Consistency::kLocalOne ||
                             consistency == Consistency::kNodeLocal;
  const ReplicaMap& natural = known.replicas->natural;
  const EndpointIndex local = topology().ring()->local();
  auto has = [&](Token token) {
    std::span<const EndpointIndex> replicas = natural.replicas(token);
    return std::find(replicas.begin(), replicas.end(), local) != replicas.end();
  };
  if (command.range) return one_is_enough && natural.is_uniform() && has(kMinimumToken);
  for (const DecoratedKey& key : command.keys) {
    if (is_local(*command.table, key.token)) continue;
    if (!one_is_enough || !has(key.token)) return false;
  }
  return true;
}

void CoordinatorImpl::follow_schema(const SchemaDiff& diff) {
  forget_tables();
  for (const Uuid& id : diff.changed_tables) {
    if (diff.schema->table(id) == nullptr) context_.tables.erase(id);
  }
}

int CoordinatorImpl::required(const TableMetadata& table, Consistency consistency) {
  const TableState& known = state(table);
  if (known.levels) return (*known.levels)[static_cast<size_t>(consistency)].required;
  return block_for(consistency, known.replicas->strategy, local_datacenter());
}

// Enough of a token's replicas live (ReplicaPlans.assureSufficientLiveReplicas). Writes also wait for those to come.
Status CoordinatorImpl::check_replicas(const KeyspaceReplicas* replicas, Token token, Consistency consistency,
                                       bool is_write) {
  if (replicas == nullptr) return unavailable_error(consistency, 1, 0);
  const ReplicationStrategy& strategy = replicas->strategy;
  LiveReplicas live = count_live(topology(), replicas->natural.replicas(token));
  if (consistency == Consistency::kEachQuorum && strategy.is_network_topology()) {
    for (const auto& [datacenter, factor] : strategy.datacenters()) {
      const int quorum = factor / 2 + 1;
      // Cassandra counts no replica as alive here.
      if (live.by_datacenter[datacenter] < quorum) {
        return unavailable_error(consistency, quorum, 0, datacenter);
      }
    }
    return {};
  }
  const bool is_local = is_datacenter_local(consistency);
  int needed = block_for(consistency, strategy, local_datacenter());
  if (is_write) {
    for (EndpointIndex endpoint : replicas->pending.of(token)) {
      const bool counts = !is_local || topology().ring()->endpoint(endpoint).datacenter == local_datacenter();
      needed += counts;
      if (!topology().is_alive(endpoint)) continue;
      ++live.all;
      ++live.by_datacenter[topology().ring()->endpoint(endpoint).datacenter];
    }
  }
  DCHECK(live.all <= static_cast<int>(replicas->natural.replicas(token).size() + replicas->pending.of(token).size()));
  const int counted = is_local ? live.by_datacenter[local_datacenter()] : live.all;
  if (counted >= needed) return {};
  return unavailable_error(consistency, needed, counted);
}

Status CoordinatorImpl::check_available(const TableMetadata& table, Token token, Consistency consistency,
                                        bool is_write) {
  if (table.is_virtual) return {};
  const TableState& known = state(table);
  if (known.levels && (*known.levels)[static_cast<size_t>(consistency)].is_available) return {};
  Status status = check_replicas(known.replicas.get(), token, consistency, is_write);
  if (!status.ok()) ++statistics_.unavailables;
  return status;
}

Status CoordinatorImpl::check_writable(std::span<const Mutation> mutations, Consistency consistency) {
  for (const Mutation& mutation : mutations) {
    TRY(check_available(*mutation.updates[0].table, mutation.key.token, consistency, true));
  }
  return {};
}

// ---- Writes

void CoordinatorImpl::count_write(const Status& status, std::span<const Mutation> mutations, int64_t began) {
  const uint64_t micros = micros_since(began);
  statistics_.write_micros.record(micros);
  for (const Mutation& mutation : mutations) {
    for (const PartitionUpdate& update : mutation.updates) state(*update.table).requests->write_micros.record(micros);
  }
  if (status.ok()) return;
  ++(status.error().code() == ErrorCode::kWriteTimeout ? statistics_.timeouts : statistics_.failures);
}

// No other node gets a part of the write. A logged batch is kept by other nodes if there are any.
bool CoordinatorImpl::is_local(std::span<const Mutation> mutations, WriteType type) {
  if (is_alone()) return true;
  if (type == WriteType::kBatch && mutations.size() > 1) return false;
  return std::all_of(mutations.begin(), mutations.end(), [this](const Mutation& mutation) {
    return is_local(*mutation.updates[0].table, mutation.key.token);
  });
}

void CoordinatorImpl::count_partitions(size_t partitions, WriteType type) {
  if (type == WriteType::kBatch) statistics_.partitions_per_logged_batch.record(partitions);
  if (type == WriteType::kUnloggedBatch) statistics_.partitions_per_unlogged_batch.record(partitions);
  if (type == WriteType::kCounter && partitions > 1) statistics_.partitions_per_counter_batch.record(partitions);
}

Task<Status> CoordinatorImpl::finish_replicated(Task<Status> write, std::span<const Mutation> mutations, WriteType type,
                                                int64_t began) {
  count_partitions(mutations.size(), type);
  Status status = co_await write;
  if (!status.ok() && status.error().code() == ErrorCode::kUnavailable) {
    ++statistics_.unavailables;
  } else {
    count_write(status, mutations, began);
  }
  co_return status;
}

Task<Status> CoordinatorImpl::truncate(TablePtr table) {
  if (is_alone()) return local_.truncate(std::move(table));
  return replicated_writes_->truncate(std::move(table));
}

Task<Status> CoordinatorImpl::write(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                                    const TracePtr& trace) {
  if (denylist_ != nullptr) return check_and_write(mutations, consistency, type, trace);
  return write_permitted(mutations, consistency, type, trace);
}

Task<Status> CoordinatorImpl::write_counters(std::span<const Mutation> mutations, Consistency consistency,
                                             const TracePtr& trace) {
  if (denylist_ != nullptr) return check_and_write(mutations, consistency, WriteType::kCounter, trace);
  return write_permitted_counters(mutations, consistency, trace);
}

Task<Status> CoordinatorImpl::check_and_write(std::span<const Mutation> mutations, Consistency consistency,
                                              WriteType type, TracePtr trace) {
  Task<Status> checking = denylist_->check(mutations);
  CO_TRY(co_await checking);
  Task<Status> writing = type == WriteType::kCounter ? write_permitted_counters(mutations, consistency, trace)
                                                     : write_permitted(mutations, consistency, type, trace);
  Status status = co_await writing;
  co_return status;
}

Task<Status> CoordinatorImpl::write_permitted(std::span<const Mutation> mutations, Consistency consistency,
                                              WriteType type, const TracePtr& trace) {
  int64_t began = now();
  if (!is_local(mutations, type)) {
    const bool is_logged = type == WriteType::kBatch && mutations.size() > 1;
    return finish_replicated(is_logged ? replicated_writes_->write_logged_batch(mutations, consistency, trace)
                                       : replicated_writes_->write(mutations, consistency, type, trace),
                             mutations, type, began);
  }
  if (trace != nullptr) trace_locally(*trace, mutations);
  if (Status status = check_writable(mutations, consistency); !status.ok()) return status;
  count_partitions(mutations.size(), type);
  if (type == WriteType::kBatch && mutations.size() > 1) return write_batch(mutations, consistency, began);
  if (mutations.size() == 1) {
    Task<Status> write = local_.mutate(mutations[0]);
    if (!write.ready()) {
      return finish_later(writes_.run(std::move(write), began), mutations, consistency, type, began);
    }
    Status status = write.take();
    count_write(status, mutations, began);
    return status;
  }
  Writes writes;
  for (const Mutation& mutation : mutations) writes.push_back(local_.mutate(mutation));
  return finish_writes(std::move(writes), mutations, consistency, type, began);
}

Task<Status> CoordinatorImpl::write_permitted_counters(std::span<const Mutation> mutations, Consistency consistency,
                                                       const TracePtr& trace) {
  int64_t began = now();
  if (!is_local(mutations, WriteType::kCounter)) {
    return finish_replicated(replicated_writes_->write_counters(mutations, consistency, trace), mutations,
                             WriteType::kCounter, began);
  }
  if (trace != nullptr) trace_locally(*trace, mutations);
  if (Status status = check_writable(mutations, consistency); !status.ok()) return status;
  count_partitions(mutations.size(), WriteType::kCounter);
  Writes writes;
  for (const Mutation& mutation : mutations) {
    Task<Result<SerializedMutation>> write = local_.mutate_counter(mutation);
    if (write.ready()) {
      writes.push_back(to_status(write.take()));
    } else {
      writes.push_back(without_result(std::move(write)));
    }
  }
  return finish_writes(std::move(writes), mutations, consistency, WriteType::kCounter, began);
}

Task<Status> CoordinatorImpl::finish_writes(Writes writes, std::span<const Mutation> mutations, Consistency consistency,
                                            WriteType type, int64_t began) {
  const bool ended = std::all_of(writes.begin(), writes.end(), [](const auto& write) { return write.ready(); });
  if (!ended) {
    PendingWrites& pending = type == WriteType::kCounter ? counter_writes_ : writes_;
    return finish_later(pending.run(all_of(std::move(writes)), began), mutations, consistency, type, began);
  }
  Status status;
  for (Task<Status>& write : writes) {
    if (status.ok()) status = write.take();
  }
  count_write(status, mutations, began);
  return status;
}

// The client still waits, so its mutations are there.
Task<Status> CoordinatorImpl::finish_later(Task<std::optional<Status>> pending, std::span<const Mutation> mutations,
                                           Consistency consistency, WriteType type, int64_t began) {
  std::optional<Status> ended = co_await pending;
  Status status;
  if (ended) {
    status = std::move(*ended);
  } else {
    status = write_timeout_error({consistency, 0, required(*mutations[0].updates[0].table, consistency)}, type);
  }
  count_write(status, mutations, began);
  co_return status;
}

// First the record that lets a later round or start finish the batch, then the mutations, then the record's removal.
Task<Status> CoordinatorImpl::write_batch(std::span<const Mutation> mutations, Consistency consistency, int64_t began) {
  const Uuid id = batchlog_.next_id();
  std::vector<SerializedMutation> serialized;
  for (const Mutation& mutation : mutations) serialized.emplace_back(mutation);
  Task<std::optional<Status>> storing = writes_.run(batchlog_.store(id, serialized), began);
  std::optional<Status> stored = co_await storing;
  Status status;
  if (stored) {
    status = std::move(*stored);
  } else {
    status = write_timeout_error({Consistency::kOne, 0, 1}, WriteType::kBatchLog);
  }
  if (!status.ok()) {
    count_write(status, mutations, began);
    co_return status;
  }
  Writes writes;
  for (size_t i = 0; i < mutations.size(); ++i) {
    MutationPayload payload(mutations[i], serialized[i]);
    writes.push_back(local_.mutate(payload));
  }
  Task<std::optional<Status>> applying = writes_.run(finish_batch(id, std::move(writes)), began);
  Task<Status> finished = finish_later(std::move(applying), mutations, consistency, WriteType::kBatch, began);
  status = co_await finished;
  co_return status;
}

// The batchlog's next round tries a failed one again.
Task<Status> CoordinatorImpl::finish_batch(Uuid id, Writes writes) {
  Task<Status> applying = all_of(std::move(writes));
  Status status = co_await applying;
  if (!status.ok()) co_return status;
  Task<Status> removing = batchlog_.remove(id);
  Status removed = co_await removing;
  if (!removed.ok()) context_.record_stays(removed.error());
  co_return Status();
}

Task<void> CoordinatorImpl::stop() {
  if (denylist_ != nullptr) co_await denylist_->stop();
  co_await tracing_.stop();
  co_await batchlog_.stop();
  co_await writes_.stop();
  co_await counter_writes_.stop();
  co_await context_.running.close();
}

// ---- Reads

Status CoordinatorImpl::check_readable(const ReadCommand& command, Consistency consistency) {
  const TableMetadata& table = *command.table;
  if (table.is_virtual) return {};
  if (state(table).levels) return check_available(table, kMinimumToken, consistency, false);
  for (const DecoratedKey& key : command.keys) TRY(check_available(table, key.token, consistency, false));
  if (!command.range) return {};
  for (const TokenRing::Entry& entry : topology().ring()->entries()) {
    TRY(check_available(table, entry.token, consistency, false));
  }
  return {};
}

bool CoordinatorImpl::can_read_all(const TableMetadata& table, Consistency consistency) {
  const KeyspaceReplicas* replicas = state(table).replicas.get();
  const auto& entries = topology().ring()->entries();
  if (entries.empty()) return check_replicas(replicas, kMinimumToken, consistency, false).ok();
  return std::all_of(entries.begin(), entries.end(), [&](const TokenRing::Entry& entry) {
    return check_replicas(replicas, entry.token, consistency, false).ok();
  });
}

Task<Result<ReadStatistics>> CoordinatorImpl::read(const ReadCommand& command, Consistency consistency, RowSink& sink,
                                                   const TracePtr& trace, std::vector<std::string>* warnings) {
  if (denylist_ != nullptr) return check_and_read(&command, consistency, &sink, trace, warnings);
  return read_permitted(command, consistency, sink, trace, warnings);
}

Task<Result<ReadStatistics>> CoordinatorImpl::check_and_read(const ReadCommand* command, Consistency consistency,
                                                             RowSink* sink, TracePtr trace,
                                                             std::vector<std::string>* warnings) {
  Task<Status> checking = denylist_->check(*command);
  CO_TRY(co_await checking);
  Task<Result<ReadStatistics>> reading = read_permitted(*command, consistency, *sink, trace, warnings);
  Result<ReadStatistics> result = co_await reading;
  co_return result;
}

Task<Result<ReadStatistics>> CoordinatorImpl::read_permitted(const ReadCommand& command, Consistency consistency,
                                                             RowSink& sink, const TracePtr& trace,
                                                             std::vector<std::string>* warnings) {
  int64_t began = now();
  consistency = consistency_to_fetch(command, consistency);
  if (!is_local(command, consistency)) {
    return finish_replicated(replicated_reads_.read(command, consistency, sink, trace, warnings), &command, began);
  }
  if (Status status = check_readable(command, consistency); !status.ok()) {
    return Result<ReadStatistics>(std::move(status.error()));
  }
  const int64_t deadline = began + (command.range ? options_.range_timeout : options_.read_timeout).count();
  if (trace != nullptr) trace_read(*trace, command);
  Task<Result<ReadStatistics>> task = local_.read(command, sink, deadline);
  if (trace != nullptr) task = traced(std::move(task), trace);
  if (options_.tracks_warnings) {
    task = read_later(std::move(task), &command, consistency, began);
    return warned(std::move(task), &command, consistency, warnings);
  }
  if (!task.ready()) return read_later(std::move(task), &command, consistency, began);
  return finish_read(task.take(), command, consistency, began);
}

// This node is the only replica that warns.
Task<Result<ReadStatistics>> CoordinatorImpl::warned(Task<Result<ReadStatistics>> read, const ReadCommand* command,
                                                     Consistency consistency, std::vector<std::string>* warnings) {
  Result<ReadStatistics> result = co_await read;
  const bool has_failed = !result.ok() && result.error().code() == ErrorCode::kReadFailure;
  const uint64_t threshold = options_.tombstone_warn_threshold;
  const bool warns = result.ok() && threshold > 0 && result->tombstones > threshold;
  if ((!has_failed && !warns) || is_local_system_keyspace(command->table->keyspace)) co_return result;
  const TokenRing& ring = *topology().ring();
  const InetAddressAndPort self = context_.cluster->address(ring.local());
  ReadWarnings noted;
  if (warns) noted.add(ParamType::kTombstoneWarning, result->tombstones, self);
  if (has_failed) {
    noted.add(ParamType::kTombstoneFail, options_.tombstone_failure_threshold + 1, self);
    const Received none{consistency, 0, required(*command->table, consistency)};
    EndpointFailures failures;
    failures.push_back({ring.local(), RequestFailureReason::kReadTooManyTombstones});
    result = read_failure_error(none, false, failures, ring, noted.abort_text(*command));
  }
  for (std::string& text : noted.texts(*command)) {
    if (warnings != nullptr) warnings->push_back(text + " with " + loggable_tokens(*command));
  }
  co_return result;
}

Task<Result<ReadStatistics>> CoordinatorImpl::finish_replicated(Task<Result<ReadStatistics>> read,
                                                                const ReadCommand* command, int64_t began) {
  Result<ReadStatistics> result = co_await read;
  if (was_abandoned(result, *command)) co_return result;
  if (!result.ok() && result.error().code() == ErrorCode::kUnavailable) {
    ++statistics_.unavailables;
    co_return result;
  }
  count_read(*command, began);
  if (!result.ok()) ++(result.error().code() == ErrorCode::kReadTimeout ? statistics_.timeouts : statistics_.failures);
  co_return result;
}

bool CoordinatorImpl::was_abandoned(const Result<ReadStatistics>& result, const ReadCommand& command) {
  if (result.ok() || check_wanted(command.abandonment).ok()) return false;
  ++statistics_.abandoned_reads;
  return true;
}

void CoordinatorImpl::count_read(const ReadCommand& command, int64_t began) {
  const bool is_range = command.range.has_value();
  const uint64_t micros = micros_since(began);
  (is_range ? statistics_.range_micros : statistics_.read_micros).record(micros);
  TableRequests& of_table = *state(*command.table).requests;
  (is_range ? of_table.range_micros : of_table.read_micros).record(micros);
}

Task<Result<ReadStatistics>> CoordinatorImpl::read_later(Task<Result<ReadStatistics>> pending,
                                                         const ReadCommand* command, Consistency consistency,
                                                         int64_t began) {
  Result<ReadStatistics> result = co_await pending;
  result = finish_read(std::move(result), *command, consistency, began);
  co_return result;
}

Result<ReadStatistics> CoordinatorImpl::finish_read(Result<ReadStatistics> result, const ReadCommand& command,
                                                    Consistency consistency, int64_t began) {
  if (was_abandoned(result, command)) return result;
  count_read(command, began);
  if (result.ok()) return result;
  const ErrorCode code = result.error().code();
  if (code != ErrorCode::kReadFailure && code != ErrorCode::kReadTimeout) return result;
  const bool in_time = code == ErrorCode::kReadFailure;
  ++(in_time ? statistics_.failures : statistics_.timeouts);
  if (auto more = context_.failed_reads.take(context_.now())) LOG_WARN("{}{}", result.error().message(), *more);
  const int needed = required(*command.table, consistency);
  const Received none{consistency, 0, needed};
  if (!in_time) return read_timeout_error(none, false);
  const TokenRing& ring = *replica_.topology().current()->ring();
  return read_failure_error(none, false, {{ring.local(), RequestFailureReason::kReadTooManyTombstones}}, ring);
}

}  // namespace

std::unique_ptr<Coordinator> Coordinator::create(ShardRuntime& runtime, Replica& replica, CoordinatorOptions options,
                                                 CoordinatorPeers peers) {
  return std::make_unique<CoordinatorImpl>(runtime, replica, options, peers);
}

}  // namespace cassandra_like
