// Limits of what one shard's clients hold at once: bytes of requests in flight (each client's and all), requests a
// second, connections. A shard has its share of the node's bytes and rate; connections are counted over all shards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "base/dcheck.h"
#include "transport/server.h"

namespace cassandra_like {

// One client address. Lives while it has a connection on any shard.
struct HostUsage {
  uint64_t bytes = 0;
  int64_t connections = 0;         // on this shard
  int64_t remote_connections = 0;  // on the others
};

class RequestLimits {
 public:
  explicit RequestLimits(const TransportOptions& options)
      : max_bytes_(options.max_request_bytes_in_flight / options.shards),
        max_bytes_per_host_(options.max_request_bytes_in_flight_per_ip / options.shards),
        interval_nanos_(options.rate_limiting_enabled && options.max_requests_per_second > 0
                            ? 1'000'000'000 * int64_t{options.shards} / options.max_requests_per_second
                            : 0) {}

  bool fits(const HostUsage& host, size_t size) const {
    return (max_bytes_ == 0 || bytes_ + size <= max_bytes_) &&
           (max_bytes_per_host_ == 0 || host.bytes + size <= max_bytes_per_host_);
  }
  // The same for a frame that is yet to come whole: one that is larger than all that there is may come alone.
  bool may_expect(const HostUsage& host, size_t size) const {
    return (max_bytes_ == 0 || bytes_ == 0 || bytes_ + size <= max_bytes_) &&
           (max_bytes_per_host_ == 0 || host.bytes == 0 || host.bytes + size <= max_bytes_per_host_);
  }
  void hold(HostUsage& host, size_t size) {
    bytes_ += size;
    host.bytes += size;
  }
  void release(HostUsage& host, size_t size) {
    DCHECK(bytes_ >= size && host.bytes >= size);
    bytes_ -= size;
    host.bytes -= size;
  }
  uint64_t bytes() const { return bytes_; }
  uint64_t max_bytes() const { return max_bytes_; }
  uint64_t max_bytes_per_host() const { return max_bytes_per_host_; }

  bool rate_limited() const { return interval_nanos_ > 0; }
  // Up to a second's worth may come at once.
  bool try_reserve(int64_t now) { return next_nanos_ <= now && reserve(now) <= 0; }
  // Takes a place in any case. Returns how long to wait for it; 0 or less: it is free now.
  int64_t reserve(int64_t now) {
    next_nanos_ = std::max(next_nanos_, now - 1'000'000'000) + interval_nanos_;
    return next_nanos_ - now;
  }

 private:
  const uint64_t max_bytes_;
  const uint64_t max_bytes_per_host_;
  const int64_t interval_nanos_;
  uint64_t bytes_ = 0;
  int64_t next_nanos_ = 0;
};

class ConnectionLimits {
 public:
  ConnectionLimits(int64_t max, int64_t max_per_host) : max_(max), max_per_host_(max_per_host) {}

  bool enabled() const { return max_ > 0 || max_per_host_ > 0; }
  bool admits(const std::string& host) const {
    if (max_ > 0 && total_ >= max_) return false;
    auto it = hosts_.find(host);
    if (max_per_host_ <= 0 || it == hosts_.end()) return true;
    return it->second.connections + it->second.remote_connections < max_per_host_;
  }
  HostUsage& opened(const std::string& host) {
    ++total_;
    HostUsage& usage = hosts_[host];
    ++usage.connections;
    return usage;
  }
  void closed(const std::string& host) {
    DCHECK(total_ > 0 && hosts_[host].connections > 0);
    --total_;
    --hosts_[host].connections;
    forget_if_unused(host);
  }
  // After the last bytes of a host that has no connection any more were released.
  void settle(const std::string& host) { forget_if_unused(host); }
  void changed_elsewhere(const std::string& host, int64_t delta) {
    total_ += delta;
    hosts_[host].remote_connections += delta;
    forget_if_unused(host);
  }

 private:
  void forget_if_unused(const std::string& host) {
    auto it = hosts_.find(host);
    if (it == hosts_.end()) return;
    const HostUsage& usage = it->second;
    if (usage.connections == 0 && usage.remote_connections == 0 && usage.bytes == 0) hosts_.erase(it);
  }

  const int64_t max_;
  const int64_t max_per_host_;
  int64_t total_ = 0;
  std::map<std::string, HostUsage> hosts_;
};

}  // namespace cassandra_like
