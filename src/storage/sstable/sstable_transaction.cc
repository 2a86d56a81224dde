// The order of writes, syncs and removals.
#include "storage/sstable/sstable_transaction.h"

#include "base/dcheck.h"

namespace cassandra_like {

SSTableTransaction::SSTableTransaction(Disk& disk, std::string directory, std::string_view operation, const Uuid& id)
    : disk_(disk), directory_(std::move(directory)), path_(directory_ + "/" + transaction_log_name(operation, id)) {}

Task<Status> SSTableTransaction::append(TransactionRecord record) {
  const bool is_first = log_ == nullptr;
  if (is_first) {
    CO_ASSIGN_OR_RETURN(log_, disk_.create(path_));
  }
  CO_TRY(log_->append(record.line() + "\n"));
  Status synced = co_await log_->sync();
  if (!synced.ok() || !is_first) co_return synced;
  co_return co_await disk_.sync_directory(directory_);
}

Task<Status> SSTableTransaction::add(SSTableDescriptor created) {
  DCHECK(state_ == State::kOpen && created.directory == directory_);
  created_.push_back(created);
  TransactionRecord record = addition_of(created);
  co_return co_await append(std::move(record));
}

Task<Status> SSTableTransaction::commit(std::vector<SSTableDescriptor> obsolete) {
  DCHECK(state_ == State::kOpen);
  obsolete_ = std::move(obsolete);
  for (const SSTableDescriptor& sstable : obsolete_) {
    CO_ASSIGN_OR_RETURN(TransactionRecord record, removal_of(disk_, sstable));
    Status written = co_await append(std::move(record));
    if (!written.ok()) co_return written;
  }
  state_ = State::kInDoubt;
  TransactionRecord last;
  last.type = TransactionRecord::Type::kCommit;
  Status written = co_await append(std::move(last));
  if (!written.ok()) co_return written;
  state_ = State::kCommitted;
  co_return Status();
}

Task<Status> SSTableTransaction::remove_log() {
  if (log_ == nullptr) co_return Status();
  CO_TRY(disk_.remove(path_));
  co_return co_await disk_.sync_directory(directory_);
}

Task<Status> SSTableTransaction::remove_all(std::vector<SSTableDescriptor> sstables) {
  for (const SSTableDescriptor& sstable : sstables) {
    const std::string path = sstable.file("");
    CO_TRY(remove_files(disk_, directory_, std::string_view(path).substr(directory_.size() + 1)));
  }
  co_return co_await disk_.sync_directory(directory_);
}

Task<Status> SSTableTransaction::abort() {
  DCHECK(state_ == State::kOpen || state_ == State::kInDoubt || state_ == State::kAborted);
  if (state_ == State::kInDoubt) {
    Status removed = co_await remove_log();
    if (!removed.ok()) co_return removed;
    log_ = nullptr;
    state_ = State::kAborted;
  }
  // Without a log these are copies of data that its sources still have. With one, a start removes them.
  Status removed = co_await remove_all(created_);
  if (!removed.ok()) co_return removed;
  removed = co_await remove_log();
  if (removed.ok()) state_ = State::kEnded;
  co_return removed;
}

Task<Status> SSTableTransaction::finish() {
  DCHECK(state_ == State::kCommitted);
  Status removed = co_await remove_all(obsolete_);
  if (!removed.ok()) co_return removed;
  removed = co_await remove_log();
  if (removed.ok()) state_ = State::kEnded;
  co_return removed;
}

}  // namespace cassandra_like
