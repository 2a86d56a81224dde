// Finds a table of a node that is not running.
#include "offline_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/containers.h"
#include "sstable_file.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/file_writer.h"
#include "storage/sstable/transaction_log.h"

namespace cassandra_like::sstable_tools {

namespace {

constexpr size_t kHexDigitsOfId = 32;

// A row of system_schema.tables, merged from all SSTables. Its cells have no TTL, and neither this program nor Cassandra writes
// range tombstones over it.
class SchemaRow {
 public:
  void take_deletion(const DeletionTime& deletion) {
    deleted_at_ = std::max(deleted_at_, deletion.marked_for_delete_at);
  }
  void take(const Row& row) {
    take_deletion(row.deletion);
    for (const Cell& cell : row.cells) {
      if (cell.column->name == "id" && cell.value.size() == 16) id_.take(cell);
      if (cell.column->name == "gc_grace_seconds" && cell.value.size() == 4) gc_grace_.take(cell);
    }
  }

  std::optional<Uuid> id() const {
    if (id_.timestamp <= deleted_at_ || id_.value.empty()) return std::nullopt;
    return Uuid::from_bytes(id_.value);
  }
  int64_t gc_grace_seconds() const {
    if (gc_grace_.timestamp <= deleted_at_ || gc_grace_.value.empty()) return 0;
    Reader in(gc_grace_.value);
    return in.i32();
  }

 private:
  struct Newest {
    int64_t timestamp = kNoTimestamp;
    Bytes value;  // empty for a tombstone

    void take(const Cell& cell) {
      if (cell.timestamp <= timestamp) return;
      timestamp = cell.timestamp;
      value = Bytes(cell.is_tombstone() ? BytesView() : cell.value);
    }
  };

  int64_t deleted_at_ = kNoTimestamp;
  Newest id_, gc_grace_;
};

Status read_schema_row(Disk& disk, const SSTableDescriptor& descriptor, const std::string& keyspace,
                       const std::string& name, SchemaRow* merged) {
  ASSIGN_OR_RETURN(const SSTableFile file, SSTableFile::open(disk, descriptor));
  ASSIGN_OR_RETURN(const auto data, SSTableData::open(disk, file));
  data->only({DecoratedKey::of(keyspace).token});
  for (;;) {
    ASSIGN_OR_RETURN(const bool found, data->next());
    if (!found) return {};
    if (data->partition().key().key != keyspace) continue;
    merged->take_deletion(data->partition().partition_deletion());
    for (;;) {
      ASSIGN_OR_RETURN(const Unfiltered* unfiltered, data->partition().next());
      if (unfiltered == nullptr) break;
      if (unfiltered->is_row && unfiltered->row.clustering.values[0] == name) merged->take(unfiltered->row);
    }
  }
}

std::vector<std::string> existing_directories(Disk& disk, const std::vector<std::string>& data_directories,
                                              const std::string& keyspace, const std::string& table, const Uuid& id) {
  std::vector<std::string> directories;
  for (const std::string& data_directory : data_directories) {
    std::string directory = data_directory + "/" + keyspace + "/" + table + "-" + to_hex(id.view());
    if (disk.exists(directory)) directories.push_back(std::move(directory));
  }
  return directories;
}

// SystemKeyspace and SchemaKeyspace: the ids of their tables are made of their names.
bool is_local_system_keyspace(std::string_view keyspace) { return keyspace == "system" || keyspace == "system_schema"; }

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

Result<std::optional<OfflineTable>> find_table(const ToolContext& context, const std::string& keyspace,
                                               const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<std::string> data_directories, context.data_directories());
  OfflineTable table{keyspace, name, 0, {}};
  if (is_local_system_keyspace(keyspace)) {
    table.directories =
        existing_directories(context.disk, data_directories, keyspace, name, Uuid::name_based(keyspace + name));
    if (table.directories.empty()) return std::optional<OfflineTable>();
    return std::optional(std::move(table));
  }
  OfflineTable schema{"system_schema", "tables", 0, {}};
  schema.directories = existing_directories(context.disk, data_directories, schema.keyspace, schema.name,
                                            Uuid::name_based(schema.keyspace + schema.name));
  ASSIGN_OR_RETURN(const auto sstables, sstables_of(context, schema));
  SchemaRow row;
  for (const SSTableOnDisk& files : sstables) {
    TRY(read_schema_row(context.disk, files.descriptor, keyspace, name, &row));
  }
  const std::optional<Uuid> id = row.id();
  if (!id) return std::optional<OfflineTable>();
  table.gc_grace_seconds = row.gc_grace_seconds();
  table.directories = existing_directories(context.disk, data_directories, keyspace, name, *id);
  return std::optional(std::move(table));
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

Result<TableLock> lock_directory(const ToolContext& context, const std::string& directory) {
  const size_t table = directory.rfind('/');
  const size_t id = directory.rfind('-');
  if (table == directory.npos || id == directory.npos || id < table || directory.size() - id - 1 != kHexDigitsOfId) {
    return TableLock();
  }
  const size_t keyspace = table == 0 ? directory.npos : directory.rfind('/', table - 1);
  if (keyspace == directory.npos || keyspace == 0) return TableLock();
  return context.disk.lock(directory.substr(0, keyspace));
}

Result<std::vector<TableLock>> lock_table(const ToolContext& context, const OfflineTable& table) {
  std::vector<TableLock> locks;
  for (const std::string& directory : table.directories) {
    ASSIGN_OR_RETURN(TableLock lock, lock_directory(context, directory));
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
