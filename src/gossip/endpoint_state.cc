#include "gossip/endpoint_state.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "gossip/state_values.h"

namespace cassandra_like {
namespace {

constexpr std::array<std::string_view, kApplicationStates> kStateNames = {
    "STATUS",
    "LOAD",
    "SCHEMA",
    "DC",
    "RACK",
    "RELEASE_VERSION",
    "REMOVAL_COORDINATOR",
    "INTERNAL_IP",
    "RPC_ADDRESS",
    "X_11_PADDING",
    "SEVERITY",
    "NET_VERSION",
    "HOST_ID",
    "TOKENS",
    "RPC_READY",
    "INTERNAL_ADDRESS_AND_PORT",
    "NATIVE_ADDRESS_AND_PORT",
    "STATUS_WITH_PORT",
    "SSTABLE_VERSIONS",
    "DISK_USAGE",
    "INDEX_STATUS",
    "X1",
    "X2",
    "X3",
    "X4",
    "X5",
    "X6",
    "X7",
    "X8",
    "X9",
    "X10",
};

}  // namespace

std::string_view application_state_name(ApplicationState state) { return kStateNames[static_cast<uint32_t>(state)]; }

const VersionedValue* EndpointState::find(ApplicationState state) const {
  auto found = states.find(state);
  return found == states.end() ? nullptr : &found->second;
}

std::string_view EndpointState::text(ApplicationState state) const {
  const VersionedValue* found = find(state);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

int32_t EndpointState::max_version() const {
  int32_t max = heart_beat.version;
  for (const auto& [state, value] : states) max = std::max(max, value.version);
  return max;
}

size_t EndpointState::bytes() const {
  size_t bytes = 0;
  for (const auto& [state, value] : states) bytes += sizeof(value) + value.value.size();
  return bytes;
}

std::string_view EndpointState::status_text() const {
  return text(has(ApplicationState::kStatusWithPort) ? ApplicationState::kStatusWithPort : ApplicationState::kStatus);
}

std::string_view EndpointState::status() const {
  std::string_view all = status_text();
  return all.substr(0, all.find(state_values::kDelimiter));
}

bool EndpointState::is_rpc_ready() const { return equals_ignoring_case(text(ApplicationState::kRpcReady), "true"); }

void EndpointState::remove_legacy_states() {
  if (has(ApplicationState::kStatusWithPort)) states.erase(ApplicationState::kStatus);
  if (has(ApplicationState::kInternalAddressAndPort)) states.erase(ApplicationState::kInternalIp);
  if (has(ApplicationState::kNativeAddressAndPort)) states.erase(ApplicationState::kRpcAddress);
}

bool is_dead_state(const EndpointState& state) {
  std::string_view s = state.status();
  return s == state_values::kRemoving || s == state_values::kRemoved || s == state_values::kLeft ||
         s == state_values::kHibernate;
}

bool is_whole(const EndpointState& state) { return is_dead_state(state) || state.has(ApplicationState::kHostId); }

bool is_bootstrapping_state(const EndpointState& state) {
  std::string_view s = state.status();
  return s == state_values::kBoot || s == state_values::kBootReplace;
}

bool is_silent_shutdown_state(const EndpointState& state) {
  return is_dead_state(state) || is_bootstrapping_state(state);
}

}  // namespace cassandra_like
