// The answer to a SELECT does not tell how many shards the node has: on one shard and on four, the rows, the pages and
// their paging states are the same bytes. And pages, one behind the other, are the answer without pages.
#include <random>

#include "cql/query_processor.h"
#include "gtest/gtest.h"
#include "model/values.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

constexpr int kNow = 1'700'000'000;

struct Page {
  Bytes rows, paging_state;
  int32_t count = 0;
  std::string error;
  bool operator==(const Page&) const = default;
};

class Node {
 public:
  explicit Node(unsigned shards) : node_(shards) {
    processor_->set_peers({processor_.get()});
    run("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
  }
  ~Node() { node_.kill(); }

  Result<QueryResult> query(const std::string& text, QueryOptions options = {}) {
    ClientState client;
    options.now_seconds = kNow;
    return node_.run<Result<QueryResult>>(0, [&] { return processor_->query(text, options, QueryState{client}); });
  }
  void run(const std::string& text) {
    auto done = query(text);
    ASSERT_TRUE(done.ok()) << text << ": " << done.error().message();
  }
  void flush() {
    std::function<Task<Status>(Engine&)> flush = [](Engine& engine) { return engine.maintenance().flush({}); };
    ASSERT_TRUE(node_.run<Status>(0, [&] { return node_.on(0).on_every_engine(flush); }).ok());
  }
  // page_size 0: without pages.
  std::vector<Page> select(const std::string& text, int page_size, int version = 4) {
    std::vector<Page> pages;
    QueryOptions options;
    options.protocol_version = version;
    if (page_size > 0) options.page_size = page_size;
    do {
      if (!pages.empty()) options.paging_state = pages.back().paging_state;
      auto answer = query("SELECT " + text, options);
      Page page;
      if (answer.ok()) {
        auto& result = std::get<RowsResult>(answer->value);
        page = {Bytes(result.rows), Bytes(result.paging_state), result.row_count, ""};
      } else {
        page.error = answer.error().message();
      }
      pages.push_back(std::move(page));
    } while (!pages.back().paging_state.empty());
    return pages;
  }

 private:
  ReplicaNode node_;
  std::unique_ptr<Coordinator> coordinator_ = Coordinator::create(node_.runtime(0), node_.on(0), {});
  std::unique_ptr<QueryProcessor> processor_ = QueryProcessor::create(node_.runtime(0), *coordinator_, {});
};

Page joined(const std::vector<Page>& pages) {
  Page all;
  for (const Page& page : pages) {
    all.rows += page.rows;
    all.count += page.count;
    if (!page.error.empty()) all.error = page.error;
  }
  return all;
}

class SelectShardsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (Node* node : {&one, &four}) fill(*node);
    ASSERT_GT(joined(one.select("* FROM ks.t", 0)).count, 150);
  }
  // Partitions of 0 to 12 rows in memtables and files, with static rows, collections, deletions of all kinds, and values
  // that have expired.
  static void fill(Node& node) {
    node.run(
        "CREATE TABLE ks.t (k int, c int, d int, s int static, v int, w text, m map<int, int>, PRIMARY KEY (k, c, d))");
    std::mt19937 random(17);
    int64_t timestamp = 0;
    auto write = [&](const std::string& text, const std::string& where) {
      ++timestamp;
      const std::string times = " USING TIMESTAMP " + std::to_string(timestamp);
      node.run(text + times + where);
    };
    for (int n = 0; n < 500; ++n) {
      const std::string k = std::to_string(random() % 60), c = std::to_string(random() % 4),
                        d = std::to_string(random() % 3), v = std::to_string(random() % 100);
      const std::string row = k + ", " + c + ", " + d;
      const unsigned kind = random() % 20;
      if (kind == 0) {
        write("DELETE FROM ks.t", " WHERE k = " + k + " AND c = " + c);
      } else if (kind == 1) {
        write("DELETE FROM ks.t", " WHERE k = " + k);
      } else if (kind == 2) {
        write("DELETE FROM ks.t", " WHERE k = " + k + " AND c >= 1 AND c < 3");
      } else if (kind < 6) {
        write("INSERT INTO ks.t (k, s) VALUES (" + k + ", " + v + ")", "");
      } else if (kind < 8) {
        write("INSERT INTO ks.t (k, c, d, m) VALUES (" + row + ", {1: " + v + ", 2: 3})", "");
      } else if (kind == 8) {
        write("INSERT INTO ks.t (k, c, d, v, w) VALUES (" + row + ", " + v + ", 'expires')", " AND TTL 1000");
      } else {
        write("INSERT INTO ks.t (k, c, d, v, w) VALUES (" + row + ", " + v + ", 'w" + v + "')", "");
      }
      if (n == 250) node.flush();
    }
  }
  void expect_same(const std::string& text, int page_size, int version = 4) {
    EXPECT_EQ(four.select(text, page_size, version), one.select(text, page_size, version))
        << text << "; pages of " << page_size << ", protocol v" << version;
  }
  void expect_same_in_pages(const std::string& text) {
    const Page whole = joined(one.select(text, 0));
    EXPECT_EQ(whole.error, "") << text;
    expect_same(text, 0);
    for (int page : {1, 2, 3, 7, 50, 5000}) {
      expect_same(text, page);
      EXPECT_EQ(joined(one.select(text, page)), whole) << text << "; pages of " << page;
    }
    expect_same(text, 3, 3);
  }

  Node one{1}, four{4};
};

const char* const kLimits[] = {
    "", " LIMIT 1", " LIMIT 7", " LIMIT 50", " PER PARTITION LIMIT 1", " PER PARTITION LIMIT 2 LIMIT 40",
};

TEST_F(SelectShardsTest, RowsOfTheWholeRing) {
  for (const std::string limit : kLimits) {
    expect_same_in_pages("* FROM ks.t" + limit);
    expect_same_in_pages("c, s, k FROM ks.t" + limit);
    expect_same_in_pages("JSON k, c, d, m FROM ks.t" + limit);
    expect_same_in_pages("k, token(k), writetime(v), v + c, m[1] FROM ks.t" + limit);
  }
}

TEST_F(SelectShardsTest, RowsThatAreFiltered) {
  for (const std::string limit : kLimits) {
    expect_same_in_pages("* FROM ks.t WHERE v > 60" + limit + " ALLOW FILTERING");
    expect_same_in_pages("k, c, v FROM ks.t WHERE c = 2" + limit + " ALLOW FILTERING");
    expect_same_in_pages("* FROM ks.t WHERE s < 50" + limit + " ALLOW FILTERING");
    expect_same_in_pages("k, m FROM ks.t WHERE m CONTAINS 3" + limit + " ALLOW FILTERING");
  }
}

TEST_F(SelectShardsTest, PartsOfTheRing) {
  for (const std::string limit : kLimits) {
    expect_same_in_pages(
        "k, c, d, w FROM ks.t WHERE token(k) > -3000000000000000000 AND token(k) <= 4000000000000000000" + limit);
    expect_same_in_pages("* FROM ks.t WHERE token(k) >= token(7)" + limit);
  }
}

TEST_F(SelectShardsTest, KnownPartitions) {
  for (const std::string limit : kLimits) {
    for (const std::string key : {"k = 3", "k = 11", "k = 1000", "k IN (3, 5, 8, 11, 20, 21, 22, 23, 59, 1000)"}) {
      expect_same_in_pages("* FROM ks.t WHERE " + key + limit);
      expect_same_in_pages("k, c, s FROM ks.t WHERE " + key + " AND c > 0" + limit);
      expect_same_in_pages("k, c, d FROM ks.t WHERE " + key + " AND c IN (0, 2, 3)" + limit);
      expect_same("k, c, d FROM ks.t WHERE " + key + " ORDER BY c DESC" + limit, 0);
    }
    expect_same_in_pages("* FROM ks.t WHERE k = 11 ORDER BY c DESC, d DESC" + limit);
    expect_same_in_pages("k, c, d FROM ks.t WHERE k = 11 AND c < 3 ORDER BY c DESC" + limit);
  }
}

TEST_F(SelectShardsTest, DistinctPartitions) {
  for (const std::string limit : {"", " LIMIT 1", " LIMIT 7", " LIMIT 50"}) {
    expect_same_in_pages("DISTINCT k FROM ks.t" + limit);
    expect_same_in_pages("DISTINCT k, s FROM ks.t" + limit);
    expect_same_in_pages("DISTINCT s FROM ks.t WHERE k IN (1, 2, 3, 4, 5, 6, 7, 8)" + limit);
  }
}

TEST_F(SelectShardsTest, Groups) {
  for (const std::string limit : kLimits) {
    expect_same_in_pages("k, count(*), sum(v), max(w) FROM ks.t GROUP BY k" + limit);
    expect_same_in_pages("k, c, v, count(v) FROM ks.t GROUP BY k, c" + limit);
    expect_same_in_pages("k, c, min(d) FROM ks.t WHERE v > 30 GROUP BY k, c" + limit + " ALLOW FILTERING");
    expect_same_in_pages("k, c, count(*) FROM ks.t WHERE k IN (3, 5, 8, 11, 20) GROUP BY k, c" + limit);
  }
  expect_same("count(*), sum(v), min(c), max(d) FROM ks.t", 0);
  expect_same("count(*), sum(v), min(c), max(d) FROM ks.t", 3);
  expect_same("k, c, count(*) FROM ks.t", 3);
  expect_same("DISTINCT k, count(s) FROM ks.t GROUP BY k", 3);
}

// A function that asks the node is called on the client's shard: its values differ, the places do not.
TEST_F(SelectShardsTest, FunctionsThatAreNotOfTheRowAlone) {
  for (int page : {0, 1, 7, 50}) {
    for (const std::string limit : kLimits) {
      const auto here = one.select("k, c, now() FROM ks.t" + limit, page);
      const auto there = four.select("k, c, now() FROM ks.t" + limit, page);
      ASSERT_EQ(there.size(), here.size()) << limit;
      constexpr size_t kRow = 8 + 8 + 4 + 16, kNumbers = 16;
      for (size_t p = 0; p < here.size(); ++p) {
        EXPECT_EQ(there[p].paging_state, here[p].paging_state);
        ASSERT_EQ(there[p].rows.size(), here[p].rows.size());
        const bool is_even = here[p].rows.size() % kRow == 0;  // no static row, which has no clustering
        for (size_t at = 0; is_even && at < here[p].rows.size(); at += kRow) {
          EXPECT_EQ(there[p].rows.substr(at, kNumbers), here[p].rows.substr(at, kNumbers));
        }
      }
    }
  }
}

TEST_F(SelectShardsTest, ErrorsOfValues) {
  for (int page : {0, 1, 7}) {
    expect_same("k, 100 / c FROM ks.t", page);
    EXPECT_EQ(joined(four.select("k, 100 / c FROM ks.t", page)).error, "the operation 'int / int' failed: / by zero");
    expect_same("k, 100 / c FROM ks.t WHERE k IN (3, 5, 8, 11)", page);
  }
}

// Some partitions do not fit the buffers between shards.
TEST_F(SelectShardsTest, LargePartitions) {
  constexpr int kSmall = 300, kLarge = 450;
  for (Node* node : {&one, &four}) {
    node->run("CREATE TABLE ks.large (k int, c int, s text static, v text, PRIMARY KEY (k, c))");
    const auto insert = [&](int k, int c, size_t size) {
      node->run("INSERT INTO ks.large (k, c, s, v) VALUES (" + std::to_string(k) + ", " + std::to_string(c) +
                ", 's', '" + std::string(size, 'v') + "') USING TIMESTAMP 1");
    };
    for (int k = 0; k < kSmall; ++k) insert(k, k, 500);
    for (int k : {7, 70, 77}) {
      for (int c = 1000; c < 1000 + kLarge; ++c) insert(k, c, 1000);
    }
  }
  for (const std::string limit : {"", " LIMIT 700", " PER PARTITION LIMIT 400", " PER PARTITION LIMIT 2 LIMIT 200"}) {
    const Page whole = joined(one.select("* FROM ks.large" + limit, 0));
    for (int page : {0, 7, 150, 449, 450, 451, 1000}) {
      expect_same("* FROM ks.large" + limit, page);
      EXPECT_EQ(joined(four.select("* FROM ks.large" + limit, page)), whole) << page << limit;
      expect_same("JSON k, c, s FROM ks.large" + limit, page);
    }
    expect_same("* FROM ks.large" + limit, 150, 3);
  }
  EXPECT_EQ(joined(four.select("* FROM ks.large", 0)).count, kSmall + 3 * kLarge);
}

// Groups are read in pages of 10,000 rows, whatever the client's pages are. One of these groups is cut there.
TEST_F(SelectShardsTest, GroupsThatAnInternalPageCuts) {
  constexpr int kRows = 12'000, kOfGroup = 7;
  for (Node* node : {&one, &four}) {
    node->run("CREATE TABLE ks.large (k int, c int, d int, PRIMARY KEY (k, c, d))");
    for (int row = 0; row < kRows; ++row) {
      node->run("INSERT INTO ks.large (k, c, d) VALUES (1, " + std::to_string(row / kOfGroup) + ", " +
                std::to_string(row % kOfGroup) + ")");
    }
    node->run("INSERT INTO ks.large (k, c, d) VALUES (2, 0, 0)");
  }
  Page expected;
  for (int first = 0; first < kRows; first += kOfGroup) {
    append_element(expected.rows, encode_int(first / kOfGroup));
    append_element(expected.rows, encode_bigint(std::min(kOfGroup, kRows - first)));
    ++expected.count;
  }
  const auto some = [&](int32_t groups) {
    constexpr size_t kGroup = 4 + 4 + 4 + 8;
    return Page{expected.rows.substr(0, static_cast<size_t>(groups) * kGroup), "", groups, ""};
  };
  for (int page : {0, 100, 1000, 1500, 5000}) {
    const std::string groups = "c, count(*) FROM ks.large WHERE k = 1 GROUP BY k, c";
    expect_same(groups, page);
    EXPECT_EQ(joined(four.select(groups, page)), expected) << page;
    EXPECT_EQ(joined(four.select(groups + " LIMIT 1600", page)), some(1600)) << page;
    EXPECT_EQ(joined(four.select(groups + " PER PARTITION LIMIT 1600", page)), some(1600)) << page;
    expect_same("c, count(*) FROM ks.large GROUP BY k, c PER PARTITION LIMIT 1500", page);
  }
}

}  // namespace
}  // namespace cassandra_like::test
