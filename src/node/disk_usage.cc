#include "node/disk_usage.h"

#include <cmath>
#include <set>

#include "base/log.h"

namespace cassandra_like {

namespace {

// The files below a directory.
Task<uint64_t> bytes_below(ShardRuntime* runtime, std::string directory) {
  uint64_t bytes = 0;
  std::vector<std::string> left{std::move(directory)};
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    const auto entries = runtime->disk.list(path);
    if (!entries.ok()) continue;  // a table that was dropped meanwhile
    for (const DirectoryEntry& entry : *entries) {
      if (entry.is_directory) {
        left.push_back(path + "/" + entry.name);
      } else {
        bytes += entry.size;
      }
    }
    co_await runtime->executor.yield();
  }
  co_return bytes;
}

// Directories of one file system have the same numbers at the same moment.
uint64_t free_bytes(Disk& disk, const std::vector<std::string>& directories) {
  std::set<std::pair<uint64_t, uint64_t>> file_systems;
  for (const std::string& directory : directories) {
    if (const auto space = disk.space(directory); space.ok()) file_systems.insert({space->total, space->available});
  }
  uint64_t bytes = 0;
  for (const auto& [total, available] : file_systems) bytes += available;
  return bytes;
}

bool is_on(const Guardrails& guardrails) {
  return guardrails.data_disk_usage_percentage_warn_threshold > 0 ||
         guardrails.data_disk_usage_percentage_fail_threshold > 0;
}

}  // namespace

DiskUsage DiskUsageMonitor::state_of(double used, const Guardrails& guardrails, int64_t* percentage) {
  *percentage = static_cast<int64_t>(std::ceil(used * 100));
  auto is_beyond = [&](int threshold) { return threshold > 0 && *percentage > threshold; };
  if (!is_on(guardrails)) return DiskUsage::kNotAvailable;
  if (is_beyond(guardrails.data_disk_usage_percentage_fail_threshold)) return DiskUsage::kFull;
  if (is_beyond(guardrails.data_disk_usage_percentage_warn_threshold)) return DiskUsage::kStuffed;
  return DiskUsage::kSpacious;
}

void DiskUsageMonitor::tell_log(DiskUsage state, int64_t percentage, const Guardrails& guardrails, int64_t now_nanos) {
  constexpr char kName[] = "Guardrail local_data_disk_usage violated: Local data disk usage";
  if (state == DiskUsage::kFull && failures_.take(now_nanos)) {
    LOG_ERROR("{} {}%(Full) exceeds failure threshold of {}%, will stop accepting writes", kName, percentage,
              guardrails.data_disk_usage_percentage_fail_threshold);
  } else if (state == DiskUsage::kStuffed && warnings_.take(now_nanos)) {
    LOG_WARN("{} {}%(Stuffed) exceeds warning threshold of {}%", kName, percentage,
             guardrails.data_disk_usage_percentage_warn_threshold);
  }
}

Task<std::optional<DiskUsage>> DiskUsageMonitor::look(ShardRuntime* runtime, std::vector<std::string> directories,
                                                      Guardrails guardrails, uint64_t memtable_bytes) {
  DiskUsage state = DiskUsage::kNotAvailable;
  if (is_on(guardrails)) {
    uint64_t used = 0;
    for (const std::string& directory : directories) {
      Task<uint64_t> counting = bytes_below(runtime, directory);
      used += co_await counting;
    }
    uint64_t total = used + free_bytes(runtime->disk, directories);
    if (guardrails.data_disk_usage_max_disk_size) total = std::min(total, *guardrails.data_disk_usage_max_disk_size);
    if (total == 0) co_return std::nullopt;
    int64_t percentage = 0;
    state = state_of(static_cast<double>(used + memtable_bytes) / static_cast<double>(total), guardrails, &percentage);
    tell_log(state, percentage, guardrails, runtime->clock.monotonic_nanos());
  }
  if (state == state_) co_return std::nullopt;
  state_ = state;
  co_return state;
}

}  // namespace cassandra_like
