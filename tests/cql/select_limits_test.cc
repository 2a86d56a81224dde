// LIMIT, PER PARTITION LIMIT, DISTINCT and GROUP BY, in one answer and in pages, on one shard and on many. The rows are
// those that Cassandra 5.0.9 gives; partitions come in the order of their tokens.
#include "cql/context/request_memory.h"
#include "cql/query_processor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/values.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

class SelectLimitsTest : public testing::TestWithParam<unsigned> {
 protected:
  SelectLimitsTest() {
    processor->set_peers({processor.get()});
    run("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
    run("CREATE TABLE ks.t (k int, c int, d int, s int static, v int, PRIMARY KEY (k, c, d))");
    // By token: 5, 1, 8, 0, 2, 4, 7, 6, 9, 3. Of key k there are k rows; 0 has a static row alone.
    for (int k = 0; k < 10; ++k) {
      for (int row = 0; row < k; ++row) {
        insert("k, c, d, v", {k, row / 2, row % 2, 10 * k + row});
      }
      if (k % 4 == 0) insert("k, s", {k, 100 + k});
    }
    run("DELETE FROM ks.t WHERE k = 7 AND c = 1");
  }
  ~SelectLimitsTest() override { node.kill(); }

  void insert(const std::string& columns, const std::vector<int>& values) {
    std::string list;
    for (int value : values) list += (list.empty() ? "" : ", ") + std::to_string(value);
    run("INSERT INTO ks.t (" + columns + ") VALUES (" + list + ")");
  }
  Result<QueryResult> query(const std::string& text, const QueryOptions& options) {
    ClientState client;
    return node.run<Result<QueryResult>>(0, [&] { return processor->query(text, options, QueryState{client}); });
  }
  void run(const std::string& text) {
    auto done = query(text, {});
    ASSERT_TRUE(done.ok()) << text << ": " << done.error().message();
  }
  // Rows as "5 0 1", whose columns are int or bigint.
  static void append_lines(const RowsResult& result, Lines& lines) {
    Reader in(result.rows);
    for (int32_t row = 0; row < result.row_count; ++row) {
      std::string line;
      for (size_t i = 0; i < result.metadata->columns.size(); ++i) {
        const auto size = static_cast<int32_t>(in.u32());
        const std::string value = size < 0   ? "-"
                                  : size > 4 ? std::to_string(decode_bigint(in.take(static_cast<size_t>(size))))
                                             : std::to_string(decode_int(in.take(static_cast<size_t>(size))));
        line += (line.empty() ? "" : " ") + value;
      }
      lines.push_back(line);
    }
  }
  // page: rows of a page; 0 without pages. Sizes of the pages go to *sizes.
  Lines select(const std::string& text, int page = 0, std::vector<int>* sizes = nullptr) {
    Lines lines;
    Bytes state;
    QueryOptions options;
    if (page > 0) options.page_size = page;
    do {
      options.paging_state = state.empty() ? kNull : BytesView(state);
      auto answer = query("SELECT " + text, options);
      if (!answer.ok()) return {"error: " + answer.error().message()};
      const auto& result = std::get<RowsResult>(answer->value);
      append_lines(result, lines);
      if (sizes != nullptr) sizes->push_back(result.row_count);
      state = Bytes(result.paging_state);
    } while (!state.empty());
    return lines;
  }
  void expect_in_pages(const std::string& text, const Lines& expected) {
    SCOPED_TRACE(text);
    EXPECT_EQ(select(text), expected);
    for (int page : {1, 2, 3, 5, 7, 100}) {
      std::vector<int> sizes;
      EXPECT_EQ(select(text, page, &sizes), expected) << "pages of " << page;
      for (size_t i = 0; i + 1 < sizes.size(); ++i) EXPECT_EQ(sizes[i], page) << "page " << i;
    }
  }

  ReplicaNode node{GetParam()};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor = QueryProcessor::create(node.runtime(0), *coordinator, {});
};

const Lines kAll = {"5 0 0", "5 0 1", "5 1 0", "5 1 1", "5 2 0", "1 0 0", "8 0 0", "8 0 1", "8 1 0", "8 1 1", "8 2 0",
                    "8 2 1", "8 3 0", "8 3 1", "0 - -", "2 0 0", "2 0 1", "4 0 0", "4 0 1", "4 1 0", "4 1 1", "7 0 0",
                    "7 0 1", "7 2 0", "7 2 1", "7 3 0", "6 0 0", "6 0 1", "6 1 0", "6 1 1", "6 2 0", "6 2 1", "9 0 0",
                    "9 0 1", "9 1 0", "9 1 1", "9 2 0", "9 2 1", "9 3 0", "9 3 1", "9 4 0", "3 0 0", "3 0 1", "3 1 0"};

Lines first(const Lines& lines, size_t n) { return {lines.begin(), lines.begin() + static_cast<ptrdiff_t>(n)}; }

TEST_P(SelectLimitsTest, OfAllRows) {
  expect_in_pages("k, c, d FROM ks.t", kAll);
  for (size_t limit : {1, 5, 6, 14, 15, 16, 43, 44, 45}) {
    expect_in_pages("k, c, d FROM ks.t LIMIT " + std::to_string(limit), first(kAll, std::min(limit, kAll.size())));
  }
}

TEST_P(SelectLimitsTest, OfEachPartition) {
  const Lines two = {"5 0 0", "5 0 1", "1 0 0", "8 0 0", "8 0 1", "0 - -", "2 0 0", "2 0 1", "4 0 0",
                     "4 0 1", "7 0 0", "7 0 1", "6 0 0", "6 0 1", "9 0 0", "9 0 1", "3 0 0", "3 0 1"};
  expect_in_pages("k, c, d FROM ks.t PER PARTITION LIMIT 2", two);
  expect_in_pages("k, c, d FROM ks.t PER PARTITION LIMIT 2 LIMIT 9", first(two, 9));
  expect_in_pages("k, c, d FROM ks.t WHERE k IN (9, 0, 7) PER PARTITION LIMIT 3",
                  {"0 - -", "7 0 0", "7 0 1", "7 2 0", "9 0 0", "9 0 1", "9 1 0"});
}

TEST_P(SelectLimitsTest, OfOnePartition) {
  const Lines nine = {"9 0 0", "9 0 1", "9 1 0", "9 1 1", "9 2 0", "9 2 1", "9 3 0", "9 3 1", "9 4 0"};
  expect_in_pages("k, c, d FROM ks.t WHERE k = 9", nine);
  expect_in_pages("k, c, d FROM ks.t WHERE k = 9 PER PARTITION LIMIT 4", first(nine, 4));
  expect_in_pages("k, c, d FROM ks.t WHERE k = 9 LIMIT 7", first(nine, 7));
  expect_in_pages("k, c, d FROM ks.t WHERE k = 9 ORDER BY c DESC LIMIT 3", {"9 4 0", "9 3 1", "9 3 0"});
  expect_in_pages("k, c, d FROM ks.t WHERE k = 9 AND c IN (1, 3, 4)", {"9 1 0", "9 1 1", "9 3 0", "9 3 1", "9 4 0"});
}

TEST_P(SelectLimitsTest, WhatIsFilteredOutDoesNotCount) {
  expect_in_pages("k, c, d FROM ks.t WHERE d = 1 LIMIT 7 ALLOW FILTERING",
                  {"5 0 1", "5 1 1", "8 0 1", "8 1 1", "8 2 1", "8 3 1", "2 0 1"});
  expect_in_pages("k, c, d FROM ks.t WHERE d = 1 PER PARTITION LIMIT 1 ALLOW FILTERING",
                  {"5 0 1", "8 0 1", "2 0 1", "4 0 1", "7 0 1", "6 0 1", "9 0 1", "3 0 1"});
  // A static row alone is no row of c = 0.
  expect_in_pages("k, c, d FROM ks.t WHERE c = 4 ALLOW FILTERING", {"9 4 0"});
}

TEST_P(SelectLimitsTest, DistinctPartitions) {
  const Lines keys = {"5 -", "1 -", "8 108", "0 100", "2 -", "4 104", "7 -", "6 -", "9 -", "3 -"};
  expect_in_pages("DISTINCT k, s FROM ks.t", keys);
  expect_in_pages("DISTINCT k, s FROM ks.t LIMIT 4", first(keys, 4));
}

TEST_P(SelectLimitsTest, Groups) {
  const Lines groups = {"5 0 2", "5 1 2", "5 2 1", "1 0 1", "8 0 2", "8 1 2", "8 2 2", "8 3 2", "0 - 1",
                        "2 0 2", "4 0 2", "4 1 2", "7 0 2", "7 2 2", "7 3 1", "6 0 2", "6 1 2", "6 2 2",
                        "9 0 2", "9 1 2", "9 2 2", "9 3 2", "9 4 1", "3 0 2", "3 1 1"};
  expect_in_pages("k, c, count(*) FROM ks.t GROUP BY k, c", groups);
  for (size_t limit : {1, 3, 9, 25}) {
    expect_in_pages("k, c, count(*) FROM ks.t GROUP BY k, c LIMIT " + std::to_string(limit), first(groups, limit));
  }
  const Lines two = {"5 0 2", "5 1 2", "1 0 1", "8 0 2", "8 1 2", "0 - 1", "2 0 2", "4 0 2", "4 1 2",
                     "7 0 2", "7 2 2", "6 0 2", "6 1 2", "9 0 2", "9 1 2", "3 0 2", "3 1 1"};
  expect_in_pages("k, c, count(*) FROM ks.t GROUP BY k, c PER PARTITION LIMIT 2", two);
  expect_in_pages("k, c, count(*) FROM ks.t GROUP BY k, c PER PARTITION LIMIT 2 LIMIT 7", first(two, 7));
  expect_in_pages("k, count(*) FROM ks.t GROUP BY k",
                  {"5 5", "1 1", "8 8", "0 1", "2 2", "4 4", "7 5", "6 6", "9 9", "3 3"});
}

TEST_P(SelectLimitsTest, OneGroupOfAll) {
  EXPECT_EQ(select("count(*), sum(v), max(c) FROM ks.t"), (Lines{"44 2825 4"}));
  EXPECT_EQ(select("count(*) FROM ks.t LIMIT 3", 2), (Lines{"44"}));
  EXPECT_EQ(select("k, count(*) FROM ks.t"), (Lines{"5 44"}));
  EXPECT_EQ(select("count(*) FROM ks.t WHERE k IN (7, 0, 9)"), (Lines{"15"}));
}

TEST_P(SelectLimitsTest, ValuesThatNeedTooMuchMemoryAreRefused) {
  const std::unique_ptr<QueryProcessor> unbounded = std::move(processor);
  CqlOptions options;
  options.request_memory = std::make_shared<RequestMemory>(0, 250 * RequestMemory::kBytesOfValue);
  processor = QueryProcessor::create(node.runtime(0), *coordinator, options);
  processor->set_peers({processor.get()});
  auto numbers = [](int count) {
    std::string text = "0";
    for (int i = 1; i < count; ++i) text += ", " + std::to_string(i);
    return text;
  };
  auto refusal = [&](const std::string& text) {
    auto answer = query(text, {});
    return answer.ok() ? "" : answer.error().message();
  };
  const std::string too_many =
      "The statement has more than 250 values and combinations of them (native_transport_max_request_data_in_flight "
      "allows 150000 bytes, 600 for each): send fewer at once";

  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k IN (" + numbers(120) + ")"), "");
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k IN (" + numbers(130) + ")"), too_many);
  EXPECT_THAT(refusal("SELECT * FROM ks.t WHERE k IN (" + numbers(260) + ")"), testing::HasSubstr("too many terms"));
  EXPECT_EQ(refusal("DELETE FROM ks.t WHERE k IN (" + numbers(20) + ") AND c IN (" + numbers(20) + ") AND d = 1"),
            too_many);
  EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k = 1 AND c IN (" + numbers(20) + ") AND d IN (" + numbers(20) + ")"),
            "The IN restrictions of a statement may name 250 combinations of values at most");
  {
    RequestShare other(options.request_memory.get());
    ASSERT_TRUE(other.reserve(100'000).ok());
    auto overloaded = query("SELECT * FROM ks.t WHERE k IN (" + numbers(110) + ")", {});
    ASSERT_FALSE(overloaded.ok());
    EXPECT_EQ(overloaded.error().code(), ErrorCode::kOverloaded);
    EXPECT_EQ(overloaded.error().message(),
              "Statements that run and answers that wait to be read take more than 150000 bytes "
              "(native_transport_max_request_data_in_flight): send fewer values at once, or send them later");
    EXPECT_EQ(refusal("SELECT * FROM ks.t WHERE k IN (0, 1)"), "");
  }
  EXPECT_EQ(options.request_memory->used(), 0u);
}

TEST_P(SelectLimitsTest, AnAnswerThatIsTooLargeIsRefused) {
  // The schema has it as a listener.
  const std::unique_ptr<QueryProcessor> unbounded = std::move(processor);
  CqlOptions options;
  options.request_memory = std::make_shared<RequestMemory>(100'000, 150'000);
  processor = QueryProcessor::create(node.runtime(0), *coordinator, options);
  processor->set_peers({processor.get()});
  run("CREATE TABLE ks.large (k int PRIMARY KEY, v text)");
  for (int k = 0; k < 20; ++k) {
    run("INSERT INTO ks.large (k, v) VALUES (" + std::to_string(k) + ", '" + std::string(10'000, 'v') + "')");
  }
  QueryOptions whole, page;
  page.page_size = 8;
  auto refused = query("SELECT * FROM ks.large", whole);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().message(),
            "The answer is larger than 100000 bytes (native_transport_max_frame_size): ask for it in pages");
  EXPECT_TRUE(query("SELECT * FROM ks.large", page).ok());
  EXPECT_EQ(options.request_memory->used(), 0u);
  {
    RequestShare other(options.request_memory.get());
    ASSERT_TRUE(other.reserve(90'000).ok());
    auto overloaded = query("SELECT * FROM ks.large", page);
    ASSERT_FALSE(overloaded.ok());
    EXPECT_EQ(overloaded.error().code(), ErrorCode::kOverloaded);
    EXPECT_EQ(overloaded.error().message(),
              "Answers that are being written or wait to be read take more than 150000 bytes "
              "(native_transport_max_request_data_in_flight): ask for this one in pages, or later");
  }
  EXPECT_TRUE(query("SELECT * FROM ks.large", page).ok());
  EXPECT_EQ(options.request_memory->used(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Shards, SelectLimitsTest, testing::Values(1, 2, 4, 8),
                         [](const auto& shards) { return std::to_string(shards.param) + "shards"; });

}  // namespace
}  // namespace cassandra_like::test
