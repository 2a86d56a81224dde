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
#include <future>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "model/values.h"
#include "runtime/linux/linux_runtime.h"
#include "storage/engine/engine.h"
#include "storage/memtable_budget.h"

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

class SlowDisk final : public Disk {
 public:
  SlowDisk(Disk& disk, bool in_place, std::chrono::microseconds longer)
      : disk_(disk), in_place_(in_place), longer_(longer) {}
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, disk_.open(path));
    return std::unique_ptr<ReadFile>(std::make_unique<SlowFile>(std::move(file), in_place_, longer_));
  }
  Task<Status> bring_in(std::shared_ptr<const ReadFile> file, uint64_t offset, uint64_t bytes) override {
    return disk_.bring_in(std::move(file), offset, bytes);
  }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override { return disk_.create(path); }
  Result<std::unique_ptr<MappedFile>> create_mapped(const std::string& path, uint64_t size) override {
    return disk_.create_mapped(path, size);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return disk_.list(path); }
  bool exists(const std::string& path) override { return disk_.exists(path); }
  Status make_directories(const std::string& path) override { return disk_.make_directories(path); }
  Status remove(const std::string& path) override { return disk_.remove(path); }
  Status rename(const std::string& from, const std::string& to) override { return disk_.rename(from, to); }
  Status link(const std::string& from, const std::string& to) override { return disk_.link(from, to); }
  Task<Status> sync_directory(std::string path) override { return disk_.sync_directory(std::move(path)); }
  Task<Status> sync_file(std::string path) override { return disk_.sync_file(std::move(path)); }
  Result<DiskSpace> space(const std::string& path) override { return disk_.space(path); }
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& path) override { return disk_.lock(path); }

 private:
  Disk& disk_;
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

Task<void> open_engine(Engine* engine, SchemaPtr schema, std::promise<void>* done) {
  std::function<bool(const TableMetadata&)> every = [](const TableMetadata&) { return true; };
  SchemaPtr none = std::make_shared<Schema>();
  for (const SchemaPtr& known : {none, schema}) {
    CHECK((co_await engine->set_schema(known)).ok());
    TruncationRecords truncations;
    CHECK((co_await engine->replay(every, truncations)).ok());
  }
  CHECK((co_await engine->start()).ok());
  done->set_value();
}
Task<void> flush_engine(Engine* engine, std::promise<void>* done) {
  CHECK((co_await engine->maintenance().flush({})).ok());
  done->set_value();
}
Task<void> stop_engine(Engine* engine, std::promise<void>* done) {
  co_await engine->stop();
  done->set_value();
}

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

Task<void> read_hot(Engine* engine, TablePtr table, uint64_t key, std::promise<void>* done) {
  co_await read_key(engine, std::move(table), key);
  done->set_value();
}

class Bench {
 public:
  Bench(std::string directory, bool in_place, std::chrono::microseconds longer) : path_(std::move(directory)) {
    runtime_ = std::make_unique<LinuxRuntime>(1);
    runtime_->start();
    ShardRuntime& real = runtime_->shard(0);
    disk_ = std::make_unique<SlowDisk>(real.disk, in_place, longer);
    shard_ = std::make_unique<ShardRuntime>(
        ShardRuntime{real.executor, real.clock, real.network, *disk_, real.random, real.blocking});
    options_.data_directories = {path_ + "/data"};
    options_.commitlog_directory = path_ + "/commitlog";
    options_.memtable_bytes = 4ull << 30;
    options_.memtables = std::make_shared<MemtableBudget>(options_.memtable_bytes, 1);
    options_.chunk_cache_bytes = 8 << 20;
    options_.auto_snapshot = false;
    KeyspaceMetadata keyspace;
    keyspace.name = "bench";
    for (const char* name : {"cold", "hot"}) keyspace.tables[name] = make_table(name);
    schema_ = Schema().with_keyspace(std::make_shared<KeyspaceMetadata>(keyspace));
    run([&] { engine_ = std::make_unique<Engine>(*shard_, 1, options_); });
    wait([&](std::promise<void>* done) { spawn(open_engine(engine_.get(), schema_, done)); });
  }
  ~Bench() {
    wait([&](std::promise<void>* done) { spawn(stop_engine(engine_.get(), done)); });
    run([&] { engine_.reset(); });
    runtime_->stop();
  }

  void fill(const std::string& name, uint64_t keys) {
    std::mt19937_64 random(1);
    Bytes value(kValueBytes, 'x');
    for (uint64_t first = 0; first < keys; first += 1000) {
      run([&] {
        const TablePtr table = schema_->table("bench", name);
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
          Task<Status> task = engine_->apply(mutation);
          CHECK(task.ready() && task.take().ok());
        }
      });
    }
  }
  void flush() {
    wait([&](std::promise<void>* done) { spawn(flush_engine(engine_.get(), done)); });
  }

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
    run([&] {
      for (uint64_t i = 0; i < readers; ++i) {
        spawn(read_cold(engine_.get(), &shard_->executor, schema_->table("bench", "cold"), i, &load));
      }
    });
    std::vector<int64_t> micros;
    std::mt19937_64 random(99);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < end) {
      const auto begun = std::chrono::steady_clock::now();
      wait([&](std::promise<void>* done) {
        spawn(read_hot(engine_.get(), schema_->table("bench", "hot"), random() % kHotKeys, done));
      });
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
  void run(std::function<void()> work) {
    wait([&](std::promise<void>* done) {
      work();
      done->set_value();
    });
  }
  void wait(std::function<void(std::promise<void>*)> work) {
    std::promise<void> done;
    runtime_->shard(0).executor.post([&] { work(&done); });
    done.get_future().wait();
  }
  // Takes the data out of the page cache.
  void forget() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_ + "/data")) {
      if (!entry.path().string().ends_with("-Data.db")) continue;
      const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      ::close(fd);
    }
  }

  std::string path_;
  std::unique_ptr<LinuxRuntime> runtime_;
  std::unique_ptr<SlowDisk> disk_;
  std::unique_ptr<ShardRuntime> shard_;
  EngineOptions options_;
  SchemaPtr schema_;
  std::unique_ptr<Engine> engine_;
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
    std::filesystem::remove_all(directory);
    Bench bench(directory, in_place, longer);
    bench.fill("cold", kKeys);
    bench.flush();
    bench.fill("hot", kHotKeys);
    if (in_place) bench.measure("alone", seconds, 0);
    bench.measure(in_place ? "in place" : "elsewhere", seconds, readers);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace cassandra_like

int main(int argc, char** argv) { return cassandra_like::run(argc, argv); }
