#include "base/shared_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace cassandra_like {
namespace {

using Map = SharedMap<std::string, std::shared_ptr<int>>;

std::shared_ptr<int> number(int n) { return std::make_shared<int>(n); }
std::string name(int n) { return "name_" + std::to_string(n); }

std::map<std::string, int> content(const Map& map) {
  std::map<std::string, int> out;
  for (const auto& [key, value] : map) out[key] = *value;
  return out;
}

TEST(SharedMap, HasWhatAMapHas) {
  std::mt19937 random(1);
  Map map;
  std::map<std::string, int> expected;
  for (int step = 0; step < 20000; ++step) {
    // It grows to some hundred entries and shrinks again.
    const std::string key = name(static_cast<int>(random() % 1000));
    const bool grows = step / 4000 % 2 == 0;
    if (random() % 4 < (grows ? 3 : 1)) {
      map[key] = number(step);
      expected[key] = step;
    } else {
      ASSERT_EQ(map.erase(key), expected.erase(key));
    }
    ASSERT_EQ(map.size(), expected.size());
    const std::string other = name(static_cast<int>(random() % 1000));
    ASSERT_EQ(map.contains(std::string_view(other)), expected.contains(other));
    if (expected.contains(other)) {
      ASSERT_EQ(*map.find(other)->second, expected[other]);
    }
    if (step % 500 == 0) {
      ASSERT_EQ(content(map), expected);
    }
  }
  ASSERT_EQ(content(map), expected);
  for (const auto& [key, value] : std::map(expected)) ASSERT_EQ(map.erase(key), 1u);
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(map.begin() == map.end());
}

TEST(SharedMap, ACopyStaysAsItWas) {
  Map map;
  for (int i = 0; i < 300; ++i) map[name(i)] = number(i);
  const Map before = map;
  const auto expected = content(before);
  map[name(150)] = number(-1);
  map.erase(name(7));
  map[name(1000)] = number(1000);
  EXPECT_EQ(content(before), expected);
  EXPECT_FALSE(map == before);
  EXPECT_TRUE(Map(before) == before);
}

TEST(SharedMap, ComparisonsTellEachDifferenceOnce) {
  std::mt19937 random(2);
  Map map;
  for (int i = 0; i < 500; ++i) map[name(i)] = number(i);
  for (int round = 0; round < 300; ++round) {
    const Map before = map;
    for (int i = 0; i < 3; ++i) {
      const std::string key = name(static_cast<int>(random() % 700));
      if (random() % 2 == 0) {
        map.erase(key);
      } else {
        map[key] = number(1000 + round * 1000 + i);
      }
    }
    std::map<std::string, int> patched = content(before);
    std::multimap<int, int> differences;
    compare_maps(
        before, map, [&](int gone) { std::erase_if(patched, [&](const auto& e) { return e.second == gone; }); },
        [&](int added) { differences.emplace(added, added); },
        [&](int old, int now) {
          for (auto& [key, value] : patched) {
            if (value == old) value = now;
          }
        });
    for (const auto& [key, value] : map) {
      if (differences.erase(*value) == 1) patched[key] = *value;
    }
    EXPECT_TRUE(differences.empty());
    ASSERT_EQ(patched, content(map));
  }
}

}  // namespace
}  // namespace cassandra_like
