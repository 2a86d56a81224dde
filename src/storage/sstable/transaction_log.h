// The log of a transaction over the SSTables of a table, as Cassandra writes and reads it (db.lifecycle.LogFile,
// LogRecord, LogReplicaSet): what a crash leaves of a compaction is told from it.
//
//   name   := bti-da_txn_<operation>_<time-based uuid>.log, a copy in each directory that the SSTables lie in
//   line   := TYPE:[<directory>/da-<id>-bti-,<modified>,<files>][<checksum>]
//   TYPE   := ADD before the first file of an SSTable is made; REMOVE for one that goes; COMMIT or ABORT, the last line
//   modified: of a REMOVE, when the youngest of its files was written, without Statistics.db and *.tmp, milliseconds; else 0
//   files:    how many there are
//   checksum: CRC-32 of the path, TYPE, the low and the high half of `modified` and `files`, big-endian
//
// Without a COMMIT, the SSTables of ADD are void; with it, those of REMOVE. Each line is synced before the next is
// written, so only the last one may be torn. Files are removed in the order of their age, the oldest first: as long as one is
// there, its time tells that it is what the REMOVE meant, and not one that somebody has put there since.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/disk.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

struct TransactionRecord {
  enum class Type : uint8_t { kAdd, kRemove, kCommit, kAbort };
  Type type = Type::kCommit;
  std::string sstable;  // "<directory>/da-<id>-bti-"; empty for kCommit and kAbort
  int64_t modified_millis = 0;
  int32_t files = 0;

  std::string line() const;  // without its end
  // nullopt: not a line, or its checksum is another.
  static std::optional<TransactionRecord> parse(std::string_view line);
  std::string_view file_name_prefix() const { return std::string_view(sstable).substr(sstable.rfind('/') + 1); }
  bool operator==(const TransactionRecord&) const = default;
};

TransactionRecord addition_of(const SSTableDescriptor& sstable);
// The record of the files that are there now.
Result<TransactionRecord> removal_of(Disk& disk, const SSTableDescriptor& sstable);

bool is_transaction_log(std::string_view file_name);
std::string transaction_log_name(std::string_view operation, const Uuid& id);

class TransactionLog {
 public:
  // The copies of one log: paths of files of the same name. A copy that is gone is left out, and so is the last line of a copy when
  // it is not whole. kCorruption naming the log when its lines do not fit together.
  static Result<TransactionLog> read(Disk& disk, std::vector<std::string> copies);

  bool is_committed() const { return committed_; }
  // How the names of the files begin that nobody may use.
  std::vector<std::string> void_sstables() const;
  // How the names begin of the files of all SSTables that it speaks of.
  std::vector<std::string> sstables() const;
  // kCorruption naming the first SSTable that is not what a REMOVE says.
  Status verify(Disk& disk) const;
  // Brings the log to the disk, removes what is void, then the log.
  Task<Status> finish(Disk* disk);

 private:
  Status take_line(std::string_view line, size_t number, bool is_last);  // numbers begin with 1
  std::string name() const { return copies_.empty() ? "" : copies_[0]; }
  std::vector<std::string> directories() const;

  std::vector<std::string> copies_;  // the longest last
  std::vector<TransactionRecord> records_;
  bool committed_ = false;
  bool torn_ = false;  // no copy has the last line whole
};

// The logs in a directory: void_sstables() of all of them, sstables() of all of them.
Result<std::vector<std::string>> void_sstables(Disk& disk, const std::string& directory);
Result<std::vector<std::string>> logged_sstables(Disk& disk, const std::string& directory);
// Removes all files whose names begin so, the oldest first.
Status remove_files(Disk& disk, const std::string& directory, std::string_view prefix);

}  // namespace cassandra_like
