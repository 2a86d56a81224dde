// One run of a simulation: its world, what is drawn from it, what is told of it, and how it failed.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "runtime/sim/sim_runtime.h"

namespace cassandra_like {

class Story {
 public:
  Story(uint64_t seed, bool verbose) : world_(SimWorld::create(seed)), verbose_(verbose) {}

  SimWorld& world() { return *world_; }
  int64_t now() { return world_->clock().monotonic_nanos(); }
  uint64_t random(uint64_t bound) { return world_->random().below(bound); }
  bool chance(uint64_t percent) { return random(100) < percent; }
  // Both included.
  Duration between(Duration least, Duration most) {
    return least + Duration(static_cast<int64_t>(random(static_cast<uint64_t>((most - least).count()) + 1)));
  }
  std::string pick(const std::vector<std::string>& choices) { return choices[random(choices.size())]; }

  void say(const std::string& text) {
    if (verbose_) fmt::print(stderr, "[{:>10.3f} s] {}\n", static_cast<double>(now()) / 1e9, text);
  }
  // The first one stands.
  void fail(const std::string& what) {
    if (!failure_.empty()) return;
    failure_ = what;
    say("FAILURE: " + what);
  }
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

 private:
  std::unique_ptr<SimWorld> world_;
  bool verbose_;
  std::string failure_;
};

}  // namespace cassandra_like
