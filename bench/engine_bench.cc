// The workloads of RocksDB's db_bench on the engine of one shard, with db_bench's names, sizes and order: fillrandom,
// overwrite, readrandom, readwhilewriting, seekrandom. Prints one line for each, as db_bench does.
// bench/beside_rocksdb.py runs both on one core and prints the ratios.
//
// A key has 16 bytes, and is the partition key of a table whose one column is the value. Half of a value repeats, so that it
// can be compressed. `seekrandom` is a read of the ring from a key on.
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bench/one_shard.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Settings {
  std::vector<std::string> workloads{"fillrandom", "overwrite", "readrandom", "readwhilewriting", "seekrandom"};
  uint64_t num = 1'000'000;
  size_t value_size = 170;
  uint64_t seek_nexts = 10;
  uint64_t write_rate = 10'000;  // of readwhilewriting, a second
  uint64_t memtable_mib = 128, cache_mib = 512;
  std::string directory = (std::filesystem::temp_directory_path() / "engine_bench").string();
};

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t below(uint64_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % bound;
  }

 private:
  uint64_t state_;
};

class CountingSink final : public RowSink {
 public:
  Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
  Next row(const Row& row) override {
    for (const Cell& cell : row.cells) value.assign(cell.value);
    ++rows;
    return Next::kContinue;
  }
  Bytes value;
  uint64_t rows = 0;
};

TablePtr make_table() {
  auto column = [](std::string name, ColumnKind kind, int position) {
    return std::make_shared<Column>(Column{std::move(name), types::blob(), kind, position, {}});
  };
  auto table = std::make_shared<TableMetadata>(
      "bench", "kv", Uuid::name_based("kv"), std::vector<ColumnPtr>{column("k", ColumnKind::kPartitionKey, 0)},
      std::vector<ColumnPtr>{}, std::vector<ColumnPtr>{column("v", ColumnKind::kRegular, -1)});
  table->params.compaction = {{"class", "org.apache.cassandra.db.compaction.UnifiedCompactionStrategy"},
                              {"scaling_parameters", "T4"}};
  return table;
}

// The workloads, on the shard's thread.
class Workloads {
 public:
  Workloads(Engine& engine, Executor& executor, TablePtr table, const Settings& settings)
      : engine_(engine), executor_(executor), table_(std::move(table)), settings_(settings) {
    pool_.resize(1 << 20);
    Numbers numbers(301);
    for (size_t i = 0; i < pool_.size(); ++i) pool_[i] = static_cast<char>(numbers.below(256));
    value_.resize(settings.value_size);
    key_.resize(16);
    cell_.column = table_->regular_columns[0].get();
    point_.table = range_.table = table_;
    point_.keys.resize(1);
    range_.range.emplace();
    range_.limits.rows = settings.seek_nexts + 1;
  }

  Task<void> run(std::string name) {
    const auto begun = SteadyClock::now();
    const uint64_t rows_before = sink_.rows;
    if (name == "fillrandom" || name == "overwrite") {
      co_await each([this] { return write(); });
    } else if (name == "readrandom") {
      co_await each([this] { return read(point(random_key())); });
    } else if (name == "seekrandom") {
      co_await each([this] { return read(seek(random_key())); });
    } else {
      writes_due_from_ = SteadyClock::now();
      writes_ = 0;
      co_await each([this] { return read_and_write(); });
    }
    const std::chrono::duration<double> took = SteadyClock::now() - begun;
    const auto operations = static_cast<double>(settings_.num);
    fmt::print("{:<16} : {:8.3f} micros/op {:.0f} ops/sec {:.3f} seconds {} operations; {} rows\n", name,
               1e6 * took.count() / operations, operations / took.count(), took.count(), settings_.num,
               sink_.rows - rows_before);
    std::fflush(stdout);
  }

 private:
  // Flushes, compactions and timers of the shard have their turns in between.
  template <class Operation>
  Task<void> each(Operation operation) {
    constexpr auto kTurn = std::chrono::microseconds(500);
    auto turn_ends = SteadyClock::now() + kTurn;
    for (uint64_t n = 0; n < settings_.num; ++n) {
      Status done = co_await operation();
      CHECK(done.ok());
      if (n % 16 != 0 || SteadyClock::now() < turn_ends) continue;
      co_await executor_.yield();
      turn_ends = SteadyClock::now() + kTurn;
    }
  }

  BytesView random_key() {
    store_be(key_.data(), numbers_.below(settings_.num));
    return key_;
  }

  Task<Status> write() {
    const size_t at = numbers_.below(pool_.size() - value_.size()), half = value_.size() / 2;
    std::copy_n(pool_.begin() + static_cast<std::ptrdiff_t>(at), half, value_.begin());
    std::copy_n(value_.begin(), value_.size() - half, value_.begin() + static_cast<std::ptrdiff_t>(half));
    cell_.timestamp = row_.liveness.timestamp = ++timestamp_;
    cell_.value = value_;
    row_.clustering = empty_clustering();
    row_.cells = {&cell_, 1};
    update_.table = table_.get();
    update_.key = DecoratedKey::of(random_key());
    update_.rows = {&row_, 1};
    mutation_ = {"bench", update_.key, {&update_, 1}};
    return engine_.apply(mutation_);
  }

  const ReadCommand& point(BytesView key) {
    point_.keys[0] = DecoratedKey::of(key);
    return point_;
  }
  const ReadCommand& seek(BytesView key) {
    const DecoratedKey at = DecoratedKey::of(key);
    range_.range->start = RingPosition::at(at);
    return range_;
  }
  Task<Status> read(const ReadCommand& command) {
    Task<Result<ReadStatistics>> task = engine_.read(command, sink_);
    if (!task.ready()) return read_on(std::move(task));
    auto read = task.take();
    return read.ok() ? Task<Status>(Status()) : Task<Status>(Status(read.error()));
  }
  static Task<Status> read_on(Task<Result<ReadStatistics>> task) {
    auto read = co_await task;
    if (!read.ok()) co_return read.error();
    co_return Status();
  }
  // A write is due at its rate, whatever the reads cost.
  Task<Status> read_and_write() {
    const std::chrono::duration<double> passed = SteadyClock::now() - writes_due_from_;
    while (static_cast<double>(writes_) < passed.count() * static_cast<double>(settings_.write_rate)) {
      ++writes_;
      Status written = co_await write();
      if (!written.ok()) co_return written;
    }
    co_return co_await read(point(random_key()));
  }

  Engine& engine_;
  Executor& executor_;
  const TablePtr table_;
  const Settings& settings_;
  Bytes pool_, value_, key_;
  Numbers numbers_{1};
  Cell cell_;
  Row row_;
  PartitionUpdate update_;
  Mutation mutation_;
  int64_t timestamp_ = 0;
  ReadCommand point_, range_;
  CountingSink sink_;
  uint64_t writes_ = 0;
  SteadyClock::time_point writes_due_from_;
};

int run(int argc, char** argv) {
  CLI::App app{"The workloads of RocksDB's db_bench on the engine of one shard"};
  Settings settings;
  app.add_option("--benchmarks", settings.workloads, "with commas between them")
      ->delimiter(',')
      ->check(CLI::IsMember(settings.workloads));
  app.add_option("--num", settings.num, "keys, and operations of each")->check(CLI::PositiveNumber);
  app.add_option("--value_size", settings.value_size, "bytes")->check(CLI::Range(2, 1 << 16));
  app.add_option("--seek_nexts", settings.seek_nexts, "rows behind the one that is sought");
  app.add_option("--write_rate", settings.write_rate, "writes a second beside readwhilewriting");
  app.add_option("--memtables", settings.memtable_mib, "MiB")->check(CLI::PositiveNumber);
  app.add_option("--cache", settings.cache_mib, "MiB");
  app.add_option("--db", settings.directory, "is emptied before, and removed at the end");
  CLI11_PARSE(app, argc, argv);

  EngineOptions options;
  options.memtable_bytes = settings.memtable_mib << 20;
  options.chunk_cache_bytes = settings.cache_mib << 20;
  options.auto_compaction = true;
  options.compaction_throughput = 0;
  OneShard shard(settings.directory, options, {make_table()});
  Workloads workloads(shard.engine(), shard.executor(), shard.table("kv"), settings);
  for (const std::string& name : settings.workloads) {
    shard.wait([&] { return workloads.run(name); });
  }
  return 0;
}

}  // namespace
}  // namespace cassandra_like

int main(int argc, char** argv) { return cassandra_like::run(argc, argv); }
