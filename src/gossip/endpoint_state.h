// The state that gossip keeps of one node: its heartbeat and its application states (gms.HeartBeatState, gms.EndpointState,
// gms.ApplicationState, gms.VersionedValue).
//
// A node numbers everything that it tells of itself with one counter, its versions: each heartbeat and each value takes the
// next. A generation is one life of the node. So (generation, greatest version) says how much a peer knows of it.
//
// A value is a text. The texts of each state are made and parsed in gossip/state_values.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"

namespace cassandra_like {

// The numbers are those of Cassandra's enum, and go over the wire.
enum class ApplicationState : uint32_t {
  kStatus = 0,
  kLoad,
  kSchema,
  kDc,
  kRack,
  kReleaseVersion,
  kRemovalCoordinator,
  kInternalIp,
  kRpcAddress,
  kX11Padding,
  kSeverity,
  kNetVersion,
  kHostId,
  kTokens,
  kRpcReady,
  kInternalAddressAndPort,
  kNativeAddressAndPort,
  kStatusWithPort,
  kSstableVersions,
  kDiskUsage,
  kIndexStatus,
  kX1,
  kX2,
  kX3,
  kX4,
  kX5,
  kX6,
  kX7,
  kX8,
  kX9,
  kX10,
};
inline constexpr uint32_t kApplicationStates = 31;
// "STATUS_WITH_PORT".
std::string_view application_state_name(ApplicationState state);

struct HeartBeatState {
  static constexpr int32_t kEmptyVersion = -1;

  int32_t generation = 0;  // seconds since 1970 when the node started, or more
  int32_t version = 0;

  // Made here for a node that is only remembered: its owner never uses a negative version.
  static HeartBeatState empty() { return {0, kEmptyVersion}; }
  bool is_empty() const { return version == kEmptyVersion; }
  bool operator==(const HeartBeatState&) const = default;
};

struct VersionedValue {
  std::string value;
  int32_t version = 0;
  bool operator==(const VersionedValue&) const = default;
};

struct EndpointState {
  HeartBeatState heart_beat;
  // A round looks through the states of every node: they lie side by side.
  absl::btree_map<ApplicationState, VersionedValue> states;
  // These two stay here.
  bool is_alive = true;
  int64_t updated_at = 0;  // nanoseconds of the monotonic clock

  const VersionedValue* find(ApplicationState state) const;
  bool has(ApplicationState state) const { return states.contains(state); }
  // The text of a state; empty when there is none.
  std::string_view text(ApplicationState state) const;

  // The greatest version of heartbeat and values.
  int32_t max_version() const;
  // The values take about so many in memory.
  size_t bytes() const;
  // The first word of STATUS_WITH_PORT, or else of STATUS; empty when there is neither.
  std::string_view status() const;
  // The whole text that status() is the first word of.
  std::string_view status_text() const;
  bool has_status() const { return has(ApplicationState::kStatusWithPort) || has(ApplicationState::kStatus); }
  bool is_rpc_ready() const;
  // Nothing but what was remembered: neither a heartbeat nor a status came from anybody.
  bool is_empty_without_status() const { return heart_beat.is_empty() && !has_status(); }
  // STATUS, INTERNAL_IP and RPC_ADDRESS go where their successors with ports are there.
  void remove_legacy_states();
};

// Statuses in which a node is not taken for alive, whatever its heartbeat does: removing, removed, LEFT, hibernate.
bool is_dead_state(const EndpointState& state);
// Whether it can be the first that is heard of a life. A node tells its host ID before anything else, so a state without one is
// what was newer than a part that somebody had: an answer to a life of this node that knew the other part. An operator's
// word on a node that is gone needs none.
bool is_whole(const EndpointState& state);
// Statuses that a stopping node does not replace by "shutdown": dead ones, BOOT, BOOT_REPLACE.
bool is_silent_shutdown_state(const EndpointState& state);
// BOOT, BOOT_REPLACE.
bool is_bootstrapping_state(const EndpointState& state);

}  // namespace cassandra_like
