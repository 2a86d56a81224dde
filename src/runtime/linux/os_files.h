// Open files of the operating system.
#pragma once

#include <atomic>
#include <string>

#include "runtime/disk.h"
#include "runtime/linux/file_descriptor.h"
#include "runtime/linux/open_files.h"
#include "runtime/linux/sync_pool.h"

namespace cassandra_like {

class OsReadFile final : public ReadFile {
 public:
  OsReadFile(const std::string& path, FileDescriptor fd, const struct stat& status, OpenFiles& open_files,
             SyncPool& pool);
  ~OsReadFile() override;

  const std::string& path() const override { return file_.path; }
  uint64_t size() const override { return size_; }
  Status read(uint64_t offset, std::span<char> out) const override;
  // A mapped file needs no descriptor. A small one is copied: a mapping keeps its inode, which takes more.
  Result<BytesView> map() const override;
  Result<bool> read_at_once(uint64_t offset, std::span<char> out) const override;
  bool is_in_memory(uint64_t offset, uint64_t bytes) const override;
  Status bring_in(uint64_t offset, uint64_t bytes) const override;
  void bring_in_later() const override;

 private:
  bool is_small() const { return size_ <= kSmall; }
  bool is_copied() const { return is_small() && mapped_.load(std::memory_order_acquire) != nullptr; }
  Result<const char*> copy() const;
  Result<const char*> make_mapping() const;

  static constexpr uint64_t kSmall = 4096;
  uint64_t size_;
  OpenFiles& open_files_;
  SyncPool& pool_;
  mutable OpenFiles::File file_;
  mutable std::atomic<const char*> mapped_{nullptr};  // or copied; by whichever shard asks first
  // The file system does not know RWF_NOWAIT: all reads wait.
  mutable std::atomic<bool> always_waits_{false};
};

class OsWriteFile final : public WriteFile {
 public:
  OsWriteFile(std::string path, FileDescriptor fd, EpollShard& shard, SyncPool& pool)
      : path_(std::move(path)),
        fd_(std::make_shared<const FileDescriptor>(std::move(fd))),
        shard_(shard),
        pool_(pool) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  Status append(BytesView data) override;
  Status truncate(uint64_t size) override;
  Task<Status> sync() override;

 private:
  void begin_write_back();

  std::string path_;
  std::shared_ptr<const FileDescriptor> fd_;
  EpollShard& shard_;
  SyncPool& pool_;
  uint64_t size_ = 0;
  uint64_t written_back_ = 0;  // or on its way to the disk
};

class OsMappedFile final : public MappedFile {
 public:
  OsMappedFile(std::string path, std::span<char> memory, EpollShard& shard, SyncPool& pool)
      : path_(std::move(path)), memory_(memory), shard_(shard), pool_(pool) {}
  ~OsMappedFile() override;

  const std::string& path() const override { return path_; }
  std::span<char> memory() override { return memory_; }
  Task<Status> sync(uint64_t offset, uint64_t size) override;
  void forget(uint64_t offset, uint64_t size) override;

 private:
  std::string path_;
  std::span<char> memory_;
  EpollShard& shard_;
  SyncPool& pool_;
};

}  // namespace cassandra_like
