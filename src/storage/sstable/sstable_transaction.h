// A change of a table's set of SSTables in one step: what is new appears and what is obsolete goes, or neither, wherever a
// crash comes. transaction_log.h draws the log that says which.
//
// The order on the disk: the line of each new SSTable; its files; the lines of the obsolete ones; COMMIT; the obsolete
// files go; the log goes. Each step is synced before the next.
//
// Each directory that has SSTables of the transaction has a copy of the log. The first copy decides: it gets COMMIT before the
// others, and it goes last. When COMMIT fails, nobody knows whether it is on the disk. The first copy is then truncated in front
// of it: until that is synced, a crash leaves the transaction committed or not as a whole; from then on it is not committed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/disk.h"
#include "storage/sstable/transaction_log.h"

namespace cassandra_like {

class SSTableTransaction {
 public:
  // Nothing is written before the first add() or commit(). operation: Cassandra's OperationType.fileName.
  SSTableTransaction(Disk& disk, std::string_view operation, const Uuid& id);
  SSTableTransaction(const SSTableTransaction&) = delete;
  SSTableTransaction& operator=(const SSTableTransaction&) = delete;

  // Before its first file is made.
  Task<Status> add(SSTableDescriptor created);
  // After it, the obsolete SSTables are void, and are not to be used. After an error, abort().
  Task<Status> commit(std::vector<SSTableDescriptor> obsolete);
  // Removes the created SSTables and the log. After an error, call it again later; a start does it, too, unless is_in_doubt().
  Task<Status> abort();
  // Removes the obsolete SSTables and the log. After an error, call it again later; a start does it, too.
  Task<Status> finish();

  // A crash at this moment may leave the table as it was or as it would be: until abort() has ended this, nothing else may be
  // done to these SSTables.
  bool is_in_doubt() const { return state_ == State::kInDoubt; }
  bool is_ended() const { return state_ == State::kEnded; }
  bool is_committed() const { return state_ == State::kCommitted; }
  // Where the last add() or commit() failed; empty: none did.
  const std::string& failed_directory() const { return failed_directory_; }

 private:
  enum class State : uint8_t { kOpen, kInDoubt, kCommitted, kEnded };

  struct Copy {
    std::string directory;
    std::unique_ptr<WriteFile> file;
  };

  std::string path_in(const std::string& directory) const { return directory + "/" + name_; }
  // To all copies, one of which is made when the directory has none.
  Task<Status> append(std::string directory, TransactionRecord record);
  Task<Status> append_to(Copy* copy, std::string line);
  Task<Status> make_copy(std::string directory);
  Task<Status> commit_copies();
  Task<Status> take_back_commit();
  Task<Status> remove_copies();
  Task<Status> remove_all(std::vector<SSTableDescriptor> sstables);

  Disk& disk_;
  const std::string name_;
  std::vector<Copy> copies_;
  std::string lines_;  // that all copies have
  std::vector<SSTableDescriptor> created_, obsolete_;
  std::string failed_directory_;
  State state_ = State::kOpen;
};

}  // namespace cassandra_like
