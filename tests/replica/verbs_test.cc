// Writes and reads through the verbs of a node with several shards: whichever shard is asked, the owner does the work.
#include <algorithm>
#include <set>

#include "model/counter.h"
#include "model/values.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

class Verbs : public testing::Test {
 protected:
  Verbs() {
    CHECK(node.change(0, make_keyspace({make_table("t"), make_table("n")})).ok());
    table = node.table("t");
  }
  uint64_t writes(unsigned shard) { return node.on(shard).maintenance().table_statistics(table->id)->writes; }
  Update row(const std::string& key, int c, const std::string& value) {
    return std::move(Update(table, key).at(10).row(c).cell("v", value));
  }
  // Rows 1 and 2 of the first three keys of each shard; the keys in ring order.
  std::vector<std::string> fill() {
    std::vector<std::string> keys;
    for (unsigned shard = 0; shard < node.shards(); ++shard) {
      for (int n = 0; n < 3; ++n) keys.push_back(node.key_of(shard, n));
    }
    for (const std::string& key : keys) {
      for (int c : {1, 2}) EXPECT_TRUE(node.write(0, row(key, c, key)).ok());
    }
    std::sort(keys.begin(), keys.end(),
              [](const auto& a, const auto& b) { return DecoratedKey::of(a) < DecoratedKey::of(b); });
    return keys;
  }
  static Lines lines_of(const std::vector<std::string>& keys) {
    Lines lines;
    for (const std::string& key : keys) {
      lines.push_back(key);
      for (const char* c : {"1", "2"}) lines.push_back(std::string("  ") + c + ": v=" + key + "@10");
    }
    return lines;
  }

  ReplicaNode node{3};
  TablePtr table;
};

TEST_F(Verbs, AWriteIsAppliedByTheShardThatOwnsTheKey) {
  for (unsigned asked : {0u, 1u, 2u}) {
    EXPECT_TRUE(node.write(asked, row(node.key_of(1), static_cast<int>(asked), "x")).ok());
  }
  EXPECT_EQ(writes(0), 0u);
  EXPECT_EQ(writes(1), 3u);
  EXPECT_EQ(writes(2), 0u);
  for (unsigned asked : {0u, 1u, 2u}) {
    EXPECT_EQ(node.read(asked, "t", node.key_of(1)),
              (Lines{node.key_of(1), "  0: v=x@10", "  1: v=x@10", "  2: v=x@10"}));
  }
}

TEST_F(Verbs, OnTheOwnShardNothingWaits) {
  Update here = row(node.key_of(1), 1, "x"), there = row(node.key_of(2), 1, "x");
  Mutation own = here.mutation(), foreign = there.mutation();
  ReadCommand read = node.command("t", {node.key_of(1)});
  TextSink sink(*table);
  auto ready = node.run<std::vector<bool>>(1, [&] {
    Replica& replica = node.on(1);
    std::vector<bool> answers{replica.mutate(own).ready(), replica.read(read, sink).ready()};
    // A shard that sleeps may be helped; the simulator draws which way work takes.
    bool foreign_ready = true;
    for (int i = 0; i < 20; ++i) foreign_ready = replica.mutate(foreign).ready() && foreign_ready;
    answers.push_back(foreign_ready);
    return Task<std::vector<bool>>(std::move(answers));
  });
  EXPECT_EQ(ready, (std::vector<bool>{true, true, false}));
}

Task<void> keep(Task<Status> write, std::optional<Status>* result) { *result = co_await write; }

// The request may end before the owner looks at its write. Here its memory is written over at once.
TEST_F(Verbs, AWriteThatWaitsOwnsWhatItWrites) {
  constexpr int kWrites = 20;
  std::deque<Update> updates;
  std::deque<std::optional<Status>> written;
  int waiting = 0;
  auto write_all = [&] {
    for (int i = 0; i < kWrites; ++i) {
      Mutation mutation = updates.emplace_back(row(node.key_of(2), i, "x")).mutation();
      spawn(keep(node.on(0).mutate(mutation), &written.emplace_back()));
      // An owner that sleeps may be helped, and is done then; the simulator draws which way work takes.
      waiting += !written.back().has_value();
      BytesView value = mutation.updates[0].rows[0].cells[0].value;
      const_cast<char*>(value.data())[0] = '?';
    }
    return Task<Status>(Status());
  };
  ASSERT_TRUE(node.run<Status>(0, write_all).ok());
  EXPECT_GT(waiting, 0);
  node.world().run_for(std::chrono::seconds(1));
  Lines expected{node.key_of(2)};
  for (int i = 0; i < kWrites; ++i) {
    ASSERT_TRUE(written[i].has_value() && written[i]->ok());
    expected.push_back("  " + std::to_string(i) + ": v=x@10");
  }
  EXPECT_EQ(node.read(1, "t", node.key_of(2)), expected);
}

TEST_F(Verbs, AWriteToATableThatWasDroppedIsRefusedByItsOwner) {
  EXPECT_TRUE(node.change(0, drop_table("t")).ok());
  // An owner that sleeps gets the mutation as it lies. One that is awake gets its bytes, which have the table's id alone.
  std::set<std::string> refusals;
  for (int i = 0; i < 20; ++i) {
    Status status = node.write(0, row(node.key_of(1), 1, "x"));
    ASSERT_FALSE(status.ok());
    refusals.insert(status.error().message());
  }
  EXPECT_EQ(refusals, (std::set<std::string>{"Unknown table " + table->id.to_string(), "Unknown table ks.t"}));
}

TEST_F(Verbs, CountersAreAddedUpByTheirOwner) {
  struct Totals : RowSink {
    Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
    Next row(const Row& row) override {
      totals.push_back(counter_total(row.cells[0].value));
      return Next::kContinue;
    }
    std::vector<int64_t> totals;
  } sink;
  std::string key = node.key_of(2);
  for (unsigned asked : {0u, 1u, 2u}) {
    EXPECT_TRUE(node.add(asked, Update(node.table("n"), key).row(1).cell("n", make_counter_update(100 + asked))).ok());
  }
  ReadCommand read = node.command("n", {key});
  EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, sink); }).ok());
  EXPECT_EQ(sink.totals, (std::vector<int64_t>{303}));
}

TEST_F(Verbs, SeveralKeysComeInTheOrderOfTheCommand) {
  fill();
  std::vector<std::string> keys{node.key_of(2), node.key_of(0), "nothing here", node.key_of(1)};
  for (unsigned asked : {0u, 1u, 2u}) {
    EXPECT_EQ(node.read(asked, node.command("t", keys)), lines_of({node.key_of(2), node.key_of(0), node.key_of(1)}));
  }
}

TEST_F(Verbs, LimitsHoldOverShards) {
  fill();
  std::vector<std::string> keys{node.key_of(2), node.key_of(0), node.key_of(1)};
  ReadCommand three = node.command("t", keys);
  three.limits.rows = 3;
  Lines expected = lines_of(keys);
  expected.resize(5);
  EXPECT_EQ(node.read(0, three), expected);
  ReadCommand one_each = node.command("t", keys);
  one_each.limits.per_partition = 1;
  EXPECT_EQ(node.read(1, one_each), (Lines{keys[0], "  1: v=" + keys[0] + "@10", keys[1], "  1: v=" + keys[1] + "@10",
                                           keys[2], "  1: v=" + keys[2] + "@10"}));
}

TEST_F(Verbs, RowsComeFromThePartitionsEndWhenReversed) {
  fill();
  ReadCommand last = node.command("t", {node.key_of(1), node.key_of(0)});
  last.reversed = true;
  last.limits.per_partition = 1;
  std::string one = node.key_of(1), two = node.key_of(0);
  EXPECT_EQ(node.read(0, last), (Lines{one, "  2: v=" + one + "@10", two, "  2: v=" + two + "@10"}));
}

TEST_F(Verbs, ARangeIsMergedInRingOrder) {
  auto keys = fill();
  for (unsigned asked : {0u, 1u, 2u}) EXPECT_EQ(node.scan(asked, "t"), lines_of(keys));
  for (uint64_t limit : {1u, 2u, 7u, 18u, 100u}) {
    ReadCommand some = node.command("t");
    some.limits.rows = limit;
    Lines expected;
    uint64_t rows = 0;
    for (const std::string& line : lines_of(keys)) {
      if (rows == limit) break;
      rows += line[0] == ' ';
      expected.push_back(line);
    }
    EXPECT_EQ(node.read(1, some), expected) << limit;
  }
}

TEST_F(Verbs, APartOfTheRing) {
  auto keys = fill();
  ReadCommand part = node.command("t");
  part.range->start = RingPosition::after(murmur3_token(keys[1]));
  part.range->end = RingPosition::at(DecoratedKey::of(keys[6]));
  EXPECT_EQ(node.read(2, part), lines_of({keys.begin() + 2, keys.begin() + 7}));
  part.range->end_inclusive = false;
  EXPECT_EQ(node.read(2, part), lines_of({keys.begin() + 2, keys.begin() + 6}));
}

TEST_F(Verbs, StaticRowsCrossShards) {
  std::string key = node.key_of(1);
  EXPECT_TRUE(node.write(0, Update(table, key).at(3).static_row().cell("s", "of all")).ok());
  EXPECT_EQ(node.read(0, "t", key), (Lines{key + " [s=of all@3]"}));
  EXPECT_TRUE(node.write(0, row(key, 1, "x")).ok());
  EXPECT_EQ(node.scan(2, "t"), (Lines{key + " [s=of all@3]", "  1: v=x@10"}));
}

TEST_F(Verbs, ASinkThatHasEnoughEndsTheRead) {
  struct First : TextSink {
    using TextSink::TextSink;
    Next row(const Row& row) override {
      TextSink::row(row);
      return Next::kStop;
    }
  };
  auto keys = fill();
  for (bool range : {false, true}) {
    First sink(*table);
    ReadCommand read = range ? node.command("t") : node.command("t", keys);
    EXPECT_TRUE(node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(read, sink); }).ok());
    EXPECT_EQ(sink.lines, (Lines{keys[0], "  1: v=" + keys[0] + "@10"}));
  }
}

TEST_F(Verbs, ReadsCountWhatTheyCost) {
  auto keys = fill();
  TextSink sink(*table);
  ReadCommand all = node.command("t");
  auto cost = node.run<Result<ReadStatistics>>(0, [&] { return node.on(0).read(all, sink); });
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->rows, 18u);
  EXPECT_EQ(cost->sstables, 0u);
}

TEST_F(Verbs, AVirtualTableThatNobodyFills) {
  ReadCommand read = node.command("t");
  read.table = node.table("caches", "system_views");
  EXPECT_EQ(node.read(0, read), (Lines{"error: Unknown virtual table system_views.caches"}));
  EXPECT_GT(node.run<Result<ReadStatistics>>(0,
                                             [&] {
                                               static TextSink sink(*read.table);
                                               read.table = node.table("tables", "system_virtual_schema");
                                               return node.on(0).read(read, sink);
                                             })
                ->rows,
            10u);
}

}  // namespace
}  // namespace cassandra_like::test
