// Work that takes long, which no shard's loop can spare: hashing a password, for one.
#pragma once

#include "absl/functional/any_invocable.h"
#include "runtime/task.h"

namespace cassandra_like {

class Blocking {
 public:
  virtual ~Blocking() = default;
  // Runs work beside the shards, in the order of the calls, and goes on with the calling shard afterwards. Work may touch
  // nothing that a shard uses meanwhile. It has not run, or its Task does not go on, when the runtime stops before.
  virtual Task<void> run(absl::AnyInvocable<void()> work) = 0;
};

}  // namespace cassandra_like
