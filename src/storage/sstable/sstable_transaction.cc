// The order of writes, syncs and removals.
#include "storage/sstable/sstable_transaction.h"

#include <algorithm>
#include <set>

#include "base/dcheck.h"
#include "base/log.h"

namespace cassandra_like {

SSTableTransaction::SSTableTransaction(Disk& disk, std::string_view operation, const Uuid& id)
    : disk_(disk), name_(transaction_log_name(operation, id)) {}

Task<Status> SSTableTransaction::append_to(Copy* copy, std::string line) {
  Status written = copy->file->append(line);
  if (written.ok()) written = co_await copy->file->sync();
  if (!written.ok()) failed_directory_ = copy->directory;
  co_return written;
}

Task<Status> SSTableTransaction::make_copy(std::string directory) {
  auto file = disk_.create(path_in(directory));
  if (!file.ok()) {
    failed_directory_ = directory;
    co_return std::move(file.error());
  }
  copies_.push_back({directory, std::move(*file)});
  CO_TRY(co_await append_to(&copies_.back(), lines_));
  Status synced = co_await disk_.sync_directory(directory);
  if (!synced.ok()) failed_directory_ = directory;
  co_return synced;
}

Task<Status> SSTableTransaction::append(std::string directory, TransactionRecord record) {
  const std::string line = record.line() + "\n";
  for (Copy& copy : copies_) CO_TRY(co_await append_to(&copy, line));
  lines_ += line;
  const bool has_copy = std::any_of(copies_.begin(), copies_.end(),
                                    [&directory](const Copy& copy) { return copy.directory == directory; });
  if (!has_copy) CO_TRY(co_await make_copy(std::move(directory)));
  co_return Status();
}

Task<Status> SSTableTransaction::add(SSTableDescriptor created) {
  DCHECK(state_ == State::kOpen);
  created_.push_back(created);
  TransactionRecord record = addition_of(created);
  co_return co_await append(created.directory, std::move(record));
}

Task<Status> SSTableTransaction::commit(std::vector<SSTableDescriptor> obsolete) {
  DCHECK(state_ == State::kOpen);
  obsolete_ = std::move(obsolete);
  for (const SSTableDescriptor& sstable : obsolete_) {
    CO_ASSIGN_OR_RETURN(TransactionRecord record, removal_of(disk_, sstable));
    Status written = co_await append(sstable.directory, std::move(record));
    if (!written.ok()) co_return written;
  }
  co_return co_await commit_copies();
}

Task<Status> SSTableTransaction::commit_copies() {
  TransactionRecord last;
  last.type = TransactionRecord::Type::kCommit;
  const std::string line = last.line() + "\n";
  for (Copy& copy : copies_) {
    const bool decides = &copy == &copies_.front();
    if (decides) state_ = State::kInDoubt;
    Status written = co_await append_to(&copy, line);
    if (decides && !written.ok()) co_return written;
    if (!written.ok()) LOG_WARN("A copy of {} lacks its last line: {}", name_, written.error().message());
  }
  state_ = State::kCommitted;
  co_return Status();
}

Task<Status> SSTableTransaction::take_back_commit() {
  WriteFile& first = *copies_.front().file;
  CO_TRY(first.truncate(lines_.size()));
  CO_TRY(co_await first.sync());
  state_ = State::kOpen;
  co_return Status();
}

Task<Status> SSTableTransaction::remove_copies() {
  while (!copies_.empty()) {
    const std::string& directory = copies_.back().directory;
    CO_TRY(disk_.remove(path_in(directory)));
    CO_TRY(co_await disk_.sync_directory(directory));
    copies_.pop_back();
  }
  co_return Status();
}

Task<Status> SSTableTransaction::remove_all(std::vector<SSTableDescriptor> sstables) {
  std::set<std::string> directories;
  for (const Copy& copy : copies_) directories.insert(copy.directory);
  for (const SSTableDescriptor& sstable : sstables) {
    const std::string path = sstable.file("");
    CO_TRY(remove_files(disk_, sstable.directory, std::string_view(path).substr(sstable.directory.size() + 1)));
    directories.insert(sstable.directory);
  }
  for (const std::string& directory : directories) {
    Status synced = co_await disk_.sync_directory(directory);
    if (!synced.ok()) co_return synced;
  }
  co_return Status();
}

Task<Status> SSTableTransaction::abort() {
  DCHECK(state_ == State::kOpen || state_ == State::kInDoubt);
  if (state_ == State::kInDoubt) CO_TRY(co_await take_back_commit());
  CO_TRY(co_await remove_all(created_));
  CO_TRY(co_await remove_copies());
  state_ = State::kEnded;
  co_return Status();
}

Task<Status> SSTableTransaction::finish() {
  DCHECK(state_ == State::kCommitted);
  CO_TRY(co_await remove_all(obsolete_));
  CO_TRY(co_await remove_copies());
  state_ = State::kEnded;
  co_return Status();
}

}  // namespace cassandra_like
