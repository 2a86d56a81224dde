// The descriptors of the files that are read: a node may have more SSTables than descriptors.
//
// At most `limit` files have one, besides those whose names were removed while they were read; the file that was read
// longest ago loses its descriptor to the next. A file without one is opened again by its path when it is read. All calls
// from any thread.
#pragma once

#include <sys/stat.h>

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "runtime/linux/file_descriptor.h"

namespace cassandra_like {

class OpenFiles {
 public:
  using Descriptor = std::shared_ptr<const FileDescriptor>;
  // One file. Its members belong to OpenFiles.
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
    timespec modified{};
    Descriptor descriptor;
    std::list<File*>::iterator place;  // while there is a descriptor, unless it is held
    bool held = false;
  };

  explicit OpenFiles(size_t limit) : limit_(limit) {}

  // Opens with these flags; when the process or the machine is out of descriptors, after those of files that are not
  // being read were closed. An invalid descriptor and errno when that fails.
  FileDescriptor open(const char* path, int flags, mode_t mode = 0);
  // Counts a file that was just opened.
  void add(File& file, FileDescriptor descriptor, const struct stat& status);
  // Keeps the file open as long as the caller has the result.
  Result<Descriptor> use(File& file);
  // Whoever reads a file of this path goes on when its name is gone: such files stay open until remove(). One that
  // cannot be opened for want of descriptors fails when it is read next.
  void hold_before_removal(const std::string& path);
  // The descriptor is the caller's to close; null when there is none.
  Descriptor remove(File& file);

 private:
  Result<Descriptor> find_or_open(File& file);
  void close_idle_beyond(size_t limit);

  const size_t limit_;
  std::mutex mutex_;
  std::list<File*> recent_;                            // the latest first
  std::unordered_multimap<std::string, File*> files_;  // all that are neither mapped nor closed, by path
};

// The process may have as many descriptors as its hard limit says; the number.
uint64_t raise_descriptor_limit();

}  // namespace cassandra_like
