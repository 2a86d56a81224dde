// The requests of one node to another, or to itself: those of the internode protocol (net.Verb), as calls.
//
// The coordinator knows replicas only through this interface. The local node's implementation (replica/) finds the
// owning shard; a peer's sends a message. Calls complete at once (Task::ready) when the answer needs no waiting.
#pragma once

#include <optional>

#include "model/mutation.h"
#include "read/read_command.h"
#include "runtime/task.h"

namespace cassandra_like {

class Verbs {
 public:
  virtual ~Verbs() = default;

  // MUTATION_REQ. The mutation is borrowed until the Task completes.
  virtual Task<Status> mutate(const Mutation& mutation) = 0;
  // COUNTER_MUTATION_REQ, to the leader: cells hold deltas (bigint).
  virtual Task<Status> mutate_counter(const Mutation& mutation) = 0;
  // READ_REQ, RANGE_REQ. The command and sink are borrowed until the Task completes. A sink that returns kStop ends
  // the read. kReadTimeout when the deadline, of the monotonic clock, has passed before it.
  virtual Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink,
                                            int64_t deadline = kNoDeadline) = 0;
  // TRUNCATE_REQ.
  virtual Task<Status> truncate(TablePtr table) = 0;
};

}  // namespace cassandra_like
