// A disk on which the first COMMIT of a transaction over SSTables fails, while it is written or while it is synced.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fixture.h"
#include "storage/sstable/transaction_log.h"
#include "tests/support/forwarding_disk.h"

namespace cassandra_like::storage_test {

enum class CommitFault : uint8_t { kDiskFull, kSync };

class FailedCommit final : public test::ForwardingDisk {
 public:
  // So many operations succeed behind the one that fails, and no other.
  FailedCommit(Disk& disk, SimFaults& faults, CommitFault fault, uint64_t operations)
      : ForwardingDisk(disk), faults_(faults), fault_(fault), operations_(operations) {}

  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    auto file = disk_.create(path);
    if (!file.ok() || !is_transaction_log(path.substr(path.rfind('/') + 1))) return file;
    return std::unique_ptr<WriteFile>(std::make_unique<Log>(std::move(*file), this));
  }

 private:
  // The next operation fails, if it is the one.
  void begin(bool is_commit, CommitFault fault) {
    if (!is_commit || fault != fault_ || has_failed_) return;
    faults_.operations_until_fault = 0;
    faults_.fault = fault == CommitFault::kDiskFull ? SimFaults::Fault::kOneDiskFull : SimFaults::Fault::kOne;
  }
  void end(bool is_commit, const Status& status) {
    if (!is_commit || status.ok() || has_failed_) return;
    has_failed_ = true;
    faults_.fault = SimFaults::Fault::kAllAfter;
    faults_.operations_until_fault = operations_;
  }

  class Log final : public test::ForwardingFile {
   public:
    Log(std::unique_ptr<WriteFile> file, FailedCommit* disk) : ForwardingFile(std::move(file)), disk_(disk) {}
    Status append(BytesView data) override {
      is_commit_ = data.starts_with("COMMIT");
      disk_->begin(is_commit_, CommitFault::kDiskFull);
      Status status = file_->append(data);
      disk_->end(is_commit_, status);
      return status;
    }
    Task<Status> sync() override {
      disk_->begin(is_commit_, CommitFault::kSync);
      Status status = co_await file_->sync();
      disk_->end(is_commit_, status);
      co_return status;
    }

   private:
    FailedCommit* disk_;
    bool is_commit_ = false;  // the last line
  };

  SimFaults& faults_;
  const CommitFault fault_;
  const uint64_t operations_;
  bool has_failed_ = false;
};

}  // namespace cassandra_like::storage_test
