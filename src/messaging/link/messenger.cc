// Sending, receiving, handlers. Requests that wait for their answers, see messenger_requests.cc.
#include "messaging/link/messenger.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace cassandra_like {

namespace {

constexpr int64_t kNanosOfMilli = 1'000'000;
constexpr size_t kMostVersions = 4096;  // strangers may claim any address

size_t place_of(ConnectionType type) {
  return static_cast<size_t>(type) - static_cast<size_t>(ConnectionType::kUrgent);
}

template <class Map>
auto keys_in_order(const Map& map) {
  std::vector<typename Map::key_type> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  std::ranges::sort(keys);
  return keys;
}

// A message that is passed on has its session already.
void add_session(OutboundMessage& message, const Trace& trace) {
  const MessageParams given{message.params_count, message.params};
  if (given.find(ParamType::kTraceSession)) return;
  ParamsBuilder session;
  session.trace(trace.session(), trace.type());
  message.params_count += session.get().count;
  message.params.append(session.get().entries);
}

}  // namespace

Messenger::Messenger(MessengerGroup& group, unsigned shard)
    : group_(group),
      runtime_(group.runtime().shard(shard)),
      options_(group.options(shard)),
      shard_(shard),
      sequence_(first_sequence(runtime_)) {
  CHECK(shard < kMaxMessengerShards);
  group_.set(shard, this);
}

Messenger::~Messenger() {
  for (auto& [endpoint, peer] : peers_) {
    for (auto& link : peer.links) {
      if (link != nullptr) link->abandon();
    }
  }
  group_.set(shard_, nullptr);
}

void Messenger::handle(Verb verb, VerbHandler handler) { handlers_[verb_index(verb)] = std::move(handler); }

Status Messenger::listen(const SocketAddress& address) {
  ASSIGN_OR_RETURN(listener_, runtime_.network.listen(address, [this](Connection& c) { return accept(c); }));
  return {};
}

Task<void> Messenger::close() {
  closed_ = true;
  listener_.reset();
  if (expiry_timer_ != 0) runtime_.executor.cancel(std::exchange(expiry_timer_, 0));
  // In an order that does not depend on hashes, so that a simulated node ends in one way.
  for (const InetAddressAndPort& endpoint : keys_in_order(peers_)) {
    for (auto& link : peers_[endpoint].links) {
      if (link != nullptr) link->close();
    }
  }
  std::vector<std::pair<uint64_t, InboundLink*>> inbound;
  for (const auto& [link, number] : std::exchange(inbound_, {})) inbound.emplace_back(number, link);
  std::ranges::sort(inbound);
  group_.inbound -= inbound.size();
  for (const auto& [number, link] : inbound) link->detach();
  for (uint32_t id : keys_in_order(waiting_)) fail_waiting(id, RequestFailureReason::kNodeDown);
  for (uint32_t id : keys_in_order(waiting_behind_)) fail_waiting(id, RequestFailureReason::kNodeDown);
  co_await handlers_running_.close();
  // The last handler resumed this from within its link, which is not done with the node's reserves yet.
  co_await runtime_.executor.yield();
  peers_.clear();
}

// ---- sending

void Messenger::forget_unused() {
  absl::erase_if(peers_, [](const auto& entry) {
    return std::ranges::all_of(entry.second.links,
                               [](const auto& link) { return link == nullptr || link->is_unused(); });
  });
  sweep_at_ = std::max(kUnusedPeers, 2 * peers_.size());
}

PeerLink& Messenger::link_to(const InetAddressAndPort& peer, ConnectionType type) {
  if (peers_.size() >= sweep_at_ && !peers_.contains(peer)) forget_unused();
  std::shared_ptr<PeerLink>& link = peers_[peer].links[place_of(type)];
  if (link == nullptr) {
    PeerLinkObserver& observer = *this;
    link = std::make_shared<PeerLink>(runtime_, options_, group_.reserves, observer, peer, type);
  }
  return *link;
}

int64_t Messenger::deadline_of(Verb verb, const SendOptions& options) const {
  if (options.deadline != 0) return options.deadline;
  return runtime_.clock.monotonic_nanos() + options_.timeouts.of(verb) * kNanosOfMilli;
}

bool Messenger::post(const InetAddressAndPort& to, uint64_t id, Verb verb, SharedBytes payload,
                     const SendOptions& options, int64_t deadline, bool is_request) {
  if (closed_) return false;
  OutboundMessage message;
  message.id = id;
  message.verb = verb;
  message.is_request = is_request;
  message.flags = options.flags;
  message.params_count = options.params.count;
  message.params = options.params.entries;
  if (options.trace != nullptr) add_session(message, *options.trace);
  message.created_millis = static_cast<uint32_t>(runtime_.clock.wall_millis());
  message.deadline = deadline;
  message.expires_in_millis =
      static_cast<uint64_t>(std::max<int64_t>(0, deadline - runtime_.clock.monotonic_nanos()) / kNanosOfMilli);
  message.payload = std::move(payload);
  message.measure();
  if (options.trace != nullptr) {
    options.trace->event(
        fmt::format("Sending {} message to {} message size {} bytes", verb_name(verb), to.to_string(), message.size));
  }
  const ConnectionType type = options.type ? *options.type : connection_type_of(verb, message.size);
  return link_to(to, type).enqueue(std::move(message)) == PeerLink::Enqueued::kQueued;
}

bool Messenger::send(const InetAddressAndPort& to, Verb verb, SharedBytes payload, const SendOptions& options) {
  return post(to, next_id(), verb, std::move(payload), options, deadline_of(verb, options));
}

void Messenger::on_dropped(const InetAddressAndPort&, const OutboundMessage& message, DropReason reason) {
  if (reason == DropReason::kExpired) ++dropped_[verb_index(message.verb)];
  if (!message.is_request || closed_) return;
  const bool expired = reason == DropReason::kExpired;
  fail_waiting(static_cast<uint32_t>(message.id),
               expired ? RequestFailureReason::kTimeout : RequestFailureReason::kNodeDown);
}

// ---- peers

void Messenger::note_version(const InetAddressAndPort& peer, int version) {
  if (versions_.size() >= kMostVersions && !versions_.contains(peer)) versions_.clear();
  versions_[peer] = version;
}

int Messenger::version_of(const InetAddressAndPort& peer) const {
  const auto it = versions_.find(peer);
  return it == versions_.end() ? 0 : it->second;
}

void Messenger::on_all_shards(void (Messenger::*what)(const InetAddressAndPort&), const InetAddressAndPort& peer) {
  for (unsigned shard = 0; shard < group_.runtime().shard_count(); ++shard) {
    if (shard == shard_) {
      (this->*what)(peer);
      continue;
    }
    group_.runtime().shard(shard).executor.post([group = &group_, shard, what, peer] {
      if (Messenger* messenger = group->messenger(shard)) (messenger->*what)(peer);
    });
  }
}

void Messenger::interrupt_here(const InetAddressAndPort& peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  const auto links = found->second.links;
  for (const auto& link : links) {
    if (link != nullptr) link->interrupt();
  }
}

void Messenger::forget_here(const InetAddressAndPort& peer) {
  auto node = peers_.extract(peer);
  versions_.erase(peer);
  if (node.empty()) return;
  for (auto& link : node.mapped().links) {
    if (link != nullptr) link->close();
  }
}

std::vector<PeerStatistics> Messenger::peers() const {
  std::vector<PeerStatistics> out;
  for (const auto& [endpoint, peer] : peers_) {
    PeerStatistics& statistics = out.emplace_back();
    statistics.peer = endpoint;
    for (const auto& link : peer.links) {
      if (link == nullptr) continue;
      statistics.links.push_back({link->type(), link->is_connected(), link->version(), link->pending(),
                                  link->pending_bytes(), link->counters()});
    }
  }
  std::ranges::sort(out, {}, &PeerStatistics::peer);
  return out;
}

std::vector<InboundStatistics> Messenger::inbound() const {
  std::vector<InboundStatistics> out;
  for (const auto& [link, number] : inbound_) {
    if (!link->initiate()) continue;
    out.push_back(
        {link->initiate()->from, link->initiate()->type, link->version(), link->pending_bytes(), link->counters()});
  }
  std::ranges::sort(out, [](const InboundStatistics& a, const InboundStatistics& b) {
    return std::tie(a.peer, a.type) < std::tie(b.peer, b.type);
  });
  return out;
}

// ---- receiving

std::shared_ptr<ConnectionHandler> Messenger::accept(Connection& connection) {
  if (closed_) return nullptr;
  InboundHost& host = *this;
  auto link = std::make_shared<InboundLink>(runtime_, options_, group_.reserves, host, connection);
  link->start();
  if (++group_.inbound > options_.most_inbound) one_too_many(*link).give_way();
  inbound_.emplace(link.get(), ++accepted_);
  return link;
}

InboundLink& Messenger::one_too_many(InboundLink& newest) {
  InboundLink* chosen = &newest;
  uint64_t oldest = accepted_ + 1;
  auto choose = [&](auto&& may_go) {
    for (const auto& [link, number] : inbound_) {
      if (number >= oldest || link->is_closing() || !may_go(*link)) continue;
      chosen = link;
      oldest = number;
    }
    return chosen != &newest;
  };
  if (choose([](const InboundLink& link) { return !link.initiate(); })) return *chosen;
  absl::flat_hash_map<std::string, size_t> of_host;
  for (const auto& [link, number] : inbound_) ++of_host[link->remote_host()];
  choose([&](const InboundLink& link) { return of_host[link.remote_host()] > inbound_.size() / 2; });
  return *chosen;
}

void Messenger::on_handshake(InboundLink&, const Initiate& initiate) {
  note_version(initiate.from, initiate.versions.max);
}

void Messenger::on_link_closed(InboundLink& link) {
  inbound_.erase(&link);
  --group_.inbound;
}

void Messenger::on_lost(const InetAddressAndPort& from, const MessageHeader& header, int64_t deadline) {
  if (!header.call_back_on_failure()) return;
  reply({header.params.respond_to().value_or(from), header.id, header.verb, true, deadline, nullptr},
        VerbResult::failure(RequestFailureReason::kUnknown));
}

TracePtr Messenger::trace_of(const InboundMessage& message) {
  const std::optional<Uuid> session = message.header.params.trace_session();
  if (!session || traces_ == nullptr) return nullptr;
  const Verb verb = message.header.verb;
  const TraceType type = message.header.params.trace_type();
  TracePtr trace =
      info_of(verb).is_response ? traces_->of_response(*session, type) : traces_->join(*session, type, verb);
  trace->event(fmt::format("{} message received from {}", verb_name(verb), message.from.to_string()));
  return trace;
}

Task<void> Messenger::on_message(InboundMessage message) {
  const VerbInfo& info = info_of(message.header.verb);
  if (info.is_response) {
    on_response(message);
    return {};
  }
  if (!message.header.params.empty()) message.trace = trace_of(message);
  const ReplyTo to{message.respond_to(), message.header.id, info.verb, message.header.call_back_on_failure(),
                   message.deadline,     message.trace};
  const VerbHandler& handler = handlers_[verb_index(info.verb)];
  if (handler == nullptr) {
    if (auto more = bad_peer_log_.take(message.from.host(), runtime_.clock.monotonic_nanos())) {
      LOG_WARN("{} sent {}, which this node does not serve{}", message.from.to_string(), info.name, *more);
    }
    reply(to, VerbResult::failure(RequestFailureReason::kUnknown));
    return {};
  }
  Task<VerbResult> task = handler(std::move(message));
  if (!task.ready()) return answer(this, to, std::move(task));
  reply(to, task.value());
  return {};
}

Task<void> Messenger::answer(Messenger* self, ReplyTo to, Task<VerbResult> task) {
  if (!self->handlers_running_.enter()) co_return;
  const VerbResult result = co_await task;
  self->reply(to, result);
  self->handlers_running_.leave();
}

void Messenger::reply(const ReplyTo& to, const VerbResult& result) {
  send_reply(to, result);
  if (to.trace != nullptr) to.trace->end();
}

void Messenger::send_reply(const ReplyTo& to, const VerbResult& result) {
  SendOptions options;
  options.deadline = std::max<int64_t>(to.deadline, 1);
  options.trace = to.trace.get();
  if (result.kind == VerbResult::Kind::kNothing) return;
  if (result.kind == VerbResult::Kind::kAnswer) {
    const Verb verb = info_of(to.verb).response;
    options.params = {result.params_count, result.params.view()};
    if (verb != Verb::kNoVerb) post(to.to, to.id, verb, result.payload, options, options.deadline);
    return;
  }
  if (!to.wants_failure) return;
  Bytes body;
  append_failure_reason(body, result.reason);
  post(to.to, to.id, Verb::kFailureRsp, SharedBytes::copy_of(body), options, options.deadline);
}

}  // namespace cassandra_like
