// Cassandra's offline tools: programs for SSTables of a node that is not running, and one for tokens of nodes that are planned
// (org.apache.cassandra.tools). They take the
// options of Cassandra 5.0.9, print its text and exit with its codes. A stack trace there is one line here. A tool that
// changes files refuses while a node of this program uses the directory.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/task.h"
#include "storage/options.h"

namespace cassandra_like::sstable_tools {

struct ToolContext {
  Disk& disk;
  int64_t now_millis;     // since 1970; what has expired, and what may be dropped
  std::string directory;  // that relative names are in
  std::ostream& out;
  std::ostream& err;
  // The node's configuration, for tools that know a table: its directories and, for one that writes SSTables, what they are to be.
  std::function<Result<EngineOptions>(bool writes)> storage = {};
  // Runs a task to its end; for tools that write.
  std::function<Status(Task<Status>)> wait = {};
  // One shard, on which `wait` runs tasks; where `storage` is given. generatetokens takes its random numbers.
  Runtime* runtime = nullptr;
};

// Each returns the exit code; arguments are without the program's name.
int run_sstabledump(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstablemetadata(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstableutil(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstablelevelreset(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstablerepairedset(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstablescrub(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstablesplit(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstableupgrade(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstableexpiredblockers(const std::vector<std::string>& arguments, const ToolContext& context);
int run_generatetokens(const std::vector<std::string>& arguments, const ToolContext& context);
int run_sstableverify(const std::vector<std::string>& arguments, const ToolContext& context);

// Prints an exception as the JVM does one that nobody catches, without where it was thrown. Returns the exit code.
int fail(const ToolContext& context, const std::string& exception, const std::string& message);

}  // namespace cassandra_like::sstable_tools
