// The two worlds behind one face, so that the same test runs in both.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace cassandra_like {

class TestWorld {
 public:
  virtual ~TestWorld() = default;
  virtual Runtime& runtime() = 0;
  // Runs the world until done() is true, which is asked on shard 0; fails the test after a while.
  virtual void wait_until(std::function<bool()> done) = 0;
  // An address that listeners may use, and an empty directory.
  virtual std::string address() const = 0;
  virtual std::string directory() const = 0;

  ShardRuntime& shard(unsigned i) { return runtime().shard(i); }
  // Runs body on the shard and waits until its task has ended.
  void run(unsigned shard, std::function<Task<void>()> body);
};

enum class WorldKind { kLinux, kSim };
std::unique_ptr<TestWorld> make_world(WorldKind kind, unsigned shards);
std::string world_name(const testing::TestParamInfo<WorldKind>& info);

class BothWorlds : public testing::TestWithParam<WorldKind> {
 protected:
  TestWorld& world(unsigned shards = 1) {
    if (!world_) world_ = make_world(GetParam(), shards);
    return *world_;
  }
  void TearDown() override { world_.reset(); }

 private:
  std::unique_ptr<TestWorld> world_;
};

}  // namespace cassandra_like
