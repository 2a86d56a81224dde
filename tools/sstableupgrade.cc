// sstableupgrade (StandaloneUpgrader): writes the SSTables of a table, or of a snapshot of it, in the version that the node writes.
#include <fmt/format.h>

#include "offline_rewrite.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr char kDebugOfUpgrade = '\1';  // --debug has no letter

constexpr const char* kUpgradeUsage = R"(usage: sstableupgrade [options] <keyspace> <cf> [snapshot]
--
Upgrade the sstables in the given cf (or snapshot) to the current version
of Cassandra.This operation will rewrite the sstables in the specified cf
to match the currently installed version of Cassandra.
The snapshot option will only upgrade the specified snapshot. Upgrading
snapshots is required before attempting to restore a snapshot taken in a
major version older than the major version Cassandra is currently running.
This will replace the files in the given snapshot as well as break any
hard links to live sstables.
--
Options are:
    --debug         display stack traces
 -h,--help          display this help message
 -k,--keep-source   do not delete the source sstables
)";

bool has_primary_components(const SSTableOnDisk& files) {
  const bool is_big = files.descriptor.format == "big";
  return files.has(components::kData) && files.has(is_big ? components::kPrimaryIndex : components::kPartitions);
}

class Upgrade {
 public:
  Upgrade(const ToolContext& context, const CommandLine& line) : context_(context), line_(line) {}

  // The exit code.
  Result<int> run() {
    ASSIGN_OR_RETURN(storage_, context_.storage(true));
    ASSIGN_OR_RETURN(const SchemaPtr schema, load_schema(context_, storage_));
    const TablePtr table = schema->table(line_.words[0], line_.words[1]);
    if (table == nullptr || table->is_virtual) {
      return invalid(fmt::format("Unknown keyspace/table {}.{}", line_.words[0], line_.words[1]));
    }
    OfflineTable on_disk = table_on_disk(context_, storage_, table);
    ASSIGN_OR_RETURN(const auto locks, lock_table(context_, on_disk));
    TRY(finish_transactions_of(context_, on_disk));
    OfflineRewriter rewriter(context_, storage_, table);
    for (const std::string& directory : on_disk.directories) TRY(rewriter.note_ids(directory));
    if (line_.words.size() > 2) {
      use_snapshot(on_disk, line_.words[2]);
      for (const std::string& directory : on_disk.directories) TRY(rewriter.note_ids(directory));
    }
    ASSIGN_OR_RETURN(const auto old, find_old(on_disk));
    return upgrade_all(rewriter, old);
  }

 private:
  void use_snapshot(OfflineTable& table, const std::string& tag) const {
    for (std::string& directory : table.directories) directory += "/snapshots/" + tag;
    std::erase_if(table.directories, [this](const std::string& d) { return !context_.disk.exists(d); });
  }

  Result<std::vector<OfflineSSTable>> find_old(const OfflineTable& table) {
    ASSIGN_OR_RETURN(auto all, sstables_of(context_, table));
    sort_by_id(all);
    std::vector<OfflineSSTable> old;
    for (SSTableOnDisk& files : all) {
      if (!has_primary_components(files)) continue;
      auto opened = SSTable::open(context_.disk, files.descriptor, table.table);
      if (!opened.ok()) {
        context_.err << "Error Loading " << base_name(files.descriptor) << ": " << opened.error().message() << "\n";
      } else if (files.descriptor.known_version() != storage_.sstable_version) {
        old.push_back({std::move(files), std::move(*opened)});
      }
    }
    return old;
  }

  int upgrade_all(OfflineRewriter& rewriter, const std::vector<OfflineSSTable>& old) {
    context_.out << "Found " << old.size() << " sstables that need upgrading.\n";
    for (const OfflineSSTable& sstable : old) {
      const std::string name = reader_name(sstable.descriptor());
      context_.out << "Upgrading " << name << "\n";
      const Status done = rewriter.upgrade(sstable, line_.has('k'));
      if (done.ok()) {
        context_.out << "Upgrade of " << name << " complete.\n";
        continue;
      }
      if (!is_of_sstable(done.error())) return fail_to_write(context_, done.error());
      context_.err << "Error upgrading " << name << ": " << done.error().message() << "\n";
    }
    return 0;
  }

  const ToolContext& context_;
  const CommandLine& line_;
  EngineOptions storage_;
};

}  // namespace

int run_sstableupgrade(const std::vector<std::string>& arguments, const ToolContext& context) {
  const CommandLine line =
      CommandLine::parse_gnu({{kDebugOfUpgrade, "debug"}, {'h', "help"}, {'k', "keep-source"}}, arguments);
  if (line.error.empty() && line.has('h')) {
    context.out << kUpgradeUsage;
    return 0;
  }
  std::string error = line.error;
  if (error.empty() && line.words.size() < 2) error = "Missing arguments";
  if (error.empty() && line.words.size() > 3) error = "Too many arguments";
  if (!error.empty()) {
    context.err << error << "\n";
    context.out << kUpgradeUsage;
    return 1;
  }
  const auto done = Upgrade(context, line).run();
  return done.ok() ? *done : fail_with_message(context, done.error(), line.has(kDebugOfUpgrade));
}

}  // namespace cassandra_like::sstable_tools
