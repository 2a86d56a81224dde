// The rows of a few wide partitions of a simulated node or cluster, s.wide (p, c, n, st static): what is written to them, and what
// reads of parts of them may show. Rows are written and deleted alone, several at once, in ranges, and by partition. They are read in
// slices in both orders, by name, with limits and conditions, and of several partitions: what needs the replicas' range
// tombstones, short reads and filtered reads to be put together rightly.
//
// Each row is a register (checker.h), and the static column of each partition is one. A read shows all rows that it asked for, but
// for those behind its last row when it has reached a limit. Rows that a condition leaves out say nothing. A static column is
// shown with each row, and alone, once, when a whole partition is asked for and no row is there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cluster_checkers.h"
#include "transport/client_codec.h"

namespace cassandra_like {

class WideRows {
 public:
  static constexpr const char* kTable =
      "s.wide (p int, c int, n bigint, st bigint static, filler text, PRIMARY KEY (p, c))";

  struct Write {
    std::string text;
    int64_t number = 0;
    std::vector<int> rows;
  };
  // Tried from now on. The number is the value and the timestamp.
  Write draw_write(Random& random, int64_t number);
  // at, now: as of Checker::acknowledged().
  void ended(const Write& write, Outcome outcome, int64_t at, int64_t now);

  struct Found {
    int partition;
    std::optional<int> clustering;  // nullopt: a static column alone
    std::optional<int64_t> number, of_static;
  };
  struct Read {
    std::string text;
    std::optional<int32_t> page_size;
    std::vector<int> partitions;
    std::vector<int> clusterings;  // in the order in which they come
    bool is_whole = false;         // whole partitions are asked for
    bool is_distinct = false;      // only the static columns
    size_t limit = 0;              // of each partition; 0: none
    int64_t above = -1;            // a condition: rows with greater numbers
    std::map<int, Checker::Expectation> expected;
    std::vector<Found> found;
  };
  Read draw_read(Random& random) const;
  // Reads the whole table.
  Read read_all() const;
  // Adds the rows of a page. Returns what is wrong, or nothing.
  static std::string take(Read& read, const ClientRows& page);
  // Judges all pages together.
  std::string judge(const Read& read);

  // By partition and clustering.
  Checker& rows() { return rows_; }
  uint64_t acknowledged_count() const { return acknowledged_count_; }

 private:
  static constexpr int kPartitions = 3, kClusterings = 16;
  static int row_of(int partition, int clustering) { return partition * kClusterings + clustering; }
  static int static_of(int partition) { return row_of(kPartitions, partition); }

  void expect(Read& read) const;
  std::string judge_partition(const Read& read, int partition);
  std::string judge_rows(const Read& read, int partition, const std::vector<Found>& found);
  std::string judge_row(const Read& read, int row, std::optional<int64_t> number);

  Checker rows_;
  uint64_t acknowledged_count_ = 0;
};

}  // namespace cassandra_like
