#include "coordinator/write/batch_replay.h"

#include "base/log.h"
#include "coordinator/context/all_of.h"

namespace cassandra_like {
namespace {

struct Delivery {
  InetAddressAndPort address;
  Uuid host_id;
  bool is_alive = false;
  const ReplayedMutation* replayed = nullptr;
  int64_t written_millis = 0;
  std::vector<Uuid>* hinted = nullptr;  // the nodes that got a hint
};

// By message, or else as a hint.
Task<Status> deliver(RequestContext* context, Delivery delivery) {
  const SerializedMutation& mutation = delivery.replayed->mutation;
  if (delivery.is_alive) {
    SendOptions options;
    options.flags = kCallBackOnFailure;
    options.deadline = context->now() + context->options.write_timeout.count();
    Task<Result<InboundMessage>> sending =
        context->messenger->request(delivery.address, Verb::kMutationReq, mutation.shared(), options);
    Result<InboundMessage> answer = co_await sending;
    if (answer.ok()) co_return Status();
  }
  if (context->hints == nullptr) co_return Error(ErrorCode::kClosed, "There are no hints");
  std::vector<Uuid> node(1, delivery.host_id);
  Task<Status> hinting =
      context->hints->write(std::move(node), mutation, delivery.written_millis, delivery.replayed->gc_grace_seconds);
  Status status = co_await hinting;
  if (status.ok()) delivery.hinted->push_back(delivery.host_id);
  co_return status;
}

// A mutation that this node calls invalid will never be applied anywhere.
Task<Status> apply_here(RequestContext* context, const ReplayedMutation* replayed) {
  const MutationPayload payload(replayed->mutation);
  Task<Status> applying = context->replica.mutate(payload);
  Status applied = co_await applying;
  if (applied.ok() || applied.error().code() != ErrorCode::kInvalid) co_return applied;
  if (auto more = context->left_out_mutations.take(context->now())) {
    LOG_WARN("A mutation of a logged batch is left out: {}{}", applied.error().message(), *more);
  }
  co_return Status();
}

}  // namespace

Task<Status> replay_batch(RequestContext* context, std::vector<ReplayedMutation> mutations, int64_t written_millis) {
  if (!context->running.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  const ClusterSnapshotPtr cluster = context->cluster;
  Writes writes;
  std::vector<Uuid> hinted;
  for (const ReplayedMutation& replayed : mutations) {
    const auto replicas = context->replicas_of(replayed.keyspace);
    if (replicas == nullptr) continue;  // dropped
    const Placement placement{*cluster->topology, *replicas};
    const Result<WritePlan> plan = plan_write(placement, replayed.mutation.token(), Consistency::kAny);
    if (!plan.ok()) continue;
    for (const WriteReplica& replica : plan->replicas) {
      if (cluster->is_local(replica.endpoint)) {
        writes.push_back(apply_here(context, &replayed));
        continue;
      }
      const Delivery delivery{cluster->address(replica.endpoint),
                              cluster->endpoint(replica.endpoint).host_id,
                              replica.is_alive,
                              &replayed,
                              written_millis,
                              &hinted};
      writes.push_back(deliver(context, delivery));
    }
  }
  Task<Status> delivering = all_of(std::move(writes));
  Status status = co_await delivering;
  if (status.ok() && !hinted.empty()) {
    // The batch goes behind this: its hints are all that is left of it.
    Task<Status> syncing = context->hints->sync(std::move(hinted));
    status = co_await syncing;
  }
  context->running.leave();
  co_return status;
}

}  // namespace cassandra_like
