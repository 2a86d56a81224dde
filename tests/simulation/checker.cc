#include "tests/simulation/checker.h"

#include <fmt/format.h>

namespace cassandra_like {

void Checker::tried_write(int key, int64_t number) { keys_[key].tried[number] = false; }
void Checker::tried_delete(int key, int64_t number) { keys_[key].tried[number] = true; }

void Checker::acknowledged(int key, int64_t number, int64_t at) {
  keys_[key].acknowledged[number] = at;
  ++acknowledged_count_;
}

void Checker::forget_acknowledged_after(int64_t safe_until) {
  for (auto& [key, state] : keys_)
    std::erase_if(state.acknowledged, [&](const auto& a) { return a.second > safe_until; });
}

int64_t Checker::must_show(int key) const {
  auto it = keys_.find(key);
  if (it == keys_.end() || it->second.acknowledged.empty()) return 0;
  return it->second.acknowledged.rbegin()->first;
}

const std::map<int64_t, bool>& Checker::history(int key) const {
  static const std::map<int64_t, bool> kNone;
  auto it = keys_.find(key);
  return it == keys_.end() ? kNone : it->second.tried;
}

std::string Checker::check(int key, int64_t at_least, std::optional<int64_t> first,
                           std::optional<int64_t> second) const {
  auto show = [](const std::optional<int64_t>& n) { return n ? std::to_string(*n) : std::string("nothing"); };
  if (first != second) {
    return fmt::format("key {} shows half a write: {} and {}", key, show(first), show(second));
  }
  const auto& tried = history(key);
  if (!first) {
    // Nothing: before any write, or a delete was the last that took effect.
    if (at_least == 0) return "";
    for (auto it = tried.lower_bound(at_least); it != tried.end(); ++it) {
      if (it->second) return "";
    }
    return fmt::format("key {} shows nothing, but write {} was acknowledged", key, at_least);
  }
  auto it = tried.find(*first);
  if (it == tried.end() || it->second) return fmt::format("key {} shows {}, which nobody wrote", key, *first);
  if (*first < at_least) return fmt::format("key {} shows {}, but {} was acknowledged", key, *first, at_least);
  return "";
}

}  // namespace cassandra_like
