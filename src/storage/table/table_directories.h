// The directories that tables have below the data directories.
#pragma once

#include <string>
#include <vector>

#include "runtime/disk.h"

namespace cassandra_like {

struct TableDirectory {
  std::string path;      // <data directory>/<keyspace>/<name>
  std::string keyspace;  // as a directory
  std::string name;      // <table>-<id without dashes>
};

// Whether an entry of a data directory is a keyspace.
bool is_keyspace_directory(const DirectoryEntry& entry);
// A data directory that does not exist has none.
Result<std::vector<TableDirectory>> table_directories(Disk& disk, const std::vector<std::string>& data_directories);

}  // namespace cassandra_like
