// How many of something there were, and how many a second of late: Dropwizard's Meter, its fifteen-minute rate.
//
// Every five seconds the rate moves towards that of these five seconds, the more the fewer minutes it is to look back on. No
// timer does this: who marks or asks makes up for the ticks since.
#pragma once

#include <cmath>
#include <cstdint>

namespace cassandra_like {

class Meter {
 public:
  explicit Meter(int64_t now_nanos) : ticked_(now_nanos) {}

  void mark(int64_t now_nanos) {
    tick(now_nanos);
    ++count_;
    ++since_tick_;
  }
  uint64_t count() const { return count_; }
  double fifteen_minute_rate(int64_t now_nanos) const {
    Meter then = *this;
    then.tick(now_nanos);
    return then.per_second_;
  }

 private:
  static constexpr int64_t kTickSeconds = 5, kTickNanos = kTickSeconds * 1'000'000'000;

  void tick(int64_t now_nanos) {
    const int64_t ticks = (now_nanos - ticked_) / kTickNanos;
    if (ticks <= 0) return;
    const double left = std::exp(-kTickSeconds / (15 * 60.0));  // of the rate, after a tick
    const double now = static_cast<double>(since_tick_) / kTickSeconds;
    per_second_ = has_rate_ ? per_second_ * left + now * (1 - left) : now;
    per_second_ *= std::pow(left, static_cast<double>(ticks - 1));
    has_rate_ = true;
    since_tick_ = 0;
    ticked_ += ticks * kTickNanos;
  }

  uint64_t count_ = 0, since_tick_ = 0;
  int64_t ticked_;
  double per_second_ = 0;
  bool has_rate_ = false;
};

}  // namespace cassandra_like
