// Paging states beside those of Cassandra 5.0.9: every state here was recorded from it.
#include "cql/context/paging_state.h"

#include <gtest/gtest.h>

#include "cql/query_processor.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

Bytes unhex(std::string_view hex) {
  Bytes out;
  EXPECT_TRUE(from_hex(hex, &out));
  return out;
}

// The answer to a query of a page: its state, or nothing.
struct Recorded {
  const char* query;
  int32_t page_size;
  const char* v3;
  const char* v4;  // and v5
};

constexpr Recorded kRecorded[] = {
    {"SELECT * FROM ks.t", 1, "00077374617469633000007ffffffe00000000", "077374617469633000f07ffffffe00"},
    {"SELECT * FROM ks.t", 5, "00026b31001000040000000100000262350000017a007ffffffa7ffffffb",
     "026b3109000400000001026235f07ffffffaf07ffffffb"},
    {"SELECT * FROM ks.t LIMIT 23", 7, "00026b31001000040000000100000262330000017a00000000107ffffff9",
     "026b310900040000000102623310f07ffffff9"},
    {"SELECT * FROM ks.t WHERE k = 'k1'", 3, "0000001000040000000000000262300000017a007ffffffc7ffffffc",
     "0009000400000000026230f07ffffffcf07ffffffc"},
    {"SELECT * FROM ks.t WHERE k = 'k1'", 8, "000000150004000000050000000000016d0000046f6e6c79007ffffff77ffffff7",
     "0006040400000005f07ffffff7f07ffffff7"},
    {"SELECT * FROM ks.t WHERE k = 'k1' PER PARTITION LIMIT 4", 3,
     "0000001000040000000000000262300000017a007ffffffc00000001", "0009000400000000026230f07ffffffc01"},
    {"SELECT * FROM ks.t WHERE k IN ('k3', 'k5', 'k0') PER PARTITION LIMIT 2", 2, "00026b3300007ffffffd00000002",
     "026b3300f07ffffffd02"},
    {"SELECT k, a, count(*) FROM ks.t GROUP BY k, a", 3, "00026b31001000040000000100000262330000017a007ffffffc7ffffffd",
     "026b3109000400000001026233f07ffffffcf07ffffffd"},
    {"SELECT DISTINCT k FROM ks.t", 2, "00026b31001000040000000000000262320000017a007ffffffd00000000",
     "026b3109000400000000026232f07ffffffd00"},
    {"SELECT * FROM ks.p", 2, "000c0004000000010000027931000004000169007ffffffd00000000",
     "0c00040000000100000279310000f07ffffffd00"},
    {"SELECT * FROM ks.p LIMIT 2", 2, nullptr, nullptr},
    {"SELECT * FROM ks.p WHERE x = 1 AND y = 'y1'", 1, nullptr, nullptr},
};

class PagingStates : public testing::Test {
 protected:
  PagingStates() {
    processor->set_peers({processor.get()});
    must("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
    must(
        "CREATE TABLE ks.t (k text, a int, b text, s text static, v text, m map<text, int>, z int, PRIMARY KEY (k, a, "
        "b)) WITH CLUSTERING ORDER BY (a ASC, b DESC)");
    must("CREATE TABLE ks.p (x int, y text, i int, PRIMARY KEY ((x, y)))");
    for (int p = 0; p < 6; ++p) fill(std::to_string(p));
  }
  ~PagingStates() override { node.kill(); }

  void fill(const std::string& p) {
    for (int r = 0; r < 7; ++r) {
      must("INSERT INTO ks.t (k, a, b, s, v, z) VALUES ('k" + p + "', " + std::to_string(r / 3) + ", 'b" +
           std::to_string(r) + "', 's', 'v', " + std::to_string(r) + ")");
    }
    must("UPDATE ks.t SET m['only'] = 1 WHERE k = 'k" + p + "' AND a = 5 AND b = ''");
    must("INSERT INTO ks.t (k, a, b) VALUES ('k" + p + "', 6, 'nothing else')");
    must("INSERT INTO ks.t (k, s) VALUES ('static" + p + "', 'alone')");
    must("INSERT INTO ks.p (x, y, i) VALUES (" + p + ", 'y" + p + "', 1)");
  }

  Result<QueryResult> query(const std::string& text, const QueryOptions& options = {}) {
    ClientState client;
    return node.run<Result<QueryResult>>(0, [&] { return processor->query(text, options, QueryState{client}); });
  }
  void must(const std::string& text) { ASSERT_TRUE(query(text).ok()) << text; }
  // The rows of all pages from a state on, each page in the next of these versions in turn.
  Bytes rows_of_pages(const std::string& text, int32_t page_size, std::vector<int> versions) {
    Bytes rows, state;
    for (size_t page = 0; page < 100; ++page) {
      QueryOptions options;
      options.page_size = page_size;
      options.protocol_version = versions[page % versions.size()];
      if (page > 0) options.paging_state = state;
      auto answer = query(text, options);
      EXPECT_TRUE(answer.ok());
      auto& result = std::get<RowsResult>(answer->value);
      rows += result.rows;
      state = result.paging_state;
      if (state.empty()) break;
    }
    return rows;
  }
  // The hexadecimal digits of the state, or the error.
  std::string state_of(const std::string& text, int32_t page_size, int version, BytesView from = kNull) {
    QueryOptions options;
    options.page_size = page_size;
    options.protocol_version = version;
    options.paging_state = from;
    auto answer = query(text, options);
    return answer.ok() ? to_hex(std::get<RowsResult>(answer->value).paging_state) : answer.error().message();
  }

  ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor = QueryProcessor::create(node.runtime(0), *coordinator, {});
};

TEST_F(PagingStates, AreThoseOfCassandra) {
  for (const Recorded& recorded : kRecorded) {
    const std::string v3 = recorded.v3 == nullptr ? "" : recorded.v3, v4 = recorded.v4 == nullptr ? "" : recorded.v4;
    EXPECT_EQ(state_of(recorded.query, recorded.page_size, 3), v3) << recorded.query;
    EXPECT_EQ(state_of(recorded.query, recorded.page_size, 4), v4) << recorded.query;
    EXPECT_EQ(state_of(recorded.query, recorded.page_size, 5), v4) << recorded.query;
  }
}

TEST_F(PagingStates, GoOnInAnyVersion) {
  for (const char* text :
       {"SELECT * FROM ks.t", "SELECT * FROM ks.t WHERE k = 'k1' ORDER BY a DESC",
        "SELECT * FROM ks.t WHERE k IN ('k1', 'static2', 'k3')", "SELECT k, a, count(*) FROM ks.t GROUP BY k, a",
        "SELECT k, a, count(*) FROM ks.t GROUP BY k, a PER PARTITION LIMIT 2", "SELECT DISTINCT k, s FROM ks.t"}) {
    const Bytes whole = rows_of_pages(text, -1, {4});
    for (int32_t page_size : {1, 2, 3, 5, 100}) {
      EXPECT_EQ(to_hex(rows_of_pages(text, page_size, {3, 4, 5, 3})), to_hex(whole)) << text << " by " << page_size;
    }
  }
}

// Rows that lack their last clusterings, which only tables with COMPACT STORAGE have.
TEST_F(PagingStates, MayNameRowsWithoutTheirLastClusterings) {
  must("CREATE TABLE ks.w (k int, a int, b int, v int, PRIMARY KEY (k, a, b)) WITH COMPACT STORAGE");
  must("INSERT INTO ks.w (k, a, v) VALUES (1, 1, 10)");
  must("INSERT INTO ks.w (k, a, b, v) VALUES (1, 1, 5, 20)");
  must("UPDATE ks.w SET v = 30 WHERE k = 1 AND a = 2");
  const std::string text = "SELECT JSON * FROM ks.w";
  EXPECT_EQ(to_hex(rows_of_pages(text, 1, {4, 5})), to_hex(rows_of_pages(text, -1, {4})));
  const std::string behind_first = state_of("SELECT * FROM ks.w", 1, 4);
  EXPECT_EQ(behind_first, "040000000106080400000001f07ffffffef07ffffffe");
  must("CREATE TABLE ks.r (k int, a int, b int, v int, PRIMARY KEY (k, a, b))");
  EXPECT_EQ(state_of("SELECT * FROM ks.r", 1, 4, unhex(behind_first)), "Invalid value for the paging state");
}

TEST_F(PagingStates, OfOtherPartitionsLeadNowhereElse) {
  const Bytes of_k5 = unhex("026b3509000400000000026230f07ffffffcf07ffffffc");  // k5, (0, b0)
  // A partition that is asked for alone has its own name, and one that was not asked for has no rows.
  EXPECT_EQ(state_of("SELECT * FROM ks.t WHERE k = 'k1'", 1, 4, of_k5), "0009000400000001026235f07ffffffbf07ffffffb");
  EXPECT_EQ(state_of("SELECT * FROM ks.t WHERE k IN ('k1', 'k2')", 1, 4, of_k5), "");
}

TEST_F(PagingStates, AreOfTheTableOrRefused) {
  const std::string kInvalid = kInvalidPagingState;
  for (const char* query : {"SELECT * FROM ks.t", "SELECT * FROM ks.t WHERE k = 'k1'"}) {
    // Two bytes are no int; a clustering has two values; a value ends behind the mark.
    EXPECT_EQ(state_of(query, 1, 4, unhex("026b310700020000026230f07ffffffcf07ffffffc")), kInvalid);
    EXPECT_EQ(state_of(query, 1, 4, unhex("026b3106000400000000f07ffffffcf07ffffffc")), kInvalid);
    EXPECT_EQ(state_of(query, 1, 4, unhex("026b3109000400000000ff6230f07ffffffcf07ffffffc")), kInvalid);
  }
  // A range needs a key.
  EXPECT_EQ(state_of("SELECT * FROM ks.t", 1, 4, unhex("0009000400000000026230f07ffffffcf07ffffffc")), kInvalid);
}

TEST_F(PagingStates, OfALimitThatFitsAPageAreNotLookedAt) {
  const Bytes of_k1 = unhex("026b3109000400000001026235f07ffffffaf07ffffffb");
  EXPECT_EQ(rows_of_pages("SELECT * FROM ks.t LIMIT 3", 3, {4}), rows_of_pages("SELECT * FROM ks.t LIMIT 3", -1, {4}));
  EXPECT_EQ(state_of("SELECT * FROM ks.t LIMIT 3", 3, 4, of_k1), "");
  EXPECT_EQ(state_of("SELECT * FROM ks.t", -1, 4, of_k1), "");
}

TEST(PagingState, IsReadInBothForms) {
  const PagingState modern{"k1", unhex("000400000001026235"), false, 0x7ffffffa, 0x7ffffffb};
  const Bytes bytes = unhex("026b3109000400000001026235f07ffffffaf07ffffffb");
  for (int version : {3, 4, 5}) EXPECT_EQ(parse_paging_state(bytes, version), modern);
  EXPECT_EQ(serialize_paging_state(modern, 4), bytes);

  const PagingState legacy{"k1", unhex("00040000000100000262350000017a00"), true, 0x7ffffffa, 0x7ffffffb};
  const Bytes legacy_bytes = unhex("00026b31001000040000000100000262350000017a007ffffffa7ffffffb");
  for (int version : {3, 4, 5}) EXPECT_EQ(parse_paging_state(legacy_bytes, version), legacy);
  EXPECT_EQ(serialize_paging_state(legacy, 3), legacy_bytes);
}

TEST(PagingState, OfAnOldNodeLacksTheRestOfThePartition) {
  const auto state = parse_paging_state(unhex("00026b310000000000ff"), 3);
  EXPECT_EQ(state, (PagingState{"k1", "", true, 0xff, kNoLimit}));
}

TEST(PagingState, IsRefusedWhenItIsNone) {
  for (const char* hex :
       {"", "00", "67617262616765", "ffffffffffffffffffffffff", "00000000800000000000000000",
        "026b3109000400000001026235f07ffffffaf07ffffffb00",             // a byte more
        "026b3109000400000001026235f07ffffffaf07fffff",                 // some less
        "026b3109000400000001026235f0fffffffaf07ffffffb",               // more rows than there can be
        "0c00040000000100000279310000f07ffffffdffffffffffffffffff"}) {  // Cassandra's own of GROUP BY a whole key
    for (int version : {3, 4, 5}) EXPECT_FALSE(is_paging_state(unhex(hex), version)) << hex;
  }
}

// Values of all kinds in more than one header of 32.
TEST(RowMark, MarksNullsAndEmptyValues) {
  std::vector<BytesView> values(34, BytesView("x"));
  values[1] = BytesView("", 0);
  values[2] = kNull;
  values[33] = BytesView("", 0);
  Bytes mark;
  append_row_mark(mark, values);
  Bytes expected(
      "\x24"
      "\1x",
      3);
  for (int i = 3; i < 32; ++i) expected += "\1x";
  expected += Bytes("\x04\1x", 3);
  EXPECT_EQ(to_hex(mark), to_hex(expected));
}

}  // namespace
}  // namespace cassandra_like::test
