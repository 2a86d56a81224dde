// Ids of prepared statements and of their results' metadata: all were recorded from Cassandra 5.0.9.
#include <gtest/gtest.h>

#include "cql/query_processor.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test::recorded_ids_test {
namespace {

struct Recorded {
  const char* text;
  const char* id;
  const char* metadata_id;  // empty: Cassandra gives the digest of nothing
};

constexpr Recorded kRecorded[] = {
    {"SELECT * FROM ids.t", "a5d4bc5737aa1973943131e7c7dc6718", "b61ccad614eb42e4e7e871aa3825ed02"},
    {"SELECT k, c, r, s FROM ids.t", "054ac4dd980b3e4a51832ffab86f346d", "d6d3ebeb7582ccee4733af6a49bcc112"},
    {"SELECT v, l, m, st FROM ids.t", "73f549426adfd96aaa23a3356f6dd162", "0a143f617718ce2e241e7ba36e39e65d"},
    {"SELECT u, fu, tu, d, x, ve FROM ids.t", "1cb99876e0a50d2be19505f352d736cc", "e3bb4bbb0f6ff33a4e6428f6ea8394dd"},
    {"SELECT count(*), max(k), writetime(v), ttl(v) FROM ids.t", "aa76a7388d1982fd47b8f6bda95b98aa",
     "34927367a7d9d2244385feaed5aa492e"},
    {"SELECT JSON k FROM ids.t", "2c535e10c3dfe94cb95eaef8c69825df", "463b60e56892a8c5054af3a805d1dd73"},
    {"SELECT m['a'], v['x'] FROM ids.t WHERE k IN ? AND (c, r) > ?", "05f933221b77c1a11e2474e56ebd7e7f",
     "59239ae9f719282b0b02476ed81c40df"},
    {"SELECT ve, similarity_cosine(ve, [1,2,3]) FROM ids.t", "7754c1fff76df5668c1d7ff863de2953",
     "4429fb26e632102aca703f6254956cdf"},
    {"SELECT * FROM ids.n", "8f777d8ccda56d992622ecd2ac859eb8", "5a9f2b672520cef8be18f2da20be2723"},
    {"SELECT * FROM system.local", "7526e68bbdece565d27c79432bb4b722", "986f8cfa96821356d89a6afc0b20b2d3"},
    {"SELECT * FROM system_schema.tables", "bf613bd0085026d88ac8f9fb31c89fa2", "973f78f5a07006a4b722bf2b4a887446"},
    {"INSERT INTO ids.t (k, c, r, d) VALUES (?, ?, ?, ?)", "b6d42207df9cb6c120b6666d0c087daf", ""},
    {"UPDATE ids.n SET n = n + ? WHERE k = ?", "84f5715bfd9de91a642c7689add760b6", ""},
    {"BEGIN BATCH INSERT INTO ids.t (k, c, r) VALUES (?, ?, ?) APPLY BATCH", "da175b6415bd2f989b65ffc8d05f9508", ""},
    {"TRUNCATE ids.t", "75d45096a5f9b479ea1c4c9bc7e9d063", ""},
};

TEST(RecordedIds, AreThoseOfCassandra) {
  ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor = QueryProcessor::create(node.runtime(0), *coordinator, {});
  processor->set_peers({processor.get()});
  ClientState client;
  for (const char* text :
       {"CREATE KEYSPACE ids WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
        "CREATE TYPE ids.u (a int, b frozen<list<text>>)",
        "CREATE TABLE ids.t (k int, c timeuuid, r timestamp, s text static, v frozen<map<text, u>>, l list<int>, "
        "m map<text, frozen<set<int>>>, st set<text>, u u, fu frozen<u>, tu tuple<int, text>, d duration, "
        "x 'org.apache.cassandra.db.marshal.LexicalUUIDType', ve vector<float, 3>, PRIMARY KEY (k, c, r)) "
        "WITH CLUSTERING ORDER BY (c DESC, r ASC)",
        "CREATE TABLE ids.n (k int PRIMARY KEY, n counter)"}) {
    auto created =
        node.run<Result<QueryResult>>(0, [&] { return processor->query(text, QueryOptions{}, QueryState{client}); });
    ASSERT_TRUE(created.ok()) << created.error().message();
  }
  for (const Recorded& recorded : kRecorded) {
    auto answer =
        node.run<Result<QueryResult>>(0, [&] { return processor->prepare(recorded.text, "", QueryState{client}); });
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    const auto& prepared = std::get<PreparedResult>(answer->value);
    EXPECT_EQ(to_hex(prepared.id), recorded.id) << recorded.text;
    const Bytes metadata_id = prepared.metadata == nullptr ? Bytes() : prepared.metadata->id;
    EXPECT_EQ(to_hex(metadata_id), recorded.metadata_id) << recorded.text;
  }
  node.kill();
}

}  // namespace
}  // namespace cassandra_like::test::recorded_ids_test
