#include "cql/values/json.h"

#include <algorithm>
#include <cctype>

#include "absl/container/flat_hash_map.h"
#include "base/ascii.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr int kMaxDepth = 1000;

void erase_marked(std::vector<JsonValue::Entry>& entries, const std::vector<bool>& gone) {
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.resize(kept);
}

std::string folded(const std::string& key) {
  return key.size() > 1 && key.front() == '"' && key.back() == '"' ? key.substr(1, key.size() - 2) : lower(key);
}

class JsonParser {
 public:
  JsonParser(std::string_view text, uint64_t max_values) : in_(text), max_values_(max_values) {}

  Result<JsonValue> value(int depth) {
    if (depth > kMaxDepth) return invalid("Document nesting depth exceeds the maximum allowed");
    if (++values_ > max_values_) {
      return invalid("The document has more than " + std::to_string(max_values_) + " values");
    }
    skip_space();
    if (at_ == in_.size()) return invalid("No content to map due to end-of-input");
    switch (in_[at_]) {
      case '{':
        return map(depth);
      case '[':
        return list(depth);
      case '"':
        return string();
      case 't':
        return word("true", JsonValue::Kind::kBoolean);
      case 'f':
        return word("false", JsonValue::Kind::kBoolean);
      case 'n':
        return word("null", JsonValue::Kind::kNull);
      default:
        return number();
    }
  }

 private:
  Error unexpected() const {
    if (at_ >= in_.size()) return invalid("Unexpected end-of-input");
    return invalid(std::string("Unexpected character ('") + in_[at_] + "' (code " +
                   std::to_string(static_cast<unsigned char>(in_[at_])) + "))");
  }
  void skip_space() {
    while (at_ < in_.size() && (in_[at_] == ' ' || in_[at_] == '\t' || in_[at_] == '\n' || in_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ == in_.size() || in_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<JsonValue> word(std::string_view word, JsonValue::Kind kind) {
    if (in_.substr(at_, word.size()) != word) return unexpected();
    at_ += word.size();
    JsonValue value;
    value.kind = kind;
    value.text = word;
    return value;
  }

  size_t digits() {
    size_t begin = at_;
    while (at_ < in_.size() && std::isdigit(static_cast<unsigned char>(in_[at_]))) ++at_;
    return at_ - begin;
  }

  Result<JsonValue> number() {
    JsonValue value;
    value.kind = JsonValue::Kind::kInteger;
    size_t begin = at_;
    if (in_[at_] == '-') ++at_;
    size_t first = at_, whole = digits();
    if (whole == 0) return unexpected();
    if (whole > 1 && in_[first] == '0') return invalid("Invalid numeric value: Leading zeroes not allowed");
    if (at_ < in_.size() && in_[at_] == '.') {
      ++at_;
      value.kind = JsonValue::Kind::kFloat;
      if (digits() == 0) return unexpected();
    }
    if (at_ < in_.size() && (in_[at_] == 'e' || in_[at_] == 'E')) {
      ++at_;
      value.kind = JsonValue::Kind::kFloat;
      if (at_ < in_.size() && (in_[at_] == '+' || in_[at_] == '-')) ++at_;
      if (digits() == 0) return unexpected();
    }
    bool ends = at_ == in_.size() || std::string_view(" \t\r\n,]}").find(in_[at_]) != std::string_view::npos;
    if (!ends) return unexpected();
    value.text = in_.substr(begin, at_ - begin);
    return value;
  }

  Result<uint32_t> code_unit() {
    uint32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == in_.size()) return unexpected();
      char c = in_[at_];
      bool hex = std::isxdigit(static_cast<unsigned char>(c));
      if (!hex) return unexpected();
      unit = unit * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return unit;
  }

  static void append_utf8(std::string& out, uint32_t c) {
    auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
      put(0xC0 | c >> 6);
    } else {
      if (c < 0x10000) {
        put(0xE0 | c >> 12);
      } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3F));
      }
      put(0x80 | (c >> 6 & 0x3F));
    }
    put(0x80 | (c & 0x3F));
  }

  Status escape(std::string& out) {
    if (at_ == in_.size()) return unexpected();
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    char c = in_[at_];
    if (size_t i = kLetters.find(c); i != std::string_view::npos) {
      out.push_back(kMeanings[i]);
      ++at_;
      return {};
    }
    if (c != 'u') return unexpected();
    ++at_;
    ASSIGN_OR_RETURN(uint32_t unit, code_unit());
    if (unit >= 0xD800 && unit < 0xDC00 && in_.substr(at_, 2) == "\\u") {
      const size_t second = at_;
      at_ += 2;
      ASSIGN_OR_RETURN(uint32_t low, code_unit());
      if (low >= 0xDC00 && low < 0xE000) {
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = second;
      }
    }
    // Half of a pair is nothing in UTF-8. Java makes it a question mark.
    append_utf8(out, unit >= 0xD800 && unit < 0xE000 ? '?' : unit);
    return {};
  }

  Result<JsonValue> string() {
    JsonValue value;
    value.kind = JsonValue::Kind::kString;
    for (++at_; at_ < in_.size() && in_[at_] != '"';) {
      char c = in_[at_];
      if (static_cast<unsigned char>(c) < 0x20) {
        return invalid("Illegal unquoted character ((CTRL-CHAR, code " + std::to_string(c) +
                       ")): has to be escaped using backslash to be included in string value");
      }
      ++at_;
      if (c != '\\') {
        value.text.push_back(c);
      } else {
        TRY(escape(value.text));
      }
    }
    if (at_ == in_.size()) return invalid("Unexpected end-of-input: was expecting closing quote for a string value");
    ++at_;
    return value;
  }

  Result<JsonValue> list(int depth) {
    JsonValue result;
    result.kind = JsonValue::Kind::kList;
    ++at_;
    if (take(']')) return result;
    do {
      ASSIGN_OR_RETURN(JsonValue element, value(depth + 1));
      result.list.push_back(std::move(element));
    } while (take(','));
    if (!take(']')) return unexpected();
    return result;
  }

  Result<JsonValue> map(int depth) {
    JsonValue result;
    result.kind = JsonValue::Kind::kMap;
    ++at_;
    if (take('}')) return result;
    do {
      skip_space();
      if (at_ == in_.size() || in_[at_] != '"') return unexpected();
      ASSIGN_OR_RETURN(JsonValue key, string());
      if (!take(':')) return unexpected();
      ASSIGN_OR_RETURN(JsonValue element, value(depth + 1));
      result.entries.push_back({std::move(key.text), std::move(element)});
    } while (take(','));
    if (!take('}')) return unexpected();
    join_equal_keys(result.entries);
    return result;
  }

  // The first of equal keys has the place, the last has the value. A client chooses the keys: no step is quadratic.
  static void join_equal_keys(std::vector<JsonValue::Entry>& entries) {
    std::vector<size_t> order(entries.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return entries[a].key < entries[b].key; });
    std::vector<bool> gone(entries.size());
    size_t first = 0;
    for (size_t i = 1; i < order.size(); ++i) {
      if (entries[order[i]].key != entries[order[first]].key) {
        first = i;
        continue;
      }
      entries[order[first]].value = std::move(entries[order[i]].value);
      gone[order[i]] = true;
    }
    erase_marked(entries, gone);
  }

  std::string_view in_;
  size_t at_ = 0;
  const uint64_t max_values_;
  uint64_t values_ = 0;
};

}  // namespace

Result<JsonValue> parse_json(std::string_view text, uint64_t max_values) {
  return JsonParser(text, max_values).value(0);
}

std::string java_text(const JsonValue& value) {
  std::string text;
  switch (value.kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kFloat: {
      auto number = types::double_()->from_text(value.text);
      return number.ok() ? types::double_()->to_text(*number) : value.text;
    }
    case JsonValue::Kind::kList:
      for (const JsonValue& element : value.list) text += (text.empty() ? "" : ", ") + java_text(element);
      return "[" + text + "]";
    case JsonValue::Kind::kMap:
      for (const auto& [key, element] : value.entries) {
        text += (text.empty() ? "" : ", ") + key + "=" + java_text(element);
      }
      return "{" + text + "}";
    default:
      return value.text;
  }
}

void fold_keys(JsonValue& map) {
  auto& entries = map.entries;
  auto is_folded = [](const JsonValue::Entry& entry) { return entry.key == folded(entry.key); };
  if (std::all_of(entries.begin(), entries.end(), is_folded)) return;
  // Cassandra removes a renamed key and puts it again: it goes to the end and replaces an equal key there.
  absl::flat_hash_map<std::string, size_t> places;
  const size_t count = entries.size();
  for (size_t i = 0; i < count; ++i) places.emplace(entries[i].key, i);
  std::vector<bool> gone(count);
  for (size_t i = 0; i < count; ++i) {
    std::string name = folded(entries[i].key);
    if (name == entries[i].key) continue;
    places.erase(entries[i].key);
    gone[i] = true;
    JsonValue moved = std::move(entries[i].value);
    const auto [place, is_new] = places.try_emplace(name, entries.size());
    if (is_new) {
      entries.push_back({std::move(name), std::move(moved)});
      gone.push_back(false);
    } else {
      entries[place->second].value = std::move(moved);
    }
  }
  erase_marked(entries, gone);
}

}  // namespace cassandra_like
