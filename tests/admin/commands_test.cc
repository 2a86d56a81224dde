// Each command of docs/ADMIN.md against a node of two shards; texts of refusals are Cassandra's.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/admin/admin_node.h"

namespace cassandra_like {
namespace {

using admin::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Commands = AdminNodeTest;

// The element of an array whose field has this value.
const Json& find(const Json& array, const char* field, const std::string& value) {
  for (const Json& each : array) {
    if (each.at(field) == value) return each;
  }
  ADD_FAILURE() << "no " << field << " " << value << " in " << array;
  static const Json none = Json::object();
  return none;
}

Json error(const std::string& text) { return {{"error", text}}; }

TEST_F(Commands, UnknownPathsAndMethods) {
  EXPECT_EQ(get("/v1/nosuch").status, 404);
  EXPECT_EQ(post("/v1/version").status, 404);
  EXPECT_EQ(get("/v1/ring", "keyspace=%x").status, 400);
}

// Base64 as `printf 'user:password' | base64` makes it.
TEST_F(Commands, AskForARolesPasswordOffLoopback) {
  context_->needs_login = true;
  context_->hooks.log_in = [](std::string user, std::string password) {
    if (password != "secret") {
      return Task<Result<AdminLogin>>(Result<AdminLogin>(Error(ErrorCode::kBadCredentials, "wrong: " + user)));
    }
    return Task<Result<AdminLogin>>(Result<AdminLogin>(AdminLogin{user == "admin"}));
  };
  auto status = [this](const std::string& method, const std::string& path, const std::string& authorization) {
    HttpRequest request{method, path, "", "", {{"host", "db1.example.com:7199"}, {"x-requested-by", "nodetool"}}};
    if (!authorization.empty()) request.headers.emplace_back("authorization", authorization);
    return send(request).status;
  };
  const std::string admin = "Basic YWRtaW46c2VjcmV0", reader = "basic cmVhZGVyOnNlY3JldA==";
  EXPECT_EQ(status("GET", "/v1/version", ""), 401);
  EXPECT_EQ(status("GET", "/v1/version", "Basic YWRtaW46c2VjcmV1"), 401);
  EXPECT_EQ(status("GET", "/v1/version", "Bearer YWRtaW46c2VjcmV0"), 401);
  EXPECT_EQ(status("GET", "/v1/version", admin), 200);
  EXPECT_EQ(status("GET", "/metrics", reader), 200);
  EXPECT_EQ(status("POST", "/v1/stop", reader), 403);
  EXPECT_EQ(calls_, std::vector<std::string>());
  EXPECT_EQ(status("POST", "/v1/drain", admin), 200);
  EXPECT_EQ(calls_, std::vector<std::string>{"drain"});
}

// The requests that a page in a browser can send, without and with a name of its own for this machine.
TEST_F(Commands, AreNotRunForWebPages) {
  using Headers = std::vector<std::pair<std::string, std::string>>;
  auto stop = [this](Headers headers) { return send(HttpRequest{"POST", "/v1/drain", "", "", headers}).status; };
  EXPECT_EQ(stop({{"host", "127.0.0.1:7199"}, {"origin", "http://evil.example"}, {"content-type", "text/plain"}}), 403);
  EXPECT_EQ(stop({{"host", "127.0.0.1:7199"}, {"origin", "null"}, {"x-requested-by", "x"}}), 403);
  EXPECT_EQ(stop({{"host", "127.0.0.1:7199"}, {"sec-fetch-site", "cross-site"}, {"x-requested-by", "x"}}), 403);
  EXPECT_EQ(stop({{"host", "evil.example:7199"}, {"x-requested-by", "x"}}), 403);
  EXPECT_EQ(stop({{"host", "127.0.0.1:7199"}, {"content-type", "text/plain"}}), 403);
  EXPECT_EQ(calls_, std::vector<std::string>());
}

TEST_F(Commands, Version) {
  EXPECT_EQ(get("/v1/version").json, Json({{"release_version", "5.0.9"}, {"git_sha", "unknown"}}));
}

TEST_F(Commands, Ring) {
  Reply reply = get("/v1/ring");
  Json& node = reply.json["nodes"][0];
  EXPECT_TRUE(node["load_bytes"].is_number_unsigned());
  node.erase("load_bytes");
  EXPECT_EQ(reply.json, Json::parse(R"({"effective": true, "note": null, "nodes": [{
      "address": "127.0.0.1", "port": 7000, "host_name": "127.0.0.1", "data_center": "datacenter1", "rack": "rack1",
      "status": "up", "state": "normal", "owns": 1.0, "host_id": "e703664e-18d4-4103-bbfa-2b6fb21f8cbd",
      "tokens": ["-9201284755974110584", "8509543625024547390"]}]})"));
}

TEST_F(Commands, RingOfKeyspaces) {
  EXPECT_EQ(get("/v1/ring", "keyspace=nosuch").json, error("The keyspace nosuch, does not exist"));
  Reply local = get("/v1/ring", "keyspace=system");
  EXPECT_EQ(local.json["effective"], false);
  EXPECT_EQ(local.json["note"], "Ownership values for keyspaces with LocalStrategy are meaningless");
  make_shop();
  EXPECT_EQ(get("/v1/ring").json["effective"], true);
  cql("CREATE KEYSPACE far WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
  Reply mixed = get("/v1/ring");
  EXPECT_EQ(mixed.json["effective"], false);
  EXPECT_EQ(mixed.json["note"],
            "Non-system keyspaces don't have the same replication settings, effective ownership information is "
            "meaningless");
  Reply one = get("/v1/ring", "keyspace=far");
  EXPECT_EQ(one.json["effective"], true);
  EXPECT_EQ(one.json["nodes"][0]["owns"], 1.0);
}

TEST_F(Commands, Info) {
  run_for(std::chrono::seconds(90));
  Json info = get("/v1/info").json;
  EXPECT_GT(info["generation"], 0);
  EXPECT_GE(info["uptime_seconds"], 90);
  for (const char* moving :
       {"generation", "uptime_seconds", "off_heap_bytes", "load_bytes", "uncompressed_load_bytes"}) {
    info.erase(moving);
  }
  EXPECT_EQ(info, Json::parse(R"({"host_id": "e703664e-18d4-4103-bbfa-2b6fb21f8cbd", "gossip_active": false,
      "native_transport_active": true, "memory_used_bytes": 0, "memory_max_bytes": 67108864,
      "data_center": "datacenter1", "rack": "rack1", "exceptions": 0, "key_cache": null, "row_cache": null,
      "counter_cache": null,
      "chunk_cache": {"entries": 0, "size_bytes": 0, "capacity_bytes": 536870912, "misses": 1, "requests": 1,
                      "recent_hit_rate": 0.0, "miss_latency_micros": null},
      "network_cache": null, "percent_repaired": 100.0, "joined": true,
      "tokens": ["-9201284755974110584", "8509543625024547390"], "bootstrap_state": "COMPLETED",
      "bootstrap_failed": false, "decommissioning": false, "decommission_failed": false})"));
}

TEST_F(Commands, Cluster) {
  Json cluster = get("/v1/cluster").json;
  EXPECT_EQ(
      find(cluster["keyspaces"], "name", "system_auth"),
      Json::parse(R"({"name": "system_auth", "class": "SimpleStrategy", "options": {"replication_factor": "1"}})"));
  cluster.erase("keyspaces");
  std::string version = context_->schema()->version().to_string();
  EXPECT_EQ(cluster["schema_versions"][0]["version"], version);
  cluster.erase("schema_versions");
  EXPECT_EQ(cluster, Json::parse(R"({"name": "Test Cluster", "snitch": "org.apache.cassandra.locator.SimpleSnitch",
      "dynamic_snitch": false, "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner", "live": 1, "joining": 0,
      "moving": 0, "leaving": 0, "unreachable": 0, "data_centers": [{"name": "datacenter1", "nodes": 1, "down": 0}],
      "release_versions": [{"version": "5.0.9", "nodes": [{"address": "127.0.0.1", "port": 7000}]}],
      "note": null})"));
  make_shop();
  cql("CREATE KEYSPACE far WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
  EXPECT_EQ(get("/v1/cluster").json["note"],
            "Non-system keyspaces don't have the same replication settings, effective ownership information is "
            "meaningless");
}

TEST_F(Commands, RefreshSizeEstimates) {
  EXPECT_EQ(post("/v1/refresh_size_estimates").json, Json::object());
  EXPECT_EQ(calls_, std::vector<std::string>{"refresh_size_estimates"});
}

TEST_F(Commands, ReplayBatchlog) {
  EXPECT_EQ(post("/v1/replay_batchlog").json, Json::object());
  EXPECT_EQ(calls_, std::vector<std::string>{"replay_batchlog"});
}

TEST_F(Commands, Gossip) {
  Json node = get("/v1/gossip").json["nodes"][0];
  EXPECT_EQ(node["address"], "127.0.0.1");
  EXPECT_EQ(find(node["states"], "name", "STATUS")["value"], "NORMAL,-9201284755974110584");
  EXPECT_EQ(find(node["states"], "name", "NATIVE_ADDRESS_AND_PORT")["value"], "127.0.0.1:9042");
  EXPECT_EQ(find(node["states"], "name", "SSTABLE_VERSIONS")["value"], "bti-da");
  EXPECT_EQ(node["states"].back()["value"], "<hidden>");
}

TEST_F(Commands, Endpoints) {
  make_shop();
  EXPECT_EQ(get("/v1/endpoints", "keyspace=shop&table=orders&key=1").json,
            Json::parse(R"({"endpoints": [{"address": "127.0.0.1", "port": 7000}]})"));
  EXPECT_EQ(get("/v1/endpoints", "keyspace=nosuch&table=t&key=1").json, error("Unknown keyspace 'nosuch'"));
  EXPECT_EQ(get("/v1/endpoints", "keyspace=shop&table=nosuch&key=1").json,
            error("Unknown table 'nosuch' in keyspace 'shop'"));
  EXPECT_EQ(get("/v1/endpoints", "keyspace=shop&table=orders&key=one").status, 400);
}

TEST_F(Commands, TokenRanges) {
  make_shop();
  const Json self = Json::parse(R"([{"address": "127.0.0.1", "port": 7000, "native_address": "127.0.0.1",
                                     "native_port": 9042, "data_center": "datacenter1", "rack": "rack1"}])");
  EXPECT_EQ(get("/v1/token_ranges", "keyspace=shop").json["ranges"],
            Json({{{"start", "8509543625024547390"}, {"end", "-9201284755974110584"}, {"endpoints", self}},
                  {{"start", "-9201284755974110584"}, {"end", "8509543625024547390"}, {"endpoints", self}}}));
  EXPECT_EQ(get("/v1/token_ranges", "keyspace=system").json, error("There is no ring for the keyspace: system"));
  EXPECT_EQ(get("/v1/token_ranges", "keyspace=system_views").json, error("No such keyspace: system_views"));
  EXPECT_EQ(get("/v1/token_ranges", "keyspace=nosuch").status, 404);
}

TEST_F(Commands, TablesSumTheShards) {
  make_shop();
  cql("SELECT * FROM shop.orders WHERE id = 1");
  cql("SELECT * FROM shop.orders WHERE id = 2");
  Json table = find(get("/v1/tables").json["tables"], "table", "orders");
  EXPECT_EQ(table["keyspace"], "shop");
  EXPECT_EQ(table["write_count"], 10);
  EXPECT_EQ(table["read_count"], 2);
  EXPECT_EQ(table["memtable_cell_count"], 10);
  EXPECT_EQ(table["sstable_count"], 0);
  EXPECT_EQ(table["sstable_compression_ratio"], -1.0);
  EXPECT_EQ(table["live_cells_mean"], 1.0);

  EXPECT_EQ(post("/v1/flush", "keyspace=shop&table=orders").json, Json::object());
  table = find(get("/v1/tables").json["tables"], "table", "orders");
  EXPECT_GE(table["sstable_count"], 1);
  EXPECT_EQ(table["memtable_cell_count"], 0);
  EXPECT_GT(table["space_used_live_bytes"], 0);
  EXPECT_GT(table["sstable_compression_ratio"], 0.0);
  EXPECT_GT(table["bytes_unrepaired"], 0);
  EXPECT_EQ(table["percent_repaired"], 0.0);
  EXPECT_GT(get("/v1/ring").json["nodes"][0]["load_bytes"], 0);
}

TEST_F(Commands, FlushAndCompactRefuseWhatIsNotThere) {
  EXPECT_EQ(post("/v1/flush", "keyspace=nosuch").status, 400);
  EXPECT_EQ(post("/v1/flush", "keyspace=nosuch").json, error("Keyspace [nosuch] does not exist."));
  Reply unknown = post("/v1/compact", "keyspace=system_auth&table=nosuch");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json, error("Unknown keyspace/cf pair (system_auth.nosuch)"));
}

TEST_F(Commands, SSTablesOfAKey) {
  make_shop();
  EXPECT_EQ(get("/v1/sstables", "keyspace=shop&table=orders&key=1").json,
            Json::parse(R"({"leveled": false, "sstables": []})"));
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  const Json found = get("/v1/sstables", "keyspace=shop&table=orders&key=1").json["sstables"];
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0]["file"].get<std::string>(), testing::EndsWith("-Data.db"));
  EXPECT_EQ(found[0]["level"], 0);
  EXPECT_EQ(get("/v1/sstables", "keyspace=shop&table=orders&key=00000001&hex=true").json["sstables"], found);
  EXPECT_EQ(get("/v1/sstables", "keyspace=shop&table=orders&key=77").json["sstables"], Json::array());
  Reply odd = get("/v1/sstables", "keyspace=shop&table=orders&key=0&hex=true");
  EXPECT_EQ(odd.status, 400);
  EXPECT_EQ(odd.json, error("An hex string representing bytes must have an even length"));
  EXPECT_EQ(get("/v1/sstables", "keyspace=shop&table=orders&key=zz&hex=true").json, error("Non-hex characters in zz"));
  EXPECT_EQ(get("/v1/sstables", "keyspace=shop&table=nosuch&key=1").json,
            error("ColumnFamilyStore for shop/nosuch not found."));
}

// Two SSTables on each of the two shards.
TEST_F(Commands, CompactOfAPartOfATable) {
  make_shop();
  auto count = [this] { return find(get("/v1/tables").json["tables"], "table", "orders")["sstable_count"].get<int>(); };
  auto files_of = [this](int key) {
    std::vector<std::string> out;
    const std::string query = "keyspace=shop&table=orders&key=" + std::to_string(key);
    const Reply found = get("/v1/sstables", query);
    for (const Json& each : found.json["sstables"]) out.push_back(each["file"]);
    return out;
  };
  for (const char* item : {"pear", "plum"}) {
    for (int i = 0; i < 10; ++i) {
      cql("INSERT INTO shop.orders (id, item) VALUES (" + std::to_string(i) + ", '" + item + "')");
    }
    EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  }
  ASSERT_EQ(count(), 4);
  const std::string orders = "keyspace=shop&table=orders";
  EXPECT_EQ(post("/v1/compact", orders + "&start_token=5&end_token=").json,
            error("Invalid token for Murmur3Partitioner. Got  but expected a long value (unsigned 8 bytes integer)."));
  EXPECT_EQ(post("/v1/compact", orders + "&start_token=x&end_token=5").status, 500);
  EXPECT_EQ(post("/v1/compact", orders + "&start_token=5&end_token=5").status, 200);
  EXPECT_EQ(post("/v1/compact", orders + "&partition=x").json["error"].get<std::string>().substr(0, 55),
            "Unable to parse partition key 'x' for table shop.orders");
  EXPECT_EQ(post("/v1/compact", "file=nosuch").json,
            error("Invalid sstable file nosuch: the name doesn't look like a supported sstable file name"));
  EXPECT_EQ(post("/v1/compact", "file=/" + std::string(100'000, 'a') + "/da-3-bti-Data.db").json,
            error("Invalid sstable file: the path is longer than 4096 bytes"));
  EXPECT_EQ(post("/v1/compact", "file=da-3-bti-Data.db").status, 200);
  EXPECT_EQ(post("/v1/compact", "file=/data/shop/orders/da-3-bti-Data.db").status, 200);
  EXPECT_EQ(count(), 4);

  EXPECT_EQ(post("/v1/compact", orders + "&partition=1").status, 200);
  EXPECT_EQ(count(), 3);
  EXPECT_EQ(files_of(1).size(), 1u);
  int other = 2;
  while (files_of(other).size() == 1) ++other;
  const std::vector<std::string> files = files_of(other);
  EXPECT_EQ(post("/v1/compact", "file=" + files[0] + "&file=" + files[1]).status, 200);
  EXPECT_EQ(count(), 2);
  const std::vector<std::string> before = files_of(1);
  EXPECT_EQ(post("/v1/compact", orders + "&start_token=-9223372036854775808&end_token=9223372036854775807").status,
            200);
  EXPECT_NE(files_of(1), before);
  EXPECT_EQ(post("/v1/compact", orders + "&split_output=true").status, 200);
  EXPECT_EQ(count(), 2);
  std::map<std::string, int> kinds;
  const Reply history = get("/v1/compaction_history");
  for (const Json& each : history.json["compactions"]) ++kinds[each["properties"]["compaction_type"]];
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"Compaction", 1}, {"Major compaction", 5}}));
}

TEST_F(Commands, SSTablesAreWrittenAnew) {
  make_shop();
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  auto file = [this] {
    const Json found = get("/v1/sstables", "keyspace=shop&table=orders&key=1").json["sstables"];
    return found.empty() ? std::string() : found[0]["file"].get<std::string>();
  };
  const std::string first = file();
  EXPECT_EQ(post("/v1/upgrade_sstables").status, 200);
  EXPECT_EQ(post("/v1/upgrade_sstables", "keyspace=shop&include_all=true&max_timestamp=0").status, 200);
  EXPECT_EQ(file(), first);
  EXPECT_EQ(post("/v1/upgrade_sstables", "keyspace=shop&table=orders&include_all=true").status, 200);
  const std::string second = file();
  EXPECT_NE(second, first);
  EXPECT_EQ(post("/v1/garbage_collect", "keyspace=shop&granularity=CELL").status, 200);
  EXPECT_NE(file(), second);
  EXPECT_EQ(cql("SELECT count(*) FROM shop.orders"), (Rows{{"10"}}));
  EXPECT_EQ(post("/v1/garbage_collect", "keyspace=shop&granularity=cell").json,
            error("No enum constant org.apache.cassandra.schema.CompactionParams.TombstoneOption.cell"));
  const std::string third = file();
  EXPECT_EQ(post("/v1/garbage_collect", "keyspace=shop&granularity=NONE").status, 200);
  EXPECT_NE(file(), third);
  EXPECT_EQ(post("/v1/upgrade_sstables", "max_timestamp=x").status, 400);
  EXPECT_EQ(post("/v1/upgrade_sstables", "keyspace=nosuch").status, 400);
  EXPECT_EQ(post("/v1/garbage_collect", "keyspace=shop&table=nosuch").status, 404);
  EXPECT_EQ(post("/v1/scrub", "keyspace=shop&table=nosuch").status, 400);
  for (const char* type : {"UPGRADE_SSTABLES", "GARBAGE_COLLECT", "VERIFY", "CLEANUP"}) {
    EXPECT_EQ(post("/v1/compactions/stop", std::string("type=") + type).json, Json::parse(R"({"stopped": 0})"));
  }
}

TEST_F(Commands, CompactMergesEachShardsTables) {
  make_shop();
  for (const char* item : {"pear", "plum"}) {
    for (int i = 0; i < 10; ++i) {
      cql("INSERT INTO shop.orders (id, item) VALUES (" + std::to_string(i) + ", '" + item + "')");
    }
    EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  }
  EXPECT_EQ(find(get("/v1/tables").json["tables"], "table", "orders")["sstable_count"], 4);
  EXPECT_EQ(post("/v1/compact", "keyspace=shop").json, Json::object());
  EXPECT_EQ(find(get("/v1/tables").json["tables"], "table", "orders")["sstable_count"], 2);
  EXPECT_GE(get("/v1/compactions").json["completed"], 1);
  run_for(std::chrono::seconds(10));
  const double rate = get("/v1/compactions").json["fifteen_minute_rate_per_second"];
  EXPECT_GT(rate, 0);
  run_for(std::chrono::minutes(15));
  EXPECT_NEAR(get("/v1/compactions").json["fifteen_minute_rate_per_second"], rate / std::exp(1), rate / 100);
}

Task<void> compact_orders(Maintenance* maintenance, bool* ended) {
  EXPECT_TRUE((co_await maintenance->compact({"shop", "orders"})).ok());
  *ended = true;
}

// Scripts of operators wait until none is pending.
TEST_F(Commands, ACompactionThatRunsIsPending) {
  make_shop();
  cql("ALTER TABLE shop.orders WITH compression = {'enabled': 'false'}");
  for (int i = 0; i < 10; ++i) {
    cql("INSERT INTO shop.orders (id, item) VALUES (" + std::to_string(i) + ", '" + std::string(200'000, 'x') + "')");
  }
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  EXPECT_EQ(post("/v1/compactions", "throughput_mib_per_second=1").status, 200);
  bool ended = false;
  runtime().shard(0).executor.post([&] { spawn(compact_orders(&context_->node.replicas[0]->maintenance(), &ended)); });
  run_for(std::chrono::milliseconds(300));
  ASSERT_FALSE(ended);
  EXPECT_EQ(get("/v1/compactions").json["pending"],
            Json::parse(R"([{"keyspace": "shop", "table": "orders", "tasks": 1}])"));
  run_for(std::chrono::seconds(20));
  EXPECT_TRUE(ended);
  EXPECT_EQ(get("/v1/compactions").json["pending"], Json::array());
}

TEST_F(Commands, CompactionHistoryHasARecordOfEachShard) {
  EXPECT_EQ(get("/v1/compaction_history").json, Json::parse(R"({"compactions": []})"));
  make_shop();
  cql("CREATE INDEX by_item ON shop.orders (item) USING 'legacy_local_table'");
  for (int flush = 0; flush < 2; ++flush) {
    for (int i = 0; i < 10 - flush * 3; ++i) {
      cql("UPDATE shop.orders SET item = 'fruit" + std::to_string(flush) + "' WHERE id = " + std::to_string(i));
    }
    EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  }
  run_for(std::chrono::seconds(2));
  EXPECT_EQ(post("/v1/compact", "keyspace=shop").status, 200);
  const int64_t now = runtime().shard(0).clock.wall_millis();
  std::map<std::string, std::map<std::string, int>> merged;  // table -> SSTables -> partitions
  std::map<std::string, int> records;
  int64_t bytes_in = 0;
  const Json history = get("/v1/compaction_history").json["compactions"];
  for (const Json& each : history) {
    EXPECT_EQ(each["keyspace"], "shop");
    EXPECT_EQ(each["properties"], Json::parse(R"({"compaction_type": "Major compaction"})"));
    EXPECT_GT(each["bytes_in"], each["bytes_out"]);
    bytes_in += each["bytes_in"].get<int64_t>();
    EXPECT_NEAR(each["compacted_millis"].get<int64_t>(), now, 1000);
    EXPECT_EQ(Uuid::parse(each["id"].get<std::string>())->version(), 1);
    EXPECT_NEAR(Uuid::parse(each["id"].get<std::string>())->unix_millis(), now, 1000);
    ++records[each["table"]];
    for (const auto& [sstables, partitions] : each["rows_merged"].items()) {
      merged[each["table"]][sstables] += partitions.get<int>();
    }
  }
  EXPECT_EQ(records, (std::map<std::string, int>{{"orders", 2}, {"orders.by_item", 2}}));
  const Json compactions = get("/v1/compactions").json;
  EXPECT_EQ(compactions["compressed_bytes_compacted"], bytes_in);
  EXPECT_GT(compactions["bytes_compacted"], 0);
  // All were flushed before the index was built, too.
  EXPECT_EQ(merged["orders"], (std::map<std::string, int>{{"2", 3}, {"3", 7}}));
}

TEST_F(Commands, CompactionHistoryIsATableWhoseRowsExpire) {
  make_shop();
  for (int flush = 0; flush < 2; ++flush) {
    cql("INSERT INTO shop.orders (id, item) VALUES (1, 'pear')");
    EXPECT_EQ(post("/v1/flush", "keyspace=shop&table=orders").status, 200);
  }
  EXPECT_EQ(post("/v1/compact", "keyspace=shop").status, 200);
  const auto of_orders = [](const std::string& rows_merged) {
    return ElementsAre("orders", rows_merged, "{\"compaction_type\": \"Major compaction\"}", "604800");
  };
  // A shard with one SSTable rewrites it, too: it may have tombstones.
  for (unsigned shard : {0u, 1u}) {
    EXPECT_THAT(cql("SELECT columnfamily_name, to_json(rows_merged), to_json(compaction_properties), ttl(bytes_out) "
                    "FROM system.compaction_history WHERE keyspace_name = 'shop' ALLOW FILTERING",
                    shard),
                UnorderedElementsAre(of_orders("{\"1\": 7}"), of_orders("{\"1\": 2, \"2\": 1}")));
  }
}

// Or each would leave something to compact.
TEST_F(Commands, CompactionsOfTheHistoryAreNotInIt) {
  make_shop();
  const std::string history = "keyspace=system&table=compaction_history";
  for (int i = 0; i < 4; ++i) {
    for (int flush = 0; flush < 2; ++flush) {
      for (int id = 0; id < 10; ++id) cql("INSERT INTO shop.orders (id) VALUES (" + std::to_string(id) + ")");
      EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
    }
    EXPECT_EQ(post("/v1/compact", "keyspace=shop").status, 200);
    EXPECT_EQ(post("/v1/flush", history).status, 200);
  }
  Json before = get("/v1/compaction_history").json;
  EXPECT_GE(before["compactions"].size(), 8u);
  EXPECT_EQ(post("/v1/compact", history).status, 200);
  EXPECT_EQ(get("/v1/compaction_history").json, before);
}

TEST_F(Commands, AutoCompaction) {
  make_shop();
  cql("CREATE INDEX by_item ON shop.orders (item) USING 'legacy_local_table'");
  EXPECT_EQ(get("/v1/auto_compaction", "keyspace=shop").json, Json::parse(R"({"tables": [
      {"keyspace": "shop", "table": "orders", "running": false},
      {"keyspace": "shop", "table": "orders.by_item", "running": false}]})"));
  EXPECT_GT(get("/v1/auto_compaction").json["tables"].size(), 20u);
  Reply unknown = get("/v1/auto_compaction", "keyspace=shop&table=nosuch");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.json, error("Unknown keyspace/cf pair (shop.nosuch)"));
  EXPECT_EQ(get("/v1/auto_compaction", "keyspace=nosuch").json, error("Keyspace [nosuch] does not exist."));
}

TEST_F(Commands, TheLimitsOfCompactionsAreSetWhileItRuns) {
  EXPECT_EQ(get("/v1/compactions").json["throughput_bytes_per_second"], 64 << 20);
  EXPECT_EQ(post("/v1/compactions", "throughput_mib_per_second=0&concurrent_compactors=5").json, Json::object());
  const Json now = get("/v1/compactions").json;
  EXPECT_EQ(now["throughput_bytes_per_second"], 0);
  EXPECT_EQ(now["concurrent_compactors"], 5);
  EXPECT_EQ(now["running"], Json::array());
  EXPECT_EQ(post("/v1/compactions", "throughput_mib_per_second=-1").json,
            error("Invalid data rate: value must be non-negative"));
  EXPECT_EQ(post("/v1/compactions", "throughput_mib_per_second=2147483647").json,
            error("compaction_throughput: 2147483647 is too large; it should be less than 2147483647 in MiB/s"));
  EXPECT_EQ(post("/v1/compactions", "concurrent_compactors=0&throughput_mib_per_second=7").status, 400);
  EXPECT_EQ(get("/v1/compactions").json["throughput_bytes_per_second"], 0);
}

TEST_F(Commands, SSTablesAreVerified) {
  make_shop();
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  for (const char* options : {"", "&quick=true", "&extended=true&check_version=true&check_tokens=true"}) {
    EXPECT_EQ(post("/v1/verify", std::string("keyspace=shop&table=orders") + options).json, Json::object()) << options;
  }
  EXPECT_EQ(post("/v1/verify", "extended=true&check_tokens=true").status, 200);
  EXPECT_EQ(post("/v1/verify", "check_tokens=true").json, error("Token verification requires --extended-verify"));
  EXPECT_EQ(post("/v1/verify", "keyspace=nosuch").json, error("Keyspace [nosuch] does not exist."));
  EXPECT_EQ(post("/v1/verify", "keyspace=shop&table=nosuch").status, 404);
}

TEST_F(Commands, CleanupLeavesWhatTheNodeOwns) {
  make_shop();
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  auto file = [this] {
    const Json found = get("/v1/sstables", "keyspace=shop&table=orders&key=1").json["sstables"];
    return found.empty() ? std::string() : found[0]["file"].get<std::string>();
  };
  const std::string before = file();
  EXPECT_EQ(post("/v1/cleanup").json, Json::object());
  EXPECT_EQ(post("/v1/cleanup", "keyspace=shop&table=orders").status, 200);
  EXPECT_EQ(file(), before);
  EXPECT_EQ(cql("SELECT count(*) FROM shop.orders"), (Rows{{"10"}}));
  EXPECT_EQ(post("/v1/cleanup", "keyspace=system").json,
            error("Cleanup of the system keyspace is neither necessary nor wise"));
  EXPECT_EQ(post("/v1/cleanup", "keyspace=nosuch").status, 400);
}

TEST_F(Commands, StopTakesTheTypesThatTheNodeHas) {
  EXPECT_EQ(post("/v1/compactions/stop", "type=COMPACTION").json, Json::parse(R"({"stopped": 0})"));
  EXPECT_EQ(post("/v1/compactions/stop", "type=UNKNOWN").json, Json::parse(R"({"stopped": 0})"));
  for (const char* never_runs : {"VALIDATION", "INDEX_SUMMARY", "P0", "STREAM"}) {
    EXPECT_EQ(post("/v1/compactions/stop", std::string("type=") + never_runs).json, Json::parse(R"({"stopped": 0})"));
  }
  EXPECT_EQ(post("/v1/compactions/stop", "type=nosuch").status, 400);
}

TEST_F(Commands, SwitchesAutomaticCompaction) {
  make_shop();
  auto running = [this] { return get("/v1/auto_compaction", "keyspace=shop").json["tables"][0]["running"]; };
  EXPECT_EQ(post("/v1/auto_compaction", "enabled=false").status, 200);
  EXPECT_EQ(running(), false);
  EXPECT_EQ(post("/v1/auto_compaction", "keyspace=shop&table=orders&enabled=true").status, 200);
  EXPECT_EQ(running(), true);
  EXPECT_EQ(post("/v1/auto_compaction", "").status, 400);
  Reply unknown = post("/v1/auto_compaction", "keyspace=shop&table=nosuch&enabled=false");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.json, error("Unknown keyspace/cf pair (shop.nosuch)"));
  EXPECT_EQ(running(), true);
}

TEST_F(Commands, Network) {
  EXPECT_EQ(get("/v1/network").json, Json::parse(R"({"mode": "NORMAL", "streams": [],
      "read_repairs": {"attempted": 0, "blocking_mismatches": 0, "background_mismatches": 0},
      "messages": [{"name": "Large messages", "pending": 0, "completed": 0, "dropped": 0},
                   {"name": "Small messages", "pending": 0, "completed": 0, "dropped": 0},
                   {"name": "Gossip messages", "pending": 0, "completed": 0, "dropped": 0}]})"));
}

TEST_F(Commands, TableHistograms) {
  make_shop();
  Json all = get("/v1/table_histograms", "keyspace=shop&table=orders").json["tables"];
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["table"], "orders");
  EXPECT_EQ(all[0]["partition_bytes"], nullptr);
  EXPECT_EQ(all[0]["sstables_per_read"],
            Json::parse(R"({"p50": 0, "p75": 0, "p95": 0, "p98": 0, "p99": 0, "min": 0, "max": 0})"));
  EXPECT_GT(get("/v1/table_histograms").json["tables"].size(), 20u);
  // Cassandra says the same of such partitions: the least bucket from 18, a mean of at most 21, one cell each.
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  Json flushed = get("/v1/table_histograms", "keyspace=shop&table=orders").json["tables"][0];
  EXPECT_EQ(flushed["cell_count"],
            Json::parse(R"({"p50": 1, "p75": 1, "p95": 1, "p98": 1, "p99": 1, "min": 0, "max": 1})"));
  EXPECT_EQ(flushed["partition_bytes"]["p50"], 20);
  EXPECT_EQ(flushed["partition_bytes"]["min"], 18);
  Json table = find(get("/v1/tables").json["tables"], "table", "orders");
  EXPECT_EQ(table["partition_min_bytes"], 18);
  EXPECT_EQ(table["partition_mean_bytes"], 20);
  EXPECT_EQ(get("/v1/table_histograms", "keyspace=shop&table=t").json, error("Unknown table shop.t"));
}

TEST_F(Commands, ProxyHistogramsSumTheShards) {
  context_->node.coordinators[0]->statistics().read_micros.record(10);
  context_->node.coordinators[1]->statistics().read_micros.record(1000);
  Json read = get("/v1/proxy_histograms").json["read"];
  EXPECT_EQ(read["min"], 9);
  EXPECT_EQ(read["max"], 1109);
}

TEST_F(Commands, ThreadPools) {
  make_shop();
  Json answer = get("/v1/thread_pools").json;
  EXPECT_EQ(find(answer["pools"], "name", "Native-Transport-Requests"),
            Json::parse(R"({"name": "Native-Transport-Requests", "active": 1, "pending": 0, "completed": 1129,
                            "blocked": 0, "all_time_blocked": 0})"));
  EXPECT_GE(find(answer["pools"], "name", "MutationStage")["completed"], 10);
  EXPECT_EQ(find(answer["dropped"], "type", "READ_REQ"),
            Json::parse(R"({"type": "READ_REQ", "dropped": 0, "wait_micros": null})"));
}

TEST_F(Commands, Clients) {
  Json clients = get("/v1/clients").json;
  EXPECT_EQ(clients["connections"][0], Json::parse(R"({"address": "127.0.0.1", "port": 50376, "ssl": false,
      "cipher": null, "ssl_protocol": null, "protocol_version": 5, "user": "anonymous", "keyspace": "shop",
      "requests": 565, "driver_name": "Apache Cassandra Python Driver", "driver_version": "3.30.1",
      "options": {"CQL_VERSION": "3.4.7"}})"));
  EXPECT_EQ(clients["by_user"],
            Json::parse(R"([{"user": "alice", "connections": 1}, {"user": "anonymous", "connections": 1}])"));
  EXPECT_EQ(clients["by_protocol"],
            Json::parse(R"([{"protocol_version": 4, "address": "127.0.0.1", "last_seen_millis": 2000},
                            {"protocol_version": 5, "address": "127.0.0.1", "last_seen_millis": 3000}])"));
  EXPECT_EQ(post("/v1/clients/clear_history").json, Json::object());
  EXPECT_THAT(calls_, ElementsAre("clear_client_history"));
}

TEST_F(Commands, Control) {
  EXPECT_EQ(get("/v1/binary").json, Json({{"running", true}}));
  EXPECT_EQ(post("/v1/binary/disable", "force=true").json, Json::object());
  EXPECT_EQ(post("/v1/drain").json, Json::object());
  Reply refused = post("/v1/binary/enable");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.json, error("The node is drained"));
  EXPECT_THAT(calls_, ElementsAre("disable_binary", "drain", "enable_binary"));
}

TEST_F(Commands, StopComesAfterItsAnswer) {
  EXPECT_EQ(post("/v1/stop").json, Json::object());
  EXPECT_THAT(calls_, ElementsAre());
  run_for(std::chrono::seconds(1));
  EXPECT_THAT(calls_, ElementsAre("stop"));
}

TEST_F(Commands, Logging) {
  EXPECT_EQ(get("/v1/logging").json, Json::parse(R"({"levels": [{"logger": "ROOT", "level": "INFO"},
                                                                {"logger": "commit_log", "level": "DEBUG"}]})"));
  EXPECT_EQ(post("/v1/logging", "logger=gossip&logger=ring&level=TRACE").status, 200);
  EXPECT_EQ(post("/v1/logging").status, 200);
  EXPECT_EQ(post("/v1/logging", "logger=ring&level=LOUD").json, error("Unknown logging level LOUD"));
  EXPECT_THAT(calls_, ElementsAre("gossip=TRACE", "ring=TRACE", "=", "ring=LOUD"));
}

TEST_F(Commands, TraceProbability) {
  EXPECT_EQ(get("/v1/trace_probability").json, Json({{"probability", 0.0}}));
  EXPECT_EQ(post("/v1/trace_probability", "value=0.25").status, 200);
  EXPECT_EQ(get("/v1/trace_probability").json, Json({{"probability", 0.25}}));
  for (const char* value : {"2", "-1", "nan", "x", ""}) {
    Reply refused = post("/v1/trace_probability", std::string("value=") + value);
    EXPECT_EQ(refused.status, 400) << value;
    EXPECT_EQ(refused.json, error("Trace probability must be between 0 and 1"));
  }
  EXPECT_EQ(get("/v1/trace_probability").json, Json({{"probability", 0.25}}));
}

TEST_F(Commands, TheSchemaIsReloaded) {
  make_shop();
  EXPECT_EQ(post("/v1/schema/reload").status, 200);
}

TEST_F(Commands, Snapshots) {
  make_shop();
  EXPECT_EQ(get("/v1/snapshots").json, Json::parse(R"({"snapshots": [], "true_total_bytes": 0})"));
  EXPECT_EQ(post("/v1/snapshots", "tag=t1&keyspace=shop").json, Json::object());
  Reply again = post("/v1/snapshots", "tag=t1&ktlist=shop.orders");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.json, error("Snapshot t1 already exists."));
  EXPECT_EQ(post("/v1/snapshots", "tag=t1&keyspace=system_auth&table=roles").status, 200);

  Json listed = get("/v1/snapshots").json["snapshots"];
  ASSERT_EQ(listed.size(), 2u);
  Json orders = find(listed, "table", "orders");
  EXPECT_GT(orders["size_on_disk_bytes"], 0);
  EXPECT_GT(orders["created_millis"], 0);
  EXPECT_EQ(orders["name"], "t1");
  EXPECT_EQ(find(listed, "keyspace", "system_auth")["table"], "roles");

  EXPECT_EQ(post("/v1/snapshots/clear", "tag=t1&keyspace=shop").json, Json::object());
  listed = get("/v1/snapshots").json["snapshots"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["table"], "roles");
}

TEST_F(Commands, SnapshotsRefuse) {
  EXPECT_EQ(post("/v1/snapshots").json, error("You must supply a snapshot name."));
  EXPECT_EQ(post("/v1/snapshots", "tag=..%2Fx").json, error("Snapshot name cannot contain /"));
  for (const char* dots : {"tag=.", "tag=..", "tag=..."}) {
    const auto refused = post("/v1/snapshots", dots);
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.json, error("Snapshot name cannot consist of dots"));
  }
  EXPECT_EQ(post("/v1/snapshots", "tag=..%00").json, error("Snapshot name cannot contain control characters"));
  EXPECT_EQ(post("/v1/snapshots", "tag=a%0Ab").status, 400);
  EXPECT_EQ(post("/v1/snapshots", "tag=..").status, 400);
  EXPECT_EQ(post("/v1/snapshots", "tag=" + std::string(256, 'a')).status, 400);
  EXPECT_EQ(post("/v1/snapshots", "tag=a&keyspace=system&table=nosuch").json,
            error("Unknown keyspace/cf pair (system.nosuch)"));
  Reply unknown = post("/v1/snapshots", "tag=a&keyspace=nosuch");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.json, error("Keyspace nosuch does not exist"));
  EXPECT_EQ(post("/v1/snapshots", "tag=a&table=orders").json,
            error("When specifying the table for a snapshot, you must specify one and only one keyspace"));
  EXPECT_EQ(post("/v1/snapshots", "tag=a&ktlist=orders").status, 400);
  EXPECT_EQ(post("/v1/snapshots", "tag=a&ttl=59s").json, error("ttl for snapshot must be at least 60 seconds"));
  EXPECT_EQ(post("/v1/snapshots", "tag=a&ttl=soon").status, 400);
  EXPECT_EQ(post("/v1/snapshots/clear", "older_than=1w").json,
            error("Invalid duration: 1w Accepted units:[SECONDS, MINUTES, HOURS, DAYS] where case matters and only "
                  "non-negative values."));
}

TEST_F(Commands, ASnapshotMayExpire) {
  make_shop();
  EXPECT_EQ(post("/v1/snapshots", "tag=kept&keyspace=shop").status, 200);
  EXPECT_EQ(post("/v1/snapshots", "tag=brief&keyspace=shop&ttl=2h").status, 200);
  Json listed = get("/v1/snapshots").json["snapshots"];
  const Json& brief = find(listed, "name", "brief");
  EXPECT_EQ(brief["expires_millis"].get<int64_t>() - brief["created_millis"].get<int64_t>(), 7'200'000);
  EXPECT_TRUE(find(listed, "name", "kept")["expires_millis"].is_null());
  Disk& disk = runtime().shard(0).disk;
  int64_t expires = brief["expires_millis"];
  EXPECT_TRUE(clear_expired_snapshots(disk, context_->node.engine_options, expires - 1).ok());
  EXPECT_EQ(get("/v1/snapshots").json["snapshots"].size(), 2u);
  EXPECT_TRUE(clear_expired_snapshots(disk, context_->node.engine_options, expires).ok());
  listed = get("/v1/snapshots").json["snapshots"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["name"], "kept");
}

TEST_F(Commands, ASnapshotMayLeaveOutWhatIsInMemory) {
  make_shop();
  EXPECT_EQ(post("/v1/snapshots", "tag=files&keyspace=shop&skip_flush=true").status, 200);
  EXPECT_EQ(find(get("/v1/tables").json["tables"], "table", "orders")["sstable_count"], 0);
  EXPECT_EQ(post("/v1/snapshots", "tag=all&keyspace=shop").status, 200);
  EXPECT_GE(find(get("/v1/tables").json["tables"], "table", "orders")["sstable_count"], 1);
}

TEST_F(Commands, ClearsOnlyOldSnapshots) {
  make_shop();
  EXPECT_EQ(post("/v1/snapshots", "tag=old&keyspace=shop").status, 200);
  run_for(std::chrono::hours(2));
  EXPECT_EQ(post("/v1/snapshots", "tag=new&keyspace=shop").status, 200);
  EXPECT_EQ(post("/v1/snapshots/clear", "older_than=1h").status, 200);
  Json listed = get("/v1/snapshots").json["snapshots"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["name"], "new");
  EXPECT_EQ(post("/v1/snapshots/clear", "older_than_timestamp=2100-01-01T00:00:00Z").status, 200);
  EXPECT_EQ(get("/v1/snapshots").json["snapshots"], Json::array());
}

TEST_F(Commands, Metrics) {
  make_shop();
  HttpResponse response = send(HttpRequest{"GET", "/metrics", "", "", {}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response.body, HasSubstr("cassandra_table_writes_total{keyspace=\"shop\",table=\"orders\"} 10\n"));
  EXPECT_THAT(response.body,
              HasSubstr("cassandra_table_write_latency_seconds_count{keyspace=\"shop\",table=\"orders\"} 10\n"));
  EXPECT_THAT(response.body, HasSubstr("cassandra_transport_connected_clients 2\n"));
  EXPECT_THAT(response.body, HasSubstr("# TYPE cassandra_client_request_latency_seconds histogram\n"));
  EXPECT_THAT(response.body, HasSubstr("cassandra_shards 2\n"));
  EXPECT_THAT(response.body, HasSubstr("# TYPE cassandra_shard_requests_forwarded_total counter\n"));
}

TEST_F(Commands, AnswerNothingOfANodeThatStops) {
  context_->stopped = true;
  EXPECT_EQ(get("/v1/tables").status, 409);
}

}  // namespace
}  // namespace cassandra_like
