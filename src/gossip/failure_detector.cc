#include "gossip/failure_detector.h"

#include <numbers>

#include "base/log.h"

namespace cassandra_like {
namespace {

// phi is told as a power of ten, as the first accrual detectors did: operators tuned their thresholds for that.
constexpr double kPhiFactor = 1.0 / std::numbers::ln10;

}  // namespace

void FailureDetector::ArrivalWindow::add(int64_t interval) {
  if (intervals.size() < kSamples) {
    intervals.push_back(interval);
  } else {
    sum -= intervals[next];
    intervals[next] = interval;
    next = (next + 1) % kSamples;
  }
  sum += interval;
}

void FailureDetector::report(const InetAddressAndPort& endpoint, int64_t now) {
  auto [found, is_first] = windows_.try_emplace(endpoint);
  ArrivalWindow& window = found->second;
  if (is_first) {
    window.add(config_.initial_value);
  } else if (now - window.last <= config_.max_interval) {
    window.add(now - window.last);
  }
  window.last = now;
}

std::optional<double> FailureDetector::interpret(const InetAddressAndPort& endpoint, int64_t now) {
  auto found = windows_.find(endpoint);
  if (found == windows_.end()) return std::nullopt;
  const int64_t pause = now - last_interpreted_;
  last_interpreted_ = now;
  if (pause > config_.max_local_pause) {
    LOG_WARN("Not marking nodes down due to local pause of {}ns > {}ns", pause, config_.max_local_pause);
    last_pause_ = now;
    return std::nullopt;
  }
  if (last_pause_ && now - *last_pause_ < config_.max_local_pause) {
    LOG_DEBUG("Still not marking nodes down due to local pause");
    return std::nullopt;
  }
  ArrivalWindow& window = found->second;
  const double phi = static_cast<double>(now - window.last) / window.mean();
  window.reported_phi = phi;
  if (kPhiFactor * phi <= config_.phi_convict_threshold) return std::nullopt;
  return phi;
}

std::map<InetAddressAndPort, double> FailureDetector::phi_values() const {
  std::map<InetAddressAndPort, double> out;
  for (const auto& [endpoint, window] : windows_) {
    if (window.reported_phi) out[endpoint] = *window.reported_phi * kPhiFactor;
  }
  return out;
}

double FailureDetector::mean_interval(const InetAddressAndPort& endpoint) const {
  auto found = windows_.find(endpoint);
  return found == windows_.end() ? 0 : found->second.mean();
}

}  // namespace cassandra_like
