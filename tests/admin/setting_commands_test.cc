// Settings that change while the node runs, on all of its shards, and orders for one table.
#include <algorithm>

#include <gmock/gmock.h>

#include "storage/sstable/sstable.h"
#include "tests/admin/admin_node.h"

namespace cassandra_like {
namespace {

using admin::Json;
using testing::ElementsAre;

Json refusal(const std::string& text) { return {{"error", text}}; }

class SettingCommands : public AdminNodeTest {
 protected:
  Json table(const std::string& name) {
    const Json tables = get("/v1/tables").json["tables"];
    for (const Json& each : tables) {
      if (each["table"] == name) return each;
    }
    return nullptr;
  }
  size_t sstables_of_index() {
    const TablePtr orders = context_->schema()->table("shop", "orders");
    const std::string directory = "/data/shop/" + orders->directory_name() + "/.by_item";
    return list_sstables(runtime().shard(0).disk, directory).value().size();
  }
  // Leaves one row in an indexed table whose rows were in the snapshot `kept`; the table's directory.
  std::string replace_orders() {
    make_shop();
    cql("CREATE INDEX by_item ON shop.orders (item)");
    run_for(std::chrono::seconds(1));
    EXPECT_EQ(post("/v1/snapshots", "tag=kept&keyspace=shop").status, 200);
    cql("TRUNCATE shop.orders");
    cql("INSERT INTO shop.orders (id, item) VALUES (77, 'pear')");
    return "/data/shop/" + context_->schema()->table("shop", "orders")->directory_name();
  }
};

TEST_F(SettingCommands, TimeoutsChangeOnEveryShard) {
  EXPECT_EQ(get("/v1/timeouts", "type=read").json, Json({{"type", "read"}, {"millis", 5000}}));
  EXPECT_EQ(get("/v1/timeouts", "type=range").json["millis"], 10'000);
  EXPECT_EQ(get("/v1/timeouts", "type=counterwrite").json["millis"], 5000);
  EXPECT_EQ(get("/v1/timeouts", "type=truncate").json["millis"], 60'000);
  EXPECT_EQ(post("/v1/timeouts", "type=write&millis=0").status, 200);
  EXPECT_EQ(post("/v1/timeouts", "type=write&millis=777").status, 200);
  EXPECT_EQ(get("/v1/timeouts", "type=write").json["millis"], 777);
  for (const Coordinator* coordinator : context_->node.coordinators) {
    EXPECT_EQ(coordinator->options().write_timeout, std::chrono::milliseconds(777));
    EXPECT_EQ(coordinator->options().read_timeout, std::chrono::seconds(5));
  }
}

TEST_F(SettingCommands, TimeoutsThatAreNotThereAreRefused) {
  const std::string types =
      "Timeout type requires one of (read, range, write, counterwrite, cascontention, truncate, internodeconnect, "
      "internodeuser, internodestreaminguser, misc (general rpc_timeout_in_ms))";
  EXPECT_EQ(get("/v1/timeouts", "type=nosuch").json, refusal(types));
  EXPECT_EQ(post("/v1/timeouts", "type=nosuch&millis=1").json, refusal(types));
  EXPECT_EQ(post("/v1/timeouts", "type=read&millis=-1").json, refusal("timeout must be non-negative"));
  EXPECT_EQ(post("/v1/timeouts", "type=read&millis=soon").json, refusal("For input string: \"soon\""));
  EXPECT_EQ(post("/v1/timeouts", "type=read&millis=9223372036854775807").status, 400);
  for (const char* type : {"cascontention", "internodeuser", "internodestreaminguser"}) {
    EXPECT_EQ(get("/v1/timeouts", std::string("type=") + type).status, 501);
    EXPECT_EQ(post("/v1/timeouts", std::string("millis=1&type=") + type).json,
              refusal(std::string("settimeout ") + type + " is not supported yet"));
  }
  // It sends no messages.
  EXPECT_EQ(get("/v1/timeouts", "type=misc").status, 409);
  EXPECT_EQ(get("/v1/timeouts", "type=read").json["millis"], 5000);
}

TEST_F(SettingCommands, SettingsChangeOnEveryShard) {
  bool older_protocols = true;
  context_->hooks.allows_older_protocols = [&] { return older_protocols; };
  context_->hooks.allow_older_protocols = [&](bool allow) {
    older_protocols = allow;
    return Task<Status>(Status());
  };
  EXPECT_EQ(get("/v1/settings").json, Json::parse(R"({"batchlog_replay_throttle_kib_per_second": 1024,
      "column_index_size_kib": null, "default_keyspace_rf": 1, "incremental_backups": false,
      "allow_older_protocols": true})"));
  EXPECT_EQ(post("/v1/settings", "batchlog_replay_throttle_kib_per_second=3&column_index_size_kib=16").status, 200);
  EXPECT_EQ(post("/v1/settings", "default_keyspace_rf=2&incremental_backups=true").status, 200);
  EXPECT_EQ(post("/v1/settings", "allow_older_protocols=false").status, 200);
  EXPECT_EQ(get("/v1/settings").json, Json::parse(R"({"batchlog_replay_throttle_kib_per_second": 3,
      "column_index_size_kib": 16, "default_keyspace_rf": 2, "incremental_backups": true,
      "allow_older_protocols": false})"));
  for (unsigned shard = 0; shard < 2; ++shard) {
    EXPECT_EQ(context_->node.coordinators[shard]->batchlog().replay_throttle(), 3072u);
    const EngineSettings engine = context_->node.replicas[shard]->maintenance().settings();
    EXPECT_EQ(engine.column_index_bytes, 16384u);
    EXPECT_TRUE(engine.incremental_backups);
    EXPECT_EQ(context_->node.processors[shard]->options().default_keyspace_rf, 2);
  }
  cql("CREATE KEYSPACE far WITH replication = {'class': 'SimpleStrategy'}", 1);
  const Json keyspaces = get("/v1/cluster").json["keyspaces"];
  const auto far = std::find_if(keyspaces.begin(), keyspaces.end(), [](const Json& k) { return k["name"] == "far"; });
  ASSERT_NE(far, keyspaces.end());
  EXPECT_EQ((*far)["options"]["replication_factor"], "2");
  EXPECT_EQ(post("/v1/settings", "column_index_size_kib=-1").status, 200);
  EXPECT_EQ(get("/v1/settings").json["column_index_size_kib"], nullptr);
}

TEST_F(SettingCommands, SettingsThatMakeNoSenseAreRefusedAsAWhole) {
  const Json before = get("/v1/settings").json;
  auto refused = [this](const std::string& query) { return post("/v1/settings", query).json; };
  EXPECT_EQ(refused("incremental_backups=true&batchlog_replay_throttle_kib_per_second=-1"),
            refusal("Invalid data storage: value must be non-negative"));
  EXPECT_EQ(refused("batchlog_replay_throttle_kib_per_second=2147483647"),
            refusal("Invalid data storage: 2147483647 kibibytes. It shouldn't be more than 2147483646 in kibibytes"));
  EXPECT_EQ(refused("column_index_size_kib=-2"), refusal("Invalid data storage: value must be non-negative"));
  EXPECT_EQ(refused("column_index_size_kib=2097152"),
            refusal("column_index_size must be positive value <= 2147483646B, but was 2147483648B"));
  EXPECT_EQ(refused("default_keyspace_rf=0"), refusal("default_keyspace_rf cannot be less than 1"));
  EXPECT_EQ(post("/v1/settings", "default_keyspace_rf=two").status, 400);
  EXPECT_EQ(get("/v1/settings").json, before);
}

TEST_F(SettingCommands, CompactionThresholds) {
  make_shop();
  cql("CREATE INDEX by_item ON shop.orders (item)");
  EXPECT_EQ(get("/v1/compaction_threshold", "keyspace=shop&table=orders").json, Json({{"min", 4}, {"max", 32}}));
  EXPECT_EQ(post("/v1/compaction_threshold", "keyspace=shop&table=orders&min=2&max=6").status, 200);
  EXPECT_EQ(get("/v1/compaction_threshold", "keyspace=shop&table=orders").json, Json({{"min", 2}, {"max", 6}}));
  EXPECT_EQ(context_->node.replicas[1]->maintenance().auto_compaction({"shop", "orders"})[0].max_threshold, 6);
  EXPECT_EQ(get("/v1/compaction_threshold", "keyspace=shop&table=orders.by_item").json["min"], 4);
  EXPECT_EQ(post("/v1/compaction_threshold", "keyspace=shop&table=orders.by_item&min=3&max=6").status, 200);
  EXPECT_EQ(get("/v1/compaction_threshold", "keyspace=shop&table=orders.by_item").json["min"], 3);
  const Reply unknown = get("/v1/compaction_threshold", "keyspace=shop&table=nosuch");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json, refusal("ColumnFamilyStore for shop/nosuch not found."));
  EXPECT_EQ(post("/v1/compaction_threshold", "keyspace=shop&table=nosuch&min=2&max=3").status, 404);
  EXPECT_EQ(post("/v1/compaction_threshold", "keyspace=shop&table=orders&min=0&max=0").status, 500);
  EXPECT_EQ(post("/v1/compaction_threshold", "keyspace=shop&table=orders&min=3&max=2").json,
            refusal("The min_compaction_threshold cannot be larger than the max_compaction_threshold. Min is '3', Max "
                    "is '2'."));
  EXPECT_EQ(post("/v1/compaction_threshold", "keyspace=shop&table=orders&min=x&max=2").status, 400);
}

TEST_F(SettingCommands, TheCacheOfCredentials) {
  EXPECT_EQ(get("/v1/credentials_cache").status, 409);
  EXPECT_EQ(post("/v1/credentials_cache/invalidate").status, 409);
  context_->node.has_passwords = true;
  Duration validity = std::chrono::seconds(2);
  std::vector<std::string> invalidated;
  context_->hooks.credentials_cache = [&] { return AdminCredentialsCache{validity, 1000}; };
  context_->hooks.set_credentials_validity = [&](Duration next) {
    validity = next;
    return Task<Status>(Status());
  };
  context_->hooks.invalidate_credentials = [&](std::vector<std::string> roles) {
    invalidated = std::move(roles);
    return Task<Status>(Status());
  };
  EXPECT_EQ(post("/v1/credentials_cache", "validity_millis=5000").status, 200);
  EXPECT_EQ(post("/v1/credentials_cache", "validity_millis=-5").status, 400);
  EXPECT_EQ(get("/v1/credentials_cache").json, Json::parse(R"({"validity_millis": 5000,
      "update_interval_millis": 5000, "max_entries": 1000, "active_update": false})"));
  EXPECT_EQ(post("/v1/credentials_cache/invalidate", "role=ann&role=bob").status, 200);
  EXPECT_THAT(invalidated, ElementsAre("ann", "bob"));
}

TEST_F(SettingCommands, DataPaths) {
  make_shop();
  cql("CREATE INDEX by_item ON shop.orders (item)");
  const std::string directory = "/data/shop/" + context_->schema()->table("shop", "orders")->directory_name();
  Json shop = Json::array();
  const Json tables = get("/v1/data_paths").json["tables"];
  for (const Json& each : tables) {
    if (each["keyspace"] == "shop") shop.push_back(each);
  }
  EXPECT_EQ(shop, Json({{{"keyspace", "shop"}, {"table", "orders"}, {"paths", {directory}}},
                        {{"keyspace", "shop"}, {"table", "orders.by_item"}, {"paths", {directory + "/.by_item"}}}}));
}

// gc_grace_seconds are ten days.
TEST_F(SettingCommands, AForcedCompactionOfAKeyDropsItsTombstones) {
  make_shop();
  cql("DELETE FROM shop.orders WHERE id = 3");
  cql("DELETE FROM shop.orders WHERE id = 4");
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  EXPECT_EQ(table("orders")["partitions_estimate"], 10);
  // The commit log holds them until it is behind them: else an output without a partition could not say that it has them.
  EXPECT_EQ(post("/v1/compact", "keyspace=shop&table=orders&partition=3").status, 200);
  EXPECT_EQ(table("orders")["partitions_estimate"], 10);
  EXPECT_EQ(post("/v1/force_compact", "keyspace=shop&table=orders&key=3&key=77").status, 200);
  EXPECT_EQ(table("orders")["partitions_estimate"], 9);
  EXPECT_EQ(cql("SELECT id FROM shop.orders").size(), 8u);
  EXPECT_EQ(post("/v1/force_compact", "keyspace=nosuch&table=t&key=1").json, refusal("Keyspace nosuch does not exist"));
  EXPECT_EQ(post("/v1/force_compact", "keyspace=shop&table=nosuch&key=1").json,
            refusal("Unknown keyspace/cf pair (shop.nosuch)"));
  EXPECT_EQ(post("/v1/force_compact", "keyspace=shop&table=orders&key=x").status, 500);
}

TEST_F(SettingCommands, ASnapshotIsImported) {
  const std::string directory = replace_orders();
  const std::string order = "keyspace=shop&table=orders&directory=" + directory;
  const Reply imported = post("/v1/import", order + "/snapshots/kept");
  EXPECT_EQ(imported.json, Json::parse(R"({"failed": []})"));
  EXPECT_EQ(cql("SELECT id FROM shop.orders").size(), 11u);
  EXPECT_EQ(cql("SELECT id FROM shop.orders WHERE item = 'apple'").size(), 10u);
  EXPECT_EQ(cql("SELECT id FROM shop.orders WHERE item = 'apple'", 1).size(), 10u);
  EXPECT_EQ(post("/v1/import", order).status, 400);
  EXPECT_EQ(post("/v1/import", order + "/nosuch").json, refusal("Directory " + directory + "/nosuch does not exist"));
  EXPECT_EQ(post("/v1/import", "keyspace=shop&table=nosuch&directory=/x").json,
            refusal("ColumnFamilyStore for shop/nosuch not found."));
}

TEST_F(SettingCommands, SSTablesInTheTablesOwnDirectoryAreLoaded) {
  const std::string directory = replace_orders();
  Disk& disk = runtime().shard(0).disk;
  const auto files = disk.list(directory + "/snapshots/kept").value();
  for (const auto& file : files) {
    if (file.is_directory || file.name.find("-bti-") == std::string::npos) continue;
    ASSERT_TRUE(disk.link(directory + "/snapshots/kept/" + file.name, directory + "/" + file.name).ok());
  }
  EXPECT_EQ(cql("SELECT id FROM shop.orders").size(), 1u);
  EXPECT_EQ(post("/v1/refresh", "keyspace=shop&table=orders").status, 200);
  EXPECT_EQ(cql("SELECT id FROM shop.orders").size(), 11u);
  EXPECT_EQ(cql("SELECT id FROM shop.orders WHERE item = 'apple'", 1).size(), 10u);
  EXPECT_EQ(post("/v1/refresh", "keyspace=shop&table=nosuch").json, refusal("Unknown keyspace/cf pair (shop.nosuch)"));
  EXPECT_EQ(post("/v1/refresh", "keyspace=nosuch&table=orders").json, refusal("Keyspace nosuch does not exist"));
  EXPECT_EQ(post("/v1/recompress_sstables", "keyspace=shop").status, 200);
  EXPECT_EQ(post("/v1/relocate_sstables", "keyspace=shop&table=orders").status, 200);
}

TEST_F(SettingCommands, GuardrailsChangeOnEveryShard) {
  EXPECT_EQ(get("/v1/guardrails").json,
            Json::parse(R"({"guardrails": [{"name": "items_per_collection_threshold", "values": ["-1", "-1"]}]})"));
  EXPECT_EQ(post("/v1/guardrails", "name=items_per_collection_threshold&value=-1&value=7").status, 200);
  EXPECT_EQ(get("/v1/guardrails").json["guardrails"][0]["values"], Json::parse(R"(["-1", "7"])"));
  for (unsigned shard = 0; shard < 2; ++shard) {
    const CqlOptions& options = context_->node.processors[shard]->options();
    EXPECT_EQ(options.guardrails.items_per_collection_warn_threshold, 7);
    EXPECT_TRUE(options.guardrail_use.values);
    const auto of_sstables = context_->node.replicas[shard]->engine().maintenance().settings().guardrails;
    EXPECT_EQ(of_sstables.items_per_collection.warn, 7u);
  }
  EXPECT_EQ(post("/v1/guardrails", "name=nosuch&value=1").status, 400);
}

TEST_F(SettingCommands, TheMostActivePartitionsOfAWhile) {
  make_shop();
  const std::string order = "keyspace=shop&table=orders&duration=1000&capacity=256&count=3";
  const std::string wanted = "&sampler=WRITES&sampler=LOCAL_READ_TIME";
  const HttpRequest request{
      "POST", "/v1/samples", order + wanted, "", {{"host", "127.0.0.1:7199"}, {"x-requested-by", "nodetool"}}};
  std::function<Task<HttpResponse>()> ask = [this, request] { return admin::serve(context_, request); };
  std::optional<HttpResponse> done;
  runtime().shard(0).executor.post([&] { spawn(admin_node_internal::keep<HttpResponse>(&ask, &done)); });
  run_for(std::chrono::milliseconds(10));
  for (int i = 0; i < 5; ++i) cql("INSERT INTO shop.orders (id, item) VALUES (3, 'pear')");
  cql("INSERT INTO shop.orders (id, item) VALUES (4, 'pear')");
  run_for(std::chrono::seconds(2));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, 200);
  const Json samples = Json::parse(done->body)["samples"];
  EXPECT_EQ(samples["WRITES"], Json::parse(R"([{"table": "shop.orders", "value": "3", "count": 5, "error": 0},
                            {"table": "shop.orders", "value": "4", "count": 1, "error": 0}])"));
  EXPECT_EQ(samples["LOCAL_READ_TIME"], Json::array());
  EXPECT_EQ(post("/v1/samples", "keyspace=shop&table=nosuch" + wanted).json,
            refusal("ColumnFamilyStore for shop/nosuch not found."));
  EXPECT_EQ(post("/v1/samples", "keyspace=shop&table=orders&duration=0&capacity=9&count=1").status, 400);
  EXPECT_EQ(post("/v1/samples", order + "&sampler=NOSUCH").status, 400);
}

TEST_F(SettingCommands, AnIndexIsBuiltAnew) {
  make_shop();
  cql("CREATE INDEX by_item ON shop.orders (item)");
  run_for(std::chrono::seconds(1));
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  const size_t before = sstables_of_index();
  EXPECT_EQ(post("/v1/rebuild_index", "keyspace=shop&table=orders&index=nosuch").status, 200);
  EXPECT_EQ(sstables_of_index(), before);
  EXPECT_EQ(post("/v1/rebuild_index", "keyspace=shop&table=orders&index=orders.by_item").status, 200);
  EXPECT_GT(sstables_of_index(), before);
  EXPECT_EQ(cql("SELECT id FROM shop.orders WHERE item = 'apple'").size(), 10u);
  EXPECT_EQ(post("/v1/rebuild_index", "keyspace=shop&table=nosuch&index=by_item").status, 400);
}

}  // namespace
}  // namespace cassandra_like
