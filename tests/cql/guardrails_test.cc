// Guardrails: for whom they hold, what they refuse and what they warn of. Texts are Cassandra's (db.guardrails.Guardrails).
#include "cql/context/guardrails.h"

#include <algorithm>

#include <fmt/format.h>

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
      const std::string text = done.error().message();
      // Cassandra warns of it, too; of full disks rarely.
      const std::vector<std::string>& warnings = done.error().info().warnings;
      const bool is_warned = text.starts_with("Guardrail ") && text.find("replica_disk_usage") == std::string::npos;
      if (is_warned) {
        EXPECT_EQ(std::count(warnings.begin(), warnings.end(), text), 1) << text;
      }
      return text;
    }
    std::string answer = "ok";
    for (const std::string& warning : done->warnings) answer += (answer == "ok" ? ", warned: " : "; ") + warning;
    return answer;
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

std::string value_text(const std::string& column, int size, const std::string& kind, int threshold) {
  return fmt::format(
      "Guardrail column_value_size violated: Value of column '{}' has size {}, this exceeds the {} "
      "threshold of {}.",
      column, size, kind, threshold);
}

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

TEST_F(GuardrailsTest, SizesOfValues) {
  make_table();
  EXPECT_EQ(run("CREATE TYPE shop.pair (a text, b text)"), "ok");
  EXPECT_EQ(run("CREATE TABLE shop.sized (id text PRIMARY KEY, v text, s set<text>, l list<text>, m map<text, text>, "
                "f frozen<list<text>>, u pair, g frozen<pair>, j blob)"),
            "ok");
  Guardrails guardrails;
  guardrails.column_value_size_warn_threshold = 5;
  guardrails.column_value_size_fail_threshold = 20;
  limit(guardrails);
  auto warned = [](const std::string& column, int size) {
    return "ok, warned: " + value_text(column, size, "warning", 5);
  };
  auto refused = [](const std::string& column, int size) { return value_text(column, size, "failure", 20); };
  const std::string ten(10, 'x'), many(30, 'x');
  // Keys are not looked at.
  EXPECT_EQ(run("INSERT INTO shop.sized (id, v) VALUES ('" + many + "', 'short')"), "ok");
  for (bool prepared : {false, true}) {
    auto ask = [&](const std::string& text) { return run(text, alice, prepared); };
    EXPECT_EQ(ask("INSERT INTO shop.sized (id, v) VALUES ('a', '" + ten + "') USING TTL 100"), warned("v", 10));
    EXPECT_EQ(ask("UPDATE shop.sized SET v = '" + many + "' WHERE id = 'a'"), refused("v", 30));
    EXPECT_EQ(ask("INSERT INTO shop.sized JSON '{\"id\": \"a\", \"v\": \"" + many + "\"}'"), refused("v", 30));
    EXPECT_EQ(ask("UPDATE shop.sized SET s = s + {'" + ten + "'} WHERE id = 'a'"), warned("s", 10));
    EXPECT_EQ(ask("UPDATE shop.sized SET s = s - {'" + many + "'} WHERE id = 'a'"), refused("s", 30));
    EXPECT_EQ(ask("DELETE s['" + many + "'] FROM shop.sized WHERE id = 'a'"), refused("s", 30));
    EXPECT_EQ(ask("DELETE s FROM shop.sized WHERE id = 'a'"), "ok");
    // The path of a list's element is a timeuuid.
    EXPECT_EQ(ask("UPDATE shop.sized SET l = ['" + ten + "'] WHERE id = 'a'"),
              warned("l", 10) + "; " + value_text("l", 16, "warning", 5));
    EXPECT_EQ(ask("UPDATE shop.sized SET m['" + ten + "'] = 'v' WHERE id = 'a'"), warned("m", 10));
    EXPECT_EQ(ask("UPDATE shop.sized SET m['k'] = '" + many + "' WHERE id = 'a'"), refused("m", 30));
    EXPECT_EQ(ask("UPDATE shop.sized SET u.a = '" + many + "' WHERE id = 'a'"), refused("u", 30));
    EXPECT_EQ(ask("UPDATE shop.sized SET u = {a: '" + ten + "', b: 'x'} WHERE id = 'a'"), warned("u", 10));
    // A frozen value counts as a whole.
    EXPECT_EQ(ask("UPDATE shop.sized SET f = ['" + ten + "'] WHERE id = 'a'"), warned("f", 18));
    EXPECT_EQ(ask("UPDATE shop.sized SET g = {a: '" + ten + "', b: 'xx'} WHERE id = 'a'"), warned("g", 20));
    EXPECT_EQ(ask("BEGIN UNLOGGED BATCH INSERT INTO shop.sized (id, v) VALUES ('a', '" + ten +
                  "'); UPDATE shop.sized SET v = 'x' WHERE id = 'b'; APPLY BATCH"),
              warned("v", 10));
    EXPECT_EQ(ask("BEGIN UNLOGGED BATCH INSERT INTO shop.sized (id, v) VALUES ('a', 'x'); UPDATE shop.sized SET v = '" +
                  many + "' WHERE id = 'b'; APPLY BATCH"),
              refused("v", 30));
  }
  ClientState root;
  root.user = "cassandra";
  root.is_superuser = true;
  EXPECT_EQ(run("UPDATE shop.sized SET v = '" + many + "' WHERE id = 'a'", root), "ok");
}

TEST_F(GuardrailsTest, SizesOfCollections) {
  make_table();
  EXPECT_EQ(run("CREATE TABLE shop.sized (id int PRIMARY KEY, s set<text>, l list<int>, m map<int, text>, f "
                "frozen<set<int>>, u frozen<map<int, frozen<list<int>>>>)"),
            "ok");
  Guardrails guardrails;
  guardrails.items_per_collection_warn_threshold = 1;
  guardrails.items_per_collection_fail_threshold = 2;
  guardrails.collection_size_fail_threshold = 80;
  limit(guardrails);
  auto items = [](const std::string& column, int count, bool fails) {
    return fmt::format(
        "{}Guardrail items_per_collection violated: Detected collection {} with {} items, this exceeds "
        "the {} threshold of {}.",
        fails ? "" : "ok, warned: ", column, count, fails ? "failure" : "warning", fails ? 2 : 1);
  };
  EXPECT_EQ(run("UPDATE shop.sized SET s = {'a'} WHERE id = 1"), "ok");
  EXPECT_EQ(run("UPDATE shop.sized SET s = {'a', 'b'} WHERE id = 1"), items("s", 2, false));
  EXPECT_EQ(run("UPDATE shop.sized SET s = s + {'a', 'b', 'c'} WHERE id = 1"), items("s", 3, true));
  EXPECT_EQ(run("UPDATE shop.sized SET s = {'a', 'a', 'a'} WHERE id = 1"), "ok");
  EXPECT_EQ(run("UPDATE shop.sized SET s = s - {'a', 'b', 'c'} WHERE id = 1"), "ok");
  EXPECT_EQ(run("UPDATE shop.sized SET s = {} WHERE id = 1"), "ok");
  EXPECT_EQ(run("UPDATE shop.sized SET l = l + [1, 2, 3] WHERE id = 1"), items("l", 3, true));
  EXPECT_EQ(run("UPDATE shop.sized SET l = [1, 2, 3] + l WHERE id = 1"), "ok");
  EXPECT_EQ(run("UPDATE shop.sized SET m = m + {1: 'a', 2: 'b', 3: 'c'} WHERE id = 1"), items("m", 3, true));
  EXPECT_EQ(run("UPDATE shop.sized SET m[1] = 'a', m[2] = 'b', m[3] = 'c' WHERE id = 1"), "ok");
  EXPECT_EQ(run("UPDATE shop.sized SET f = {1, 2, 3} WHERE id = 1"), items("f", 3, true));
  EXPECT_EQ(
      run("UPDATE shop.sized SET u = {1: [1, 2, 3, 4, 5, 6]} WHERE id = 1"),
      "Guardrail collection_size violated: Detected collection u of size 88, this exceeds the failure threshold of "
      "80.");
  EXPECT_EQ(
      run("UPDATE shop.sized SET m = {1: '" + std::string(60, 'x') + "'} WHERE id = 1"),
      "Guardrail collection_size violated: Detected collection m of size 84, this exceeds the failure threshold of "
      "80.");
  EXPECT_EQ(run("INSERT INTO shop.sized (id, s) VALUES (1, null)"), "ok");
}

TEST_F(GuardrailsTest, ReadsBeforeWritesToLists) {
  make_table();
  EXPECT_EQ(run("CREATE TABLE shop.lists (id int PRIMARY KEY, l list<int>)"), "ok");
  EXPECT_EQ(run("INSERT INTO shop.lists (id, l) VALUES (1, [1, 2])"), "ok");
  Guardrails guardrails;
  guardrails.read_before_write_list_operations_enabled = false;
  limit(guardrails);
  const std::string name = "Guardrail read_before_write_list_operations violated: ";
  EXPECT_EQ(run("UPDATE shop.lists SET l[0] = 5 WHERE id = 1"),
            name + "Setting of list items by index requiring read before write is not allowed");
  EXPECT_EQ(run("UPDATE shop.lists SET l = l - [1] WHERE id = 1"),
            name + "Removal of list items requiring read before write is not allowed");
  EXPECT_EQ(run("DELETE l[0] FROM shop.lists WHERE id = 1", alice, true),
            name + "Removal of list items by index requiring read before write is not allowed");
  EXPECT_EQ(run("UPDATE shop.lists SET l = l + [1] WHERE id = 1"), "ok");
}

TEST_F(GuardrailsTest, TimestampsFarFromNow) {
  make_table();
  Guardrails guardrails;
  guardrails.maximum_timestamp_fail_threshold = 60'000'000;
  guardrails.minimum_timestamp_warn_threshold = 60'000'000;
  limit(guardrails);
  const int64_t now = node.runtime(0).clock.wall_micros();
  auto write = [&](int64_t micros) {
    return run(fmt::format("INSERT INTO shop.orders (id, n) VALUES (1, 2) USING TIMESTAMP {}", micros), alice, true);
  };
  EXPECT_EQ(write(now), "ok");
  EXPECT_EQ(
      write(now + 3'600'000'000)
          .find(fmt::format("Guardrail maximum_timestamp violated: The modification to table orders has a timestamp {} "
                            "after the maximum allowable failure threshold ",
                            now + 3'600'000'000)),
      0u);
  const std::string old = write(1);
  EXPECT_EQ(old.find("ok, warned: Guardrail minimum_timestamp violated: The modification to table orders has a "
                     "timestamp 1 before the minimum allowable warning threshold "),
            0u);
  EXPECT_TRUE(old.ends_with(". Timestamps too far in the past can cause writes can be unexpectedly lost"));
  EXPECT_EQ(run("BEGIN BATCH INSERT INTO shop.orders (id, n) VALUES (1, 2) USING TIMESTAMP 1; APPLY BATCH"), "ok");
}

TEST_F(GuardrailsTest, Vectors) {
  make_table();
  Guardrails guardrails;
  guardrails.vector_dimensions_warn_threshold = 2;
  guardrails.vector_dimensions_fail_threshold = 4;
  limit(guardrails);
  const std::string of_three = " has a vector of 3 dimensions, this exceeds the warning threshold of 2.";
  const std::string of_five = " has a vector of 5 dimensions, this exceeds the failure threshold of 4.";
  const std::string name = "Guardrail vector_dimensions violated: ";
  EXPECT_EQ(run("CREATE TABLE shop.v1 (id int PRIMARY KEY, v vector<float, 2>)"), "ok");
  EXPECT_EQ(run("CREATE TABLE shop.v2 (id int PRIMARY KEY, v vector<float, 3>)"),
            "ok, warned: " + name + "Column v" + of_three);
  EXPECT_EQ(run("CREATE TABLE shop.v3 (id int PRIMARY KEY, v frozen<list<vector<float, 5>>>)"),
            name + "Column v" + of_five);
  EXPECT_EQ(run("ALTER TABLE shop.v1 ADD w vector<float, 5>"), name + "Column w" + of_five);
  EXPECT_EQ(run("CREATE TYPE shop.p (f vector<float, 5>)"), name + "Field f" + of_five);
  guardrails = Guardrails();
  guardrails.vector_type_enabled = false;
  limit(guardrails);
  EXPECT_EQ(run("CREATE TABLE shop.v4 (id int PRIMARY KEY, v vector<float, 2>)"),
            "Guardrail vector_type_enabled violated: Column v is not allowed");
}

TEST_F(GuardrailsTest, TimeWindowsWithoutTtl) {
  make_table();
  const std::string windows = " WITH compaction = {'class': 'TimeWindowCompactionStrategy'}";
  const std::string name =
      "Guardrail zero_ttl_on_twcs violated: 0 default_time_to_live on a table with TimeWindowCompactionStrategy "
      "compaction strategy is not ";
  const std::string why =
      ". It is suspicious to use default_time_to_live set to 0 with such compaction strategy. Please keep in mind that "
      "data will not start to automatically expire after they are older than a respective compaction window unit of a "
      "certain size. Please set TTL for your INSERT or UPDATE statements if you expect data to be expired as table "
      "settings will not do it. ";
  EXPECT_EQ(run("CREATE TABLE shop.w1 (id int PRIMARY KEY)" + windows), "ok, warned: " + name + "recommended" + why);
  EXPECT_EQ(run("CREATE TABLE shop.w2 (id int PRIMARY KEY)" + windows + " AND default_time_to_live = 60"), "ok");
  EXPECT_EQ(run("ALTER TABLE shop.w2" + windows), "ok, warned: " + name + "recommended" + why);
  Guardrails guardrails;
  guardrails.zero_ttl_on_twcs_enabled = false;
  limit(guardrails);
  EXPECT_EQ(run("CREATE TABLE shop.w3 (id int PRIMARY KEY)" + windows), name + "allowed" + why);
  EXPECT_EQ(run("CREATE TABLE shop.w3 (id int PRIMARY KEY)"), "ok");
}

TEST_F(GuardrailsTest, QueriesOfIndexesAndIntersections) {
  make_table();
  EXPECT_EQ(
      run("CREATE KEYSPACE two WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}").substr(0, 2),
      "ok");
  EXPECT_EQ(run("CREATE TABLE two.t (id int PRIMARY KEY, a int, b int)"), "ok");
  EXPECT_EQ(run("CREATE INDEX ON two.t (a)"), "ok");
  node.world().run_for(std::chrono::seconds(1));
  const std::string both = "SELECT * FROM two.t WHERE a = 1 AND b = 2 ALLOW FILTERING";
  EXPECT_EQ(run(both), "ok");  // at ONE
  Guardrails guardrails;
  guardrails.non_partition_restricted_index_query_enabled = false;
  limit(guardrails);
  EXPECT_EQ(
      run("SELECT * FROM two.t WHERE a = 1"),
      "Guardrail non_partition_restricted_index_query_enabled violated: Non-partition key restricted query is not "
      "allowed. Executing a query on secondary indexes without partition key restriction might degrade "
      "performance");
  EXPECT_EQ(run("SELECT * FROM two.t WHERE a = 1 AND id = 1"), "ok");
  guardrails = Guardrails();
  guardrails.intersect_filtering_query_enabled = false;
  limit(guardrails);
  consistency = Consistency::kTwo;
  EXPECT_EQ(run(both),
            "Guardrail intersect_filtering_query violated: Filtering query with intersection on mutable columns at "
            "consistency level requiring coordinator reconciliation is not allowed. Filtering queries involving an "
            "intersection on multiple mutable (i.e. non-key) columns over unrepaired data at read consistency levels "
            "that would require coordinator reconciliation may violate the guarantees of those consistency levels.");
}

TEST_F(GuardrailsTest, ReplicasWithFullDisksTakeNoWrites) {
  make_table();
  auto tell = [this](DiskUsage usage) {
    TopologyStore& topology = node.on(0).topology();
    topology.set(topology.current()->with_liveness({true}, {}, {usage}));
  };
  const std::string write = "INSERT INTO shop.orders (id, n) VALUES (1, 2)";
  const std::string batch = "BEGIN BATCH " + write + "; APPLY BATCH";
  const std::string refused =
      "Guardrail replica_disk_usage violated: Write request failed because disk usage exceeds failure threshold";
  EXPECT_EQ(run(write), "ok");
  tell(DiskUsage::kFull);
  EXPECT_EQ(run(write), refused);
  EXPECT_EQ(run(write, alice, true), refused);
  EXPECT_EQ(run(batch), refused);
  EXPECT_EQ(run("SELECT * FROM shop.orders WHERE id = 1"), "ok");
  ClientState root;
  root.user = "cassandra";
  root.is_superuser = true;
  EXPECT_EQ(run(write, root), "ok");
  // A processor that is made while it is so knows it, too.
  limit({});
  EXPECT_EQ(run(write), refused);
  processor->set_guardrails({});
  EXPECT_EQ(run(write), refused);
  // One client in half an hour is told of stuffed disks.
  tell(DiskUsage::kStuffed);
  EXPECT_EQ(run(write),
            "ok, warned: Guardrail replica_disk_usage violated: Replica disk usage exceeds warning threshold");
  EXPECT_EQ(run(write), "ok");
  tell(DiskUsage::kSpacious);
  EXPECT_EQ(run(write), "ok");
}

TEST_F(GuardrailsTest, PropertiesThatAreIgnored) {
  make_table();
  Guardrails guardrails;
  guardrails.table_properties_ignored = {"comment", "gc_grace_seconds"};
  limit(guardrails);
  const std::string warning =
      "ok, warned: Guardrail table_properties violated: Ignoring provided values [comment] as they are not supported "
      "for "
      "Table Properties (ignored values are: [comment, gc_grace_seconds])";
  EXPECT_EQ(run("CREATE TABLE shop.c (id int PRIMARY KEY) WITH comment = 'mine' AND default_time_to_live = 5"),
            warning);
  EXPECT_EQ(run("ALTER TABLE shop.c WITH comment = 'yours'"), warning);
  const TablePtr table = coordinators.back()->schema().current()->table("shop", "c");
  EXPECT_EQ(table->params.comment, "");
  EXPECT_EQ(table->params.default_time_to_live, 5);
}

// A statement that was prepared while none was set is compared, too.
TEST_F(GuardrailsTest, ChangesHoldForWhatIsPrepared) {
  make_table();
  QueryOptions options;
  options.page_size = 100;
  std::vector<Bytes> ids;
  for (const char* text : {"SELECT * FROM shop.orders WHERE id IN (1, 2)", "SELECT * FROM shop.orders",
                           "UPDATE shop.orders SET item = 'a long text' WHERE id = 1 AND n = 1"}) {
    auto made = node.run<Result<QueryResult>>(0, [&] { return processor->prepare(text, "", QueryState{alice}); });
    ASSERT_TRUE(made.ok());
    ids.push_back(std::get<PreparedResult>(made->value).id);
  }
  auto execute = [&](size_t i) {
    auto done =
        node.run<Result<QueryResult>>(0, [&] { return processor->execute(ids[i], options, QueryState{alice}); });
    return done.ok() ? "ok" : done.error().message();
  };
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(execute(i), "ok");
  Guardrails guardrails;
  guardrails.partition_keys_in_select_fail_threshold = 1;
  guardrails.page_size_fail_threshold = 50;
  guardrails.column_value_size_fail_threshold = 5;
  processor->set_guardrails(guardrails);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(execute(i).find("Guardrail "), 0u) << execute(i);
  processor->set_guardrails({});
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(execute(i), "ok");
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
