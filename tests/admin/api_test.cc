// The parts that need no node: arguments, credentials, percentiles, the metrics' text.
#include "admin/api.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "admin/prometheus.h"
#include "admin/statistics.h"

namespace cassandra_like {
namespace {

using admin::Parameters;

TEST(Parameters, KeepTheirOrderAndMayRepeat) {
  auto parsed = Parameters::parse("keyspace=ops&table=a%20b&table=c+d&skip_flush=true&empty=&bare");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->get("keyspace"), "ops");
  EXPECT_EQ(parsed->all("table"), (std::vector<std::string>{"a b", "c d"}));
  EXPECT_TRUE(parsed->is_true("skip_flush"));
  EXPECT_TRUE(parsed->has("empty") && parsed->has("bare"));
  EXPECT_FALSE(parsed->has("ttl"));
  EXPECT_EQ(parsed->get("ttl"), "");
}

TEST(Parameters, UndoEscapesOfAnyByte) {
  EXPECT_EQ(Parameters::parse("k=%C3%a9%26%3D%25")->get("k"), "\xC3\xA9&=%");
  EXPECT_EQ(Parameters::parse("a%3Db=c=d")->get("a=b"), "c=d");
}

TEST(Parameters, RefuseHalfAnEscape) {
  EXPECT_FALSE(Parameters::parse("k=%4"));
  EXPECT_FALSE(Parameters::parse("k=%"));
  EXPECT_FALSE(Parameters::parse("%zz=1"));
}

TEST(Answers, CarryTheirErrorAsJson) {
  HttpResponse response = admin::to_http(admin::not_supported("compact --partition"));
  EXPECT_EQ(response.status, 501);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body, R"({"error":"compact --partition is not supported yet"})");
}

TEST(Answers, SurviveNamesThatAreNotText) {
  HttpResponse response = admin::to_http(admin::refuse(400, "no table \xFF"));
  EXPECT_EQ(response.body, "{\"error\":\"no table \xEF\xBF\xBD\"}");
}

// Bounds as EstimatedHistogram.min() and max(): 130 lies in (124, 149], 10 in (8, 10].
TEST(PercentilesOf, AreBoundsOfBuckets) {
  Histogram histogram;
  for (int i = 0; i < 99; ++i) histogram.record(10);
  histogram.record(130);
  Percentiles p = percentiles(histogram);
  EXPECT_EQ((std::vector<uint64_t>{p.p50, p.p75, p.p95, p.p98, p.p99, p.min, p.max}),
            (std::vector<uint64_t>{10, 10, 10, 10, 10, 9, 149}));
}

TEST(PercentilesOf, NothingAreZeros) {
  Histogram histogram;
  EXPECT_EQ(percentiles(histogram).max, 0u);
  histogram.record(0);
  Percentiles p = percentiles(histogram);
  EXPECT_EQ((std::vector<uint64_t>{p.p50, p.p99, p.min, p.max}), (std::vector<uint64_t>{0, 0, 0, 0}));
}

TEST(ThreadPools, HaveCassandrasNames) {
  std::vector<TableReport> tables(2);
  tables[0].statistics.reads = 3;
  tables[1].statistics.reads = 4;
  tables[1].statistics.writes = 5;
  EngineStatistics engines{.commitlog_pending = 1, .flushes_completed = 6, .compactions_completed = 7};
  AdminTransport transport;
  transport.requests = 20;
  transport.requests_in_flight = 2;
  transport.auth_failures = 1;
  using Row = std::tuple<std::string, uint64_t, uint64_t, uint64_t>;
  std::vector<Row> pools;
  std::vector<std::string> idle;
  for (const ThreadPool& p : thread_pools(tables, engines, transport)) {
    if (p.is_idle) idle.push_back(p.name);
    EXPECT_TRUE(!p.is_idle || p.active + p.pending + p.completed == 0) << p.name;
    pools.emplace_back(p.name, p.active, p.pending, p.completed);
  }
  EXPECT_TRUE(std::is_sorted(pools.begin(), pools.end()));
  std::erase_if(pools,
                [&](const Row& row) { return std::find(idle.begin(), idle.end(), std::get<0>(row)) != idle.end(); });
  EXPECT_EQ(pools, (std::vector<Row>{{"CompactionExecutor", 0, 0, 7},
                                     {"MemtableFlushWriter", 0, 0, 6},
                                     {"MemtablePostFlush", 0, 0, 6},
                                     {"MemtableReclaimMemory", 0, 0, 6},
                                     {"MutationStage", 0, 1, 5},
                                     {"Native-Transport-Auth-Requests", 0, 0, 1},
                                     {"Native-Transport-Requests", 2, 0, 18},
                                     {"ReadStage", 0, 0, 7}}));
  // A cluster has gossip, hints and pending ranges: zeros would not be true.
  EXPECT_EQ(idle, (std::vector<std::string>{"CacheCleanupExecutor", "Sampler", "StatusPropagationExecutor",
                                            "ValidationExecutor", "ViewBuildExecutor"}));
}

TEST(Prometheus, WritesFamiliesAndSamples) {
  PrometheusText text;
  text.family("cassandra_table_reads_total", PrometheusText::Kind::kCounter, "Local reads");
  text.sample({{"keyspace", "a"}, {"table", "quote\" back\\ line\n"}}, 12);
  text.family("cassandra_uptime_seconds", PrometheusText::Kind::kGauge, "Since the node started");
  text.sample({}, 1.5);
  EXPECT_EQ(text.take(),
            "# HELP cassandra_table_reads_total Local reads\n"
            "# TYPE cassandra_table_reads_total counter\n"
            "cassandra_table_reads_total{keyspace=\"a\",table=\"quote\\\" back\\\\ line\\n\"} 12\n"
            "# HELP cassandra_uptime_seconds Since the node started\n"
            "# TYPE cassandra_uptime_seconds gauge\n"
            "cassandra_uptime_seconds 1.5\n");
}

TEST(Prometheus, HistogramsCountUpToEachBound) {
  Histogram histogram;
  histogram.record(1);
  histogram.record(200);
  histogram.record(90'000'000);
  PrometheusText text;
  text.family("latency_seconds", PrometheusText::Kind::kHistogram, "Requests");
  text.micros({{"request", "read"}}, histogram);
  std::string out = text.take();
  auto has = [&out](const std::string& line) { return out.find(line + "\n") != std::string::npos; };
  EXPECT_TRUE(has("latency_seconds_bucket{request=\"read\",le=\"1e-06\"} 1"));
  EXPECT_TRUE(has("latency_seconds_bucket{request=\"read\",le=\"0.000179\"} 1")) << out;
  EXPECT_TRUE(has("latency_seconds_bucket{request=\"read\",le=\"0.000372\"} 2")) << out;
  EXPECT_TRUE(has("latency_seconds_bucket{request=\"read\",le=\"+Inf\"} 3"));
  EXPECT_TRUE(has("latency_seconds_sum{request=\"read\"} 90.000201"));
  EXPECT_TRUE(has("latency_seconds_count{request=\"read\"} 3"));
}

}  // namespace
}  // namespace cassandra_like
