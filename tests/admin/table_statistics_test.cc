// The numbers that tablestats tells of a table's SSTables and reads: Cassandra's for such a table.
#include <gmock/gmock.h>

#include "tests/admin/admin_node.h"

namespace cassandra_like {
namespace {

using admin::Json;

class TableStatisticsOfANode : public AdminNodeTest {
 protected:
  TableStatisticsOfANode() {
    cql("CREATE KEYSPACE nt WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  }
  Json table() {
    const Json all = get("/v1/tables").json;
    for (const Json& each : all["tables"]) {
      if (each["keyspace"] == "nt") return each;
    }
    ADD_FAILURE() << "no table in nt";
    return Json::object();
  }
  void flush() { EXPECT_EQ(post("/v1/flush", "keyspace=nt").status, 200); }
};

TEST_F(TableStatisticsOfANode, TheLeveledStrategyHasNineLevels) {
  cql("CREATE TABLE nt.t (k int PRIMARY KEY) WITH compaction = "
      "{'class': 'LeveledCompactionStrategy', 'fanout_size': '7'}");
  for (int k = 0; k < 10; ++k) cql("INSERT INTO nt.t (k) VALUES (" + std::to_string(k) + ")");
  EXPECT_EQ(table()["sstables_per_level"], Json::parse("[0, 0, 0, 0, 0, 0, 0, 0, 0]"));
  flush();
  const Json t = table();
  EXPECT_EQ(t["sstables_per_level"][0], t["sstable_count"]);
  EXPECT_EQ(t["sstables_per_level"].size(), 9u);
  EXPECT_GT(t["sstable_bytes_per_level"][0], 0);
  EXPECT_LT(t["sstable_bytes_per_level"][0], t["space_used_live_bytes"]);  // Data.db alone
  EXPECT_EQ(t["sstable_bytes_per_level"][1], 0);
  EXPECT_EQ(t["level_fanout"], 7);
  EXPECT_EQ(t["twcs_max_duration_millis"], nullptr);
}

TEST_F(TableStatisticsOfANode, TheLongestTimeOfAnSSTableIsOfItsTimestamps) {
  cql("CREATE TABLE nt.t (k int, c int, PRIMARY KEY (k, c)) WITH compaction = {'class': "
      "'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', 'compaction_window_size': 2}");
  EXPECT_EQ(table()["twcs_max_duration_millis"], 0);
  cql("INSERT INTO nt.t (k, c) VALUES (1, 1) USING TIMESTAMP 1700000000000000");
  cql("INSERT INTO nt.t (k, c) VALUES (1, 2) USING TIMESTAMP 1700003725000000");
  flush();
  cql("INSERT INTO nt.t (k, c) VALUES (1, 3) USING TIMESTAMP 1800000000000000");
  flush();
  EXPECT_EQ(table()["twcs_max_duration_millis"], 3'725'000);  // 1 hour 2 minutes 5 seconds
  EXPECT_EQ(table()["sstables_per_level"], nullptr);
}

TEST_F(TableStatisticsOfANode, ATombstoneIsDroppableAfterItsGrace) {
  cql("CREATE TABLE nt.t (k int PRIMARY KEY, v int) WITH gc_grace_seconds = 100");
  for (int k = 0; k < 9; ++k) cql("INSERT INTO nt.t (k, v) VALUES (" + std::to_string(k) + ", 1)");
  cql("DELETE v FROM nt.t WHERE k = 9");
  flush();
  EXPECT_EQ(table()["droppable_tombstone_ratio"], 0.0);
  run_for(std::chrono::seconds(110));
  EXPECT_GT(table()["droppable_tombstone_ratio"], 0.0);
}

// Cassandra's histograms of reads have no bucket for 0.
TEST_F(TableStatisticsOfANode, AReadOfNothingCountsAsOneCell) {
  cql("CREATE TABLE nt.t (k int PRIMARY KEY)");
  EXPECT_EQ(table()["live_cells_mean"], nullptr);
  EXPECT_EQ(table()["live_cells_max"], 0);
  cql("SELECT * FROM nt.t WHERE k = 1");
  for (const char* of : {"live_cells", "tombstones"}) {
    EXPECT_EQ(table()[of + std::string("_mean")], 1.0) << of;
    EXPECT_EQ(table()[of + std::string("_max")], 1) << of;
  }
}

}  // namespace
}  // namespace cassandra_like
