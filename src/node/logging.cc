#include "node/logging.h"

#include <pthread.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace cassandra_like {
namespace {

constexpr LogLevel kLevels[] = {LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo,
                                LogLevel::kWarn,  LogLevel::kError, LogLevel::kOff};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

class LevelFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    static constexpr std::string_view kNames[] = {"TRACE", "DEBUG", "INFO ", "WARN ", "ERROR", "ERROR", "OFF  "};
    const std::string_view name = kNames[message.level];
    out.append(name.data(), name.data() + name.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelFlag>(); }
};

class ThreadFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    char name[16] = "main";
    pthread_getname_np(pthread_self(), name, sizeof name);
    const std::string_view text(name);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<ThreadFlag>(); }
};

// The levels of all loggers. Most nodes never set one: then a record costs one atomic load.
class Levels {
 public:
  void start(LogLevel root) {
    std::lock_guard lock(mutex_);
    start_ = root_ = root;
    own_.clear();
    publish();
  }

  bool passes(const LogRecord& record) {
    if (!any_own_.load(std::memory_order_relaxed)) return true;
    std::lock_guard lock(mutex_);
    auto it = own_.find(std::string_view(record.file));
    return record.level >= (it == own_.end() ? root_ : it->second);
  }

  void set(std::string_view logger, std::optional<LogLevel> level) {
    std::lock_guard lock(mutex_);
    if (logger.empty()) {
      root_ = start_;
      own_.clear();
    } else if (logger == "ROOT") {
      root_ = level.value_or(start_);
    } else if (level) {
      own_[file_name(logger)] = *level;
    } else {
      own_.erase(file_name(logger));
    }
    publish();
  }

  std::vector<std::pair<std::string, std::string>> list() {
    std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::string>> out{{"ROOT", log_level_name(root_)}};
    for (const auto& [logger, level] : own_) out.emplace_back(logger, log_level_name(level));
    return out;
  }

 private:
  static std::string file_name(std::string_view logger) {
    return std::string(logger) + (logger.find('.') == std::string_view::npos ? ".cc" : "");
  }
  // The facade drops what no logger wants before it is formatted.
  void publish() {
    LogLevel least = root_;
    for (const auto& [logger, level] : own_) least = std::min(least, level);
    any_own_.store(!own_.empty(), std::memory_order_relaxed);
    set_log_level(least);
  }

  std::mutex mutex_;
  std::atomic<bool> any_own_{false};
  LogLevel start_ = LogLevel::kInfo;
  LogLevel root_ = LogLevel::kInfo;
  std::map<std::string, LogLevel, std::less<>> own_;
};

// Never destroyed: other static objects may log while the process ends.
Levels& levels() {
  static auto* const instance = new Levels;
  return *instance;
}

std::unique_ptr<spdlog::formatter> line_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelFlag>('*').add_flag<ThreadFlag>('&').set_pattern("%* [%&] %Y-%m-%d %H:%M:%S,%e %s:%# - %v");
  return formatter;
}

}  // namespace

const char* log_level_name(LogLevel level) {
  static constexpr const char* kNames[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"};
  return kNames[static_cast<int>(level)];
}

Status install_logging(const LogOptions& options) {
  std::vector<spdlog::sink_ptr> sinks;
  try {
    if (options.to_stdout) sinks.push_back(std::make_shared<spdlog::sinks::stdout_sink_mt>());
    if (!options.directory.empty()) {
      sinks.push_back(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
          options.directory + "/system.log", options.max_file_bytes, options.max_files));
    }
  } catch (const spdlog::spdlog_ex& e) {
    return Error(ErrorCode::kIo, options.directory + "/system.log: cannot be written: " + e.what());
  }
  auto logger = std::make_shared<spdlog::logger>("node", sinks.begin(), sinks.end());
  logger->set_formatter(line_formatter());
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  levels().start(options.level);
  set_log_sink([logger](const LogRecord& record) {
    if (!levels().passes(record)) return;
    logger->log(spdlog::source_loc{record.file, record.line, ""}, to_spdlog(record.level),
                spdlog::string_view_t(record.text));
  });
  return {};
}

void stop_logging() {
  set_log_sink([](const LogRecord& record) {
    std::fprintf(stderr, "%-5s %s:%d - %s\n", log_level_name(record.level), record.file, record.line,
                 record.text.c_str());
  });
}

std::vector<std::pair<std::string, std::string>> logging_levels() { return levels().list(); }

bool set_logging_level(std::string_view logger, std::string_view level) {
  if (level.empty() || logger.empty()) {
    levels().set(logger, std::nullopt);
    return true;
  }
  std::string name(level);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (LogLevel each : kLevels) {
    if (name != log_level_name(each)) continue;
    levels().set(logger, each);
    return true;
  }
  return false;
}

}  // namespace cassandra_like
