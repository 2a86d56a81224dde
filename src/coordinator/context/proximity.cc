#include "coordinator/context/proximity.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/container/inlined_vector.h"

namespace cassandra_like {
namespace {

// Cassandra's ExponentiallyDecayingReservoir weighs by e^(0.75 t), t in seconds.
constexpr double kDecayOfSecond = 0.75;
constexpr float kLeastWeight = 1e-6F;

uint8_t distance_of(const Endpoint& local, const Endpoint& endpoint) {
  if (endpoint.datacenter != local.datacenter) return 3;
  return endpoint.rack == local.rack ? 1 : 2;
}

}  // namespace

// Below 16 each millisecond is one, above there are four for each power of two.
size_t Proximity::bucket_of(int64_t millis) {
  const auto v = static_cast<uint64_t>(std::max<int64_t>(millis, 0));
  if (v < 16) return v;
  const auto width = static_cast<size_t>(std::bit_width(v));
  const size_t quarter = v >> (width - 3) & 3;
  return std::min(kBuckets - 1, 16 + (width - 5) * 4 + quarter);
}

double Proximity::millis_of(size_t bucket) {
  if (bucket < 16) return static_cast<double>(bucket);
  const size_t width = (bucket - 16) / 4 + 5, quarter = (bucket - 16) % 4;
  return static_cast<double>(uint64_t{4 + quarter} << (width - 3));
}

double Proximity::median(const Samples& samples) {
  float sum = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    sum += samples.weights[i];
    if (sum * 2 >= samples.total) return millis_of(i);
  }
  return millis_of(kBuckets - 1);
}

void Proximity::answered(const InetAddressAndPort& from, int64_t micros) {
  if (!options_.dynamic_snitch) return;
  std::unique_ptr<Samples>& samples = samples_[from];
  if (samples == nullptr) {
    samples = std::make_unique<Samples>();
    ring_.reset();  // it is not in samples_of_
  }
  samples->weights[bucket_of(micros / 1000)] += 1;
  samples->total += 1;
}

double Proximity::score(const InetAddressAndPort& endpoint) const {
  const auto it = samples_.find(endpoint);
  return it == samples_.end() ? 0 : it->second->score;
}

void Proximity::use(const Topology& topology, std::span<const InetAddressAndPort> addresses) {
  ring_ = topology.ring();
  const size_t count = ring_->endpoints().size();
  distance_.resize(count);
  samples_of_.assign(count, nullptr);
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<EndpointIndex>(i);
    distance_[i] = index == ring_->local() ? 0 : distance_of(topology.local(), ring_->endpoint(index));
    if (i >= addresses.size()) continue;
    const auto it = samples_.find(addresses[i]);
    if (it != samples_.end()) samples_of_[i] = it->second.get();
  }
}

void Proximity::update_scores() {
  const int64_t now = clock_.monotonic_nanos();
  if (now - updated_at_ < options_.dynamic_snitch_update.count()) return;
  const double seconds = updated_at_ == 0 ? 0 : static_cast<double>(now - updated_at_) / 1e9;
  updated_at_ = now;
  if (reset_at_ == 0) reset_at_ = now;
  has_scores_ = false;
  if (now - reset_at_ >= options_.dynamic_snitch_reset.count()) {
    reset_at_ = now;
    samples_.clear();
    std::fill(samples_of_.begin(), samples_of_.end(), nullptr);
    return;
  }
  const auto decay = static_cast<float>(std::exp(-kDecayOfSecond * seconds));
  double worst = 1;
  for (auto& [address, samples] : samples_) {
    samples->score = median(*samples);
    worst = std::max(worst, samples->score);
    // Where nothing comes, the latencies of then stay.
    if (samples->total * decay < kLeastWeight) continue;
    for (float& weight : samples->weights) weight *= decay;
    samples->total *= decay;
  }
  for (auto& [address, samples] : samples_) {
    samples->score /= worst;
    has_scores_ |= samples->score > 0;
  }
}

void Proximity::sort_by_score(std::span<EndpointIndex> endpoints) const {
  auto is_nearer = [this](EndpointIndex a, EndpointIndex b) {
    const double x = score_at(a), y = score_at(b);
    return x != y ? x < y : distance_[a] < distance_[b];
  };
  for (size_t i = 1; i < endpoints.size(); ++i) {
    for (size_t at = i; at > 0 && is_nearer(endpoints[at], endpoints[at - 1]); --at) {
      std::swap(endpoints[at], endpoints[at - 1]);
    }
  }
}

void Proximity::sort(const Topology& topology, std::span<const InetAddressAndPort> addresses,
                     std::span<EndpointIndex> endpoints) {
  if (endpoints.size() < 2) return;
  if (ring_ != topology.ring()) use(topology, addresses);
  // Few, and mostly in order.
  for (size_t i = 1; i < endpoints.size(); ++i) {
    for (size_t at = i; at > 0 && distance_[endpoints[at]] < distance_[endpoints[at - 1]]; --at) {
      std::swap(endpoints[at], endpoints[at - 1]);
    }
  }
  if (!options_.dynamic_snitch) return;
  update_scores();
  if (!has_scores_) return;
  if (options_.dynamic_snitch_badness == 0) return sort_by_score(endpoints);
  absl::InlinedVector<double, 16> best;
  for (EndpointIndex endpoint : endpoints) best.push_back(score_at(endpoint));
  std::sort(best.begin(), best.end());
  for (size_t i = 0; i < endpoints.size(); ++i) {
    if (score_at(endpoints[i]) > best[i] * (1 + options_.dynamic_snitch_badness)) return sort_by_score(endpoints);
  }
}

}  // namespace cassandra_like
