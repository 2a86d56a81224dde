// Reads of what is not in memory: they must answer as if it were, and stop nobody while they wait for the disk.
#include <fmt/format.h>

#include <random>

#include "fixture.h"
#include "model/counter.h"
#include "model/values.h"
#include "read/read_pipeline.h"
#include "read/read_request.h"
#include "read/unfiltered_sink.h"
#include "storage/sstable/cold_reads.h"

namespace cassandra_like::storage_test {
namespace {

using namespace std::chrono_literals;  // NOLINT

constexpr uint32_t kAlways = 1'000'000;

// Takes rows in the form that is cheapest, too. Where a read paused, a row may have the other form: both have one text.
class UniformSink final : public TextSink {
 public:
  explicit UniformSink(const TableMetadata& table) : TextSink(table), columns_(table.regular_columns) {}
  bool takes_uniform_rows() const override { return true; }
  Next uniform_row(const UniformRow& row) override { return add(row, ""); }
  Next row(const Row& row) override {
    std::vector<BytesView> values(columns_.size(), kNull);
    std::string elements;
    for (const Cell& cell : row.cells) {
      if (cell.column->is_complex()) {
        elements += fmt::format(" {}[{}]={}", cell.column->name, cell.path, to_hex(cell.value));
        continue;
      }
      const auto is_it = [&](const ColumnPtr& c) { return c->name == cell.column->name; };
      const auto column = std::find_if(columns_.begin(), columns_.end(), is_it);
      CHECK(column != columns_.end());
      values[static_cast<size_t>(column - columns_.begin())] = cell.value;
    }
    return add({row.clustering, values}, elements);
  }

 private:
  Next add(const UniformRow& row, const std::string& elements) {
    std::string line;
    for (BytesView value : row.clustering.values) line += fmt::format(" {}", decode_int(value));
    for (BytesView value : row.values) line += fmt::format(" {}", is_null(value) ? "null" : to_hex(value));
    lines.push_back(line + elements);
    return Next::kContinue;
  }

  const std::vector<ColumnPtr> columns_;
};

class UnfilteredText final : public UnfilteredSink {
 public:
  explicit UnfilteredText(const TableMetadata& table) : table_(table) {}
  void begin_partition(const Partition& partition) override {
    lines.push_back(fmt::format("{} deleted at {} [{}]", partition.key.key, partition.deletion.marked_for_delete_at,
                                to_line(table_, partition.static_row)));
  }
  void unfiltered(const Unfiltered& u) override {
    if (u.is_row) {
      lines.push_back(fmt::format("  {} deleted at {}", to_line(table_, u.row), u.row.deletion.marked_for_delete_at));
      return;
    }
    lines.push_back(fmt::format("  {}: {} until here, {} from here", to_hex(u.marker.bound.comparable),
                                u.marker.close.marked_for_delete_at, u.marker.open.marked_for_delete_at));
  }
  bool end_partition() override { return true; }
  Lines lines;

 private:
  const TableMetadata& table_;
};

TablePtr shaped(const std::string& name, bool compressed) {
  auto table = std::make_shared<TableMetadata>(*make_table(name));
  table->params.compression = {{"class", "LZ4Compressor"}, {"chunk_length_in_kb", "4"}};
  if (!compressed) table->params.compression = {{"enabled", "false"}};
  return table;
}

EngineOptions small_blocks(uint64_t cache) {
  EngineOptions options;
  options.column_index_bytes = 2048;
  options.chunk_cache_bytes = cache;
  return options;
}

class ColdRead {
 public:
  ColdRead(uint64_t seed, bool compressed, uint64_t cache = 0)
      : node(seed, 1, small_blocks(cache),
             {shaped("kv", compressed), shaped("t", compressed), shaped("d", compressed)}),
        random_(seed) {}

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  std::string text() {
    std::string out(below(chance(5) ? 3000 : 120), '\0');
    for (char& c : out) c = static_cast<char>('a' + below(26));
    return out;
  }
  std::string key() { return std::string(1, static_cast<char>('a' + below(4))); }

  void write(int updates) {
    for (int i = 0; i < updates; ++i) {
      Update t(node.table("t"), key());
      t.at(++now_);
      if (chance(20)) t.static_row().cell("s", text());
      const int first = static_cast<int>(below(kRows));
      for (int c = first; c < first + 20; ++c) {
        t.row(c);
        if (chance(5)) {
          t.delete_row();
          continue;
        }
        t.live().cell("v", text());
        if (chance(60)) {
          t.cell("w", "w");
        } else if (chance(10)) {
          t.tombstone("w");
        }
        if (chance(3)) t.element("m", "path", text());
      }
      ASSERT_TRUE(node.apply(t).ok());
      if (chance(30)) {
        Update range(node.table("t"), key());
        const int from = static_cast<int>(below(kRows));
        range.at(++now_).delete_range(from, chance(50), from + 1 + static_cast<int>(below(kRows / 3)), chance(50));
        ASSERT_TRUE(node.apply(range).ok());
      }
      if (chance(3)) {
        Update gone(node.table("t"), key());
        ASSERT_TRUE(node.apply(gone.at(++now_).delete_partition()).ok());
      }
      Update d(node.table("d"), key());
      d.at(++now_);
      const int a = static_cast<int>(below(8));
      for (int b = 0; b < 20; ++b) d.row({a, b + first}).live().cell("v", text());
      ASSERT_TRUE(node.apply(d).ok());
      Update kv(node.table("kv"), fmt::format("{}{}", key(), below(60)));
      kv.at(++now_).row(std::vector<int32_t>{}).live().cell("v1", text());
      if (chance(50)) kv.cell("v2", text());
      ASSERT_TRUE(node.apply(kv).ok());
    }
  }

  Bytes bound(const TableMetadata& table, int c) {
    const std::string value = int_bytes(c);
    const BytesView values[] = {value};
    Bytes out;
    append_comparable(out, table, values, ClusteringKind::kInclStartBound);
    return out;
  }

  ReadCommand any_command() {
    const char* const name = std::array{"t", "t", "d", "kv"}[below(4)];
    ReadCommand command = node.command(name);
    if (chance(30)) {
      command.range = KeyRange{};
    } else {
      const size_t keys = chance(70) ? 1 : 2 + below(3);
      for (size_t i = 0; i < keys; ++i) {
        keys_.push_back(std::string(name) == "kv" ? fmt::format("{}{}", key(), below(60)) : key());
        const DecoratedKey one = DecoratedKey::of(keys_.back());
        if (std::find(command.keys.begin(), command.keys.end(), one) == command.keys.end()) command.keys.push_back(one);
      }
    }
    command.reversed = chance(40);
    int from = 0;
    const int most = std::string(name) == "t" ? kRows : 8;
    for (size_t slices = std::string(name) == "kv" ? 0 : below(4); slices > 0; --slices) {
      from += static_cast<int>(below(static_cast<uint64_t>(most) / 3));
      const int to = from + 1 + static_cast<int>(below(static_cast<uint64_t>(most) / 3));
      Slice slice{bound(*command.table, from), bound(*command.table, to)};
      if (slice.end < slice.start) std::swap(slice.start, slice.end);
      command.slices.push_back(slice);
      from = to + static_cast<int>(below(2));
    }
    std::sort(command.slices.begin(), command.slices.end(), [](auto& x, auto& y) { return x.start < y.start; });
    if (chance(30)) command.limits.rows = 1 + below(100);
    if (chance(20)) command.limits.per_partition = 1 + below(30);
    return command;
  }

  template <class Sink>
  Lines read(const ReadCommand& command) {
    Sink sink(*command.table);
    Result<ReadStatistics> read = node.run(node.engine().read(command, sink));
    if (!read.ok()) return {read.error().message()};
    sink.lines.push_back(fmt::format("{} rows", read->rows));
    return sink.lines;
  }
  Lines read_unfiltered(const ReadRequest& request) {
    UnfilteredText sink(*request.command.table);
    Result<ReadStatistics> read = node.run(node.engine().read_unfiltered(request, sink, kNoDeadline));
    if (!read.ok()) return {read.error().message()};
    return sink.lines;
  }
  void compare(const ReadCommand& command, uint32_t miss_ppm) {
    ReadRequest request;
    request.command = command;
    if (request.command.keys.size() > 1) request.command.keys.resize(1);
    request.command.limits = {};
    request.columns = ColumnFilter::all(*command.table);
    faults().read_miss_ppm = 0;
    const Lines text = read<TextSink>(command), uniform = read<UniformSink>(command);
    const Lines unfiltered = read_unfiltered(request);
    faults().read_miss_ppm = miss_ppm;
    EXPECT_EQ(read<TextSink>(command), text);
    EXPECT_EQ(read<UniformSink>(command), uniform);
    EXPECT_EQ(read_unfiltered(request), unfiltered);
    faults().read_miss_ppm = 0;
  }

  SimFaults& faults() { return node.machine().faults(); }
  uint64_t waits() { return node.engine().maintenance().statistics().disk_wait_micros.count(); }

  static constexpr int kRows = 300;
  Node node;

 private:
  std::mt19937_64 random_;
  int64_t now_ = 0;
  std::deque<std::string> keys_;
};

TEST(ColdReadTest, AnswersAreThoseOfMemory) {
  uint64_t waits = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const bool compressed = seed % 3 != 0;
    ColdRead cold(seed, compressed, seed % 2 == 0 ? 0 : 64 << 10);
    const uint64_t flushes = cold.below(4);
    for (uint64_t i = 0; i < flushes; ++i) {
      cold.write(25);
      cold.node.flush();
    }
    if (flushes == 0 || cold.chance(60)) cold.write(10);
    for (int i = 0; i < 25 && !testing::Test::HasFailure(); ++i) {
      cold.compare(cold.any_command(), cold.chance(50) ? kAlways : 200'000);
    }
    waits += cold.waits();
  }
  EXPECT_GT(waits, 5000u);
}

// A batch writes two rows of a partition while a read of it waits between them. The table is altered and flushed meanwhile.
TEST(ColdReadTest, APageOfAPartitionShowsNoBatchByHalf) {
  constexpr int kLast = 2000;
  for (const bool has_more : {false, true}) {
    // More than what is copied for the page is in the memtable.
    const int rows = has_more ? ReadPipeline::kPage + 1000 : kLast + 1;
    for (const bool reversed : {false, true}) {
      SCOPED_TRACE(fmt::format("{} rows, reversed: {}", rows, reversed));
      ColdRead cold(1, true);
      Node& node = cold.node;
      const auto write_ends = [&](int64_t at, int last) {
        Update both(node.table("t"), "a");
        both.at(at).row(0).cell("v", std::to_string(at));
        both.row(last).cell("v", std::to_string(at));
        ASSERT_TRUE(node.apply(both).ok());
      };
      for (int c = 0; c < rows; ++c) {
        ASSERT_TRUE(node.apply(Update(node.table("t"), "a").at(1).row(c).live().cell("w", cold.text())).ok());
      }
      node.flush();
      const int last = has_more ? ReadPipeline::kPage - 1 : kLast;
      if (has_more) {
        for (int c = 0; c < rows; ++c) {
          ASSERT_TRUE(node.apply(Update(node.table("t"), "a").at(2).row(c).cell("v", "0")).ok());
        }
      }
      write_ends(3, last);
      cold.faults().read_miss_ppm = kAlways;
      const std::string key = "a";
      ReadCommand command = node.command("t");
      command.keys = {DecoratedKey::of(key)};
      command.reversed = reversed;
      if (reversed) command.slices.push_back(Slice{Bytes(), cold.bound(*command.table, last + 1)});
      TextSink sink(*command.table);
      std::optional<Result<ReadStatistics>> read;
      spawn(finish<Result<ReadStatistics>>(node.engine().read(command, sink), &read));
      int64_t at = 4;
      for (; !read; ++at) {
        write_ends(at, last);
        if (at == 6) {
          auto altered = std::make_shared<TableMetadata>(*node.table("t"));
          altered->params.comment = "altered";
          node.set_tables({altered});
        }
        if (at == 8) {
          std::optional<Status> flushed;
          spawn(finish<Status>(node.engine().maintenance().flush({}), &flushed));
          ASSERT_TRUE(node.world().run_until([&] { return flushed.has_value(); }, 1h));
        }
        node.world().run_until([&, steps = 0]() mutable { return steps++ > 2 || read; }, 1h);
      }
      ASSERT_TRUE((*read).ok());
      EXPECT_GT(cold.waits(), 3u);
      Lines ends;
      for (const std::string& line : sink.lines) {
        if (line.starts_with("  0: ") || line.starts_with(fmt::format("  {}: ", last))) {
          ends.push_back(line.substr(line.find("v="), line.find("w=") - line.find("v=")));
        }
      }
      ASSERT_EQ(ends.size(), 2u);
      EXPECT_EQ(ends[0], ends[1]);
      EXPECT_EQ(sink.lines.size(), 1u + static_cast<size_t>(reversed ? last + 1 : rows));
    }
  }
}

// All rows of the memtable that are copied for the page are deleted by the SSTable: the copy ends before the page does.
TEST(ColdReadTest, APageMayHaveMoreThanIsCopied) {
  constexpr int kRows = ReadPipeline::kPage + 4000;
  ColdRead cold(1, true);
  Node& node = cold.node;
  const auto write = [&](int64_t at, const std::string& column) {
    for (int first = 0; first < kRows; first += 50) {
      Update update(node.table("t"), "a");
      update.at(at);
      for (int c = first; c < first + 50; ++c) update.row(c).live().cell(column, cold.text());
      ASSERT_TRUE(node.apply(update).ok());
    }
  };
  write(1, "w");
  Update deletion(node.table("t"), "a");
  ASSERT_TRUE(node.apply(deletion.at(5).delete_range(200, true, ReadPipeline::kPage + 2000, false)).ok());
  node.flush();
  write(2, "v");
  const std::string key = "a";
  for (const bool reversed : {false, true}) {
    ReadCommand command = node.command("t");
    command.keys = {DecoratedKey::of(key)};
    command.reversed = reversed;
    for (const uint32_t ppm : {kAlways, 300'000u, 50'000u}) cold.compare(command, ppm);
  }
  EXPECT_GT(cold.waits(), 100u);
}

// The partition that takes more than two turns is not the last one that is asked for.
TEST(ColdReadTest, KeysBehindALongPartitionAreReadToo) {
  ColdRead cold(1, true);
  constexpr int kRows = ReadPipeline::kPage + 3 * ReadPipeline::kTurn;
  for (const char* key : {"a", "b"}) {
    for (int c = 0; c < kRows; ++c) {
      ASSERT_TRUE(cold.node.apply(Update(cold.node.table("t"), key).at(1).row(c).live()).ok());
    }
  }
  const std::string a = "a", b = "b";
  ReadCommand command = cold.node.command("t");
  command.keys = {DecoratedKey::of(a), DecoratedKey::of(b)};
  EXPECT_EQ(cold.node.read(command).size(), 2u * (kRows + 1));
}

TEST(ColdReadTest, OthersGoOnWhileItWaits) {
  ColdRead cold(1, true);
  Node& node = cold.node;
  ASSERT_TRUE(node.apply(Update(node.table("t"), "a").at(1).row(1).cell("v", "old")).ok());
  node.flush();
  ASSERT_TRUE(node.apply(Update(node.table("t"), "b").at(1).row(1).cell("v", "new")).ok());
  cold.faults().read_miss_ppm = kAlways;
  const std::string key = "a";
  ReadCommand command = node.command("t");
  command.keys = {DecoratedKey::of(key)};
  TextSink sink(*command.table);
  std::optional<Result<ReadStatistics>> read;
  spawn(finish<Result<ReadStatistics>>(node.engine().read(command, sink), &read));
  const int64_t now = node.world().clock().monotonic_nanos();
  EXPECT_EQ(node.read("t", "b"), (Lines{"b", "  1: v=new@1"}));
  EXPECT_EQ(node.world().clock().monotonic_nanos(), now);
  EXPECT_FALSE(read.has_value());
  ASSERT_TRUE(node.world().run_until([&] { return read.has_value(); }, 1h));
  EXPECT_EQ(sink.lines, (Lines{"a", "  1: v=old@1"}));
}

TEST(ColdReadTest, ADiskThatDoesNotAnswerEndsItAtItsDeadline) {
  ColdRead cold(1, true);
  Node& node = cold.node;
  ASSERT_TRUE(node.apply(Update(node.table("t"), "a").at(1).row(1).cell("v", "old")).ok());
  node.flush();
  cold.faults().read_miss_ppm = kAlways;
  cold.faults().max_read_delay = 1000h;
  const std::string key = "a";
  ReadCommand command = node.command("t");
  command.keys = {DecoratedKey::of(key)};
  const int64_t deadline = node.world().clock().monotonic_nanos() + Duration(5s).count();
  TextSink sink(*command.table);
  Result<ReadStatistics> read = node.run(node.engine().read(command, sink, deadline));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kReadTimeout);
  EXPECT_LE(node.world().clock().monotonic_nanos(), deadline + Duration(1ms).count());
  ReadRequest request;
  request.command = command;
  request.columns = ColumnFilter::all(*command.table);
  UnfilteredText unfiltered(*command.table);
  read = node.run(node.engine().read_unfiltered(request, unfiltered, deadline + Duration(5s).count()));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), ErrorCode::kReadTimeout);
}

TEST(ColdReadTest, AnErrorOfTheDiskIsTheErrorOfTheRead) {
  for (const bool compressed : {true, false}) {
    ColdRead cold(1, compressed);
    Node& node = cold.node;
    ASSERT_TRUE(node.apply(Update(node.table("t"), "a").at(1).row(1).cell("v", "old")).ok());
    node.flush();
    cold.faults().read_miss_ppm = kAlways;
    cold.faults().io_error_ppm = kAlways;
    const Lines failed = node.read("t", "a");
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_TRUE(failed[0].starts_with("error: cannot read ")) << failed[0];
    EXPECT_NE(failed[0].find("-Data.db"), std::string::npos) << failed[0];
    cold.faults().io_error_ppm = 0;
    EXPECT_EQ(node.read("t", "a"), (Lines{"a", "  1: v=old@1"}));
  }
}

TEST(ColdReadTest, ReadsThatAreWarmDoNotWait) {
  ColdRead cold(1, true, 1 << 20);
  Node& node = cold.node;
  cold.write(10);
  node.flush();
  const Lines warm = node.read("t", "a");
  cold.faults().read_miss_ppm = kAlways;
  EXPECT_EQ(node.read("t", "a"), warm);
  EXPECT_EQ(cold.waits(), 0u);
}

// Two increments at the same time, both of which have to wait for the sum.
TEST(ColdReadTest, NoIncrementIsLost) {
  EngineOptions options;
  options.chunk_cache_bytes = 0;
  Node node(1, 1, options);
  const auto increment = [&](const std::string& key, std::optional<Result<SerializedMutation>>* out) {
    static std::deque<Update> updates;
    updates.emplace_back(node.table("n"), key);
    updates.back().at(1).row(1).cell("n", make_counter_update(1));
    spawn(finish<Result<SerializedMutation>>(node.engine().apply_counter(updates.back().mutation()), out));
  };
  uint64_t sum = 0;
  for (int round = 0; round < 10; ++round) {
    node.flush();
    node.machine().faults().read_miss_ppm = kAlways;
    std::optional<Result<SerializedMutation>> first, second;
    increment("a", &first);
    increment("a", &second);
    ASSERT_TRUE(node.world().run_until([&] { return first && second; }, 1h));
    ASSERT_TRUE(first->ok() && second->ok());
    sum += 2;
    EXPECT_EQ(node.counter("a"), static_cast<int64_t>(sum));
    node.machine().faults().read_miss_ppm = 0;
  }
  EXPECT_GT(node.engine().maintenance().statistics().disk_wait_micros.count(), 15u);
}

TEST(ColdReadTest, IndexesLeadToTheSameRows) {
  for (const char* target : {"v", "s", "c"}) {
    SCOPED_TRACE(target);
    EngineOptions options = small_blocks(0);
    auto table = std::make_shared<TableMetadata>(*shaped("t", true));
    IndexMetadata index;
    index.name = "by";
    index.id = Uuid::name_based("by");
    index.options["target"] = target;
    table->indexes["by"] = index;
    Node node(3, 1, options, {table});
    std::mt19937_64 random(7);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 400; ++i) {
        Update update(table, fmt::format("key {}", random() % 20));
        update.at(1 + round).static_row().cell("s", random() % 2 != 0 ? "red" : "blue");
        update.row(static_cast<int>(random() % 50)).live().cell("v", random() % 2 != 0 ? "red" : "blue");
        update.cell("w", std::string(random() % 300, 'w'));
        ASSERT_TRUE(node.apply(update).ok());
      }
      node.flush();
    }
    ReadCommand command = node.command("t");
    command.index = &table->indexes.at("by");
    FilterExpression condition;
    condition.column = table->column(target);
    condition.op = Operator::kEq;
    condition.value = target == std::string("c") ? int_bytes(7) : "red";
    command.filter.push_back(condition);
    ReadCommand keyed = command;
    const std::string names[] = {"key 3", "key 11", "key 5"};
    for (const std::string& name : names) keyed.keys.push_back(DecoratedKey::of(name));
    command.range = KeyRange{};
    ReadCommand reversed = command;
    reversed.reversed = true;
    for (const ReadCommand& one : {command, reversed, keyed}) {
      ReadRequest request;
      request.command = one;
      request.command.keys.resize(std::min<size_t>(1, one.keys.size()));
      request.command.index = nullptr;
      request.index = index.id;
      request.columns = ColumnFilter::all(*table);
      const auto unfiltered = [&] {
        UnfilteredText sink(*table);
        EXPECT_TRUE(node.run(node.engine().read_unfiltered(request, sink, kNoDeadline)).ok());
        return sink.lines;
      };
      node.machine().faults().read_miss_ppm = 0;
      const Lines warm = node.read(one), warm_unfiltered = unfiltered();
      ASSERT_FALSE(warm.empty());
      for (const uint32_t ppm : {100'000u, 500'000u, kAlways}) {
        node.machine().faults().read_miss_ppm = ppm;
        EXPECT_EQ(node.read(one), warm);
        EXPECT_EQ(unfiltered(), warm_unfiltered);
      }
    }
    EXPECT_GT(node.engine().maintenance().statistics().disk_wait_micros.count(), 20u);
  }
}

TEST(ColdReadTest, CompactionsReadAhead) {
  for (const bool compressed : {true, false}) {
    ColdRead cold(5, compressed);
    for (int i = 0; i < 3; ++i) {
      cold.write(40);
      cold.node.flush();
    }
    const Lines before = cold.node.scan("t");
    cold.faults().read_miss_ppm = kAlways;
    cold.node.compact();
    cold.faults().read_miss_ppm = 0;
    EXPECT_EQ(cold.node.scan("t"), before);
  }
}

// The bytes that were brought in are gone whenever the read comes back.
TEST(ColdReadsTest, ReadsThatGetNowhereWaitInPlace) {
  class Absent final : public ReadFile {
   public:
    const std::string& path() const override { return path_; }
    uint64_t size() const override { return 1 << 20; }
    Status read(uint64_t, std::span<char>) const override { return {}; }
    Result<BytesView> map() const override { return BytesView(); }

   private:
    std::string path_ = "absent";
  };
  const std::shared_ptr<const ReadFile> file = std::make_shared<Absent>();
  ColdReads cold;
  EXPECT_FALSE(cold.has_to_block());
  for (int i = 0; i < 150; ++i) {
    EXPECT_EQ(cold.miss(file, 4096, 100).code(), ErrorCode::kDiskWait);
    EXPECT_TRUE(cold.waits());
    const auto missing = cold.take();
    ASSERT_EQ(missing.size(), 1u);
    EXPECT_LE(missing[0].bytes, 256u << 10);
    EXPECT_FALSE(cold.waits());
    EXPECT_EQ(cold.has_to_block(), i >= 100);
    cold.count_turn(false);
  }
  cold.count_turn(true);
  EXPECT_FALSE(cold.has_to_block());
}

}  // namespace
}  // namespace cassandra_like::storage_test
