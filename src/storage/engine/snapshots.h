// Snapshots: copies of a table's SSTables as hard links, in <table>/snapshots/<tag>/ of each data directory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/disk.h"
#include "storage/options.h"

namespace cassandra_like {

struct SnapshotInfo {
  std::string tag, keyspace, table;
  uint64_t true_bytes = 0;  // what only the snapshot holds
  uint64_t total_bytes = 0;
  int64_t created_millis = 0;
  int64_t expires_millis = 0;  // 0: never
};

// The properties of a snapshot to take.
struct SnapshotRequest {
  // Not an aggregate: GCC 12 destroys an aggregate temporary twice when it is the argument of an awaited call.
  SnapshotRequest() = default;
  explicit SnapshotRequest(std::string t, std::string cql = "") : tag(std::move(t)), schema_cql(std::move(cql)) {}
  std::string tag;
  std::string schema_cql;
  bool skip_flush = false;
  bool with_unread = false;  // also SSTables that are not used because they are damaged
  int64_t ttl_millis = 0;    // 0: it stays
};

// Node-wide, by any shard: they only look at directories.
Result<std::vector<SnapshotInfo>> list_snapshots(Disk& disk, const EngineOptions& options);
// A table that was dropped may have left a snapshot of another one of this name: it does not count.
bool has_snapshot(Disk& disk, const EngineOptions& options, const TableMetadata& table, const std::string& tag);
// Removes the snapshots whose time has come.
Status clear_expired_snapshots(Disk& disk, const EngineOptions& options, int64_t now_millis);
// An empty keyspace or tag stands for all. A snapshot that cannot be removed keeps no other; the first failure is returned.
Status clear_snapshot(Disk& disk, const EngineOptions& options, const std::string& keyspace, const std::string& tag);

}  // namespace cassandra_like
