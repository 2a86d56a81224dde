// Shared by the classes behind types.h: the table of kinds, the pieces of the byte-comparable encoding, and the base
// of all types that need no parameters. Private to types_*.cc.
#pragma once

#include "model/types.h"

namespace cassandra_like::types_internal {

// For the parsers: each level of a type may have a FrozenType of its own, and the outermost a ReversedType.
inline constexpr int kMaxParseDepth = 2 * types::kMaxTypeDepth;
inline constexpr std::string_view kClassPrefix = "org.apache.cassandra.db.marshal.";

struct KindInfo {
  std::string_view class_name;  // without kClassPrefix
  std::string_view cql_name;    // empty for the types that CQL writes as a quoted class name
  int fixed_length;
  bool empty_meaningless;
  bool allows_empty;
  bool quoted;  // as a CQL literal
};
const KindInfo& kind_info(TypeKind kind);

// utils.bytecomparable.ByteSource: what stands before each component of a sequence, and after the last.
inline constexpr char kNextComponent = 0x40;
inline constexpr char kNextComponentNull = 0x3E;
inline constexpr char kTerminator = 0x38;
inline bool is_separator_of_nothing(uint8_t separator) {
  return separator == 0x3E || separator == 0x3F || separator == 0x41;
}

// A byte string so that no encoding is a prefix of another: a run of zeros becomes 00 FE… and ends in FF when other
// bytes follow it; a last 00 closes the string (as FE after a run of zeros).
void append_escaped(Bytes& out, BytesView value);
void read_escaped(Reader& in, Bytes& out);
// A separator and, when there is one, the encoding of value.
void append_component(Bytes& out, const Type& type, BytesView value);
// The variable-length integers of bigint and varint: sign and length in unary in the first byte's high bits.
void append_variable_integer(Bytes& out, int64_t v);
inline constexpr size_t kMaxVariableInteger = 9;
// The same at p, which has room for kMaxVariableInteger bytes, each complemented by `flip` (0 or ~0); returns its length.
inline size_t write_variable_integer(char* p, int64_t v, uint64_t flip) {
  const uint64_t sign = static_cast<uint64_t>(v >> 63);
  const uint64_t magnitude = static_cast<uint64_t>(v) ^ sign;
  const int bytes = std::bit_width(magnitude | 1) / 7 + 1;
  if (bytes >= 9) {
    *p = static_cast<char>(~sign ^ flip);
    store_be(p + 1, (magnitude | 0x8000000000000000ULL) ^ sign ^ flip);
    return kMaxVariableInteger;
  }
  const uint64_t length_mask = (~uint64_t{0xFF} >> bytes) & 0xFF;
  store_be(p, (magnitude << (64 - 8 * bytes) | length_mask << 56) ^ sign ^ flip);
  return static_cast<size_t>(bytes);
}
int64_t read_variable_integer(Reader& in);

inline int sign_of(int c) { return (c > 0) - (c < 0); }
inline int compare_bytes(BytesView a, BytesView b) { return sign_of(a.compare(b)); }
// The order of values of which at least one has no regular length: empty first.
inline int compare_irregular(BytesView a, BytesView b) {
  if (a.empty() || b.empty()) return int{b.empty()} - int{a.empty()};
  return compare_bytes(a, b);
}
// Values of the wrong size, which only a corrupt file holds, must at least be harmless.
inline void append_irregular(Bytes& out, BytesView value) { out.append(value); }

// "Expected 4 or 0 byte int" and the size in parentheses.
Error wrong_size(std::string_view expectation, size_t size);
Result<Bytes> parse_hex(std::string_view text);
std::string replace_all(std::string_view in, std::string_view from, std::string_view to);
// At colons that no backslash precedes; nothing for an empty string.
std::vector<std::string_view> split_at_colons(std::string_view text);
std::string blob_literal(BytesView value);
// The name of a parametrized class; parameters are comma-separated.
std::string class_name_of(TypeKind kind, std::string_view parameters);
std::string class_names(const std::vector<TypePtr>& types, bool ignore_freezing);
std::string frozen_class_name(std::string_view class_name);
std::string frozen_cql_name(std::string_view cql_name);
// The simple name of a type's Java class: ListType, also for a frozen list; ReversedType for a reversed one.
std::string_view simple_class_name(const Type& type);

// A type without parameters.
class SimpleType : public Type {
 public:
  bool is_empty_meaningless() const final { return info_.empty_meaningless; }
  bool allows_empty() const final { return info_.allows_empty; }
  std::string cql_name(bool with_frozen) const final;
  std::string class_name(bool ignore_freezing) const final;
  std::string to_cql_literal(BytesView value) const override;
  std::string to_json(BytesView value) const override { return '"' + to_text(value) + '"'; }

 protected:
  explicit SimpleType(TypeKind kind) : Type(kind, kind_info(kind).fixed_length), info_(kind_info(kind)) {}

 private:
  const KindInfo& info_;
};

// Each makes the instance of one of its file's kinds.
TypePtr make_number(TypeKind kind);
TypePtr make_big_number(TypeKind kind);
TypePtr make_text(TypeKind kind);
TypePtr make_time(TypeKind kind);
TypePtr make_uuid(TypeKind kind);
TypePtr make_empty();
// Alias characters and their types, in the order in which the class name gives them.
TypePtr make_dynamic_composite(std::vector<std::pair<char, TypePtr>> aliases);
TypePtr make_partitioner_order(TypePtr partition_key);  // Murmur3Partitioner's; partition_key may be null

}  // namespace cassandra_like::types_internal
