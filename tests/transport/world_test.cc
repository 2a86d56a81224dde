// The server in a whole world: first the simulated one, with split chunks, delays and resets, then real sockets.
// The processor echoes what it was asked, some of it later; a client must never get another request's answer.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "runtime/linux/linux_runtime.h"
#include "runtime/sim/sim_runtime.h"
#include "tests/transport/harness.h"

namespace cassandra_like::transport_test {
namespace {

constexpr int kRequests = 300;

Task<Result<QueryResult>> echo_later(Executor* executor, Duration delay, std::string text) {
  co_await executor->sleep(delay);
  co_return QueryResult{.value = SetKeyspaceResult{std::move(text)}};
}

// One shard of a server, with its processor.
struct Shard {
  Shard(ShardRuntime& runtime, TransportOptions options)
      : server(std::make_unique<Server>(runtime, processor, schema, std::move(options), &FakeTrace::begin)) {
    processor.on_request = [&runtime](const std::string& asked) -> Task<Result<QueryResult>> {
      if (runtime.random.below(3) == 0) {
        return echo_later(&runtime.executor, Duration(runtime.random.below(2'000'000)), asked);
      }
      return Result<QueryResult>(QueryResult{.value = SetKeyspaceResult{asked}});
    };
  }
  FakeProcessor processor;
  FakeSchemaStore schema;
  std::unique_ptr<Server> server;
};

// Keeps 20 requests on their way until kRequests are answered; connects again when its connection is lost.
class EchoClient : public std::enable_shared_from_this<EchoClient> {
 public:
  EchoClient(ShardRuntime& runtime, SocketAddress server, int version, Compression compression,
             std::function<void()> done)
      : runtime_(runtime),
        server_(std::move(server)),
        version_(version),
        compression_(compression),
        done_(std::move(done)) {}

  void start() { spawn(connect(shared_from_this())); }
  int answered() const { return answered_; }
  int reconnects() const { return reconnects_; }
  const std::string& failure() const { return failure_; }

 private:
  struct Handler : ConnectionHandler {
    Handler(std::shared_ptr<EchoClient> c, Connection& conn)
        : client(std::move(c)), connection(&conn), codec(client->version_, client->compression_) {
      std::map<std::string, std::string> options{{"CQL_VERSION", "3.0.0"}};
      if (client->compression_ != Compression::kNone) options["COMPRESSION"] = compression_name(client->compression_);
      codec.append(connection->output(), Opcode::kStartup, 0, startup_body(options));
      connection->flush();
    }
    size_t on_received(BytesView data) override {
      if (!codec.feed(data)) client->fail("malformed response");
      while (auto response = codec.next()) client->on_response(*this, *response);
      return data.size();
    }
    void on_closed(const Status&) override { client->on_closed(); }

    std::shared_ptr<EchoClient> client;
    Connection* connection;
    ClientCodec codec;
    std::map<int16_t, std::string> waiting;
  };

  static Task<void> connect(std::shared_ptr<EchoClient> self) {
    Acceptor acceptor = [self](Connection& connection) { return std::make_shared<Handler>(self, connection); };
    Status status = co_await self->runtime_.network.connect(self->server_, std::move(acceptor));
    if (!status.ok()) self->on_closed();
  }

  void on_response(Handler& handler, const ClientResponse& response) {
    if (response.get<ClientReady>() != nullptr) {
      for (int16_t stream = 0; stream < 20; ++stream) ask(handler, stream);
      return;
    }
    if (answered_ == kRequests) return;
    const auto* echo = response.get<ClientSetKeyspace>();
    auto asked = handler.waiting.find(response.header.stream);
    if (echo == nullptr || asked == handler.waiting.end()) return fail("unexpected response");
    if (echo->keyspace != "query " + asked->second + " 1") return fail("the answer of another request");
    handler.waiting.erase(asked);
    if (++answered_ == kRequests) {
      handler.connection->close();
      return done_();
    }
    ask(handler, response.header.stream);
  }

  void ask(Handler& handler, int16_t stream) {
    std::string text = fmt::format("{} of v{} {}", ++asked_, version_, compression_name(compression_));
    if (asked_ % 50 == 0) text += std::string(60'000, 'x');
    handler.codec.append(handler.connection->output(), Opcode::kQuery, stream, query_body(version_, text, {}));
    handler.waiting[stream] = std::move(text);
    handler.connection->flush();
  }

  void on_closed() {
    if (answered_ >= kRequests || !failure_.empty()) return;
    ++reconnects_;
    runtime_.executor.schedule(std::chrono::milliseconds(1), [self = shared_from_this()] { self->start(); });
  }

  void fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
    done_();
  }

  ShardRuntime& runtime_;
  const SocketAddress server_;
  const int version_;
  const Compression compression_;
  std::function<void()> done_;
  int asked_ = 0;
  int answered_ = 0;
  int reconnects_ = 0;
  std::string failure_;
};

const std::vector<std::pair<int, Compression>> kKinds{{3, Compression::kNone},   {3, Compression::kLz4},
                                                      {4, Compression::kSnappy}, {4, Compression::kNone},
                                                      {5, Compression::kNone},   {5, Compression::kLz4}};

struct Outcome {
  uint64_t hash = 0;
  int reconnects = 0;
};

Outcome run_simulation(uint64_t seed, uint32_t reset_ppm) {
  std::unique_ptr<SimWorld> world = SimWorld::create(seed);
  SimMachine& node = world->add_machine("10.0.0.1");
  SimMachine& client = world->add_machine("10.0.0.2");
  node.faults().reset_ppm = client.faults().reset_ppm = reset_ppm;
  Runtime& runtime = node.boot(2);
  TransportOptions options;
  options.address = {"10.0.0.1", 9042};
  options.shards = 2;
  options.max_requests_per_connection = 15;  // so that reading stops and goes on
  std::vector<std::unique_ptr<Shard>> shards;
  for (unsigned i = 0; i < 2; ++i) {
    shards.push_back(std::make_unique<Shard>(runtime.shard(i), options));
    EXPECT_TRUE(shards.back()->server->start().ok());
  }
  Runtime& client_runtime = client.boot(1);
  size_t done = 0;
  std::vector<std::shared_ptr<EchoClient>> clients;
  for (const auto& [version, compression] : kKinds) {
    clients.push_back(std::make_shared<EchoClient>(client_runtime.shard(0), options.address, version, compression,
                                                   [&done] { ++done; }));
    clients.back()->start();
  }
  EXPECT_TRUE(world->run_until([&] { return done == kKinds.size(); }, std::chrono::minutes(10)));
  Outcome out;
  for (const auto& c : clients) {
    EXPECT_EQ(c->failure(), "");
    EXPECT_EQ(c->answered(), kRequests);
    out.reconnects += c->reconnects();
  }
  world->run_for(std::chrono::seconds(30));
  for (const auto& shard : shards) {
    const TransportMetrics metrics = shard->server->metrics();
    EXPECT_EQ(metrics.requests_in_flight, 0u);
    EXPECT_EQ(metrics.request_bytes_in_flight, 0u);
    EXPECT_EQ(metrics.connected_clients, 0u);
    EXPECT_EQ(metrics.paused_connections, 0u);
    EXPECT_EQ(metrics.protocol_errors, 0u);
  }
  out.hash = world->trace_hash();
  return out;
}

TEST(SimulatedWorld, AnswersEveryRequestInPiecesOfAnySize) {
  for (uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(run_simulation(seed, 0).reconnects, 0);
}

TEST(SimulatedWorld, SurvivesResets) {
  int reconnects = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) reconnects += run_simulation(seed, 2000).reconnects;
  EXPECT_GT(reconnects, 0);
}

TEST(SimulatedWorld, DoesTheSameForTheSameSeed) {
  EXPECT_EQ(run_simulation(7, 1000).hash, run_simulation(7, 1000).hash);
  EXPECT_NE(run_simulation(7, 1000).hash, run_simulation(8, 1000).hash);
}

// Runs on the shard, and waits for it.
void on_shard(Runtime& runtime, unsigned shard, std::function<void(ShardRuntime&)> what) {
  std::promise<void> done;
  runtime.shard(shard).executor.post([&] {
    what(runtime.shard(shard));
    done.set_value();
  });
  done.get_future().wait();
}

Task<void> stop_shard(Server* server, std::promise<void>* done) {
  co_await server->stop();
  done->set_value();
}

TEST(RealWorld, AnswersEveryRequest) {
  std::unique_ptr<LinuxRuntime> runtime = std::make_unique<LinuxRuntime>(2);
  CHECK(runtime->start().ok());
  TransportOptions options;
  options.address = {"127.0.0.1", 0};
  options.shards = 2;
  std::vector<std::unique_ptr<Shard>> shards;
  for (unsigned i = 0; i < 2; ++i) {
    on_shard(*runtime, i, [&](ShardRuntime& shard) {
      shards.push_back(std::make_unique<Shard>(shard, options));
      ASSERT_TRUE(shards.back()->server->start().ok());
      options.address.port = shards.back()->server->port();
    });
  }
  std::promise<void> all_done;
  std::atomic<size_t> done = 0;
  std::vector<std::shared_ptr<EchoClient>> clients;
  on_shard(*runtime, 0, [&](ShardRuntime& shard) {
    for (const auto& [version, compression] : kKinds) {
      clients.push_back(std::make_shared<EchoClient>(shard, options.address, version, compression, [&] {
        if (++done == kKinds.size()) all_done.set_value();
      }));
      clients.back()->start();
    }
  });
  ASSERT_EQ(all_done.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  uint64_t requests = 0;
  for (unsigned i = 0; i < 2; ++i) {
    std::promise<void> stopped;
    on_shard(*runtime, i, [&](ShardRuntime&) { spawn(stop_shard(shards[i]->server.get(), &stopped)); });
    stopped.get_future().wait();
    requests += shards[i]->server->metrics().requests;
    on_shard(*runtime, i, [&](ShardRuntime&) { shards[i].reset(); });
  }
  for (const auto& client : clients) {
    EXPECT_EQ(client->failure(), "");
    EXPECT_EQ(client->answered(), kRequests);
    EXPECT_EQ(client->reconnects(), 0);
  }
  EXPECT_GE(requests, kKinds.size() * (kRequests + 1));
  runtime->stop();
}

}  // namespace
}  // namespace cassandra_like::transport_test
