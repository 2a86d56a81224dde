#include "coordinator/batchlog.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/log.h"
#include "coordinator/context/all_of.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

// MessagingService.VERSION_50, the version of the mutations in system.batches. Cassandra writes 12 in CASSANDRA_4 mode,
// with the same bytes.
constexpr int32_t kMessagingVersion = 13;
constexpr int32_t kOldestMessagingVersion = 12;
// Records in memory at once, and the bytes of their mutations that end a page before it has so many.
constexpr uint64_t kPageSize = 128;
constexpr size_t kPageBytes = 4 << 20;
// Batches that are replayed at once: one that waits for a slow replica does not hold up many others.
constexpr size_t kAtOnce = 16;

size_t bytes_of(const InternalRow& record) {
  size_t bytes = 0;
  auto mutations = record.elements.find("mutations");
  if (mutations == record.elements.end()) return 0;
  for (const auto& [path, mutation] : mutations->second) bytes += mutation.size();
  return bytes;
}

class RecordPage final : public InternalRows {
 public:
  using InternalRows::InternalRows;
  Next row(const Row& row) override {
    InternalRows::row(row);
    bytes_ += bytes_of(rows.back());
    return is_full() ? Next::kStop : Next::kContinue;
  }
  bool is_full() const { return rows.size() >= kPageSize || bytes_ >= kPageBytes; }

 private:
  size_t bytes_ = 0;
};

// The rest of a mutation.
struct Replay {
  std::string_view keyspace;
  DecoratedKey key;
  std::vector<PartitionUpdate> updates;
  SerializedMutation serialized;  // of a mutation that is whole
};

// Nothing when its table was dropped, or all its tables were truncated after the batch was written.
std::optional<Replay> replay_of(const Schema& schema, BytesView bytes, int64_t written_millis,
                                const TruncationRecords& truncated, Arena& arena) {
  auto find = [&schema](const Uuid& table) { return schema.table(table).get(); };
  auto mutation = deserialize_mutation(bytes, find, arena);
  if (!mutation.ok()) {
    LOG_DEBUG("A mutation of a logged batch is left out: {}", mutation.error().message());
    return std::nullopt;
  }
  Replay replay{mutation->keyspace, mutation->key, {}, {}};
  for (const PartitionUpdate& update : mutation->updates) {
    auto found = truncated.find(update.table->id);
    if (found == truncated.end() || written_millis > found->second.truncated_at_millis)
      replay.updates.push_back(update);
  }
  if (replay.updates.empty()) return std::nullopt;
  if (replay.updates.size() == mutation->updates.size()) {
    replay.serialized = SerializedMutation(mutation->key.token, bytes);
  }
  return replay;
}

// The tombstones of such a batch may have been purged: what they deleted would come back.
bool is_older_than_gc_grace(const std::vector<Replay>& replays, int64_t written_millis, int64_t now_seconds) {
  for (const Replay& replay : replays) {
    for (const PartitionUpdate& update : replay.updates) {
      if (written_millis / 1000 + update.table->params.gc_grace_seconds <= now_seconds) return true;
    }
  }
  return false;
}

std::vector<ReplayedMutation> for_all_replicas(std::vector<Replay>& replays) {
  std::vector<ReplayedMutation> out;
  for (Replay& replay : replays) {
    ReplayedMutation& mutation = out.emplace_back();
    mutation.keyspace = replay.keyspace;
    mutation.mutation = std::move(replay.serialized);
    if (!mutation.mutation) {
      const Mutation rest{replay.keyspace, replay.key, replay.updates};
      mutation.mutation = SerializedMutation(rest);
    }
    mutation.gc_grace_seconds = replay.updates[0].table->params.gc_grace_seconds;
    for (const PartitionUpdate& update : replay.updates) {
      mutation.gc_grace_seconds = std::min(mutation.gc_grace_seconds, update.table->params.gc_grace_seconds);
    }
  }
  return out;
}

Task<Status> count_failure(Task<Status> task, size_t* failed, std::string* why) {
  Status status = co_await task;
  if (!status.ok()) {
    ++*failed;
    *why = status.error().message();
  }
  co_return status;
}

}  // namespace

Batchlog::Batchlog(ShardRuntime& runtime, Verbs& local, SchemaStore& schema, BatchlogOptions options)
    : runtime_(runtime), local_(local), schema_(schema), options_(options) {}

Batchlog::~Batchlog() {
  if (next_round_ != 0) runtime_.executor.cancel(next_round_);
}

Uuid Batchlog::next_id() {
  constexpr uint64_t kVariant = 0x8000000000000000ULL;
  return Uuid::time_based(kUuidEpochOffset + static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10,
                          (runtime_.random.next() >> 2) | kVariant);
}

// ---- Records

PartitionUpdate Batchlog::record_of(const Uuid& id, std::span<const BytesView> mutations, Arena& arena) {
  UpdateBuilder row(schema_.current()->table("system", "batches"), {Bytes(id.view())}, id.unix_micros(), arena);
  row.row().set("version", encode_int(kMessagingVersion)).replace("mutations");
  for (BytesView mutation : mutations) row.element("mutations", next_id().view(), mutation);
  return row.build();
}

Task<Status> Batchlog::write_record(const Uuid& id, std::span<const BytesView> mutations) {
  open_.emplace(id, runtime_.clock.monotonic_nanos());
  Arena arena;
  SchemaPtr schema = schema_.current();
  PartitionUpdate update = record_of(id, mutations, arena);
  return local_.mutate(Mutation{"system", update.key, {&update, 1}});
}

Task<Status> Batchlog::store(const Uuid& id, std::span<const SerializedMutation> mutations) {
  std::vector<BytesView> bytes;
  for (const SerializedMutation& mutation : mutations) bytes.push_back(mutation.view());
  return write_record(id, bytes);
}

// Its timestamp is that of the id, not the time at which its coordinator says that it was made: so that it is never later
// than its removal, whose time is this node's.
Task<Status> Batchlog::store_for_peer(const Uuid& id, int64_t, std::span<const BytesView> mutations) {
  if (id.version() != 1) return Status(invalid("The id of a logged batch is no timeuuid: " + id.to_string()));
  return write_record(id, mutations);
}

Task<Status> Batchlog::remove(Uuid id) {
  Arena arena;
  SchemaPtr schema = schema_.current();
  // Not before the record, also when the clock was set back.
  const int64_t timestamp = std::max(runtime_.clock.wall_micros(), id.unix_micros());
  UpdateBuilder partition(schema->table("system", "batches"), {Bytes(id.view())}, timestamp, arena);
  PartitionUpdate update = partition.delete_partition().build();
  Mutation removal{"system", update.key, {&update, 1}};
  Task<Status> removed = local_.mutate(removal);
  Status status = co_await removed;
  if (status.ok()) open_.erase(id);
  co_return status;
}

// ---- Rounds

void Batchlog::start() {
  DCHECK(!running_);
  running_ = true;
  schedule_round();
}

Task<void> Batchlog::stop() {
  running_ = false;
  if (next_round_ != 0) runtime_.executor.cancel(std::exchange(next_round_, 0));
  if (gate_.closed()) return {};
  return gate_.close();
}

void Batchlog::schedule_round() {
  DCHECK(next_round_ == 0);
  next_round_ = runtime_.executor.schedule(kReplayInterval, [this] {
    next_round_ = 0;
    if (gate_.enter()) spawn(round());
  });
}

Task<void> Batchlog::round() {
  co_await replay_due();
  if (running_) schedule_round();
  gate_.leave();
}

Task<Status> Batchlog::force_replay() {
  if (!running_ || !gate_.enter()) co_return Error(ErrorCode::kInvalid, "The node is stopping");
  co_await replay_due();
  gate_.leave();
  co_return Status();
}

Task<void> Batchlog::replay_due() {
  co_await replaying_.lock();
  AsyncMutex::Guard guard(replaying_);
  if (has_unread_records_) {
    Status read = co_await replay_records(true);
    has_unread_records_ = !read.ok();
  }
  co_await replay_open();
}

Task<void> Batchlog::replay_all() {
  if (!gate_.enter()) co_return;
  Status read = co_await replay_records(false);
  if (!read.ok()) LOG_WARN("Cannot read all of the batchlog: {}", read.error().message());
  has_unread_records_ = !read.ok();
  gate_.leave();
}

// All records that the node has, page by page. The error of reading; batches that fail stay open.
Task<Status> Batchlog::replay_records(bool throttled) {
  ReadCommand command;
  command.only_durable = true;
  command.table = schema_.current()->table("system", "batches");
  command.range = KeyRange{};
  command.limits.rows = kPageSize;
  const uint64_t before = batches_replayed_;
  Bytes last_key;
  while (true) {
    command.now_seconds = runtime_.clock.wall_seconds();
    RecordPage page(command.table);
    CO_TRY(co_await local_.read(command, page));
    for (size_t done = 0; done < page.rows.size(); done += kAtOnce) {
      const size_t count = std::min(kAtOnce, page.rows.size() - done);
      Task<Status> replaying = replay_page(std::span(page.rows).subspan(done, count));
      Status replayed = co_await replaying;
      if (!replayed.ok()) {
        if (auto more = unfinished_log_.take(runtime_.clock.monotonic_nanos())) {
          LOG_WARN("A logged batch is not finished yet: {}{}", replayed.error().message(), *more);
        }
      }
      const size_t bytes = std::exchange(replayed_bytes_, 0);
      if (!throttled) continue;
      co_await pause_for(bytes);
      if (!running_) co_return Status();
    }
    if (!page.is_full()) break;
    last_key = page.rows.back().get("id");
    command.range->start = RingPosition::at(DecoratedKey::of(last_key));
    command.range->start_inclusive = false;
  }
  if (batches_replayed_ > before) {
    LOG_INFO("Finished {} logged batches that had been interrupted", batches_replayed_ - before);
  }
  co_return Status();
}

// The batches that were begun on this shard and should have ended: some at once, as far as their records fit into a page.
Task<void> Batchlog::replay_open() {
  const int64_t due = runtime_.clock.monotonic_nanos() - options_.timeout.count();
  std::vector<Uuid> ids;
  for (const auto& [id, begun] : open_) {
    if (begun <= due) ids.push_back(id);
  }
  const uint64_t before = batches_replayed_;
  size_t failed = 0;
  std::string why;
  size_t next = 0;
  while (next < ids.size() && running_) {
    std::vector<InternalRow> records;
    size_t bytes = 0;
    while (next < ids.size() && records.size() < kAtOnce && bytes < kPageBytes) {
      Task<Status> reading = count_failure(read_record(ids[next++], &records), &failed, &why);
      const Status read = co_await reading;
      if (read.ok() && !records.empty()) bytes += bytes_of(records.back());
    }
    Writes started;
    for (const InternalRow& record : records) started.push_back(count_failure(replay(&record), &failed, &why));
    Task<Status> all = all_of(std::move(started));
    (void)co_await all;
    co_await pause_for(std::exchange(replayed_bytes_, 0));
  }
  if (batches_replayed_ > before) LOG_INFO("Finished {} interrupted logged batches", batches_replayed_ - before);
  if (failed > 0) LOG_WARN("{} logged batches are not finished yet; the last failed with: {}", failed, why);
}

// Adds nothing when the batch was never written, or removed meanwhile; then it is not open any more.
Task<Status> Batchlog::read_record(Uuid id, std::vector<InternalRow>* records) {
  ReadCommand command;
  command.only_durable = true;
  command.table = schema_.current()->table("system", "batches");
  command.keys = {DecoratedKey::of(id.view())};
  command.now_seconds = runtime_.clock.wall_seconds();
  InternalRows found(command.table);
  Task<Result<ReadStatistics>> reading = local_.read(command, found);
  Result<ReadStatistics> read = co_await reading;
  if (!read.ok()) co_return std::move(read.error());
  if (found.rows.empty()) open_.erase(id);
  for (InternalRow& record : found.rows) records->push_back(std::move(record));
  co_return Status();
}

// The first error; the others are tried all the same.
Task<Status> Batchlog::replay_page(std::span<const InternalRow> records) {
  Writes replays;
  for (const InternalRow& record : records) replays.push_back(replay(&record));
  return all_of(std::move(replays));
}

// ---- Replay

// An error: the batch stays, and is open.
Task<Status> Batchlog::replay(const InternalRow* record) {
  auto id = record->uuid("id");
  if (!id) co_return Status();
  const auto version = record->integer("version");
  if (version < kOldestMessagingVersion || version > kMessagingVersion) {
    LOG_WARN("Logged batch {} stays in system.batches: its mutations have messaging version {}, which is not supported",
             id->to_string(), version);
    co_return Status();
  }
  open_.emplace(*id, runtime_.clock.monotonic_nanos());
  CO_TRY(co_await apply(record, id->unix_millis()));
  replayed_bytes_ += bytes_of(*record);
  CO_TRY(co_await remove(*id));
  ++batches_replayed_;
  co_return Status();
}

Task<Status> Batchlog::apply(const InternalRow* record, int64_t written_millis) {
  auto mutations = record->elements.find("mutations");
  if (mutations == record->elements.end()) co_return Status();
  CO_ASSIGN_OR_RETURN(TruncationRecords truncated, co_await truncations());
  SchemaPtr schema = schema_.current();
  Arena arena;
  std::vector<Replay> replays;
  for (const auto& [path, bytes] : mutations->second) {
    if (auto replay = replay_of(*schema, bytes, written_millis, truncated, arena))
      replays.push_back(std::move(*replay));
  }
  if (is_older_than_gc_grace(replays, written_millis, runtime_.clock.wall_seconds())) co_return Status();
  if (!is_alone()) {
    Task<Status> replaying = writes_->replay(for_all_replicas(replays), written_millis);
    co_return co_await replaying;
  }
  for (Replay& replay : replays) {
    Mutation mutation{replay.keyspace, replay.key, replay.updates};
    MutationPayload payload(mutation, std::move(replay.serialized));
    Task<Status> applying = local_.mutate(payload);
    Status applied = co_await applying;
    if (applied.ok()) continue;
    // It will never be applied: it is too large, for example.
    if (applied.error().code() != ErrorCode::kInvalid) co_return applied;
    if (auto more = left_out_log_.take(runtime_.clock.monotonic_nanos())) {
      LOG_WARN("A mutation of a logged batch is left out: {}{}", applied.error().message(), *more);
    }
  }
  co_return Status();
}

Task<Result<TruncationRecords>> Batchlog::truncations() {
  ReadCommand command;
  command.table = schema_.current()->table("system", "local");
  command.range = KeyRange{};
  command.now_seconds = runtime_.clock.wall_seconds();
  InternalRows rows(command.table);
  CO_TRY(co_await local_.read(command, rows));
  co_return parse_local(rows.rows).truncated;
}

Task<void> Batchlog::pause_for(size_t bytes) {
  if (options_.replay_bytes_per_second == 0) co_return;
  constexpr int64_t kSecond = 1'000'000'000, kSlice = kSecond / 10;
  // All nodes together may replay so much.
  const uint64_t nodes = writes_ == nullptr ? 1 : writes_->nodes();
  int64_t left =
      static_cast<int64_t>(bytes * nodes * static_cast<uint64_t>(kSecond) / options_.replay_bytes_per_second);
  for (; left > 0 && running_; left -= kSlice) co_await runtime_.executor.sleep(Duration(std::min(left, kSlice)));
}

}  // namespace cassandra_like
