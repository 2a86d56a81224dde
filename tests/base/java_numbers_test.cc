// Numbers as Java 17's parseDouble and parseFloat read them.
#include "base/java_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cassandra_like {
namespace {

template <class F>
std::string parsed(const char* text) {
  const std::optional<F> value = parse_java_floating<F>(text);
  if (!value) return "none";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%g", static_cast<double>(*value));
  return buffer;
}

TEST(JavaNumbers, OutOfRangeAreInfiniteOrZero) {
  struct Case {
    const char* text;
    const char* as_double;
    const char* as_float;
  };
  for (const Case& c : {Case{"1e999", "inf", "inf"}, Case{"-1e999", "-inf", "-inf"}, Case{"1e-999", "0", "0"},
                        Case{"-1e-999", "-0", "-0"}, Case{"1e39", "1e+39", "inf"}, Case{"-1e-50", "-1e-50", "-0"},
                        Case{"0e999999999999", "0", "0"}, Case{"0x1p2000", "inf", "inf"}}) {
    EXPECT_EQ(parsed<double>(c.text), c.as_double) << c.text;
    EXPECT_EQ(parsed<float>(c.text), c.as_float) << c.text;
  }
}

TEST(JavaNumbers, HaveJavasForms) {
  for (const char* text : {"0.5", " +.5d ", "5e-1", "0.5F", "0x1p-1", "0X.8P0"}) EXPECT_EQ(parsed<double>(text), "0.5");
  for (const char* text : {"", "1e", "0x1.8", "0x", "+-1", "1 2", "inf", "nan", "1__0"}) {
    EXPECT_EQ(parsed<double>(text), "none") << text;
  }
  EXPECT_TRUE(std::isnan(*parse_java_double("-NaN")));
  EXPECT_EQ(parse_java_double("-Infinity"), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace cassandra_like
