// Whether a node may start on data directories that it did not write: nothing is changed before this is known.
#pragma once

#include <string>
#include <vector>

#include "runtime/disk.h"

namespace cassandra_like {

struct DirectoryCheck {
  std::vector<std::string> data_directories;
  // local_system_data_file_directory, which this node does not use; or empty.
  std::string local_system_directory;
};

// The ids that the SSTables have.
struct FoundIds {
  bool uuids = false;
  bool numbers = false;
};

// kConfigError naming the first file that forbids it, and what to do: an SSTable of a format that this node cannot read,
// the log of a transaction that does not fit the files that it names, a number as an id that leaves none for others, an SSTable
// in a directory that is not used. Only names of files are read, and the logs.
Result<FoundIds> check_data_directories(Disk& disk, const DirectoryCheck& check);

// The data directories that are missing or have no keyspace, when others have some: each is a disk that was added, or one that is
// not mounted.
std::vector<std::string> empty_data_directories(Disk& disk, const std::vector<std::string>& data_directories);

// Ends the transactions that a crash, of this program or of Cassandra, has left (LogTransaction.removeUnfinishedLeftovers),
// and removes unfinished SSTables: before any table is opened, since later ones are being written. kCorruption naming a log that does
// not fit the files that it names.
Task<Status> finish_transactions(Disk* disk, std::vector<std::string> data_directories);

}  // namespace cassandra_like
