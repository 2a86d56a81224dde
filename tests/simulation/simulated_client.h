// A client of the simulated cluster: speaks the real protocol over the simulated network, pipelines, reconnects.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/sim/sim_runtime.h"
#include "transport/client_codec.h"

namespace cassandra_like {

// nullopt: the connection ended before the answer came, so that nobody knows what became of the request.
using AnswerHandler = std::function<void(std::optional<ClientResponse>)>;

class SimulatedClient {
 public:
  SimulatedClient(SimMachine& machine, SocketAddress server, int protocol_version);
  ~SimulatedClient();

  // Connects, and again after each end of the connection, until stop().
  void start();
  void stop();
  bool ready() const { return ready_; }
  size_t in_flight() const { return handlers_.size(); }
  int protocol_version() const { return version_; }
  // False when there is no connection now, or it has as many requests under way as it may: nothing was sent.
  bool query(const std::string& text, const ClientQueryOptions& options, AnswerHandler handler);

 private:
  class Handler;
  void connect();
  Task<void> try_connect();
  void on_response(ClientResponse response);
  void on_closed();

  Runtime& runtime_;
  SocketAddress server_;
  int version_;
  bool stopped_ = true;
  bool ready_ = false;
  bool connecting_ = false;
  Connection* connection_ = nullptr;
  std::unique_ptr<ClientCodec> codec_;
  static constexpr int16_t kStreams = 1000;
  int16_t next_stream_ = 0;
  std::map<int16_t, AnswerHandler> handlers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cassandra_like
