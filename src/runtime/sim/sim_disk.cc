// Files of a simulated disk.
#include "runtime/sim/sim_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"

namespace cassandra_like {

namespace {

constexpr const char* kInjected = "Input/output error";
constexpr const char* kNoSpace = "No space left on device";

Error disk_full(const char* doing, const std::string& path) {
  Error e = sim_io_error(doing, path, kNoSpace);
  e.info().code = ErrorCode::kDiskFull;
  return e;
}

// Every operation asks this first.
Status check_alive(const SimExecutor& executor, const char* doing, const std::string& path) {
  if (executor.life().alive) return {};
  return sim_io_error(doing, path, "the machine is down");
}

// A write of so many bytes, or the reason why it cannot be.
Status check_write(SimDiskState& state, const SimExecutor& executor, const char* doing, const std::string& path,
                   uint64_t bytes) {
  TRY(check_alive(executor, doing, path));
  TRY(state.count_operation(doing, path));
  state.take_time();
  if (state.scheduler().chance(state.faults().io_error_ppm)) return sim_io_error(doing, path, kInjected);
  if (!state.has_room(bytes) || state.scheduler().chance(state.faults().disk_full_ppm)) {
    return disk_full(doing, path);
  }
  return {};
}

int64_t wall_millis(SimDiskState& state) { return SimClock(state.scheduler()).wall_millis(); }

class SimReadFile final : public ReadFile {
 public:
  SimReadFile(std::string path, std::shared_ptr<SimInode> inode, SimDiskState& state, SimExecutor& executor)
      : path_(std::move(path)), inode_(std::move(inode)), state_(state), executor_(executor) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return inode_->size(); }

  Status read(uint64_t offset, std::span<char> out) const override {
    TRY(check_alive(executor_, "read", path_));
    state_.take_time();
    TRY(state_.check_read(path_));
    BytesView bytes = inode_->live_bytes();
    if (offset > bytes.size() || out.size() > bytes.size() - offset) {
      return Error(ErrorCode::kIo, fmt::format("cannot read {}: {} bytes at {} are past its end at {}", path_,
                                               out.size(), offset, bytes.size()));
    }
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    state_.fold(SimEvent::kDiskRead, BytesView(out.data(), out.size()));
    return {};
  }

  Result<BytesView> map() const override {
    if (auto s = check_alive(executor_, "map", path_); !s.ok()) return std::move(s.error());
    return inode_->size() == 0 ? BytesView("", 0) : inode_->live_bytes();
  }

  Result<bool> read_at_once(uint64_t offset, std::span<char> out) const override {
    if (!is_in_memory(offset, out.size())) return false;
    TRY(read(offset, out));
    return true;
  }
  // Bytes that were brought in stay for some time.
  bool is_in_memory(uint64_t offset, uint64_t /*bytes*/) const override {
    constexpr uint32_t kLeavesPpm = 125'000;
    SimScheduler& scheduler = state_.scheduler();
    if (state_.faults().read_miss_ppm == 0) return true;
    if (!inode_->in_memory.contains(offset)) return !scheduler.chance(state_.faults().read_miss_ppm);
    if (scheduler.chance(kLeavesPpm)) inode_->in_memory.erase(offset);
    return true;
  }
  const std::shared_ptr<SimInode>& inode() const { return inode_; }

 private:
  std::string path_;
  std::shared_ptr<SimInode> inode_;
  SimDiskState& state_;
  SimExecutor& executor_;
};

class SimWriteFile final : public WriteFile {
 public:
  SimWriteFile(std::string path, std::shared_ptr<SimInode> inode, SimDiskState& state, SimExecutor& executor)
      : path_(std::move(path)), inode_(std::move(inode)), state_(state), executor_(executor) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return inode_->content.size(); }

  Status append(BytesView data) override {
    TRY(check_write(state_, executor_, "append to", path_, data.size()));
    inode_->content.append(data);
    *inode_->usage += data.size();
    inode_->modified_millis = wall_millis(state_);
    state_.fold(SimEvent::kDiskAppend, data);
    return {};
  }

  Status truncate(uint64_t size) override {
    TRY(check_alive(executor_, "truncate", path_));
    TRY(state_.count_operation("truncate", path_));
    const BytesView gone = BytesView(inode_->content).substr(size);
    state_.fold(SimEvent::kDiskTruncate, gone);
    if (!inode_->before_truncation) inode_->before_truncation = {inode_->content, inode_->synced_size};
    *inode_->usage -= gone.size();
    inode_->content.resize(size);
    inode_->synced_size = std::min(inode_->synced_size, size);
    inode_->modified_millis = wall_millis(state_);
    return {};
  }

  Task<Status> sync() override {
    uint64_t size = inode_->content.size();
    return sim_sync(&state_, &executor_, path_, inode_, size,
                    [inode = inode_, size] { inode->synced_size = std::max(inode->synced_size, size); });
  }

 private:
  std::string path_;
  std::shared_ptr<SimInode> inode_;
  SimDiskState& state_;
  SimExecutor& executor_;
};

class SimMappedFile final : public MappedFile {
 public:
  SimMappedFile(std::string path, std::shared_ptr<SimInode> inode, SimDiskState& state, SimExecutor& executor)
      : path_(std::move(path)), inode_(std::move(inode)), state_(state), executor_(executor) {}

  const std::string& path() const override { return path_; }
  std::span<char> memory() override { return {inode_->mapped->get(), inode_->mapped_size}; }

  Task<Status> sync(uint64_t offset, uint64_t size) override {
    offset = std::min(offset, inode_->mapped_size);
    size = std::min(size, inode_->mapped_size - offset);
    auto copy = std::make_unique<Bytes>(inode_->mapped->get() + offset, size);
    uint64_t checksum = crc32(*copy);
    return sim_sync(&state_, &executor_, path_, inode_, checksum, [inode = inode_, offset, copy = std::move(copy)] {
      std::memcpy(inode->mapped_durable->get() + offset, copy->data(), copy->size());
    });
  }

 private:
  std::string path_;
  std::shared_ptr<SimInode> inode_;
  SimDiskState& state_;
  SimExecutor& executor_;
};

class SimDirectoryLock final : public DirectoryLock {
 public:
  SimDirectoryLock(std::string path, SimDiskState& state, uint32_t life)
      : path_(std::move(path)), state_(state), life_(life) {}
  ~SimDirectoryLock() override {
    auto it = state_.locks().find(path_);
    if (it != state_.locks().end() && it->second == life_) state_.locks().erase(it);
  }

 private:
  std::string path_;
  SimDiskState& state_;
  uint32_t life_;
};

}  // namespace

Task<Status> sim_sync(SimDiskState* state, SimExecutor* executor, std::string path, std::shared_ptr<SimInode> inode,
                      uint64_t payload, Callback done) {
  Status alive = check_alive(*executor, "sync", path);
  if (!alive.ok()) co_return alive;
  Status counted = state->count_operation("sync", path);
  if (!counted.ok()) {
    inode->sync_failed = !inode->is_directory;
    co_return counted;
  }
  SimScheduler& scheduler = state->scheduler();
  int64_t completed = scheduler.now() + scheduler.draw_up_to(state->faults().max_sync_delay.count());
  const uint32_t life = executor->life().number;
  if (inode->last_sync_life == life) completed = std::max(completed, inode->last_sync);
  inode->last_sync = completed;
  inode->last_sync_life = life;
  const bool is_truncated = inode->before_truncation.has_value();
  Promise<Status> result;
  scheduler.at(completed, executor, SimEvent::kSyncDone, payload, [state, is_truncated, &path, &inode, &result, &done] {
    if (state->scheduler().chance(state->faults().io_error_ppm)) {
      inode->sync_failed = !inode->is_directory;
      result.set(sim_io_error("sync", path, kInjected));
      return;
    }
    if (is_truncated) inode->before_truncation.reset();
    if (!inode->sync_failed) done();
    result.set(Status());
  });
  co_return co_await result;
}

namespace {

Task<Status> bring_in_later(SimDiskState* state, SimExecutor* executor, std::string path,
                            std::shared_ptr<SimInode> inode, uint64_t offset) {
  SimScheduler& scheduler = state->scheduler();
  const int64_t completed = scheduler.now() + scheduler.draw_up_to(state->faults().max_read_delay.count());
  Promise<Status> result;
  scheduler.at(completed, executor, SimEvent::kReadDone, offset, [state, &path, &inode, offset, &result] {
    Status readable = state->check_read(path);
    if (readable.ok()) inode->in_memory.insert(offset);
    result.set(std::move(readable));
  });
  co_return co_await result;
}

}  // namespace

Task<Status> SimDisk::bring_in(std::shared_ptr<const ReadFile> file, uint64_t offset, uint64_t /*bytes*/) {
  if (state_.faults().read_miss_ppm == 0) return Status();
  if (auto s = check_alive(executor_, "read", file->path()); !s.ok()) return s;
  const auto& simulated = static_cast<const SimReadFile&>(*file);
  return bring_in_later(&state_, &executor_, file->path(), simulated.inode(), offset);
}

Status SimDisk::names_changed(const std::string& path) {
  state_.fold(SimEvent::kDiskNames, path);
  return {};
}

Result<std::unique_ptr<ReadFile>> SimDisk::open(const std::string& path) {
  TRY(check_alive(executor_, "open", path));
  auto inode = state_.find(path);
  if (inode == nullptr) return sim_io_error("open", path, "No such file or directory");
  if (inode->is_directory) return sim_io_error("open", path, "Is a directory");
  return std::unique_ptr<ReadFile>(std::make_unique<SimReadFile>(path, std::move(inode), state_, executor_));
}

Result<std::unique_ptr<WriteFile>> SimDisk::create(const std::string& path) {
  TRY(check_write(state_, executor_, "create", path, 0));
  ASSIGN_OR_RETURN(auto inode, state_.create_file(path));
  inode->modified_millis = wall_millis(state_);
  TRY(names_changed(path));
  return std::unique_ptr<WriteFile>(std::make_unique<SimWriteFile>(path, std::move(inode), state_, executor_));
}

Result<std::unique_ptr<MappedFile>> SimDisk::create_mapped(const std::string& path, uint64_t size) {
  TRY(check_write(state_, executor_, "create", path, size));
  ASSIGN_OR_RETURN(auto inode, state_.create_file(path));
  inode->modified_millis = wall_millis(state_);
  inode->mapped = std::make_unique<ZeroedMemory>(size);
  inode->mapped_durable = std::make_unique<ZeroedMemory>(size);
  inode->mapped_size = size;
  *inode->usage += size;
  TRY(names_changed(path));
  return std::unique_ptr<MappedFile>(std::make_unique<SimMappedFile>(path, std::move(inode), state_, executor_));
}

Result<std::vector<DirectoryEntry>> SimDisk::list(const std::string& path) {
  TRY(check_alive(executor_, "list", path));
  auto inode = state_.find(path);
  if (inode == nullptr) return sim_io_error("list", path, "No such file or directory");
  if (!inode->is_directory) return sim_io_error("list", path, "Not a directory");
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, child] : inode->live) {
    entries.push_back({name, child->is_directory, child->size(), child->modified_millis});
  }
  return entries;
}

bool SimDisk::exists(const std::string& path) { return executor_.life().alive && state_.find(path) != nullptr; }

// It has no links.
Result<std::string> SimDisk::real_path(const std::string& path) {
  TRY(check_alive(executor_, "find", path));
  if (state_.find(path) == nullptr) return sim_io_error("find", path, "No such file or directory");
  return path;
}

Status SimDisk::make_directories(const std::string& path) {
  TRY(check_write(state_, executor_, "create the directory", path, 0));
  TRY(state_.make_directories(path));
  return names_changed(path);
}

Status SimDisk::remove(const std::string& path) {
  TRY(check_alive(executor_, "remove", path));
  TRY(state_.count_operation("remove", path));
  TRY(state_.remove(path));
  return names_changed(path);
}

Status SimDisk::rename(const std::string& from, const std::string& to) {
  TRY(check_alive(executor_, "rename", from));
  TRY(state_.count_operation("rename", from));
  TRY(state_.rename(from, to));
  return names_changed(to);
}

Status SimDisk::link(const std::string& from, const std::string& to) {
  TRY(check_alive(executor_, "link", from));
  TRY(state_.count_operation("link", from));
  TRY(state_.link(from, to));
  return names_changed(to);
}

Task<Status> SimDisk::sync_directory(std::string path) {
  auto inode = state_.find(path);
  if (inode == nullptr || !inode->is_directory) {
    return Status(sim_io_error("sync the directory", path, "No such file or directory"));
  }
  uint64_t last = state_.last_change();
  SimDiskState* state = &state_;
  return sim_sync(state, &executor_, std::move(path), inode, last,
                  [state, inode, last] { state->make_durable(inode, last); });
}

Task<Status> SimDisk::sync_file(std::string path) {
  auto inode = state_.find(path);
  if (inode == nullptr || inode->is_directory) return Status(sim_io_error("sync", path, "No such file"));
  auto copy = std::make_unique<Bytes>(inode->live_bytes());
  uint64_t checksum = crc32(*copy);
  return sim_sync(&state_, &executor_, std::move(path), inode, checksum, [inode, copy = std::move(copy)] {
    if (inode->mapped) {
      std::memcpy(inode->mapped_durable->get(), copy->data(), copy->size());
    } else {
      inode->synced_size = std::max<uint64_t>(inode->synced_size, copy->size());
    }
  });
}

Task<Status> SimDisk::rewrite(std::string path, uint64_t offset, uint64_t bytes) {
  auto inode = state_.find(path);
  if (inode == nullptr || inode->is_directory) return Status(sim_io_error("write once more", path, "No such file"));
  if (auto s = check_write(state_, executor_, "write once more", path, 0); !s.ok()) return s;
  offset = std::min(offset, inode->size());
  auto copy = std::make_unique<Bytes>(inode->live_bytes().substr(offset, bytes));
  const uint64_t checksum = crc32(*copy);
  inode->sync_failed = false;
  return sim_sync(&state_, &executor_, std::move(path), inode, checksum, [inode, offset, copy = std::move(copy)] {
    if (inode->mapped) {
      std::memcpy(inode->mapped_durable->get() + offset, copy->data(), copy->size());
    } else {
      inode->synced_size = std::max<uint64_t>(inode->synced_size, offset + copy->size());
    }
  });
}

Result<DiskSpace> SimDisk::space(const std::string& path) {
  TRY(check_alive(executor_, "ask for the free space of", path));
  uint64_t used = std::min(state_.used(), state_.capacity());
  return DiskSpace{.total = state_.capacity(), .available = state_.capacity() - used};
}

Result<std::unique_ptr<DirectoryLock>> SimDisk::lock(const std::string& path) {
  TRY(check_alive(executor_, "lock", path));
  auto inode = state_.find(path);
  if (inode == nullptr) return sim_io_error("lock", path, "No such file or directory");
  if (!state_.locks().emplace(path, executor_.life().number).second) {
    return Error(ErrorCode::kIo, "cannot lock " + path + ": another process uses this directory");
  }
  return std::unique_ptr<DirectoryLock>(std::make_unique<SimDirectoryLock>(path, state_, executor_.life().number));
}

}  // namespace cassandra_like
