// Finds a table of a node that is not running.
#include "offline_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "schema/stored_schema.h"
#include "sstable_file.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/file_writer.h"
#include "storage/sstable/transaction_log.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr size_t kHexDigitsOfId = 32;

}  // namespace

bool names_a_table(const ToolContext& context, const CommandLine& line, const char* usage) {
  constexpr size_t kWords = 2;
  std::string error = line.error;
  if (error.empty() && line.words.size() < kWords) error = "Missing arguments";
  if (error.empty() && line.words.size() > kWords) error = "Too many arguments";
  if (error.empty()) return true;
  context.err << error << "\n";
  context.out << usage;
  return false;
}

namespace {

Task<Status> read_schema(const ToolContext* context, const EngineOptions* storage, SchemaPtr* schema) {
  std::function<void(const Error&)> on_damage = [context](const Error& error) {
    context->err << "WARNING: " << error.message() << ": the schema may lack changes\n";
  };
  Result<SchemaPtr> read = co_await read_stored_schema(context->runtime, storage, std::move(on_damage));
  if (!read.ok()) co_return std::move(read.error());
  *schema = std::move(*read);
  co_return Status();
}

}  // namespace

Result<SchemaPtr> load_schema(const ToolContext& context, const EngineOptions& storage) {
  SchemaPtr schema;
  TRY(context.wait(read_schema(&context, &storage, &schema)));
  return schema;
}

OfflineTable table_on_disk(const ToolContext& context, const EngineOptions& storage, const TablePtr& table) {
  OfflineTable found{table, {}};
  for (const std::string& data_directory : storage.data_directories) {
    std::string directory = data_directory + "/" + table->keyspace + "/" + table->directory_name();
    if (context.disk.exists(directory)) found.directories.push_back(std::move(directory));
  }
  return found;
}

Result<std::optional<OfflineTable>> find_table(const ToolContext& context, const std::string& keyspace,
                                               const std::string& name) {
  ASSIGN_OR_RETURN(const EngineOptions storage, context.storage(false));
  ASSIGN_OR_RETURN(const SchemaPtr schema, load_schema(context, storage));
  const TablePtr table = schema->table(keyspace, name);
  if (table == nullptr || table->is_virtual) return std::optional<OfflineTable>();
  return std::optional(table_on_disk(context, storage, table));
}

Result<std::vector<SSTableOnDisk>> sstables_of(const ToolContext& context, const OfflineTable& table) {
  std::vector<SSTableOnDisk> all;
  for (const std::string& directory : table.directories) {
    ASSIGN_OR_RETURN(auto found, find_sstables(context.disk, directory));
    for (SSTableOnDisk& files : found) {
      if (!files.is_unfinished() && !files.is_only_checksums()) all.push_back(std::move(files));
    }
  }
  return all;
}

namespace {

// nullopt: the directory is not one of a table.
std::optional<std::string> data_directory_of(const std::string& directory) {
  const size_t table = directory.rfind('/');
  const size_t id = directory.rfind('-');
  if (table == directory.npos || id == directory.npos || id < table || directory.size() - id - 1 != kHexDigitsOfId) {
    return std::nullopt;
  }
  const size_t keyspace = table == 0 ? directory.npos : directory.rfind('/', table - 1);
  if (keyspace == directory.npos || keyspace == 0) return std::nullopt;
  return directory.substr(0, keyspace);
}

}  // namespace

Result<TableLock> lock_directory(const ToolContext& context, const std::string& directory) {
  const auto data_directory = data_directory_of(directory);
  if (!data_directory) return TableLock();
  return context.disk.lock(*data_directory);
}

Result<std::vector<TableLock>> lock_table(const ToolContext& context, const OfflineTable& table) {
  std::set<std::string> data_directories;
  for (const std::string& directory : table.directories) {
    if (const auto of = data_directory_of(directory)) data_directories.insert(*of);
  }
  std::vector<TableLock> locks;
  for (const std::string& data_directory : data_directories) {
    ASSIGN_OR_RETURN(TableLock lock, context.disk.lock(data_directory));
    locks.push_back(std::move(lock));
  }
  return locks;
}

Status finish_transactions_of(const ToolContext& context, const OfflineTable& table) {
  std::map<std::string, std::vector<std::string>> logs;  // by name: its copies
  for (const std::string& directory : table.directories) {
    ASSIGN_OR_RETURN(const auto entries, context.disk.list(directory));
    for (const DirectoryEntry& entry : entries) {
      if (is_transaction_log(entry.name)) logs[entry.name].push_back(directory + "/" + entry.name);
    }
  }
  for (const auto& [name, copies] : logs) {
    ASSIGN_OR_RETURN(TransactionLog log, TransactionLog::read(context.disk, copies));
    TRY(log.verify(context.disk));
    TRY(context.wait(log.finish(&context.disk)));
  }
  return {};
}

std::string base_name(const SSTableDescriptor& descriptor) {
  std::string path = descriptor.file("");
  path.pop_back();
  return path;
}

namespace {

Task<Status> replace_file(Disk* disk, std::string directory, std::string path, Bytes content) {
  const std::string unfinished = path + ".tmp";
  CO_TRY(disk->remove(unfinished));
  CO_ASSIGN_OR_RETURN(const auto file, FileWriter::create(*disk, unfinished));
  file->append(content);
  CO_TRY(co_await file->sync());
  CO_TRY(disk->rename(unfinished, path));
  Task<Status> synced = disk->sync_directory(std::move(directory));
  co_return co_await std::move(synced);
}

}  // namespace

Status rewrite_statistics(const ToolContext& context, const SSTableDescriptor& descriptor,
                          const std::function<void(Statistics&)>& change) {
  const SSTableVersion* version = descriptor.known_version();
  if (version == nullptr) return unsupported_format(descriptor);
  ASSIGN_OR_RETURN(const ComponentSet components, ComponentSet::open(context.disk, descriptor, true));
  const std::string path = components.path(components::kStatistics);
  ASSIGN_OR_RETURN(const Bytes content, components.read(components::kStatistics));
  auto statistics = Statistics::parse(content, *version);
  if (!statistics.ok()) return Error(ErrorCode::kCorruption, path + ": " + statistics.error().message());
  if (statistics->serialize(*version) != content) {
    return invalid(path + " has facts that this program cannot write again: nothing was changed");
  }
  change(*statistics);
  return context.wait(replace_file(&context.disk, descriptor.directory, path, statistics->serialize(*version)));
}

}  // namespace cassandra_like::sstable_tools
