// Keeps a kind of line that clients can cause without end from flooding the log: in each interval the first lines pass, the
// rest is counted, and the first line after that tells how many were held back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cassandra_like {

// Belongs to one shard or thread. Times are the caller's, in nanoseconds of a monotonic clock.
class LogQuota {
 public:
  static constexpr int64_t kMinute = 60'000'000'000;

  explicit LogQuota(uint32_t lines = 10, int64_t interval_nanos = kMinute) : lines_(lines), interval_(interval_nanos) {}

  // nullopt: hold this line back. Else what to append to it: nothing, or " (and 12 more like it before)".
  std::optional<std::string> take(int64_t now_nanos) {
    if (!started_ || now_nanos - began_ >= interval_) {
      started_ = true;
      began_ = now_nanos;
      written_ = 0;
    }
    if (written_ == lines_) {
      ++held_back_;
      return std::nullopt;
    }
    ++written_;
    if (held_back_ == 0) return std::string();
    return " (and " + std::to_string(std::exchange(held_back_, 0)) + " more like it before)";
  }

 private:
  uint32_t lines_;
  int64_t interval_;
  int64_t began_ = 0;
  uint32_t written_ = 0;
  uint64_t held_back_ = 0;
  bool started_ = false;
};

// The same for lines that strangers can cause: each has a quota of its own, so that a loud one does not hide the others, and all
// of them together have one, too.
class LogQuotas {
 public:
  explicit LogQuotas(uint32_t lines_of_each = 10, uint32_t lines_of_all = 100)
      : lines_of_each_(lines_of_each), all_(lines_of_all) {}

  std::optional<std::string> take(const std::string& who, int64_t now_nanos) {
    if (each_.size() >= kMostKnown && !each_.contains(who)) each_.clear();
    const auto own = each_.try_emplace(who, lines_of_each_).first->second.take(now_nanos);
    if (!own) return std::nullopt;
    const auto of_all = all_.take(now_nanos);
    if (!of_all) return std::nullopt;
    return *own + *of_all;
  }

 private:
  static constexpr size_t kMostKnown = 1024;  // strangers may have any number of addresses

  const uint32_t lines_of_each_;
  std::map<std::string, LogQuota> each_;
  LogQuota all_;
};

}  // namespace cassandra_like
