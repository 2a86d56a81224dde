// Judgements of what reads of wide rows show.
#include "tests/simulation/wide_rows.h"

#include <gtest/gtest.h>

#include "model/values.h"

namespace cassandra_like {
namespace {

// Numbers one after the other, then zeros: what is drawn is known.
class Drawn : public Random {
 public:
  explicit Drawn(std::vector<uint64_t> numbers) : numbers_(std::move(numbers)) {}
  uint64_t next() override { return at_ < numbers_.size() ? numbers_[at_++] : 0; }
  void fill(char*, size_t) override {}

 private:
  std::vector<uint64_t> numbers_;
  size_t at_ = 0;
};

class WideRowsTest : public testing::Test {
 protected:
  // Draws writes until one has this text.
  void write(const std::string& text) {
    for (uint64_t partition = 0; partition < 3; ++partition) {
      for (uint64_t clustering = 0; clustering < 16; ++clustering) {
        for (uint64_t kind = 0; kind < 11; ++kind) {
          WideRows tried = rows_;
          Drawn random({partition, clustering, 0, 99, 0, kind, 99});
          const WideRows::Write write = tried.draw_write(random, number_);
          if (write.text != text) continue;
          tried.ended(write, Outcome::kAcknowledged, 0, number_);
          rows_ = tried;
          ++number_;
          return;
        }
      }
    }
    FAIL() << "nobody draws " << text;
  }
  using Row = std::vector<std::optional<int64_t>>;  // p, c, n, st
  std::string judge(WideRows::Read read, const std::vector<Row>& shown) {
    ClientRows page;
    for (const Row& row : shown) {
      auto& cells = page.rows.emplace_back();
      for (size_t i = 0; i < row.size(); ++i) {
        const auto& value = row[i];
        const bool is_int = i < (read.is_distinct ? 1 : 2);
        cells.push_back(!value   ? std::nullopt
                        : is_int ? std::optional(encode_int(static_cast<int32_t>(*value)))
                                 : std::optional(encode_bigint(*value)));
      }
    }
    std::string problem = WideRows::take(read, page);
    return problem.empty() ? rows_.judge(read) : problem;
  }

  WideRows rows_;
  int64_t number_ = 1;
};

TEST_F(WideRowsTest, WantEachRowOnceAndInItsPlace) {
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 3, 1, '') USING TIMESTAMP 1");
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 4, 2, '') USING TIMESTAMP 2");
  const Row three{0, 3, 1, {}}, four{0, 4, 2, {}};
  const std::string text = "SELECT p, c, n, st FROM s.wide: partition 0, ";
  EXPECT_EQ(judge(rows_.read_all(), {three, four}), "");
  EXPECT_EQ(judge(rows_.read_all(), {four}), text + "key 3 shows nothing, but write 1 was acknowledged");
  EXPECT_EQ(judge(rows_.read_all(), {four, three}), text + "row 3 out of place, or twice");
  EXPECT_EQ(judge(rows_.read_all(), {three, three, four}), text + "row 3 out of place, or twice");
  EXPECT_EQ(judge(rows_.read_all(), {three, four, {0, 5, 3, {}}}), text + "key 5 shows 3, which nobody wrote");
}

TEST_F(WideRowsTest, WantNoRowBehindTheLastOneOfALimit) {
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 3, 1, '') USING TIMESTAMP 1");
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 4, 2, '') USING TIMESTAMP 2");
  WideRows::Read read = rows_.read_all();
  read.limit = 1;
  EXPECT_EQ(judge(read, {{0, 3, 1, {}}}), "");
  EXPECT_EQ(judge(read, {{0, 4, 2, {}}}),
            read.text + ": partition 0, key 3 shows nothing, but write 1 was acknowledged");
  EXPECT_EQ(judge(read, {{0, 3, 1, {}}, {0, 4, 2, {}}}), read.text + ": partition 0, 2 rows");
}

TEST_F(WideRowsTest, OfACommandWithAConditionMayBeLeftOut) {
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 3, 1, '') USING TIMESTAMP 1");
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 4, 2, '') USING TIMESTAMP 2");
  WideRows::Read read = rows_.read_all();
  read.is_whole = false;
  read.above = 1;
  EXPECT_EQ(judge(read, {{0, 4, 2, {}}}), "");
  EXPECT_EQ(judge(read, {{0, 3, 1, {}}, {0, 4, 2, {}}}), read.text + ": partition 0, row 3 in spite of the condition");
  EXPECT_EQ(judge(read, {}), read.text + ": partition 0, key 4 shows nothing, but write 2 was acknowledged");
}

TEST_F(WideRowsTest, ShowTheStaticColumnAloneWhereNoRowIs) {
  write("UPDATE s.wide USING TIMESTAMP 1 SET st = 1 WHERE p = 0");
  const Row alone{0, {}, {}, 1};
  const std::string text = "SELECT p, c, n, st FROM s.wide: partition 0, ";
  EXPECT_EQ(judge(rows_.read_all(), {alone}), "");
  EXPECT_EQ(judge(rows_.read_all(), {alone, alone}), text + "its static column twice, or beside rows");
  EXPECT_EQ(judge(rows_.read_all(), {}), text + "key 48 shows nothing, but write 1 was acknowledged");
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 3, 2, '') USING TIMESTAMP 2");
  EXPECT_EQ(judge(rows_.read_all(), {{0, 3, 2, 1}}), "");
  EXPECT_EQ(judge(rows_.read_all(), {{0, 3, 2, {}}}), text + "key 48 shows nothing, but write 1 was acknowledged");
  EXPECT_EQ(judge(rows_.read_all(), {alone}), text + "key 3 shows nothing, but write 2 was acknowledged");
}

TEST_F(WideRowsTest, MakeAPartitionShowInADistinctRead) {
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (1, 3, 1, '') USING TIMESTAMP 1");
  WideRows::Read read = rows_.read_all();
  read.is_distinct = true;
  EXPECT_EQ(judge(read, {{1, {}}}), "");
  EXPECT_EQ(judge(read, {}), read.text + ": partition 1, key 19 shows nothing, but write 1 was acknowledged");
  EXPECT_EQ(judge(read, {{1, {}}, {1, {}}}), read.text + ": partition 1, its static column twice, or beside rows");
}

TEST_F(WideRowsTest, AreGoneBehindARangeDeletion) {
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 3, 1, '') USING TIMESTAMP 1");
  write("INSERT INTO s.wide (p, c, n, filler) VALUES (0, 4, 2, '') USING TIMESTAMP 2");
  write("DELETE FROM s.wide USING TIMESTAMP 3 WHERE p = 0 AND c > 3");
  EXPECT_EQ(judge(rows_.read_all(), {{0, 3, 1, {}}}), "");
  EXPECT_EQ(judge(rows_.read_all(), {{0, 3, 1, {}}, {0, 4, 2, {}}}),
            "SELECT p, c, n, st FROM s.wide: partition 0, key 4 shows 2, but 3 was acknowledged");
}

}  // namespace
}  // namespace cassandra_like
