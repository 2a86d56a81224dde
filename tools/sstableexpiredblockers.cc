// sstableexpiredblockers (SSTableExpiredBlockers): which SSTables keep others, whose data has all expired, from being dropped.
#include <fmt/format.h>

#include "offline_table.h"
#include "sstable_file.h"
#include "sstable_tools.h"

namespace cassandra_like::sstable_tools {

namespace {

std::string expiry_text(const std::vector<const SSTableFile*>& files) {
  std::string text;
  for (const SSTableFile* file : files) {
    const Statistics& s = file->statistics;
    text += fmt::format("[{} (minTS = {}, maxTS = {}, maxLDT = {})], ", reader_name(file->descriptor), s.min_timestamp,
                        s.max_timestamp, s.max_local_deletion_time);
  }
  return text;
}

void print_blockers(const ToolContext& context, const std::vector<SSTableFile>& files, int64_t gc_before) {
  for (const SSTableFile& blocker : files) {
    if (blocker.statistics.max_local_deletion_time <= gc_before) continue;
    std::vector<const SSTableFile*> blocked;
    for (const SSTableFile& file : files) {
      if (&file != &blocker && file.statistics.max_local_deletion_time < gc_before &&
          blocker.statistics.min_timestamp <= file.statistics.max_timestamp) {
        blocked.push_back(&file);
      }
    }
    if (blocked.empty()) continue;
    context.out << expiry_text({&blocker}) << " blocks " << blocked.size()
                << " expired sstables from getting dropped: " << expiry_text(blocked) << "\n\n";
  }
}

}  // namespace

int run_sstableexpiredblockers(const std::vector<std::string>& arguments, const ToolContext& context) {
  if (arguments.size() < 2) {
    context.out << "Usage: sstableexpiredblockers <keyspace> <table>\n";
    return 1;
  }
  const std::string& keyspace = arguments[arguments.size() - 2];
  const std::string& name = arguments.back();
  const auto table = find_table(context, keyspace, name);
  if (!table.ok()) return fail(context, "java.lang.RuntimeException", table.error().message());
  if (!*table) {
    return fail(context, "org.apache.cassandra.exceptions.InvalidRequestException",
                fmt::format("table {} does not exist", name));
  }
  const auto sstables = sstables_of(context, **table);
  if (!sstables.ok()) return fail(context, "java.lang.RuntimeException", sstables.error().message());
  std::vector<SSTableFile> files;
  for (const SSTableOnDisk& one : *sstables) {
    auto file = SSTableFile::open(context.disk, one.descriptor);
    if (file.ok()) {
      files.push_back(std::move(*file));
    } else {
      context.out << "Couldn't open sstable: " << one.descriptor.file(components::kData) << " ("
                  << file.error().message() << ")\n";
    }
  }
  if (files.empty()) {
    context.out << "No sstables for " << keyspace << "." << name << "\n";
    return 1;
  }
  print_blockers(context, files, context.now_millis / 1000 - (*table)->table->params.gc_grace_seconds);
  return 0;
}

}  // namespace cassandra_like::sstable_tools
