#include "tests/simulation/checker.h"

#include <algorithm>

#include <fmt/format.h>

namespace cassandra_like {

void Checker::tried_write(int key, int64_t number, std::optional<int64_t> ttl, int64_t tried_at) {
  keys_[key].tried[number] = {ttl, ttl ? tried_at + *ttl : kNever, kNever};
}

void Checker::tried_delete(int key, int64_t number) { keys_[key].tried[number] = {std::nullopt, 0, 0}; }

void Checker::written_by(int key, int64_t number, int64_t seconds) {
  Operation& operation = keys_[key].tried.at(number);
  if (operation.ttl) operation.must_be_gone = seconds + *operation.ttl;
}

void Checker::acknowledged(int key, int64_t number, int64_t at, int64_t now) {
  keys_[key].acknowledged[number] = at;
  keys_[key].over[number] = now;
  ++acknowledged_count_;
}

void Checker::refused(int key, int64_t number) { keys_[key].tried.erase(number); }

void Checker::was_read(int key, const Expectation& expected, std::optional<int64_t> first) {
  if (expected.reads_forgotten != reads_forgotten_) return;
  Key& state = keys_[key];
  if (first) {
    state.read = std::max(state.read, *first);
  } else if (expected.at_least != 0) {
    // A delete has taken effect, the first of those that explain it at least.
    for (auto it = state.tried.lower_bound(expected.at_least); it != state.tried.end(); ++it) {
      if (it->second.must_be_gone != 0) continue;
      state.read = std::max(state.read, it->first);
      return;
    }
  }
}

void Checker::forget_reads() {
  for (auto& [key, state] : keys_) state.read = 0;
  ++reads_forgotten_;
}

void Checker::truncation_started(int64_t number) { truncations_.push_back({number, life_}); }

void Checker::truncation_ended(int64_t now, bool acknowledged) {
  truncations_.back().ended = now;
  truncations_.back().acknowledged = acknowledged;
}

uint64_t Checker::truncations_acknowledged() const {
  return static_cast<uint64_t>(
      std::count_if(truncations_.begin(), truncations_.end(), [](const Truncation& t) { return t.acknowledged; }));
}

void Checker::life_ended(int64_t now) {
  if (truncating()) truncation_ended(now, false);
  life_ = now;
}

void Checker::forget_acknowledged_after(int64_t safe_until) {
  for (auto& [key, state] : keys_)
    std::erase_if(state.acknowledged, [&](const auto& a) { return a.second > safe_until; });
}

Checker::Expectation Checker::must_show(int key, int64_t asked_at) const {
  Expectation out;
  out.asked_at = asked_at;
  out.truncations_begun = truncations_.size();
  out.truncations_done = truncations_.size() - (truncating() ? 1 : 0);
  out.reads_forgotten = reads_forgotten_;
  auto it = keys_.find(key);
  if (it == keys_.end()) return out;
  const int64_t last = it->second.acknowledged.empty() ? 0 : it->second.acknowledged.rbegin()->first;
  if (truncations_.empty() || last > truncations_.back().ended) out.acknowledged = last;
  out.at_least = std::max(out.acknowledged, it->second.read);
  return out;
}

bool Checker::was_over(int key, int64_t number, const Truncation& truncation) const {
  if (number <= truncation.life) return true;
  const auto& over = keys_.at(key).over;
  auto it = over.find(number);
  return it != over.end() && it->second < truncation.started;
}

std::string Checker::check(int key, const Expectation& expected, std::optional<int64_t> first,
                           std::optional<int64_t> second, int64_t answered_at) const {
  const int64_t at_least = expected.reads_forgotten == reads_forgotten_ ? expected.at_least : expected.acknowledged;
  auto show = [](const std::optional<int64_t>& n) { return n ? std::to_string(*n) : std::string("nothing"); };
  if (first != second) {
    return fmt::format("key {} shows half a write: {} and {}", key, show(first), show(second));
  }
  auto known = keys_.find(key);
  if (known == keys_.end()) return first ? fmt::format("key {} shows {}, which nobody wrote", key, *first) : "";
  const auto& tried = known->second.tried;
  if (!first) {
    // Nothing: before any write, or the last that took effect is gone.
    if (at_least == 0) return "";
    // A truncation that began while the read was under way may have come first.
    if (truncations_.size() > expected.truncations_begun) return "";
    for (auto it = tried.lower_bound(at_least); it != tried.end(); ++it) {
      if (it->second.may_be_gone <= answered_at) return "";
    }
    return fmt::format("key {} shows nothing, but write {} was acknowledged", key, at_least);
  }
  auto it = tried.find(*first);
  if (it == tried.end() || it->second.must_be_gone == 0)
    return fmt::format("key {} shows {}, which nobody wrote", key, *first);
  if (it->second.must_be_gone <= expected.asked_at)
    return fmt::format("key {} shows {}, which is expired", key, *first);
  if (*first < at_least) return fmt::format("key {} shows {}, but {} was acknowledged", key, *first, at_least);
  for (size_t i = 0; i < expected.truncations_done; ++i) {
    const Truncation& t = truncations_[i];
    if (t.acknowledged && was_over(key, *first, t)) {
      return fmt::format("key {} shows {}, which truncation {} removed", key, *first, t.started);
    }
  }
  return "";
}

bool Checker::may_have_expired(int key, int64_t number, int64_t at) const {
  auto known = keys_.find(key);
  if (known == keys_.end()) return false;
  auto write = known->second.tried.find(number);
  return write != known->second.tried.end() && write->second.may_be_gone <= at;
}

}  // namespace cassandra_like
