#include "runtime/linux/os_files.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/linux/os_error.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kLarge = 1024 * 1024;

// If the file was removed, its pages go with this.
void give_back(OpenFiles::Descriptor fd, const char* mapped, uint64_t size) {
  if (mapped != nullptr) ::munmap(const_cast<char*>(mapped), size);
  fd = nullptr;
}

}  // namespace

OsReadFile::OsReadFile(const std::string& path, FileDescriptor fd, const struct stat& status, OpenFiles& open_files,
                       SyncPool& pool)
    : size_(static_cast<uint64_t>(status.st_size)), open_files_(open_files), pool_(pool) {
  file_.path = path;
  open_files_.add(file_, std::move(fd), status);
}

OsReadFile::~OsReadFile() {
  OpenFiles::Descriptor fd = open_files_.remove(file_);
  if (size_ < kLarge) {
    give_back(std::move(fd), mapped_.load(), size_);
    return;
  }
  pool_.run_idle([fd = std::move(fd), mapped = mapped_.load(), size = size_]() mutable {
    give_back(std::move(fd), mapped, size);
  });
}

Status OsReadFile::read(uint64_t offset, std::span<char> out) const {
  auto past_the_end = [&] {
    return Error(ErrorCode::kIo, fmt::format("cannot read {}: {} bytes at {} are past its end at {}", path(),
                                             out.size(), offset, size_));
  };
  if (const char* mapped = mapped_.load(std::memory_order_acquire); mapped != nullptr) {
    if (offset > size_ || out.size() > size_ - offset) return past_the_end();
    std::memcpy(out.data(), mapped + offset, out.size());
    return {};
  }
  ASSIGN_OR_RETURN(OpenFiles::Descriptor fd, open_files_.use(file_));
  size_t done = 0;
  while (done < out.size()) {
    ssize_t n = ::pread(fd->get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error("read", path(), errno);
    if (n == 0) return past_the_end();
    done += static_cast<size_t>(n);
  }
  return {};
}

Result<BytesView> OsReadFile::map() const {
  if (size_ == 0) return BytesView("", 0);
  const char* p = mapped_.load(std::memory_order_acquire);
  if (p == nullptr) {
    ASSIGN_OR_RETURN(OpenFiles::Descriptor fd, open_files_.use(file_));
    void* fresh = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd->get(), 0);
    if (fresh == MAP_FAILED) return os_error("map", path(), errno);
    if (mapped_.compare_exchange_strong(p, static_cast<const char*>(fresh))) {
      p = static_cast<const char*>(fresh);
      fd = open_files_.remove(file_);
    } else {
      ::munmap(fresh, size_);
    }
  }
  return BytesView(p, size_);
}

Status OsWriteFile::append(BytesView data) {
  size_t done = 0;
  while (done < data.size()) {
    ssize_t n = ::write(fd_.get(), data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int error_number = errno;
      // All or nothing: what a full disk took of this append is given back.
      if (done > 0 && ::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) size_ += done;
      return os_error("append to", path_, error_number);
    }
    done += static_cast<size_t>(n);
  }
  size_ += done;
  return {};
}

Task<Status> OsWriteFile::sync() {
  return pool_.run(&shard_, [this]() -> Status {
    if (::fdatasync(fd_.get()) != 0) return os_error("sync", path_, errno);
    return {};
  });
}

namespace {

uint64_t page_size() {
  static const auto size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

OsMappedFile::~OsMappedFile() {
  pool_.run_idle([memory = memory_] { ::munmap(memory.data(), memory.size()); });
}

Task<Status> OsMappedFile::sync(uint64_t offset, uint64_t size) {
  uint64_t begin = std::min<uint64_t>(offset, memory_.size()) / page_size() * page_size();
  uint64_t end = std::min<uint64_t>(offset + size, memory_.size());
  if (begin >= end) return Status();
  return pool_.run(&shard_, [this, begin, end]() -> Status {
    if (::msync(memory_.data() + begin, end - begin, MS_SYNC) != 0) return os_error("sync", path_, errno);
    return {};
  });
}

void OsMappedFile::forget(uint64_t offset, uint64_t size) {
  const uint64_t begin = (offset + page_size() - 1) / page_size() * page_size();
  const uint64_t end = std::min<uint64_t>(offset + size, memory_.size()) / page_size() * page_size();
  if (begin >= end) return;
  pool_.run_idle([part = memory_.subspan(begin, end - begin)] { ::madvise(part.data(), part.size(), MADV_PAGEOUT); });
}

}  // namespace cassandra_like
