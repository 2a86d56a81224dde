#include "coordinator/coordinator.h"

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

// One replica is enough, and the nearest is this node if it is one. Dynamic snitches aside.
bool is_served_by_one(Consistency consistency) {
  return consistency == Consistency::kOne || consistency == Consistency::kLocalOne ||
         consistency == Consistency::kNodeLocal;
}

// Facts of the tokens that have the same replicas.
struct GroupState {
  bool is_known = false;
  bool has_local = false;         // this node is one of the replicas
  bool is_local = false;          // it is the only one
  uint16_t available_levels = 0;  // a bit for each consistency level: enough of the replicas live

  bool is_available(Consistency level) const { return ((available_levels >> static_cast<int>(level)) & 1) != 0; }
};
static_assert(kConsistencyLevels <= 16);

// Facts of a table while its schema and the topology are current.
struct TableState {
  std::shared_ptr<const KeyspaceReplicas> replicas;  // nullptr: the keyspace is gone
  TableRequests* requests = nullptr;
  bool is_local = true;            // no other node has keys of it
  std::vector<GroupState> groups;  // of ReplicaMap; each is filled when it is first asked for
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
  TableState& state(const TableMetadata& table);  // valid until the next call
  TableState make_state(const TableMetadata& table);
  bool is_local(const KeyspaceReplicas& replicas);
  const GroupState& group_state(TableState& known, size_t group);
  bool is_local(const Mutation& mutation);
  bool is_alone() { return context_.messenger == nullptr || topology().ring()->endpoints().size() == 1; }
  void follow_schema(const SchemaDiff& diff);
  void forget_tables();
  const Topology& topology() { return *replica_.topology().current(); }
  const std::string& local_datacenter() { return topology().local().datacenter; }
  int required(const TableMetadata& table, Consistency consistency);
  Status unavailable(const KeyspaceReplicas* replicas, size_t group, Consistency consistency);
  Status check_live(const KeyspaceReplicas& replicas, size_t group, Consistency consistency);
  Status check_writable(std::span<const Mutation> mutations, Consistency consistency);
  std::optional<Status> check_local_read(const ReadCommand& command, Consistency consistency);
  Task<Status> finish_writes(Writes writes, std::span<const Mutation> mutations, Consistency consistency,
                             WriteType type, int64_t began);
  Task<Status> finish_later(Task<std::optional<Status>> pending, std::span<const Mutation> mutations,
                            Consistency consistency, WriteType type, int64_t began);
  Task<Status> write_batch(std::span<const Mutation> mutations, Consistency consistency, int64_t began);
  Task<Status> finish_batch(Uuid id, Writes writes);
  Task<Result<ReadStatistics>> read_later(Task<Result<ReadStatistics>> pending, const ReadCommand* command,
                                          Consistency consistency, int64_t began);
  Result<ReadStatistics> finish_read(Result<ReadStatistics> result, const ReadCommand& command, Consistency consistency,
                                     int64_t began, int64_t ended);
  Task<Result<ReadStatistics>> warned(Task<Result<ReadStatistics>> read, const ReadCommand* command,
                                      Consistency consistency, std::vector<std::string>* warnings);
  bool is_local(std::span<const Mutation> mutations, WriteType type);
  void count_partitions(size_t partitions, WriteType type);
  Task<Status> finish_replicated(Task<Status> write, std::span<const Mutation> mutations, WriteType type,
                                 int64_t began);
  Task<Result<ReadStatistics>> finish_replicated(Task<Result<ReadStatistics>> read, const ReadCommand* command,
                                                 int64_t began);
  bool was_abandoned(const Result<ReadStatistics>& result, const ReadCommand& command);
  void count_read(const ReadCommand& command, int64_t began, int64_t ended);
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
  TableState* last_state_ = nullptr;
};

// ---- Replicas

TableState& CoordinatorImpl::state(const TableMetadata& table) {
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
  state.is_local = table.is_virtual || state.replicas == nullptr || is_local(*state.replicas);
  if (state.replicas != nullptr) state.groups.resize(state.replicas->natural.groups().size());
  state.requests = context_.requests_of(table.id).get();
  return state;
}

void CoordinatorImpl::forget_tables() {
  tables_.clear();
  last_table_ = nullptr;
}

bool CoordinatorImpl::is_local(const KeyspaceReplicas& replicas) {
  if (is_alone()) return true;
  const auto groups = replicas.natural.groups();
  return groups.size() == 1 && groups[0].size() == 1 && groups[0][0] == topology().ring()->local() &&
         replicas.pending.empty();
}

const GroupState& CoordinatorImpl::group_state(TableState& known, size_t group) {
  GroupState& state = known.groups[group];
  if (state.is_known) return state;
  const std::vector<EndpointIndex>& replicas = known.replicas->natural.groups()[group];
  const EndpointIndex local = topology().ring()->local();
  state.is_known = true;
  state.has_local = std::find(replicas.begin(), replicas.end(), local) != replicas.end();
  state.is_local = state.has_local && replicas.size() == 1;
  for (size_t level = 0; level < kConsistencyLevels; ++level) {
    const bool is_available = check_live(*known.replicas, group, static_cast<Consistency>(level)).ok();
    state.available_levels |= static_cast<uint16_t>(is_available ? 1 << level : 0);
  }
  return state;
}

// This node is the only replica, and no other one will be.
bool CoordinatorImpl::is_local(const Mutation& mutation) {
  TableState& known = state(*mutation.updates[0].table);
  if (known.is_local) return true;
  const Token token = mutation.key.token;
  return group_state(known, known.replicas->natural.group_of(token)).is_local &&
         known.replicas->pending.of(token).empty();
}

void CoordinatorImpl::follow_schema(const SchemaDiff& diff) {
  forget_tables();
  for (const Uuid& id : diff.changed_tables) {
    if (diff.schema->table(id) == nullptr) context_.tables.erase(id);
  }
}

int CoordinatorImpl::required(const TableMetadata& table, Consistency consistency) {
  const KeyspaceReplicas* replicas = state(table).replicas.get();
  return replicas == nullptr ? 1 : block_for(consistency, replicas->strategy, local_datacenter());
}

Status CoordinatorImpl::check_live(const KeyspaceReplicas& replicas, size_t group, Consistency consistency) {
  EndpointList live;
  for (EndpointIndex endpoint : replicas.natural.groups()[group]) {
    if (topology().is_alive(endpoint)) live.push_back(endpoint);
  }
  return check_readable({topology(), replicas}, consistency, {live.data(), live.size()});
}

Status CoordinatorImpl::unavailable(const KeyspaceReplicas* replicas, size_t group, Consistency consistency) {
  ++statistics_.unavailables;
  return replicas == nullptr ? unavailable_error(consistency, 1, 0) : check_live(*replicas, group, consistency);
}

Status CoordinatorImpl::check_writable(std::span<const Mutation> mutations, Consistency consistency) {
  for (const Mutation& mutation : mutations) {
    const TableMetadata& table = *mutation.updates[0].table;
    if (table.is_virtual) continue;
    TableState& known = state(table);
    if (known.replicas == nullptr) return unavailable(nullptr, 0, consistency);
    const size_t group = known.replicas->natural.group_of(mutation.key.token);
    if (!group_state(known, group).is_available(consistency)) {
      return unavailable(known.replicas.get(), group, consistency);
    }
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
  return std::all_of(mutations.begin(), mutations.end(), [this](const Mutation& m) { return is_local(m); });
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

// Nothing: the read needs other nodes. Else this node serves it, unless the level is not reached.
std::optional<Status> CoordinatorImpl::check_local_read(const ReadCommand& command, Consistency consistency) {
  if (command.table->is_virtual) return Status();
  TableState& known = state(*command.table);
  if (known.replicas == nullptr) return unavailable(nullptr, 0, consistency);
  std::optional<size_t> not_available;
  auto serves_here = [&](size_t group) {
    const GroupState& facts = group_state(known, group);
    if (!facts.is_available(consistency)) not_available = group;
    return known.is_local || facts.is_local || (facts.has_local && is_served_by_one(consistency));
  };
  if (command.range) {
    for (size_t group = 0; group < known.groups.size(); ++group) {
      if (!serves_here(group)) return std::nullopt;
    }
  }
  for (const DecoratedKey& key : command.keys) {
    if (!serves_here(known.replicas->natural.group_of(key.token))) return std::nullopt;
  }
  if (!not_available) return Status();
  return unavailable(known.replicas.get(), *not_available, consistency);
}

bool CoordinatorImpl::can_read_all(const TableMetadata& table, Consistency consistency) {
  TableState& known = state(table);
  for (size_t group = 0; group < known.groups.size(); ++group) {
    if (!group_state(known, group).is_available(consistency)) return false;
  }
  return known.replicas != nullptr;
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
  std::optional<Status> local = check_local_read(command, consistency);
  if (!local) {
    return finish_replicated(replicated_reads_.read(command, consistency, sink, trace, warnings), &command, began);
  }
  if (!local->ok()) return Result<ReadStatistics>(std::move(local->error()));
  const int64_t deadline = began + (command.range ? options_.range_timeout : options_.read_timeout).count();
  if (trace != nullptr) trace_read(*trace, command);
  Task<Result<ReadStatistics>> task = local_.read(command, sink, deadline, began);
  if (trace != nullptr) task = traced(std::move(task), trace);
  if (options_.tracks_warnings) {
    task = read_later(std::move(task), &command, consistency, began);
    return warned(std::move(task), &command, consistency, warnings);
  }
  if (!task.ready()) return read_later(std::move(task), &command, consistency, began);
  Result<ReadStatistics> result = task.take();
  const int64_t ended = result.ok() && result->ended != 0 ? result->ended : now();
  return finish_read(std::move(result), command, consistency, began, ended);
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
  count_read(*command, began, now());
  if (!result.ok()) ++(result.error().code() == ErrorCode::kReadTimeout ? statistics_.timeouts : statistics_.failures);
  co_return result;
}

bool CoordinatorImpl::was_abandoned(const Result<ReadStatistics>& result, const ReadCommand& command) {
  if (result.ok() || check_wanted(command.abandonment).ok()) return false;
  ++statistics_.abandoned_reads;
  return true;
}

void CoordinatorImpl::count_read(const ReadCommand& command, int64_t began, int64_t ended) {
  const bool is_range = command.range.has_value();
  const uint64_t micros = static_cast<uint64_t>(ended - began) / 1000;
  (is_range ? statistics_.range_micros : statistics_.read_micros).record(micros);
  TableRequests& of_table = *state(*command.table).requests;
  (is_range ? of_table.range_micros : of_table.read_micros).record(micros);
}

Task<Result<ReadStatistics>> CoordinatorImpl::read_later(Task<Result<ReadStatistics>> pending,
                                                         const ReadCommand* command, Consistency consistency,
                                                         int64_t began) {
  Result<ReadStatistics> result = co_await pending;
  result = finish_read(std::move(result), *command, consistency, began, now());
  co_return result;
}

Result<ReadStatistics> CoordinatorImpl::finish_read(Result<ReadStatistics> result, const ReadCommand& command,
                                                    Consistency consistency, int64_t began, int64_t ended) {
  if (was_abandoned(result, command)) return result;
  count_read(command, began, ended);
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
