#include "coordinator/write/replicated_writes.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "coordinator/write/batch_replay.h"
#include "coordinator/write/truncation.h"
#include "coordinator/write/write_operation.h"
#include "messaging/wire/batch_codec.h"
#include "messaging/wire/mutation_codec.h"
#include "storage/commitlog/mutation_size.h"

namespace cassandra_like {
namespace {

Error stopping() { return Error(ErrorCode::kClosed, "The node is stopping: it takes no more writes"); }

int32_t smallest_gc_grace(const Mutation& mutation) {
  int32_t least = mutation.updates[0].table->params.gc_grace_seconds;
  for (const PartitionUpdate& update : mutation.updates) {
    least = std::min(least, update.table->params.gc_grace_seconds);
  }
  return least;
}

// A write of one mutation is called simple, however it came (StorageProxy.mutate).
WriteType plain_type(WriteType type, size_t mutations) {
  if (type != WriteType::kSimple && type != WriteType::kBatch && type != WriteType::kUnloggedBatch) return type;
  return mutations == 1 ? WriteType::kSimple : WriteType::kUnloggedBatch;
}

// The clients of these wait together.
using Operations = absl::InlinedVector<WriteOperation*, 8>;

// In the order of the mutations; the first error is told, and nobody waits for the others then.
Task<Status> wait_for(Operations operations) {
  Status first;
  for (WriteOperation* operation : operations) {
    if (!first.ok()) {
      operation->leave();
      continue;
    }
    Task<Status> waiting = operation->result();
    first = co_await waiting;
  }
  co_return first;
}

Status leave_all(const Operations& operations, Error error) {
  for (WriteOperation* operation : operations) operation->leave();
  return error;
}

// Where a logged batch is kept until its mutations have replicas enough (StorageProxy.asyncRemoveFromBatchlog).
class KeptBatch final : public BatchInProgress {
 public:
  KeptBatch(RequestContext& context, BatchRecords& records, ClusterSnapshotPtr cluster, const Uuid& id,
            const WritePlan& kept_on, std::span<const int> required)
      : context_(context),
        records_(records),
        cluster_(std::move(cluster)),
        id_(id),
        kept_on_(kept_on),
        cleanup_(required) {}

  void acknowledged(size_t mutation) override {
    if (cleanup_.acknowledged(mutation)) remove();
  }

 private:
  void remove() {
    const SharedBytes body = SharedBytes::copy_of(id_.view());
    for (const WriteReplica& replica : kept_on_.replicas) {
      if (!cluster_->is_local(replica.endpoint)) {
        context_.messenger->send(cluster_->address(replica.endpoint), Verb::kBatchRemoveReq, body);
      } else if (context_.running.enter()) {
        spawn(remove_here(&context_, records_.remove(id_)));
      }
    }
  }
  static Task<void> remove_here(RequestContext* context, Task<Status> task) {
    const Status removed = co_await task;
    if (!removed.ok()) context->record_stays(removed.error());
    context->running.leave();
  }

  RequestContext& context_;
  BatchRecords& records_;
  const ClusterSnapshotPtr cluster_;
  const Uuid id_;
  const WritePlan kept_on_;
  BatchCleanup cleanup_;
};

class ReplicatedWritesImpl final : public ReplicatedWrites {
 public:
  ReplicatedWritesImpl(RequestContext& context, BatchRecords& records)
      : context_(context), records_(records), operations_(context) {}

  Task<Status> write(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                     const TracePtr& trace) override;
  Task<Status> write_logged_batch(std::span<const Mutation> mutations, Consistency consistency,
                                  const TracePtr& trace) override;
  Task<Status> write_counters(std::span<const Mutation> deltas, Consistency consistency,
                              const TracePtr& trace) override;
  Task<Status> truncate(TablePtr table) override { return truncate_everywhere(&context_, std::move(table)); }
  Task<Status> lead_counter(SerializedMutation deltas, std::string keyspace, Consistency consistency,
                            const TracePtr& trace) override;
  size_t nodes() const override {
    return context_.messenger == nullptr ? 1 : context_.cluster->topology->ring()->endpoints().size();
  }
  Task<Status> replay(std::vector<ReplayedMutation> mutations, int64_t written_millis) override {
    return replay_batch(&context_, std::move(mutations), written_millis);
  }

 private:
  struct Batch {
    std::vector<SerializedMutation> mutations;
    std::vector<WritePlan> plans;
    WritePlan kept_on;
    std::vector<int> required;  // acknowledgements of each mutation before the record may go
    ClusterSnapshotPtr cluster;
    TracePtr trace;
  };

  const KeyspaceReplicas* replicas_of(const std::string& keyspace);
  Result<WritePlan> plan(const KeyspaceReplicas* replicas, Token token, Consistency consistency);
  Result<WritePlan> plan(const Mutation& mutation, Consistency consistency) {
    return plan(replicas_of(mutation.updates[0].table->keyspace), mutation.key.token, consistency);
  }
  Result<EndpointIndex> leader(const KeyspaceReplicas* replicas, Token token, Consistency consistency);
  Result<SerializedMutation> serialize(const Mutation& mutation) const;
  Result<WriteOperation*> start(const Mutation& mutation, WritePlan plan, WriteDescription description);
  Result<WriteOperation*> start_counter(const MutationPayload& deltas, int32_t gc_grace, WritePlan plan, int64_t began,
                                        const TracePtr& trace);
  Result<WriteOperation*> start_elsewhere(const Mutation& deltas, EndpointIndex leader, Consistency consistency,
                                          int64_t began, const TracePtr& trace);
  Result<WriteOperation*> start_counter(const Mutation& deltas, Consistency consistency, int64_t began,
                                        const TracePtr& trace);
  Result<Batch> prepare_batch(std::span<const Mutation> mutations, Consistency consistency);
  Result<WriteOperation*> keep_batch(const Batch& batch, const Uuid& id, int64_t began);
  Task<Status> finish_batch(std::span<const Mutation> mutations, Batch batch, Uuid id, WriteOperation* keeping,
                            int64_t began);
  void sort_by_proximity(std::span<EndpointIndex> endpoints) {
    context_.proximity.sort(*context_.cluster->topology, context_.cluster->addresses, endpoints);
  }
  size_t random_below(size_t bound) { return context_.runtime.random.below(bound); }
  int64_t write_deadline(int64_t began) const { return began + context_.options.write_timeout.count(); }

  RequestContext& context_;
  BatchRecords& records_;
  WriteOperations operations_;
  // The replicas of keyspaces, of these snapshots.
  SchemaPtr schema_;
  ClusterSnapshotPtr cluster_;
  absl::flat_hash_map<std::string, std::shared_ptr<const KeyspaceReplicas>> keyspaces_;
};

// ---- Plans

// nullptr: the keyspace is gone. Valid until the caller suspends.
const KeyspaceReplicas* ReplicatedWritesImpl::replicas_of(const std::string& keyspace) {
  const SchemaPtr& schema = context_.replica.schema().current();
  if (schema_ != schema || cluster_ != context_.cluster) {
    keyspaces_.clear();
    schema_ = schema;
    cluster_ = context_.cluster;
  }
  auto found = keyspaces_.find(keyspace);
  if (found == keyspaces_.end()) found = keyspaces_.emplace(keyspace, context_.replicas_of(keyspace)).first;
  return found->second.get();
}

Result<WritePlan> ReplicatedWritesImpl::plan(const KeyspaceReplicas* replicas, Token token, Consistency consistency) {
  if (replicas == nullptr) return unavailable_error(consistency, 1, 0);
  return plan_write({*context_.cluster->topology, *replicas}, token, consistency);
}

// ---- Mutations

Result<SerializedMutation> ReplicatedWritesImpl::serialize(const Mutation& mutation) const {
  SerializedMutation serialized(mutation);
  TRY(check_mutation_size(mutation, serialized.view().size(), context_.options.max_mutation_bytes));
  return serialized;
}

// This node first: a mutation that it refuses is sent to nobody.
Result<WriteOperation*> ReplicatedWritesImpl::start(const Mutation& mutation, WritePlan plan,
                                                    WriteDescription description) {
  const SerializedMutation serialized = description.mutation;
  const int64_t deadline = write_deadline(description.began);
  description.hinting = Hinting::kDownAndFailed;
  description.gc_grace_seconds = smallest_gc_grace(mutation);
  const TracePtr trace = description.trace;
  WriteOperation* operation = operations_.begin(std::move(plan), std::move(description));
  if (operation == nullptr) return stopping();
  if (operation->is_replica_local()) {
    if (trace != nullptr) trace_mutation(*trace, mutation);
    const MutationPayload payload(mutation, serialized);
    operation->apply(context_.replica.mutate(payload));
  }
  Status may_go_on = operation->refusal();
  if (may_go_on.ok()) may_go_on = operation->hint_down();
  if (!may_go_on.ok()) {
    operation->leave();
    return std::move(may_go_on.error());
  }
  operation->send(Verb::kMutationReq, serialized.shared(), deadline);
  return operation;
}

Task<Status> ReplicatedWritesImpl::write(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                                         const TracePtr& trace) {
  const int64_t began = context_.now();
  type = plain_type(type, mutations.size());
  if (trace != nullptr) {
    for (size_t i = 0; i < mutations.size(); ++i) trace->event("Determining replicas for mutation");
  }
  if (mutations.size() == 1) {
    Result<WritePlan> planned = plan(mutations[0], consistency);
    if (!planned.ok()) return Status(std::move(planned.error()));
    Result<SerializedMutation> serialized = serialize(mutations[0]);
    if (!serialized.ok()) return Status(std::move(serialized.error()));
    WriteDescription description;
    description.type = type;
    description.began = began;
    description.mutation = std::move(*serialized);
    description.trace = trace;
    auto started = start(mutations[0], std::move(*planned), std::move(description));
    if (!started.ok()) return Status(std::move(started.error()));
    return (*started)->result();
  }
  std::vector<WritePlan> plans;
  std::vector<SerializedMutation> serialized;
  for (const Mutation& mutation : mutations) {
    Result<SerializedMutation> bytes = serialize(mutation);
    if (!bytes.ok()) return Status(std::move(bytes.error()));
    Result<WritePlan> planned = plan(mutation, consistency);
    if (!planned.ok()) return Status(std::move(planned.error()));
    serialized.push_back(std::move(*bytes));
    plans.push_back(std::move(*planned));
  }
  Operations operations;
  for (size_t i = 0; i < mutations.size(); ++i) {
    WriteDescription description;
    description.type = type;
    description.began = began;
    description.mutation = std::move(serialized[i]);
    description.trace = trace;
    auto started = start(mutations[i], std::move(plans[i]), std::move(description));
    if (!started.ok()) return leave_all(operations, std::move(started.error()));
    operations.push_back(*started);
  }
  return wait_for(std::move(operations));
}

// ---- Logged batches

Result<ReplicatedWritesImpl::Batch> ReplicatedWritesImpl::prepare_batch(std::span<const Mutation> mutations,
                                                                        Consistency consistency) {
  Batch batch;
  batch.cluster = context_.cluster;
  ASSIGN_OR_RETURN(batch.kept_on, plan_batchlog(
                                      *context_.cluster->topology, context_.options.batchlog_strategy,
                                      consistency == Consistency::kAny,
                                      [this](std::span<EndpointIndex> endpoints) { sort_by_proximity(endpoints); },
                                      [this](size_t bound) { return random_below(bound); }));
  const std::string& here = context_.cluster->topology->local().datacenter;
  for (const Mutation& mutation : mutations) {
    const KeyspaceReplicas* replicas = replicas_of(mutation.updates[0].table->keyspace);
    ASSIGN_OR_RETURN(WritePlan planned, plan(replicas, mutation.key.token, consistency));
    batch.plans.push_back(std::move(planned));
    batch.required.push_back(block_for(consistency, replicas->strategy, here));
    ASSIGN_OR_RETURN(SerializedMutation serialized, serialize(mutation));
    batch.mutations.push_back(std::move(serialized));
  }
  return batch;
}

// Sends the record to those that keep it. Its client waits for all of them.
Result<WriteOperation*> ReplicatedWritesImpl::keep_batch(const Batch& batch, const Uuid& id, int64_t began) {
  WriteDescription description;
  description.type = WriteType::kBatchLog;
  description.began = began;
  description.trace = batch.trace;
  WriteOperation* keeping = operations_.begin(batch.kept_on, std::move(description));
  if (keeping == nullptr) return stopping();
  if (keeping->is_replica_local()) keeping->apply(records_.store(id, batch.mutations));
  std::vector<BytesView> mutations;
  for (const SerializedMutation& mutation : batch.mutations) mutations.push_back(mutation.view());
  Bytes body;
  append_batch(body, id, context_.runtime.clock.wall_micros(), mutations);
  keeping->send(Verb::kBatchStoreReq, SharedBytes::copy_of(body), write_deadline(began));
  return keeping;
}

Task<Status> ReplicatedWritesImpl::write_logged_batch(std::span<const Mutation> mutations, Consistency consistency,
                                                      const TracePtr& trace) {
  const int64_t began = context_.now();
  if (trace != nullptr) trace->event("Determining replicas for atomic batch");
  Result<Batch> batch = prepare_batch(mutations, consistency);
  if (!batch.ok()) return Status(std::move(batch.error()));
  batch->trace = trace;
  const Uuid id = records_.next_id();
  Result<WriteOperation*> keeping = keep_batch(*batch, id, began);
  if (!keeping.ok()) return Status(std::move(keeping.error()));
  return finish_batch(mutations, std::move(*batch), id, *keeping, began);
}

// The topology may be another one when the record is kept: the plans are those of the one before.
Task<Status> ReplicatedWritesImpl::finish_batch(std::span<const Mutation> mutations, Batch batch, Uuid id,
                                                WriteOperation* keeping, int64_t began) {
  auto in_progress = std::make_shared<KeptBatch>(context_, records_, batch.cluster, id, batch.kept_on, batch.required);
  Task<Status> kept = keeping->result();
  CO_TRY(co_await kept);
  Operations operations;
  for (size_t i = 0; i < mutations.size(); ++i) {
    WriteDescription description;
    description.type = WriteType::kBatch;
    description.began = began;
    description.mutation = batch.mutations[i];
    description.batch = in_progress;
    description.number_in_batch = i;
    description.cluster = batch.cluster;
    description.trace = batch.trace;
    auto started = start(mutations[i], std::move(batch.plans[i]), std::move(description));
    if (!started.ok()) co_return leave_all(operations, std::move(started.error()));
    operations.push_back(*started);
  }
  Task<Status> waiting = wait_for(std::move(operations));
  Status status = co_await waiting;
  co_return status;
}

// ---- Counters

Result<EndpointIndex> ReplicatedWritesImpl::leader(const KeyspaceReplicas* replicas, Token token,
                                                   Consistency consistency) {
  if (replicas == nullptr) return unavailable_error(consistency, 1, 0);
  return counter_leader(
      {*context_.cluster->topology, *replicas}, token, consistency,
      [this](std::span<EndpointIndex> endpoints) { sort_by_proximity(endpoints); },
      [this](size_t bound) { return random_below(bound); });
}

Result<WriteOperation*> ReplicatedWritesImpl::start_counter(const MutationPayload& deltas, int32_t gc_grace,
                                                            WritePlan plan, int64_t began, const TracePtr& trace) {
  WriteDescription description;
  description.type = WriteType::kCounter;
  description.hinting = Hinting::kDown;
  description.began = began;
  description.gc_grace_seconds = gc_grace;
  description.trace = trace;
  WriteOperation* operation = operations_.begin(std::move(plan), std::move(description));
  if (operation == nullptr) return stopping();
  if (trace != nullptr) trace->event("Acquiring counter locks");
  operation->apply_counter(context_.replica.mutate_counter(deltas));
  return operation;
}

// The leader's answer decides (ReplicaPlans.forForwardingCounterWrite).
Result<WriteOperation*> ReplicatedWritesImpl::start_elsewhere(const Mutation& deltas, EndpointIndex leader,
                                                              Consistency consistency, int64_t began,
                                                              const TracePtr& trace) {
  ASSIGN_OR_RETURN(const SerializedMutation serialized, serialize(deltas));
  if (trace != nullptr) {
    trace->event("Enqueuing counter update to " + context_.cluster->address(leader).to_string());
  }
  WritePlan plan;
  plan.consistency = Consistency::kOne;
  plan.block_for = 1;
  plan.replicas.emplace_back().endpoint = leader;
  WriteDescription description;
  description.type = WriteType::kCounter;
  description.began = began;
  description.trace = trace;
  WriteOperation* operation = operations_.begin(std::move(plan), std::move(description));
  if (operation == nullptr) return stopping();
  Bytes body;
  append_counter_mutation(body, serialized.view(), consistency_name(consistency));
  operation->send(Verb::kCounterMutationReq, SharedBytes::copy_of(body),
                  began + context_.options.counter_write_timeout.count());
  return operation;
}

Result<WriteOperation*> ReplicatedWritesImpl::start_counter(const Mutation& deltas, Consistency consistency,
                                                            int64_t began, const TracePtr& trace) {
  if (trace != nullptr) trace->event("Determining replicas for mutation");
  const KeyspaceReplicas* replicas = replicas_of(deltas.updates[0].table->keyspace);
  ASSIGN_OR_RETURN(EndpointIndex chosen, leader(replicas, deltas.key.token, consistency));
  ASSIGN_OR_RETURN(WritePlan planned, plan(replicas, deltas.key.token, consistency));
  if (!context_.cluster->is_local(chosen)) return start_elsewhere(deltas, chosen, consistency, began, trace);
  const MutationPayload payload(deltas);
  return start_counter(payload, smallest_gc_grace(deltas), std::move(planned), began, trace);
}

Task<Status> ReplicatedWritesImpl::write_counters(std::span<const Mutation> deltas, Consistency consistency,
                                                  const TracePtr& trace) {
  const int64_t began = context_.now();
  // Nothing is added when a later one is unavailable.
  for (const Mutation& mutation : deltas.subspan(1)) {
    if (auto planned = plan(mutation, consistency); !planned.ok()) return Status(std::move(planned.error()));
  }
  Operations operations;
  for (const Mutation& mutation : deltas) {
    auto started = start_counter(mutation, consistency, began, trace);
    if (!started.ok()) return leave_all(operations, std::move(started.error()));
    operations.push_back(*started);
  }
  return wait_for(std::move(operations));
}

Task<Status> ReplicatedWritesImpl::lead_counter(SerializedMutation deltas, std::string keyspace,
                                                Consistency consistency, const TracePtr& trace) {
  Result<WritePlan> planned = plan(replicas_of(keyspace), deltas.token(), consistency);
  if (!planned.ok()) return Status(std::move(planned.error()));
  const MutationPayload payload(std::move(deltas));
  auto started = start_counter(payload, -1, std::move(*planned), context_.now(), trace);
  if (!started.ok()) return Status(std::move(started.error()));
  return (*started)->result();
}

}  // namespace

std::unique_ptr<ReplicatedWrites> ReplicatedWrites::create(RequestContext& context, BatchRecords& records) {
  return std::make_unique<ReplicatedWritesImpl>(context, records);
}

}  // namespace cassandra_like
