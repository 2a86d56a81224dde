// The limits of control groups, read from trees of files as the kernel shows them.
#include "runtime/linux/control_groups.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

namespace fs = std::filesystem;

class ControlGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / "control_groups";
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& content) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << content << "\n";
  }
  ControlGroupLimits limits() { return control_group_limits(root_.string()); }

  // Version 2, with the group's own namespace or not.
  void mount_unified(const std::string& shown, const std::string& own) {
    write("proc/self/mountinfo", "30 24 0:26 " + shown + " /cg rw,nosuid shared:4 - cgroup2 cgroup2 rw");
    write("proc/self/cgroup", "0::" + own);
  }

  fs::path root_;
};

constexpr uint64_t kMiB = 1 << 20;

TEST_F(ControlGroups, NothingIsLimitedWithoutFiles) { EXPECT_EQ(limits(), ControlGroupLimits()); }

TEST_F(ControlGroups, AContainerSeesItsGroupAsTheRoot) {
  mount_unified("/", "/");
  write("cg/memory.max", "134217728");
  write("cg/cpu.max", "150000 100000");
  EXPECT_EQ(limits(), (ControlGroupLimits{128 * kMiB, 1.5}));
}

TEST_F(ControlGroups, MaxIsNoLimit) {
  mount_unified("/", "/");
  write("cg/memory.max", "max");
  write("cg/cpu.max", "max 100000");
  EXPECT_EQ(limits(), ControlGroupLimits());
}

TEST_F(ControlGroups, TheLowestOfAllLevelsCounts) {
  mount_unified("/", "/system.slice/node.service");
  write("cg/memory.max", "1073741824");
  write("cg/system.slice/memory.max", "268435456");
  write("cg/system.slice/node.service/memory.max", "max");
  write("cg/system.slice/cpu.max", "200000 100000");
  write("cg/system.slice/node.service/cpu.max", "50000 100000");
  EXPECT_EQ(limits(), (ControlGroupLimits{256 * kMiB, 0.5}));
}

TEST_F(ControlGroups, AMountedGroupIsFoundByTheRestOfItsName) {
  mount_unified("/docker/1a", "/docker/1a/inner");
  write("cg/memory.max", "268435456");
  write("cg/inner/memory.max", "134217728");
  EXPECT_EQ(limits().memory_bytes, 128 * kMiB);
}

TEST_F(ControlGroups, ANameOfTheHostIsTheMountedDirectoryItself) {
  mount_unified("/docker/1a", "/kubepods/2b");
  write("cg/memory.max", "134217728");
  EXPECT_EQ(limits().memory_bytes, 128 * kMiB);
}

TEST_F(ControlGroups, TheFirstVersionHasAHierarchyForEachController) {
  write("proc/self/mountinfo",
        "31 30 0:27 / /memory rw - cgroup cgroup rw,memory\n32 30 0:28 / /cpu rw - cgroup cgroup rw,cpu,cpuacct");
  write("proc/self/cgroup", "4:memory:/box\n2:cpu,cpuacct:/box\n0::/");
  write("memory/memory.limit_in_bytes", "9223372036854771712");
  write("memory/box/memory.limit_in_bytes", "134217728");
  write("cpu/cpu.cfs_quota_us", "-1");
  write("cpu/cpu.cfs_period_us", "100000");
  write("cpu/box/cpu.cfs_quota_us", "400000");
  write("cpu/box/cpu.cfs_period_us", "100000");
  EXPECT_EQ(limits(), (ControlGroupLimits{128 * kMiB, 4.0}));
}

TEST_F(ControlGroups, WhatIsNotUnderstoodIsNoLimit) {
  mount_unified("/", "/");
  write("cg/memory.max", "plenty");
  write("cg/cpu.max", "0 0");
  EXPECT_EQ(limits(), ControlGroupLimits());
  write("proc/self/mountinfo", "- - -");
  write("proc/self/cgroup", "::");
  EXPECT_EQ(limits(), ControlGroupLimits());
}

TEST(MachineShare, ThisMachineHasSome) {
  const MachineShare share = machine_share();
  EXPECT_GE(share.cores, 1u);
  EXPECT_GT(share.memory_bytes, 16 * kMiB);
}

}  // namespace
}  // namespace cassandra_like
