// The lines of the process's log while it lives: one at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"

namespace cassandra_like {

class CapturedLog {
 public:
  explicit CapturedLog(LogLevel level = LogLevel::kInfo) : former_level_(log_level()) {
    set_log_level(level);
    set_log_sink([kept = kept_](const LogRecord& record) {
      std::lock_guard lock(kept->mutex);
      kept->lines.push_back(record.text);
    });
  }
  ~CapturedLog() {
    set_log_sink({});
    set_log_level(former_level_);
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::vector<std::string> lines() const {
    std::lock_guard lock(kept_->mutex);
    return kept_->lines;
  }
  // Lines that hold the text.
  size_t count(const std::string& text) const {
    const std::vector<std::string> all = lines();
    return static_cast<size_t>(
        std::ranges::count_if(all, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  std::string all() const {
    std::string out;
    for (const std::string& line : lines()) out += line + "\n";
    return out;
  }

 private:
  // A thread may be in the sink when this ends.
  struct Kept {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  const LogLevel former_level_;
};

}  // namespace cassandra_like
