// A shard's engine in the simulated world, with tables to write to, and reads as lines of text.
//
//   Node node;
//   node.apply(Update(node.table("t"), "a").row(1).cell("v", "x").at(10));
//   node.read("t", "a") == {"a", "  1: v=x@10"}
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "read/read_command.h"
#include "runtime/sim/sim_runtime.h"
#include "storage/engine/engine.h"

namespace cassandra_like::storage_test {

inline constexpr int64_t kNow = 2'000'000'000;  // seconds; what reads take for now

// kv (k text primary key, v1 … v5 blob)
// t (k text, c int, s text static, v text, w text, m map<text, text>, primary key (k, c))
// d (k text, a int, b int, v text, primary key (k, a, b)) with clustering order by (a desc)
// n (k text, c int, n counter, primary key (k, c))
TablePtr make_table(const std::string& name);
SchemaPtr make_schema(std::vector<TablePtr> tables, bool durable_writes = true);

std::string int_bytes(int32_t v);

// One partition's change, built cell by cell. Keys are text; clusterings are ints.
class Update {
 public:
  Update(TablePtr table, std::string key);
  Update& at(int64_t timestamp);  // of what follows
  Update& row(std::vector<int32_t> clustering);
  Update& row(int32_t c) { return row(std::vector<int32_t>{c}); }
  Update& static_row();
  Update& live(int32_t ttl = 0, int64_t expires = kNoDeletionTime);  // the row marker of an INSERT
  Update& cell(const std::string& column, const std::string& value, int32_t ttl = 0, int64_t expires = kNoDeletionTime);
  Update& element(const std::string& column, const std::string& path, const std::string& value);
  Update& tombstone(const std::string& column);
  Update& clear(const std::string& column);  // complex deletion
  Update& delete_row();
  // [from, to) of the first clustering column; inclusive flags as given.
  Update& delete_range(int32_t from, bool from_inclusive, int32_t to, bool to_inclusive);
  // [from, …) and (…, to].
  Update& delete_from(int32_t from);
  Update& delete_up_to(int32_t to);
  Update& delete_partition();

  const PartitionUpdate& build();
  Mutation mutation();

 private:
  struct RowParts {
    Row row;
    std::vector<Cell> cells;
    std::vector<ComplexDeletion> complex;
  };
  BytesView keep(std::string text);
  const Column* column(const std::string& name) const;
  ClusteringPrefix bound(int32_t value, ClusteringKind kind);
  ClusteringPrefix open_bound(ClusteringKind kind) { return make_clustering(*table_, {}, kind, *arena_); }

  TablePtr table_;
  std::deque<std::string> strings_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
  int64_t timestamp_ = 1;
  std::deque<RowParts> rows_;
  RowParts static_;
  RowParts* current_ = nullptr;
  std::vector<Row> built_rows_;
  std::vector<RangeTombstone> ranges_;
  PartitionUpdate update_;
};

std::string to_line(const TableMetadata& table, const Row& row);

using Lines = std::vector<std::string>;

// Collects what a read says, partition keys and their static rows first: "a [s=x@3]", then "  1: v=x@10".
class TextSink : public RowSink {
 public:
  explicit TextSink(const TableMetadata& table) : table_(table) {}
  Next begin_partition(const DecoratedKey& key, const Row& static_row) override;
  Next row(const Row& row) override;
  Lines lines;

 private:
  const TableMetadata& table_;
};

class Node {
 public:
  explicit Node(uint64_t seed = 1, unsigned shards = 1, EngineOptions options = {}, std::vector<TablePtr> tables = {});
  ~Node();

  // Boots engines on every shard; false (with error()) when a replay failed.
  bool boot();
  void crash();  // power is cut
  void kill();   // the process is gone, its files are as they are
  void restart() {
    kill();
    ASSERT_TRUE(boot()) << error();
  }
  void set_shards(unsigned shards) { shards_ = shards; }  // of the next boot
  void set_tables(std::vector<TablePtr> tables, bool durable_writes = true);

  template <class T>
  T run(Task<T> task);
  Status apply(Update& update);
  Status apply(Update&& update) { return apply(update); }
  Lines read(const std::string& table, const std::string& key, Slices slices = {}, bool reversed = false);
  Lines read(ReadCommand command);
  Lines scan(const std::string& table);
  ReadCommand command(const std::string& table) const;
  void flush() { ASSERT_TRUE(run(engine().maintenance().flush({})).ok()); }
  // On all shards; its positions by shard.
  Task<Result<std::vector<CommitLogPosition>>> truncating(TablePtr table, std::string snapshot_tag = "");
  Result<std::vector<CommitLogPosition>> truncate(TablePtr table, std::string snapshot_tag = "") {
    return run(truncating(std::move(table), std::move(snapshot_tag)));
  }
  void compact() { ASSERT_TRUE(run(engine().maintenance().compact({})).ok()); }

  TablePtr table(const std::string& name) const { return schema_->table("ks", name); }
  Engine& engine(unsigned shard = 0) { return *engines_[shard]; }
  const std::string& error() const { return error_; }
  SimMachine& machine() { return machine_; }
  SimWorld& world() { return *world_; }
  Runtime& runtime() { return *runtime_; }
  Disk& disk() { return runtime_->shard(0).disk; }
  int64_t counter(const std::string& key);  // of table n, the last row's
  EngineOptions options;
  TruncationRecords truncated;  // for the next boot
  std::vector<std::pair<FailurePolicy, std::string>> failures;
  std::function<Task<Status>(ShardRuntime&)> before_engines;  // of the next boots; may be unset
  // Makes what stands between the engines of the next boot and the machine's disk; unset: nothing does.
  std::function<std::unique_ptr<Disk>(Disk&)> wrap_disk;

 private:
  std::unique_ptr<SimWorld> world_;
  SimMachine& machine_;
  unsigned shards_;
  SchemaPtr schema_;
  Runtime* runtime_ = nullptr;
  std::vector<std::unique_ptr<Disk>> disks_;  // of wrap_disk
  std::deque<ShardRuntime> wrapped_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::string error_;
};

template <class T>
Task<void> finish(Task<T> task, std::optional<T>* out) {
  *out = co_await task;
}

template <class T>
T Node::run(Task<T> task) {
  std::optional<T> out;
  spawn(finish<T>(std::move(task), &out));
  bool done = world_->run_until([&] { return out.has_value(); }, std::chrono::hours(1));
  CHECK(done);
  return std::move(*out);
}

}  // namespace cassandra_like::storage_test
