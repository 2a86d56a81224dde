#include "hints/hints_parameters.h"

namespace cassandra_like {

namespace {

constexpr int kDeepestParameter = 16;

// Reads JSON and tells the members that parse_hints_parameters() wants, by their path.
class ParametersParser {
 public:
  ParametersParser(BytesView json, HintsParameters* out) : rest_(json), out_(*out) {}

  bool parse() {
    skip_space();
    if (rest_.empty() || rest_[0] != '{' || !value("", 0)) return false;
    skip_space();
    return rest_.empty();
  }

 private:
  bool value(const std::string& path, int depth) {
    if (depth > kDeepestParameter) return false;
    skip_space();
    if (rest_.empty()) return false;
    if (rest_[0] == '{' || rest_[0] == '[') return members(path, depth);
    std::string text;
    if (rest_[0] == '"') {
      if (!string(&text)) return false;
    } else {
      const size_t size = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
      if (size == 0) return false;
      text = rest_.substr(0, size);
      rest_.remove_prefix(size);
      if (text == "null") return true;
    }
    tell(path, std::move(text));
    return true;
  }

  bool members(const std::string& path, int depth) {
    const bool is_object = rest_[0] == '{';
    const char end = is_object ? '}' : ']';
    rest_.remove_prefix(1);
    if (path == "/encryption") out_.is_encrypted = true;
    if (take(end)) return true;
    do {
      std::string name;
      skip_space();
      if (is_object && (!string(&name) || !take(':'))) return false;
      if (!value(path + "/" + name, depth + 1)) return false;
    } while (take(','));
    return take(end);
  }

  void tell(const std::string& path, std::string text) {
    constexpr std::string_view kOption = "/compression/parameters/";
    if (path == "/compression/class_name") {
      out_.compressor = std::move(text);
    } else if (path.starts_with(kOption)) {
      out_.compressor_options[path.substr(kOption.size())] = std::move(text);
    }
  }

  // Escapes other than of one character do not occur in the names that Cassandra writes; they are kept as they are.
  bool string(std::string* out) {
    if (rest_.empty() || rest_[0] != '"') return false;
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) return false;
      out->push_back(rest_[0]);
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  BytesView rest_;
  HintsParameters& out_;
};

}  // namespace

std::optional<HintsParameters> parse_hints_parameters(BytesView json) {
  HintsParameters out;
  if (!ParametersParser(json, &out).parse()) return std::nullopt;
  return out;
}

}  // namespace cassandra_like
