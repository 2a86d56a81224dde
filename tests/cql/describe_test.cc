// DESCRIBE's pages, and the text of a table in a snapshot.
#include "cql/schema/describe.h"

#include <gtest/gtest.h>

#include "model/schema_text.h"
#include "schema/system_tables.h"
#include "schema_session.h"

namespace cassandra_like {
namespace {

ast::Describe describe_keyspaces() {
  ast::Describe describe;
  describe.kind = ast::Describe::Kind::kKeyspaces;
  return describe;
}

// The third value of each row.
Lines names(const RowsResult& rows) {
  Lines names;
  Reader in(rows.rows);
  for (int32_t i = 0; i < rows.row_count; ++i) {
    in.take(static_cast<size_t>(in.i32()));
    in.take(static_cast<size_t>(in.i32()));
    names.emplace_back(in.take(static_cast<size_t>(in.i32())));
  }
  EXPECT_TRUE(in.at_end());
  return names;
}

Result<RowsResult> page(const Schema& schema, int32_t size, BytesView state = kNull) {
  QueryOptions options;
  options.page_size = size;
  options.paging_state = state;
  return describe_page(describe_keyspaces(), schema, "", options);
}

TEST(Describe, ComesInPages) {
  SchemaPtr schema = builtin_schema();
  auto all = page(*schema, -1);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(names(*all), (Lines{"system", "system_auth", "system_distributed", "system_schema", "system_traces",
                                "system_views", "system_virtual_schema"}));
  EXPECT_TRUE(all->paging_state.empty());

  auto first = page(*schema, 4);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(names(*first), (Lines{"system", "system_auth", "system_distributed", "system_schema"}));
  auto second = page(*schema, 4, first->paging_state);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(names(*second), (Lines{"system_traces", "system_views", "system_virtual_schema"}));
  EXPECT_TRUE(second->paging_state.empty());
}

TEST(Describe, DoesNotContinueInAnotherSchema) {
  SchemaPtr schema = builtin_schema();
  auto first = page(*schema, 4);
  ASSERT_TRUE(first.ok());
  auto second = page(*schema->with_version(Uuid::random(1, 2)), 4, first->paging_state);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(
      second.error().message(),
      "The schema has changed since the previous page of the DESCRIBE statement result. Please retry the DESCRIBE "
      "statement.");
  auto garbage = page(*schema, 4, "garbage");
  ASSERT_FALSE(garbage.ok());
  EXPECT_EQ(garbage.error().message(), "Invalid value for the paging state");
}

// schema.cql as Cassandra's snapshot of the same table has it. It leaves out types that only a collection uses.
TEST(SchemaText, OfASnapshot) {
  SchemaSession session;
  for (const char* text :
       {"CREATE KEYSPACE snap WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TYPE snap.inner_type (a int)", "CREATE TYPE snap.outer_type (i frozen<inner_type>, t text)",
        "CREATE TYPE snap.listed (t text)",
        "CREATE TABLE snap.t (k int PRIMARY KEY, o frozen<outer_type>, l list<frozen<listed>>, v int, gone text) "
        "WITH id = '54b273e0-e558-11f1-be47-e9e782a74750'",
        "CREATE INDEX ON snap.t (v) USING 'legacy_local_table'",
        "ALTER TABLE snap.t DROP gone USING TIMESTAMP 1000000"}) {
    EXPECT_EQ(session.answer(text)[0].substr(0, 7), "CHANGED") << text;
  }
  KeyspacePtr keyspace = session.schema()->keyspace("snap");
  EXPECT_EQ(snapshot_schema_text(*keyspace, *keyspace->table("t")), R"(CREATE TYPE IF NOT EXISTS snap.inner_type (
    a int
);
CREATE TYPE IF NOT EXISTS snap.outer_type (
    i frozen<inner_type>,
    t text
);
CREATE TABLE IF NOT EXISTS snap.t (
    k int PRIMARY KEY,
    o frozen<outer_type>,
    v int,
    l list<frozen<listed>>,
    gone text
) WITH ID = 54b273e0-e558-11f1-be47-e9e782a74750
    AND additional_write_policy = '99p'
    AND allow_auto_snapshot = true
    AND bloom_filter_fp_chance = 0.01
    AND caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}
    AND cdc = false
    AND comment = ''
    AND compaction = {'class': 'org.apache.cassandra.db.compaction.UnifiedCompactionStrategy', 'max_sstables_to_compact': '64', 'min_sstable_size': '100MiB', 'scaling_parameters': 'T4', 'sstable_growth': '0.3333333333333333', 'target_sstable_size': '1GiB'}
    AND compression = {'chunk_length_in_kb': '16', 'class': 'org.apache.cassandra.io.compress.LZ4Compressor'}
    AND memtable = 'default'
    AND crc_check_chance = 1.0
    AND default_time_to_live = 0
    AND extensions = {}
    AND gc_grace_seconds = 864000
    AND incremental_backups = true
    AND max_index_interval = 2048
    AND memtable_flush_period_in_ms = 0
    AND min_index_interval = 128
    AND read_repair = 'BLOCKING'
    AND speculative_retry = '99p';
ALTER TABLE snap.t DROP gone USING TIMESTAMP 1000000;
CREATE INDEX IF NOT EXISTS t_v_idx ON snap.t (v);
)");
}

}  // namespace
}  // namespace cassandra_like
