// list, set, map: an int count, then each element (of a map: key, value, key, value…) as an int length and bytes.
//
// Compared element by element, then by count. Comparable: each element after a separator, then a terminator.
#include <algorithm>

#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

using namespace types_internal;

class CollectionType final : public Type {
 public:
  CollectionType(TypeKind kind, std::vector<TypePtr> elements, bool multi_cell)
      : Type(kind, -1, std::move(elements), multi_cell) {}

  bool allows_empty() const override { return false; }

  std::string cql_name(bool with_frozen) const override {
    std::string name = short_name() + '<' + elements_[0]->cql_name();
    if (is_map()) name += ", " + elements_[1]->cql_name();
    name += '>';
    return with_frozen && !multi_cell_ ? frozen_cql_name(name) : name;
  }
  std::string class_name(bool ignore_freezing) const override {
    std::string name = class_name_of(kind_, class_names(elements_, ignore_freezing || !multi_cell_));
    return ignore_freezing || multi_cell_ ? name : frozen_class_name(name);
  }

  Status validate(BytesView value) const override {
    ElementReader in = ElementReader::collection(value);
    const int64_t count = int64_t{in.count()} * static_cast<int64_t>(elements_.size());
    for (int64_t i = 0; i < count; ++i) {
      BytesView element;
      if (!in.next(&element)) return invalid("Not enough bytes to read a " + short_name());
      if (is_null(element)) return invalid("Null value read when not allowed");
      TRY(type_of(i).validate(element));
    }
    if (in.failed()) return invalid("Not enough bytes to read a " + short_name());
    if (!in.at_end()) return invalid("Unexpected extraneous bytes after " + short_name() + " value");
    return {};
  }

  int compare(BytesView a, BytesView b) const override {
    if (a.empty() || b.empty()) return compare_irregular(a, b);
    ElementReader x = ElementReader::collection(a), y = ElementReader::collection(b);
    const int64_t count = int64_t{std::min(x.count(), y.count())} * static_cast<int64_t>(elements_.size());
    BytesView left, right;
    for (int64_t i = 0; i < count && x.next(&left) && y.next(&right); ++i) {
      if (int c = type_of(i).compare(left, right); c != 0) return c;
    }
    // A count below zero is valid, as in Cassandra: there are no elements, so the comparable form is that of none.
    const int32_t more = std::max(x.count(), 0), less = std::max(y.count(), 0);
    return (more > less) - (more < less);
  }

  void append_comparable(Bytes& out, BytesView value) const override {
    ElementReader in = ElementReader::collection(value);
    BytesView element;
    for (int64_t i = 0; in.next(&element); ++i) append_component(out, type_of(i), element);
    out.push_back(kTerminator);
  }

  void read_comparable(Reader& in, Bytes& out) const override {
    const size_t start = out.size();
    append_be(out, int32_t{0});
    size_t n = 0;
    for (char separator; (separator = static_cast<char>(in.u8())) != kTerminator && !in.failed(); ++n) {
      // Like Cassandra: the empty value of a type that has no encoding of it comes back as null.
      const size_t length_at = out.size();
      append_be(out, int32_t{-1});
      if (is_separator_of_nothing(static_cast<uint8_t>(separator))) continue;
      type_of(static_cast<int64_t>(n)).read_comparable(in, out);
      store_be(out.data() + length_at, static_cast<int32_t>(out.size() - length_at - sizeof(int32_t)));
    }
    store_be(out.data() + start, static_cast<int32_t>(n / elements_.size()));
  }

  std::string to_cql_literal(BytesView value) const override {
    if (is_null(value)) return "null";
    const bool list = kind_ == TypeKind::kList;
    return print(value, list ? '[' : '{', list ? ']' : '}',
                 [](const Type& type, BytesView element, bool) { return type.to_cql_literal(element); });
  }
  std::string to_text(BytesView value) const override { return to_hex(value); }
  Result<Bytes> from_text(std::string_view text) const override { return parse_hex(text); }
  std::string to_json(BytesView value) const override {
    return print(value, is_map() ? '{' : '[', is_map() ? '}' : ']',
                 [](const Type& type, BytesView element, bool is_key) {
                   std::string json = is_null(element) ? "null" : type.to_json(element);  // as in ttl(v)
                   // Keys of a JSON object are strings.
                   return is_key && !json.starts_with('"') ? json_quote(json) : json;
                 });
  }

 private:
  bool is_map() const { return kind_ == TypeKind::kMap; }
  std::string short_name() const { return std::string(kind_info(kind_).cql_name); }
  const Type& type_of(int64_t i) const { return *elements_[static_cast<size_t>(i) % elements_.size()]; }

  template <class PrintElement>
  std::string print(BytesView value, char open, char close, PrintElement print_element) const {
    std::string out(1, open);
    ElementReader in = ElementReader::collection(value);
    BytesView element;
    for (int64_t i = 0; in.next(&element); ++i) {
      const bool is_value = is_map() && i % 2 == 1;
      if (i > 0) out += is_value ? ": " : ", ";
      out += print_element(type_of(i), element, is_map() && !is_value);
    }
    out.push_back(close);
    return out;
  }
};

TypePtr make(TypeKind kind, std::vector<TypePtr> elements, bool multi_cell) {
  return std::make_shared<CollectionType>(kind, std::move(elements), multi_cell);
}

}  // namespace

namespace types {

TypePtr list(TypePtr element, bool multi_cell) { return make(TypeKind::kList, {std::move(element)}, multi_cell); }
TypePtr set(TypePtr element, bool multi_cell) { return make(TypeKind::kSet, {std::move(element)}, multi_cell); }
TypePtr map(TypePtr key, TypePtr value, bool multi_cell) {
  return make(TypeKind::kMap, {std::move(key), std::move(value)}, multi_cell);
}

}  // namespace types

}  // namespace cassandra_like
