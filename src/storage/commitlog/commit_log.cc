// Appending, and the life of segments. Syncs are in commit_log_sync.cc.
#include "storage/commitlog/commit_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "storage/commitlog/commit_log_segment.h"
#include "storage/commitlog/mutation_size.h"

namespace cassandra_like {

CommitLog::CommitLog(ShardRuntime& runtime, CommitLogOptions options)
    : runtime_(runtime), options_(std::move(options)) {
  last_sync_nanos_ = runtime_.clock.monotonic_nanos() - options_.group_window.count();
}

CommitLog::~CommitLog() { *alive_ = false; }

int64_t CommitLog::next_id() {
  auto shards = static_cast<int64_t>(options_.writer.shards);
  int64_t id = std::max(runtime_.clock.wall_millis(), newest_id_ + 1);
  id += (options_.writer.shard + shards - id % shards) % shards;
  DCHECK(id > newest_id_ && id % shards == options_.writer.shard);
  newest_id_ = id;
  return id;
}

Result<CommitLog::SegmentPtr> CommitLog::make_segment() {
  auto segment = std::make_shared<Segment>();
  segment->id = next_id();
  segment->path = options_.directory + "/" + segment_file_name(segment->id);
  segment->bytes = options_.segment_bytes;
  ASSIGN_OR_RETURN(segment->file, runtime_.disk.create_mapped(segment->path, options_.segment_bytes));
  segment->memory = segment->file->memory();
  Bytes header = segment_header(segment->id, options_.writer);
  std::memcpy(segment->memory.data(), header.data(), header.size());
  segment->marker = static_cast<uint32_t>(header.size());
  segment->end = segment->marker + kMarkerSize;
  return segment;
}

Status CommitLog::open() { return active_ ? Status() : roll(); }

Status CommitLog::roll() {
  if (active_) {
    active_->closed = true;
    // Not with the others when the period ends: so few pages wait for the disk at a time, and the next segments find those
    // of the last ones free.
    if (active_->has_unsynced()) sync_soon();
    remove_if_clean(std::exchange(active_, nullptr));
  }
  if (prepared_) {
    active_ = std::move(prepared_);
  } else {
    auto made = make_segment();
    if (!made.ok()) return fail(made.error(), "Failed managing commit log segments");
    active_ = std::move(made).value();
  }
  DCHECK(segments_.empty() || segments_.back()->id < active_->id);
  segments_.push_back(active_);
  if (total_bytes() <= options_.total_bytes || !options_.on_full) return {};
  for (const SegmentPtr& segment : segments_) {
    if (segment == active_) break;
    if (segment->dirty.empty()) continue;
    options_.on_full(segment->dirty);
    break;
  }
  return {};
}

void CommitLog::prepare() {
  preparing_ = true;
  runtime_.executor.post([this, alive = alive_] {
    if (!*alive) return;
    preparing_ = false;
    if (prepared_ || failure_ || gate_.closed()) return;
    // A failure here is met again, and reported, by the write that needs the segment.
    if (auto made = make_segment(); made.ok()) prepared_ = std::move(made).value();
  });
}

Status CommitLog::append(const Mutation& mutation, std::span<LogTable* const> tables, BytesView serialized) {
  if (failure_) return *failure_;
  if (!serialized.empty()) {
    auto copy = [serialized](char* p) { return std::copy(serialized.begin(), serialized.end(), p); };
    return append_record(mutation, tables, serialized.size(), copy);
  }
  MutationSerializer serializer(mutation);
  return append_record(mutation, tables, serializer.size(), [&serializer](char* p) { return serializer.write(p); });
}

// `write` stores `size` bytes and returns one past the last.
template <class Write>
Status CommitLog::append_record(const Mutation& mutation, std::span<LogTable* const> tables, size_t size, Write write) {
  TRY(check_mutation_size(mutation, size, options_.segment_bytes / 2));
  auto total = static_cast<uint32_t>(size + kRecordOverhead);
  // Behind every record there is room for a marker.
  if (!active_ || active_->end + total + kMarkerSize > active_->memory.size()) TRY(roll());
  Segment& segment = *active_;
  DCHECK(!segment.closed && segment.end + total + kMarkerSize <= segment.memory.size());
  char* p = segment.memory.data() + segment.end;
  uint32_t crc = size_crc(static_cast<uint32_t>(size));
  store_be<uint32_t>(p + 4, crc);
  char* end = write(p + 8);
  DCHECK(end == p + 8 + size);
  store_be<uint32_t>(end, crc32(BytesView(p + 8, size), crc));
  store_be<uint32_t>(p, static_cast<uint32_t>(size));
  segment.end += total;
  ++appended_;
  for (LogTable* table : tables) {
    DCHECK(table->last_segment <= segment.id);
    DCHECK(table->last_segment < segment.id || table->last_position < segment.end);
    if (table->last_segment != segment.id) {
      table->last_segment = segment.id;
      segment.dirty.push_back(table);
    }
    table->last_position = segment.end;
  }
  if (!sync_requested_) request_sync();
  if (segment.end > segment.memory.size() / 2 && !prepared_ && !preparing_) prepare();
  return {};
}

CommitLogPosition CommitLog::position() const {
  if (active_) return {active_->id, static_cast<int32_t>(active_->end)};
  return {newest_id_, 0};
}

std::vector<std::pair<CommitLogPosition, CommitLogPosition>> CommitLog::intervals(const CommitLogPosition& from,
                                                                                  const CommitLogPosition& to) const {
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>> out;
  for (const SegmentPtr& segment : segments_) {
    if (segment->id < from.segment || segment->id >= to.segment) continue;
    out.emplace_back(std::max(from, {segment->id, 0}),
                     CommitLogPosition{segment->id, static_cast<int32_t>(segment->bytes)});
  }
  out.emplace_back(std::max(from, {to.segment, 0}), to);
  return out;
}

void CommitLog::mark_clean(LogTable& table, const CommitLogPosition& upper) {
  std::vector<SegmentPtr> clean;
  for (const SegmentPtr& segment : segments_) {
    if (segment->id > upper.segment) break;
    bool newest = segment->id == table.last_segment;
    // The table may have written behind `upper` to a segment that it has left since: the next flush
    // cleans it.
    bool has_more =
        segment->id == upper.segment && (!newest || table.last_position > static_cast<uint32_t>(upper.position));
    if (has_more || std::erase(segment->dirty, &table) == 0) continue;
    if (newest) table.last_segment = -1;
    clean.push_back(segment);
  }
  for (const SegmentPtr& segment : clean) remove_if_clean(segment);
}

void CommitLog::forget(LogTable& table) {
  mark_clean(table, {std::numeric_limits<int64_t>::max(), std::numeric_limits<int32_t>::max()});
}

void CommitLog::adopt(int64_t id, const std::string& path, uint64_t bytes) {
  auto at = std::lower_bound(segments_.begin(), segments_.end(), id,
                             [](const SegmentPtr& s, int64_t wanted) { return s->id < wanted; });
  if (at != segments_.end() && (*at)->id == id) return;
  auto segment = std::make_shared<Segment>();
  segment->id = id;
  segment->path = path;
  segment->bytes = bytes;
  segment->closed = true;
  segments_.insert(at, std::move(segment));
  set_newest_id(id);
}

void CommitLog::keep_damaged(const std::string& path) {
  for (const SegmentPtr& segment : segments_) segment->damaged |= segment->path == path;
}

void CommitLog::mark_dirty(int64_t id, LogTable& table, uint32_t position) {
  DCHECK(!replayed_);
  // Called for each record of a replay, which asks about the segment that was adopted last.
  auto found = std::find_if(segments_.rbegin(), segments_.rend(), [id](const SegmentPtr& s) { return s->id == id; });
  if (found == segments_.rend()) return;
  Segment& segment = **found;
  if (std::find(segment.dirty.begin(), segment.dirty.end(), &table) == segment.dirty.end()) {
    segment.dirty.push_back(&table);
  }
  if (id > table.last_segment) table.last_position = 0;
  if (id >= table.last_segment) {
    table.last_segment = id;
    table.last_position = std::max(table.last_position, position);
  }
}

Status set_damaged_aside(Disk& disk, const std::string& path) {
  const std::string aside = path + ".damaged";
  LOG_WARN("Commit log {} has records that cannot be read: it is kept as {}", path, aside);
  return disk.rename(path, aside);
}

void CommitLog::remove_clean() {
  replayed_ = true;
  auto segments = segments_;
  for (const SegmentPtr& segment : segments) remove_if_clean(segment);
}

void CommitLog::remove_if_clean(const SegmentPtr& segment) {
  if (!segment->closed || !segment->dirty.empty() || segment->removed) return;
  // Until all of it is replayed, nobody knows what an adopted segment still holds.
  if (!replayed_ && !segment->file) return;
  DCHECK(segment != active_ && segment != prepared_);
  segment->removed = true;
  std::erase(segments_, segment);
  const Status removed =
      segment->damaged ? set_damaged_aside(runtime_.disk, segment->path) : runtime_.disk.remove(segment->path);
  if (!removed.ok()) {
    LOG_WARN("Cannot remove commit log segment {}: {}", segment->path, removed.error().message());
    oldest_not_removed_ = std::min(oldest_not_removed_, segment->id);
  }
}

int64_t CommitLog::oldest_id() const {
  int64_t oldest = oldest_not_removed_;
  for (const SegmentPtr& segment : segments_) oldest = std::min(oldest, segment->id);
  return oldest;
}

uint64_t CommitLog::total_bytes() const {
  uint64_t total = 0;
  for (const SegmentPtr& segment : segments_) total += segment->bytes;
  return total;
}

Error CommitLog::fail(const Error& cause, std::string_view what) {
  const bool is_shortage = cause.code() == ErrorCode::kOverloaded;  // of descriptors: the next write may find one
  Error error(cause.code() == ErrorCode::kDiskFull || is_shortage ? cause.code() : ErrorCode::kIo,
              fmt::format("{}: {}", what, cause.message()));
  if (auto more = failures_log_.take(runtime_.clock.monotonic_nanos())) LOG_ERROR("{}{}", error.message(), *more);
  if (is_shortage) return error;
  if (options_.failure_policy == FailurePolicy::kIgnore || failure_) return error;
  failure_ = std::make_unique<Error>(error);
  if (options_.on_failure) options_.on_failure(options_.failure_policy, error);
  return error;
}

}  // namespace cassandra_like
