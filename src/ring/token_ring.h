// A snapshot of who is in the cluster and which tokens they own. Immutable: a change makes a new one.
//
// The tokens cut the ring into ranges; each belongs to the endpoint that owns the token at its end, its primary
// replica. The range that ends at the smallest token begins at the largest and wraps around.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "model/key.h"

namespace cassandra_like {

enum class EndpointStatus : uint8_t {
  kNormal,
  kLeaving,  // still owns its tokens
  kMoving,   // likewise, those it had before
  kJoining,  // will own its tokens
  kLeft,
};

struct Endpoint {
  Uuid host_id;
  std::string address;  // for the other nodes, without port
  std::string datacenter;
  std::string rack;
  std::vector<Token> tokens;
  EndpointStatus state = EndpointStatus::kNormal;
  std::vector<Token> moving_to;  // of one that moves
  uint16_t storage_port = 7000;  // of address
  std::string native_address;    // for clients
  uint16_t native_port = 9042;

  bool owns_tokens() const { return state != EndpointStatus::kJoining && state != EndpointStatus::kLeft; }
};
// Into TokenRing::endpoints().
using EndpointIndex = uint32_t;

// Tokens t with left < t <= right; around the end of the ring when right <= left.
struct TokenRange {
  Token left;
  Token right;

  bool contains(Token t) const { return left < right ? left < t && t <= right : left < t || t <= right; }
  bool operator==(const TokenRange&) const = default;
};

class TokenRing {
 public:
  struct Entry {
    Token token;
    EndpointIndex endpoint;
  };
  // How many endpoints that own tokens, and in how many racks.
  struct Datacenter {
    size_t endpoints = 0;
    size_t racks = 0;
  };

  // local is this node. When two endpoints claim a token, the first one has it.
  TokenRing(std::vector<Endpoint> endpoints, EndpointIndex local);

  std::span<const Endpoint> endpoints() const { return endpoints_; }
  const Endpoint& endpoint(EndpointIndex i) const { return endpoints_[i]; }
  EndpointIndex local() const { return local_; }
  // The datacenters with endpoints that own tokens, by name.
  const std::map<std::string, Datacenter>& datacenters() const { return datacenters_; }

  // Sorted by token.
  std::span<const Entry> entries() const { return entries_; }
  // The entry of the range that a token is in; the ring must not be empty.
  size_t entry_of(Token token) const;
  TokenRange range_of(size_t entry) const;
  // The ranges that end at the endpoint's tokens, in ring order.
  std::vector<TokenRange> primary_ranges(EndpointIndex endpoint) const;

 private:
  std::vector<Endpoint> endpoints_;
  EndpointIndex local_;
  std::vector<Entry> entries_;
  // The first entry of each slice: where the tokens whose leading bits are its number begin. One more at the end.
  std::vector<uint32_t> slices_;
  int slice_shift_ = 0;
  std::map<std::string, Datacenter> datacenters_;
};

}  // namespace cassandra_like
