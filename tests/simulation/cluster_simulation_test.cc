// A few seeds of a cluster, and for each checker bugs that it has to find.
#include "tests/simulation/cluster_simulation.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace cassandra_like {
namespace {

SimulationResult run(uint64_t seed, Plant plant, unsigned nodes = 3) {
  set_log_sink([](const LogRecord&) {});
  ClusterSimulationOptions options;
  options.seed = seed;
  options.nodes = nodes;
  options.rounds = 1;
  options.plant = plant;
  return run_cluster_simulation(options);
}

TEST(ClusterSimulation, OneSeedIsOneHistory) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const SimulationResult one = run(seed, Plant::kNone), again = run(seed, Plant::kNone);
    EXPECT_EQ(one.failure, "");
    EXPECT_EQ(one.trace_hash, again.trace_hash);
    EXPECT_EQ(one.steps, again.steps);
  }
}

TEST(ClusterSimulation, MoreNodesThanReplicas) { EXPECT_EQ(run(1, Plant::kNone, 5).failure, ""); }

struct Planted {
  Plant plant;
  std::vector<std::string> words;  // of what the checker says, any of them
};

class PlantedBugs : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBugs, AreFound) {
  constexpr uint64_t kSeeds = 40;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string failure = run(seed, GetParam().plant).failure;
    for (const std::string& words : GetParam().words) {
      if (failure.find(words) != std::string::npos) return;
    }
    EXPECT_EQ(failure, "") << "in seed " << seed;
  }
  ADD_FAILURE() << "not found in " << kSeeds << " seeds";
}

std::string plant_name(const testing::TestParamInfo<Planted>& info) {
  std::string name = plant_names()[static_cast<size_t>(info.param.plant)];
  std::erase(name, '-');
  return name;
}

const std::vector<std::string> kRegisters = {"key "};
INSTANTIATE_TEST_SUITE_P(
    All, PlantedBugs,
    testing::Values(Planted{Plant::kWeakReads, kRegisters}, Planted{Plant::kWeakWrites, kRegisters},
                    Planted{Plant::kEarlySync, {"key ", "counter ", "batch ", "was acknowledged"}},
                    Planted{Plant::kEarlyPurge, kRegisters}, Planted{Plant::kRetriedCounters, {"was tried"}},
                    Planted{Plant::kSplitBatches, {"of its 3 rows"}}, Planted{Plant::kNoHints, {"never got it"}},
                    Planted{Plant::kLeftOut, {"after the faults are gone", "schema version", "does not have it"}},
                    Planted{Plant::kLostSchema, {"schema version", "does not have it"}}),
    plant_name);

}  // namespace
}  // namespace cassandra_like
