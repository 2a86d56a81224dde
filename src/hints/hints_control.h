// The settings and counts of hints that all shards of a node share.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "hints/hints.h"

namespace cassandra_like {

// A node that hints are for, as all shards see it.
struct HintsTarget {
  static constexpr int64_t kNoHints = INT64_MAX;

  explicit HintsTarget(unsigned shards) : oldest(shards) {
    for (auto& timestamp : oldest) timestamp = kNoHints;
  }
  int64_t oldest_millis() const;
  // Takes the node's share of the throttle for so many bytes and returns how long to wait before they are sent.
  int64_t take_turn(size_t size, uint64_t bytes_per_second, int64_t now_nanos);

  std::atomic<int64_t> bytes{0};             // of all its files
  std::vector<std::atomic<int64_t>> oldest;  // by shard, the timestamp of its oldest file; kNoHints
  std::atomic<int64_t> next_turn{0};         // monotonic, nanoseconds
};

struct HintsControl {
  HintsControl(HintsOptions o, unsigned shard_count);

  // From any shard.
  std::shared_ptr<HintsTarget> node(const Uuid& host_id);
  bool is_disabled(std::string_view datacenter);
  // A timestamp that no file of this node has, after all that note_timestamp() was told.
  int64_t take_timestamp(int64_t now_millis);
  void note_timestamp(int64_t timestamp);
  // True also when one of the versions is not known.
  bool has_our_schema(const InetAddressAndPort& node) const;

  const HintsOptions options;
  const unsigned shards;
  std::atomic<bool> enabled;
  std::atomic<bool> paused{false};
  std::atomic<uint64_t> throttle;
  std::atomic<int64_t> window;
  std::atomic<bool> some_datacenters_disabled;
  std::atomic<int64_t> last_timestamp{0};

  mutable std::mutex mutex;
  std::vector<std::string> disabled_datacenters;       // under the mutex
  std::map<Uuid, std::shared_ptr<HintsTarget>> nodes;  // under the mutex
  std::optional<Uuid> schema_version;                  // under the mutex, as the next
  std::map<InetAddressAndPort, Uuid> schema_versions;
};

}  // namespace cassandra_like
