// Answers to a read, one after the other, and what its client is told; when one replica more is asked.
#include "coordinator/quorum/read_quorum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorum_fixture.h"

namespace cassandra_like::test::quorum_read_quorum_test {
namespace {

using testing::ElementsAre;

constexpr Token kToken = 50;
constexpr RequestFailureReason kTimeout = RequestFailureReason::kTimeout;
const NearestFirst kByNumber({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});

ReadQuorum::Digest digest(char c) {
  ReadQuorum::Digest out;
  out.fill(c);
  return out;
}

struct Event {
  enum class Kind : uint8_t { kData, kDigest, kFailed, kSlow, kTimedOut } kind;
  EndpointIndex endpoint = 0;
  RequestFailureReason reason = RequestFailureReason::kUnknown;
};
Event data(EndpointIndex endpoint) { return {Event::Kind::kData, endpoint}; }
Event same(EndpointIndex endpoint) { return {Event::Kind::kDigest, endpoint}; }
Event bad(EndpointIndex endpoint, RequestFailureReason reason = RequestFailureReason::kReadTooManyTombstones) {
  return {Event::Kind::kFailed, endpoint, reason};
}
const Event kSlow{Event::Kind::kSlow};
const Event kTimeIsOver{Event::Kind::kTimedOut};

QuorumState apply(ReadQuorum& quorum, const Event& event) {
  switch (event.kind) {
    case Event::Kind::kData:
      return quorum.answered_with_data(event.endpoint);
    case Event::Kind::kDigest:
      return quorum.answered_with_digest(event.endpoint, digest('a'));
    case Event::Kind::kFailed:
      return quorum.failed(event.endpoint, event.reason);
    case Event::Kind::kSlow:
      quorum.speculate();
      return quorum.state();
    case Event::Kind::kTimedOut:
      return quorum.timed_out();
  }
  return quorum.state();
}

// "0=data 1=digest".
template <class Targets>
std::string text_of(const Targets& targets) {
  std::string out;
  for (const ReadTarget& target : targets) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", target.endpoint, target.wants_data ? "data" : "digest");
  }
  return out;
}

ReadPlan plan_of(const PlannedCluster& cluster, Consistency level, bool always_speculates = false) {
  return *plan_read(cluster.placement(), kToken, level, kByNumber, always_speculates);
}

std::string read(const PlannedCluster& cluster, Consistency level, const std::vector<Event>& events) {
  const ReadPlan plan = plan_of(cluster, level);
  ReadQuorum quorum(plan, Speculation::kLater);
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
    got.push_back(read(cluster, c.level, c.events));
    expected.push_back(c.expected);
  }
  EXPECT_EQ(got, expected);
}

// ---- Whom it asks

TEST(SpeculationTest, IsWhatThePolicyAndThePlanAllow) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  std::vector<std::string> got;
  constexpr const char* kNames[] = {"never", "no replica", "at once", "later"};
  for (const char* policy : {"NEVER", "ALWAYS", "99p", "5ms"}) {
    const SpeculativeRetry retry = *SpeculativeRetry::parse(policy);
    const bool always = retry.kind() == SpeculativeRetry::Kind::kAlways;
    for (Consistency level : {Consistency::kOne, Consistency::kQuorum, Consistency::kAll, Consistency::kEachQuorum}) {
      const ReadPlan plan = plan_of(cluster, level, always);
      const Speculation speculation = speculation_of(plan, retry);
      got.push_back(fmt::format("{} {}: {}: {}", policy, consistency_name(level),
                                kNames[static_cast<size_t>(speculation)],
                                text_of(ReadQuorum(plan, speculation).targets())));
    }
  }
  EXPECT_THAT(
      got,
      ElementsAre("NEVER ONE: never: 0=data", "NEVER QUORUM: never: 0=data 1=digest",
                  "NEVER ALL: never: 0=data 1=digest 2=digest", "NEVER EACH_QUORUM: never: 0=data 1=digest",
                  "ALWAYS ONE: at once: 0=data 1=data", "ALWAYS QUORUM: no replica: 0=data 1=digest 2=digest",
                  "ALWAYS ALL: never: 0=data 1=digest 2=digest", "ALWAYS EACH_QUORUM: never: 0=data 1=digest 2=digest",
                  "99p ONE: later: 0=data", "99p QUORUM: later: 0=data 1=digest",
                  "99p ALL: never: 0=data 1=digest 2=digest", "99p EACH_QUORUM: never: 0=data 1=digest",
                  "5ms ONE: later: 0=data", "5ms QUORUM: later: 0=data 1=digest",
                  "5ms ALL: never: 0=data 1=digest 2=digest", "5ms EACH_QUORUM: never: 0=data 1=digest"));
  const ReadPlan only = plan_of(cluster.down({1, 2}), Consistency::kOne);
  EXPECT_EQ(speculation_of(only, *SpeculativeRetry::parse("99p")), Speculation::kNoReplica);
}

TEST(SpeculationTest, ComesAtTheThresholdUnlessTheTimeoutIsBeforeIt) {
  EXPECT_EQ(speculate_after_micros(Speculation::kLater, 5000, 5'000'000), 5000);
  EXPECT_EQ(speculate_after_micros(Speculation::kNoReplica, 5000, 5'000'000), 5000);
  EXPECT_EQ(speculate_after_micros(Speculation::kLater, 5'000'000, 5'000'000), 5'000'000);
  EXPECT_EQ(speculate_after_micros(Speculation::kLater, 5'000'001, 5'000'000), std::nullopt);
  EXPECT_EQ(speculate_after_micros(Speculation::kLater, SpeculativeRetry::kNeverMicros, 5'000'000), std::nullopt);
  EXPECT_EQ(speculate_after_micros(Speculation::kAtOnce, 0, 5'000'000), std::nullopt);
  EXPECT_EQ(speculate_after_micros(Speculation::kNever, 5000, 5'000'000), std::nullopt);
}

TEST(SpeculationTest, AsksTheNextReplicaForWhatIsMissing) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  const ReadPlan plan = plan_of(cluster, Consistency::kQuorum);
  ReadQuorum without_data(plan, Speculation::kLater), with_data(plan, Speculation::kLater);
  without_data.answered_with_digest(1, digest('a'));
  with_data.answered_with_data(0);
  EXPECT_EQ(without_data.speculate(), (ReadTarget{2, true}));
  EXPECT_EQ(with_data.speculate(), (ReadTarget{2, false}));
  EXPECT_EQ(numbers(with_data.contacted()), "0 1 2");
  EXPECT_EQ(with_data.speculate(), std::nullopt);  // once
}

TEST(SpeculationTest, AsksNobodyWhenItIsNotWantedOrTheReadIsDecided) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  const ReadPlan one = plan_of(cluster, Consistency::kOne), all = plan_of(cluster, Consistency::kAll);
  ReadQuorum never(one, Speculation::kNever), done(one, Speculation::kLater), everybody(all, Speculation::kLater);
  done.answered_with_data(0);
  EXPECT_EQ(never.speculate(), std::nullopt);
  EXPECT_EQ(done.speculate(), std::nullopt);
  EXPECT_EQ(everybody.speculate(), std::nullopt);
}

TEST(ReadQuorumTest, AsksEverybodyForDataWhenItHasToMerge) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  const ReadPlan plan = plan_of(cluster, Consistency::kQuorum);
  EXPECT_EQ(text_of(ReadQuorum::of_data(plan).targets()), "0=data 1=data");
}

// ---- What it makes of the answers

TEST(ReadQuorumTest, IsDoneWithEnoughAnswersAndDataAmongThem) {
  expect_outcomes(PlannedCluster::one_datacenter(3, "3"), {{Consistency::kOne, {}, "waiting"},
                                                           {Consistency::kOne, {data(0)}, "done"},
                                                           {Consistency::kOne, {data(1)}, "waiting"},  // was not asked
                                                           {Consistency::kQuorum, {data(0), data(0)}, "waiting"},
                                                           {Consistency::kQuorum, {same(1), data(0)}, "done"},
                                                           {Consistency::kAll, {data(0), same(1)}, "waiting"},
                                                           {Consistency::kAll, {data(0), same(1), same(2)}, "done"}});
}

TEST(ReadQuorumTest, TakesTheAnswersOfTheReplicaThatWasAskedLater) {
  expect_outcomes(PlannedCluster::one_datacenter(3, "3"),
                  {{Consistency::kQuorum, {data(0), kSlow, same(2)}, "done"},
                   {Consistency::kQuorum, {same(1), kSlow, data(2)}, "done"},
                   {Consistency::kQuorum, {kSlow, data(2), same(1)}, "done"},
                   {Consistency::kQuorum, {data(0), kSlow, bad(1)}, "waiting"},
                   {Consistency::kQuorum, {data(0), kSlow, bad(1), same(2)}, "done"},
                   {Consistency::kOne, {kSlow, bad(0), data(1)}, "done"}});
}

TEST(ReadQuorumTest, FailsWhenTooFewOfThoseThatWereAskedAreLeft) {
  expect_outcomes(PlannedCluster::one_datacenter(3, "3"),
                  {{Consistency::kOne,
                    {bad(0), kSlow, data(1)},
                    "failed: Operation failed - received 0 responses and 1 failures: READ_TOO_MANY_TOMBSTONES from "
                    "/127.0.0.1:7000 [ONE 0/1] .1=1"},
                   {Consistency::kQuorum,
                    {data(0), bad(1)},
                    "failed: Operation failed - received 1 responses and 1 failures: READ_TOO_MANY_TOMBSTONES from "
                    "/127.0.0.2:7000 [QUORUM 1/2] data .2=1"},
                   {Consistency::kQuorum,
                    {kSlow, bad(2, kTimeout), same(1), bad(0)},
                    "failed: Operation failed - received 1 responses and 2 failures: READ_TOO_MANY_TOMBSTONES from "
                    "/127.0.0.1:7000, TIMEOUT from /127.0.0.3:7000 [QUORUM 1/2] .1=1 .3=2"}});
}

TEST(ReadQuorumTest, TimesOutUnlessAReplicaGaveAnotherReason) {
  expect_outcomes(PlannedCluster::one_datacenter(3, "3"),
                  {{Consistency::kQuorum,
                    {kTimeIsOver},
                    "timed out: Operation timed out - received only 0 responses. [QUORUM 0/2]"},
                   {Consistency::kQuorum,
                    {data(0), kTimeIsOver},
                    "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2] data"},
                   {Consistency::kQuorum,
                    {same(1), kTimeIsOver},
                    "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2]"},
                   {Consistency::kQuorum,
                    {same(1), bad(0, kTimeout)},
                    "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2]"},
                   {Consistency::kQuorum,
                    {kSlow, bad(2), kTimeIsOver},
                    "failed: Operation failed - received 0 responses and 1 failures: READ_TOO_MANY_TOMBSTONES from "
                    "/127.0.0.3:7000 [QUORUM 0/2] .3=1"}});
}

// A replica that was asked for data may answer with a digest all the same.
TEST(ReadQuorumTest, WaitsForDataWhenEnoughDigestsHaveCome) {
  expect_outcomes(PlannedCluster::one_datacenter(3, "3"),
                  {{Consistency::kQuorum, {same(0), same(1)}, "waiting"},
                   {Consistency::kQuorum, {same(0), same(1), kSlow, data(2)}, "done"},
                   {Consistency::kQuorum,
                    {same(0), same(1), kTimeIsOver},
                    "timed out: Operation timed out - received only 2 responses. [QUORUM 2/2]"}});
}

TEST(ReadQuorumTest, HasASecondAnswerWithDataWhenItAsksOneMoreAtOnce) {
  PlannedCluster cluster = PlannedCluster::two_datacenters();
  const ReadPlan plan = plan_of(cluster, Consistency::kQuorum, true);
  ReadQuorum always(plan, Speculation::kAtOnce);
  EXPECT_EQ(text_of(always.targets()), "0=data 1=data 2=digest 3=digest 4=digest");
  for (EndpointIndex endpoint : {2, 3, 4}) always.answered_with_digest(endpoint, digest('a'));
  EXPECT_EQ(always.failed(0, kTimeout), QuorumState::kWaiting);
  EXPECT_EQ(always.answered_with_data(1), QuorumState::kDone);
  EXPECT_EQ(always.data_from(), 1u);
}

TEST(ReadQuorumTest, ChangesNothingOnceItIsDecided) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  const ReadPlan plan = plan_of(cluster, Consistency::kQuorum);
  ReadQuorum quorum(plan, Speculation::kLater);
  for (const Event& event : {data(0), kSlow, same(2)}) apply(quorum, event);
  EXPECT_EQ(quorum.answered_with_digest(1, digest('z')), QuorumState::kDone);  // late, and of other data
  EXPECT_EQ(quorum.timed_out(), QuorumState::kDone);
  EXPECT_TRUE(quorum.answers_match([](EndpointIndex) { return digest('a'); }));
  expect_outcomes(cluster, {{Consistency::kQuorum,
                             {data(0), kTimeIsOver, same(1)},
                             "timed out: Operation timed out - received only 1 responses. [QUORUM 1/2] data"}});
}

// ---- Whether they are the same

TEST(ReadQuorumTest, ComparesTheDigestsOfAllAnswers) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  const ReadPlan plan = plan_of(cluster, Consistency::kAll);
  std::vector<EndpointIndex> asked;
  auto of_data = [&](EndpointIndex endpoint) {
    asked.push_back(endpoint);
    return digest(endpoint == 2 ? 'x' : 'a');
  };
  auto matches = [&](bool third_has_data, char third) {
    ReadQuorum quorum(plan, Speculation::kNever);
    quorum.answered_with_digest(1, digest('a'));
    quorum.answered_with_data(0);
    third_has_data ? quorum.answered_with_data(2) : quorum.answered_with_digest(2, digest(third));
    EXPECT_EQ(quorum.data_from(), 0u);
    return quorum.answers_match(of_data);
  };
  EXPECT_TRUE(matches(false, 'a'));
  EXPECT_FALSE(matches(false, 'b'));
  EXPECT_THAT(asked, ElementsAre(0, 0));
  EXPECT_FALSE(matches(true, 'a'));
  EXPECT_THAT(asked, ElementsAre(0, 0, 0, 2));
}

TEST(ReadQuorumTest, MakesNoDigestOfASingleAnswer) {
  PlannedCluster cluster = PlannedCluster::one_datacenter(3, "3");
  const ReadPlan plan = plan_of(cluster, Consistency::kOne);
  ReadQuorum quorum(plan, Speculation::kNever);
  quorum.answered_with_data(0);
  size_t made = 0;
  EXPECT_TRUE(quorum.answers_match([&](EndpointIndex) {
    ++made;
    return digest('a');
  }));
  EXPECT_EQ(made, 0u);
}

// ---- Any order

class RandomReads {
 public:
  explicit RandomReads(uint32_t seed) : random_(seed) {}
  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random_); }

  // Every candidate answers, asked or not; it becomes slow at some moment, and the time ends.
  std::vector<Event> events(const ReadPlan& plan) {
    std::vector<Event> out;
    for (EndpointIndex endpoint : plan.candidates) {
      const size_t kind = below(6);
      out.push_back(kind == 0   ? bad(endpoint)
                    : kind == 1 ? bad(endpoint, kTimeout)
                    : kind < 4  ? data(endpoint)
                                : same(endpoint));
    }
    out.push_back(kSlow);
    std::shuffle(out.begin(), out.end(), random_);
    out.insert(out.end() - static_cast<ptrdiff_t>(below(2)), kTimeIsOver);
    if (out.back().kind != Event::Kind::kTimedOut) out.push_back(kTimeIsOver);
    return out;
  }

  // Only answers that are next to each other, so that each comes to the same question as before.
  void shuffle_answers(std::vector<Event>& events, size_t count) {
    auto is_answer = [](const Event& e) { return e.kind == Event::Kind::kData || e.kind == Event::Kind::kDigest; };
    for (size_t begin = 0; begin < count; ++begin) {
      size_t end = begin;
      while (end < count && is_answer(events[end])) ++end;
      std::shuffle(events.begin() + static_cast<ptrdiff_t>(begin), events.begin() + static_cast<ptrdiff_t>(end),
                   random_);
      begin = end;
    }
  }

 private:
  std::mt19937 random_;
};

// Returns how many events it took.
size_t decide(ReadQuorum& quorum, const std::vector<Event>& events) {
  size_t taken = 0, decisions = 0;
  for (const Event& event : events) {
    const bool was_waiting = quorum.state() == QuorumState::kWaiting;
    const QuorumState state = apply(quorum, event);
    taken += was_waiting;
    decisions += was_waiting && state != QuorumState::kWaiting;
  }
  EXPECT_EQ(decisions, 1u);
  return taken;
}

TEST(ReadQuorumPropertyTest, DecidesOnceAndTheOrderOfTheAnswersBeforeDoesNotMatter) {
  constexpr Consistency kLevels[] = {Consistency::kOne,        Consistency::kTwo,         Consistency::kQuorum,
                                     Consistency::kAll,        Consistency::kLocalQuorum, Consistency::kLocalOne,
                                     Consistency::kEachQuorum, Consistency::kSerial};
  const PlannedCluster clusters[] = {PlannedCluster::one_datacenter(3, "3"), PlannedCluster::two_datacenters()};
  size_t done = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomReads random(seed);
    const PlannedCluster& cluster = clusters[random.below(2)];
    const ReadPlan plan = plan_of(cluster, kLevels[random.below(std::size(kLevels))], random.below(2) == 0);
    std::vector<Event> events = random.events(plan);
    const auto speculation = static_cast<Speculation>(random.below(4));
    ReadQuorum first(plan, speculation);
    const size_t taken = decide(first, events);
    random.shuffle_answers(events, taken - 1);
    ReadQuorum second(plan, speculation);
    EXPECT_EQ(decide(second, events), taken) << "seed " << seed;
    EXPECT_EQ(outcome(second, cluster.ring()), outcome(first, cluster.ring())) << "seed " << seed;
    EXPECT_EQ(numbers(second.contacted()), numbers(first.contacted())) << "seed " << seed;
    done += first.state() == QuorumState::kDone;
  }
  EXPECT_GT(done, 500u);
  EXPECT_LT(done, 2500u);
}

}  // namespace
}  // namespace cassandra_like::test::quorum_read_quorum_test
