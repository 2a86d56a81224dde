// The process-wide log sink. It is the only mutable global: write-only, so nothing can come to depend on it.
#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/result.h"

namespace cassandra_like {

namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

const char* level_name(LogLevel level) {
  static constexpr const char* kNames[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"};
  return kNames[static_cast<int>(level)];
}

void write_to_stderr(const LogRecord& r) {
  std::string line = fmt::format("{:<5} {}:{} - {}\n", level_name(r.level), r.file, r.line, r.text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

struct SharedSink {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink = std::make_shared<LogSink>(write_to_stderr);

  std::shared_ptr<const LogSink> get() {
    std::lock_guard lock(mutex);
    return sink;
  }
};

// Never destroyed: other static objects may log while the process ends.
SharedSink& shared_sink() {
  static auto* const s = new SharedSink;
  return *s;
}

bool needs_escape(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

// A record may hold what a client wrote. A line break in it would let the client write lines of its own.
std::string escape_control(std::string text) {
  if (std::none_of(text.begin(), text.end(), needs_escape)) return text;
  std::string escaped;
  for (char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else if (needs_escape(c)) {
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

}  // namespace

void set_log_sink(LogSink sink) {
  auto next = std::make_shared<const LogSink>(sink ? std::move(sink) : [](const LogRecord&) {});
  std::lock_guard lock(shared_sink().mutex);
  shared_sink().sink.swap(next);
}

void set_log_level(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }
LogLevel log_level() { return g_level.load(std::memory_order_relaxed); }

void log(LogLevel level, const char* file, int line, std::string text) {
  const char* slash = std::strrchr(file, '/');
  (*shared_sink().get())({level, slash ? slash + 1 : file, line, escape_control(std::move(text))});
}

void fail_check(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace cassandra_like
