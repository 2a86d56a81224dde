// The logging facade: LOG_INFO("Flushed {} to {}", table, path). Formatting is fmt's.
//
// The sink is process-wide and write-only (nothing reads it back); by default it is stderr, the daemon sets
// spdlog with files (node/logging), the simulator and tests set one of their own or none. The file's base
// name stands for Cassandra's logger: `INFO  [shard-0] 2026-01-01 12:00:00,000 commit_log.cc:42 - text`.
#pragma once

#include <functional>
#include <string>

#include <fmt/format.h>

namespace cassandra_like {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kOff };

struct LogRecord {
  LogLevel level;
  const char* file;  // base name
  int line;
  std::string text;
};

using LogSink = std::function<void(const LogRecord&)>;
// An empty sink drops everything. A sink may be called from several threads at once.
void set_log_sink(LogSink sink);
void set_log_level(LogLevel level);
LogLevel log_level();
void log(LogLevel level, const char* file, int line, std::string text);

}  // namespace cassandra_like

#define LOG_AT(level, ...)                                                          \
  do {                                                                              \
    if (level >= ::cassandra_like::log_level()) {                                   \
      ::cassandra_like::log(level, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
    }                                                                               \
  } while (false)
#define LOG_DEBUG(...) LOG_AT(::cassandra_like::LogLevel::kDebug, __VA_ARGS__)
#define LOG_INFO(...) LOG_AT(::cassandra_like::LogLevel::kInfo, __VA_ARGS__)
#define LOG_WARN(...) LOG_AT(::cassandra_like::LogLevel::kWarn, __VA_ARGS__)
#define LOG_ERROR(...) LOG_AT(::cassandra_like::LogLevel::kError, __VA_ARGS__)
