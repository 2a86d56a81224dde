// Paging states that this node never gave out, in queries to a whole node (simulated): each is refused, or the page that
// it asks for is one of rows that are there.
//
//   input := query:u8 page size:u8 protocol version:u8 paging state
#include <fmt/format.h>

#include "cql/context/paging_state.h"
#include "node/cluster_node.h"
#include "runtime/sim/sim_runtime.h"
#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {
namespace {

constexpr int kPartitions = 5;
constexpr int kRows = 6;

constexpr const char* kQueries[] = {
    "SELECT * FROM f.t",
    "SELECT * FROM f.t WHERE k = 'k1'",
    "SELECT * FROM f.t WHERE k = 'k1' ORDER BY a DESC",
    "SELECT * FROM f.t WHERE k IN ('k0', 'k3', 'nobody')",
    "SELECT * FROM f.t WHERE k = 'k2' AND a > 0 AND a < 3 LIMIT 2",
    "SELECT * FROM f.t PER PARTITION LIMIT 1",
    "SELECT DISTINCT k, s FROM f.t",
    "SELECT count(*) FROM f.t",
    "SELECT a, count(*) FROM f.t GROUP BY k, a",
    "SELECT * FROM f.t WHERE v = 'v1'",
    "SELECT * FROM f.t WHERE token(k) > 0 ALLOW FILTERING",
    "SELECT * FROM f.p",
    "SELECT * FROM f.p WHERE i = 2",
    "SELECT * FROM system_schema.columns",
    "SELECT * FROM system_views.settings",
};

class World {
 public:
  World() : world_(SimWorld::create(1)), runtime_(&world_->add_machine("127.0.0.1").boot(1)) {
    const char* text =
        "cluster_name: fuzz\ndata_file_directories: [/data]\ncommitlog_directory: /commitlog\nhints_directory: /hints\n"
        "saved_caches_directory: /caches\ncdc_raw_directory: /cdc\nlisten_address: 127.0.0.1\nrpc_address: 127.0.0.1\n";
    HostFacts host;
    host.cores = 1;
    auto config = parse_config(text, "fuzz", host);
    CHECK(config.ok());
    config->shards = 1;
    config_ = *config;
    runtime_->shard(0).executor.post([this] { spawn(start(this)); });
    CHECK(world_->run_until([this] { return node_ != nullptr; }, std::chrono::minutes(1)));
    fill();
  }

  Result<QueryResult> query(const std::string& text, const QueryOptions& options = {}) {
    std::optional<Result<QueryResult>> out;
    runtime_->shard(0).executor.post([&] { spawn(run(this, &text, &options, &out)); });
    CHECK(world_->run_until([&out] { return out.has_value(); }, std::chrono::minutes(1)));
    return std::move(*out);
  }

 private:
  static Task<void> start(World* self) {
    ClusterNodeHooks hooks;
    hooks.serve_admin = false;
    auto started = co_await ClusterNode::start(self->runtime_, self->config_, std::move(hooks));
    CHECK(started.ok());
    self->node_ = std::move(*started);
  }
  static Task<void> run(World* self, const std::string* text, const QueryOptions* options,
                        std::optional<Result<QueryResult>>* out) {
    Task<Result<QueryResult>> task = self->node_->processor(0).query(*text, *options, {self->client_, nullptr});
    *out = co_await task;
  }

  void must(const std::string& text) { CHECK(query(text).ok()); }
  void fill() {
    must("CREATE KEYSPACE f WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    must(
        "CREATE TABLE f.t (k text, a int, b text, s text static, v text, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER "
        "BY (a ASC, b DESC)");
    must("CREATE TABLE f.p (x int, y text, i int, PRIMARY KEY ((x, y)))");
    must("CREATE INDEX ON f.t (v)");
    must("CREATE INDEX ON f.p (i)");
    for (int p = 0; p < kPartitions; ++p) {
      for (int r = 0; r < kRows; ++r) {
        must(fmt::format("INSERT INTO f.t (k, a, b, s, v) VALUES ('k{}', {}, 'b{}', 's', 'v{}')", p, r / 2, r, r % 3));
      }
      must(fmt::format("INSERT INTO f.p (x, y, i) VALUES ({}, 'y', {})", p, p % 3));
    }
    must("DELETE FROM f.t WHERE k = 'k4' AND a = 1");
  }

  std::unique_ptr<SimWorld> world_;
  Runtime* runtime_;
  Config config_;
  ClientState client_;
  std::unique_ptr<ClusterNode> node_;
};

}  // namespace

FUZZ_TARGET(paging) {
  static auto& world = *new World;
  if (input.size() < 3) return;
  QueryOptions options;
  options.page_size = 1 + static_cast<uint8_t>(input[1]) % 8;
  options.protocol_version = 3 + static_cast<uint8_t>(input[2]) % 3;
  options.paging_state = input.substr(3);
  const char* text = kQueries[static_cast<uint8_t>(input[0]) % std::size(kQueries)];
  auto result = world.query(text, options);
  if (!result.ok()) return CHECK(!result.error().message().empty());
  const auto* rows = std::get_if<RowsResult>(&result->value);
  CHECK(rows != nullptr && rows->row_count <= options.page_size);
  if (!is_null(BytesView(rows->paging_state)) && !rows->paging_state.empty()) {
    CHECK(is_paging_state(rows->paging_state, options.protocol_version));
  }
}

}  // namespace cassandra_like
