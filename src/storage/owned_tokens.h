// The tokens of a keyspace whose data a node is to have: what `nodetool cleanup` keeps, and what `verify -t` accepts.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "model/key.h"

namespace cassandra_like {

class OwnedTokens {
 public:
  // Both ends are in the range.
  struct Span {
    Token first, last;
  };

  // None.
  OwnedTokens() = default;
  static OwnedTokens all() {
    OwnedTokens tokens;
    tokens.spans_.push_back({kLeast, kGreatest});
    return tokens;
  }
  // Ranges (left, right], around the end of the ring when right is not above left (Range.normalize).
  static OwnedTokens of(const std::vector<std::pair<Token, Token>>& ranges) {
    OwnedTokens tokens;
    for (const auto& [left, right] : ranges) {
      if (left < right) {
        tokens.spans_.push_back({left + 1, right});
      } else {
        if (left != kGreatest) tokens.spans_.push_back({left + 1, kGreatest});
        tokens.spans_.push_back({kLeast, right});
      }
    }
    tokens.join();
    return tokens;
  }

  bool are_all() const { return spans_.size() == 1 && spans_[0].first == kLeast && spans_[0].last == kGreatest; }
  bool contains(Token token) const { return contains(token, token); }
  // All from one token to another.
  bool contains(Token first, Token last) const {
    const auto found = from(first);
    return found != spans_.end() && found->first <= first && last <= found->last;
  }
  // Some of them.
  bool intersects(Token first, Token last) const {
    const auto found = from(first);
    return found != spans_.end() && found->first <= last;
  }
  const std::vector<Span>& spans() const { return spans_; }  // ascending, and not touching

 private:
  static constexpr Token kLeast = std::numeric_limits<Token>::min(), kGreatest = std::numeric_limits<Token>::max();

  // The first that does not end before the token.
  std::vector<Span>::const_iterator from(Token token) const {
    return std::lower_bound(spans_.begin(), spans_.end(), token,
                            [](const Span& span, Token wanted) { return span.last < wanted; });
  }
  void join() {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
    std::vector<Span> joined;
    for (const Span& span : spans_) {
      const bool touches = !joined.empty() && (joined.back().last == kGreatest || span.first <= joined.back().last + 1);
      if (touches) {
        joined.back().last = std::max(joined.back().last, span.last);
      } else {
        joined.push_back(span);
      }
    }
    spans_ = std::move(joined);
  }

  std::vector<Span> spans_;
};

}  // namespace cassandra_like
