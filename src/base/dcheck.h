// Invariants that are checked while the node is developed: DCHECK is CHECK in the presets dev, asan, tsan and check, which do not
// define NDEBUG. The release build compiles the condition and never evaluates it, so a condition has no effects.
#pragma once

#include "base/result.h"

#ifdef NDEBUG
#define DCHECK(condition) (true ? void(0) : void(static_cast<bool>(condition)))
#else
#define DCHECK(condition) CHECK(condition)
#endif
