// A simulated server that sends back what it gets, and clients of it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {

struct EchoServer : ConnectionHandler {
  EchoServer(Connection& c, const std::function<void(BytesView)>& observer) : connection(&c), observe(observer) {}
  size_t on_received(BytesView data) override {
    if (observe) observe(data);
    connection->output() += data;
    return data.size();
  }
  void on_closed(const Status&) override {}
  Connection* connection;
  const std::function<void(BytesView)>& observe;
};

struct EchoClient : ConnectionHandler {
  explicit EchoClient(Connection& c) : connection(&c) {}
  size_t on_received(BytesView data) override {
    received += data;
    ++chunks;
    return data.size();
  }
  void on_closed(const Status& r) override {
    connection = nullptr;
    reason = r;
    ++closed;
  }
  Connection* connection;
  Bytes received;
  int chunks = 0;
  int closed = 0;
  Status reason;
};

struct EchoWorld {
  explicit EchoWorld(uint64_t seed) : world(SimWorld::create(seed)) {
    server = &world->add_machine("10.0.0.1");
    client_machine = &world->add_machine("10.0.0.2");
    client_runtime = &client_machine->boot(1);
    boot_server();
  }
  void boot_server() {
    Runtime& r = server->boot(2);
    listeners.clear();
    for (unsigned i = 0; i < 2; ++i) {
      auto l = r.shard(i).network.listen(
          {"10.0.0.1", 9042}, [this](Connection& c) { return std::make_shared<EchoServer>(c, on_server_received); });
      EXPECT_TRUE(l.ok());
      listeners.push_back(std::move(*l));
    }
  }
  static Task<void> connect_client(Network* network, std::shared_ptr<EchoClient>* to, std::optional<Status>* status) {
    SocketAddress address{"10.0.0.1", 9042};
    *status = co_await network->connect(address, [to](Connection& c) {
      *to = std::make_shared<EchoClient>(c);
      return *to;
    });
  }
  // Both live until the status is there.
  void begin_to_connect(std::shared_ptr<EchoClient>* client, std::optional<Status>* status) {
    Network* network = &client_runtime->shard(0).network;
    client_runtime->shard(0).executor.post(
        [network, client, status] { spawn(connect_client(network, client, status)); });
  }
  std::shared_ptr<EchoClient> connect(Status* status = nullptr) {
    std::shared_ptr<EchoClient> client;
    std::optional<Status> result;
    begin_to_connect(&client, &result);
    EXPECT_TRUE(world->run_until([&] { return result.has_value(); }, std::chrono::seconds(10)));
    if (status != nullptr) *status = *result;
    return client;
  }
  static void send(EchoClient& c, BytesView data) {
    c.connection->output() += data;
    c.connection->flush();
  }

  std::unique_ptr<SimWorld> world;
  SimMachine* server;
  SimMachine* client_machine;
  Runtime* client_runtime;
  std::function<void(BytesView)> on_server_received;
  std::vector<std::unique_ptr<Listener>> listeners;
};

}  // namespace cassandra_like
