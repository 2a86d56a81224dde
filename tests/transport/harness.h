// A server of one shard in a world that the test turns by hand: connections are buffers, time stands until it is
// moved, and the query processor does what the test says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "transport/client_codec.h"
#include "transport/server.h"

namespace cassandra_like::transport_test {

class ManualExecutor : public Executor, public Clock {
 public:
  unsigned shard() const override { return 0; }
  bool is_current() const override { return true; }
  using Executor::post;
  void post(Callback fn) override { ready_.push_back(std::move(fn)); }
  TimerId schedule(Duration delay, Callback fn) override {
    timers_.emplace(std::pair(now_ + delay.count(), ++next_), std::move(fn));
    return next_;
  }
  bool cancel(TimerId id) override {
    return std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; }) > 0;
  }
  int64_t wall_micros() const override { return 1'700'000'000'000'000 + now_ / 1000; }
  int64_t monotonic_nanos() const override { return now_; }

  // Runs all that is ready.
  void run() {
    while (!ready_.empty()) {
      Callback fn = std::move(ready_.front());
      ready_.pop_front();
      fn();
    }
  }
  void advance(Duration by) {
    const int64_t until = now_ + by.count();
    run();
    while (!timers_.empty() && timers_.begin()->first.first <= until) {
      auto timer = timers_.extract(timers_.begin());
      now_ = std::max(now_, timer.key().first);
      timer.mapped()();
      run();
    }
    now_ = until;
  }

 private:
  int64_t now_ = 1'000'000'000'000;
  TimerId next_ = 0;
  std::deque<Callback> ready_;
  std::map<std::pair<int64_t, TimerId>, Callback> timers_;
};

// Runs work when the executor does.
class FakeBlocking : public Blocking {
 public:
  explicit FakeBlocking(ManualExecutor& executor) : executor_(executor) {}
  Task<void> run(absl::AnyInvocable<void()> work) override {
    under_way = std::max(under_way, ++running_);
    ++runs;
    co_await executor_.yield();
    work();
    --running_;
  }
  int under_way = 0;  // the most at one time
  int runs = 0;

 private:
  ManualExecutor& executor_;
  int running_ = 0;
};

// The server's end of a connection, and what the client sees of it.
class FakeConnection : public Connection {
 public:
  FakeConnection(ManualExecutor& executor, SocketAddress client) : executor_(executor), client_(std::move(client)) {}

  SocketAddress local_address() const override { return {"127.0.0.1", 9042}; }
  SocketAddress remote_address() const override { return client_; }
  Bytes& output() override { return output_; }
  void flush() override {
    if (!delivering) push();
  }
  size_t unsent() const override { return output_.size(); }
  void pause() override { paused = true; }
  void resume() override {
    if (!std::exchange(paused, false)) return;
    executor_.post([this] { deliver(); });
  }
  void close() override {
    closing = true;
    if (!delivering) push();
  }
  void close_now() override {
    output_.clear();
    closing = true;
    push();
  }

  // The client sends.
  void arrive(BytesView data) {
    input_.append(data);
    deliver();
  }
  void client_closes() {
    closing = true;
    blocked_ = false;
    push();
  }
  // The client does not read, until drain().
  void block() { blocked_ = true; }
  void drain() {
    blocked_ = false;
    push();
    handler->on_drained();
    flush();
  }

  std::shared_ptr<ConnectionHandler> handler;
  Bytes sent;  // to the client
  int writes = 0;
  bool paused = false;
  bool closing = false;
  bool closed = false;
  bool delivering = false;

 private:
  void deliver() {
    if (paused || closing || input_.empty()) return;
    delivering = true;
    Bytes data = input_;  // a copy of its own, so that a sanitizer sees views that outlive the call
    size_t consumed = handler->on_received(data);
    delivering = false;
    input_.erase(0, consumed);
    push();
  }
  void push() {
    if (blocked_ && !closed) return;
    if (!output_.empty()) ++writes;
    sent += output_;
    output_.clear();
    if (!closing || closed) return;
    closed = true;
    executor_.post([this] { std::exchange(handler, nullptr)->on_closed({}); });
  }

  ManualExecutor& executor_;
  SocketAddress client_;
  Bytes input_, output_;
  bool blocked_ = false;
};

class FakeNetwork : public Network {
 public:
  Result<std::unique_ptr<Listener>> listen(const SocketAddress&, Acceptor given, Spread) override {
    struct FakeListener : Listener {
      explicit FakeListener(FakeNetwork& n) : network(n) {}
      ~FakeListener() override { network.acceptor = nullptr; }
      uint16_t port() const override { return 9042; }
      FakeNetwork& network;
    };
    acceptor = std::move(given);
    return std::unique_ptr<Listener>(new FakeListener(*this));
  }
  Task<Status> connect(SocketAddress, Acceptor) override { return Status(invalid("connect")); }
  Result<std::unique_ptr<Listener>> serve_http(const SocketAddress&, HttpHandler) override { return invalid("http"); }
  Acceptor acceptor;
};

class FakeRandom : public Random {
 public:
  uint64_t next() override { return ++state_; }
  void fill(char* out, size_t size) override { std::fill_n(out, size, 'r'); }

 private:
  uint64_t state_ = 0;
};

// The server never touches a disk.
inline Disk& no_disk() {
  alignas(std::max_align_t) static char nothing[64];
  return *reinterpret_cast<Disk*>(nothing);
}

class FakeSchemaStore : public SchemaStore {
 public:
  void publish(std::vector<SchemaEvent> events) { SchemaStore::publish({nullptr, std::move(events), {}}); }
};

// Answers VOID and writes down what it was asked, unless the test gives it something to do.
class FakeProcessor : public QueryProcessor {
 public:
  using Answer = std::function<Task<Result<QueryResult>>(const std::string& asked)>;

  explicit FakeProcessor(CqlOptions options = {}) : options_(std::move(options)) {}

  Task<Result<QueryResult>> query(std::string_view text, const QueryOptions& options, QueryState r) override {
    return asked("query " + std::string(text) + describe(options), r);
  }
  Task<Result<QueryResult>> prepare(std::string_view text, std::string_view keyspace, QueryState r) override {
    return asked("prepare [" + std::string(keyspace) + "] " + std::string(text), r);
  }
  void prefetch(std::span<const PendingExecution> executions) override {
    for (const auto& [id, values] : executions) expected.emplace_back(to_hex(id), to_hex(values));
  }
  Task<Result<QueryResult>> execute(BytesView id, const QueryOptions& options, QueryState r) override {
    return asked("execute " + to_hex(id) + describe(options), r);
  }
  Task<Result<QueryResult>> batch(uint8_t type, std::span<const BatchEntry> entries, const QueryOptions& options,
                                  QueryState r) override {
    std::string text = "batch " + std::to_string(type);
    for (const BatchEntry& entry : entries) {
      text += (entry.is_prepared ? " id:" + to_hex(entry.id_or_text) : " text:" + std::string(entry.id_or_text)) +
              values(entry.values);
    }
    return asked(text + describe(options), r);
  }
  Task<Result<QueryResult>> execute_internal(std::string text, std::vector<Bytes> values, Consistency) override {
    internal.push_back(text);
    return on_internal(std::move(text), std::move(values));
  }
  void set_peers(std::vector<QueryProcessor*>) override {}
  void set_default_keyspace_rf(int factor) override { options_.default_keyspace_rf = factor; }
  void set_guardrails(const Guardrails& guardrails) override { options_.guardrails = guardrails; }
  Task<Status> load_prepared() override { return Status(); }
  StatementPtr prepared(BytesView id) const override {
    auto it = statements.find(Bytes(id));
    return it == statements.end() ? nullptr : it->second;
  }
  std::string prepared_text(BytesView id) const override { return "text of " + to_hex(id); }
  Coordinator& coordinator() override { std::abort(); }
  ShardRuntime& runtime() override { std::abort(); }
  const CqlOptions& options() const override { return options_; }
  const QueryStatistics& statistics() const override { return statistics_; }
  int64_t next_timestamp() override { return 0; }
  Uuid next_time_uuid() override { return {}; }

  Answer on_request = [](const std::string&) { return Task<Result<QueryResult>>(Result<QueryResult>(QueryResult{})); };
  std::function<Task<Result<QueryResult>>(std::string, std::vector<Bytes>)> on_internal;
  std::vector<std::string> log;
  std::vector<std::string> internal;
  std::vector<std::pair<std::string, std::string>> expected;  // ids and values
  std::map<Bytes, StatementPtr> statements;
  ClientState* last_client = nullptr;

 private:
  Task<Result<QueryResult>> asked(std::string what, const QueryState& request) {
    last_client = &request.client;
    if (request.trace != nullptr) what += " traced";
    log.push_back(what);
    return on_request(log.back());
  }
  static std::string values(std::span<const BytesView> values, std::span<const std::string_view> names = {});
  static std::string describe(const QueryOptions& options);

  CqlOptions options_;
  QueryStatistics statistics_;
};

class FakeTrace : public TraceSession {
 public:
  static inline std::string last_request;
  static inline std::map<std::string, std::string> last_parameters;
  static inline Uuid next_id = *Uuid::parse("2c3f5c60-e54b-11f1-be47-e9e782a74750");

  static std::unique_ptr<TraceSession> begin(QueryServices&, const ClientState&, std::string request,
                                             std::map<std::string, std::string> parameters) {
    last_request = std::move(request);
    last_parameters = std::move(parameters);
    return std::make_unique<FakeTrace>();
  }
  const Uuid& id() const override { return id_; }
  void event(std::string) override {}
  const TracePtr& trace() const override { return kUntraced; }
  Task<Status> finish() override { return Status(); }

 private:
  Uuid id_ = next_id;
};

struct TestServer {
  explicit TestServer(TransportOptions options = {}, CqlOptions cql_options = {})
      : processor(std::move(cql_options)),
        server(std::make_unique<Server>(runtime, processor, schema, std::move(options), &FakeTrace::begin)) {
    CHECK(server->start().ok());
  }
  ~TestServer() {
    for (auto& connection : connections) {
      if (!connection->closed) connection->client_closes();
    }
    executor.run();
  }

  // nullptr when it is refused.
  FakeConnection* connect(const std::string& host = "10.0.0.1") {
    auto connection = std::make_unique<FakeConnection>(executor, SocketAddress{host, next_port++});
    connection->handler = network.acceptor(*connection);
    if (!connection->handler) return nullptr;
    connections.push_back(std::move(connection));
    return connections.back().get();
  }

  ManualExecutor executor;
  FakeNetwork network;
  FakeRandom random;
  FakeBlocking blocking{executor};
  FakeSchemaStore schema;
  FakeProcessor processor;
  ShardRuntime runtime{executor, executor, network, no_disk(), random, blocking};
  std::vector<std::unique_ptr<FakeConnection>> connections;
  std::unique_ptr<Server> server;
  uint16_t next_port = 40000;
};

// A client that has said STARTUP and speaks through its codec.
class TestClient {
 public:
  TestClient(TestServer& server, int version, Compression compression = Compression::kNone,
             std::map<std::string, std::string> options = {}, const std::string& host = "10.0.0.1")
      : codec(version, compression), server_(server), connection(server.connect(host)) {
    options["CQL_VERSION"] = "3.0.0";
    if (compression != Compression::kNone) options["COMPRESSION"] = compression_name(compression);
    send(Opcode::kStartup, 0, startup_body(options));
    startup = *response();
  }

  void send(Opcode opcode, int16_t stream, BytesView body, uint8_t flags = 0) {
    Bytes out;
    codec.append(out, opcode, stream, body, flags);
    connection->arrive(out);
  }
  void query(const std::string& text, int16_t stream = 1, const ClientQueryOptions& options = {}) {
    send(Opcode::kQuery, stream, query_body(codec.version(), text, options));
  }
  // The next thing that the server said, nullopt when there is none.
  std::optional<ClientResponse> response() {
    server_.executor.run();
    CHECK(codec.feed(std::exchange(connection->sent, {})));
    return codec.next();
  }
  // The message of an error response, with its code in front.
  std::string error() {
    std::optional<ClientResponse> r = response();
    if (!r) return "no answer";
    const auto* e = r->get<ErrorInfo>();
    if (e == nullptr) return opcode_name(r->opcode());
    return fmt::format("{:04x} {}", static_cast<uint32_t>(e->code), e->message);
  }

  ClientCodec codec;
  ClientResponse startup;

 private:
  TestServer& server_;

 public:
  FakeConnection* connection;
};

}  // namespace cassandra_like::transport_test
