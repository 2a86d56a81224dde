// The types of Thrift's time: CompositeType (several columns in one value), DynamicCompositeType (each component
// brings its type), PartitionerDefinedOrder (keys in the order of their tokens) and EmptyType.
//
// A composite is, for each component, a short length, the bytes, and an end-of-component byte: 0, or in the last
// component -1 or 1 for "before" or "after all that begin so". A static cell's name has FFFF in front. In a dynamic
// composite a header comes before each component: 0x8000 | alias, or the length of a class name and the name.
#include <limits>

#include "base/checksum.h"
#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like {

namespace types_internal {

namespace {

class CompositeBase : public Type {
 public:
  Status validate(BytesView value) const final {
    Reader in(value);
    take_static_marker(in);
    for (size_t i = 0; !in.at_end(); ++i) {
      ASSIGN_OR_RETURN(TypePtr type, check_component_type(i, in));
      const std::string number = std::to_string(i);
      if (in.remaining() < 2) return invalid("Not enough bytes to read value size of component " + number);
      uint16_t size = in.u16();
      if (in.remaining() < size) return invalid("Not enough bytes to read value of component " + number);
      TRY(type->validate(in.take(size)));
      if (in.at_end()) return invalid("Not enough bytes to read the end-of-component byte of component" + number);
      if (in.u8() != 0 && !in.at_end()) {
        return invalid("Invalid bytes remaining after an end-of-component at component" + number);
      }
    }
    return {};
  }

  int compare(BytesView a, BytesView b) const final {
    if (a.empty() || b.empty()) return compare_irregular(a, b);
    Reader x(a), y(b);
    bool x_is_static = take_static_marker(x);
    if (x_is_static != take_static_marker(y)) return x_is_static ? -1 : 1;
    for (size_t i = 0; !x.at_end() && !y.at_end(); ++i) {
      TypePtr left_type = component_type(i, x, nullptr), right_type = component_type(i, y, nullptr);
      BytesView left = x.take(x.u16()), right = y.take(y.u16());
      if (!left_type || !right_type) return compare_bytes(a, b);
      int c = compare_types(*left_type, *right_type);
      if (c == 0) c = left_type->compare(left, right);
      if (c == 0) c = static_cast<int8_t>(x.u8()) - static_cast<int8_t>(y.u8());
      if (c != 0) return sign_of(c);
    }
    return int{y.at_end()} - int{x.at_end()};
  }

  void append_comparable(Bytes& out, BytesView value) const final {
    Reader in(value);
    out.push_back(take_static_marker(in) ? kNextComponentNull : kNextComponent);
    for (size_t i = 0; !in.at_end(); ++i) {
      TypePtr type = component_type(i, in, nullptr);
      BytesView component = in.take(in.u16());
      if (!type || in.failed()) break;
      append_type(out, *type);
      append_component(out, *type, component);
      // It takes part in the order as a signed byte.
      out.push_back(kNextComponent);
      out.push_back(static_cast<char>(in.u8() ^ 0x80));
    }
    out.push_back(kTerminator);
  }

  void read_comparable(Reader& in, Bytes& out) const final {
    if (is_separator_of_nothing(in.u8())) out += "\xFF\xFF";
    for (size_t i = 0; !in.failed(); ++i) {
      auto separator = in.u8();
      if (static_cast<char>(separator) == kTerminator) return;
      TypePtr type = read_type(i, in, &separator, out);
      if (!type) return in.fail();
      const size_t length_at = out.size();
      append_be(out, uint16_t{0});
      if (!is_separator_of_nothing(separator)) type->read_comparable(in, out);
      store_be(out.data() + length_at, static_cast<uint16_t>(out.size() - length_at - sizeof(uint16_t)));
      in.skip(1);
      out.push_back(static_cast<char>(in.u8() ^ 0x80));
    }
  }

  std::string to_cql_literal(BytesView value) const final { return blob_literal(value); }
  std::string to_json(BytesView value) const final { return "\"0x" + to_hex(value) + '"'; }

  std::string to_text(BytesView value) const final {
    std::string out;
    Reader in(value);
    take_static_marker(in);
    for (size_t i = 0; !in.at_end(); ++i) {
      if (i > 0) out += ':';
      TypePtr type = component_type(i, in, &out);
      BytesView component = in.take(in.u16());
      if (!type || in.failed()) break;
      out += escape(type->to_text(component));
      if (auto end = static_cast<int8_t>(in.u8()); end != 0) return out += end < 0 ? ":_" : ":!";
    }
    return out;
  }

  Result<Bytes> from_text(std::string_view text) const final {
    Bytes out;
    char last = 0;
    size_t i = 0;
    for (std::string_view part : split_at_colons(text)) {
      if (part == "!" || part == "_") {
        last = part == "!" ? 1 : -1;
        break;
      }
      ASSIGN_OR_RETURN(TypePtr type, parse_component_type(i++, part, out));
      ASSIGN_OR_RETURN(Bytes component, type->from_text(unescape(part)));
      TRY(type->validate(component));
      append_be(out, static_cast<uint16_t>(component.size()));
      out += component;
      out.push_back('\0');
    }
    if (!out.empty()) out.back() = last;
    return out;
  }

 protected:
  using Type::Type;

  virtual bool take_static_marker(Reader& in) const = 0;
  // The type of the i-th component, whose header is consumed; null when there is none. Appends what to_text puts
  // before the component.
  virtual TypePtr component_type(size_t i, Reader& in, std::string* label) const = 0;
  virtual Result<TypePtr> check_component_type(size_t i, Reader& in) const = 0;
  virtual int compare_types(const Type& left, const Type& right) const = 0;
  // The comparable form of a component's type, and back: `separator` is the next one, in and out; appends the header.
  virtual void append_type(Bytes& out, const Type& type) const = 0;
  virtual TypePtr read_type(size_t i, Reader& in, uint8_t* separator, Bytes& out) const = 0;
  // Takes the type off the front of the text of a component; appends the header.
  virtual Result<TypePtr> parse_component_type(size_t i, std::string_view& part, Bytes& out) const = 0;

 private:
  static std::string escape(std::string_view text) {
    std::string out = replace_all(text, ":", "\\:");
    if (!out.empty() && (out.back() == '\\' || out.back() == '!')) out += '!';
    return out;
  }
  static std::string unescape(std::string_view text) {
    std::string out = replace_all(text, "\\:", ":");
    if (!out.empty() && out.back() == '!') out.pop_back();
    return out;
  }
};

class CompositeType final : public CompositeBase {
 public:
  explicit CompositeType(std::vector<TypePtr> components)
      : CompositeBase(TypeKind::kComposite, -1, std::move(components)) {}

  std::string cql_name(bool) const override { return "'" + class_name(false) + "'"; }
  std::string class_name(bool) const override { return class_name_of(kind_, class_names(elements_, false)); }

 private:
  bool take_static_marker(Reader& in) const override {
    bool is_static = in.rest().starts_with("\xFF\xFF");
    if (is_static) in.skip(2);
    return is_static;
  }
  TypePtr component_type(size_t i, Reader&, std::string*) const override {
    return i < elements_.size() ? elements_[i] : nullptr;
  }
  Result<TypePtr> check_component_type(size_t i, Reader&) const override {
    if (i < elements_.size()) return elements_[i];
    return invalid("Too many bytes for comparator");
  }
  int compare_types(const Type&, const Type&) const override { return 0; }
  void append_type(Bytes&, const Type&) const override {}
  TypePtr read_type(size_t i, Reader& in, uint8_t*, Bytes&) const override { return component_type(i, in, nullptr); }
  Result<TypePtr> parse_component_type(size_t i, std::string_view&, Bytes&) const override {
    if (i < elements_.size()) return elements_[i];
    return invalid("Too many components for " + class_name(false));
  }
};

class DynamicCompositeType final : public CompositeBase {
 public:
  explicit DynamicCompositeType(std::vector<std::pair<char, TypePtr>> aliases)
      : CompositeBase(TypeKind::kDynamicComposite, -1, types_of(aliases)), aliases_(std::move(aliases)) {}

  std::string cql_name(bool) const override { return "'" + class_name(false) + "'"; }
  std::string class_name(bool) const override {
    std::string parameters;
    for (const auto& [alias, type] : aliases_) {
      if (!parameters.empty()) parameters += ',';
      parameters += std::string(1, alias) + "=>" + type->class_name();
    }
    return class_name_of(kind_, parameters);
  }
  bool encodes_empty() const override { return true; }

 private:
  static constexpr uint16_t kAliasFlag = 0x8000;

  static std::vector<TypePtr> types_of(const std::vector<std::pair<char, TypePtr>>& aliases) {
    std::vector<TypePtr> types;
    for (const auto& alias : aliases) types.push_back(alias.second);
    return types;
  }
  static TypePtr parse(std::string_view name) {
    auto type = types::parse_class(name);
    return type.ok() ? *type : nullptr;
  }
  TypePtr by_alias(char alias) const {
    for (const auto& [name, type] : aliases_) {
      if (name == alias) return type;
    }
    return nullptr;
  }

  bool take_static_marker(Reader&) const override { return false; }

  TypePtr component_type(size_t, Reader& in, std::string* label) const override {
    uint16_t header = in.u16();
    if ((header & kAliasFlag) != 0) {
      auto alias = static_cast<char>(header);
      if (label != nullptr) *label += std::string(1, alias) + '@';
      return by_alias(alias);
    }
    BytesView name = in.take(header);
    if (label != nullptr) *label += std::string(name) + '@';
    return parse(name);
  }

  Result<TypePtr> check_component_type(size_t i, Reader& in) const override {
    const std::string number = std::to_string(i);
    if (in.remaining() < 2) return invalid("Not enough bytes to header of the comparator part of component " + number);
    auto header = load_be<uint16_t>(in.position());
    if ((header & kAliasFlag) == 0 && in.remaining() - 2 < header) {
      return invalid("Not enough bytes to read comparator name of component " + number);
    }
    TypePtr type = component_type(i, in, nullptr);
    if (!type) return invalid("Cannot find comparator for component " + number);
    return type;
  }

  // By class name. Reversed types compare as their bases do with each other.
  int compare_types(const Type& left, const Type& right) const override {
    const Type& l = left.is_reversed() && right.is_reversed() ? left.base() : left;
    const Type& r = left.is_reversed() && right.is_reversed() ? right.base() : right;
    return compare_bytes(simple_class_name(l), simple_class_name(r));
  }

  void append_type(Bytes& out, const Type& type) const override {
    auto append_name = [&](std::string_view name) {
      out.push_back(kNextComponent);
      append_escaped(out, name);
    };
    if (type.is_reversed()) append_name(simple_class_name(type));
    std::string simple(simple_class_name(type.base()));
    append_name(simple);
    append_name(std::string(kClassPrefix) + simple);
  }

  TypePtr read_type(size_t, Reader& in, uint8_t* separator, Bytes& out) const override {
    std::string name;
    read_escaped(in, name);
    const bool reversed = name == "ReversedType";
    for (int names = reversed ? 2 : 1; names > 0; --names) {
      in.skip(1);
      name.clear();
      read_escaped(in, name);
    }
    *separator = in.u8();
    TypePtr type = parse(reversed ? "ReversedType(" + name + ")" : name);
    if (!type || in.failed()) return nullptr;
    for (const auto& [alias, alias_type] : aliases_) {
      if (!alias_type->equals(*type)) continue;
      append_be(out, static_cast<uint16_t>(kAliasFlag | static_cast<unsigned char>(alias)));
      return type;
    }
    std::string class_name = type->class_name();
    append_be(out, static_cast<uint16_t>(class_name.size()));
    out += class_name;
    return type;
  }

  Result<TypePtr> parse_component_type(size_t, std::string_view& part, Bytes& out) const override {
    size_t at = part.find('@');
    std::string_view name = part.substr(0, at);
    std::string_view rest = at == part.npos ? std::string_view() : part.substr(at + 1);
    if (rest.find('@') != rest.npos) return invalid("Invalid component representation: " + std::string(part));
    part = rest;
    TypePtr type = name.size() == 1 ? by_alias(name[0]) : nullptr;
    if (type) {
      append_be(out, static_cast<uint16_t>(kAliasFlag | static_cast<unsigned char>(name[0])));
      return type;
    }
    append_be(out, static_cast<uint16_t>(name.size()));
    out += name;
    return types::parse_class(name);
  }

  std::vector<std::pair<char, TypePtr>> aliases_;
};

class EmptyType final : public SimpleType {
 public:
  EmptyType() : SimpleType(TypeKind::kEmpty) {}

  Status validate(BytesView v) const override {
    if (v.empty()) return {};
    return invalid("EmptyType only accept empty values");
  }
  int compare(BytesView, BytesView) const override { return 0; }
  void append_comparable(Bytes&, BytesView) const override {}
  void read_comparable(Reader&, Bytes&) const override {}
  std::string to_text(BytesView) const override { return ""; }
  Result<Bytes> from_text(std::string_view text) const override {
    if (text.empty()) return Bytes();
    return invalid("'" + std::string(text) + "' is not empty");
  }
};

// Comparable: the token (sign bit flipped) and the key, as components.
class PartitionerOrderType final : public Type {
 public:
  explicit PartitionerOrderType(TypePtr partition_key)
      : Type(TypeKind::kPartitionerDefinedOrder, -1,
             partition_key ? std::vector<TypePtr>{std::move(partition_key)} : std::vector<TypePtr>{}) {}

  bool allows_empty() const override { return false; }
  std::string cql_name(bool) const override { return "'" + class_name(false) + "'"; }
  // Without the key's type, as Cassandra 5.0 writes it unless storage_compatibility_mode is NONE.
  std::string class_name(bool) const override {
    return class_name_of(kind_, "org.apache.cassandra.dht.Murmur3Partitioner");
  }
  Status validate(BytesView) const override { return {}; }
  int compare(BytesView a, BytesView b) const override {
    if (a.empty() || b.empty()) return compare_irregular(a, b);
    int64_t x = token(a), y = token(b);
    return x != y ? (x < y ? -1 : 1) : compare_bytes(a, b);
  }
  void append_comparable(Bytes& out, BytesView value) const override {
    out.push_back(kNextComponent);
    append_be(out, token(value) ^ std::numeric_limits<int64_t>::min());
    out.push_back(kNextComponent);
    append_escaped(out, value);
    out.push_back(kTerminator);
  }
  void read_comparable(Reader& in, Bytes& out) const override {
    in.skip(1 + sizeof(int64_t) + 1);
    read_escaped(in, out);
    in.skip(1);
  }
  std::string to_cql_literal(BytesView value) const override { return blob_literal(value); }
  std::string to_text(BytesView value) const override { return to_hex(value); }
  Result<Bytes> from_text(std::string_view) const override {
    return invalid("Values of PartitionerDefinedOrder have no text form");
  }
  std::string to_json(BytesView value) const override {
    return elements_.empty() ? "\"0x" + to_hex(value) + '"' : elements_[0]->to_json(value);
  }

 private:
  static int64_t token(BytesView key) {
    auto t = static_cast<int64_t>(murmur3_128(key)[0]);
    return t == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : t;
  }
};

}  // namespace

TypePtr make_empty() { return std::make_shared<EmptyType>(); }

TypePtr make_dynamic_composite(std::vector<std::pair<char, TypePtr>> aliases) {
  return std::make_shared<DynamicCompositeType>(std::move(aliases));
}

TypePtr make_partitioner_order(TypePtr partition_key) {
  return std::make_shared<PartitionerOrderType>(std::move(partition_key));
}

}  // namespace types_internal

TypePtr types::composite(std::vector<TypePtr> components) {
  return std::make_shared<types_internal::CompositeType>(std::move(components));
}

}  // namespace cassandra_like
