#include "cql/expressions/term.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "cql/expressions/term_internal.h"
#include "cql/syntax/type_name.h"
#include "cql/values/bound_collection.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

// --- Constants ---

class NullTerm : public Term {
 public:
  Result<BytesView> bind(ExecutionContext&) const override { return kNull; }
  const BytesView* constant() const override { return &kNull; }
  bool is_null_literal() const override { return true; }
};

class MarkerTerm : public Term {
 public:
  MarkerTerm(uint32_t index, TypePtr type) : index_(index), type_(std::move(type)) {}
  Result<BytesView> bind(ExecutionContext& context) const override {
    BytesView value = context.options.values[index_];
    if (is_null(value) || is_unset(value)) return value;
    // In Cassandra the type of a descending column is no collection: such bytes are stored as they come.
    if (type_->is_collection() && !type_->is_reversed()) return bound_collection(*type_, value, context.arena);
    if (Status status = type_->validate(value); !status.ok()) return std::move(status.error());
    const bool is_user_type = type_->is_udt() && !type_->is_reversed();
    if (is_user_type) return bound_user_type(value, context.arena);
    return value;
  }
  int marker_index() const override { return static_cast<int>(index_); }

 private:
  uint32_t index_;
  TypePtr type_;
};

const char* literal_kind(ast::Literal::Kind kind) {
  switch (kind) {
    case ast::Literal::Kind::kString:
      return "STRING";
    case ast::Literal::Kind::kInteger:
      return "INTEGER";
    case ast::Literal::Kind::kFloat:
      return "FLOAT";
    case ast::Literal::Kind::kBoolean:
      return "BOOLEAN";
    case ast::Literal::Kind::kUuid:
      return "UUID";
    case ast::Literal::Kind::kDuration:
      return "DURATION";
    case ast::Literal::Kind::kHex:
      return "HEX";
  }
  return "";
}

// --- Assignability (AssignmentTestable) ---

Assignable of_literal(const ast::Literal& literal, const Type& type) {
  using L = ast::Literal::Kind;
  using T = TypeKind;
  if (type.is_collection() || type.is_udt()) return Assignable::kNo;
  T t = type.kind();
  if (t == T::kVector) return Assignable::kNo;
  // For tuples and custom types, fromString decides.
  if (t == T::kTuple || t >= T::kEmpty) return Assignable::kWeak;
  if (preferred_type(literal)->kind() == t) return Assignable::kExact;
  auto any = [t](std::initializer_list<T> kinds) {
    for (T k : kinds) {
      if (k == t) return Assignable::kWeak;
    }
    return Assignable::kNo;
  };
  switch (literal.kind) {
    case L::kString:
      return any({T::kAscii, T::kText, T::kInet, T::kDate, T::kTime, T::kTimestamp});
    case L::kInteger:
      return any({T::kBigint, T::kCounter, T::kDate, T::kDecimal, T::kDouble, T::kDuration, T::kFloat, T::kInt,
                  T::kSmallint, T::kTime, T::kTimestamp, T::kTinyint, T::kVarint});
    case L::kFloat:
      return any({T::kDecimal, T::kDouble, T::kFloat});
    case L::kBoolean:
      return Assignable::kNo;
    case L::kUuid:
      return any({T::kUuid, T::kTimeuuid});
    case L::kDuration:
      return Assignable::kNo;
    case L::kHex:
      return any({T::kBlob});
  }
  return Assignable::kNo;
}

struct AssignabilityOfTerm {
  const ast::Term& term;
  const ColumnSpec& receiver;
  PrepareContext& context;

  const Type& type() const { return receiver.type->base(); }
  ColumnSpec part(size_t i) const { return {receiver.keyspace, receiver.table, receiver.name, type().elements()[i]}; }

  Assignable operator()(const ast::NullLiteral&) const {
    return type().is_counter() ? Assignable::kNo : Assignable::kWeak;
  }
  Assignable operator()(const ast::BindMarker&) const { return Assignable::kWeak; }
  Assignable operator()(const ast::Literal& literal) const { return of_literal(literal, type()); }
  Assignable operator()(const ast::ArrayLiteral& array) const {
    if (type().kind() != TypeKind::kList && type().kind() != TypeKind::kVector) {
      context.refuse_array(type());
      return Assignable::kNo;
    }
    if (type().kind() == TypeKind::kVector &&
        array.elements.size() != static_cast<const VectorType&>(type()).dimension()) {
      return Assignable::kNo;
    }
    return all(array.elements, 0);
  }
  Assignable operator()(const ast::SetLiteral& set) const {
    if (type().kind() == TypeKind::kMap && set.elements.empty()) return Assignable::kWeak;
    if (type().kind() != TypeKind::kSet) return Assignable::kNo;
    return all(set.elements, 0);
  }
  Assignable operator()(const ast::MapLiteral& map) const {
    if (type().kind() != TypeKind::kMap) return Assignable::kNo;
    Assignable result = Assignable::kExact;
    for (const auto& [key, value] : map.entries) {
      result = worst(result, assignable(key, part(0), context));
      result = worst(result, assignable(value, part(1), context));
      if (result == Assignable::kNo) break;
    }
    return result;
  }
  Assignable operator()(const ast::UdtLiteral& udt) const {
    if (!type().is_udt()) return Assignable::kNo;
    const auto& user_type = static_cast<const UserType&>(type());
    for (const auto& [field, value] : udt.fields) {
      auto index = user_type.field_index(field);
      // A field that the type has not is told of when the literal is prepared.
      if (index && assignable(value, part(*index), context) == Assignable::kNo) return Assignable::kNo;
    }
    return Assignable::kWeak;
  }
  Assignable operator()(const ast::TupleLiteral& tuple) const {
    if (!type().is_tuple())
      return tuple.elements.size() == 1 ? assignable(tuple.elements[0], receiver, context) : Assignable::kNo;
    if (tuple.elements.size() > type().elements().size()) return Assignable::kNo;
    for (size_t i = 0; i < tuple.elements.size(); ++i) {
      if (assignable(tuple.elements[i], part(i), context) == Assignable::kNo) return Assignable::kNo;
    }
    return Assignable::kWeak;
  }
  Assignable operator()(const ast::TypeHint& hint) const {
    auto hinted = context.type(hint.type, receiver.keyspace);
    if (!hinted.ok()) return Assignable::kNo;
    return assignable_type(**hinted, type());
  }
  // Functions, casts and arithmetic: by the type of what they return.
  template <class T>
  Assignable operator()(const T&) const {
    return assignable_call(term, receiver, context);
  }

 private:
  Assignable all(const std::vector<ast::Term>& elements, size_t part_index) const {
    if (elements.empty()) return Assignable::kWeak;
    Assignable result = Assignable::kExact;
    for (const ast::Term& element : elements) {
      result = worst(result, assignable(element, part(part_index), context));
      if (result == Assignable::kNo) break;
    }
    return result;
  }
  static Assignable worst(Assignable a, Assignable b) { return a < b ? a : b; }
};

// --- Preparing ---

struct PrepareTerm {
  const ast::Term& term;
  const ColumnSpec& receiver;
  PrepareContext& context;

  const Type& type() const { return receiver.type->base(); }

  Result<TermPtr> operator()(const ast::NullLiteral&) const {
    if (type().is_counter()) return invalid("Invalid null value for counter increment/decrement");
    return TermPtr(std::make_unique<NullTerm>());
  }
  Result<TermPtr> operator()(const ast::BindMarker& marker) const {
    context.bind(marker.index, receiver);
    return TermPtr(std::make_unique<MarkerTerm>(marker.index, receiver.type));
  }
  Result<TermPtr> operator()(const ast::Literal& literal) const {
    if (of_literal(literal, type()) == Assignable::kNo) {
      return invalid(std::string("Invalid ") + literal_kind(literal.kind) + " constant (" + literal.text + ") for \"" +
                     receiver.name + "\" of type " + receiver.type->cql_name());
    }
    ASSIGN_OR_RETURN(Bytes value, parse_literal(literal));
    return constant_term(std::move(value));
  }
  Result<TermPtr> operator()(const ast::TupleLiteral& tuple) const {
    // (x) is x in parentheses wherever no tuple is wanted.
    if (!type().is_tuple() && tuple.elements.size() == 1) return prepare_term(tuple.elements[0], receiver, context);
    return prepare_structured(term, receiver, context);
  }
  Result<TermPtr> operator()(const ast::TypeHint& hint) const {
    ASSIGN_OR_RETURN(TypePtr hinted, context.type(hint.type, receiver.keyspace));
    ColumnSpec as{receiver.keyspace, receiver.table, receiver.name, hinted};
    if (assignable(*hint.term, as, context) == Assignable::kNo) {
      return invalid("Cannot cast value " + source(*hint.term, context) + " to type " +
                     type_name_text(hint.type, receiver.keyspace));
    }
    if (assignable_type(*hinted, type()) == Assignable::kNo) {
      return invalid("Cannot assign value " + source(term, context) + " to " + receiver.name + " of type " +
                     receiver.type->cql_name());
    }
    // The hint chooses among functions; the value is the receiver's.
    return prepare_term(*hint.term, receiver, context);
  }
  Result<TermPtr> operator()(const ast::ArrayLiteral&) const { return prepare_structured(term, receiver, context); }
  Result<TermPtr> operator()(const ast::SetLiteral&) const { return prepare_structured(term, receiver, context); }
  Result<TermPtr> operator()(const ast::MapLiteral&) const { return prepare_structured(term, receiver, context); }
  Result<TermPtr> operator()(const ast::UdtLiteral&) const { return prepare_structured(term, receiver, context); }
  template <class T>
  Result<TermPtr> operator()(const T&) const {
    return prepare_call(term, receiver, context);
  }

 private:
  Result<Bytes> parse_literal(const ast::Literal& literal) const {
    const Type& base = type();
    if (base.is_counter()) return types::bigint()->from_text(literal.text);
    if (literal.kind == ast::Literal::Kind::kHex) {
      ASSIGN_OR_RETURN(Bytes bytes, types::blob()->from_text(std::string_view(literal.text).substr(2)));
      if (Status status = base.is_tuple() ? base.validate(bytes) : Status(); !status.ok())
        return std::move(status.error());
      return bytes;
    }
    return base.from_text(literal.text);
  }
};

class ListInTerm : public InTerm {
 public:
  explicit ListInTerm(std::vector<TermPtr> terms) : terms_(std::move(terms)) {}
  Result<std::vector<BytesView>> bind(ExecutionContext& context) const override {
    std::vector<BytesView> values;
    for (const TermPtr& term : terms_) {
      ASSIGN_OR_RETURN(BytesView value, term->bind(context));
      values.push_back(value);
    }
    return values;
  }

 private:
  std::vector<TermPtr> terms_;
};

class MarkerInTerm : public InTerm {
 public:
  MarkerInTerm(uint32_t index, TypePtr list, std::string column, bool of_columns)
      : index_(index), list_(std::move(list)), column_(std::move(column)), of_columns_(of_columns) {}
  Result<std::vector<BytesView>> bind(ExecutionContext& context) const override {
    BytesView list = context.options.values[index_];
    if (is_null(list))
      return invalid("Invalid null value for " + (of_columns_ ? "IN restriction" : "column " + column_));
    if (is_unset(list))
      return invalid("Invalid unset value for " + (of_columns_ ? "in(" + column_ + ")" : "column " + column_));
    ASSIGN_OR_RETURN(list, bound_in_list(*list_, list, context.arena));
    std::vector<BytesView> values;
    auto elements = ElementReader::collection(list);
    BytesView element;
    while (elements.next(&element)) values.push_back(element);
    return values;
  }

 private:
  uint32_t index_;
  TypePtr list_;
  std::string column_;
  bool of_columns_;
};

}  // namespace

TypePtr preferred_type(const ast::Literal& literal) {
  switch (literal.kind) {
    case ast::Literal::Kind::kString: {
      bool ascii = std::all_of(literal.text.begin(), literal.text.end(), [](char c) { return c >= 0; });
      return ascii ? types::ascii() : types::text();
    }
    case ast::Literal::Kind::kInteger: {
      // The smallest of int, bigint and varint that holds it.
      int64_t value = 0;
      const char* end = literal.text.data() + literal.text.size();
      auto parsed = std::from_chars(literal.text.data(), end, value);
      if (parsed.ec != std::errc() || parsed.ptr != end) return types::varint();
      return value == static_cast<int32_t>(value) ? types::int_() : types::bigint();
    }
    case ast::Literal::Kind::kFloat: {
      // Double where it loses nothing, else decimal.
      if (literal.text.find_first_of("NI") != std::string::npos) return types::double_();
      auto exact = types::decimal()->from_text(literal.text);
      auto rounded = types::double_()->from_text(literal.text);
      if (!exact.ok() || !rounded.ok()) return types::decimal();
      auto back = types::decimal()->from_text(double_to_text(decode_double(*rounded)));
      return back.ok() && types::decimal()->compare(*back, *exact) == 0 ? types::double_() : types::decimal();
    }
    case ast::Literal::Kind::kUuid: {
      auto uuid = Uuid::parse(literal.text);
      return uuid && uuid->version() == 1 ? types::timeuuid() : types::uuid();
    }
    case ast::Literal::Kind::kBoolean:
      return types::boolean();
    case ast::Literal::Kind::kDuration:
      return types::duration();
    case ast::Literal::Kind::kHex:
      // Cassandra takes any as a tinyint, and stores what no client can read then.
      return literal.text.size() == 4 ? types::tinyint() : types::blob();
  }
  return types::text();
}

TermPtr constant_term(Bytes value) { return std::make_unique<ConstantTerm>(std::move(value)); }

namespace {

// Term.Raw.getText: literals as they are but for escapes, markers without their names, arithmetic as calls.
struct SourceOf {
  const ast::Term& term;
  const PrepareContext& context;
  const std::string& keyspace;

  std::string operator()(const ast::NullLiteral&) const { return "NULL"; }
  std::string operator()(const ast::BindMarker&) const { return "?"; }
  std::string operator()(const ast::Literal& literal) const {
    return literal.kind == ast::Literal::Kind::kString ? "'" + literal.text + "'" : literal.text;
  }
  std::string operator()(const ast::ArrayLiteral& array) const { return "[" + joined(array.elements) + "]"; }
  std::string operator()(const ast::SetLiteral& set) const { return "{" + joined(set.elements) + "}"; }
  std::string operator()(const ast::TupleLiteral& tuple) const { return "(" + joined(tuple.elements) + ")"; }
  std::string operator()(const ast::MapLiteral& map) const {
    std::string text;
    for (const auto& [key, value] : map.entries) {
      text += (text.empty() ? "" : ", ") + source(key, context, keyspace) + ": " + source(value, context, keyspace);
    }
    return "{" + text + "}";
  }
  std::string operator()(const ast::UdtLiteral& udt) const {
    std::string text;
    for (const auto& [field, value] : udt.fields) {
      text += (text.empty() ? "" : ", ") + field + ": " + source(value, context, keyspace);
    }
    return "{" + text + "}";
  }
  std::string operator()(const ast::FunctionCall& call) const {
    const auto& [keyspace, name] = call.function;
    return (keyspace.empty() ? "" : quote_identifier(keyspace) + ".") + quote_identifier(name) + "(" +
           joined(call.arguments) + ")";
  }
  std::string operator()(const ast::Arithmetic& arithmetic) const {
    static constexpr const char* kNames[] = {"_add", "_substract", "_multiply", "_divide", "_modulo", "_negate"};
    std::string right = arithmetic.right ? ", " + source(**arithmetic.right, context, keyspace) : "";
    return std::string("system.\"") + kNames[static_cast<size_t>(arithmetic.op)] + "\"(" +
           source(*arithmetic.left, context, keyspace) + right + ")";
  }
  std::string operator()(const ast::Cast& cast) const {
    return "system.cast_as_" + cast.type.name + "(" + source(*cast.term, context, keyspace) + ")";
  }
  std::string operator()(const ast::TypeHint& hint) const {
    return "(" + type_name_text(hint.type, keyspace) + ")" + source(*hint.term, context, keyspace);
  }
  template <class T>
  std::string operator()(const T&) const {
    return std::string(context.text().substr(term.offset, term.length));
  }

 private:
  std::string joined(const std::vector<ast::Term>& terms) const {
    std::string text;
    for (const ast::Term& one : terms) text += (text.empty() ? "" : ", ") + source(one, context, keyspace);
    return text;
  }
};

}  // namespace

std::string source(const ast::Term& term, const PrepareContext& context) {
  return source(term, context, context.session_keyspace());
}

std::string source(const ast::Term& term, const PrepareContext& context, const std::string& keyspace) {
  return std::visit(SourceOf{term, context, keyspace}, term.value);
}

Assignable assignable_type(const Type& from, const Type& to) {
  if (&from == &to || (from.kind() == to.kind() && from.equals(to))) return Assignable::kExact;
  return to.is_value_compatible_with(from) ? Assignable::kWeak : Assignable::kNo;
}

Assignable assignable(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context) {
  return std::visit(AssignabilityOfTerm{term, receiver, context}, term.value);
}

Result<TermPtr> prepare_term(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context) {
  return std::visit(PrepareTerm{term, receiver, context}, term.value);
}

Result<std::unique_ptr<InTerm>> prepare_in(const ast::InValues& values, const ColumnSpec& receiver,
                                           PrepareContext& context, bool of_columns) {
  if (const auto* marker = std::get_if<ast::BindMarker>(&values)) {
    TypePtr list = types::list(types::freeze(receiver.type), false);
    context.bind(marker->index, {receiver.keyspace, receiver.table, "in(" + receiver.name + ")", list});
    return std::unique_ptr<InTerm>(
        std::make_unique<MarkerInTerm>(marker->index, std::move(list), receiver.name, of_columns));
  }
  std::vector<TermPtr> terms;
  for (const ast::Term& term : std::get<std::vector<ast::Term>>(values)) {
    ASSIGN_OR_RETURN(TermPtr prepared, prepare_term(term, receiver, context));
    terms.push_back(std::move(prepared));
  }
  return std::unique_ptr<InTerm>(std::make_unique<ListInTerm>(std::move(terms)));
}

Result<PreparedAttributes> prepare_attributes(const ast::Attributes& attributes, const TableMetadata& table,
                                              PrepareContext& context) {
  PreparedAttributes prepared;
  if (attributes.timestamp) {
    ColumnSpec receiver{table.keyspace, table.name, "[timestamp]", types::bigint()};
    ASSIGN_OR_RETURN(prepared.timestamp, prepare_term(*attributes.timestamp, receiver, context));
  }
  if (attributes.ttl) {
    ColumnSpec receiver{table.keyspace, table.name, "[ttl]", types::int_()};
    ASSIGN_OR_RETURN(prepared.ttl, prepare_term(*attributes.ttl, receiver, context));
  }
  return prepared;
}

Result<int64_t> PreparedAttributes::bind_timestamp(ExecutionContext& context) const {
  if (timestamp == nullptr) return context.timestamp_micros;
  ASSIGN_OR_RETURN(BytesView value, timestamp->bind(context));
  if (is_null(value)) return invalid("Invalid null value of timestamp");
  if (is_unset(value)) return context.timestamp_micros;
  if (value.size() != 8) return invalid("Invalid timestamp value: " + to_hex(value));
  int64_t micros = decode_bigint(value);
  if (micros == std::numeric_limits<int64_t>::min()) {
    return invalid("Out of bound timestamp, must be in [" + std::to_string(micros + 1) + ", " +
                   std::to_string(std::numeric_limits<int64_t>::max()) + "]");
  }
  return micros;
}

Result<int32_t> PreparedAttributes::bind_ttl(ExecutionContext& context, int default_ttl) const {
  if (ttl == nullptr) return default_ttl;
  ASSIGN_OR_RETURN(BytesView value, ttl->bind(context));
  if (is_unset(value)) return default_ttl;
  if (is_null(value) || value.empty()) return 0;
  if (value.size() != 4) return invalid("Invalid TTL value: " + to_hex(value));
  int32_t seconds = decode_int(value);
  if (seconds < 0) return invalid("A TTL must be greater or equal to 0, but was " + std::to_string(seconds));
  if (seconds > kMaxTtl) {
    return invalid("ttl is too large. requested (" + std::to_string(seconds) + ") maximum (" + std::to_string(kMaxTtl) +
                   ")");
  }
  return seconds;
}

}  // namespace cassandra_like
