// Runs each seed in a process of its own: the memory that a run leaves behind (frames of coroutines that were abandoned with
// their node) goes with it, and a broken CHECK fails one seed, not all.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/simulation/simulation.h"

namespace cassandra_like {

// run(i) for i below `count`, at most `jobs` at once; done(i, result) in the order of i.
void run_in_processes(uint64_t count, unsigned jobs, const std::function<SimulationResult(uint64_t)>& run,
                      const std::function<void(uint64_t, SimulationResult)>& done);

}  // namespace cassandra_like
