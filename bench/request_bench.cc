// The cost of one request inside the process: from the EXECUTE frame to the RESULT frame, through every folder, on one
// shard, without a socket. Prints nanoseconds and heap allocations for an operation, and with --instructions how many
// instructions callgrind counts (valgrind has to be installed): that figure hardly changes from machine to machine.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>

#include <fmt/format.h>

#include "allocations.h"
#include "base/result.h"
#include "model/values.h"
#include "node/cluster_node.h"
#include "runtime/linux/linux_runtime.h"
#include "storage/engine/engine.h"
#include "transport/client_codec.h"

// Callgrind collects while this runs; it finds it by its name.
__attribute__((noinline)) void measured_loop(const std::function<void(uint64_t)>& operation, uint64_t first,
                                             uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) operation(first + i);
}

namespace cassandra_like {
namespace {

// Instead of a socket.
class LoopbackConnection final : public Connection {
 public:
  SocketAddress local_address() const override { return {"127.0.0.1", 9042}; }
  SocketAddress remote_address() const override { return {"127.0.0.1", 40000}; }
  Bytes& output() override { return output_; }
  void flush() override {}
  size_t unsent() const override { return 0; }
  void pause() override {}
  void resume() override {}
  void close() override { std::fprintf(stderr, "the node closed the connection\n"); }
  void close_now() override { close(); }

 private:
  Bytes output_;
};

class NoListener final : public Listener {
 public:
  uint16_t port() const override { return 9042; }
};

// Keeps the acceptor of whoever listens, so that the bench can be its client.
class LoopbackNetwork final : public Network {
 public:
  Result<std::unique_ptr<Listener>> listen(const SocketAddress&, Acceptor acceptor, Spread) override {
    acceptor_ = std::move(acceptor);
    std::unique_ptr<Listener> listener = std::make_unique<NoListener>();
    return listener;
  }
  Task<Status> connect(SocketAddress, Acceptor) override { return Status(Error(ErrorCode::kClosed, "no network")); }
  Result<std::unique_ptr<Listener>> serve_http(const SocketAddress&, HttpHandler) override {
    std::unique_ptr<Listener> listener = std::make_unique<NoListener>();
    return listener;
  }
  const Acceptor& acceptor() const { return acceptor_; }

 private:
  Acceptor acceptor_;
};

class LoopbackRuntime final : public Runtime {
 public:
  explicit LoopbackRuntime(Runtime& real)
      : shard_{real.shard(0).executor, real.shard(0).clock,  network,
               real.shard(0).disk,     real.shard(0).random, real.shard(0).blocking} {}
  unsigned shard_count() const override { return 1; }
  ShardRuntime& shard(unsigned) override { return shard_; }
  LoopbackNetwork network;

 private:
  ShardRuntime shard_;
};

// A node and one client of it, both on the shard's thread.
class Client {
 public:
  explicit Client(int version) : version_(version), codec_(version) {
    path_ = std::filesystem::temp_directory_path() / fmt::format("request_bench_{}", ::getpid());
    std::filesystem::remove_all(path_);
    real_ = std::make_unique<LinuxRuntime>(1);
    runtime_ = std::make_unique<LoopbackRuntime>(*real_);
    CHECK(real_->start().ok());
    wait(&Client::start_node);
    on_shard([this] {
      handler_ = runtime_->network.acceptor()(connection_);
      request(Opcode::kStartup, startup_body({{"CQL_VERSION", "3.0.0"}}));
    });
  }
  ~Client() {
    on_shard([this] { handler_->on_closed(Status()); });
    handler_.reset();
    wait(&Client::stop_node);
    real_->stop();
    std::filesystem::remove_all(path_);
  }

  void on_shard(std::function<void()> work) {
    std::promise<void> done;
    real_->shard(0).executor.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Called on the shard; the answer must be ready at once.
  ClientResponse request(Opcode opcode, BytesView body) {
    Bytes frame;
    codec_.append(frame, opcode, 0, body);
    send(frame);
    std::optional<ClientResponse> response = answer();
    CHECK(response.has_value());
    return std::move(*response);
  }
  // For what waits for other work, from the main thread.
  ClientResponse await(Opcode opcode, BytesView body) {
    Bytes frame;
    codec_.append(frame, opcode, 0, body);
    on_shard([&] { send(frame); });
    std::optional<ClientResponse> response;
    while (!response) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      on_shard([&] { response = answer(); });
    }
    if (const auto* error = response->get<ErrorInfo>()) fail(error->message);
    return std::move(*response);
  }
  void query(const std::string& text) { await(Opcode::kQuery, query_body(version_, text, {})); }
  ClientPrepared prepare(const std::string& text) {
    return *await(Opcode::kPrepare, prepare_body(version_, text)).get<ClientPrepared>();
  }
  void flush() { wait(&Client::flush_node); }

  Bytes execute_frame(const ClientPrepared& statement, const std::vector<BytesView>& values) {
    ClientQueryOptions options;
    options.values = values;
    options.skip_metadata = true;
    options.page_size = 5000;
    Bytes frame;
    codec_.append(frame, Opcode::kExecute, 0,
                  execute_body(version_, statement.id, statement.result_metadata_id, options));
    return frame;
  }
  void send(BytesView frame) { CHECK(handler_->on_received(frame) == frame.size()); }
  Bytes& output() { return connection_.output(); }
  bool is_plain() const { return version_ < 5; }  // frames are not in segments
  std::optional<ClientResponse> answer() {
    CHECK(codec_.feed(output()));
    output().clear();
    return codec_.next();
  }
  [[noreturn]] static void fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::_Exit(1);
  }

 private:
  void wait(Task<Status> (*make)(Client*)) {
    std::promise<Status> done;
    real_->shard(0).executor.post([&] { spawn(deliver(make, this, &done)); });
    Status status = done.get_future().get();
    if (!status.ok()) fail(status.error().message());
  }
  static Task<void> deliver(Task<Status> (*make)(Client*), Client* self, std::promise<Status>* done) {
    Status status = co_await make(self);
    done->set_value(std::move(status));
  }
  Config config() const {
    std::string text = fmt::format(
        "cluster_name: bench\n"
        "data_file_directories: ['{0}/data']\ncommitlog_directory: {0}/commitlog\nhints_directory: {0}/hints\n"
        "saved_caches_directory: {0}/saved_caches\nlisten_address: 127.0.0.1\nrpc_address: 127.0.0.1\n"
        "commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\ncommitlog_segment_size: 256MiB\n"
        "memtable_heap_space: 4GiB\nmemtable_offheap_space: 4GiB\nshards: 1\n"
        "seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n"
        "    parameters:\n      - seeds: 127.0.0.1\n",
        path_.string());
    Result<Config> config = parse_config(text, "bench", HostFacts());
    if (!config.ok()) fail(config.error().message());
    return *config;
  }
  static Task<Status> start_node(Client* self) {
    ClusterNodeHooks hooks;
    hooks.serve_admin = false;
    Config config = self->config();
    auto started = co_await ClusterNode::start(self->runtime_.get(), std::move(config), std::move(hooks));
    if (!started.ok()) co_return std::move(started.error());
    self->node_ = std::move(*started);
    co_return Status();
  }
  static Task<Status> flush_node(Client* self) {
    co_return co_await self->node_->replica(0).on_every_engine(
        [](Engine& engine) { return engine.maintenance().flush({}); });
  }
  static Task<Status> stop_node(Client* self) {
    Status status = co_await self->node_->stop();
    self->node_.reset();
    co_return status;
  }

  const int version_;
  std::filesystem::path path_;
  std::unique_ptr<LinuxRuntime> real_;
  std::unique_ptr<LoopbackRuntime> runtime_;
  std::unique_ptr<ClusterNode> node_;
  LoopbackConnection connection_;
  std::shared_ptr<ConnectionHandler> handler_;
  ClientCodec codec_;
};

// ---- workloads: those of the load generator, with frames that are made before

constexpr uint64_t kPoints = 1000;     // of one series of the timeline
constexpr uint64_t kFrames = 100'000;  // different ones; they are sent again and again

class Workloads {
 public:
  Workloads(Client& client, uint64_t rows, const std::string& of) : client_(client), rows_(rows) {
    client.query("CREATE KEYSPACE b WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.query("CREATE TABLE b.kv (key blob PRIMARY KEY, f0 blob, f1 blob, f2 blob, f3 blob, f4 blob)");
    client.query(
        "CREATE TABLE b.timeline (series bigint, at bigint, value blob, unit text, PRIMARY KEY (series, at)) "
        "WITH CLUSTERING ORDER BY (at DESC)");
    insert_ = client.prepare("INSERT INTO b.kv (key, f0, f1, f2, f3, f4) VALUES (?, ?, ?, ?, ?, ?)");
    select_ = client.prepare("SELECT f0, f1, f2, f3, f4 FROM b.kv WHERE key = ?");
    append_ = client.prepare("INSERT INTO b.timeline (series, at, value, unit) VALUES (?, ?, ?, 'celsius')");
    latest_ = client.prepare("SELECT at, value, unit FROM b.timeline WHERE series = ? AND at < ? LIMIT 100");
    fill(of.starts_with("kv") ? "kv:write" : "append");
  }

  std::vector<Bytes> make(const std::string& name) {
    std::vector<Bytes> frames;
    for (uint64_t i = 0; i < std::min(rows_, kFrames); ++i)
      frames.push_back(frame(name, i * 0x9E3779B97F4A7C15ULL >> 20));
    return frames;
  }
  // On the shard. Every answer is a RESULT.
  void run(const std::vector<Bytes>& frames, uint64_t first, uint64_t n) {
    client_.on_shard([&] {
      const size_t opcode_at = 4;
      auto one = [&](uint64_t i) {
        client_.send(frames[i % frames.size()]);
        Bytes& output = client_.output();
        if (client_.is_plain()) {
          if (output.empty()) Client::fail("a request waited for the disk: run this again while the machine is quiet");
          if (output.size() <= opcode_at || output[opcode_at] != 8) Client::fail("an answer is not a RESULT");
        }
        output.clear();
      };
      measured_loop(one, first, n);
    });
  }

 private:
  // In the order of a load: one point of every series after the other.
  void fill(const std::string& insert) {
    for (uint64_t i = 0; i < rows_;) {
      std::vector<Bytes> frames;
      for (; frames.size() < kFrames && i < rows_; ++i) frames.push_back(frame(insert, i));
      run(frames, 0, frames.size());
    }
  }
  Bytes frame(const std::string& name, uint64_t i) {
    const uint64_t mixed = i * 0x9E3779B97F4A7C15ULL;
    i %= rows_;
    Bytes key(10, '\0'), value(34, 'x');
    store_be(key.data() + 2, i * 0x9E3779B97F4A7C15ULL);
    if (name == "kv:write") return client_.execute_frame(insert_, {key, value, value, value, value, value});
    if (name == "kv:read") return client_.execute_frame(select_, {key});
    const uint64_t series = std::max(rows_ / kPoints, uint64_t{1});
    const Bytes point(40, 'p');
    if (name == "append") {
      Bytes id = encode_bigint(static_cast<int64_t>(i % series)), at = encode_bigint(static_cast<int64_t>(i / series));
      return client_.execute_frame(append_, {id, at, point});
    }
    Bytes id = encode_bigint(static_cast<int64_t>(i % series));
    Bytes at = encode_bigint(static_cast<int64_t>(100 + (mixed >> 40) % (kPoints - 100)));
    return client_.execute_frame(latest_, {id, at});
  }

  Client& client_;
  const uint64_t rows_;
  ClientPrepared insert_, select_, append_, latest_;
};

struct Case {
  const char* name;
  const char* frames;
  bool on_disk;
};
constexpr Case kCases[] = {
    {"kv:write", "kv:write", false},       {"kv:read", "kv:read", false},
    {"timeline:append", "append", false},  {"timeline:latest", "latest", false},
    {"kv:read, SSTable", "kv:read", true}, {"timeline:latest, SSTable", "latest", true},
};

struct Options {
  int version = 4;
  uint64_t operations = 1'000'000;
  uint64_t rows = 1'000'000;  // in the table
  std::string only;
  bool once = false;  // run the operations once and print nothing: what callgrind looks at
  bool instructions = false;
};

// Runs this program again below callgrind, which counts what measured_loop() did, less a run without it.
uint64_t count_instructions(const std::string& self, const std::string& name, const Options& options,
                            uint64_t operations) {
  std::string out =
      (std::filesystem::temp_directory_path() / fmt::format("request_bench_{}.callgrind", ::getpid())).string();
  std::string command = fmt::format(
      "valgrind --tool=callgrind --toggle-collect='measured_loop*' --callgrind-out-file={} {} --only '{}' --rows 10000 "
      "--operations {} --protocol {} --once >/dev/null 2>&1",
      out, self, name, operations, options.version);
  if (std::system(command.c_str()) != 0) Client::fail("valgrind failed: " + command);
  std::ifstream file(out);
  uint64_t total = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("totals:") || line.starts_with("summary:"))
      total = std::stoull(line.substr(line.find(':') + 1));
  }
  std::filesystem::remove(out);
  return total;
}

void measure(const Case& one, const Options& options, const std::string& self) {
  Client client(options.version);
  Workloads workloads(client, options.rows, one.frames);
  if (one.on_disk) client.flush();
  std::vector<Bytes> frames = workloads.make(one.frames);
  if (options.once) return workloads.run(frames, 0, options.operations);
  const uint64_t operations = std::string(one.frames) == "latest" ? options.operations / 20 : options.operations;
  workloads.run(frames, 0, operations / 4);
  const uint64_t before = allocations();
  const auto began = std::chrono::steady_clock::now();
  workloads.run(frames, 0, operations);
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began);
  const double allocated = static_cast<double>(allocations() - before) / static_cast<double>(operations);
  std::string counted = "-";
  if (options.instructions) {
    // The preparation's own inserts are counted by both runs.
    const uint64_t few = 2'000, many = 6'000;
    const uint64_t difference =
        count_instructions(self, one.name, options, many) - count_instructions(self, one.name, options, few);
    counted = std::to_string(difference / (many - few));
  }
  std::printf("%-26s %8.0f ns %8.2f allocations %12s instructions\n", one.name,
              static_cast<double>(nanos.count()) / static_cast<double>(operations), allocated, counted.c_str());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  CLI::App app{"What a request costs from the EXECUTE frame to the RESULT frame"};
  Options options;
  app.add_option("--protocol", options.version, "3, 4 or 5")->check(CLI::Range(3, 5));
  app.add_option("--operations", options.operations, "of each workload");
  app.add_option("--rows", options.rows, "in the table; instructions are counted with 10,000")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "one workload");
  app.add_flag("--once", options.once, "runs them once and prints nothing");
  app.add_flag("--instructions", options.instructions, "counts them with valgrind, too");
  CLI11_PARSE(app, argc, argv);
  for (const Case& one : kCases) {
    if (options.only.empty() || options.only == one.name) measure(one, options, argv[0]);
  }
  return 0;
}

}  // namespace
}  // namespace cassandra_like

int main(int argc, char** argv) { return cassandra_like::run(argc, argv); }
