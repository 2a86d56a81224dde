// The requests of one node to another, or to itself: those of the internode protocol (net.Verb), as calls.
//
// The coordinator knows replicas only through this interface. The local node's implementation (replica/) finds the
// owning shard; a peer's sends a message. Calls complete at once (Task::ready) when the answer needs no waiting.
//
// Who owns a mutation: the caller, until the call returns. It may free the rows then, whether or not the Task is ready.
// A Task that is not ready owns what it needs, as bytes that all holders share (SerializedMutation). It has to be awaited
// or spawned, or else the write does not happen; it ends by itself, also when nobody waits for its result any more.
// Reads are different: their command and sink are borrowed until the Task completes.
#pragma once

#include <optional>

#include "model/serialized_mutation.h"
#include "read/read_command.h"
#include "read/read_request.h"
#include "read/unfiltered_sink.h"
#include "runtime/task.h"

namespace cassandra_like {

class Verbs {
 public:
  virtual ~Verbs() = default;

  // MUTATION_REQ.
  virtual Task<Status> mutate(const MutationPayload& mutation) = 0;
  // COUNTER_MUTATION_REQ, to the leader: cells hold increments (make_counter_update). Returns the mutation that the leader applied, whose
  // cells hold its sums.
  virtual Task<Result<SerializedMutation>> mutate_counter(const MutationPayload& deltas) = 0;
  // READ_REQ, RANGE_REQ. The command and sink are borrowed until the Task completes. A sink that returns kStop ends
  // the read. kReadTimeout when the deadline has passed before it. Both times are of the monotonic clock; who has just
  // looked at it says so with `begun`, so that this is not done twice.
  virtual Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink, int64_t deadline = kNoDeadline,
                                            int64_t begun = kBeginsNow) = 0;
  // READ_REQ, RANGE_REQ, as another node asks: partitions with their tombstones, in ring order. Request and sink are
  // borrowed until the Task completes; the sink may be called on another shard, while this one waits.
  virtual Task<Result<ReadStatistics>> read_unfiltered(const ReadRequest& request, UnfilteredSink& sink,
                                                       int64_t deadline = kNoDeadline) = 0;
  // TRUNCATE_REQ.
  virtual Task<Status> truncate(TablePtr table) = 0;
};

}  // namespace cassandra_like
