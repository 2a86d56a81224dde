#include "tests/simulation/nemesis.h"

#include <algorithm>

namespace cassandra_like {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr const char* kNames[] = {"partitions", "slow links", "pauses",     "kills", "power cuts",
                                  "stops",      "clocks",     "slow disks", "resets"};
constexpr Duration kMaxClockJump = seconds(10);
}  // namespace

Nemesis::Nemesis(Story& story, std::vector<SimulatedNode*> nodes, NemesisOptions options)
    : story_(story), nodes_(std::move(nodes)), options_(options) {
  for (unsigned kind = 0; kind < kKinds; ++kind) {
    if (!story_.chance(40)) continue;
    if (kind == kPowerCut && !options.may_cut_power) continue;
    if (kind == kClock && !options.may_shift_clocks) continue;
    kinds_.push_back(static_cast<Kind>(kind));
  }
  if (options.only_power_cuts_of_all) kinds_ = {kPowerCut};
  if (kinds_.empty()) kinds_.push_back(kPartition);
}

std::string Nemesis::description() const {
  std::string out;
  for (Kind kind : kinds_) out += (out.empty() ? "" : ", ") + std::string(kNames[kind]);
  return out;
}

// Shorter than a timeout, longer than one, or longer than it takes to notice that a node is down.
Duration Nemesis::a_while() {
  switch (story_.random(3)) {
    case 0:
      return story_.between(milliseconds(20), milliseconds(900));
    case 1:
      return story_.between(seconds(1), seconds(8));
    default:
      return story_.between(seconds(8), seconds(40));
  }
}

void Nemesis::later(Duration delay, absl::AnyInvocable<void()> what) {
  mends_.emplace(story_.now() + delay.count(), std::move(what));
}

void Nemesis::act() {
  for (SimulatedNode* node : nodes_) tend(*node);
  while (!mends_.empty() && mends_.begin()->first <= story_.now()) {
    auto mend = std::move(mends_.begin()->second);
    mends_.erase(mends_.begin());
    mend();
  }
  if (story_.now() < next_fault_) return;
  if (next_fault_ != 0) fault(kinds_[story_.random(kinds_.size())]);
  next_fault_ = story_.now() + story_.between(milliseconds(100), seconds(6)).count();
}

// A node that is down comes back after a while; after a failed start, soon.
void Nemesis::tend(SimulatedNode& node) {
  node.tend();
  if (node.is_up() && node.wants_to_stop()) node.kill();
  if (node.state() != SimulatedNode::State::kDown) return;
  auto [it, is_fresh] = start_at_.try_emplace(&node, 0);
  if (is_fresh) it->second = story_.now() + (node.start_error().empty() ? a_while() : Duration(seconds(1))).count();
  if (story_.now() < it->second) return;
  forget(node);
  node.start();
}

void Nemesis::start_nodes() {
  for (SimulatedNode* node : nodes_) {
    if (node->start_error().empty()) start_at_[node] = 0;
    tend(*node);
    if (node->is_up()) forget(*node);
  }
}

void Nemesis::heal() {
  story_.say("all is mended");
  mends_.clear();
  start_at_.clear();
  next_fault_ = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (size_t j = 0; j < nodes_.size(); ++j) {
      if (i != j) story_.world().set_link(nodes_[i]->machine(), nodes_[j]->machine(), {});
    }
    nodes_[i]->machine().resume();
    nodes_[i]->machine().faults() = SimFaults();
  }
  start_nodes();
}

void Nemesis::fault(Kind kind) {
  switch (kind) {
    case kPartition:
      return partition();
    case kSlowLinks:
      return slow_links();
    case kPause: {
      SimulatedNode& node = any_node();
      story_.say("pause of node " + node.address());
      node.machine().pause();
      return later(a_while(), [this, &node] {
        story_.say("node " + node.address() + " goes on");
        node.machine().resume();
      });
    }
    case kClock:
      return shift_clock();
    case kDisk:
      return slow_disk();
    case kResets: {
      SimulatedNode& node = any_node();
      story_.say("resets of connections of node " + node.address());
      node.machine().faults().reset_ppm = 20'000;
      return later(a_while(), [&node] { node.machine().faults().reset_ppm = 0; });
    }
    default:
      return end_a_life(kind);
  }
}

void Nemesis::set_link(size_t from, size_t to, const SimLink& link) {
  story_.world().set_link(nodes_[from]->machine(), nodes_[to]->machine(), link);
  later(a_while(), [this, from, to] {
    story_.say(fmt::format("the link {} -> {} is mended", from + 1, to + 1));
    story_.world().set_link(nodes_[from]->machine(), nodes_[to]->machine(), {});
  });
}

// One node or several from the rest, in both directions or one, silently or not; mended link by link or at once.
void Nemesis::partition() {
  std::vector<bool> is_inside(nodes_.size());
  const bool alone = story_.chance(60);
  if (alone) is_inside[story_.random(nodes_.size())] = true;
  for (size_t i = 0; !alone && i < nodes_.size(); ++i) is_inside[i] = story_.chance(50);
  const uint64_t directions = story_.random(4);  // out of it, into it, both
  const SimLink link{.cut = story_.chance(70) ? SimLink::Cut::kSilent : SimLink::Cut::kReset};
  std::string text;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (size_t j = 0; j < nodes_.size(); ++j) {
      if (i == j || is_inside[i] == is_inside[j]) continue;
      if (directions == (is_inside[i] ? 1u : 0u)) continue;
      text += fmt::format(" {}->{}", i + 1, j + 1);
      set_link(i, j, link);
    }
  }
  story_.say(fmt::format("{} cut of{}", link.cut == SimLink::Cut::kSilent ? "silent" : "resetting", text));
}

void Nemesis::slow_links() {
  SimLink link;
  if (story_.chance(60)) link.delay = story_.between(milliseconds(10), milliseconds(1500));
  if (story_.chance(30)) link.bytes_per_second = 20'000 + story_.random(1'000'000);
  if (story_.chance(40)) link.loss_ppm = static_cast<uint32_t>(story_.random(200'000));
  const size_t node = story_.random(nodes_.size());
  story_.say(fmt::format("slow links from node {}", node + 1));
  for (size_t other = 0; other < nodes_.size(); ++other) {
    if (other != node && story_.chance(70)) set_link(node, other, link);
  }
}

void Nemesis::end_a_life(Kind kind) {
  const bool all = options_.only_power_cuts_of_all || story_.chance(10);
  const size_t at_once = all ? nodes_.size() : 1 + story_.random(2);
  for (size_t i = 0; i < at_once; ++i) {
    SimulatedNode& node = all ? *nodes_[i] : any_node();
    if (kind == kStop) {
      if (node.is_up() && !node.machine().is_paused()) node.stop();
    } else {
      kind == kKill ? node.kill() : node.cut_power();
    }
  }
}

void Nemesis::shift_clock() {
  SimulatedNode& node = any_node();
  const Duration by = story_.between(-kMaxClockJump, kMaxClockJump) / (story_.chance(50) ? 1 : 100);
  story_.say(fmt::format("the clock of node {} jumps by {} ms", node.address(), by.count() / 1'000'000));
  node.machine().shift_wall_clock(by);
}

void Nemesis::slow_disk() {
  SimulatedNode& node = any_node();
  story_.say("slow disk of node " + node.address());
  node.machine().faults().max_sync_delay = story_.between(milliseconds(50), seconds(3));
  node.machine().faults().max_io_delay = milliseconds(story_.chance(50) ? 10 : 0);
  node.machine().faults().read_miss_ppm = 500'000;
  node.machine().faults().max_read_delay = story_.between(milliseconds(10), seconds(1));
  later(a_while(), [&node] {
    node.machine().faults().max_sync_delay = SimFaults().max_sync_delay;
    node.machine().faults().max_io_delay = SimFaults().max_io_delay;
    node.machine().faults().read_miss_ppm = SimFaults().read_miss_ppm;
    node.machine().faults().max_read_delay = SimFaults().max_read_delay;
  });
}

}  // namespace cassandra_like
