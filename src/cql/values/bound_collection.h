// The bytes of collections and user types as clients send them, made into those that are stored.
#pragma once

#include "base/arena.h"
#include "base/result.h"
#include "model/types.h"

namespace cassandra_like {

// `value` with the elements of sets and the entries of maps in order and without repetition, and with numbers in their
// shortest form (CollectionSerializer's deserialize and serialize). A value that is so already is returned as it is.
// Errors: those of validation.
Result<BytesView> bound_collection(const Type& type, BytesView value, Arena& arena);
// The same of the list that is bound to IN ?, whose elements may be null.
Result<BytesView> bound_in_list(const Type& list, BytesView value, Arena& arena);
// `value`, valid for a user type, with -1 as the size of every null field: a client may say so with any negative one. A tuple
// keeps what the client sends.
BytesView bound_user_type(BytesView value, Arena& arena);

}  // namespace cassandra_like
