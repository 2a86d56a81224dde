#include "storage/table/table_directories.h"

namespace cassandra_like {

// In the root of an ext4 file system there is a directory that only root can read.
bool is_keyspace_directory(const DirectoryEntry& entry) { return entry.is_directory && entry.name != "lost+found"; }

Result<std::vector<TableDirectory>> table_directories(Disk& disk, const std::vector<std::string>& data_directories) {
  std::vector<TableDirectory> out;
  for (const std::string& data : data_directories) {
    if (data.empty() || !disk.exists(data)) continue;
    ASSIGN_OR_RETURN(const auto keyspaces, disk.list(data));
    for (const DirectoryEntry& keyspace : keyspaces) {
      if (!is_keyspace_directory(keyspace)) continue;
      const std::string of_keyspace = data + "/" + keyspace.name;
      ASSIGN_OR_RETURN(const auto tables, disk.list(of_keyspace));
      for (const DirectoryEntry& table : tables) {
        if (table.is_directory) out.push_back({of_keyspace + "/" + table.name, keyspace.name, table.name});
      }
    }
  }
  return out;
}

}  // namespace cassandra_like
