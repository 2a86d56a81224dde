// The syntax tree of a CQL text, without any knowledge of the schema: one plain struct per statement of CQL 3.4.7.
//
// Invariants:
// - Unquoted identifiers are folded to lower case, quoted ones are as written without their quotes; both are plain strings
//   from here on. Only column names may be empty (`""`); an empty keyspace means none was given.
// - Literals keep their kind and their source text (strings without quotes and escapes). They are given a value only when the
//   receiving type is known.
// - Bind markers are numbered from 0 in order of appearance; Statement::bind_variables has one name for each.
// - Lists keep the order of the text. The parser has checked what the fields say, and nothing else.
// - Trees are at most kMaxNesting + kMaxOperators deep (parser.h), so recursion over them is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cassandra_like::ast {

// A value on the heap that copies deeply, for structs that contain themselves. Never empty except when moved from.
template <class T>
class Box {
 public:
  Box(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: implicit on purpose
  Box(const Box& other) : value_(std::make_unique<T>(*other)) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    value_ = std::make_unique<T>(*other);
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

// The name of a table, view, index, user type, function or aggregate.
struct QualifiedName {
  std::string keyspace;  // empty: that of the session
  std::string name;
};

// A type as written. It may name a user type that does not exist.
struct TypeName {
  enum class Kind : uint8_t { kNative, kList, kSet, kMap, kTuple, kVector, kUdt, kCustom };
  Kind kind = Kind::kNative;
  // frozen<> around it, or around a collection it is nested in; tuples, vectors and the elements of tuples always are.
  // The parser refuses frozen<> around types that cannot be.
  bool frozen = false;
  std::string keyspace;              // kUdt, may be empty
  std::string name;                  // kNative: "int", "varchar"...; kUdt; kCustom: the quoted class name
  std::vector<TypeName> parameters;  // elements; key and value of a map
  int32_t dimension = 0;             // kVector
};

// --- Terms: what may stand for a value outside of a SELECT clause ---

struct Term;
struct MapEntry;
struct UdtField;

struct Literal {
  // kFloat includes NaN, Infinity and -Infinity (text in this spelling; -NaN is NaN, as in Cassandra).
  enum class Kind : uint8_t { kString, kInteger, kFloat, kBoolean, kUuid, kDuration, kHex };
  Kind kind = Kind::kString;
  std::string text;  // kHex keeps its 0x
};

struct NullLiteral {};

struct BindMarker {
  uint32_t index = 0;
};

// [a, b]: a list or a vector.
struct ArrayLiteral {
  std::vector<Term> elements;
};

// {a, b}; also {}, which is an empty set or an empty map.
struct SetLiteral {
  std::vector<Term> elements;
};

// {k: v}, when k is not a plain identifier.
struct MapLiteral {
  std::vector<MapEntry> entries;
};

// {field: v}. No field is there twice: the last counts.
struct UdtLiteral {
  std::vector<UdtField> fields;
};

// (a, b); also (a), a tuple of one.
struct TupleLiteral {
  std::vector<Term> elements;
};

// f(a, b), with token and count among the names.
struct FunctionCall {
  QualifiedName function;
  std::vector<Term> arguments;
};

// a + b. The operand of a negation is `left`.
enum class ArithmeticOperator : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kModulo, kNegate };

struct Arithmetic {
  ArithmeticOperator op = ArithmeticOperator::kAdd;
  Box<Term> left;
  std::optional<Box<Term>> right;
};

// (type) term
struct TypeHint {
  TypeName type;
  Box<Term> term;
};

// CAST(term AS native type)
struct Cast {
  Box<Term> term;
  TypeName type;
};

struct Term {
  using Value = std::variant<NullLiteral, Literal, BindMarker, ArrayLiteral, SetLiteral, MapLiteral, UdtLiteral,
                             TupleLiteral, FunctionCall, Arithmetic, TypeHint, Cast>;
  Value value;
  uint32_t offset = 0;  // of the term's first byte in the text
  uint32_t length = 0;  // so that text.substr(offset, length) is the term's source
};

struct MapEntry {
  Term key;
  Term value;
};

struct UdtField {
  std::string name;
  Term value;
};

// --- The SELECT clause ---

struct Selectable;
struct MapOrUdtEntry;

struct ColumnSelectable {
  std::string name;
};

// A literal, null or bind marker; never another kind of Term.
struct TermSelectable {
  Term term;
};

struct CountAllSelectable {};  // COUNT(*)

// WRITETIME(c), MAXWRITETIME(c), TTL(c), where c is a column, possibly with fields, elements or slices of it.
struct WritetimeOrTtlSelectable {
  enum class Kind : uint8_t { kWritetime, kMaxWritetime, kTtl };
  Kind kind = Kind::kWritetime;
  std::string column;
  Box<Selectable> selected;
};

struct FunctionSelectable {
  QualifiedName function;
  std::vector<Selectable> arguments;
};

struct CastSelectable {
  Box<Selectable> argument;
  TypeName type;
};

struct FieldSelectable {
  Box<Selectable> receiver;
  std::string field;
};

// receiver[element]
struct ElementSelectable {
  Box<Selectable> receiver;
  Term element;
};

// receiver[from..to]; at least one bound is given.
struct SliceSelectable {
  Box<Selectable> receiver;
  std::optional<Term> from;
  std::optional<Term> to;
};

struct TypeHintSelectable {
  TypeName type;
  Box<Selectable> selectable;
};

// (a, b): a tuple; with one element, only parentheses.
struct ParenthesesSelectable {
  std::vector<Selectable> elements;
};

struct ArraySelectable {
  std::vector<Selectable> elements;
};

struct SetSelectable {
  std::vector<Selectable> elements;
};

// {k: v}: a UDT when the keys are field names of the type it is read as, else a map.
struct MapOrUdtSelectable {
  std::vector<MapOrUdtEntry> entries;
};

struct ArithmeticSelectable {
  ArithmeticOperator op = ArithmeticOperator::kAdd;
  Box<Selectable> left;
  std::optional<Box<Selectable>> right;
};

struct Selectable {
  using Value =
      std::variant<ColumnSelectable, TermSelectable, CountAllSelectable, WritetimeOrTtlSelectable, FunctionSelectable,
                   CastSelectable, FieldSelectable, ElementSelectable, SliceSelectable, TypeHintSelectable,
                   ParenthesesSelectable, ArraySelectable, SetSelectable, MapOrUdtSelectable, ArithmeticSelectable>;
  Value value;
  uint32_t offset = 0;
  uint32_t length = 0;
};

struct MapOrUdtEntry {
  Selectable key;
  Selectable value;
};

struct Selector {
  Selectable selectable;
  std::optional<std::string> alias;
};

// --- WHERE and IF ---

enum class Operator : uint8_t { kEq, kNeq, kLt, kLte, kGt, kGte, kIn, kContains, kContainsKey, kLike, kIsNot };

// The right side of an IN: a list of terms, or one marker that stands for the whole list.
using InValues = std::variant<std::vector<Term>, BindMarker>;

// column op value, token(columns) op value, (columns) op value, column[key] op value.
struct Relation {
  enum class Target : uint8_t { kColumn, kElement, kToken, kTuple };
  Target target = Target::kColumn;
  std::vector<std::string> columns;  // exactly one for kColumn and kElement
  std::optional<Term> key;           // kElement
  Operator op = Operator::kEq;
  // For kTuple, every value is a TupleLiteral or a BindMarker. IS NOT NULL has a NullLiteral.
  Term value;          // all operators but kIn
  InValues in_values;  // kIn
};

// expr(index, term)
struct CustomIndexExpression {
  QualifiedName index;
  Term value;
};

// All joined by AND.
struct WhereClause {
  std::vector<Relation> relations;
  std::vector<CustomIndexExpression> expressions;
};

struct ColumnCondition {
  std::string column;
  std::variant<std::monostate, Term, std::string> part;  // the column, column[term] or column.field
  Operator op = Operator::kEq;
  Term value;          // all operators but kIn
  InValues in_values;  // kIn
};

// --- Data manipulation ---

// USING TIMESTAMP … AND TTL …: integer literals or markers. The last of a kind counts.
struct Attributes {
  std::optional<Term> timestamp;
  std::optional<Term> ttl;
};

struct OrderBy {
  std::string column;
  std::optional<Term> ann_of;  // ORDER BY column ANN OF term
  bool descending = false;
};

struct Select {
  bool json = false;
  bool distinct = false;
  std::vector<Selector> selectors;  // empty: *
  QualifiedName table;
  WhereClause where;
  std::vector<Selectable> group_by;
  std::vector<OrderBy> order_by;
  std::optional<Term> per_partition_limit;  // integer literal or marker
  std::optional<Term> limit;                // integer literal or marker
  bool allow_filtering = false;
  std::optional<std::string> timeout;  // USING TIMEOUT: a duration literal
};

struct Insert {
  QualifiedName table;
  std::vector<std::string> columns;
  std::vector<Term> values;  // as many as given: the parser does not compare the sizes
  bool if_not_exists = false;
  Attributes using_;
};

struct InsertJson {
  QualifiedName table;
  Term value;                  // a string literal or a marker
  bool default_unset = false;  // absent columns stay as they are, instead of null
  bool if_not_exists = false;
  Attributes using_;
};

// One assignment of UPDATE … SET.
struct Assignment {
  enum class Kind : uint8_t {
    kSet,         // c = value
    kSetElement,  // c[element] = value
    kSetField,    // c.field = value
    kAdd,         // c = c + value, c += value
    kSubtract,    // c = c - value, c -= value
    kPrepend,     // c = value + c
  };
  Kind kind = Kind::kSet;
  std::string column;
  std::optional<Term> element;
  std::string field;
  Term value;
};

// IF EXISTS or IF conditions; neither for an unconditional statement.
struct UpdateConditions {
  bool if_exists = false;
  std::vector<ColumnCondition> conditions;
};

struct Update {
  QualifiedName table;
  Attributes using_;
  std::vector<Assignment> assignments;  // none contradicts another of the same column
  WhereClause where;
  UpdateConditions if_;
};

// One selection of DELETE … FROM: a column, column[element] or column.field.
struct Deletion {
  std::string column;
  std::variant<std::monostate, Term, std::string> part;
};

struct Delete {
  std::vector<Deletion> deletions;  // empty: whole rows
  QualifiedName table;
  Attributes using_;  // timestamp only
  WhereClause where;
  UpdateConditions if_;
};

using Modification = std::variant<Insert, InsertJson, Update, Delete>;

struct Batch {
  enum class Kind : uint8_t { kLogged, kUnlogged, kCounter };
  Kind kind = Kind::kLogged;
  Attributes using_;
  std::vector<Modification> statements;
};

struct Truncate {
  QualifiedName table;
};

struct Use {
  std::string keyspace;
};

// --- Data definition ---

// name = 'value', or name = {'key': 'value'}. Texts of literals and keywords alike; no name and no key is
// repeated.
struct Property {
  using Map = std::vector<std::pair<std::string, std::string>>;
  std::string name;
  std::variant<std::string, Map> value;
};
using Properties = std::vector<Property>;

struct CreateKeyspace {
  std::string keyspace;
  bool if_not_exists = false;
  Properties properties;
};

struct AlterKeyspace {
  std::string keyspace;
  bool if_exists = false;
  Properties properties;
};

struct DropKeyspace {
  std::string keyspace;
  bool if_exists = false;
};

// MASKED WITH function(arguments), or MASKED WITH DEFAULT: mask_default without arguments.
struct ColumnMask {
  QualifiedName function;
  std::vector<Term> arguments;
};

struct ColumnDefinition {
  std::string name;
  TypeName type;
  bool is_static = false;
  std::optional<ColumnMask> mask;
};

struct ClusteringOrder {
  std::string column;
  bool descending = false;
};

struct CreateTable {
  QualifiedName table;
  bool if_not_exists = false;
  std::vector<ColumnDefinition> columns;   // no name twice
  std::vector<std::string> partition_key;  // empty: no PRIMARY KEY was given; never given twice
  std::vector<std::string> clustering;
  std::vector<ClusteringOrder> clustering_order;  // no column twice
  bool compact_storage = false;
  Properties properties;
};

struct AlterColumnType {
  std::string column;
  TypeName type;
};

// ALTER TABLE … ALTER column MASKED WITH … / DROP MASKED
struct AlterColumnMask {
  std::string column;
  bool if_exists = false;
  std::optional<ColumnMask> mask;  // none: DROP MASKED
};

struct AddColumns {
  bool if_not_exists = false;
  std::vector<ColumnDefinition> columns;
};

struct DropColumns {
  bool if_exists = false;
  std::vector<std::string> columns;
  std::optional<int64_t> timestamp;  // USING TIMESTAMP, in microseconds
};

// The fields of a type are renamed by it, too. No name is renamed twice: the last counts.
struct RenameColumns {
  bool if_exists = false;
  std::vector<std::pair<std::string, std::string>> renames;
};

struct DropCompactStorage {};

struct AlterTable {
  QualifiedName table;
  bool if_exists = false;
  std::variant<AlterColumnType, AlterColumnMask, AddColumns, DropColumns, RenameColumns, DropCompactStorage, Properties>
      change;
};

struct DropTable {
  QualifiedName table;
  bool if_exists = false;
};

struct CreateType {
  QualifiedName type;
  bool if_not_exists = false;
  std::vector<std::pair<std::string, TypeName>> fields;
};

struct AddField {
  bool if_not_exists = false;
  std::string field;
  TypeName type;
};

struct AlterType {
  QualifiedName type;
  bool if_exists = false;
  std::variant<AlterColumnType, AddField, RenameColumns> change;
};

struct DropType {
  QualifiedName type;
  bool if_exists = false;
};

struct IndexTarget {
  enum class Kind : uint8_t { kSimple, kValues, kKeys, kEntries, kFull };
  Kind kind = Kind::kSimple;
  std::string column;
};

struct CreateIndex {
  std::string name;  // empty: Cassandra chooses one
  QualifiedName table;
  bool custom = false;
  bool if_not_exists = false;
  std::vector<IndexTarget> targets;
  std::optional<std::string> using_class;
  Properties properties;
};

struct DropIndex {
  QualifiedName index;
  bool if_exists = false;
};

struct CreateView {
  QualifiedName view;
  bool if_not_exists = false;
  std::vector<Selector> selectors;  // empty: *
  QualifiedName base_table;
  WhereClause where;
  std::vector<std::string> partition_key;
  std::vector<std::string> clustering;
  std::vector<ClusteringOrder> clustering_order;
  Properties properties;
};

struct AlterView {
  QualifiedName view;
  bool if_exists = false;
  Properties properties;
};

struct DropView {
  QualifiedName view;
  bool if_exists = false;
};

struct CreateTrigger {
  std::string name;
  QualifiedName table;
  bool if_not_exists = false;
  std::string class_name;
};

struct DropTrigger {
  std::string name;
  QualifiedName table;
  bool if_exists = false;
};

struct CreateFunction {
  QualifiedName function;
  bool or_replace = false;
  bool if_not_exists = false;
  std::vector<std::pair<std::string, TypeName>> arguments;
  bool called_on_null_input = false;
  TypeName return_type;
  std::string language;
  std::string body;
};

// DROP FUNCTION and DROP AGGREGATE.
struct DropFunction {
  QualifiedName function;
  bool aggregate = false;
  bool if_exists = false;
  std::optional<std::vector<TypeName>> argument_types;  // none: no parentheses were given
};

struct CreateAggregate {
  QualifiedName aggregate;
  bool or_replace = false;
  bool if_not_exists = false;
  std::vector<TypeName> argument_types;
  std::string state_function;
  TypeName state_type;
  std::optional<std::string> final_function;
  std::optional<Term> initial_condition;
};

// --- Access control ---

// The options of CREATE/ALTER ROLE and CREATE/ALTER USER. No option is given twice.
struct RoleOptions {
  std::optional<std::string> password;
  std::optional<std::string> hashed_password;
  std::optional<Property::Map> options;
  std::optional<bool> superuser;
  std::optional<bool> login;  // CREATE USER says true
  // ACCESS TO / ACCESS FROM: none when not given, ALL as an empty list.
  std::optional<std::vector<std::string>> datacenters;
  std::optional<std::vector<std::string>> cidr_groups;
};

struct CreateRole {
  std::string role;
  bool if_not_exists = false;
  bool user = false;  // CREATE USER
  RoleOptions options;
};

struct AlterRole {
  std::string role;
  bool if_exists = false;
  bool user = false;
  RoleOptions options;
};

struct DropRole {
  std::string role;
  bool if_exists = false;
  bool user = false;
};

struct AddIdentity {
  std::string identity;
  std::string role;
  bool if_not_exists = false;
};

struct DropIdentity {
  std::string identity;
  bool if_exists = false;
};

struct GrantRole {
  std::string role;
  std::string grantee;
};

struct RevokeRole {
  std::string role;
  std::string revokee;
};

// LIST ROLES, and LIST USERS.
struct ListRoles {
  bool users = false;
  std::optional<std::string> grantee;
  bool recursive = true;
};

enum class Permission : uint8_t {
  kCreate,
  kAlter,
  kDrop,
  kSelect,
  kModify,
  kAuthorize,
  kDescribe,
  kExecute,
  kUnmask,
  kSelectMasked,
};

struct Resource {
  enum class Kind : uint8_t {
    kAllKeyspaces,
    kKeyspace,
    kTable,      // name
    kAllTables,  // IN KEYSPACE
    kAllRoles,
    kRole,  // name.name
    kAllFunctions,
    kAllFunctionsInKeyspace,
    kFunction,  // name, argument_types
    kAllMbeans,
    kMbean,   // name.name: the object name
    kMbeans,  // name.name: a pattern
  };
  Kind kind = Kind::kAllKeyspaces;
  QualifiedName name;
  std::vector<TypeName> argument_types;
};

// GRANT and REVOKE of permissions: those of the named ones, or of ALL, that the resource can have. Never empty.
struct GrantPermissions {
  bool revoke = false;
  std::vector<Permission> permissions;  // in the enum's order, none twice
  Resource resource;
  std::string role;
};

struct ListPermissions {
  std::vector<Permission> permissions;  // as above; all of them for ALL
  std::optional<Resource> resource;
  std::optional<std::string> role;
  bool recursive = true;
};

// --- DESCRIBE ---

struct Describe {
  enum class Kind : uint8_t {
    kCluster,
    kSchema,
    kFullSchema,
    kKeyspaces,
    kKeyspace,      // name.name; empty for that of the session
    kOnlyKeyspace,  // likewise, without the keyspace's elements
    kTables,
    kTable,
    kIndex,
    kView,
    kTypes,
    kType,
    kFunctions,
    kFunction,
    kAggregates,
    kAggregate,
    kGeneric,  // DESCRIBE name: a keyspace, a table, an index or a view
  };
  Kind kind = Kind::kCluster;
  QualifiedName name;
  bool with_internals = false;
};

struct Statement {
  using Body =
      std::variant<Select, Insert, InsertJson, Update, Delete, Batch, Truncate, Use, CreateKeyspace, AlterKeyspace,
                   DropKeyspace, CreateTable, AlterTable, DropTable, CreateType, AlterType, DropType, CreateIndex,
                   DropIndex, CreateView, AlterView, DropView, CreateTrigger, DropTrigger, CreateFunction, DropFunction,
                   CreateAggregate, CreateRole, AlterRole, DropRole, AddIdentity, DropIdentity, GrantRole, RevokeRole,
                   ListRoles, GrantPermissions, ListPermissions, Describe>;
  Body body;
  std::vector<std::string> bind_variables;  // the name of each marker, empty for `?`
  size_t terms = 0;                         // and selectables, as Dialect::max_terms counts them
  bool has_structured_literals = false;     // of lists, sets, maps, tuples, user types or vectors
};

}  // namespace cassandra_like::ast
