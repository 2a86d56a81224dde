// How near other nodes are (IEndpointSnitch.sortedByProximity, DynamicEndpointSnitch): this node first, then its rack, its
// datacenter, the rest. Nodes that are equally near keep the order that they are given in.
//
// With dynamic_snitch, latencies of late change that order. A node's score is the median of its latencies divided by the
// worst median of all nodes: 0 is best. When a node that comes earlier in the order of the racks has a score that is worse
// than the best possible one at its place by the badness threshold, all are sorted by score. Scores are computed once in an
// update interval; samples are forgotten once in a reset interval, so that a node which is avoided is tried again.
//
// Latencies are in milliseconds, as Cassandra's are: differences below one do not matter.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coordinator/context/options.h"
#include "messaging/wire/endpoint_codec.h"
#include "ring/topology.h"

namespace cassandra_like {

class Proximity {
 public:
  // Both outlive it.
  Proximity(const CoordinatorOptions& options, Clock& clock) : options_(options), clock_(clock) {}

  // A read was answered by the node, or was not until its timeout.
  void answered(const InetAddressAndPort& from, int64_t micros);
  // Sorts endpoints of the topology, the nearest first. addresses: those of the topology, by index. Does not allocate while
  // the ring stays the same.
  void sort(const Topology& topology, std::span<const InetAddressAndPort> addresses,
            std::span<EndpointIndex> endpoints);
  // 0 is best; also of a node that has not been heard of.
  double score(const InetAddressAndPort& endpoint) const;

 private:
  static constexpr size_t kBuckets = 64;
  // Weights of the latencies by magnitude. A weight halves in about a second, so that the newest ones tell.
  struct Samples {
    std::array<float, kBuckets> weights{};
    float total = 0;
    double score = 0;
  };

  static size_t bucket_of(int64_t millis);
  static double millis_of(size_t bucket);
  static double median(const Samples& samples);
  void use(const Topology& topology, std::span<const InetAddressAndPort> addresses);
  void update_scores();
  void sort_by_score(std::span<EndpointIndex> endpoints) const;
  double score_at(EndpointIndex endpoint) const {
    return samples_of_[endpoint] == nullptr ? 0 : samples_of_[endpoint]->score;
  }

  const CoordinatorOptions& options_;
  Clock& clock_;
  absl::flat_hash_map<InetAddressAndPort, std::unique_ptr<Samples>> samples_;
  bool has_scores_ = false;  // one of them is not 0
  int64_t updated_at_ = 0, reset_at_ = 0;

  // The facts of the ring that was sorted last, by index.
  std::shared_ptr<const TokenRing> ring_;
  std::vector<uint8_t> distance_;
  std::vector<const Samples*> samples_of_;
};

}  // namespace cassandra_like
