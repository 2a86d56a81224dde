// How near other nodes are (IEndpointSnitch.sortedByProximity, DynamicEndpointSnitch): this node first, then its rack, its
// datacenter, the rest; within these, and between them when the badness threshold says so, by their latencies of late.
#pragma once

#include <span>

#include "absl/container/flat_hash_map.h"
#include "coordinator/context/options.h"
#include "messaging/wire/endpoint_codec.h"
#include "ring/topology.h"

namespace cassandra_like {

class Proximity {
 public:
  Proximity(const CoordinatorOptions& options, Clock& clock) : options_(options), clock_(clock) {}

  // A read was answered by the node, or was not until its timeout.
  void answered(const InetAddressAndPort& from, int64_t micros);
  // Sorts endpoints of the topology, the nearest first. addresses: those of the topology, by index.
  void sort(const Topology& topology, std::span<const InetAddressAndPort> addresses,
            std::span<EndpointIndex> endpoints);

 private:
  const CoordinatorOptions& options_;
  Clock& clock_;
};

}  // namespace cassandra_like
