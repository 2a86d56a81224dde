// Counts a program's heap allocations: operator new, also of what is aligned, in every thread. malloc is not counted.
#pragma once

#include <cstdint>

namespace cassandra_like {

// Since the program's start.
uint64_t allocations();

}  // namespace cassandra_like
