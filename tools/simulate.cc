// The simulator: simulate --seed N [--runs K] [--nodes M]. Runs K seeds from N on, each a life of one node or of a cluster of M;
// prints the seed of a failure and exits 1.
#include <CLI/CLI.hpp>
#include <cstdio>

#include <fmt/format.h>

#include "base/log.h"
#include "tests/simulation/cluster_simulation.h"
#include "tests/simulation/seed_processes.h"
#include "tests/simulation/simulation.h"

using namespace cassandra_like;

namespace {

struct Arguments {
  uint64_t seed = 1;
  uint64_t runs = 1;
  unsigned nodes = 1;
  unsigned jobs = 1;
  int rounds = 0;
  std::string plant = "none";
  bool plant_early_acknowledgement = false;
  bool verbose = false;
  bool log_lines = false;
};

SimulationResult run_seed(const Arguments& arguments, uint64_t seed) {
  if (arguments.nodes == 1) {
    SimulationOptions options;
    options.seed = seed;
    if (arguments.rounds != 0) options.rounds = arguments.rounds;
    options.plant_early_acknowledgement = arguments.plant_early_acknowledgement;
    options.verbose = arguments.verbose;
    return run_simulation(options);
  }
  ClusterSimulationOptions options;
  options.seed = seed;
  options.nodes = arguments.nodes;
  if (arguments.rounds != 0) options.rounds = arguments.rounds;
  const auto& plants = plant_names();
  options.plant = static_cast<Plant>(std::find(plants.begin(), plants.end(), arguments.plant) - plants.begin());
  options.verbose = arguments.verbose;
  return run_cluster_simulation(options);
}

// The first seed shows each time that a seed is a whole run: the same steps, the same trace.
SimulationResult run_index(const Arguments& arguments, uint64_t index) {
  SimulationResult result = run_seed(arguments, arguments.seed + index);
  if (index != 0 || !result.failure.empty()) return result;
  SimulationResult again = run_seed(arguments, arguments.seed);
  if (again.trace_hash != result.trace_hash || again.steps != result.steps) {
    result.failure = fmt::format("not deterministic: trace {:016x} after {} steps, then {:016x} after {}",
                                 result.trace_hash, result.steps, again.trace_hash, again.steps);
  }
  return result;
}

std::string replay(const Arguments& arguments, uint64_t seed) {
  std::string out = fmt::format("simulate --seed {}", seed);
  if (arguments.nodes != 1) out += fmt::format(" --nodes {}", arguments.nodes);
  if (arguments.rounds != 0) out += fmt::format(" --rounds {}", arguments.rounds);
  if (arguments.plant != "none") out += " --plant " + arguments.plant;
  if (arguments.plant_early_acknowledgement) out += " --plant-early-acknowledgement";
  return out + " -v --log";
}

struct Totals {
  uint64_t acknowledged = 0, restarts = 0, truncations = 0, failed = 0;
};

void tell(const Arguments& arguments, uint64_t index, const SimulationResult& result, Totals* totals) {
  totals->acknowledged += result.acknowledged;
  totals->restarts += result.restarts;
  totals->truncations += result.truncations;
  const uint64_t seed = arguments.seed + index;
  const bool has_failed = !result.failure.empty();
  if (arguments.verbose || arguments.runs == 1 || has_failed) {
    fmt::print("seed {}: {} ({}; {} steps, trace {:016x}, {} writes acknowledged, {} starts)\n", seed,
               has_failed ? result.failure : "ok", result.description, result.steps, result.trace_hash,
               result.acknowledged, result.restarts);
  }
  if (!has_failed) return;
  ++totals->failed;
  fmt::print("replay it with: {}\n", replay(arguments, seed));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs whole nodes with clients, crashes and faults in a simulated world.", "simulate"};
  Arguments arguments;
  app.add_option("--seed", arguments.seed, "The first seed");
  app.add_option("--runs", arguments.runs, "How many seeds to run");
  app.add_option("--nodes", arguments.nodes, "Nodes of the cluster, 3 to 7; 1: a node that is alone")
      ->check([](const std::string& text) {
        const bool is_good = text == "1" || (text.size() == 1 && text[0] >= '3' && text[0] <= '7');
        return is_good ? std::string() : std::string("write 1, or 3 to 7");
      });
  app.add_option("--jobs", arguments.jobs, "Seeds to run at once")->check(CLI::Range(1, 256));
  app.add_option("--rounds", arguments.rounds, "Rounds of load and checks in each run");
  app.add_option("--plant", arguments.plant, "A bug in a cluster's run that has to be found")
      ->check(CLI::IsMember(plant_names()));
  app.add_flag("--plant-early-acknowledgement", arguments.plant_early_acknowledgement,
               "Let the single node acknowledge before it syncs, in what the checker takes for batch mode");
  app.add_flag("-v,--verbose", arguments.verbose, "Tell the story of each run");
  app.add_flag("--log", arguments.log_lines, "Show the node's log");
  CLI11_PARSE(app, argc, argv);
  if (!arguments.log_lines) set_log_sink([](const LogRecord&) {});

  Totals totals;
  if (arguments.runs == 1) {
    tell(arguments, 0, run_index(arguments, 0), &totals);
  } else {
    run_in_processes(
        arguments.runs, arguments.jobs, [&](uint64_t index) { return run_index(arguments, index); },
        [&](uint64_t index, const SimulationResult& result) { tell(arguments, index, result, &totals); });
  }
  fmt::print("{} seeds, {} writes and {} truncations acknowledged, {} starts of a node\n", arguments.runs,
             totals.acknowledged, totals.truncations, totals.restarts);
  fmt::print("{} passed, {} failed, 0 skipped\n", arguments.runs - totals.failed, totals.failed);
  return totals.failed == 0 ? 0 : 1;
}
