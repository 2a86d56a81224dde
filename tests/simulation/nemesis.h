// Draws faults for a cluster and mends them: links that are cut, slow or lossy, machines that pause, die, lose power, stop and
// start, clocks that jump, slow disks. A run has a few of these kinds, and each fault ends after a while of its own.
#pragma once

#include <map>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "tests/simulation/simulated_node.h"

namespace cassandra_like {

struct NemesisOptions {
  bool may_cut_power = true;  // acknowledged writes are on the disk
  bool only_power_cuts_of_all = false;
  bool may_shift_clocks = true;  // nodes do not compare their clocks with their peers'
};

class Nemesis {
 public:
  Nemesis(Story& story, std::vector<SimulatedNode*> nodes, NemesisOptions options);

  // Called between steps of the world, often: does what is due.
  void act();
  // No more faults: all is mended at once, and nodes that are down are started.
  void heal();
  // Starts what is down; called while the cluster comes to rest.
  void start_nodes();
  std::string description() const;

 private:
  enum Kind : unsigned { kPartition, kSlowLinks, kPause, kKill, kPowerCut, kStop, kClock, kDisk, kResets, kKinds };

  void fault(Kind kind);
  void partition();
  void slow_links();
  void end_a_life(Kind kind);
  void shift_clock();
  void slow_disk();
  void set_link(size_t from, size_t to, const SimLink& link);
  void tend(SimulatedNode& node);
  SimulatedNode& any_node() { return *nodes_[story_.random(nodes_.size())]; }
  Duration a_while();
  void later(Duration delay, absl::AnyInvocable<void()> what);
  void forget(const SimulatedNode& node) { start_at_.erase(&node); }

  Story& story_;
  const std::vector<SimulatedNode*> nodes_;
  const NemesisOptions options_;
  std::vector<Kind> kinds_;  // of this run
  int64_t next_fault_ = 0;
  std::multimap<int64_t, absl::AnyInvocable<void()>> mends_;
  std::map<const SimulatedNode*, int64_t> start_at_;  // of nodes that are down; looked up only
};

}  // namespace cassandra_like
