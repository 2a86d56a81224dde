#include "runtime/linux/os_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include "runtime/linux/os_error.h"
#include "runtime/linux/os_files.h"

namespace cassandra_like {

namespace {

// The files of a node are its user's; the group may read them, for backups.
constexpr mode_t kFileMode = 0640;
constexpr mode_t kDirectoryMode = 0750;
constexpr uint64_t kRewriteBytes = 256 << 10;  // at a time

class OsDirectoryLock final : public DirectoryLock {
 public:
  explicit OsDirectoryLock(FileDescriptor fd) : fd_(std::move(fd)) {}

 private:
  FileDescriptor fd_;
};

Status sync_directory_now(OpenFiles& open_files, const std::string& path) {
  FileDescriptor fd = open_files.open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd.valid() || ::fsync(fd.get()) != 0) return os_error("sync the directory", path, errno);
  return {};
}

Status sync_file_now(OpenFiles& open_files, const std::string& path) {
  FileDescriptor fd = open_files.open(path.c_str(), O_RDONLY);
  if (!fd.valid() || ::fsync(fd.get()) != 0) return os_error("sync", path, errno);
  return {};
}

Status rewrite_now(OpenFiles& open_files, const std::string& path, uint64_t offset, uint64_t bytes) {
  FileDescriptor fd = open_files.open(path.c_str(), O_RDWR);
  if (!fd.valid()) return os_error("write once more", path, errno);
  Bytes buffer(std::min(bytes, kRewriteBytes), '\0');
  for (const uint64_t end = offset + bytes; offset < end;) {
    const ssize_t got =
        ::pread(fd.get(), buffer.data(), std::min<uint64_t>(buffer.size(), end - offset), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("read", path, errno);
    if (got == 0) break;
    const auto size = static_cast<size_t>(got);
    for (size_t written = 0; written < size;) {
      const ssize_t n =
          ::pwrite(fd.get(), buffer.data() + written, size - written, static_cast<off_t>(offset + written));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return os_error("write once more", path, errno);
      written += static_cast<size_t>(n);
    }
    offset += size;
  }
  if (::fsync(fd.get()) != 0) return os_error("sync", path, errno);
  return {};
}

}  // namespace

Result<std::unique_ptr<ReadFile>> OsDisk::open(const std::string& path) {
  FileDescriptor fd = open_files_.open(path.c_str(), O_RDONLY);
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) return os_error("open", path, errno);
  if (S_ISDIR(st.st_mode)) return os_error("open", path, EISDIR);
  if (!S_ISREG(st.st_mode)) return Error(ErrorCode::kIo, "cannot open " + path + ": it is not a regular file");
  return std::unique_ptr<ReadFile>(std::make_unique<OsReadFile>(path, std::move(fd), st, open_files_, pool_));
}

Task<Status> OsDisk::bring_in(std::shared_ptr<const ReadFile> file, uint64_t offset, uint64_t bytes) {
  return reads_.run(&shard_, [file = std::move(file), offset, bytes] { return file->bring_in(offset, bytes); });
}

Result<std::unique_ptr<WriteFile>> OsDisk::create(const std::string& path) {
  FileDescriptor fd = open_files_.open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND, kFileMode);
  if (!fd.valid()) return os_error("create", path, errno);
  return std::unique_ptr<WriteFile>(std::make_unique<OsWriteFile>(path, std::move(fd), shard_, pool_));
}

// Not populated: touching every page at once would make the whole file dirty and resident before its first use.
Result<std::unique_ptr<MappedFile>> OsDisk::create_mapped(const std::string& path, uint64_t size) {
  FileDescriptor fd = open_files_.open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, kFileMode);
  if (!fd.valid()) return os_error("create", path, errno);
  auto failed = [&](int error_number) {
    ::unlink(path.c_str());
    return os_error("create", path, error_number);
  };
  if (int error_number = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size)); error_number != 0) {
    return failed(error_number);
  }
  void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (p == MAP_FAILED) return failed(errno);
  // No read-ahead: of blocks that nobody has written it would clear as many pages as the device is set to read at once,
  // which may be megabytes, while a store waits.
  ::madvise(p, size, MADV_RANDOM);
  std::span<char> memory(static_cast<char*>(p), size);
  return std::unique_ptr<MappedFile>(std::make_unique<OsMappedFile>(path, memory, shard_, pool_));
}

Result<std::vector<DirectoryEntry>> OsDisk::list(const std::string& path) {
  FileDescriptor fd = open_files_.open(path.c_str(), O_RDONLY | O_DIRECTORY);
  std::unique_ptr<DIR, int (*)(DIR*)> directory(fd.valid() ? ::fdopendir(fd.get()) : nullptr, ::closedir);
  if (directory == nullptr) return os_error("list", path, errno);
  static_cast<void>(fd.release());  // the directory's now
  std::vector<DirectoryEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* e = ::readdir(directory.get());
    if (e == nullptr) break;
    std::string name = e->d_name;
    if (name == "." || name == "..") continue;
    struct stat st {};
    if (::fstatat(::dirfd(directory.get()), e->d_name, &st, 0) != 0) continue;  // removed meanwhile
    bool is_directory = S_ISDIR(st.st_mode);
    entries.push_back({std::move(name), is_directory, is_directory ? 0 : static_cast<uint64_t>(st.st_size),
                       int64_t{st.st_mtim.tv_sec} * 1000 + st.st_mtim.tv_nsec / 1000000});
  }
  if (errno != 0) return os_error("list", path, errno);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

bool OsDisk::exists(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0;
}

Result<std::string> OsDisk::real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> name(::realpath(path.c_str(), nullptr), ::free);
  if (name == nullptr) return os_error("find", path, errno);
  return std::string(name.get());
}

Status OsDisk::make_directories(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) return {};
  if (errno == ENOENT) {
    const size_t slash = path.rfind('/');
    const size_t end = slash == std::string::npos ? slash : path.find_last_not_of('/', slash);
    if (end == std::string::npos) return os_error("create the directory", path, ENOENT);
    TRY(make_directories(path.substr(0, end + 1)));
    if (::mkdir(path.c_str(), kDirectoryMode) == 0) return {};
  }
  const int error_number = errno;
  struct stat st {};
  if (error_number == EEXIST && ::stat(path.c_str(), &st) == 0) {
    return S_ISDIR(st.st_mode) ? Status() : os_error("create the directory", path, ENOTDIR);
  }
  if (error_number == EEXIST) {
    return Error(ErrorCode::kIo, "cannot create the directory " + path + ": it is a symbolic link that leads nowhere");
  }
  return os_error("create the directory", path, error_number);
}

Status OsDisk::remove(const std::string& path) {
  open_files_.hold_before_removal(path);
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return os_error("remove", path, errno);
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  return os_error("remove", path, errno);
}

Status OsDisk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return os_error("rename", from + " to " + to, errno);
}

Status OsDisk::link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  return os_error("link", from + " to " + to, errno);
}

Task<Status> OsDisk::sync_file(std::string path) {
  return pool_.run(&shard_, [files = &open_files_, path = std::move(path)] { return sync_file_now(*files, path); });
}

Task<Status> OsDisk::rewrite(std::string path, uint64_t offset, uint64_t bytes) {
  return pool_.run(&shard_, [files = &open_files_, path = std::move(path), offset, bytes] {
    return rewrite_now(*files, path, offset, bytes);
  });
}

Task<Status> OsDisk::sync_directory(std::string path) {
  return pool_.run(&shard_,
                   [files = &open_files_, path = std::move(path)] { return sync_directory_now(*files, path); });
}

Result<DiskSpace> OsDisk::space(const std::string& path) {
  struct statvfs st {};
  if (::statvfs(path.c_str(), &st) != 0) return os_error("ask for the free space of", path, errno);
  return DiskSpace{.total = uint64_t{st.f_blocks} * st.f_frsize, .available = uint64_t{st.f_bavail} * st.f_frsize};
}

// The kernel drops the lock when its holder dies, however it dies.
Result<std::unique_ptr<DirectoryLock>> OsDisk::lock(const std::string& path) {
  FileDescriptor fd = open_files_.open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) return os_error("lock", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error(ErrorCode::kIo, "cannot lock " + path + ": another process uses this directory");
    }
    return os_error("lock", path, errno);
  }
  return std::unique_ptr<DirectoryLock>(std::make_unique<OsDirectoryLock>(std::move(fd)));
}

}  // namespace cassandra_like
