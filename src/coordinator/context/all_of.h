// Writes that end together.
#pragma once

#include "absl/container/inlined_vector.h"
#include "base/result.h"
#include "runtime/task.h"

namespace cassandra_like {

// Mostly one.
using Writes = absl::InlinedVector<Task<Status>, 1>;
// Starts all of them; completes when all have ended, with the first error.
Task<Status> all_of(Writes writes);

}  // namespace cassandra_like
