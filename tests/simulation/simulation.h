// One simulated life of a node and its clients, drawn from a seed: load, faults, crashes, restarts, checks.
//
// Rounds alternate between load (clients write, delete, truncate and read while the disk and the network misbehave) and an end of
// the node's life (power cut, kill, clean stop); after each restart everything is read and judged by the Checker. Faults
// are off while the node starts and while everything is checked: safety is judged under faults, progress without them.
#pragma once

#include <cstdint>
#include <string>

namespace cassandra_like {

struct SimulationOptions {
  uint64_t seed = 1;
  int rounds = 6;
  // The node acknowledges before it syncs while the checker believes in batch mode: a bug that has to be found.
  bool plant_early_acknowledgement = false;
  bool verbose = false;
};

struct SimulationResult {
  std::string failure;  // empty: all was well
  uint64_t steps = 0;
  uint64_t trace_hash = 0;
  uint64_t acknowledged = 0;
  uint64_t restarts = 0;
  uint64_t truncations = 0;  // acknowledged
  std::string description;   // shards, commit log mode, …
};

SimulationResult run_simulation(const SimulationOptions& options);

}  // namespace cassandra_like
