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
#include "storage/table/table_directories.h"

namespace cassandra_like {

namespace {
constexpr size_t kSectorSize = 512;
constexpr size_t kTableIdEnd = 17;  // of a mutation's first update
constexpr size_t kReplayedTogether = 16;

// "t-<32 hex digits>".
std::optional<Uuid> table_id_of(std::string_view directory) {
  Bytes id;
  if (directory.size() < 33 || !from_hex(directory.substr(directory.size() - 32), &id)) return std::nullopt;
  return Uuid::from_bytes(id);
}

Result<std::map<Uuid, std::string>> directories_with_data(Disk& disk,
                                                          const std::vector<std::string>& data_directories) {
  std::map<Uuid, std::string> out;
  ASSIGN_OR_RETURN(const auto tables, table_directories(disk, data_directories));
  for (const TableDirectory& table : tables) {
    const auto id = table_id_of(table.name);
    if (!id) continue;
    ASSIGN_OR_RETURN(const auto sstables, find_sstables(disk, table.path));
    if (!sstables.empty()) out[*id] = table.path;
  }
  return out;
}

bool is_zero(BytesView bytes) { return bytes.find_first_not_of('\0') == BytesView::npos; }

// A deletion of a partition that no SSTable can hold. This node writes none.
PartitionUpdate without_negative_deletion(const std::string& segment, PartitionUpdate update) {
  if (!update.partition_deletion.is_before_1970()) return update;
  LOG_ERROR("{}: a deletion of the partition {} of {} is left out, because its timestamp {} is negative", segment,
            to_hex(update.key.key), update.table->qualified_name(), update.partition_deletion.marked_for_delete_at);
  update.partition_deletion = {};
  return update;
}
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
    Bytes head(std::min<uint64_t>(file->size(), 4096), '\0');
    TRY(file->read(0, head));
    if (is_zero(BytesView(head).substr(0, kSectorSize))) {
      TRY(pass_without_header(*file, *id));
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

// Most are files that were made and never synced: nothing in them was acknowledged. A power failure may leave any of their
// sectors as zeros; the first holds the header. A marker behind it tells that the file was synced, and lost the header later.
Status Engine::pass_without_header(const ReadFile& file, int64_t id) {
  ASSIGN_OR_RETURN(const BytesView data, file.map());
  if (const auto marker = find_marker(data, id)) {
    Error damage(
        ErrorCode::kCorruption,
        fmt::format("Commit log {} begins with zeros, but was synced: there is a marker at {}", file.path(), *marker));
    LOG_ERROR("{}", damage.message());
    if (options_.commit_failure_policy != FailurePolicy::kIgnore) return damage;
  } else {
    LOG_WARN("Ignored {}, which begins with zeros: it was never synced", file.path());
  }
  if (id % shard_count_ == shard_) headless_segments_[file.path()] = !is_zero(data);
  return {};
}

Task<Status> Engine::replay(std::function<bool(const TableMetadata&)> wanted, TruncationRecords truncated,
                            bool knows_all_tables) {
  DCHECK(schema_ != nullptr && !started_);
  Status made = co_await make_durable_directory(options_.commitlog_directory);
  if (!made.ok()) co_return made;
  CO_ASSIGN_OR_RETURN(std::vector<SegmentOnDisk> segments, list_segments());
  foreign_segments_.clear();
  unknown_tables_.clear();
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
  if (knows_all_tables) CO_TRY(tell_unknown_tables());
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
  keep(segment.path);
  return {};
}

void Engine::keep(const std::string& path) {
  log_.keep_damaged(path);
  damaged_segments_.insert(path);
}

// A table that is unknown was dropped. Or its part of the schema is lost, and its directory is still there: then the segments
// stay for the day when the schema is found.
Status Engine::tell_unknown_tables() {
  if (unknown_tables_.empty()) return {};
  ASSIGN_OR_RETURN(const auto directories, directories_with_data(runtime_.disk, options_.data_directories));
  for (const auto& [id, unknown] : std::exchange(unknown_tables_, {})) {
    const auto directory = directories.find(id);
    if (directory == directories.end()) {
      LOG_INFO("Skipped {} mutations of an unknown (probably removed) table with id {}", unknown.records,
               id.to_string());
      continue;
    }
    LOG_ERROR("Skipped {} mutations of a table that the schema does not have, though {} is there: {} stay",
              unknown.records, directory->second, fmt::join(unknown.segments, ", "));
    for (const std::string& path : unknown.segments) keep(path);
  }
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
    const Uuid id = Uuid::from_bytes(record.substr(1, kTableIdEnd - 1));
    TableStorePtr store = find(id);
    if (!store) unknown_tables_[id].add(segment.path);
    if (!store || !wanted(*store->table)) return {};
  }
  std::optional<Uuid> unknown;
  auto find_table = [&](const Uuid& id) -> const TableMetadata* {
    TableStorePtr store = find(id);
    if (!store) unknown = id;
    return store ? store->table.get() : nullptr;
  };
  auto mutation = deserialize_mutation(record, find_table, write_arena_);
  if (!mutation.ok()) {
    if (unknown) unknown_tables_[*unknown].add(segment.path);
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
      apply_to(*store, without_negative_deletion(segment.path, update));
      store->shares_records |= mutation.updates.size() > 1;
      ++replayed_mutations_;
      if (own) log_.mark_dirty(end.segment, store->log, static_cast<uint32_t>(end.position));
    }
  }
}

std::vector<std::string> Engine::foreign_segments() const { return foreign_segments_; }

Status Engine::remove_foreign_segments() {
  for (const std::string& path : foreign_segments_) {
    if (!runtime_.disk.exists(path)) continue;
    Status gone =
        damaged_segments_.contains(path) ? set_damaged_aside(runtime_.disk, path) : runtime_.disk.remove(path);
    // All shards do this at once: another one may have done it meanwhile.
    if (!gone.ok() && runtime_.disk.exists(path)) return gone;
  }
  foreign_segments_.clear();
  return {};
}

}  // namespace cassandra_like
