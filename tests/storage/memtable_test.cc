// A memtable after writes: order, and the rules of reconciliation as tables of examples.
#include "storage/memtable/memtable.h"
#include "fixture.h"

namespace cassandra_like::storage_test {
namespace {

class MemtableTest : public testing::Test {
 protected:
  Node node;
};

// The bytes of a row, in either form.
template <class AnyRow>
Bytes in_sstable(const TablePtr& table, const AnyRow& row) {
  const TableHeader header(table, {0, kNow - 100, 0});
  Bytes out;
  append_sstable_row(out, header.get(), row, 17);
  return out;
}

TEST_F(MemtableTest, RowsComeInClusteringOrderAndPartitionsInRingOrder) {
  for (int c : {3, -1, 2}) ASSERT_TRUE(node.apply(Update(node.table("t"), "a").row(c).cell("v", "x")).ok());
  ASSERT_TRUE(node.apply(Update(node.table("t"), "b").row(1).cell("v", "y")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  -1: v=x@1", "  2: v=x@1", "  3: v=x@1"}));
  Lines both = node.scan("t");
  ASSERT_EQ(both.size(), 6u);
  EXPECT_EQ(murmur3_token("a") < murmur3_token("b"), both[0] == "a");
}

TEST_F(MemtableTest, DescendingClusteringColumnsComeFromTheTop) {
  for (int a : {1, 2})
    for (int b : {1, 2}) ASSERT_TRUE(node.apply(Update(node.table("d"), "p").row({a, b}).cell("v", "x")).ok());
  EXPECT_EQ(node.read("d", "p"), (Lines{"p", "  2,1: v=x@1", "  2,2: v=x@1", "  1,1: v=x@1", "  1,2: v=x@1"}));
  EXPECT_EQ(node.read("d", "p", {}, true),
            (Lines{"p", "  1,2: v=x@1", "  1,1: v=x@1", "  2,2: v=x@1", "  2,1: v=x@1"}));
  std::string two = int_bytes(2);
  BytesView prefix[] = {two};
  EXPECT_EQ(node.read("d", "p", {Slice::of_prefix(*node.table("d"), prefix)}),
            (Lines{"p", "  2,1: v=x@1", "  2,2: v=x@1"}));
}

TEST_F(MemtableTest, TheHigherTimestampWinsWhateverTheOrder) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).at(5).cell("v", "new")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).at(4).cell("v", "old").cell("w", "other")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=new@5 w=other@4"}));
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).at(6).cell("v", "a longer value than before")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=a longer value than before@6 w=other@4"}));
  // On a tie the greater value, and a tombstone above all.
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).at(6).cell("v", "z")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=z@6 w=other@4"}));
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).at(6).tombstone("v")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: w=other@4"}));
}

TEST_F(MemtableTest, DeletionsCoverWhatIsNotNewer) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).row(1).live().cell("v", "x")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).row(2).live().cell("v", "y")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).row(3).live().cell("v", "z")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).row(1).delete_row()).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  2: @10 v=y@10", "  3: @10 v=z@10"}));
  ASSERT_TRUE(node.apply(Update(t, "a").at(11).row(1).cell("w", "back")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).delete_range(2, true, 3, false)).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: w=back@11", "  3: @10 v=z@10"}));
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).static_row().cell("s", "st")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(10).delete_partition()).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: w=back@11"}));
  ASSERT_TRUE(node.apply(Update(t, "a").at(12).delete_partition()).ok());
  EXPECT_EQ(node.read("t", "a"), Lines{});
}

TEST_F(MemtableTest, ADeletionOfAPartitionBefore1970IsRefused) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").at(-1).row(1).delete_row()).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(-1).delete_range(2, true, 3, false)).ok());
  const Status refused = node.apply(Update(t, "a").at(-1).delete_partition());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().message(), "Cannot delete a partition of ks.t with timestamp -1: it must not be negative");
}

TEST_F(MemtableTest, ACollectionIsClearedAndFilledByOneUpdate) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").at(1).row(1).element("m", "b", "2").element("m", "a", "1")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: m[a]=1@1 m[b]=2@1"}));
  // Cassandra writes m = {...} so: the deletion is a microsecond older than the elements.
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).at(9).clear("m").at(10).element("m", "c", "3")).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").at(8).row(1).element("m", "d", "late")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: m[c]=3@10"}));
}

TEST_F(MemtableTest, ExpiredCellsAndRowsAreNotSeen) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).live(5, kNow + 1).cell("v", "x", 5, kNow + 1)).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").row(2).live(5, kNow).cell("v", "y", 5, kNow)).ok());
  ASSERT_TRUE(node.apply(Update(t, "a").row(3).live().cell("v", "z", 5, kNow)).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: @1+5 v=x@1+5", "  3: @1"}));
}

TEST_F(MemtableTest, AStaticRowAloneIsAPartition) {
  auto t = node.table("t");
  ASSERT_TRUE(node.apply(Update(t, "a").static_row().cell("s", "only")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a [s=only@1]"}));
  ASSERT_TRUE(node.apply(Update(t, "a").row(1).cell("v", "x")).ok());
  EXPECT_EQ(node.read("t", "a"), (Lines{"a [s=only@1]", "  1: v=x@1"}));
}

TEST_F(MemtableTest, LimitsCountRowsInAllAndPerPartition) {
  auto t = node.table("t");
  for (const char* key : {"a", "b"}) {
    for (int c = 0; c < 5; ++c) ASSERT_TRUE(node.apply(Update(t, key).row(c).cell("v", "x")).ok());
  }
  ReadCommand command = node.command("t");
  std::string a = "a", b = "b";
  command.keys = {DecoratedKey::of(a), DecoratedKey::of(b)};
  command.limits.rows = 3;
  command.limits.per_partition = 2;
  EXPECT_EQ(node.read(command), (Lines{"a", "  0: v=x@1", "  1: v=x@1", "b", "  0: v=x@1"}));
  command.wants_rows = false;
  EXPECT_EQ(node.read(command), (Lines{"a", "b"}));
}

TEST_F(MemtableTest, OverwritingWithTheSameSizeTakesNoMemory) {
  auto kv = node.table("kv");
  Memtable memtable(kv, {});
  for (int64_t ts = 1; ts < 1000; ++ts) {
    Update update(kv, "k");
    update.row(std::vector<int32_t>{}).at(ts).live();
    for (int i = 1; i <= 5; ++i)
      update.cell("v" + std::to_string(i), std::string(34, static_cast<char>('a' + ts % 26)));
    memtable.apply(update.build());
  }
  EXPECT_LE(memtable.memory_used(), 4096u);
  EXPECT_EQ(memtable.row_count(), 1u);
}

// A collection that was replaced as a whole has a deletion of its own. Each element that follows takes its own memory only.
TEST_F(MemtableTest, ElementsAfterADeletionOfTheirCollectionAreNoCopiesOfIt) {
  auto t = node.table("t");
  Memtable memtable(t, {});
  memtable.apply(Update(t, "k").row(1).at(10).clear("m").build());
  std::string expected = "1:";
  for (int i = 0; i < 1000; ++i) {
    const std::string path = fmt::format("{:03}", i);
    memtable.apply(Update(t, "k").row(1).at(11).element("m", path, "x").build());
    memtable.apply(Update(t, "k").row(1).at(10).element("m", path + "x", "deleted").build());
    expected += " m[" + path + "]=x@11";
  }
  // The array of the cells doubles when it is full, and its last copy stays.
  EXPECT_LE(memtable.memory_used(), 5 * 1000 * sizeof(Cell));
  Arena arena;
  const MemtablePartition& partition = *memtable.find(DecoratedKey::of("k"));
  EXPECT_EQ(to_line(*t, partition.rows->tree.begin()->row->row(arena)), expected);
}

const MemtableRow& only_row(const Memtable& memtable, BytesView key) {
  const MemtablePartition& partition = *memtable.find(DecoratedKey::of(key));
  return partition.only_row != nullptr ? *partition.only_row : *partition.rows->tree.begin()->row;
}

// The form of the row of "k", and the row, when the update is applied.
std::string line_after(Memtable& memtable, Update& update) {
  const PartitionUpdate& built = update.build();
  memtable.apply(built);
  const MemtableRow& row = only_row(memtable, "k");
  Arena arena;
  return std::string(row.is_packed() ? "packed " : "general ") + to_line(*built.table, row.row(arena));
}

TEST_F(MemtableTest, ARowIsPackedWhileAllOfItIsOfOneAge) {
  auto t = node.table("t");
  Memtable memtable(t, {});
  auto after = [&](Update& update) { return line_after(memtable, update); };
  EXPECT_EQ(after(Update(t, "k").row(1).at(5).live().cell("v", "a")), "packed 1: @5 v=a@5");
  EXPECT_EQ(after(Update(t, "k").row(1).at(6).live().cell("v", "longer").cell("w", "x")),
            "packed 1: @6 v=longer@6 w=x@6");
  EXPECT_EQ(after(Update(t, "k").row(1).at(4).live().cell("w", "late")), "packed 1: @6 v=longer@6 w=x@6");
  EXPECT_EQ(after(Update(t, "k").row(1).at(7).live().cell("w", "y")), "general 1: @7 v=longer@6 w=y@7");
  EXPECT_EQ(after(Update(t, "k").row(1).at(8).live().cell("v", "b").cell("w", "z")), "general 1: @8 v=b@8 w=z@8");
}

TEST_F(MemtableTest, ARowIsPackedWhileAllOfItEndsAtTheSameTime) {
  auto t = node.table("t");
  Memtable memtable(t, {});
  auto after = [&](Update& update) {
    const std::string line = line_after(memtable, update);
    return (line.starts_with("packed") && only_row(memtable, "k").is_live(kNow) ? "lives " : "") + line;
  };
  EXPECT_EQ(after(Update(t, "k").row(1).at(5).live(60, kNow + 1).cell("v", "a", 60, kNow + 1)),
            "lives packed 1: @5+60 v=a@5+60");
  EXPECT_EQ(after(Update(t, "k").row(1).at(6).live(50, kNow).cell("v", "b", 50, kNow)), "packed 1: @6+50 v=b@6+50");
  EXPECT_EQ(after(Update(t, "k").row(1).at(7).live().cell("v", "c")), "lives packed 1: @7 v=c@7");
  EXPECT_EQ(after(Update(t, "k").row(1).at(8).live(9, kMaxDeletionTime).cell("v", "d", 9, kMaxDeletionTime)),
            "lives packed 1: @8+9 v=d@8+9");
  EXPECT_EQ(after(Update(t, "k").row(1).at(9).live().cell("v", "e", 9, kNow + 1)), "general 1: @9 v=e@9+9");
}

TEST_F(MemtableTest, ARowStaysPackedWhenTheSameWriteComesAgain) {
  auto t = node.table("t");
  Memtable memtable(t, {});
  auto after = [&](Update& update) { return line_after(memtable, update); };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(after(Update(t, "k").row(1).at(5).live().cell("v", "a")), "packed 1: @5 v=a@5");
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(after(Update(t, "k").row(1).at(6).live(60, kNow + 1).cell("v", "b", 60, kNow + 1)),
              "packed 1: @6+60 v=b@6+60");
  }
  EXPECT_EQ(after(Update(t, "k").row(1).at(6).live(60, kNow + 1).cell("v", "c", 60, kNow + 1)),
            "general 1: @6+60 v=c@6+60");
}

TEST_F(MemtableTest, WhatARowBecomesIsAllThatWasWrittenMerged) {
  Random& random = node.world().random();
  for (int round = 0; round < 2000; ++round) {
    auto table = node.table(round % 2 == 0 ? "t" : "kv");
    const std::vector<std::string> columns =
        round % 2 == 0 ? std::vector<std::string>{"v", "w"} : std::vector<std::string>{"v1", "v2", "v3", "v4", "v5"};
    Memtable memtable(table, {});
    std::deque<Update> updates;
    std::vector<const Row*> rows;
    for (int i = 0; i < 6; ++i) {
      Update& update = updates.emplace_back(table, "k");
      update.at(static_cast<int64_t>(1 + random.below(8)))
          .row(round % 2 == 0 ? std::vector<int32_t>{1} : std::vector<int32_t>{});
      const int32_t ttl = random.below(100) < 30 ? static_cast<int32_t>(1 + random.below(2)) : kNoTtl;
      const int64_t expires = ttl == kNoTtl ? kNoDeletionTime : kNow + ttl;
      if (random.below(100) < 70) update.live(ttl, expires);
      if (random.below(100) < 5) update.delete_row();
      if (round % 2 == 0 && random.below(100) < 5) update.element("m", "a", "b");
      for (const std::string& column : columns) {
        if (random.below(100) < 10) continue;
        if (random.below(100) < 3) {
          update.tombstone(column);
        } else {
          update.cell(column, std::string(random.below(10), static_cast<char>('a' + i)), ttl, expires);
        }
      }
      const PartitionUpdate& built = update.build();
      if (built.rows[0].is_empty()) continue;
      memtable.apply(built);
      if (random.below(100) < 20) memtable.apply(built);
      rows.push_back(&built.rows[0]);
      Arena arena;
      const MemtableRow& found = only_row(memtable, "k");
      const Row row = found.row(arena);
      ASSERT_EQ(to_line(*table, row), to_line(*table, merge_rows(rows, {}, arena)));
      if (!found.is_packed()) continue;
      std::vector<BytesView> views;
      const UniformRow plain = found.uniform_with_age(views);
      EXPECT_EQ(plain.clustering.comparable, row.clustering.comparable);
      EXPECT_EQ(in_sstable(table, plain), in_sstable(table, row));
      size_t cell = 0;
      for (size_t c = 0; c < table->regular_columns.size(); ++c) {
        const bool has_it = cell < row.cells.size() && row.cells[cell].column == table->regular_columns[c].get();
        EXPECT_EQ(is_null(plain.values[c]), !has_it);
        if (has_it) {
          EXPECT_EQ(plain.values[c], row.cells[cell++].value);
        }
      }
    }
  }
}

TEST_F(MemtableTest, TombstonesBeyondTheThresholdFailTheRead) {
  node.options.tombstone_failure_threshold = 5;
  node.restart();
  auto t = node.table("t");
  for (int c = 0; c < 6; ++c) ASSERT_TRUE(node.apply(Update(t, "a").row(c).tombstone("v")).ok());
  Lines lines = node.read("t", "a");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("error: Scanned over 6 tombstones during query of ks.t")) << lines[0];
}

}  // namespace
}  // namespace cassandra_like::storage_test
