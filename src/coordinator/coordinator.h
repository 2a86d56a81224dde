// Turns a request into verbs for the replicas that own its key, and their answers into one, at a consistency level.
//
// Unavailable is answered before anything is sent. There is one Coordinator a shard. With one node in the ring, the
// only replica is local, and a call that needs no waiting completes at once. All replicas, this node included, are
// asked through Verbs. The shard's topology says who they are and whether they live.
//
// A write that has to wait is waited for until its timeout; then its client is told WriteTimeout, and the write goes on.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coordinator/batchlog.h"
#include "coordinator/context/options.h"
#include "coordinator/quorum/consistency.h"
#include "messaging/link/trace.h"
#include "model/mutation.h"
#include "read/read_command.h"
#include "replica/replica.h"

namespace cassandra_like {

class Denylist;
class Hints;
class Messenger;
class ReplicatedWrites;
class Tracing;

// The way to other nodes. Both are null in a node that is alone for ever.
struct CoordinatorPeers {
  Messenger* messenger = nullptr;
  Hints* hints = nullptr;
};

class Coordinator {
 public:
  static std::unique_ptr<Coordinator> create(ShardRuntime& runtime, Replica& replica, CoordinatorOptions options,
                                             CoordinatorPeers peers = {});
  virtual ~Coordinator() = default;

  // Mutations are borrowed until the Task completes, which the timeout bounds. kBatch (a logged batch of several
  // mutations) is written to the batchlog first, so that a batch that is interrupted is finished.
  virtual Task<Status> write(std::span<const Mutation> mutations, Consistency consistency, WriteType type,
                             const TracePtr& trace = kUntraced) = 0;
  virtual Task<Status> write_counters(std::span<const Mutation> mutations, Consistency consistency,
                                      const TracePtr& trace = kUntraced) = 0;
  // warnings: of the replicas, for the client; borrowed like the command.
  virtual Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink,
                                            const TracePtr& trace = kUntraced,
                                            std::vector<std::string>* warnings = nullptr) = 0;
  virtual Task<Status> truncate(TablePtr table) = 0;
  virtual Batchlog& batchlog() = 0;
  // For the requests of other nodes.
  virtual ReplicatedWrites& replicated_writes() = 0;
  virtual Tracing& tracing() = 0;
  // Ends the rounds of the batchlog and waits for all writes that are under way, also those that nobody waits for any
  // more. Afterwards a write that has to wait is refused.
  virtual Task<void> stop() = 0;

  // nullptr: partition_denylist_enabled is false.
  virtual Denylist* denylist() = 0;
  virtual const CoordinatorOptions& options() const = 0;
  // One of the timeouts of the options, for requests that begin from now on.
  virtual void set_timeout(Duration CoordinatorOptions::*which, Duration timeout) = 0;
  virtual Replica& replica() = 0;
  virtual SchemaStore& schema() = 0;
  virtual const CoordinatorStatistics& statistics() const = 0;
  virtual CoordinatorStatistics& statistics() = 0;
  // nullptr: nobody has asked for the table yet.
  virtual const TableRequests* requests(const Uuid& table) const = 0;
};

}  // namespace cassandra_like
