// Reads of memory, while others wait for the disk: one shard's engine, a table on the disk that is larger than the chunk
// cache and is kept out of the page cache, readers of it, and one client that reads rows of a memtable.
//
//   cold_bench DIRECTORY [seconds] [readers] [milliseconds]
//
// milliseconds: each read of the table that goes to the disk takes so much longer, for disks that are too fast to show
// anything. `alone` has no readers of the disk. `in place` is a disk that cannot tell what is in memory, so that every
// read waits on the shard's thread; `elsewhere` is the disk as it is.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "bench/one_shard.h"
#include "model/values.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like {
namespace {

constexpr uint64_t kKeys = 400'000;
constexpr size_t kValueBytes = 1496;
constexpr uint64_t kHotKeys = 1000;

ColumnPtr column(std::string name, TypePtr type, ColumnKind kind, int position = -1) {
  return std::make_shared<Column>(Column{std::move(name), std::move(type), kind, position, {}});
}

TablePtr make_table(const std::string& name) {
  std::vector<ColumnPtr> key{column("k", types::bigint(), ColumnKind::kPartitionKey, 0)};
  std::vector<ColumnPtr> values{column("v", types::blob(), ColumnKind::kRegular)};
  return std::make_shared<TableMetadata>("bench", name, Uuid::name_based(name), key, std::vector<ColumnPtr>(), values);
}

// A disk whose reads take longer, and one that has no other place than the shard to wait at.
class SlowFile final : public ReadFile {
 public:
  SlowFile(std::unique_ptr<ReadFile> file, bool in_place, std::chrono::microseconds longer)
      : file_(std::move(file)), in_place_(in_place), longer_(longer) {}
  const std::string& path() const override { return file_->path(); }
  uint64_t size() const override { return file_->size(); }
  Result<BytesView> map() const override { return file_->map(); }
  Status read(uint64_t offset, std::span<char> out) const override {
    if (longer_.count() > 0) {
      ASSIGN_OR_RETURN(const bool is_there, file_->read_at_once(offset, out));
      if (is_there) return {};
      std::this_thread::sleep_for(longer_);
    }
    return file_->read(offset, out);
  }
  Result<bool> read_at_once(uint64_t offset, std::span<char> out) const override {
    if (!in_place_) return file_->read_at_once(offset, out);
    TRY(read(offset, out));
    return true;
  }
  Status bring_in(uint64_t offset, uint64_t bytes) const override {
    if (longer_.count() > 0) std::this_thread::sleep_for(longer_);
    return file_->bring_in(offset, bytes);
  }

 private:
  std::unique_ptr<ReadFile> file_;
  const bool in_place_;
  const std::chrono::microseconds longer_;
};

class SlowDisk final : public test::ForwardingDisk {
 public:
  SlowDisk(Disk& disk, bool in_place, std::chrono::microseconds longer)
      : ForwardingDisk(disk), in_place_(in_place), longer_(longer) {}
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, disk_.open(path));
    return std::unique_ptr<ReadFile>(std::make_unique<SlowFile>(std::move(file), in_place_, longer_));
  }

 private:
  const bool in_place_;
  const std::chrono::microseconds longer_;
};

class CountingSink final : public RowSink {
 public:
  Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
  Next row(const Row&) override {
    ++rows;
    return Next::kContinue;
  }
  uint64_t rows = 0;
};

struct Load {
  std::atomic<bool> stopping = false;
  std::atomic<uint64_t> running = 0, reads = 0;
};

Task<void> read_key(Engine* engine, TablePtr table, uint64_t key) {
  const Bytes bytes = encode_bigint(static_cast<int64_t>(key));
  ReadCommand command;
  command.table = std::move(table);
  command.keys = {DecoratedKey::of(bytes)};
  CountingSink sink;
  Task<Result<ReadStatistics>> read = engine->read(command, sink, kNoDeadline);
  Result<ReadStatistics> done = co_await read;
  CHECK(done.ok() && sink.rows == 1);
}

// One of the readers of the table on the disk.
Task<void> read_cold(Engine* engine, Executor* executor, TablePtr table, uint64_t seed, Load* load) {
  std::mt19937_64 random(seed);
  while (!load->stopping) {
    co_await executor->yield();
    co_await read_key(engine, table, random() % kKeys);
    ++load->reads;
  }
  --load->running;
}

EngineOptions small_cache() {
  EngineOptions options;
  options.memtable_bytes = 4ull << 30;
  options.chunk_cache_bytes = 8 << 20;
  return options;
}

class Bench {
 public:
  Bench(std::string folder, bool in_place, std::chrono::microseconds longer)
      : shard_(std::move(folder), small_cache(), {make_table("cold"), make_table("hot")},
               [=](Disk& disk) { return std::make_unique<SlowDisk>(disk, in_place, longer); }) {}

  void fill(const std::string& name, uint64_t keys) {
    std::mt19937_64 random(1);
    Bytes value(kValueBytes, 'x');
    for (uint64_t first = 0; first < keys; first += 1000) {
      shard_.run([&] {
        const TablePtr table = shard_.table(name);
        for (uint64_t key = first; key < std::min(keys, first + 1000); ++key) {
          for (size_t i = 0; i < value.size(); i += 8) store_be<uint64_t>(value.data() + i, random());
          Cell cell{table->regular_columns[0].get(), 1, kNoDeletionTime, 0, value, {}};
          Row row;
          row.clustering = empty_clustering();
          row.cells = {&cell, 1};
          PartitionUpdate update;
          const Bytes bytes = encode_bigint(static_cast<int64_t>(key));
          update.table = table.get();
          update.key = DecoratedKey::of(bytes);
          update.rows = {&row, 1};
          const Mutation mutation{"bench", update.key, {&update, 1}};
          Task<Status> task = shard_.engine().apply(mutation);
          CHECK(task.ready() && task.take().ok());
        }
      });
    }
  }
  void flush() { shard_.flush(); }

  void measure(const char* what, int seconds, uint64_t readers) {
    Load load;
    std::atomic<bool> forgetting = true;
    std::thread forgets([&] {
      while (forgetting) {
        forget();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    load.running = readers;
    shard_.run([&] {
      for (uint64_t i = 0; i < readers; ++i) {
        spawn(read_cold(&shard_.engine(), &shard_.executor(), shard_.table("cold"), i, &load));
      }
    });
    std::vector<int64_t> micros;
    std::mt19937_64 random(99);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < end) {
      const auto begun = std::chrono::steady_clock::now();
      const uint64_t key = random() % kHotKeys;
      shard_.wait([&] { return read_key(&shard_.engine(), shard_.table("hot"), key); });
      const auto took = std::chrono::steady_clock::now() - begun;
      micros.push_back(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    load.stopping = true;
    while (load.running > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    forgetting = false;
    forgets.join();
    std::sort(micros.begin(), micros.end());
    const auto quantile = [&](double q) {
      return micros[static_cast<size_t>(q * static_cast<double>(micros.size() - 1))];
    };
    fmt::print(
        "{:<10} {:>3} cold readers: {:>8} cold reads/s; hot reads: p50 {} p99 {} p99.9 {} most {} us ({} reads)\n",
        what, readers, load.reads / static_cast<uint64_t>(seconds), quantile(0.5), quantile(0.99), quantile(0.999),
        micros.back(), micros.size());
  }

 private:
  // Takes the data out of the page cache.
  void forget() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shard_.folder() + "/data")) {
      if (!entry.path().string().ends_with("-Data.db")) continue;
      const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      ::close(fd);
    }
  }

  OneShard shard_;
};

int run(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: cold_bench DIRECTORY [seconds] [readers] [milliseconds]\n");
    return 2;
  }
  const std::string directory = std::string(argv[1]) + "/cold_bench";
  const int seconds = argc > 2 ? std::stoi(argv[2]) : 5;
  const uint64_t readers = argc > 3 ? std::stoull(argv[3]) : 16;
  const std::chrono::milliseconds longer(argc > 4 ? std::stoi(argv[4]) : 0);
  for (const bool in_place : {true, false}) {
    Bench bench(directory, in_place, longer);
    bench.fill("cold", kKeys);
    bench.flush();
    bench.fill("hot", kHotKeys);
    if (in_place) bench.measure("alone", seconds, 0);
    bench.measure(in_place ? "in place" : "elsewhere", seconds, readers);
  }
  return 0;
}

}  // namespace
}  // namespace cassandra_like

int main(int argc, char** argv) { return cassandra_like::run(argc, argv); }
