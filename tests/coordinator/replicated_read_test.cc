// Reads from several replicas of simulated machines: levels, failures, differences and their repair, limits, ranges.
#include <algorithm>

#include "messaging/read_response.h"
#include "replicated_read_fixture.h"

namespace cassandra_like::test::replicated_read_test {
namespace {

using namespace std::chrono_literals;

constexpr Consistency kOne = Consistency::kOne, kQuorum = Consistency::kQuorum, kAll = Consistency::kAll;

const CoordinatorStatistics& statistics_of(ReadCluster& cluster, size_t node = 0) {
  return cluster.node(node).coordinator().statistics();
}

// ---- Who is asked

TEST(ReplicatedRead, AsksForTheDataOfOneAndDigestsOfTheOthers) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.asked(), 1);  // the digest of one other node
  EXPECT_EQ(cluster.read(0, "a", kAll), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.asked(), 3);
  EXPECT_EQ(statistics_of(cluster).read_repairs_blocking, 0U);
}

TEST(ReplicatedRead, OfAnotherNodesKeyAtOneAsksThatNodeAlone) {
  ReadCluster cluster(3, 1);
  const std::string key = cluster.key_of(1);
  cluster.put({1}, cluster.row(key, "x"));
  EXPECT_EQ(cluster.read(0, key, kOne), (Lines{key, "  1: v=x@10"}));
  EXPECT_EQ(cluster.node(1).received(Verb::kReadReq), 1);
  EXPECT_EQ(cluster.asked(), 1);
}

TEST(ReplicatedRead, AtOneOfRowsThatThisNodeHasAsksNoOtherNode) {
  ReadCluster cluster(3);
  cluster.put({0}, cluster.row("a", "x"));
  cluster.down({1, 2});
  const Lines row = {"a", "  1: v=x@10"};
  EXPECT_EQ(cluster.read(0, "a", kOne), row);
  EXPECT_EQ(cluster.read(0, cluster.command({}), kOne), row);  // all partitions
  EXPECT_EQ(cluster.asked(), 0);
  EXPECT_EQ(cluster.read(0, "a", Consistency::kTwo), (Lines{"Cannot achieve consistency level TWO [TWO 1/2]"}));
  EXPECT_EQ(statistics_of(cluster).unavailables, 1U);
}

TEST(ReplicatedRead, OfManyKeysAtOneAsksTheOthersOfThoseThatThisNodeDoesNotHave) {
  ReadCluster cluster(2, 1);
  const std::string mine = cluster.key_of(0), theirs = cluster.key_of(1);
  cluster.put({0}, cluster.row(mine, "x"));
  cluster.put({1}, cluster.row(theirs, "y"));
  EXPECT_EQ(cluster.read(0, cluster.command({mine, theirs}), kOne),
            (Lines{mine, "  1: v=x@10", theirs, "  1: v=y@10"}));
  EXPECT_EQ(cluster.node(1).received(Verb::kReadReq), 1);
  cluster.down({1});
  EXPECT_EQ(cluster.read(0, mine, kOne), (Lines{mine, "  1: v=x@10"}));
  EXPECT_EQ(cluster.read(0, theirs, kOne), (Lines{"Cannot achieve consistency level ONE [ONE 0/1]"}));
  EXPECT_EQ(cluster.read(0, cluster.command({mine, theirs}), kOne),
            (Lines{"Cannot achieve consistency level ONE [ONE 0/1]"}));
  EXPECT_EQ(cluster.read(0, cluster.command({}), kOne), (Lines{"Cannot achieve consistency level ONE [ONE 0/1]"}));
}

TEST(ReplicatedRead, TellsOfTooFewLiveReplicasBeforeAnythingIsSent) {
  ReadCluster cluster(3);
  cluster.down({1, 2});
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"Cannot achieve consistency level QUORUM [QUORUM 1/2]"}));
  EXPECT_EQ(cluster.read(0, cluster.command({}), kQuorum),
            (Lines{"Cannot achieve consistency level QUORUM [QUORUM 1/2]"}));
  EXPECT_EQ(cluster.read(0, cluster.command({"a", "b"}), Consistency::kTwo),
            (Lines{"Cannot achieve consistency level TWO [TWO 1/2]"}));
  EXPECT_EQ(cluster.asked(), 0);
}

TEST(ReplicatedRead, AtLocalAndEachQuorumAsksTheDatacentersThatCount) {
  std::vector<NodePlace> places(6);
  for (size_t i = 3; i < 6; ++i) places[i].datacenter = "datacenter2";
  ReadCluster cluster(
      places,
      {{"class", "org.apache.cassandra.locator.NetworkTopologyStrategy"}, {"datacenter1", "3"}, {"datacenter2", "3"}});
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  cluster.put({3, 4, 5}, cluster.row("a", "y", 20));
  EXPECT_EQ(cluster.read(0, "a", Consistency::kLocalQuorum), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.asked(), 1);
  EXPECT_EQ(cluster.read(0, "a", Consistency::kEachQuorum), (Lines{"a", "  1: v=y@20"}));
  cluster.down({4, 5});
  EXPECT_EQ(cluster.read(0, "a", Consistency::kEachQuorum),
            (Lines{"Cannot achieve consistency level EACH_QUORUM in DC datacenter2 [EACH_QUORUM 0/2]"}));
}

// ---- Failures

TEST(ReplicatedRead, AsksAnotherReplicaWhenOneIsSlow) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  cluster.node(1).answers(Verb::kReadReq, CoordinatorNode::silence());
  cluster.node(2).answers(Verb::kReadReq, cluster.answering(2));
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"a", "  1: v=x@10"}));
  // In an even order of the others, one of both nodes is asked first.
  EXPECT_EQ(statistics_of(cluster).speculative_retries,
            static_cast<uint64_t>(cluster.node(1).received(Verb::kReadReq)));
  EXPECT_EQ(cluster.read(0, "a", kAll), (Lines{"Operation timed out - received only 2 responses. [ALL 2/3]"}));
}

// nodetool tablestats tells the first of them.
TEST(ReplicatedRead, CountsSpeculationForItsTable) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  const Coordinator& coordinator = cluster.node(0).coordinator();
  auto table = std::make_shared<TableMetadata>(*cluster.table("t"));
  table->params.speculative_retry = "500ms";
  ReadCommand command = cluster.command({"a"});
  command.table = table;
  cluster.read(0, command, kQuorum);
  const TableRequests& requests = *coordinator.requests(cluster.table("t")->id);
  auto counted = [&] {
    return std::vector{requests.speculative_retries, requests.speculative_failed_retries,
                       requests.speculative_insufficient_replicas};
  };
  EXPECT_EQ(counted(), (std::vector<uint64_t>{0, 0, 0}));
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadReq, CoordinatorNode::silence());
  cluster.read(0, command, kQuorum);
  EXPECT_EQ(counted(), (std::vector<uint64_t>{1, 1, 0}));
  cluster.down({2});
  cluster.read(0, command, kQuorum);
  EXPECT_EQ(counted(), (std::vector<uint64_t>{1, 1, 1}));
  EXPECT_EQ(coordinator.requests(cluster.table("n")->id), nullptr);
}

// A table that nothing is known of has half of the read timeout as its threshold.
TEST(ReplicatedRead, SpeculatesBehindThePercentileOfItsTablesLatencies) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  auto asked_while_others_take = [&](Duration time) {
    for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadReq, cluster.slow(i, time));
    const int before = cluster.asked();
    EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"a", "  1: v=x@10"}));
    return cluster.asked() - before;
  };
  EXPECT_EQ(asked_while_others_take(1ms), 1);
  EXPECT_EQ(asked_while_others_take(1500ms), 1);
  cluster.world().run_for(20min);  // that one is forgotten
  for (int i = 0; i < 20; ++i) asked_while_others_take(1ms);
  cluster.world().run_for(6s);
  EXPECT_EQ(asked_while_others_take(1500ms), 2);
}

TEST(ReplicatedRead, FailsWithTheReasonsOfThoseThatFailed) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  cluster.node(1).answers(Verb::kReadReq, CoordinatorNode::failure(RequestFailureReason::kReadTooManyTombstones));
  cluster.node(2).answers(Verb::kReadReq, CoordinatorNode::failure(RequestFailureReason::kIncompatibleSchema));
  // The first failure ends the read: the third node's comes later.
  cluster.world().set_link(*cluster.node(2).machine, *cluster.node(0).machine,
                           {.delay = std::chrono::milliseconds(50)});
  EXPECT_EQ(cluster.read(0, "a", kAll),
            (Lines{"Operation failed - received 1 responses and 1 failures: READ_TOO_MANY_TOMBSTONES from "
                   "/10.0.0.2:7000 [ALL 1/3] .2=1"}));
}

TEST(ReplicatedRead, TakesAnAnswerThatIsNoneForAFailure) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  const auto nonsense = [](InboundMessage) -> Task<VerbResult> {
    return VerbResult::answer(SharedBytes::copy_of("\x07nonsense"));
  };
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadReq, nonsense);
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kRangeReq, nonsense);
  const Lines failed{
      "Operation failed - received 1 responses and 1 failures: UNKNOWN from /10.0.0.2:7000 [QUORUM 1/2] .2=0"};
  EXPECT_EQ(cluster.read(0, "a", kQuorum), failed);
  EXPECT_EQ(cluster.read(0, cluster.command({}), kQuorum), failed);
}

TEST(ReplicatedRead, TakesRowsThatDoNotDecodeForAFailure) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  const auto nonsense = [](InboundMessage) -> Task<VerbResult> {
    DataResponse response;
    response.data() += BytesView("\0\1\1a\0nonsense", 13);
    return VerbResult::answer(SharedBytes::copy_of(response.finish()));
  };
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kRangeReq, nonsense);
  EXPECT_EQ(cluster.read(0, cluster.command({}), kQuorum),
            (Lines{"Operation failed - received 1 responses and 1 failures: UNKNOWN from /10.0.0.2:7000 [QUORUM 1/2] "
                   ".2=0"}));
}

TEST(ReplicatedRead, SpeculatesAsTheTableSays) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "x"));
  auto table = std::make_shared<TableMetadata>(*cluster.table("t"));
  ReadCommand command = cluster.command({"a"});
  table->params.speculative_retry = "ALWAYS";
  command.table = table;
  EXPECT_EQ(cluster.read(0, command, kQuorum), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.asked(), 2);
  table = std::make_shared<TableMetadata>(*table);
  table->params.speculative_retry = "NEVER";
  command.table = table;
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadReq, CoordinatorNode::silence());
  EXPECT_EQ(cluster.read(0, command, kQuorum),
            (Lines{"Operation timed out - received only 1 responses. [QUORUM 1/2]"}));
  EXPECT_EQ(cluster.asked(), 3);
}

TEST(ReplicatedRead, HasATimeForSoManyRows) {
  ReadCluster cluster(3);
  for (int c = 0; c < 20'500; c += 500) {
    Update update = cluster.update("a").at(10);
    for (int i = c; i < c + 500; ++i) update.row(i).cell("v", "x");
    cluster.put({0, 1, 2}, std::move(update));
  }
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadReq, cluster.slow(i, 3s));
  ReadCommand command = cluster.command({"a"});
  EXPECT_EQ(cluster.read(0, command, kQuorum),
            (Lines{"Operation timed out - received only 1 responses. [QUORUM 1/2]"}));
  command.rows_of_deadline = 10'000;
  EXPECT_EQ(cluster.read(0, command, kQuorum).size(), 20'501U);
}

// Answers so many requests, then none.
VerbHandler first_of(int requests, VerbHandler handler) {
  auto left = std::make_shared<int>(requests);
  return [left, handler = std::move(handler)](InboundMessage message) -> Task<VerbResult> {
    if (--*left < 0) return VerbResult::nothing();
    return handler(std::move(message));
  };
}

// Digests come, the data behind them does not.
TEST(ReplicatedRead, TimesOutOneAnswerShortWhenReplicasThatDifferAreSilent) {
  ReadCluster cluster(3);
  cluster.put({0}, cluster.row("a", "x"));
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadReq, first_of(1, cluster.answering(i)));
  EXPECT_EQ(cluster.read(0, "a", kAll), (Lines{"Operation timed out - received only 2 responses. [ALL 2/3]"}));
}

// The same behind a condition, whose rows are asked for again.
TEST(ReplicatedRead, TimesOutOneAnswerShortWhenRowsOfAConditionDoNotComeAgain) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.update("a").at(10).row(1).live().cell("v", "x"));
  cluster.put({1, 2}, cluster.update("a").at(20).row(1).cell("v", "y"));
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadReq, first_of(2, cluster.answering(i)));
  ReadCommand command = cluster.command({"a"});
  FilterExpression condition;
  condition.column = command.table->column("v");
  condition.value = "x";
  command.filter = {condition};
  EXPECT_EQ(cluster.read(0, command, kAll), (Lines{"Operation timed out - received only 2 responses. [ALL 2/3]"}));
}

// The row that came first is deleted elsewhere, and the rest of its replica's does not come: the client sees nothing of the partition,
// whose static row is gone with the answers.
TEST(ReplicatedRead, EndsNoPartitionWhoseRestDoesNotCome) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.update("a").at(10).static_row().cell("s", "static").row(1).live().row(2).live());
  cluster.put({0, 2}, cluster.update("a").at(20).row(1).delete_row().row(2).delete_row());
  cluster.node(1).answers(Verb::kReadReq, first_of(2, cluster.answering(1)));
  struct Client : RowSink {
    Next begin_partition(const DecoratedKey&, const Row&) override {
      ++partitions;
      return Next::kContinue;
    }
    Next row(const Row&) override { return Next::kContinue; }
    int partitions = 0;
  } client;
  ReadCommand command = cluster.command({"a"});
  command.limits.rows = 1;
  const auto read =
      cluster.run<Result<ReadStatistics>>(0, [&] { return cluster.node(0).coordinator().read(command, kAll, client); });
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message(), "Operation timed out - received only 0 responses.");
  EXPECT_EQ(client.partitions, 0);
}

TEST(ReplicatedRead, TimesOutWhenARepairIsNotAcknowledged) {
  ReadCluster cluster(3);
  cluster.put({0}, cluster.row("a", "x"));
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadRepairReq, CoordinatorNode::silence());
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"Operation timed out - received only 1 responses. [QUORUM 1/2]"}));
}

TEST(ReplicatedRead, TakesTheAcknowledgementOfAnotherReplicaForTheOneThatIsSlow) {
  ReadCluster cluster(3);
  cluster.put({0}, cluster.row("a", "x"));
  cluster.node(1).answers(Verb::kReadRepairReq, CoordinatorNode::silence());
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.having("a"), "0 2");
}

// additional_write_policy: of a table that nothing is known of, half of the write timeout.
TEST(ReplicatedRead, RepairsAnotherReplicaBehindThePercentileOfItsTablesWrites) {
  ReadCluster cluster(3);
  for (size_t i : {1, 2}) cluster.node(i).answers(Verb::kReadRepairReq, CoordinatorNode::silence());
  auto repairs_after = [&](const std::string& key, Duration time) {
    cluster.put({0}, cluster.row(key, "x"));
    const int before = cluster.node(1).received(Verb::kReadRepairReq) + cluster.node(2).received(Verb::kReadRepairReq);
    std::optional<Result<ReadStatistics>> read;
    TextSink sink(*cluster.table("t"));
    const ReadCommand command = cluster.command({key});
    cluster.start<Result<ReadStatistics>>(
        0, [&] { return cluster.node(0).coordinator().read(command, kQuorum, sink); }, &read);
    cluster.world().run_for(time);
    const int after = cluster.node(1).received(Verb::kReadRepairReq) + cluster.node(2).received(Verb::kReadRepairReq);
    EXPECT_TRUE(cluster.wait([&] { return read.has_value(); }));
    return after - before;
  };
  EXPECT_EQ(repairs_after("a", 500ms), 1);
  EXPECT_EQ(repairs_after("b", 1500ms), 2);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(cluster.write(0, cluster.row("w", "x"), kQuorum).ok());
  cluster.world().run_for(6s);
  EXPECT_EQ(repairs_after("c", 500ms), 2);
}

// ---- Differences

TEST(ReplicatedRead, OfStaleReplicasFindsTheNewestAndRepairsThem) {
  ReadCluster cluster(3);
  cluster.put({0, 1}, cluster.row("a", "old", 10));
  cluster.put({1, 2}, cluster.update("a").at(20).row(2).live().cell("v", "new"));
  cluster.put({1}, cluster.update("a").at(30).static_row().cell("s", "st"));
  cluster.put({2}, cluster.update("a").at(15).row(1).tombstone("v"));
  const Lines merged{"a [s=st@30]", "  2: @20 v=new@20"};
  EXPECT_EQ(cluster.read(0, "a", kAll), merged);
  EXPECT_EQ(statistics_of(cluster).read_repairs_blocking, 1U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.lines(i, "t", "a"), merged) << i;
  const int asked = cluster.asked();
  EXPECT_EQ(cluster.read(0, "a", kAll), merged);
  EXPECT_EQ(cluster.asked(), asked + 2);  // the digests are the same now
}

// A read that was answered with a write is followed by none that is not.
TEST(ReplicatedRead, AtAQuorumIsMonotonic) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.row("a", "old", 10));
  cluster.put({0}, cluster.row("a", "new", 20));
  EXPECT_EQ(cluster.read(0, "a", kQuorum), (Lines{"a", "  1: v=new@20"}));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.read(i, "a", kQuorum), (Lines{"a", "  1: v=new@20"})) << i;
}

TEST(ReplicatedRead, WithoutReadRepairLeavesReplicasAsTheyAre) {
  ReadCluster cluster(3);
  cluster.put({1, 2}, cluster.row("a", "x"));
  auto table = std::make_shared<TableMetadata>(*cluster.table("t"));
  table->params.read_repair = "NONE";
  ReadCommand command = cluster.command({"a"});
  command.table = table;
  EXPECT_EQ(cluster.read(0, command, kQuorum), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.having("a"), "1 2");
}

TEST(ReplicatedRead, DoesNotSendTombstonesThatMayBePurged) {
  ReadCluster cluster(3);
  auto table = std::make_shared<TableMetadata>(*cluster.table("t"));
  table->params.gc_grace_seconds = 10;  // deletions of the fixture are 100 seconds old
  cluster.put({0}, cluster.update("a").at(20).row(1).delete_row());
  cluster.put({0}, cluster.update("a").at(20).row(2).cell("v", "x"));
  ReadCommand command = cluster.command({"a"});
  command.table = table;
  EXPECT_EQ(cluster.read(0, command, kAll), (Lines{"a", "  2: v=x@20"}));
  cluster.put({1}, cluster.row("a", "older", 10));
  EXPECT_EQ(cluster.lines(1, "t", "a"), (Lines{"a", "  1: v=older@10", "  2: v=x@20"}));
}

// ---- Limits

TEST(ReplicatedRead, AsksForMoreWhenRowsOfAnAnswerAreDeletedElsewhere) {
  ReadCluster cluster(3);
  for (int c = 0; c < 20; ++c) cluster.put({0, 1}, cluster.update("a").at(10).row(c).cell("v", "x"));
  for (int c = 0; c < 15; ++c) cluster.put({2}, cluster.update("a").at(20).row(c).delete_row());
  for (int c = 17; c < 20; ++c) cluster.put({2}, cluster.update("a").at(10).row(c).cell("v", "x"));
  ReadCommand command = cluster.command({"a"});
  command.limits.rows = 3;
  EXPECT_EQ(cluster.read(0, command, kAll), (Lines{"a", "  15: v=x@10", "  16: v=x@10", "  17: v=x@10"}));
  command.reversed = true;
  EXPECT_EQ(cluster.read(0, command, kAll), (Lines{"a", "  19: v=x@10", "  18: v=x@10", "  17: v=x@10"}));
}

TEST(ReplicatedRead, OfARangeAsksForMorePartitionsWhenThoseOfAnAnswerAreDeletedElsewhere) {
  ReadCluster cluster(3);
  Lines all;
  for (char c = 'a'; c <= 'z'; ++c) cluster.put({0, 1}, cluster.row(std::string(1, c), "x"));
  for (char c = 'a'; c < 'w'; ++c) cluster.put({2}, cluster.update(std::string(1, c)).at(20).delete_partition());
  ReadCommand command = cluster.command({});
  command.limits.rows = 3;
  const Lines some = cluster.read(0, command, kAll);
  EXPECT_EQ(some.size(), 6U) << some.back();
  command.limits.rows = DataLimits::kNone;
  EXPECT_EQ(cluster.read(0, command, kAll).size(), 8U);  // w, x, y and z
}

TEST(ReplicatedRead, OfManyRowsComesInSeveralQuestions) {
  ReadCluster cluster(3);
  for (int c = 0; c < 10'500; c += 100) {
    Update update = cluster.update("a").at(10);
    for (int i = c; i < c + 100; ++i) update.row(i).cell("v", "x");
    cluster.put({0, 1, 2}, std::move(update));
  }
  EXPECT_EQ(cluster.read(0, "a", kQuorum).size(), 10'501U);
  EXPECT_EQ(cluster.asked(), 2);
  EXPECT_EQ(cluster.read(0, cluster.command({}), kQuorum).size(), 10'501U);
}

// ---- Several keys, ranges

TEST(ReplicatedRead, OfSeveralKeysKeepsTheirOrder) {
  ReadCluster cluster(4, 2);
  for (const char* key : {"a", "b", "c", "d"}) cluster.put({0, 1, 2, 3}, cluster.row(key, key));
  EXPECT_EQ(cluster.read(0, cluster.command({"c", "a", "missing", "d"}), kQuorum),
            (Lines{"c", "  1: v=c@10", "a", "  1: v=a@10", "d", "  1: v=d@10"}));
  ReadCommand command = cluster.command({"c", "a", "d"});
  command.limits.rows = 2;
  EXPECT_EQ(cluster.read(0, command, kQuorum), (Lines{"c", "  1: v=c@10", "a", "  1: v=a@10"}));
}

TEST(ReplicatedRead, OfARangeReadsAllPartsOfTheRingInTheirOrder) {
  ReadCluster cluster(5, 1);
  for (char c = 'a'; c <= 'z'; ++c) {
    const std::string key(1, c);
    const TokenRing& ring = *cluster.node(0).replica().topology().current()->ring();
    cluster.put({ring.entries()[ring.entry_of(murmur3_token(key))].endpoint}, cluster.row(key, key));
  }
  const Lines all = cluster.read(0, cluster.command({}), kOne);
  EXPECT_EQ(all.size(), 52U);
  Token last = kMinimumToken;
  for (size_t i = 0; i < all.size(); i += 2) {
    EXPECT_LT(last, murmur3_token(all[i]));
    last = murmur3_token(all[i]);
  }
  // Page by page.
  Lines pages;
  ReadCommand rest = cluster.command({});
  for (;;) {
    ReadCommand page = rest;
    page.limits.rows = 4;
    const Lines rows = cluster.read(2, page, kOne);
    pages.insert(pages.end(), rows.begin(), rows.end());
    if (rows.size() < 8) break;
    continue_behind(rest, DecoratedKey::of(rows[6]), {});
  }
  EXPECT_EQ(pages, all);
}

// RangeCommands: as many parts as should bring the rows, by what this node's SSTables hold.
TEST(ReplicatedRead, OfARangeAsksForAsManyPartsAtOnceAsItExpectsToNeed) {
  ReadCluster cluster(8, 1);
  for (char c = 'a'; c <= 'z'; ++c)
    cluster.put({0}, cluster.update(std::string(1, c)).at(10).row(1).cell("v", "x").cell("w", "x"));
  for (size_t i = 0; i < 8; ++i) cluster.node(i).answers(Verb::kRangeReq, CoordinatorNode::silence());
  auto asked_at_once = [&](uint64_t limit) {
    ReadCommand command = cluster.command({});
    const TokenRing& ring = *cluster.node(0).replica().topology().current()->ring();
    command.range->start = RingPosition::after(ring.entries()[0].token);  // what is before is of node 0
    command.limits.rows = limit;
    const int before = cluster.asked();
    std::optional<Result<ReadStatistics>> read;
    TextSink sink(*command.table);
    cluster.start<Result<ReadStatistics>>(
        0, [&] { return cluster.node(0).coordinator().read(command, kOne, sink); }, &read);
    cluster.world().run_for(1s);
    const int after = cluster.asked();
    EXPECT_TRUE(cluster.wait([&] { return read.has_value(); }));
    return after - before;
  };
  EXPECT_EQ(asked_at_once(50), 1);  // nothing is known
  auto flush = [&] { return cluster.node(0).replica().maintenance().flush({}); };
  ASSERT_TRUE(cluster.run<Status>(0, flush).ok());
  cluster.world().run_for(6s);
  EXPECT_EQ(asked_at_once(10), 1);
  EXPECT_EQ(asked_at_once(50),
            4);  // 26 partitions with two cells of three columns: 17.3 rows, of which a tenth may lack
}

TEST(ReplicatedRead, OfARangeOfLargeRowsReadsAheadAPartOfThem) {
  ReadCluster cluster(3);
  const std::string large(200'000, 'x');
  for (char c = 'a'; c <= 'z'; ++c) cluster.put({0, 1, 2}, cluster.row(std::string(1, c), large));
  cluster.put({1}, cluster.row("lacking", "x"));
  EXPECT_EQ(cluster.read(0, cluster.command({}), kAll).size(), 54U);
  EXPECT_EQ(cluster.having("lacking"), "0 1 2");
}

TEST(ReplicatedRead, OfOneRowOfEachPartitionStopsBehindIt) {
  ReadCluster cluster(3);
  for (const char* key : {"a", "b", "c"}) {
    for (int c = 1; c <= 3; ++c) cluster.put({0, 1}, cluster.update(key).at(10).row(c).cell("v", "x"));
  }
  cluster.put({2}, cluster.update("b").at(20).row(1).delete_row());
  ReadCommand command = cluster.command({});
  command.limits.per_partition = 1;
  Lines rows = cluster.read(0, command, kAll);
  EXPECT_EQ(rows.size(), 6U);
  const auto b = std::find(rows.begin(), rows.end(), "b");
  ASSERT_NE(b, rows.end());
  EXPECT_EQ(*(b + 1), "  2: v=x@10");
}

// ---- Conditions

TEST(ReplicatedRead, ChecksTheRowsThatAStaleReplicaFoundAgainstTheOthers) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.update("a").at(10).row(1).live().cell("v", "x").cell("w", "1"));
  cluster.put({1, 2}, cluster.update("a").at(20).row(1).cell("v", "y"));
  cluster.put({2}, cluster.update("b").at(10).row(1).live().cell("v", "x"));
  for (const bool is_range : {true, false}) {
    ReadCommand command = is_range ? cluster.command({}) : cluster.command({"a", "b"});
    FilterExpression condition;
    condition.column = command.table->column("v");
    condition.value = "x";
    command.filter = {condition};
    EXPECT_EQ(cluster.read(0, command, kAll), (Lines{"b", "  1: @10 v=x@10"}));
    command.filter[0].value = "y";
    EXPECT_EQ(cluster.read(0, command, kAll), (Lines{"a", "  1: @10 v=y@20 w=1@10"}));
  }
}

TEST(ReplicatedRead, FindsARowThatSatisfiesItsConditionsAtNoReplicaAlone) {
  ReadCluster cluster(3);
  cluster.put({0, 1, 2}, cluster.update("a").at(10).row(1).live().cell("v", "old").cell("w", "old"));
  cluster.put({0}, cluster.update("a").at(20).row(1).cell("v", "x"));
  cluster.put({1}, cluster.update("a").at(20).row(1).cell("w", "y"));
  ReadCommand command = cluster.command({});
  for (const auto& [column, value] : {std::pair("v", "x"), std::pair("w", "y")}) {
    FilterExpression condition;
    condition.column = command.table->column(column);
    condition.value = value;
    command.filter.push_back(condition);
  }
  EXPECT_EQ(cluster.read(2, command, kAll), (Lines{"a", "  1: @10 v=x@20 w=y@20"}));
}

// Replicas are sent one of the conditions, and stop at the limit before the other one has been looked at.
TEST(ReplicatedRead, GoesOnBehindTheOnlyRowOfAPartitionThatALimitEnded) {
  ReadCluster cluster(3);
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
    cluster.put({0, 1, 2},
                cluster.update(key, "kv").at(10).row(std::vector<int32_t>{}).cell("v1", "x").cell("v2", key));
  }
  const Lines all = cluster.read(0, cluster.command({}, "kv"), kQuorum);
  ASSERT_EQ(all.size(), 12U);
  for (uint64_t limit = 1; limit <= 6; ++limit) {
    ReadCommand command = cluster.command({}, "kv");
    command.limits.rows = limit;
    for (const auto& [column, value] : {std::pair("v1", "x"), std::pair("v2", "c")}) {
      FilterExpression condition;
      condition.column = command.table->column(column);
      condition.value = value;
      command.filter.push_back(condition);
    }
    EXPECT_EQ(cluster.read(0, command, kQuorum), (Lines{"c", "  v1=x@10 v2=c@10"})) << limit;
  }
}

}  // namespace
}  // namespace cassandra_like::test::replicated_read_test
