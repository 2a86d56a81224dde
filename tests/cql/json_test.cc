// Values out of JSON are those that Cassandra makes of it.
#include "cql/values/json.h"

#include <fstream>

#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

// The text behind type and JSON on a line of data/json.txt.
std::string answer(const std::string& type_name, const std::string& text) {
  auto type = types::parse_cql(type_name, "", {});
  auto json = parse_json(text);
  if (!type.ok() || !json.ok()) return "not parsed";
  auto value = value_from_json(**type, *json);
  if (value.ok()) return value->empty() && (*type)->is_empty_meaningless() ? "null" : (*type)->to_json(*value);
  std::string message = "error " + value.error().message();
  return message.substr(0, message.find('\n'));
}

TEST(Json, ValuesAreThoseOfCassandra) {
  std::ifstream file(SOURCE_DIR "/tests/cql/data/json.txt");
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t first = line.find('\t'), second = line.find('\t', first + 1);
    std::string type = line.substr(0, first), json = line.substr(first + 1, second - first - 1);
    std::string expected = line.substr(second + 1), actual = answer(type, json);
    // Complaints of the JSON parser and of Java's casts are worded otherwise.
    for (const char* words : {"error Error decoding JSON string: ", "is not a valid blob representation: "}) {
      size_t at = expected.find(words);
      if (at != std::string::npos && expected.substr(0, at) == actual.substr(0, at)) {
        expected.resize(at);
        actual.resize(at);
      }
    }
    EXPECT_EQ(type + "\t" + json + "\t" + actual, type + "\t" + json + "\t" + expected);
    ++compared;
  }
  EXPECT_GT(compared, 900);
}

TEST(Json, KeysAreFoldedUnlessTheyAreQuoted) {
  auto json = parse_json(R"({"A": 1, "\"B\"": 2, "a": 3})");
  ASSERT_TRUE(json.ok());
  fold_keys(*json);
  EXPECT_EQ(java_text(*json), "{a=1, B=2}");
}

TEST(Json, HalvesOfSurrogatePairsAreQuestionMarks) {
  const std::pair<const char*, const char*> kTexts[] = {{R"("\ud83d\ude00")", "\xF0\x9F\x98\x80"},
                                                        {R"("\ud83d")", "?"},
                                                        {R"("\ude00\ud83d")", "??"},
                                                        {R"("\ud83d\u0041")", "?A"},
                                                        {R"("\ud83dA")", "?A"},
                                                        {R"("\ud83d\ud83d\ude00")", "?\xF0\x9F\x98\x80"},
                                                        {R"("\ud83d\n")", "?\n"}};
  for (const auto& [json, text] : kTexts) {
    auto value = parse_json(json);
    ASSERT_TRUE(value.ok()) << json;
    EXPECT_EQ(value->text, text) << json;
  }
}

TEST(Json, MalformedTextIsRefused) {
  for (const char* text : {"", "{", "[1,", "{\"a\" 1}", "tru", "01", "1x", "\"\\u12", "\"a", "{a: 1}"}) {
    EXPECT_FALSE(parse_json(text).ok()) << text;
  }
  EXPECT_FALSE(parse_json(std::string(5000, '[')).ok());
}

// A client chooses the keys: twice as many take twice as long.
TEST(Json, ManyKeysAreReadInTime) {
  constexpr int kKeys = 200'000;
  std::string text = "{";
  for (int i = 0; i < kKeys; ++i) text += "\"K" + std::to_string(i) + "\": " + std::to_string(i) + ", ";
  text += "\"K7\": 1, \"k8\": 2}";
  auto json = parse_json(text);
  ASSERT_TRUE(json.ok());
  ASSERT_EQ(json->entries.size(), kKeys + 1u);
  EXPECT_EQ(json->entries[7].key, "K7");
  EXPECT_EQ(json->entries[7].value.text, "1");
  fold_keys(*json);
  ASSERT_EQ(json->entries.size(), size_t{kKeys});
  EXPECT_EQ(json->entries[0].key, "k8") << "it was folded already, so it stays where it was, before those that moved";
  EXPECT_EQ(json->entries[0].value.text, "8");
  EXPECT_EQ(json->entries[1].key, "k0");
}

TEST(Json, DocumentsOfTooManyValuesAreRefused) {
  std::string text = "[0";
  for (int i = 0; i < 1'000'000; ++i) text += ",0";
  auto json = parse_json(text + "]");
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.error().message(), "The document has more than 1000000 values");
}

}  // namespace
}  // namespace cassandra_like
