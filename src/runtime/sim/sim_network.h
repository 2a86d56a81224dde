// The wires between simulated machines.
//
// A stream delivers in order; each chunk is delayed, split and reset as the sender's SimFaults say. At most kWindow
// bytes are on their way or wait at a paused reader: what is more stays in the sender's output(), as with a real socket.
// Connections are found by number, so an event for one that is gone does nothing. A message from one machine to
// another goes through SimFabric::carry(), which keeps it while the link is cut.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/network.h"
#include "runtime/sim/sim_scheduler.h"

namespace cassandra_like {

class SimFabric;

// A machine as the fabric sees it.
struct SimHost {
  uint32_t machine = 0;
  std::string address;
  SimFaults* faults = nullptr;
  uint16_t next_port = 32768;  // for outgoing connections and listeners on port 0
};

class SimConnection final : public Connection {
 public:
  SimConnection(SimFabric& fabric, uint64_t id, SimExecutor& executor, SimHost& host, SocketAddress local,
                SocketAddress remote)
      : fabric_(fabric),
        id_(id),
        executor_(executor),
        host_(host),
        local_(std::move(local)),
        remote_(std::move(remote)) {}

  SocketAddress local_address() const override { return local_; }
  SocketAddress remote_address() const override { return remote_; }
  Bytes& output() override { return output_; }
  void flush() override;
  size_t unsent() const override { return output_.size(); }
  void pause() override { paused_ = true; }
  void resume() override;
  void close() override;
  void close_now() override { finish(Status()); }

 private:
  friend class SimFabric;

  void send_output();
  void send_chunk(SimConnection& peer, Bytes chunk);
  void receive(Bytes chunk);
  void read(BytesView bytes);
  void offer();
  void window_opened();
  void end_of_stream();
  void finish(Status reason);
  int64_t delivery_time(size_t bytes = 0);

  SimFabric& fabric_;
  const uint64_t id_;
  uint64_t peer_ = 0;
  uint32_t peer_machine_ = 0;
  SimExecutor& executor_;
  SimHost& host_;
  SocketAddress local_;
  SocketAddress remote_;
  std::shared_ptr<ConnectionHandler> handler_;
  // Only of a connection that was asked for and is not yet established.
  Acceptor on_connected_;
  Promise<Status>* connecting_ = nullptr;

  Bytes output_;
  Bytes received_;        // read, not consumed
  Bytes kernel_;          // arrived while paused
  size_t in_flight_ = 0;  // sent and not yet read by the peer
  int64_t last_delivery_ = 0;
  TimerId linger_ = 0;
  bool paused_ = false;
  bool delivering_ = false;
  bool blocked_ = false;  // the window was full
  bool ended_ = false;    // the peer sends no more; noticed when not paused
  bool closing_ = false;
  bool closed_ = false;
};

class SimListener final : public Listener {
 public:
  SimListener(SimFabric& fabric, SimExecutor& executor, SimHost& host, SocketAddress address, Acceptor acceptor,
              Spread spread);
  ~SimListener() override;
  uint16_t port() const override { return address_.port; }

 private:
  friend class SimFabric;
  SimFabric& fabric_;
  SimExecutor& executor_;
  SimHost& host_;
  SocketAddress address_;
  std::shared_ptr<Acceptor> acceptor_;
  Spread spread_;
};

class SimFabric {
 public:
  enum class End : uint8_t { kReset, kClean, kEither };

  explicit SimFabric(SimScheduler& scheduler) : scheduler_(scheduler) {}

  SimScheduler& scheduler() { return scheduler_; }
  Result<std::unique_ptr<Listener>> listen(SimExecutor& executor, SimHost& host, SocketAddress address,
                                           Acceptor acceptor, Spread spread);
  void connect(SimExecutor& executor, SimHost& host, SocketAddress address, Acceptor on_connected,
               Promise<Status>* done);
  // Ends all connections and listeners of a life; their peers see a reset, the end of the stream, or one of them.
  void end_life(const SimLife& life, End end);
  void add_host(const SimHost& host) { machines_[host.address] = host.machine; }
  void set_link(uint32_t from, uint32_t to, const SimLink& settings);
  SimLink link(uint32_t from, uint32_t to) const;

 private:
  friend class SimConnection;
  friend class SimListener;

  struct Request {
    SimExecutor* executor;
    SimHost* host;
    SocketAddress address;
    Acceptor on_connected;
    Promise<Status>* done;
  };

  // On its way; waits here while the link is cut.
  struct Parcel {
    int64_t time;  // when it arrives, at the earliest
    SimExecutor* owner;
    SimEvent kind;
    uint64_t payload;
    Callback fn;
  };
  struct LinkState {
    SimLink settings;
    int64_t busy_until = 0;
    std::vector<Parcel> held;
  };

  SimConnection* find(uint64_t id);
  LinkState* find_link(uint32_t from, uint32_t to);
  SimLink::Cut cut_between(uint32_t one, uint32_t other) const;
  void carry(uint32_t from, uint32_t to, Parcel parcel);
  int64_t arrival(LinkState& link, int64_t sent, size_t bytes);
  void hold_attempt(uint32_t from, uint32_t to, Request request);
  void break_up(SimConnection& connection);
  void hear_end(uint64_t id, bool clean);
  SimListener* pick_listener(const SimHost& from, uint16_t from_port, const SocketAddress& address);
  void arrive(Request request);
  void accept(uint64_t client, uint64_t server, const std::shared_ptr<Acceptor>& acceptor);
  void established(uint64_t client);
  void refuse(Request& request);
  void reset(SimConnection& connection);
  void notify_peer(SimConnection& connection, bool clean);
  void erase(uint64_t id);
  SimConnection& add(SimExecutor& executor, SimHost& host, SocketAddress local, SocketAddress remote);

  SimScheduler& scheduler_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, std::unique_ptr<SimConnection>> connections_;
  std::vector<SimListener*> listeners_;       // in the order of their making
  std::map<std::string, uint32_t> machines_;  // by address
  std::map<std::pair<uint32_t, uint32_t>, LinkState> links_;
  std::map<uint64_t, Request> attempts_;  // to connect, that wait at a cut
  uint64_t next_attempt_ = 1;
};

class SimNetwork final : public Network {
 public:
  SimNetwork(SimFabric& fabric, SimExecutor& executor, SimHost& host)
      : fabric_(fabric), executor_(executor), host_(host) {}

  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address, Acceptor acceptor, Spread spread) override {
    return fabric_.listen(executor_, host_, address, std::move(acceptor), spread);
  }
  Task<Status> connect(SocketAddress address, Acceptor on_connected) override;
  Result<std::unique_ptr<Listener>> serve_http(const SocketAddress& address, HttpHandler handler) override;

 private:
  SimFabric& fabric_;
  SimExecutor& executor_;
  SimHost& host_;
};

}  // namespace cassandra_like
