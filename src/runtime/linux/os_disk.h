// The operating system's files, for one shard.
#pragma once

#include "runtime/disk.h"
#include "runtime/linux/open_files.h"
#include "runtime/linux/sync_pool.h"

namespace cassandra_like {

class OsDisk final : public Disk {
 public:
  OsDisk(EpollShard& shard, SyncPool& syncs, SyncPool& reads, OpenFiles& open_files)
      : shard_(shard), pool_(syncs), reads_(reads), open_files_(open_files) {}

  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override;
  Task<Status> bring_in(std::shared_ptr<const ReadFile> file, uint64_t offset, uint64_t bytes) override;
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override;
  Result<std::unique_ptr<MappedFile>> create_mapped(const std::string& path, uint64_t size) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<std::string> real_path(const std::string& path) override;
  Status make_directories(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Task<Status> sync_directory(std::string path) override;
  Task<Status> sync_file(std::string path) override;
  Task<Status> rewrite(std::string path, uint64_t offset, uint64_t bytes) override;
  Result<DiskSpace> space(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& path) override;

 private:
  EpollShard& shard_;
  SyncPool& pool_;
  SyncPool& reads_;
  OpenFiles& open_files_;
};

}  // namespace cassandra_like
