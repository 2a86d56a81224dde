// Hints: writes that this node missed, or that it is to keep for another one (hints.HintVerbHandler).
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "hints/hints_file.h"
#include "peers/peer_requests.h"
#include "schema/internal_table.h"
#include "schema/local_state.h"

namespace cassandra_like {

namespace {

// By the tables as they are now, too: an operator may have lowered their gc_grace_seconds.
bool is_live(const Mutation& mutation, int64_t created_millis, int32_t gc_grace_seconds, int64_t now_millis) {
  int32_t seconds = gc_grace_seconds;
  for (const PartitionUpdate& update : mutation.updates) {
    seconds = std::min(seconds, update.table->params.gc_grace_seconds);
  }
  return hint_is_live(created_millis, seconds, now_millis);
}

}  // namespace

std::optional<Task<VerbResult>> PeerRequests::hint(InboundMessage& message) {
  auto hint = decode_hint_message(message.payload);
  if (!hint.ok()) return Task<VerbResult>(refuse(message, hint.error().message()));
  arena_.reset();
  auto mutation = decode_mutation(hint->mutation, find_table_, arena_);
  if (!mutation.ok()) {
    // Its table was dropped: nodes send hints only when their schemas agree.
    if (is_unknown_table(mutation.error())) return Task<VerbResult>(VerbResult::answer());
    return not_decoded(message, mutation.error());
  }
  if (const char* flaw = flaw_of_write(*mutation)) {
    refuse(message, flaw);
    return Task<VerbResult>(VerbResult::answer());  // or its sender would send it for ever
  }
  ++statistics_.hints;
  if (hint->host_id != replica_.local_node().host_id) {
    // A file is opened for each node that has hints: strangers could make up any number of nodes.
    if (!is_in_ring(hint->host_id))
      return Task<VerbResult>(refuse(message, "it is for a node that is not in the ring"));
    return keep_hint({hint->host_id}, *hint, *mutation, message);
  }
  const TableMetadata& table = *mutation->updates[0].table;
  if (!is_replica(table, mutation->key.token, true)) {
    is_rejected(message.from, "hint(s)", table, mutation->key.token, statistics_.out_of_range_writes);
    const KeyspaceReplicas& replicas = *replicas_of(table.keyspace);
    const TokenRing& ring = replicas.natural.ring();
    std::vector<Uuid> host_ids;
    auto add = [&](EndpointIndex endpoint) { host_ids.push_back(ring.endpoint(endpoint).host_id); };
    std::ranges::for_each(replicas.natural.replicas(mutation->key.token), add);
    std::ranges::for_each(replicas.pending.of(mutation->key.token), add);
    return keep_hint(std::move(host_ids), *hint, *mutation, message);
  }
  if (!is_live(*mutation, hint->created_millis, hint->gc_grace_seconds, runtime_.clock.wall_millis())) {
    return Task<VerbResult>(VerbResult::answer());
  }
  return apply_hint(shared_from_this(), std::move(message), hint->created_millis, hint->mutation.size());
}

bool PeerRequests::is_in_ring(const Uuid& host_id) {
  const std::span<const Endpoint> endpoints = replica_.topology().current()->ring()->endpoints();
  return std::ranges::any_of(endpoints, [&host_id](const Endpoint& endpoint) { return endpoint.host_id == host_id; });
}

Task<VerbResult> PeerRequests::keep_hint(std::vector<Uuid> host_ids, const HintMessage& hint, const Mutation& mutation,
                                         const InboundMessage& message) {
  if (hints_ == nullptr) return refuse(message, "this node keeps no hints for others");
  if (host_ids.empty()) return VerbResult::answer();
  SerializedMutation serialized(mutation.key.token, hint.mutation);
  Task<Status> kept =
      hints_->write(std::move(host_ids), std::move(serialized), hint.created_millis, hint.gc_grace_seconds);
  return finish_write(std::move(kept), message);
}

// Without what was truncated since the hint was made. The mutation is the message's last bytes.
Task<VerbResult> PeerRequests::apply_hint(std::shared_ptr<PeerRequests> self, InboundMessage message,
                                          int64_t created_millis, size_t mutation_size) {
  message.keep();
  const BytesView bytes = message.payload.substr(message.payload.size() - mutation_size);
  Task<Result<TruncationRecords>> reading = self->truncations();
  Result<TruncationRecords> truncated = co_await reading;
  if (!truncated.ok()) co_return self->written(std::move(truncated.error()), message.from, Verb::kHintReq);
  Arena arena;
  const SchemaPtr held = self->replica_.schema().current();
  auto mutation = decode_mutation(bytes, self->find_table_, arena);
  // Its table was dropped meanwhile.
  if (!mutation.ok()) co_return VerbResult::answer();
  std::vector<PartitionUpdate> updates;
  for (const PartitionUpdate& update : mutation->updates) {
    const auto found = truncated->find(update.table->id);
    if (found == truncated->end() || created_millis > found->second.truncated_at_millis) updates.push_back(update);
  }
  if (updates.empty()) co_return VerbResult::answer();
  const bool is_whole = updates.size() == mutation->updates.size();
  const Mutation left{mutation->keyspace, mutation->key, updates};
  const MutationPayload payload(left, is_whole ? bytes : BytesView());
  Task<Status> applying = self->replica_.mutate(payload);
  Status status = co_await applying;
  co_return self->written(status, message.from, Verb::kHintReq);
}

Task<Result<TruncationRecords>> PeerRequests::truncations() {
  ReadCommand command;
  command.table = schema().table("system", "local");
  command.keys.push_back(DecoratedKey::of("local"));
  command.now_seconds = runtime_.clock.wall_seconds();
  InternalRows rows(command.table);
  Task<Result<ReadStatistics>> reading = replica_.read(command, rows);
  CO_TRY(co_await reading);
  co_return parse_local(rows.rows).truncated;
}

}  // namespace cassandra_like
