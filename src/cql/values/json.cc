#include "cql/values/json.h"

#include <algorithm>
#include <cctype>

#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr int kMaxDepth = 1000;

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : in_(text) {}

  Result<JsonValue> value(int depth) {
    if (depth > kMaxDepth) return invalid("Document nesting depth exceeds the maximum allowed");
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
      set_entry(result, std::move(key.text), std::move(element));
    } while (take(','));
    if (!take('}')) return unexpected();
    return result;
  }

 public:
  static void set_entry(JsonValue& map, std::string key, JsonValue value) {
    for (auto& [name, old] : map.entries) {
      if (name != key) continue;
      old = std::move(value);
      return;
    }
    map.entries.push_back({std::move(key), std::move(value)});
  }

 private:
  std::string_view in_;
  size_t at_ = 0;
};

}  // namespace

Result<JsonValue> parse_json(std::string_view text) { return JsonParser(text).value(0); }

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
  // Cassandra removes a renamed key and puts it again: it goes to the end and replaces an equal key there.
  auto before = map.entries;
  for (const auto& [key, value] : before) {
    std::string folded = key;
    if (key.size() > 1 && key.front() == '"' && key.back() == '"') {
      folded = key.substr(1, key.size() - 2);
    } else {
      for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (folded == key) continue;
    const std::string& name = key;  // clang 14 captures no structured binding
    auto at =
        std::find_if(map.entries.begin(), map.entries.end(), [&](const auto& entry) { return entry.key == name; });
    JsonValue moved = std::move(at->value);
    map.entries.erase(at);
    JsonParser::set_entry(map, std::move(folded), std::move(moved));
  }
}

}  // namespace cassandra_like
