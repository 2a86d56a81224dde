// The limits of this process's control groups, as a container sets them: `docker run --memory --cpus`, Kubernetes'
// resources.limits, systemd's MemoryMax and CPUQuota. Both versions of the kernel's interface, cgroups(7): cgroup2's
// memory.max and cpu.max; the first version's memory.limit_in_bytes, cpu.cfs_quota_us and cpu.cfs_period_us. A group
// obeys the limits of those above it, too: the lowest counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cassandra_like {

struct ControlGroupLimits {
  std::optional<uint64_t> memory_bytes;
  std::optional<double> cores;  // a quota of 150 ms in 100 ms is 1.5

  bool operator==(const ControlGroupLimits&) const = default;
};

// Nothing is limited where a file is missing or says nothing that is understood. `root` is the directory that holds
// proc and the mounted groups: another than "/" in tests.
ControlGroupLimits control_group_limits(const std::string& root = "/");

// The part of the machine that this process may use, by its affinity and its control groups. One core at least.
struct MachineShare {
  unsigned cores = 1;
  uint64_t memory_bytes = 0;
  bool memory_is_limited = false;  // by a control group
};
MachineShare machine_share();

}  // namespace cassandra_like
