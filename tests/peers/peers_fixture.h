// Nodes that serve each other's requests, in one simulated world: replicas, messengers, PeerRequests and SchemaSync. Their
// coordinators note what they are asked for. The test says which nodes see each other.
//
//   PeersCluster cluster(3);
//   cluster.make_tables();
//   cluster.ask(0, 1, Verb::kMutationReq, cluster.write("a", "x")) == ""
//   cluster.lines(1, "t", "a") == {"a", "  1: v=x@10"}
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/tracing.h"
#include "coordinator/write/replicated_writes.h"
#include "messaging/read_command_codec.h"
#include "messaging/wire/mutation_codec.h"
#include "peers/peer_requests.h"
#include "peers/schema_sync.h"
#include "tests/coordinator/cluster_fixture.h"
#include "tests/replica/fixture/replica_node.h"
#include "tests/support/captured_log.h"

namespace cassandra_like::test {

// Notes which counters it is to lead, and applies them here.
class RecordedWrites final : public ReplicatedWrites {
 public:
  explicit RecordedWrites(Replica& replica) : replica_(replica) {}
  Task<Status> write(std::span<const Mutation>, Consistency, WriteType, const TracePtr&) override { return unused(); }
  Task<Status> write_logged_batch(std::span<const Mutation>, Consistency, const TracePtr&) override { return unused(); }
  Task<Status> write_counters(std::span<const Mutation>, Consistency, const TracePtr&) override { return unused(); }
  Task<Status> truncate(TablePtr) override { return unused(); }
  Task<Status> lead_counter(SerializedMutation deltas, std::string keyspace, Consistency consistency,
                            const TracePtr&) override;
  size_t nodes() const override { return 1; }
  Task<Status> replay(std::vector<ReplayedMutation>, int64_t) override { return unused(); }

  std::vector<std::string> led;  // keyspace and level

 private:
  static Task<Status> unused() { return Status(invalid("not of these tests")); }
  Replica& replica_;
};

class PeerCoordinator final : public Coordinator {
 public:
  PeerCoordinator(ShardRuntime& runtime, Replica& replica)
      : replica_(replica),
        writes_(replica),
        batchlog_(runtime, replica, replica.schema(), {}),
        tracing_(runtime, *this, {}) {}
  // The notes of traced requests stay here.
  Task<Status> write(std::span<const Mutation> mutations, Consistency, WriteType, const TracePtr&) override {
    return replica_.mutate(mutations[0]);
  }
  Task<Status> write_counters(std::span<const Mutation>, Consistency, const TracePtr&) override {
    return Status(invalid("unused"));
  }
  Task<Result<ReadStatistics>> read(const ReadCommand&, Consistency, RowSink&, const TracePtr&,
                                    std::vector<std::string>*) override {
    return Result<ReadStatistics>(invalid("unused"));
  }
  Task<Status> truncate(TablePtr) override { return Status(invalid("unused")); }
  Batchlog& batchlog() override { return batchlog_; }
  RecordedWrites& replicated_writes() override { return writes_; }
  Tracing& tracing() override { return tracing_; }
  Task<void> stop() override { return batchlog_.stop(); }
  Replica& replica() override { return replica_; }
  SchemaStore& schema() override { return replica_.schema(); }
  const CoordinatorStatistics& statistics() const override { return statistics_; }
  CoordinatorStatistics& statistics() override { return statistics_; }
  const TableRequests* requests(const Uuid&) const override { return nullptr; }
  Denylist* denylist() override { return nullptr; }
  const CoordinatorOptions& options() const override { return options_; }
  void set_timeout(Duration CoordinatorOptions::*which, Duration timeout) override { options_.*which = timeout; }

 private:
  Replica& replica_;
  RecordedWrites writes_;
  Batchlog batchlog_;
  Tracing tracing_;
  CoordinatorOptions options_;
  CoordinatorStatistics statistics_;
};

// One machine.
struct PeerNode {
  Replica& replica(unsigned shard = 0) { return replicas->shard(shard); }
  InetAddressAndPort address() const { return *InetAddressAndPort::parse(host, kDefaultStoragePort); }
  std::string version() { return replica().schema().current()->version().to_string(); }
  // Sums over all shards.
  PeerRequestsStatistics statistics() const;
  std::vector<RecordedHints::Hint> hints() const;

  std::string host;
  Uuid host_id;
  SimMachine* machine = nullptr;
  Runtime* runtime = nullptr;
  EngineOptions engine;
  std::unique_ptr<ShardedReplica> replicas;
  std::unique_ptr<MessengerGroup> group;
  std::vector<std::unique_ptr<Messenger>> messengers;
  std::vector<std::unique_ptr<RecordedHints>> hints_of_shards;
  std::vector<std::unique_ptr<PeerCoordinator>> coordinators;
  std::vector<std::shared_ptr<PeerRequests>> requests;
  std::unique_ptr<SchemaSync> sync;
};

class PeersCluster {
 public:
  // SimpleStrategy, `factor` replicas.
  explicit PeersCluster(size_t nodes, unsigned shards = 2, int factor = 3, PeerRequestsOptions options = {},
                        SchemaSyncOptions sync_options = {});
  ~PeersCluster();

  PeerNode& node(size_t i) { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  SimWorld& world() { return *world_; }
  bool wait(std::function<bool()> done, Duration limit = std::chrono::seconds(60)) {
    return world_->run_until(std::move(done), limit);
  }

  // The process is gone, its files are as they are, and it starts again.
  void restart(size_t node);
  // Tables t, n and kv of tests/storage/fixture.h in keyspace ks, the same on every node; or on some.
  void make_tables() { make_tables({"t", "n", "kv"}, true); }
  std::vector<Bytes> make_tables(const std::vector<std::string>& names, bool everywhere);
  Result<SchemaDiff> change(size_t node, SchemaTransformation transformation);
  Result<SchemaDiff> merge(size_t node, std::vector<Bytes> mutations);

  // Asks, and waits for the answer: its payload, or the failure in angle brackets.
  std::string ask(size_t from, size_t to, Verb verb, Bytes payload, SendOptions options = {}, unsigned shard = 0);
  // The same, without waiting.
  void begin(size_t from, size_t to, Verb verb, Bytes payload, std::optional<std::string>* answer,
             SendOptions options = {}, unsigned shard = 0);
  // Runs fn on a shard of a node, to its end.
  void on(size_t node, unsigned shard, std::function<void()> fn);
  template <class T>
  T run(size_t node, std::function<Task<T>()> make, unsigned shard = 0);

  // A row of table t, as the body of a write.
  Bytes write(const std::string& key, const std::string& value, int64_t timestamp = 10);
  Bytes bytes_of(Update update);
  TablePtr table(const std::string& name) { return tables_.at(name); }
  Lines lines(size_t node, const std::string& table, const std::string& key);
  size_t rows(size_t node, const std::string& table, const std::string& keyspace = "ks");
  // The nth key whose first replica is the node.
  std::string key_of(EndpointIndex node, int n = 0);

  // Schema versions become known to those who see each other, as gossip would do it.
  void gossip();
  // Gossip each second, until done() or the limit.
  bool gossip_until(std::function<bool()> done, Duration limit);
  bool agree();
  // These nodes do not see the others from now on; empty: all see all.
  void part(std::vector<size_t> from_others);
  bool sees(size_t a, size_t b) const { return parted_[a] == parted_[b]; }

 private:
  void boot(size_t i);
  void kill(size_t i);
  void publish(size_t i);
  SchemaSyncNode sync_node(size_t i);

  std::unique_ptr<SimWorld> world_;
  unsigned shards_;
  int factor_;
  PeerRequestsOptions options_;
  SchemaSyncOptions sync_options_;
  std::map<std::string, TablePtr> tables_;
  std::vector<std::unique_ptr<PeerNode>> nodes_;
  std::vector<bool> parted_;
  std::deque<std::string> keys_;
};

template <class T>
T PeersCluster::run(size_t node, std::function<Task<T>()> make, unsigned shard) {
  std::optional<T> result;
  nodes_[node]->runtime->shard(shard).executor.post([&] { spawn(replica_node_internal::keep<T>(&make, &result)); });
  CHECK(wait([&] { return result.has_value(); }, std::chrono::hours(1)));
  return std::move(*result);
}

}  // namespace cassandra_like::test
