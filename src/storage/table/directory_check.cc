// A walk over keyspaces, tables and the hidden tables of indexes.
#include "storage/table/directory_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

constexpr std::string_view kDataEnding = "-Data.db";

Error refuse(std::string message) { return Error(ErrorCode::kConfigError, std::move(message)); }

bool is_sequence_number(const std::string& id) {
  return std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Walk {
 public:
  Walk(Disk& disk, const DirectoryCheck& check) : disk_(disk), check_(check) {}

  Status visit(const std::string& data_directory, bool is_used) {
    is_used_ = is_used;
    if (data_directory.empty() || !disk_.exists(data_directory)) return {};
    ASSIGN_OR_RETURN(auto keyspaces, disk_.list(data_directory));
    for (const DirectoryEntry& keyspace : keyspaces) {
      if (!keyspace.is_directory) continue;
      const std::string of_keyspace = data_directory + "/" + keyspace.name;
      ASSIGN_OR_RETURN(auto tables, disk_.list(of_keyspace));
      for (const DirectoryEntry& table : tables) {
        if (table.is_directory) TRY(visit_table(of_keyspace + "/" + table.name, false));
      }
    }
    return {};
  }

 private:
  Status visit_table(const std::string& path, bool is_index) {
    ASSIGN_OR_RETURN(auto entries, disk_.list(path));
    for (const DirectoryEntry& entry : entries) {
      if (!entry.is_directory) {
        TRY(check_file(path, entry.name));
      } else if (!is_index && entry.name.starts_with('.')) {
        TRY(visit_table(path + "/" + entry.name, true));
      }
    }
    return {};
  }

  Status check_file(const std::string& directory, const std::string& name) {
    const std::string path = directory + "/" + name;
    if (name.find("_txn_") != name.npos && name.ends_with(".log")) {
      return refuse(
          fmt::format("{} is of a transaction that Cassandra did not finish: start Cassandra on this directory "
                      "and stop it with nodetool drain and stopdaemon, then start this node",
                      path));
    }
    if (!name.ends_with(kDataEnding)) return {};
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
    if (is_sequence_number(descriptor->id) && !check_.uuid_identifiers) {
      return refuse(
          fmt::format("{} has a sequence number: the Cassandra that wrote it refuses this directory once this "
                      "node has written SSTables with uuids there: set uuid_sstable_identifiers_enabled: true, "
                      "here and in Cassandra's configuration",
                      path));
    }
    return {};
  }

  Disk& disk_;
  const DirectoryCheck& check_;
  bool is_used_ = true;
};

}  // namespace

Status check_data_directories(Disk& disk, const DirectoryCheck& check) {
  Walk walk(disk, check);
  for (const std::string& directory : check.data_directories) TRY(walk.visit(directory, true));
  return walk.visit(check.local_system_directory, false);
}

}  // namespace cassandra_like
