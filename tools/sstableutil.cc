// sstableutil (StandaloneSSTableUtil).
#include <fmt/format.h>

#include <algorithm>

#include "command_line.h"
#include "offline_table.h"
#include "sstable_tools.h"
#include "storage/sstable/transaction_log.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr const char* kUtilUsage = R"(usage: sstableutil [options] <keyspace> <column_family>
--
List sstable files for the provided table.
--
Options are:
 -c,--cleanup      clean-up any outstanding transactions
 -d,--debug        display stack traces
 -h,--help         display this help message
 -o,--oplog        include operation logs
 -t,--type <arg>   all (list all files, final or temporary), tmp (list
                   temporary files only), final (list final files only),
 -v,--verbose      verbose output
)";

struct WantedFiles {
  bool final_files = true, temporary_files = true, logs = false;
};

// Temporary files are those that the log of a transaction voids.
Status list_files(const ToolContext& context, const OfflineTable& table, const WantedFiles& wanted) {
  for (const std::string& directory : table.directories) {
    ASSIGN_OR_RETURN(const auto voided, void_sstables(context.disk, directory));
    ASSIGN_OR_RETURN(const auto entries, context.disk.list(directory));
    for (const DirectoryEntry& entry : entries) {
      if (entry.is_directory) continue;
      const bool is_temporary = std::any_of(voided.begin(), voided.end(),
                                            [&](const std::string& prefix) { return entry.name.starts_with(prefix); });
      const bool is_wanted = is_transaction_log(entry.name) ? wanted.logs
                             : is_temporary                 ? wanted.temporary_files
                                                            : wanted.final_files;
      if (is_wanted) context.out << directory << "/" << entry.name << "\n";
    }
  }
  return {};
}

Status clean_up(const ToolContext& context, const OfflineTable& table) {
  ASSIGN_OR_RETURN(const auto locks, lock_table(context, table));
  return finish_transactions_of(context, table);
}

Status list_or_clean_up(const ToolContext& context, const CommandLine& line) {
  ASSIGN_OR_RETURN(const auto table, find_table(context, line.words[0], line.words[1]));
  if (!table) return invalid(fmt::format("Unknown keyspace/table {}.{}", line.words[0], line.words[1]));
  if (line.has('c')) {
    context.out << "Cleaning up...\n";
    return clean_up(context, *table);
  }
  context.out << "Listing files...\n";
  const std::string type = line.has('t') ? line.options.at('t').front() : "all";
  return list_files(context, *table, {type != "tmp", type != "final", line.has('o')});
}

}  // namespace

int run_sstableutil(const std::vector<std::string>& arguments, const ToolContext& context) {
  const CommandLine line = CommandLine::parse_gnu(
      {{'c', "cleanup"}, {'d', "debug"}, {'h', "help"}, {'o', "oplog"}, {'t', "type", 1}, {'v', "verbose"}}, arguments);
  if (line.error.empty() && line.has('h')) {
    context.out << kUtilUsage;
    return 0;
  }
  if (!names_a_table(context, line, kUtilUsage)) return 1;
  const Status status = list_or_clean_up(context, line);
  if (!status.ok()) context.err << status.error().message() << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace cassandra_like::sstable_tools
