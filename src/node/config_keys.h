// The names that cassandra.yaml may hold, whether this node uses them or not.
#pragma once

#include <span>
#include <string_view>

namespace cassandra_like {

// The meaning of a negative number under an old name.
enum class Negative { kAsIs, kUnset, kZero };

// A key of Cassandra 3.x or 4.0 that still works: its bare number gets `unit` and is read as `new_name`.
// Units beside those of the values: "megabits" (a second), "keyspaces" and "tables" (a count that includes the
// system's).
struct ReplacedKey {
  std::string_view old_name;
  std::string_view new_name;
  std::string_view unit;
  Negative negative;
};

bool is_cassandra_key(std::string_view name);
// Whether the value of a key that is read changes anything. The other keys are checked and shown, and the log names
// them.
bool has_effect(std::string_view name);
const ReplacedKey* find_replaced_key(std::string_view old_name);

std::span<const std::string_view> cassandra_keys();
std::span<const ReplacedKey> replaced_keys();

}  // namespace cassandra_like
