#include "tests/fuzz/fuzz_target.h"

namespace cassandra_like {

std::vector<FuzzTarget>& fuzz_targets() {
  static std::vector<FuzzTarget> targets;
  return targets;
}

}  // namespace cassandra_like
