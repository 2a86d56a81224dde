// The table of kinds, what all types do alike, reversed types, and the factories of types.h.
#include "model/types.h"

#include <algorithm>
#include <array>

#include "model/types_internal.h"
#include "model/values.h"

namespace cassandra_like {

namespace types_internal {

namespace {

constexpr size_t kKinds = static_cast<size_t>(TypeKind::kCustom) + 1;

// In the order of TypeKind. Columns: fixed length, empty is meaningless, allows empty, quoted as a CQL literal.
constexpr KindInfo kKindInfo[kKinds] = {
    {"AsciiType", "ascii", -1, false, true, true},
    {"LongType", "bigint", 8, true, true, false},
    {"BytesType", "blob", -1, false, true, false},
    {"BooleanType", "boolean", 1, true, true, false},
    {"CounterColumnType", "counter", -1, true, true, false},
    {"SimpleDateType", "date", -1, false, false, true},
    {"DecimalType", "decimal", -1, true, true, false},
    {"DoubleType", "double", 8, true, true, false},
    {"DurationType", "duration", -1, false, false, false},
    {"FloatType", "float", 4, true, true, false},
    {"InetAddressType", "inet", -1, true, true, true},
    {"Int32Type", "int", 4, true, true, false},
    {"ShortType", "smallint", -1, false, false, false},
    {"UTF8Type", "text", -1, false, true, true},
    {"TimeType", "time", -1, false, false, true},
    {"TimestampType", "timestamp", 8, true, true, true},
    {"TimeUUIDType", "timeuuid", 16, true, true, false},
    {"ByteType", "tinyint", -1, false, false, false},
    {"UUIDType", "uuid", 16, true, true, false},
    {"IntegerType", "varint", -1, true, true, false},
    {"ListType", "list", -1, false, false, false},
    {"SetType", "set", -1, false, false, false},
    {"MapType", "map", -1, false, false, false},
    {"TupleType", "tuple", -1, false, true, false},
    {"UserType", "", -1, false, true, false},
    {"VectorType", "vector", -1, false, false, false},
    {"EmptyType", "empty", 0, false, false, false},
    {"CompositeType", "", -1, false, true, false},
    {"DynamicCompositeType", "", -1, false, true, false},
    {"LexicalUUIDType", "", 16, true, true, false},
    {"PartitionerDefinedOrder", "", -1, false, false, false},
    {"LegacyTimeUUIDType", "timeuuid", 16, true, true, false},
    {"DateType", "timestamp", 8, true, false, true},
    {"", "", -1, false, false, false},
};

TypePtr make_simple(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyint:
    case TypeKind::kSmallint:
    case TypeKind::kInt:
    case TypeKind::kBigint:
    case TypeKind::kCounter:
    case TypeKind::kFloat:
    case TypeKind::kDouble:
    case TypeKind::kBoolean:
      return make_number(kind);
    case TypeKind::kVarint:
    case TypeKind::kDecimal:
      return make_big_number(kind);
    case TypeKind::kAscii:
    case TypeKind::kText:
    case TypeKind::kBlob:
    case TypeKind::kInet:
      return make_text(kind);
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kLegacyTimestamp:
    case TypeKind::kDuration:
      return make_time(kind);
    case TypeKind::kUuid:
    case TypeKind::kTimeuuid:
    case TypeKind::kLegacyTimeUuid:
    case TypeKind::kLexicalUuid:
      return make_uuid(kind);
    case TypeKind::kEmpty:
      return make_empty();
    default:
      return nullptr;
  }
}

// Compares the other way round, and writes the complement of each byte of the encoding.
class ReversedType final : public Type {
 public:
  explicit ReversedType(TypePtr base)
      : Type(base->kind(), base->fixed_length(), base->elements()), base_(std::move(base)) {
    reversed_ = true;
  }

  bool is_empty_meaningless() const override { return base_->is_empty_meaningless(); }
  bool allows_empty() const override { return base_->allows_empty(); }
  std::string cql_name(bool with_frozen) const override { return base_->cql_name(with_frozen); }
  std::string class_name(bool) const override {
    return std::string(kClassPrefix) + "ReversedType(" + base_->class_name() + ")";
  }
  Status validate(BytesView value) const override { return base_->validate(value); }
  int compare(BytesView a, BytesView b) const override { return base_->compare(b, a); }
  void append_comparable(Bytes& out, BytesView value) const override {
    size_t start = out.size();
    base_->append_comparable(out, value);
    for (size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
  }
  bool encodes_empty() const override { return base_->encodes_empty(); }
  void read_comparable(Reader& in, Bytes& out) const override {
    Bytes complement(in.rest());
    for (char& c : complement) c = static_cast<char>(~c);
    Reader from(complement);
    base_->read_comparable(from, out);
    if (from.failed()) return in.fail();
    in.skip(complement.size() - from.remaining());
  }
  std::string to_cql_literal(BytesView value) const override { return base_->to_cql_literal(value); }
  std::string to_text(BytesView value) const override { return base_->to_text(value); }
  Result<Bytes> from_text(std::string_view text) const override { return base_->from_text(text); }
  std::string to_json(BytesView value) const override { return base_->to_json(value); }
  const Type& base() const override { return base_->base(); }
  bool is_value_compatible_with(const Type& previous) const override {
    return base_->is_value_compatible_with(previous);
  }

 private:
  TypePtr base_;
};

}  // namespace

const KindInfo& kind_info(TypeKind kind) { return kKindInfo[static_cast<size_t>(kind)]; }

Error wrong_size(std::string_view expectation, size_t size) {
  return invalid(std::string(expectation) + " (" + std::to_string(size) + ")");
}

Result<Bytes> parse_hex(std::string_view text) {
  Bytes out;
  if (!from_hex(text, &out)) return invalid("cannot parse '" + std::string(text) + "' as hex bytes");
  return out;
}

std::string replace_all(std::string_view in, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at; (at = in.find(from)) != in.npos; in.remove_prefix(at + from.size())) {
    out += in.substr(0, at);
    out += to;
  }
  return out += in;
}

std::vector<std::string_view> split_at_colons(std::string_view text) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ':' || (i > 0 && text[i - 1] == '\\')) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::string blob_literal(BytesView value) { return is_null(value) ? "null" : "0x" + to_hex(value); }

std::string class_name_of(TypeKind kind, std::string_view parameters) {
  std::string name(kClassPrefix);
  name += kind_info(kind).class_name;
  name += '(';
  name += parameters;
  return name += ')';
}

std::string class_names(const std::vector<TypePtr>& types, bool ignore_freezing) {
  std::string names;
  for (const TypePtr& type : types) {
    if (!names.empty()) names += ',';
    names += type->class_name(ignore_freezing);
  }
  return names;
}

std::string frozen_class_name(std::string_view class_name) {
  return std::string(kClassPrefix) + "FrozenType(" + std::string(class_name) + ")";
}

std::string frozen_cql_name(std::string_view cql_name) { return "frozen<" + std::string(cql_name) + ">"; }

std::string_view simple_class_name(const Type& type) {
  return type.is_reversed() ? "ReversedType" : kind_info(type.kind()).class_name;
}

std::string SimpleType::cql_name(bool) const {
  return info_.cql_name.empty() ? "'" + class_name(false) + "'" : std::string(info_.cql_name);
}

std::string SimpleType::class_name(bool) const { return std::string(kClassPrefix) + std::string(info_.class_name); }

std::string SimpleType::to_cql_literal(BytesView value) const {
  if (value.empty()) return "null";
  return info_.quoted ? "'" + to_text(value) + "'" : to_text(value);
}

}  // namespace types_internal

using namespace types_internal;

Type::Type(TypeKind kind, int fixed_length, std::vector<TypePtr> elements, bool multi_cell)
    : kind_(kind), multi_cell_(multi_cell), fixed_length_(fixed_length), elements_(std::move(elements)) {
  uint64_t parts = 1;
  for (const TypePtr& element : elements_) {
    depth_ = std::max(depth_, element->depth_ + 1);
    parts += element->parts_;
  }
  parts_ = static_cast<uint32_t>(std::min<uint64_t>(parts, UINT32_MAX));
}

bool Type::references_udt(std::string_view keyspace, std::string_view name) const {
  if (is_udt()) {
    auto& udt = static_cast<const UserType&>(base());
    if (udt.keyspace() == keyspace && udt.name() == name) return true;
  }
  return std::any_of(elements_.begin(), elements_.end(),
                     [&](const TypePtr& e) { return e->references_udt(keyspace, name); });
}

std::optional<size_t> UserType::field_index(std::string_view field) const {
  const auto& names = field_names();
  auto it = std::find(names.begin(), names.end(), field);
  if (it == names.end()) return std::nullopt;
  return static_cast<size_t>(it - names.begin());
}

ElementReader ElementReader::collection(BytesView value) {
  ElementReader r(value);
  r.count_ = r.in_.i32();
  return r;
}

ElementReader ElementReader::tuple(BytesView value) { return ElementReader(value); }

bool ElementReader::next(BytesView* element) {
  if (in_.at_end()) return false;
  int32_t size = in_.i32();
  *element = size < 0 ? kNull : in_.take(static_cast<size_t>(size));
  return !in_.failed();
}

void append_element(Bytes& out, BytesView element) {
  append_be(out, is_null(element) ? -1 : static_cast<int32_t>(element.size()));
  out.append(element);
}

namespace types {

Status check_extent(const Type& type) {
  if (type.depth() > kMaxTypeDepth) {
    return invalid("Types nested " + std::to_string(type.depth()) + " levels deep; " + std::to_string(kMaxTypeDepth) +
                   " levels are supported");
  }
  if (type.parts() > kMaxTypeParts) {
    return invalid("A type made of " + std::to_string(type.parts()) + " types, with those of its user types; " +
                   std::to_string(kMaxTypeParts) + " are supported");
  }
  return {};
}

TypePtr simple(TypeKind kind) {
  static const auto kInstances = [] {
    std::array<TypePtr, kKinds> all;
    for (size_t i = 0; i < all.size(); ++i) all[i] = make_simple(static_cast<TypeKind>(i));
    return all;
  }();
  return kInstances[static_cast<size_t>(kind)];
}

TypePtr ascii() { return simple(TypeKind::kAscii); }
TypePtr bigint() { return simple(TypeKind::kBigint); }
TypePtr blob() { return simple(TypeKind::kBlob); }
TypePtr boolean() { return simple(TypeKind::kBoolean); }
TypePtr counter() { return simple(TypeKind::kCounter); }
TypePtr date() { return simple(TypeKind::kDate); }
TypePtr decimal() { return simple(TypeKind::kDecimal); }
TypePtr double_() { return simple(TypeKind::kDouble); }
TypePtr duration() { return simple(TypeKind::kDuration); }
TypePtr float_() { return simple(TypeKind::kFloat); }
TypePtr inet() { return simple(TypeKind::kInet); }
TypePtr int_() { return simple(TypeKind::kInt); }
TypePtr smallint() { return simple(TypeKind::kSmallint); }
TypePtr text() { return simple(TypeKind::kText); }
TypePtr time() { return simple(TypeKind::kTime); }
TypePtr timestamp() { return simple(TypeKind::kTimestamp); }
TypePtr timeuuid() { return simple(TypeKind::kTimeuuid); }
TypePtr tinyint() { return simple(TypeKind::kTinyint); }
TypePtr uuid() { return simple(TypeKind::kUuid); }
TypePtr varint() { return simple(TypeKind::kVarint); }

TypePtr reversed(TypePtr base) { return std::make_shared<ReversedType>(std::move(base)); }

TypePtr freeze(const TypePtr& type) {
  if (!type->is_multi_cell()) return type;
  const auto& e = type->elements();
  switch (type->kind()) {
    case TypeKind::kList:
      return list(freeze(e[0]), false);
    case TypeKind::kSet:
      return set(freeze(e[0]), false);
    case TypeKind::kMap:
      return map(freeze(e[0]), freeze(e[1]), false);
    default: {
      // Like Cassandra, not the fields: inside a frozen value nothing is multi-cell anyway.
      auto& udt = static_cast<const UserType&>(*type);
      return types::udt(udt.keyspace(), udt.name(), udt.field_names(), e, false);
    }
  }
}

bool is_reserved_name(std::string_view name) {
  static constexpr std::string_view kNames[] = {"byte", "complex", "enum", "date", "interval", "macaddr", "bitstring"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

TypePtr by_cql_name(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (lower == "varchar") return text();
  if (lower == "empty") return simple(TypeKind::kEmpty);
  for (size_t i = 0; i <= static_cast<size_t>(TypeKind::kVarint); ++i) {
    if (kKindInfo[i].cql_name == lower) return simple(static_cast<TypeKind>(i));
  }
  return nullptr;
}

}  // namespace types

}  // namespace cassandra_like
