#include "base/dcheck.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

TEST(DcheckTest, StopsTheDevelopersBuildAndIsNeverEvaluatedInTheReleaseBuild) {
  int evaluated = 0;
  DCHECK(++evaluated > 0);
#ifdef NDEBUG
  EXPECT_EQ(evaluated, 0);
  DCHECK(evaluated == 1);
#else
  EXPECT_EQ(evaluated, 1);
  EXPECT_DEATH(DCHECK(evaluated == 2), "dcheck_test.cc:[0-9]+: invariant broken: evaluated == 2");
#endif
}

}  // namespace
}  // namespace cassandra_like
