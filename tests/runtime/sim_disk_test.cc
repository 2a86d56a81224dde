// The disk of a simulated machine after a crash.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {
namespace {

using std::chrono::seconds;

class SimDiskTest : public testing::Test {
 protected:
  void start(uint64_t seed) {
    world_ = SimWorld::create(seed);
    machine_ = &world_->add_machine("10.0.0.1");
    boot();
  }
  void boot() { runtime_ = &machine_->boot(1); }
  void crash() {
    machine_->crash();
    boot();
  }
  Disk& disk() { return runtime_->shard(0).disk; }

  Status wait(Task<Status> task) {
    std::optional<Status> result;
    spawn(store(std::move(task), &result));
    EXPECT_TRUE(world_->run_until([&] { return result.has_value(); }, seconds(10)));
    return *result;
  }
  static Task<void> store(Task<Status> task, std::optional<Status>* to) { *to = co_await task; }

  void make_durable_directory(const std::string& path) {
    ASSERT_TRUE(disk().make_directories(path).ok());
    ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  }
  Bytes content(const std::string& path) {
    auto file = disk().open(path);
    return file.ok() ? Bytes(*(*file)->map()) : "(" + file.error().message() + ")";
  }
  std::string names(const std::string& path) {
    auto entries = disk().list(path);
    if (!entries.ok()) return entries.error().message();
    std::string out;
    for (auto& e : *entries) out += e.name + " ";
    return out;
  }

  std::unique_ptr<SimWorld> world_;
  SimMachine* machine_ = nullptr;
  Runtime* runtime_ = nullptr;
};

TEST_F(SimDiskTest, ACrashLosesExactlyWhatWasNotSynced) {
  start(1);
  machine_->faults().tear_on_crash = false;
  make_durable_directory("/d");
  auto file = disk().create("/d/f");
  ASSERT_TRUE((*file)->append("synced").ok());
  ASSERT_TRUE(wait((*file)->sync()).ok());
  ASSERT_TRUE(wait(disk().sync_directory("/d")).ok());
  ASSERT_TRUE((*file)->append(" and lost").ok());
  EXPECT_EQ(content("/d/f"), "synced and lost");
  crash();
  EXPECT_EQ(content("/d/f"), "synced");
  crash();
  EXPECT_EQ(content("/d/f"), "synced");
}

TEST_F(SimDiskTest, AFileWhoseDirectoryWasNotSyncedIsGone) {
  start(1);
  machine_->faults().tear_on_crash = false;
  make_durable_directory("/d");
  auto file = disk().create("/d/f");
  ASSERT_TRUE((*file)->append("x").ok());
  ASSERT_TRUE(wait((*file)->sync()).ok());
  crash();
  EXPECT_EQ(names("/d"), "");
}

TEST_F(SimDiskTest, ASyncThatTheCrashOvertookPromisesNothing) {
  start(1);
  machine_->faults().tear_on_crash = false;
  make_durable_directory("/d");
  auto file = disk().create("/d/f");
  ASSERT_TRUE(wait(disk().sync_directory("/d")).ok());
  ASSERT_TRUE((*file)->append("x").ok());
  std::optional<Status> result;
  spawn(store((*file)->sync(), &result));
  crash();
  world_->run_for(seconds(1));
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(content("/d/f"), "");
}

TEST_F(SimDiskTest, ACleanStopLosesNothing) {
  start(1);
  auto file = disk().create("/f");
  ASSERT_TRUE((*file)->append("kept").ok());
  machine_->shut_down();
  boot();
  EXPECT_EQ(content("/f"), "kept");
}

TEST_F(SimDiskTest, MappedStoresSurviveOnlyInSyncedRanges) {
  start(1);
  machine_->faults().tear_on_crash = false;
  auto file = disk().create_mapped("/log", 10'000);
  ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  char* memory = (*file)->memory().data();
  std::memcpy(memory, "first", 5);
  std::memcpy(memory + 5000, "second", 6);
  ASSERT_TRUE(wait((*file)->sync(0, 4096)).ok());
  std::memcpy(memory, "FIRST", 5);
  crash();
  Bytes expected(10'000, '\0');
  std::memcpy(expected.data(), "first", 5);
  EXPECT_TRUE(content("/log") == expected);
}

// Over many seeds, each unsynced sector is seen both lost and kept, and never half of one.
TEST_F(SimDiskTest, UnsyncedSectorsSurviveEachByItsOwnChance) {
  std::set<std::string> appended;
  std::set<std::string> mapped;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    start(seed);
    auto file = disk().create("/f");
    auto log = disk().create_mapped("/log", 1024);
    ASSERT_TRUE((*file)->append(Bytes(512, 'a')).ok());
    ASSERT_TRUE(wait((*file)->sync()).ok());
    ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
    ASSERT_TRUE((*file)->append(Bytes(512, 'b') + Bytes(100, 'c')).ok());
    std::memset((*log)->memory().data(), 'x', 1024);
    crash();
    auto shape = [](const Bytes& content) {
      std::string out;
      for (size_t at = 0; at < content.size(); at += 512) {
        Bytes sector = content.substr(at, 512);
        EXPECT_EQ(sector, Bytes(sector.size(), sector[0]));
        out += sector[0] == '\0' ? '0' : sector[0];
      }
      return out;
    };
    appended.insert(shape(content("/f")));
    mapped.insert(shape(content("/log")));
  }
  EXPECT_EQ(appended, (std::set<std::string>{"a", "ab", "a0c", "abc"}));
  EXPECT_EQ(mapped, (std::set<std::string>{"00", "x0", "0x", "xx"}));
}

TEST_F(SimDiskTest, UnsyncedNamesOfADirectorySurviveAsAPrefix) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    start(seed);
    make_durable_directory("/d");
    ASSERT_TRUE(disk().create("/d/1").ok());
    ASSERT_TRUE(disk().rename("/d/1", "/d/2").ok());
    ASSERT_TRUE(disk().create("/d/3").ok());
    ASSERT_TRUE(disk().remove("/d/2").ok());
    crash();
    seen.insert(names("/d"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"", "1 ", "2 ", "2 3 ", "3 "}));
}

TEST_F(SimDiskTest, ARenameBetweenDirectoriesIsNeverHalfDone) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    start(seed);
    make_durable_directory("/a");
    make_durable_directory("/b");
    ASSERT_TRUE(disk().create("/a/f").ok());
    ASSERT_TRUE(wait(disk().sync_directory("/a")).ok());
    ASSERT_TRUE(disk().rename("/a/f", "/b/f").ok());
    if (seed % 2 == 0) {
      ASSERT_TRUE(wait(disk().sync_directory("/b")).ok());
    }
    crash();
    std::string both = names("/a") + "| " + names("/b");
    if (seed % 2 == 0) {
      EXPECT_EQ(both, "| f ");
    } else {
      EXPECT_TRUE(both == "| f " || both == "f | ") << both;
    }
  }
}

TEST_F(SimDiskTest, FilesOfARenamedDirectoryAreSyncedUnderTheirNewName) {
  start(1);
  machine_->faults().tear_on_crash = false;
  ASSERT_TRUE(disk().make_directories("/tmp").ok());
  ASSERT_TRUE(disk().create("/tmp/f").ok());
  ASSERT_TRUE(disk().rename("/tmp", "/final").ok());
  ASSERT_TRUE(wait(disk().sync_directory("/final")).ok());
  crash();
  EXPECT_EQ(names("/"), "");
  ASSERT_TRUE(disk().make_directories("/tmp").ok());
  ASSERT_TRUE(disk().create("/tmp/f").ok());
  ASSERT_TRUE(disk().rename("/tmp", "/final").ok());
  ASSERT_TRUE(wait(disk().sync_directory("/final")).ok());
  ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  crash();
  EXPECT_EQ(names("/final"), "f ");
}

TEST_F(SimDiskTest, CapacityIsALimitAndRemovingFrees) {
  start(1);
  machine_->set_disk_capacity(1000);
  auto a = disk().create("/a");
  ASSERT_TRUE((*a)->append(Bytes(900, 'a')).ok());
  auto b = disk().create("/b");
  Status full = (*b)->append(Bytes(200, 'b'));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code(), ErrorCode::kDiskFull);
  EXPECT_EQ(full.error().message(), "cannot append to /b: No space left on device");
  EXPECT_EQ((*b)->size(), 0u);
  EXPECT_EQ(disk().create_mapped("/m", 200).error().code(), ErrorCode::kDiskFull);
  EXPECT_FALSE(disk().exists("/m"));
  EXPECT_EQ(disk().space("/")->available, 100u);
  a->reset();
  ASSERT_TRUE(disk().remove("/a").ok());
  ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  EXPECT_EQ(disk().space("/")->available, 1000u);
  EXPECT_TRUE((*b)->append(Bytes(200, 'b')).ok());
}

TEST_F(SimDiskTest, InjectedErrorsComeAsOftenAsAskedFor) {
  start(1);
  machine_->faults().io_error_ppm = 250'000;
  machine_->faults().disk_full_ppm = 250'000;
  int io = 0;
  int full = 0;
  for (int i = 0; i < 1000; ++i) {
    auto f = disk().create("/f" + std::to_string(i));
    if (f.ok()) continue;
    (f.error().code() == ErrorCode::kIo ? io : full) += 1;
  }
  EXPECT_NEAR(io, 250, 60);
  EXPECT_NEAR(full, 187, 60);
}

TEST_F(SimDiskTest, AfterASyncThatFailedLaterOnesBringNothingToTheDisk) {
  start(1);
  machine_->faults().tear_on_crash = false;
  auto file = disk().create("/f");
  auto log = disk().create_mapped("/log", 4);
  ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  ASSERT_TRUE((*file)->append("lost").ok());
  std::memcpy((*log)->memory().data(), "lost", 4);
  machine_->faults().io_error_ppm = 1'000'000;
  EXPECT_FALSE(wait((*file)->sync()).ok());
  EXPECT_FALSE(wait((*log)->sync(0, 4)).ok());
  machine_->faults().io_error_ppm = 0;
  EXPECT_TRUE(wait((*file)->sync()).ok());
  EXPECT_TRUE(wait((*log)->sync(0, 4)).ok());
  EXPECT_EQ(content("/f"), "lost");
  crash();
  EXPECT_EQ(content("/f"), "");
  EXPECT_EQ(content("/log"), Bytes(4, '\0'));
}

TEST_F(SimDiskTest, WhatIsWrittenOnceMoreIsOnTheDiskAfterAll) {
  start(1);
  machine_->faults().tear_on_crash = false;
  auto file = disk().create("/f");
  auto log = disk().create_mapped("/log", 4);
  ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  ASSERT_TRUE((*file)->append("kept").ok());
  std::memcpy((*log)->memory().data(), "kept", 4);
  machine_->faults().io_error_ppm = 1'000'000;
  EXPECT_FALSE(wait((*file)->sync()).ok());
  EXPECT_FALSE(wait((*log)->sync(0, 4)).ok());
  EXPECT_FALSE(wait(disk().rewrite("/f", 0, 4)).ok());
  machine_->faults().io_error_ppm = 0;
  EXPECT_TRUE(wait(disk().rewrite("/f", 0, 4)).ok());
  EXPECT_TRUE(wait(disk().rewrite("/log", 1, 3)).ok());
  crash();
  EXPECT_EQ(content("/f"), "kept");
  EXPECT_EQ(content("/log"), Bytes("\0ept", 4));
}

TEST_F(SimDiskTest, ATruncationIsOnTheDiskOnceItIsSynced) {
  for (bool is_synced : {false, true}) {
    start(1);
    machine_->faults().tear_on_crash = false;
    auto file = disk().create("/f");
    ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
    ASSERT_TRUE((*file)->append("kept, gone").ok());
    ASSERT_TRUE(wait((*file)->sync()).ok());
    ASSERT_TRUE((*file)->truncate(4).ok());
    EXPECT_EQ(content("/f"), "kept");
    if (is_synced) {
      ASSERT_TRUE(wait((*file)->sync()).ok());
    }
    crash();
    EXPECT_EQ(content("/f"), is_synced ? "kept" : "kept, gone");
  }
}

TEST_F(SimDiskTest, ATruncationIsSyncedAlsoAfterASyncThatFailed) {
  start(1);
  auto file = disk().create("/f");
  ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  ASSERT_TRUE((*file)->append("kept").ok());
  ASSERT_TRUE(wait((*file)->sync()).ok());
  ASSERT_TRUE((*file)->append(", gone").ok());
  machine_->faults().io_error_ppm = 1'000'000;
  EXPECT_FALSE(wait((*file)->sync()).ok());
  machine_->faults().io_error_ppm = 0;
  ASSERT_TRUE((*file)->truncate(4).ok());
  ASSERT_TRUE(wait((*file)->sync()).ok());
  crash();
  EXPECT_EQ(content("/f"), "kept");
}

TEST_F(SimDiskTest, ASlowReadOrWriteKeepsItsShardFromItsNextCallback) {
  start(1);
  auto file = disk().create("/f");
  machine_->faults().max_io_delay = seconds(10);
  std::string order;
  auto append = [&] {
    EXPECT_TRUE((*file)->append("x").ok());
    runtime_->shard(0).executor.post([&] { order += "posted "; });
  };
  runtime_->shard(0).executor.post(append);
  runtime_->shard(0).executor.schedule(std::chrono::milliseconds(1), [&] { order += "timer "; });
  world_->run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(order, "");
  world_->run_for(seconds(10));
  EXPECT_EQ(order, "timer posted ");
}

TEST_F(SimDiskTest, ATimerDoesNotWaitBehindAQueueOfSlowCallbacks) {
  start(1);
  auto file = disk().create("/f");
  machine_->faults().max_io_delay = std::chrono::milliseconds(20);
  int ran = 0;
  int ran_before_timer = -1;
  for (int i = 0; i < 1000; ++i) {
    runtime_->shard(0).executor.post([&] {
      EXPECT_TRUE((*file)->append("x").ok());
      ++ran;
    });
  }
  runtime_->shard(0).executor.schedule(std::chrono::milliseconds(50), [&] { ran_before_timer = ran; });
  world_->run_for(seconds(20));
  EXPECT_EQ(ran, 1000);
  EXPECT_GE(ran_before_timer, 2);
  EXPECT_LT(ran_before_timer, 50);
}

TEST_F(SimDiskTest, HandlesOfACrashedNodeAreHarmless) {
  start(1);
  auto file = disk().create("/f");
  auto log = disk().create_mapped("/log", 1000);
  auto lock = disk().lock("/");
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(wait(disk().sync_directory("/")).ok());
  machine_->faults().tear_on_crash = false;
  crash();
  auto locked_again = disk().lock("/");
  EXPECT_TRUE(locked_again.ok());
  lock->reset();
  EXPECT_FALSE(disk().lock("/").ok());
  EXPECT_EQ((*file)->append("x").error().message(), "cannot append to /f: the machine is down");
  (*log)->memory()[0] = 'x';
  EXPECT_EQ(content("/f"), "");
  EXPECT_EQ(content("/log"), Bytes(1000, '\0'));
}

}  // namespace
}  // namespace cassandra_like
