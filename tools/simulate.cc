// The simulator: simulate --seed N [--runs K]. Runs K seeds from N on; prints the seed of a failure and exits 1.
#include <CLI/CLI.hpp>
#include <cstdio>

#include <fmt/format.h>

#include "base/log.h"
#include "tests/simulation/simulation.h"

using namespace cassandra_like;

int main(int argc, char** argv) {
  CLI::App app{"Runs whole nodes with clients, crashes and faults in a simulated world.", "simulate"};
  SimulationOptions options;
  uint64_t runs = 1;
  bool log_lines = false;
  app.add_option("--seed", options.seed, "The first seed");
  app.add_option("--runs", runs, "How many seeds to run");
  app.add_option("--rounds", options.rounds, "Lives of the node in each run");
  app.add_flag("--plant-early-acknowledgement", options.plant_early_acknowledgement,
               "Let the node acknowledge before it syncs, in what the checker takes for batch mode");
  app.add_flag("-v,--verbose", options.verbose, "Tell the story of each run");
  app.add_flag("--log", log_lines, "Show the node's log");
  CLI11_PARSE(app, argc, argv);
  if (!log_lines) set_log_sink([](const LogRecord&) {});

  uint64_t first = options.seed, acknowledged = 0, restarts = 0, truncations = 0, failed = 0;
  for (uint64_t i = 0; i < runs; ++i) {
    options.seed = first + i;
    SimulationResult result = run_simulation(options);
    acknowledged += result.acknowledged;
    restarts += result.restarts;
    truncations += result.truncations;
    // The first seed shows each time that a seed is a whole run: the same steps, the same trace.
    if (i == 0 && result.failure.empty()) {
      SimulationResult again = run_simulation(options);
      if (again.trace_hash != result.trace_hash || again.steps != result.steps) {
        result.failure = fmt::format("not deterministic: trace {:016x} after {} steps, then {:016x} after {}",
                                     result.trace_hash, result.steps, again.trace_hash, again.steps);
      }
    }
    if (options.verbose || runs == 1 || !result.failure.empty()) {
      fmt::print("seed {}: {} ({}; {} steps, trace {:016x}, {} writes acknowledged, {} starts)\n", options.seed,
                 result.failure.empty() ? "ok" : result.failure, result.description, result.steps, result.trace_hash,
                 result.acknowledged, result.restarts);
    }
    if (!result.failure.empty()) {
      ++failed;
      fmt::print("replay it with: simulate --seed {} --rounds {}{} -v --log\n", options.seed, options.rounds,
                 options.plant_early_acknowledgement ? " --plant-early-acknowledgement" : "");
      if (options.plant_early_acknowledgement) break;
    }
  }
  fmt::print("{} seeds, {} writes and {} truncations acknowledged, {} starts of a node\n", runs, acknowledged,
             truncations, restarts);
  fmt::print("{} passed, {} failed, 0 skipped\n", runs - failed, failed);
  return failed == 0 ? 0 : 1;
}
