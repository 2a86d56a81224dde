// A coordinator on every shard of a node in the simulated world, with tables t and n of tests/storage/fixture.h.
#pragma once

#include "coordinator/coordinator.h"
#include "model/counter.h"
#include "model/values.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {

class Coordinators : public testing::Test {
 protected:
  Coordinators() { make_coordinators(); }
  ~Coordinators() override { node.kill(); }

  void make_coordinators() {
    coordinators.clear();
    for (unsigned i = 0; i < node.shards(); ++i) {
      coordinators.push_back(Coordinator::create(node.runtime(i), node.on(i), {}));
    }
  }
  void restart() {
    node.kill();
    node.boot(2);
    make_coordinators();
  }
  void make_tables(const std::string& strategy = "SimpleStrategy", int factor = 1) {
    std::string option = strategy == "SimpleStrategy" ? "replication_factor" : "datacenter1";
    auto made = node.change(
        0, make_keyspace({storage_test::make_table("t"), storage_test::make_table("n")}, strategy, option, factor));
    ASSERT_TRUE(made.ok());
  }
  Status write(std::vector<Update> updates, Consistency consistency = Consistency::kOne,
               WriteType type = WriteType::kSimple) {
    std::vector<Mutation> mutations;
    for (Update& update : updates) mutations.push_back(update.mutation());
    return node.run<Status>(0, [&] { return coordinators[0]->write(mutations, consistency, type); });
  }
  Status add(Update update, Consistency consistency = Consistency::kOne) {
    std::vector<Mutation> mutations{update.mutation()};
    return node.run<Status>(0, [&] { return coordinators[0]->write_counters(mutations, consistency); });
  }
  Status read(const ReadCommand& command, Consistency consistency = Consistency::kOne) {
    TextSink sink(*command.table);
    using Answer = Result<ReadStatistics>;
    auto done = node.run<Answer>(0, [&] { return coordinators[0]->read(command, consistency, sink); });
    return done.ok() ? Status() : Status(std::move(done.error()));
  }
  Update row(const std::string& key, const std::string& value, int64_t timestamp = 10) {
    return std::move(Update(node.table("t"), key).at(timestamp).row(1).cell("v", value));
  }
  Update one_more(const std::string& key) {
    return std::move(Update(node.table("n"), key).row(1).cell("n", make_counter_update(1)));
  }
  int64_t sum_of(const std::string& key) {
    struct Total : RowSink {
      Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
      Next row(const Row& row) override { return total = counter_total(row.cells[0].value), Next::kContinue; }
      int64_t total = 0;
    };
    Total sum;
    ReadCommand read = node.command("n", {key});
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, sum); }).ok());
    return sum.total;
  }
  size_t batches_left() {
    ReadCommand all;
    all.table = node.table("batches", "system");
    all.range = KeyRange{};
    all.now_seconds = storage_test::kNow;
    struct Count : RowSink {
      Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
      Next row(const Row&) override { return ++rows, Next::kContinue; }
      size_t rows = 0;
    } count;
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(all, count); }).ok());
    return count.rows;
  }

  ReplicaNode node;
  std::vector<std::unique_ptr<Coordinator>> coordinators;
};

inline Task<void> keep(Task<Status> task, std::optional<Status>* result) { *result = co_await task; }

inline Task<Status> stopped(Coordinator* coordinator) {
  co_await coordinator->stop();
  co_return Status();
}

}  // namespace cassandra_like::test
