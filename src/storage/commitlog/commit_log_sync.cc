// When the commit log is synced, and who waits for it.
//
// At most one sync runs. It cuts the open section: what is appended while it runs belongs to the next one. Periodic: a
// sync starts a period after the first record that the one before did not take. Batch: a sync starts when the current
// callback ends, or when the one under way does, so one covers all that a loop turn wrote. Group: likewise, but not
// before a window after the last start. Whatever the mode, one starts when a segment is full.
#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "storage/commitlog/commit_log.h"
#include "storage/commitlog/commit_log_segment.h"

namespace cassandra_like {

namespace {
constexpr Duration kShortagePause = std::chrono::milliseconds(100);
// A quarter of the default write_request_timeout.
constexpr int64_t kSlowSyncNanos = 500'000'000;
}  // namespace

void CommitLog::request_sync() {
  if (!sync_requested_) unsynced_since_nanos_ = runtime_.clock.monotonic_nanos();
  sync_requested_ = true;
  if (!sync_running_) schedule_sync();  // else run_syncs() looks again
}

void CommitLog::schedule_sync() {
  auto start = [this, alive = alive_] {
    if (*alive) start_sync();
  };
  Duration delay{0};
  const int64_t now = runtime_.clock.monotonic_nanos();
  if (options_.sync == CommitLogSync::kPeriodic) {
    delay = Duration(unsynced_since_nanos_ + options_.sync_period.count() - now);
  }
  if (options_.sync == CommitLogSync::kGroup) {
    delay = Duration(last_sync_nanos_ + options_.group_window.count() - now);
  }
  if (delay.count() > 0) {
    sync_timer_ = runtime_.executor.schedule(delay, std::move(start));
  } else {
    runtime_.executor.post(std::move(start));
  }
}

void CommitLog::start_sync() {
  if (sync_timer_ != 0) runtime_.executor.cancel(std::exchange(sync_timer_, 0));
  if (sync_running_ || !gate_.enter()) return;
  sync_running_ = true;
  spawn(run_syncs());
}

// Syncs the bytes that are there now, at once or when the sync under way has ended.
void CommitLog::sync_now() {
  if (sync_running_) {
    sync_again_ = true;
  } else {
    start_sync();
  }
}

// For who is in the middle of a change: a sync that fails at once makes another segment active, and wakes those who wait.
void CommitLog::sync_soon() {
  runtime_.executor.post([this, alive = alive_] {
    if (*alive) sync_now();
  });
}

std::vector<CommitLog::Section> CommitLog::cut_sections() {
  std::vector<Section> sections;
  for (const SegmentPtr& segment : segments_) {
    if (!segment->has_unsynced()) continue;
    DCHECK(segment->end + (segment->closed ? 0 : kMarkerSize) <= segment->memory.size());
    sections.push_back({segment, segment->marker, segment->end});
    segment->marker = segment->end;
    segment->end += segment->closed ? 0 : kMarkerSize;
  }
  return sections;
}

Task<Status> CommitLog::sync_sections(std::vector<Section> sections) {
  for (Section& section : sections) {
    Segment& segment = *section.segment;
    if (segment.removed) continue;
    DCHECK(segment.sync_from <= section.marker && section.marker + kMarkerSize < section.end);
    if (!segment.in_directory) {
      Status synced = co_await runtime_.disk.sync_directory(options_.directory);
      // Without a descriptor for the directory nothing was lost: there is one when another file or socket is closed.
      while (!synced.ok() && synced.error().code() == ErrorCode::kOverloaded && !gate_.closed()) {
        LOG_WARN("The commit log waits to be synced: {}", synced.error().message());
        co_await runtime_.executor.sleep(kShortagePause);
        synced = co_await runtime_.disk.sync_directory(options_.directory);
      }
      if (!synced.ok()) co_return synced;
      segment.in_directory = true;
    }
    Status synced = co_await segment.file->sync(segment.sync_from, section.end - segment.sync_from);
    if (!synced.ok()) co_return synced;
    store_marker(segment.memory.data(), segment.id, section.marker, section.end);
    DCHECK(segment.sync_from <= section.marker);
    segment.sync_from = section.marker;
    // Only a restart reads these pages again; the marker's page is yet to be synced once more.
    segment.file->forget(section.marker + kMarkerSize, section.end - section.marker - kMarkerSize);
  }
  co_return Status();
}

// In periodic mode only those wait who came while a sync took too long.
bool CommitLog::is_awaited() const {
  return options_.sync == CommitLogSync::kBatch || (options_.sync == CommitLogSync::kPeriodic && !waiters_.empty());
}

Task<void> CommitLog::run_syncs() {
  DCHECK(sync_running_);
  do {
    sync_again_ = false;
    sync_requested_ = false;
    last_sync_nanos_ = runtime_.clock.monotonic_nanos();
    uint64_t target = appended_;
    // periodic_commitlog_sync_lag_block: half a period after the sync should have begun and ended.
    if (options_.sync == CommitLogSync::kPeriodic) {
      lag_timer_ = runtime_.executor.schedule(options_.sync_period / 2, [this, alive = alive_] {
        if (!*alive) return;
        lag_timer_ = 0;
        lagging_ = true;
      });
    }
    std::vector<Section> sections = cut_sections();
    Status status = co_await sync_sections(std::move(sections));
    if (lag_timer_ != 0) runtime_.executor.cancel(std::exchange(lag_timer_, 0));
    lagging_ = false;
    tell_of_slow_sync();
    if (!status.ok()) {
      Error error = fail(status.error(), "Failed to sync the commit log");
      abandon_active();
      target = appended_;
      acknowledge(target, error);
    } else {
      acknowledge(target, Status());
    }
    DCHECK(durable_ <= target && target <= appended_);
    durable_ = target;
  } while (sync_again_ || (sync_requested_ && is_awaited()));
  sync_running_ = false;
  if (sync_requested_ && !gate_.closed()) schedule_sync();
  gate_.leave();
}

// In batch and group mode, writes wait for it.
void CommitLog::tell_of_slow_sync() {
  const int64_t now = runtime_.clock.monotonic_nanos();
  const int64_t took = now - last_sync_nanos_;
  if (took < kSlowSyncNanos) return;
  if (const auto more = slow_syncs_log_.take(now)) {
    LOG_WARN("A sync of the commit log in {} took {} ms: the disk is slow or busy{}", options_.directory,
             took / 1'000'000, *more);
  }
}

// A file whose sync failed may have lost pages that the system now takes for clean, so a later sync of it says nothing.
void CommitLog::abandon_active() {
  for (const SegmentPtr& segment : segments_) {
    if (segment->file && segment->has_unsynced()) segment->abandoned = true;
  }
  if (!active_) return;
  active_->abandoned = true;
  if (!failure_) {
    if (auto rolled = roll(); !rolled.ok()) LOG_ERROR("{}", rolled.error().message());
  }
}

void CommitLog::acknowledge(uint64_t target, const Status& status) {
  while (!waiters_.empty() && waiters_.front().target <= target) {
    Promise<Status>* done = waiters_.front().done;
    waiters_.pop_front();
    done->set(status);
  }
}

Task<Status> CommitLog::durable() {
  if (failure_) co_return *failure_;
  if (durable_ >= appended_) co_return Status();
  Promise<Status> done;
  DCHECK(waiters_.empty() || waiters_.back().target <= appended_);
  waiters_.push_back({appended_, &done});
  co_return co_await done;
}

Task<Status> CommitLog::sync_records() {
  if (failure_) co_return *failure_;
  if (durable_ >= appended_) co_return Status();
  if (gate_.closed()) co_return Error(ErrorCode::kClosed, "The commit log is closed");
  sync_now();
  Status done = co_await durable();
  co_return done;
}

Task<Status> CommitLog::sync() {
  Status done = co_await sync_records();
  if (!done.ok()) co_return done;
  // The last markers, which no later section brings to the disk.
  std::vector<SegmentPtr> segments(segments_.begin(), segments_.end());
  for (const SegmentPtr& segment : segments) {
    if (!segment->file || segment->abandoned || segment->removed || segment->sync_from == segment->marker) continue;
    uint32_t end = segment->marker;
    Status synced = co_await segment->file->sync(segment->sync_from, end - segment->sync_from);
    if (!synced.ok()) co_return fail(synced.error(), "Failed to sync the commit log");
  }
  co_return Status();
}

Task<void> CommitLog::stop() {
  if (sync_timer_ != 0) runtime_.executor.cancel(std::exchange(sync_timer_, 0));
  co_await gate_.close();
  acknowledge(appended_, Error(ErrorCode::kClosed, "The commit log is closed"));
  DCHECK(waiters_.empty() && !sync_running_);
  if (prepared_) {
    std::string path = prepared_->path;
    prepared_ = nullptr;
    (void)runtime_.disk.remove(path);
  }
}

}  // namespace cassandra_like
