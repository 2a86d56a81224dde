#include "tests/hints/hints_rig.h"

#include "messaging/wire/mutation_codec.h"

namespace cassandra_like::hints_test {

namespace {

Task<void> keep_status(Task<Status> task, std::optional<std::string>* out) {
  const Status status = co_await task;
  *out = status.ok() ? "ok" : status.error().message();
}

}  // namespace

Uuid host_id(int peer) {
  Uuid id;
  id.bytes.fill(static_cast<uint8_t>(peer * 0x11));
  return id;
}

HintsRig::HintsRig(unsigned shards, HintsOptions o, uint64_t seed) : options(std::move(o)), cluster(seed) {
  options.directory = "/data/hints";
  cluster.prepare = [this](TestNode& to, Messenger& messenger) {
    messenger.handle(Verb::kHintReq, [this, host = to.host](InboundMessage message) -> Task<VerbResult> {
      auto hint = decode_hint_message(message.payload);
      EXPECT_TRUE(hint.ok());
      const std::string text(hint->mutation);
      VerbResult result = answer(text);
      if (result.kind == VerbResult::Kind::kAnswer) got[host].push_back(text);
      return result;
    });
  };
  node = &cluster.add(shards);
  node->machine->faults().max_network_delay = milliseconds(1);
  // The node's own directory is there, and on the disk.
  std::optional<std::string> made;
  node->runtime->shard(0).executor.post([&] {
    EXPECT_TRUE(disk().make_directories("/data").ok());
    spawn(keep_status(disk().sync_directory("/"), &made));
  });
  EXPECT_TRUE(wait([&] { return made == "ok"; }));
  start(0);
}

HintsRig::~HintsRig() {
  if (!hints.empty()) stop();
}

void HintsRig::start(unsigned shards) {
  if (shards > 0) cluster.boot(*node, shards);
  const unsigned count = node->runtime->shard_count();
  control = make_hints_control(options, count);
  for (unsigned i = 0; i < count; ++i) {
    hints.push_back(Hints::create(node->runtime->shard(i), i, *node->messengers[i], control));
  }
  for (unsigned i = 0; i < count; ++i) {
    EXPECT_EQ(run(i, [](Hints& h) { return h.open(); }), "ok");
  }
}

void HintsRig::stop() {
  for (unsigned i = 0; i < hints.size(); ++i) {
    EXPECT_EQ(run(i, [](Hints& h) { return h.stop(); }), "ok");
  }
  hints.clear();
  cluster.shut_down(*node);
}

void HintsRig::kill() {
  node->machine->kill();
  hints.clear();
  node->messengers.clear();
  node->group.reset();
}

void HintsRig::lose_power() {
  node->machine->crash();
  hints.clear();
  node->messengers.clear();
  node->group.reset();
}

TestNode& HintsRig::add_peer() {
  peers.push_back(&cluster.add());
  return *peers.back();
}

void HintsRig::up(int peer) {
  const InetAddressAndPort address = peers[static_cast<size_t>(peer) - 1]->endpoint();
  each([&](Hints& h) { h.node_up(host_id(peer), address); });
}
void HintsRig::down(int peer) {
  each([&](Hints& h) { h.node_down(host_id(peer)); });
}
void HintsRig::left(int peer) {
  each([&](Hints& h) { h.node_left(host_id(peer)); });
}

void HintsRig::each(std::function<void(Hints&)> fn) {
  for (unsigned i = 0; i < hints.size(); ++i) on(i, fn);
}

void HintsRig::on(unsigned shard, std::function<void(Hints&)> fn) {
  bool done = false;
  node->runtime->shard(shard).executor.post([&] {
    fn(*hints[shard]);
    done = true;
  });
  EXPECT_TRUE(wait([&] { return done; }));
}

std::string HintsRig::run(unsigned shard, std::function<Task<Status>(Hints&)> work) {
  std::optional<std::string> out;
  node->runtime->shard(shard).executor.post([&] { spawn(keep_status(work(*hints[shard]), &out)); });
  EXPECT_TRUE(wait([&] { return out.has_value(); }));
  return out.value_or("nothing");
}

std::string HintsRig::write(int peer, const std::string& text, unsigned shard, int32_t gc_grace_seconds) {
  return write_to({peer}, text, shard, gc_grace_seconds);
}

std::string HintsRig::write_to(std::vector<int> to, const std::string& text, unsigned shard, int32_t gc_grace_seconds) {
  std::vector<Uuid> ids;
  for (int peer : to) ids.push_back(host_id(peer));
  return run(shard, [&](Hints& h) {
    const int64_t now = node->runtime->shard(shard).clock.wall_millis();
    return h.write(ids, SerializedMutation(kMinimumToken, text), now, gc_grace_seconds);
  });
}

std::vector<std::string> HintsRig::write_many(int peer, const std::vector<std::string>& texts, unsigned shard) {
  std::vector<std::optional<std::string>> out(texts.size());
  on(shard, [&](Hints& h) {
    const int64_t now = node->runtime->shard(shard).clock.wall_millis();
    for (size_t i = 0; i < texts.size(); ++i) {
      spawn(keep_status(h.write({host_id(peer)}, SerializedMutation(kMinimumToken, texts[i]), now, kTenDays), &out[i]));
    }
  });
  EXPECT_TRUE(wait([&] { return std::ranges::all_of(out, [](const auto& one) { return one.has_value(); }); }));
  std::vector<std::string> results;
  for (auto& one : out) results.push_back(one.value_or("nothing"));
  return results;
}

bool HintsRig::should_hint(int peer, unsigned shard, std::string_view datacenter) {
  bool result = false;
  on(shard, [&](Hints& h) { result = h.should_hint(host_id(peer), datacenter); });
  return result;
}

HintsStatistics HintsRig::statistics() const {
  HintsStatistics sum;
  for (const auto& h : hints) {
    const HintsStatistics& one = h->statistics();
    sum.written += one.written;
    sum.succeeded += one.succeeded;
    sum.failed += one.failed;
    sum.timed_out += one.timed_out;
    sum.overflowed += one.overflowed;
    sum.expired += one.expired;
    sum.damaged += one.damaged;
  }
  return sum;
}

std::vector<PendingHints> HintsRig::pending() const {
  std::vector<PendingHints> all;
  for (const auto& h : hints) {
    for (const PendingHints& one : h->pending()) all.push_back(one);
  }
  return all;
}

std::vector<std::string> HintsRig::files() {
  std::vector<std::string> names;
  auto entries = disk().list(options.directory);
  EXPECT_TRUE(entries.ok());
  for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

std::vector<std::string> HintsRig::files(const std::string& suffix) {
  std::vector<std::string> names = files();
  std::erase_if(names, [&](const std::string& name) { return !name.ends_with(suffix); });
  return names;
}

std::vector<std::string> HintsRig::hints_in(const std::string& name) {
  auto file = disk().open(path(name));
  EXPECT_TRUE(file.ok());
  auto reader = HintsFileReader::open(std::move(*file));
  EXPECT_TRUE(reader.ok());
  std::vector<std::string> out;
  HintsFileReader::Hint hint;
  for (auto more = (*reader)->next(hint); more.ok() && *more; more = (*reader)->next(hint)) {
    // Created, and the three bytes of ten days.
    out.emplace_back(hint.encoded.substr(8 + 3));
  }
  return out;
}

Bytes HintsRig::read_file(const std::string& name) {
  auto file = disk().open(path(name));
  EXPECT_TRUE(file.ok());
  Bytes out((*file)->size(), '\0');
  EXPECT_TRUE((*file)->read(0, out).ok());
  return out;
}

void HintsRig::write_file(const std::string& name, BytesView content) {
  EXPECT_TRUE(disk().make_directories(options.directory).ok());
  EXPECT_TRUE(disk().remove(path(name)).ok());
  auto file = disk().create(path(name));
  EXPECT_TRUE(file.ok());
  EXPECT_TRUE((*file)->append(content).ok());
}

}  // namespace cassandra_like::hints_test
