// The share of the disks that a node uses, and what it tells of it.
#include "node/disk_usage.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {
namespace {

Guardrails thresholds(int warn, int fail) {
  Guardrails guardrails;
  guardrails.data_disk_usage_percentage_warn_threshold = warn;
  guardrails.data_disk_usage_percentage_fail_threshold = fail;
  return guardrails;
}

TEST(DiskUsageTest, AStateForEachShare) {
  int64_t percentage = 0;
  EXPECT_EQ(DiskUsageMonitor::state_of(0.99, thresholds(-1, -1), &percentage), DiskUsage::kNotAvailable);
  EXPECT_EQ(DiskUsageMonitor::state_of(0.5, thresholds(70, 90), &percentage), DiskUsage::kSpacious);
  EXPECT_EQ(DiskUsageMonitor::state_of(0.7, thresholds(70, 90), &percentage), DiskUsage::kSpacious);
  // Rounded up, as Cassandra does.
  EXPECT_EQ(DiskUsageMonitor::state_of(0.7001, thresholds(70, 90), &percentage), DiskUsage::kStuffed);
  EXPECT_EQ(percentage, 71);
  EXPECT_EQ(DiskUsageMonitor::state_of(0.95, thresholds(70, 90), &percentage), DiskUsage::kFull);
  EXPECT_EQ(DiskUsageMonitor::state_of(0.95, thresholds(70, -1), &percentage), DiskUsage::kStuffed);
  EXPECT_EQ(DiskUsageMonitor::state_of(0.95, thresholds(-1, 90), &percentage), DiskUsage::kFull);
}

class DiskUsageLookTest : public testing::Test {
 protected:
  void write(const std::string& path, size_t bytes) {
    auto file = runtime.shard(0).disk.create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(Bytes(bytes, 'x')).ok());
  }
  // The state that it tells; nullopt: nothing new.
  std::optional<DiskUsage> look(const Guardrails& guardrails, uint64_t memtables = 0) {
    std::optional<std::optional<DiskUsage>> out;
    spawn(keep(&runtime.shard(0), guardrails, memtables, &out));
    EXPECT_TRUE(world->run_until([&] { return out.has_value(); }, std::chrono::seconds(10)));
    return *out;
  }
  Task<void> keep(ShardRuntime* on, Guardrails guardrails, uint64_t memtables,
                  std::optional<std::optional<DiskUsage>>* out) {
    Task<std::optional<DiskUsage>> task = monitor.look(on, {"/data", "/more"}, guardrails, memtables);
    const std::optional<DiskUsage> told = co_await task;
    out->emplace(told);
  }

  std::unique_ptr<SimWorld> world = SimWorld::create(1);
  Runtime& runtime = world->add_machine("10.0.0.1").boot(1);
  DiskUsageMonitor monitor;
};

TEST_F(DiskUsageLookTest, CountsAllFilesAndMemtablesAndTellsChanges) {
  for (const char* directory : {"/data/ks/t/snapshots/s", "/more/ks"}) {
    ASSERT_TRUE(runtime.shard(0).disk.make_directories(directory).ok());
  }
  write("/data/ks/t/Data.db", 300);
  write("/data/ks/t/snapshots/s/Data.db", 200);
  write("/more/ks/Data.db", 100);
  Guardrails guardrails = thresholds(70, 90);
  guardrails.data_disk_usage_max_disk_size = 1000;
  EXPECT_EQ(look(Guardrails()), std::nullopt);
  EXPECT_EQ(look(guardrails), DiskUsage::kSpacious);
  EXPECT_EQ(look(guardrails), std::nullopt);
  EXPECT_EQ(look(guardrails, 150), DiskUsage::kStuffed);
  write("/more/ks/more.db", 250);
  EXPECT_EQ(look(guardrails, 150), DiskUsage::kFull);
  EXPECT_EQ(look(guardrails, 150), std::nullopt);
  EXPECT_EQ(look(Guardrails()), DiskUsage::kNotAvailable);
  // Without a bound the free space counts: the disk of the simulator is large.
  EXPECT_EQ(look(thresholds(70, 90)), DiskUsage::kSpacious);
}

}  // namespace
}  // namespace cassandra_like
