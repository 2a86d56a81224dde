// Logged batches: whole in the end, whatever comes between.
#include "coordinator/batchlog.h"

#include <gtest/gtest.h>

#include "coordinator_fixture.h"
#include "schema/internal_table.h"

namespace cassandra_like::test {
namespace {

// A node whose tables in keyspace ks refuse writes: as if the power had gone before them.
class WithoutUserWrites : public Replica {
 public:
  explicit WithoutUserWrites(Replica& replica) : replica_(replica) {}
  Task<Status> mutate(const MutationPayload& mutation) override {
    if (mutation.rows()->keyspace == "ks" && refuses) return Status(Error(ErrorCode::kIo, "no power"));
    if (mutation.rows()->keyspace == "system") records_in_memory = 0;  // the removal of a batch that is finished
    return replica_.mutate(mutation);
  }
  Task<Result<SerializedMutation>> mutate_counter(const MutationPayload& deltas) override {
    return replica_.mutate_counter(deltas);
  }
  Task<Result<ReadStatistics>> read(const ReadCommand& command, RowSink& sink, int64_t deadline,
                                    int64_t begun) override {
    if (command.range && command.table->name == "batches") ++pages_of_batches;
    if (!command.range && command.table->name == "batches") {
      most_records_in_memory = std::max(most_records_in_memory, ++records_in_memory);
    }
    return replica_.read(command, sink, deadline, begun);
  }
  Task<Result<ReadStatistics>> read_unfiltered(const ReadRequest& request, UnfilteredSink& sink,
                                               int64_t deadline) override {
    return replica_.read_unfiltered(request, sink, deadline);
  }
  Task<Status> truncate(TablePtr table) override { return replica_.truncate(table); }
  SchemaStore& schema() override { return replica_.schema(); }
  void prefetch(std::span<const PrefetchKey> partitions) override { replica_.prefetch(partitions); }
  VirtualTables& virtual_tables() override { return replica_.virtual_tables(); }
  Engine& engine() override { return replica_.engine(); }
  const LocalNode& local_node() const override { return replica_.local_node(); }
  TopologyStore& topology() override { return replica_.topology(); }
  const ReplicaStatistics& statistics() const override { return replica_.statistics(); }
  Task<Status> on_every_engine(std::function<Task<Status>(Engine&)> work) override {
    return replica_.on_every_engine(std::move(work));
  }
  Task<std::vector<TableStatistics>> table_statistics(Uuid table) override { return replica_.table_statistics(table); }
  Task<std::vector<EngineStatistics>> engine_statistics() override { return replica_.engine_statistics(); }
  Task<Status> build_index(TablePtr table, std::string index) override { return replica_.build_index(table, index); }

  bool refuses = true;
  int pages_of_batches = 0;
  int records_in_memory = 0, most_records_in_memory = 0;

 private:
  Replica& replica_;
};

Task<Status> replay_all(Batchlog* batchlog) {
  co_await batchlog->replay_all();
  co_return Status();
}

class LoggedBatches : public Coordinators {
 protected:
  LoggedBatches() { make_tables(); }
  void write_half() {
    WithoutUserWrites half(node.on(0));
    // It lives as long as the node: the schema has it as a listener.
    Coordinator* coordinator = coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {})).get();
    Update first = row(node.key_of(0), "x"), second = row(node.key_of(1), "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    Status status =
        node.run<Status>(0, [&] { return coordinator->write(mutations, Consistency::kOne, WriteType::kBatch); });
    ASSERT_FALSE(status.ok());
    ASSERT_EQ(batches_left(), 1u);
  }
  void replay() {
    EXPECT_TRUE(node.run<Status>(0, [&] { return replay_all(&coordinators[0]->batchlog()); }).ok());
  }
  void sync_each_write() {
    node.options.commitlog_sync = CommitLogSync::kBatch;
    restart();
    make_tables();
  }
  // The lines of these keys, when the node is up again and has replayed its batches.
  size_t lines_after_a_power_failure(const std::string& a, const std::string& b) {
    node.crash();
    coordinators.clear();
    node.boot(2);
    make_coordinators();
    replay();
    return node.read(0, node.command("t", {a, b})).size();
  }
  void start_rounds(Coordinator& coordinator) {
    auto start = [&] {
      coordinator.batchlog().start();
      return Task<Status>(Status());
    };
    ASSERT_TRUE(node.run<Status>(0, start).ok());
  }
  Lines both() { return {node.key_of(0), "  1: v=x@10", node.key_of(1), "  1: v=y@10"}; }
  Lines found() { return node.read(0, node.command("t", {node.key_of(0), node.key_of(1)})); }
};

TEST_F(LoggedBatches, LeaveNoRecordBehind) {
  EXPECT_TRUE(write({row(node.key_of(0), "x"), row(node.key_of(1), "y")}, Consistency::kOne, WriteType::kBatch).ok());
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
  // It was there: its partition's deletion is.
  EXPECT_GT(node.on(0).maintenance().table_statistics(node.table("batches", "system")->id)->writes +
                node.on(1).maintenance().table_statistics(node.table("batches", "system")->id)->writes,
            1u);
}

TEST_F(LoggedBatches, UnloggedOnesAndSingleMutationsNeedNoRecord) {
  EXPECT_TRUE(write({row("a", "x"), row("b", "y")}, Consistency::kOne, WriteType::kUnloggedBatch).ok());
  EXPECT_TRUE(write({row("c", "x")}, Consistency::kOne, WriteType::kBatch).ok());
  for (unsigned shard : {0u, 1u}) {
    EXPECT_EQ(node.on(shard).maintenance().table_statistics(node.table("batches", "system")->id)->writes, 0u);
  }
}

TEST_F(LoggedBatches, AreFinishedAfterARestart) {
  write_half();
  EXPECT_EQ(found(), Lines());
  restart();
  replay();
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
}

// A node of Cassandra in CASSANDRA_4 mode leaves such records.
TEST_F(LoggedBatches, OfMessagingVersion12AreFinished) {
  write_half();
  const TablePtr batches = node.table("batches", "system");
  ReadCommand all;
  all.table = batches;
  all.range = KeyRange{};
  all.now_seconds = storage_test::kNow;
  InternalRows found_rows(batches);
  ASSERT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(all, found_rows); }).ok());
  ASSERT_EQ(found_rows.rows.size(), 1u);
  ASSERT_EQ(found_rows.rows[0].integer("version"), 13);
  Arena arena;
  const Uuid id = *found_rows.rows[0].uuid("id");
  UpdateBuilder older(batches, {Bytes(id.view())}, id.unix_micros() + 1, arena);
  older.row().set("version", encode_int(12));
  const PartitionUpdate update = older.build();
  const Mutation mutation{"system", update.key, {&update, 1}};
  ASSERT_TRUE(node.run<Status>(0, [&] { return node.on(0).mutate(mutation); }).ok());
  node.world().run_for(std::chrono::seconds(1));
  replay();
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(LoggedBatches, KeepTheirTimestampsSoThatLaterWritesWin) {
  write_half();
  EXPECT_TRUE(write({row(node.key_of(1), "later", 11)}).ok());
  replay();
  EXPECT_EQ(found(), (Lines{node.key_of(0), "  1: v=x@10", node.key_of(1), "  1: v=later@11"}));
}

TEST_F(LoggedBatches, OfDroppedTablesAreForgotten) {
  write_half();
  ASSERT_TRUE(node.change(0, drop_table("t")).ok());
  replay();
  EXPECT_EQ(batches_left(), 0u);
}

// From the error in the middle until a round of the batchlog, the batch is half applied.
TEST_F(LoggedBatches, ThatFailInTheMiddleAreFinishedByALaterRound) {
  WithoutUserWrites half(node.on(0));
  Coordinator& coordinator = *coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {}));
  start_rounds(coordinator);
  node.world().run_for(std::chrono::seconds(7));
  Update first = row(node.key_of(0), "x"), second = row(node.key_of(1), "y");
  std::vector<Mutation> mutations{first.mutation(), second.mutation()};
  auto write_batch = [&] { return coordinator.write(mutations, Consistency::kOne, WriteType::kBatch); };
  ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  half.refuses = false;
  // The round after 10 s leaves it alone: it is 3 s old and may be under way.
  node.world().run_for(std::chrono::seconds(8));
  EXPECT_EQ(found(), Lines());
  EXPECT_EQ(batches_left(), 1u);
  node.world().run_for(std::chrono::seconds(8));
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
  EXPECT_EQ(coordinator.batchlog().batches_replayed(), 1u);
}

TEST_F(LoggedBatches, AreFinishedAtOnceWhenAnOperatorAsks) {
  WithoutUserWrites half(node.on(0));
  Coordinator& coordinator = *coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {}));
  start_rounds(coordinator);
  Update first = row(node.key_of(0), "x"), second = row(node.key_of(1), "y");
  std::vector<Mutation> mutations{first.mutation(), second.mutation()};
  auto write_batch = [&] { return coordinator.write(mutations, Consistency::kOne, WriteType::kBatch); };
  ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  half.refuses = false;
  auto replay_now = [&] { return coordinator.batchlog().force_replay(); };
  // A batch of less than four seconds may be under way.
  ASSERT_TRUE(node.run<Status>(0, replay_now).ok());
  EXPECT_EQ(found(), Lines());
  node.world().run_for(std::chrono::seconds(5));
  ASSERT_TRUE(node.run<Status>(0, replay_now).ok());
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
  EXPECT_EQ(coordinator.batchlog().batches_replayed(), 1u);
}

TEST_F(LoggedBatches, AreTriedAgainUntilTheySucceed) {
  WithoutUserWrites half(node.on(0));
  Coordinator& coordinator = *coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {}));
  Update first = row(node.key_of(0), "x"), second = row(node.key_of(1), "y");
  std::vector<Mutation> mutations{first.mutation(), second.mutation()};
  auto write_batch = [&] { return coordinator.write(mutations, Consistency::kOne, WriteType::kBatch); };
  ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  start_rounds(coordinator);
  node.world().run_for(std::chrono::seconds(25));
  EXPECT_EQ(batches_left(), 1u);
  half.refuses = false;
  node.world().run_for(std::chrono::seconds(10));
  EXPECT_EQ(found(), both());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(LoggedBatches, DoNotUndoATruncate) {
  write_half();
  TablePtr table = node.table("t");
  ASSERT_TRUE(node.run<Status>(0, [&] { return coordinators[0]->truncate(table); }).ok());
  replay();
  EXPECT_EQ(found(), Lines());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(LoggedBatches, WrittenAfterATruncateAreFinished) {
  TablePtr table = node.table("t");
  ASSERT_TRUE(node.run<Status>(0, [&] { return coordinators[0]->truncate(table); }).ok());
  node.world().run_for(std::chrono::milliseconds(5));
  write_half();
  replay();
  EXPECT_EQ(found(), both());
}

// Their tombstones may be gone, and what they deleted with them.
TEST_F(LoggedBatches, OlderThanGcGraceAreForgotten) {
  auto table = std::make_shared<TableMetadata>(*node.table("t"));
  table->params.gc_grace_seconds = 60;
  ASSERT_TRUE(node.change(0, make_keyspace({table})).ok());
  write_half();
  node.world().run_for(std::chrono::seconds(61));
  replay();
  EXPECT_EQ(found(), Lines());
  EXPECT_EQ(batches_left(), 0u);
}

// More than one page of records.
TEST_F(LoggedBatches, AreFoundPageByPage) {
  WithoutUserWrites half(node.on(0));
  Coordinator& coordinator = *coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {}));
  for (int i = 0; i < 300; ++i) {
    Update first = row(node.key_of(0, i), "x"), second = row(node.key_of(1, i), "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    auto write_batch = [&] { return coordinator.write(mutations, Consistency::kOne, WriteType::kBatch); };
    ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  }
  ASSERT_EQ(batches_left(), 300u);
  restart();
  replay();
  EXPECT_EQ(batches_left(), 0u);
  EXPECT_EQ(node.scan(1, "t").size(), 1200u);
}

TEST_F(LoggedBatches, OfManyBytesAreNotAllInMemoryAtOnce) {
  WithoutUserWrites half(node.on(0));
  Coordinator* coordinator = coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {})).get();
  const std::string large(400 << 10, 'x');
  for (int i = 0; i < 25; ++i) {
    Update first = row(node.key_of(0, i), large), second = row(node.key_of(1, i), "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    auto write_batch = [&] { return coordinator->write(mutations, Consistency::kOne, WriteType::kBatch); };
    ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  }
  ASSERT_EQ(batches_left(), 25u);
  half.refuses = false;
  EXPECT_TRUE(node.run<Status>(0, [&] { return replay_all(&coordinator->batchlog()); }).ok());
  EXPECT_EQ(batches_left(), 0u);
  EXPECT_EQ(half.pages_of_batches, 3);  // eleven batches have the bytes of a page
}

TEST_F(LoggedBatches, OfManyBytesAreNotAllInMemoryInARound) {
  WithoutUserWrites half(node.on(0));
  Coordinator* coordinator = coordinators.emplace_back(Coordinator::create(node.runtime(0), half, {})).get();
  const std::string large(400 << 10, 'x');
  for (int i = 0; i < 25; ++i) {
    Update first = row(node.key_of(0, i), large), second = row(node.key_of(1, i), "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    auto write_batch = [&] { return coordinator->write(mutations, Consistency::kOne, WriteType::kBatch); };
    ASSERT_FALSE(node.run<Status>(0, write_batch).ok());
  }
  half.refuses = false;
  start_rounds(*coordinator);
  node.world().run_for(std::chrono::seconds(40));
  EXPECT_EQ(batches_left(), 0u);
  EXPECT_EQ(half.most_records_in_memory, 11);
}

// The power goes at any moment of a batch: then all of it is there after the replay, or nothing.
TEST_F(LoggedBatches, AreWholeOrNotThereAfterAPowerFailure) {
  sync_each_write();
  size_t whole = 0, nothing = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string a = node.key_of(0, i), b = node.key_of(1, i);
    Update first = row(a, "x"), second = row(b, "y");
    std::vector<Mutation> mutations{first.mutation(), second.mutation()};
    std::optional<Status> result;
    node.runtime(0).executor.post(
        [&] { spawn(keep(coordinators[0]->write(mutations, Consistency::kOne, WriteType::kBatch), &result)); });
    node.world().run_for(std::chrono::microseconds(node.world().random().below(8000)));
    const bool acknowledged = result.has_value() && result->ok();
    const size_t lines = lines_after_a_power_failure(a, b);
    ASSERT_TRUE(lines == 4 || (lines == 0 && !acknowledged)) << lines;
    ++(lines == 4 ? whole : nothing);
    EXPECT_EQ(batches_left(), 0u);
  }
  EXPECT_GT(whole, 5u);
  EXPECT_GT(nothing, 5u);
}

// A node that begins to replay finds a batch that another one is just giving it. Then the power goes.
TEST_F(LoggedBatches, AreNotReplayedBeforeTheirRecordsAreOnTheDisk) {
  sync_each_write();
  size_t whole = 0, nothing = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string a = node.key_of(0, i), b = node.key_of(1, i);
    Update first = row(a, "x"), second = row(b, "y");
    const SerializedMutation mutations[] = {SerializedMutation(first.mutation()),
                                            SerializedMutation(second.mutation())};
    const BytesView bytes[] = {mutations[0].view(), mutations[1].view()};
    Batchlog& batchlog = coordinators[0]->batchlog();
    std::optional<Status> stored, replayed;
    node.runtime(0).executor.post([&] {
      spawn(keep(batchlog.store_for_peer(batchlog.next_id(), 0, bytes), &stored));
      spawn(keep(replay_all(&batchlog), &replayed));
    });
    node.world().run_for(std::chrono::microseconds(node.world().random().below(8000)));
    const size_t lines = lines_after_a_power_failure(a, b);
    ASSERT_TRUE(lines == 4 || (lines == 0 && !stored)) << lines;
    ++(lines == 4 ? whole : nothing);
  }
  EXPECT_GT(whole, 5u);
  EXPECT_GT(nothing, 5u);
}

}  // namespace
}  // namespace cassandra_like::test
