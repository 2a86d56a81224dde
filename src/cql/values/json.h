// JSON as INSERT JSON and from_json() take it: the text as a tree, and values of CQL types out of that.
//
// Error texts quote values as Cassandra does, which prints the Java objects that it parsed: {a=1, b=[x, y]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/types.h"

namespace cassandra_like {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBoolean, kInteger, kFloat, kString, kList, kMap };
  struct Entry;
  Kind kind = Kind::kNull;
  std::string text;             // of a number as written; of a string without escapes
  std::vector<JsonValue> list;  // kList
  std::vector<Entry> entries;   // kMap: no key twice, the last value counts

  bool is_null() const { return kind == Kind::kNull; }
};

struct JsonValue::Entry {
  std::string key;
  JsonValue value;
};

// The first value of the text; what stands behind it is ignored, as Cassandra's parser does. A document of more values is refused:
// each takes fifty times its text.
Result<JsonValue> parse_json(std::string_view text, uint64_t max_values = 1'000'000);
std::string java_text(const JsonValue& value);

// Keys in double quotes lose them, others become lower case (JsonUtils.handleCaseSensitivity).
void fold_keys(JsonValue& map);

// Cassandra says of the text of a duration what is wrong without the column or function that it is for: such an error has
// this code.
inline constexpr ErrorCode kDurationError = ErrorCode::kSyntaxError;

// The serialized value (AbstractType.fromJSONObject). The JSON is not null. max_values: of documents in its texts.
Result<Bytes> value_from_json(const Type& type, const JsonValue& json, uint64_t max_values = 1'000'000);

}  // namespace cassandra_like
