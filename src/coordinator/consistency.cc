#include "coordinator/consistency.h"

#include <array>

namespace cassandra_like {
namespace {
constexpr std::array<std::string_view, 12> kNames = {"ANY",    "ONE",          "TWO",          "THREE",
                                                     "QUORUM", "ALL",          "LOCAL_QUORUM", "EACH_QUORUM",
                                                     "SERIAL", "LOCAL_SERIAL", "LOCAL_ONE",    "NODE_LOCAL"};
}

std::string_view consistency_name(Consistency c) { return kNames[static_cast<size_t>(c)]; }

std::optional<Consistency> parse_consistency(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Consistency>(i);
  }
  return std::nullopt;
}

std::string_view write_type_name(WriteType t) {
  constexpr std::string_view kTypes[] = {"SIMPLE",    "BATCH", "UNLOGGED_BATCH", "COUNTER",
                                         "BATCH_LOG", "CAS",   "VIEW",           "CDC"};
  return kTypes[static_cast<size_t>(t)];
}

}  // namespace cassandra_like
