// One end of a simulated stream.
#include <algorithm>

#include "base/checksum.h"
#include "runtime/sim/sim_network.h"

namespace cassandra_like {

namespace {
constexpr size_t kWindow = 256 * 1024;
constexpr int kMaxPieces = 4;
constexpr Duration kLinger = std::chrono::seconds(10);
}  // namespace

int64_t SimConnection::delivery_time(size_t bytes) {
  SimScheduler& s = fabric_.scheduler();
  int64_t time = s.now() + s.draw_up_to(host_.faults->max_network_delay.count());
  if (auto* link = fabric_.find_link(host_.machine, peer_machine_)) time = fabric_.arrival(*link, time, bytes);
  last_delivery_ = std::max(last_delivery_, time);
  return last_delivery_;
}

// ---- writing

void SimConnection::flush() {
  if (!delivering_ && !closed_) send_output();
}

void SimConnection::send_output() {
  if (connecting_ != nullptr) return;
  SimConnection* peer = fabric_.find(peer_);
  if (peer == nullptr) {
    output_.clear();  // lost; the news of the peer's end are on their way
  } else if (!output_.empty()) {
    auto* link = fabric_.find_link(host_.machine, peer_machine_);
    if (link != nullptr && link->settings.cut == SimLink::Cut::kReset) {
      output_.clear();
      return fabric_.break_up(*this);
    }
    if (fabric_.scheduler().chance(host_.faults->reset_ppm)) return fabric_.reset(*this);
    size_t n = std::min(output_.size(), kWindow - std::min(in_flight_, kWindow));
    if (n > 0) {
      send_chunk(*peer, output_.substr(0, n));
      output_.erase(0, n);
    }
  }
  blocked_ = !output_.empty();
  if (!closing_) return;
  if (!blocked_) {
    finish(Status());
  } else if (linger_ == 0) {
    linger_ = executor_.schedule(kLinger, [this] { finish(Error(ErrorCode::kClosed, "the peer does not read")); });
  }
}

void SimConnection::send_chunk(SimConnection& peer, Bytes chunk) {
  SimScheduler& s = fabric_.scheduler();
  in_flight_ += chunk.size();
  int pieces = host_.faults->split_chunks ? static_cast<int>(s.draw_up_to(kMaxPieces - 1)) + 1 : 1;
  while (!chunk.empty()) {
    size_t n = chunk.size();
    if (--pieces > 0) n = static_cast<size_t>(s.draw_up_to(static_cast<int64_t>(n) - 1)) + 1;
    Bytes piece = chunk.substr(0, n);
    chunk.erase(0, n);
    uint64_t payload = static_cast<uint64_t>(n) << 32 | crc32(piece);
    auto arrive = [fabric = &fabric_, id = peer_, piece = std::move(piece)]() mutable {
      if (SimConnection* c = fabric->find(id)) c->receive(std::move(piece));
    };
    fabric_.carry(host_.machine, peer_machine_,
                  {delivery_time(n), &peer.executor_, SimEvent::kReceive, payload, std::move(arrive)});
  }
}

void SimConnection::window_opened() {
  if (!blocked_ || closed_) return;
  send_output();
  if (blocked_ || closed_ || handler_ == nullptr) return;
  handler_->on_drained();
  flush();
}

// ---- reading

void SimConnection::receive(Bytes chunk) {
  if (closed_) return;
  if (paused_) {
    kernel_ += chunk;
    return;
  }
  read(chunk);
  offer();
}

void SimConnection::read(BytesView bytes) {
  received_ += bytes;
  SimConnection* peer = fabric_.find(peer_);
  if (peer == nullptr || bytes.empty()) return;
  peer->in_flight_ -= bytes.size();
  if (!peer->blocked_) return;
  SimScheduler& s = fabric_.scheduler();
  int64_t time = s.now() + s.draw_up_to(host_.faults->max_network_delay.count());
  auto arrive = [fabric = &fabric_, id = peer_] {
    if (SimConnection* c = fabric->find(id)) c->window_opened();
  };
  fabric_.carry(host_.machine, peer_machine_, {time, &peer->executor_, SimEvent::kWritable, 0, std::move(arrive)});
}

void SimConnection::offer() {
  if (paused_ || closing_ || closed_ || received_.empty() || handler_ == nullptr) return;
  delivering_ = true;
  size_t consumed = handler_->on_received(received_);
  delivering_ = false;
  CHECK(consumed <= received_.size());
  received_.erase(0, consumed);
  if (!closed_) send_output();
}

void SimConnection::resume() {
  if (!paused_) return;
  paused_ = false;
  if (closing_ || closed_) return;
  SimScheduler& s = fabric_.scheduler();
  s.at(s.now(), &executor_, SimEvent::kResume, 0, [fabric = &fabric_, id = id_] {
    SimConnection* c = fabric->find(id);
    if (c == nullptr || c->paused_ || c->closed_) return;
    c->read(std::exchange(c->kernel_, {}));
    c->offer();
    if (c->ended_ && !c->paused_) c->finish(Status());
  });
}

// ---- closing

void SimConnection::end_of_stream() {
  ended_ = true;
  if (!paused_) finish(Status());
}

void SimConnection::close() {
  if (closing_ || closed_) return;
  closing_ = true;
  flush();
}

void SimConnection::finish(Status reason) {
  if (closed_) return;
  closed_ = true;
  if (linger_ != 0) executor_.cancel(linger_);
  fabric_.notify_peer(*this, true);
  SimScheduler& s = fabric_.scheduler();
  s.at(s.now(), &executor_, SimEvent::kClosed, 0, [fabric = &fabric_, id = id_, reason = std::move(reason)] {
    SimConnection* c = fabric->find(id);
    if (c == nullptr) return;
    if (auto handler = std::move(c->handler_)) handler->on_closed(reason);
    fabric->erase(id);
  });
}

}  // namespace cassandra_like
