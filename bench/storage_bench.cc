// The cost of an operation of one shard's engine, on a real disk: inserts of 5 values of 34 bytes, point reads of them,
// slices of 100 rows, and a major compaction. `allocations` is heap allocations per operation.
#include <benchmark/benchmark.h>

#include <filesystem>

#include <fmt/format.h>

#include "allocations.h"
#include "bench/one_shard.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

ColumnPtr column(std::string name, TypePtr type, ColumnKind kind, int position = -1) {
  return std::make_shared<Column>(Column{std::move(name), std::move(type), kind, position, {}});
}

// kv: a blob key. timeline: rows by bigint in a partition.
TablePtr make_table(const std::string& name) {
  std::vector<ColumnPtr> key{column("k", types::blob(), ColumnKind::kPartitionKey, 0)}, clustering, values;
  if (name == "timeline") clustering.push_back(column("c", types::bigint(), ColumnKind::kClustering, 0));
  for (int i = 0; i < 5; ++i) values.push_back(column("v" + std::to_string(i), types::blob(), ColumnKind::kRegular));
  return std::make_shared<TableMetadata>("bench", name, Uuid::name_based(name), key, clustering, values);
}

// One row to write, its key and clustering as numbers. The memory that it points to is reused.
class Insert {
 public:
  explicit Insert(TablePtr table) : table_(std::move(table)), value_(kValueBytes, 'x') {
    for (const ColumnPtr& c : table_->regular_columns) cells_.push_back({c.get(), 1, kNoDeletionTime, 0, value_, {}});
    key_.resize(10);
  }
  // Values that do not compress, instead of those that all are alike.
  void vary_values() { varied_.resize(kValueBytes * cells_.size()); }
  const Mutation& make(uint64_t key, int64_t clustering, int64_t timestamp) {
    store_be(key_.data() + 2, key * 0x9E3779B97F4A7C15ULL);
    for (char& byte : varied_) byte = static_cast<char>((random_ = random_ * 6364136223846793005ULL + 1) >> 56);
    for (size_t i = 0; i < cells_.size(); ++i) {
      cells_[i].timestamp = timestamp;
      if (!varied_.empty()) cells_[i].value = BytesView(varied_).substr(i * kValueBytes, kValueBytes);
    }
    row_.cells = cells_;
    row_.liveness.timestamp = timestamp;
    row_.clustering = empty_clustering();
    if (!table_->clustering.empty()) {
      clustering_ = encode_bigint(clustering);
      values_[0] = clustering_;
      comparable_.clear();
      append_comparable(comparable_, *table_, values_, ClusteringKind::kClustering);
      row_.clustering = {ClusteringKind::kClustering, values_, comparable_};
    }
    update_.table = table_.get();
    update_.key = DecoratedKey::of(key_);
    update_.rows = {&row_, 1};
    mutation_ = {"bench", update_.key, {&update_, 1}};
    return mutation_;
  }

 private:
  static constexpr size_t kValueBytes = 34;
  TablePtr table_;
  Bytes value_, varied_, key_, clustering_, comparable_;
  uint64_t random_ = 1;
  BytesView values_[1];
  std::vector<Cell> cells_;
  Row row_;
  PartitionUpdate update_;
  Mutation mutation_;
};

// Copies values out, as a result's encoder does.
class CopyingSink final : public RowSink {
 public:
  Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
  Next row(const Row& row) override {
    for (const Cell& cell : row.cells) out.append(cell.value);
    ++rows;
    return Next::kContinue;
  }
  Bytes out;
  uint64_t rows = 0;
};

class Shard final : public OneShard {
 public:
  Shard()
      : OneShard((std::filesystem::temp_directory_path() / fmt::format("storage_bench_{}", ::getpid())).string(),
                 options(), {make_table("kv"), make_table("timeline")}) {}

 private:
  static EngineOptions options() {
    EngineOptions options;
    options.memtable_bytes = 4ull << 30;
    // Filling a table keeps the shard for seconds; no sync that ends meanwhile is late.
    options.commitlog_sync_period = std::chrono::hours(1);
    options.compaction_throughput = 0;
    return options;
  }
};

void fill(Shard& shard, const std::string& table, uint64_t keys, int64_t rows, int64_t timestamp = 1) {
  shard.run([&] {
    Insert insert(shard.table(table));
    for (uint64_t key = 0; key < keys; ++key) {
      for (int64_t c = 0; c < rows; ++c) {
        Task<Status> task = shard.engine().apply(insert.make(key, c, timestamp));
        CHECK(task.ready() && task.take().ok());
      }
    }
  });
}

void report_allocations(benchmark::State& state, uint64_t before) {
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(allocations() - before), benchmark::Counter::kAvgIterations);
}

// keys: how many different ones; the first round inserts, later ones overwrite.
void BM_Insert(benchmark::State& state) {
  Shard shard;
  auto keys = static_cast<uint64_t>(state.range(0));
  fill(shard, "kv", keys > 1'000'000 ? 1 : keys, 1);
  shard.run([&] {
    Insert insert(shard.table("kv"));
    uint64_t n = 0, before = allocations();
    for (auto unused : state) {
      ++n;
      Task<Status> task = shard.engine().apply(insert.make(n % keys, 0, static_cast<int64_t>(n)));
      if (!task.ready() || !task.take().ok()) state.SkipWithError("apply failed");
    }
    report_allocations(state, before);
  });
}
BENCHMARK(BM_Insert)->Arg(1000)->Arg(100'000)->Arg(1ull << 40)->MeasureProcessCPUTime();

void BM_PointRead(benchmark::State& state) {
  Shard shard;
  auto keys = static_cast<uint64_t>(state.range(0));
  fill(shard, "kv", keys, 1);
  if (state.range(1) != 0) shard.flush();
  shard.run([&] {
    Insert insert(shard.table("kv"));
    ReadCommand command;
    command.table = shard.table("kv");
    command.keys.resize(1);
    CopyingSink sink;
    uint64_t n = 0, before = allocations();
    for (auto unused : state) {
      n = n * 6364136223846793005ULL + 1442695040888963407ULL;
      command.keys[0] = insert.make((n >> 33) % keys, 0, 1).key;
      sink.out.clear();
      if (!shard.engine().read(command, sink).take().ok()) state.SkipWithError("read failed");
    }
    report_allocations(state, before);
    if (sink.rows != static_cast<uint64_t>(state.iterations())) state.SkipWithError("rows are missing");
  });
}
BENCHMARK(BM_PointRead)
    ->ArgNames({"keys", "on_disk"})
    ->Args({1000, 0})
    ->Args({100'000, 0})
    ->Args({100'000, 1})
    ->MeasureProcessCPUTime();

void BM_Slice100(benchmark::State& state) {
  Shard shard;
  constexpr uint64_t kKeys = 100;
  fill(shard, "timeline", kKeys, 1000);
  if (state.range(0) != 0) shard.flush();
  shard.run([&] {
    Insert insert(shard.table("timeline"));
    ReadCommand command;
    command.table = shard.table("timeline");
    command.keys.resize(1);
    command.slices.resize(1);
    command.limits.rows = 100;
    command.reversed = state.range(1) != 0;
    CopyingSink sink;
    uint64_t n = 0, before = allocations();
    for (auto unused : state) {
      n = n * 6364136223846793005ULL + 1442695040888963407ULL;
      const Mutation& at = insert.make((n >> 33) % kKeys, static_cast<int64_t>((n >> 40) % 900), 1);
      command.keys[0] = at.key;
      Bytes& bound = command.reversed ? command.slices[0].end : command.slices[0].start;
      bound = at.updates[0].rows[0].clustering.comparable;
      sink.out.clear();
      if (!shard.engine().read(command, sink).take().ok()) state.SkipWithError("read failed");
    }
    report_allocations(state, before);
  });
}
BENCHMARK(BM_Slice100)
    ->ArgNames({"on_disk", "reversed"})
    ->Args({0, 0})
    ->Args({0, 1})
    ->Args({1, 0})
    ->Args({1, 1})
    ->MeasureProcessCPUTime();

// A start with a commit log of 1 GiB, of inserts and overwrites of so many keys.
void BM_Replay(benchmark::State& state) {
  Shard shard;
  auto keys = static_cast<uint64_t>(state.range(0));
  for (int64_t round = 1; shard.engine().maintenance().statistics().commitlog_bytes < (1ull << 30); ++round) {
    fill(shard, "kv", keys, 1, round);
  }
  const uint64_t bytes = shard.engine().maintenance().statistics().commitlog_bytes;
  for (auto unused : state) {
    state.PauseTiming();
    shard.close();
    state.ResumeTiming();
    shard.open();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_Replay)->Arg(1000)->Arg(1'000'000)->Iterations(1)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

// A major compaction of a million rows in four SSTables. Bytes are those of the inputs on the disk; they do not compress.
void BM_Compact(benchmark::State& state) {
  constexpr uint64_t kInputs = 4, kRows = 1'000'000;
  uint64_t bytes = 0;
  for (auto unused : state) {
    state.PauseTiming();
    auto shard = std::make_unique<Shard>();
    for (uint64_t input = 0; input < kInputs; ++input) {
      shard->run([&] {
        Insert insert(shard->table("kv"));
        insert.vary_values();
        for (uint64_t key = input; key < kRows; key += kInputs) {
          Task<Status> task = shard->engine().apply(insert.make(key, 0, 1));
          CHECK(task.ready() && task.take().ok());
        }
      });
      shard->flush();
    }
    state.ResumeTiming();
    shard->compact();
    state.PauseTiming();
    bytes += shard->engine().maintenance().statistics().compressed_bytes_compacted;
    shard.reset();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_Compact)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cassandra_like

BENCHMARK_MAIN();
