// The rows that a traced request leaves in system_traces.
#include "cql/context/tracing.h"

#include "gtest/gtest.h"
#include "model/values.h"
#include "tests/cql/function_fixture.h"

namespace cassandra_like {
namespace {

class LocalReplica : public Replica {
 public:
  Task<Status> mutate(const MutationPayload&) override { return Status(); }
  Task<Result<SerializedMutation>> mutate_counter(const MutationPayload&) override {
    return Result<SerializedMutation>(invalid("idle"));
  }
  Task<Result<ReadStatistics>> read(const ReadCommand&, RowSink&, int64_t) override {
    return Result<ReadStatistics>(invalid("idle"));
  }
  Task<Result<ReadStatistics>> read_unfiltered(const ReadRequest&, UnfilteredSink&, int64_t) override {
    return Result<ReadStatistics>(invalid("idle"));
  }
  Task<Status> truncate(TablePtr) override { return Status(); }
  SchemaStore& schema() override { std::abort(); }
  void prefetch(std::span<const PrefetchKey>) override {}
  VirtualTables& virtual_tables() override { std::abort(); }
  Engine& engine() override { std::abort(); }
  const LocalNode& local_node() const override { return node; }
  TopologyStore& topology() override { std::abort(); }
  const ReplicaStatistics& statistics() const override { return none; }
  Task<Status> on_every_engine(std::function<Task<Status>(Engine&)>) override { return Status(); }
  Task<std::vector<TableStatistics>> table_statistics(Uuid) override { return std::vector<TableStatistics>(); }
  Task<std::vector<EngineStatistics>> engine_statistics() override { return std::vector<EngineStatistics>(); }
  Task<Status> build_index(TablePtr, std::string) override { return Status(); }

  LocalNode node;
  ReplicaStatistics none;
};

class LocalCoordinator : public IdleCoordinator {
 public:
  Replica& replica() override { return local; }
  LocalReplica local;
};

class TraceProcessor : public IdleServices {
 public:
  using IdleServices::IdleServices;
  Task<Result<QueryResult>> execute_internal(std::string text, std::vector<Bytes> values, Consistency) override {
    written.emplace_back(std::move(text), std::move(values));
    return Result<QueryResult>(QueryResult{VoidResult{}, {}, {}});
  }
  Coordinator& coordinator() override { return coordinator_; }
  LocalCoordinator coordinator_;
  std::vector<std::pair<std::string, std::vector<Bytes>>> written;
};

Task<void> finish(TraceSession* trace, bool* ok) {
  Status status = co_await trace->finish();
  *ok = status.ok();
}

TEST(Tracing, WritesTheSessionAndItsEventsForADay) {
  auto world = SimWorld::create(1);
  ShardRuntime& runtime = world->add_machine("10.0.0.1").boot(1).shard(0);
  TraceProcessor processor(runtime);
  processor.coordinator_.local.node.broadcast_address = "10.0.0.1";
  ClientState client;
  client.address = {"10.0.0.7", 40000};
  world->run_for(std::chrono::microseconds(700));  // within a millisecond
  const int64_t runtime_start_millis = runtime.clock.wall_millis();
  Bytes started = encode_bigint(runtime_start_millis);
  auto trace = TraceSession::begin(processor, client, "Execute CQL3 query", {{"query", "SELECT 1"}});
  trace->event("Parsing SELECT 1");
  world->run_for(std::chrono::microseconds(1500));
  trace->event("Preparing statement");
  bool ok = false;
  spawn(finish(trace.get(), &ok));

  EXPECT_TRUE(ok);
  ASSERT_EQ(processor.written.size(), 3u);
  const Bytes id(trace->id().view()), node("\n\0\0\1", 4);
  const std::string event =
      "INSERT INTO system_traces.events (session_id, event_id, activity, source, source_port, source_elapsed, thread) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) USING TTL 86400";
  const std::string thread = "Native-Transport-Requests-1";
  std::vector<Bytes> event_ids;
  for (int i : {0, 1}) {
    auto& [text, values] = processor.written[static_cast<size_t>(i)];
    EXPECT_EQ(text, event);
    ASSERT_EQ(values.size(), 7u);
    event_ids.push_back(values[1]);
    values.erase(values.begin() + 1);
    std::string activity = i == 0 ? "Parsing SELECT 1" : "Preparing statement";
    EXPECT_EQ(values, (std::vector<Bytes>{id, activity, node, encode_int(7000), encode_int(i * 1500), thread}));
  }
  EXPECT_LT(types::timeuuid()->compare(event_ids[0], event_ids[1]), 0);
  // The request's end, which clients put at started_at + duration, comes after the last event.
  const int64_t start_micros = runtime_start_millis * 1000;
  EXPECT_EQ(Uuid::from_bytes(event_ids[0]).unix_micros(), start_micros);
  EXPECT_EQ(Uuid::from_bytes(event_ids[1]).unix_micros(), start_micros + 1500);

  const auto& [text, values] = processor.written[2];
  EXPECT_EQ(
      text,
      "INSERT INTO system_traces.sessions (session_id, client, coordinator, coordinator_port, request, started_at, "
      "command, parameters, duration) VALUES (?, ?, ?, ?, ?, ?, 'QUERY', ?, ?) USING TTL 86400");
  Bytes parameters = encode_int(1);
  append_element(parameters, "query");
  append_element(parameters, "SELECT 1");
  EXPECT_EQ(values, (std::vector<Bytes>{id, Bytes("\n\0\0\7", 4), node, encode_int(7000), "Execute CQL3 query", started,
                                        parameters, encode_int(1501)}));
}

}  // namespace
}  // namespace cassandra_like
