// Reads of a range of the ring on several shards: the rows, their order and the limits do not tell how many shards there
// are, a shard is asked for no more than its share, and what waits for its turn is bounded in bytes.
#include "replica/range_read.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "model/values.h"
#include "read/response_writer.h"
#include "read/unfiltered_buffer.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

TEST(NextTokenOfShard, IsTheFirstThatTheShardOwns) {
  constexpr Token kMin = std::numeric_limits<Token>::min(), kMax = std::numeric_limits<Token>::max();
  for (unsigned shards : {1u, 2u, 3u, 4u, 7u, 8u}) {
    for (Token from : {kMin, kMin + 1, Token{-7}, Token{0}, Token{1} << 52, Token{123456789012345}, kMax - 5, kMax}) {
      for (unsigned shard = 0; shard < shards; ++shard) {
        const std::optional<Token> next = next_token_of_shard(from, shard, shards);
        if (!next) {
          EXPECT_LT(shard, shard_of(kMax, shards)) << from;
          continue;
        }
        EXPECT_GE(*next, from);
        EXPECT_EQ(shard_of(*next, shards), shard) << from << " of " << shards;
        if (*next == from) continue;
        EXPECT_NE(shard_of(*next - 1, shards), shard) << from << " of " << shards;
        // No piece of a shard is as far away as a slice of the ring.
        EXPECT_LE(static_cast<uint64_t>(*next) - static_cast<uint64_t>(from), uint64_t{1} << 52);
      }
    }
  }
}

// Tells the lines as TextSink does, and counts what it is told of the end.
class EndSink : public TextSink {
 public:
  using TextSink::TextSink;
  Next end_partition() override {
    ++ended;
    return Next::kContinue;
  }
  void ended_behind(const ClusteringPrefix* row, uint64_t left) override {
    end = row == nullptr ? "partition" : std::to_string(decode_int(row->values[0]));
    left_in_partition = left;
  }
  int ended = 0;
  std::string end;
  uint64_t left_in_partition = 0;
};

// May be fed on any shard.
class SharedSink : public EndSink {
 public:
  using EndSink::EndSink;
  bool callable_from_any_shard() const override { return true; }
};

class UnorderedSink : public SharedSink {
 public:
  using SharedSink::SharedSink;
  bool takes_any_order() const override { return true; }
};

class RangeReadTest : public testing::TestWithParam<unsigned> {
 protected:
  RangeReadTest() {
    CHECK(node.change(0, make_keyspace({make_table("t")})).ok());
    table = node.table("t");
  }
  void write(const std::string& key, int from, int to, const std::string& value = "x") {
    for (int begin = from; begin < to; begin += 500) {
      Update update(table, key);
      update.at(5);
      for (int c = begin; c < std::min(to, begin + 500); ++c) update.row(c).live().cell("v", value);
      ASSERT_TRUE(node.write(0, std::move(update)).ok());
    }
  }
  void delete_two(const std::string& key) {
    Update update(table, key);
    update.at(9);
    for (int c = 0; c < 2; ++c) update.row(c).delete_row();
    ASSERT_TRUE(node.write(0, std::move(update)).ok());
  }
  void boot_with_failure_threshold(uint64_t tombstones) {
    node.options.tombstone_failure_threshold = tombstones;
    node.drain();
    node.boot(GetParam());
    table = node.table("t");
  }
  // Partitions of 1 to `rows` rows; what a read of all tells.
  Lines fill(int partitions, int rows, const std::string& value = "x") {
    std::map<std::pair<Token, std::string>, int> sizes;
    for (int p = 0; p < partitions; ++p) {
      const std::string key = "key" + std::to_string(p);
      const int size = 1 + p % rows;
      write(key, 0, size, value);
      sizes[{murmur3_token(key), key}] = size;
    }
    Lines lines;
    for (const auto& [position, size] : sizes) {
      lines.push_back(position.second);
      for (int c = 0; c < size; ++c) lines.push_back("  " + std::to_string(c) + ": @5 v=" + value + "@5");
    }
    return lines;
  }
  void flush() {
    ASSERT_TRUE(node.run<Status>(0,
                                 [&] {
                                   return node.on(0).on_every_engine(
                                       [](Engine& engine) { return engine.maintenance().flush({}); });
                                 })
                    .ok());
  }
  template <class Sink>
  Result<ReadStatistics> read_into(Sink& sink, const ReadCommand& command) {
    return node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(command, sink); });
  }
  template <class Sink>
  Lines read(const ReadCommand& command) {
    Sink sink(*table);
    auto done = read_into(sink, command);
    return done.ok() ? sink.lines : Lines{"error: " + done.error().message()};
  }
  // The lines up to so many rows.
  static Lines first_rows(const Lines& all, uint64_t limit) {
    Lines some;
    uint64_t rows = 0;
    for (const std::string& line : all) {
      if (rows == limit) break;
      rows += line[0] == ' ';
      some.push_back(line);
    }
    return some;
  }
  uint64_t rows_read() {
    uint64_t rows = 0;
    for (unsigned shard = 0; shard < node.shards(); ++shard) {
      rows += node.on(shard).maintenance().table_statistics(table->id)->live_rows_per_read.sum();
    }
    return rows;
  }

  static Task<void> apply(Engine* engine, Update update) {
    const Mutation mutation = update.mutation();
    const MutationPayload payload(mutation);
    const Status applied = co_await engine->apply(payload);
    CHECK(applied.ok());
  }

  ReplicaNode node{GetParam()};
  TablePtr table;
};

TEST_P(RangeReadTest, RowsComeInRingOrder) {
  const Lines all = fill(200, 7);
  for (bool flushed : {false, true}) {
    if (flushed) flush();
    EXPECT_EQ(read<EndSink>(node.command("t")), all);
    EXPECT_EQ(read<SharedSink>(node.command("t")), all);
  }
}

TEST_P(RangeReadTest, LimitsEndTheReadBehindTheirLastRow) {
  const Lines all = fill(200, 7);
  for (uint64_t limit : {1u, 2u, 31u, 32u, 33u, 100u, 700u, 10000u}) {
    ReadCommand some = node.command("t");
    some.limits.rows = limit;
    const Lines expected = first_rows(all, limit);
    for (bool shared : {false, true}) {
      EndSink copied(*table);
      SharedSink direct(*table);
      EndSink& sink = shared ? direct : copied;
      ASSERT_TRUE(read_into(sink, some).ok());
      EXPECT_EQ(sink.lines, expected) << limit;
      if (limit == 10000) {
        EXPECT_EQ(sink.end, "");
      } else {
        EXPECT_EQ(sink.end, expected.back().substr(2, expected.back().find(':') - 2)) << limit;
      }
    }
  }
}

TEST_P(RangeReadTest, LimitsOfPartitionsHold) {
  const Lines all = fill(100, 5);
  ReadCommand two = node.command("t");
  two.limits.per_partition = 2;
  Lines expected;
  int rows = 0;
  for (const std::string& line : all) {
    rows = line[0] == ' ' ? rows + 1 : 0;
    if (rows <= 2) expected.push_back(line);
  }
  EXPECT_EQ(read<EndSink>(two), expected);
  two.limits.rows = 40;
  EXPECT_EQ(read<EndSink>(two), first_rows(expected, 40));
}

TEST_P(RangeReadTest, LargePartitionsAreNotHeldInBuffers) {
  // Each of them is larger than a buffer.
  const Lines all = fill(5, 1, "small");
  write("large1", 0, 3000, std::string(200, 'a'));
  write("large2", 0, 12000, "b");
  const Lines with_large = read<SharedSink>(node.command("t"));
  EXPECT_EQ(with_large.size(), all.size() + 2 + 3000 + 12000);
  EXPECT_EQ(read<EndSink>(node.command("t")), with_large);
  ReadCommand some = node.command("t");
  some.limits.rows = 7000;
  EXPECT_EQ(read<EndSink>(some), first_rows(with_large, 7000));
  EXPECT_EQ(read<SharedSink>(some), first_rows(with_large, 7000));
  SharedSink sink(*table);
  ASSERT_TRUE(read_into(sink, node.command("t")).ok());
  EXPECT_EQ(sink.ended, 7);
}

TEST_P(RangeReadTest, ShardsAreAskedForWhatTheAnswerNeeds) {
  fill(3000, 1);
  ReadCommand one = node.command("t");
  one.limits.rows = 1;
  uint64_t before = rows_read();
  read<EndSink>(one);
  EXPECT_LE(rows_read() - before, node.shards());
  ReadCommand thousand = node.command("t");
  thousand.limits.rows = 1000;
  before = rows_read();
  read<EndSink>(thousand);
  EXPECT_LE(rows_read() - before, 1000 + 64 * node.shards());
}

// A partition that does not fit a buffer is read by its key, from its beginning.
TEST_P(RangeReadTest, OfALargePartitionABufferIsReadTwice) {
  const Lines small = fill(100, 7, std::string(200, 's'));
  write("large1", 0, 3000, std::string(200, 'a'));
  write("large2", 0, 2000, std::string(200, 'b'));
  const uint64_t before = rows_read();
  const Lines all = read<EndSink>(node.command("t"));
  EXPECT_EQ(all.size(), small.size() + 2 + 3000 + 2000);
  const uint64_t rows = all.size() - 102;
  const uint64_t of_buffer = RowBuffer::kBytes / 200;
  EXPECT_LE(rows_read() - before, node.shards() == 1 ? rows : rows + 2 * of_buffer);
}

TEST_P(RangeReadTest, SharesDoNotCutPartitions) {
  struct Batches : EndSink {
    using EndSink::EndSink;
    Next row(const Row& row) override {
      values.insert(std::string(row.cells[0].value));
      return EndSink::row(row);
    }
    Next end_partition() override {
      EXPECT_EQ(values.size(), 1u) << "of a partition of which all rows are written together";
      values.clear();
      if (++ended % 10 == 1) change();
      return Next::kContinue;
    }
    std::set<std::string> values;
    std::function<void()> change;
  };
  const auto write_all = [&](const std::string& value) {
    for (int p = 0; p < 400; ++p) write("key" + std::to_string(p), 0, 1 + p % 50, value);
  };
  write_all("before");
  for (uint64_t limit : {40u, 1000u, 5000u}) {
    ReadCommand some = node.command("t");
    some.limits.rows = limit;
    Batches sink(*table);
    int version = 0;
    sink.change = [&] {
      for (unsigned shard = 0; shard < node.shards(); ++shard) {
        node.runtime(shard).executor.post([this, shard, value = std::to_string(++version)] {
          for (int p = 0; p < 400; ++p) {
            const std::string key = "key" + std::to_string(p);
            if (shard_of(murmur3_token(key), node.shards()) != shard) continue;
            Update update(table, key);
            update.at(10 + std::stoi(value));
            for (int c = 0; c < 1 + p % 50; ++c) update.row(c).live().cell("v", value);
            spawn(apply(&node.on(shard).engine(), std::move(update)));
          }
        });
      }
    };
    ASSERT_TRUE(read_into(sink, some).ok());
    EXPECT_GT(sink.ended, 0);
  }
}

TEST_P(RangeReadTest, AnAnswerInAnyOrderIsWhole) {
  Lines all = fill(500, 4);
  Lines found = read<UnorderedSink>(node.command("t"));
  std::sort(all.begin(), all.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, all);
}

TEST_P(RangeReadTest, APartOfTheRing) {
  const Lines all = fill(50, 1);
  ReadCommand part = node.command("t");
  part.range->start = RingPosition::at(DecoratedKey::of(all[20]));
  part.range->start_inclusive = false;
  part.range->end = RingPosition::at(DecoratedKey::of(all[60]));
  EXPECT_EQ(read<EndSink>(part), Lines(all.begin() + 22, all.begin() + 62));
}

TEST_P(RangeReadTest, ASinkThatStopsIsNotCalledAgain) {
  struct First : EndSink {
    using EndSink::EndSink;
    Next row(const Row& row) override {
      EndSink::row(row);
      return Next::kStop;
    }
  };
  const Lines all = fill(50, 3);
  First sink(*table);
  ASSERT_TRUE(read_into(sink, node.command("t")).ok());
  EXPECT_EQ(sink.lines, Lines(all.begin(), all.begin() + 2));
}

TEST_P(RangeReadTest, AShardThatFailsFailsTheRead) {
  boot_with_failure_threshold(10);
  fill(40, 2);
  Update deleted(table, node.key_of(node.shards() - 1));
  deleted.at(9);
  for (int c = 0; c < 20; ++c) deleted.row(c).delete_row();
  ASSERT_TRUE(node.write(0, std::move(deleted)).ok());
  const Lines lines = read<EndSink>(node.command("t"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].substr(0, 29), "error: Scanned over 11 tombst");
}

// However many shards take part, and however often each is asked.
TEST_P(RangeReadTest, TombstonesOfAReadAreCountedOnce) {
  boot_with_failure_threshold(150);
  fill(1000, 3, std::string(300, 'z'));
  write("large", 0, 3000, std::string(200, 'a'));
  delete_two("large");
  for (int p = 0; p < 74; ++p) delete_two("key" + std::to_string(13 * p));
  std::vector<std::string> names{"large"};
  for (int p = 0; p < 74; ++p) names.push_back("key" + std::to_string(13 * p));
  const auto expect_count = [&](uint64_t count) {
    for (const ReadCommand& command : {node.command("t"), node.command("t", names)}) {
      EndSink copied(*table);
      SharedSink direct(*table);
      UnorderedSink unordered(*table);
      for (EndSink* sink : std::initializer_list<EndSink*>{&copied, &direct, &unordered}) {
        auto done = read_into(*sink, command);
        if (count <= 150) {
          ASSERT_TRUE(done.ok()) << done.error().message();
          EXPECT_EQ(done->tombstones, count);
        } else {
          ASSERT_FALSE(done.ok());
          EXPECT_EQ(done.error().message().substr(0, 28), "Scanned over 151 tombstones ");
        }
      }
    }
  };
  expect_count(150);
  delete_two("key1");
  names.push_back("key1");
  expect_count(152);
}

TEST_P(RangeReadTest, TombstonesOfAnAnswerToAPeerAreCountedOnce) {
  struct NoSink final : UnfilteredSink {
    void begin_partition(const Partition&) override {}
    void unfiltered(const Unfiltered&) override {}
    bool end_partition() override { return true; }
  };
  boot_with_failure_threshold(150);
  fill(1000, 3, std::string(300, 'z'));
  for (int p = 0; p < 75; ++p) delete_two("key" + std::to_string(13 * p));
  ReadRequest request;
  request.command = node.command("t");
  request.columns = ColumnFilter::all(*table);
  NoSink sink;
  const auto read = [&] {
    return node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read_unfiltered(request, sink); });
  };
  const auto within = read();
  ASSERT_TRUE(within.ok()) << within.error().message();
  EXPECT_EQ(within->tombstones, 150u);
  delete_two("key1");
  const auto beyond = read();
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().message().substr(0, 28), "Scanned over 151 tombstones ");
}

// Shards read ahead few bytes: large partitions are read as a whole when they become part of the answer, and not before.
TEST_P(RangeReadTest, LargePartitionsOfAnAnswerToAPeerAreNotBroughtToItsShard) {
  constexpr uint64_t kRows = 2000;
  fill(12, 1);
  for (int p = 0; p < 12; ++p) write("large" + std::to_string(p), 0, static_cast<int>(kRows), std::string(300, 'x'));
  delete_two("large3");
  ReadRequest request;
  request.command = node.command("t");
  request.columns = ColumnFilter::all(*table);
  request.read_ahead = 64 * 1024;
  const auto read = [&](uint32_t limit, UnfilteredSink& sink) {
    request.limits.rows = limit;
    return node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read_unfiltered(request, sink); });
  };
  for (const uint32_t limit : {1u, 500u, 2000u, 7000u, 30'000u}) {
    Bytes data, whole;
    ResponseWriter writer(request, data), expected(request, whole);
    const auto few = read(limit, writer);
    ASSERT_TRUE(few.ok());
    EXPECT_LE(few->rows, limit + 64 * 1024 / 300 * (1 + limit / kRows)) << limit;
    request.read_ahead = size_t{1} << 30;
    ASSERT_TRUE(read(limit, expected).ok());
    request.read_ahead = 64 * 1024;
    EXPECT_EQ(data, whole) << limit;
  }
}

// A row of 200 kB is larger than all that a shard may read ahead.
TEST(UnfilteredBuffer, CutsALargeRowBeforeItCopiesIt) {
  const TablePtr table = make_table("t");
  Update update(table, "a");
  update.at(5).row(1).cell("v", std::string(200'000, 'x'));
  const Mutation mutation = update.mutation();
  UnfilteredBuffer buffer(100'000, UnfilteredBuffer::Last::kKey);
  buffer.begin_partition({mutation.key, DeletionTime(), Row(), false, nullptr});
  Unfiltered row;
  row.row = mutation.updates[0].rows[0];
  buffer.unfiltered(row);
  EXPECT_FALSE(buffer.wants_more());
  EXPECT_FALSE(buffer.end_partition());
  EXPECT_TRUE(buffer.is_full() && buffer.has_only_key());
  EXPECT_EQ(buffer.key().key, mutation.key.key);
  EXPECT_LT(buffer.bytes(), 10'000u);
  buffer.skip();
  EXPECT_FALSE(buffer.has_partition());
  buffer.clear();
  EXPECT_TRUE(buffer.wants_more());
}

// Requests are callbacks of the shard. Between two of them, ten long reads do no more than one turn.
TEST_P(RangeReadTest, ARequestWaitsForOneTurnOfLongReads) {
  struct Counting : SharedSink {
    using SharedSink::SharedSink;
    Next row(const Row&) override {
      ++all;
      if (here->is_current()) ++*rows_here;
      return Next::kContinue;
    }
    bool takes_any_order() const override { return true; }
    Executor* here = nullptr;
    uint64_t* rows_here = nullptr;
    uint64_t all = 0;
  };
  fill(3000, 7);
  std::deque<Counting> sinks;
  uint64_t rows = 0, most = 0;
  int ended = 0;
  const ReadCommand all = node.command("t");
  for (int client = 0; client < 10; ++client) {
    Counting& sink = sinks.emplace_back(*table);
    sink.here = &node.runtime(0).executor;
    sink.rows_here = &rows;
    node.runtime(0).executor.post([&, into = &sink] {
      spawn([](Replica* replica, const ReadCommand* command, RowSink* into, int* done) -> Task<void> {
        const Result<ReadStatistics> read = co_await replica->read(*command, *into);
        EXPECT_TRUE(read.ok());
        ++*done;
      }(&node.on(0), &all, into, &ended));
    });
  }
  uint64_t before = 0;
  std::function<void()> request = [&] {
    // The first turn of a read begins with its request.
    if (before > 10 * ReadPipeline::kTurn) most = std::max(most, rows - before);
    before = rows;
    if (ended < 10) node.runtime(0).executor.post(request);
  };
  node.runtime(0).executor.post(request);
  ASSERT_TRUE(node.world().run_until([&] { return ended == 10; }, std::chrono::hours(1)));
  for (const Counting& sink : sinks) EXPECT_EQ(sink.all, uint64_t{3000 * 4 - 6});
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, ReadPipeline::kTurn);
}

TEST_P(RangeReadTest, ItEndsAtItsDeadline) {
  fill(6000, 1, std::string(300, 'z'));
  EndSink sink(*table);
  const ReadCommand all = node.command("t");
  const int64_t past = node.world().clock().monotonic_nanos() - 1;
  auto read = node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(all, sink, past); });
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kReadTimeout);
  EXPECT_EQ(read.error().message(), "A read of ks.t took longer than the timeout of its request");
}

TEST_P(RangeReadTest, KeysOfSeveralShardsEndAtTheirDeadline) {
  if (GetParam() == 1) return;
  const ReadCommand command = node.command("t", {node.key_of(0), node.key_of(1), node.key_of(0, 1)});
  write(node.key_of(0), 0, 1);
  EndSink sink(*table);
  SharedSink shared(*table);
  for (RowSink* into : {static_cast<RowSink*>(&sink), static_cast<RowSink*>(&shared)}) {
    const int64_t past = node.world().clock().monotonic_nanos() - 1;
    auto read = node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(command, *into, past); });
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), ErrorCode::kReadTimeout);
    EXPECT_EQ(read.error().message(), "A read of ks.t took longer than the timeout of its request");
  }
}

// Between two fillings of the buffers: a flush, a drop of the table.
TEST_P(RangeReadTest, TablesMayChangeBetween) {
  struct Changing : EndSink {
    using EndSink::EndSink;
    Next row(const Row& row) override {
      if (++rows == 1000) change();
      return EndSink::row(row);
    }
    int rows = 0;
    std::function<void()> change;
  };
  const Lines all = fill(6000, 1, std::string(300, 'z'));
  Changing sink(*table);
  sink.change = [&] {
    for (unsigned shard = 0; shard < node.shards(); ++shard) {
      node.runtime(shard).executor.post([&, shard] {
        spawn([](Engine* engine) -> Task<void> {
          Status flushed = co_await engine->maintenance().flush({});
          EXPECT_TRUE(flushed.ok());
        }(&node.on(shard).engine()));
      });
    }
  };
  ASSERT_TRUE(read_into(sink, node.command("t")).ok());
  EXPECT_EQ(sink.lines, all);
}

INSTANTIATE_TEST_SUITE_P(Shards, RangeReadTest, testing::Values(1, 2, 4, 8),
                         [](const auto& shards) { return std::to_string(shards.param) + "shards"; });

TEST(RowBufferTest, HoldsNoMoreThanItsBytesAndARow) {
  TablePtr table = make_table("t");
  RowBuffer buffer({});
  Update update(table, "key");
  update.at(5);
  for (int c = 0; c < 1000; ++c) update.row(c).live().cell("v", std::string(1000, 'v'));
  const Mutation mutation = update.mutation();
  const std::span<const Row> rows = mutation.updates[0].rows;
  ASSERT_EQ(buffer.begin_partition(DecoratedKey::of("key"), Row()), RowSink::Next::kContinue);
  size_t taken = 0;
  while (buffer.row(rows[taken++]) == RowSink::Next::kContinue) ASSERT_LT(taken, rows.size());
  EXPECT_GT(taken, 150u);
  EXPECT_LT(buffer.bytes(), RowBuffer::kBytes + 2000);
  EXPECT_TRUE(buffer.is_cut());
  // A page of a partition stays whole as long as it is no larger than it may be.
  RowBuffer page({500, 16 << 20});
  page.begin_partition(DecoratedKey::of("key"), Row());
  for (size_t i = 0; i < 499; ++i) ASSERT_EQ(page.row(rows[i]), RowSink::Next::kContinue);
  EXPECT_EQ(page.row(rows[499]), RowSink::Next::kStop);
  RowBuffer small({500, 300000});
  small.begin_partition(DecoratedKey::of("key"), Row());
  taken = 0;
  while (small.row(rows[taken++]) == RowSink::Next::kContinue) ASSERT_LT(taken, size_t{350});
}

}  // namespace
}  // namespace cassandra_like::test
