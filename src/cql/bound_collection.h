// The bytes of collections as clients send them, made into those that are stored.
#pragma once

#include "base/arena.h"
#include "base/result.h"
#include "model/types.h"

namespace cassandra_like {

// `value` with the elements of sets and the entries of maps in order and without repetition, and with numbers in their
// shortest form (CollectionSerializer's deserialize and serialize). A value that is so already is returned as it is.
// Errors: those of validation.
Result<BytesView> bound_collection(const Type& type, BytesView value, Arena& arena);

}  // namespace cassandra_like
