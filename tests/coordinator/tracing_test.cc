// The rows that traced requests leave in system_traces, at every node that has a part in them.
#include "coordinator/tracing.h"

#include <regex>

#include "gtest/gtest.h"
#include "model/values.h"
#include "schema/internal_table.h"
#include "tests/coordinator/cluster_fixture.h"

namespace cassandra_like::test {
namespace {

const Uuid kSession = *Uuid::parse("5c91ab30-0000-11f0-8080-808080808080");

// The rows of a session that all replicas together have, each once, in the order of their times.
std::vector<InternalRow> rows_of(CoordinatorCluster& cluster, const std::string& table) {
  std::map<Bytes, InternalRow> found;
  for (size_t node = 0; node < cluster.size(); ++node) {
    ReadCommand command;
    command.table = cluster.node(node).replica().schema().current()->table("system_traces", table);
    command.keys.push_back(DecoratedKey::of(kSession.view()));
    command.now_seconds = cluster.node(node).runtime->shard(0).clock.wall_seconds();
    InternalRows rows(command.table);
    auto read = [&] { return cluster.node(node).replica().read(command, rows); };
    EXPECT_TRUE((cluster.run<Result<ReadStatistics>>(node, read).ok()));
    for (InternalRow& row : rows.rows) found.emplace(Bytes(row.get("event_id")), std::move(row));
  }
  std::vector<InternalRow> out;
  for (auto& [id, row] : found) out.push_back(std::move(row));
  std::ranges::sort(out, {}, [](const InternalRow& row) {
    return row.has("event_id") ? Uuid::from_bytes(row.get("event_id")).raw_timestamp() : 0;
  });
  return out;
}

// "10.0.0.1: activity", with N for sizes.
std::vector<std::string> events_of(CoordinatorCluster& cluster, const std::string& source) {
  std::vector<std::string> out;
  for (const InternalRow& row : rows_of(cluster, "events")) {
    if (row.get("source") != *parse_inet(source)) continue;
    out.push_back(std::regex_replace(row.text("activity"), std::regex("size \\d+"), "size N"));
  }
  return out;
}

struct Traced {
  CoordinatorNode& node;
  TracePtr trace = node.coordinator().tracing().begin(kSession);

  Task<Status> finish() {
    return node.coordinator().tracing().finish(trace, {"10.0.0.7", "Execute CQL3 query", {{"query", "SELECT 1"}}});
  }
};

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  return lines;
}

TEST(Tracing, KeepsTheSessionAndItsEventsForADay) {
  CoordinatorCluster cluster(1, 1);
  Traced traced{cluster.node(0)};
  cluster.world().run_for(std::chrono::microseconds(700));  // within a millisecond
  const int64_t started_millis = cluster.node(0).runtime->shard(0).clock.wall_millis();
  traced.trace = cluster.node(0).coordinator().tracing().begin(kSession);
  traced.trace->event("Parsing SELECT 1");
  cluster.world().run_for(std::chrono::microseconds(1500));
  traced.trace->event("Preparing statement");
  ASSERT_TRUE(cluster.run<Status>(0, [&] { return traced.finish(); }).ok());

  const std::vector<InternalRow> events = rows_of(cluster, "events");
  ASSERT_EQ(events.size(), 2u);
  for (size_t i : {size_t{0}, size_t{1}}) {
    EXPECT_EQ(events[i].text("activity"), i == 0 ? "Parsing SELECT 1" : "Preparing statement");
    EXPECT_EQ(events[i].get("source"), Bytes("\n\0\0\1", 4));
    EXPECT_EQ(events[i].integer("source_port"), 7000);
    EXPECT_EQ(events[i].integer("source_elapsed"), static_cast<int32_t>(i) * 1500);
    EXPECT_EQ(events[i].text("thread"), "Native-Transport-Requests-1");
    // The request's end, which clients put at started_at + duration, comes after the last event.
    EXPECT_EQ(Uuid::from_bytes(events[i].get("event_id")).unix_micros(),
              started_millis * 1000 + static_cast<int64_t>(i) * 1500);
  }
  const std::vector<InternalRow> sessions = rows_of(cluster, "sessions");
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].get("client"), Bytes("\n\0\0\7", 4));
  EXPECT_EQ(sessions[0].get("coordinator"), Bytes("\n\0\0\1", 4));
  EXPECT_EQ(sessions[0].integer("coordinator_port"), 7000);
  EXPECT_EQ(sessions[0].text("request"), "Execute CQL3 query");
  EXPECT_EQ(sessions[0].text("command"), "QUERY");
  EXPECT_EQ(sessions[0].get("started_at"), encode_bigint(started_millis));
  EXPECT_EQ(sessions[0].integer("duration"), 1501);
  EXPECT_EQ(sessions[0].elements.at("parameters"), (std::map<Bytes, Bytes>{{"query", "SELECT 1"}}));

  cluster.world().run_for(std::chrono::hours(23));
  EXPECT_EQ(rows_of(cluster, "events").size(), 2u);
  cluster.world().run_for(std::chrono::hours(1) + std::chrono::seconds(2));
  EXPECT_EQ(rows_of(cluster, "events").size(), 0u);
}

TEST(Tracing, AWriteTellsOfEachReplica) {
  CoordinatorCluster cluster(3);
  Traced traced{cluster.node(0)};
  Update update = cluster.row("a", "x");
  const Mutation mutation = update.mutation();
  auto write = [&] {
    return cluster.node(0).coordinator().write({&mutation, 1}, Consistency::kAll, WriteType::kSimple, traced.trace);
  };
  ASSERT_TRUE(cluster.run<Status>(0, write).ok());
  ASSERT_TRUE(cluster.run<Status>(0, [&] { return traced.finish(); }).ok());
  cluster.world().run_for(std::chrono::seconds(1));

  std::vector<std::string> expected{"Determining replicas for mutation", "Appending to commitlog",
                                    "Adding to t memtable"};
  for (const std::string node : {"/10.0.0.2:7000", "/10.0.0.3:7000"}) {
    expected.push_back("Sending MUTATION_REQ message to " + node + " message size N bytes");
    expected.push_back("MUTATION_RSP message received from " + node);
    expected.push_back("Processing response from " + node);
  }
  EXPECT_EQ(sorted(events_of(cluster, "10.0.0.1")), sorted(expected));
  for (const std::string node : {"10.0.0.2", "10.0.0.3"}) {
    EXPECT_EQ(events_of(cluster, node),
              (std::vector<std::string>{"MUTATION_REQ message received from /10.0.0.1:7000",
                                        "Sending MUTATION_RSP message to /10.0.0.1:7000 message size N bytes"}));
  }
}

TEST(Tracing, AnAnswerAfterTheEndIsToldWithoutATime) {
  CoordinatorCluster cluster(3);
  cluster.node(2).answers(Verb::kMutationReq, CoordinatorNode::silence());
  std::optional<Promise<VerbResult>> answer;
  auto later = [](Promise<VerbResult>* promise) -> Task<VerbResult> { co_return co_await *promise; };
  cluster.node(2).answers(Verb::kMutationReq, [&](InboundMessage message) -> Task<VerbResult> {
    if (message.trace == nullptr) return VerbResult::answer();
    answer.emplace();
    return later(&*answer);
  });
  Traced traced{cluster.node(0)};
  Update update = cluster.row("a", "x");
  const Mutation mutation = update.mutation();
  auto write = [&] {
    return cluster.node(0).coordinator().write({&mutation, 1}, Consistency::kQuorum, WriteType::kSimple, traced.trace);
  };
  ASSERT_TRUE(cluster.run<Status>(0, write).ok());
  ASSERT_TRUE(cluster.run<Status>(0, [&] { return traced.finish(); }).ok());
  ASSERT_TRUE(cluster.wait([&] { return answer.has_value(); }));
  cluster.node(2).runtime->shard(0).executor.post([&] { answer->set(VerbResult::answer()); });
  cluster.world().run_for(std::chrono::seconds(1));

  std::vector<std::string> without_time;
  for (const InternalRow& row : rows_of(cluster, "events")) {
    if (!row.has("source_elapsed")) without_time.push_back(row.text("activity"));
  }
  EXPECT_EQ(without_time, (std::vector<std::string>{"MUTATION_RSP message received from /10.0.0.3:7000",
                                                    "Processing response from /10.0.0.3:7000"}));
}

TEST(Tracing, ALoggedBatchTellsOfItsRecord) {
  CoordinatorCluster cluster(3);
  Traced traced{cluster.node(0)};
  Update a = cluster.row("a", "x"), b = cluster.row("b", "y");
  const std::vector<Mutation> mutations{a.mutation(), b.mutation()};
  auto write = [&] {
    return cluster.node(0).coordinator().write(mutations, Consistency::kAll, WriteType::kBatch, traced.trace);
  };
  ASSERT_TRUE(cluster.run<Status>(0, write).ok());
  ASSERT_TRUE(cluster.run<Status>(0, [&] { return traced.finish(); }).ok());
  cluster.world().run_for(std::chrono::seconds(1));

  const std::vector<std::string> told = events_of(cluster, "10.0.0.1");
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0], "Determining replicas for atomic batch");
  EXPECT_EQ(std::ranges::count_if(told, [](const std::string& e) { return e.starts_with("Sending BATCH_STORE_REQ"); }),
            2);
  EXPECT_EQ(std::ranges::count_if(told, [](const std::string& e) { return e.starts_with("Sending MUTATION_REQ"); }), 4);
}

TEST(Tracing, UntracedRequestsLeaveNothing) {
  CoordinatorCluster cluster(3);
  ASSERT_TRUE(cluster.write(0, cluster.row("a", "x"), Consistency::kAll).ok());
  cluster.world().run_for(std::chrono::seconds(1));
  EXPECT_EQ(rows_of(cluster, "events").size() + rows_of(cluster, "sessions").size(), 0u);
}

}  // namespace
}  // namespace cassandra_like::test
