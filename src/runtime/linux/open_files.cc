#include "runtime/linux/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "runtime/linux/os_error.h"

namespace cassandra_like {

namespace {

// A pipe that lies where a file should be does not keep its reader.
constexpr int kAlways = O_CLOEXEC | O_NONBLOCK;

// The number of an inode is soon another file's.
bool is_same(const OpenFiles::File& file, const struct stat& status) {
  return status.st_dev == file.device && status.st_ino == file.inode && status.st_mtim.tv_sec == file.modified.tv_sec &&
         status.st_mtim.tv_nsec == file.modified.tv_nsec;
}

}  // namespace

FileDescriptor OpenFiles::open(const char* path, int flags, mode_t mode) {
  FileDescriptor descriptor(::open(path, flags | kAlways, mode));
  if (descriptor.valid() || (errno != EMFILE && errno != ENFILE)) return descriptor;
  {
    std::lock_guard lock(mutex_);
    close_idle_beyond(0);
  }
  return FileDescriptor(::open(path, flags | kAlways, mode));
}

void OpenFiles::add(File& file, FileDescriptor descriptor, const struct stat& status) {
  std::lock_guard lock(mutex_);
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.modified = status.st_mtim;
  file.descriptor = std::make_shared<const FileDescriptor>(std::move(descriptor));
  file.place = recent_.insert(recent_.begin(), &file);
  files_.emplace(file.path, &file);
  close_idle_beyond(limit_);
}

Result<OpenFiles::Descriptor> OpenFiles::use(File& file) {
  {
    std::lock_guard lock(mutex_);
    if (file.descriptor != nullptr) {
      if (!file.held) recent_.splice(recent_.begin(), recent_, file.place);
      return file.descriptor;
    }
  }
  return find_or_open(file);
}

Result<OpenFiles::Descriptor> OpenFiles::find_or_open(File& file) {
  FileDescriptor opened = open(file.path.c_str(), O_RDONLY);
  struct stat status {};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0) return os_error("open", file.path, errno);
  if (!is_same(file, status)) {
    return Error(ErrorCode::kIo, fmt::format("cannot open {}: another file has this name now", file.path));
  }
  std::lock_guard lock(mutex_);
  if (file.descriptor != nullptr) return file.descriptor;  // another thread was faster
  file.descriptor = std::make_shared<const FileDescriptor>(std::move(opened));
  file.place = recent_.insert(recent_.begin(), &file);
  Descriptor result = file.descriptor;
  close_idle_beyond(limit_);
  return result;
}

void OpenFiles::hold_before_removal(const std::string& path) {
  std::lock_guard lock(mutex_);
  auto [first, last] = files_.equal_range(path);
  for (auto it = first; it != last; ++it) {
    File& file = *it->second;
    if (file.held) continue;
    if (file.descriptor != nullptr) {
      recent_.erase(file.place);
    } else {
      FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | kAlways));
      if (!descriptor.valid()) {
        close_idle_beyond(0);
        descriptor = FileDescriptor(::open(path.c_str(), O_RDONLY | kAlways));
      }
      struct stat status {};
      const bool is_it = descriptor.valid() && ::fstat(descriptor.get(), &status) == 0 && is_same(file, status);
      if (!is_it) continue;
      file.descriptor = std::make_shared<const FileDescriptor>(std::move(descriptor));
    }
    file.held = true;
  }
}

OpenFiles::Descriptor OpenFiles::remove(File& file) {
  std::lock_guard lock(mutex_);
  auto [first, last] = files_.equal_range(file.path);
  auto known = std::find_if(first, last, [&](const auto& each) { return each.second == &file; });
  if (known != last) files_.erase(known);
  if (file.descriptor != nullptr && !file.held) recent_.erase(file.place);
  file.held = false;
  return std::exchange(file.descriptor, nullptr);
}

void OpenFiles::close_idle_beyond(size_t limit) {
  while (recent_.size() > limit) {
    recent_.back()->descriptor = nullptr;  // closed now, or when the last reader is done
    recent_.pop_back();
  }
}

uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

}  // namespace cassandra_like
