// Phi accrual failure detection (gms.FailureDetector): how unlikely a node's silence is, given how its heartbeats used to
// come. Pure: times are arguments, in nanoseconds of the monotonic clock.
//
// phi is silence divided by the mean of the last 1000 intervals between heartbeats. An interval above max_interval does not
// enter the mean, so that a long partition does not make the detector patient. A node is convicted when phi, times
// 1/ln 10, exceeds phi_convict_threshold.
//
// A process that paused for more than max_local_pause convicts nobody for as long again: others' heartbeats may wait unread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "messaging/wire/endpoint_codec.h"

namespace cassandra_like {

class FailureDetector {
 public:
  struct Config {
    double phi_convict_threshold = 8;
    int64_t initial_value = 2'000'000'000;  // the first interval of a node
    int64_t max_interval = 2'000'000'000;
    int64_t max_local_pause = 5'000'000'000;
  };
  // Intervals that a mean is made of.
  static constexpr size_t kSamples = 1000;

  FailureDetector(Config config, int64_t now) : config_(config), last_interpreted_(now) {}

  // A heartbeat came.
  void report(const InetAddressAndPort& endpoint, int64_t now);
  // phi when the node has to be convicted now, nothing otherwise. A node that was never reported is not judged.
  std::optional<double> interpret(const InetAddressAndPort& endpoint, int64_t now);
  void remove(const InetAddressAndPort& endpoint) { windows_.erase(endpoint); }
  bool knows(const InetAddressAndPort& endpoint) const { return windows_.contains(endpoint); }

  double phi_convict_threshold() const { return config_.phi_convict_threshold; }
  void set_phi_convict_threshold(double threshold) { config_.phi_convict_threshold = threshold; }
  // Each node's phi at its last interpretation, on the scale of phi_convict_threshold; for `nodetool failuredetector`.
  std::map<InetAddressAndPort, double> phi_values() const;
  // Nanoseconds; zero for a node that was never reported.
  double mean_interval(const InetAddressAndPort& endpoint) const;

 private:
  struct ArrivalWindow {
    std::vector<int64_t> intervals;  // a ring of kSamples
    size_t next = 0;
    int64_t sum = 0;
    int64_t last = 0;
    std::optional<double> reported_phi;

    void add(int64_t interval);
    double mean() const { return static_cast<double>(sum) / static_cast<double>(intervals.size()); }
  };

  Config config_;
  std::map<InetAddressAndPort, ArrivalWindow> windows_;
  int64_t last_interpreted_;
  std::optional<int64_t> last_pause_;
};

}  // namespace cassandra_like
