// Reads that are so long that they take turns with the other work of their shard: they must answer as if they did not.
#include <fmt/format.h>

#include "fixture.h"
#include "read/read_pipeline.h"

namespace cassandra_like::storage_test {
namespace {

constexpr int kRows = ReadPipeline::kPage + 2 * ReadPipeline::kTurn + 100;
const std::vector<std::string> kKeys = {"a", "b", "c"};

class LongReadTest : public testing::Test {
 protected:
  // Rows that live, are overwritten, deleted one by one and as ranges, in every partition.
  void write() {
    for (const std::string& key : kKeys) {
      write_rows(key, 0, kRows, 1, "old");
      if (sources_ != "memtable") node.flush();
      Update update(node.table("t"), key);
      update.at(2).static_row().cell("s", "of " + key);
      update.delete_range(900, true, 1100, false).delete_range(2000, false, 2300, true);
      ASSERT_TRUE(node.apply(update).ok());
      write_rows(key, 1050, 1060, 3, "again");
      if (sources_ == "SSTables") node.flush();
    }
  }
  void write_rows(const std::string& key, int from, int to, int64_t timestamp, const std::string& value) {
    for (int begin = from; begin < to; begin += 500) {
      Update update(node.table("t"), key);
      update.at(timestamp);
      for (int c = begin; c < std::min(to, begin + 500); ++c) update.row(c).live().cell("v", value + std::to_string(c));
      ASSERT_TRUE(node.apply(update).ok());
    }
  }
  // A batch for each partition: its first and its last row.
  void write_ends(int last) {
    for (const std::string& key : kKeys) {
      Update both(node.table("t"), key);
      const std::string value = std::to_string(++written_);
      both.at(written_).row(0).cell("v", value);
      both.row(last).cell("v", value);
      ASSERT_TRUE(node.apply(both).ok());
    }
  }
  // The partition in pieces, each of which is read in one turn.
  Lines in_pieces(const std::string& key, bool reversed) {
    constexpr int kPiece = ReadPipeline::kTurn / 2;
    std::vector<Lines> pieces;
    for (int from = 0; from < kRows; from += kPiece) {
      Slice slice{bound(from), bound(std::min(from + kPiece, kRows))};
      pieces.push_back(node.read("t", key, {slice}, reversed));
    }
    if (reversed) std::reverse(pieces.begin(), pieces.end());
    Lines all = {pieces[0][0]};
    for (const Lines& piece : pieces) all.insert(all.end(), piece.begin() + 1, piece.end());
    return all;
  }
  // Before the row.
  Bytes bound(int c) {
    const std::string value = int_bytes(c);
    const BytesView values[] = {value};
    Bytes out;
    append_comparable(out, *node.table("t"), values, ClusteringKind::kInclStartBound);
    return out;
  }
  ReadCommand of_key(BytesView key) {
    ReadCommand command = node.command("t");
    command.keys = {DecoratedKey::of(key)};
    return command;
  }
  // Starts it, so that other work may come between its turns.
  void start(const ReadCommand& command, RowSink& sink) {
    spawn(finish<Result<ReadStatistics>>(node.engine().read(command, sink), &read_));
    ASSERT_FALSE(read_.has_value());
  }
  const Result<ReadStatistics>& end() {
    CHECK(node.world().run_until([&] { return read_.has_value(); }, std::chrono::hours(1)));
    return *read_;
  }

  Node node;
  std::string sources_ = "memtable";
  int64_t written_ = 10;  // the timestamp of the last batch
  std::optional<Result<ReadStatistics>> read_;
};

TEST_F(LongReadTest, PartitionsAndRangesAreWholeAndInOrder) {
  for (const char* sources : {"memtable", "both", "SSTables"}) {
    SCOPED_TRACE(sources);
    sources_ = sources;
    write();
    Lines ring;
    for (const std::string& key : node.scan("t")) {
      if (std::find(kKeys.begin(), kKeys.end(), key.substr(0, 1)) != kKeys.end()) ring.push_back(key.substr(0, 1));
    }
    ASSERT_EQ(ring.size(), kKeys.size());
    for (bool reversed : {false, true}) {
      Lines all;
      for (const std::string& key : ring) {
        const Lines pieces = in_pieces(key, reversed);
        ASSERT_EQ(pieces.size(), 1u + kRows - 200 - 300 + 10);
        EXPECT_EQ(node.read("t", key, {}, reversed), pieces);
        all.insert(all.end(), pieces.begin(), pieces.end());
      }
      ReadCommand range = node.command("t");
      range.range = KeyRange{};
      range.reversed = reversed;
      EXPECT_EQ(node.read(range), all);
    }
  }
}

TEST_F(LongReadTest, SlicesGoOnWhereTheyWere) {
  write();
  const Slices slices = {{bound(10), bound(1900)}, {bound(1950), bound(1960)}, {bound(2310), bound(3000)}};
  for (bool reversed : {false, true}) {
    Lines expected;
    for (const Slice& slice : slices) {
      ReadCommand command = of_key("b");
      for (const std::string& line : in_pieces("b", reversed)) {
        const int c = line[0] == ' ' ? std::stoi(line) : -1;
        if (c >= 0 && bound(c) >= slice.start && bound(c) < slice.end) expected.push_back(line);
      }
    }
    if (reversed)
      std::sort(expected.begin(), expected.end(), [](auto& a, auto& b) { return std::stoi(a) > std::stoi(b); });
    Lines found = node.read("t", "b", slices, reversed);
    found.erase(found.begin());
    EXPECT_EQ(found, expected);
  }
}

TEST_F(LongReadTest, LimitsCountTheRowsOfAllTurns) {
  write();
  ReadCommand command = node.command("t");
  command.range = KeyRange{};
  command.limits.per_partition = 1500;
  command.limits.rows = 4000;
  size_t keys = 0;
  const Lines lines = node.read(command);
  for (const std::string& line : lines) keys += line[0] != ' ';
  EXPECT_EQ(keys, 3u);
  EXPECT_EQ(lines.size(), 4000u + keys);
  command.limits.rows = 1500;
  EXPECT_EQ(node.read(command).size(), 1u + 1500);
}

TEST_F(LongReadTest, WhatIsFilteredOutIsLookedAtInTurnsToo) {
  write();
  ReadCommand command = node.command("t");
  command.range = KeyRange{};
  command.filter = {{node.table("t")->column("v"), Operator::kEq, "old3000", {}, false}};
  TextSink sink(*command.table);
  start(command, sink);
  ASSERT_TRUE(end().ok());
  Lines expected;
  for (const std::string& line : node.scan("t")) {
    if (line[0] == ' ' || std::find(kKeys.begin(), kKeys.end(), line.substr(0, 1)) == kKeys.end()) continue;
    expected.push_back(line);
    expected.push_back("  3000: @1 v=old3000@1");
  }
  EXPECT_EQ(sink.lines, expected);
}

// In each partition a batch writes the first and the last row of a page. It comes between the turns of the read.
TEST_F(LongReadTest, APageOfAPartitionShowsNoBatchByHalf) {
  constexpr int kLast = ReadPipeline::kPage - 1;
  for (const char* sources : {"memtable", "SSTables"}) {
    SCOPED_TRACE(sources);
    for (const std::string& key : kKeys) {
      write_rows(key, 0, kLast + 1, 1, "old");
      Update whole(node.table("t"), key);
      whole.at(2).static_row().cell("s", "of " + key);
      ASSERT_TRUE(node.apply(whole).ok());
      if (sources == std::string("SSTables")) node.flush();
    }
    for (bool reversed : {false, true}) {
      ReadCommand command = node.command("t");
      command.range = KeyRange{};
      command.reversed = reversed;
      TextSink sink(*command.table);
      write_ends(kLast);
      read_.reset();
      start(command, sink);
      int batch = 0;
      for (; !read_.has_value() && batch < 1000; ++batch) {
        write_ends(kLast);
        int steps = 0;
        node.world().run_until([&] { return steps++ > 0 || read_.has_value(); }, std::chrono::hours(1));
      }
      EXPECT_GT(batch, 1);
      std::vector<std::string> ends;
      const std::string last = "  " + std::to_string(kLast) + ": ";
      for (const std::string& line : sink.lines) {
        if (line.rfind("  0: ", 0) == 0) ends.push_back(line.substr(5));
        if (line.rfind(last, 0) == 0) ends.push_back(line.substr(last.size()));
      }
      ASSERT_EQ(ends.size(), 2 * kKeys.size());
      for (size_t i = 0; i < ends.size(); i += 2) {
        EXPECT_EQ(ends[i].substr(ends[i].find("v=")), ends[i + 1].substr(ends[i + 1].find("v=")));
      }
    }
  }
}

TEST_F(LongReadTest, OthersHaveTheirTurn) {
  write();
  const ReadCommand command = of_key("a");
  TextSink sink(*command.table);
  start(command, sink);
  EXPECT_EQ(node.read("t", "b", {{bound(5), bound(6)}}), (Lines{"b [s=of b@2]", "  5: @1 v=old5@1"}));
  EXPECT_FALSE(read_.has_value());
  EXPECT_TRUE(end().ok());
  EXPECT_EQ(sink.lines, in_pieces("a", false));
}

// Many scans that come in one packet must not hold up whoever comes behind them.
TEST_F(LongReadTest, ScansThatComeTogetherTakeTurnsFromTheirFirstRowOn) {
  write();
  ReadCommand command = node.command("t");
  command.range = KeyRange{};
  TextSink first(*command.table), second(*command.table);
  std::optional<Result<ReadStatistics>> of_second;
  start(command, first);
  spawn(finish<Result<ReadStatistics>>(node.engine().read(command, second), &of_second));
  EXPECT_FALSE(first.lines.empty());
  EXPECT_EQ(second.lines, Lines());
  EXPECT_EQ(node.read("t", "b", {{bound(5), bound(6)}}), (Lines{"b [s=of b@2]", "  5: @1 v=old5@1"}));
  EXPECT_FALSE(read_.has_value());
  EXPECT_TRUE(end().ok());
  EXPECT_TRUE(node.world().run_until([&] { return of_second.has_value(); }, std::chrono::hours(1)));
  EXPECT_TRUE((*of_second).ok());
  EXPECT_EQ(first.lines, node.scan("t"));
  EXPECT_EQ(second.lines, first.lines);
}

// Each is done in its first turn.
TEST_F(LongReadTest, ShortScansThatComeTogetherTakeTurnsToo) {
  write();
  ReadCommand command = node.command("t");
  command.range = KeyRange{};
  command.limits.rows = 1;
  TextSink first(*command.table), second(*command.table);
  std::optional<Result<ReadStatistics>> of_first;
  spawn(finish<Result<ReadStatistics>>(node.engine().read(command, first), &of_first));
  EXPECT_TRUE(of_first.has_value());
  start(command, second);
  EXPECT_TRUE(end().ok());
  EXPECT_EQ(second.lines, first.lines);
}

TEST_F(LongReadTest, FlushesAndCompactionsMayComeBetween) {
  write();
  const Lines before = in_pieces("a", false);
  const ReadCommand command = of_key("a");
  for (int round = 0; round < 3; ++round) {
    TextSink sink(*command.table);
    start(command, sink);
    write_rows("b", 0, 1000, 4, "later");
    node.flush();
    node.compact();
    EXPECT_TRUE(end().ok());
    EXPECT_EQ(sink.lines, before);
    read_.reset();
  }
}

TEST_F(LongReadTest, APartitionMayGoBetween) {
  write();
  const ReadCommand command = of_key("a");
  TextSink sink(*command.table);
  start(command, sink);
  const TablePtr table = node.table("t");
  ASSERT_TRUE(node.truncate(table).ok());
  EXPECT_TRUE(end().ok());
  EXPECT_LT(sink.lines.size(), size_t{kRows});
  EXPECT_EQ(sink.lines[0], "a [s=of a@2]");
}

// Twice, so that neither the command nor the engine has the version any more whose static row was read.
// Another node gets rows of before, and the deletion as a range from there on.
TEST_F(LongReadTest, AnotherNodeIsToldOfADeletionThatComesBetween) {
  struct Text : UnfilteredSink {
    explicit Text(const TableMetadata& t) : table(t) {}
    void begin_partition(const Partition& partition) override {
      lines.push_back(fmt::format("deleted@{}", partition.deletion.marked_for_delete_at));
    }
    void unfiltered(const Unfiltered& u) override {
      const RangeTombstoneMarker& marker = u.marker;
      lines.push_back(u.is_row ? to_line(table, u.row)
                               : fmt::format("{} {}|{}", to_hex(marker.bound.comparable),
                                             marker.close.marked_for_delete_at, marker.open.marked_for_delete_at));
    }
    bool end_partition() override { return true; }
    const TableMetadata& table;
    Lines lines;
  };
  const std::string live = std::to_string(DeletionTime().marked_for_delete_at);
  for (const bool reversed : {false, true}) {
    Update rows(node.table("t"), reversed ? "y" : "x");
    for (int c = 0; c < 6; ++c) rows.at(1).row(c).cell("v", "old");
    rows.at(3).delete_range(4, true, 5, false);
    ASSERT_TRUE(node.apply(rows).ok());
    ReadRequest request;
    request.command = node.command("t");
    request.command.keys = {DecoratedKey::of(reversed ? "y" : "x")};
    request.command.reversed = reversed;
    request.columns = ColumnFilter::all(*request.command.table);
    request.turn = 2;
    Text text(*request.command.table);
    std::optional<Result<ReadStatistics>> read;
    spawn(finish<Result<ReadStatistics>>(node.engine().read_unfiltered(request, text, kNoDeadline), &read));
    Update later(node.table("t"), reversed ? "y" : "x");
    later.at(9).delete_partition().at(10).row(3).cell("v", "new");
    ASSERT_TRUE(node.apply(later).ok());
    ASSERT_TRUE(node.world().run_until([&] { return read.has_value(); }, std::chrono::seconds(1)));
    ASSERT_TRUE((*read)->rows > 0);
    const std::string head = "deleted@" + live;
    EXPECT_EQ(text.lines,
              reversed ? (Lines{head, "5: v=old@1", "408000000520 " + live + "|9", "3: v=new@10", "20 9|" + live})
                       : (Lines{head, "0: v=old@1", "408000000060 " + live + "|9", "3: v=new@10", "60 9|" + live}));
  }
}

TEST_F(LongReadTest, ATableMayBeAlteredBetween) {
  write();
  ReadCommand command = of_key("a");
  command.filter = {{node.table("t")->column("s"), Operator::kEq, "of a", {}, false}};
  const Lines before = in_pieces("a", false);
  node.set_tables({node.table("kv"), make_table("t")});
  TextSink sink(*command.table);
  start(command, sink);
  node.set_tables({node.table("kv"), make_table("t")});
  node.flush();
  ASSERT_TRUE(end().ok());
  EXPECT_EQ(sink.lines, before);
}

TEST_F(LongReadTest, ATableMayBeDroppedBetween) {
  write();
  const ReadCommand command = of_key("a");
  TextSink sink(*command.table);
  start(command, sink);
  node.set_tables({node.table("kv")});
  ASSERT_FALSE(end().ok());
  EXPECT_EQ(end().error().message(), "Unknown table ks.t");
}

TEST_F(LongReadTest, AStopEndsIt) {
  write();
  const ReadCommand command = of_key("a");
  TextSink sink(*command.table);
  start(command, sink);
  bool stopped = false;
  spawn([](Engine* engine, bool* out) -> Task<void> {
    co_await engine->stop();
    *out = true;
  }(&node.engine(), &stopped));
  ASSERT_FALSE(end().ok());
  EXPECT_EQ(end().error().code(), ErrorCode::kClosed);
  EXPECT_TRUE(node.world().run_until([&] { return stopped; }, std::chrono::hours(1)));
}

TEST_F(LongReadTest, ItEndsAtItsDeadline) {
  write();
  const ReadCommand command = of_key("a");
  TextSink sink(*command.table);
  const int64_t now = node.world().clock().monotonic_nanos();
  Result<ReadStatistics> read = node.run(node.engine().read(command, sink, now - 1));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kReadTimeout);
  // One that is done in a turn has no need of a second look at the clock.
  ReadCommand one = of_key("a");
  one.limits.rows = 1;
  EXPECT_TRUE(node.run(node.engine().read(one, sink, now - 1)).ok());
}

}  // namespace
}  // namespace cassandra_like::storage_test
