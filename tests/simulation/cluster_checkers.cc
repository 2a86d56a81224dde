#include "tests/simulation/cluster_checkers.h"

#include <fmt/format.h>

#include <algorithm>

namespace cassandra_like {

void CounterChecker::ended(int key, int64_t delta, Outcome outcome) {
  if (outcome == Outcome::kRefused) keys_[key].tried -= delta;
  if (outcome != Outcome::kAcknowledged) return;
  keys_[key].acknowledged += delta;
  ++acknowledged_count_;
}

CounterChecker::Expectation CounterChecker::must_show(int key) const {
  auto it = keys_.find(key);
  if (it == keys_.end()) return {0, 0, reads_forgotten_};
  return {it->second.acknowledged, it->second.read, reads_forgotten_};
}

std::string CounterChecker::check(int key, const Expectation& expected, int64_t value) {
  Key& state = keys_[key];
  const bool reads_count = expected.reads_forgotten == reads_forgotten_;
  const int64_t at_least = std::max(expected.acknowledged, reads_count ? expected.read : 0);
  if (value < at_least)
    return fmt::format("counter {} shows {}, but {} was acknowledged or read", key, value, at_least);
  if (value > state.tried) return fmt::format("counter {} shows {}, but only {} was tried", key, value, state.tried);
  if (reads_count) state.read = std::max(state.read, value);
  return "";
}

void CounterChecker::forget_reads() {
  for (auto& [key, state] : keys_) state.read = 0;
  ++reads_forgotten_;
}

std::string BatchChecker::check(int64_t batch, size_t rows_found, size_t rows) const {
  const Outcome outcome = batches_.at(batch);
  if (rows_found != 0 && rows_found != rows)
    return fmt::format("batch {} shows {} of its {} rows", batch, rows_found, rows);
  if (rows_found == 0 && outcome == Outcome::kAcknowledged)
    return fmt::format("batch {} was acknowledged and shows nothing", batch);
  if (rows_found != 0 && outcome == Outcome::kRefused) return fmt::format("batch {} was refused and shows", batch);
  return "";
}

std::vector<int64_t> DeliveryChecker::due(size_t replica, const std::vector<uint64_t>& lives) const {
  std::vector<int64_t> out;
  for (const auto& [row, made] : rows_) {
    if (made.coordinator != replica && lives.at(made.coordinator) == made.life) out.push_back(row);
  }
  return out;
}

std::string DeliveryChecker::check(int64_t row, size_t replica, bool found) {
  return found ? "" : fmt::format("row {} was acknowledged, and node {} never got it", row, replica + 1);
}

std::string SchemaChecker::check(const std::vector<View>& nodes) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& object : objects_) {
      if (!nodes[i].objects.contains(object)) {
        return fmt::format("{} was acknowledged, and node {} does not have it", object, i + 1);
      }
    }
    if (nodes[i].version != nodes[0].version) {
      return fmt::format("node 1 has schema version {}, node {} {}", nodes[0].version, i + 1, nodes[i].version);
    }
  }
  return "";
}

}  // namespace cassandra_like
