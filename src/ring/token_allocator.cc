#include "ring/token_allocator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "ring/token_allocation.h"

namespace cassandra_like {
namespace token_allocation {
namespace {

__extension__ using Int128 = __int128;

constexpr Token kMaximumToken = std::numeric_limits<Token>::max();

// java.util.Random.
class JavaRandom {
 public:
  explicit JavaRandom(uint64_t seed) : state_((seed ^ kMultiplier) & kMask) {}
  double next_double() {
    const uint64_t high = bits(26);
    return static_cast<double>((high << 27) + bits(27)) * 0x1.0p-53;
  }

 private:
  static constexpr uint64_t kMultiplier = 0x5DEECE66D;
  static constexpr uint64_t kMask = (uint64_t{1} << 48) - 1;
  uint64_t bits(int count) {
    state_ = (state_ * kMultiplier + 0xB) & kMask;
    return state_ >> (48 - count);
  }
  uint64_t state_;
};

// A ratio below 1 as the decimal fraction that Java prints for it: digits / scale.
std::pair<Int128, Int128> decimal(double ratio) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, ratio, std::chars_format::scientific).ptr;
  Int128 digits = 0, scale = 1;
  int exponent = 0;
  for (const char* p = text; p != end; ++p) {
    if (*p == 'e') {
      std::from_chars(p[1] == '+' ? p + 2 : p + 1, end, exponent);
      break;
    }
    if (*p == '.') continue;
    digits = digits * 10 + (*p - '0');
    if (p != text) scale *= 10;
  }
  for (; exponent < 0; ++exponent) scale *= 10;
  return {digits, scale};
}

}  // namespace

double range_size(Token from, Token to) {
  const auto width = static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
  const double part = std::ldexp(static_cast<double>(width), -64);
  return part > 0 ? part : part + 1;
}

Token midpoint(Token from, Token to) {
  if (from < to) return static_cast<Token>((Int128{from} + to) >> 1);
  const Int128 middle = (Int128{kMaximumToken} - kMinimumToken + from + to) >> 1;
  return static_cast<Token>(middle > kMaximumToken ? kMinimumToken + (middle - kMaximumToken) : middle);
}

Token split(Token from, Token to, double ratio) {
  const auto [digits, scale] = decimal(ratio);
  const Int128 width = from < to ? Int128{to} - from : Int128{kMaximumToken} - kMinimumToken + to - from;
  const Int128 token = (width * digits + Int128{from} * scale) / scale;
  return static_cast<Token>(token > kMaximumToken ? kMinimumToken + (token - kMaximumToken) : token);
}

Token token_before(const SortedTokens& tokens, Token token) {
  auto found = tokens.lower_bound(token);
  return found == tokens.begin() ? tokens.rbegin()->first : std::prev(found)->first;
}

std::vector<Token> generate_splits(SortedTokens& tokens, UnitIndex unit, size_t num_tokens, Token first) {
  // About the golden section: however often ranges are split, their sizes stay varied.
  const double least = 1.0 - 1.0 / std::sqrt(5.0), most = least + 0.075;
  JavaRandom random(tokens.size());
  std::vector<Token> out;
  auto add = [&](Token token) {
    out.push_back(token);
    tokens[token] = unit;
  };
  if (tokens.empty()) add(first == kMinimumToken ? kMaximumToken : first);
  while (out.size() < num_tokens) {
    double largest = 0;
    Token from = 0, to = 0, before = tokens.rbegin()->first;
    for (const auto& [token, owner] : tokens) {
      const double size = range_size(before, token);
      if (size > largest) {
        largest = size;
        from = before;
        to = token;
      }
      before = token;
    }
    add(split(from, to, least + (most - least) * random.next_double()));
  }
  return out;
}

std::vector<Token> allocate_alone(SortedTokens& tokens, UnitIndex unit, size_t units, size_t num_tokens) {
  constexpr double kMostTaken = 0.90, kLeastTaken = 1.0 - kMostTaken;  // of a range
  std::vector<double> ownership(units);
  std::vector<WeightQueue<Token>> ranges(units);
  for (const auto& [token, owner] : tokens) {
    const double size = range_size(token_before(tokens, token), token);
    ownership[owner] += size;
    ranges[owner].add(size, token);
  }
  WeightQueue<UnitIndex> by_ownership;
  size_t count = 0;
  for (UnitIndex i = 0; i < units; ++i) {
    if (ranges[i].empty()) continue;
    ++count;
    by_ownership.add(ownership[i], i);
  }
  // The units with the most, as long as one has more than the average that they and the new one would come to.
  double average = 0, sum = 0;
  std::vector<std::pair<double, UnitIndex>> givers;
  for (size_t i = 0; i < num_tokens && !by_ownership.empty(); ++i) {
    sum += by_ownership.top_weight();
    const double with = sum / static_cast<double>(givers.size() + 2);
    if (by_ownership.top_weight() <= with) break;
    givers.push_back(by_ownership.take());
    average = with;
  }
  // The units keep slightly different amounts, the largest the most, so that the next node has somewhere to begin.
  const auto n = static_cast<double>(num_tokens);
  const double spread = average * std::min(1.0, (n + 1.0) / (static_cast<double>(count) + 1.0)) * 2.0 /
                        static_cast<double>(2 * num_tokens + 1);
  const double step = spread / static_cast<double>(givers.size());
  double target = average + spread / 2;
  std::vector<Token> out;
  for (size_t nr = 0; nr < givers.size(); ++nr, target -= step) {
    const auto [owned, giver] = givers[nr];
    size_t ranges_to_split = num_tokens / givers.size() + (nr < num_tokens % givers.size() ? 1 : 0);
    std::vector<Token> ends;
    double size = 0;
    for (; ranges_to_split > 0; --ranges_to_split) {
      auto [weight, end] = ranges[giver].take();
      size += weight;
      ends.push_back(end);
    }
    const double to_take = owned - target;
    const double slice = to_take < size ? std::clamp(to_take / size, kLeastTaken, kMostTaken) : kMostTaken;
    for (Token end : ends) {
      const Token token = split(token_before(tokens, end), end, slice);
      tokens[token] = unit;
      out.push_back(token);
    }
  }
  return out;
}

}  // namespace token_allocation

namespace {

using token_allocation::SortedTokens;

Error allocation_error(std::string text) { return Error(ErrorCode::kConfigError, std::move(text)); }

// The nodes that share ownership with the joining one, and how they do.
struct AllocationRing {
  size_t replicas = 1;
  bool one_rack = false;  // only the nodes of its rack
  bool by_rack = false;   // a rack holds one replica
};

Result<AllocationRing> ring_for(const TokenRing& ring, const TokenRequest& request) {
  std::set<std::string> racks;
  for (const Endpoint& e : ring.endpoints()) {
    if (e.owns_tokens() && !e.tokens.empty() && e.datacenter == request.datacenter) racks.insert(e.rack);
  }
  // The first node of a rack counts as if it were in the only one.
  const size_t count = racks.contains(request.rack) ? racks.size() : 1;
  const auto replicas = static_cast<size_t>(std::max(request.replicas, 1));
  if (replicas <= 1) return AllocationRing{};
  if (count == replicas) return AllocationRing{1, true, false};
  if (count > replicas) return AllocationRing{replicas, false, true};
  if (count == 1) return AllocationRing{replicas, false, false};
  return allocation_error("Token allocation failed: the number of racks " + std::to_string(count) + " in datacenter " +
                          request.datacenter + " is lower than its replication factor " + std::to_string(replicas) +
                          ".");
}

std::vector<Token> choose(SortedTokens& tokens, const std::vector<size_t>& groups, const AllocationRing& ring,
                          const TokenRequest& request) {
  using namespace token_allocation;
  const UnitIndex unit = groups.size() - 1;
  std::set<UnitIndex> units;
  std::set<size_t> groups_with_tokens;
  for (const auto& [token, owner] : tokens) {
    units.insert(owner);
    groups_with_tokens.insert(groups[owner]);
  }
  if (units.size() < ring.replicas || request.num_tokens > tokens.size() || groups_with_tokens.size() < ring.replicas) {
    return generate_splits(tokens, unit, request.num_tokens, request.first);
  }
  return ring.replicas == 1 ? allocate_alone(tokens, unit, groups.size(), request.num_tokens)
                            : allocate_replicated(tokens, unit, groups, ring.replicas, request.num_tokens);
}

}  // namespace

Result<std::vector<Token>> allocate_tokens(const TokenRing& ring, const TokenRequest& request) {
  if (request.num_tokens < 1) return allocation_error("num_tokens must be >= 1");
  ASSIGN_OR_RETURN(const AllocationRing how, ring_for(ring, request));
  // The joining node is the last unit.
  const size_t unit = ring.endpoints().size();
  std::map<std::string, size_t> racks;
  std::vector<size_t> groups(unit + 1);
  SortedTokens tokens;
  std::map<Token, size_t> taken;
  for (size_t i = 0; i <= unit; ++i) {
    const std::string& rack = i == unit ? request.rack : ring.endpoint(static_cast<EndpointIndex>(i)).rack;
    groups[i] = how.by_rack ? racks.try_emplace(rack, racks.size()).first->second : i;
  }
  auto is_in_ring = [&](const Endpoint& e) {
    return e.datacenter == request.datacenter && (!how.one_rack || e.rack == request.rack);
  };
  for (size_t i = 0; i < unit; ++i) {
    const Endpoint& e = ring.endpoint(static_cast<EndpointIndex>(i));
    if (e.state == EndpointStatus::kLeft) continue;
    for (Token token : e.tokens) {
      taken[token] = i;
      if (is_in_ring(e)) tokens[token] = i;
    }
  }
  std::vector<Token> out = choose(tokens, groups, how, request);
  for (Token& token : out) {
    // Another datacenter's node may have it: its neighbour does as well.
    for (auto owner = taken.find(token); owner != taken.end(); owner = taken.find(token)) {
      const Endpoint& other = ring.endpoint(static_cast<EndpointIndex>(owner->second));
      if (is_in_ring(other)) {
        return allocation_error("Allocated token " + std::to_string(token) + " already assigned to node " +
                                other.address + ". Is another node also allocating tokens?");
      }
      token = static_cast<Token>(static_cast<uint64_t>(token) + 1);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace cassandra_like
