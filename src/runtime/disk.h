// Files. A crash loses written bytes unless a sync of the file completed, and changes of a directory (creation, rename,
// removal) unless sync_directory() completed. The simulated disk does exactly that, also with torn pages.
//
// Reads and appends go from and to the page cache; a read that finds its pages elsewhere waits for the disk, and its
// shard with it. Who may not wait asks read_at_once() or is_in_memory() first, and lets Disk::bring_in() do the waiting:
// like syncs, that runs elsewhere and completes on the shard.
// Errors name the path: kIo, kDiskFull, or kOverloaded when the process has too many files and sockets open.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "runtime/executor.h"

namespace cassandra_like {

// Immutable once written; may be read from several shards.
class ReadFile {
 public:
  virtual ~ReadFile() = default;
  virtual const std::string& path() const = 0;
  virtual uint64_t size() const = 0;
  // Fills out from offset; reading past the end is an error.
  virtual Status read(uint64_t offset, std::span<char> out) const = 0;
  // The whole file as memory, valid while this object lives.
  virtual Result<BytesView> map() const = 0;
  // read() when all of it is in memory. False: it is not, and `out` may be filled with anything. Where the system cannot
  // tell, it is a read().
  virtual Result<bool> read_at_once(uint64_t offset, std::span<char> out) const {
    TRY(read(offset, out));
    return true;
  }
  // Whether these bytes of a mapped file can be looked at without waiting for the disk.
  virtual bool is_in_memory(uint64_t /*offset*/, uint64_t /*bytes*/) const { return true; }
  // Waits until the bytes have come from the disk. They stay in memory as long as the system wants. On any thread.
  virtual Status bring_in(uint64_t /*offset*/, uint64_t /*bytes*/) const { return {}; }
  // A hint: all of it is wanted soon, and often.
  virtual void bring_in_later() const {}
};

class WriteFile {
 public:
  virtual ~WriteFile() = default;  // closes
  virtual const std::string& path() const = 0;
  virtual uint64_t size() const = 0;
  virtual Status append(BytesView data) = 0;
  // Takes away all bytes from `size` on, which is at most size(). It needs no space. A crash before the next sync leaves them all,
  // or none, also when an earlier sync failed.
  virtual Status truncate(uint64_t size) = 0;
  virtual Task<Status> sync() = 0;
};

// A file of fixed size that is written as memory: a store is in the file at once (it survives a crash of the
// process), and on the disk after sync().
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual const std::string& path() const = 0;
  virtual std::span<char> memory() = 0;
  virtual Task<Status> sync(uint64_t offset, uint64_t size) = 0;
  // A hint: what was synced there is not touched again, so its memory may serve others. Nothing is lost by it.
  virtual void forget(uint64_t /*offset*/, uint64_t /*size*/) {}
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  uint64_t size = 0;
  int64_t modified_millis = 0;
};

struct DiskSpace {
  uint64_t total = 0;
  uint64_t available = 0;
};

// Held until destroyed; a second holder, in this or another process, is refused.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class Disk {
 public:
  virtual ~Disk() = default;
  virtual Result<std::unique_ptr<ReadFile>> open(const std::string& path) = 0;
  // ReadFile::bring_in(), elsewhere. Bytes behind the end of the file are left out.
  virtual Task<Status> bring_in(std::shared_ptr<const ReadFile> file, uint64_t offset, uint64_t bytes) {
    return file->bring_in(offset, bytes);
  }
  // The file must not exist.
  virtual Result<std::unique_ptr<WriteFile>> create(const std::string& path) = 0;
  // Blocks are reserved and zero: later stores cannot fail for want of space.
  virtual Result<std::unique_ptr<MappedFile>> create_mapped(const std::string& path, uint64_t size) = 0;
  // Sorted by name. A directory that does not exist is an error.
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  // The absolute name of what is there, without symbolic links, "." and "..".
  virtual Result<std::string> real_path(const std::string& path) = 0;
  virtual Status make_directories(const std::string& path) = 0;
  // A file, a symbolic link itself, or an empty directory: nothing is removed recursively. A name that does not exist is not an error.
  virtual Status remove(const std::string& path) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status link(const std::string& from, const std::string& to) = 0;
  virtual Task<Status> sync_directory(std::string path) = 0;
  // All that the file holds now.
  virtual Task<Status> sync_file(std::string path) = 0;
  // Stores bytes of the file once more where they are, and syncs them. After a sync that failed, the system may take pages
  // for clean that the disk never got: the next process reads them, and a sync of them brings nothing to the disk.
  virtual Task<Status> rewrite(std::string path, uint64_t offset, uint64_t bytes) = 0;
  virtual Result<DiskSpace> space(const std::string& path) = 0;
  virtual Result<std::unique_ptr<DirectoryLock>> lock(const std::string& path) = 0;
};

}  // namespace cassandra_like
