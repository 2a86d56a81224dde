#include "tests/admin/admin_node.h"

namespace cassandra_like {
namespace {

constexpr unsigned kShards = 2;

AdminClient client(const std::string& user, uint16_t port, unsigned shard) {
  AdminClient result;
  result.address = "127.0.0.1";
  result.port = port;
  result.stage = "ready";
  result.user = user;
  result.keyspace = "shop";
  result.driver_name = "Apache Cassandra Python Driver";
  result.driver_version = "3.30.1";
  result.options = {{"CQL_VERSION", "3.4.7"}};
  result.protocol_version = 5;
  result.requests = 565;
  result.shard = shard;
  return result;
}

AdminTransport transport() {
  AdminTransport result;
  result.connected_clients = 2;
  result.requests = 1130;
  result.requests_in_flight = 1;
  result.auth_successes = 2;
  result.request_micros.record(250);
  return result;
}

}  // namespace

AdminNodeTest::AdminNodeTest(std::function<void(AdminNode&)> complete) : world_(SimWorld::create(7)) {
  machine_ = &world_->add_machine("127.0.0.1");
  runtime_ = &machine_->boot(kShards);
  EngineOptions options;
  options.data_directories = {"/data"};
  options.commitlog_directory = "/commitlog";
  options.memtable_bytes = 64 << 20;
  LocalNode local;
  local.cluster_name = "Test Cluster";
  local.data_center = "datacenter1";
  local.rack = "rack1";
  local.listen_address = local.broadcast_address = local.rpc_address = "127.0.0.1";
  local.host_id = *Uuid::parse(kHostId);
  local.tokens = {8509543625024547390, -9201284755974110584};
  auto opened = run<Result<std::unique_ptr<ShardedReplica>>>(
      0, [&] { return ShardedReplica::open(runtime_, options, local, 2); });
  EXPECT_TRUE(opened.ok()) << opened.error().message();
  replicas_ = std::move(*opened);
  coordinators_.resize(kShards);
  processors_.resize(kShards);
  context_->node.runtime = runtime_;
  for (unsigned i = 0; i < kShards; ++i) make_parts(i);
  context_->node.engine_options = options;
  context_->node.snitch = "org.apache.cassandra.locator.SimpleSnitch";
  context_->node.started_nanos = runtime_->shard(0).clock.monotonic_nanos();
  context_->hooks = hooks();
  std::vector<QueryProcessor*> peers = context_->node.processors;
  for (auto& processor : processors_) processor->set_peers(peers);
  if (complete) complete(context_->node);
  for (unsigned i = 0; i < kShards; ++i) add_system_views(context_->node, i, context_->hooks);
}

AdminNodeTest::~AdminNodeTest() { machine_->shut_down(); }

void AdminNodeTest::make_parts(unsigned shard) {
  ShardRuntime& runtime = runtime_->shard(shard);
  Replica& replica = replicas_->shard(shard);
  coordinators_[shard] = Coordinator::create(runtime, replica, {});
  processors_[shard] = QueryProcessor::create(runtime, *coordinators_[shard], {});
  context_->node.replicas.push_back(&replica);
  context_->node.coordinators.push_back(coordinators_[shard].get());
  context_->node.processors.push_back(processors_[shard].get());
}

AdminHooks AdminNodeTest::hooks() {
  auto note = [this](const char* call) {
    return [this, call] {
      calls_.push_back(call);
      return Task<Status>(Status());
    };
  };
  AdminHooks hooks;
  hooks.clients = [] { return std::vector<AdminClient>{client("", 50376, 0), client("alice", 50378, 1)}; };
  hooks.client_history = [] {
    return std::vector<AdminClientHistory>{{5, "127.0.0.1", 1000}, {5, "127.0.0.1", 3000}, {4, "127.0.0.1", 2000}};
  };
  hooks.clear_client_history = note("clear_client_history");
  hooks.show_guardrails = [](const Guardrails& g) {
    return std::vector<AdminGuardrail>{
        {"items_per_collection_threshold", {"-1", std::to_string(g.items_per_collection_warn_threshold)}}};
  };
  hooks.change_guardrail = [](Guardrails* g, const std::string& name, const std::vector<std::string>& values, int) {
    if (name != "items_per_collection_threshold") return Status(invalid("Guardrail " + name + " not found."));
    g->items_per_collection_warn_threshold = std::stoi(values[1]);
    return Status();
  };
  hooks.transport = [] { return transport(); };
  hooks.binary_running = [] { return true; };
  hooks.operation_mode = [] { return std::string("NORMAL"); };
  hooks.enable_binary = [this] {
    calls_.push_back("enable_binary");
    return Task<Status>(Status(invalid("The node is drained")));
  };
  hooks.disable_binary = note("disable_binary");
  hooks.drain = note("drain");
  hooks.refresh_size_estimates = note("refresh_size_estimates");
  hooks.replay_batchlog = note("replay_batchlog");
  hooks.stop = [this] { calls_.push_back("stop"); };
  hooks.logging_levels = [] {
    return std::vector<std::pair<std::string, std::string>>{{"ROOT", "INFO"}, {"commit_log", "DEBUG"}};
  };
  hooks.set_logging_level = [this](const std::string& logger, const std::string& level) {
    calls_.push_back(logger + "=" + level);
    return level != "LOUD";
  };
  hooks.settings = [] {
    return std::vector<std::pair<std::string, std::string>>{{"cluster_name", "Test Cluster"}, {"num_tokens", "16"}};
  };
  return hooks;
}

HttpResponse AdminNodeTest::send(HttpRequest request) {
  auto context = context_;
  return run<HttpResponse>(0, [context, request] { return admin::serve(context, request); });
}

AdminNodeTest::Reply AdminNodeTest::send(const std::string& method, const std::string& path, const std::string& query) {
  HttpResponse response =
      send(HttpRequest{method, path, query, "", {{"host", "127.0.0.1:7199"}, {"x-requested-by", "nodetool"}}});
  EXPECT_EQ(response.content_type, "application/json");
  return {response.status, admin::Json::parse(response.body)};
}

AdminNodeTest::Rows AdminNodeTest::cql(const std::string& statement, unsigned shard) {
  QueryProcessor* processor = processors_[shard].get();
  auto result = run<Result<QueryResult>>(shard, [=] { return processor->execute_internal(statement); });
  EXPECT_TRUE(result.ok()) << statement << ": " << result.error().message();
  Rows rows;
  const RowsResult* found = result.ok() ? std::get_if<RowsResult>(&result->value) : nullptr;
  if (found == nullptr) return rows;
  Reader in(found->rows);
  for (int32_t i = 0; i < found->row_count; ++i) {
    rows.emplace_back();
    for (const ColumnSpec& column : found->metadata->columns) {
      int32_t length = in.i32();
      rows.back().push_back(length < 0 ? "null" : column.type->to_text(in.take(static_cast<size_t>(length))));
    }
  }
  return rows;
}

void AdminNodeTest::make_shop() {
  cql("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  cql("CREATE TABLE shop.orders (id int PRIMARY KEY, item text)");
  for (int i = 0; i < 10; ++i) cql("INSERT INTO shop.orders (id, item) VALUES (" + std::to_string(i) + ", 'apple')");
}

}  // namespace cassandra_like
