#include "runtime/linux/os_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/linux/os_error.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kLarge = 1024 * 1024;
constexpr uint64_t kHugePage = 2 * 1024 * 1024;

void unmap(const char* mapped, uint64_t size) { ::munmap(const_cast<char*>(mapped), size); }

// If the file was removed, its pages go with this.
void give_back(OpenFiles::Descriptor fd, const char* mapped, uint64_t size) {
  if (mapped != nullptr) unmap(mapped, size);
  fd = nullptr;
}

uint64_t page_size() {
  static const auto size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// The kernel makes huge pages of a file's memory for a mapping that asks for them, and leaves them to the mappings that come
// after it. None of these asks: a look at a part that is not in memory would wait for a whole huge page.
bool bring_in_huge_pages(int fd, uint64_t size) {
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return false;
  const bool done = ::madvise(mapped, size, MADV_HUGEPAGE) == 0 && ::madvise(mapped, size, MADV_POPULATE_READ) == 0;
  ::munmap(mapped, size);
  return done;
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
  if (is_small()) {
    delete[] mapped_.load();
    return;
  }
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

Result<const char*> OsReadFile::copy() const {
  auto bytes = std::make_unique_for_overwrite<char[]>(size_);
  TRY(read(0, {bytes.get(), size_}));
  return bytes.release();
}

Result<const char*> OsReadFile::make_mapping() const {
  ASSIGN_OR_RETURN(OpenFiles::Descriptor fd, open_files_.use(file_));
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd->get(), 0);
  if (mapped == MAP_FAILED) return os_error("map", path(), errno);
  return static_cast<const char*>(mapped);
}

Result<BytesView> OsReadFile::map() const {
  if (size_ == 0) return BytesView("", 0);
  const char* p = mapped_.load(std::memory_order_acquire);
  if (p == nullptr) {
    ASSIGN_OR_RETURN(const char* fresh, is_small() ? copy() : make_mapping());
    if (mapped_.compare_exchange_strong(p, fresh)) {
      p = fresh;
      open_files_.remove(file_);
    } else if (is_small()) {
      delete[] fresh;
    } else {
      unmap(fresh, size_);
    }
  }
  return BytesView(p, size_);
}

Result<bool> OsReadFile::read_at_once(uint64_t offset, std::span<char> out) const {
  const bool may_wait =
      always_waits_.load(std::memory_order_relaxed) || mapped_.load(std::memory_order_acquire) != nullptr;
  if (!may_wait) {
    ASSIGN_OR_RETURN(OpenFiles::Descriptor fd, open_files_.use(file_));
    iovec into{out.data(), out.size()};
    const ssize_t n = ::preadv2(fd->get(), &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (n == static_cast<ssize_t>(out.size())) return true;
    if (n >= 0 || errno == EAGAIN || errno == EINTR) return false;
    // An error of the disk comes from read(), too. The others are file systems and sandboxes that do not know the flag.
    if (errno != EIO) always_waits_.store(true, std::memory_order_relaxed);
  }
  TRY(read(offset, out));
  return true;
}

bool OsReadFile::is_in_memory(uint64_t offset, uint64_t bytes) const {
  constexpr size_t kTogether = 256;
  const char* mapped = mapped_.load(std::memory_order_acquire);
  if (mapped == nullptr || is_small()) return true;
  unsigned char pages[kTogether];
  const uint64_t end = std::min(offset + bytes, size_);
  for (uint64_t at = offset / page_size() * page_size(); at < end; at += kTogether * page_size()) {
    const uint64_t length = std::min(kTogether * page_size(), end - at);
    if (::mincore(const_cast<char*>(mapped) + at, length, pages) != 0) return true;
    const size_t count = (length + page_size() - 1) / page_size();
    if (!std::all_of(pages, pages + count, [](unsigned char page) { return (page & 1) != 0; })) return false;
  }
  return true;
}

Status OsReadFile::bring_in(uint64_t offset, uint64_t bytes) const {
  const uint64_t end = std::min(offset + bytes, size_);
  if (offset >= end) return {};
  if (is_copied()) return {};
  if (const char* mapped = mapped_.load(std::memory_order_acquire); mapped != nullptr) {
    const uint64_t at = offset / page_size() * page_size();
    // Unlike a look at the page, this returns an error when the disk has one.
    if (::madvise(const_cast<char*>(mapped) + at, end - at, MADV_POPULATE_READ) == 0) return {};
    if (errno != EINVAL) return os_error("read", path(), errno == EFAULT ? EIO : errno);
    // Kernels before 5.14 do not know it.
    for (uint64_t page = at; page < end; page += page_size())
      static_cast<void>(*static_cast<const volatile char*>(mapped + page));
    return {};
  }
  constexpr uint64_t kPiece = 256 << 10;
  static thread_local std::unique_ptr<char[]> buffer;
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  for (uint64_t at = offset; at < end; at += kPiece) TRY(read(at, {buffer.get(), std::min(kPiece, end - at)}));
  return {};
}

void OsReadFile::bring_in_later() const {
  if (is_copied()) return;
  Result<OpenFiles::Descriptor> fd = open_files_.use(file_);
  if (!fd.ok()) return;
  pool_.run_idle([fd = std::move(*fd), size = size_] {
    if (size < kHugePage || !bring_in_huge_pages(fd->get(), size))
      ::posix_fadvise(fd->get(), 0, 0, POSIX_FADV_WILLNEED);
  });
}

Status OsWriteFile::append(BytesView data) {
  size_t done = 0;
  while (done < data.size()) {
    ssize_t n = ::write(fd_->get(), data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int error_number = errno;
      // All or nothing: what a full disk took of this append is given back.
      if (done > 0 && ::ftruncate(fd_->get(), static_cast<off_t>(size_)) != 0) size_ += done;
      return os_error("append to", path_, error_number);
    }
    done += static_cast<size_t>(n);
  }
  size_ += done;
  if (size_ - written_back_ >= kLarge) begin_write_back();
  return {};
}

Status OsWriteFile::truncate(uint64_t size) {
  if (::ftruncate(fd_->get(), static_cast<off_t>(size)) != 0) return os_error("truncate", path_, errno);
  size_ = size;
  written_back_ = std::min(written_back_, size);
  return {};
}

// So that little is left for the sync to wait for. The kernel would begin half a minute later.
void OsWriteFile::begin_write_back() {
  const uint64_t offset = std::exchange(written_back_, size_);
  pool_.run_idle([fd = fd_, offset, bytes = size_ - offset] {
    ::sync_file_range(fd->get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
  });
}

Task<Status> OsWriteFile::sync() {
  return pool_.run(&shard_, [this]() -> Status {
    if (::fdatasync(fd_->get()) != 0) return os_error("sync", path_, errno);
    return {};
  });
}

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
