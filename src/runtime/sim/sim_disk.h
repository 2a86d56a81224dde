// A machine's disk, which outlives its crashes and keeps exactly what disk.h promises.
//
// Every directory has two maps of names: the live one that callers see, and the durable one that a crash leaves. A
// change of names (create, remove, rename) is made in the live map and remembered; sync_directory() applies the
// remembered changes of that directory to the durable map, with all earlier changes that they build on. After a crash
// each directory keeps a prefix of its unsynced changes, as chance decides (none if tear_on_crash is off).
//
// A file has live bytes and durable ones. An append is durable up to the size at the last completed sync; a mapped
// file has a durable copy into which a sync copies its range, as it was when the sync was asked for. At a crash each
// 512-byte sector that differs survives by its own chance.
//
// A truncation is durable, or not, as a whole: it is part of the file system's own log, and no failed sync loses it.
//
// A sync of a file that fails has lost what it covered, as on Linux, where the pages are clean from then on: later syncs of
// that file say OK and bring nothing to the disk, until rewrite() stores the bytes once more.
#pragma once

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/disk.h"
#include "runtime/sim/sim_scheduler.h"

namespace cassandra_like {

// Zeroed memory that the operating system provides page by page: most of a simulated commit log is never touched.
class ZeroedMemory {
 public:
  explicit ZeroedMemory(size_t size) : p_(static_cast<char*>(std::calloc(size == 0 ? 1 : size, 1))) {}
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;
  ~ZeroedMemory() { std::free(p_); }
  char* get() const { return p_; }

 private:
  char* p_;
};

// A file or a directory.
struct SimInode {
  using Names = std::map<std::string, std::shared_ptr<SimInode>>;

  SimInode(bool directory, std::shared_ptr<uint64_t> disk_usage)
      : is_directory(directory), usage(std::move(disk_usage)) {}
  ~SimInode() { *usage -= size(); }

  uint64_t size() const { return mapped ? mapped_size : content.size(); }
  BytesView live_bytes() const { return mapped ? BytesView(mapped->get(), mapped_size) : BytesView(content); }

  bool is_directory;
  std::shared_ptr<uint64_t> usage;  // bytes of all files of the disk
  int64_t modified_millis = 0;
  Names live;
  Names durable;
  Bytes content;
  uint64_t synced_size = 0;
  struct Longer {
    Bytes content;
    uint64_t synced_size;
  };
  std::optional<Longer> before_truncation;  // until a sync of the truncation
  std::unique_ptr<ZeroedMemory> mapped;
  std::unique_ptr<ZeroedMemory> mapped_durable;
  uint64_t mapped_size = 0;
  // Syncs of a file complete in order, those of one life: the ones of a process that is gone are gone with it.
  int64_t last_sync = 0;
  uint32_t last_sync_life = 0;
  bool sync_failed = false;
  std::set<uint64_t> in_memory;  // offsets from which something was brought in
};

class SimDiskState {
 public:
  SimDiskState(SimScheduler& scheduler, uint32_t machine, SimFaults& faults);

  SimScheduler& scheduler() { return scheduler_; }
  SimFaults& faults() { return faults_; }
  uint64_t used() const { return *usage_; }
  uint64_t capacity() const { return capacity_; }
  void set_capacity(uint64_t bytes) { capacity_ = bytes; }
  bool has_room(uint64_t bytes) const { return *usage_ + bytes <= capacity_; }
  void fold(SimEvent kind, BytesView data);
  // Every operation that changes something asks this: SimFaults::operations_until_fault.
  Status count_operation(const char* doing, const std::string& path);
  // Every read asks this: SimFaults::io_error_ppm and unreadable.
  Status check_read(const std::string& path);
  // A read or a write takes time: the shard that asked for it runs nothing else until it is over.
  void take_time() { scheduler_.hold_up_current(scheduler_.draw_up_to(faults_.max_io_delay.count())); }

  std::shared_ptr<SimInode> find(const std::string& path) const;
  Result<std::shared_ptr<SimInode>> create_file(const std::string& path);
  Status make_directories(const std::string& path);
  Status remove(const std::string& path);
  Status rename(const std::string& from, const std::string& to);
  Status link(const std::string& from, const std::string& to);
  // The number of the last change so far.
  uint64_t last_change() const { return next_change_ - 1; }
  void make_durable(const std::shared_ptr<SimInode>& directory, uint64_t up_to_change);

  void crash();
  // By path, the life that holds it.
  std::map<std::string, uint32_t>& locks() { return locks_; }

 private:
  // Sets names in durable maps; a null inode removes the name.
  struct Setting {
    std::shared_ptr<SimInode> directory;
    std::string name;
    std::shared_ptr<SimInode> inode;
  };
  struct Change {
    uint64_t number;
    std::vector<Setting> settings;
  };
  struct Place {
    std::shared_ptr<SimInode> directory;
    std::string name;
  };

  Result<Place> place_of(const std::string& path, const char* doing) const;
  void change(std::vector<Setting> settings);
  static void apply(const Change& change);
  void lose_unsynced_names();
  std::shared_ptr<SimInode> survivor(const std::shared_ptr<SimInode>& inode,
                                     std::map<const SimInode*, std::shared_ptr<SimInode>>* seen);
  void tear(const SimInode& before, SimInode* after);

  SimScheduler& scheduler_;
  const uint32_t machine_;
  SimFaults& faults_;
  std::shared_ptr<uint64_t> usage_ = std::make_shared<uint64_t>(0);
  uint64_t capacity_ = uint64_t{1} << 40;
  std::shared_ptr<SimInode> root_;
  std::deque<Change> changes_;  // not yet durable, oldest first
  uint64_t next_change_ = 1;
  std::map<std::string, uint32_t> locks_;
};

// One shard's view.
class SimDisk final : public Disk {
 public:
  SimDisk(SimDiskState& state, SimExecutor& executor) : state_(state), executor_(executor) {}

  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override;
  Task<Status> bring_in(std::shared_ptr<const ReadFile> file, uint64_t offset, uint64_t bytes) override;
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override;
  Result<std::unique_ptr<MappedFile>> create_mapped(const std::string& path, uint64_t size) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<std::string> real_path(const std::string& path) override;
  Status make_directories(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Task<Status> sync_directory(std::string path) override;
  Task<Status> sync_file(std::string path) override;
  Task<Status> rewrite(std::string path, uint64_t offset, uint64_t bytes) override;
  Result<DiskSpace> space(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& path) override;

 private:
  Status names_changed(const std::string& path);

  SimDiskState& state_;
  SimExecutor& executor_;
};

// Errors with the words that the real disk uses.
Error sim_io_error(const char* doing, const std::string& path, const char* why);
// Completes after the disk's delay: with an injected error, or with OK after done() made it durable.
Task<Status> sim_sync(SimDiskState* state, SimExecutor* executor, std::string path, std::shared_ptr<SimInode> inode,
                      uint64_t payload, Callback done);

}  // namespace cassandra_like
