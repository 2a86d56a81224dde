// Bodies of all verbs with random damage: whatever comes of them, the node lives, serves its next request on the same connection,
// and starts again with what it has.
#include <random>

#include "messaging/wire/batch_codec.h"
#include "model/counter.h"
#include "peers/schema_exchange.h"
#include "tests/peers/peers_fixture.h"

namespace cassandra_like::test {
namespace {

struct Sample {
  Verb verb;
  Bytes body;
};

Bytes many_kinds(PeersCluster& cluster) {
  Update update(cluster.table("t"), "mixed");
  update.at(50)
      .static_row()
      .cell("s", "static")
      .row(1)
      .live()
      .cell("v", "x")
      .cell("w", "y", 100, storage_test::kNow + 100);
  update.row(2).clear("m").element("m", "a", "1").element("m", "b", "2").row(3).tombstone("v").row(9).delete_row();
  update.delete_range(4, true, 7, false);
  return cluster.bytes_of(std::move(update));
}

std::vector<Sample> samples(PeersCluster& cluster) {
  std::vector<Sample> out;
  const Bytes mixed = many_kinds(cluster), plain = cluster.write("plain", "x");
  const Bytes wide = cluster.bytes_of(std::move(Update(cluster.table("d"), "wide")
                                                    .row({1, 2})
                                                    .cell("v", "x")
                                                    .row({2, 1})
                                                    .cell("v", "y")
                                                    .delete_range(5, true, 6, true)));
  const Bytes deltas =
      cluster.bytes_of(std::move(Update(cluster.table("n"), "n").row(1).cell("n", make_counter_update(3))));
  for (const Bytes& body : {mixed, plain, wide, deltas}) {
    out.push_back({Verb::kMutationReq, body});
    out.push_back({Verb::kReadRepairReq, body});
    Bytes hint;
    append_hint_message(hint, {cluster.node(1).host_id, 2'000'000'000'000, 864000, body});
    out.push_back({Verb::kHintReq, hint});
  }
  Bytes counter, batch, removal;
  append_counter_mutation(counter, deltas, "ONE");
  out.push_back({Verb::kCounterMutationReq, counter});
  const std::vector<BytesView> mutations{plain, mixed};
  const Uuid id = cluster.node(0).coordinators[0]->batchlog().next_id();
  append_batch(batch, id, id.unix_micros(), mutations);
  append_batch_id(removal, id);
  out.push_back({Verb::kBatchStoreReq, batch});
  out.push_back({Verb::kBatchRemoveReq, removal});
  for (const char* name : {"t", "d", "n", "kv"}) {
    for (const bool is_range : {false, true}) {
      ReadRequest request;
      request.command.table = cluster.table(name);
      request.command.now_seconds = storage_test::kNow;
      request.command.reversed = is_range && std::string(name) == "t";
      if (is_range) request.command.range = KeyRange{};
      if (!is_range) request.command.keys.push_back(DecoratedKey::of("mixed"));
      request.columns = ColumnFilter::all(*request.command.table);
      Bytes body;
      encode_read_request(request, kMessagingVersion50, body);
      out.push_back({is_range ? Verb::kRangeReq : Verb::kReadReq, body});
    }
  }
  return out;
}

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}
  Bytes operator()(Bytes body) {
    const size_t times = 1 + below(3);
    for (size_t i = 0; i < times && !body.empty(); ++i) {
      const size_t at = below(body.size());
      const size_t kind = below(5);
      if (kind == 0) body.resize(at);
      if (kind == 1) body[at] = static_cast<char>(random_());
      if (kind == 2) body[at] = static_cast<char>(body[at] ^ (1 << below(8)));
      if (kind == 3) body.erase(at, 1 + below(4));
      if (kind == 4) body.insert(at, body.substr(below(body.size()), 1 + below(16)));
    }
    return body;
  }
  size_t below(size_t n) { return random_() % n; }

 private:
  std::mt19937_64 random_;
};

TEST(DamagedBodies, HarmNobody) {
  PeersCluster cluster(2, 2);
  cluster.make_tables({"t", "n", "kv", "d"}, true);
  const std::vector<Sample> all = samples(cluster);
  for (const Sample& sample : all) {
    const std::string answer = cluster.ask(0, 1, sample.verb, sample.body);
    EXPECT_TRUE(sample.verb == Verb::kBatchRemoveReq || answer.empty() || answer.front() != '<')
        << verb_name(sample.verb) << answer;
  }
  Damage damage(1);
  std::vector<std::optional<std::string>> answers(3000);
  SendOptions options;
  for (size_t i = 0; i < answers.size(); ++i) {
    const Sample& sample = all[damage.below(all.size())];
    cluster.begin(0, 1, sample.verb, damage(sample.body), &answers[i], options, static_cast<unsigned>(i % 2));
  }
  cluster.world().run_for(std::chrono::seconds(30));
  EXPECT_GT(cluster.node(1).statistics().malformed, 500u);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write("good", "x")), "");
  EXPECT_EQ(cluster.lines(1, "t", "good"), (Lines{"good", "  1: v=x@10"}));
  const size_t rows = cluster.rows(1, "t");
  cluster.restart(1);
  EXPECT_EQ(cluster.rows(1, "t"), rows);
  EXPECT_EQ(cluster.ask(0, 1, Verb::kMutationReq, cluster.write("after", "x")), "");
}

TEST(DamagedBodies, OfSchemasLeaveASchema) {
  PeersCluster cluster(2, 1);
  cluster.part({0});
  auto made = cluster.change(0, make_keyspace({cluster.table("t"), cluster.table("d")}));
  ASSERT_TRUE(made.ok());
  const Bytes body(join_schema_mutations(made->mutations).view());
  Damage damage(2);
  std::vector<std::optional<std::string>> answers(300);
  for (auto& answer : answers) cluster.begin(0, 1, Verb::kSchemaPushReq, damage(body), &answer);
  cluster.world().run_for(std::chrono::seconds(60));
  cluster.restart(1);
  // Whatever came of them loses against a whole schema of a later time.
  const auto dropped = cluster.change(0, [](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    return SchemaPtr(schema->without_keyspace("ks"));
  });
  ASSERT_TRUE(dropped.ok());
  EXPECT_TRUE(cluster.merge(1, dropped->mutations).ok());
}

}  // namespace
}  // namespace cassandra_like::test
