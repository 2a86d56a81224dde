// A partition that is about to be read or written: Engine::prefetch().
#pragma once

#include "base/uuid.h"
#include "model/key.h"

namespace cassandra_like {

struct PrefetchKey {
  Uuid table;
  Token token = kMinimumToken;
};

}  // namespace cassandra_like
