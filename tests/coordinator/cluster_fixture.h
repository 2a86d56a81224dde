// Several whole nodes in one simulated world: replicas, messengers and coordinators, with a topology that the test sets.
//
//   CoordinatorCluster cluster(3);                     // SimpleStrategy, three replicas
//   cluster.down({2});                                 // as all nodes see it; its machine runs on
//   cluster.node(1).answers(Verb::kMutationReq, CoordinatorNode::silence());
//   cluster.write(0, cluster.row("a", "x"), Consistency::kQuorum);
//   cluster.lines(1, "t", "a") == {"a", "  1: v=x@10"}
//
// Tables are t, n and kv of tests/storage/fixture.h, and i: as t, with an index on v.
//
// Nodes have the hosts 10.0.0.1 and so on, and tokens that cut the ring evenly. Verbs of writes have handlers here; others are
// the test's to set.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/coordinator.h"
#include "hints/hints.h"
#include "messaging/link/messenger.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {

// Notes which hints it is asked for.
class RecordedHints final : public Hints {
 public:
  struct Hint {
    std::vector<Uuid> nodes;
    SerializedMutation mutation;
    int64_t created_millis = 0;
    int32_t gc_grace_seconds = 0;
  };

  Task<Status> open() override { return Status(); }
  Task<Status> stop() override { return Status(); }
  void node_up(const Uuid&, const InetAddressAndPort&) override {}
  void node_down(const Uuid&) override {}
  void node_left(const Uuid&) override {}
  bool should_hint(const Uuid&, std::string_view) override { return wanted; }
  Task<Status> write(std::vector<Uuid> host_ids, SerializedMutation mutation, int64_t created_millis,
                     int32_t gc_grace_seconds) override {
    hints.push_back({std::move(host_ids), std::move(mutation), created_millis, gc_grace_seconds});
    return Status(result);
  }
  Task<Status> sync(std::vector<Uuid> host_ids) override {
    synced.push_back(std::move(host_ids));
    return Status(sync_result);
  }
  Task<Status> remove_all(std::optional<Uuid>) override { return Status(); }
  std::vector<PendingHints> pending() const override { return {}; }
  const HintsStatistics& statistics() const override { return statistics_; }

  bool wanted = true;  // what should_hint() says
  Status result;       // what write() says
  std::vector<Hint> hints;
  Status sync_result;
  std::vector<std::vector<Uuid>> synced;

 private:
  HintsStatistics statistics_;
};

// A MUTATION_REQ or a READ_REPAIR_REQ, done by this replica.
Task<VerbResult> apply_mutation(Replica* replica, InboundMessage message);

// One machine.
class CoordinatorNode {
 public:
  // A handler that does not answer, or with a failure.
  static VerbHandler silence();
  static VerbHandler failure(RequestFailureReason reason);

  Replica& replica(unsigned shard = 0) { return replicas->shard(shard); }
  Coordinator& coordinator(unsigned shard = 0) { return *coordinators[shard]; }
  Messenger& messenger(unsigned shard = 0) { return *messengers[shard]; }
  InetAddressAndPort address() const { return *InetAddressAndPort::parse(host, kDefaultStoragePort); }
  // Replaces the handler of a verb, on all shards.
  void answers(Verb verb, VerbHandler handler);
  void answers(Verb verb, unsigned shard, VerbHandler handler);
  // Messages of a verb that came, whatever was answered.
  int received(Verb verb) const { return received_[verb_index(verb)]; }
  // The hints of all shards.
  std::vector<RecordedHints::Hint> hints() const;

  std::string host;
  Uuid host_id;
  SimMachine* machine = nullptr;
  Runtime* runtime = nullptr;
  std::unique_ptr<ShardedReplica> replicas;
  std::unique_ptr<MessengerGroup> group;
  std::vector<std::unique_ptr<Messenger>> messengers;
  std::vector<std::unique_ptr<RecordedHints>> hints_of_shards;
  std::vector<std::unique_ptr<Coordinator>> coordinators;

 private:
  std::array<int, kVerbCount> received_{};
};

struct NodePlace {
  std::string datacenter = "datacenter1";
  std::string rack = "rack1";
  EndpointStatus state = EndpointStatus::kNormal;
};

class CoordinatorCluster {
 public:
  // One datacenter, as many replicas as `factor`.
  explicit CoordinatorCluster(size_t nodes, int factor = 3, unsigned shards = 1, CoordinatorOptions options = {});
  CoordinatorCluster(std::vector<NodePlace> places, StringPairs replication, unsigned shards = 1,
                     CoordinatorOptions options = {});
  ~CoordinatorCluster();

  CoordinatorNode& node(size_t i) { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  SimWorld& world() { return *world_; }
  TablePtr table(const std::string& name) { return tables_.at(name); }

  // All nodes take these for down, the others for live. Their machines run on.
  void down(std::vector<EndpointIndex> endpoints);
  // These do not serve clients, as all nodes have heard; the others do.
  void not_serving(std::vector<EndpointIndex> endpoints);
  // Power is cut; nobody is told.
  void crash(size_t node);
  // Its verbs have the handlers of the beginning again.
  void serve(size_t node);
  void boot(size_t node);

  // The value that `make` returns, called on a shard of a node.
  template <class T>
  T run(size_t node, std::function<Task<T>()> make, unsigned shard = 0);
  // The same, without waiting.
  template <class T>
  void start(size_t node, std::function<Task<T>()> make, std::optional<T>* result, unsigned shard = 0);
  bool wait(std::function<bool()> done, Duration limit = std::chrono::seconds(60)) {
    return world_->run_until(std::move(done), limit);
  }

  Update row(const std::string& key, const std::string& value, int64_t timestamp = 10) {
    return std::move(Update(table("t"), key).at(timestamp).row(1).cell("v", value));
  }
  Status write(size_t node, std::vector<Update> updates, Consistency consistency, WriteType type = WriteType::kSimple);
  Status write(size_t node, Update update, Consistency consistency) {
    return write(node, std::vector<Update>{std::move(update)}, consistency);
  }
  Status add(size_t node, Update update, Consistency consistency);
  // The rows that the node itself has.
  Lines lines(size_t node, const std::string& table, const std::string& key);
  Lines scan(size_t node, const std::string& table, const std::string& keyspace = "ks");
  // The nodes, of 0 and up, that have a row of the key in table t: "0 2".
  std::string having(const std::string& key);
  // The nth key ("a", "b", …) whose first replica is the node.
  std::string key_of(EndpointIndex node, int n = 0);

  const CoordinatorOptions options;

 private:
  void handle_verbs(CoordinatorNode& node, unsigned shard);
  void publish();

  std::unique_ptr<SimWorld> world_;
  std::vector<NodePlace> places_;
  unsigned shards_;
  StringPairs replication_;
  std::map<std::string, TablePtr> tables_;
  std::vector<std::unique_ptr<CoordinatorNode>> nodes_;
  std::vector<Endpoint> endpoints_;
  std::vector<bool> alive_, serving_;
  std::deque<std::string> keys_;
};

namespace cluster_fixture_internal {
// Holds what was called as long as it runs.
template <class T>
Task<void> keep(std::function<Task<T>()> make, std::optional<T>* result) {
  Task<T> task = make();
  result->emplace(co_await task);
}
}  // namespace cluster_fixture_internal

template <class T>
T CoordinatorCluster::run(size_t node, std::function<Task<T>()> make, unsigned shard) {
  std::optional<T> result;
  start<T>(node, std::move(make), &result, shard);
  CHECK(wait([&] { return result.has_value(); }, std::chrono::hours(1)));
  return std::move(*result);
}

template <class T>
void CoordinatorCluster::start(size_t node, std::function<Task<T>()> make, std::optional<T>* result, unsigned shard) {
  nodes_[node]->runtime->shard(shard).executor.post([make = std::move(make), result]() mutable {
    spawn(cluster_fixture_internal::keep<T>(std::move(make), result));
  });
}

// Whole text of an error: what a client is told.
std::string told(const Status& status);

}  // namespace cassandra_like::test
