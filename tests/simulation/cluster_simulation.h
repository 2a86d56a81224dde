// One simulated life of a cluster and its clients, drawn from a seed: nodes join one after the other, then rounds of load under
// faults, of healing, and of checks. Safety is judged all the time; progress and what has to hold in the end, after the faults.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/simulation.h"

namespace cassandra_like {

// Bugs that have to be found, each by the checker that it is made for.
enum class Plant : uint8_t {
  kNone,
  kWeakReads,        // registers are read at ONE: reads go back
  kWeakWrites,       // registers are written and read at ONE: acknowledged writes are lost
  kEarlySync,        // nodes acknowledge before they sync, and power cuts come: acknowledged writes are lost
  kEarlyPurge,       // gc_grace_seconds is 0: deleted rows come back
  kRetriedCounters,  // additions that time out are sent again: sums grow too large
  kSplitBatches,     // the rows of a batch are written one by one, now and then not all: batches stay half
  kNoHints,          // replicas never get what they missed
  kLeftOut,          // one node stays alone after the healing: no progress
  kLostSchema,       // and the others make a table: no common schema
};

// The names for the command line, in the order of Plant.
const std::vector<std::string>& plant_names();

struct ClusterSimulationOptions {
  uint64_t seed = 1;
  unsigned nodes = 3;  // 3 to 7
  int rounds = 2;
  Plant plant = Plant::kNone;
  bool verbose = false;
};

SimulationResult run_cluster_simulation(const ClusterSimulationOptions& options);

}  // namespace cassandra_like
