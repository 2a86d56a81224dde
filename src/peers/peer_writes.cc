// Mutations, counters, truncations and batches of other nodes.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "absl/container/inlined_vector.h"
#include "base/log.h"
#include "coordinator/write/replicated_writes.h"
#include "messaging/wire/batch_codec.h"
#include "messaging/wire/control_codec.h"
#include "peers/peer_requests.h"

namespace cassandra_like {

// The message goes on to nodes of the ring, under the ids that its sender chose. They answer the sender. A node gets it once,
// however often it is named.
void PeerRequests::pass_on(const InboundMessage& message) {
  if (!message.header.params.find(ParamType::kForwardTo)) return;
  ParamsBuilder params;
  params.respond_to(message.from).copy_without(message.header.params, ParamType::kForwardTo);
  SendOptions options;
  options.flags = message.header.flags;
  options.params = params.get();
  options.deadline = message.deadline;
  options.trace = message.trace.get();
  if (endpoints_.empty()) {
    for (const Endpoint& endpoint : replica_.topology().current()->ring()->endpoints()) {
      if (auto address = InetAddressAndPort::parse(endpoint.address, endpoint.storage_port))
        endpoints_.insert(*address);
    }
  }
  const SharedBytes payload = SharedBytes::copy_of(message.payload);
  absl::InlinedVector<const InetAddressAndPort*, 8> passed;
  message.header.params.for_each_forward([&](const InetAddressAndPort& to, uint32_t id) {
    if (const auto known = endpoints_.find(to); known != endpoints_.end()) {
      if (std::ranges::find(passed, &*known) != passed.end()) return;
      passed.push_back(&*known);
      ++statistics_.forwarded;
      if (message.trace != nullptr) message.trace->event("Enqueuing forwarded write to " + to.to_string());
      messenger_.forward(to, id, message.header.verb, payload, options);
    } else if (auto more = quota(bad_body_log_)) {
      LOG_WARN("{} of {} is not passed on to {}, which is no node of this cluster{}", verb_name(message.header.verb),
               message.from.to_string(), to.to_string(), *more);
    }
  });
}

std::optional<Task<VerbResult>> PeerRequests::mutation(InboundMessage& message) {
  arena_.reset();
  auto mutation = decode_mutation(message.payload, find_table_, arena_);
  if (!mutation.ok()) return not_decoded(message, mutation.error());
  if (const char* flaw = flaw_of_write(*mutation)) return Task<VerbResult>(refuse(message, flaw));
  ++statistics_.writes;
  const TableMetadata& table = *mutation->updates[0].table;
  const Token token = mutation->key.token;
  if (!is_replica(table, token, true) &&
      is_rejected(message.from, "mutation(s)", table, token, statistics_.out_of_range_writes)) {
    return Task<VerbResult>(VerbResult::failure(RequestFailureReason::kUnknown));
  }
  const MutationPayload payload(*mutation, message.payload);
  if (message.trace != nullptr) trace_mutation(*message.trace, *mutation);
  Task<Status> applied = replica_.mutate(payload);
  return finish_write(std::move(applied), message);
}

Task<VerbResult> PeerRequests::finish_write(Task<Status> task, const InboundMessage& message) {
  if (message.trace != nullptr) task = trace_answer(std::move(task), message.trace, message.respond_to());
  if (task.ready()) return written(task.value(), message.from, message.header.verb);
  return finish_later(shared_from_this(), std::move(task), message.from, message.header.verb);
}

Task<Status> PeerRequests::trace_answer(Task<Status> task, TracePtr trace, InetAddressAndPort to) {
  Status status = co_await task;
  if (status.ok()) trace->event("Enqueuing response to " + to.to_string());
  co_return status;
}

Task<VerbResult> PeerRequests::finish_later(std::shared_ptr<PeerRequests> self, Task<Status> task,
                                            InetAddressAndPort from, Verb verb) {
  Status status = co_await task;
  co_return self->written(status, from, verb);
}

VerbResult PeerRequests::written(const Status& status, const InetAddressAndPort& from, Verb verb) {
  if (status.ok()) return VerbResult::answer();
  const Error& error = status.error();
  // Its sender has given up by now.
  if (error.code() == ErrorCode::kWriteTimeout) return VerbResult::nothing();
  if (auto more = quota(failure_log_)) {
    LOG_WARN("{} of {} failed: {}{}", verb_name(verb), from.to_string(), error.message(), *more);
  }
  return VerbResult::failure(is_unknown_table(error) ? RequestFailureReason::kIncompatibleSchema
                                                     : RequestFailureReason::kUnknown);
}

std::optional<Task<VerbResult>> PeerRequests::counter_mutation(InboundMessage& message) {
  arena_.reset();
  auto counter = decode_counter_mutation(message.payload, find_table_, arena_);
  if (!counter.ok()) return not_decoded(message, counter.error());
  const Mutation& mutation = counter->mutation;
  if (const char* flaw = flaw_of_write(mutation)) return Task<VerbResult>(refuse(message, flaw));
  for (const PartitionUpdate& update : mutation.updates) {
    if (update.table->is_counter()) continue;
    return Task<VerbResult>(refuse(message, update.table->qualified_name() + " has no counters"));
  }
  const std::optional<Consistency> consistency = parse_consistency(counter->consistency);
  if (!consistency) return Task<VerbResult>(refuse(message, "its consistency level has no meaning"));
  ++statistics_.writes;
  const TableMetadata& table = *mutation.updates[0].table;
  if (!is_replica(table, mutation.key.token, true) &&
      is_rejected(message.from, "mutation(s)", table, mutation.key.token, statistics_.out_of_range_writes)) {
    return Task<VerbResult>(VerbResult::failure(RequestFailureReason::kUnknown));
  }
  SerializedMutation deltas(mutation.key.token, counter->serialized);
  ReplicatedWrites& writes = coordinator_.replicated_writes();
  Task<Status> led =
      writes.lead_counter(std::move(deltas), std::string(mutation.keyspace), *consistency, message.trace);
  return finish_write(std::move(led), message);
}

std::optional<Task<VerbResult>> PeerRequests::truncate(InboundMessage& message) {
  auto request = decode_truncate_request(message.payload);
  if (!request.ok()) return not_decoded(message, request.error());
  TablePtr table = schema().table(request->keyspace, request->table);
  if (table == nullptr) return std::nullopt;
  if (table->local_only || table->is_virtual) {
    return Task<VerbResult>(refuse(message, "it truncates a table of the node's own"));
  }
  if (message.trace != nullptr) message.trace->event("Applying truncation of " + table->qualified_name());
  return finish_truncate(shared_from_this(), std::move(table), message.from);
}

Task<VerbResult> PeerRequests::finish_truncate(std::shared_ptr<PeerRequests> self, TablePtr table,
                                               InetAddressAndPort from) {
  Task<Status> truncating = self->replica_.truncate(table);
  Status status = co_await truncating;
  if (!status.ok()) co_return self->written(status, from, Verb::kTruncateReq);
  Bytes body;
  const TruncateResponse response{table->keyspace, table->name, true};
  append_truncate_response(body, response);
  co_return VerbResult::answer(SharedBytes::copy_of(body));
}

std::optional<Task<VerbResult>> PeerRequests::batch_store(InboundMessage& message) {
  auto batch = decode_batch(message.payload);
  if (!batch.ok()) return not_decoded(message, batch.error());
  Task<Status> stored = coordinator_.batchlog().store_for_peer(batch->id, batch->created_micros, batch->mutations);
  return finish_write(std::move(stored), message);
}

// Nobody waits for an answer, and Cassandra sends none.
std::optional<Task<VerbResult>> PeerRequests::batch_remove(InboundMessage& message) {
  auto id = decode_batch_id(message.payload);
  if (!id.ok()) return not_decoded(message, id.error());
  if (id->version() != 1) return Task<VerbResult>(refuse(message, "the id of its batch is no time uuid"));
  return finish_removal(shared_from_this(), *id, message.from);
}

Task<VerbResult> PeerRequests::finish_removal(std::shared_ptr<PeerRequests> self, Uuid id, InetAddressAndPort from) {
  Task<Status> removing = self->coordinator_.batchlog().remove(id);
  Status status = co_await removing;
  if (!status.ok()) self->written(status, from, Verb::kBatchRemoveReq);
  co_return VerbResult::nothing();
}

}  // namespace cassandra_like
