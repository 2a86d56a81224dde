#include "tests/messaging/messenger_fixture.h"

#include <optional>

namespace cassandra_like::messaging_test {

namespace {

Task<void> ask_and_keep(Messenger* messenger, InetAddressAndPort to, Verb verb, SharedBytes payload,
                        SendOptions options, std::optional<std::string>* out) {
  auto answer = co_await messenger->request(to, verb, std::move(payload), std::move(options));
  if (answer.ok()) {
    *out = Bytes(answer->payload);
  } else {
    *out = std::string("<") + failure_reason_name(reason_of(answer.error())) + ">";
  }
}

Task<void> close_messenger(Messenger* messenger, size_t* closed) {
  co_await messenger->close();
  ++*closed;
}

Task<void> connect_by_hand(Network* network, SocketAddress to, std::shared_ptr<HandPeer>* out) {
  Acceptor acceptor = [out](Connection& c) {
    *out = std::make_shared<HandPeer>(c);
    return *out;
  };
  const Status status = co_await network->connect(std::move(to), std::move(acceptor));
  EXPECT_TRUE(status.ok());
}

}  // namespace

Initiate HandPeer::shake_hands(AcceptVersions versions) {
  Initiate initiate;
  auto size = decode_initiate(received, &initiate);
  EXPECT_TRUE(size.ok() && *size > 0);
  received.erase(0, *size);
  Bytes answer;
  append_accept(answer, choose_version(versions, initiate.versions));
  send(answer);
  return initiate;
}

Cluster::~Cluster() {
  for (auto& node : nodes) {
    if (!node->messengers.empty()) shut_down(*node);
  }
}

TestNode& Cluster::add(unsigned shards, const std::function<void(LinkOptions&)>& change) {
  auto node = std::make_unique<TestNode>();
  node->host = "10.0.0." + std::to_string(nodes.size() + 1);
  node->machine = &world->add_machine(node->host);
  nodes.push_back(std::move(node));
  change_options = change;
  boot(*nodes.back(), shards);
  return *nodes.back();
}

Runtime& Cluster::add_machine(const std::string& host) { return world->add_machine(host).boot(1); }

void Cluster::boot(TestNode& node, unsigned shards) {
  node.runtime = &node.machine->boot(shards);
  LinkOptions options;
  options.self = node.endpoint();
  if (change_options) change_options(options);
  node.group = std::make_unique<MessengerGroup>(*node.runtime, options);
  for (unsigned i = 0; i < shards; ++i) {
    node.messengers.push_back(std::make_unique<Messenger>(*node.group, i));
    Messenger& messenger = *node.messengers.back();
    messenger.handle(Verb::kReadReq, echo_payload());
    if (prepare) prepare(node, messenger);
    EXPECT_TRUE(messenger.listen({node.host, kStoragePort}).ok());
  }
}

void Cluster::crash(TestNode& node) {
  node.machine->crash();
  node.messengers.clear();
  node.group.reset();
}

void Cluster::close_messengers(TestNode& node) {
  size_t closed = 0;
  for (auto& messenger : node.messengers) {
    const auto shard = static_cast<unsigned>(&messenger - node.messengers.data());
    node.runtime->shard(shard).executor.post([&, m = messenger.get()] { spawn(close_messenger(m, &closed)); });
  }
  EXPECT_TRUE(wait([&] { return closed == node.messengers.size(); }));
  node.messengers.clear();
}

void Cluster::shut_down(TestNode& node) {
  close_messengers(node);
  world->run_for(std::chrono::seconds(1));
  node.machine->shut_down();
  node.group.reset();
}

void Cluster::on(TestNode& node, unsigned shard, std::function<void(Messenger&)> fn) {
  bool done = false;
  node.runtime->shard(shard).executor.post([&] {
    fn(*node.messengers[shard]);
    done = true;
  });
  EXPECT_TRUE(wait([&] { return done; }));
}

std::string Cluster::ask(TestNode& from, const InetAddressAndPort& to, Verb verb, const Bytes& payload,
                         SendOptions options, unsigned shard) {
  std::optional<std::string> answer;
  on(from, shard, [&](Messenger& m) { spawn(ask_and_keep(&m, to, verb, shared(payload), options, &answer)); });
  EXPECT_TRUE(wait([&] { return answer.has_value(); }, std::chrono::minutes(10)));
  return answer.value_or("nothing");
}

std::shared_ptr<HandPeer> Cluster::connect(Runtime& runtime, const TestNode& to) {
  std::shared_ptr<HandPeer> peer;
  const SocketAddress address{to.host, kStoragePort};
  runtime.shard(0).executor.post([&] { spawn(connect_by_hand(&runtime.shard(0).network, address, &peer)); });
  EXPECT_TRUE(wait([&] { return peer != nullptr; }));
  return peer;
}

std::unique_ptr<Listener> Cluster::listen(Runtime& runtime, const std::string& host,
                                          std::vector<std::shared_ptr<HandPeer>>* accepted) {
  auto listener = runtime.shard(0).network.listen({host, kStoragePort}, [accepted](Connection& c) {
    accepted->push_back(std::make_shared<HandPeer>(c));
    return accepted->back();
  });
  EXPECT_TRUE(listener.ok());
  return std::move(*listener);
}

VerbHandler echo_payload() {
  return [](InboundMessage message) -> Task<VerbResult> { return VerbResult::answer(shared(message.payload)); };
}

}  // namespace cassandra_like::messaging_test
