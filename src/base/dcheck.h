// DCHECK(condition): an invariant that is checked while the node is developed and tested.
//
// The presets dev, asan, tsan and check do not define NDEBUG: there it is a CHECK. With NDEBUG the condition is compiled and
// never evaluated, and costs no instruction. So a condition has no effects, and it may take its time: it may look at a whole
// list, where CHECK (base/result.h) looks at a number.
#pragma once

#include "base/result.h"

#ifdef NDEBUG
#define DCHECK(condition) (true ? void(0) : void(static_cast<bool>(condition)))
#else
#define DCHECK(condition) CHECK(condition)
#endif
