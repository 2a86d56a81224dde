// Cassandra's form of a bound collection: it reads the elements into Java's collections and writes them again. Hence
// tuples and user types inside are untouched, for they stay bytes. For a user type by itself it writes the sizes of fields again.
#include "cql/values/bound_collection.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Elements = std::vector<Bytes>;

bool has_null_elements(const Type& type) {
  return type.kind() == TypeKind::kList && !type.is_multi_cell() && type.elements()[0]->is_empty_meaningless();
}

bool may_change(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kSet:
    case TypeKind::kMap:
    case TypeKind::kVarint:
    case TypeKind::kDecimal:
    case TypeKind::kBoolean:
      return true;
    case TypeKind::kList:
      return has_null_elements(type) || may_change(*type.elements()[0]);
    default:
      return false;
  }
}

Bytes rewritten(const Type& type, BytesView value, bool outermost);

// Where entries begin, `stride` elements for each.
std::vector<size_t> all_entries(const Elements& elements, size_t stride) {
  std::vector<size_t> all;
  for (size_t i = 0; i < elements.size(); i += stride) all.push_back(i);
  return all;
}

// The entries without those whose key has the bytes of an earlier one, which takes their value.
std::vector<size_t> entries_of_other_bytes(Elements& elements, size_t stride) {
  absl::flat_hash_map<BytesView, size_t> first;
  std::vector<size_t> kept;
  for (size_t i = 0; i < elements.size(); i += stride) {
    auto [same, is_first] = first.try_emplace(elements[i], i);
    if (is_first) {
      kept.push_back(i);
    } else if (stride == 2) {
      elements[same->second + 1] = std::move(elements[i + 1]);
    }
  }
  return kept;
}

// Keys in order, `stride` elements for each. Equal keys are one: at the top those that compare as equal, inside those of
// the same bytes. The first key and the last value of them stay. A client chooses the elements: no step is quadratic.
Elements in_order(const Type& key, Elements elements, size_t stride, bool outermost) {
  std::vector<size_t> kept = outermost ? all_entries(elements, stride) : entries_of_other_bytes(elements, stride);
  std::stable_sort(kept.begin(), kept.end(),
                   [&](size_t a, size_t b) { return key.compare(elements[a], elements[b]) < 0; });
  Elements sorted;
  for (size_t i : kept) {
    const bool is_same = outermost && !sorted.empty() && key.compare(sorted[sorted.size() - stride], elements[i]) == 0;
    if (!is_same) {
      for (size_t k = 0; k < stride; ++k) sorted.push_back(std::move(elements[i + k]));
    } else if (stride == 2) {
      sorted.back() = std::move(elements[i + 1]);
    }
  }
  return sorted;
}

Bytes rewritten_list(const Type& type, BytesView value, bool outermost) {
  // An empty number in a frozen list becomes null, which lists may hold as what IN compares with.
  const bool nulls = outermost && has_null_elements(type);
  ElementReader in = ElementReader::collection(value);
  Bytes out;
  append_be(out, in.count());
  for (BytesView element; in.next(&element);) {
    const Bytes one = rewritten(*type.elements()[0], element, false);
    append_element(out, is_null(element) || (nulls && one.empty()) ? kNull : BytesView(one));
  }
  return out;
}

Bytes rewritten_collection(const Type& type, BytesView value, bool outermost) {
  const std::vector<TypePtr>& types = type.elements();
  Elements elements;
  ElementReader in = ElementReader::collection(value);
  BytesView element;
  while (in.next(&element)) elements.push_back(rewritten(*types[elements.size() % types.size()], element, false));
  elements = in_order(*types[0], std::move(elements), types.size(), outermost);
  Bytes out;
  append_be(out, static_cast<int32_t>(elements.size() / types.size()));
  for (const Bytes& one : elements) append_element(out, one);
  return out;
}

// Two's complement without leading bytes that say nothing.
BytesView shortest(BytesView integer) {
  while (integer.size() > 1) {
    const bool negative = (integer[1] & 0x80) != 0;
    if (static_cast<uint8_t>(integer[0]) != (negative ? 0xFF : 0)) break;
    integer.remove_prefix(1);
  }
  return integer;
}

Bytes rewritten(const Type& reversible, BytesView value, bool outermost) {
  const Type& type = reversible.base();
  if (value.empty()) return Bytes(value);
  switch (type.kind()) {
    case TypeKind::kVarint:
      return Bytes(shortest(value));
    case TypeKind::kDecimal:
      return value.size() <= 4 ? Bytes(value) : Bytes(value.substr(0, 4)) + Bytes(shortest(value.substr(4)));
    case TypeKind::kBoolean:
      return Bytes(1, value[0] == 0 ? '\0' : '\1');
    case TypeKind::kList:
      return rewritten_list(type, value, outermost);
    case TypeKind::kSet:
    case TypeKind::kMap:
      return rewritten_collection(type, value, outermost);
    default:
      return Bytes(value);
  }
}

// Cassandra reads a list as one that may hold nulls, and only then, if at all, as one that may not.
Status check_but_for_nulls(const Type& list, BytesView value) {
  ElementReader in = ElementReader::collection(value);
  BytesView element;
  for (int32_t i = 0; i < in.count(); ++i) {
    if (!in.next(&element)) return invalid("Not enough bytes to read a list");
    if (!is_null(element)) TRY(list.elements()[0]->validate(element));
  }
  if (in.failed()) return invalid("Not enough bytes to read a list");
  return in.at_end() ? Status() : invalid("Unexpected extraneous bytes after list value");
}

Status check_count(const Type& type, BytesView value) {
  if (value.size() < 4 || static_cast<int8_t>(value[0]) >= 0) return {};
  constexpr std::string_view kNames[] = {"list", "set", "map"};
  size_t kind = type.kind() == TypeKind::kList ? 0 : type.kind() == TypeKind::kSet ? 1 : 2;
  return invalid("The data cannot be deserialized as a " + std::string(kNames[kind]));
}

BytesView rewritten_if_needed(const Type& type, BytesView value, Arena& arena) {
  if (!may_change(type)) return value;
  Bytes stored = rewritten(type, value, true);
  return stored == value ? value : arena.copy(stored);
}

}  // namespace

Result<BytesView> bound_collection(const Type& reversible, BytesView value, Arena& arena) {
  const Type& type = reversible.base();
  TRY(check_count(type, value));
  if (Status status = type.validate(value); !status.ok()) {
    if (type.kind() == TypeKind::kList) TRY(check_but_for_nulls(type, value));
    return std::move(status.error());
  }
  return rewritten_if_needed(type, value, arena);
}

Result<BytesView> bound_in_list(const Type& list, BytesView value, Arena& arena) {
  TRY(check_count(list, value));
  TRY(check_but_for_nulls(list, value));
  return rewritten_if_needed(list, value, arena);
}

BytesView bound_user_type(BytesView value, Arena& arena) {
  constexpr BytesView kNullSize = "\xff\xff\xff\xff";
  bool changes = false;
  size_t at = 0;
  BytesView field;
  for (ElementReader in = ElementReader::tuple(value); in.next(&field); at += 4 + field.size()) {
    changes = changes || (is_null(field) && value.substr(at, 4) != kNullSize);
  }
  if (!changes) return value;
  Bytes stored;
  for (ElementReader in = ElementReader::tuple(value); in.next(&field);) append_element(stored, field);
  return arena.copy(stored);
}

}  // namespace cassandra_like
