// The batchlog (db.batchlog.BatchlogManager): a logged batch is kept in system.batches until all of it is applied, so
// that a batch that was interrupted in the middle is finished.
//
// A record's partition key is the batch's timeuuid, which tells when it was written; its mutations are Cassandra's
// serialized ones. One Batchlog a shard: it knows the batches that this shard's coordinator has begun and not finished, and
// those that other nodes have asked this shard to keep. Every kReplayInterval it replays those that are older than
// BatchlogOptions::timeout. So a round reads the records that it needs and no tombstones of all the others. A record lies
// with the shard that owns its key, whichever shard was asked; when it was removed through another shard, the round finds
// no record and forgets the batch. Records of an earlier life of the node are found by replay_all().
//
// Where there are other nodes, a replay goes to all replicas of each mutation (ReplicatedWrites::replay).
//
// A replay finishes only what is on the disk. Its node may fail while it sends the mutations, and a batch without a record would
// stay as far as it came.
//
// A replay leaves out mutations of tables that were truncated after the batch was written, of tables that are gone, and
// whole batches that are older than a table's gc_grace_seconds: their tombstones may have been purged. A batch that
// cannot be applied now stays for the next round.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/log_quota.h"
#include "coordinator/write/replicated_writes.h"
#include "messaging/verbs.h"
#include "model/serialized_mutation.h"
#include "runtime/async_mutex.h"
#include "runtime/runtime.h"
#include "schema/internal_table.h"
#include "schema/local_state.h"
#include "schema/schema_store.h"

namespace cassandra_like {

struct BatchlogOptions {
  // A batch that is younger is left alone, because it may be under way. Cassandra takes twice the write timeout.
  Duration timeout = std::chrono::seconds(4);
  // batchlog_replay_throttle. 0: no limit.
  uint64_t replay_bytes_per_second = 1024 * 1024;
};

class Batchlog final : public BatchRecords {
 public:
  static constexpr Duration kReplayInterval = std::chrono::seconds(10);

  // `local` has the tables of the system keyspace.
  Batchlog(ShardRuntime& runtime, Verbs& local, SchemaStore& schema, BatchlogOptions options);
  ~Batchlog();
  Batchlog(const Batchlog&) = delete;
  Batchlog& operator=(const Batchlog&) = delete;

  // batchlog_replay_throttle, of all nodes together. 0: no limit. A replay under way sees the change with its next pause.
  uint64_t replay_throttle() const { return options_.replay_bytes_per_second; }
  void set_replay_throttle(uint64_t bytes_per_second) { options_.replay_bytes_per_second = bytes_per_second; }
  // Replays go through these, which outlive it, when there are other nodes.
  void replay_through(ReplicatedWrites& writes) { writes_ = &writes; }

  Uuid next_id() override;
  // Writes the record. From here on the batch is finished by a later round, unless remove() comes before. The mutations
  // are borrowed until the call returns.
  Task<Status> store(const Uuid& id, std::span<const SerializedMutation> mutations) override;
  // The same for a batch of another node (BATCH_STORE_REQ): borrowed until the call returns. kInvalid when the id is no
  // timeuuid.
  Task<Status> store_for_peer(const Uuid& id, int64_t created_micros, std::span<const BytesView> mutations);
  // Call this when all of the batch is applied, or when its coordinator says so (BATCH_REMOVE_REQ).
  Task<Status> remove(Uuid id) override;

  // Finishes the batches of all shards that an earlier life of the node has left. At the start of the node, on one
  // shard, before clients are served, or when it has joined the ring; not throttled. A batch that cannot be finished now
  // stays for the next round.
  Task<void> replay_all();
  // BatchlogManager.forceBatchlogReplay: replays now what is due, throttled, and completes when that is done. A round that
  // is under way ends first. Batches that fail stay open. kInvalid when the rounds do not run.
  Task<Status> force_replay();
  // Begins the rounds.
  void start();
  // Ends them: completes when the round that is under way has stopped.
  Task<void> stop();

  uint64_t batches_replayed() const { return batches_replayed_; }

 private:
  void schedule_round();
  Task<void> round();
  Task<void> replay_due();
  Task<Status> replay_records(bool throttled);
  Task<void> replay_open();
  Task<Status> replay(const InternalRow* record);
  Task<Status> replay_page(std::span<const InternalRow> records);
  Task<Status> read_record(Uuid id, std::vector<InternalRow>* records);
  Task<Status> apply(const InternalRow* record, int64_t written_millis);
  Task<Result<TruncationRecords>> truncations();
  Task<void> pause_for(size_t bytes);
  PartitionUpdate record_of(const Uuid& id, std::span<const BytesView> mutations, Arena& arena);
  Task<Status> write_record(const Uuid& id, std::span<const BytesView> mutations);
  bool is_alone() const { return writes_ == nullptr || writes_->nodes() <= 1; }

  ShardRuntime& runtime_;
  Verbs& local_;
  SchemaStore& schema_;
  BatchlogOptions options_;
  ReplicatedWrites* writes_ = nullptr;  // null: this node is alone
  std::map<Uuid, int64_t> open_;        // batches begun or kept, not finished: since when, by the monotonic clock
  bool has_unread_records_ = false;     // replay_all() could not read all of them
  bool running_ = false;
  AsyncMutex replaying_;  // rounds and forced replays come one after the other
  TimerId next_round_ = 0;
  Gate gate_;
  uint64_t batches_replayed_ = 0;
  size_t replayed_bytes_ = 0;  // since the last pause
  LogQuota unfinished_log_, left_out_log_;
};

}  // namespace cassandra_like
