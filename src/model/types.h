// CQL's types: comparison, validation, text forms and Cassandra's byte-comparable encoding of their values.
//
// A Type is immutable and shared. Values are in Cassandra's serialized form (db.marshal.*): what travels in the
// native protocol and what is stored. Null (is_null) is never passed to compare() or validate(); empty may be.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cassandra_like {

enum class TypeKind : uint8_t {
  kAscii,
  kBigint,
  kBlob,
  kBoolean,
  kCounter,
  kDate,
  kDecimal,
  kDouble,
  kDuration,
  kFloat,
  kInet,
  kInt,
  kSmallint,
  kText,
  kTime,
  kTimestamp,
  kTimeuuid,
  kTinyint,
  kUuid,
  kVarint,
  kList,
  kSet,
  kMap,
  kTuple,
  kUdt,
  kVector,
  // Types with no CQL name, written as quoted class names.
  kEmpty,
  kComposite,
  kDynamicComposite,
  kLexicalUuid,
  kPartitionerDefinedOrder,
  kLegacyTimeUuid,
  kLegacyTimestamp,  // DateType: a timestamp in the order of its unsigned bytes
  kCustom,           // a class of the user's own: parse_class refuses it, no instance exists
};

class Type;
using TypePtr = std::shared_ptr<const Type>;

class Type {
 public:
  virtual ~Type() = default;

  TypeKind kind() const { return kind_; }
  // A multi-cell (unfrozen) collection or UDT stores each element as a cell of its own.
  bool is_multi_cell() const { return multi_cell_; }
  // Clustering columns with DESC order wrap their type; kind() and all else but order is that of the base.
  bool is_reversed() const { return reversed_; }
  bool is_counter() const { return kind_ == TypeKind::kCounter; }
  bool is_collection() const { return kind_ == TypeKind::kList || kind_ == TypeKind::kSet || kind_ == TypeKind::kMap; }
  bool is_udt() const { return kind_ == TypeKind::kUdt; }
  bool is_tuple() const { return kind_ == TypeKind::kTuple || kind_ == TypeKind::kUdt; }
  // AbstractType.valueLengthIfFixed(); -1 when variable. Decides how cells and clusterings are laid out on disk.
  int fixed_length() const { return fixed_length_; }
  // False for text and blobs, for which empty is an ordinary value (AbstractType.isEmptyValueMeaningless).
  virtual bool is_empty_meaningless() const { return false; }
  virtual bool allows_empty() const { return true; }

  // The type in CQL, UDTs without keyspace: `frozen<map<text, list<int>>>`. with_frozen=false drops the outermost frozen<>.
  virtual std::string cql_name(bool with_frozen = true) const = 0;
  // org.apache.cassandra.db.marshal.…, as in Statistics.db, system tables, and the protocol's custom type. With
  // ignore_freezing, as Cassandra writes a type inside one that is already frozen: without FrozenType(…).
  virtual std::string class_name(bool ignore_freezing = false) const = 0;

  virtual Status validate(BytesView value) const = 0;
  virtual int compare(BytesView a, BytesView b) const = 0;

  // ByteComparable (Version OSS50): memcmp order of the encodings is compare()'s order, none is a prefix of another
  // followed by a byte in 0x00..0x0F or 0xFF. See utils.bytecomparable.ByteComparable.md. value is not empty for types
  // whose empty value is encoded by the clustering separator instead.
  virtual void append_comparable(Bytes& out, BytesView value) const = 0;
  // False when the empty value has no encoding: sequences then write the separator of an empty (clusterings) or null
  // (collections, tuples) component in its place, and append_comparable must not be called with it.
  virtual bool encodes_empty() const { return false; }
  // Reads one encoding back from the front of `in`, appends the value to out.
  virtual void read_comparable(Reader& in, Bytes& out) const = 0;

  // A CQL literal: 'it''s', 0xcafe, {1: 'a'}; `null` for an is_null() value.
  virtual std::string to_cql_literal(BytesView value) const = 0;
  // AbstractType.getString: what cqlsh-less tools and error messages print, without quotes.
  virtual std::string to_text(BytesView value) const = 0;
  // AbstractType.fromString: the inverse of to_text; for literals and map keys in JSON.
  virtual Result<Bytes> from_text(std::string_view text) const = 0;
  // AbstractType.toJSONString, for SELECT JSON and toJson.
  virtual std::string to_json(BytesView value) const = 0;

  // Elements: list, set, vector: {element}; map: {key, value}; tuple and UDT: the fields; composites: the components'
  // types; else none.
  const std::vector<TypePtr>& elements() const { return elements_; }
  // Levels of types in types, with the fields of user types; 1 without elements.
  uint32_t depth() const { return depth_; }
  // How many types its class name writes; UINT32_MAX stands for all that is more.
  uint32_t parts() const { return parts_; }
  // The type itself when it is not reversed. Cast this, not a reversed type, to UserType or VectorType.
  virtual const Type& base() const { return *this; }

  bool equals(const Type& other) const { return this == &other || class_name() == other.class_name(); }
  // Whether values of `previous` can be read as this type (AbstractType.isValueCompatibleWith / isCompatibleWith).
  virtual bool is_value_compatible_with(const Type& previous) const;
  // The same, and cells of both are laid out alike (AbstractType.isSerializationCompatibleWith).
  bool is_serialization_compatible_with(const Type& previous) const;
  bool references_udt(std::string_view keyspace, std::string_view name) const;

 protected:
  Type(TypeKind kind, int fixed_length, std::vector<TypePtr> elements = {}, bool multi_cell = false);

  TypeKind kind_;
  bool multi_cell_;
  bool reversed_ = false;
  int fixed_length_;
  uint32_t depth_ = 1;
  uint32_t parts_ = 1;
  std::vector<TypePtr> elements_;
};

// A user-defined type; elements() are its fields' types.
class UserType : public Type {
 public:
  virtual const std::string& keyspace() const = 0;
  virtual const std::string& name() const = 0;
  virtual const std::vector<std::string>& field_names() const = 0;
  std::optional<size_t> field_index(std::string_view field) const;

 protected:
  using Type::Type;
};
using UserTypePtr = std::shared_ptr<const UserType>;

class VectorType : public Type {
 public:
  virtual size_t dimension() const = 0;

 protected:
  using Type::Type;
};

namespace types {
// One shared instance of each simple kind.
TypePtr simple(TypeKind kind);
TypePtr ascii();
TypePtr bigint();
TypePtr blob();
TypePtr boolean();
TypePtr counter();
TypePtr date();
TypePtr decimal();
TypePtr double_();
TypePtr duration();
TypePtr float_();
TypePtr inet();
TypePtr int_();
TypePtr smallint();
TypePtr text();
TypePtr time();
TypePtr timestamp();
TypePtr timeuuid();
TypePtr tinyint();
TypePtr uuid();
TypePtr varint();
TypePtr list(TypePtr element, bool multi_cell);
TypePtr set(TypePtr element, bool multi_cell);
TypePtr map(TypePtr key, TypePtr value, bool multi_cell);
TypePtr tuple(std::vector<TypePtr> fields);
UserTypePtr udt(std::string keyspace, std::string name, std::vector<std::string> field_names,
                std::vector<TypePtr> fields, bool multi_cell);
TypePtr vector(TypePtr element, size_t dimension);
TypePtr composite(std::vector<TypePtr> components);
TypePtr reversed(TypePtr base);
// The same type with multi_cell off, recursively as CQL's frozen<> does; itself when it is already so.
TypePtr freeze(const TypePtr& type);

// The bounds of the types that statements make. The parsers below read all within kMaxTypeDepth. A user type with two
// fields of one type, which has two fields of another, and so on, writes a class name that doubles with each: hence
// kMaxTypeParts.
inline constexpr uint32_t kMaxTypeDepth = 128;
inline constexpr uint32_t kMaxTypeParts = 1 << 14;
Status check_extent(const Type& type);  // kInvalid

// "bigint" and the like, case-insensitive; nullptr when it is not a simple CQL type.
TypePtr by_cql_name(std::string_view name);
// Names for types that CQL may have one day (reservedTypeNames of Cassandra's Parser.g); a user type can have one of them in quotes alone.
bool is_reserved_name(std::string_view name);

using UdtLookup = std::function<UserTypePtr(std::string_view keyspace, std::string_view name)>;
// CQL text as in system_schema.columns.type: `frozen<map<text, my_type>>`, `vector<float, 3>`, `'…CompositeType(…)'`.
// Errors say which part is unknown.
Result<TypePtr> parse_cql(std::string_view text, const std::string& keyspace, const UdtLookup& udts);
// A class name with or without the org.apache.cassandra.db.marshal. prefix: `ReversedType(Int32Type)`.
Result<TypePtr> parse_class(std::string_view text);
}  // namespace types

// Whether the type is or contains a duration. Like Cassandra's referencesDuration, it does not look into vectors.
bool contains_duration(const Type& type);

// The serialized form of collections, tuples and UDTs (protocol v3 and later): collections are an int count, then
// each element as an int length and bytes; tuples have no count. A null element has length -1.
class ElementReader {
 public:
  // For a collection: consumes the count.
  static ElementReader collection(BytesView value);
  static ElementReader tuple(BytesView value);
  bool next(BytesView* element);            // false at the end or on malformed input; is_null() elements are possible
  int32_t count() const { return count_; }  // of a collection; of a map: its entries, each two elements
  bool failed() const { return in_.failed(); }
  bool at_end() const { return in_.at_end(); }

 private:
  explicit ElementReader(BytesView value) : in_(value) {}
  Reader in_;
  int32_t count_ = -1;
};
void append_element(Bytes& out, BytesView element);  // int length and bytes; -1 for null

}  // namespace cassandra_like
