// Walks over keyspaces, tables and the hidden tables of indexes.
#include "storage/table/directory_check.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "absl/functional/function_ref.h"
#include "base/log.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_ids.h"
#include "storage/sstable/transaction_log.h"
#include "storage/table/table_directories.h"

namespace cassandra_like {

namespace {

constexpr std::string_view kDataEnding = "-Data.db";

Error refuse(std::string message) { return Error(ErrorCode::kConfigError, std::move(message)); }

using Visit = absl::FunctionRef<Status(const std::string& directory, const std::vector<DirectoryEntry>& files)>;

Status visit_table_directory(Disk& disk, const std::string& path, bool is_index, Visit visit) {
  ASSIGN_OR_RETURN(auto entries, disk.list(path));
  std::vector<DirectoryEntry> files;
  for (DirectoryEntry& entry : entries) {
    if (!entry.is_directory) {
      files.push_back(std::move(entry));
    } else if (!is_index && entry.name.starts_with('.')) {
      TRY(visit_table_directory(disk, path + "/" + entry.name, true, visit));
    }
  }
  return visit(path, files);
}

// The directories of tables and of their indexes.
Status visit_table_directories(Disk& disk, const std::string& data_directory, Visit visit) {
  ASSIGN_OR_RETURN(const auto tables, table_directories(disk, {data_directory}));
  for (const TableDirectory& table : tables) TRY(visit_table_directory(disk, table.path, false, visit));
  return {};
}

// By the name of the log: its copies in all directories.
using LogCopies = std::map<std::string, std::vector<std::string>>;

Result<LogCopies> find_transaction_logs(Disk& disk, const std::vector<std::string>& data_directories) {
  LogCopies logs;
  auto note = [&](const std::string& directory, const std::vector<DirectoryEntry>& files) -> Status {
    for (const DirectoryEntry& file : files) {
      if (is_transaction_log(file.name)) logs[file.name].push_back(directory + "/" + file.name);
    }
    return {};
  };
  for (const std::string& directory : data_directories) TRY(visit_table_directories(disk, directory, note));
  return logs;
}

class FileCheck {
 public:
  explicit FileCheck(Disk& disk) : disk_(disk) {}
  const FoundIds& found() const { return found_; }

  // Before the files: what a log voids need not be readable.
  Status check_transactions(const std::vector<std::string>& data_directories) {
    ASSIGN_OR_RETURN(const LogCopies logs, find_transaction_logs(disk_, data_directories));
    for (const auto& [name, copies] : logs) {
      auto log = TransactionLog::read(disk_, copies);
      Status status = log.ok() ? log->verify(disk_) : Status(log.error());
      if (!status.ok()) return refuse(status.error().message());
      for (std::string& prefix : log->void_sstables()) void_.insert(std::move(prefix));
    }
    return {};
  }

  Status visit(const std::string& data_directory, bool is_used) {
    is_used_ = is_used;
    return visit_table_directories(
        disk_, data_directory, [&](const std::string& directory, const std::vector<DirectoryEntry>& files) -> Status {
          for (const DirectoryEntry& file : files) TRY(check_file(directory, file.name));
          return {};
        });
  }

 private:
  Status check_file(const std::string& directory, const std::string& name) {
    const std::string path = directory + "/" + name;
    if (!name.ends_with(kDataEnding) || void_.contains(name.substr(0, name.rfind('-') + 1))) return {};
    auto descriptor = SSTableDescriptor::parse(directory, name);
    if (!descriptor || !is_supported_format(*descriptor)) {
      return refuse(descriptor ? unsupported_format(*descriptor).message()
                               : fmt::format("{} is an SSTable of a format that is not known: move it away", path));
    }
    if (!is_used_) {
      return refuse(
          fmt::format("{} lies in local_system_data_file_directory, which is not supported yet: move its "
                      "keyspaces to a directory of data_file_directories, and remove the key",
                      path));
    }
    const std::optional<uint32_t> number = sequence_number(descriptor->id);
    if (number && *number > kLastSequenceNumber) {
      return refuse(
          fmt::format("{} has a number after which there are too few for other SSTables: give all its files a "
                      "smaller one that no other SSTable of the table has",
                      path));
    }
    found_.numbers |= number.has_value();
    found_.uuids |= SSTableDescriptor::uuid_of(descriptor->id).has_value();
    return {};
  }

  Disk& disk_;
  FoundIds found_;
  std::set<std::string> void_;  // "da-<id>-bti-"
  bool is_used_ = true;
};

}  // namespace

Result<FoundIds> check_data_directories(Disk& disk, const DirectoryCheck& check) {
  FileCheck files(disk);
  TRY(files.check_transactions(check.data_directories));
  for (const std::string& directory : check.data_directories) TRY(files.visit(directory, true));
  TRY(files.visit(check.local_system_directory, false));
  return files.found();
}

namespace {

Status remove_unfinished(Disk& disk, const std::string& directory) {
  ASSIGN_OR_RETURN(const auto found, find_sstables(disk, directory));
  for (const SSTableOnDisk& files : found) {
    if (!is_supported_format(files.descriptor) || !files.is_unfinished()) continue;
    LOG_INFO("Removing the {} files of {}: the node ended while it wrote or removed this SSTable",
             files.components.size(), files.descriptor.file(components::kData));
    TRY(remove_sstable(disk, files.descriptor));
  }
  return {};
}

}  // namespace

std::vector<std::string> empty_data_directories(Disk& disk, const std::vector<std::string>& data_directories) {
  std::vector<std::string> empty;
  for (const std::string& directory : data_directories) {
    const auto entries = disk.list(directory);
    const bool has_keyspaces = entries.ok() && std::any_of(entries->begin(), entries->end(), is_keyspace_directory);
    if (!has_keyspaces) empty.push_back(directory);
  }
  if (empty.size() == data_directories.size()) empty.clear();
  return empty;
}

Task<Status> finish_transactions(Disk* disk, std::vector<std::string> data_directories) {
  CO_ASSIGN_OR_RETURN(const LogCopies logs, find_transaction_logs(*disk, data_directories));
  for (const auto& [name, copies] : logs) {
    CO_ASSIGN_OR_RETURN(TransactionLog log, TransactionLog::read(*disk, copies));
    Status finished = co_await log.finish(disk);
    if (!finished.ok()) co_return finished;
  }
  for (const std::string& data_directory : data_directories) {
    CO_TRY(visit_table_directories(*disk, data_directory,
                                   [disk](const std::string& directory, const std::vector<DirectoryEntry>&) {
                                     return remove_unfinished(*disk, directory);
                                   }));
  }
  co_return Status();
}

}  // namespace cassandra_like
