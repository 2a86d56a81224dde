// Reads that other nodes send.
#include <gmock/gmock.h>

#include "messaging/read_response.h"
#include "read/read_digest.h"
#include "read/response_writer.h"
#include "tests/peers/peers_fixture.h"

namespace cassandra_like::test {
namespace {

ReadRequest request_of(PeersCluster& cluster, const std::string& key) {
  ReadRequest request;
  request.command.table = cluster.table("t");
  request.command.now_seconds = storage_test::kNow;
  if (key.empty()) {
    request.command.range = KeyRange{};
  } else {
    request.command.keys.push_back(DecoratedKey::of(key));
  }
  request.columns = ColumnFilter::all(*request.command.table);
  return request;
}

Bytes body_of(const ReadRequest& request) {
  Bytes body;
  encode_read_request(request, kMessagingVersion50, body);
  return body;
}

// The answer as node 1 itself makes it.
Bytes data_at(PeersCluster& cluster, const ReadRequest& request) {
  Bytes data;
  ResponseWriter writer(request, data);
  using Read = Result<ReadStatistics>;
  EXPECT_TRUE(cluster.run<Read>(1, [&] { return cluster.node(1).replica().read_unfiltered(request, writer); }).ok());
  writer.finish();
  return data;
}
Bytes digest_at(PeersCluster& cluster, const ReadRequest& request) {
  ReadDigest digest(request);
  using Read = Result<ReadStatistics>;
  EXPECT_TRUE(cluster.run<Read>(1, [&] { return cluster.node(1).replica().read_unfiltered(request, digest); }).ok());
  return digest.finish();
}

void fill(PeersCluster& cluster, int keys) {
  for (int i = 0; i < keys; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write(key, "value of " + key)), "");
  }
}

TEST(PeerReads, APartitionIsAnsweredWithItsDataOrItsDigest) {
  PeersCluster cluster(2, 2);
  cluster.make_tables();
  fill(cluster, 8);
  for (const std::string key : {"key0", "key1", "key2", "key3", "missing"}) {
    ReadRequest request = request_of(cluster, key);
    const std::string data = cluster.ask(0, 1, Verb::kReadReq, body_of(request));
    auto response = parse_read_response(data);
    ASSERT_TRUE(response.ok()) << data;
    EXPECT_EQ(response->data, data_at(cluster, request)) << key;
    EXPECT_EQ(response->data.find("value of " + key) != BytesView::npos, key != "missing");
    request.is_digest = true;
    const std::string digest = cluster.ask(0, 1, Verb::kReadReq, body_of(request));
    auto short_response = parse_read_response(digest);
    ASSERT_TRUE(short_response.ok());
    EXPECT_EQ(short_response->digest, digest_at(cluster, request)) << key;
  }
  EXPECT_EQ(cluster.node(1).statistics().reads, 10u);
}

TEST(PeerReads, ARangeIsAnsweredInRingOrderFromAllShards) {
  for (unsigned shards : {1u, 3u}) {
    PeersCluster cluster(2, shards);
    cluster.make_tables();
    fill(cluster, 50);
    const ReadRequest request = request_of(cluster, "");
    const std::string answer = cluster.ask(0, 1, Verb::kRangeReq, body_of(request));
    auto response = parse_read_response(answer);
    ASSERT_TRUE(response.ok());
    EXPECT_EQ(response->data, data_at(cluster, request));
    EXPECT_GT(response->data.size(), 50u * 20);
  }
}

TEST(PeerReads, TooManyTombstonesHaveAReasonOfTheirOwn) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  Update update(cluster.table("t"), "a");
  for (int i = 0; i < 200; ++i) update.row(i).tombstone("v");
  ASSERT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.bytes_of(std::move(update))), "");
  CapturedLog log;
  EXPECT_EQ(cluster.ask(0, 1, Verb::kReadReq, body_of(request_of(cluster, "a"))), "<READ_TOO_MANY_TOMBSTONES>");
  EXPECT_EQ(cluster.node(1).statistics().tombstone_failures, 1u);
  EXPECT_EQ(log.count("READ_REQ of /10.0.0.1:7000 failed: "), 1u);
}

TEST(PeerReads, AnAnswerThatIsTooLargeFails) {
  PeerRequestsOptions options;
  options.max_answer_bytes = 2000;
  PeersCluster cluster(2, 2, 3, options);
  cluster.make_tables();
  fill(cluster, 100);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kRangeReq, body_of(request_of(cluster, ""))), "<READ_SIZE>");
  EXPECT_EQ(cluster.node(1).statistics().too_large, 1u);
  ReadRequest few = request_of(cluster, "");
  few.limits.rows = 20;
  EXPECT_EQ(cluster.ask(0, 1, Verb::kRangeReq, body_of(few)).find("<"), std::string::npos);
}

// Shards read ahead less when others do so already. The answer is the same.
TEST(PeerReads, WhatShardsReadAheadIsBounded) {
  PeersCluster cluster(2, 3);
  cluster.make_tables();
  fill(cluster, 500);
  const ReadRequest request = request_of(cluster, "");
  ByteLimit& limit = cluster.node(1).group->reserves.read_ahead;
  const std::string answer = cluster.ask(0, 1, Verb::kRangeReq, body_of(request));
  ASSERT_TRUE(parse_read_response(answer).ok());
  EXPECT_EQ(limit.used(), 0u);
  std::vector<std::optional<std::string>> answers(300);
  for (auto& each : answers) cluster.begin(0, 1, Verb::kRangeReq, body_of(request), &each);
  size_t most = 0;
  ASSERT_TRUE(cluster.wait([&] {
    most = std::max(most, limit.used());
    return std::ranges::all_of(answers, [](const auto& each) { return each.has_value(); });
  }));
  EXPECT_GT(most, request.read_ahead);
  EXPECT_LE(most, size_t{64} << 20);
  EXPECT_EQ(limit.used(), 0u);
  for (const auto& each : answers) EXPECT_EQ(*each, answer);
}

TEST(PeerReads, AReadOfATableThatIsOnItsWayWaitsForIt) {
  PeersCluster cluster(2, 1);
  const std::vector<Bytes> schema = cluster.make_tables({"t"}, false);
  const Bytes body = body_of(request_of(cluster, "a"));
  std::optional<std::string> answer;
  cluster.begin(0, 1, Verb::kReadReq, body, &answer);
  cluster.world().run_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(answer.has_value());
  ASSERT_TRUE(cluster.merge(1, schema).ok());
  ASSERT_TRUE(cluster.wait([&] { return answer.has_value(); }));
  EXPECT_TRUE(parse_read_response(*answer).ok());
}

TEST(PeerReads, AReadOfATableThatDoesNotComeFails) {
  PeersCluster cluster(2, 1);
  cluster.make_tables({"t"}, false);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kReadReq, body_of(request_of(cluster, "a"))), "<INCOMPATIBLE_SCHEMA>");
}

TEST(PeerReads, AReadForATokenOfOthersIsAnsweredOrDropped) {
  PeerRequestsOptions strict;
  strict.reject_out_of_token_range = true;
  for (const PeerRequestsOptions& options : {PeerRequestsOptions(), strict}) {
    PeersCluster cluster(3, 1, 1, options);
    cluster.make_tables();
    const std::string answer = cluster.ask(0, 1, Verb::kReadReq, body_of(request_of(cluster, cluster.key_of(2))));
    EXPECT_EQ(answer == "<TIMEOUT>", options.reject_out_of_token_range);
    EXPECT_EQ(cluster.node(1).statistics().out_of_range_reads, 1u);
  }
}

TEST(PeerReads, ABadBodyIsRefused) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  const Bytes good = body_of(request_of(cluster, "a"));
  for (size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_EQ(cluster.ask(0, 1, Verb::kReadReq, good.substr(0, cut)), "<UNKNOWN>") << cut;
  }
  EXPECT_TRUE(parse_read_response(cluster.ask(0, 1, Verb::kReadReq, good)).ok());
}

}  // namespace
}  // namespace cassandra_like::test
