// The samplers of a table: what they count while they are asked to, and what they give.
#include "fixture.h"

namespace cassandra_like::storage_test::sampling_test {
namespace {

class SamplingTest : public testing::Test {
 protected:
  SamplingOrder order(size_t capacity = 256, size_t count = 10) {
    SamplingOrder order;
    order.wanted.fill(true);
    order.capacity = capacity;
    order.count = count;
    order.until_nanos = node.runtime().shard(0).clock.monotonic_nanos() + 1'000'000'000;
    return order;
  }
  Maintenance& maintenance() { return node.engine().maintenance(); }
  void write(const std::string& key, int rows = 1) {
    Update update(t, key);
    update.at(10 + ++timestamp);
    for (int c = 0; c < rows; ++c) update.row(c).live().cell("v", "x");
    ASSERT_TRUE(node.apply(update).ok());
  }
  // "key: count", with the error behind it where there is one.
  Lines finish(SamplerType type) {
    auto all = maintenance().finish_sampling({"ks", "t"});
    Lines lines;
    if (all.size() != 1) return {"sampled " + std::to_string(all.size()) + " tables"};
    for (const TopSample& sample : all[0].second[static_cast<size_t>(type)]) {
      lines.push_back(sample.item + ": " + std::to_string(sample.count) +
                      (sample.error == 0 ? "" : "-" + std::to_string(sample.error)));
    }
    return lines;
  }

  Node node;
  TablePtr t = node.table("t");
  int64_t timestamp = 0;
};

TEST_F(SamplingTest, NothingIsThereUnlessItBegan) {
  write("a");
  EXPECT_TRUE(maintenance().finish_sampling({"ks", "t"}).empty());
}

TEST_F(SamplingTest, WritesAndTheirSizes) {
  ASSERT_TRUE(maintenance().begin_sampling({"ks", "t"}, order()).ok());
  EXPECT_EQ(maintenance().begin_sampling({"ks", ""}, order()).error().message(), "Sampling already in progress");
  for (const char* key : {"a", "b", "a", "c", "a", "b"}) write(key);
  Update other(node.table("kv"), "z");
  ASSERT_TRUE(node.apply(other.row(std::vector<int32_t>{}).cell("v1", "x")).ok());
  EXPECT_EQ(finish(SamplerType::kWrites), (Lines{"a: 3", "b: 2", "c: 1"}));
  EXPECT_TRUE(maintenance().finish_sampling({"ks", "t"}).empty());
  ASSERT_TRUE(maintenance().begin_sampling({"ks", "t"}, order(256, 1)).ok());
  write("small", 1);
  write("large", 9);
  write("middle", 5);
  const Lines sizes = finish(SamplerType::kWriteSize);
  ASSERT_EQ(sizes.size(), 2u);  // one more than asked for, as Cassandra gives
  EXPECT_EQ(sizes[0].find("large: "), 0u);
  EXPECT_EQ(sizes[1].find("middle: "), 0u);
}

TEST_F(SamplingTest, ReadsWithTheirRowsTombstonesSSTablesAndTimes) {
  write("a", 3);
  node.flush();
  write("a", 2);
  node.flush();
  write("b", 6);
  Update deletion(t, "b");
  ASSERT_TRUE(node.apply(deletion.at(1000).row(1).delete_row().row(2).delete_row()).ok());
  auto sampled = [&](SamplerType type) {
    EXPECT_TRUE(maintenance().begin_sampling({"ks", "t"}, order()).ok());
    node.read("t", "a");
    node.read("t", "b");
    node.read("t", "a");
    node.scan("t");
    return finish(type);
  };
  EXPECT_EQ(sampled(SamplerType::kReads), (Lines{"a: 2", "b: 1"}));
  EXPECT_EQ(sampled(SamplerType::kReadRowCount), (Lines{"b: 4", "a: 3", "a: 3"}));
  EXPECT_EQ(sampled(SamplerType::kReadTombstoneCount), Lines{"b: 2"});
  EXPECT_EQ(sampled(SamplerType::kReadSSTableCount), (Lines{"a: 2", "a: 2"}));
  EXPECT_EQ(sampled(SamplerType::kCasContentions), Lines());
}

TEST_F(SamplingTest, AFullSamplerKeepsTheMostFrequent) {
  ASSERT_TRUE(maintenance().begin_sampling({"ks", "t"}, order(2)).ok());
  for (const char* key : {"a", "a", "a", "b", "c", "a"}) write(key);
  EXPECT_EQ(finish(SamplerType::kWrites), (Lines{"a: 4", "c: 2-1"}));
}

TEST_F(SamplingTest, NothingIsTakenAfterItsTime) {
  ASSERT_TRUE(maintenance().begin_sampling({"ks", "t"}, order()).ok());
  write("a");
  node.world().run_for(std::chrono::seconds(2));
  write("b");
  EXPECT_EQ(finish(SamplerType::kWrites), Lines{"a: 1"});
  // One that nobody has fetched does not hinder the next.
  ASSERT_TRUE(maintenance().begin_sampling({"ks", "t"}, order()).ok());
  node.world().run_for(std::chrono::seconds(2));
  EXPECT_TRUE(maintenance().begin_sampling({"ks", "t"}, order()).ok());
}

}  // namespace
}  // namespace cassandra_like::storage_test::sampling_test
