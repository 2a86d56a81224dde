// What Cassandra makes of a bound collection: it reads the elements into Java's collections and writes them again. Of that,
// tuples and user types inside are untouched, for they stay bytes. Of a tuple by itself it writes the sizes of fields again.
#include "cql/bound_collection.h"

#include <algorithm>

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

// Keys in order, `stride` elements for each. Equal keys are one: at the top those that compare as equal, inside those of
// the same bytes. The first key and the last value of them stay.
Elements in_order(const Type& key, Elements elements, size_t stride, bool outermost) {
  std::vector<size_t> kept;
  for (size_t i = 0; i < elements.size(); i += stride) {
    auto same = std::find_if(kept.begin(), kept.end(), [&](size_t other) {
      return outermost ? key.compare(elements[other], elements[i]) == 0 : elements[other] == elements[i];
    });
    if (same == kept.end()) {
      kept.push_back(i);
    } else if (stride == 2) {
      elements[*same + 1] = std::move(elements[i + 1]);
    }
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [&](size_t a, size_t b) { return key.compare(elements[a], elements[b]) < 0; });
  Elements sorted;
  for (size_t i : kept) {
    for (size_t k = 0; k < stride; ++k) sorted.push_back(std::move(elements[i + k]));
  }
  return sorted;
}

Bytes rewritten_collection(const Type& type, BytesView value, bool outermost) {
  const std::vector<TypePtr>& types = type.elements();
  // An empty number in a frozen list becomes null, which lists may hold as what IN compares with.
  const bool nulls = outermost && has_null_elements(type);
  Elements elements;
  ElementReader in = ElementReader::collection(value);
  BytesView element;
  while (in.next(&element)) elements.push_back(rewritten(*types[elements.size() % types.size()], element, false));
  if (type.kind() != TypeKind::kList) elements = in_order(*types[0], std::move(elements), types.size(), outermost);
  Bytes out;
  append_be(out, static_cast<int32_t>(elements.size() / types.size()));
  for (const Bytes& one : elements) append_element(out, nulls && one.empty() ? kNull : BytesView(one));
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
    case TypeKind::kSet:
    case TypeKind::kMap:
      return rewritten_collection(type, value, outermost);
    default:
      return Bytes(value);
  }
}

}  // namespace

Result<BytesView> bound_collection(const Type& reversible, BytesView value, Arena& arena) {
  const Type& type = reversible.base();
  if (value.size() >= 4 && static_cast<int8_t>(value[0]) < 0) {
    constexpr std::string_view kNames[] = {"list", "set", "map"};
    size_t kind = type.kind() == TypeKind::kList ? 0 : type.kind() == TypeKind::kSet ? 1 : 2;
    return invalid("The data cannot be deserialized as a " + std::string(kNames[kind]));
  }
  if (Status status = type.validate(value); !status.ok()) return std::move(status.error());
  if (!may_change(type)) return value;
  Bytes stored = rewritten(type, value, true);
  return stored == value ? value : arena.copy(stored);
}

BytesView bound_tuple(BytesView value, Arena& arena) {
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
