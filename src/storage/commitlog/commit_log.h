// One shard's commit log: what was applied but is in no SSTable yet.
//
// Segments (segment_format.h) are files of fixed size, written as memory. append() stores the record into the mapping,
// where the death of the process cannot reach it; a sync brings a section to the disk and then stores its marker. A
// closed segment is removed when every table that it has records of has flushed beyond them. The next segment is made
// while the current one fills, so that a write finds it there.
//
// Segment ids come from the clock, are congruent to the shard modulo the number of shards, and grow: so they are unique
// over all shards and all starts.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/log_quota.h"
#include "model/mutation.h"
#include "runtime/runtime.h"
#include "storage/commit_log_position.h"
#include "storage/commitlog/segment_format.h"
#include "storage/options.h"

namespace cassandra_like {

// A table as the commit log knows it: where its last record is. Owned by the table.
struct LogTable {
  Uuid id;
  int64_t last_segment = -1;
  uint32_t last_position = 0;
};

struct CommitLogOptions {
  std::string directory;
  CommitLogSync sync = CommitLogSync::kPeriodic;
  Duration sync_period{};
  Duration group_window{};
  uint64_t segment_bytes = 32u << 20;
  uint64_t total_bytes = 0;  // of this shard
  FailurePolicy failure_policy = FailurePolicy::kStop;
  SegmentWriter writer;
  std::function<void(FailurePolicy, const Error&)> on_failure;
  // The log outgrew total_bytes: these tables hold its oldest segment.
  std::function<void(std::vector<LogTable*>)> on_full;
};

class CommitLog {
 public:
  CommitLog(ShardRuntime& runtime, CommitLogOptions options);
  ~CommitLog();
  CommitLog(const CommitLog&) = delete;
  CommitLog& operator=(const CommitLog&) = delete;

  // Segments with ids up to this exist or have existed. Before the first append().
  void set_newest_id(int64_t id) { newest_id_ = id > newest_id_ ? id : newest_id_; }
  // Makes the first segment. append() does it, too, when it comes first.
  Status open();

  // Logs a mutation to these tables. kInvalid when it is too large for a segment, kIo after a failure. `serialized` is
  // the same mutation as bytes where somebody has them already, otherwise empty.
  Status append(const Mutation& mutation, std::span<LogTable* const> tables, BytesView serialized = {});
  // False: what was appended may be acknowledged at once; else durable() says when.
  bool must_wait() const { return options_.sync != CommitLogSync::kPeriodic || lagging_; }
  // Completes when all that was appended until now is on the disk (periodic mode: when syncs do not lag any more).
  Task<Status> durable();
  // Whether the first `records` of all that were appended() are on the disk, or nobody waits for that (periodic mode).
  bool has_acknowledged(uint64_t records) const {
    return options_.sync == CommitLogSync::kPeriodic || records <= durable_;
  }
  // Syncs now what was appended until now.
  Task<Status> sync_records();
  // The markers, too. Nothing is appended meanwhile.
  Task<Status> sync();
  // Behind the last record.
  CommitLogPosition position() const;
  // The records between two positions as an interval in each segment that is there, and one in the last segment. Between two
  // segments of this shard are those of other shards, and Cassandra knows one log only.
  std::vector<std::pair<CommitLogPosition, CommitLogPosition>> intervals(const CommitLogPosition& from,
                                                                         const CommitLogPosition& to) const;

  // The table has flushed everything up to a position.
  void mark_clean(LogTable& table, const CommitLogPosition& upper);
  // The table is gone: its records do not matter any more.
  void forget(LogTable& table);

  // A segment of this shard from before the start, with records of a table up to a position. Removed when clean.
  void adopt(int64_t id, const std::string& path, uint64_t bytes);
  void mark_dirty(int64_t id, LogTable& table, uint32_t position);
  // An adopted segment has records that cannot be read: in place of its removal it is renamed to `….log.damaged`.
  void keep_damaged(const std::string& path);
  // Removes adopted segments that nothing needs. After the last mark_dirty().
  void remove_clean();

  // Stops background work. Nothing is appended afterwards.
  Task<void> stop();

  // The lowest id of a segment that is there.
  int64_t oldest_id() const;

  uint64_t total_bytes() const;
  uint64_t segment_count() const { return segments_.size(); }
  uint64_t pending() const { return waiters_.size(); }
  uint64_t completed() const { return appended_; }

 private:
  struct Segment;
  using SegmentPtr = std::shared_ptr<Segment>;
  struct Waiter {
    uint64_t target;
    Promise<Status>* done;
  };
  // One section to be synced.
  struct Section {
    SegmentPtr segment;
    uint32_t marker;
    uint32_t end;
  };

  template <class Write>
  Status append_record(const Mutation& mutation, std::span<LogTable* const> tables, size_t size, Write write);
  int64_t next_id();
  Result<SegmentPtr> make_segment();
  Status roll();
  void prepare();
  void request_sync();
  void schedule_sync();
  void start_sync();
  void sync_now();
  void sync_soon();
  bool is_awaited() const;
  Task<void> run_syncs();
  Task<Status> sync_sections(std::vector<Section> sections);
  std::vector<Section> cut_sections();
  void acknowledge(uint64_t target, const Status& status);
  void tell_of_slow_sync();
  Error fail(const Error& cause, std::string_view what);
  void abandon_active();
  void remove_if_clean(const SegmentPtr& segment);

  ShardRuntime& runtime_;
  CommitLogOptions options_;
  int64_t newest_id_ = 0;
  int64_t oldest_not_removed_ = std::numeric_limits<int64_t>::max();  // of segments that are clean, but stay
  std::deque<SegmentPtr> segments_;  // by id; the last one is active when it is not closed
  SegmentPtr active_;
  SegmentPtr prepared_;
  bool preparing_ = false;

  uint64_t appended_ = 0;  // records, also those of earlier segments
  uint64_t durable_ = 0;   // of them on the disk
  std::deque<Waiter> waiters_;
  bool sync_requested_ = false;  // a sync is scheduled or runs that will see new records
  bool sync_running_ = false;
  bool sync_again_ = false;
  bool lagging_ = false;
  bool replayed_ = false;  // remove_clean() was called
  TimerId sync_timer_ = 0;
  TimerId lag_timer_ = 0;
  int64_t last_sync_nanos_ = 0;
  int64_t unsynced_since_nanos_ = 0;  // when the first record came that no sync has taken yet
  Gate gate_;
  std::unique_ptr<Error> failure_;
  LogQuota failures_log_;
  LogQuota slow_syncs_log_{1};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // posted callbacks may outlive this
};

// Renames a segment that was not replayed whole, so that no start reads it again and nothing of it is lost.
Status set_damaged_aside(Disk& disk, const std::string& path);

}  // namespace cassandra_like
