// A machine of a simulated cluster, and the lives of the node on it.
#pragma once

#include <memory>
#include <string>

#include "node/cluster_node.h"
#include "tests/simulation/story.h"

namespace cassandra_like {

struct SimulatedNodeOptions {
  std::string address;
  std::string seeds;           // addresses with commas
  std::string commitlog_sync;  // batch, group or periodic
  std::string sync_period = "200ms";
  unsigned shards = 1;
  uint64_t memtable_kib = 1024;
  bool automatic_compaction = false;
  bool auto_bootstrap = false;
  bool two_data_directories = false;
  std::string more;  // lines of cassandra.yaml
};

class SimulatedNode {
 public:
  enum class State : uint8_t { kDown, kStarting, kUp, kStopping };

  SimulatedNode(Story& story, SimulatedNodeOptions options);
  ~SimulatedNode();

  // From kDown. It becomes kUp, or kDown with start_error().
  void start();
  // A clean stop, from kUp. It becomes kDown.
  void stop();
  void kill();
  void cut_power();
  // Called between steps of the world: a node that has stopped, or failed to start, becomes kDown.
  void tend();

  const std::string& address() const { return options_.address; }
  SimMachine& machine() { return machine_; }
  State state() const { return state_; }
  bool is_up() const { return state_ == State::kUp; }
  // Count starts, and power cuts.
  uint64_t life() const { return life_; }
  uint64_t power_cuts() const { return power_cuts_; }
  const std::string& start_error() const { return start_error_; }
  // A failure policy asked the node to end.
  bool wants_to_stop() const { return wants_to_stop_; }

 private:
  static Task<void> start_task(SimulatedNode* self, Runtime* runtime);
  static Task<void> stop_task(SimulatedNode* self);
  Config make_config() const;
  void end_life(const char* how);

  Story& story_;
  const SimulatedNodeOptions options_;
  SimMachine& machine_;
  Runtime* runtime_ = nullptr;  // of this life
  std::unique_ptr<ClusterNode> node_;
  State state_ = State::kDown;
  uint64_t life_ = 0, power_cuts_ = 0;
  std::string start_error_;
  bool wants_to_stop_ = false;
  bool has_ended_ = false;  // by itself; its machine goes down when the callback is over
};

}  // namespace cassandra_like
