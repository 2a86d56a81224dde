// How full this node's data directories are, for the guardrail data_disk_usage_percentage: what it tells other nodes
// (service.disk.usage.DiskUsageMonitor). A coordinator refuses writes whose replica tells that it is full.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log_quota.h"
#include "cql/context/guardrails.h"
#include "ring/topology.h"
#include "runtime/runtime.h"
#include "runtime/task.h"

namespace cassandra_like {

class DiskUsageMonitor {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(30);

  // A new state to tell; nullopt: the same as before. `memtable_bytes` will be in the directories, too. Pauses after each directory.
  Task<std::optional<DiskUsage>> look(ShardRuntime* runtime, std::vector<std::string> directories,
                                      Guardrails guardrails, uint64_t memtable_bytes);

  // The state for a share of 1 that is used, and what it is in per cent.
  static DiskUsage state_of(double used, const Guardrails& guardrails, int64_t* percentage);

 private:
  void tell_log(DiskUsage state, int64_t percentage, const Guardrails& guardrails, int64_t now_nanos);

  DiskUsage state_ = DiskUsage::kNotAvailable;
  LogQuota warnings_{1, 30 * LogQuota::kMinute}, failures_{1, 30 * LogQuota::kMinute};
};

}  // namespace cassandra_like
