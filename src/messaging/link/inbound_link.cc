#include "messaging/link/inbound_link.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace cassandra_like {

namespace {

// The room that a receive queue waits for may be given back on another shard.
constexpr Duration kRoomInterval = std::chrono::milliseconds(5);
constexpr Duration kLargeInterval = std::chrono::seconds(1);
constexpr int64_t kMillisecond = 1'000'000;
// Milliseconds: the 15 minutes by which clocks may differ, and the longest timeouts.
constexpr uint64_t kLongestExpiry = 20 * 60 * 1000;
constexpr int64_t kClockAhead = 5 * 1000;
constexpr size_t kSmallestStorage = 64;  // more than a string holds within itself

}  // namespace

void InboundMessage::keep() {
  if (!storage.empty()) return;
  const BytesView params = header.params.entries;
  storage.reserve(std::max(kSmallestStorage, params.size() + payload.size()));
  storage.append(params).append(payload);
  header.params.entries = BytesView(storage).substr(0, params.size());
  payload = BytesView(storage).substr(params.size());
}

InboundLink::InboundLink(ShardRuntime& runtime, const LinkOptions& options, NodeReserves& node, InboundHost& host,
                         Connection& connection)
    : runtime_(runtime),
      options_(options),
      node_(node),
      host_(&host),
      connection_(&connection),
      remote_(connection.remote_address()) {}

void InboundLink::start() {
  timer_ = runtime_.executor.schedule(options_.handshake_timeout, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->timer_ = 0;
    self->reject("Timeout handshaking: no Initiate in time");
  });
}

std::string InboundLink::name() const {
  const std::string remote = "/" + remote_.to_string();
  if (!initiate_) return remote;
  return fmt::format("{}({})->{}-{}", initiate_->from.to_string(), remote, options_.self.to_string(),
                     connection_type_name(initiate_->type));
}

// ---- the connection

size_t InboundLink::on_received(BytesView data) {
  if (closing_) return data.size();
  size_t consumed = 0;
  if (reader_ == nullptr) {
    consumed = shake_hands(data);
    if (closing_) return data.size();
    if (reader_ == nullptr) return consumed;
  }
  const auto kept = shared_from_this();
  auto read = reader_->feed(data.substr(consumed), host_->scratch(), *this);
  if (closing_) return data.size();
  if (!read.ok()) {
    reject(read.error().message());
    return data.size();
  }
  if (reader_->is_waiting()) wait_for_room();
  return consumed + *read;
}

size_t InboundLink::shake_hands(BytesView data) {
  Initiate initiate;
  auto size = decode_initiate(data, &initiate);
  if (!size.ok()) {
    reject(fmt::format("Failed to properly handshake: {}", size.error().message()));
    return data.size();
  }
  if (*size > 0) accept(initiate);
  return *size;
}

void InboundLink::accept(const Initiate& initiate) {
  if (timer_ != 0) runtime_.executor.cancel(std::exchange(timer_, 0));
  if (initiate.type == ConnectionType::kStreaming) {
    return reject(fmt::format("Failed to properly handshake: {} opens a stream, and this node serves none",
                              initiate.from.to_string()));
  }
  const Accept answer = choose_version(options_.versions, initiate.versions);
  append_accept(connection_->output(), answer);
  const std::string conflict = version_conflict(options_.versions, initiate.versions, initiate.from.to_string());
  if (!conflict.empty()) {
    if (auto more = bad_peer_line()) LOG_WARN("{}{}", conflict, *more);
    closing_ = true;
    return connection_->close();
  }
  initiate_ = initiate;
  version_ = answer.use_version;
  reserves_ = node_.of(initiate.from);
  budget_ = std::make_unique<QueueBudget>(options_.receive_queue, reserves_->receive, node_.receive);
  reader_ = std::make_unique<MessageReader>(initiate.framing, options_.max_message_size);
  if (auto more = host_->connection_log().take(runtime_.clock.monotonic_nanos())) {
    LOG_INFO("{} messaging connection established, version = {}, framing = {}, encryption = unencrypted{}", name(),
             version_, framing_name(initiate.framing), *more);
  }
  host_->on_handshake(*this, initiate);
}

void InboundLink::reject(const std::string& why) {
  if (closing_) return;
  closing_ = true;
  if (host_ != nullptr) {
    if (auto more = bad_peer_line()) LOG_WARN("{}: {}; closing the connection{}", name(), why, *more);
  }
  if (connection_ != nullptr) connection_->close_now();
}

std::optional<std::string> InboundLink::bad_peer_line() {
  return host_->bad_peer_log().take(remote_.host, runtime_.clock.monotonic_nanos());
}

void InboundLink::cancel_timers() {
  if (timer_ != 0) runtime_.executor.cancel(std::exchange(timer_, 0));
  if (large_ != 0) runtime_.executor.cancel(std::exchange(large_, 0));
}

void InboundLink::detach() {
  closing_ = true;
  host_ = nullptr;
  if (reader_ != nullptr) reader_->abort(*this);
  cancel_timers();
  if (connection_ != nullptr) connection_->close();
}

void InboundLink::on_closed(const Status&) {
  const auto kept = shared_from_this();
  connection_ = nullptr;
  closing_ = true;
  cancel_timers();
  if (host_ == nullptr) return;
  if (reader_ != nullptr) reader_->abort(*this);
  host_->on_link_closed(*this);
  host_ = nullptr;
}

// ---- room

void InboundLink::wait_for_room() {
  if (paused_) return;
  paused_ = true;
  ++counters_.throttled;
  connection_->pause();
  timer_ = runtime_.executor.schedule(kRoomInterval, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->timer_ = 0;
    self->paused_ = false;
    if (self->connection_ != nullptr) self->connection_->resume();
  });
}

void InboundLink::release(size_t bytes) {
  budget_->give_back(bytes);
  if (!paused_ || connection_ == nullptr) return;
  paused_ = false;
  if (timer_ != 0) runtime_.executor.cancel(std::exchange(timer_, 0));
  connection_->resume();
}

Task<void> InboundLink::finish(std::shared_ptr<InboundLink> self, Task<void> task, size_t bytes) {
  co_await task;
  self->release(bytes);
}

// ---- messages

// Milliseconds.
int64_t InboundLink::age_of(const MessageHeader& header) {
  if (!options_.cross_node_timeout) return 0;
  const int64_t now_millis = runtime_.clock.wall_millis();
  bool was_bad = false;
  const int64_t age = now_millis - created_at_millis(header.created_millis, now_millis, &was_bad);
  if (was_bad && host_ != nullptr) {
    if (auto more = bad_peer_line()) {
      LOG_WARN(
          "{}: the time at which a message was made is more than 15 minutes away from this node's: the time of its "
          "arrival is taken; compare the clocks{}",
          name(), *more);
    }
  }
  if (age < -kClockAhead) tell_of_future(header, -age);
  return age;
}

int64_t InboundLink::deadline_of(const MessageHeader& header) {
  const int64_t now = runtime_.clock.monotonic_nanos();
  const int64_t age = age_of(header);
  const auto expires_in = static_cast<int64_t>(std::min(header.expires_in_millis, kLongestExpiry));
  return now + (expires_in - age) * kMillisecond;
}

// Its sender's queue was long, or this node slow. When all messages of a peer are late it is the clock.
void InboundLink::tell_of_expired(const MessageHeader& header) {
  if (auto more = clock_log_.take(runtime_.clock.monotonic_nanos())) {
    LOG_WARN(
        "{}: {} was made {} ms before it was read, by its sender's clock, and had {} ms: it is dropped; compare the "
        "clocks{}",
        name(), verb_name(header.verb), age_of(header), header.expires_in_millis, *more);
  }
}

// Nothing else comes of it: its messages are wanted for longer.
void InboundLink::tell_of_future(const MessageHeader& header, int64_t millis) {
  auto more = clock_log_.take(runtime_.clock.monotonic_nanos());
  if (!more || host_ == nullptr || !bad_peer_line()) return;
  LOG_WARN("{}: {} was made {} ms after it was read, by its sender's clock; compare the clocks{}", name(),
           verb_name(header.verb), millis, *more);
}

MessageSink::Admission InboundLink::admit(const MessageHeader& header, size_t size) {
  if (closing_) return Admission::kSkip;
  admitted_deadline_ = deadline_of(header);
  if (admitted_deadline_ < runtime_.clock.monotonic_nanos()) {
    ++counters_.expired;
    tell_of_expired(header);
    host_->on_expired(header.verb);
    return Admission::kSkip;
  }
  if (budget_->take(size) != QueueBudget::Outcome::kTaken) return Admission::kWait;
  if (size > kLargeMessageThreshold && large_ == 0) watch_large();
  return Admission::kTake;
}

// A peer that sends no more of a large message may not keep its room.
void InboundLink::watch_large() {
  large_ = runtime_.executor.schedule(kLargeInterval, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->large_ = 0;
    if (self->reader_->drop_unwanted(*self)) self->watch_large();
  });
}

// Nothing else is admitted until all of it has arrived.
bool InboundLink::still_wanted(const MessageHeader&) { return admitted_deadline_ >= runtime_.clock.monotonic_nanos(); }

void InboundLink::on_message(ReceivedMessage received) {
  ++counters_.received;
  counters_.received_bytes += received.size;
  if (closing_) return release(received.size);
  InboundMessage message;
  message.from = initiate_->from;
  message.version = version_;
  message.header = received.header;
  message.payload = received.payload;
  message.deadline = admitted_deadline_;
  message.storage = std::move(received.storage);
  Task<void> task = host_->on_message(std::move(message));
  if (task.ready()) return release(received.size);
  spawn(finish(shared_from_this(), std::move(task), received.size));
}

void InboundLink::on_lost(const MessageHeader& header, size_t size, bool expired) {
  budget_->give_back(size);
  if (host_ == nullptr) return;
  if (expired) {
    ++counters_.expired;
    host_->on_expired(header.verb);
    return;
  }
  ++counters_.lost;
  host_->on_lost(initiate_->from, header, admitted_deadline_);
}

void InboundLink::on_corrupt_frame(const Segment& frame) {
  ++counters_.corrupt_frames;
  if (host_ == nullptr) return;
  if (auto more = bad_peer_line()) {
    LOG_WARN("{}: invalid, recoverable CRC mismatch detected while reading messages ({}): Read {}, Computed {}{}",
             name(), frame.self_contained ? "corrupted self-contained frame" : "within a large message",
             static_cast<int32_t>(frame.read_crc), static_cast<int32_t>(frame.computed_crc), *more);
  }
}

}  // namespace cassandra_like
