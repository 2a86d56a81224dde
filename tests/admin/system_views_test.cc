// system_views as CQL sees it, from either shard.
#include <gmock/gmock.h>

#include "tests/admin/admin_node.h"

namespace cassandra_like {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using SystemViews = AdminNodeTest;

TEST_F(SystemViews, EveryDefinitionHasItsTable) {
  for (const auto& [name, table] : context_->schema()->keyspace("system_views")->tables) {
    EXPECT_NE(context_->replica().virtual_tables().find(table->id), nullptr) << name;
  }
}

TEST_F(SystemViews, EveryTableCanBeReadOnEveryShard) {
  for (const auto& [name, table] : context_->schema()->keyspace("system_views")->tables) {
    EXPECT_EQ(cql("SELECT * FROM system_views." + name, 0).size(), cql("SELECT * FROM system_views." + name, 1).size());
  }
}

TEST_F(SystemViews, WhatTheNodeHasNotIsEmpty) {
  for (const char* name : {"internode_inbound", "internode_outbound", "pending_hints", "sstable_tasks", "streaming",
                           "system_logs", "system_properties"}) {
    EXPECT_THAT(cql(std::string("SELECT * FROM system_views.") + name), IsEmpty()) << name;
  }
}

TEST_F(SystemViews, Caches) {
  EXPECT_THAT(cql("SELECT name, capacity_bytes, entry_count, request_count, hit_ratio FROM system_views.caches", 1),
              ElementsAre(ElementsAre("chunks", "536870912", "0", "0", "null")));
}

TEST_F(SystemViews, Settings) {
  EXPECT_THAT(cql("SELECT value FROM system_views.settings WHERE name = 'num_tokens'", 1),
              ElementsAre(ElementsAre("16")));
}

TEST_F(SystemViews, Clients) {
  EXPECT_THAT(cql("SELECT address, port, connection_stage, driver_name, hostname, keyspace_name, protocol_version, "
                  "request_count, ssl_cipher_suite, ssl_enabled, username FROM system_views.clients",
                  1),
              ElementsAre(ElementsAre("127.0.0.1", "50376", "ready", "Apache Cassandra Python Driver", "127.0.0.1",
                                      "shop", "5", "565", "null", "false", "anonymous"),
                          ElementsAre("127.0.0.1", "50378", "ready", "Apache Cassandra Python Driver", "127.0.0.1",
                                      "shop", "5", "565", "null", "false", "alice")));
}

TEST_F(SystemViews, NumbersOfTables) {
  make_shop();
  cql("SELECT * FROM shop.orders WHERE id = 1");
  const std::string orders = " WHERE keyspace_name = 'shop' AND table_name = 'orders'";
  EXPECT_THAT(cql("SELECT count FROM system_views.local_write_latency" + orders, 1), ElementsAre(ElementsAre("10")));
  EXPECT_THAT(cql("SELECT count FROM system_views.local_read_latency" + orders), ElementsAre(ElementsAre("1")));
  EXPECT_THAT(cql("SELECT count, max, p50th FROM system_views.rows_per_read" + orders),
              ElementsAre(ElementsAre("1", "1.0", "1.0")));
  EXPECT_THAT(cql("SELECT mebibytes FROM system_views.disk_usage" + orders), ElementsAre(ElementsAre("0")));
  EXPECT_THAT(cql("SELECT mebibytes FROM system_views.max_sstable_size" + orders), ElementsAre(ElementsAre("0")));
  EXPECT_EQ(post("/v1/flush", "keyspace=shop").status, 200);
  EXPECT_THAT(cql("SELECT mebibytes FROM system_views.disk_usage" + orders), ElementsAre(ElementsAre("1")));
  EXPECT_THAT(cql("SELECT mebibytes FROM system_views.max_sstable_size" + orders), ElementsAre(ElementsAre("1")));
}

TEST_F(SystemViews, LatenciesOfRequestsAndOfTheirReplicas) {
  make_shop();
  for (unsigned shard : {0u, 1u}) cql("SELECT * FROM shop.orders WHERE id = 1", shard);
  cql("SELECT * FROM shop.orders");
  const std::string orders = " WHERE keyspace_name = 'shop' AND table_name = 'orders'";
  auto count = [&](const std::string& view) { return cql("SELECT count FROM system_views." + view + orders)[0][0]; };
  EXPECT_EQ(count("coordinator_read_latency"), "2");
  EXPECT_EQ(count("coordinator_scan_latency"), "1");
  EXPECT_EQ(count("coordinator_write_latency"), "10");
  EXPECT_EQ(count("local_read_latency"), "2");
  EXPECT_EQ(count("local_scan_latency"), "2");  // on each shard
  EXPECT_EQ(count("local_write_latency"), "10");
  cql("DROP TABLE shop.orders");
  EXPECT_EQ(cql("SELECT count FROM system_views.coordinator_read_latency" + orders), Rows());
}

TEST_F(SystemViews, BatchMetrics) {
  make_shop();
  cql("CREATE TABLE shop.sold (id int PRIMARY KEY, n counter)");
  const std::string insert = " INSERT INTO shop.orders (id) VALUES (1); INSERT INTO shop.orders (id) VALUES (2);";
  cql("BEGIN BATCH" + insert + " APPLY BATCH");
  cql("BEGIN UNLOGGED BATCH" + insert + " INSERT INTO shop.orders (id) VALUES (3); APPLY BATCH");
  cql("BEGIN COUNTER BATCH UPDATE shop.sold SET n = n + 1 WHERE id = 1; UPDATE shop.sold SET n = n + 1 WHERE id = 2; "
      "APPLY BATCH");
  EXPECT_THAT(cql("SELECT name, max, p50th, p99th, p999th FROM system_views.batch_metrics"),
              UnorderedElementsAre(ElementsAre("partitions_per_logged_batch", "2", "2.0", "2.0", "2.0"),
                                   ElementsAre("partitions_per_unlogged_batch", "3", "3.0", "3.0", "3.0"),
                                   ElementsAre("partitions_per_counter_batch", "2", "2.0", "2.0", "2.0")));
}

TEST_F(SystemViews, GossipInfo) {
  EXPECT_THAT(cql("SELECT address, port, dc, rack, status, net_version, host_id, tokens_version, severity "
                  "FROM system_views.gossip_info"),
              ElementsAre(ElementsAre("127.0.0.1", "7000", "datacenter1", "rack1", "NORMAL,-9201284755974110584", "13",
                                      kHostId, "11", "null")));
}

TEST_F(SystemViews, ThreadPools) {
  EXPECT_THAT(cql("SELECT name, active_tasks, active_tasks_limit, completed_tasks FROM system_views.thread_pools"),
              AllOf(Contains(ElementsAre("Native-Transport-Requests", "1", "2", "1129")),
                    Contains(ElementsAre("ViewBuildExecutor", "0", "0", "0"))));
}

TEST_F(SystemViews, Snapshots) {
  make_shop();
  EXPECT_EQ(post("/v1/snapshots", "tag=t1&keyspace=shop").status, 200);
  EXPECT_THAT(cql("SELECT name, keyspace_name, table_name, ephemeral, expires_at FROM system_views.snapshots", 1),
              ElementsAre(ElementsAre("t1", "shop", "orders", "false", "null")));
}

TEST_F(SystemViews, CqlMetrics) { EXPECT_THAT(cql("SELECT name FROM system_views.cql_metrics"), SizeIs(5)); }

}  // namespace
}  // namespace cassandra_like
