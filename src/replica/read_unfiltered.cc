// The answer to another node: from the shard of a key, or from all shards in ring order.
#include "replica/replica_impl.h"
#include "storage/engine/read_unfiltered_range.h"

namespace cassandra_like {

Task<Result<ReadStatistics>> ReplicaImpl::read_unfiltered(const ReadRequest& request, UnfilteredSink& sink,
                                                          int64_t deadline) {
  const ReadCommand& command = request.command;
  if (command.table->is_virtual) {
    return Result<ReadStatistics>(
        invalid("Virtual table " + command.table->qualified_name() + " is read by its own node alone"));
  }
  if (shard_count_ == 1) return engine().read_unfiltered(request, sink, deadline);
  if (command.range) {
    UnfilteredRangeRead read;
    read.runtime = &shared_.runtime;
    read.here = shard_;
    for (const auto& engine : shared_.engines) read.engines.push_back(engine.get());
    read.request = &request;
    read.sink = &sink;
    read.deadline = deadline;
    return read_unfiltered_range(std::move(read));
  }
  const bool local = owner(command.keys[0]) == shard_;
  count(local);
  return local ? engine().read_unfiltered(request, sink, deadline) : read_unfiltered_key(&request, &sink, deadline);
}

// The owner writes to the sink where it lies, while this shard waits.
Task<Result<ReadStatistics>> ReplicaImpl::read_unfiltered_key(const ReadRequest* request, UnfilteredSink* sink,
                                                              int64_t deadline) {
  const unsigned shard = owner(request->command.keys[0]);
  auto read = [engine = shared_.engines[shard].get(), request, sink, deadline] {
    return engine->read_unfiltered(*request, *sink, deadline);
  };
  return run_on<Result<ReadStatistics>>(executor(shard_), executor(shard), read);
}

}  // namespace cassandra_like
