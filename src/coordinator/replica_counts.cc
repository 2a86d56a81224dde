#include <algorithm>
#include <charconv>

#include "coordinator/coordinator.h"

namespace cassandra_like {
namespace {

// "3", or "3/1" of transient replication, whose full replicas are the difference.
int replication_factor(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

ReplicaCounts count_replicas(const ReplicationParams& replication, const std::string& data_center) {
  ReplicaCounts counts;
  std::string strategy = replication.short_class();
  if (strategy == "LocalStrategy") {
    counts.replication_factor = counts.local_replication_factor = 1;
  } else if (strategy == "NetworkTopologyStrategy") {
    counts.by_data_center = true;
    for (const auto& [name, factor] : replication.options) {
      if (name == "class") continue;
      counts.replication_factor += replication_factor(factor);
      if (name == data_center) counts.local_replication_factor = replication_factor(factor);
    }
  } else {
    auto it = replication.options.find("replication_factor");
    if (it != replication.options.end()) counts.replication_factor = replication_factor(it->second);
    counts.local_replication_factor = counts.replication_factor;
  }
  // The ring has one node: itself a replica wherever its data center has any.
  counts.local_alive = counts.alive = std::min(counts.local_replication_factor, 1);
  return counts;
}

int block_for(Consistency consistency, const ReplicaCounts& counts) {
  switch (consistency) {
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
    case Consistency::kEachQuorum:
      return counts.replication_factor / 2 + 1;
    case Consistency::kAll:
      return counts.replication_factor;
    case Consistency::kLocalQuorum:
    case Consistency::kLocalSerial:
      return counts.local_replication_factor / 2 + 1;
  }
  return 1;
}

}  // namespace cassandra_like
