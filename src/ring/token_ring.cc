#include "ring/token_ring.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/result.h"

namespace cassandra_like {
namespace {

// In the order of the tokens, from 0.
uint64_t place_of(Token token) { return static_cast<uint64_t>(token) ^ (uint64_t{1} << 63); }

}  // namespace

TokenRing::TokenRing(std::vector<Endpoint> endpoints, EndpointIndex local)
    : endpoints_(std::move(endpoints)), local_(local) {
  CHECK(local_ < endpoints_.size());
  std::set<std::pair<std::string_view, std::string_view>> racks;
  for (EndpointIndex i = 0; i < endpoints_.size(); ++i) {
    const Endpoint& e = endpoints_[i];
    if (!e.owns_tokens() || e.tokens.empty()) continue;
    Datacenter& datacenter = datacenters_[e.datacenter];
    ++datacenter.endpoints;
    datacenter.racks += racks.emplace(e.datacenter, e.rack).second;
    for (Token t : e.tokens) entries_.push_back({t, i});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.token, a.endpoint) < std::tie(b.token, b.endpoint);
  });
  auto same_token = [](const Entry& a, const Entry& b) { return a.token == b.token; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same_token), entries_.end());
  const int bits = std::bit_width(entries_.size()) + 1;
  slice_shift_ = 64 - bits;
  slices_.resize((size_t{1} << bits) + 1, static_cast<uint32_t>(entries_.size()));
  for (size_t i = entries_.size(); i-- > 0;)
    slices_[place_of(entries_[i].token) >> slice_shift_] = static_cast<uint32_t>(i);
  for (size_t i = slices_.size() - 1; i-- > 0;) slices_[i] = std::min(slices_[i], slices_[i + 1]);
}

size_t TokenRing::entry_of(Token token) const {
  const uint32_t* slice = &slices_[place_of(token) >> slice_shift_];
  auto it = std::lower_bound(entries_.begin() + slice[0], entries_.begin() + slice[1], token,
                             [](const Entry& e, Token t) { return e.token < t; });
  return it == entries_.end() ? 0 : static_cast<size_t>(it - entries_.begin());
}

TokenRange TokenRing::range_of(size_t entry) const {
  const Entry& previous = entries_[entry == 0 ? entries_.size() - 1 : entry - 1];
  return {previous.token, entries_[entry].token};
}

std::vector<TokenRange> TokenRing::primary_ranges(EndpointIndex endpoint) const {
  std::vector<TokenRange> out;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].endpoint == endpoint) out.push_back(range_of(i));
  }
  return out;
}

}  // namespace cassandra_like
