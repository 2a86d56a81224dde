// Limits, and the orders of an operator: window, size, throttle, pause, removal; disks that are full.
#include "gmock/gmock.h"
#include "tests/hints/hints_rig.h"

namespace cassandra_like::hints_test::hints_limits_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kPeer1 = "10.0.0.2";

TEST(HintsLimits, TheWindowBeginsWhenTheNodeGoesDown) {
  HintsOptions options;
  options.window_persistent = false;
  HintsRig rig(2, options);
  EXPECT_TRUE(rig.should_hint(1));  // a node that was never seen
  rig.down(1);
  rig.pass(hours(3) - seconds(1));
  rig.down(1);  // told again
  EXPECT_TRUE(rig.should_hint(1));
  EXPECT_EQ(rig.statistics().overflowed, 0u);
  CapturedLog log;
  rig.pass(seconds(2));
  EXPECT_FALSE(rig.should_hint(1));
  EXPECT_FALSE(rig.should_hint(1));
  EXPECT_FALSE(rig.should_hint(1, 1));
  EXPECT_EQ(rig.statistics().overflowed, 3u);
  EXPECT_EQ(log.count("away for longer than max_hint_window, 10800000 ms"), 2u);  // one for each shard
  EXPECT_TRUE(rig.should_hint(2));

  set_window(*rig.control, 4 * 3'600'000);
  EXPECT_TRUE(rig.should_hint(1));
  set_window(*rig.control, 1000);
  EXPECT_FALSE(rig.should_hint(1));
  rig.add_peer();
  rig.up(1);
  EXPECT_TRUE(rig.should_hint(1));
}

// A node that comes and goes, and never lives long enough to get its hints.
TEST(HintsLimits, ThePersistentWindowBeginsWithTheOldestHintOfAnyShard) {
  HintsRig rig(2);
  rig.down(1);
  ASSERT_EQ(rig.write(1, "oldest", 1), "ok");
  rig.pass(hours(2));
  rig.kill();
  rig.start(2);
  rig.down(1);
  EXPECT_TRUE(rig.should_hint(1, 0));
  rig.pass(hours(2));
  EXPECT_FALSE(rig.should_hint(1, 0));
  EXPECT_FALSE(rig.should_hint(1, 1));
  EXPECT_EQ(rig.run(0, [](Hints& h) { return h.remove_all(host_id(1)); }), "ok");
  EXPECT_EQ(rig.run(1, [](Hints& h) { return h.remove_all(host_id(1)); }), "ok");
  EXPECT_TRUE(rig.should_hint(1, 0));
}

TEST(HintsLimits, BytesOfAHostAreThoseOfAllShards) {
  HintsOptions options;
  options.max_bytes_per_host = 3000;
  HintsRig rig(2, options);
  const std::string text(1000, 'x');
  ASSERT_EQ(rig.write(1, text, 0), "ok");
  ASSERT_EQ(rig.write(1, text, 1), "ok");
  EXPECT_TRUE(rig.should_hint(1, 0));
  ASSERT_EQ(rig.write(1, text, 1), "ok");
  EXPECT_FALSE(rig.should_hint(1, 0));
  EXPECT_FALSE(rig.should_hint(1, 1));
  EXPECT_TRUE(rig.should_hint(2, 1));
  EXPECT_EQ(rig.statistics().overflowed, 2u);
  rig.add_peer();
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_TRUE(rig.should_hint(1, 0));
}

TEST(HintsLimits, FilesAreClosedWhenTheyAreLarge) {
  HintsOptions options;
  options.max_file_bytes = 5000;
  HintsRig rig(1, options);
  rig.add_peer();
  std::vector<std::string> texts;
  for (char c = 'a'; c <= 'z'; ++c) texts.emplace_back(1000, c);
  for (const std::string& text : texts) ASSERT_EQ(rig.write(1, text), "ok");
  EXPECT_THAT(rig.files(".hints"), SizeIs(6));
  EXPECT_EQ(rig.pending()[0].files, 6u);
  rig.pass(seconds(1));
  EXPECT_THAT(rig.files(".crc32"), SizeIs(5));
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == texts.size(); }));
  EXPECT_EQ(rig.got[kPeer1], texts);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
}

TEST(HintsLimits, AHintThatIsTooLargeIsNotKept) {
  HintsOptions options;
  options.max_entry_bytes = 1000;
  HintsRig rig(1, options);
  EXPECT_EQ(rig.write(1, std::string(1000, 'x')), "Hint of 1023 bytes is too large - the maximum size is 1000");
  EXPECT_THAT(rig.files(), IsEmpty());
  EXPECT_EQ(rig.statistics().overflowed, 1u);
  EXPECT_EQ(rig.write(1, std::string(900, 'x')), "ok");
}

TEST(HintsLimits, AFullDiskCostsOneLineAndNoMoreThanTheHints) {
  HintsRig rig;
  rig.add_peer();
  ASSERT_EQ(rig.write(1, "before"), "ok");
  CapturedLog log;
  rig.node->machine->set_disk_capacity(rig.read_file(rig.files()[0]).size() + 200);
  const std::string large(10'000, 'x');
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(rig.write(1, large), HasSubstr("No space left on device")) << i;
    rig.pass(milliseconds(100));
  }
  EXPECT_EQ(rig.statistics().overflowed, 100u);
  EXPECT_EQ(log.count("Hints were not kept: "), 1u);
  EXPECT_THAT(rig.files(), SizeIs(1));

  rig.node->machine->set_disk_capacity(1 << 30);
  rig.pass(seconds(2));
  EXPECT_EQ(rig.write(1, "after"), "ok");
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_THAT(rig.got[kPeer1], ElementsAre("before", "after"));
}

TEST(HintsLimits, TooManyInOneTurnAreRefused) {
  HintsRig rig;
  const std::vector<std::string> results = rig.write_many(1, std::vector<std::string>(20, std::string(2 << 20, 'x')));
  EXPECT_EQ(std::ranges::count(results, "ok"), 15);
  EXPECT_THAT(results, Contains("A hint was not kept: too many wait to be written"));
  EXPECT_EQ(rig.statistics().written, 15u);
  EXPECT_EQ(rig.statistics().overflowed, 5u);
  EXPECT_EQ(rig.write(1, "later"), "ok");
}

// A megabyte a second, of which each of two other nodes may use a half.
TEST(HintsLimits, TheThrottleIsSharedByShardsAndNodes) {
  HintsOptions options;
  options.throttle_bytes_per_second = 100'000;
  HintsRig rig(4, options);
  rig.add_peer();
  rig.add_peer();
  rig.up(2);
  for (unsigned shard = 0; shard < 4; ++shard) {
    for (int i = 0; i < 50; ++i) ASSERT_EQ(rig.write(1, std::string(5000, 'x'), shard), "ok");
  }
  rig.up(1);
  // 50,000 bytes a second, and a tenth of a second ahead.
  rig.pass(seconds(10));
  EXPECT_NEAR(static_cast<double>(rig.got[kPeer1].size()), 100, 5);
  set_throttle(*rig.control, 0);
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == 200; }, seconds(2)));
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
}

TEST(HintsLimits, PausedHintsWait) {
  HintsRig rig;
  rig.add_peer();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rig.write(1, std::string(10'000, 'x')), "ok");
  set_throttle(*rig.control, 100'000);
  rig.up(1);
  rig.pass(seconds(3));
  set_paused(*rig.control, true);
  rig.pass(seconds(1));
  const size_t before = rig.got[kPeer1].size();
  EXPECT_GT(before, 20u);
  EXPECT_LT(before, 50u);
  ASSERT_EQ(rig.write(1, "while paused"), "ok");
  rig.pass(minutes(5));
  EXPECT_EQ(rig.got[kPeer1].size(), before);

  set_paused(*rig.control, false);
  set_throttle(*rig.control, 0);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }, seconds(30)));
  EXPECT_EQ(rig.got[kPeer1].size(), 101u);  // none is sent again
}

TEST(HintsLimits, DisabledMeansNoMoreHints) {
  HintsOptions options;
  options.disabled_datacenters = {"dc9"};
  HintsRig rig(1, options);
  EXPECT_FALSE(rig.should_hint(1, 0, "dc9"));
  EXPECT_TRUE(rig.should_hint(1, 0, "dc1"));
  set_datacenter_enabled(*rig.control, "dc9", true);
  set_datacenter_enabled(*rig.control, "dc1", false);
  EXPECT_TRUE(rig.should_hint(1, 0, "dc9"));
  EXPECT_FALSE(rig.should_hint(1, 0, "dc1"));
  set_enabled(*rig.control, false);
  EXPECT_FALSE(rig.should_hint(1, 0, "dc9"));
  set_paused(*rig.control, true);
  set_throttle(*rig.control, 7);
  set_window(*rig.control, 9);
  const HintsControlView seen = view(*rig.control);
  EXPECT_FALSE(seen.enabled);
  EXPECT_TRUE(seen.paused);
  EXPECT_EQ(seen.throttle_bytes_per_second, 7u);
  EXPECT_EQ(seen.window_millis, 9);
  EXPECT_THAT(seen.disabled_datacenters, ElementsAre("dc1"));
  EXPECT_EQ(rig.statistics().overflowed, 0u);  // nobody wanted them
}

TEST(HintsLimits, TheHintsOfANodeThatLeavesGo) {
  HintsRig rig(2);
  rig.add_peer();
  rig.add_peer();
  rig.write_to({1, 2}, "first", 0);
  rig.write_to({1, 2}, "second", 1);
  rig.left(1);
  EXPECT_THAT(rig.files(".hints"), SizeIs(2));
  ASSERT_THAT(rig.pending(), SizeIs(2));
  EXPECT_EQ(rig.pending()[0].host_id, host_id(2));
  // It comes back, as another one would.
  rig.up(1);
  ASSERT_EQ(rig.write(1, "third"), "ok");
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == 1; }));
  EXPECT_THAT(rig.got[kPeer1], ElementsAre("third"));
}

TEST(HintsLimits, RemovingHintsEndsTheirSending) {
  HintsRig rig;
  rig.add_peer();
  set_throttle(*rig.control, 10'000);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rig.write(1, std::string(1000, 'x')), "ok");
  rig.up(1);
  rig.pass(seconds(5));
  EXPECT_EQ(rig.run(0, [](Hints& h) { return h.remove_all(std::nullopt); }), "ok");
  EXPECT_THAT(rig.files(), IsEmpty());
  rig.pass(seconds(1));
  const size_t before = rig.got[kPeer1].size();
  EXPECT_LT(before, 60u);
  ASSERT_EQ(rig.write(1, "next"), "ok");
  rig.pass(minutes(1));
  EXPECT_EQ(rig.got[kPeer1].size(), before + 1);
  EXPECT_THAT(rig.files(), IsEmpty());
}

TEST(HintsLimits, OldHintsAreLeftOut) {
  HintsRig rig;
  rig.add_peer();
  ASSERT_EQ(rig.write(1, "short-lived", 0, 600), "ok");
  ASSERT_EQ(rig.write(1, "long-lived", 0, 6000), "ok");
  ASSERT_EQ(rig.write(1, "never", 0, 0), "ok");
  rig.pass(minutes(11));
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_THAT(rig.got[kPeer1], ElementsAre("long-lived"));
  EXPECT_EQ(rig.statistics().expired, 2u);
}

TEST(HintsLimits, ExpiredFilesOfStrangersAreCleanedUp) {
  HintsOptions options;
  options.auto_cleanup = true;
  HintsRig rig(1, options);
  rig.add_peer();
  ASSERT_EQ(rig.write(2, "of an earlier life", 0, 3600), "ok");
  rig.kill();
  rig.start();
  ASSERT_EQ(rig.write(2, "short-lived", 0, 3600), "ok");
  ASSERT_EQ(rig.write(3, "long-lived", 0, 36'000), "ok");
  rig.pass(minutes(50));
  EXPECT_THAT(rig.files(".hints"), SizeIs(3));
  rig.pass(minutes(80));
  ASSERT_THAT(rig.files(".hints"), SizeIs(1));
  EXPECT_EQ(rig.pending()[0].host_id, host_id(3));
}

}  // namespace
}  // namespace cassandra_like::hints_test::hints_limits_test
