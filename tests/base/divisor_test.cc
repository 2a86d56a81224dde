#include "base/divisor.h"

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

TEST(Divisor, RemaindersAreThoseOfADivision) {
  uint64_t state = 1;
  auto random = [&state] { return state = state * 6364136223846793005ULL + 1442695040888963407ULL; };
  constexpr uint64_t kMost = uint64_t{1} << 63;
  for (int bits = 0; bits <= 62; ++bits) {
    for (const uint64_t divisor :
         {uint64_t{1} << bits, (uint64_t{1} << bits) + random() % (uint64_t{1} << bits), (uint64_t{2} << bits) - 1}) {
      if (divisor > uint64_t{1} << 62) continue;
      const Divisor fast(divisor);
      for (const uint64_t near : {uint64_t{0}, divisor, divisor * (kMost / divisor), kMost, random() >> 1}) {
        for (uint64_t dividend = near > 2 ? near - 2 : 0; dividend <= kMost && dividend <= near + 2; ++dividend) {
          ASSERT_EQ(fast.remainder(dividend), dividend % divisor) << dividend << " by " << divisor;
        }
      }
    }
  }
}

}  // namespace
}  // namespace cassandra_like
