// The log of a running node: base/log.h's sink writes to standard output and to system.log, which rotates by size.
//
// Lines are Cassandra's: `INFO  [shard-0] 2026-01-01 12:00:00,000 commit_log.cc:42 - text`. The name in brackets is
// the thread's. Each line is flushed, for those who wait for one.
//
// Levels: ROOT's holds for every file that has none of its own. A logger's name is a file's base name, with or without `.cc`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace cassandra_like {

struct LogOptions {
  bool to_stdout = true;
  std::string directory;  // of system.log; empty: no file
  size_t max_file_bytes = 50 << 20;
  size_t max_files = 20;  // beside the current one: system.1.log is the youngest
  LogLevel level = LogLevel::kInfo;
};

// Replaces the process's log sink. The directory is made when missing.
Status install_logging(const LogOptions& options);
// Writes out what is left and puts the default sink back.
void stop_logging();

// ROOT first, then the loggers with a level of their own in order of name.
std::vector<std::pair<std::string, std::string>> logging_levels();
// An empty level lets the logger follow ROOT again; an empty logger resets everything to the start.
// False when the level is no level's name.
bool set_logging_level(std::string_view logger, std::string_view level);

const char* log_level_name(LogLevel level);

}  // namespace cassandra_like
