// A token has one node. This map answers from both sides, at a cost that does not grow with the ring.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "messaging/wire/endpoint_codec.h"
#include "model/key.h"

namespace cassandra_like {

class TokenOwners {
 public:
  std::optional<InetAddressAndPort> owner(Token token) const {
    auto found = owners_.find(token);
    if (found == owners_.end()) return std::nullopt;
    return found->second;
  }
  // Sorted.
  std::vector<Token> tokens(const InetAddressAndPort& node) const {
    auto found = nodes_.find(node);
    if (found == nodes_.end()) return {};
    return {found->second.begin(), found->second.end()};
  }
  // All that have tokens.
  const std::map<InetAddressAndPort, std::set<Token>>& nodes() const { return nodes_; }

  // Nobody else has the token afterwards.
  void give(Token token, const InetAddressAndPort& node) {
    erase(token);
    owners_[token] = node;
    nodes_[node].insert(token);
  }
  void erase(Token token) {
    auto found = owners_.find(token);
    if (found == owners_.end()) return;
    auto node = nodes_.find(found->second);
    node->second.erase(token);
    if (node->second.empty()) nodes_.erase(node);
    owners_.erase(found);
  }
  void erase(const InetAddressAndPort& node) {
    auto found = nodes_.find(node);
    if (found == nodes_.end()) return;
    for (Token token : found->second) owners_.erase(token);
    nodes_.erase(found);
  }

 private:
  absl::flat_hash_map<Token, InetAddressAndPort> owners_;
  std::map<InetAddressAndPort, std::set<Token>> nodes_;
};

}  // namespace cassandra_like
