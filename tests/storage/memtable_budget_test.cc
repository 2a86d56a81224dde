// The shard that is asked to flush, and the moment when writes that wait go on.
#include "storage/memtable_budget.h"

#include <string>

#include <gtest/gtest.h>

#include "posts.h"

namespace cassandra_like {
namespace {

using storage_test::Posts;

class MemtableBudgetTest : public ::testing::Test {
 protected:
  static constexpr unsigned kShards = 3;
  static constexpr uint64_t kBytes = 1200;

  MemtableBudgetTest() {
    for (unsigned shard = 0; shard < kShards; ++shard) {
      budget_.join(shard, {&posts_, [this, shard] { calls_ += "flush" + std::to_string(shard) + " "; },
                           [this, shard] { calls_ += "wake" + std::to_string(shard) + " "; }});
    }
  }
  // The calls since the last time.
  std::string calls() {
    posts_.run();
    return std::exchange(calls_, "");
  }

  MemtableBudget budget_{kBytes, kShards};
  Posts posts_;
  std::string calls_;
};

TEST_F(MemtableBudgetTest, OneShardMayHaveAllOfIt) {
  budget_.grow(1, {600, 0});
  EXPECT_EQ(calls(), "");
  budget_.grow(1, {601, 0});
  EXPECT_EQ(calls(), "flush1 ");
  budget_.settle(1, {0, 601});
  budget_.grow(1, {598, 601});
  EXPECT_FALSE(budget_.is_full());
  budget_.grow(1, {599, 601});
  EXPECT_TRUE(budget_.is_full());
}

TEST_F(MemtableBudgetTest, TheShardWithMostIsAskedOnceUntilItsFlushBegins) {
  budget_.grow(0, {150, 0});
  budget_.grow(2, {300, 0});
  budget_.grow(1, {200, 0});
  budget_.grow(1, {250, 0});
  EXPECT_EQ(calls(), "flush2 ");
  // Its flush takes enough away: nobody else is asked.
  budget_.settle(2, {0, 300});
  EXPECT_EQ(calls(), "");
}

TEST_F(MemtableBudgetTest, AShardThatDeclinesIsLeftOutUntilItSettles) {
  budget_.grow(0, {400, 0});
  budget_.grow(1, {300, 0});
  EXPECT_EQ(calls(), "flush0 ");
  budget_.decline(0);
  EXPECT_EQ(calls(), "flush1 ");
  budget_.decline(1);
  budget_.grow(0, {500, 0});
  EXPECT_EQ(calls(), "");
  budget_.settle(0, {500, 0});
  EXPECT_EQ(calls(), "flush0 ");
}

TEST_F(MemtableBudgetTest, RoomOnOneShardWakesTheWritersOfAnother) {
  budget_.grow(0, {0, 700});
  budget_.grow(1, {500, 0});
  ASSERT_TRUE(budget_.is_full());
  budget_.wait(1);
  budget_.settle(0, {0, 700});
  EXPECT_EQ(calls(), "");
  budget_.settle(0, {0, 600});
  EXPECT_EQ(calls(), "wake1 ");
  budget_.settle(0, {0, 0});
  EXPECT_EQ(calls(), "") << "it was woken";
}

TEST_F(MemtableBudgetTest, AShardThatLeftIsNotAskedAndTakesNothing) {
  budget_.grow(0, {700, 0});
  budget_.leave(0);
  EXPECT_EQ(calls(), "flush0 ") << "posted before";
  budget_.grow(1, {601, 0});
  EXPECT_EQ(calls(), "flush1 ");
  EXPECT_FALSE(budget_.is_full());
}

}  // namespace
}  // namespace cassandra_like
