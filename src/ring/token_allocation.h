// The parts that ring/token_allocator.cc and ring/replica_aware_allocation.cc share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/key.h"

namespace cassandra_like::token_allocation {

// A node of the ring that tokens are allocated in.
using UnitIndex = size_t;
using SortedTokens = std::map<Token, UnitIndex>;

// The part of the ring that is in (from, to]: above 0, and 1 when both are the same.
double range_size(Token from, Token to);
Token midpoint(Token from, Token to);
// The token that leaves so much of (from, to] to its left.
Token split(Token from, Token to, double ratio);
// The token before, around the ring's end.
Token token_before(const SortedTokens& tokens, Token token);

// java.util.PriorityQueue of weights, the greatest first: among equal ones Java's order decides which tokens come out.
template <class T>
class WeightQueue {
 public:
  bool empty() const { return heap_.empty(); }
  double top_weight() const { return heap_.front().first; }
  void add(double weight, T value) {
    heap_.emplace_back();
    sift_up(heap_.size() - 1, {weight, std::move(value)});
  }
  std::pair<double, T> take() {
    Entry top = std::move(heap_.front()), last = std::move(heap_.back());
    heap_.pop_back();
    if (!heap_.empty()) sift_down(std::move(last));
    return top;
  }

 private:
  using Entry = std::pair<double, T>;
  void sift_up(size_t at, Entry entry) {
    for (; at > 0 && heap_[(at - 1) / 2].first < entry.first; at = (at - 1) / 2) {
      heap_[at] = std::move(heap_[(at - 1) / 2]);
    }
    heap_[at] = std::move(entry);
  }
  void sift_down(Entry entry) {
    size_t at = 0;
    while (at < heap_.size() / 2) {
      size_t child = 2 * at + 1;
      if (child + 1 < heap_.size() && heap_[child + 1].first > heap_[child].first) ++child;
      if (heap_[child].first <= entry.first) break;
      heap_[at] = std::move(heap_[child]);
      at = child;
    }
    heap_[at] = std::move(entry);
  }
  std::vector<Entry> heap_;
};

// Splits the largest range again and again; adds the tokens to the ring. `first` is taken when there is none yet.
std::vector<Token> generate_splits(SortedTokens& tokens, UnitIndex unit, size_t num_tokens, Token first);

// One replica: no unit holds what another owns.
std::vector<Token> allocate_alone(SortedTokens& tokens, UnitIndex unit, size_t units, size_t num_tokens);
// `groups` has one entry for each unit; a group holds a token's replica once. There are at least so many groups and units
// as replicas, and num_tokens tokens.
std::vector<Token> allocate_replicated(SortedTokens& tokens, UnitIndex unit, const std::vector<size_t>& groups,
                                       size_t replicas, size_t num_tokens);

}  // namespace cassandra_like::token_allocation
