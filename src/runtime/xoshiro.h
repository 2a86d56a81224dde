// xoshiro256**: a small, fast generator with 2^256 - 1 states. Not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace cassandra_like {

class Xoshiro {
 public:
  // Expands one seed into the state, as the generator's authors advise (splitmix64).
  explicit Xoshiro(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15ULL;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
      word = z ^ (z >> 31);
    }
  }

  uint64_t next() {
    uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace cassandra_like
