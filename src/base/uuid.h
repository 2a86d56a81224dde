// 128-bit UUIDs, as CQL's uuid and timeuuid, table ids, host ids.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace cassandra_like {

struct Uuid {
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const Uuid&) const = default;
  BytesView view() const { return BytesView(reinterpret_cast<const char*>(bytes.data()), 16); }
  int version() const { return bytes[6] >> 4; }
  bool is_nil() const { return *this == Uuid{}; }
  // 100 ns units since 1582-10-15; only of version 1.
  uint64_t raw_timestamp() const;
  // Milliseconds and microseconds since 1970; only of version 1.
  int64_t unix_millis() const;
  int64_t unix_micros() const;
  std::string to_string() const;

  static Uuid from_bytes(BytesView sixteen);                // sixteen.size() must be 16
  static std::optional<Uuid> parse(std::string_view text);  // 8-4-4-4-12 hex digits, any case
  static Uuid random(uint64_t high, uint64_t low);          // version 4 out of 128 random bits
  // Version 1. clock_and_node is taken as it is: the caller sets its variant bits.
  static Uuid time_based(uint64_t raw_timestamp, uint64_t clock_and_node);
  static Uuid name_based(BytesView name);  // version 3: MD5, as java.util.UUID.nameUUIDFromBytes
};

// 1582-10-15 to 1970-01-01 in 100 ns units.
inline constexpr uint64_t kUuidEpochOffset = 0x01B21DD213814000ULL;

}  // namespace cassandra_like
