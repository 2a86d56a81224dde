// Answers to a write, one after the other, and what its client is told.
#include "coordinator/quorum/write_quorum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorum_fixture.h"

namespace cassandra_like::test::quorum_write_quorum_test {
namespace {

constexpr Token kToken = 50;
constexpr RequestFailureReason kUnknown = RequestFailureReason::kUnknown;
constexpr RequestFailureReason kTimeout = RequestFailureReason::kTimeout;

struct Event {
  enum class Kind : uint8_t { kAcknowledged, kFailed, kHinted, kTimedOut } kind;
  EndpointIndex endpoint = 0;
  RequestFailureReason reason = kUnknown;
};
Event ok(EndpointIndex endpoint) { return {Event::Kind::kAcknowledged, endpoint}; }
Event bad(EndpointIndex endpoint, RequestFailureReason reason = kUnknown) {
  return {Event::Kind::kFailed, endpoint, reason};
}
const Event kHinted{Event::Kind::kHinted};
const Event kTimeIsOver{Event::Kind::kTimedOut};

QuorumState apply(WriteQuorum& quorum, const Event& event) {
  switch (event.kind) {
    case Event::Kind::kAcknowledged:
      return quorum.acknowledged(event.endpoint);
    case Event::Kind::kFailed:
      return quorum.failed(event.endpoint, event.reason);
    case Event::Kind::kHinted:
      return quorum.hinted();
    case Event::Kind::kTimedOut:
      return quorum.timed_out();
  }
  return quorum.state();
}

std::string write(const PlannedCluster& cluster, Consistency level, const std::vector<Event>& events,
                  WriteType type = WriteType::kSimple) {
  Result<WritePlan> plan = plan_write(cluster.placement(), kToken, level);
  if (!plan.ok()) return text(plan.error());
  WriteQuorum quorum(*plan, type);
  for (const Event& event : events) apply(quorum, event);
  return outcome(quorum, cluster.ring());
}

struct Case {
  Consistency level;
  std::vector<Event> events;
  std::string expected;
};

void expect_outcomes(const PlannedCluster& cluster, const std::vector<Case>& cases) {
  std::vector<std::string> got, expected;
  for (const Case& c : cases) {
    got.push_back(write(cluster, c.level, c.events));
    expected.push_back(c.expected);
  }
  EXPECT_EQ(got, expected);
}

TEST(WriteQuorumTest, IsDoneWhenAsManyHaveAcknowledgedAsTheLevelNeeds) {
  expect_outcomes(PlannedCluster::one_datacenter(3, "3"), {{Consistency::kOne, {}, "waiting"},
                                                           {Consistency::kOne, {ok(2)}, "done"},
                                                           {Consistency::kTwo, {ok(2)}, "waiting"},
                                                           {Consistency::kTwo, {ok(2), ok(0)}, "done"},
                                                           {Consistency::kQuorum, {ok(2), ok(2)}, "waiting"},
                                                           {Consistency::kQuorum, {ok(2), ok(7)}, "waiting"},
                                                           {Consistency::kQuorum, {ok(1), ok(0)}, "done"},
                                                           {Consistency::kAll, {ok(1), ok(0)}, "waiting"},
                                                           {Consistency::kAll, {ok(1), ok(0), ok(2)}, "done"}});
}

TEST(WriteQuorumTest, FailsWhenTooFewReplicasAreLeft) {
  expect_outcomes(
      PlannedCluster::one_datacenter(3, "3"),
      {{Consistency::kOne, {bad(0), bad(1)}, "waiting"},
       {Consistency::kOne,
        {bad(0), bad(1), bad(2)},
        "failed: Operation failed - received 0 responses and 3 failures: UNKNOWN from /127.0.0.2:7000, "
        "UNKNOWN from /127.0.0.3:7000, UNKNOWN from /127.0.0.1:7000 [ONE 0/1] SIMPLE .2=0 .3=0 .1=0"},
       {Consistency::kQuorum, {ok(0), bad(1)}, "waiting"},
       {Consistency::kQuorum, {ok(0), bad(1), ok(2)}, "done"},
       {Consistency::kQuorum,
        {ok(0), bad(1, RequestFailureReason::kIncompatibleSchema), bad(2, kTimeout)},
        "failed: Operation failed - received 1 responses and 2 failures: INCOMPATIBLE_SCHEMA from /127.0.0.2:7000, "
        "TIMEOUT from /127.0.0.3:7000 [QUORUM 1/2] SIMPLE .2=3 .3=2"},
       {Consistency::kAll,
        {bad(1)},
        "failed: Operation failed - received 0 responses and 1 failures: UNKNOWN from /127.0.0.2:7000 [ALL 0/3] "
        "SIMPLE .2=0"}});
}

TEST(WriteQuorumTest, TimesOutWhenItsTimeIsOverOrAllThatFailedDidSoByTimeout) {
  expect_outcomes(PlannedCluster::one_datacenter(3, "3"),
                  {{Consistency::kQuorum,
                    {kTimeIsOver},
                    "timed out: Operation timed out - received only 0 responses. [QUORUM 0/2] SIMPLE"},
                   {Consistency::kQuorum,
                    {ok(1), kTimeIsOver},
                    "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2] SIMPLE"},
                   {Consistency::kQuorum,
                    {ok(1), bad(0), kTimeIsOver},
                    "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2] SIMPLE"},
                   {Consistency::kQuorum,
                    {bad(0, kTimeout), bad(1, kTimeout)},
                    "timed out: Operation timed out - received only 0 responses. [QUORUM 0/2] SIMPLE"}});
}

// A replica that is down counts as one that may still answer.
TEST(WriteQuorumTest, WaitsForItsTimeoutWhenADeadReplicaAndAFailedOneKeepItFromItsLevel) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  cluster.down({2});
  expect_outcomes(cluster, {{Consistency::kQuorum, {ok(0), bad(1)}, "waiting"},
                            {Consistency::kQuorum,
                             {ok(0), bad(1), kTimeIsOver},
                             "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2] SIMPLE"}});
}

TEST(WriteQuorumTest, ChangesNothingOnceItIsDecided) {
  expect_outcomes(
      PlannedCluster::one_datacenter(3, "3"),
      {{Consistency::kQuorum, {ok(0), ok(1), kTimeIsOver, bad(2)}, "done"},
       {Consistency::kQuorum,
        {ok(0), kTimeIsOver, ok(1), ok(2)},
        "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2] SIMPLE"},
       {Consistency::kAll,
        {bad(0), ok(1), bad(2)},
        "failed: Operation failed - received 0 responses and 1 failures: UNKNOWN from /127.0.0.1:7000 [ALL 0/3] "
        "SIMPLE .1=0"}});
}

TEST(WriteQuorumTest, AHintIsEnoughForAnyAndForNoOtherLevel) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(4, "3");
  cluster.down({1, 2, 3});
  expect_outcomes(cluster, {{Consistency::kAny, {}, "waiting"},
                            {Consistency::kAny, {kHinted}, "done"},
                            {Consistency::kAny,
                             {kTimeIsOver, kHinted},
                             "timed out: Operation timed out - received only 0 responses. [ANY 0/1] SIMPLE"}});
  cluster.down({1, 2});
  expect_outcomes(cluster, {{Consistency::kOne, {kHinted}, "waiting"}, {Consistency::kOne, {ok(3)}, "done"}});
}

TEST(WriteQuorumTest, CountsTheLocalDatacenterAtALocalLevel) {
  expect_outcomes(
      PlannedCluster::two_datacenters(),
      {{Consistency::kLocalQuorum, {ok(3), ok(4), ok(5), ok(0)}, "waiting"},
       {Consistency::kLocalQuorum, {ok(3), ok(0), ok(2)}, "done"},
       {Consistency::kLocalQuorum, {bad(3), bad(4), bad(5), bad(0)}, "waiting"},
       {Consistency::kLocalQuorum,
        {bad(3), bad(0), ok(1), bad(2)},
        "failed: Operation failed - received 1 responses and 3 failures: UNKNOWN from /127.0.0.3:7000, UNKNOWN from "
        "/127.0.0.4:7000, UNKNOWN from /127.0.0.1:7000 [LOCAL_QUORUM 1/2] SIMPLE .3=0 .4=0 .1=0"},
       {Consistency::kLocalQuorum,
        {bad(3), bad(0, kTimeout), bad(1, kTimeout)},
        "timed out: Operation timed out - received only 0 responses. [LOCAL_QUORUM 0/2] SIMPLE"},
       {Consistency::kLocalOne, {ok(3), ok(1)}, "done"}});
}

TEST(WriteQuorumTest, NeedsAQuorumOfEachDatacenterAtEachQuorum) {
  expect_outcomes(
      PlannedCluster::two_datacenters(),
      {{Consistency::kEachQuorum, {ok(0), ok(1), ok(2), ok(3)}, "waiting"},
       {Consistency::kEachQuorum, {ok(0), ok(1), ok(2), ok(3), ok(4)}, "done"},
       {Consistency::kEachQuorum, {ok(4), ok(0), ok(5), ok(1)}, "done"},
       {Consistency::kEachQuorum,  // it tells of fewer than the level needs, whatever has come
        {ok(0), ok(1), ok(2), ok(3), kTimeIsOver},
        "timed out: Operation timed out - received only 3 responses. [EACH_QUORUM 3/4] SIMPLE"},
       {Consistency::kEachQuorum, {bad(0), bad(1)}, "waiting"},  // as Cassandra, which counts all datacenters together
       {Consistency::kEachQuorum,
        {bad(0), bad(1), ok(2), bad(3)},
        "failed: Operation failed - received 1 responses and 3 failures: UNKNOWN from /127.0.0.2:7000, UNKNOWN from "
        "/127.0.0.4:7000, UNKNOWN from /127.0.0.1:7000 [EACH_QUORUM 1/4] SIMPLE .2=0 .4=0 .1=0"}});
}

TEST(WriteQuorumTest, WaitsForAnAnswerMoreWhileANodeJoins) {
  PlannedCluster cluster = PlannedCluster::two_datacenters({{"dc2", "r1", 60, EndpointStatus::kJoining}});
  expect_outcomes(cluster, {{Consistency::kEachQuorum, {ok(0), ok(1), ok(3), ok(4)}, "waiting"},
                            {Consistency::kEachQuorum, {ok(0), ok(1), ok(3), ok(4), ok(6)}, "done"},
                            {Consistency::kEachQuorum, {ok(0), ok(1), ok(2), ok(3), ok(4)}, "waiting"},
                            {Consistency::kOne, {ok(6)}, "waiting"},
                            {Consistency::kOne, {ok(6), ok(0)}, "done"}});
}

TEST(WriteQuorumTest, NamesTheTypeOfTheWrite) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(1, "1");
  std::vector<std::string> types;
  for (int type = 0; type < 8; ++type) {
    const std::string told = write(cluster, Consistency::kOne, {kTimeIsOver}, static_cast<WriteType>(type));
    types.push_back(told.substr(told.rfind(' ') + 1));
  }
  EXPECT_THAT(types,
              testing::ElementsAre("SIMPLE", "BATCH", "UNLOGGED_BATCH", "COUNTER", "BATCH_LOG", "CAS", "VIEW", "CDC"));
}

TEST(BatchCleanupTest, LetsTheBatchGoOnceWhenEachMutationHasEnough) {
  BatchCleanup cleanup(std::vector<int>{1, 2});
  std::vector<bool> told;
  for (size_t mutation : {1, 0, 0, 1, 1, 0}) told.push_back(cleanup.acknowledged(mutation));
  EXPECT_THAT(told, testing::ElementsAre(false, false, false, true, false, false));
}

// ---- Any order

class RandomWrites {
 public:
  explicit RandomWrites(uint32_t seed) : random_(seed) {}

  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random_); }

  PlannedCluster cluster() {
    const Token joins = below(2) == 0 ? 60 : 450;
    PlannedCluster made =
        below(2) == 0
            ? PlannedCluster::one_datacenter(1 + below(5), "3")
            : PlannedCluster::two_datacenters({{below(2) == 0 ? "dc1" : "dc2", "r1", joins, EndpointStatus::kJoining}});
    const size_t others = made.ring().endpoints().size() - 1;
    if (others > 0 && below(3) == 0) made.down({static_cast<EndpointIndex>(1 + below(others))});
    return made;
  }

  // Every live replica answers; the time ends somewhere.
  std::vector<Event> events(const WritePlan& plan) {
    std::vector<Event> out;
    for (const WriteReplica& replica : plan.replicas) {
      if (!replica.is_alive) continue;
      out.push_back(below(3) == 0 ? bad(replica.endpoint, below(2) == 0 ? kTimeout : kUnknown) : ok(replica.endpoint));
    }
    out.push_back(kTimeIsOver);
    shuffle(out, out.size());
    return out;
  }

  void shuffle(std::vector<Event>& events, size_t count) {
    std::shuffle(events.begin(), events.begin() + static_cast<ptrdiff_t>(count), random_);
  }

 private:
  std::mt19937 random_;
};

// Returns how many events it took.
size_t decide(WriteQuorum& quorum, const std::vector<Event>& events) {
  size_t taken = 0, decisions = 0;
  for (const Event& event : events) {
    const bool was_waiting = quorum.state() == QuorumState::kWaiting;
    const QuorumState state = apply(quorum, event);
    EXPECT_EQ(state, quorum.state());
    taken += was_waiting;
    decisions += was_waiting && state != QuorumState::kWaiting;
  }
  EXPECT_EQ(decisions, 1u);
  return taken;
}

TEST(WriteQuorumPropertyTest, DecidesOnceAndTheOrderOfTheAnswersBeforeDoesNotMatter) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomWrites random(seed);
    PlannedCluster cluster = random.cluster();
    const Consistency level = write_levels()[random.below(write_levels().size())];
    Result<WritePlan> plan = plan_write(cluster.placement(), kToken, level);
    if (!plan.ok()) continue;
    std::vector<Event> events = random.events(*plan);
    WriteQuorum first(*plan, WriteType::kBatch);
    const size_t taken = decide(first, events);
    random.shuffle(events, taken - 1);
    WriteQuorum second(*plan, WriteType::kBatch);
    EXPECT_EQ(decide(second, events), taken) << "seed " << seed;
    EXPECT_EQ(outcome(second, cluster.ring()), outcome(first, cluster.ring())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cassandra_like::test::quorum_write_quorum_test
