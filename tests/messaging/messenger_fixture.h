// Nodes that are nothing but their messengers, in a simulated world; and peers that a test plays by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "messaging/link/messenger.h"
#include "runtime/sim/sim_runtime.h"
#include "tests/support/captured_log.h"

namespace cassandra_like::messaging_test {

inline constexpr uint16_t kStoragePort = 7000;

inline InetAddressAndPort endpoint_at(const std::string& host) {
  return *InetAddressAndPort::parse(host, kStoragePort);
}
inline SharedBytes shared(BytesView bytes) { return SharedBytes::copy_of(bytes); }

// One machine with a messenger on each shard.
struct TestNode {
  std::string host;
  SimMachine* machine = nullptr;
  Runtime* runtime = nullptr;
  std::unique_ptr<MessengerGroup> group;
  std::vector<std::unique_ptr<Messenger>> messengers;

  InetAddressAndPort endpoint() const { return endpoint_at(host); }
};

// The end of a connection that the test holds. It reads everything, and says nothing by itself.
class HandPeer : public ConnectionHandler {
 public:
  explicit HandPeer(Connection& c) : connection(&c) {}
  size_t on_received(BytesView data) override {
    received += data;
    if (on_data) on_data();
    return data.size();
  }
  void on_closed(const Status&) override {
    connection = nullptr;
    closed = true;
  }
  void send(BytesView data) {
    connection->output() += data;
    connection->flush();
  }
  // Answers the Initiate that has arrived, and forgets it.
  Initiate shake_hands(AcceptVersions versions = {});

  Connection* connection;
  Bytes received;
  std::function<void()> on_data;
  bool closed = false;
};

class Cluster {
 public:
  explicit Cluster(uint64_t seed = 1) : world(SimWorld::create(seed)) {}
  ~Cluster();

  // 10.0.0.1 is the first. `change` may alter the options.
  TestNode& add(unsigned shards = 1, const std::function<void(LinkOptions&)>& change = {});
  // A machine without messengers.
  Runtime& add_machine(const std::string& host);
  // Starts the messengers of a machine; `prepare` sets handlers.
  void boot(TestNode& node, unsigned shards = 1);
  void crash(TestNode& node);
  void shut_down(TestNode& node);
  // The first half of it: the machine runs on.
  void close_messengers(TestNode& node);

  // Runs fn on a shard of a node, to its end.
  void on(TestNode& node, unsigned shard, std::function<void(Messenger&)> fn);
  // Asks, and waits for the answer: its payload, or the failure in angle brackets.
  std::string ask(TestNode& from, const InetAddressAndPort& to, Verb verb, const Bytes& payload,
                  SendOptions options = {}, unsigned shard = 0);
  bool wait(std::function<bool()> done, Duration limit = std::chrono::seconds(60)) {
    return world->run_until(std::move(done), limit);
  }

  // A peer that the test plays: it connects, or accepts.
  std::shared_ptr<HandPeer> connect(Runtime& runtime, const TestNode& to);
  std::unique_ptr<Listener> listen(Runtime& runtime, const std::string& host,
                                   std::vector<std::shared_ptr<HandPeer>>* accepted);

  std::unique_ptr<SimWorld> world;
  std::vector<std::unique_ptr<TestNode>> nodes;
  // Set on every messenger that boots.
  std::function<void(TestNode&, Messenger&)> prepare;
  std::function<void(LinkOptions&)> change_options;
};

// The verbs' handlers of most tests: READ_REQ is answered by its payload.
VerbHandler echo_payload();

}  // namespace cassandra_like::messaging_test
