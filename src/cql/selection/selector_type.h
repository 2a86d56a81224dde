// Shared by the files that work with the types of selectables.
#pragma once

#include "cql/selection/selector.h"

namespace cassandra_like {

// `[a, b, …]` where neither a list nor a vector is wanted.
Error unsupported_array(const TypePtr& wanted);

}  // namespace cassandra_like
