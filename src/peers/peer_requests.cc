// The frame of all handlers, and the small verbs.
#include "peers/peer_requests.h"

#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "messaging/wire/control_codec.h"
#include "storage/commitlog/segment_format.h"

namespace cassandra_like {

PeerRequests::PeerRequests(Messenger& messenger, ShardRuntime& runtime, Coordinator& coordinator, Hints* hints,
                           PeerRequestsOptions options)
    : messenger_(messenger),
      runtime_(runtime),
      coordinator_(coordinator),
      replica_(coordinator.replica()),
      hints_(hints),
      options_(std::move(options)),
      schema_wait_(runtime, options_.max_waiting, options_.max_waiting_bytes),
      find_table_([this](const Uuid& id) { return schema().table(id).get(); }),
      find_shared_table_([this](const Uuid& id) { return schema().table(id); }) {}

void PeerRequests::handle_verbs() {
  std::weak_ptr<PeerRequests> weak = weak_from_this();
  replica_.schema().add_listener([weak](const SchemaDiff&) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->forget_replicas();
    self->schema_wait_.on_change();
  });
  replica_.topology().add_listener([weak](const TopologyPtr&) {
    if (const auto self = weak.lock()) self->forget_replicas();
  });
  auto self = shared_from_this();
  messenger_.handle(Verb::kMutationReq, [self](InboundMessage message) {
    if (message.payload.size() + kRecordOverhead > self->options_.max_mutation_bytes) {
      const size_t size = message.payload.size() + kRecordOverhead;
      const std::string why =
          fmt::format("Rejected an oversized mutation ({}/{})", size, self->options_.max_mutation_bytes);
      return Task<VerbResult>(self->refuse(message, why));
    }
    if (!message.header.params.empty()) self->pass_on(message);
    return self->begin(message, &PeerRequests::mutation);
  });
  serve(Verb::kReadRepairReq, &PeerRequests::mutation);
  serve(Verb::kCounterMutationReq, &PeerRequests::counter_mutation);
  serve(Verb::kHintReq, &PeerRequests::hint);
  serve(Verb::kTruncateReq, &PeerRequests::truncate);
  serve(Verb::kBatchStoreReq, &PeerRequests::batch_store);
  serve(Verb::kBatchRemoveReq, &PeerRequests::batch_remove);
  serve(Verb::kReadReq, &PeerRequests::read);
  serve(Verb::kRangeReq, &PeerRequests::read);
  messenger_.handle(Verb::kPingReq, [self](InboundMessage message) { return self->ping(message); });
  messenger_.handle(Verb::kReplicationDoneReq, [](InboundMessage message) -> Task<VerbResult> {
    LOG_INFO("Received unexpected REPLICATION_DONE_REQ from {}. Was this node recently a removal coordinator?",
             message.from.to_string());
    return VerbResult::answer();
  });
}

void PeerRequests::serve(Verb verb, Attempt attempt) {
  auto self = shared_from_this();
  messenger_.handle(verb, [self, attempt](InboundMessage message) { return self->begin(message, attempt); });
}

Task<VerbResult> PeerRequests::begin(InboundMessage& message, Attempt attempt) {
  if (auto begun = (this->*attempt)(message)) return std::move(*begun);
  if (options_.on_unknown_schema) options_.on_unknown_schema();
  return begin_later(shared_from_this(), std::move(message), attempt);
}

Task<VerbResult> PeerRequests::begin_later(std::shared_ptr<PeerRequests> self, InboundMessage message,
                                           Attempt attempt) {
  message.keep();
  ++self->statistics_.waited_for_schema;
  const int64_t now = self->runtime_.clock.monotonic_nanos();
  const Duration most = std::chrono::milliseconds(self->messenger_.options().timeouts.of(message.header.verb));
  const int64_t until = now + std::min((message.deadline - now) / 2, most.count());
  for (;;) {
    Task<bool> change = self->schema_wait_.changed(message.storage.size(), until);
    const bool changed = co_await change;
    if (!changed) break;
    std::optional<Task<VerbResult>> begun = ((*self).*attempt)(message);
    if (!begun) continue;
    Task<VerbResult> task = std::move(*begun);
    VerbResult result = co_await task;
    co_return result;
  }
  ++self->statistics_.incompatible_schema;
  if (auto more = self->quota(self->failure_log_)) {
    LOG_WARN("{} of {} names a table or column that is not known here{}", verb_name(message.header.verb),
             message.from.to_string(), *more);
  }
  co_return VerbResult::failure(RequestFailureReason::kIncompatibleSchema);
}

std::optional<Task<VerbResult>> PeerRequests::not_decoded(const InboundMessage& message, const Error& error) {
  if (is_unknown_schema(error)) return std::nullopt;
  return Task<VerbResult>(refuse(message, error.message()));
}

VerbResult PeerRequests::refuse(const InboundMessage& message, std::string_view why) {
  ++statistics_.malformed;
  if (auto more = quota(bad_body_log_)) {
    LOG_WARN("{} of {} is refused: {}{}", verb_name(message.header.verb), message.from.to_string(), why, *more);
  }
  return VerbResult::failure(RequestFailureReason::kUnknown);
}

// ---- Who has a token

void PeerRequests::forget_replicas() {
  replicas_.clear();
  replica_maps_.clear();
  endpoints_.clear();
}

const KeyspaceReplicas* PeerRequests::replicas_of(const std::string& keyspace) {
  auto found = replicas_.find(keyspace);
  if (found == replicas_.end()) {
    const KeyspacePtr metadata = schema().keyspace(keyspace);
    std::shared_ptr<const KeyspaceReplicas> made;
    if (metadata != nullptr) made = replica_maps_.of(*replica_.topology().current(), metadata->replication);
    found = replicas_.emplace(keyspace, std::move(made)).first;
  }
  return found->second.get();
}

bool PeerRequests::is_replica(const TableMetadata& table, Token token, bool with_pending) {
  const TokenRing& ring = *replica_.topology().current()->ring();
  if (ring.endpoints().size() == 1) return true;
  const KeyspaceReplicas* replicas = replicas_of(table.keyspace);
  if (replicas == nullptr || replicas->strategy.is_local()) return true;
  const EndpointIndex local = ring.local();
  for (EndpointIndex endpoint : replicas->natural.replicas(token)) {
    if (endpoint == local) return true;
  }
  if (!with_pending || replicas->pending.empty()) return false;
  for (EndpointIndex endpoint : replicas->pending.of(token)) {
    if (endpoint == local) return true;
  }
  return false;
}

bool PeerRequests::is_rejected(const InetAddressAndPort& from, const char* what, const TableMetadata& table,
                               Token token, uint64_t& counter) {
  ++counter;
  if (options_.log_out_of_token_range) {
    if (auto more = quota(range_log_)) {
      LOG_WARN("Receiving {} for token(s) neither owned nor pending. Example: from {} for token {} in {}{}", what,
               from.to_string(), token, table.qualified_name(), *more);
    }
  }
  return options_.reject_out_of_token_range;
}

// ---- Small verbs

// The answer goes back on a connection of the type that is asked for.
Task<VerbResult> PeerRequests::ping(const InboundMessage& message) {
  auto type = decode_ping_request(message.payload);
  if (!type.ok()) return refuse(message, type.error().message());
  SendOptions options;
  options.deadline = message.deadline;
  options.type = *type;
  messenger_.forward(message.respond_to(), message.header.id, Verb::kPingRsp, {}, options);
  return VerbResult::nothing();
}

std::shared_ptr<PeerRequests> handle_peer_requests(Messenger& messenger, ShardRuntime& runtime,
                                                   Coordinator& coordinator, Hints* hints,
                                                   PeerRequestsOptions options) {
  auto requests = std::make_shared<PeerRequests>(messenger, runtime, coordinator, hints, std::move(options));
  requests->handle_verbs();
  return requests;
}

}  // namespace cassandra_like
