// A replica notes the requests of a session that another node began.
#include <regex>

#include "gtest/gtest.h"
#include "schema/internal_table.h"
#include "tests/peers/peers_fixture.h"

namespace cassandra_like::test {
namespace {

const Uuid kSession = *Uuid::parse("5c91ab30-0000-11f0-8080-808080808080");

// Node 1 has these of the session, in order.
std::vector<InternalRow> events_of(PeersCluster& cluster) {
  ReadCommand command;
  command.table = cluster.node(1).replica().schema().current()->table("system_traces", "events");
  command.keys.push_back(DecoratedKey::of(kSession.view()));
  command.now_seconds = cluster.node(1).runtime->shard(0).clock.wall_seconds();
  InternalRows rows(command.table);
  using Read = Result<ReadStatistics>;
  EXPECT_TRUE(cluster.run<Read>(1, [&] { return cluster.node(1).replica().read(command, rows); }).ok());
  return std::move(rows.rows);
}

std::vector<std::string> activities(PeersCluster& cluster) {
  std::vector<std::string> out;
  for (const InternalRow& row : events_of(cluster)) {
    out.push_back(std::regex_replace(row.text("activity"), std::regex("size \\d+"), "size N"));
  }
  return out;
}

// A request of node 0 as a coordinator of Cassandra sends it.
std::string ask_traced(PeersCluster& cluster, Verb verb, Bytes body) {
  ParamsBuilder params;
  params.trace(kSession, TraceType::kQuery);
  SendOptions options;
  options.params = params.get();
  const std::string answer = cluster.ask(0, 1, verb, std::move(body), options);
  cluster.world().run_for(std::chrono::seconds(1));
  return answer;
}

TEST(PeerTracing, AWriteIsToldWithItsSteps) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  ASSERT_EQ(ask_traced(cluster, Verb::kMutationReq, cluster.write("a", "x")), "");
  EXPECT_EQ(activities(cluster), (std::vector<std::string>{
                                     "MUTATION_REQ message received from /10.0.0.1:7000",
                                     "Appending to commitlog",
                                     "Adding to t memtable",
                                     "Enqueuing response to /10.0.0.1:7000",
                                     "Sending MUTATION_RSP message to /10.0.0.1:7000 message size N bytes",
                                 }));
  for (const InternalRow& row : events_of(cluster)) {
    EXPECT_EQ(row.get("source"), Bytes("\n\0\0\2", 4));
    EXPECT_EQ(row.text("thread"), "MutationStage-1");
    EXPECT_TRUE(row.has("source_elapsed"));
  }
}

TEST(PeerTracing, AReadIsToldWithItsRows) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  ASSERT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write("a", "x")), "");
  ReadRequest request;
  request.command.table = cluster.table("t");
  request.command.now_seconds = storage_test::kNow;
  request.command.keys.push_back(DecoratedKey::of("a"));
  request.columns = ColumnFilter::all(*request.command.table);
  Bytes body;
  encode_read_request(request, kMessagingVersion50, body);
  ask_traced(cluster, Verb::kReadReq, std::move(body));
  EXPECT_EQ(activities(cluster), (std::vector<std::string>{
                                     "READ_REQ message received from /10.0.0.1:7000",
                                     "Executing single-partition query on t",
                                     "Read 1 live rows and 0 tombstone cells",
                                     "Enqueuing response to /10.0.0.1:7000",
                                     "Sending READ_RSP message to /10.0.0.1:7000 message size N bytes",
                                 }));
}

TEST(PeerTracing, ARefusedRequestIsToldWithItsAnswer) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  ParamsBuilder params;
  params.trace(kSession, TraceType::kQuery);
  SendOptions options;
  options.params = params.get();
  options.flags = kCallBackOnFailure;
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, "no mutation", options), "<UNKNOWN>");
  cluster.world().run_for(std::chrono::seconds(1));
  EXPECT_EQ(activities(cluster), (std::vector<std::string>{
                                     "MUTATION_REQ message received from /10.0.0.1:7000",
                                     "Sending FAILURE_RSP message to /10.0.0.1:7000 message size N bytes",
                                 }));
}

TEST(PeerTracing, AMessageThatIsPassedOnKeepsItsSession) {
  PeersCluster cluster(3, 1);
  cluster.make_tables();
  ParamsBuilder params;
  const ParamsBuilder::Forward there{cluster.node(2).address(), 77};
  params.forward_to({&there, 1}).trace(kSession, TraceType::kQuery);
  SendOptions options;
  options.params = params.get();
  ASSERT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write("a", "x"), options), "");
  cluster.world().run_for(std::chrono::seconds(1));
  const std::vector<std::string> told = activities(cluster);
  ASSERT_GE(told.size(), 3u);
  EXPECT_EQ(told[1], "Enqueuing forwarded write to /10.0.0.3:7000");
  EXPECT_EQ(told[2], "Sending MUTATION_REQ message to /10.0.0.3:7000 message size N bytes");
  EXPECT_EQ(cluster.lines(2, "t", "a"), (Lines{"a", "  1: v=x@10"}));
}

}  // namespace
}  // namespace cassandra_like::test
