// Applies the commit log of the last run to the memtables.
//
// Segments of this shard are adopted: they stay in the log until the tables that they hold writes of have flushed. A
// record is passed over when an SSTable of its table says that it holds everything up to there, or when the table was
// truncated later.
#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "storage/commitlog/segment_reader.h"
#include "storage/engine/engine.h"
#include "storage/memtable_budget.h"

namespace cassandra_like {

namespace {
constexpr size_t kSectorSize = 512;
constexpr size_t kTableIdEnd = 17;  // of a mutation's first update
constexpr size_t kReplayedTogether = 16;
}  // namespace

Result<std::vector<SegmentOnDisk>> Engine::list_segments() {
  std::vector<SegmentOnDisk> out;
  ASSIGN_OR_RETURN(auto entries, runtime_.disk.list(options_.commitlog_directory));
  for (const DirectoryEntry& entry : entries) {
    auto id = segment_id_of(entry.name);
    if (!id || entry.is_directory) continue;
    log_.set_newest_id(*id);
    SegmentOnDisk segment{options_.commitlog_directory + "/" + entry.name, {}};
    ASSIGN_OR_RETURN(auto file, runtime_.disk.open(segment.path));
    // A file that was made and never synced: nothing in it was acknowledged. A power failure may leave any of its sectors
    // as zeros; the first holds the header.
    Bytes head(std::min<uint64_t>(file->size(), 4096), '\0');
    TRY(file->read(0, head));
    if (head.substr(0, kSectorSize).find_first_not_of('\0') == Bytes::npos) {
      LOG_WARN("Ignored {}, which begins with zeros: it was never synced", segment.path);
      if (*id % shard_count_ == shard_) empty_segments_.insert(segment.path);
      continue;
    }
    auto descriptor = read_segment_header(head, segment.path);
    if (!descriptor.ok()) {
      if (options_.commit_failure_policy != FailurePolicy::kIgnore) return std::move(descriptor.error());
      LOG_ERROR("Ignored: {}", descriptor.error().message());
      continue;
    }
    segment.descriptor = *descriptor;
    out.push_back(std::move(segment));
  }
  std::sort(out.begin(), out.end(),
            [](const SegmentOnDisk& a, const SegmentOnDisk& b) { return a.descriptor.id < b.descriptor.id; });
  return out;
}

Task<Status> Engine::replay(std::function<bool(const TableMetadata&)> wanted, TruncationRecords truncated) {
  DCHECK(schema_ != nullptr && !started_);
  Status made = co_await make_durable_directory(options_.commitlog_directory);
  if (!made.ok()) co_return made;
  CO_ASSIGN_OR_RETURN(std::vector<SegmentOnDisk> segments, list_segments());
  foreign_segments_.clear();
  if (options_.host_id.is_nil()) {
    for (const TableStorePtr& store : select(TableSelection())) store->is_replayed_whole |= wanted(*store->table);
  }
  int64_t newest_of_cassandra = -1;
  for (const SegmentOnDisk& segment : segments) {
    if (!segment.descriptor.writer) newest_of_cassandra = segment.descriptor.id;
    if (!segment.descriptor.writer || segment.descriptor.writer->shards != shard_count_) {
      foreign_segments_.push_back(segment.path);
    }
  }
  if (!segments.empty()) {
    // A killed process may not have come to it.
    Status named = co_await runtime_.disk.sync_directory(options_.commitlog_directory);
    if (!named.ok()) co_return named;
  }
  replayed_ = {};
  const int64_t begun = runtime_.clock.monotonic_nanos();
  replayed_mutations_ = replayed_bytes_ = 0;
  TableSelection everything;
  for (const SegmentOnDisk& segment : segments) {
    const auto& writer = segment.descriptor.writer;
    if (writer && writer->shards == shard_count_ && writer->shard != shard_) continue;
    CO_ASSIGN_OR_RETURN(const SegmentSummary summary,
                        replay_segment(segment, wanted, truncated, segment.descriptor.id == newest_of_cassandra));
    if (is_own(segment.descriptor)) {
      // A killed process left acknowledged records in the page cache. It may have been killed because a sync failed.
      if (summary.durable < summary.end) {
        Status stored = co_await runtime_.disk.rewrite(segment.path, summary.durable, summary.end - summary.durable);
        if (!stored.ok()) co_return stored;
      }
      replayed_ = {segment.descriptor.id, std::numeric_limits<int32_t>::max()};
    }
    // All shards replay at once.
    while (active_bytes_ > options_.memtables->share() / 2) {
      uint64_t before = active_bytes_;
      Status flushed = co_await flush(everything);
      if (!flushed.ok()) co_return flushed;
      if (active_bytes_ >= before) break;
    }
    co_await runtime_.executor.yield();
  }
  if (replayed_mutations_ > 0) {
    LOG_INFO("Log replay complete, {} replayed mutations in {} ms, from segments of {}", replayed_mutations_,
             (runtime_.clock.monotonic_nanos() - begun) / 1'000'000, memory_text(replayed_bytes_));
  }
  co_return Status();
}

Result<SegmentSummary> Engine::replay_segment(const SegmentOnDisk& segment,
                                              const std::function<bool(const TableMetadata&)>& wanted,
                                              const TruncationRecords& truncated, bool newest) {
  ASSIGN_OR_RETURN(auto file, runtime_.disk.open(segment.path));
  ASSIGN_OR_RETURN(BytesView data, file->map());
  replayed_bytes_ += data.size();
  const SegmentDescriptor& descriptor = segment.descriptor;
  if (is_own(descriptor)) log_.adopt(descriptor.id, segment.path, data.size());
  auto on_damage = [this, &segment](const Error& error) {
    return pass_damage(segment, fmt::format("Failed commit log replay: {}", error.message()));
  };
  std::vector<LoggedMutation> batch;
  auto apply_batch = [&] {
    apply_logged(segment, batch, wanted, truncated);
    batch.clear();
    write_arena_.reset();
  };
  auto on_record = [&](BytesView record, uint32_t end) -> Status {
    const CommitLogPosition position{descriptor.id, static_cast<int32_t>(end)};
    TRY(read_logged(segment, position, record, wanted, batch));
    if (batch.size() == kReplayedTogether) apply_batch();
    return {};
  };
  SegmentReadOptions options{on_damage, newest};
  auto read = read_segment(data, segment.path, descriptor, options, on_record);
  apply_batch();
  ASSIGN_OR_RETURN(const SegmentSummary summary, std::move(read));
  if (summary.torn) {
    LOG_WARN("Commit log {} ends in a record that is not whole, at {}: the node was stopped while it was written",
             segment.path, summary.end);
  }
  return summary;
}

// With the policy `ignore` the other records are applied, and the segment stays for whoever can still read it.
Status Engine::pass_damage(const SegmentOnDisk& segment, std::string message) {
  LOG_ERROR("{}", message);
  if (options_.commit_failure_policy != FailurePolicy::kIgnore) {
    return Error(ErrorCode::kCorruption, std::move(message));
  }
  log_.keep_damaged(segment.descriptor.id);
  damaged_segments_.insert(segment.path);
  return {};
}

bool Engine::is_void(const SegmentOnDisk& segment, const CommitLogPosition& end, const TableStore& store,
                     const TruncationRecords& truncated) const {
  const auto& writer = segment.descriptor.writer;
  if (auto record = truncated.find(store.table->id); record != truncated.end()) {
    const auto& of_shards = record->second.of_shards;
    if (!writer || writer->shards == 1) {
      if (end <= record->second.position) return true;
    } else if (of_shards.size() == writer->shards && end <= of_shards[writer->shard]) {
      return true;
    }
  }
  // Without our own id it cannot be said whose intervals these are. Applying a record twice does no harm.
  if (options_.host_id.is_nil()) return false;
  std::optional<SSTableOwner> logged_by;
  if (writer) logged_by = SSTableOwner{writer->shard, writer->shards};
  for (const LiveSSTable& live : store.sstables) {
    const SSTableInfo& info = live.sstable->info();
    if (live.writer != logged_by || info.originating_host != options_.host_id) continue;
    for (const auto& [from, to] : info.commit_log_intervals) {
      if (from < end && end <= to) return true;
    }
  }
  return false;
}

// Adds to the batch what is wanted and this shard's. It is in write_arena_.
Status Engine::read_logged(const SegmentOnDisk& segment, const CommitLogPosition& end, BytesView record,
                           const std::function<bool(const TableMetadata&)>& wanted,
                           std::vector<LoggedMutation>& batch) {
  // Most are of one table, whose id stands in front: what is not wanted of them need not be read.
  if (record.size() > kTableIdEnd && record[0] == 1) {
    TableStorePtr store = find(Uuid::from_bytes(record.substr(1, kTableIdEnd - 1)));
    if (!store || !wanted(*store->table)) return {};
  }
  bool unknown = false;
  auto find_table = [&](const Uuid& id) -> const TableMetadata* {
    TableStorePtr store = find(id);
    unknown |= store == nullptr;
    return store ? store->table.get() : nullptr;
  };
  auto mutation = deserialize_mutation(record, find_table, write_arena_);
  if (!mutation.ok()) {
    if (unknown) return {};
    return pass_damage(segment, fmt::format("Unexpected error deserializing mutation that ends at {} in {}: {}",
                                            end.position, segment.path, mutation.error().message()));
  }
  DCHECK(!is_own(segment.descriptor) || is_mine(mutation->key.token));
  if (is_own(segment.descriptor) || is_mine(mutation->key.token)) batch.push_back({*mutation, end});
  return {};
}

// Their partitions are looked up together: one by one, each would wait for memory several times.
void Engine::apply_logged(const SegmentOnDisk& segment, std::span<const LoggedMutation> batch,
                          const std::function<bool(const TableMetadata&)>& wanted, const TruncationRecords& truncated) {
  absl::InlinedVector<PrefetchKey, kReplayedTogether> expected;
  for (const auto& [mutation, end] : batch) {
    for (const PartitionUpdate& update : mutation.updates) expected.push_back({update.table->id, update.key.token});
  }
  prefetch(expected);
  const bool own = is_own(segment.descriptor);
  for (const auto& [mutation, end] : batch) {
    for (const PartitionUpdate& update : mutation.updates) {
      TableStorePtr store = find(update.table->id);
      if (!wanted(*store->table) || is_void(segment, end, *store, truncated)) continue;
      apply_to(*store, update);
      store->shares_records |= mutation.updates.size() > 1;
      ++replayed_mutations_;
      if (own) log_.mark_dirty(end.segment, store->log, static_cast<uint32_t>(end.position));
    }
  }
}

std::vector<std::string> Engine::foreign_segments() const { return foreign_segments_; }

Status Engine::remove_foreign_segments() {
  for (const std::string& path : foreign_segments_) {
    const bool damaged = damaged_segments_.contains(path) && runtime_.disk.exists(path);
    TRY(damaged ? set_damaged_aside(runtime_.disk, path) : runtime_.disk.remove(path));
  }
  foreign_segments_.clear();
  return {};
}

}  // namespace cassandra_like
