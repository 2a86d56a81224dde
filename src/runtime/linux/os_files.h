// Open files of the operating system.
#pragma once

#include <atomic>
#include <string>

#include "runtime/disk.h"
#include "runtime/linux/file_descriptor.h"
#include "runtime/linux/sync_pool.h"

namespace cassandra_like {

class OsReadFile final : public ReadFile {
 public:
  OsReadFile(std::string path, FileDescriptor fd, uint64_t size, SyncPool& pool)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size), pool_(pool) {}
  ~OsReadFile() override;

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  Status read(uint64_t offset, std::span<char> out) const override;
  Result<BytesView> map() const override;

 private:
  std::string path_;
  FileDescriptor fd_;
  uint64_t size_;
  SyncPool& pool_;
  mutable std::atomic<const char*> mapped_{nullptr};  // by whichever shard asks first
};

class OsWriteFile final : public WriteFile {
 public:
  OsWriteFile(std::string path, FileDescriptor fd, EpollShard& shard, SyncPool& pool)
      : path_(std::move(path)), fd_(std::move(fd)), shard_(shard), pool_(pool) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  Status append(BytesView data) override;
  Task<Status> sync() override;

 private:
  std::string path_;
  FileDescriptor fd_;
  EpollShard& shard_;
  SyncPool& pool_;
  uint64_t size_ = 0;
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
