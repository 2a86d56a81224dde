// A place in the commit log of one shard.
#pragma once

#include <compare>
#include <cstdint>

namespace cassandra_like {

struct CommitLogPosition {
  int64_t segment = -1;
  int32_t position = 0;
  auto operator<=>(const CommitLogPosition&) const = default;
};

}  // namespace cassandra_like
