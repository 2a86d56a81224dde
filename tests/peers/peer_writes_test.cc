// Writes that other nodes send.
#include <gmock/gmock.h>

#include "messaging/wire/batch_codec.h"
#include "messaging/wire/control_codec.h"
#include "model/counter.h"
#include "model/values.h"
#include "tests/peers/peers_fixture.h"

namespace cassandra_like::test {
namespace {

SendOptions within(PeersCluster& cluster, size_t from, Duration time) {
  SendOptions options;
  options.deadline = cluster.node(from).runtime->shard(0).clock.monotonic_nanos() + time.count();
  return options;
}

TEST(PeerWrites, AMutationIsAppliedOnTheShardOfItsKeyWhereverItArrives) {
  PeersCluster cluster(2, 2);
  cluster.make_tables();
  for (unsigned shard : {0u, 1u}) {
    for (const std::string key : {"a", "b", "c", "d"}) {
      for (Verb verb : {Verb::kMutationReq, Verb::kReadRepairReq}) {
        const std::string name = key + std::to_string(shard) + verb_name(verb);
        EXPECT_EQ(cluster.ask(0, 1, verb, cluster.write(name, "x"), {}, shard), "");
        EXPECT_EQ(cluster.lines(1, "t", name), (Lines{name, "  1: v=x@10"}));
        EXPECT_EQ(cluster.lines(0, "t", name), Lines());
      }
    }
  }
  EXPECT_EQ(cluster.node(1).statistics().writes, 16u);
}

// Notes the params of the mutations that come, and answers.
VerbHandler record_params(std::vector<std::string>* seen) {
  return [seen](InboundMessage message) -> Task<VerbResult> {
    std::string text = message.header.params.find(ParamType::kForwardTo) ? "forward " : "";
    if (auto to = message.header.params.respond_to()) text += "answer " + to->to_string();
    if (message.header.params.trace_session()) text += " traced";
    message.header.params.for_each_custom(
        [&](BytesView key, BytesView value) { text += " " + std::string(key) + "=" + std::string(value); });
    if (message.header.call_back_on_failure()) text += " failures";
    seen->push_back(text);
    return VerbResult::answer();
  };
}

class Answers final : public ResponseHandler {
 public:
  void on_response(InboundMessage& response) override { from.push_back(response.from.to_string()); }
  void on_failure(const InetAddressAndPort& peer, RequestFailureReason reason) override {
    from.push_back(peer.to_string() + " " + failure_reason_name(reason));
  }
  std::vector<std::string> from;
};

TEST(PeerWrites, AMutationIsPassedOnAndTheSenderIsAnswered) {
  PeersCluster cluster(4, 1);
  cluster.make_tables();
  std::vector<std::string> seen;
  cluster.node(3).messengers[0]->handle(Verb::kMutationReq, record_params(&seen));
  Answers answers;
  CapturedLog log;
  cluster.on(0, 0, [&] {
    Messenger& messenger = *cluster.node(0).messengers[0];
    const SendOptions limit = within(cluster, 0, std::chrono::seconds(2));
    const std::vector<InetAddressAndPort> others{cluster.node(2).address(), cluster.node(3).address(),
                                                 *InetAddressAndPort::parse("10.9.9.9:7000")};
    const std::vector<std::pair<BytesView, BytesView>> custom{{"name", "value"}};
    ParamsBuilder params;
    params.trace(Uuid::from_bytes("0123456789abcdef"), TraceType::kQuery).custom_map(custom);
    SendOptions options = limit;
    options.flags = kCallBackOnFailure;
    options.params = params.get();
    messenger.send_request_through(cluster.node(1).address(), others, Verb::kMutationReq,
                                   SharedBytes::copy_of(cluster.write("a", "x")), answers, options);
  });
  ASSERT_TRUE(cluster.wait([&] { return answers.from.size() == 3; }));
  EXPECT_THAT(answers.from, testing::UnorderedElementsAre("/10.0.0.2:7000", "/10.0.0.3:7000", "/10.0.0.4:7000"));
  for (size_t node : {1u, 2u}) EXPECT_EQ(cluster.lines(node, "t", "a"), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(seen, (std::vector<std::string>{"answer /10.0.0.1:7000 traced name=value failures"}));
  EXPECT_EQ(log.count("MUTATION_REQ of /10.0.0.1:7000 is not passed on to /10.9.9.9:7000, which is no node of this"),
            1u);
  EXPECT_EQ(cluster.node(1).statistics().forwarded, 2u);
}

// Cassandra names each node once.
TEST(PeerWrites, AMutationIsPassedOnToANodeOnce) {
  PeersCluster cluster(3, 1);
  cluster.make_tables();
  Answers answers;
  cluster.on(0, 0, [&] {
    const std::vector<ParamsBuilder::Forward> targets(1000, {cluster.node(2).address(), 7});
    ParamsBuilder params;
    params.forward_to(targets);
    SendOptions options = within(cluster, 0, std::chrono::seconds(2));
    options.params = params.get();
    cluster.node(0).messengers[0]->send_request(cluster.node(1).address(), Verb::kMutationReq,
                                                SharedBytes::copy_of(cluster.write("a", "x")), answers, options);
  });
  ASSERT_TRUE(cluster.wait([&] { return answers.from.size() == 1; }));
  EXPECT_EQ(cluster.node(1).statistics().forwarded, 1u);
  ASSERT_TRUE(cluster.wait([&] { return cluster.node(2).statistics().writes > 0; }));
  EXPECT_EQ(cluster.lines(2, "t", "a"), (Lines{"a", "  1: v=x@10"}));
  EXPECT_EQ(cluster.node(2).statistics().writes, 1u);
}

// ---- The schema is on its way

TEST(PeerWrites, AWriteToATableThatIsOnItsWayWaitsForIt) {
  PeersCluster cluster(2, 2);
  const std::vector<Bytes> schema = cluster.make_tables({"t"}, false);
  std::vector<std::optional<std::string>> answers(8);
  for (size_t i = 0; i < answers.size(); ++i) {
    cluster.begin(0, 1, Verb::kMutationReq, cluster.write(std::string(1, static_cast<char>('a' + i)), "x"),
                  &answers[i]);
  }
  cluster.world().run_for(std::chrono::milliseconds(300));
  for (const auto& answer : answers) EXPECT_FALSE(answer.has_value());
  ASSERT_TRUE(cluster.merge(1, schema).ok());
  ASSERT_TRUE(cluster.wait([&] { return std::ranges::all_of(answers, [](auto& a) { return a.has_value(); }); }));
  for (const auto& answer : answers) EXPECT_EQ(*answer, "");
  EXPECT_EQ(cluster.rows(1, "t"), 8u);
  EXPECT_EQ(cluster.node(1).statistics().waited_for_schema, 8u);
  EXPECT_EQ(cluster.node(1).statistics().incompatible_schema, 0u);
}

TEST(PeerWrites, AWriteToATableThatDoesNotComeFailsAtHalfOfItsTime) {
  PeersCluster cluster(2, 1);
  cluster.make_tables({"t"}, false);
  Clock& clock = cluster.world().clock();
  const int64_t began = clock.monotonic_nanos();
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write("a", "x")), "<INCOMPATIBLE_SCHEMA>");
  EXPECT_NEAR(static_cast<double>(clock.monotonic_nanos() - began) / 1e9, 1.0, 0.1);
  EXPECT_EQ(cluster.node(1).statistics().incompatible_schema, 1u);
}

TEST(PeerWrites, OnlySoManyWaitForTheSchema) {
  PeerRequestsOptions options;
  options.max_waiting = 3;
  PeersCluster cluster(2, 1, 3, options);
  cluster.make_tables({"t"}, false);
  std::vector<std::optional<std::string>> answers(5);
  for (auto& answer : answers) cluster.begin(0, 1, Verb::kMutationReq, cluster.write("a", "x"), &answer);
  auto answered = [&] { return std::ranges::count_if(answers, [](auto& answer) { return answer.has_value(); }); };
  cluster.world().run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(answered(), 2);
  cluster.world().run_for(std::chrono::seconds(2));
  EXPECT_EQ(answered(), 5);
  for (const auto& answer : answers) EXPECT_EQ(answer, "<INCOMPATIBLE_SCHEMA>");
}

TEST(PeerWrites, OnlySoManyBytesWaitForTheSchema) {
  PeerRequestsOptions options;
  options.max_waiting_bytes = 1000;
  PeersCluster cluster(2, 1, 3, options);
  cluster.make_tables({"t"}, false);
  std::optional<std::string> small, large;
  cluster.begin(0, 1, Verb::kMutationReq, cluster.write("a", std::string(1000, 'x')), &large);
  cluster.begin(0, 1, Verb::kMutationReq, cluster.write("a", "x"), &small);
  cluster.world().run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(large, "<INCOMPATIBLE_SCHEMA>");
  EXPECT_FALSE(small.has_value());
}

TEST(PeerWrites, AColumnThatIsOnItsWayIsWaitedFor) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  auto wider = std::make_shared<TableMetadata>(*cluster.table("kv"));
  std::vector<ColumnPtr> columns = wider->regular_columns;
  columns.push_back(std::make_shared<Column>(Column{"w", types::text(), ColumnKind::kRegular, -1, {}}));
  wider = std::make_shared<TableMetadata>("ks", "kv", wider->id, wider->partition_key, wider->clustering, columns);
  const Bytes body = cluster.bytes_of(std::move(Update(wider, "a").at(5).row(std::vector<int32_t>{}).cell("w", "x")));
  std::optional<std::string> answer;
  cluster.begin(0, 1, Verb::kMutationReq, body, &answer);
  cluster.world().run_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(answer.has_value());
  cluster.part({0});
  auto altered = cluster.change(0, [&](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    return SchemaPtr(schema->with_keyspace(with_table(*schema->keyspace("ks"), wider)));
  });
  ASSERT_TRUE(altered.ok());
  ASSERT_TRUE(cluster.merge(1, altered->mutations).ok());
  ASSERT_TRUE(cluster.wait([&] { return answer.has_value(); }));
  EXPECT_EQ(*answer, "");
  EXPECT_EQ(cluster.rows(1, "kv"), 1u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, body.substr(0, body.size() - 3)), "<UNKNOWN>");
}

// ---- Bad bodies

Bytes two_parts(const PartitionUpdate& a, const PartitionUpdate& b) {
  const std::vector<PartitionUpdate> updates{a, b};
  Bytes bytes;
  serialize(Mutation{a.table->keyspace, a.key, updates}, bytes);
  return bytes;
}

TEST(PeerWrites, ABadBodyIsRefusedAndTheConnectionStays) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  CapturedLog log;
  Update a(cluster.table("t"), "a"), b(cluster.table("t"), "b"), backwards(cluster.table("t"), "c");
  a.row(1).cell("v", "x");
  b.row(1).cell("v", "x");
  backwards.row(1).cell("v", "x").row(2).cell("v", "x");
  std::vector<Row> rows(backwards.build().rows.begin(), backwards.build().rows.end());
  std::ranges::reverse(rows);
  PartitionUpdate reversed = backwards.build();
  reversed.rows = rows;
  Bytes unordered;
  serialize(Mutation{"ks", reversed.key, {&reversed, 1}}, unordered);
  const Bytes good = cluster.write("good", "x");
  for (Verb verb : {Verb::kMutationReq, Verb::kReadRepairReq}) {
    for (const Bytes& body : {Bytes(), Bytes("garbage"), good.substr(0, good.size() - 1), good + "x", unordered,
                              two_parts(a.build(), b.build())}) {
      EXPECT_EQ(cluster.ask(0, 1, verb, body), "<UNKNOWN>");
    }
    EXPECT_EQ(cluster.ask(0, 1, verb, good), "");
  }
  EXPECT_EQ(cluster.node(1).statistics().malformed, 12u);
  EXPECT_EQ(log.count("MUTATION_REQ of /10.0.0.1:7000 is refused: its parts are of different partitions"), 1u);
  EXPECT_EQ(log.count("is refused: "), 10u);  // ten lines a minute
  EXPECT_EQ(cluster.rows(1, "t"), 1u);
  EXPECT_EQ(cluster.node(0).messengers[0]->peers()[0].links.size(), 1u);
}

TEST(PeerWrites, ANodesOwnTablesAreNotWritten) {
  PeersCluster cluster(2, 1);
  CapturedLog log;
  for (const auto& [keyspace, name] : {std::pair{"system", "batches"}, {"system_schema", "keyspaces"}}) {
    const TablePtr table = cluster.node(1).replica().schema().current()->table(keyspace, name);
    const size_t before = cluster.rows(1, name, keyspace);
    Bytes body;
    PartitionUpdate update;
    update.table = table.get();
    update.key = DecoratedKey::of("0123456789abcdef");
    update.partition_deletion = {100, 100};
    serialize(Mutation{keyspace, update.key, {&update, 1}}, body);
    EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, body), "<UNKNOWN>");
    EXPECT_EQ(cluster.rows(1, name, keyspace), before);
  }
  EXPECT_EQ(log.count("MUTATION_REQ of /10.0.0.1:7000 is refused: it writes to a table of the node's own"), 2u);
}

TEST(PeerWrites, AVerbThatIsNotServedFails) {
  PeersCluster cluster(2, 1);
  CapturedLog log;
  EXPECT_EQ(cluster.ask(0, 1, Verb::kPaxosPrepareReq, "anything"), "<UNKNOWN>");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kValidationReq, "anything"), "<UNKNOWN>");
  EXPECT_EQ(log.count("/10.0.0.1:7000 sent PAXOS_PREPARE_REQ, which this node does not serve"), 1u);
}

// ---- Tokens of others

TEST(PeerWrites, AWriteForATokenOfOthersIsAppliedAndCounted) {
  PeersCluster cluster(3, 1, 1);
  cluster.make_tables();
  CapturedLog log;
  const std::string mine = cluster.key_of(1), others = cluster.key_of(2);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write(mine, "x")), "");
  EXPECT_EQ(cluster.node(1).statistics().out_of_range_writes, 0u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write(others, "x")), "");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write(others, "y", 20)), "");
  EXPECT_EQ(cluster.lines(1, "t", others), (Lines{others, "  1: v=y@20"}));
  EXPECT_EQ(cluster.node(1).statistics().out_of_range_writes, 2u);
  EXPECT_EQ(log.count("Receiving mutation(s) for token(s) neither owned nor pending. Example: from /10.0.0.1:7000"),
            1u);
}

TEST(PeerWrites, AWriteForATokenOfOthersIsRejectedWhenTheNodeIsToldTo) {
  PeerRequestsOptions options;
  options.reject_out_of_token_range = true;
  PeersCluster cluster(3, 1, 1, options);
  cluster.make_tables();
  const std::string others = cluster.key_of(2);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write(others, "x")), "<UNKNOWN>");
  EXPECT_EQ(cluster.lines(1, "t", others), Lines());
}

// ---- Other writes

TEST(PeerWrites, ACounterIsLedHere) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  const Bytes deltas =
      cluster.bytes_of(std::move(Update(cluster.table("n"), "a").row(1).cell("n", make_counter_update(3))));
  Bytes body, none;
  append_counter_mutation(body, deltas, "LOCAL_QUORUM");
  append_counter_mutation(none, cluster.write("a", "x"), "ONE");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kCounterMutationReq, body), "");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kCounterMutationReq, none), "<UNKNOWN>");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kCounterMutationReq, deltas), "<UNKNOWN>");
  EXPECT_EQ(cluster.node(1).coordinators[0]->replicated_writes().led, (std::vector<std::string>{"ks LOCAL_QUORUM"}));
  EXPECT_EQ(cluster.rows(1, "n"), 1u);
}

TEST(PeerWrites, ADamagedCounterIsRefused) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  auto with = [&](const std::string& value) {
    return cluster.bytes_of(std::move(Update(cluster.table("n"), "a").row(1).cell("n", value)));
  };
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, with("8 bytes!")), "<UNKNOWN>");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, with("")), "<UNKNOWN>");
  EXPECT_EQ(cluster.rows(1, "n"), 0u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, with(make_counter_context(Uuid::random(1, 2), 1, 5))), "");
  EXPECT_EQ(cluster.rows(1, "n"), 1u);
}

TEST(PeerWrites, ATableIsTruncated) {
  PeersCluster cluster(2, 2);
  cluster.make_tables();
  for (const std::string key : {"a", "b", "c"}) cluster.ask(0, 1, Verb::kMutationReq, cluster.write(key, "x"));
  Bytes body, own, expected;
  append_truncate_request(body, {"ks", "t"});
  append_truncate_request(own, {"system", "local"});
  append_truncate_response(expected, {"ks", "t", true});
  EXPECT_EQ(cluster.ask(0, 1, Verb::kTruncateReq, body), expected);
  EXPECT_EQ(cluster.rows(1, "t"), 0u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kTruncateReq, own), "<UNKNOWN>");
  EXPECT_EQ(cluster.rows(1, "local", "system"), 1u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kTruncateReq, "x"), "<UNKNOWN>");
}

TEST(PeerWrites, ABatchIsKeptAndRemoved) {
  PeersCluster cluster(2, 1);
  cluster.make_tables();
  const Bytes a = cluster.write("a", "x"), b = cluster.write("b", "y");
  const std::vector<BytesView> mutations{a, b};
  const Uuid id = cluster.node(0).coordinators[0]->batchlog().next_id();
  Bytes store, remove, forged;
  append_batch(store, id, id.unix_micros(), mutations);
  append_batch_id(remove, id);
  append_batch(forged, Uuid::from_bytes("0123456789abcdef"), 1, mutations);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kBatchStoreReq, store), "");
  EXPECT_EQ(cluster.rows(1, "batches", "system"), 1u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kBatchStoreReq, forged), "<UNKNOWN>");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kBatchStoreReq, "x"), "<UNKNOWN>");
  EXPECT_EQ(cluster.ask(0, 1, Verb::kBatchRemoveReq, remove), "<TIMEOUT>");  // it has no answer
  EXPECT_EQ(cluster.rows(1, "batches", "system"), 0u);
}

TEST(PeerWrites, APingIsAnswered) {
  PeersCluster cluster(2, 1);
  for (ConnectionType type : {ConnectionType::kUrgent, ConnectionType::kSmall, ConnectionType::kLarge}) {
    Bytes body;
    append_ping_request(body, type);
    EXPECT_EQ(cluster.ask(0, 1, Verb::kPingReq, body), "");
  }
  EXPECT_EQ(cluster.node(1).messengers[0]->peers()[0].links.size(), 3u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kPingReq, "x"), "<UNKNOWN>");
}

}  // namespace
}  // namespace cassandra_like::test
