// bcrypt ($2a$, $2b$, $2y$) in steps. A check is meant to take tens of milliseconds, which a shard's loop cannot spare in
// one piece: the caller runs some rounds, lets others run, and goes on.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cassandra_like {

class BcryptCheck {
 public:
  // nullopt when hash is no bcrypt hash.
  static std::optional<BcryptCheck> begin(std::string_view password, std::string_view hash);
  // Computes tables that are the same for all, once; later calls cost nothing.
  static void warm_up();

  // Runs up to `rounds` of the 2^cost rounds (about 50 µs each); true when the check is complete.
  bool step(uint32_t rounds);
  bool matches() const { return matches_; }

 private:
  struct Blowfish {
    std::array<uint32_t, 18> p;
    std::array<uint32_t, 1024> s;  // four boxes of 256
    void encrypt(uint32_t& left, uint32_t& right) const;
    void expand(const std::array<uint32_t, 18>& key, const std::array<uint32_t, 4>& salt);
  };
  static const Blowfish& initial_state();
  std::string digest() const;

  std::array<uint32_t, 18> key_{};
  std::array<uint32_t, 18> salt_as_key_{};
  std::array<uint32_t, 4> salt_{};
  std::string expected_;
  uint64_t rounds_left_ = 0;
  bool matches_ = false;
  std::unique_ptr<Blowfish> state_;
};

}  // namespace cassandra_like
