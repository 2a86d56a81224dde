// Remainders by a number that is known late and used often: two multiplications in place of a division (Granlund and
// Montgomery, "Division by Invariant Integers using Multiplication").
#pragma once

#include <bit>
#include <cstdint>

namespace cassandra_like {

class Divisor {
 public:
  Divisor() = default;
  // From 1 to 2^62.
  explicit Divisor(uint64_t divisor)
      : divisor_(divisor),
        shift_(63 + std::bit_width(divisor - 1)),
        factor_(static_cast<uint64_t>(((Wide{1} << shift_) - 1) / divisor + 1)) {}

  // dividend: up to 2^63.
  uint64_t remainder(uint64_t dividend) const {
    return dividend - static_cast<uint64_t>(Wide{dividend} * factor_ >> shift_) * divisor_;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  uint64_t divisor_ = 1;
  int shift_ = 63;
  uint64_t factor_ = uint64_t{1} << 63;
};

}  // namespace cassandra_like
