// `nodetool verify`: SSTables are compared with their checksums while the node serves.
#include <fmt/format.h>

#include "upkeep.h"

namespace cassandra_like::storage_test::upkeep_test {
namespace {

Status verify(Upkeep& u, SSTableVerification order = SSTableVerification()) {
  return u.node.run(u.maintenance().verify({"ks", "t"}, std::move(order)));
}

// Replaces a byte of a file by another. The file that was open stays as it was.
void flip(Disk& disk, const std::string& path, uint64_t at) {
  auto file = disk.open(path);
  ASSERT_TRUE(file.ok());
  Bytes content((*file)->size(), '\0');
  ASSERT_TRUE((*file)->read(0, content).ok());
  content[at] ^= 1;
  ASSERT_TRUE(disk.remove(path).ok());
  auto made = disk.create(path);
  ASSERT_TRUE(made.ok() && (*made)->append(content).ok());
}

TEST(Verify, NamesWhatIsDamagedWhileTheNodeServes) {
  Upkeep u;
  u.write({"a", "b"}, 10);
  u.write({"c"}, 20);
  const Lines expected = u.rows();
  SSTableVerification extended;
  extended.extended = true;
  EXPECT_TRUE(verify(u).ok());
  EXPECT_TRUE(verify(u, extended).ok());
  const SSTableDescriptor damaged = with_max_timestamp(u, 10).descriptor;
  flip(u.node.disk(), damaged.file(components::kData), 3);
  const Status found = verify(u);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), ErrorCode::kCorruption);
  const std::string file = damaged.file(components::kData);
  EXPECT_TRUE(found.error().message().starts_with("Invalid SSTable " + file + ", please force a full repair: " + file +
                                                  " at 0: "))
      << found.error().message();
  SSTableVerification quick;
  quick.quick = true;
  // It reads no rows, but the first chunk, to open the files.
  EXPECT_EQ(verify(u, quick).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(u.rows(), expected);
  EXPECT_TRUE(u.maintenance().running_compactions().empty());
}

TEST(Verify, OldVersionsAreAFindingWhereThatIsAsked) {
  EngineOptions options;
  options.sstable_version = &SSTableVersion::nb();
  Upkeep u(1, 1, options);
  u.write({"a"}, 10);
  SSTableVerification order;
  order.check_version = true;
  EXPECT_TRUE(verify(u, order).ok());
  u.restart_with(SSTableVersion::da());
  EXPECT_TRUE(verify(u).ok());
  const Status found = verify(u, order);
  ASSERT_FALSE(found.ok());
  EXPECT_TRUE(found.error().message().ends_with("-Data.db is not the latest version, run upgradesstables"));
}

TEST(Verify, KeysOfOthersAreAFindingWhereThatIsAsked) {
  Upkeep u;
  u.write({"a", "b"}, 10);
  SSTableVerification order;
  order.owned = [](const TableMetadata&) { return OwnedTokens::all(); };
  EXPECT_TRUE(verify(u, order).ok());
  order.owned = cleanup_of({"b"}).owned;
  const Status found = verify(u, order);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find("is not contained in the given ranges"), std::string::npos);
}

TEST(Verify, EndsTheNodeWhereThePolicySaysSo) {
  for (FailurePolicy policy : {FailurePolicy::kDie, FailurePolicy::kStop}) {
    Upkeep u;
    u.node.kill();
    u.node.options.disk_failure_policy = policy;
    ASSERT_TRUE(u.node.boot());
    u.write({"a"}, 10);
    flip(u.node.disk(), u.sstables()[0].descriptor.file(components::kData), 0);
    SSTableVerification order;
    EXPECT_FALSE(verify(u, order).ok());
    EXPECT_TRUE(u.node.failures.empty());
    order.invokes_failure_policy = true;
    EXPECT_FALSE(verify(u, order).ok());
    EXPECT_EQ(u.node.failures.size(), policy == FailurePolicy::kDie ? 1u : 0u);
  }
}

TEST(Verify, IsSeenAndStops) {
  Upkeep u(1, 1, slowly());
  write_slow_rows(u);
  std::optional<Status> done;
  spawn(finish<Status>(u.maintenance().verify({"ks", "t"}, SSTableVerification()), &done));
  ASSERT_TRUE(u.node.world().run_until([&] { return !u.maintenance().running_compactions().empty(); },
                                       std::chrono::seconds(5)));
  u.node.world().run_for(std::chrono::milliseconds(500));
  ASSERT_EQ(u.maintenance().running_compactions().size(), 1u);
  const RunningCompaction running = u.maintenance().running_compactions()[0];
  EXPECT_EQ(operation_constant(running.operation), "VERIFY");
  EXPECT_GT(running.completed, 0u);
  EXPECT_LT(running.completed, running.total);
  EXPECT_EQ(u.maintenance().stop_compactions([](const RunningCompaction&) { return true; }), 1u);
  EXPECT_TRUE(u.node.world().run_until([&] { return done.has_value(); }, std::chrono::milliseconds(100)));
  EXPECT_EQ(done->error().message(), "Compaction interrupted");
}

}  // namespace
}  // namespace cassandra_like::storage_test::upkeep_test
