// Local secondary indexes: every shape, and that what is stale is never seen.
#include <fmt/format.h>

#include <set>

#include "fixture.h"
#include "storage/index/secondary_index.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/statistics.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like::storage_test {
namespace {

TablePtr with_index(const std::string& target, const std::string& name = "by") {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  IndexMetadata index;
  index.name = name;
  index.options["target"] = target;
  table->indexes[name] = index;
  return table;
}

// Reads all partitions through the index "by" of the table.
ReadCommand indexed_read(const Node& node, const TableMetadata& table, const std::string& column, Operator op,
                         const std::string& value) {
  ReadCommand command = node.command("t");
  command.range = KeyRange{};
  command.index = &table.indexes.at("by");
  FilterExpression condition;
  condition.column = table.column(column);
  condition.op = op;
  condition.value = value;
  command.filter.push_back(condition);
  return command;
}

class IndexTest : public testing::Test {
 protected:
  void use(const std::string& target) {
    table = with_index(target);
    node.set_tables({table});
  }
  TablePtr without_index() {
    auto plain = std::make_shared<TableMetadata>(*table);
    plain->indexes.clear();
    return plain;
  }
  ReadCommand where(const std::string& column, Operator op, const std::string& value) {
    return indexed_read(node, *table, column, op, value);
  }
  // Rows of all partitions, sorted: the ring's order is not what is tested.
  Lines find(ReadCommand command) {
    Lines out;
    std::string key;
    for (std::string& line : node.read(std::move(command))) {
      if (!line.starts_with("  ")) {
        key = line;
      } else {
        out.push_back(key + line.substr(1));
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  // An SSTable in this directory is being written.
  bool is_written(const std::string& directory) {
    const auto found = find_sstables(node.disk(), directory).value();
    return std::any_of(found.begin(), found.end(), [](const SSTableOnDisk& files) { return files.is_unfinished(); });
  }
  // The schema changed, and the node ended before its shards heard of it.
  void restart_with(const TablePtr& changed) {
    node.kill();
    node.set_tables({changed});
    ASSERT_TRUE(node.boot()) << node.error();
  }
  // Evens and odds, from one number to before another.
  void put_numbers(int from, int end) {
    for (int c = from; c < end; ++c) put("a", c, c % 2 == 0 ? "even" : "odd");
  }
  void put(const std::string& key, int c, const std::string& v, int64_t ts = 1) {
    ASSERT_TRUE(node.apply(Update(table, key).at(ts).row(c).live().cell("v", v)).ok());
  }

  Node node;
  TablePtr table;
};

TEST_F(IndexTest, AValueThatIsTooLongForAnIndexIsRefused) {
  use("v");
  Status refused = node.apply(Update(table, "a").at(1).row(1).live().cell("v", std::string(65535, 'x')));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "Cannot index value of size 65535 for index by on ks.t(v) (maximum allowed size=65535)");
  put("a", 2, std::string(1000, 'x'));
  node.flush();
  EXPECT_EQ(find(where("v", Operator::kEq, std::string(1000, 'x'))).size(), 1u);
}

TEST_F(IndexTest, ARegularColumnFindsItsRowsFromMemoryAndDisk) {
  use("v");
  put("a", 1, "red");
  put("a", 2, "blue");
  put("b", 1, "red");
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"a 1: @1 v=red@1", "b 1: @1 v=red@1"}));
  node.flush();
  put("c", 7, "red");
  Lines expected{"a 1: @1 v=red@1", "b 1: @1 v=red@1", "c 7: @1 v=red@1"};
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), expected);
  node.restart();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), expected);
  EXPECT_EQ(find(where("v", Operator::kEq, "green")), Lines{});
}

TEST_F(IndexTest, StaleEntriesAreNotSeen) {
  use("v");
  put("a", 1, "red");
  put("a", 2, "red");
  put("a", 3, "red");
  put("b", 1, "red");
  put("c", 1, "red");
  node.flush();
  put("a", 1, "blue", 2);
  ASSERT_TRUE(node.apply(Update(table, "a").at(2).row(2).delete_row()).ok());
  ASSERT_TRUE(node.apply(Update(table, "a").at(2).row(3).tombstone("v")).ok());
  ASSERT_TRUE(node.apply(Update(table, "b").at(2).delete_partition()).ok());
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"c 1: @1 v=red@1"}));
    EXPECT_EQ(find(where("v", Operator::kEq, "blue")), (Lines{"a 1: @2 v=blue@2"}));
  }
  // Written again with the old value: a new entry outlives the removal of the old one.
  put("a", 1, "red", 3);
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"a 1: @3 v=red@3", "c 1: @1 v=red@1"}));
  EXPECT_EQ(find(where("v", Operator::kEq, "blue")), Lines{});
}

TEST_F(IndexTest, TheRestOfTheFilterSlicesLimitsAndRangesApply) {
  use("v");
  for (int c = 0; c < 6; ++c) {
    ASSERT_TRUE(node.apply(Update(table, "a").row(c).cell("v", "red").cell("w", c % 2 == 0 ? "even" : "odd")).ok());
    put("b", c, "red");
  }
  ReadCommand even = where("v", Operator::kEq, "red");
  FilterExpression condition;
  condition.column = table->column("w");
  condition.value = "even";
  even.filter.push_back(condition);
  EXPECT_EQ(find(even), (Lines{"a 0: v=red@1 w=even@1", "a 2: v=red@1 w=even@1", "a 4: v=red@1 w=even@1"}));

  ReadCommand sliced = where("v", Operator::kEq, "red");
  std::string key = "b", three = int_bytes(3);
  BytesView prefix[] = {three};
  sliced.range.reset();
  sliced.keys = {DecoratedKey::of(key)};
  sliced.slices = {Slice::of_prefix(*table, prefix)};
  EXPECT_EQ(find(sliced), (Lines{"b 3: @1 v=red@1"}));
  sliced.slices.clear();
  sliced.limits.rows = 2;
  sliced.reversed = true;
  EXPECT_EQ(node.read(sliced), (Lines{"b", "  5: @1 v=red@1", "  4: @1 v=red@1"}));

  for (std::string one : {"a", "b"}) {
    ReadCommand ranged = where("v", Operator::kEq, "red");
    Token token = murmur3_token(one);
    ranged.range = KeyRange{RingPosition::before(token), RingPosition::after(token)};
    Lines found = find(ranged);
    ASSERT_EQ(found.size(), 6u);
    EXPECT_EQ(found[0].substr(0, 1), one);
    ranged.range = KeyRange{RingPosition::at(DecoratedKey::of(one)), RingPosition::maximum(), false, true};
    for (const std::string& line : find(ranged)) EXPECT_NE(line.substr(0, 1), one);
  }
}

TEST_F(IndexTest, AClusteringColumn) {
  use("c");
  put("a", 1, "x");
  put("a", 2, "y");
  put("b", 1, "z");
  EXPECT_EQ(find(where("c", Operator::kEq, int_bytes(1))), (Lines{"a 1: @1 v=x@1", "b 1: @1 v=z@1"}));
  ASSERT_TRUE(node.apply(Update(table, "a").at(2).row(1).delete_row()).ok());
  EXPECT_EQ(find(where("c", Operator::kEq, int_bytes(1))), (Lines{"b 1: @1 v=z@1"}));
}

TEST_F(IndexTest, AStaticColumnFindsWholePartitions) {
  use("s");
  put("a", 1, "x");
  put("a", 2, "y");
  put("b", 1, "z");
  ASSERT_TRUE(node.apply(Update(table, "a").static_row().cell("s", "st")).ok());
  EXPECT_EQ(node.read(where("s", Operator::kEq, "st")), (Lines{"a [s=st@1]", "  1: @1 v=x@1", "  2: @1 v=y@1"}));
  node.flush();
  ASSERT_TRUE(node.apply(Update(table, "a").at(2).static_row().cell("s", "other")).ok());
  EXPECT_EQ(node.read(where("s", Operator::kEq, "st")), Lines{});
}

TEST_F(IndexTest, CollectionsByKeyValueAndEntry) {
  auto fill = [&] {
    ASSERT_TRUE(node.apply(Update(table, "a").row(1).element("m", "k1", "x").element("m", "k2", "x")).ok());
    ASSERT_TRUE(node.apply(Update(table, "a").row(2).element("m", "k1", "y")).ok());
  };
  use("keys(m)");
  fill();
  EXPECT_EQ(find(where("m", Operator::kContainsKey, "k1")), (Lines{"a 1: m[k1]=x@1 m[k2]=x@1", "a 2: m[k1]=y@1"}));
  EXPECT_EQ(find(where("m", Operator::kContainsKey, "k2")), (Lines{"a 1: m[k1]=x@1 m[k2]=x@1"}));
}

TEST_F(IndexTest, ARowIsFoundOnceThoughTwoElementsHaveTheValue) {
  use("values(m)");
  ASSERT_TRUE(node.apply(Update(table, "a").row(1).element("m", "k1", "x").element("m", "k2", "x")).ok());
  node.flush();
  EXPECT_EQ(find(where("m", Operator::kContains, "x")), (Lines{"a 1: m[k1]=x@1 m[k2]=x@1"}));
  // One of them goes: the row still has the value.
  ASSERT_TRUE(node.apply(Update(table, "a").at(2).row(1).element("m", "k1", "z")).ok());
  EXPECT_EQ(find(where("m", Operator::kContains, "x")), (Lines{"a 1: m[k1]=z@2 m[k2]=x@1"}));
  ASSERT_TRUE(node.apply(Update(table, "a").row(1).at(3).clear("m")).ok());
  EXPECT_EQ(find(where("m", Operator::kContains, "x")), Lines{});
}

TEST_F(IndexTest, EntriesOfAMap) {
  use("entries(m)");
  ASSERT_TRUE(node.apply(Update(table, "a").row(1).element("m", "k1", "x")).ok());
  ASSERT_TRUE(node.apply(Update(table, "a").row(2).element("m", "k1", "y")).ok());
  ReadCommand command = where("m", Operator::kEq, "x");
  command.filter[0].is_map_entry = true;
  command.filter[0].map_key = "k1";
  EXPECT_EQ(find(command), (Lines{"a 1: m[k1]=x@1"}));
}

TEST_F(IndexTest, AnIndexIsBuiltFromWhatIsThere) {
  table = node.table("t");
  for (int i = 0; i < 300; ++i) put(std::string("key") + std::to_string(i), i, i % 3 == 0 ? "red" : "blue");
  node.flush();
  put("late", 1, "red");
  use("v");
  ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok());
  EXPECT_EQ(find(where("v", Operator::kEq, "red")).size(), 101u);
  node.restart();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")).size(), 101u);
  EXPECT_TRUE(node.disk().exists("/data/ks/" + table->directory_name() + "/.by"));
}

// The node ends, or the disk is full, between CREATE INDEX and the end of its build.
TEST_F(IndexTest, AnIndexThatWasNotBuiltToTheEndIsNotReadAndTheNextStartBuildsIt) {
  table = node.table("t");
  for (int c = 0; c < 20; ++c) put("a", c, c % 2 == 0 ? "even" : "odd");
  node.flush();
  put("b", 1, "odd");
  use("v");
  put("c", 1, "odd");
  const ReadCommand odd = where("v", Operator::kEq, "odd");
  EXPECT_EQ(node.read(odd), (Lines{"error: The secondary index 'by' is not yet available"}));
  for (bool after_flush : {false, true}) {
    // The index has what was written since, also when that is on the disk.
    if (after_flush) node.flush();
    node.kill();
    ASSERT_TRUE(node.boot()) << node.error();
    EXPECT_EQ(find(odd).size(), 12u) << after_flush;
  }
  // A name that comes back names another index.
  node.set_tables({without_index()});
  use("v");
  EXPECT_EQ(node.read(odd), (Lines{"error: The secondary index 'by' is not yet available"}));
  node.restart();
  EXPECT_EQ(find(odd).size(), 12u);
}

// The build of the first index is at its last page when the second one comes.
TEST_F(IndexTest, TheBuildOfAnIndexThatIsGoneSaysNothingOfOneOfItsName) {
  table = node.table("t");
  for (int c = 0; c < 5000; ++c) put("a", c, c % 2 == 0 ? "even" : "odd");
  use("v");
  std::optional<Status> built;
  spawn(finish<Status>(node.engine().maintenance().build_index(table, "by"), &built));
  const std::string directory = "/data/ks/" + table->directory_name() + "/.by";
  ASSERT_TRUE(node.world().run_until([&] { return is_written(directory) || built; }, std::chrono::hours(1)));
  node.set_tables({without_index()});
  use("v");
  ASSERT_FALSE(built.has_value());
  ASSERT_TRUE(node.world().run_until([&] { return built.has_value(); }, std::chrono::hours(1)));
  node.restart();
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), 2500u);
}

TEST_F(IndexTest, ABuildRunsAsACompactionDoesAndMayBeStopped) {
  table = node.table("t");
  for (int c = 0; c < 5000; ++c) put("key" + std::to_string(c), 1, c % 2 == 0 ? "even" : "odd");
  node.flush();
  use("v");
  Maintenance& maintenance = node.engine().maintenance();
  std::optional<Status> built;
  spawn(finish<Status>(maintenance.build_index(table, "by"), &built));
  std::vector<RunningCompaction> running;
  while (running.empty() || running[0].completed == 0) {
    ASSERT_TRUE(node.world().step());
    running = maintenance.running_compactions();
  }
  EXPECT_EQ(operation_text(running[0].operation), "Secondary index build");
  EXPECT_EQ(running[0].table->name, "t");
  EXPECT_LT(running[0].completed, running[0].total);
  EXPECT_EQ(running[0].sstables, 1u);
  EXPECT_EQ(maintenance.stop_compactions(
                [](const RunningCompaction& c) { return operation_constant(c.operation) == "INDEX_BUILD"; }),
            1u);
  while (!built) ASSERT_TRUE(node.world().step());
  EXPECT_EQ(built->error().message(), "Compaction interrupted");
  EXPECT_TRUE(maintenance.running_compactions().empty());
  const ReadCommand odd = where("v", Operator::kEq, "odd");
  EXPECT_EQ(node.read(odd), (Lines{"error: The secondary index 'by' is not yet available"}));
  ASSERT_TRUE(node.run(maintenance.build_index(table, "by")).ok());
  EXPECT_EQ(find(odd).size(), 2500u);
}

TEST_F(IndexTest, TwoBuildsAtOnceFollowOneAnother) {
  table = node.table("t");
  for (int c = 0; c < 5000; ++c) put("a", c, c % 100 == 0 ? "few" : "many");
  use("v");
  std::optional<Status> built[2];
  for (auto& done : built) spawn(finish<Status>(node.engine().maintenance().build_index(table, "by"), &done));
  while (!built[0]) ASSERT_TRUE(node.world().step());
  ASSERT_FALSE(built[1].has_value());
  while (!built[1]) {
    EXPECT_EQ(find(where("v", Operator::kEq, "few")).size(), 50u);
    ASSERT_TRUE(node.world().step());
  }
  EXPECT_TRUE(built[0]->ok() && built[1]->ok());
}

// A write replaces a value. The index is flushed before its table, and the power fails at any moment of that: the table may have
// the old value again.
class IndexFlushTest : public testing::TestWithParam<bool> {};

TEST_P(IndexFlushTest, TheIndexHasWhatItsTableHasWheneverThePowerFails) {
  const bool durable_writes = GetParam();
  // The partition has one key.
  const auto rows_of = [](const Lines& lines) {
    std::multiset<std::string> rows(lines.begin(), lines.end());
    rows.erase("a");
    return rows;
  };
  std::set<std::multiset<std::string>> seen;
  for (int micros = 0; micros <= 20'000; micros += 250) {
    SCOPED_TRACE(micros);
    Node node(static_cast<uint64_t>(micros));
    TablePtr table = with_index("v");
    node.set_tables({table}, durable_writes);
    const auto write = [&](int64_t at, const std::string& v) {
      for (int c = 0; c < 20; ++c) ASSERT_TRUE(node.apply(Update(table, "a").at(at).row(c).live().cell("v", v)).ok());
    };
    write(1, "old");
    node.flush();
    write(2, "old");
    write(3, "new");
    std::optional<Status> flushed;
    spawn(finish<Status>(node.engine().maintenance().flush({}), &flushed));
    node.world().run_for(std::chrono::microseconds(micros));
    node.crash();
    ASSERT_TRUE(node.boot()) << node.error();
    const std::multiset<std::string> rows = rows_of(node.scan("t"));
    Lines found;
    for (const char* value : {"old", "new"}) {
      const Lines with_value = node.read(indexed_read(node, *table, "v", Operator::kEq, value));
      found.insert(found.end(), with_value.begin(), with_value.end());
    }
    EXPECT_EQ(rows_of(found), rows);
    seen.insert(rows);
  }
  EXPECT_GE(seen.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Storage, IndexFlushTest, testing::Bool());

// An index of this name was there before.
TEST_F(IndexTest, AnIndexThatNoShardBeganIsBuiltByTheNextStart) {
  use("v");
  put_numbers(0, 20);
  node.flush();
  node.set_tables({without_index()});
  put_numbers(20, 40);
  restart_with(table);
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), 20u);
}

// The files of the first index are still there.
TEST_F(IndexTest, AnIndexOfTheNameOfOneWhoseDropWasCutOffIsBuilt) {
  use("v");
  put_numbers(0, 20);
  node.flush();
  restart_with(without_index());
  put_numbers(20, 40);
  restart_with(table);
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), 20u);
}

// A disk on which files of a directory cannot be renamed, as the first step of a removal does, while this is wanted.
class DiskThatKeeps final : public test::ForwardingDisk {
 public:
  DiskThatKeeps(Disk& disk, std::string directory, const bool& wanted)
      : ForwardingDisk(disk), directory_(std::move(directory)), wanted_(wanted) {}
  Status rename(const std::string& from, const std::string& to) override {
    if (wanted_ && from.starts_with(directory_)) return Error(ErrorCode::kIo, "cannot rename " + from);
    return disk_.rename(from, to);
  }

 private:
  const std::string directory_;
  const bool& wanted_;
};

TEST_F(IndexTest, ADropSucceedsThoughFilesOfTheIndexStayForNow) {
  use("v");
  const std::string directory = "/data/ks/" + table->directory_name() + "/.by";
  bool keeps = false;
  node.wrap_disk = [&](Disk& disk) { return std::make_unique<DiskThatKeeps>(disk, directory, keeps); };
  node.restart();
  put_numbers(0, 20);
  node.flush();
  keeps = true;
  ASSERT_TRUE(node.run(node.engine().set_schema(make_schema({without_index()}))).ok());
  put_numbers(20, 40);
  EXPECT_EQ(list_sstables(node.disk(), directory).value().size(), 1u);
  // An index of its name would take them for its own.
  const Status refused = node.run(node.engine().set_schema(make_schema({table})));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "The index by cannot be made while the files of a dropped one are in ks/" +
                                           table->directory_name() + "/.by: they cannot be removed");
  // The next change of the schema removes them, and finds them gone.
  keeps = false;
  node.set_tables({without_index()});
  EXPECT_EQ(list_sstables(node.disk(), directory).value().size(), 0u);
  node.set_tables({table});
  ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok());
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), 20u);
}

TEST_F(IndexTest, AnSSTableOfAnIndexThatCannotBeReadIsReplacedByABuild) {
  node.options.disk_failure_policy = FailurePolicy::kIgnore;
  use("v");
  for (int c = 0; c < 20; ++c) put("a", c, c % 2 == 0 ? "even" : "odd");
  node.flush();
  const std::string directory = node.engine().maintenance().sstables(table->id)[0].descriptor.directory + "/.by";
  auto found = find_sstables(node.disk(), directory);
  ASSERT_TRUE(found.ok() && found->size() == 1);
  ASSERT_TRUE(node.disk().remove(found->front().descriptor.file("Statistics.db")).ok());
  node.restart();
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), 10u);
}

// Cassandra's SSTables have no Checksums.crc32, and it orders entries otherwise.
TEST_F(IndexTest, TheFilesOfAnIndexOfCassandraGoWithTheBuild) {
  node.options.sequence_ids = true;
  node.restart();
  use("v");
  put_numbers(0, 20);
  node.flush();
  const std::string directory = "/data/ks/" + table->directory_name() + "/.by";
  const auto before = list_sstables(node.disk(), directory).value();
  ASSERT_EQ(before.size(), 1u);
  ASSERT_TRUE(node.disk().remove(before[0].file("Checksums.crc32")).ok());
  node.restart();
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), 10u);
  EXPECT_FALSE(node.disk().exists(before[0].file("Data.db")));
}

// The SSTable of the base table, which no log replaces, is set aside.
class SetAsideTest : public IndexTest {
 protected:
  void set_aside() {
    const SSTableDescriptor sstable = node.engine().maintenance().sstables(table->id)[0].descriptor;
    ASSERT_TRUE(node.run(node.engine().drain()).ok());
    node.options.disk_failure_policy = FailurePolicy::kIgnore;
    node.restart();
    index_ = sstable.file("Partitions.db");
    ASSERT_TRUE(node.disk().rename(index_, index_ + ".lost").ok());
    node.restart();
    ASSERT_TRUE(node.engine().maintenance().sstables(table->id).empty());
  }
  void bring_back() {
    ASSERT_TRUE(node.disk().rename(index_ + ".lost", index_).ok());
    node.restart();
  }
  void build_without_rows() {
    table = node.table("t");
    put("a", 1, "red");
    node.flush();
    set_aside();
    use("v");
    ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok());
    EXPECT_EQ(find(where("v", Operator::kEq, "red")), Lines());
  }
  std::string index_;
};

TEST_F(SetAsideTest, EntriesOfItsRowsStay) {
  use("v");
  put("a", 1, "red");
  node.flush();
  set_aside();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), Lines());
  node.flush();
  bring_back();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"a 1: @1 v=red@1"}));
}

TEST_F(SetAsideTest, AnIndexThatWasBuiltWithoutItsRowsIsBuiltAgainByTheNextStart) {
  build_without_rows();
  bring_back();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"a 1: @1 v=red@1"}));
}

// The index was whole before, and its own SSTable is damaged, too.
TEST_F(SetAsideTest, AnIndexThatWasWholeAndIsBuiltAnewWithoutItsRowsIsBuiltAgainByTheNextStart) {
  use("v");
  put("a", 1, "red");
  node.flush();
  const std::string directory = node.engine().maintenance().sstables(table->id)[0].descriptor.directory + "/.by";
  set_aside();
  auto found = find_sstables(node.disk(), directory);
  ASSERT_TRUE(found.ok() && found->size() == 1);
  ASSERT_TRUE(node.disk().remove(found->front().descriptor.file("Statistics.db")).ok());
  node.restart();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), Lines());
  for (const std::string& component : found->front().components) {
    ASSERT_TRUE(node.disk().remove(found->front().descriptor.file(component)).ok());
  }
  bring_back();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"a 1: @1 v=red@1"}));
}

TEST_F(SetAsideTest, AnIndexThatWasBuiltWithoutItsRowsIsBuiltAgainByAScrub) {
  build_without_rows();
  ASSERT_TRUE(node.run(node.engine().maintenance().scrub({"ks", "t"}, SSTableScrubOrder())).ok());
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"a 1: @1 v=red@1"}));
  node.restart();
  EXPECT_EQ(find(where("v", Operator::kEq, "red")), (Lines{"a 1: @1 v=red@1"}));
}

// Their files are in one directory.
TEST_F(IndexTest, AnIndexMayComeBackWhileItsPredecessorIsFlushed) {
  use("v");
  for (int c = 0; c < 300; ++c) put("a", c, "red");
  std::optional<Status> flushed;
  spawn(finish<Status>(node.engine().maintenance().flush({}), &flushed));
  const std::string directory = "/data/ks/" + table->directory_name() + "/.by";
  ASSERT_TRUE(node.world().run_until([&] { return is_written(directory); }, std::chrono::hours(1)));
  node.set_tables({without_index()});
  use("v");
  ASSERT_FALSE(flushed.has_value());
  ASSERT_TRUE(node.world().run_until([&] { return flushed.has_value(); }, std::chrono::hours(1)));
  EXPECT_TRUE(flushed->ok());
  EXPECT_TRUE(node.failures.empty());
  ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok());
  for (bool again : {false, true}) {
    if (again) node.restart();
    EXPECT_EQ(find(where("v", Operator::kEq, "red")).size(), 300u) << again;
  }
}

// A compaction whose end failed leaves its log, also when its index goes. The log must not take the files of the next index
// of this name for its own.
class NumberedIndexTest : public IndexTest, public testing::WithParamInterface<bool> {
 protected:
  // The index gets as many SSTables as a compaction before has used numbers.
  void put_and_flush(const std::string& value) {
    for (int c = 0; c < 4; ++c) {
      put("a", c, value, ++timestamp);
      node.flush();
    }
  }
  int64_t timestamp = 0;
};

TEST_P(NumberedIndexTest, TheNextIndexOfItsNameKeepsItsFiles) {
  const bool within_a_second = GetParam();
  node.options.sequence_ids = true;
  node.restart();
  SimFaults& faults = node.machine().faults();
  bool is_reached = true;
  for (uint64_t operations = 0; is_reached; operations += test::kIsSanitized ? 7 : 1) {
    SCOPED_TRACE(fmt::format("operation {}", operations));
    use("v");
    ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok());
    node.compact();
    put_and_flush("old");
    faults.operations_until_fault = operations;
    (void)node.run(node.engine().maintenance().compact({}));
    is_reached = faults.operations_until_fault.value_or(0) == 0;
    faults.operations_until_fault.reset();

    node.set_tables({without_index()});
    if (!within_a_second) node.world().run_for(std::chrono::seconds(2));
    use("v");
    ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok());
    const std::string value = fmt::format("red {}", operations);
    put_and_flush(value);
    node.crash();
    ASSERT_TRUE(node.boot()) << node.error();
    ASSERT_EQ(find(where("v", Operator::kEq, value)).size(), 4u);
    node.set_tables({without_index()});
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, NumberedIndexTest, testing::Bool());

// Wherever the disk has no room when a table and its index come.
TEST(OpeningTest, ATableThatCouldNotBeOpenedIsOpenedWithTheNextSchema) {
  for (uint64_t operations = 0;; ++operations) {
    Node node(operations + 1, 1, {}, {make_table("kv")});
    SimFaults& faults = node.machine().faults();
    faults.operations_until_fault = operations;
    faults.fault = SimFaults::Fault::kOneDiskFull;
    const TablePtr table = with_index("v");
    const Status first = node.run(node.engine().set_schema(make_schema({node.table("kv"), table})));
    const bool came = !faults.operations_until_fault || *faults.operations_until_fault == 0;
    faults.operations_until_fault.reset();
    node.set_tables({node.table("kv"), table});
    ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok()) << operations;
    ASSERT_TRUE(node.apply(Update(table, "a").row(1).cell("v", "x")).ok());
    EXPECT_TRUE(node.run(node.engine().maintenance().flush({})).ok()) << operations;
    EXPECT_EQ(node.scan("t").size(), 2u);
    EXPECT_TRUE(node.failures.empty());
    if (came) continue;
    EXPECT_GT(operations, 2u);
    EXPECT_TRUE(first.ok());
    return;
  }
}

// Others have their turn between two parts of a large partition.
TEST_F(IndexTest, ALargePartitionIsIndexedInParts) {
  table = node.table("t");
  constexpr int kRows = 5000;
  for (int c = 0; c < kRows; ++c) put("a", c, c % 2 == 0 ? "even" : "odd");
  ASSERT_TRUE(node.apply(Update(table, "a").at(2).delete_range(10, true, 20, true)).ok());
  put("b", 1, "odd");
  node.flush();
  use("v");
  std::optional<Status> built;
  spawn(finish<Status>(node.engine().maintenance().build_index(table, "by"), &built));
  std::set<uint64_t> sizes;
  auto is_built = [&] {
    sizes.insert(node.engine().maintenance().statistics().memtable_bytes);
    return built.has_value();
  };
  ASSERT_TRUE(node.world().run_until(is_built, std::chrono::hours(1)));
  ASSERT_TRUE(built->ok());
  EXPECT_GE(sizes.size(), 5u);
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), size_t{kRows} / 2 - 5 + 1);
  EXPECT_EQ(find(where("v", Operator::kEq, "even")).size(), size_t{kRows} / 2 - 6);
}

// Its entries take memory as writes do.
TEST(IndexBuildTest, ABuildStaysWithinTheMemoryOfMemtables) {
  constexpr int kRows = 20'000;
  EngineOptions options;
  options.memtable_bytes = 4 << 20;
  Node node(1, 1, options);
  TablePtr table = node.table("t");
  for (int c = 0; c < kRows; ++c) {
    ASSERT_TRUE(node.apply(Update(table, "a").at(1).row(c).live().cell("v", fmt::format("{:0>500}", c))).ok());
  }
  node.flush();
  table = with_index("v");
  node.set_tables({table});
  uint64_t most = 0;
  std::optional<Status> built;
  spawn(finish<Status>(node.engine().maintenance().build_index(table, "by"), &built));
  auto is_built = [&] {
    most = std::max(most, node.engine().maintenance().statistics().memtable_bytes);
    return built.has_value();
  };
  ASSERT_TRUE(node.world().run_until(is_built, std::chrono::hours(1)));
  EXPECT_TRUE(built->ok());
  EXPECT_LE(most, options.memtable_bytes + Arena::kHugeChunk);
  EXPECT_EQ(node.read(indexed_read(node, *table, "v", Operator::kEq, fmt::format("{:0>500}", 7))).size(), 2u);
}

TEST_F(IndexTest, ABuildFlushesNoOtherTable) {
  table = node.table("t");
  put_numbers(0, 5000);
  const TablePtr other = make_table("u");
  node.set_tables({with_index("v"), other});
  for (int c = 0; c < 100; ++c) {
    ASSERT_TRUE(node.apply(Update(other, "a").at(1).row(c).live().cell("v", std::string(20'000, 'x'))).ok());
  }
  table = with_index("v");
  ASSERT_TRUE(node.run(node.engine().maintenance().build_index(table, "by")).ok());
  EXPECT_TRUE(node.engine().maintenance().sstables(other->id).empty());
  EXPECT_EQ(node.engine().maintenance().sstables(table->id).size(), 1u);
}

TEST_F(IndexTest, WithAnotherNumberOfShardsEachRowIsFoundOnce) {
  use("v");
  Lines expected;
  for (char key = 'a'; key <= 'z'; ++key) {
    put(std::string(1, key), 1, "red");
    expected.push_back(std::string(1, key) + " 1: @1 v=red@1");
  }
  node.flush();
  for (unsigned shards : {3, 2}) {
    node.kill();
    node.set_shards(shards);
    ASSERT_TRUE(node.boot()) << node.error();
    EXPECT_EQ(find(where("v", Operator::kEq, "red")), expected);
    // The entries go to the shards of the rows that they point to.
    for (unsigned i = 0; i < shards; ++i) {
      ASSERT_TRUE(node.run(node.engine(i).maintenance().flush({})).ok());
      ASSERT_TRUE(node.engine(i).remove_foreign_segments().ok());
    }
    for (unsigned i = 0; i < shards; ++i) ASSERT_TRUE(node.run(node.engine(i).maintenance().relocate()).ok());
    EXPECT_EQ(find(where("v", Operator::kEq, "red")), expected);
    for (unsigned i = 0; i < shards; ++i) ASSERT_TRUE(node.run(node.engine(i).maintenance().compact({})).ok());
    EXPECT_EQ(find(where("v", Operator::kEq, "red")), expected);
  }
}

TEST_F(IndexTest, ACleanupTakesTheEntriesOfItsRows) {
  use("v");
  for (int i = 0; i < 4; ++i) {
    put("a", i, "odd");
    put("b", i, "odd");
  }
  node.flush();
  auto entries = [this] {
    uint64_t rows = 0;
    const auto found = find_sstables(node.disk(), "/data/ks/" + table->directory_name() + "/.by");
    for (const SSTableOnDisk& entry : *found) {
      auto file = node.disk().open(entry.descriptor.file("Statistics.db"));
      Bytes content((*file)->size(), '\0');
      CHECK((*file)->read(0, content).ok());
      rows += Statistics::parse(content, SSTableVersion::da())->rows;
    }
    return rows;
  };
  ASSERT_EQ(entries(), 8u);
  const Token foreign = murmur3_token("a");
  SSTableRewrite order;
  order.operation = CompactionOperation::kCleanup;
  order.owned = [foreign](const TableMetadata&) { return OwnedTokens::of({{foreign, foreign - 1}}); };
  ASSERT_TRUE(node.run(node.engine().maintenance().rewrite({"ks", "t"}, order)).ok());
  EXPECT_EQ(entries(), 4u);
  EXPECT_EQ(find(where("v", Operator::kEq, "odd")).size(), 4u);
}

TEST_F(IndexTest, UnsupportedKindsAreNamedWhenRead) {
  auto other = std::make_shared<TableMetadata>(*with_index("v"));
  other->indexes["by"].kind = IndexKind::kCustom;
  table = other;
  node.set_tables({table});
  put("a", 1, "x");
  EXPECT_EQ(node.read(where("v", Operator::kEq, "x")),
            (Lines{"error: Index by cannot be read: it is unknown or of a kind that is not supported yet"}));
}

}  // namespace
}  // namespace cassandra_like::storage_test
