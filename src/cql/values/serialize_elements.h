// Serialized collections, tuples and vectors made of the serialized values of their elements.
#pragma once

#include <vector>

#include "model/types.h"

namespace cassandra_like {

Bytes serialize_list(const std::vector<BytesView>& values);
// A set or map: sorted, without repetition. `stride` values belong together (a map's key and value). The first of equal keys
// stays, since they may be of different bytes, and the last value (java.util.TreeMap.put).
Bytes serialize_sorted(const Type& key, std::vector<BytesView> values, size_t stride);
Bytes serialize_tuple(const std::vector<BytesView>& values);
// Elements of a fixed length stand one after the other, others behind their length as a vint.
Bytes serialize_vector(const Type& element, const std::vector<BytesView>& values);

}  // namespace cassandra_like
