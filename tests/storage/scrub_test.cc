// Damaged SSTables are scrubbed: what can be read of them is there afterwards, in files that are whole.
#include <algorithm>

#include <fmt/format.h>

#include "fixture.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"

namespace cassandra_like::storage_test::scrub_test {
namespace {

constexpr int kKeys = 300;

std::string key_of(int k) { return fmt::format("key{:03}", k); }

struct Shape {
  const SSTableVersion* version;
  bool compressed;
};

TablePtr table_of(const Shape& shape) {
  auto table = std::make_shared<TableMetadata>(*make_table("t"));
  if (!shape.compressed) table->params.compression = {{"enabled", "false"}};
  return table;
}

EngineOptions options_of(const Shape& shape) {
  EngineOptions options;
  options.sstable_version = shape.version;
  options.disk_failure_policy = FailurePolicy::kIgnore;
  return options;
}

class Scrubbed {
 public:
  explicit Scrubbed(const Shape& shape, uint64_t seed = 1, int keys = kKeys)
      : t(table_of(shape)), node(seed, 1, options_of(shape), {t, make_table("kv")}) {
    for (int k = 0; k < keys; ++k) {
      Update update(t, key_of(k));
      update.static_row().cell("s", "static");
      for (int c = 0; c < 3; ++c) update.row(c).live().cell("v", fmt::format("{:0150}", k * 10 + c));
      CHECK(node.apply(update).ok());
    }
    node.flush();
    leave_segments();
    for (int k = 0; k < keys; ++k) rows[key_of(k)] = node.read("t", key_of(k));
    sstable = node.engine().maintenance().sstables(t->id)[0].descriptor;
  }
  // The log has nothing of the table any more.
  void leave_segments() {
    ASSERT_TRUE(node.run(node.engine().drain()).ok());
    node.restart();
  }
  Bytes content(std::string_view component) {
    auto file = node.disk().open(sstable.file(component));
    CHECK(file.ok());
    Bytes bytes((*file)->size(), '\0');
    CHECK((*file)->read(0, bytes).ok());
    return bytes;
  }
  void replace(std::string_view component, BytesView bytes) {
    CHECK(node.disk().remove(sstable.file(component)).ok());
    auto file = node.disk().create(sstable.file(component));
    CHECK(file.ok() && (*file)->append(bytes).ok());
  }
  Status scrub(SSTableScrubOrder order = SSTableScrubOrder()) {
    return node.run(node.engine().maintenance().scrub({"ks", "t"}, order));
  }
  // The keys whose rows are what they were; any other answer than that or none is an error.
  std::vector<std::string> kept() {
    std::vector<std::string> keys;
    for (const auto& [key, expected] : rows) {
      const Lines now = node.read("t", key);
      EXPECT_TRUE(now.empty() || now == expected) << key;
      if (now == expected) keys.push_back(key);
    }
    return keys;
  }
  size_t files() { return find_sstables(node.disk(), sstable.directory)->size(); }
  std::vector<SSTableInfo> sstables() { return node.engine().maintenance().sstables(t->id); }
  Status verify() {
    SSTableVerification order;
    order.extended = true;
    return node.run(node.engine().maintenance().verify({"ks", "t"}, order));
  }

  TablePtr t;
  Node node;
  std::map<std::string, Lines> rows;
  SSTableDescriptor sstable;
};

class Scrub : public testing::TestWithParam<Shape> {
 protected:
  Scrubbed s_{GetParam()};
};

TEST_P(Scrub, WhatIsWholeStays) {
  ASSERT_TRUE(s_.scrub().ok());
  ASSERT_EQ(s_.sstables().size(), 1u);
  EXPECT_NE(s_.sstables()[0].descriptor, s_.sstable);
  EXPECT_EQ(s_.sstables()[0].partitions, uint64_t{kKeys});
  EXPECT_EQ(s_.kept().size(), size_t{kKeys});
  EXPECT_TRUE(s_.verify().ok());
  EXPECT_EQ(s_.files(), 1u);
}

// A chunk that is not what its checksum says: its partitions are lost, and no other. A plain file is read all the same.
TEST_P(Scrub, PartitionsOfADamagedChunkGo) {
  Bytes data = s_.content(components::kData);
  data[data.size() / 2] ^= 1;
  s_.replace(components::kData, data);
  s_.node.restart();
  EXPECT_FALSE(s_.verify().ok());
  ASSERT_TRUE(s_.scrub().ok());
  EXPECT_TRUE(s_.verify().ok());
  ASSERT_EQ(s_.sstables().size(), 1u);
  if (!GetParam().compressed) {
    EXPECT_GE(s_.sstables()[0].partitions, uint64_t{kKeys - 1});
    return;
  }
  const size_t kept = s_.kept().size();
  EXPECT_LT(kept, size_t{kKeys});
  EXPECT_GT(kept, size_t{kKeys} / 2);
  EXPECT_EQ(s_.sstables()[0].partitions, kept);
  EXPECT_EQ(s_.sstables()[0].repaired_at, 0);
}

TEST_P(Scrub, AFileThatWasSetAsideIsBroughtBack) {
  const bool is_bti = GetParam().version->format == SSTableFormat::kBti;
  for (std::string_view component :
       {is_bti ? components::kPartitions : components::kPrimaryIndex, components::kDigest}) {
    ASSERT_TRUE(s_.node.disk().remove(s_.sstable.file(component)).ok());
  }
  s_.node.restart();
  EXPECT_TRUE(s_.sstables().empty());
  EXPECT_TRUE(s_.kept().empty());
  ASSERT_TRUE(s_.scrub().ok());
  EXPECT_EQ(s_.kept().size(), size_t{kKeys});
  EXPECT_EQ(s_.files(), 1u);
  s_.node.restart();
  EXPECT_EQ(s_.kept().size(), size_t{kKeys});
  EXPECT_TRUE(s_.verify().ok());
}

TEST_P(Scrub, WithoutStatisticsNothingCanBeRead) {
  ASSERT_TRUE(s_.node.disk().remove(s_.sstable.file(components::kStatistics)).ok());
  s_.node.restart();
  const Status scrubbed = s_.scrub();
  ASSERT_FALSE(scrubbed.ok());
  EXPECT_NE(scrubbed.error().message().find(s_.sstable.file(components::kStatistics) + " is missing"),
            std::string::npos);
  EXPECT_EQ(s_.files(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Scrub,
                         testing::Values(Shape{&SSTableVersion::da(), true}, Shape{&SSTableVersion::da(), false},
                                         Shape{&SSTableVersion::nb(), true}, Shape{&SSTableVersion::nb(), false},
                                         Shape{&SSTableVersion::oa(), true}, Shape{&SSTableVersion::oa(), false}),
                         [](const auto& info) {
                           return std::string(info.param.version->letters) +
                                  (info.param.compressed ? "Compressed" : "Plain");
                         });

// All partitions are of one length: the first and the last change places.
TEST(ScrubOrder, PartitionsOutOfOrderGetAFileOfTheirOwn) {
  Scrubbed s({&SSTableVersion::da(), false});
  Bytes data = s.content(components::kData);
  ASSERT_EQ(data.size() % kKeys, 0u);
  const size_t bytes = data.size() / kKeys;
  std::swap_ranges(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes),
                   data.end() - static_cast<std::ptrdiff_t>(bytes));
  s.replace(components::kData, data);
  ASSERT_TRUE(s.node.disk().remove(s.sstable.file(components::kPartitions)).ok());
  s.node.restart();
  EXPECT_TRUE(s.sstables().empty());
  ASSERT_TRUE(s.scrub().ok());
  EXPECT_EQ(s.kept().size(), size_t{kKeys});
  EXPECT_EQ(s.sstables().size(), 2u);
  EXPECT_TRUE(s.verify().ok());
}

TEST(ScrubOrder, WhatATruncateVoidedDoesNotComeBack) {
  Scrubbed s({&SSTableVersion::da(), true}, 1, 10);
  ASSERT_TRUE(s.node.disk().remove(s.sstable.file(components::kPartitions)).ok());
  s.node.restart();
  EXPECT_TRUE(s.sstables().empty());
  ASSERT_TRUE(s.node.truncate(s.t, "before").ok());
  ASSERT_TRUE(s.scrub().ok());
  EXPECT_TRUE(s.sstables().empty());
  EXPECT_TRUE(s.kept().empty());
  EXPECT_EQ(s.files(), 0u);
  // Nobody could read it: it may be the only copy.
  auto found = find_sstables(s.node.disk(), s.sstable.directory + "/snapshots/before");
  ASSERT_TRUE(found.ok() && found->size() == 1);
  EXPECT_TRUE(found->front().has(components::kData));
}

class ScrubFaults : public testing::TestWithParam<SimFaults::Fault> {};

TEST_P(ScrubFaults, NothingIsLostWhereverAScrubFails) {
  int failures = 0;
  for (uint64_t operations = 0;; ++operations) {
    Scrubbed s({operations % 2 == 0 ? &SSTableVersion::nb() : &SSTableVersion::da(), true}, operations + 1, 5);
    SimFaults& faults = s.node.machine().faults();
    faults.operations_until_fault = operations;
    faults.fault = GetParam();
    failures += s.scrub().ok() ? 0 : 1;
    const bool ended = faults.operations_until_fault && *faults.operations_until_fault > 0;
    faults.operations_until_fault.reset();
    for (int crash = 0; crash < 2; ++crash) {
      s.node.crash();
      ASSERT_TRUE(s.node.boot()) << s.node.error() << " operation " << operations;
      ASSERT_EQ(s.kept().size(), 5u) << "operation " << operations;
      ASSERT_TRUE(s.scrub().ok()) << "operation " << operations;
      ASSERT_EQ(s.kept().size(), 5u) << "operation " << operations;
    }
    ASSERT_EQ(s.files(), 1u);
    if (!ended) continue;
    EXPECT_GT(operations, 15u);
    EXPECT_GT(failures, 10);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, ScrubFaults,
                         testing::Values(SimFaults::Fault::kAllAfter, SimFaults::Fault::kOne,
                                         SimFaults::Fault::kOneDiskFull));

}  // namespace
}  // namespace cassandra_like::storage_test::scrub_test
