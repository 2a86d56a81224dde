// The service of one shard. The files of a node are its HintsStore's; a node has at most one task that sends them.
//
// Hints of one turn of the loop go into their files together: write() puts an entry into its node's buffer, and the
// flush that is posted with the first of them writes all buffers and tells all writers.
#include "hints/hints.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/log_quota.h"
#include "hints/hints_dispatcher.h"

namespace cassandra_like {

namespace {

// How often nodes that live are looked at: their hints of the time between, a retry after a failure, the end of a pause
// (HintsService.startDispatch).
constexpr std::chrono::seconds kHintsTick(10);
// How often a node whose schema differs is looked at, and for how long.
constexpr std::chrono::milliseconds kSchemaTick(200);
constexpr int64_t kLongestSchemaWait = 60'000'000'000;
constexpr int64_t kHintsCleanupInterval = 3'600'000'000'000;
// The buffers of a turn together (HintsService.MIN_BUFFER_SIZE).
constexpr size_t kMostBufferedHints = size_t{32} << 20;
// No attempt to write within this time after the disk was full.
constexpr int64_t kAfterFullDisk = 1'000'000'000;
constexpr size_t kKeptHintsBuffer = 256 * 1024;
constexpr uint64_t kReadBetweenRests = 512 * 1024;

struct HintsPeer {
  HintsPeer(ShardRuntime& runtime, unsigned shard, HintsControl& control, const Uuid& id)
      : store(runtime, shard, control, id) {}

  HintsStore store;
  std::optional<InetAddressAndPort> address;  // none: it is no member of the cluster, as far as is known
  bool alive = false;
  int64_t up_since = 0;    // monotonic, nanoseconds
  int64_t down_since = 0;  // monotonic, nanoseconds; 0: it is not known to be down
  bool left = false;
  HintsDispatcher* dispatcher = nullptr;  // while its hints are sent
  bool sending = false;

  // Entries for its file.
  Bytes buffer;
  int64_t buffer_expires = 0;
  size_t buffered = 0;
  Status written;  // of the last flush
};
using HintsPeerPtr = std::shared_ptr<HintsPeer>;

class HintsService final : public Hints {
 public:
  HintsService(ShardRuntime& runtime, unsigned shard, Messenger& messenger, std::shared_ptr<HintsControl> control)
      : runtime_(runtime), shard_(shard), messenger_(messenger), control_(std::move(control)) {}

  Task<Status> open() override { return find_files(this); }
  Task<Status> stop() override { return stop_all(this); }

  void node_up(const Uuid& host_id, const InetAddressAndPort& address) override;
  void node_down(const Uuid& host_id) override;
  void node_left(const Uuid& host_id) override;

  bool should_hint(const Uuid& host_id, std::string_view datacenter) override;
  Task<Status> write(std::vector<Uuid> host_ids, SerializedMutation mutation, int64_t created_millis,
                     int32_t gc_grace_seconds) override;
  Task<Status> sync(std::vector<Uuid> host_ids) override { return sync_all(this, std::move(host_ids)); }

  Task<Status> remove_all(std::optional<Uuid> host_id) override;
  std::vector<PendingHints> pending() const override;
  const HintsStatistics& statistics() const override { return statistics_; }
  size_t in_progress() const override { return in_progress_; }

 private:
  struct Writing {
    std::vector<HintsPeerPtr> peers;
    Status status;
    Promise<Status> done;
  };

  static Task<Status> find_files(HintsService* self);
  void take_file(const DirectoryEntry& entry, const HintsFileName& name);
  static Task<Status> stop_all(HintsService* self);

  HintsPeer& peer(const Uuid& host_id) { return *shared_peer(host_id); }
  const HintsPeerPtr& shared_peer(const Uuid& host_id);
  size_t members() const;

  static Task<Status> write_and_wait(HintsService* self, std::vector<Uuid> host_ids, SerializedMutation mutation,
                                     int64_t created_millis, int32_t gc_grace_seconds);
  void flush();
  void flush_soon();
  Status flush_peer(HintsPeer& peer);
  void close_writer(HintsStore& store);
  static Task<void> finish_file(HintsService* self, ClosingHintsFile closing);
  static Task<Status> sync_all(HintsService* self, std::vector<Uuid> host_ids);

  bool may_send(const HintsPeer& peer) const { return peer.alive && !peer.left && !stopping_ && !control_->paused; }
  void send_to(const HintsPeerPtr& peer);
  static Task<void> send_files(HintsService* self, HintsPeerPtr peer);
  static Task<bool> send_file(HintsService* self, HintsPeerPtr peer);
  Result<std::unique_ptr<HintsFileReader>> open_reader(const std::string& path, uint64_t position);
  void remove_hints(HintsPeer& peer);

  void tick_soon();
  void tick();
  void send_to_all();
  bool waits_for_schema(const HintsPeer& peer) const;
  void schema_tick_soon();
  static Task<void> remove_expired(HintsService* self, HintsPeerPtr peer);
  static Task<int64_t> latest_expiry(HintsService* self, std::string path);

  ShardRuntime& runtime_;
  const unsigned shard_;
  Messenger& messenger_;
  const std::shared_ptr<HintsControl> control_;
  HintsStatistics statistics_;
  std::map<Uuid, HintsPeerPtr> peers_;

  std::vector<HintsPeerPtr> dirty_;  // with something in their buffers
  std::vector<Writing*> writing_;
  size_t buffered_bytes_ = 0;
  size_t in_progress_ = 0;
  bool flush_posted_ = false;
  int64_t disk_full_at_ = 0;
  std::optional<Error> disk_full_;
  LogQuota disk_log_{1};
  LogQuota window_log_{1};

  Gate running_;  // sending, finishing files
  bool stopping_ = false;
  TimerId tick_timer_ = 0;
  TimerId schema_timer_ = 0;
  int64_t last_cleanup_ = 0;
};

// ---- life

// A file belongs to one shard whatever shard has written it.
unsigned shard_of_files(const Uuid& host_id, unsigned shards) {
  const auto low = load_be<uint64_t>(host_id.view().data() + 8);
  const auto high = load_be<uint64_t>(host_id.view().data());
  return static_cast<unsigned>((low ^ high) % shards);
}

Task<Status> HintsService::find_files(HintsService* self) {
  HintsControl& control = *self->control_;
  const std::string directory = control.options.directory;
  if (!self->runtime_.disk.exists(directory)) {
    CO_TRY(self->runtime_.disk.make_directories(directory));
    const size_t slash = directory.rfind('/');
    if (slash != directory.npos) CO_TRY(co_await self->runtime_.disk.sync_directory(directory.substr(0, slash + 1)));
  }
  CO_ASSIGN_OR_RETURN(const auto entries, self->runtime_.disk.list(directory));
  for (const DirectoryEntry& entry : entries) {
    const auto name = parse_hints_file_name(entry.name);
    if (!name || entry.is_directory) continue;
    control.note_timestamp(name->timestamp);
    if (shard_of_files(name->host_id, control.shards) == self->shard_) self->take_file(entry, *name);
  }
  self->last_cleanup_ = self->runtime_.clock.monotonic_nanos();
  self->tick_soon();
  co_return Status();
}

void HintsService::take_file(const DirectoryEntry& entry, const HintsFileName& name) {
  const std::string path = control_->options.directory + "/" + entry.name;
  if (entry.size == 0) {
    LOG_WARN("Found empty hints file {} on startup, removing", path);
    static_cast<void>(runtime_.disk.remove(path));
    return;
  }
  HintsFile found{.name = entry.name, .timestamp = name.timestamp, .size = entry.size};
  Uuid host_id = name.host_id;
  auto reader = open_reader(path, 0);
  if (reader.ok()) {
    found.timestamp = (*reader)->descriptor().timestamp;
    host_id = (*reader)->descriptor().host_id;
  } else {
    LOG_ERROR("{}", reader.error().message());
    if (reader.error().code() == ErrorCode::kCorruption) {
      const std::string kept = control_->options.directory + "/" + corrupt_hints_name(entry.name);
      LOG_ERROR("Failed to deserialize hints descriptor {} - saving file as {}", path, kept);
      static_cast<void>(runtime_.disk.rename(path, kept));
      return;
    }
  }
  HintsStore& store = peer(host_id).store;
  store.node().bytes += static_cast<int64_t>(found.size);
  if (reader.ok() || reader.error().code() == ErrorCode::kIo) {
    store.add(std::move(found));
  } else {
    store.add_unreadable(std::move(found));
  }
}

Task<Status> HintsService::stop_all(HintsService* self) {
  self->flush();
  self->stopping_ = true;
  if (self->tick_timer_ != 0) self->runtime_.executor.cancel(std::exchange(self->tick_timer_, 0));
  if (self->schema_timer_ != 0) self->runtime_.executor.cancel(std::exchange(self->schema_timer_, 0));
  for (auto& [id, peer] : self->peers_) {
    if (peer->dispatcher != nullptr) peer->dispatcher->abort();
    if (peer->store.is_writing()) self->close_writer(peer->store);
  }
  co_await self->running_.close();
  co_return Status();
}

const HintsPeerPtr& HintsService::shared_peer(const Uuid& host_id) {
  HintsPeerPtr& peer = peers_[host_id];
  if (peer == nullptr) peer = std::make_shared<HintsPeer>(runtime_, shard_, *control_, host_id);
  return peer;
}

size_t HintsService::members() const {
  return static_cast<size_t>(
      std::count_if(peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second->address.has_value(); }));
}

// ---- members

void HintsService::node_up(const Uuid& host_id, const InetAddressAndPort& address) {
  const HintsPeerPtr& peer = shared_peer(host_id);
  if (!peer->alive || peer->address != address) peer->up_since = runtime_.clock.monotonic_nanos();
  peer->address = address;
  peer->alive = true;
  peer->down_since = 0;
  send_to(peer);
}

void HintsService::node_down(const Uuid& host_id) {
  HintsPeer& node = peer(host_id);
  node.alive = false;
  if (node.down_since == 0) node.down_since = std::max<int64_t>(1, runtime_.clock.monotonic_nanos());
}

void HintsService::node_left(const Uuid& host_id) {
  auto found = peers_.find(host_id);
  if (found == peers_.end()) return;
  HintsPeerPtr peer = found->second;
  peer->left = true;
  remove_hints(*peer);
  peers_.erase(found);
}

void HintsService::remove_hints(HintsPeer& peer) {
  peer.buffer.clear();
  peer.store.remove_all();
  if (peer.dispatcher != nullptr) peer.dispatcher->abort();
}

// ---- writing

bool HintsService::should_hint(const Uuid& host_id, std::string_view datacenter) {
  if (!control_->enabled.load(std::memory_order_relaxed) || control_->is_disabled(datacenter)) return false;
  HintsPeer& node = peer(host_id);
  const int64_t window = control_->window.load(std::memory_order_relaxed);
  bool is_past = false;
  if (node.down_since != 0) {
    is_past = runtime_.clock.monotonic_nanos() - node.down_since > window * 1'000'000;
  }
  if (!is_past && control_->options.window_persistent) {
    is_past = node.store.node().oldest_millis() < runtime_.clock.wall_millis() - window;
  }
  const uint64_t most = control_->options.max_bytes_per_host;
  const bool is_full = most > 0 && node.store.node().bytes.load(std::memory_order_relaxed) > static_cast<int64_t>(most);
  if (!is_past && !is_full) return true;
  ++statistics_.overflowed;
  if (auto more = window_log_.take(runtime_.clock.monotonic_nanos())) {
    LOG_WARN("A hint for {} was not kept: {}{}", host_id.to_string(),
             is_past ? fmt::format("it has been away for longer than max_hint_window, {} ms", window)
                     : fmt::format("its hints have reached max_hints_size_per_host, {} bytes", most),
             *more);
  }
  return false;
}

Task<Status> HintsService::write(std::vector<Uuid> host_ids, SerializedMutation mutation, int64_t created_millis,
                                 int32_t gc_grace_seconds) {
  if (stopping_) return Status(Error(ErrorCode::kClosed, "A hint was not kept: the node is stopping"));
  if (host_ids.empty()) return Status();
  if (disk_full_ && runtime_.clock.monotonic_nanos() - disk_full_at_ < kAfterFullDisk) {
    statistics_.overflowed += host_ids.size();
    return Status(*disk_full_);
  }
  const size_t entry_size = hint_entry_size(gc_grace_seconds, mutation.view().size());
  if (entry_size > control_->options.max_entry_bytes) {
    statistics_.overflowed += host_ids.size();
    Error error = invalid(fmt::format("Hint of {} bytes is too large - the maximum size is {}", entry_size,
                                      control_->options.max_entry_bytes));
    if (auto more = window_log_.take(runtime_.clock.monotonic_nanos())) {
      LOG_ERROR("A hint was not kept: {}{}", error.message(), *more);
    }
    return Status(std::move(error));
  }
  if (buffered_bytes_ + host_ids.size() * hint_entry_size(gc_grace_seconds, mutation.view().size()) >
      kMostBufferedHints) {
    statistics_.overflowed += host_ids.size();
    return Status(Error(ErrorCode::kOverloaded, "A hint was not kept: too many wait to be written"));
  }
  return write_and_wait(this, std::move(host_ids), std::move(mutation), created_millis, gc_grace_seconds);
}

Task<Status> HintsService::write_and_wait(HintsService* self, std::vector<Uuid> host_ids, SerializedMutation mutation,
                                          int64_t created_millis, int32_t gc_grace_seconds) {
  Writing writing;
  writing.peers.reserve(host_ids.size());
  const int64_t expires = created_millis + int64_t{gc_grace_seconds} * 1000;
  for (const Uuid& host_id : host_ids) {
    const HintsPeerPtr& peer = writing.peers.emplace_back(self->shared_peer(host_id));
    if (peer->buffered == 0) self->dirty_.push_back(peer);
    const size_t before = peer->buffer.size();
    append_hint_entry(peer->buffer, created_millis, gc_grace_seconds, mutation.view());
    peer->buffer_expires = std::max(peer->buffer_expires, expires);
    ++peer->buffered;
    ++self->in_progress_;
    self->buffered_bytes_ += peer->buffer.size() - before;
  }
  self->writing_.push_back(&writing);
  self->flush_soon();
  Promise<Status>& done = writing.done;
  co_return co_await done;
}

void HintsService::flush_soon() {
  if (std::exchange(flush_posted_, true)) return;
  runtime_.executor.post([this] {
    flush_posted_ = false;
    flush();
  });
}

void HintsService::flush() {
  std::vector<HintsPeerPtr> dirty = std::exchange(dirty_, {});
  std::vector<Writing*> writing = std::exchange(writing_, {});
  buffered_bytes_ = 0;
  in_progress_ = 0;
  for (const HintsPeerPtr& peer : dirty) peer->written = flush_peer(*peer);
  if (!dirty.empty()) tick_soon();
  for (Writing* one : writing) {
    for (const HintsPeerPtr& peer : one->peers) {
      if (!peer->written.ok()) one->status = peer->written;
    }
  }
  // Whoever is told may write again, and flush.
  for (Writing* one : writing) one->done.set(std::move(one->status));
}

Status HintsService::flush_peer(HintsPeer& peer) {
  const size_t count = std::exchange(peer.buffered, 0);
  const int64_t expires = std::exchange(peer.buffer_expires, 0);
  // Empty: the hints were removed in this turn.
  Status status = peer.left || peer.buffer.empty() ? Status() : peer.store.append(peer.buffer, expires);
  peer.buffer.clear();
  if (peer.buffer.capacity() > kKeptHintsBuffer) peer.buffer.shrink_to_fit();
  if (status.ok()) {
    statistics_.written += count;
    disk_full_.reset();
    if (peer.store.written_size() >= control_->options.max_file_bytes) close_writer(peer.store);
    return status;
  }
  statistics_.overflowed += count;
  const int64_t now = runtime_.clock.monotonic_nanos();
  if (status.error().code() == ErrorCode::kDiskFull) {
    disk_full_ = status.error();
    disk_full_at_ = now;
  }
  if (auto more = disk_log_.take(now)) {
    LOG_ERROR("Hints were not kept: {}{}", status.error().message(), *more);
  }
  return status;
}

void HintsService::close_writer(HintsStore& store) {
  ClosingHintsFile closing = store.close_writer();
  spawn(finish_file(this, std::move(closing)));
}

Task<void> HintsService::finish_file(HintsService* self, ClosingHintsFile closing) {
  if (!self->running_.enter()) co_return;
  const Status status =
      co_await HintsStore::finish(&self->runtime_, self->control_->options.directory, std::move(closing));
  if (!status.ok()) {
    if (auto more = self->disk_log_.take(self->runtime_.clock.monotonic_nanos())) {
      LOG_ERROR("A file of hints may not be on the disk: {}{}", status.error().message(), *more);
    }
  }
  self->running_.leave();
}

Task<Status> HintsService::sync_all(HintsService* self, std::vector<Uuid> host_ids) {
  self->flush();
  if (!self->running_.enter()) co_return Error(ErrorCode::kClosed, "Hints were not synced: the node is stopping");
  Status status;
  for (const Uuid& host_id : host_ids) {
    auto found = self->peers_.find(host_id);
    if (found == self->peers_.end()) continue;
    HintsPeerPtr peer = found->second;
    Status one = co_await peer->store.sync();
    if (!one.ok()) status = std::move(one);
  }
  self->running_.leave();
  co_return status;
}

// ---- sending

bool HintsService::waits_for_schema(const HintsPeer& peer) const {
  if (!peer.store.has_files() && !peer.store.is_writing()) return false;
  return !control_->has_our_schema(*peer.address) &&
         runtime_.clock.monotonic_nanos() - peer.up_since < kLongestSchemaWait;
}

void HintsService::schema_tick_soon() {
  if (schema_timer_ != 0) return;
  schema_timer_ = runtime_.executor.schedule(kSchemaTick, [this] {
    schema_timer_ = 0;
    send_to_all();
  });
}

void HintsService::send_to(const HintsPeerPtr& peer) {
  if (peer->sending || !may_send(*peer) || !peer->address) return;
  if (waits_for_schema(*peer)) return schema_tick_soon();
  if (peer->store.is_writing()) close_writer(peer->store);
  if (!peer->store.has_files() || !running_.enter()) return;
  peer->sending = true;
  spawn(send_files(this, peer));
}

Task<void> HintsService::send_files(HintsService* self, HintsPeerPtr peer) {
  bool go_on = true;
  while (go_on && self->may_send(*peer) && peer->store.has_files()) go_on = co_await send_file(self, peer);
  peer->sending = false;
  self->running_.leave();
}

Result<std::unique_ptr<HintsFileReader>> HintsService::open_reader(const std::string& path, uint64_t position) {
  ASSIGN_OR_RETURN(auto file, runtime_.disk.open(path));
  ASSIGN_OR_RETURN(auto reader, HintsFileReader::open(std::move(file)));
  TRY(reader->seek(position));
  return reader;
}

// False: the node does not take hints now.
Task<bool> HintsService::send_file(HintsService* self, HintsPeerPtr peer) {
  HintsStore& store = peer->store;
  const std::string name = store.oldest().name;
  const InetAddressAndPort address = *peer->address;
  auto reader = self->open_reader(store.path_of(name), store.oldest().position);
  if (!reader.ok()) {
    LOG_ERROR("Failed to dispatch hints file {}: {}", name, reader.error().message());
    if (reader.error().code() == ErrorCode::kIo && self->runtime_.disk.exists(store.path_of(name))) co_return false;
    store.give_up_oldest();
    co_return true;
  }
  HintsDispatcher dispatcher(self->runtime_, self->messenger_, *self->control_, self->statistics_);
  const HintsDispatcher::MayGoOn may_go_on = [self, node = peer.get()] { return self->may_send(*node); };
  peer->dispatcher = &dispatcher;
  const auto outcome =
      co_await dispatcher.send(std::move(*reader), &store.node(), address, self->members(), &may_go_on);
  peer->dispatcher = nullptr;
  // An operator may have removed it meanwhile.
  if (!store.has_files() || store.oldest().name != name) co_return true;
  const bool finished = outcome == HintsDispatcher::Outcome::kFinished;
  if (outcome == HintsDispatcher::Outcome::kUnreadable) {
    LOG_ERROR("Failed to dispatch hints file {}: file is corrupted; it is kept, and not sent again", name);
    store.give_up_oldest();
    co_return true;
  }
  LOG_INFO("Finished hinted handoff of file {} to endpoint {}: {}{}", name, address.to_string(),
           store.host_id().to_string(), finished ? "" : ", partially");
  if (finished) {
    store.remove_oldest();
  } else {
    DCHECK(dispatcher.position() >= store.oldest().position);
    store.oldest().position = dispatcher.position();
  }
  co_return finished;
}

// ---- every ten seconds while there are hints

void HintsService::tick_soon() {
  if (tick_timer_ != 0 || stopping_) return;
  const bool some = std::ranges::any_of(
      peers_, [](const auto& entry) { return entry.second->store.has_files() || entry.second->store.is_writing(); });
  if (!some) return;
  tick_timer_ = runtime_.executor.schedule(kHintsTick, [this] {
    tick_timer_ = 0;
    tick();
  });
}

void HintsService::send_to_all() {
  std::vector<HintsPeerPtr> peers;
  for (const auto& [id, peer] : peers_) peers.push_back(peer);
  for (const HintsPeerPtr& peer : peers) send_to(peer);
}

void HintsService::tick() {
  send_to_all();
  const int64_t now = runtime_.clock.monotonic_nanos();
  if (control_->options.auto_cleanup && now - last_cleanup_ >= kHintsCleanupInterval) {
    last_cleanup_ = now;
    for (const auto& [id, peer] : peers_) {
      if (!peer->address && running_.enter()) spawn(remove_expired(this, peer));
    }
  }
  tick_soon();
}

// The files of a node that is no member (HintsCleanupTrigger), when no hint in them may be sent any more.
Task<void> HintsService::remove_expired(HintsService* self, HintsPeerPtr peer) {
  HintsStore& store = peer->store;
  if (store.is_writing()) self->close_writer(store);
  std::vector<std::string> names;
  for (const HintsFile& file : store.files()) names.push_back(file.name);
  for (const std::string& name : names) {
    HintsFile* file = store.find(name);
    if (file == nullptr || peer->address || self->stopping_) break;
    if (file->expires_millis == 0) {
      const int64_t expires = co_await latest_expiry(self, store.path_of(name));
      file = store.find(name);
      if (file == nullptr || peer->address) break;
      file->expires_millis = expires;
    }
    if (file->expires_millis < self->runtime_.clock.wall_millis()) store.remove(*file);
  }
  self->running_.leave();
}

// INT64_MAX: it cannot be told.
Task<int64_t> HintsService::latest_expiry(HintsService* self, std::string path) {
  auto file = self->runtime_.disk.open(path);
  if (!file.ok()) co_return INT64_MAX;
  auto reader = HintsFileReader::open(std::move(*file));
  if (!reader.ok()) co_return INT64_MAX;
  int64_t latest = 1;
  uint64_t rested_at = 0;
  HintsFileReader::Hint hint;
  for (;;) {
    auto more = (*reader)->next(hint);
    if (!more.ok() || self->stopping_) co_return INT64_MAX;
    if (!*more) co_return latest;
    latest = std::max(latest, hint.created_millis + int64_t{hint.gc_grace_seconds} * 1000);
    if ((*reader)->position() - rested_at < kReadBetweenRests) continue;
    rested_at = (*reader)->position();
    co_await self->runtime_.executor.yield();
  }
}

// ---- orders

Task<Status> HintsService::remove_all(std::optional<Uuid> host_id) {
  for (auto& [id, peer] : peers_) {
    if (!host_id || *host_id == id) remove_hints(*peer);
  }
  return Status();
}

std::vector<PendingHints> HintsService::pending() const {
  std::vector<PendingHints> out;
  for (const auto& [id, peer] : peers_) {
    PendingHints one = peer->store.pending();
    if (one.files > 0) out.push_back(one);
  }
  return out;
}

}  // namespace

std::unique_ptr<Hints> Hints::create(ShardRuntime& runtime, unsigned shard, Messenger& messenger,
                                     std::shared_ptr<HintsControl> control) {
  return std::make_unique<HintsService>(runtime, shard, messenger, std::move(control));
}

}  // namespace cassandra_like
