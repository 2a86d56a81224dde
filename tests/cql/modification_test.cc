// Writes that read the row first. Errors and lists are those of Cassandra 5.0.9.
#include "cql/modification/modification.h"
#include "cql/query_processor.h"
#include "gtest/gtest.h"
#include "model/counter.h"
#include "model/values.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

class ListUpdateTest : public testing::Test {
 protected:
  explicit ListUpdateTest(const CqlOptions& options = {})
      : processor(QueryProcessor::create(node.runtime(0), *coordinator, options)) {
    processor->set_peers({processor.get()});
    run("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    run("CREATE TABLE ks.l (k int, c int, v list<int>, s list<int> static, PRIMARY KEY (k, c))");
  }
  ~ListUpdateTest() override { node.kill(); }

  Result<QueryResult> query(const std::string& text, const std::vector<BytesView>& values = {}) {
    ClientState client;
    QueryOptions options;
    options.values = values;
    return node.run<Result<QueryResult>>(0, [&] { return processor->query(text, options, QueryState{client}); });
  }
  // "" or the error.
  std::string run(const std::string& text) {
    auto done = query(text);
    return done.ok() ? "" : done.error().message();
  }
  std::string update(const std::string& assignments) {
    return run("UPDATE ks.l SET " + assignments + " WHERE k = 1 AND c = 1");
  }
  // The list of the only row, as JSON; "" when there is no row.
  std::string list(const std::string& column = "v") {
    auto rows = std::get<RowsResult>(query("SELECT to_json(" + column + ") FROM ks.l")->value);
    return rows.row_count == 0 ? "" : std::string(BytesView(rows.rows).substr(4));
  }

  ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor;
};

TEST_F(ListUpdateTest, AnOperationSeesTheOnesBeforeIt) {
  EXPECT_EQ(update("v = v + [1, 2], v[1] = 5"), "");
  EXPECT_EQ(list(), "[1, 5]");
  EXPECT_EQ(update("v[0] = 7, v = v - [7]"), "");
  EXPECT_EQ(list(), "[5]");
  EXPECT_EQ(update("v = v - [7], v[0] = 3"), "");
  EXPECT_EQ(list(), "[3]");
}

TEST_F(ListUpdateTest, AnOperationOnAStaticListSeesTheOnesBeforeIt) {
  EXPECT_EQ(run("UPDATE ks.l SET s = s + [1, 2], s[1] = 5 WHERE k = 1"), "");
  EXPECT_EQ(list("s"), "[1, 5]");
}

TEST_F(ListUpdateTest, ErrorsCountTheElementsOfTheStatement) {
  EXPECT_EQ(update("v[0] = 1"), "Attempted to set an element on a list which is null");
  EXPECT_EQ(update("v = [1, 2]"), "");
  EXPECT_EQ(update("v = v + [6], v[7] = 5"), "List index 7 out of bound, list has size 3");
  EXPECT_EQ(update("v = v - [2], v[0] = null, v[0] = 4"), "Attempted to set an element on a list which is null");
  EXPECT_EQ(list(), "[1, 2]");
}

// Each statement of a batch reads what was there before the batch.
TEST_F(ListUpdateTest, AStatementOfABatchDoesNotSeeTheOthers) {
  EXPECT_EQ(update("v = [3]"), "");
  EXPECT_EQ(run("BEGIN BATCH UPDATE ks.l SET v = v + [30] WHERE k = 1 AND c = 1; "
                "UPDATE ks.l SET v[2] = 31 WHERE k = 1 AND c = 1; APPLY BATCH"),
            "List index 2 out of bound, list has size 1");
  EXPECT_EQ(list(), "[3]");
}

// One mutation, so that one leader applies both: Cassandra's leaders may lose one of two increments of a static counter
// that arrive at the same moment, because they lock rows that are not static alone.
TEST_F(ListUpdateTest, TheIncrementsOfABatchInOnePartitionAreOneMutation) {
  ASSERT_EQ(run("CREATE TABLE ks.n (k int, c int, s counter static, n counter, PRIMARY KEY (k, c))"), "");
  TablePtr table = node.table("n");
  Arena arena;
  UpdateCollector collector(arena);
  auto increment = [&](int64_t delta) {
    auto cells = arena.make_span<Cell>(1);
    cells[0].column = table->column("s");
    cells[0].timestamp = 5;
    cells[0].value = arena.copy(make_counter_update(delta));
    PartitionUpdate update;
    update.table = table.get();
    update.key = DecoratedKey::of(BytesView("\0\0\0\1", 4));
    update.static_row.cells = cells;
    collector.add(update);
  };
  increment(2);
  increment(1);
  std::span<const Mutation> mutations = collector.mutations();
  ASSERT_EQ(mutations.size(), 1u);
  ASSERT_EQ(mutations[0].updates.size(), 1u);
  ASSERT_EQ(mutations[0].updates[0].static_row.cells.size(), 1u);
  BytesView sum = mutations[0].updates[0].static_row.cells[0].value;
  EXPECT_TRUE(is_counter_update(sum));
  EXPECT_EQ(counter_total(sum), 3);
}

TEST_F(ListUpdateTest, ABatchCountsAllItsIncrements) {
  ASSERT_EQ(run("CREATE TABLE ks.n (k int, c int, s counter static, n counter, PRIMARY KEY (k, c))"), "");
  ASSERT_EQ(run("BEGIN COUNTER BATCH UPDATE ks.n SET s = s + 2, n = n + 3 WHERE k = 1 AND c = 1; "
                "UPDATE ks.n SET s = s + 1, n = n + 5 WHERE k = 1 AND c = 1; "
                "UPDATE ks.n SET n = n - 4 WHERE k = 1 AND c = 2; DELETE FROM ks.n WHERE k = 1 AND c = 9 APPLY BATCH"),
            "");
  auto rows = std::get<RowsResult>(query("SELECT JSON c, s, n FROM ks.n")->value);
  ASSERT_EQ(rows.row_count, 2u);
  EXPECT_NE(rows.rows.find("{\"c\": 1, \"s\": 3, \"n\": 8}"), std::string::npos);
  EXPECT_NE(rows.rows.find("{\"c\": 2, \"s\": 3, \"n\": -4}"), std::string::npos);
}

// While SSTables of versions before 5.0 are written. The texts are ExpirationDateOverflowHandling's.
class ExpirationTest : public ListUpdateTest {
 protected:
  ExpirationTest() : ListUpdateTest(until_2038()) {}
  static CqlOptions until_2038() {
    CqlOptions options;
    options.max_deletion_time = kMaxDeletionTime2038;
    return options;
  }
};

TEST_F(ExpirationTest, ATtlThatEndsAfter2038IsRefused) {
  const std::string rest =
      " of 630720000 seconds exceeds maximum supported expiration date of 2038-01-19T03:14:06+00:00. In order to avoid "
      "this use a lower TTL, change the expiration date overflow policy or upgrade to a version where this limitation "
      "is fixed. See CASSANDRA-14092 and CASSANDRA-14227 for more details.";
  EXPECT_EQ(run("INSERT INTO ks.l (k, c) VALUES (1, 1) USING TTL 630720000"), "Request on table ks.l with ttl" + rest);
  EXPECT_EQ(run("INSERT INTO ks.l (k, c) VALUES (1, 1) USING TTL 63072000"), "");
  EXPECT_EQ(run("CREATE TABLE ks.d (k int PRIMARY KEY) WITH default_time_to_live = 630720000"), "");
  EXPECT_EQ(run("INSERT INTO ks.d (k) VALUES (1)"), "Request on table ks.d with default ttl" + rest);
  EXPECT_EQ(run("DELETE FROM ks.d WHERE k = 1"), "");
}

TEST_F(ListUpdateTest, NumbersOfNoBytesAreRefused) {
  ASSERT_EQ(run("CREATE TABLE ks.n (k int PRIMARY KEY, n counter)"), "");
  ASSERT_EQ(update("v = [1]"), "");
  const std::vector<BytesView> nothing{BytesView("", 0)};
  auto bound = [&](const std::string& text) {
    auto done = query(text, nothing);
    return done.ok() ? "" : done.error().message();
  };
  const std::string kNoIncrement = "Invalid empty value for counter increment";
  EXPECT_EQ(bound("UPDATE ks.n SET n = n + ? WHERE k = 1"), kNoIncrement);
  EXPECT_EQ(bound("UPDATE ks.n SET n = n - ? WHERE k = 1"), kNoIncrement);
  EXPECT_EQ(std::get<RowsResult>(query("SELECT * FROM ks.n")->value).row_count, 0);
  const std::string kNoIndex = "Invalid empty value for list index";
  EXPECT_EQ(bound("UPDATE ks.l SET v[?] = 2 WHERE k = 1 AND c = 1"), kNoIndex);
  EXPECT_EQ(bound("DELETE v[?] FROM ks.l WHERE k = 1 AND c = 1"), kNoIndex);
}

// A client may say with any negative size that a field is null. In a tuple the size stays, in a user type it becomes -1.
TEST_F(ListUpdateTest, ABoundTupleStaysAsItComes) {
  ASSERT_EQ(run("CREATE TYPE ks.u (a int)"), "");
  ASSERT_EQ(run("CREATE TABLE ks.b (k int PRIMARY KEY, t tuple<int>, u frozen<u>)"), "");
  const BytesView null_field("\x80\0\0\0", 4);
  ASSERT_TRUE(query("INSERT INTO ks.b (k, t, u) VALUES (1, ?, ?)", {null_field, null_field}).ok());
  const auto rows = std::get<RowsResult>(query("SELECT t, u FROM ks.b")->value);
  EXPECT_EQ(to_hex(rows.rows),
            "00000004"
            "80000000"
            "00000004"
            "ffffffff");
}

// In the order of first appearance, of one partition all tables together. Each is looked up.
TEST_F(ListUpdateTest, ManyPartitionsAreCollectedInTime) {
  ASSERT_EQ(run("CREATE TABLE ks.n (k int PRIMARY KEY, v int)"), "");
  TablePtr tables[] = {node.table("n"), node.table("l")};
  Arena arena;
  UpdateCollector collector(arena);
  constexpr int32_t kPartitions = 100'000;
  for (int32_t i = 0; i < 2 * kPartitions; ++i) {
    PartitionUpdate update;
    update.table = tables[i / kPartitions].get();
    update.key = DecoratedKey::of(arena.copy(encode_int(i % kPartitions)));
    update.partition_deletion = {i, 1};
    collector.add(update);
    if (i == 5) collector.add(update);
  }
  std::span<const Mutation> mutations = collector.mutations();
  ASSERT_EQ(mutations.size(), size_t{kPartitions});
  for (int32_t i : {0, 5, kPartitions - 1}) {
    const Mutation& mutation = mutations[static_cast<size_t>(i)];
    EXPECT_EQ(mutation.key.key, encode_int(i));
    ASSERT_EQ(mutation.updates.size(), 2u) << i;
    EXPECT_EQ(mutation.updates[0].table, tables[0].get());
    EXPECT_EQ(mutation.updates[0].partition_deletion.marked_for_delete_at, i);
    EXPECT_EQ(mutation.updates[1].table, tables[1].get());
  }
}

TEST_F(ListUpdateTest, ManyElementsOfOneListAreSetAtOnce) {
  constexpr int kElements = 400;
  std::string elements, assignments;
  for (int i = 0; i < kElements; ++i) {
    elements += (i > 0 ? ", " : "") + std::to_string(i);
    assignments += (i > 0 ? ", v[" : "v[") + std::to_string(i) + "] = " + std::to_string(2 * i);
  }
  ASSERT_EQ(update("v = [" + elements + "]"), "");
  EXPECT_EQ(update(assignments), "");
  EXPECT_EQ(list().substr(0, 16), "[0, 2, 4, 6, 8, ");
  EXPECT_EQ(update("v = v - [" + elements + "]"), "");
  EXPECT_EQ(list().substr(0, 11), "[400, 402, ");
}

class CompactStorageTest : public ListUpdateTest {
 protected:
  // All rows of a table as JSON, one a line.
  std::string rows(const std::string& table) {
    const auto found = std::get<RowsResult>(query("SELECT JSON * FROM ks." + table)->value);
    BytesView rest(found.rows);
    std::string text;
    for (int32_t i = 0; i < found.row_count; ++i) {
      const auto length = load_be<uint32_t>(rest.data());
      text += std::string(rest.substr(4, length)) + "\n";
      rest.remove_prefix(4 + length);
    }
    return text;
  }
};

TEST_F(CompactStorageTest, ARowMayLackItsLastClusterings) {
  ASSERT_EQ(run("CREATE TABLE ks.w (k int, a int, b int, v int, PRIMARY KEY (k, a, b)) WITH COMPACT STORAGE"), "");
  EXPECT_EQ(run("INSERT INTO ks.w (k, a, v) VALUES (1, 1, 10)"), "");
  EXPECT_EQ(run("INSERT INTO ks.w (k, a, b, v) VALUES (1, 1, 5, 20)"), "");
  EXPECT_EQ(run("UPDATE ks.w SET v = 30 WHERE k = 1 AND a = 2"), "");
  EXPECT_EQ(rows("w"),
            "{\"k\": 1, \"a\": 1, \"b\": null, \"v\": 10}\n"
            "{\"k\": 1, \"a\": 1, \"b\": 5, \"v\": 20}\n"
            "{\"k\": 1, \"a\": 2, \"b\": null, \"v\": 30}\n");
  const std::string gap = "PRIMARY KEY column \"b\" cannot be restricted as preceding column \"a\" is not restricted";
  EXPECT_EQ(run("INSERT INTO ks.w (k, b, v) VALUES (1, 1, 10)"), gap);
  EXPECT_EQ(run("UPDATE ks.w SET v = 30 WHERE k = 1 AND b = 2"), gap);
  EXPECT_EQ(run("UPDATE ks.w SET v = 30 WHERE k = 1"), "Some clustering keys are missing: a, b");
  EXPECT_EQ(run("INSERT INTO ks.w (k, a) VALUES (1, 1)"), "Column v is mandatory for this COMPACT STORAGE table");
}

// An INSERT of another table leaves a row that lives without its values.
TEST_F(CompactStorageTest, ARowGoesWithItsLastValue) {
  ASSERT_EQ(run("CREATE TABLE ks.s (k int PRIMARY KEY, v int, w int) WITH COMPACT STORAGE"), "");
  EXPECT_EQ(run("INSERT INTO ks.s (k, v) VALUES (1, 10)"), "");
  EXPECT_EQ(rows("s"), "{\"k\": 1, \"v\": 10, \"w\": null}\n");
  EXPECT_EQ(run("DELETE v FROM ks.s WHERE k = 1"), "");
  EXPECT_EQ(rows("s"), "");
}

// Cassandra writes no deletion of a row here, but a tombstone of its value. A counter shows it: a tombstone of it hides all that
// is counted later.
TEST_F(CompactStorageTest, ADeletedRowIsADeletedValue) {
  ASSERT_EQ(run("CREATE TABLE ks.w (k int, a int, v int, PRIMARY KEY (k, a)) WITH COMPACT STORAGE"), "");
  EXPECT_EQ(run("DELETE FROM ks.w USING TIMESTAMP 10 WHERE k = 1 AND a = 1"), "");
  EXPECT_EQ(run("INSERT INTO ks.w (k, a, v) VALUES (1, 1, 5) USING TIMESTAMP 9"), "");
  EXPECT_EQ(rows("w"), "");
  ASSERT_EQ(run("CREATE TABLE ks.n (k int, a int, n counter, PRIMARY KEY (k, a)) WITH COMPACT STORAGE"), "");
  EXPECT_EQ(run("DELETE FROM ks.n WHERE k = 1 AND a = 1"), "");
  EXPECT_EQ(run("UPDATE ks.n SET n = n + 1 WHERE k = 1 AND a = 1"), "");
  EXPECT_EQ(rows("n"), "");
}

TEST_F(CompactStorageTest, ATableKeepsItsOnlyValue) {
  ASSERT_EQ(run("CREATE TABLE ks.w (k int, a int, v int, PRIMARY KEY (k, a)) WITH COMPACT STORAGE"), "");
  EXPECT_EQ(run("ALTER TABLE ks.w DROP v"), "Cannot drop column v, the only value of a COMPACT STORAGE table");
}

// Older clients see them.
TEST_F(CompactStorageTest, NobodyNamesHiddenColumns) {
  ASSERT_EQ(run("CREATE TABLE ks.s (k int PRIMARY KEY, v int) WITH COMPACT STORAGE"), "");
  const std::string undefined = "Undefined column name column1 in table ks.s";
  EXPECT_EQ(run("CREATE INDEX ON ks.s (column1)"), undefined);
  EXPECT_EQ(run("UPDATE ks.s SET v = 1 WHERE k = 1 AND column1 = 'v'"), undefined);
}

}  // namespace
}  // namespace cassandra_like::test
