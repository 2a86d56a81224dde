#include "coordinator/quorum/consistency.h"

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

bool is_datacenter_local(Consistency c) {
  return c == Consistency::kLocalOne || c == Consistency::kLocalQuorum || c == Consistency::kLocalSerial;
}

int block_for(Consistency c, const ReplicationStrategy& strategy, const std::string& local_datacenter) {
  switch (c) {
    case Consistency::kAny:
    case Consistency::kOne:
    case Consistency::kLocalOne:
    case Consistency::kNodeLocal:
      return 1;
    case Consistency::kTwo:
      return 2;
    case Consistency::kThree:
      return 3;
    case Consistency::kQuorum:
    case Consistency::kSerial:
      return strategy.replication_factor() / 2 + 1;
    case Consistency::kEachQuorum: {
      if (!strategy.is_network_topology()) return strategy.replication_factor() / 2 + 1;
      int sum = 0;
      for (const auto& [datacenter, factor] : strategy.datacenters()) sum += factor / 2 + 1;
      return sum;
    }
    case Consistency::kAll:
      return strategy.replication_factor();
    case Consistency::kLocalQuorum:
    case Consistency::kLocalSerial:
      return strategy.replication_factor(local_datacenter) / 2 + 1;
  }
  return 1;
}

std::string_view write_type_name(WriteType t) {
  constexpr std::string_view kTypes[] = {"SIMPLE",    "BATCH", "UNLOGGED_BATCH", "COUNTER",
                                         "BATCH_LOG", "CAS",   "VIEW",           "CDC"};
  return kTypes[static_cast<size_t>(t)];
}

}  // namespace cassandra_like
