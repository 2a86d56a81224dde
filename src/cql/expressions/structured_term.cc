// Literals made of terms: lists, vectors, sets, maps, tuples and user types. One with constant parts only is serialized
// when it is prepared.
#include <algorithm>

#include "cql/expressions/term_internal.h"
#include "cql/values/serialize_elements.h"

namespace cassandra_like {
namespace {

class StructuredTerm : public Term {
 public:
  StructuredTerm(TypePtr type, std::string name, std::vector<TermPtr> parts)
      : type_(std::move(type)), name_(std::move(name)), parts_(std::move(parts)) {}

  Result<BytesView> bind(ExecutionContext& context) const override {
    std::vector<BytesView> values;
    values.reserve(parts_.size());
    for (size_t i = 0; i < parts_.size(); ++i) {
      ASSIGN_OR_RETURN(BytesView value, parts_[i]->bind(context));
      if (Status status = check(value, i); !status.ok()) return std::move(status.error());
      values.push_back(value);
    }
    return context.arena.copy(serialize(std::move(values)));
  }
  bool contains_marker() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const TermPtr& part) { return part->contains_marker(); });
  }
  bool is_pure() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const TermPtr& part) { return part->is_pure(); });
  }
  bool all_constant() const {
    return std::all_of(parts_.begin(), parts_.end(), [](const TermPtr& part) { return part->is_constant(); });
  }
  // The elements, when all parts are constant.
  Result<Bytes> evaluate() const {
    std::vector<BytesView> values;
    for (size_t i = 0; i < parts_.size(); ++i) {
      TRY(check(*parts_[i]->constant(), i));
      values.push_back(*parts_[i]->constant());
    }
    return serialize(std::move(values));
  }

 private:
  Status check(BytesView value, size_t i) const {
    const Type& type = type_->base();
    if (type.is_collection()) {
      if (is_null(value)) return invalid("null is not supported inside collections");
      if (is_unset(value) && type.kind() == TypeKind::kMap && i % 2 == 0) {
        return invalid("unset value is not supported for map keys");
      }
    }
    if (type.kind() == TypeKind::kVector && is_null(value)) return invalid("null is not supported inside vectors");
    if (!is_unset(value)) return {};
    if (type.is_udt()) {
      const auto& user_type = static_cast<const UserType&>(type);
      return invalid("Invalid unset value for field '" + user_type.field_names()[i] + "' of user defined type " +
                     user_type.name());
    }
    return invalid(type.is_tuple() ? "Invalid unset value for tuple field number " + std::to_string(i)
                                   : "unset value is not supported inside collections");
  }

  Bytes serialize(std::vector<BytesView> values) const {
    const Type& type = type_->base();
    switch (type.kind()) {
      case TypeKind::kSet:
        return serialize_sorted(*type.elements()[0], std::move(values), 1);
      case TypeKind::kMap:
        return serialize_sorted(*type.elements()[0], std::move(values), 2);
      case TypeKind::kList:
        return serialize_list(values);
      case TypeKind::kVector:
        return serialize_vector(*type.elements()[0], values);
      default:
        return serialize_tuple(values);
    }
  }

  TypePtr type_;
  std::string name_;
  std::vector<TermPtr> parts_;
};

// --- Preparing, with the messages of Lists, Sets, Maps, Tuples, UserTypes and Vectors ---

struct Structured {
  const ast::Term& term;
  const ColumnSpec& receiver;
  PrepareContext& context;

  const Type& type() const { return receiver.type->base(); }
  std::string type_name() const { return receiver.type->cql_name(); }
  ColumnSpec spec(std::string name, size_t element) const {
    return {receiver.keyspace, receiver.table, std::move(name), type().elements()[element]};
  }
  ColumnSpec value_spec() const { return spec("value(" + receiver.name + ")", type().elements().size() - 1); }
  ColumnSpec key_spec() const { return spec("key(" + receiver.name + ")", 0); }

  // `name`: as error messages call it.
  struct Part {
    const ast::Term* value;
    ColumnSpec spec;
    std::string name;
  };

  Error not_of_type(const std::string& kind, const Part& part) const {
    const std::string value = type().is_tuple() ? "" : " " + source(*part.value, context);
    return invalid("Invalid " + kind + " literal for " + receiver.name + ": " + part.name + value + " is not of type " +
                   part.spec.type->cql_name());
  }

  Status check_types(const std::string& kind, const std::vector<Part>& parts) const {
    for (const Part& part : parts) {
      if (assignable(*part.value, part.spec, context) == Assignable::kNo) return not_of_type(kind, part);
    }
    return {};
  }

  // Whether all fit is asked before any is prepared. In a list, set or map none may be a bind marker.
  Result<std::vector<TermPtr>> prepare(const std::string& kind, const std::vector<Part>& parts) const {
    TRY(check_types(kind, parts));
    std::vector<TermPtr> terms;
    for (const Part& part : parts) {
      ASSIGN_OR_RETURN(TermPtr prepared, prepare_term(*part.value, part.spec, context));
      if (prepared->contains_marker() && type().is_collection()) {
        return invalid("Invalid " + kind + " literal for " + receiver.name +
                       ": bind variables are not supported inside collection literals");
      }
      terms.push_back(std::move(prepared));
    }
    return terms;
  }

  Result<TermPtr> finish(std::vector<TermPtr> parts) const {
    auto result = std::make_unique<StructuredTerm>(receiver.type, receiver.name, std::move(parts));
    if (!result->all_constant()) return TermPtr(std::move(result));
    ASSIGN_OR_RETURN(Bytes value, result->evaluate());
    return constant_term(std::move(value));
  }

  Result<TermPtr> elements(const char* kind, const std::vector<ast::Term>& values) const {
    std::vector<Part> parts;
    for (const ast::Term& value : values) parts.push_back({&value, value_spec(), "value"});
    ASSIGN_OR_RETURN(auto terms, prepare(kind, parts));
    return finish(std::move(terms));
  }

  Result<TermPtr> operator()(const ast::ArrayLiteral& array) const {
    bool vector = type().kind() == TypeKind::kVector;
    if (!vector && type().kind() != TypeKind::kList) {
      return invalid("Unexpected receiver type '" + type().cql_name() + "'; only list and vector are expected");
    }
    const char* kind = vector ? "vector" : "list";
    if (vector) {
      size_t dimension = static_cast<const VectorType&>(type()).dimension();
      if (array.elements.size() != dimension) {
        return invalid("Invalid vector literal for " + receiver.name + " of type " + type_name() + "; expected " +
                       std::to_string(dimension) + " elements, but given " + std::to_string(array.elements.size()));
      }
    }
    return elements(kind, array.elements);
  }

  Result<TermPtr> operator()(const ast::SetLiteral& set) const {
    bool empty_map = type().kind() == TypeKind::kMap && set.elements.empty();
    if (type().kind() != TypeKind::kSet && !empty_map) {
      return invalid("Invalid set literal for " + receiver.name + " of type " + type_name());
    }
    return elements("set", set.elements);
  }

  Result<TermPtr> operator()(const ast::MapLiteral& map) const {
    if (type().kind() != TypeKind::kMap) {
      return invalid("Invalid map literal for " + receiver.name + " of type " + type_name());
    }
    std::vector<Part> parts;
    for (const auto& [key, value] : map.entries) {
      parts.push_back({&key, key_spec(), "key"});
      parts.push_back({&value, value_spec(), "value"});
    }
    ASSIGN_OR_RETURN(auto terms, prepare("map", parts));
    return finish(std::move(terms));
  }

  Result<TermPtr> operator()(const ast::TupleLiteral& tuple) const {
    if (!type().is_tuple())
      return invalid("Invalid tuple type literal for " + receiver.name + " of type " + type_name());
    const size_t given = tuple.elements.size(), fields = type().elements().size();
    std::vector<Part> parts;
    for (size_t i = 0; i < std::min(given, fields); ++i) {
      ColumnSpec component = spec(receiver.name + "[" + std::to_string(i) + "]", i);
      parts.push_back({&tuple.elements[i], std::move(component), "component " + std::to_string(i)});
    }
    if (given > fields) {
      TRY(check_types("tuple", parts));
      return invalid("Invalid tuple literal for " + receiver.name + ": too many elements. Type " + type_name() +
                     " expects " + std::to_string(fields) + " but got " + std::to_string(given));
    }
    ASSIGN_OR_RETURN(auto terms, prepare("tuple", parts));
    return finish(std::move(terms));
  }

  Result<TermPtr> operator()(const ast::UdtLiteral& udt) const {
    if (!type().is_udt()) return invalid("Invalid user type literal for " + receiver.name + " of type " + type_name());
    const auto& user_type = static_cast<const UserType&>(type());
    std::vector<Part> parts;
    for (size_t i = 0; i < user_type.field_names().size(); ++i) {
      const std::string& name = user_type.field_names()[i];
      auto given = std::find_if(udt.fields.begin(), udt.fields.end(), [&](const auto& f) { return f.name == name; });
      static const ast::Term kAbsent{ast::NullLiteral{}};
      const ast::Term& value = given == udt.fields.end() ? kAbsent : given->value;
      parts.push_back({&value, spec(receiver.name + "." + name, i), "field " + name});
    }
    ASSIGN_OR_RETURN(auto terms, prepare("user type", parts));
    for (const auto& [field, value] : udt.fields) {
      if (!user_type.field_index(field)) {
        return invalid("Unknown field '" + field + "' in value of user defined type " + user_type.name());
      }
    }
    return finish(std::move(terms));
  }

  template <class T>
  Result<TermPtr> operator()(const T&) const {
    return invalid("Invalid value for " + receiver.name);
  }
};

}  // namespace

Result<TermPtr> prepare_structured(const ast::Term& term, const ColumnSpec& receiver, PrepareContext& context) {
  return std::visit(Structured{term, receiver, context}, term.value);
}

}  // namespace cassandra_like
