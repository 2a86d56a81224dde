// Reads of a range of the ring on several shards: the rows, their order and the limits do not tell how many shards there
// are, a shard is asked for no more than its share, and what waits for its turn is bounded in bytes.
#include "replica/range_read.h"

#include <algorithm>
#include <map>

#include "model/values.h"
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
      rows += node.on(shard).engine().maintenance().table_statistics(table->id)->live_rows_per_read.sum();
    }
    return rows;
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
  // One row of each shard, and once more the partition that its shard's share cut: it is read by its key.
  EXPECT_LE(rows_read() - before, node.shards() + 1);
  ReadCommand thousand = node.command("t");
  thousand.limits.rows = 1000;
  before = rows_read();
  read<EndSink>(thousand);
  EXPECT_LE(rows_read() - before, 1000 + 64 * node.shards());
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
  node.options.tombstone_failure_threshold = 10;
  node.drain();
  node.boot(GetParam());
  table = node.table("t");
  fill(40, 2);
  Update deleted(table, node.key_of(node.shards() - 1));
  deleted.at(9);
  for (int c = 0; c < 20; ++c) deleted.row(c).delete_row();
  ASSERT_TRUE(node.write(0, std::move(deleted)).ok());
  const Lines lines = read<EndSink>(node.command("t"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].substr(0, 29), "error: Scanned over 11 tombst");
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
        spawn([](Engine* engine) -> Task<void> { co_await engine->maintenance().flush({}); }(&node.on(shard).engine()));
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
  RowBuffer buffer;
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
