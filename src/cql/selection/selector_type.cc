// The type of a selectable before it is built, and which types it can be given (Selectable's getExactTypeIfKnown,
// getCompatibleTypeIfKnown and testAssignment). Functions are resolved by these.
#include "cql/selection/selector_type.h"

#include <algorithm>

#include "cql/expressions/functions_internal.h"
#include "cql/expressions/term_internal.h"

namespace cassandra_like {

Error unsupported_array(const TypePtr& wanted) { return invalid("Unsupported target type: " + wanted->cql_name()); }

namespace {

// A type that is not frozen does not fit a frozen one; the other way round it does.
Assignable fits(const TypePtr& type, const TypePtr& receiver) {
  const bool several_cells = type->is_multi_cell();
  return assignable_type(several_cells ? type->base() : *functions::value_type(type),
                         several_cells ? receiver->base() : *functions::value_type(receiver));
}

// The type of the keys of its cells.
TypePtr element_type(const Type& collection) {
  return collection.kind() == TypeKind::kList ? types::timeuuid() : collection.elements().back();
}

// `question` tells which of the two types of a selectable is asked for, also of its parts.
struct TypeOf {
  using Question = Result<TypePtr> (SelectorBuilder::*)(const ast::Selectable&);
  SelectorBuilder& builder;
  Question question;
  const ast::Selectable& selectable;

  Result<TypePtr> of(const ast::Selectable& part) const { return (builder.*question)(part); }
  bool exact() const { return question == &SelectorBuilder::exact_type; }

  Result<TypePtr> operator()(const ast::TermSelectable& s) const {
    return exact() ? TypePtr() : inferred_type(s.term, builder.context());
  }
  Result<TypePtr> operator()(const ast::CastSelectable& s) const {
    return builder.context().type(s.type, builder.table().keyspace);
  }
  Result<TypePtr> operator()(const ast::TypeHintSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr type, builder.context().type(s.type, builder.table().keyspace));
    return types::freeze(type);
  }
  // A single element may be in parentheses or be a tuple: nobody can tell.
  Result<TypePtr> operator()(const ast::ParenthesesSelectable& s) const {
    if (s.elements.size() == 1) return TypePtr();
    std::vector<TypePtr> fields;
    for (const auto& element : s.elements) {
      ASSIGN_OR_RETURN(TypePtr type, of(element));
      if (type == nullptr) return type;
      fields.push_back(std::move(type));
    }
    return types::tuple(std::move(fields));
  }
  // A list, as long as nothing else is wanted.
  Result<TypePtr> operator()(const ast::ArraySelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr element, element_of(s.elements));
    return element == nullptr ? element : types::list(element, false);
  }
  Result<TypePtr> operator()(const ast::SetSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr element, element_of(s.elements));
    return element == nullptr ? element : types::set(element, false);
  }
  Result<TypePtr> operator()(const ast::MapOrUdtSelectable&) const { return TypePtr(); }

  // Faults in the selection of a part are told when it is built: a function is resolved first.
  Result<TypePtr> operator()(const ast::ElementSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr type, builder.exact_type(*s.receiver));
    return type != nullptr && type->is_collection() ? element_type(type->base()) : nullptr;
  }
  Result<TypePtr> operator()(const ast::SliceSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr type, builder.exact_type(*s.receiver));
    return type != nullptr && type->is_collection() ? types::freeze(type) : nullptr;
  }
  Result<TypePtr> operator()(const ast::FieldSelectable& s) const {
    ASSIGN_OR_RETURN(TypePtr type, builder.exact_type(*s.receiver));
    if (type == nullptr || !type->is_udt()) return TypePtr();
    auto index = static_cast<const UserType&>(type->base()).field_index(s.field);
    return index ? type->elements()[*index] : nullptr;
  }
  // A selectable without literals has one type.
  template <class Other>
  Result<TypePtr> operator()(const Other&) const {
    return builder.type_when_built(selectable);
  }

 private:
  // The first type that is known, or that all others fit.
  Result<TypePtr> element_of(const std::vector<ast::Selectable>& elements) const {
    std::vector<TypePtr> known;
    for (const auto& element : elements) {
      ASSIGN_OR_RETURN(TypePtr type, of(element));
      auto same = [&](const TypePtr& other) { return other->equals(*type); };
      if (type != nullptr && std::none_of(known.begin(), known.end(), same)) known.push_back(std::move(type));
    }
    auto takes_all = [&](const TypePtr& one) {
      return exact() || std::all_of(known.begin(), known.end(),
                                    [&](const TypePtr& other) { return fits(other, one) != Assignable::kNo; });
    };
    auto found = std::find_if(known.begin(), known.end(), takes_all);
    return found == known.end() ? TypePtr() : *found;
  }
};

struct AssignabilityOfSelectable {
  SelectorBuilder& builder;
  const ast::Selectable& selectable;
  const TypePtr& receiver;

  Result<Assignable> operator()(const ast::TermSelectable& s) const {
    return assignable(s.term, {"", "", "", receiver}, builder.context());
  }
  Result<Assignable> operator()(const ast::ParenthesesSelectable& s) const {
    if (s.elements.size() == 1 && receiver->kind() != TypeKind::kTuple) {
      return builder.assignable(s.elements[0], receiver);
    }
    if (!receiver->is_tuple() || s.elements.size() > receiver->elements().size()) return Assignable::kNo;
    for (size_t i = 0; i < s.elements.size(); ++i) {
      ASSIGN_OR_RETURN(Assignable fit, builder.assignable(s.elements[i], receiver->elements()[i]));
      if (fit == Assignable::kNo) return fit;
    }
    return Assignable::kWeak;
  }
  Result<Assignable> operator()(const ast::ArraySelectable& s) const {
    if (receiver->kind() != TypeKind::kList && receiver->kind() != TypeKind::kVector) {
      return unsupported_array(receiver);
    }
    return all_of(s.elements);
  }
  // No set literal fits a descending column's type. It becomes a receiver as the type of elements beside that column.
  Result<Assignable> operator()(const ast::SetSelectable& s) const {
    if (receiver->is_reversed()) return Assignable::kNo;
    if (receiver->kind() == TypeKind::kMap && s.elements.empty()) return Assignable::kWeak;
    return receiver->kind() == TypeKind::kSet ? all_of(s.elements) : Assignable::kNo;
  }
  Result<Assignable> operator()(const ast::MapOrUdtSelectable& s) const {
    if (receiver->is_udt()) return as_user_type(s);
    for (const auto& [key, mapped] : s.entries) {
      TRY(builder.resolve_names(key));
      TRY(builder.resolve_names(mapped));
    }
    if (receiver->kind() != TypeKind::kMap) return Assignable::kNo;
    Assignable all = Assignable::kExact;
    for (const auto& [key, mapped] : s.entries) {
      ASSIGN_OR_RETURN(Assignable key_fit, builder.assignable(key, receiver->elements()[0]));
      ASSIGN_OR_RETURN(Assignable fit, builder.assignable(mapped, receiver->elements()[1]));
      all = std::min({all, key_fit, fit});
      if (all == Assignable::kNo) return all;
    }
    return all;
  }
  // Only the hint's own type fits, frozen as it is.
  Result<Assignable> operator()(const ast::TypeHintSelectable&) const {
    ASSIGN_OR_RETURN(TypePtr type, builder.exact_type(selectable));
    return assignable_type(*type, receiver->base());
  }
  template <class Other>
  Result<Assignable> operator()(const Other&) const {
    ASSIGN_OR_RETURN(TypePtr type, builder.exact_type(selectable));
    return type == nullptr ? Assignable::kNo : fits(type, receiver);
  }

 private:
  Result<Assignable> all_of(const std::vector<ast::Selectable>& elements) const {
    Assignable all = elements.empty() ? Assignable::kWeak : Assignable::kExact;
    for (const auto& element : elements) {
      ASSIGN_OR_RETURN(Assignable fit, builder.assignable(element, receiver->elements()[0]));
      if (fit == Assignable::kNo) return fit;
      all = std::min(all, fit);
    }
    return all;
  }
  // Fields are looked at in the order of the type.
  Result<Assignable> as_user_type(const ast::MapOrUdtSelectable& s) const {
    std::vector<const ast::Selectable*> values(receiver->elements().size());
    for (const auto& entry : s.entries) {
      ASSIGN_OR_RETURN(size_t field, builder.field(entry, *receiver));
      TRY(builder.resolve_names(entry.value));
      values[field] = &entry.value;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == nullptr) continue;
      ASSIGN_OR_RETURN(Assignable fit, builder.assignable(*values[i], receiver->elements()[i]));
      if (fit == Assignable::kNo) return fit;
    }
    return Assignable::kWeak;
  }
};

}  // namespace

Result<TypePtr> SelectorBuilder::type_of(const ast::Selectable& selectable) {
  return std::visit(TypeOf{*this, &SelectorBuilder::type_of, selectable}, selectable.value);
}

Result<TypePtr> SelectorBuilder::exact_type(const ast::Selectable& selectable) {
  return std::visit(TypeOf{*this, &SelectorBuilder::exact_type, selectable}, selectable.value);
}

Result<Assignable> SelectorBuilder::passable(const ast::Selectable& selectable, const TypePtr& parameter) {
  ASSIGN_OR_RETURN(TypePtr type, exact_type(selectable));
  const bool several_cells = type != nullptr && type->is_multi_cell();
  const bool literal = std::holds_alternative<ast::ArraySelectable>(selectable.value) ||
                       std::holds_alternative<ast::SetSelectable>(selectable.value);
  if (!several_cells || literal) return assignable(selectable, parameter);
  return fits(types::freeze(type), parameter);
}

Result<Assignable> SelectorBuilder::assignable(const ast::Selectable& selectable, const TypePtr& receiver) {
  return std::visit(AssignabilityOfSelectable{*this, selectable, receiver}, selectable.value);
}

}  // namespace cassandra_like
