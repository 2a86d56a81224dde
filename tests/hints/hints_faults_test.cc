// Peers that fail in the middle, files that are damaged, machines that lose power: no hint is lost that need not be.
#include "gmock/gmock.h"
#include "tests/hints/hints_rig.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like::hints_test::hints_faults_test {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Texts = std::vector<std::string>;

constexpr const char* kPeer1 = "10.0.0.2";

Texts numbered(int count) {
  Texts out;
  for (int i = 0; i < count; ++i) out.push_back("hint " + std::to_string(i));
  return out;
}

std::set<std::string> as_set(const Texts& texts) { return {texts.begin(), texts.end()}; }

TEST(HintsFaults, AfterAFailureTheyGoOnWhereTheyWereInTenSeconds) {
  HintsRig rig;
  rig.add_peer();
  const Texts texts = numbered(1000);
  for (const std::string& text : texts) ASSERT_EQ(rig.write(1, text), "ok");
  rig.answer = [](const std::string& text) {
    return text == "hint 500" ? VerbResult::failure(RequestFailureReason::kUnknown) : VerbResult::answer();
  };
  rig.up(1);
  rig.pass(seconds(9));
  EXPECT_EQ(rig.statistics().failed, 1u);
  // Some were on their way.
  const size_t first = rig.got[kPeer1].size();
  EXPECT_GE(first, 500u);
  EXPECT_LE(first, 500u + 127u);

  rig.answer = [](const std::string&) { return VerbResult::answer(); };
  rig.pass(seconds(2));
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_EQ(as_set(rig.got[kPeer1]), as_set(texts));
  EXPECT_EQ(rig.got[kPeer1][first], "hint 500");
  EXPECT_EQ(rig.got[kPeer1].size(), texts.size() + first - 500);
}

TEST(HintsFaults, APeerThatFailsAlwaysIsAskedOnceInTenSeconds) {
  HintsRig rig;
  rig.add_peer();
  ASSERT_EQ(rig.write(1, "refused"), "ok");
  rig.answer = [](const std::string&) { return VerbResult::failure(RequestFailureReason::kUnknown); };
  rig.up(1);
  rig.pass(seconds(95));
  EXPECT_EQ(rig.statistics().failed, 10u);
}

TEST(HintsFaults, APeerThatIsSilentTimesOut) {
  HintsRig rig;
  rig.add_peer();
  for (const std::string& text : numbered(300)) ASSERT_EQ(rig.write(1, text), "ok");
  rig.answer = [](const std::string&) { return VerbResult::nothing(); };
  rig.up(1);
  rig.pass(seconds(5));
  EXPECT_EQ(rig.statistics().timed_out, 128u);
  rig.down(1);
  rig.pass(minutes(1));
  EXPECT_EQ(rig.statistics().timed_out, 128u);
  rig.answer = [](const std::string&) { return VerbResult::answer(); };
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_EQ(rig.got[kPeer1], numbered(300));
}

TEST(HintsFaults, APeerThatIsKilledInTheMiddleLosesNone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    HintsRig rig(2, {}, seed);
    rig.add_peer();
    const Texts texts = numbered(400);
    for (size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(rig.write(1, texts[i], i % 2), "ok");
    set_throttle(*rig.control, 1000);
    std::set<std::string> applied;
    for (int life = 0; life < 4; ++life) {
      rig.up(1);
      rig.pass(milliseconds(300 * life));
      // The peer dies, and gossip takes a while to notice.
      for (const std::string& text : rig.got[kPeer1]) applied.insert(text);
      rig.peers[0]->machine->kill();
      rig.peers[0]->messengers.clear();
      rig.peers[0]->group.reset();
      rig.pass(seconds(3));
      rig.down(1);
      rig.pass(seconds(20));
      rig.cluster.boot(*rig.peers[0]);
    }
    EXPECT_LT(applied.size(), texts.size());
    set_throttle(*rig.control, 0);
    rig.up(1);
    ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }, minutes(5)));
    EXPECT_EQ(as_set(rig.got[kPeer1]), as_set(texts));
  }
}

TEST(HintsFaults, TheSenderIsKilledInTheMiddleAndLosesNone) {
  HintsRig rig(1);
  rig.add_peer();
  const Texts texts = numbered(300);
  for (const std::string& text : texts) ASSERT_EQ(rig.write(1, text), "ok");
  set_throttle(*rig.control, 5000);
  rig.up(1);
  rig.pass(seconds(1));
  rig.kill();
  EXPECT_LT(rig.got[kPeer1].size(), 300u);
  rig.start();
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_EQ(as_set(rig.got[kPeer1]), as_set(texts));
}

TEST(HintsFaults, StopInTheMiddleIsShortAndLosesNone) {
  HintsRig rig;
  rig.add_peer();
  const Texts texts = numbered(300);
  for (const std::string& text : texts) ASSERT_EQ(rig.write(1, text), "ok");
  set_throttle(*rig.control, 100);
  rig.up(1);
  rig.pass(seconds(3));
  rig.stop();
  rig.start(1);
  set_throttle(*rig.control, 0);
  rig.up(1);
  ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
  EXPECT_EQ(as_set(rig.got[kPeer1]), as_set(texts));
}

// Complete files and synced ones are whole; of others is there what the disk had.
TEST(HintsFaults, LostPowerLeavesWhatWasSynced) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    HintsRig rig(1, {}, seed);
    rig.add_peer();
    for (const std::string& text : numbered(100)) ASSERT_EQ(rig.write(1, text), "ok");
    ASSERT_EQ(rig.run(0, [](Hints& h) { return h.sync({host_id(1)}); }), "ok");
    for (int i = 0; i < 100; ++i) ASSERT_EQ(rig.write(1, "not synced"), "ok");
    rig.lose_power();
    rig.start();
    rig.up(1);
    rig.pass(minutes(1));
    Texts got = rig.got[kPeer1];
    EXPECT_LE(std::erase(got, "not synced"), 100);
    EXPECT_EQ(got, numbered(100));
  }
}

// The machine went down while the last entry was written: those before it arrive, and the rest is told of.
TEST(HintsFaults, ATornFileIsSentUpToTheTear) {
  for (const std::string tail : {"cut", "zeros", "page of zeros"}) {
    SCOPED_TRACE(tail);
    HintsRig rig;
    rig.add_peer();
    for (const std::string& text : numbered(10)) ASSERT_EQ(rig.write(1, text), "ok");
    rig.kill();
    rig.start();
    const std::string name = rig.files(".hints")[0];
    Bytes content = rig.read_file(name);
    if (tail == "cut") content.resize(content.size() - 3);
    if (tail == "zeros") content.append(100, '\0');
    if (tail == "page of zeros") content.append(8192, '\0');
    rig.write_file(name, content);
    rig.kill();

    CapturedLog log;
    rig.start();
    rig.up(1);
    ASSERT_TRUE(rig.wait([&] { return rig.files().empty(); }));
    EXPECT_EQ(rig.got[kPeer1], numbered(tail == "cut" ? 9 : 10));
    EXPECT_EQ(log.count("Unexpected end of the hints in " + name), 1u);
  }
}

TEST(HintsFaults, UnreadableFilesAreKeptAndNamed) {
  HintsRig rig;
  rig.add_peer();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(rig.write(1, "file " + std::to_string(i)), "ok");
    rig.kill();
    rig.start();
  }
  const Texts names = rig.files();
  ASSERT_THAT(names, SizeIs(5));
  auto damage = [&](size_t file, size_t at) {
    Bytes content = rig.read_file(names[file]);
    content[at] ^= 1;
    rig.write_file(names[file], content);
  };
  damage(0, 30);  // the descriptor
  damage(1, 46);  // an entry's size
  damage(2, 60);  // a hint
  rig.write_file(names[3], "");
  const std::string encrypted = HintsDescriptor{.host_id = host_id(1), .timestamp = 1}.file_name();
  rig.write_file(
      encrypted,
      HintsDescriptor{.host_id = host_id(1), .timestamp = 1, .parameters = R"({"encryption":{}})"}.serialize());
  rig.write_file("unrelated.txt", "");
  rig.kill();

  CapturedLog log;
  rig.start();
  rig.up(1);
  rig.pass(minutes(1));
  EXPECT_THAT(rig.got[kPeer1], ElementsAre("file 4"));
  EXPECT_THAT(rig.files(),
              testing::UnorderedElementsAre(corrupt_hints_name(names[0]), names[1], encrypted, "unrelated.txt"));
  EXPECT_EQ(
      log.count("descriptor /data/hints/" + names[0] + " - saving file as /data/hints/" + corrupt_hints_name(names[0])),
      1u);
  EXPECT_EQ(log.count("Failed to dispatch hints file " + names[1] + ": file is corrupted; it is kept"), 1u);
  EXPECT_EQ(log.count("Found empty hints file /data/hints/" + names[3] + " on startup, removing"), 1u);
  EXPECT_EQ(log.count("The hints in /data/hints/" + encrypted + " are encrypted, which is not read"), 1u);
  EXPECT_EQ(rig.statistics().damaged, 1u);

  EXPECT_EQ(rig.run(0, [](Hints& h) { return h.remove_all(std::nullopt); }), "ok");
  EXPECT_THAT(rig.files(), testing::UnorderedElementsAre(corrupt_hints_name(names[0]), "unrelated.txt"));
}

TEST(HintsFaults, NamesOfEarlierLivesAreNotTakenAgain) {
  HintsRig rig;
  ASSERT_EQ(rig.write(1, "from the future"), "ok");
  rig.kill();
  rig.node->machine->shift_wall_clock(-std::chrono::hours(24));
  rig.start();
  ASSERT_EQ(rig.write(1, "later"), "ok");
  const Texts names = rig.files();
  ASSERT_THAT(names, SizeIs(2));
  EXPECT_THAT(rig.hints_in(names[0]), ElementsAre("from the future"));
  EXPECT_THAT(rig.hints_in(names[1]), ElementsAre("later"));
  EXPECT_EQ(parse_hints_file_name(names[1])->timestamp, parse_hints_file_name(names[0])->timestamp + 1);
}

TEST(HintsFaults, ADiskThatFailsNowAndThenLosesNoneThatWasAcknowledged) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    HintsRig rig(2, {}, seed);
    rig.add_peer();
    rig.node->machine->faults().io_error_ppm = 50'000;
    rig.node->machine->faults().disk_full_ppm = 20'000;
    std::set<std::string> acknowledged;
    for (const std::string& text : numbered(300)) {
      if (rig.write(1, text, acknowledged.size() % 2) == "ok") acknowledged.insert(text);
      rig.pass(milliseconds(50));
      if (acknowledged.size() == 50) rig.up(1);
    }
    rig.node->machine->faults().io_error_ppm = 0;
    rig.node->machine->faults().disk_full_ppm = 0;
    rig.up(1);
    rig.pass(minutes(2));
    EXPECT_EQ(as_set(rig.got[kPeer1]), acknowledged);
    EXPECT_GT(acknowledged.size(), 50u);
    EXPECT_THAT(rig.files(), IsEmpty());
  }
}

Task<void> write_once(Hints* hints, int64_t now, Texts* results) {
  const std::vector<Uuid> to(1, host_id(1));
  Status status = co_await hints->write(to, SerializedMutation(kMinimumToken, "text"), now, kTenDays);
  results->push_back(status.ok() ? "ok" : "failed");
}
// Fails, makes the disk whole, writes again and flushes: as the first of two that wait for one flush.
Task<void> write_again(Hints* hints, SimMachine* machine, int64_t now, Texts* results) {
  co_await write_once(hints, now, results);
  machine->faults().io_error_ppm = 0;
  spawn(write_once(hints, now, results));
  Status synced = co_await hints->sync(std::vector<Uuid>(1, host_id(1)));
  results->push_back(synced.ok() ? "synced" : "not synced");
}

TEST(HintsFaults, AFailedWriteStaysFailedWhenTheNextSucceeds) {
  HintsRig rig;
  Texts first, second;
  rig.on(0, [&](Hints& h) {
    rig.node->machine->faults().io_error_ppm = 1'000'000;
    const int64_t now = rig.node->runtime->shard(0).clock.wall_millis();
    spawn(write_again(&h, rig.node->machine, now, &first));
    spawn(write_once(&h, now, &second));
  });
  ASSERT_TRUE(rig.wait([&] { return first.size() == 3 && second.size() == 1; }));
  EXPECT_THAT(first, ElementsAre("failed", "ok", "synced"));
  EXPECT_THAT(second, ElementsAre("failed"));
  EXPECT_EQ(rig.statistics().written, 1u);
}

// Counts what reaches a disk.
class CountingFile final : public test::ForwardingFile {
 public:
  CountingFile(std::unique_ptr<WriteFile> file, int* appends) : ForwardingFile(std::move(file)), appends_(appends) {}
  Status append(BytesView data) override {
    ++*appends_;
    return file_->append(data);
  }

 private:
  int* appends_;
};
class CountingDisk final : public test::ForwardingDisk {
 public:
  using ForwardingDisk::ForwardingDisk;
  int appends = 0;

  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    auto file = disk_.create(path);
    if (!file.ok()) return file;
    return std::unique_ptr<WriteFile>(std::make_unique<CountingFile>(std::move(*file), &appends));
  }
};

TEST(HintsCost, HintsOfOneTurnAreOneWrite) {
  HintsRig rig;
  ShardRuntime& real = rig.node->runtime->shard(0);
  CountingDisk disk(real.disk);
  ShardRuntime counted{real.executor, real.clock, real.network, disk, real.random, real.blocking};
  rig.hints[0] = Hints::create(counted, 0, *rig.node->messengers[0], rig.control);
  ASSERT_THAT(rig.write_many(1, numbered(100)), testing::Each("ok"));
  EXPECT_EQ(disk.appends, 2);  // with the descriptor
  ASSERT_THAT(rig.write_many(1, numbered(100)), testing::Each("ok"));
  EXPECT_EQ(disk.appends, 3);
  EXPECT_THAT(rig.hints_in(rig.files()[0]), SizeIs(200));
  rig.stop();
}

}  // namespace
}  // namespace cassandra_like::hints_test::hints_faults_test
