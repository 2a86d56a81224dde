// Guardrails: for whom they hold, what they refuse and what they warn of. Texts are Cassandra's (db.guardrails.Guardrails).
#include "cql/context/guardrails.h"

#include "cql/query_processor.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

class GuardrailsTest : public testing::Test {
 protected:
  ~GuardrailsTest() override { node.kill(); }

  void limit(Guardrails guardrails) {
    CqlOptions options;
    options.guardrails = std::move(guardrails);
    coordinators.push_back(Coordinator::create(node.runtime(0), node.on(0), {}));
    processors.push_back(QueryProcessor::create(node.runtime(0), *coordinators.back(), options));
    processor = processors.back().get();
    processor->set_peers({processor});
    alice.user = "alice";
  }
  // "ok", "ok, warned: …", or the error; prepared first and then executed when `prepared`.
  std::string run(const std::string& text, ClientState& client, bool prepared = false) {
    QueryOptions options;
    options.page_size = page_size;
    options.consistency = consistency;
    using Answer = Result<QueryResult>;
    Bytes id;
    if (prepared) {
      auto made = node.run<Answer>(0, [&] { return processor->prepare(text, "", QueryState{client}); });
      if (!made.ok()) return made.error().message();
      id = std::get<PreparedResult>(made->value).id;
    }
    auto done = node.run<Answer>(0, [&] {
      QueryState request{client};
      return prepared ? processor->execute(id, options, request) : processor->query(text, options, request);
    });
    if (!done.ok()) {
      EXPECT_EQ(done.error().code(), ErrorCode::kInvalid);
      return done.error().message();
    }
    return done->warnings.empty() ? "ok" : "ok, warned: " + done->warnings[0];
  }
  std::string run(const std::string& text) { return run(text, alice); }
  void make_table() {
    limit({});
    EXPECT_EQ(run("CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}"),
              "ok");
    EXPECT_EQ(run("CREATE TABLE shop.orders (id int, n int, item text, PRIMARY KEY (id, n))"), "ok");
  }

  ReplicaNode node{1};
  // All that were made: the schema's listeners live as long as the node.
  std::vector<std::unique_ptr<Coordinator>> coordinators;
  std::vector<std::unique_ptr<QueryProcessor>> processors;
  QueryProcessor* processor = nullptr;
  ClientState alice;
  int32_t page_size = 100;
  Consistency consistency = Consistency::kOne;
};

constexpr char kKeyspace[] =
    "CREATE KEYSPACE one WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";

TEST_F(GuardrailsTest, HoldForUsersWhoLoggedInAndAreNoSuperusers) {
  Guardrails guardrails;
  guardrails.simplestrategy_enabled = false;
  limit(guardrails);
  EXPECT_EQ(run(kKeyspace), "Guardrail simplestrategy violated: SimpleStrategy is not allowed");
  ClientState anonymous, root;
  root.user = "cassandra";
  root.is_superuser = true;
  EXPECT_EQ(run(kKeyspace, anonymous), "ok");
  EXPECT_EQ(run("DROP KEYSPACE one", root), "ok");
  EXPECT_EQ(run(kKeyspace, root), "ok");
}

TEST_F(GuardrailsTest, NumbersOfKeyspacesTablesColumnsIndexesAndFields) {
  make_table();
  Guardrails guardrails;
  guardrails.keyspaces_warn_threshold = guardrails.keyspaces_fail_threshold = 1;
  guardrails.tables_warn_threshold = 1;
  guardrails.tables_fail_threshold = 2;
  guardrails.columns_per_table_fail_threshold = 3;
  guardrails.secondary_indexes_per_table_warn_threshold = 1;
  guardrails.secondary_indexes_per_table_fail_threshold = 2;
  guardrails.fields_per_udt_warn_threshold = 1;
  limit(guardrails);
  EXPECT_EQ(run(kKeyspace),
            "Guardrail keyspaces violated: Cannot have more than 1 keyspaces, aborting the creation of keyspace one");
  EXPECT_EQ(run("CREATE TABLE shop.a (k int PRIMARY KEY)"),
            "ok, warned: Guardrail tables violated: Creating table a, current number of tables 2 exceeds warning "
            "threshold of 1.");
  EXPECT_EQ(run("CREATE TABLE shop.b (k int PRIMARY KEY)"),
            "Guardrail tables violated: Cannot have more than 2 tables, aborting the creation of table b");
  EXPECT_EQ(run("CREATE TABLE shop.b (k int PRIMARY KEY, l int, m int, n int)"),
            "Guardrail columns_per_table violated: Tables cannot have more than 3 columns, but 4 provided for table b");
  EXPECT_EQ(run("ALTER TABLE shop.orders ADD more int"),
            "Guardrail columns_per_table violated: Tables cannot have more than 3 columns, but 4 provided for table "
            "orders");
  EXPECT_EQ(run("CREATE INDEX first ON shop.orders (item)"), "ok");
  EXPECT_EQ(run("CREATE INDEX second ON shop.orders (n)"),
            "ok, warned: Guardrail secondary_indexes_per_table violated: Creating secondary index second on table "
            "orders, current number of indexes 2 exceeds warning threshold of 1.");
  EXPECT_EQ(run("CREATE TYPE shop.u (a int, b int)"),
            "ok, warned: Guardrail fields_per_udt violated: The user type u has 2 columns, this exceeds the warning "
            "threshold of 1.");
}

TEST_F(GuardrailsTest, ReplicationFactors) {
  Guardrails guardrails;
  guardrails.minimum_replication_factor_warn_threshold = 2;
  guardrails.maximum_replication_factor_fail_threshold = 3;
  limit(guardrails);
  EXPECT_EQ(
      run(kKeyspace),
      "ok, warned: Guardrail minimum_replication_factor violated: The keyspace one has a replication factor of 1, "
      "below the warning threshold of 2.");
  EXPECT_EQ(run("ALTER KEYSPACE one WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 4}"),
            "Guardrail maximum_replication_factor violated: The keyspace one has a replication factor of 4, above the "
            "failure threshold of 3.");
}

TEST_F(GuardrailsTest, FeaturesThatAreSwitchedOff) {
  make_table();
  Guardrails guardrails;
  guardrails.user_timestamps_enabled = guardrails.group_by_enabled = guardrails.drop_truncate_table_enabled = false;
  guardrails.drop_keyspace_enabled = guardrails.secondary_indexes_enabled = guardrails.alter_table_enabled = false;
  guardrails.uncompressed_tables_enabled = guardrails.allow_filtering_enabled = false;
  guardrails.use_statements_enabled = false;
  limit(guardrails);
  const std::pair<const char*, const char*> refused[] = {
      {"INSERT INTO shop.orders (id, n) VALUES (1, 2) USING TIMESTAMP 5",
       "Guardrail user_timestamps violated: User provided timestamps (USING TIMESTAMP) is not allowed"},
      {"BEGIN BATCH DELETE FROM shop.orders USING TIMESTAMP 5 WHERE id = 1 APPLY BATCH",
       "Guardrail user_timestamps violated: User provided timestamps (USING TIMESTAMP) is not allowed"},
      {"SELECT * FROM shop.orders WHERE item = 'x' ALLOW FILTERING",
       "Guardrail allow_filtering violated: Querying with ALLOW FILTERING is not allowed. ALLOW FILTERING can "
       "potentially visit all the data in the table and have unpredictable performance."},
      {"TRUNCATE shop.orders",
       "Guardrail drop_truncate_table_enabled violated: DROP and TRUNCATE TABLE functionality is not allowed"},
      {"DROP TABLE shop.orders",
       "Guardrail drop_truncate_table_enabled violated: DROP and TRUNCATE TABLE functionality is not allowed"},
      {"DROP KEYSPACE shop", "Guardrail drop_keyspace_enabled violated: DROP KEYSPACE functionality is not allowed"},
      {"CREATE INDEX ON shop.orders (item)",
       "Guardrail secondary_indexes violated: Creating secondary indexes is not allowed"},
      {"ALTER TABLE shop.orders DROP item",
       "Guardrail alter_table violated: ALTER TABLE changing columns is not allowed"},
      {"CREATE TABLE shop.t (k int PRIMARY KEY) WITH compression = {'enabled': 'false'}",
       "Guardrail uncompressed_tables_enabled violated: Uncompressed table is not allowed"},
      {"USE shop", "USE statements prohibited. (see use_statements_enabled in cassandra.yaml)"},
  };
  for (const auto& [statement, text] : refused) EXPECT_EQ(run(statement), text) << statement;
  EXPECT_EQ(run("INSERT INTO shop.orders (id, n) VALUES (1, 2)"), "ok");
  EXPECT_EQ(run("SELECT * FROM shop.orders WHERE id = 1"), "ok");
}

TEST_F(GuardrailsTest, WhatASelectAsksFor) {
  make_table();
  Guardrails guardrails;
  guardrails.page_size_fail_threshold = 1000;
  guardrails.partition_keys_in_select_warn_threshold = 1;
  guardrails.partition_keys_in_select_fail_threshold = 2;
  guardrails.in_select_cartesian_product_fail_threshold = 3;
  limit(guardrails);
  for (bool prepared : {false, true}) {
    EXPECT_EQ(
        run("SELECT * FROM shop.orders WHERE id IN (1, 2)", alice, prepared),
        "ok, warned: Guardrail partition_keys_in_select violated: Query with partition keys in IN clause on table "
        "orders, with number of partition keys 2 exceeds warning threshold of 1.");
    EXPECT_EQ(run("SELECT * FROM shop.orders WHERE id IN (1, 2, 3)", alice, prepared),
              "Guardrail partition_keys_in_select violated: Aborting query with partition keys in IN clause on table "
              "orders, number of partition keys 3 exceeds fail threshold of 2.");
    EXPECT_EQ(run("SELECT * FROM shop.orders WHERE id = 1 AND n IN (1, 2, 3, 4)", alice, prepared),
              "Guardrail in_select_cartesian_product violated: Aborting query because the cartesian product of the IN "
              "restrictions on clustering key produces 4 values, this exceeds fail threshold of 3.");
  }
  page_size = 1001;
  EXPECT_EQ(run("SELECT * FROM shop.orders WHERE id = 1"),
            "Guardrail page_size violated: Aborting query for table orders, page size 1001 exceeds fail threshold of "
            "1000.");
}

TEST_F(GuardrailsTest, ConsistencyLevelsAndTableProperties) {
  make_table();
  Guardrails guardrails;
  guardrails.read_consistency_levels_disallowed = {"ONE"};
  guardrails.write_consistency_levels_warned = {"ONE"};
  guardrails.table_properties_disallowed = {"gc_grace_seconds"};
  limit(guardrails);
  EXPECT_EQ(run("SELECT * FROM shop.orders WHERE id = 1"),
            "Guardrail read_consistency_levels violated: Provided values [ONE] are not allowed for read consistency "
            "levels (disallowed values are: [ONE])");
  EXPECT_EQ(run("INSERT INTO shop.orders (id, n) VALUES (1, 2)"),
            "ok, warned: Guardrail write_consistency_levels violated: Provided values [ONE] are not recommended for "
            "write consistency levels (warned values are: [ONE])");
  EXPECT_EQ(run("ALTER TABLE shop.orders WITH gc_grace_seconds = 5"),
            "Guardrail table_properties violated: Provided values [gc_grace_seconds] are not allowed for Table "
            "Properties (disallowed values are: [gc_grace_seconds])");
  consistency = Consistency::kQuorum;
  EXPECT_EQ(run("SELECT * FROM shop.orders WHERE id = 1"), "ok");
}

}  // namespace
}  // namespace cassandra_like::test
