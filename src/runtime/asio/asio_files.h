// Open files of the operating system.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>

#include "runtime/asio/sync_pool.h"
#include "runtime/disk.h"

namespace cassandra_like {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

class AsioReadFile final : public ReadFile {
 public:
  AsioReadFile(std::string path, FileDescriptor fd, uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}
  ~AsioReadFile() override;

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  Status read(uint64_t offset, std::span<char> out) const override;
  Result<BytesView> map() const override;

 private:
  std::string path_;
  FileDescriptor fd_;
  uint64_t size_;
  mutable std::atomic<const char*> mapped_{nullptr};  // by whichever shard asks first
};

class AsioWriteFile final : public WriteFile {
 public:
  AsioWriteFile(std::string path, FileDescriptor fd, AsioShard& shard, SyncPool& pool)
      : path_(std::move(path)), fd_(std::move(fd)), shard_(shard), pool_(pool) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  Status append(BytesView data) override;
  Task<Status> sync() override;

 private:
  std::string path_;
  FileDescriptor fd_;
  AsioShard& shard_;
  SyncPool& pool_;
  uint64_t size_ = 0;
};

class AsioMappedFile final : public MappedFile {
 public:
  AsioMappedFile(std::string path, std::span<char> memory, AsioShard& shard, SyncPool& pool)
      : path_(std::move(path)), memory_(memory), shard_(shard), pool_(pool) {}
  ~AsioMappedFile() override;

  const std::string& path() const override { return path_; }
  std::span<char> memory() override { return memory_; }
  Task<Status> sync(uint64_t offset, uint64_t size) override;

 private:
  std::string path_;
  std::span<char> memory_;
  AsioShard& shard_;
  SyncPool& pool_;
};

}  // namespace cassandra_like
