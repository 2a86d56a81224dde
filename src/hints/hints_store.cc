#include "hints/hints_store.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/dcheck.h"
#include "base/log.h"

namespace cassandra_like {

namespace {
// Names that exist although no shard of this life has taken them: files of a life when the clock was ahead.
constexpr int kMostTakenNames = 1000;
}  // namespace

HintsStore::HintsStore(ShardRuntime& runtime, unsigned shard, HintsControl& control, const Uuid& host_id)
    : runtime_(runtime), shard_(shard), control_(control), host_id_(host_id), node_(control.node(host_id)) {}

HintsStore::~HintsStore() = default;

// ---- writing

Status HintsStore::open_writer() {
  HintsDescriptor descriptor{.host_id = host_id_, .version = control_.options.file_version};
  for (int tries = 0;; ++tries) {
    descriptor.timestamp = control_.take_timestamp(runtime_.clock.wall_millis());
    const std::string path = path_of(descriptor.file_name());
    auto file = runtime_.disk.create(path);
    if (!file.ok()) {
      if (tries < kMostTakenNames && runtime_.disk.exists(path)) continue;
      return std::move(file.error());
    }
    const Bytes header = descriptor.serialize();
    if (Status status = (*file)->append(header); !status.ok()) {
      file->reset();
      static_cast<void>(runtime_.disk.remove(path));
      return status;
    }
    writer_ = std::move(*file);
    writing_ = {.name = descriptor.file_name(), .timestamp = descriptor.timestamp, .size = header.size()};
    crc_ = crc32(header);
    node_->bytes += static_cast<int64_t>(header.size());
    files_changed();
    return {};
  }
}

Status HintsStore::append(BytesView entries, int64_t expires_millis) {
  DCHECK(runtime_.executor.is_current() && !entries.empty());
  if (writer_ == nullptr) TRY(open_writer());
  if (Status status = writer_->append(entries); !status.ok()) {
    // A part of the entries may be in the file, which a reader takes for its end.
    writer_.reset();
    HintsFile file = std::exchange(writing_, {});
    if (file.expires_millis == 0) {
      remove_from_disk(file);
      files_changed();
    } else {
      add(std::move(file));
    }
    return status;
  }
  DCHECK(!writing_.name.empty() && writing_.position == 0);
  crc_ = crc32(entries, crc_);
  writing_.size += entries.size();
  writing_.expires_millis = std::max({int64_t{1}, writing_.expires_millis, expires_millis});
  node_->bytes += static_cast<int64_t>(entries.size());
  return {};
}

ClosingHintsFile HintsStore::close_writer() {
  DCHECK(is_writing());
  ClosingHintsFile closing{std::move(writer_), writing_.name, crc_};
  add(std::exchange(writing_, {}));
  return closing;
}

Task<Status> HintsStore::finish(ShardRuntime* runtime, std::string directory, ClosingHintsFile closing) {
  const std::string path = closing.file->path();
  CO_TRY(co_await closing.file->sync());
  closing.file.reset();
  // Its hints may have been sent meanwhile.
  if (runtime->disk.exists(path)) {
    auto checksum = runtime->disk.create(directory + "/" + hints_checksum_name(closing.name));
    if (!checksum.ok()) co_return std::move(checksum.error());
    const std::string digits = fmt::format("{:x}", closing.crc);
    CO_TRY((*checksum)->append(digits));
  }
  co_return co_await runtime->disk.sync_directory(directory);
}

Task<Status> HintsStore::sync() {
  if (writer_ == nullptr) return Status();
  return sync_file(&runtime_, control_.options.directory, writer_);
}

Task<Status> HintsStore::sync_file(ShardRuntime* runtime, std::string directory, std::shared_ptr<WriteFile> file) {
  CO_TRY(co_await file->sync());
  co_return co_await runtime->disk.sync_directory(std::move(directory));
}

// ---- complete files

void HintsStore::add(HintsFile file) {
  DCHECK(runtime_.executor.is_current() && find(file.name) == nullptr);
  auto behind = std::upper_bound(files_.begin(), files_.end(), file.timestamp,
                                 [](int64_t timestamp, const HintsFile& other) { return timestamp < other.timestamp; });
  files_.insert(behind, std::move(file));
  DCHECK(std::ranges::is_sorted(files_, {}, &HintsFile::timestamp));
  files_changed();
}

void HintsStore::add_unreadable(HintsFile file) { unreadable_.push_back(std::move(file)); }

void HintsStore::remove_oldest() {
  DCHECK(has_files());
  remove(files_.front());
}

void HintsStore::give_up_oldest() {
  DCHECK(has_files());
  unreadable_.push_back(std::move(files_.front()));
  files_.pop_front();
  files_changed();
}

HintsFile* HintsStore::find(std::string_view name) {
  auto found = std::ranges::find(files_, name, &HintsFile::name);
  return found == files_.end() ? nullptr : &*found;
}

void HintsStore::remove(const HintsFile& file) {
  DCHECK(runtime_.executor.is_current() && find(file.name) == &file);
  remove_from_disk(file);
  std::erase_if(files_, [&file](const HintsFile& other) { return &other == &file; });
  files_changed();
}

void HintsStore::remove_all() {
  if (writer_ != nullptr) {
    writer_.reset();
    remove_from_disk(std::exchange(writing_, {}));
  }
  for (const HintsFile& file : files_) remove_from_disk(file);
  for (const HintsFile& file : unreadable_) remove_from_disk(file);
  files_.clear();
  unreadable_.clear();
  files_changed();
}

void HintsStore::remove_from_disk(const HintsFile& file) {
  node_->bytes -= static_cast<int64_t>(file.size);
  DCHECK(node_->bytes >= 0);
  const std::string path = path_of(file.name);
  if (Status status = runtime_.disk.remove(path); !status.ok()) {
    LOG_ERROR("Failed to delete hint file {}: {}", file.name, status.error().message());
    return;
  }
  static_cast<void>(runtime_.disk.remove(path_of(hints_checksum_name(file.name))));
  LOG_INFO("Deleted hint file {}", file.name);
}

void HintsStore::files_changed() {
  int64_t oldest = HintsTarget::kNoHints;
  if (writer_ != nullptr) oldest = writing_.timestamp;
  if (!files_.empty()) oldest = std::min(oldest, files_.front().timestamp);
  node_->oldest[shard_].store(oldest, std::memory_order_relaxed);
}

PendingHints HintsStore::pending() const {
  PendingHints out{.host_id = host_id_, .oldest_millis = INT64_MAX};
  auto count = [&out](const HintsFile& file) {
    ++out.files;
    out.bytes += file.size;
    out.oldest_millis = std::min(out.oldest_millis, file.timestamp);
    out.newest_millis = std::max(out.newest_millis, file.timestamp);
  };
  for (const HintsFile& file : files_) count(file);
  if (writer_ != nullptr) count(writing_);
  return out;
}

}  // namespace cassandra_like
