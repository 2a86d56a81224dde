// Writes of several replicas: what a client is told at each level, and which replicas and hints have the write then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "cluster_fixture.h"
#include "quorum_fixture.h"

namespace cassandra_like::test::replicated_write_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kTimedOut = "Operation timed out - received only ";

class ReplicatedWrites : public testing::Test {
 protected:
  // The nodes that a node has asked for hints for, in the order of asking: "2 1".
  static std::string hinted(CoordinatorCluster& cluster, size_t by = 0) {
    std::string out;
    for (const RecordedHints::Hint& hint : cluster.node(by).hints()) {
      for (const Uuid& id : hint.nodes) {
        for (size_t i = 0; i < cluster.size(); ++i) {
          if (cluster.node(i).host_id == id) out += (out.empty() ? "" : " ") + std::to_string(i);
        }
      }
    }
    return out;
  }
  // Longer than any timeout of a write.
  static void settle(CoordinatorCluster& cluster) { cluster.world().run_for(seconds(8)); }
  static void silence(CoordinatorCluster& cluster, std::vector<size_t> nodes) {
    for (size_t node : nodes) cluster.node(node).answers(Verb::kMutationReq, CoordinatorNode::silence());
  }
  static void fail(CoordinatorCluster& cluster, std::vector<size_t> nodes,
                   RequestFailureReason reason = RequestFailureReason::kUnknown) {
    for (size_t node : nodes) cluster.node(node).answers(Verb::kMutationReq, CoordinatorNode::failure(reason));
  }
  static uint64_t messages_to(CoordinatorCluster& cluster, size_t node) {
    uint64_t sent = 0;
    for (const PeerStatistics& peer : cluster.node(0).messenger().peers()) {
      if (peer.peer != cluster.node(node).address()) continue;
      for (const auto& link : peer.links) sent += link.counters.submitted;
    }
    return sent;
  }
  static CoordinatorCluster two_datacenters() {
    std::vector<NodePlace> places(6);
    for (size_t i = 0; i < 6; ++i) places[i] = {.datacenter = i < 3 ? "dc1" : "dc2"};
    return {places, {{"class", "org.apache.cassandra.locator.NetworkTopologyStrategy"}, {"dc1", "3"}, {"dc2", "3"}}};
  }
};

TEST_F(ReplicatedWrites, ReachAllReplicasAtEachLevel) {
  CoordinatorCluster cluster(3);
  for (Consistency level : write_levels()) {
    const std::string key = fmt::format("key of {}", consistency_name(level));
    EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), level)), "ok");
    settle(cluster);
    EXPECT_EQ(cluster.having(key), "0 1 2") << key;
    EXPECT_EQ(cluster.lines(1, "t", key), (Lines{key, "  1: v=x@10"}));
  }
  EXPECT_EQ(hinted(cluster), "");
}

TEST_F(ReplicatedWrites, GoThroughNodesThatAreNoReplicas) {
  CoordinatorCluster cluster(5, 3);
  const std::string key = cluster.key_of(1);  // and 2, and 3
  for (size_t by = 0; by < 5; ++by) {
    EXPECT_EQ(told(cluster.write(by, cluster.row(key, "x", 10 + static_cast<int64_t>(by)), Consistency::kAll)), "ok");
  }
  EXPECT_EQ(cluster.having(key), "1 2 3");
  EXPECT_EQ(cluster.lines(3, "t", key), (Lines{key, "  1: v=x@14"}));
}

TEST_F(ReplicatedWrites, AreRefusedBeforeAnythingIsSentWhenTooFewReplicasLive) {
  CoordinatorCluster cluster(3);
  struct Case {
    std::vector<EndpointIndex> down;
    Consistency level;
    const char* told;
  };
  const Case cases[] = {
      {{2}, Consistency::kAll, "Cannot achieve consistency level ALL [ALL 2/3]"},
      {{2}, Consistency::kThree, "Cannot achieve consistency level THREE [THREE 2/3]"},
      {{1, 2}, Consistency::kQuorum, "Cannot achieve consistency level QUORUM [QUORUM 1/2]"},
      {{1, 2}, Consistency::kLocalQuorum, "Cannot achieve consistency level LOCAL_QUORUM [LOCAL_QUORUM 1/2]"},
      {{1, 2}, Consistency::kTwo, "Cannot achieve consistency level TWO [TWO 1/2]"},
  };
  for (const Case& c : cases) {
    cluster.down(c.down);
    EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), c.level)), c.told);
  }
  // The same when only the last of several mutations lacks replicas.
  CoordinatorCluster larger(5, 3);
  larger.down({4});
  const Status status = larger.write(0, {larger.row(larger.key_of(1), "x"), larger.row(larger.key_of(3), "x")},
                                     Consistency::kAll, WriteType::kUnloggedBatch);
  EXPECT_EQ(told(status), "Cannot achieve consistency level ALL [ALL 2/3]");
  settle(cluster);
  settle(larger);
  EXPECT_EQ(cluster.having("a"), "");
  EXPECT_EQ(larger.having(larger.key_of(1)), "");
  EXPECT_EQ(hinted(cluster), "");
}

TEST_F(ReplicatedWrites, LeaveHintsForReplicasThatAreDown) {
  CoordinatorCluster cluster(3);
  cluster.down({2});
  const int64_t before = cluster.node(0).runtime->shard(0).clock.wall_millis();
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kQuorum)), "ok");
  cluster.down({1, 2});
  EXPECT_EQ(told(cluster.write(0, cluster.row("b", "x"), Consistency::kOne)), "ok");
  settle(cluster);
  EXPECT_EQ(hinted(cluster), "2 1 2");
  EXPECT_EQ(cluster.having("a"), "0 1");
  EXPECT_EQ(cluster.having("b"), "0");
  const std::vector<RecordedHints::Hint> hints = cluster.node(0).hints();
  ASSERT_EQ(hints.size(), 2u);
  Update update = cluster.row("a", "x");
  Bytes expected;
  serialize(update.mutation(), expected);
  EXPECT_EQ(hints[0].mutation.view(), expected);
  EXPECT_EQ(hints[0].gc_grace_seconds, 864000);
  EXPECT_GE(hints[0].created_millis, before);
  EXPECT_LE(hints[0].created_millis, before + 100);
}

TEST_F(ReplicatedWrites, LeaveNoHintWhereNoneIsWanted) {
  CoordinatorCluster cluster(3);
  cluster.node(0).hints_of_shards[0]->wanted = false;
  cluster.down({2});
  silence(cluster, {1});
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kOne)), "ok");
  settle(cluster);
  EXPECT_EQ(hinted(cluster), "");
}

// The client waits for no longer than the timeout; the replicas that do not answer in time get a hint.
TEST_F(ReplicatedWrites, TimeOut) {
  CoordinatorCluster cluster(3);
  struct Case {
    std::vector<size_t> silent;
    Consistency level;
    std::string told;
  };
  const Case cases[] = {
      {{1, 2}, Consistency::kOne, "ok"},
      {{2}, Consistency::kQuorum, "ok"},
      {{2}, Consistency::kAll, std::string(kTimedOut) + "2 responses. [ALL 2/3] SIMPLE"},
      {{1, 2}, Consistency::kQuorum, std::string(kTimedOut) + "1 responses. [QUORUM 1/2] SIMPLE"},
      {{1, 2}, Consistency::kLocalQuorum, std::string(kTimedOut) + "1 responses. [LOCAL_QUORUM 1/2] SIMPLE"},
  };
  for (const Case& c : cases) {
    for (size_t i = 0; i < 3; ++i) cluster.serve(i);
    cluster.node(0).hints_of_shards[0]->hints.clear();
    silence(cluster, c.silent);
    const int64_t began = cluster.world().clock().monotonic_nanos();
    EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), c.level)), c.told);
    const Duration took(cluster.world().clock().monotonic_nanos() - began);
    if (c.told == "ok") {
      EXPECT_LT(took, milliseconds(100));
    } else {
      EXPECT_GE(took, seconds(2));
      EXPECT_LT(took, milliseconds(2100));
    }
    settle(cluster);
    EXPECT_EQ(hinted(cluster), c.silent.size() == 2 ? "1 2" : "2");
  }
}

// A replica that is down keeps its place among the candidates, so a failure besides it is no proof that the level fails.
TEST_F(ReplicatedWrites, TimeOutWhenOneReplicaFailsAndAnotherIsDown) {
  CoordinatorCluster cluster(3);
  cluster.down({2});
  fail(cluster, {1});
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kQuorum)),
            std::string(kTimedOut) + "1 responses. [QUORUM 1/2] SIMPLE");
  EXPECT_EQ(hinted(cluster), "2 1");
}

TEST_F(ReplicatedWrites, FailWithTheReasonsOfTheReplicas) {
  CoordinatorCluster cluster(3);
  cluster.world().set_link(*cluster.node(2).machine, *cluster.node(0).machine, {.delay = milliseconds(50)});
  fail(cluster, {2});
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kQuorum)), "ok");
  EXPECT_EQ(
      told(cluster.write(0, cluster.row("a", "x"), Consistency::kAll)),
      "Operation failed - received 2 responses and 1 failures: UNKNOWN from /10.0.0.3:7000 [ALL 2/3] SIMPLE .3=0");
  fail(cluster, {1, 2}, RequestFailureReason::kIncompatibleSchema);
  const std::string told_at_quorum = told(cluster.write(0, cluster.row("a", "x"), Consistency::kQuorum));
  EXPECT_THAT(told_at_quorum, testing::StartsWith("Operation failed - received 1 responses and 2 failures: "));
  EXPECT_THAT(told_at_quorum, testing::HasSubstr("INCOMPATIBLE_SCHEMA from /10.0.0.2:7000"));
  EXPECT_THAT(told_at_quorum, testing::EndsWith("[QUORUM 1/2] SIMPLE .2=3 .3=3"));
  settle(cluster);
  std::string hints = hinted(cluster);
  EXPECT_EQ(std::count(hints.begin(), hints.end(), '2'), 3);
  EXPECT_EQ(std::count(hints.begin(), hints.end(), '1'), 1);
}

// Nobody has told yet that the node is down: its requests time out.
TEST_F(ReplicatedWrites, LeaveHintsForReplicasThatHaveDiedUnnoticed) {
  CoordinatorCluster cluster(3);
  cluster.crash(2);
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kQuorum)), "ok");
  EXPECT_EQ(hinted(cluster), "");
  settle(cluster);
  EXPECT_EQ(hinted(cluster), "2");
}

// The request's memory is gone by then; a slow replica gets the right bytes, and its late answer harms nobody.
TEST_F(ReplicatedWrites, GoOnWhenTheirClientWasAnswered) {
  CoordinatorCluster cluster(3);
  EXPECT_EQ(told(cluster.write(0, cluster.row("b", "connects"), Consistency::kAll)), "ok");
  for (size_t i : {1u, 2u}) {
    cluster.world().set_link(*cluster.node(0).machine, *cluster.node(i).machine, {.delay = milliseconds(700)});
  }
  {
    Update update = cluster.row("a", "late");
    const std::vector<Mutation> mutations{update.mutation()};
    auto write = [&] { return cluster.node(0).coordinator().write(mutations, Consistency::kOne, WriteType::kSimple); };
    EXPECT_EQ(told(cluster.run<Status>(0, write)), "ok");
    const BytesView value = mutations[0].updates[0].rows[0].cells[0].value;
    std::fill_n(const_cast<char*>(value.data()), value.size(), '?');
  }
  EXPECT_EQ(cluster.having("a"), "0");
  settle(cluster);
  EXPECT_EQ(cluster.having("a"), "0 1 2");
  EXPECT_EQ(cluster.lines(2, "t", "a"), (Lines{"a", "  1: v=late@10"}));
  EXPECT_EQ(hinted(cluster), "");
}

TEST_F(ReplicatedWrites, OfLevelAnyAreKeptAsHints) {
  CoordinatorCluster cluster(4, 3);
  const std::string key = cluster.key_of(1);
  cluster.down({1, 2, 3});
  EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), Consistency::kAny)), "ok");
  EXPECT_EQ(hinted(cluster), "1 2 3");
  // Replicas that live but fail, or say nothing, get one each.
  cluster.node(0).hints_of_shards[0]->hints.clear();
  cluster.down({});
  fail(cluster, {1, 2});
  silence(cluster, {3});
  EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), Consistency::kAny)), "ok");
  settle(cluster);
  EXPECT_EQ(cluster.node(0).hints().size(), 3u);
  // Nobody has it and nobody will.
  cluster.node(0).hints_of_shards[0]->wanted = false;
  EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), Consistency::kAny)),
            std::string(kTimedOut) + "0 responses. [ANY 0/1] SIMPLE");
}

TEST_F(ReplicatedWrites, AreRefusedWhenTooManyHintsWait) {
  CoordinatorCluster cluster(3);
  cluster.down({2});
  cluster.node(0).hints_of_shards[0]->result = Error(ErrorCode::kOverloaded, "Too many in flight hints: 9");
  const Status status = cluster.write(0, cluster.row("a", "x"), Consistency::kOne);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kOverloaded);
  settle(cluster);
  EXPECT_EQ(cluster.node(1).received(Verb::kMutationReq), 0);
}

TEST_F(ReplicatedWrites, AreRefusedWhenTheyAreTooLarge) {
  CoordinatorOptions options;
  options.max_mutation_bytes = 1000;
  CoordinatorCluster cluster(3, 3, 1, options);
  const std::string large(1000, 'x');
  for (const WriteType type : {WriteType::kUnloggedBatch, WriteType::kBatch}) {
    const Status status =
        cluster.write(0, {cluster.row("a", "x"), cluster.row("b", large)}, Consistency::kQuorum, type);
    EXPECT_THAT(told(status), testing::MatchesRegex("Rejected an oversized mutation \\(10[0-9]+/1000\\) for keyspace: "
                                                    "ks. Top keys are: t.b \\[ANY 0/0\\]"));
  }
  settle(cluster);
  EXPECT_EQ(cluster.having("a"), "");
}

TEST_F(ReplicatedWrites, GoToReplicasToBeAndWaitForThem) {
  std::vector<NodePlace> places(4);
  places[3].state = EndpointStatus::kJoining;
  CoordinatorCluster cluster(places,
                             {{"class", "org.apache.cassandra.locator.SimpleStrategy"}, {"replication_factor", "3"}});
  silence(cluster, {3});
  std::string key;
  for (int i = 0; key.empty(); ++i) {  // one that node 3 will have
    const std::string candidate = "key " + std::to_string(i);
    EXPECT_EQ(told(cluster.write(0, cluster.row(candidate, "x"), Consistency::kOne)), "ok");
    settle(cluster);
    if (cluster.node(3).received(Verb::kMutationReq) > 0) key = candidate;
  }
  EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), Consistency::kQuorum)), "ok");
  EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), Consistency::kAll)),
            std::string(kTimedOut) + "3 responses. [ALL 3/4] SIMPLE");
  cluster.serve(3);
  EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), Consistency::kAll)), "ok");
  EXPECT_EQ(cluster.having(key), "0 1 2 3");
}

// ---- Datacenters

TEST_F(ReplicatedWrites, ToAnotherDatacenterAreOneMessage) {
  CoordinatorCluster cluster = two_datacenters();
  const Consistency levels[] = {Consistency::kAll, Consistency::kEachQuorum, Consistency::kLocalQuorum};
  uint64_t sent_before = 0;
  for (size_t n = 0; n < std::size(levels); ++n) {
    const std::string key = "key " + std::to_string(n);
    EXPECT_EQ(told(cluster.write(0, cluster.row(key, "x"), levels[n])), "ok");
    settle(cluster);
    EXPECT_EQ(cluster.having(key), "0 1 2 3 4 5");
    for (size_t i = 1; i < 6; ++i) EXPECT_EQ(cluster.node(i).received(Verb::kMutationReq), static_cast<int>(n) + 1);
    uint64_t sent = 0;
    for (size_t i = 3; i < 6; ++i) sent += messages_to(cluster, i);
    EXPECT_EQ(sent, sent_before + 1);
    sent_before = sent;
  }
  EXPECT_EQ(hinted(cluster), "");
  EXPECT_EQ(cluster.node(0).messenger().unexpected_responses(), 0u);
}

TEST_F(ReplicatedWrites, OfALocalLevelDoNotWaitForAnotherDatacenter) {
  CoordinatorCluster cluster = two_datacenters();
  silence(cluster, {3, 4, 5});
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kLocalQuorum)), "ok");
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kEachQuorum)),
            std::string(kTimedOut) + "3 responses. [EACH_QUORUM 3/4] SIMPLE");
  settle(cluster);
  std::string hints = hinted(cluster);
  for (char node : {'3', '4', '5'}) EXPECT_EQ(std::count(hints.begin(), hints.end(), node), 2) << hints;
}

TEST_F(ReplicatedWrites, LeaveHintsWhenTheNodeThatPassesThemOnIsGone) {
  CoordinatorCluster cluster = two_datacenters();
  for (size_t i = 3; i < 6; ++i) cluster.crash(i);
  EXPECT_EQ(told(cluster.write(0, cluster.row("a", "x"), Consistency::kLocalQuorum)), "ok");
  settle(cluster);
  std::string hints = hinted(cluster);
  std::sort(hints.begin(), hints.end());
  EXPECT_EQ(hints, "  345");
}

// ---- Several mutations

TEST_F(ReplicatedWrites, OfSeveralMutationsTellTheFirstError) {
  CoordinatorCluster cluster(5, 3);
  const std::string first = cluster.key_of(1), second = cluster.key_of(2);  // on 1 2 3 and 2 3 4
  auto write = [&](Consistency level) {
    return told(
        cluster.write(0, {cluster.row(first, "x"), cluster.row(second, "y")}, level, WriteType::kUnloggedBatch));
  };
  EXPECT_EQ(write(Consistency::kAll), "ok");
  EXPECT_EQ(cluster.having(first), "1 2 3");
  EXPECT_EQ(cluster.having(second), "2 3 4");
  silence(cluster, {4});
  EXPECT_EQ(write(Consistency::kAll), std::string(kTimedOut) + "2 responses. [ALL 2/3] UNLOGGED_BATCH");
  fail(cluster, {1});
  EXPECT_EQ(write(Consistency::kAll),
            "Operation failed - received 2 responses and 1 failures: UNKNOWN from /10.0.0.2:7000 [ALL 2/3] "
            "UNLOGGED_BATCH .2=0");
}

TEST_F(ReplicatedWrites, OfOneMutationAreSimpleHoweverTheyCame) {
  CoordinatorCluster cluster(3);
  silence(cluster, {1, 2});
  for (WriteType type : {WriteType::kBatch, WriteType::kUnloggedBatch, WriteType::kSimple}) {
    EXPECT_EQ(told(cluster.write(0, {cluster.row("a", "x")}, Consistency::kTwo, type)),
              std::string(kTimedOut) + "1 responses. [TWO 1/2] SIMPLE");
  }
}

// ---- The end

TEST_F(ReplicatedWrites, EndBeforeTheNodeStops) {
  CoordinatorCluster cluster(3);
  silence(cluster, {2});
  std::optional<Status> written, stopped_;
  Update update = cluster.row("a", "x");
  const std::vector<Mutation> mutations{update.mutation()};
  Coordinator& coordinator = cluster.node(0).coordinator();
  cluster.start<Status>(
      0, [&] { return coordinator.write(mutations, Consistency::kAll, WriteType::kSimple); }, &written);
  cluster.world().run_for(milliseconds(100));
  auto stop = [](Coordinator* c) -> Task<Status> {
    co_await c->stop();
    co_return Status();
  };
  cluster.start<Status>(
      0, [&] { return stop(&coordinator); }, &stopped_);
  cluster.world().run_for(milliseconds(500));
  EXPECT_FALSE(stopped_.has_value());
  ASSERT_TRUE(cluster.wait([&] { return stopped_.has_value(); }, seconds(3)));
  EXPECT_EQ(told(*written), std::string(kTimedOut) + "2 responses. [ALL 2/3] SIMPLE");
  EXPECT_EQ(hinted(cluster), "2");
  EXPECT_EQ(told(cluster.write(0, cluster.row("b", "x"), Consistency::kOne)),
            "The node is stopping: it takes no more writes [ANY 0/0]");
}

// Each shard answers for its own writes, whichever shard owns the key.
TEST_F(ReplicatedWrites, OnSeveralShards) {
  CoordinatorCluster cluster(3, 3, 3);
  for (int i = 0; i < 60; ++i) {
    const std::string key = "key " + std::to_string(i);
    Update update = cluster.row(key, "x");
    const std::vector<Mutation> mutations{update.mutation()};
    const auto shard = static_cast<unsigned>(i % 3);
    auto write = [&] {
      return cluster.node(0).coordinator(shard).write(mutations, Consistency::kQuorum, WriteType::kSimple);
    };
    EXPECT_EQ(told(cluster.run<Status>(0, write, shard)), "ok");
  }
  settle(cluster);
  for (size_t node = 0; node < 3; ++node) EXPECT_EQ(cluster.scan(node, "t").size(), 120u);
  EXPECT_EQ(hinted(cluster), "");
}

}  // namespace
}  // namespace cassandra_like::test::replicated_write_test
