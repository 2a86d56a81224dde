#include "tests/runtime/worlds.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "runtime/linux/linux_runtime.h"
#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {

namespace {

class LinuxWorld final : public TestWorld {
 public:
  explicit LinuxWorld(unsigned shards) : runtime_(std::make_unique<LinuxRuntime>(shards)) {
    char name[] = "/tmp/runtime_test.XXXXXX";
    directory_ = ::mkdtemp(name);
    CHECK(runtime_->start().ok());
  }
  ~LinuxWorld() override {
    runtime_->stop();
    std::filesystem::remove_all(directory_);
  }
  Runtime& runtime() override { return *runtime_; }
  std::string address() const override { return "127.0.0.1"; }
  std::string directory() const override { return directory_; }

  void wait_until(std::function<bool()> done) override {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      std::promise<bool> answer;
      runtime_->shard(0).executor.post([&] { answer.set_value(done()); });
      if (answer.get_future().get()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "nothing came within 20 s";
  }

 private:
  std::unique_ptr<LinuxRuntime> runtime_;
  std::string directory_;
};

class SimulatedWorld final : public TestWorld {
 public:
  explicit SimulatedWorld(unsigned shards)
      : world_(SimWorld::create(7)), runtime_(world_->add_machine("10.0.0.1").boot(shards)) {
    EXPECT_TRUE(runtime_.shard(0).disk.make_directories(directory()).ok());
  }
  Runtime& runtime() override { return runtime_; }
  std::string address() const override { return "10.0.0.1"; }
  std::string directory() const override { return "/data"; }

  void wait_until(std::function<bool()> done) override {
    EXPECT_TRUE(world_->run_until(std::move(done), std::chrono::seconds(60))) << "nothing came within 60 s";
  }

 private:
  std::unique_ptr<SimWorld> world_;
  Runtime& runtime_;
};

Task<void> run_and_tell(std::function<Task<void>()>* body, std::atomic<bool>* done) {
  co_await (*body)();
  *done = true;
}

}  // namespace

void TestWorld::run(unsigned shard, std::function<Task<void>()> body) {
  std::atomic<bool> done = false;
  this->shard(shard).executor.post([&] { spawn(run_and_tell(&body, &done)); });
  wait_until([&] { return done.load(); });
}

std::unique_ptr<TestWorld> make_world(WorldKind kind, unsigned shards) {
  if (kind == WorldKind::kLinux) return std::make_unique<LinuxWorld>(shards);
  return std::make_unique<SimulatedWorld>(shards);
}

std::string world_name(const testing::TestParamInfo<WorldKind>& info) {
  return info.param == WorldKind::kLinux ? "Asio" : "Sim";
}

}  // namespace cassandra_like
