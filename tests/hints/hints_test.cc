// Hints from write() to their arrival, over lives and faults of the node and of its peers.
#include "tests/hints/hints_rig.h"

#include "gmock/gmock.h"

#include <fmt/format.h>

#include "base/checksum.h"

namespace cassandra_like::hints_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;
using Texts = std::vector<std::string>;

constexpr const char* kPeer1 = "10.0.0.2";
constexpr const char* kPeer2 = "10.0.0.3";

Texts numbered(const std::string& name, int count) {
  Texts out;
  for (int i = 0; i < count; ++i) out.push_back(name + std::to_string(i));
  return out;
}

TEST(Hints, AreInTheFileWhenTheyAreWritten) {
  HintsRig rig;
  rig.down(1);
  EXPECT_EQ(rig.write(1, "first"), "ok");
  EXPECT_EQ(rig.write(1, "second"), "ok");
  ASSERT_THAT(rig.files(), SizeIs(1));
  EXPECT_THAT(rig.hints_in(rig.files()[0]), ElementsAre("first", "second"));
  const int64_t now = rig.node->runtime->shard(0).clock.wall_millis();
  ASSERT_THAT(rig.pending(), SizeIs(1));
  EXPECT_EQ(rig.pending()[0].host_id, host_id(1));
  EXPECT_EQ(rig.pending()[0].files, 1u);
  EXPECT_EQ(rig.pending()[0].bytes, rig.read_file(rig.files()[0]).size());
  EXPECT_LE(rig.pending()[0].oldest_millis, now);
  EXPECT_EQ(rig.statistics().written, 2u);
}

TEST(Hints, ArriveInTheirOrderWhenTheNodeReturns) {
  HintsRig rig;
  rig.add_peer();
  rig.down(1);
  const Texts texts = numbered("h", 500);
  for (const std::string& text : texts) ASSERT_EQ(rig.write(1, text), "ok");
  rig.pass(seconds(60));
  EXPECT_THAT(rig.got, IsEmpty());

  rig.up(1);
  // Sooner than the tick of ten seconds.
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == texts.size(); }, seconds(5)));
  EXPECT_EQ(rig.got[kPeer1], texts);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_THAT(rig.pending(), IsEmpty());
  EXPECT_EQ(rig.statistics().succeeded, texts.size());
}

TEST(Hints, OneMutationForSeveralNodes) {
  HintsRig rig;
  rig.add_peer();
  rig.add_peer();
  rig.down(1);
  rig.down(2);
  EXPECT_EQ(rig.write_to({1, 2}, "for both"), "ok");
  EXPECT_EQ(rig.write_to({2}, "for one"), "ok");
  EXPECT_THAT(rig.files(".hints"), SizeIs(2));
  rig.up(1);
  rig.up(2);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_THAT(rig.got[kPeer1], ElementsAre("for both"));
  EXPECT_THAT(rig.got[kPeer2], ElementsAre("for both", "for one"));
}

// A replica that lives, and did not answer in time.
TEST(Hints, OfANodeThatLivesAreSentWithinTwentySeconds) {
  HintsRig rig;
  rig.add_peer();
  rig.up(1);
  ASSERT_EQ(rig.write(1, "late"), "ok");
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == 1; }, seconds(20)));
  ASSERT_EQ(rig.write(1, "late again"), "ok");
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == 2; }, seconds(20)));
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
}

// Its tables of the time between are pulled first; or it is of a release that has other versions.
TEST(Hints, WaitForTheSchemaOfTheNodeButNotForEver) {
  HintsRig rig(2);
  rig.add_peer();
  const InetAddressAndPort address = rig.peers[0]->endpoint();
  note_schema_version(*rig.control, host_id(8));
  note_schema_version_of(*rig.control, address, host_id(9));
  ASSERT_EQ(rig.write(1, "of a table that it may not know", 1), "ok");
  rig.up(1);
  rig.pass(seconds(30));
  EXPECT_THAT(rig.got, IsEmpty());
  note_schema_version_of(*rig.control, address, host_id(8));
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }, seconds(1)));
  EXPECT_THAT(rig.got[kPeer1], SizeIs(1));

  rig.down(1);
  note_schema_version(*rig.control, host_id(7));
  ASSERT_EQ(rig.write(1, "second"), "ok");
  rig.up(1);
  rig.pass(seconds(59));
  EXPECT_THAT(rig.got[kPeer1], SizeIs(1));
  rig.pass(seconds(2));
  EXPECT_THAT(rig.got[kPeer1], SizeIs(2));
  // From now on at each tick.
  ASSERT_EQ(rig.write(1, "third"), "ok");
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == 3; }, seconds(11)));
}

class HintsLives : public testing::TestWithParam<std::pair<unsigned, unsigned>> {};
INSTANTIATE_TEST_SUITE_P(Shards, HintsLives,
                         testing::Values(std::pair(1u, 1u), std::pair(4u, 1u), std::pair(1u, 3u), std::pair(4u, 3u)),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "to" + std::to_string(info.param.second);
                         });

TEST_P(HintsLives, SurviveKill9) {
  const auto [before, after] = GetParam();
  HintsRig rig(before);
  rig.add_peer();
  rig.add_peer();
  Texts texts;
  for (unsigned shard = 0; shard < before; ++shard) {
    for (const std::string& text : numbered("s" + std::to_string(shard) + "-", 20)) {
      ASSERT_EQ(rig.write_to({1, 2}, text, shard), "ok");
      texts.push_back(text);
    }
  }
  // All shards write at the same millisecond, to files of their own.
  EXPECT_THAT(rig.files(), SizeIs(2 * before));
  rig.kill();

  rig.start(after);
  EXPECT_THAT(rig.pending(), SizeIs(2));
  for (unsigned shard = 0; shard < after; ++shard) {
    ASSERT_EQ(rig.write_to({1, 2}, "after" + std::to_string(shard), shard), "ok");
    texts.push_back("after" + std::to_string(shard));
  }
  rig.up(1);
  rig.up(2);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_THAT(rig.got[kPeer1], UnorderedElementsAreArray(texts));
  EXPECT_THAT(rig.got[kPeer2], UnorderedElementsAreArray(texts));
}

TEST(Hints, AreOnTheDiskAfterSync) {
  HintsRig rig;
  rig.add_peer();
  ASSERT_EQ(rig.write(1, "synced"), "ok");
  ASSERT_EQ(rig.run(0, [](Hints& h) { return h.sync({host_id(1)}); }), "ok");
  rig.lose_power();
  rig.start();
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.got[kPeer1].size() == 1; }));
  EXPECT_THAT(rig.got[kPeer1], ElementsAre("synced"));
}

TEST(Hints, StopBringsThemToTheDiskWithTheirChecksum) {
  HintsRig rig;
  rig.add_peer();
  ASSERT_EQ(rig.write(1, "kept"), "ok");
  rig.stop();
  rig.start(1);
  ASSERT_THAT(rig.files(".hints"), SizeIs(1));
  ASSERT_THAT(rig.files(".crc32"), SizeIs(1));
  EXPECT_EQ(rig.read_file(rig.files(".crc32")[0]), fmt::format("{:x}", crc32(rig.read_file(rig.files(".hints")[0]))));
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_THAT(rig.got[kPeer1], ElementsAre("kept"));
}

TEST(Hints, AreRefusedWhenTheNodeStops) {
  HintsRig rig;
  std::string late;
  EXPECT_EQ(rig.run(0, [](Hints& h) { return h.stop(); }), "ok");
  EXPECT_EQ(rig.write(1, "late"), "A hint was not kept: the node is stopping");
  rig.kill();
}

}  // namespace
}  // namespace cassandra_like::hints_test
