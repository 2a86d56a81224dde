// Tokens for a unit whose tokens several groups replicate (dht.tokenallocator.ReplicationAwareTokenAllocator).
//
// A token's replicated ownership is the part of the ring that its unit holds because of it: from the token of the replicas-th
// other group before it, or from the token of its own group when that is closer. A candidate is judged by how much the
// squares of the distances to the average shrink when it is added, for tokens and for units.
#include <cstddef>
#include <deque>
#include <memory>

#include "base/result.h"
#include "ring/token_allocation.h"

namespace cassandra_like::token_allocation {
namespace {

struct AllocationGroup {
  uint64_t seen = 0;       // the walk that met it last
  uint64_t populated = 0;  // likewise, of the walks inside of walks
};

struct AllocationUnit {
  AllocationGroup* group = nullptr;
  double ownership = 0;
  double tokens = 0;
};

// A token of the ring, or a candidate for one.
struct RingToken {
  Token token = 0;
  AllocationUnit* unit = nullptr;
  Token replication_start = 0;
  Token replication_threshold = 0;  // beyond it a token of the joining unit changes nothing
  double replicated_ownership = 0;
  RingToken* prev = nullptr;  // among its kind, around the ring
  RingToken* next = nullptr;
  RingToken* split = nullptr;  // of a candidate: the token at the end of the range that it splits
};

double square(double d) { return d * d; }

Token further_start(Token a, Token b, Token towards) {
  if (a == towards) return b;
  if (b == towards) return a;
  return range_size(a, towards) > range_size(b, towards) ? a : b;
}

class ReplicatedRing {
 public:
  ReplicatedRing(const SortedTokens& tokens, UnitIndex unit, const std::vector<size_t>& groups, size_t replicas,
                 size_t num_tokens);
  std::vector<Token> choose();

 private:
  // The groups that a walk meets.
  class Walk {
   public:
    Walk(uint64_t AllocationGroup::*mark, uint64_t number) : mark_(mark), number_(number) {}
    bool add(AllocationGroup* group) {
      if (has(group)) return false;
      group->*mark_ = number_;
      ++count_;
      return true;
    }
    bool has(const AllocationGroup* group) const { return group->*mark_ == number_; }
    size_t count() const { return count_; }

   private:
    uint64_t AllocationGroup::*mark_;
    uint64_t number_;
    size_t count_ = 0;
  };
  struct Change {
    AllocationUnit* unit;
    double ownership;
  };

  RingToken* append(RingToken token, RingToken* after);
  void make_candidates();
  void populate(RingToken& token, RingToken* before);
  void populate_and_adjust(RingToken& token);
  double adjust(const RingToken& token, Token start, std::vector<Change>& changes) const;
  double improvement(const RingToken& candidate, double weight_of_new_unit);
  void confirm(RingToken& candidate);

  size_t replicas_;
  size_t num_tokens_;
  double optimal_;  // of a token
  std::vector<AllocationGroup> groups_;
  std::vector<AllocationUnit> units_;
  AllocationUnit* new_unit_;
  std::deque<RingToken> storage_;
  RingToken* tokens_ = nullptr;
  RingToken* candidates_ = nullptr;
  size_t candidate_count_ = 0;
  uint64_t walks_ = 0;
};

ReplicatedRing::ReplicatedRing(const SortedTokens& tokens, UnitIndex unit, const std::vector<size_t>& groups,
                               size_t replicas, size_t num_tokens)
    : replicas_(replicas),
      num_tokens_(num_tokens),
      optimal_(1.0 * static_cast<double>(replicas) / static_cast<double>(tokens.size() + num_tokens)),
      groups_(groups.size()),
      units_(groups.size()),
      new_unit_(&units_[unit]) {
  for (UnitIndex i = 0; i < units_.size(); ++i) units_[i].group = &groups_[groups[i]];
  RingToken* last = nullptr;
  for (const auto& [token, owner] : tokens) {
    units_[owner].tokens += 1;
    last = append({token, &units_[owner]}, last);
    if (tokens_ == nullptr) tokens_ = last;
  }
  new_unit_->ownership = static_cast<double>(num_tokens) * optimal_;
  RingToken* token = tokens_;
  do {
    populate_and_adjust(*token);
    token = token->next;
  } while (token != tokens_);
  new_unit_->tokens = static_cast<double>(num_tokens);
}

RingToken* ReplicatedRing::append(RingToken token, RingToken* after) {
  storage_.push_back(token);
  RingToken* made = &storage_.back();
  made->prev = after == nullptr ? made : after;
  made->next = after == nullptr ? made : after->next;
  made->prev->next = made;
  made->next->prev = made;
  return made;
}

void ReplicatedRing::make_candidates() {
  RingToken *token = tokens_, *last = nullptr;
  do {
    RingToken candidate{midpoint(token->prev->token, token->token), new_unit_};
    candidate.replicated_ownership = optimal_;
    candidate.split = token;
    last = append(candidate, last);
    if (candidates_ == nullptr) candidates_ = last;
    populate(*last, token->prev);
    ++candidate_count_;
    token = token->next;
  } while (token != tokens_);
}

// Finds where the token's replication starts, looking back from the token before it.
void ReplicatedRing::populate(RingToken& token, RingToken* before) {
  const AllocationGroup *own = token.unit->group, *joining = new_unit_->group, *met = nullptr;
  Walk walk(&AllocationGroup::populated, ++walks_);
  Token start = 0, threshold = token.token;
  for (RingToken* at = before;; at = at->prev) {
    start = at->token;
    met = at->unit->group;
    if (!walk.add(at->unit->group)) continue;
    if (walk.count() >= replicas_) break;
    threshold = start;
    if (met == own) break;
  }
  if (joining == own) {
    threshold = token.token;
  } else if (joining != met && walk.has(joining)) {
    threshold = start;
  }
  token.replication_threshold = threshold;
  token.replication_start = start;
}

void ReplicatedRing::populate_and_adjust(RingToken& token) {
  populate(token, token.prev);
  const double size = range_size(token.replication_start, token.token);
  token.unit->ownership += size - token.replicated_ownership;
  token.replicated_ownership = size;
}

double ReplicatedRing::adjust(const RingToken& token, Token start, std::vector<Change>& changes) const {
  const double before = token.replicated_ownership, after = range_size(start, token.token);
  Change* change = nullptr;
  for (Change& c : changes) {
    if (c.unit == token.unit) change = &c;
  }
  if (change == nullptr) {
    changes.push_back({token.unit, token.unit->ownership + (after - before)});
  } else {
    change->ownership += after - before;
  }
  return (square(after - optimal_) - square(before - optimal_)) / square(token.unit->tokens);
}

double ReplicatedRing::improvement(const RingToken& candidate, double weight_of_new_unit) {
  std::vector<Change> changes;  // the joining unit's is the first
  double token_change = adjust(candidate, candidate.replication_start, changes);
  Walk walk(&AllocationGroup::seen, ++walks_);
  for (RingToken* at = candidate.split; walk.count() < replicas_; at = at->next) {
    if (!walk.add(at->unit->group)) continue;
    token_change += adjust(*at, further_start(at->replication_threshold, candidate.token, at->token), changes);
  }
  double unit_change = 0;
  for (size_t i = changes.size(); i-- > 0;) {
    const AllocationUnit& unit = *changes[i].unit;
    const double difference =
        square(changes[i].ownership / unit.tokens - optimal_) - square(unit.ownership / unit.tokens - optimal_);
    unit_change += i == 0 ? difference * weight_of_new_unit : difference;
  }
  return -(token_change + unit_change);
}

// The candidate becomes a token; what lies behind it within reach is told.
void ReplicatedRing::confirm(RingToken& candidate) {
  RingToken made{candidate.token, candidate.unit};
  made.replicated_ownership = candidate.replicated_ownership;
  RingToken* token = append(made, candidate.split->prev);
  populate_and_adjust(*token);
  Walk walk(&AllocationGroup::seen, ++walks_);
  RingToken* next_candidate = &candidate;
  for (RingToken* at = token->next; walk.count() < replicas_; at = at->next) {
    next_candidate = next_candidate->next;
    populate(*next_candidate, next_candidate->split->prev);
    if (walk.add(at->unit->group)) populate_and_adjust(*at);
  }
}

std::vector<Token> ReplicatedRing::choose() {
  make_candidates();
  const auto wanted = static_cast<double>(num_tokens_);
  WeightQueue<RingToken*> queue;
  RingToken* candidate = candidates_;
  do {
    queue.add(improvement(*candidate, 1.0 / wanted), candidate);
    candidate = candidate->next;
  } while (candidate != candidates_);
  std::vector<Token> out;
  RingToken* best = queue.take().second;
  for (;;) {
    best->prev->next = best->next;
    best->next->prev = best->prev;
    confirm(*best);
    out.push_back(best->token);
    if (out.size() == num_tokens_) return out;
    for (;;) {
      best = queue.take().second;
      // Tokens that were chosen since may have made this one worse: it has to be better than the next one still.
      const double now = improvement(*best, (static_cast<double>(out.size()) + 1.0) / wanted);
      if (queue.empty() || now >= queue.top_weight()) break;
      queue.add(now, best);
    }
  }
}

}  // namespace

std::vector<Token> allocate_replicated(SortedTokens& tokens, UnitIndex unit, const std::vector<size_t>& groups,
                                       size_t replicas, size_t num_tokens) {
  CHECK(num_tokens <= tokens.size());
  return ReplicatedRing(tokens, unit, groups, replicas, num_tokens).choose();
}

}  // namespace cassandra_like::token_allocation
