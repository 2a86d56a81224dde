#include "gossip/local_states.h"

#include <utility>

namespace cassandra_like {
namespace {

LocalStates with_tokens(std::span<const Token> tokens, LocalStates states) {
  states.insert(states.begin(), {ApplicationState::kTokens, state_values::tokens(tokens)});
  return states;
}

// The one with ports first: who knows it does not read the other.
LocalStates both_statuses(const std::string& status) {
  return {{ApplicationState::kStatusWithPort, status}, {ApplicationState::kStatus, status}};
}

}  // namespace

LocalStates starting_states(const AdvertisedNode& node) {
  using S = ApplicationState;
  return {{S::kNetVersion, std::to_string(node.messaging_version)},
          {S::kHostId, node.host_id.to_string()},
          {S::kNativeAddressAndPort, state_values::address_and_port(node.native)},
          {S::kRpcAddress, state_values::address(node.native)},
          {S::kReleaseVersion, node.release_version},
          {S::kSstableVersions, state_values::sstable_versions(node.sstable_versions)},
          {S::kDc, node.location.datacenter},
          {S::kRack, node.location.rack},
          {S::kInternalAddressAndPort, state_values::address_and_port(node.internal)},
          {S::kInternalIp, state_values::address(node.internal)},
          {S::kSchema, node.schema_version.to_string()},
          {S::kLoad, state_values::number(node.load)},
          {S::kSeverity, state_values::number(0)},
          {S::kRpcReady, state_values::boolean(false)}};
}

LocalStates bootstrapping_states(std::span<const Token> tokens) {
  return with_tokens(tokens, both_statuses(state_values::bootstrapping(tokens)));
}

LocalStates replacing_states(std::span<const Token> tokens, const InetAddressAndPort& old_node) {
  return with_tokens(tokens, {{ApplicationState::kStatusWithPort, state_values::boot_replacing_with_port(old_node)},
                              {ApplicationState::kStatus, state_values::boot_replacing(old_node)}});
}

LocalStates normal_states(std::span<const Token> tokens) {
  return with_tokens(tokens, both_statuses(state_values::normal(tokens)));
}

LocalStates leaving_states(std::span<const Token> tokens) { return both_statuses(state_values::leaving(tokens)); }

LocalStates left_states(std::span<const Token> tokens, int64_t expire_time_ms) {
  return both_statuses(state_values::left(tokens, expire_time_ms));
}

LocalStates moving_states(Token to) { return both_statuses(state_values::moving(to)); }

LocalStates hibernating_states(std::span<const Token> tokens) {
  return with_tokens(tokens, both_statuses(state_values::hibernate(true)));
}

}  // namespace cassandra_like
