// Hints that other nodes send.
#include <gmock/gmock.h>

#include "tests/peers/peers_fixture.h"

namespace cassandra_like::test {
namespace {

class PeerHints : public testing::Test {
 protected:
  explicit PeerHints(int factor = 3) : cluster(3, 2, factor) { cluster.make_tables(); }

  int64_t now_millis(size_t node = 1) { return cluster.node(node).runtime->shard(0).clock.wall_millis(); }
  std::string send(const Uuid& host_id, const Bytes& mutation, int64_t age_millis = 0, int32_t gc_grace = 864000) {
    Bytes body;
    append_hint_message(body, {host_id, now_millis() - age_millis, gc_grace, mutation});
    return cluster.ask(0, 1, Verb::kHintReq, body);
  }
  Uuid own_id() { return cluster.node(1).host_id; }
  void truncate() {
    const TablePtr table = cluster.node(1).replica().schema().current()->table("ks", "t");
    ASSERT_TRUE(cluster.run<Status>(1, [&] { return cluster.node(1).replica().truncate(table); }).ok());
  }

  PeersCluster cluster;
};

TEST_F(PeerHints, AHintIsApplied) {
  for (const std::string key : {"a", "b", "c"}) EXPECT_EQ(send(own_id(), cluster.write(key, "x")), "");
  EXPECT_EQ(cluster.rows(1, "t"), 3u);
  EXPECT_EQ(cluster.node(1).statistics().hints, 3u);
  EXPECT_TRUE(cluster.node(1).hints().empty());
}

TEST_F(PeerHints, WhatWasTruncatedSinceIsLeftOut) {
  truncate();
  EXPECT_EQ(send(own_id(), cluster.write("older", "x"), 1000), "");
  EXPECT_EQ(cluster.rows(1, "t"), 0u);
  cluster.world().run_for(std::chrono::seconds(1));
  EXPECT_EQ(send(own_id(), cluster.write("younger", "x")), "");
  EXPECT_EQ(cluster.lines(1, "t", "younger"), (Lines{"younger", "  1: v=x@10"}));
}

TEST_F(PeerHints, OnlyTheTruncatedTableOfAMutationIsLeftOut) {
  truncate();
  Update t(cluster.table("t"), "a"), kv(cluster.table("kv"), "a");
  t.row(1).cell("v", "x");
  kv.row(std::vector<int32_t>{}).cell("v1", "x");
  const std::vector<PartitionUpdate> updates{t.build(), kv.build()};
  Bytes mutation;
  serialize(Mutation{"ks", updates[0].key, updates}, mutation);
  EXPECT_EQ(send(own_id(), mutation, 1000), "");
  EXPECT_EQ(cluster.rows(1, "t"), 0u);
  EXPECT_EQ(cluster.rows(1, "kv"), 1u);
}

TEST_F(PeerHints, AHintThatIsOlderThanGcGraceIsLeftOut) {
  EXPECT_EQ(send(own_id(), cluster.write("a", "x"), 61'000, 60), "");
  EXPECT_EQ(send(own_id(), cluster.write("b", "x"), 864'001'000, 2'000'000), "");
  EXPECT_EQ(cluster.rows(1, "t"), 0u);
  EXPECT_EQ(send(own_id(), cluster.write("c", "x"), 59'000, 60), "");
  EXPECT_EQ(cluster.rows(1, "t"), 1u);
}

TEST_F(PeerHints, AHintForAnotherNodeIsKeptForIt) {
  const Bytes mutation = cluster.write("a", "x");
  EXPECT_EQ(send(cluster.node(2).host_id, mutation, 5000, 77), "");
  EXPECT_EQ(cluster.rows(1, "t"), 0u);
  const auto hints = cluster.node(1).hints();
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_EQ(hints[0].nodes, (std::vector<Uuid>{cluster.node(2).host_id}));
  EXPECT_EQ(hints[0].mutation.view(), mutation);
  EXPECT_EQ(hints[0].mutation.token(), murmur3_token("a"));
  EXPECT_EQ(hints[0].gc_grace_seconds, 77);
  EXPECT_NEAR(static_cast<double>(now_millis() - hints[0].created_millis), 5000, 1000);
}

TEST_F(PeerHints, AHintForANodeThatNobodyKnowsIsRefused) {
  CapturedLog log;
  EXPECT_EQ(send(Uuid::random(1, 2), cluster.write("a", "x")), "<UNKNOWN>");
  EXPECT_TRUE(cluster.node(1).hints().empty());
  EXPECT_EQ(log.count("HINT_REQ of /10.0.0.1:7000 is refused: it is for a node that is not in the ring"), 1u);
}

TEST_F(PeerHints, AHintThatCannotBeKeptFails) {
  for (auto& hints : cluster.node(1).hints_of_shards) hints->result = Error(ErrorCode::kDiskFull, "no room");
  CapturedLog log;
  EXPECT_EQ(send(cluster.node(2).host_id, cluster.write("a", "x")), "<UNKNOWN>");
  EXPECT_EQ(log.count("HINT_REQ of /10.0.0.1:7000 failed: no room"), 1u);
}

TEST_F(PeerHints, TheHintOfATableThatIsGoneIsAnswered) {
  const Bytes mutation = cluster.bytes_of(std::move(Update(cluster.table("d"), "a").row({1, 2}).cell("v", "x")));
  EXPECT_EQ(send(own_id(), mutation), "");
  EXPECT_EQ(cluster.node(1).statistics().waited_for_schema, 0u);
}

TEST_F(PeerHints, ABadBodyIsRefused) {
  EXPECT_EQ(cluster.ask(0, 1, Verb::kHintReq, "garbage"), "<UNKNOWN>");
  EXPECT_EQ(send(own_id(), "garbage"), "<UNKNOWN>");
  EXPECT_EQ(cluster.node(1).statistics().malformed, 2u);
}

class PeerHintsOfOne : public PeerHints {
 protected:
  PeerHintsOfOne() : PeerHints(1) {}
};

TEST_F(PeerHintsOfOne, AHintForATokenOfOthersIsKeptForItsReplicas) {
  const std::string key = cluster.key_of(2);
  EXPECT_EQ(send(own_id(), cluster.write(key, "x")), "");
  EXPECT_EQ(cluster.rows(1, "t"), 0u);
  const auto hints = cluster.node(1).hints();
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_EQ(hints[0].nodes, (std::vector<Uuid>{cluster.node(2).host_id}));
}

}  // namespace
}  // namespace cassandra_like::test
