// Prints what a change of the schema costs among how many tables: milliseconds for a table that is made or dropped, from
// the statement's transformation to the snapshot on every shard. The tables are in one keyspace. Syncs of the commit log
// are part of it: give a directory in memory to leave the disk out.
//
//   schema_bench [--directory /dev/shm/schema_bench] [--shards 2]
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <future>

#include <fmt/format.h>

#include "replica/sharded_replica.h"
#include "runtime/linux/linux_runtime.h"

namespace cassandra_like {
namespace {

ColumnPtr column(const std::string& name, TypePtr type, ColumnKind kind, int position) {
  auto result = std::make_shared<Column>();
  result->name = name;
  result->type = std::move(type);
  result->kind = kind;
  result->position = position;
  return result;
}

TablePtr make_table(int n) {
  std::vector<ColumnPtr> key{column("id", types::uuid(), ColumnKind::kPartitionKey, 0)};
  std::vector<ColumnPtr> clustering{column("at", types::timestamp(), ColumnKind::kClustering, 0)};
  std::vector<ColumnPtr> others{column("value", types::text(), ColumnKind::kRegular, -1)};
  return std::make_shared<TableMetadata>("ks", fmt::format("table_{:05}", n), Uuid::random(1, static_cast<uint64_t>(n)),
                                         key, clustering, others);
}

class SchemaBench {
 public:
  SchemaBench(std::string directory, unsigned shards)
      : directory_(std::move(directory)), runtime_(std::make_unique<LinuxRuntime>(shards)) {
    std::filesystem::remove_all(directory_);
    CHECK(runtime_->start().ok());
    wait([this] { return open(); });
    change([](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
      auto keyspace = std::make_shared<KeyspaceMetadata>();
      keyspace->name = "ks";
      keyspace->replication.options = {{"class", "org.apache.cassandra.locator.SimpleStrategy"},
                                       {"replication_factor", "1"}};
      return SchemaPtr(schema->with_keyspace(keyspace));
    });
  }
  ~SchemaBench() {
    wait([this] { return replicas_->stop(); });
    runtime_->stop();
    std::filesystem::remove_all(directory_);
  }

  void add(TablePtr table) {
    change([table](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
      return SchemaPtr(schema->with_keyspace(with_table(*schema->keyspace("ks"), table)));
    });
  }
  void drop(const std::string& name) {
    change([name](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
      return SchemaPtr(schema->with_keyspace(without_table(*schema->keyspace("ks"), name)));
    });
  }

 private:
  Task<void> open() {
    EngineOptions options;
    options.data_directories = {directory_ + "/data"};
    options.commitlog_directory = directory_ + "/commitlog";
    options.auto_snapshot = false;
    LocalNode node;
    node.listen_address = node.broadcast_address = node.rpc_address = "127.0.0.1";
    auto opened = co_await ShardedReplica::open(runtime_.get(), std::move(options), std::move(node), 16);
    CHECK(opened.ok());
    replicas_ = std::move(*opened);
  }
  Task<void> run(SchemaTransformation transformation) {
    auto diff = co_await replicas_->shard(0).schema().change(std::move(transformation));
    CHECK(diff.ok());
  }
  void change(SchemaTransformation transformation) {
    wait([&] { return run(std::move(transformation)); });
  }
  static Task<void> finish(Task<void> task, std::promise<void>* done) {
    co_await task;
    done->set_value();
  }
  void wait(std::function<Task<void>()> make) {
    std::promise<void> done;
    runtime_->shard(0).executor.post([&] { spawn(finish(make(), &done)); });
    done.get_future().wait();
  }

  std::string directory_;
  std::unique_ptr<LinuxRuntime> runtime_;
  std::unique_ptr<ShardedReplica> replicas_;
};

double millis(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

void measure(const std::string& directory, unsigned shards) {
  SchemaBench bench(directory, shards);
  constexpr int kRounds = 20, kOwn = 100000;
  fmt::print("{:>8} {:>12} {:>12}\n", "tables", "create ms", "drop ms");
  int tables = 0;
  for (int among : {0, 1000, 3000}) {
    while (tables < among) bench.add(make_table(tables++));
    double created = 0, dropped = 0;
    for (int i = 0; i < kRounds; ++i) {
      const TablePtr table = make_table(kOwn + among + i);
      created += millis([&] { bench.add(table); });
      dropped += millis([&] { bench.drop(table->name); });
    }
    fmt::print("{:>8} {:>12.2f} {:>12.2f}\n", among, created / kRounds, dropped / kRounds);
  }
}

}  // namespace
}  // namespace cassandra_like

int main(int argc, char** argv) {
  CLI::App app("What a change of the schema costs among how many tables");
  std::string directory = "/dev/shm/schema_bench";
  unsigned shards = 2;
  app.add_option("--directory", directory, "is made, and removed at the end");
  app.add_option("--shards", shards);
  CLI11_PARSE(app, argc, argv);
  cassandra_like::measure(directory, shards);
  return 0;
}
