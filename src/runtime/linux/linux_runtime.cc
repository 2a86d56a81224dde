// Puts a shard's parts together and runs one thread for each.
#include "runtime/linux/linux_runtime.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/linux/control_groups.h"
#include "runtime/linux/os_disk.h"
#include "runtime/linux/os_thread.h"
#include "runtime/linux/tcp_network.h"
#include "runtime/xoshiro.h"

namespace cassandra_like {

namespace {

constexpr size_t kSyncThreads = 8;
constexpr size_t kReadThreads = 32;  // Cassandra's concurrent_reads
constexpr size_t kComputingThreads = 2;
constexpr int kNicenessOfComputations = 10;

class OsClock final : public Clock {
 public:
  int64_t wall_micros() const override {
    auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }
  int64_t monotonic_nanos() const override { return steady_nanos(); }
};

void fill_from_kernel(char* out, size_t size) {
  while (size > 0) {
    ssize_t n = ::getrandom(out, size, 0);
    CHECK(n >= 0 || errno == EINTR);
    if (n < 0) continue;
    out += n;
    size -= static_cast<size_t>(n);
  }
}

uint64_t kernel_seed() {
  uint64_t seed = 0;
  fill_from_kernel(reinterpret_cast<char*>(&seed), sizeof seed);
  return seed;
}

class OsRandom final : public Random {
 public:
  uint64_t next() override { return generator_.next(); }
  void fill(char* out, size_t size) override { fill_from_kernel(out, size); }

 private:
  Xoshiro generator_{kernel_seed()};
};

// Most descriptors are for clients. The kernel keeps some 2 KiB for an open file, and a container's limit counts them.
size_t most_open_files() {
  constexpr uint64_t kMemoryOfOne = 64 << 10;  // of which the open file may have a thirtieth
  const uint64_t most = std::min(raise_descriptor_limit() / 4, machine_share().memory_bytes / kMemoryOfOne);
  return std::clamp<size_t>(most, 16, 64 * 1024);
}

struct LinuxShardParts {
  LinuxShardParts(unsigned index, bool shares_core, std::shared_ptr<ListenRegistry> registry, HttpServer& http,
                  SyncPool& syncs, SyncPool& reads, SyncPool& computations, OpenFiles& open_files)
      : shard(index, shares_core),
        network(shard, std::move(registry), http),
        disk(shard, syncs, reads, open_files),
        blocking(shard, computations) {}

  EpollShard shard;
  OsClock clock;
  TcpNetwork network;
  OsDisk disk;
  OsRandom random;
  OsBlocking blocking;
  ShardRuntime view{shard, clock, network, disk, random, blocking};
  std::thread thread;
};

}  // namespace

struct LinuxRuntime::Parts {
  OpenFiles open_files{most_open_files()};
  SyncPool syncs{"syncs", kSyncThreads, 0};
  SyncPool reads{"reads", kReadThreads, 0};
  SyncPool computations{"computations", kComputingThreads, kNicenessOfComputations};
  HttpServer http;
  std::vector<std::unique_ptr<LinuxShardParts>> shards;
};

LinuxRuntime::LinuxRuntime(unsigned shards) : parts_(std::make_unique<Parts>()) {
  CHECK(shards >= 1 && shards <= 64);
  auto registry = std::make_shared<ListenRegistry>();
  const bool share_cores = shards > std::thread::hardware_concurrency();
  Parts& p = *parts_;
  for (unsigned i = 0; i < shards; ++i) {
    p.shards.push_back(std::make_unique<LinuxShardParts>(i, share_cores, registry, p.http, p.syncs, p.reads,
                                                         p.computations, p.open_files));
  }
}

LinuxRuntime::~LinuxRuntime() {
  if (started_ && !stopped_) stop();
}

unsigned LinuxRuntime::shard_count() const { return static_cast<unsigned>(parts_->shards.size()); }
ShardRuntime& LinuxRuntime::shard(unsigned i) { return parts_->shards.at(i)->view; }
uint64_t LinuxRuntime::descriptors() const { return raise_descriptor_limit(); }

Status LinuxRuntime::start() {
  CHECK(!started_);
  started_ = true;
  for (SyncPool* pool : {&parts_->syncs, &parts_->reads, &parts_->computations}) TRY(pool->start());
  TRY(parts_->http.start());
  for (auto& p : parts_->shards) {
    const std::string name = "shard-" + std::to_string(p->shard.shard());
    ASSIGN_OR_RETURN(p->thread, make_thread(name, [shard = &p->shard] { shard->run(); }));
    ::pthread_setname_np(p->thread.native_handle(), name.c_str());
  }
  return {};
}

void LinuxRuntime::stop() {
  CHECK(started_ && !stopped_);
  stopped_ = true;
  for (auto& p : parts_->shards) p->shard.request_stop();
  for (auto& p : parts_->shards) {
    if (p->thread.joinable()) p->thread.join();
  }
  parts_->reads.stop();
  parts_->syncs.stop();
  parts_->computations.stop();
  parts_->http.stop();
  for (auto& p : parts_->shards) p->shard.drop_everything();
}

}  // namespace cassandra_like
