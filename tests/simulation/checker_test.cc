#include "tests/simulation/checker.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

TEST(Checker, AcceptsTheLatestAcknowledgedWriteAndAnythingTriedAfterIt) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.tried_write(7, 2);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), 2, 2), "");
}

TEST(Checker, FindsALostWrite) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.tried_write(7, 2);
  checker.acknowledged(7, 2, 100, 2);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "key 7 shows 1, but 2 was acknowledged");
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt),
            "key 7 shows nothing, but write 2 was acknowledged");
}

TEST(Checker, FindsHalfAWriteAndOneThatNobodyMade) {
  Checker checker;
  checker.tried_write(7, 1);
  EXPECT_EQ(checker.check(7, {}, 1, std::nullopt), "key 7 shows half a write: 1 and nothing");
  EXPECT_EQ(checker.check(7, {}, 9, 9), "key 7 shows 9, which nobody wrote");
}

TEST(Checker, ADeleteMayHideWhatWasAcknowledgedBeforeIt) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.tried_delete(7, 2);
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt), "");
}

TEST(Checker, ATruncationMayComeWhileAReadWaits) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  const Checker::Expectation before = checker.must_show(7);
  EXPECT_EQ(checker.check(7, before, std::nullopt, std::nullopt), "key 7 shows nothing, but write 1 was acknowledged");
  checker.truncation_started(2);
  EXPECT_EQ(checker.check(7, before, std::nullopt, std::nullopt), "");
  EXPECT_EQ(checker.check(7, before, 1, 1), "");
  EXPECT_EQ(checker.check(7, before, 1, std::nullopt), "key 7 shows half a write: 1 and nothing");
}

TEST(Checker, AWriteWithATtlShowsUntilItExpiresAndHidesWhatIsOlderFromThenOn) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.tried_write(7, 2, 10, 1000);
  checker.acknowledged(7, 2, 200, 2);
  EXPECT_EQ(checker.check(7, checker.must_show(7, 1005), std::nullopt, std::nullopt, 1009),
            "key 7 shows nothing, but write 2 was acknowledged");
  // Written in second 1000, 1001 or 1002.
  checker.written_by(7, 2, 1002);
  EXPECT_EQ(checker.check(7, checker.must_show(7, 1009), 2, 2, 1015), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7, 1009), std::nullopt, std::nullopt, 1010), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7, 1012), 2, 2, 1012), "key 7 shows 2, which is expired");
  EXPECT_EQ(checker.check(7, checker.must_show(7, 1012), std::nullopt, std::nullopt, 1012), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7, 1012), 1, 1, 1012), "key 7 shows 1, but 2 was acknowledged");
  EXPECT_FALSE(checker.may_have_expired(7, 2, 1009));
  EXPECT_TRUE(checker.may_have_expired(7, 2, 1010));
  EXPECT_FALSE(checker.may_have_expired(7, 1, 2000));
}

TEST(Checker, ForgetsWhatAPowerCutMayTake) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.tried_write(7, 2);
  checker.acknowledged(7, 2, 300, 2);
  checker.forget_acknowledged_after(200);
  EXPECT_EQ(checker.must_show(7).at_least, 1);
}

TEST(Checker, WhatWasOverBeforeATruncationDoesNotComeBack) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.truncation_started(2);
  // Not known yet to have happened.
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt), "");
  Checker::Expectation before = checker.must_show(7);
  checker.truncation_ended(2, true);
  EXPECT_EQ(checker.check(7, before, 1, 1), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "key 7 shows 1, which truncation 2 removed");
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt), "");
}

TEST(Checker, WhatBeganDuringATruncationMayShowOrNotAndWhatBeganAfterItMustShow) {
  Checker checker;
  checker.truncation_started(1);
  checker.tried_write(7, 2);
  checker.acknowledged(7, 2, 100, 2);
  checker.truncation_ended(2, true);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 2, 2), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt), "");
  checker.tried_write(7, 3);
  checker.acknowledged(7, 3, 200, 3);
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt),
            "key 7 shows nothing, but write 3 was acknowledged");
}

TEST(Checker, AFailedTruncationMayHaveHappened) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.acknowledged(7, 1, 100, 1);
  checker.truncation_started(2);
  checker.life_ended(2);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "");
  EXPECT_EQ(checker.check(7, checker.must_show(7), std::nullopt, std::nullopt), "");
}

TEST(Checker, WhatAnEarlierLifeLeftUnansweredIsOver) {
  Checker checker;
  checker.tried_write(7, 1);
  checker.life_ended(1);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "");
  checker.truncation_started(2);
  checker.truncation_ended(2, true);
  EXPECT_EQ(checker.check(7, checker.must_show(7), 1, 1), "key 7 shows 1, which truncation 2 removed");
}

}  // namespace
}  // namespace cassandra_like
