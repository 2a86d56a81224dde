// CQL's notation of types: parsed into a tree first, since frozen<> reaches into what it encloses and Cassandra's
// errors quote the type as it was written.
#include <algorithm>
#include <charconv>

#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

// CQL3Type.Raw.
struct Raw {
  enum class Kind { kType, kList, kSet, kMap, kTuple, kVector, kUdt };
  Kind kind = Kind::kType;
  bool frozen = false;
  TypePtr type;          // of a simple or custom type
  std::string text;      // as CQL writes it; the name of a UDT
  std::string keyspace;  // of a UDT, when given
  int32_t dimension = 0;
  std::vector<Raw> elements;

  bool is_collection() const { return kind == Kind::kList || kind == Kind::kSet || kind == Kind::kMap; }
  bool supports_freezing() const { return kind != Kind::kType; }
  bool is_counter() const { return type && type->is_counter(); }
  bool is_duration() const { return type && type->kind() == TypeKind::kDuration; }

  std::string to_string() const {
    std::string out = text;
    if (kind == Kind::kUdt && !keyspace.empty()) out = keyspace + "." + out;
    if (!elements.empty()) {
      out += '<';
      for (size_t i = 0; i < elements.size(); ++i) out += (i > 0 ? ", " : "") + elements[i].to_string();
      if (kind == Kind::kVector) out += ", " + std::to_string(dimension);
      out += '>';
    }
    return frozen && (is_collection() || kind == Kind::kUdt) ? "frozen<" + out + ">" : out;
  }

  void freeze() {
    frozen = true;
    if (!is_collection()) return;
    for (Raw& e : elements) e.freeze();
  }
};

class CqlParser {
 public:
  CqlParser(std::string_view text, const std::string& keyspace, const types::UdtLookup& udts)
      : text_(text), keyspace_(keyspace), udts_(udts) {}

  Result<TypePtr> parse_all() {
    ASSIGN_OR_RETURN(Raw raw, parse());
    skip_blank();
    if (at_ < text_.size()) return unexpected();
    return prepare(raw);
  }

 private:
  Result<Raw> parse() {
    if (++depth_ > types_internal::kMaxParseDepth) return syntax_error("types nested too deeply");
    skip_blank();
    Result<Raw> raw = peek() == '\'' ? parse_custom() : parse_named();
    --depth_;
    return raw;
  }

  Result<Raw> parse_named() {
    bool quoted = false;
    ASSIGN_OR_RETURN(std::string name, identifier(&quoted));
    skip_blank();
    if (!quoted && peek() == '<') return parse_parametrized(name);
    Raw raw;
    if (TypePtr type = quoted || peek() == '.' ? nullptr : types::by_cql_name(name)) {
      raw.type = std::move(type);
      raw.text = raw.type->cql_name();
      return raw;
    }
    raw.kind = Raw::Kind::kUdt;
    raw.text = std::move(name);
    if (take('.')) {
      raw.keyspace = std::move(raw.text);
      ASSIGN_OR_RETURN(raw.text, identifier(&quoted));
    }
    if (!quoted && types::is_reserved_name(raw.text)) {
      return syntax_error("Invalid (reserved) user type name " + raw.text);
    }
    return raw;
  }

  Result<Raw> parse_parametrized(const std::string& name) {
    take('<');
    Raw raw;
    raw.text = name;
    size_t wanted = 1;
    if (name == "list")
      raw.kind = Raw::Kind::kList;
    else if (name == "set")
      raw.kind = Raw::Kind::kSet;
    else if (name == "map")
      raw.kind = Raw::Kind::kMap, wanted = 2;
    else if (name == "tuple")
      raw.kind = Raw::Kind::kTuple, wanted = 0;
    else if (name == "vector")
      raw.kind = Raw::Kind::kVector;
    else if (name != "frozen")
      return syntax_error("unknown type " + name + "<…>");
    do {
      ASSIGN_OR_RETURN(Raw element, parse());
      raw.elements.push_back(std::move(element));
      skip_blank();
    } while (raw.elements.size() != wanted && take(','));
    if (raw.kind == Raw::Kind::kVector) TRY(parse_dimension(&raw.dimension));
    if ((wanted != 0 && raw.elements.size() != wanted) || !take('>')) return unexpected();
    if (name == "frozen") {
      Raw inner = std::move(raw.elements[0]);
      if (!inner.supports_freezing()) {
        return syntax_error("frozen<> is only allowed on collections, tuples, and user-defined types (got " +
                            inner.to_string() + ")");
      }
      inner.freeze();
      return inner;
    }
    if (raw.kind == Raw::Kind::kTuple) {
      for (Raw& e : raw.elements) e.freeze();
    }
    return raw;
  }

  Status parse_dimension(int32_t* out) {
    skip_blank();
    if (!take(',')) return unexpected();
    skip_blank();
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *out);
    if (error != std::errc()) return syntax_error("expecting a dimension");
    at_ = static_cast<size_t>(end - text_.data());
    skip_blank();
    return {};
  }

  // 'org.apache.cassandra.db.marshal.…'
  Result<Raw> parse_custom() {
    take('\'');
    size_t end = text_.find('\'', at_);
    if (end == text_.npos) return syntax_error("unexpected end of string");
    std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    auto type = types::parse_class(name);
    if (!type.ok()) {
      bool syntax = type.error().code() == ErrorCode::kSyntaxError;
      return syntax_error((syntax ? "Cannot parse type " : "Error setting type ") + name + ": " +
                          type.error().message());
    }
    Raw raw;
    raw.type = std::move(type).value();
    raw.text = "'" + raw.type->class_name() + "'";
    return raw;
  }

  Result<TypePtr> prepare(const Raw& raw) {
    switch (raw.kind) {
      case Raw::Kind::kType:
        return raw.type;
      case Raw::Kind::kUdt:
        return prepare_udt(raw);
      case Raw::Kind::kVector: {
        if (raw.dimension <= 0) {
          return invalid("vectors may only have positive dimensions; given " + std::to_string(raw.dimension));
        }
        ASSIGN_OR_RETURN(TypePtr element, prepare(raw.elements[0]));
        return types::vector(std::move(element), static_cast<size_t>(raw.dimension));
      }
      case Raw::Kind::kTuple: {
        std::vector<TypePtr> fields;
        for (const Raw& e : raw.elements) {
          if (e.is_counter()) return invalid("Counters are not allowed inside tuples");
          ASSIGN_OR_RETURN(TypePtr field, prepare(e));
          fields.push_back(std::move(field));
        }
        return types::tuple(std::move(fields));
      }
      default:
        return prepare_collection(raw);
    }
  }

  Result<TypePtr> prepare_collection(const Raw& raw) {
    for (size_t i = raw.elements.size(); i-- > 0;) TRY(check_element(raw, raw.elements[i]));
    ASSIGN_OR_RETURN(TypePtr first, prepare(raw.elements[0]));
    if (raw.kind == Raw::Kind::kList) return types::list(std::move(first), !raw.frozen);
    if (raw.kind == Raw::Kind::kSet) return types::set(std::move(first), !raw.frozen);
    ASSIGN_OR_RETURN(TypePtr second, prepare(raw.elements[1]));
    return types::map(std::move(first), std::move(second), !raw.frozen);
  }

  static Status check_element(const Raw& raw, const Raw& element) {
    const bool is_key = raw.kind == Raw::Kind::kMap && &element == &raw.elements[0];
    if (!raw.frozen && !element.frozen && element.is_collection()) {
      return invalid("Non-frozen collections are not allowed inside collections: " + raw.to_string());
    }
    if (!raw.frozen && !element.frozen && element.kind == Raw::Kind::kUdt) {
      return invalid("Non-frozen UDTs are not allowed inside collections: " + raw.to_string());
    }
    if (element.is_counter()) return invalid("Counters are not allowed inside collections: " + raw.to_string());
    if (element.is_duration() && raw.kind == Raw::Kind::kSet) {
      return invalid("Durations are not allowed inside sets: " + raw.to_string());
    }
    if (element.is_duration() && is_key) return invalid("Durations are not allowed as map keys: " + raw.to_string());
    return {};
  }

  Result<TypePtr> prepare_udt(const Raw& raw) {
    if (!raw.keyspace.empty() && raw.keyspace != keyspace_) {
      return invalid("Statement on keyspace " + keyspace_ + " cannot refer to a user type in keyspace " + raw.keyspace +
                     "; user types can only be used in the keyspace they are defined in");
    }
    UserTypePtr udt = udts_ ? udts_(keyspace_, raw.text) : nullptr;
    if (!udt) return invalid("Unknown type " + keyspace_ + "." + raw.text);
    return raw.frozen ? types::freeze(udt) : TypePtr(udt);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_blank() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  // In lower case unless it is quoted.
  Result<std::string> identifier(bool* quoted) {
    std::string name;
    *quoted = take('"');
    if (*quoted) {
      while (at_ < text_.size()) {
        // Two quotes stand for one.
        if (take('"') && peek() != '"') return name;
        name.push_back(text_[at_++]);
      }
      return syntax_error("unexpected end of string");
    }
    auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    if (!is_letter(peek())) return unexpected();
    for (; is_letter(peek()) || (peek() >= '0' && peek() <= '9') || peek() == '_'; ++at_) {
      name.push_back(is_letter(peek()) ? static_cast<char>(peek() | 0x20) : peek());
    }
    return name;
  }

  Error unexpected() const {
    return syntax_error(at_ < text_.size() ? "unexpected '" + std::string(1, peek()) + "'"
                                           : "unexpected end of string");
  }
  Error syntax_error(std::string_view what) const {
    return Error(ErrorCode::kSyntaxError, "Error parsing type '" + std::string(text_) + "' at char " +
                                              std::to_string(at_) + ": " + std::string(what));
  }

  std::string_view text_;
  const std::string& keyspace_;
  const types::UdtLookup& udts_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<TypePtr> types::parse_cql(std::string_view text, const std::string& keyspace, const UdtLookup& udts) {
  return CqlParser(text, keyspace, udts).parse_all();
}

}  // namespace cassandra_like
