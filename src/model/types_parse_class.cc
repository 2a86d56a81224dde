// Java class names of types, as TypeParser reads them: in Statistics.db, system tables, and custom types of CQL.
#include <algorithm>
#include <charconv>

#include "model/types_internal.h"

namespace cassandra_like {

namespace {

using namespace types_internal;

// Nobody nests types deeper than this; without a bound, a hostile name could exhaust the stack.

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_identifier(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-+._&").find(c) != std::string_view::npos;
}

class ClassParser {
 public:
  explicit ClassParser(std::string_view text) : text_(text) {}

  // Like Cassandra: nothing is a blob, and what follows the type is not looked at.
  Result<TypePtr> parse_all() {
    skip_blank();
    return is_identifier(peek()) ? parse() : Result<TypePtr>(types::blob());
  }

 private:
  using Types = std::vector<TypePtr>;

  Result<TypePtr> parse() {
    if (++depth_ > kMaxParseDepth) return fail("types nested too deeply");
    skip_blank();
    std::string_view name = identifier();
    skip_blank();
    std::string_view simple = name;
    if (simple.starts_with(kClassPrefix)) simple.remove_prefix(kClassPrefix.size());
    Result<TypePtr> type = parse_parameters(name, simple);
    --depth_;
    return type;
  }

  Result<TypePtr> parse_parameters(std::string_view name, std::string_view simple) {
    if (simple == "UserType") return user_type();
    if (simple == "VectorType") return vector();
    if (simple == "DynamicCompositeType") return dynamic_composite();
    if (simple == "PartitionerDefinedOrder") return partitioner_order();
    if (TypePtr type = simple_type(simple)) return with_options(std::move(type));
    static constexpr std::string_view kOthers[] = {"ListType",   "SetType",      "MapType",      "TupleType",
                                                   "FrozenType", "ReversedType", "CompositeType"};
    if (std::find(std::begin(kOthers), std::end(kOthers), simple) != std::end(kOthers)) return compound(simple);
    std::string full = name.find('.') == name.npos ? std::string(kClassPrefix) + std::string(name) : std::string(name);
    return Error(ErrorCode::kConfigError, "Unable to find abstract-type class '" + full + "'");
  }

  static TypePtr simple_type(std::string_view simple) {
    for (int k = 0; k < static_cast<int>(TypeKind::kCustom); ++k) {
      auto kind = static_cast<TypeKind>(k);
      if (kind_info(kind).class_name == simple) return types::simple(kind);
    }
    return nullptr;
  }

  Result<TypePtr> compound(std::string_view name) {
    Types t;
    TRY(parameters(&t));
    const bool any = name == "TupleType" || (name == "CompositeType" && !t.empty());
    const size_t wanted = name == "MapType" ? 2 : 1;
    if (!any && t.size() != wanted) {
      return Error(ErrorCode::kConfigError, std::string(name) + " takes exactly " + std::to_string(wanted) +
                                                (wanted == 1 ? " type parameter" : " type parameters"));
    }
    if (name == "TupleType") return types::tuple(std::move(t));
    if (name == "CompositeType") return types::composite(std::move(t));
    if (name == "ReversedType") return types::reversed(t[0]);
    if (name == "FrozenType") return types::freeze(t[0]);
    if (name == "ListType") return types::list(types::freeze(t[0]), true);
    if (name == "SetType") return types::set(types::freeze(t[0]), true);
    return types::map(types::freeze(t[0]), types::freeze(t[1]), true);
  }

  // (type,type,…), or nothing.
  Status parameters(Types* out) {
    if (!take('(')) return {};
    while (skip_blank_and_comma()) {
      if (take(')')) return {};
      ASSIGN_OR_RETURN(TypePtr type, parse());
      out->push_back(std::move(type));
    }
    return fail("unexpected end of string");
  }

  // (reversed) or (reversed=true): how Thrift wrote ReversedType.
  Result<TypePtr> with_options(TypePtr type) {
    if (!take('(')) return type;
    bool reversed = false;
    while (skip_blank_and_comma()) {
      if (take(')')) return reversed ? types::reversed(std::move(type)) : type;
      std::string_view key = identifier();
      skip_blank();
      std::string_view value;
      if (take('=')) {
        skip_blank();
        value = identifier();
      } else if (key.empty() || (peek() != ',' && peek() != ')')) {
        return unexpected();
      }
      if (key == "reversed") reversed = value.empty() || value == "true";
    }
    return fail("unexpected end of string");
  }

  // (keyspace,hex of the name,hex of a field:type,…)
  Result<TypePtr> user_type() {
    if (!take('(')) return fail("UserType takes parameters");
    skip_blank_and_comma();
    std::string keyspace(identifier());
    skip_blank_and_comma();
    ASSIGN_OR_RETURN(std::string name, hex_identifier());
    std::vector<std::string> names;
    Types fields;
    while (skip_blank_and_comma()) {
      if (take(')')) {
        return TypePtr(types::udt(std::move(keyspace), std::move(name), std::move(names), std::move(fields), true));
      }
      ASSIGN_OR_RETURN(std::string field, hex_identifier());
      skip_blank();
      if (!take(':')) return fail("expecting ':' token");
      ASSIGN_OR_RETURN(TypePtr type, parse());
      names.push_back(std::move(field));
      fields.push_back(std::move(type));
    }
    return fail("unexpected end of string");
  }

  // (type , dimension)
  Result<TypePtr> vector() {
    if (!take('(')) return fail("VectorType takes a type and a dimension");
    ASSIGN_OR_RETURN(TypePtr element, parse());
    skip_blank_and_comma();
    std::string_view digits = identifier();
    int32_t dimension = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), dimension);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
      return fail("expecting a dimension");
    if (!take(')')) return unexpected();
    if (dimension <= 0) {
      return invalid("vectors may only have positive dimensions; given " + std::to_string(dimension));
    }
    return types::vector(types::freeze(element), static_cast<size_t>(dimension));
  }

  // (a=>type,…)
  Result<TypePtr> dynamic_composite() {
    std::vector<std::pair<char, TypePtr>> aliases;
    if (!take('(')) return make_dynamic_composite({});
    while (skip_blank_and_comma()) {
      if (take(')')) return make_dynamic_composite(in_hash_order(aliases));
      std::string alias(identifier());
      if (alias.size() != 1) return fail("An alias should be a single character: '" + alias + "'");
      skip_blank();
      if (!take('=') || !take('>')) return fail("expecting '=>' token");
      ASSIGN_OR_RETURN(TypePtr type, parse());
      auto known = std::find_if(aliases.begin(), aliases.end(), [&](const auto& a) { return a.first == alias[0]; });
      if (known == aliases.end()) known = aliases.insert(known, {alias[0], nullptr});
      known->second = std::move(type);
    }
    return fail("unexpected end of string");
  }

  // Cassandra prints them in the order of a java.util.HashMap of bytes: by the low bits, as many as its table has.
  static std::vector<std::pair<char, TypePtr>> in_hash_order(const std::vector<std::pair<char, TypePtr>>& aliases) {
    size_t buckets = 16;
    while (aliases.size() * 4 > buckets * 3) buckets *= 2;
    std::vector<std::pair<char, TypePtr>> sorted;
    for (size_t bucket = 0; bucket < buckets; ++bucket) {
      for (const auto& alias : aliases) {
        if ((static_cast<unsigned char>(alias.first) & (buckets - 1)) == bucket) sorted.push_back(alias);
      }
    }
    return sorted;
  }

  // (partitioner) or (partitioner:type of the key)
  Result<TypePtr> partitioner_order() {
    if (!take('(')) return make_partitioner_order(nullptr);
    skip_blank();
    std::string partitioner(identifier());
    if (partitioner != "Murmur3Partitioner" && partitioner != "org.apache.cassandra.dht.Murmur3Partitioner") {
      return Error(ErrorCode::kConfigError, "PartitionerDefinedOrder of " + partitioner + " is not supported yet");
    }
    skip_blank();
    TypePtr key;
    if (take(':')) {
      ASSIGN_OR_RETURN(key, parse());
      skip_blank();
    }
    if (!take(')')) return unexpected();
    return make_partitioner_order(std::move(key));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_blank() {
    while (is_blank(peek())) ++at_;
  }
  // False at the end. A second comma is not skipped.
  bool skip_blank_and_comma() {
    skip_blank();
    if (take(',')) skip_blank();
    return at_ < text_.size();
  }
  std::string_view identifier() {
    size_t start = at_;
    while (is_identifier(peek())) ++at_;
    return text_.substr(start, at_ - start);
  }
  Result<std::string> hex_identifier() {
    Bytes bytes;
    std::string_view hex = identifier();
    if (!from_hex(hex, &bytes)) return fail("Non-hex characters in " + std::string(hex));
    return bytes;
  }

  Error unexpected() const { return fail("unexpected character '" + std::string(1, peek()) + "'"); }
  Error fail(std::string_view what) const {
    return Error(ErrorCode::kSyntaxError, "Syntax error parsing '" + std::string(text_) + "' at char " +
                                              std::to_string(at_) + ": " + std::string(what));
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<TypePtr> types::parse_class(std::string_view text) { return ClassParser(text).parse_all(); }

}  // namespace cassandra_like
