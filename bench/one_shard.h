// The engine of one shard, for benchmarks: opened as a node opens it, on a thread of its own and a real disk.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/linux/linux_runtime.h"
#include "storage/cache/chunk_budget.h"
#include "storage/engine/engine.h"
#include "storage/memtable_budget.h"

namespace cassandra_like {

class OneShard {
 public:
  // Makes the disk that the engine works on out of the machine's.
  using MakeDisk = std::function<std::unique_ptr<Disk>(Disk&)>;

  // The folder is emptied before, and removed at the end. The tables are of the keyspace `bench`.
  OneShard(std::string folder, EngineOptions options, const std::vector<TablePtr>& tables,
           const MakeDisk& make_disk = {})
      : folder_(std::move(folder)), options_(std::move(options)), runtime_(1) {
    std::filesystem::remove_all(folder_);
    CHECK(runtime_.start().ok());
    ShardRuntime& real = runtime_.shard(0);
    if (make_disk) disk_ = make_disk(real.disk);
    shard_ = std::make_unique<ShardRuntime>(
        ShardRuntime{real.executor, real.clock, real.network, disk_ ? *disk_ : real.disk, real.random, real.blocking});
    options_.data_directories = {folder_ + "/data"};
    options_.commitlog_directory = folder_ + "/commitlog";
    options_.auto_snapshot = false;
    options_.on_every_engine = [this](std::function<Status(unsigned, Engine&)> work) {
      return Task<Status>(work(0, *engine_));
    };
    KeyspaceMetadata keyspace;
    keyspace.name = "bench";
    for (const TablePtr& table : tables) keyspace.tables[table->name] = table;
    schema_ = Schema().with_keyspace(std::make_shared<KeyspaceMetadata>(keyspace));
    open();
  }
  ~OneShard() {
    close();
    runtime_.stop();
    std::filesystem::remove_all(folder_);
  }
  OneShard(const OneShard&) = delete;
  OneShard& operator=(const OneShard&) = delete;

  // Writes that were not flushed are replayed.
  void open() {
    run([this] {
      options_.memtables = std::make_shared<MemtableBudget>(options_.memtable_bytes, 1);
      options_.chunks = std::make_shared<ChunkBudget>(options_.chunk_cache_bytes, 1);
      engine_ = std::make_unique<Engine>(*shard_, 1, options_);
    });
    wait([this] { return open_engine(engine_.get(), schema_); });
  }
  void close() {
    wait([this] { return engine_->stop(); });
    run([this] { engine_.reset(); });
  }
  void flush() {
    wait([this] { return flush_engine(engine_.get()); });
  }

  void compact() {
    wait([this] { return compact_engine(engine_.get()); });
  }

  // On the shard's thread, until it has returned.
  void run(std::function<void()> work) {
    std::promise<void> done;
    executor().post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Begins a task on the shard's thread, and returns when the task has ended.
  using Work = std::function<Task<void>()>;
  void wait(const Work& work) {
    std::promise<void> done;
    executor().post([&] { spawn(tell(work, &done)); });
    done.get_future().wait();
  }

  Engine& engine() { return *engine_; }
  Executor& executor() { return shard_->executor; }
  TablePtr table(const std::string& name) { return schema_->table("bench", name); }
  const std::string& folder() const { return folder_; }

 private:
  static Task<void> tell(Work work, std::promise<void>* done) {
    co_await work();
    done->set_value();
  }
  // The tables that tell the schema first, then all.
  static Task<void> open_engine(Engine* engine, SchemaPtr schema) {
    std::function<bool(const TableMetadata&)> every = [](const TableMetadata&) { return true; };
    SchemaPtr none = std::make_shared<Schema>();
    for (const SchemaPtr& known : {none, schema}) {
      CHECK((co_await engine->set_schema(known)).ok());
      TruncationRecords truncations;
      CHECK((co_await engine->replay(every, truncations)).ok());
    }
    CHECK((co_await engine->start()).ok());
  }
  static Task<void> flush_engine(Engine* engine) { CHECK((co_await engine->maintenance().flush({})).ok()); }
  static Task<void> compact_engine(Engine* engine) { CHECK((co_await engine->maintenance().compact({})).ok()); }

  const std::string folder_;
  EngineOptions options_;
  LinuxRuntime runtime_;
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<ShardRuntime> shard_;
  SchemaPtr schema_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace cassandra_like
