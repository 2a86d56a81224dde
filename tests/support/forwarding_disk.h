// A Disk and a WriteFile that pass everything on to another: for tests and benchmarks that change one of the answers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/disk.h"

namespace cassandra_like::test {

class ForwardingFile : public WriteFile {
 public:
  explicit ForwardingFile(std::unique_ptr<WriteFile> file) : file_(std::move(file)) {}
  const std::string& path() const override { return file_->path(); }
  uint64_t size() const override { return file_->size(); }
  Status append(BytesView data) override { return file_->append(data); }
  Status truncate(uint64_t size) override { return file_->truncate(size); }
  Task<Status> sync() override { return file_->sync(); }

 protected:
  const std::unique_ptr<WriteFile> file_;
};

class ForwardingDisk : public Disk {
 public:
  explicit ForwardingDisk(Disk& disk) : disk_(disk) {}
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override { return disk_.open(path); }
  Task<Status> bring_in(std::shared_ptr<const ReadFile> file, uint64_t offset, uint64_t bytes) override {
    return disk_.bring_in(std::move(file), offset, bytes);
  }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override { return disk_.create(path); }
  Result<std::unique_ptr<MappedFile>> create_mapped(const std::string& path, uint64_t size) override {
    return disk_.create_mapped(path, size);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override { return disk_.list(path); }
  bool exists(const std::string& path) override { return disk_.exists(path); }
  Result<std::string> real_path(const std::string& path) override { return disk_.real_path(path); }
  Status make_directories(const std::string& path) override { return disk_.make_directories(path); }
  Status remove(const std::string& path) override { return disk_.remove(path); }
  Status rename(const std::string& from, const std::string& to) override { return disk_.rename(from, to); }
  Status link(const std::string& from, const std::string& to) override { return disk_.link(from, to); }
  Task<Status> sync_directory(std::string path) override { return disk_.sync_directory(std::move(path)); }
  Task<Status> sync_file(std::string path) override { return disk_.sync_file(std::move(path)); }
  Task<Status> rewrite(std::string path, uint64_t offset, uint64_t bytes) override {
    return disk_.rewrite(std::move(path), offset, bytes);
  }
  Result<DiskSpace> space(const std::string& path) override { return disk_.space(path); }
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& path) override { return disk_.lock(path); }

 protected:
  Disk& disk_;
};

}  // namespace cassandra_like::test
