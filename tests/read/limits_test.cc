// The counters of rows and groups, by the rules of Cassandra's DataLimits.
#include "read/limits.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

// A partition as a text: the key, then "s" for a live static row, then a letter for each row, which names its group.
// Capital letters are dead rows. "k s aab" has a static row and three rows of two groups.
struct Partition {
  explicit Partition(const std::string& text) : key(text.substr(0, 1)) {
    for (char c : text.substr(1)) {
      if (c == 's') has_static_row = true;
      if (c != 's' && c != ' ') rows += c;
    }
  }
  std::string key;
  bool has_static_row = false;
  std::string rows;
};

// The rows that the counter lets through, as they came: "k:ab" for a partition, "k:s" for a static row alone.
std::vector<std::string> rows_of(const std::vector<std::string>& data, const DataLimits& limits,
                                 bool counts_static_rows = true) {
  RowCounter counter(limits, counts_static_rows);
  std::vector<std::string> out;
  for (const std::string& text : data) {
    const Partition partition(text);
    std::string taken = partition.key + ":";
    counter.begin_partition(DecoratedKey::of(partition.key));
    Enough enough = Enough::kNo;
    for (char row : partition.rows) {
      if (row < 'a') continue;
      taken += row;
      enough = counter.row();
      if (enough != Enough::kNo) break;
    }
    if (counter.in_partition() == 0 && partition.has_static_row && !counter.continues_partition()) {
      taken += "s";
      enough = counter.only_static_row();
    }
    out.push_back(taken);
    if (enough == Enough::kOfRead) break;
  }
  return out;
}

using Strings = std::vector<std::string>;

TEST(RowCounterTest, CountsRowsInAll) {
  const Strings data = {"j ab", "k abc", "l a"};
  EXPECT_EQ(rows_of(data, {}), (Strings{"j:ab", "k:abc", "l:a"}));
  EXPECT_EQ(rows_of(data, {.rows = 1}), (Strings{"j:a"}));
  EXPECT_EQ(rows_of(data, {.rows = 2}), (Strings{"j:ab"}));
  EXPECT_EQ(rows_of(data, {.rows = 4}), (Strings{"j:ab", "k:ab"}));
  EXPECT_EQ(rows_of(data, {.rows = 6}), (Strings{"j:ab", "k:abc", "l:a"}));
}

TEST(RowCounterTest, CountsRowsOfEachPartition) {
  const Strings data = {"j ab", "k abc", "l a"};
  EXPECT_EQ(rows_of(data, {.per_partition = 1}), (Strings{"j:a", "k:a", "l:a"}));
  EXPECT_EQ(rows_of(data, {.rows = 3, .per_partition = 2}), (Strings{"j:ab", "k:a"}));
}

TEST(RowCounterTest, AStaticRowAloneCountsAsARow) {
  const Strings data = {"j s", "k sAB", "l sa", "m s"};
  EXPECT_EQ(rows_of(data, {.rows = 2}), (Strings{"j:s", "k:s"}));
  EXPECT_EQ(rows_of(data, {.rows = 3, .per_partition = 1}), (Strings{"j:s", "k:s", "l:a"}));
  // With a restriction on clusterings the answer does not show them.
  EXPECT_EQ(rows_of(data, {.rows = 1}, false), (Strings{"j:s", "k:s", "l:a"}));
}

TEST(RowCounterTest, APartitionThatAnEarlierPageEndedInHasTheRestOfItsLimit) {
  const Strings rest = {"j cd", "k abc"};
  EXPECT_EQ(rows_of(rest, {.per_partition = 3, .continued_key = "j", .left_in_continued = 1}),
            (Strings{"j:c", "k:abc"}));
  // Its static row was part of that page.
  EXPECT_EQ(rows_of({"j s", "k s"}, {.rows = 1, .continued_key = "j"}), (Strings{"j:", "k:s"}));
}

TEST(RowCounterTest, TellsWhatIsLeft) {
  const DataLimits limits{.rows = 5, .per_partition = 3};
  RowCounter counter(limits);
  counter.begin_partition(DecoratedKey::of("j"));
  EXPECT_EQ(counter.row(), Enough::kNo);
  EXPECT_EQ(counter.row(), Enough::kNo);
  EXPECT_EQ(counter.left_in_partition(), 1u);
  EXPECT_EQ(counter.row(), Enough::kOfPartition);
  EXPECT_EQ(counter.left(), 2u);
  counter.begin_partition(DecoratedKey::of("k"));
  EXPECT_EQ(counter.left_in_partition(), 3u);
  EXPECT_EQ(counter.row(), Enough::kNo);
  EXPECT_EQ(counter.row(), Enough::kOfRead);
  EXPECT_TRUE(counter.done());
  EXPECT_EQ(counter.left_in_partition(), 1u);
}

struct Groups {
  Strings taken;
  uint64_t groups = 0;
  uint64_t left_in_partition = 0;
};

// Groups are letters; a partition begins another group.
Groups groups_of(const std::vector<std::string>& data, const DataLimits& limits, char open = 0) {
  GroupCounter counter(limits, true, open != 0);
  Groups out;
  char last = open;
  for (const std::string& text : data) {
    const Partition partition(text);
    const DecoratedKey key = DecoratedKey::of(partition.key);
    const bool goes_on = open != 0 && out.taken.empty();
    Enough enough = counter.begin_partition(key, !goes_on);
    if (!goes_on) last = 0;
    if (enough == Enough::kOfRead) break;
    std::string taken = partition.key + ":";
    bool any = false;
    for (char row : partition.rows) {
      const bool lives = row >= 'a';
      const char group = static_cast<char>(lives ? row : row - 'A' + 'a');
      if (enough == Enough::kNo) enough = counter.row(lives, group != std::exchange(last, group));
      if (enough != Enough::kNo) break;
      if (lives) taken += row;
      any |= lives;
    }
    if (!any && enough == Enough::kNo && partition.has_static_row && !counter.continues_partition()) {
      taken += "s";
      enough = counter.only_static_row();
    }
    out.taken.push_back(taken);
    if (enough == Enough::kOfRead || counter.page_is_full()) break;
  }
  counter.end();
  out.groups = counter.groups();
  out.left_in_partition = counter.left_in_partition();
  return out;
}

TEST(GroupCounterTest, AGroupCountsWhenItEnds) {
  const Strings data = {"j aab", "k bbc", "l a"};
  EXPECT_EQ(groups_of(data, {}).groups, 5u);
  const Groups two = groups_of(data, {.groups = 2});
  EXPECT_EQ(two.taken, (Strings{"j:aab"}));
  EXPECT_EQ(two.groups, 2u);
  const Groups three = groups_of(data, {.groups = 3});
  EXPECT_EQ(three.taken, (Strings{"j:aab", "k:bb"}));
  EXPECT_EQ(three.groups, 3u);
}

TEST(GroupCounterTest, GroupsOfEachPartition) {
  const Groups one = groups_of({"j aab", "k bbc", "l a"}, {.per_partition = 1});
  EXPECT_EQ(one.taken, (Strings{"j:aa", "k:bb", "l:a"}));
  EXPECT_EQ(one.groups, 3u);
  const Groups limited = groups_of({"j aabc", "k bbc"}, {.per_partition = 2, .groups = 3});
  EXPECT_EQ(limited.taken, (Strings{"j:aab", "k:bb"}));
  EXPECT_EQ(limited.left_in_partition, 1u);
}

TEST(GroupCounterTest, ADeadRowEndsTheGroupBeforeIt) {
  const Groups one = groups_of({"j aaBc"}, {.groups = 1});
  EXPECT_EQ(one.taken, (Strings{"j:aa"}));
  EXPECT_EQ(one.groups, 1u);
  EXPECT_EQ(groups_of({"j ABa"}, {}).groups, 1u);
}

TEST(GroupCounterTest, AStaticRowAloneIsAGroup) {
  const Groups two = groups_of({"j s", "k sA", "l sab"}, {.groups = 2});
  EXPECT_EQ(two.taken, (Strings{"j:s", "k:s"}));
  EXPECT_EQ(groups_of({"j s", "k a"}, {}).groups, 2u);
}

TEST(GroupCounterTest, APageOfRowsDoesNotEndTheGroup) {
  const Groups page = groups_of({"j aaa"}, {.rows = 3});
  EXPECT_EQ(page.groups, 0u);
  // The next page begins within the group, which has one more row.
  const Groups rest = groups_of({"j ab"}, {.per_partition = 2, .continued_key = "j", .left_in_continued = 2}, 'a');
  EXPECT_EQ(rest.taken, (Strings{"j:ab"}));
  EXPECT_EQ(rest.groups, 2u);
  EXPECT_EQ(rest.left_in_partition, 0u);
}

}  // namespace
}  // namespace cassandra_like
