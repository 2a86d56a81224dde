// Partitions that an operator denies to clients (schema.PartitionDenylist): the rows of system_distributed.partition_denylist,
// as they were when they were read last.
//
// The keys of a table are read when a request asks for the table first, at the start of the node for all tables that have
// any, and again in the background once denylist_refresh has passed and a request asks. While too few replicas of the
// denylist live, a refresh keeps the keys that are known. Keys behind the limits are ignored, with a line in the log.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/log_quota.h"
#include "coordinator/context/options.h"
#include "model/mutation.h"
#include "read/read_command.h"
#include "runtime/async_mutex.h"
#include "runtime/runtime.h"
#include "schema/schema_store.h"

namespace cassandra_like {

// The coordinator, as the denylist asks it.
class DenylistReader {
 public:
  // Enough replicas of all tokens live for a read of the table.
  virtual bool can_read_all(const TableMetadata& table, Consistency consistency) = 0;
  virtual Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink) = 0;

 protected:
  ~DenylistReader() = default;
};

// One a shard.
class Denylist {
 public:
  // The denied keys of one table. Never changed.
  struct Keys {
    std::set<Bytes, std::less<>> keys;
    std::vector<Token> tokens;  // of the keys, sorted, each once
  };
  using KeysByTable = std::map<Uuid, std::shared_ptr<const Keys>>;

  // All outlive it.
  Denylist(ShardRuntime& runtime, SchemaStore& schema, DenylistReader& reader, const DenylistOptions& options,
           CoordinatorStatistics& statistics)
      : runtime_(runtime), schema_(schema), reader_(reader), options_(options), statistics_(statistics) {}
  Denylist(const Denylist&) = delete;
  Denylist& operator=(const Denylist&) = delete;

  // kInvalid, in Cassandra's words, for a request of a denied partition. Arguments are borrowed until the Task completes.
  Task<Status> check(std::span<const Mutation> mutations);
  Task<Status> check(const ReadCommand& command);

  // Reads the keys of all tables. Nothing: too few replicas live, try again later (PartitionDenylist.initialLoad).
  Task<std::optional<KeysByTable>> load();
  // In place of all that is known.
  void use(KeysByTable keys);
  // No refresh begins behind it.
  Task<void> stop() { co_await refreshes_.close(); }

 private:
  struct Known {
    std::shared_ptr<const Keys> keys;  // null: the table is gone
    int64_t read_at = 0;               // nanoseconds of the monotonic clock
    bool is_refreshed = false;         // that is under way
  };

  Task<Status> check_mutations(std::span<const Mutation> mutations);
  Task<Status> check_keys(const ReadCommand* command);
  Task<Status> check_range(const ReadCommand* command);
  // Null: the table is gone.
  Task<std::shared_ptr<const Keys>> keys_of(TablePtr table);
  Task<void> refresh(TablePtr table);
  bool can_read_all();
  Task<std::shared_ptr<const Keys>> read_keys(TablePtr table, size_t limit);
  TablePtr denylist_table() const { return schema_.current()->table("system_distributed", "partition_denylist"); }

  ShardRuntime& runtime_;
  SchemaStore& schema_;
  DenylistReader& reader_;
  const DenylistOptions& options_;
  CoordinatorStatistics& statistics_;
  std::map<Uuid, Known> known_;
  AsyncMutex first_reads_;  // of a table's keys: requests that come meanwhile wait for the first one's
  Gate refreshes_;
  LogQuota availability_log_{1};
};

}  // namespace cassandra_like
