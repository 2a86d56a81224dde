// A partition that is about to be read or written: Engine::prefetch().
#pragma once

#include <optional>

#include "base/uuid.h"
#include "model/key.h"

namespace cassandra_like {

struct PrefetchKey {
  Uuid table;
  Token token = kMinimumToken;
  std::optional<KeyHash> hash = std::nullopt;  // of one that is about to be read
};

}  // namespace cassandra_like
