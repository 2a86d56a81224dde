#include "base/huge_page_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace cassandra_like {
namespace {

template <class T>
using HugeVector = std::vector<T, HugePageAllocator<T>>;

TEST(HugePageAllocator, LargeMemoryBeginsAtAHugePage) {
  HugeVector<uint64_t> numbers(3 << 17);  // 3 MiB
  EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % (2 << 20), 0u);
}

TEST(HugePageAllocator, VectorsGrowBeyondAHugePage) {
  HugeVector<uint32_t> numbers;
  for (uint32_t i = 0; i < 1'500'000; ++i) numbers.push_back(i);
  HugeVector<uint32_t> moved = std::move(numbers);
  const HugeVector<uint32_t> copied = moved;
  moved.clear();
  moved.shrink_to_fit();
  EXPECT_EQ(std::accumulate(copied.begin(), copied.end(), uint64_t{0}), uint64_t{1'500'000} * 1'499'999 / 2);
}

}  // namespace
}  // namespace cassandra_like
