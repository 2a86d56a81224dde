#include "messaging/link/peer_link.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "messaging/wire/message_frames.h"

namespace cassandra_like {

namespace {
constexpr Duration kExpiryInterval = std::chrono::milliseconds(100);
}  // namespace

// The link's end of a connection; one that the link has left is ignored.
class PeerLink::Session final : public ConnectionHandler {
 public:
  Session(PeerLink& link, Connection& connection) : link_(&link), connection_(&connection) {}

  size_t on_received(BytesView data) override {
    return link_ == nullptr ? data.size() : link_->on_received(*this, data);
  }
  void on_closed(const Status& reason) override {
    connection_ = nullptr;
    if (link_ != nullptr) link_->on_closed(*this, reason);
  }
  void on_drained() override {
    if (link_ != nullptr) link_->on_drained(*this);
  }
  Connection* connection() { return connection_; }
  void forget_link() { link_ = nullptr; }
  // The bytes that were sent still leave when the connection is open.
  void leave(bool sends_rest) {
    link_ = nullptr;
    if (connection_ == nullptr) return;
    if (sends_rest) return connection_->close();
    connection_->close_now();
  }

 private:
  PeerLink* link_;
  Connection* connection_;
};

PeerLink::PeerLink(ShardRuntime& runtime, const LinkOptions& options, NodeReserves& node, PeerLinkObserver& observer,
                   InetAddressAndPort peer, ConnectionType type)
    : runtime_(runtime),
      options_(options),
      observer_(observer),
      peer_(peer),
      type_(type),
      reserves_(node.of(peer)),
      retry_(options.first_retry),
      budget_(options.send_queue, reserves_->send, node.send) {}

std::string PeerLink::name() const {
  return fmt::format("{}->{}-{}", options_.self.to_string(), peer_.to_string(), connection_type_name(type_));
}

// ---- the queue

PeerLink::Enqueued PeerLink::enqueue(OutboundMessage message) {
  if (state_ == State::kClosed) return Enqueued::kClosed;
  const size_t size = message.size;
  if (size > options_.max_message_size || size - message.payload.view().size() > kLargeMessageThreshold) {
    if (auto more = size_log_.take(runtime_.clock.monotonic_nanos())) {
      LOG_ERROR(
          "{} refuses a message of type {}: {} bytes, of which {} are its payload, exceed the allowed maximum of {}{}",
          name(), verb_name(message.verb), size, message.payload.view().size(), options_.max_message_size, *more);
    }
    return Enqueued::kTooLarge;
  }
  ++counters_.submitted;
  if (budget_.take(message.room(), !failing_) != QueueBudget::Outcome::kTaken) {
    const auto kept = shared_from_this();
    prune();
    if (state_ == State::kClosed) return Enqueued::kClosed;
    if (budget_.take(message.room(), !failing_) != QueueBudget::Outcome::kTaken) {
      ++counters_.overloaded;
      counters_.overloaded_bytes += size;
      if (auto more = drop_log_.take(runtime_.clock.monotonic_nanos())) {
        LOG_WARN("{} overloaded; dropping {} bytes message (queue: {} local, {} endpoint){}", name(), size,
                 budget_.used(), reserves_->send.used(), *more);
      }
      return Enqueued::kOverloaded;
    }
  }
  queue_.push(std::move(message));
  schedule_pump();
  return Enqueued::kQueued;
}

void PeerLink::drop(std::vector<OutboundMessage> messages, DropReason reason) {
  if (messages.empty()) return;
  const auto kept = weak_from_this().lock();
  for (const OutboundMessage& message : messages) {
    budget_.give_back(message.room());
    if (reason != DropReason::kExpired) continue;
    ++counters_.expired;
    counters_.expired_bytes += message.size;
  }
  if (reason == DropReason::kExpired) {
    if (auto more = drop_log_.take(runtime_.clock.monotonic_nanos())) {
      LOG_WARN("{} dropping {} messages, the first of type {}, whose timeout expired before reaching the network{}",
               name(), messages.size(), verb_name(messages.front().verb), *more);
    }
  }
  for (const OutboundMessage& message : messages) observer_.on_dropped(peer_, message, reason);
}

void PeerLink::prune() {
  std::vector<OutboundMessage> expired;
  queue_.prune(runtime_.clock.monotonic_nanos(), expired);
  drop(std::move(expired), DropReason::kExpired);
}

// While nothing can be sent.
void PeerLink::watch_expiry() {
  if (expiry_ != 0 || queue_.empty()) return;
  expiry_ = runtime_.executor.schedule(kExpiryInterval, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->expiry_ = 0;
    self->prune();
    if (self->state_ == State::kClosed || (self->state_ == State::kEstablished && !self->blocked_)) return;
    self->watch_expiry();
  });
}

void PeerLink::Pump::run() {
  const auto kept = std::move(keep);
  if (kept != nullptr) link.pump();
}
void PeerLink::Pump::drop() { const auto kept = std::move(keep); }

void PeerLink::schedule_pump() {
  if (pump_.keep != nullptr) return;
  pump_.keep = shared_from_this();
  runtime_.executor.post(pump_);
}

void PeerLink::pump() {
  if (state_ == State::kEstablished) return send_queued();
  if (state_ == State::kClosed || queue_.empty()) return;
  if (state_ == State::kIdle) connect();
  watch_expiry();
}

void PeerLink::send_queued() {
  DCHECK(state_ == State::kEstablished && session_ != nullptr);
  if (blocked_) return watch_expiry();
  Connection& connection = *session_->connection();
  const int64_t now = runtime_.clock.monotonic_nanos();
  std::vector<OutboundMessage> expired;
  const uint64_t sent_before = counters_.sent;
  {
    FrameWriter writer(connection.output(), framing_);
    while (OutboundMessage* message = queue_.front()) {
      if (message->deadline < now) {
        expired.push_back(std::move(*message));
        queue_.pop();
        continue;
      }
      if (connection.unsent() >= options_.unsent_high_water) break;
      const BytesView payload = message->payload.view();
      const size_t size = message->size;
      writer.add(message->header(), payload, size);
      framed_ += size;
      ++counters_.sent;
      counters_.sent_bytes += size;
      queue_.pop();
    }
  }
  budget_.give_back((counters_.sent - sent_before) * OutboundMessage::kOverhead);
  connection.flush();
  after_flush();
  drop(std::move(expired), DropReason::kExpired);
}

// Sent bytes are nobody's any more.
void PeerLink::after_flush() {
  if (state_ != State::kEstablished || session_->connection() == nullptr) return;
  const size_t unsent = session_->connection()->unsent();
  if (unsent == 0) budget_.give_back(std::exchange(framed_, 0));
  blocked_ = unsent >= options_.unsent_high_water;
  if (queue_.empty()) return;
  if (blocked_) return watch_expiry();
  schedule_pump();
}

// ---- the connection

void PeerLink::set_timer(Duration delay, void (PeerLink::*then)()) {
  cancel_timer();
  timer_ = runtime_.executor.schedule(delay, [weak = weak_from_this(), then] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->timer_ = 0;
    (self.get()->*then)();
  });
}

void PeerLink::cancel_timer() {
  if (timer_ != 0) runtime_.executor.cancel(std::exchange(timer_, 0));
}

void PeerLink::connect() {
  DCHECK(state_ == State::kIdle && session_ == nullptr);
  state_ = State::kConnecting;
  ++counters_.attempts;
  ++attempt_;
  set_timer(options_.connect_timeout, &PeerLink::on_timeout);
  spawn(connect_to_peer(shared_from_this(), attempt_));
}

Task<void> PeerLink::connect_to_peer(std::shared_ptr<PeerLink> self, uint64_t attempt) {
  SocketAddress address{self->peer_.host(), self->peer_.port};
  Acceptor acceptor = [self, attempt](Connection& connection) { return self->open_session(connection, attempt); };
  const Status status = co_await self->runtime_.network.connect(std::move(address), std::move(acceptor));
  if (self->attempt_ != attempt || self->state_ != State::kConnecting) co_return;
  if (!status.ok()) {
    self->fail_attempt(status.error().message());
  } else {
    self->shake_hands(attempt);
  }
}

std::shared_ptr<ConnectionHandler> PeerLink::open_session(Connection& connection, uint64_t attempt) {
  if (attempt != attempt_ || state_ != State::kConnecting) return nullptr;
  connection.set_user_timeout(options_.user_timeout);
  session_ = std::make_shared<Session>(*this, connection);
  return session_;
}

void PeerLink::shake_hands(uint64_t attempt) {
  if (attempt != attempt_ || session_ == nullptr || session_->connection() == nullptr) return;
  DCHECK(state_ == State::kConnecting);
  state_ = State::kShakingHands;
  set_timer(options_.handshake_timeout, &PeerLink::on_timeout);
  framing_ = observer_.is_near(peer_) ? options_.framing : options_.distant_framing;
  append_initiate(session_->connection()->output(), {options_.versions, type_, framing_, options_.self});
  session_->connection()->flush();
}

size_t PeerLink::on_received(Session& session, BytesView data) {
  if (&session != session_.get() || state_ != State::kShakingHands) return data.size();
  Accept accept;
  auto size = decode_accept(data, &accept);
  if (!size.ok()) {
    fail_attempt(fmt::format("its answer to the handshake is none: {}", size.error().message()));
    return data.size();
  }
  if (*size == 0) return 0;
  auto version = accepted_version(options_.versions, accept, peer_.to_string());
  if (!version.ok()) {
    fail_attempt(version.error().message());
    return data.size();
  }
  cancel_timer();
  state_ = State::kEstablished;
  version_ = *version;
  failing_ = false;
  blocked_ = false;
  established_at_ = runtime_.clock.monotonic_nanos();
  ++counters_.connections;
  LOG_INFO("{} successfully connected, version = {}, framing = {}, encryption = unencrypted", name(), version_,
           framing_name(framing_));
  observer_.on_peer_version(peer_, accept.max_version);
  schedule_pump();
  return data.size();
}

void PeerLink::on_drained(Session& session) {
  if (&session != session_.get() || state_ != State::kEstablished) return;
  after_flush();
}

void PeerLink::on_closed(Session& session, const Status& reason) {
  if (&session != session_.get()) return;
  const std::string why = reason.ok() ? "the peer closed it" : reason.error().message();
  if (state_ != State::kEstablished) return fail_attempt(why);
  LOG_INFO("{} channel closed by provider: {}", name(), why);
  leave_session();
  state_ = State::kIdle;
  // A peer that closes what it has just accepted is not asked again at once.
  const int64_t lived = runtime_.clock.monotonic_nanos() - established_at_;
  if (lived < options_.last_retry.count()) return retry_later();
  retry_ = options_.first_retry;
  if (!queue_.empty()) connect();
}

void PeerLink::interrupt() {
  if (state_ != State::kEstablished) return;
  LOG_INFO("{} is left: the peer is taken for dead", name());
  leave_session();
  state_ = State::kIdle;
  retry_ = options_.first_retry;
  if (!queue_.empty()) connect();
}

void PeerLink::leave_session() {
  if (const auto session = std::exchange(session_, nullptr)) session->leave(false);
  budget_.give_back(std::exchange(framed_, 0));
  blocked_ = false;
}

void PeerLink::on_timeout() {
  fail_attempt(state_ == State::kConnecting ? "no connection within internode_tcp_connect_timeout"
                                            : "no answer to the handshake in time");
}

void PeerLink::fail_attempt(const std::string& why) {
  DCHECK(state_ == State::kConnecting || state_ == State::kShakingHands);
  cancel_timer();
  ++attempt_;
  leave_session();
  if (auto more = connect_log_.take(runtime_.clock.monotonic_nanos())) {
    if (auto of_all = observer_.connect_log().take(runtime_.clock.monotonic_nanos())) {
      LOG_INFO("{} failed to connect: {}{}{}", name(), why, *more, *of_all);
    }
  }
  failing_ = true;
  retry_later();
}

void PeerLink::retry_later() {
  if (queue_.empty()) {
    state_ = State::kIdle;
    return;
  }
  state_ = State::kRetrying;
  set_timer(retry_, &PeerLink::on_retry);
  retry_ = std::min(2 * retry_, options_.last_retry);
  watch_expiry();
}

void PeerLink::on_retry() {
  state_ = State::kIdle;
  std::vector<OutboundMessage> expired;
  queue_.prune(runtime_.clock.monotonic_nanos(), expired);
  if (!queue_.empty()) connect();
  drop(std::move(expired), DropReason::kExpired);
}

void PeerLink::close() {
  if (state_ == State::kClosed) return;
  const bool established = state_ == State::kEstablished;
  state_ = State::kClosed;
  ++attempt_;
  cancel_timer();
  if (expiry_ != 0) runtime_.executor.cancel(std::exchange(expiry_, 0));
  if (const auto session = std::exchange(session_, nullptr)) session->leave(established);
  budget_.give_back(std::exchange(framed_, 0));
  std::vector<OutboundMessage> all;
  queue_.clear(all);
  drop(std::move(all), DropReason::kClosed);
}

void PeerLink::abandon() {
  state_ = State::kClosed;
  if (session_ != nullptr) session_->forget_link();
  pump_.keep = nullptr;
}

}  // namespace cassandra_like
