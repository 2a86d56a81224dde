// sstablerepairedset (SSTableRepairedAtSetter): what incremental repair takes for repaired.
#include <algorithm>

#include "offline_table.h"
#include "sstable_file.h"
#include "sstable_tools.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr const char* kRepairedSetUsage =
    "Usage: sstablerepairedset --really-set [--is-repaired | --is-unrepaired] [-f <sstable-list> | <sstables>]\n";

Result<std::vector<std::string>> lines_of(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, disk.open(path));
  Bytes text(file->size(), '\0');
  if (!text.empty()) TRY(file->read(0, text));
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// The time of repair is that of Data.db, milliseconds since 1970; 0: it was not repaired.
Status set_repaired(const ToolContext& context, const SSTableDescriptor& descriptor, bool is_repaired) {
  ASSIGN_OR_RETURN(const TableLock lock, lock_directory(context, descriptor.directory));
  int64_t repaired_at = 0;
  if (is_repaired) {
    ASSIGN_OR_RETURN(const auto all, find_sstables(context.disk, descriptor.directory));
    const auto files =
        std::find_if(all.begin(), all.end(), [&](const SSTableOnDisk& f) { return f.descriptor == descriptor; });
    if (files == all.end() || !files->has(components::kData)) {
      return Error(ErrorCode::kIo, descriptor.file(components::kData) + " is not there");
    }
    repaired_at = files->modified_millis;
  }
  return rewrite_statistics(context, descriptor, [&](Statistics& statistics) {
    statistics.repaired_at = repaired_at;
    statistics.pending_repair.reset();
    statistics.is_transient = false;
  });
}

}  // namespace

int run_sstablerepairedset(const std::vector<std::string>& arguments, const ToolContext& context) {
  if (arguments.empty()) {
    context.out << "This command should be run with Cassandra stopped!\n"
                   "Usage: sstablerepairedset [--is-repaired | --is-unrepaired] [-f <sstable-list> | <sstables>]\n";
    return 1;
  }
  if (arguments.size() < 3 || arguments[0] != "--really-set" ||
      (arguments[1] != "--is-repaired" && arguments[1] != "--is-unrepaired")) {
    context.out << "This command should be run with Cassandra stopped, otherwise you will get very strange behavior\n"
                   "Verify that Cassandra is not running and then execute the command like this:\n"
                << kRepairedSetUsage;
    return 1;
  }
  auto absolute = [&](const std::string& path) {
    return path.starts_with('/') ? path : context.directory + "/" + path;
  };
  std::vector<std::string> names(arguments.begin() + 2, arguments.end());
  if (names[0] == "-f") {
    if (names.size() < 2) {
      context.out << kRepairedSetUsage;
      return 1;
    }
    auto lines = lines_of(context.disk, absolute(names[1]));
    if (!lines.ok()) return fail(context, "java.nio.file.NoSuchFileException", lines.error().message());
    names = std::move(*lines);
  }
  for (const std::string& name : names) {
    const auto descriptor = descriptor_of(absolute(name));
    if (!descriptor.ok()) return fail(context, "java.lang.IllegalArgumentException", descriptor.error().message());
    if (descriptor->known_version() == nullptr) {
      context.err << "SSTable " << name << " is in a old and unsupported format\n";
      continue;
    }
    const Status status = set_repaired(context, *descriptor, arguments[1] == "--is-repaired");
    if (!status.ok()) return fail(context, "java.io.IOException", status.error().message());
  }
  return 0;
}

}  // namespace cassandra_like::sstable_tools
