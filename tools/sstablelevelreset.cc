// sstablelevelreset (SSTableLevelResetter): LeveledCompactionStrategy begins anew with all SSTables of a table.
#include <fmt/format.h>

#include "offline_table.h"
#include "sstable_file.h"
#include "sstable_tools.h"

namespace cassandra_like::sstable_tools {

namespace {

Status reset_levels(const ToolContext& context, const OfflineTable& table) {
  ASSIGN_OR_RETURN(const auto locks, lock_table(context, table));
  TRY(finish_transactions_of(context, table));
  ASSIGN_OR_RETURN(const auto sstables, sstables_of(context, table));
  bool found = false;
  for (const SSTableOnDisk& files : sstables) {
    if (!files.has(components::kStatistics)) continue;
    found = true;
    const std::string data = files.descriptor.file(components::kData);
    ASSIGN_OR_RETURN(const SSTableFile file, SSTableFile::open(context.disk, files.descriptor));
    const int32_t level = file.statistics.level;
    if (level <= 0) {
      context.out << "Skipped " << data << " since it is already on level 0\n";
      continue;
    }
    context.out << "Changing level from " << level << " to 0 on " << data << "\n";
    TRY(rewrite_statistics(context, files.descriptor, [](Statistics& statistics) { statistics.level = 0; }));
  }
  if (!found) context.out << "Found no sstables, did you give the correct keyspace/table?\n";
  return {};
}

}  // namespace

int run_sstablelevelreset(const std::vector<std::string>& arguments, const ToolContext& context) {
  if (arguments.empty()) {
    context.out << "This command should be run with Cassandra stopped!\n"
                   "Usage: sstablelevelreset <keyspace> <table>\n";
    return 1;
  }
  if (arguments.size() != 3 || arguments[0] != "--really-reset") {
    context.out << "This command should be run with Cassandra stopped, otherwise you will get very strange behavior\n"
                   "Verify that Cassandra is not running and then execute the command like this:\n"
                   "Usage: sstablelevelreset --really-reset <keyspace> <table>\n";
    return 1;
  }
  const auto table = find_table(context, arguments[1], arguments[2]);
  if (!table.ok()) return fail(context, "java.lang.RuntimeException", table.error().message());
  if (!*table) {
    context.err << "ColumnFamily not found: " << arguments[1] << "/" << arguments[2] << "\n";
    return 1;
  }
  const Status status = reset_levels(context, **table);
  return status.ok() ? 0 : fail(context, "java.lang.RuntimeException", status.error().message());
}

}  // namespace cassandra_like::sstable_tools
