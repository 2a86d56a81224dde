// Listeners, connecting and the end of lives.
#include "runtime/sim/sim_network.h"

#include <algorithm>

namespace cassandra_like {

namespace {

constexpr Duration kRetransmission = std::chrono::milliseconds(200);
constexpr int kMaxLosses = 10;

bool is_any(const std::string& host) { return host == "0.0.0.0" || host == "::"; }
bool is_loopback(const std::string& host) { return host == "127.0.0.1" || host == "::1"; }

Error address_error(const char* doing, const SocketAddress& address, const char* why) {
  return Error(ErrorCode::kIo, std::string("cannot ") + doing + " " + address.to_string() + ": " + why);
}

}  // namespace

SimListener::SimListener(SimFabric& fabric, SimExecutor& executor, SimHost& host, SocketAddress address,
                         Acceptor acceptor, Spread spread)
    : fabric_(fabric),
      executor_(executor),
      host_(host),
      address_(std::move(address)),
      acceptor_(std::make_shared<Acceptor>(std::move(acceptor))),
      spread_(spread) {
  fabric_.listeners_.push_back(this);
}

SimListener::~SimListener() { std::erase(fabric_.listeners_, this); }

Result<std::unique_ptr<Listener>> SimFabric::listen(SimExecutor& executor, SimHost& host, SocketAddress address,
                                                    Acceptor acceptor, Spread spread) {
  if (!executor.life().alive) return address_error("listen on", address, "the machine is down");
  if (address.host != host.address && !is_any(address.host) && !is_loopback(address.host)) {
    return address_error("listen on", address, "Cannot assign requested address");
  }
  if (address.port == 0) address.port = host.next_port++;
  for (const SimListener* l : listeners_) {
    if (!l->executor_.life().alive) continue;
    bool same_port = &l->host_ == &host && l->address_.port == address.port;
    if (same_port && (&l->executor_ == &executor || l->address_.host != address.host)) {
      return address_error("listen on", address, "Address already in use");
    }
  }
  return std::unique_ptr<Listener>(
      std::make_unique<SimListener>(*this, executor, host, std::move(address), std::move(acceptor), spread));
}

SimConnection* SimFabric::find(uint64_t id) {
  auto it = connections_.find(id);
  return it == connections_.end() ? nullptr : it->second.get();
}

SimConnection& SimFabric::add(SimExecutor& executor, SimHost& host, SocketAddress local, SocketAddress remote) {
  uint64_t id = next_id_++;
  auto connection = std::make_unique<SimConnection>(*this, id, executor, host, std::move(local), std::move(remote));
  return *connections_.emplace(id, std::move(connection)).first->second;
}

void SimFabric::erase(uint64_t id) {
  auto it = connections_.find(id);
  if (it == connections_.end()) return;
  std::unique_ptr<SimConnection> dead = std::move(it->second);
  connections_.erase(it);
  scheduler_.bury(std::move(dead));
}

// ---- connecting: arrive (at the other machine) -> accept (on the listener's shard) -> established (at the client)

void SimFabric::connect(SimExecutor& executor, SimHost& host, SocketAddress address, Acceptor on_connected,
                        Promise<Status>* done) {
  int64_t time = scheduler_.now() + scheduler_.draw_up_to(host.faults->max_network_delay.count());
  Request request{&executor, &host, std::move(address), std::move(on_connected), done};
  const uint16_t port = request.address.port;
  scheduler_.at(time, &executor, SimEvent::kConnect, port,
                [this, request = std::move(request)]() mutable { arrive(std::move(request)); });
}

SimListener* SimFabric::pick_listener(const SimHost& from, uint16_t from_port, const SocketAddress& address) {
  std::vector<SimListener*> candidates;
  for (SimListener* l : listeners_) {
    if (l->address_.port != address.port || !l->executor_.life().alive) continue;
    bool by_address =
        l->host_.address == address.host && (l->address_.host == address.host || is_any(l->address_.host));
    bool by_loopback = is_loopback(address.host) && &l->host_ == &from &&
                       (l->address_.host == address.host || is_any(l->address_.host));
    if (by_address || by_loopback) candidates.push_back(l);
  }
  if (candidates.empty()) return nullptr;
  if (candidates[0]->spread_ == Spread::kBySourcePort) {
    std::sort(candidates.begin(), candidates.end(),
              [](const SimListener* a, const SimListener* b) { return a->executor_.shard() < b->executor_.shard(); });
    return candidates[from_port % candidates.size()];
  }
  return candidates[scheduler_.draw() % candidates.size()];
}

void SimFabric::arrive(Request request) {
  const auto target = machines_.find(request.address.host);
  const uint32_t from = request.host->machine;
  const uint32_t to = target == machines_.end() ? from : target->second;
  const SimLink::Cut cut = cut_between(from, to);
  if (cut == SimLink::Cut::kSilent) return hold_attempt(from, to, std::move(request));
  if (cut == SimLink::Cut::kReset) return refuse(request);
  const uint16_t port = request.host->next_port++;
  SimListener* listener = pick_listener(*request.host, port, request.address);
  if (listener == nullptr) return refuse(request);
  SocketAddress client_address{is_loopback(request.address.host) ? request.address.host : request.host->address, port};
  SimConnection& client = add(*request.executor, *request.host, client_address, request.address);
  SimConnection& server = add(listener->executor_, listener->host_, request.address, client_address);
  client.peer_ = server.id_;
  server.peer_ = client.id_;
  client.peer_machine_ = listener->host_.machine;
  server.peer_machine_ = request.host->machine;
  client.on_connected_ = std::move(request.on_connected);
  client.connecting_ = request.done;
  scheduler_.at(scheduler_.now(), &listener->executor_, SimEvent::kAccept, server.id_,
                [this, c = client.id_, s = server.id_, acceptor = listener->acceptor_] { accept(c, s, acceptor); });
  if (!listener->executor_.life().paused) return;
  // The kernel answers for a process that is stopped.
  scheduler_.at(server.delivery_time(), &client.executor_, SimEvent::kConnected, server.id_,
                [this, c = client.id_] { established(c); });
}

void SimFabric::refuse(Request& request) {
  int64_t time = scheduler_.now() + scheduler_.draw_up_to(request.host->faults->max_network_delay.count());
  scheduler_.at(time, request.executor, SimEvent::kRefused, 0, [done = request.done, address = request.address] {
    done->set(address_error("connect to", address, "Connection refused"));
  });
}

void SimFabric::accept(uint64_t client_id, uint64_t server_id, const std::shared_ptr<Acceptor>& acceptor) {
  SimConnection* server = find(server_id);
  SimConnection* client = find(client_id);
  if (server == nullptr || server->closed_ || client == nullptr) return;
  carry(server->host_.machine, server->peer_machine_,
        {server->delivery_time(), &client->executor_, SimEvent::kConnected, server_id,
         [this, client_id] { established(client_id); }});
  server->handler_ = (*acceptor)(*server);
  if (server->handler_ == nullptr) server->close_now();
}

void SimFabric::established(uint64_t client_id) {
  SimConnection* client = find(client_id);
  if (client == nullptr || client->connecting_ == nullptr) return;
  Promise<Status>* done = std::exchange(client->connecting_, nullptr);
  Acceptor on_connected = std::move(client->on_connected_);
  client->handler_ = on_connected(*client);
  if (client->handler_ == nullptr) client->close_now();
  done->set(Status());
}

// ---- links

SimFabric::LinkState* SimFabric::find_link(uint32_t from, uint32_t to) {
  if (links_.empty()) return nullptr;
  auto it = links_.find({from, to});
  return it == links_.end() ? nullptr : &it->second;
}

SimLink SimFabric::link(uint32_t from, uint32_t to) const {
  auto it = links_.find({from, to});
  return it == links_.end() ? SimLink() : it->second.settings;
}

// A connection is made of messages in both directions.
SimLink::Cut SimFabric::cut_between(uint32_t one, uint32_t other) const {
  if (links_.empty()) return SimLink::Cut::kNone;
  const SimLink::Cut there = link(one, other).cut, back = link(other, one).cut;
  if (there == SimLink::Cut::kSilent || back == SimLink::Cut::kSilent) return SimLink::Cut::kSilent;
  return there == SimLink::Cut::kNone ? back : there;
}

void SimFabric::carry(uint32_t from, uint32_t to, Parcel parcel) {
  LinkState* link = find_link(from, to);
  if (link != nullptr && link->settings.cut == SimLink::Cut::kSilent) {
    link->held.push_back(std::move(parcel));
  } else {
    scheduler_.at(parcel.time, parcel.owner, parcel.kind, parcel.payload, std::move(parcel.fn));
  }
}

int64_t SimFabric::arrival(LinkState& link, int64_t sent, size_t bytes) {
  int64_t time = sent;
  if (const uint64_t rate = link.settings.bytes_per_second; rate != 0) {
    link.busy_until = std::max(link.busy_until, time) + static_cast<int64_t>(bytes * 1'000'000'000 / rate);
    time = link.busy_until;
  }
  for (int i = 0; i < kMaxLosses && scheduler_.chance(link.settings.loss_ppm); ++i) time += kRetransmission.count();
  return time + link.settings.delay.count();
}

void SimFabric::hold_attempt(uint32_t from, uint32_t to, Request request) {
  const uint64_t attempt = next_attempt_++;
  SimExecutor* owner = request.executor;
  attempts_.emplace(attempt, std::move(request));
  auto again = [this, attempt] {
    auto node = attempts_.extract(attempt);
    if (!node.empty()) arrive(std::move(node.mapped()));
  };
  auto give_up = [this, attempt] {
    auto node = attempts_.extract(attempt);
    if (node.empty()) return;
    node.mapped().done->set(address_error("connect to", node.mapped().address, "Connection timed out"));
  };
  const bool is_cut_there = link(from, to).cut == SimLink::Cut::kSilent;
  LinkState* link = is_cut_there ? find_link(from, to) : find_link(to, from);
  link->held.push_back({scheduler_.now(), owner, SimEvent::kConnect, 0, std::move(again)});
  scheduler_.at(scheduler_.now() + SimLink::kConnectTimeout.count(), owner, SimEvent::kConnectTimeout, attempt,
                std::move(give_up));
}

void SimFabric::set_link(uint32_t from, uint32_t to, const SimLink& settings) {
  LinkState& link = links_[{from, to}];
  const SimLink::Cut before = std::exchange(link.settings, settings).cut;
  scheduler_.fold(SimEvent::kLink, from, static_cast<uint64_t>(to) << 8 | static_cast<uint64_t>(settings.cut));
  if (settings.cut == SimLink::Cut::kReset && before != SimLink::Cut::kReset) {
    for (auto& [id, c] : connections_) {
      if (c->host_.machine == from && c->peer_machine_ == to) break_up(*c);
    }
  }
  if (settings.cut == SimLink::Cut::kSilent) return;
  for (Parcel& parcel : std::exchange(link.held, {})) {
    scheduler_.at(std::max(parcel.time, scheduler_.now()), parcel.owner, parcel.kind, parcel.payload,
                  std::move(parcel.fn));
  }
}

// ---- ends

void SimFabric::hear_end(uint64_t id, bool clean) {
  SimConnection* c = find(id);
  if (c == nullptr) return;
  if (c->connecting_ != nullptr) {
    Promise<Status>* done = std::exchange(c->connecting_, nullptr);
    SocketAddress address = c->remote_;
    erase(id);
    return done->set(address_error("connect to", address, "Connection reset by peer"));
  }
  if (clean) {
    c->end_of_stream();
  } else {
    c->finish(Error(ErrorCode::kClosed, "receive: Connection reset by peer"));
  }
}

void SimFabric::notify_peer(SimConnection& connection, bool clean) {
  SimConnection* peer = find(connection.peer_);
  if (peer == nullptr) return;
  SimEvent kind = clean ? SimEvent::kEndOfStream : SimEvent::kReset;
  carry(connection.host_.machine, connection.peer_machine_,
        {connection.delivery_time(), &peer->executor_, kind, 0,
         [this, id = connection.peer_, clean] { hear_end(id, clean); }});
}

// Both ends hear of it, whatever the links are.
void SimFabric::break_up(SimConnection& connection) {
  for (SimConnection* end : {&connection, find(connection.peer_)}) {
    if (end == nullptr) continue;
    scheduler_.at(scheduler_.now(), &end->executor_, SimEvent::kReset, 0,
                  [this, id = end->id_] { hear_end(id, false); });
  }
}

void SimFabric::reset(SimConnection& connection) {
  connection.output_.clear();
  notify_peer(connection, false);
  connection.peer_ = 0;
  connection.finish(Error(ErrorCode::kClosed, "send: Connection reset by peer"));
}

void SimFabric::end_life(const SimLife& life, End end) {
  auto is_of_life = [&life](const SimExecutor* executor) { return &executor->life() == &life; };
  std::erase_if(attempts_, [&](const auto& attempt) { return is_of_life(attempt.second.executor); });
  for (auto& [ends, link] : links_) {
    // A machine without power sends nothing again; started again, it resets connections that it does not know.
    const bool is_lost = end == End::kReset && ends.first == life.machine;
    std::erase_if(link.held, [&](const Parcel& parcel) {
      const bool is_end = parcel.kind == SimEvent::kReset || parcel.kind == SimEvent::kEndOfStream;
      return (is_lost && !is_end) || is_of_life(parcel.owner);
    });
  }
  std::vector<uint64_t> ended;
  for (auto& [id, c] : connections_) {
    if (is_of_life(&c->executor_)) ended.push_back(id);
  }
  for (uint64_t id : ended) {
    const bool clean = end == End::kClean || (end == End::kEither && scheduler_.draw() % 2 == 0);
    notify_peer(*connections_[id], clean);
  }
  for (uint64_t id : ended) erase(id);
}

Task<Status> SimNetwork::connect(SocketAddress address, Acceptor on_connected) {
  struct Connecting {
    static Task<Status> run(SimFabric* fabric, SimExecutor* executor, SimHost* host, SocketAddress address,
                            Acceptor on_connected) {
      Promise<Status> done;
      fabric->connect(*executor, *host, std::move(address), std::move(on_connected), &done);
      co_return co_await done;
    }
  };
  return Connecting::run(&fabric_, &executor_, &host_, std::move(address), std::move(on_connected));
}

Result<std::unique_ptr<Listener>> SimNetwork::serve_http(const SocketAddress& address, HttpHandler) {
  return address_error("serve HTTP on", address, "the simulated network does not support it yet");
}

}  // namespace cassandra_like
