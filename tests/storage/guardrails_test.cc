// Guardrails on what SSTables hold: the log tells of them when an SSTable is written, in Cassandra's words.
#include "base/log.h"
#include "fixture.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like::storage_test::guardrails_test {
namespace {

class SSTableGuardrailsTest : public testing::Test {
 protected:
  SSTableGuardrailsTest() {
    set_log_level(LogLevel::kInfo);
    set_log_sink([this](const LogRecord& record) {
      if (record.text.find("uardrail") == std::string::npos) return;
      lines.push_back((record.level == LogLevel::kError ? "ERROR " : "WARN ") + record.text);
    });
  }
  ~SSTableGuardrailsTest() override {
    set_log_sink({});
    set_log_level(LogLevel::kOff);
  }

  void set(const SSTableGuardrails& guardrails) {
    EngineSettings settings = node.engine().maintenance().settings();
    settings.guardrails = guardrails;
    node.engine().maintenance().use(settings);
  }
  Lines flushed() {
    lines.clear();
    node.flush();
    return lines;
  }
  std::string newest() { return node.engine().maintenance().sstables(t->id)[0].descriptor.file(components::kData); }
  void write(const std::string& key, int elements, int64_t timestamp = 10) {
    Update update(t, key);
    update.at(timestamp).row(7).live();
    for (int i = 0; i < elements; ++i) update.element("m", fmt::format("{:02}", i), "value");
    ASSERT_TRUE(node.apply(update).ok());
  }

  Lines lines;
  Node node;
  TablePtr t = node.table("t");
};

TEST_F(SSTableGuardrailsTest, NothingIsSaidWhereNoneIsSet) {
  write("a", 50);
  EXPECT_EQ(flushed(), Lines());
}

TEST_F(SSTableGuardrailsTest, CollectionsOfARow) {
  // A cell has 20 bytes beside its path and value, the deletion of all before it has 12.
  set({.collection_size = {3 * 27 + 12, 5 * 27 + 12}, .items_per_collection = {3, 4}});
  write("a", 3);
  EXPECT_EQ(flushed(), Lines());
  write("it's", 4);
  EXPECT_EQ(flushed(), (Lines{"WARN Guardrail collection_size violated: Detected collection m in row ('it''s', 7) in "
                              "table ks.t of size 120, this exceeds the warning threshold of 93.",
                              "WARN Guardrail items_per_collection violated: Detected collection m in row ('it''s', 7) "
                              "in table ks.t with 4 items, this exceeds the warning threshold of 3."}));
  write("b", 6);
  EXPECT_EQ(flushed(),
            (Lines{"ERROR Guardrail collection_size violated: Detected collection m in row ('b', 7) in table "
                   "ks.t of size 174, this exceeds the failure threshold of 147.",
                   "ERROR Guardrail items_per_collection violated: Detected collection m in row ('b', 7) in "
                   "table ks.t with 6 items, this exceeds the failure threshold of 4."}));
  // The compaction sees the elements of two flushes together.
  Update more(t, "a");
  more.at(11).row(7).element("m", "x1", "value").element("m", "x2", "value");
  ASSERT_TRUE(node.apply(more).ok());
  EXPECT_EQ(flushed(), Lines());
  lines.clear();
  node.compact();
  EXPECT_EQ(lines.size(), 6u);
  EXPECT_NE(std::find(lines.begin(), lines.end(),
                      "ERROR Guardrail items_per_collection violated: Detected collection m in row ('a', 7) in table "
                      "ks.t with 5 items, this exceeds the failure threshold of 4."),
            lines.end());
}

TEST_F(SSTableGuardrailsTest, SizesAndTombstonesOfPartitions) {
  set({.partition_size = {500, 5000}, .partition_tombstones = {3, 0}});
  Update few(t, "few");
  few.at(10).row(1).tombstone("v").tombstone("w").row(2).delete_row();
  ASSERT_TRUE(node.apply(few).ok());
  EXPECT_EQ(flushed(), Lines());

  Update many(t, "many");
  many.at(20).static_row().tombstone("s").row(1).tombstone("v").clear("m").delete_range(5, true, 9, false);
  ASSERT_TRUE(node.apply(many).ok());
  const Lines of_tombstones = flushed();
  EXPECT_EQ(
      of_tombstones,
      (Lines{"WARN Guardrail partition_tombstones violated: Partition ks.t:many on sstable " + newest() +
             " has 5 tombstones, this exceeds the warning threshold of 3. Partitions with too many tombstones can "
             "cause performance problems."}));

  Update large(t, "large");
  large.at(30).row(1).cell("v", std::string(600, 'x'));
  ASSERT_TRUE(node.apply(large).ok());
  const Lines of_size = flushed();
  ASSERT_EQ(of_size.size(), 1u);
  EXPECT_EQ(of_size[0].find("WARN Guardrail partition_size violated: Partition ks.t:large on sstable " + newest() +
                            " has size 6"),
            0u)
      << of_size[0];
  EXPECT_NE(of_size[0].find(", this exceeds the warning threshold of 500. Too large partitions can cause performance "
                            "problems."),
            std::string::npos);
}

TEST_F(SSTableGuardrailsTest, WhatHasExpiredIsATombstone) {
  set({.partition_tombstones = {1, 0}});
  Update update(t, "a");
  update.row(1).live(10, 1).cell("v", "x", 10, 1).row(2).live(10, kNow).cell("v", "x", 10, kNow);
  ASSERT_TRUE(node.apply(update).ok());
  const Lines told = flushed();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("has 2 tombstones"), std::string::npos) << told[0];
}

TEST_F(SSTableGuardrailsTest, OneSSTableDoesNotFillTheLog) {
  set({.items_per_collection = {1, 0}});
  for (int k = 0; k < 25; ++k) write(fmt::format("key{}", k), 2);
  const Lines told = flushed();
  ASSERT_EQ(told.size(), 11u);
  EXPECT_EQ(told.back(), "WARN 15 more guardrails were violated in " + newest());
}

}  // namespace
}  // namespace cassandra_like::storage_test::guardrails_test
