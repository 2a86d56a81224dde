// The answers of several replicas make one partition, and each replica gets what it lacks of that.
#include "coordinator/quorum/data_resolver.h"

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/quorum/short_read.h"
#include "model/values.h"
#include "read/merge.h"
#include "read/range_tombstones.h"
#include "tests/storage/fixture.h"

namespace cassandra_like::test::quorum_data_resolver_test {
namespace {

using storage_test::Update;
using testing::ElementsAre;
using Lines = std::vector<std::string>;

// The partition of an update.
class UpdateReader final : public PartitionReader {
 public:
  UpdateReader(const PartitionUpdate& update, bool reversed) : reversed_(reversed) {
    key_ = update.key;
    partition_deletion_ = update.partition_deletion;
    static_row_ = update.static_row;
    rows_.assign(update.rows.begin(), update.rows.end());
    if (reversed) std::reverse(rows_.begin(), rows_.end());
    for (const RangeTombstone& range : update.range_tombstones) ranges_.add(range);
    markers_.start(ranges_.ranges(), reversed);
  }

  Result<const Unfiltered*> next() override {
    const RangeTombstoneMarker* marker = markers_.peek();
    if (marker != nullptr && (next_ == rows_.size() || is_before(marker->bound, rows_[next_].clustering))) {
      result_.is_row = false;
      result_.marker = *marker;
      markers_.advance();
      return &result_;
    }
    if (next_ == rows_.size()) return nullptr;
    result_.is_row = true;
    result_.row = rows_[next_++];
    return &result_;
  }

 private:
  bool is_before(const ClusteringPrefix& a, const ClusteringPrefix& b) const {
    return reversed_ ? b.comparable < a.comparable : a.comparable < b.comparable;
  }

  bool reversed_;
  std::vector<Row> rows_;
  size_t next_ = 0;
  RangeTombstones ranges_;
  MarkerCursor markers_;
  Unfiltered result_;
};

std::string text(const DeletionTime& deletion) {
  return deletion.is_live() ? "-" : std::to_string(deletion.marked_for_delete_at);
}

// ">" stands for a place behind the clustering, "<" for one before it.
std::string text(const ClusteringPrefix& bound) {
  std::string out = bound.comparable.back() == kBeforeTerminator ? "<" : ">";
  for (BytesView value : bound.values) out += std::to_string(decode_int(value));
  return out;
}

std::string text(const Row& row, const TableMetadata& table) {
  std::string out = storage_test::to_line(table, row);
  for (const ComplexDeletion& complex : row.complex_deletions) {
    out += fmt::format(" {}-@{}", complex.column->name, text(complex.deletion));
  }
  return row.deletion.is_live() ? out : out + " deleted@" + text(row.deletion);
}

Lines lines(PartitionReader& reader, const TableMetadata& table) {
  Lines out;
  if (!reader.partition_deletion().is_live()) out.push_back("deleted@" + text(reader.partition_deletion()));
  if (!reader.static_row().is_empty()) out.push_back("static " + text(reader.static_row(), table));
  while (true) {
    Result<const Unfiltered*> next = reader.next();
    EXPECT_TRUE(next.ok());
    if (!next.ok() || *next == nullptr) return out;
    if ((**next).is_row) {
      out.push_back(text((**next).row, table));
    } else {
      const RangeTombstoneMarker& marker = (**next).marker;
      out.push_back(fmt::format("{} {}|{}", text(marker.bound), text(marker.close), text(marker.open)));
    }
  }
}

// Up to the first row.
Lines first_lines(PartitionReader& reader, const TableMetadata& table) {
  while (true) {
    Result<const Unfiltered*> next = reader.next();
    CHECK(next.ok() && *next != nullptr);
    if ((**next).is_row) return {text((**next).row, table)};
  }
}

Lines lines(const PartitionUpdate& update) {
  UpdateReader reader(update, false);
  return lines(reader, *update.table);
}

struct Resolved {
  Lines merged;
  std::vector<Lines> repairs;
};

class Replicas {
 public:
  // To table t: k text, c int, s text static, v text, w text, m map.
  Update& add() { return updates_.emplace_back(Update(table_, "k")); }
  Update& update(size_t i) { return updates_[i]; }
  void add_nothing() { nothing_ = true; }

  Resolved resolve(ResolveOptions options = {}, bool stops_at_row = false) {
    std::deque<UpdateReader> readers;
    std::vector<PartitionReader*> sources;
    for (Update& update : updates_) sources.push_back(&readers.emplace_back(update.build(), options.reversed));
    if (nothing_) sources.push_back(nullptr);
    ResolvedPartition resolved(sources, options);
    Resolved out;
    out.merged = stops_at_row ? first_lines(resolved, *table_) : lines(resolved, *table_);
    for (const PartitionRepair& repair : resolved.end()) {
      out.repairs.push_back(lines(repair.update(*table_, resolved.key())));
      EXPECT_EQ(repair.empty(), out.repairs.back().empty());
    }
    return out;
  }

  const TablePtr& table() const { return table_; }
  size_t size() const { return updates_.size(); }

 private:
  TablePtr table_ = storage_test::make_table("t");
  std::deque<Update> updates_;
  bool nothing_ = false;
};

// ---- What a replica lacks

TEST(DataResolverTest, RepairsNothingWhenReplicasAgree) {
  Replicas replicas;
  for (int i = 0; i < 2; ++i) {
    replicas.add().at(5).row(1).live().cell("v", "x").delete_range(3, true, 4, true).static_row().cell("s", "y");
  }
  const Resolved got = replicas.resolve();
  EXPECT_THAT(got.merged, ElementsAre("static s=y@5", "1: @5 v=x@5", "<3 -|5", ">4 5|-"));
  EXPECT_THAT(got.repairs, ElementsAre(Lines{}, Lines{}));
}

TEST(DataResolverTest, GivesEachReplicaTheCellsThatItLacks) {
  Replicas replicas;
  replicas.add().at(5).row(1).live().cell("v", "old").at(7).cell("w", "same").row(2).cell("v", "only here");
  replicas.add().at(6).row(1).cell("v", "new").at(7).cell("w", "same");
  const Resolved got = replicas.resolve();
  EXPECT_THAT(got.merged, ElementsAre("1: @5 v=new@6 w=same@7", "2: v=only here@7"));
  EXPECT_THAT(got.repairs, ElementsAre(Lines{"1: v=new@6"}, Lines{"1: @5", "2: v=only here@7"}));
}

TEST(DataResolverTest, GivesTheStaticRowToAReplicaThatHasNothing) {
  Replicas replicas;
  replicas.add().at(5).static_row().cell("s", "y").row(1).cell("v", "x");
  replicas.add_nothing();
  EXPECT_THAT(replicas.resolve().repairs, ElementsAre(Lines{}, Lines{"static s=y@5", "1: v=x@5"}));
}

TEST(DataResolverTest, GivesADeletionInsteadOfTheRowsThatItCovers) {
  Replicas replicas;
  replicas.add().at(5).row(1).cell("v", "x").row(2).at(20).cell("v", "newer");
  replicas.add().at(9).delete_partition();
  const Resolved got = replicas.resolve();
  EXPECT_THAT(got.merged, ElementsAre("deleted@9", "2: v=newer@20"));
  EXPECT_THAT(got.repairs, ElementsAre(Lines{"deleted@9"}, Lines{"2: v=newer@20"}));
}

TEST(DataResolverTest, GivesRowDeletionsAndTombstones) {
  Replicas replicas;
  replicas.add().at(5).row(1).cell("v", "x").row(2).cell("v", "x").element("m", "a", "b");
  replicas.add().at(9).row(1).delete_row().row(2).tombstone("v").clear("m");
  const Resolved got = replicas.resolve();
  EXPECT_EQ(got.repairs[0], got.merged);
  EXPECT_THAT(got.repairs[1], ElementsAre());
}

TEST(DataResolverTest, GivesTheRangesInWhichADeletionIsMissing) {
  Replicas replicas;
  replicas.add().at(9).delete_range(1, true, 8, true);
  replicas.add().at(9).delete_range(1, true, 4, false);
  replicas.add().at(5).delete_range(2, true, 3, true);
  const Resolved got = replicas.resolve();
  EXPECT_THAT(got.merged, ElementsAre("<1 -|9", ">8 9|-"));
  EXPECT_THAT(got.repairs, ElementsAre(Lines{}, Lines{"<4 -|9", ">8 9|-"}, Lines{"<1 -|9", ">8 9|-"}));
}

TEST(DataResolverTest, GivesEachRangeItsOwnDeletion) {
  Replicas replicas;
  replicas.add().at(9).delete_range(1, true, 4, false).at(7).delete_range(4, true, 8, false);
  replicas.add().at(7).delete_range(6, true, 8, false);
  EXPECT_THAT(replicas.resolve().repairs, ElementsAre(Lines{}, Lines{"<1 -|9", "<4 9|7", "<6 7|-"}));
}

// The second replica's row 2 was not part of an answer that ended at row 3: no later one may show it.
TEST(DataResolverTest, GivesTheDeletionInWhichTheReadingStopsUpToThere) {
  Replicas replicas;
  replicas.add().at(9).delete_range(1, true, 8, true).at(12).row(3).cell("v", "x");
  replicas.add().at(5).row(2).cell("v", "y").at(12).row(3).cell("v", "x").at(5).row(4).cell("v", "y");
  Resolved got = replicas.resolve({}, true);
  EXPECT_THAT(got.merged, ElementsAre("3: v=x@12"));
  EXPECT_THAT(got.repairs, ElementsAre(Lines{}, Lines{"<1 -|9", ">3 9|-"}));
  ResolveOptions options;
  options.reversed = true;
  got = replicas.resolve(options, true);
  EXPECT_THAT(got.repairs, ElementsAre(Lines{}, Lines{"<3 -|9", ">8 9|-"}));
}

TEST(DataResolverTest, LeavesOutARangeThatThePartitionsDeletionCovers) {
  Replicas replicas;
  replicas.add().at(9).delete_partition();
  replicas.add().at(5).delete_range(1, true, 4, true).row(2).at(7).cell("v", "x");
  const Resolved got = replicas.resolve();
  EXPECT_THAT(got.merged, ElementsAre("deleted@9"));
  EXPECT_THAT(got.repairs, ElementsAre(Lines{}, Lines{"deleted@9"}));
}

// A replica sends its rows in two answers, and the partition is deleted between them.
TEST(DataResolverTest, TakesADeletionThatComesBetweenTheAnswersOfAReplica) {
  struct InTwoAnswers final : PartitionReader {
    InTwoAnswers(const PartitionUpdate& first, const PartitionUpdate& second)
        : first_(first, false), second_(second, false) {
      key_ = first_.key();
    }
    Result<const Unfiltered*> next() override {
      ASSIGN_OR_RETURN(const Unfiltered* next, first_.next());
      if (next != nullptr) return next;
      partition_deletion_ = second_.partition_deletion();
      return second_.next();
    }
    UpdateReader first_, second_;
  };
  const TablePtr table = storage_test::make_table("t");
  Update first(table, "k"), second(table, "k"), other(table, "k");
  first.at(5).row(1).cell("v", "x");
  second.at(9).delete_partition().at(12).row(4).cell("v", "z");
  other.at(7).delete_range(2, true, 3, true).at(5).row(1).cell("v", "x").row(4).cell("v", "y").row(6).cell("v", "y");
  InTwoAnswers one(first.build(), second.build());
  UpdateReader two(other.build(), false);
  std::vector<PartitionReader*> sources{&one, &two, nullptr};
  ResolvedPartition resolved(sources, {});
  EXPECT_THAT(lines(resolved, *table), ElementsAre("1: v=x@5", "4: v=z@12"));
  std::vector<Lines> repairs;
  for (const PartitionRepair& repair : resolved.end()) repairs.push_back(lines(repair.update(*table, resolved.key())));
  EXPECT_THAT(repairs,
              ElementsAre(Lines{}, Lines{"deleted@9", "4: v=z@12"}, Lines{"deleted@9", "1: v=x@5", "4: v=z@12"}));
}

// Deletions of an Update are a hundred seconds old.
TEST(DataResolverTest, PurgeableTombstonesNeverTravel) {
  Replicas replicas;
  replicas.add().at(9).row(1).delete_row().row(2).tombstone("v").row(3).clear("m").at(8).cell("w", "x").delete_range(
      5, true, 6, true);
  replicas.add().at(2).row(9).cell("v", "y");
  ResolveOptions options;
  options.gc_before = storage_test::kNow - 100;
  EXPECT_THAT(replicas.resolve(options).repairs[1],
              ElementsAre("1: deleted@9", "2: v=@9", "3: w=x@8 m-@9", "<5 -|8", ">6 8|-"));
  options.gc_before = storage_test::kNow - 99;
  EXPECT_THAT(replicas.resolve(options).repairs[1], ElementsAre("3: w=x@8"));
  Replicas deleted;
  deleted.add().at(9).delete_partition();
  deleted.add().at(12).row(1).cell("v", "x");
  EXPECT_THAT(deleted.resolve(options).repairs, ElementsAre(Lines{"1: v=x@12"}, Lines{}));
}

TEST(DataResolverTest, RepairsAreInTheOrderOfUpdatesWhenItReadsFromTheEnd) {
  Replicas replicas;
  replicas.add()
      .at(5)
      .row(1)
      .cell("v", "x")
      .row(2)
      .cell("v", "x")
      .delete_range(3, true, 4, true)
      .delete_range(6, true, 7, false);
  replicas.add_nothing();
  ResolveOptions options;
  options.reversed = true;
  const Resolved got = replicas.resolve(options);
  EXPECT_THAT(got.merged, ElementsAre("<7 -|5", "<6 5|-", ">4 -|5", "<3 5|-", "2: v=x@5", "1: v=x@5"));
  EXPECT_THAT(got.repairs[1], ElementsAre("1: v=x@5", "2: v=x@5", "<3 -|5", ">4 5|-", "<6 -|5", "<7 5|-"));
}

// ---- Any contents

void fill_randomly(Update& update, std::mt19937& random) {
  auto below = [&](int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random); };
  if (below(4) == 0) update.at(1 + below(5)).delete_partition();
  if (below(2) == 0) update.static_row().at(1 + below(9)).cell("s", std::to_string(below(3)));
  for (int from = below(5); from < 10; from += 1 + below(5)) {
    const int to = from + 1 + below(4);
    if (below(2) == 0) update.at(1 + below(9)).delete_range(from, below(2) == 0, to, below(2) == 0);
    from = to;
  }
  for (int row = below(3); row < 10; row += 1 + below(3)) {
    const int timestamp = 1 + below(9);
    update.row(row).at(timestamp);
    if (below(3) == 0) update.delete_row().at(timestamp + 1);
    if (below(3) == 0) update.live();
    if (below(4) == 0) update.tombstone("w");
    if (below(4) == 0) update.clear("m").at(timestamp + 2).element("m", "a", "b");
    update.cell("v", std::to_string(below(3)));
  }
}

Lines merged_with(Update& update, const PartitionUpdate& repair, const TableMetadata& table) {
  UpdateReader own(update.build(), false), added(repair, false);
  PartitionReader* sources[] = {&own, &added};
  MergedPartition merged(sources, false);
  return lines(merged, table);
}

TEST(DataResolverPropertyTest, WithItsRepairEachReplicaHasTheMergedPartition) {
  size_t repaired = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    std::mt19937 random(seed);
    Replicas replicas;
    for (int i = 0; i < 3; ++i) fill_randomly(replicas.add(), random);
    std::deque<UpdateReader> contents;
    std::deque<MergedPartition> answers;
    std::vector<PartitionReader*> sources, plain;
    const bool reversed = seed % 2 == 1;
    for (size_t i = 0; i < replicas.size(); ++i) {
      PartitionReader* own[] = {&contents.emplace_back(replicas.update(i).build(), reversed)};
      sources.push_back(&answers.emplace_back(own, reversed));
      plain.push_back(&contents.emplace_back(replicas.update(i).build(), false));
    }
    ResolveOptions options;
    options.reversed = reversed;
    ResolvedPartition resolved(sources, options);
    Lines merged = lines(resolved, *replicas.table());
    MergedPartition expected(plain, false);
    const Lines expected_lines = lines(expected, *replicas.table());
    if (!reversed) {
      EXPECT_EQ(merged, expected_lines) << "seed " << seed;
    }
    std::deque<PartitionRepair>& repairs = resolved.end();
    for (size_t i = 0; i < repairs.size(); ++i) {
      const PartitionUpdate repair = repairs[i].update(*replicas.table(), resolved.key());
      EXPECT_EQ(merged_with(replicas.update(i), repair, *replicas.table()), expected_lines) << "seed " << seed;
      repaired += !repairs[i].empty();
    }
  }
  EXPECT_GT(repaired, 3000u);
}

// ---- Short reads

DataLimits limits_of(uint64_t rows, uint64_t per_partition = DataLimits::kNone) {
  DataLimits limits;
  limits.rows = rows;
  limits.per_partition = per_partition;
  return limits;
}

TEST(ShortReadTest, AsksForRowsWhenTheReplicaStoppedAtTheLimit) {
  const DataLimits limits = limits_of(10);
  EXPECT_EQ(ShortReadRows().more(limits, {9, 9, 9}, true), std::nullopt);  // it had no more
  EXPECT_EQ(ShortReadRows().more(limits, {10, 10, 10}, true), 10u);
  EXPECT_EQ(ShortReadRows().more(limits, {10, 10, 0}, true), std::nullopt);    // none of this partition lives
  EXPECT_EQ(ShortReadRows().more(limits, {10, 10, 10}, false), std::nullopt);  // a partition has one row
}

TEST(ShortReadTest, AsksUntilTheReplicaSendsFewerThanItWasAskedFor) {
  const DataLimits limits = limits_of(10);
  ShortReadRows rows;
  EXPECT_EQ(rows.more(limits, {10, 10, 10}, true), 10u);
  EXPECT_EQ(rows.more(limits, {20, 20, 20}, true), 10u);
  EXPECT_EQ(rows.more(limits, {27, 27, 27}, true), std::nullopt);
}

TEST(ShortReadTest, AsksForNoMoreThanThePartitionMayHave) {
  EXPECT_EQ(ShortReadRows().more(limits_of(10, 3), {3, 3, 3}, true), 3u);
  EXPECT_EQ(ShortReadRows().more(limits_of(DataLimits::kNone, 3), {3, 3, 3}, true), 3u);
}

TEST(ShortReadTest, CountsGroupsWhenTheLimitDoes) {
  DataLimits limits;
  limits.groups = 4;
  EXPECT_EQ(ShortReadRows().more(limits, {3, 50, 50}, true), std::nullopt);
  EXPECT_EQ(ShortReadRows().more(limits, {4, 50, 50}, true), 4u);
}

TEST(ShortReadTest, AsksForPartitionsWhileTheyCome) {
  const DataLimits limits = limits_of(10);
  ShortReadPartitions partitions;
  EXPECT_EQ(partitions.more(limits, {10, 10, 2}, 7), std::nullopt);  // there was none
  partitions.partition();
  EXPECT_EQ(partitions.more(limits, {10, 10, 2}, 7), 3u);
  EXPECT_EQ(partitions.more(limits, {12, 12, 2}, 8), std::nullopt);
  partitions.partition();
  EXPECT_EQ(partitions.more(limits, {9, 9, 2}, 7), std::nullopt);
  EXPECT_EQ(partitions.more(limits_of(DataLimits::kNone, 3), {9, 9, 2}, 7), 3u);
}

}  // namespace
}  // namespace cassandra_like::test::quorum_data_resolver_test
