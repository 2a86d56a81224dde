#include "tests/simulation/cluster_checkers.h"

#include <gtest/gtest.h>

#include "tests/simulation/checker.h"

namespace cassandra_like {
namespace {

TEST(Registers, ALaterReadShowsNoLessThanAnEarlierOne) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.tried_write(7, 2);
  const Checker::Expectation expected = checker.must_show(7);
  EXPECT_EQ(checker.check(7, expected, 2, 2), "");
  checker.was_read(7, expected, 2);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "key 7 shows 1, but 2 was acknowledged");
  // A read that was asked for before may still show it.
  EXPECT_EQ(checker.check(7, expected, 1, 1), "");
}

TEST(Registers, ADeletedRowThatWasReadAsGoneDoesNotComeBack) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.tried_delete(7, 2);
  checker.tried_write(7, 3);
  const Checker::Expectation expected = checker.must_show(7);
  checker.was_read(7, expected, std::nullopt);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "key 7 shows 1, but 2 was acknowledged");
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), 3, 3), "");
}

TEST(Registers, APowerCutMayTakeWhatWasReadAndNotAcknowledged) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.tried_write(7, 2);
  checker.was_read(7, checker.must_show(7), 2);
  const Checker::Expectation before = checker.must_show(7);
  EXPECT_EQ(checker.check(7, before, 1, 1), "key 7 shows 1, but 2 was acknowledged");
  checker.forget_reads();
  EXPECT_EQ(checker.check(7, before, 1, 1), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt),
            "key 7 shows nothing, but write 1 was acknowledged");
}

TEST(Registers, ARefusedWriteMustNotShow) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.refused(7, 1);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "key 7 shows 1, which nobody wrote");
}

TEST(Counters, ShowAllThatWasAcknowledgedAndNothingThatWasNotTried) {
  CounterChecker checker;
  checker.tried(1, 5);
  checker.ended(1, 5, Outcome::kAcknowledged);
  checker.tried(1, 2);
  checker.ended(1, 2, Outcome::kUnknown);
  EXPECT_EQ(checker.check(1, checker.must_show(1), 5), "");
  EXPECT_EQ(checker.check(1, checker.must_show(1), 4), "counter 1 shows 4, but 5 was acknowledged or read");
  EXPECT_EQ(checker.check(1, checker.must_show(1), 8), "counter 1 shows 8, but only 7 was tried");
}

TEST(Counters, DoNotGoBack) {
  CounterChecker checker;
  checker.tried(1, 2);
  const CounterChecker::Expectation before = checker.must_show(1);
  EXPECT_EQ(checker.check(1, before, 2), "");
  EXPECT_EQ(checker.check(1, checker.must_show(1), 0), "counter 1 shows 0, but 2 was acknowledged or read");
  EXPECT_EQ(checker.check(1, before, 0), "");
}

TEST(Counters, APowerCutMayTakeWhatWasReadAndNotAcknowledged) {
  CounterChecker checker;
  checker.tried(1, 2);
  EXPECT_EQ(checker.check(1, checker.must_show(1), 2), "");
  const CounterChecker::Expectation before = checker.must_show(1);
  checker.forget_reads();
  EXPECT_EQ(checker.check(1, before, 0), "");
  EXPECT_EQ(checker.check(1, checker.must_show(1), 0), "");
}

TEST(Counters, ARefusedAdditionMustNotShow) {
  CounterChecker checker;
  checker.tried(1, 2);
  checker.ended(1, 2, Outcome::kRefused);
  EXPECT_EQ(checker.check(1, checker.must_show(1), 2), "counter 1 shows 2, but only 0 was tried");
}

TEST(Batches, ShowAllOrNothingAndAllOnceAcknowledged) {
  BatchChecker checker;
  checker.tried(1);
  EXPECT_EQ(checker.check(1, 0, 3), "");
  EXPECT_EQ(checker.check(1, 3, 3), "");
  EXPECT_EQ(checker.check(1, 2, 3), "batch 1 shows 2 of its 3 rows");
  checker.ended(1, Outcome::kAcknowledged);
  EXPECT_EQ(checker.check(1, 0, 3), "batch 1 was acknowledged and shows nothing");
  checker.ended(1, Outcome::kRefused);
  EXPECT_EQ(checker.check(1, 3, 3), "batch 1 was refused and shows");
}

TEST(Delivery, IsOwedByACoordinatorThatHasLivedSince) {
  DeliveryChecker checker;
  checker.acknowledged(10, 0, 1);
  checker.acknowledged(11, 1, 4);
  EXPECT_EQ(checker.due(2, {1, 4}), (std::vector<int64_t>{10, 11}));
  EXPECT_EQ(checker.due(1, {1, 4}), (std::vector<int64_t>{10}));
  EXPECT_EQ(checker.due(2, {2, 4}), (std::vector<int64_t>{11}));
  EXPECT_EQ(checker.check(11, 2, false), "row 11 was acknowledged, and node 3 never got it");
  EXPECT_EQ(checker.check(11, 2, true), "");
}

TEST(Schemas, AreOneAndHaveWhatWasAcknowledged) {
  SchemaChecker checker;
  checker.acknowledged("t1");
  EXPECT_EQ(checker.check({{"v", {"t1", "t2"}}, {"v", {"t1", "t2"}}}), "");
  EXPECT_EQ(checker.check({{"v", {"t1"}}, {"w", {"t1", "t2"}}}), "node 1 has schema version v, node 2 w");
  EXPECT_EQ(checker.check({{"v", {"t1"}}, {"v", {}}}), "t1 was acknowledged, and node 2 does not have it");
}

}  // namespace
}  // namespace cassandra_like
