// sstableverify and sstableutil on the directory of a node that is gone: what they print and what they find.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/offline_node.h"

namespace cassandra_like::sstable_tools {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void fill_two_partitions(storage_test::Node& node) {
  for (const char* key : {"one", "two"}) {
    storage_test::Update update(node.table("t"), key);
    for (int c = 0; c < 100; ++c) update.at(1).row(c).live().cell("v", std::string(100, 'x'));
    ASSERT_TRUE(node.apply(update).ok());
  }
  node.flush();
}

TEST(SSTableVerify, ChecksTheVersionThatTheNodeWrites) {
  const SSTableVersion &da = SSTableVersion::da(), &oa = SSTableVersion::oa(), &nb = SSTableVersion::nb();
  struct Case {
    const SSTableVersion &file, &written;
    bool is_latest;
  };
  for (const Case& c : {Case{nb, nb, true}, Case{oa, nb, false}, Case{da, nb, true},  //
                        Case{nb, oa, false}, Case{oa, oa, true}, Case{da, oa, true},  //
                        Case{nb, da, false}, Case{oa, da, true}, Case{da, da, true}}) {
    SCOPED_TRACE(fmt::format("{} where {} is written", c.file.letters, c.written.letters));
    OfflineNode offline(1, c.file, {storage_test::make_table("t")});
    fill_two_partitions(offline.node);
    const std::string name = reader_name(offline.sstables("t")[0].descriptor);
    const Ran ran = offline.run(run_sstableverify, {"-f", "-c", "ks", "t"}, c.written);
    const auto finding = Contains(name + " is not the latest version, run upgradesstables");
    EXPECT_EQ(ran.exit, c.is_latest ? 0 : 1) << ran.out;
    if (c.is_latest) {
      EXPECT_THAT(ran.lines(), Not(finding));
    } else {
      EXPECT_THAT(ran.lines(), finding);
    }
    EXPECT_EQ(offline.run(run_sstableverify, {"-f", "ks", "t"}, c.written).exit, 0);
  }
}

TEST(SSTableVerify, ReadsAllDataEvenIfItIsToBeQuick) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
  fill_two_partitions(offline.node);
  const SSTableDescriptor descriptor = offline.sstables("t")[0].descriptor;
  const Ran extended = offline.run(run_sstableverify, {"-f", "-e", "-q", "ks", "t"}, SSTableVersion::nb());
  EXPECT_EQ(extended.exit, 0);
  EXPECT_EQ(extended.lines().back(),
            fmt::format("Verify of {} succeeded. All 2 rows read successfully", reader_name(descriptor)));
  flip(offline.disk(), descriptor.file("Data.db"), 50);
  const Ran damaged = offline.run(run_sstableverify, {"-f", "-q", "ks", "t"}, SSTableVersion::nb());
  EXPECT_EQ(damaged.exit, 1);
  EXPECT_THAT(damaged.out, HasSubstr("quick=true"));
  EXPECT_THAT(damaged.lines(), Contains(StartsWith("Checking computed hash of ")));
}

TEST(SSTableVerify, TellsOfEachPartitionWhenItIsVerbose) {
  for (const SSTableVersion* version : {&SSTableVersion::da(), &SSTableVersion::nb()}) {
    OfflineNode offline(1, *version, {storage_test::make_table("t")});
    fill_two_partitions(offline.node);
    EXPECT_THAT(offline.run(run_sstableverify, {"-f", "-e", "ks", "t"}, *version).lines(),
                Each(Not(StartsWith("Reading row"))));
    const storage_test::Lines lines = offline.run(run_sstableverify, {"-f", "-e", "-v", "ks", "t"}, *version).lines();
    const auto first = std::find(lines.begin(), lines.end(), "Reading row at 0");
    ASSERT_GE(lines.end() - first, 7);
    // The partitions are as long as each other, but for the order of their keys.
    uint64_t size = 0;
    ASSERT_EQ(sscanf(first[2].c_str(), "Row 1 at 0 valid, moving to next row at %lu ", &size), 1) << first[2];
    EXPECT_GT(size, 10000u);
    const std::string bytes = fmt::format(" is {:.3f}KiB", static_cast<double>(size - 5) / 1024);
    EXPECT_EQ(first[1], "row 6f6e65" + bytes);
    EXPECT_EQ(first[2], fmt::format("Row 1 at 0 valid, moving to next row at {} ", size));
    EXPECT_EQ(first[3], fmt::format("Reading row at {}", size));
    EXPECT_EQ(first[4], "row 74776f" + bytes);
    EXPECT_EQ(first[5], fmt::format("Row 2 at {} valid, moving to next row at {} ", size, 2 * size));
    EXPECT_THAT(first[6], StartsWith("Verify of "));
  }
}

TEST(SSTableVerify, TakesAnyNumberOfRanges) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
  fill_two_partitions(offline.node);
  auto verify = [&](const std::vector<std::string>& words) {
    return offline.run(run_sstableverify, words, SSTableVersion::nb());
  };
  const Ran two = verify({"ks", "t", "-force", "-t", "-9223372036854775808,0", "0,9223372036854775807"});
  EXPECT_EQ(two.exit, 0) << two.out << two.err;
  EXPECT_THAT(two.out, HasSubstr("tokens=[(-9223372036854775808,0], (0,9223372036854775807]]"));
  EXPECT_EQ(verify({"-f", "-t", "1,2", "ks", "t"}).err, "Missing arguments\n");
  EXPECT_THAT(verify({"-help"}).out, StartsWith("usage: sstableverify"));
}

TEST(SSTableUtil, TakesNoLettersTogether) {
  OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
  fill_two_partitions(offline.node);
  auto util = [&](const std::vector<std::string>& words) {
    return offline.run(run_sstableutil, words, SSTableVersion::nb());
  };
  const Ran together = util({"-dc", "ks", "t"});
  EXPECT_EQ(together.exit, 1);
  EXPECT_EQ(together.err, "Too many arguments\n");
  EXPECT_EQ(util({"-d", "-c", "ks", "t"}).out, "Cleaning up...\n");
  EXPECT_EQ(util({"-cleanup", "ks", "t"}).out, "Cleaning up...\n");
  EXPECT_EQ(util({"-t=tmp", "ks", "t"}).out, "Listing files...\n");
  EXPECT_EQ(util({"-type", "tmp", "ks", "t"}).out, "Listing files...\n");
}

// Cassandra prints them with a SimpleDateFormat, which knows the Julian calendar.
TEST(SSTableMetadata, DatesOfOldAreJulian) {
  setenv("TZ", "UTC", 1);
  tzset();
  const std::vector<std::pair<int64_t, const char*>> dates{
      {-9223372036854775807, "12/10/290303 19:59:05"}, {-12219292800000000, "10/15/1582 00:00:00"},
      {-12219292801000000, "10/04/1582 23:59:59"},     {-62135769600000000, "01/01/0001 00:00:00"},
      {-62135769601000000, "12/31/0001 23:59:59"},     {-77914137600000000, "01/06/0500 00:00:00"},
      {-210866803200000000, "01/01/4713 00:00:00"},    {-300000000000000000, "07/16/7538 18:40:00"}};
  for (const auto& [timestamp, date] : dates) {
    OfflineNode offline(1, SSTableVersion::nb(), {storage_test::make_table("t")});
    storage_test::Update update(offline.node.table("t"), "k");
    ASSERT_TRUE(offline.node.apply(update.at(timestamp).row(1).live()).ok());
    offline.node.flush();
    const std::string data = offline.sstables("t")[0].descriptor.file("Data.db");
    EXPECT_THAT(offline.run(run_sstablemetadata, {data}, SSTableVersion::nb()).lines(),
                Contains(fmt::format("Minimum timestamp: {} ({})", date, timestamp)));
  }
}

}  // namespace
}  // namespace cassandra_like::sstable_tools
