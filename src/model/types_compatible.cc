// Tells whether a type can read the values of another: AbstractType.isCompatibleWith (they also order them alike),
// isValueCompatibleWith, and isSerializationCompatibleWith (cells of both are laid out alike).
#include <algorithm>

#include "model/types_internal.h"

namespace cassandra_like {

namespace {

bool is_compatible(const Type& now, const Type& before);
bool is_value_compatible(const Type& now, const Type& before);

bool is_one_of(TypeKind kind, std::initializer_list<TypeKind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// Tuples, UDTs and composites may gain elements at the end.
template <class Predicate>
bool extends(const Type& now, const Type& before, Predicate compatible) {
  const auto &n = now.elements(), &b = before.elements();
  if (n.size() < b.size()) return false;
  for (size_t i = 0; i < b.size(); ++i) {
    if (!compatible(*n[i], *b[i])) return false;
  }
  return true;
}

bool is_serialization_compatible(const Type& now, const Type& before) {
  if (!is_value_compatible(now, before)) return false;
  if (now.is_collection() && !now.is_reversed()) {
    // The cells of a set have empty values.
    return now.kind() == TypeKind::kSet ||
           is_serialization_compatible(*now.elements().back(), *before.elements().back());
  }
  if (now.kind() == TypeKind::kBlob && (before.is_collection() || before.is_udt())) return false;
  return now.fixed_length() == before.fixed_length() && now.is_multi_cell() == before.is_multi_cell();
}

bool is_compatible_collection(const Type& now, const Type& before) {
  if (now.kind() != before.kind() || now.is_multi_cell() != before.is_multi_cell()) return false;
  const auto &n = now.elements(), &b = before.elements();
  if (!now.is_multi_cell()) return extends(now, before, is_compatible);
  const bool names = now.kind() == TypeKind::kList || is_compatible(*n[0], *b[0]);
  return names && (now.kind() == TypeKind::kSet || is_serialization_compatible(*n.back(), *b.back()));
}

bool is_value_compatible_collection(const Type& now, const Type& before) {
  if (now.is_multi_cell() || now.kind() == TypeKind::kSet) return is_compatible_collection(now, before);
  if (now.kind() != before.kind() || before.is_multi_cell()) return false;
  const auto &n = now.elements(), &b = before.elements();
  return is_value_compatible(*n.back(), *b.back()) && (now.kind() == TypeKind::kList || is_compatible(*n[0], *b[0]));
}

bool is_compatible_dynamic(const Type& now, const Type& before) {
  std::string now_name = now.class_name(), before_name = before.class_name();
  // Each alias=>type of the old must be in the new: compare what the class names list between parentheses.
  auto aliases = [](std::string_view name) {
    name = name.substr(name.find('(') + 1);
    name.remove_suffix(1);
    return "," + std::string(name) + ",";
  };
  std::string all = aliases(now_name), old = aliases(before_name);
  for (size_t start = 0, end; (end = old.find(',', start + 1)) != old.npos; start = end) {
    if (all.find(old.substr(start, end - start + 1)) == all.npos) return false;
  }
  return true;
}

bool is_compatible(const Type& now, const Type& before) {
  if (&now == &before) return true;
  if (now.is_reversed()) return before.is_reversed() && is_compatible(now.base(), before.base());
  if (before.is_reversed()) return false;
  switch (now.kind()) {
    case TypeKind::kBlob:
      return is_one_of(before.kind(), {TypeKind::kBlob, TypeKind::kAscii, TypeKind::kText});
    case TypeKind::kText:
      return is_one_of(before.kind(), {TypeKind::kText, TypeKind::kAscii});
    case TypeKind::kTimestamp:
    case TypeKind::kLegacyTimestamp:
      return is_one_of(before.kind(), {TypeKind::kTimestamp, TypeKind::kLegacyTimestamp});
    case TypeKind::kList:
    case TypeKind::kSet:
    case TypeKind::kMap:
      return is_compatible_collection(now, before);
    case TypeKind::kTuple:
    case TypeKind::kUdt:
      return before.is_tuple() && extends(now, before, is_compatible);
    case TypeKind::kComposite:
      return before.kind() == now.kind() && extends(now, before, is_compatible);
    case TypeKind::kDynamicComposite:
      return before.kind() == now.kind() && is_compatible_dynamic(now, before);
    default:
      return now.equals(before);
  }
}

bool is_value_compatible_udt(const Type& now, const Type& before) {
  if (!before.is_udt() || before.is_reversed() || now.is_multi_cell() != before.is_multi_cell()) return false;
  return static_cast<const UserType&>(now).keyspace() == static_cast<const UserType&>(before).keyspace() &&
         extends(now, before, is_compatible);
}

// Neither is reversed.
bool is_value_compatible_base(const Type& now, const Type& before) {
  TypeKind b = before.kind();
  switch (now.kind()) {
    case TypeKind::kBlob:
      return true;
    case TypeKind::kBigint:
    case TypeKind::kTimestamp:
    case TypeKind::kLegacyTimestamp:
      return is_one_of(b, {TypeKind::kBigint, TypeKind::kTimestamp, TypeKind::kLegacyTimestamp});
    case TypeKind::kVarint:
      return is_one_of(
          b, {TypeKind::kVarint, TypeKind::kInt, TypeKind::kBigint, TypeKind::kTimestamp, TypeKind::kLegacyTimestamp});
    case TypeKind::kDate:
      return is_one_of(b, {TypeKind::kDate, TypeKind::kInt});
    case TypeKind::kTime:
      return is_one_of(b, {TypeKind::kTime, TypeKind::kBigint});
    case TypeKind::kUuid:
      return is_one_of(b, {TypeKind::kUuid, TypeKind::kTimeuuid});
    case TypeKind::kList:
    case TypeKind::kSet:
    case TypeKind::kMap:
      return is_value_compatible_collection(now, before);
    case TypeKind::kTuple:
      return before.is_tuple() && extends(now, before, is_value_compatible);
    case TypeKind::kComposite:
      return b == now.kind() && extends(now, before, is_value_compatible);
    default:
      return is_compatible(now, before);
  }
}

bool is_value_compatible(const Type& now, const Type& before) {
  if (now.is_udt() && !now.is_reversed()) return &now == &before || is_value_compatible_udt(now, before);
  return is_value_compatible_base(now.base(), before.base());
}

}  // namespace

bool Type::is_value_compatible_with(const Type& previous) const { return is_value_compatible(*this, previous); }

bool Type::is_serialization_compatible_with(const Type& previous) const {
  return is_serialization_compatible(*this, previous);
}

// Cassandra's referencesDuration does not look into vectors either.
bool contains_duration(const Type& type) {
  if (type.kind() == TypeKind::kDuration) return true;
  if (!type.is_collection() && !type.is_tuple()) return false;
  return std::any_of(type.elements().begin(), type.elements().end(),
                     [](const TypePtr& element) { return contains_duration(*element); });
}

}  // namespace cassandra_like
