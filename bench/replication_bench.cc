// The cost of a write to several replicas: from Coordinator::write() to its answer, with this node's commit log and memtable and
// the messages of all nodes, without sockets. All nodes are in one thread; the others answer a mutation and do not apply it.
//
//   replication_bench [REPLICAS [CLIENTS [WRITES]]]          3 replicas, 16 clients that write in turn, 100,000 writes
//   replication_bench --instructions [REPLICAS [CLIENTS]]    of a write, counted by callgrind (valgrind has to be installed)
//   replication_copies [REPLICAS [CLIENTS [WRITES]]]         how often the mutation's bytes are copied
//
// Prints what a write at QUORUM costs: nanoseconds, heap allocations, messages, sends and wake-ups. A send is a call of
// the kernel, and so is the receive of each wake-up; the streams of this program only count them. Messages, sends and
// wake-ups are those of the coordinator; the rest is the sum of all nodes.
//
// replication_copies is the same program with a memcpy of its own. A copy of so many bytes as the serialized mutation has, or
// more, is one of the mutation. Values that are copied one by one are serialized, or go to the memtable.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "allocations.h"
#include "coordinator/coordinator.h"
#include "messaging/link/messenger.h"
#include "model/values.h"
#include "replica/sharded_replica.h"
#include "runtime/linux/linux_runtime.h"

namespace cassandra_like {
namespace {

// Calls that the coordinator made.
struct Traffic {
  uint64_t sends = 0, wake_ups = 0;
};
Traffic traffic;

constexpr size_t kValueBytes = 34;

// Counted by replication_copies.
struct Copies {
  size_t mutation_bytes = std::numeric_limits<size_t>::max();
  uint64_t values = 0, mutations = 0, mutation_copies_bytes = 0;
};
Copies copies;

// One end of a stream to another node of this thread.
class PipeEnd final : public Connection, PostedWork {
 public:
  PipeEnd(Executor& executor, SocketAddress local, SocketAddress remote, bool is_coordinators)
      : executor_(executor), local_(std::move(local)), remote_(std::move(remote)), is_coordinators_(is_coordinators) {}
  void join(PipeEnd& other) { other_ = &other; }
  void set(std::shared_ptr<ConnectionHandler> handler) { handler_ = std::move(handler); }

  SocketAddress local_address() const override { return local_; }
  SocketAddress remote_address() const override { return remote_; }
  Bytes& output() override { return output_; }
  void flush() override {
    if (output_.empty() || posted_) return;
    posted_ = true;
    executor_.post(*this);
  }
  size_t unsent() const override { return 0; }
  void pause() override {}
  void resume() override {}
  void close() override {}
  void close_now() override {}

 private:
  void run() override {
    posted_ = false;
    traffic.sends += is_coordinators_;
    std::swap(output_, in_flight_);
    other_->receive(in_flight_);
    in_flight_.clear();
  }
  void receive(BytesView data) {
    traffic.wake_ups += is_coordinators_;
    if (!input_.empty()) {
      input_ += data;
      input_.erase(0, handler_->on_received(input_));
    } else {
      input_ = data.substr(handler_->on_received(data));
    }
    flush();
  }

  Executor& executor_;
  const SocketAddress local_, remote_;
  const bool is_coordinators_;
  PipeEnd* other_ = nullptr;
  std::shared_ptr<ConnectionHandler> handler_;
  Bytes output_, in_flight_, input_;
  bool posted_ = false;
};

class PipeListener final : public Listener {
 public:
  uint16_t port() const override { return kDefaultStoragePort; }
};

// The streams of all nodes.
class Pipes final : public Network {
 public:
  explicit Pipes(Executor& executor) : executor_(executor) {}
  Result<std::unique_ptr<Listener>> listen(const SocketAddress& address, Acceptor acceptor, Spread) override {
    acceptors_[address] = std::move(acceptor);
    return std::unique_ptr<Listener>(std::make_unique<PipeListener>());
  }
  Task<Status> connect(SocketAddress address, Acceptor on_connected) override {
    const bool to_coordinator = address.host == "127.0.0.1";
    auto near = std::make_unique<PipeEnd>(executor_, SocketAddress{"127.0.0.1", 1}, address, !to_coordinator);
    auto far = std::make_unique<PipeEnd>(executor_, address, SocketAddress{"127.0.0.1", 1}, to_coordinator);
    near->join(*far);
    far->join(*near);
    far->set(acceptors_.at(address)(*far));
    near->set(on_connected(*near));
    near->flush();
    ends_.push_back(std::move(near));
    ends_.push_back(std::move(far));
    return Status();
  }
  Result<std::unique_ptr<Listener>> serve_http(const SocketAddress&, HttpHandler) override {
    return std::unique_ptr<Listener>(std::make_unique<PipeListener>());
  }

 private:
  Executor& executor_;
  std::map<SocketAddress, Acceptor> acceptors_;
  std::vector<std::unique_ptr<PipeEnd>> ends_;
};

class PipeRuntime final : public Runtime {
 public:
  explicit PipeRuntime(Runtime& real)
      : pipes_(real.shard(0).executor), shard_{real.shard(0).executor, real.shard(0).clock,  pipes_,
                                               real.shard(0).disk,     real.shard(0).random, real.shard(0).blocking} {}
  unsigned shard_count() const override { return 1; }
  ShardRuntime& shard(unsigned) override { return shard_; }

 private:
  Pipes pipes_;
  ShardRuntime shard_;
};

struct Peer {
  std::unique_ptr<MessengerGroup> group;
  std::unique_ptr<Messenger> messenger;
};

// kv (k blob primary key, v1 … v5 blob)
TablePtr make_table() {
  auto column = [](std::string name, ColumnKind kind, int position) {
    return std::make_shared<Column>(Column{std::move(name), types::blob(), kind, position, {}});
  };
  std::vector<ColumnPtr> key{column("k", ColumnKind::kPartitionKey, 0)}, values;
  for (int i = 1; i <= 5; ++i) values.push_back(column(fmt::format("v{}", i), ColumnKind::kRegular, -1));
  return std::make_shared<TableMetadata>("b", "kv", Uuid::name_based("b.kv"), key, std::vector<ColumnPtr>(), values);
}

// One row, whose memory is used again for the next.
class Insert {
 public:
  explicit Insert(TablePtr table) : table_(std::move(table)), key_(10, '\0'), value_(kValueBytes, 'x') {
    for (const ColumnPtr& c : table_->regular_columns) cells_.push_back({c.get(), 1, kNoDeletionTime, 0, value_, {}});
  }
  const Mutation& make(uint64_t i) {
    store_be(key_.data() + 2, i * 0x9E3779B97F4A7C15ULL);
    for (Cell& cell : cells_) cell.timestamp = static_cast<int64_t>(i + 1);
    row_.cells = cells_;
    row_.liveness.timestamp = static_cast<int64_t>(i + 1);
    row_.clustering = empty_clustering();
    update_.table = table_.get();
    update_.key = DecoratedKey::of(key_);
    update_.rows = {&row_, 1};
    mutation_ = {"b", update_.key, {&update_, 1}};
    return mutation_;
  }

 private:
  TablePtr table_;
  Bytes key_, value_;
  std::vector<Cell> cells_;
  Row row_;
  PartitionUpdate update_;
  Mutation mutation_;
};

class Cluster {
 public:
  explicit Cluster(size_t nodes)
      : nodes_(nodes), path_(std::filesystem::temp_directory_path() / fmt::format("replication_bench_{}", ::getpid())) {
    std::filesystem::remove_all(path_);
    real_ = std::make_unique<LinuxRuntime>(1);
    runtime_ = std::make_unique<PipeRuntime>(*real_);
    CHECK(real_->start().ok());
    wait([this] { return start(this); });
  }
  ~Cluster() {
    wait([this] { return stop(this); });
    real_->stop();
    std::filesystem::remove_all(path_);
  }

  void write(uint64_t clients, uint64_t writes) {
    std::promise<void> done;
    real_->shard(0).executor.post([&] {
      running_ = clients;
      for (uint64_t c = 0; c < clients; ++c) spawn(loop(this, writes / clients, &done));
    });
    done.get_future().wait();
  }

  // Messages that the coordinator has sent and received.
  uint64_t messages() {
    uint64_t sum = 0;
    wait([this, &sum] {
      for (const PeerStatistics& peer : peers_[0].messenger->peers()) {
        for (const PeerStatistics::Link& link : peer.links) sum += link.counters.sent;
      }
      for (const InboundStatistics& link : peers_[0].messenger->inbound()) sum += link.counters.received;
      return Task<Status>(Status());
    });
    return sum;
  }

 private:
  static void check(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
    std::_Exit(1);
  }
  static Task<void> deliver(std::function<Task<Status>()>* make, std::promise<void>* done) {
    Task<Status> task = (*make)();
    const Status status = co_await task;
    check(status);
    done->set_value();
  }
  void wait(std::function<Task<Status>()> make) {
    std::promise<void> done;
    real_->shard(0).executor.post([&] { spawn(deliver(&make, &done)); });
    done.get_future().wait();
  }
  Peer make_peer(size_t i, bool answers) {
    LinkOptions options;
    options.self = *InetAddressAndPort::parse(fmt::format("127.0.0.{}", i + 1));
    Peer peer;
    peer.group = std::make_unique<MessengerGroup>(*runtime_, options);
    peer.messenger = std::make_unique<Messenger>(*peer.group, 0);
    if (answers) {
      peer.messenger->handle(Verb::kMutationReq, [](InboundMessage) { return Task<VerbResult>(VerbResult::answer()); });
    }
    check(peer.messenger->listen({fmt::format("127.0.0.{}", i + 1), kDefaultStoragePort}));
    return peer;
  }
  static Task<Status> start(Cluster* self) {
    EngineOptions engine;
    engine.data_directories = {self->path_.string() + "/data"};
    engine.commitlog_directory = self->path_.string() + "/commitlog";
    engine.memtable_bytes = size_t{4} << 30;
    engine.commitlog_segment_bytes = 256 << 20;
    LocalNode local;
    local.cluster_name = "bench";
    local.data_center = local.rack = "one";
    local.listen_address = local.broadcast_address = local.rpc_address = "127.0.0.1";
    auto opened = co_await ShardedReplica::open(self->runtime_.get(), std::move(engine), std::move(local), 1);
    if (!opened.ok()) co_return std::move(opened.error());
    self->replicas_ = std::move(*opened);
    Replica& replica = self->replicas_->shard(0);
    auto keyspace = std::make_shared<KeyspaceMetadata>();
    keyspace->name = "b";
    keyspace->replication.options["class"] = "org.apache.cassandra.locator.SimpleStrategy";
    keyspace->replication.options["replication_factor"] = std::to_string(self->nodes_);
    keyspace->tables["kv"] = self->table_;
    auto add = [keyspace](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
      return SchemaPtr(schema->with_keyspace(keyspace));
    };
    auto changed = co_await replica.schema().change(add);
    if (!changed.ok()) co_return std::move(changed.error());
    self->table_ = replica.schema().current()->table("b", "kv");
    std::vector<Endpoint> endpoints(self->nodes_);
    for (size_t i = 0; i < self->nodes_; ++i) {
      self->peers_.push_back(self->make_peer(i, i > 0));
      endpoints[i].address = fmt::format("127.0.0.{}", i + 1);
      endpoints[i].datacenter = endpoints[i].rack = "one";
      endpoints[i].tokens.push_back(static_cast<Token>(i) * 1000);
    }
    auto ring = std::make_shared<TokenRing>(std::move(endpoints), 0);
    const CoordinatorPeers peers{self->peers_[0].messenger.get(), nullptr};
    const CoordinatorOptions options;
    self->coordinator_ = Coordinator::create(self->runtime_->shard(0), replica, options, peers);
    std::vector<bool> alive(self->nodes_, true);
    replica.topology().set(std::make_shared<Topology>(ring, std::move(alive)));
    co_return Status();
  }
  static Task<Status> stop(Cluster* self) {
    co_await self->coordinator_->stop();
    self->coordinator_.reset();
    for (Peer& peer : self->peers_) co_await peer.messenger->close();
    self->peers_.clear();
    co_await self->replicas_->stop();
    co_return Status();
  }
  static Task<void> loop(Cluster* self, uint64_t writes, std::promise<void>* done) {
    Insert insert(self->table_);
    for (uint64_t i = 0; i < writes; ++i) {
      const Mutation mutation = insert.make(self->next_++);
      Task<Status> writing = self->coordinator_->write({&mutation, 1}, Consistency::kQuorum, WriteType::kSimple);
      const Status written = co_await writing;
      check(written);
    }
    if (--self->running_ == 0) done->set_value();
  }

  const size_t nodes_;
  const std::filesystem::path path_;
  TablePtr table_ = make_table();  // the schema's, once that has it
  std::unique_ptr<LinuxRuntime> real_;
  std::unique_ptr<PipeRuntime> runtime_;
  std::unique_ptr<ShardedReplica> replicas_;
  std::vector<Peer> peers_;
  std::unique_ptr<Coordinator> coordinator_;
  uint64_t next_ = 0;
  uint64_t running_ = 0;
};

// This program has so many with so many writes, all threads together.
uint64_t count_instructions(const std::string& self, uint64_t replicas, uint64_t clients, uint64_t writes) {
  const std::string out =
      (std::filesystem::temp_directory_path() / fmt::format("replication_bench_{}.callgrind", ::getpid())).string();
  const std::string command =
      fmt::format("valgrind --tool=callgrind --callgrind-out-file={} {} {} {} {} >/dev/null 2>&1", out, self, replicas,
                  clients, writes);
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "valgrind failed: %s\n", command.c_str());
    std::_Exit(1);
  }
  std::ifstream file(out);
  uint64_t total = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("totals:")) total = std::stoull(line.substr(line.find(':') + 1));
  }
  std::filesystem::remove(out);
  return total;
}

int run(int argc, char** argv) {
  const bool instructions = argc > 1 && std::string_view(argv[1]) == "--instructions";
  auto argument = [&](int i, uint64_t other) {
    return argc > i + instructions ? std::stoull(argv[i + instructions]) : other;
  };
  const uint64_t replicas = argument(1, 3), clients = argument(2, 16), writes = argument(3, 100'000);
  if (instructions) {
    constexpr uint64_t kFew = 4'000, kMany = 12'000;  // and a quarter more, before what is measured
    const uint64_t difference =
        count_instructions(argv[0], replicas, clients, kMany) - count_instructions(argv[0], replicas, clients, kFew);
    std::printf("%lu replicas, %lu clients: %lu instructions for a write at QUORUM, of all nodes\n", replicas, clients,
                difference / (kMany + kMany / 4 - kFew - kFew / 4));
    return 0;
  }
  Cluster cluster(replicas);
  cluster.write(clients, writes / 4);
  copies.mutation_bytes = SerializedMutation(Insert(make_table()).make(0)).view().size();
  copies.values = copies.mutations = copies.mutation_copies_bytes = 0;
  const uint64_t messages = cluster.messages();
  const uint64_t allocated = allocations();
  const Traffic before = traffic;
  const auto began = std::chrono::steady_clock::now();
  cluster.write(clients, writes);
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began);
  const auto each = [writes](uint64_t count) { return static_cast<double>(count) / static_cast<double>(writes); };
  const Copies copied = copies;
  std::printf(
      "%lu replicas, %lu clients: %.0f ns, %.2f allocations, %.2f messages, %.2f sends, %.2f wake-ups for a write\n",
      replicas, clients, each(static_cast<uint64_t>(nanos.count())), each(allocations() - allocated),
      each(cluster.messages() - messages), each(traffic.sends - before.sends),
      each(traffic.wake_ups - before.wake_ups));
#ifdef COUNT_COPIES
  std::printf("a mutation of %zu bytes: %.2f copies, %.2f times its bytes; %.2f values were copied one by one\n",
              copied.mutation_bytes, each(copied.mutations),
              each(copied.mutation_copies_bytes) / static_cast<double>(copied.mutation_bytes), each(copied.values));
#else
  static_cast<void>(copied);
#endif
  return 0;
}

}  // namespace
}  // namespace cassandra_like

#ifdef COUNT_COPIES
namespace {

void* copy_and_count(void* to, const void* from, size_t size) {
  using cassandra_like::copies;
  copies.values += size == cassandra_like::kValueBytes;
  if (size >= copies.mutation_bytes) {
    ++copies.mutations;
    copies.mutation_copies_bytes += size;
  }
  void* const out = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return out;
}

}  // namespace

extern "C" void* memcpy(void* to, const void* from, size_t size) { return copy_and_count(to, from, size); }
#endif

int main(int argc, char** argv) { return cassandra_like::run(argc, argv); }
