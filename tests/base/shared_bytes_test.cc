#include "base/shared_bytes.h"

#include <gtest/gtest.h>

#include <thread>

namespace cassandra_like {
namespace {

TEST(SharedBytesTest, LastAsLongAsSomebodyHoldsThem) {
  SharedBytes none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.view(), "");
  SharedBytes first = SharedBytes::copy_of("written once");
  SharedBytes second = first;
  first = SharedBytes();
  EXPECT_EQ(second.view(), "written once");
  SharedBytes third = std::move(second);
  EXPECT_FALSE(second);  // NOLINT: what is left is nothing
  EXPECT_EQ(third.view(), "written once");
  EXPECT_TRUE(SharedBytes::copy_of(""));
}

TEST(SharedBytesTest, AreMadeInPlaceInMemoryThatWasUsedBefore) {
  for (int i = 0; i < 100; ++i) {
    const size_t size = static_cast<size_t>(i % 7) * 100;
    const char fill = static_cast<char>('a' + i % 26);
    SharedBytes bytes = SharedBytes::make(size, [&](char* p) { std::fill(p, p + size, fill); });
    EXPECT_EQ(bytes.view(), Bytes(size, fill));
  }
}

TEST(SharedBytesTest, AnyThreadMayLetThemGoLast) {
  for (int i = 0; i < 200; ++i) {
    SharedBytes bytes = SharedBytes::copy_of(Bytes(1000, 'x'));
    std::thread other([held = bytes] { EXPECT_EQ(held.view().size(), 1000u); });
    bytes = SharedBytes();
    other.join();
  }
}

}  // namespace
}  // namespace cassandra_like
