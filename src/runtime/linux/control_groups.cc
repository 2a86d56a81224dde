// Control groups are found in /proc/self/cgroup, their directories in /proc/self/mountinfo: proc(5).
#include "runtime/linux/control_groups.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace cassandra_like {
namespace {

// A hierarchy of groups that is mounted: `group` is the one that the directory shows.
struct Mount {
  std::string directory;
  std::string group;
};

class ControlGroups {
 public:
  explicit ControlGroups(std::string root) : root_(std::move(root)) {}

  ControlGroupLimits limits() {
    each_level("", [this](const std::string& directory) {
      lower(limits_.memory_bytes, number<uint64_t>(directory + "/memory.max"));
      const std::vector<std::string> quota = absl::StrSplit(first_line(directory + "/cpu.max"), ' ');
      if (quota.size() == 2) lower(limits_.cores, ratio(quota[0], quota[1]));
    });
    // Where nothing is limited the file holds the largest number of whole pages.
    constexpr uint64_t kUnlimited = uint64_t{1} << 62;
    each_level("memory", [this](const std::string& directory) {
      auto bytes = number<uint64_t>(directory + "/memory.limit_in_bytes");
      if (bytes && *bytes < kUnlimited) lower(limits_.memory_bytes, bytes);
    });
    each_level("cpu", [this](const std::string& directory) {
      lower(limits_.cores,
            ratio(first_line(directory + "/cpu.cfs_quota_us"), first_line(directory + "/cpu.cfs_period_us")));
    });
    return limits_;
  }

 private:
  // The directories of this process's group and of those above it, as far as they are mounted. No controller: the
  // hierarchy of version 2.
  template <class Visit>
  void each_level(const std::string& controller, Visit visit) const {
    const std::optional<Mount> mount = mount_of(controller);
    std::optional<std::string> group = group_of(controller);
    if (!mount || !group) return;
    // In a container that sees its host's names, the mounted directory is the group itself.
    absl::string_view below = *group;
    if (mount->group != "/" && !absl::ConsumePrefix(&below, mount->group)) below = "";
    std::string directory = mount->directory + std::string(absl::StripSuffix(below, "/"));
    while (directory.size() >= mount->directory.size()) {
      visit(directory);
      directory = directory.substr(0, directory.rfind('/'));
    }
  }

  std::optional<std::string> group_of(const std::string& controller) const {
    std::ifstream file(root_ + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
      if (fields.size() != 3) continue;
      const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
      if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) return fields[2];
    }
    return std::nullopt;
  }

  std::optional<Mount> mount_of(const std::string& controller) const {
    std::ifstream file(root_ + "/proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
      if (halves.size() != 2) continue;
      const std::vector<std::string> place = absl::StrSplit(halves[0], ' '), kind = absl::StrSplit(halves[1], ' ');
      if (place.size() < 5 || kind.size() < 3) continue;
      const std::vector<absl::string_view> options = absl::StrSplit(kind[2], ',');
      const bool is_asked = controller.empty() ? kind[0] == "cgroup2"
                                               : kind[0] == "cgroup" && std::find(options.begin(), options.end(),
                                                                                  controller) != options.end();
      if (is_asked) return Mount{root_ + place[4], place[3]};
    }
    return std::nullopt;
  }

  static std::string first_line(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
  }

  template <class Number>
  static std::optional<Number> number(const std::string& path) {
    Number value = 0;
    if (!absl::SimpleAtoi(first_line(path), &value)) return std::nullopt;
    return value;
  }

  // "max" and -1 are no quota.
  static std::optional<double> ratio(absl::string_view quota, absl::string_view period) {
    int64_t used = 0, of = 0;
    if (!absl::SimpleAtoi(quota, &used) || !absl::SimpleAtoi(period, &of) || used <= 0 || of <= 0) return std::nullopt;
    return static_cast<double>(used) / static_cast<double>(of);
  }

  template <class T>
  static void lower(std::optional<T>& limit, const std::optional<T>& other) {
    if (other && (!limit || *other < *limit)) limit = other;
  }

  const std::string root_;
  ControlGroupLimits limits_;
};

unsigned cores_of_affinity() {
  cpu_set_t cores;
  // The set is too small for a machine of more than 1024 processors.
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN));
  return static_cast<unsigned>(CPU_COUNT(&cores));
}

}  // namespace

ControlGroupLimits control_group_limits(const std::string& root) {
  return ControlGroups(std::string(absl::StripSuffix(root, "/"))).limits();
}

MachineShare machine_share() {
  MachineShare share;
  const ControlGroupLimits limits = control_group_limits();
  share.cores = std::max(1u, cores_of_affinity());
  if (limits.cores) share.cores = std::min(share.cores, static_cast<unsigned>(std::ceil(*limits.cores)));
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) share.memory_bytes = static_cast<uint64_t>(info.totalram) * info.mem_unit;
  share.memory_is_limited =
      limits.memory_bytes && (share.memory_bytes == 0 || *limits.memory_bytes < share.memory_bytes);
  if (share.memory_is_limited) share.memory_bytes = *limits.memory_bytes;
  return share;
}

}  // namespace cassandra_like
