#include "hints/hints_control.h"

#include <algorithm>

namespace cassandra_like {

namespace {
// The bytes of this time may be sent in one go after a pause: timers are not exact.
constexpr int64_t kThrottleBurst = 100'000'000;
// Far from the end of the range, so that it can be counted up for ever.
constexpr int64_t kLastSensibleTimestamp = int64_t{1} << 60;
}  // namespace

int64_t HintsTarget::oldest_millis() const {
  int64_t least = kNoHints;
  for (const auto& timestamp : oldest) least = std::min(least, timestamp.load(std::memory_order_relaxed));
  return least;
}

int64_t HintsTarget::take_turn(size_t size, uint64_t bytes_per_second, int64_t now_nanos) {
  if (bytes_per_second == 0) return 0;
  const double nanos = static_cast<double>(size) * 1e9 / static_cast<double>(bytes_per_second);
  int64_t turn = next_turn.load(std::memory_order_relaxed);
  int64_t begin = 0;
  do {
    begin = std::max(turn, now_nanos - kThrottleBurst);
  } while (!next_turn.compare_exchange_weak(turn, begin + static_cast<int64_t>(nanos), std::memory_order_relaxed));
  return std::max<int64_t>(0, begin - now_nanos);
}

HintsControl::HintsControl(HintsOptions o, unsigned shard_count)
    : options(std::move(o)),
      shards(shard_count),
      enabled(options.enabled),
      throttle(options.throttle_bytes_per_second),
      window(options.window_millis),
      some_datacenters_disabled(!options.disabled_datacenters.empty()),
      disabled_datacenters(options.disabled_datacenters) {}

std::shared_ptr<HintsTarget> HintsControl::node(const Uuid& host_id) {
  std::lock_guard guard(mutex);
  std::shared_ptr<HintsTarget>& node = nodes[host_id];
  if (node == nullptr) node = std::make_shared<HintsTarget>(shards);
  return node;
}

bool HintsControl::is_disabled(std::string_view datacenter) {
  if (!some_datacenters_disabled.load(std::memory_order_relaxed)) return false;
  std::lock_guard guard(mutex);
  return std::ranges::find(disabled_datacenters, datacenter) != disabled_datacenters.end();
}

int64_t HintsControl::take_timestamp(int64_t now_millis) {
  int64_t last = last_timestamp.load();
  int64_t next = 0;
  do {
    next = std::max(now_millis, last + 1);
  } while (!last_timestamp.compare_exchange_weak(last, next));
  return next;
}

void HintsControl::note_timestamp(int64_t timestamp) {
  if (timestamp > kLastSensibleTimestamp) return;
  int64_t last = last_timestamp.load();
  while (last < timestamp && !last_timestamp.compare_exchange_weak(last, timestamp)) {
  }
}

bool HintsControl::has_our_schema(const InetAddressAndPort& node) const {
  std::lock_guard guard(mutex);
  const auto known = schema_versions.find(node);
  return !schema_version || known == schema_versions.end() || known->second == *schema_version;
}

std::shared_ptr<HintsControl> make_hints_control(HintsOptions options, unsigned shards) {
  return std::make_shared<HintsControl>(std::move(options), shards);
}

HintsControlView view(const HintsControl& control) {
  std::lock_guard guard(control.mutex);
  return {.enabled = control.enabled,
          .paused = control.paused,
          .throttle_bytes_per_second = control.throttle,
          .window_millis = control.window,
          .disabled_datacenters = control.disabled_datacenters};
}
void set_enabled(HintsControl& control, bool enabled) { control.enabled = enabled; }
void set_paused(HintsControl& control, bool paused) { control.paused = paused; }
void set_throttle(HintsControl& control, uint64_t bytes_per_second) { control.throttle = bytes_per_second; }
void set_window(HintsControl& control, int64_t millis) { control.window = millis; }
void note_schema_version(HintsControl& control, const Uuid& version) {
  std::lock_guard guard(control.mutex);
  control.schema_version = version;
}
void note_schema_version_of(HintsControl& control, const InetAddressAndPort& node, const Uuid& version) {
  std::lock_guard guard(control.mutex);
  control.schema_versions[node] = version;
}
void set_datacenter_enabled(HintsControl& control, const std::string& datacenter, bool enabled) {
  std::lock_guard guard(control.mutex);
  std::erase(control.disabled_datacenters, datacenter);
  if (!enabled) control.disabled_datacenters.push_back(datacenter);
  control.some_datacenters_disabled = !control.disabled_datacenters.empty();
}

}  // namespace cassandra_like
