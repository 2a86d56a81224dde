// Partitions that an operator denies to clients: what they are told, and when changes of the list take effect.
#include "coordinator/denylist.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "coordinator_fixture.h"
#include "schema/internal_table.h"

namespace cassandra_like::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class DenylistTest : public Coordinators {
 protected:
  DenylistTest() {
    set_log_level(LogLevel::kInfo);
    set_log_sink([this](const LogRecord& record) {
      if (record.text.find("denylist") != std::string::npos) log.push_back(record.text);
    });
    options.denylist.enabled = true;
    options.denylist.consistency = Consistency::kOne;
    make_tables();
    begin();
  }
  ~DenylistTest() override {
    set_log_sink({});
    set_log_level(LogLevel::kOff);
  }

  void begin() { coordinators[0] = Coordinator::create(node.runtime(0), node.on(0), options); }

  UpdateBuilder builder(const std::string& table, Arena& arena, int64_t timestamp) {
    return {node.table("partition_denylist", "system_distributed"), {"ks", table}, timestamp, arena};
  }
  void deny(const std::string& key, const std::string& table = "t") {
    Arena arena;
    UpdateBuilder row = builder(table, arena, 1);
    write_row(row.row({key}).build());
  }
  void permit(const std::string& key) {
    Arena arena;
    UpdateBuilder row = builder("t", arena, 2);
    write_row(row.delete_prefix({key}).build());
  }
  void write_row(const PartitionUpdate& update) {
    const Mutation mutation{"system_distributed", update.key, {&update, 1}};
    ASSERT_TRUE(node.run<Status>(0, [&] { return node.on(0).mutate(mutation); }).ok());
  }
  // Whether the list of all tables could be read.
  bool load() {
    Denylist* denylist = coordinators[0]->denylist();
    using Loaded = std::optional<Denylist::KeysByTable>;
    auto keys = node.run<Loaded>(0, [&] { return denylist->load(); });
    if (keys) denylist->use(*keys);
    return keys.has_value();
  }
  std::string told(const Status& status) { return status.ok() ? "ok" : status.error().message(); }
  std::string written(const std::string& key) { return told(write({row(key, "x")})); }
  std::string read_of(const std::vector<std::string>& keys) { return told(read(node.command("t", keys))); }
  std::string read_of(const KeyRange& range) {
    ReadCommand command = node.command("t");
    command.range = range;
    return told(read(command));
  }
  void pass(Duration time) {
    bool over = false;
    node.runtime(0).executor.post([&] { node.runtime(0).executor.schedule(time, [&] { over = true; }); });
    node.world().run_until([&] { return over; }, std::chrono::hours(2));
  }
  Token token(const std::string& key) { return murmur3_token(key); }

  CoordinatorOptions options;
  std::vector<std::string> log;
};

// StorageProxy.mutateWithTriggers and read: DecoratedKey.toString has the token and the key.
TEST_F(DenylistTest, RefusesWritesAndReadsOfAPartition) {
  deny("a");
  ASSERT_TRUE(load());
  EXPECT_EQ(written("a"), "Unable to write to denylisted partition [0xDecoratedKey(-8839064797231613815, 61)] in ks/t");
  EXPECT_EQ(read_of({"b", "a"}),
            "Unable to read denylisted partition [0xDecoratedKey(-8839064797231613815, 61)] in ks/t");
  EXPECT_EQ(written("b"), "ok");
  EXPECT_EQ(read_of({"b"}), "ok");
  EXPECT_EQ(told(add(one_more("a"))), "ok");  // of another table
  const CoordinatorStatistics& statistics = coordinators[0]->statistics();
  EXPECT_THAT((std::vector{statistics.denied_writes, statistics.denied_reads, statistics.denied_range_reads}),
              ElementsAre(1, 1, 0));
  EXPECT_EQ(node.scan(0, "t"), (Lines{"b", "  1: v=x@10"}));
}

TEST_F(DenylistTest, RefusesABatchOfWhichOnePartitionIsDenied) {
  deny("a");
  ASSERT_TRUE(load());
  for (WriteType type : {WriteType::kBatch, WriteType::kUnloggedBatch}) {
    EXPECT_THAT(told(write({row("b", "x"), row("a", "x")}, Consistency::kOne, type)), HasSubstr("denylisted"));
  }
  EXPECT_EQ(node.scan(0, "t"), Lines());
  EXPECT_EQ(batches_left(), 0u);
}

TEST_F(DenylistTest, RefusesCounters) {
  deny("a", "n");
  ASSERT_TRUE(load());
  EXPECT_EQ(told(add(one_more("a"))),
            "Unable to write to denylisted partition [0xDecoratedKey(-8839064797231613815, 61)] in ks/n");
  EXPECT_EQ(sum_of("a"), 0);
}

// The bounds are those of PartitionRangeReadCommand.loggableTokens.
TEST_F(DenylistTest, RefusesRangesWithADeniedPartition) {
  deny("a");
  ASSERT_TRUE(load());
  const Token at = token("a");
  EXPECT_EQ(read_of(KeyRange{}),
            "Attempted to read a range containing 1 denylisted keys in ks/t. Range read: token range: "
            "(-9223372036854775808, -9223372036854775808)");
  EXPECT_EQ(read_of({RingPosition::before(at), RingPosition::after(at)}),
            "Attempted to read a range containing 1 denylisted keys in ks/t. Range read: token range: "
            "(-8839064797231613815, -8839064797231613815]");
  const DecoratedKey before{at - 1, "x"};
  EXPECT_EQ(read_of({RingPosition::at(before), RingPosition::maximum()}),
            "Attempted to read a range containing 1 denylisted keys in ks/t. Range read: token range: "
            "[-8839064797231613816, -9223372036854775808)");
  EXPECT_EQ(read_of({RingPosition::after(at), RingPosition::maximum()}), "ok");
  EXPECT_EQ(read_of({RingPosition::minimum(), RingPosition::before(at)}), "ok");
  EXPECT_EQ(coordinators[0]->statistics().denied_range_reads, 3u);
}

TEST_F(DenylistTest, EachKindOfRequestMayBeExempt) {
  deny("a");
  options.denylist.writes = options.denylist.reads = options.denylist.range_reads = false;
  begin();
  EXPECT_EQ(written("a"), "ok");
  EXPECT_EQ(read_of({"a"}), "ok");
  EXPECT_EQ(read_of(KeyRange{}), "ok");
}

TEST_F(DenylistTest, IsReadWhenATableIsAskedForFirst) {
  deny("a");
  EXPECT_THAT(written("a"), HasSubstr("denylisted"));
  deny("b");  // too late for this time
  EXPECT_EQ(written("b"), "ok");
}

TEST_F(DenylistTest, IsRefreshedInTheBackground) {
  deny("a");
  ASSERT_TRUE(load());
  permit("a");
  deny("b");
  pass(599s);
  EXPECT_THAT(written("a"), HasSubstr("denylisted"));
  EXPECT_EQ(written("b"), "ok");
  pass(2s);
  EXPECT_THAT(written("a"), HasSubstr("denylisted"));  // this one begins the refresh
  pass(1s);
  EXPECT_EQ(written("a"), "ok");
  EXPECT_THAT(written("b"), HasSubstr("denylisted"));
}

TEST_F(DenylistTest, KeysBehindTheLimitsAreIgnored) {
  for (const char* key : {"a", "b", "c"}) deny(key);
  options.denylist.max_keys_per_table = 2;
  begin();
  ASSERT_TRUE(load());
  EXPECT_THAT(written("b"), HasSubstr("denylisted"));
  EXPECT_EQ(written("c"), "ok");
  EXPECT_THAT(
      log, ElementsAre("Partition denylist for ks/t has exceeded the per-table allowance of (2). Remaining keys were "
                       "ignored; please reduce the total number of keys denied or increase the "
                       "denylist_max_keys_per_table param in cassandra.yaml to avoid inconsistency in denied "
                       "partitions across nodes.",
                       "Loaded partition denylist cache in 0ms"));
}

TEST_F(DenylistTest, KeysOfAllTablesHaveALimitToo) {
  for (const char* table : {"t", "n"}) deny("a", table), deny("b", table);
  options.denylist.max_keys_total = 2;
  begin();
  ASSERT_TRUE(load());
  const int denied = (written("a") != "ok") + (written("b") != "ok") + (told(add(one_more("a"))) != "ok") +
                     (told(add(one_more("b"))) != "ok");
  EXPECT_EQ(denied, 2);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_THAT(log[0],
              HasSubstr("Hit limit on allowable denylisted keys in total. Processed 2 total entries. Not adding all "
                        "entries to denylist for ks/"));
}

// The list itself has three replicas.
TEST_F(DenylistTest, IsNotLoadedWithTooFewNodes) {
  deny("a");
  options.denylist.consistency = Consistency::kQuorum;
  begin();
  EXPECT_FALSE(load());
  EXPECT_FALSE(load());
  EXPECT_THAT(
      log, ElementsAre("Attempting to load denylist and not enough nodes are available for a QUORUM refresh. Reload "
                       "the denylist when unavailable nodes are recovered to ensure your denylist remains in sync."));
  EXPECT_EQ(written("a"), "ok");
  EXPECT_EQ(coordinators[0]->statistics().unavailables, 1u);  // of the read that the write began
}

TEST_F(DenylistTest, NeverDeniesTheListItself) {
  Arena arena;
  deny("ks", "partition_denylist");
  ASSERT_TRUE(load());
  UpdateBuilder row = builder("t", arena, 1);
  const PartitionUpdate update = row.row({"a"}).build();
  const Mutation mutation{"system_distributed", update.key, {&update, 1}};
  EXPECT_TRUE(node.run<Status>(0,
                               [&] {
                                 return coordinators[0]->write({&mutation, 1}, Consistency::kOne, WriteType::kSimple);
                               })
                  .ok());
}

TEST_F(DenylistTest, IsNotThereUnlessItIsEnabled) {
  deny("a");
  options.denylist.enabled = false;
  begin();
  EXPECT_EQ(coordinators[0]->denylist(), nullptr);
  EXPECT_EQ(written("a"), "ok");
}

}  // namespace
}  // namespace cassandra_like::test
