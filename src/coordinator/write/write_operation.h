// One write on its way to its replicas: a mutation, a counter's sums, or the record of a logged batch.
//
// Its client waits for the decision of its WriteQuorum, no longer than the timeout after the write began. The operation goes
// on afterwards: until each replica has answered or its request has timed out, and the hints for the others are kept. So
// it owns what it needs, and borrows nothing of its client.
//
// Operations come from a pool of their shard: a write allocates none. While its client waits, an operation is in a list by
// deadline, mostly in the order in which they came, and one timer is enough for each list.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/log_quota.h"
#include "coordinator/context/request_context.h"
#include "coordinator/quorum/write_quorum.h"
#include "model/serialized_mutation.h"

namespace cassandra_like {

class WriteOperation;

// The replicas that get a hint when they do not have the write.
enum class Hinting : uint8_t {
  kNone,
  kDown,           // those that are down when it begins: a counter's sums must not be hinted for one that may have them
  kDownAndFailed,  // and those that fail, or do not answer in time
};

// A logged batch whose mutations are under way. Shared by their operations.
class BatchInProgress {
 public:
  virtual ~BatchInProgress() = default;
  // A replica has this one of the mutations.
  virtual void acknowledged(size_t mutation) = 0;
};

// The operations whose clients wait, the next to time out first.
class WriteDeadlines {
 public:
  // The timeout is read for each operation: it may change.
  WriteDeadlines(ShardRuntime& runtime, const Duration& timeout) : runtime_(runtime), timeout_(timeout) {}
  ~WriteDeadlines();
  WriteDeadlines(const WriteDeadlines&) = delete;
  WriteDeadlines& operator=(const WriteDeadlines&) = delete;

  int64_t deadline_of(int64_t began) const { return began + timeout_.count(); }
  void add(WriteOperation& operation);
  void remove(WriteOperation& operation);

 private:
  void arm();
  void expire();

  ShardRuntime& runtime_;
  const Duration& timeout_;
  WriteOperation* first_ = nullptr;
  WriteOperation* last_ = nullptr;
  TimerId timer_ = 0;  // for the first, or for one that was decided since
  int64_t timer_deadline_ = 0;
};

// Things about a write that do not change. A batch's record has no mutation.
struct WriteDescription {
  WriteType type = WriteType::kSimple;
  Hinting hinting = Hinting::kNone;
  int64_t began = 0;  // of the monotonic clock
  SerializedMutation mutation;
  int32_t gc_grace_seconds = -1;  // the smallest of its tables; -1: not known yet
  std::shared_ptr<BatchInProgress> batch;
  size_t number_in_batch = 0;
  ClusterSnapshotPtr cluster;  // that of the plan; null: the current one
  TracePtr trace;
};

class WriteOperations {
 public:
  explicit WriteOperations(RequestContext& context);
  ~WriteOperations();

  // An operation that its starter holds: until result() is awaited, or leave(). nullptr: the node is stopping.
  WriteOperation* begin(WritePlan plan, WriteDescription description);

 private:
  friend class WriteOperation;

  RequestContext& context_;
  WriteDeadlines writes_, counter_writes_;
  std::vector<std::unique_ptr<WriteOperation>> all_;
  std::vector<WriteOperation*> idle_;
  LogQuota local_log_;
};

class WriteOperation final : ResponseHandler {
 public:
  explicit WriteOperation(WriteOperations& pool) : pool_(pool), context_(pool.context_) {}

  bool is_replica_local() const;
  // The error of this node, for which no replica would take it.
  Status refusal() const { return refused_ ? Status(*refused_) : Status(); }

  // --- Its steps. All events may decide it.
  // This node's own part.
  void apply(Task<Status> task);
  // The same of a counter: what it wrote goes to the other replicas.
  void apply_counter(Task<Result<SerializedMutation>> task);
  // Asks for hints for the replicas that are down. kOverloaded: too many hints wait, nothing more should be sent.
  Status hint_down();
  // To all live replicas but this node; those of another datacenter get it through one of them.
  void send(Verb verb, const SharedBytes& payload, int64_t deadline);

  // --- Its client
  // The decision, as the client is told of it. Completes when it is known; the client holds nothing of this afterwards.
  Task<Status> result();
  // Its client has gone.
  void leave() { release(); }

 private:
  friend class WriteOperations;
  friend class WriteDeadlines;

  void begin(WritePlan plan, WriteDescription description);
  // ResponseHandler
  void on_response(InboundMessage& response) override;
  void on_failure(const InetAddressAndPort& from, RequestFailureReason reason) override;

  static Task<void> carry(WriteOperation* self, Task<Status> task);
  static Task<void> carry_counter(WriteOperation* self, Task<Result<SerializedMutation>> task);
  static Task<void> carry_hint(WriteOperation* self, Task<Status> task, bool counts);
  static Task<Status> wait(WriteOperation* self);

  void applied(const Status& status);
  void sums_are(Result<SerializedMutation> sums);
  void acknowledged(EndpointIndex endpoint);
  void hinted();
  void decide();
  bool is_decided() const { return refused_ || quorum_->state() != QuorumState::kWaiting; }
  Status outcome() const;
  void time_out();

  void send_elsewhere(Verb verb, const SharedBytes& payload, const SendOptions& options);
  EndpointIndex local() const { return write_.cluster->local(); }
  // The number of the replica in the plan; the number of replicas when it is none.
  size_t number_of(const InetAddressAndPort& address) const;
  // The ids of the replicas that get a hint now: those of the numbers that are wanted, once each.
  template <class Wanted>
  std::vector<Uuid> hint_for(Wanted wanted);
  Task<Status> write_hint(std::vector<Uuid> nodes);
  Status keep_hint(std::vector<Uuid> nodes, bool counts);
  int32_t gc_grace_seconds();

  void hold() { ++holds_; }
  void release();

  WriteOperations& pool_;
  RequestContext& context_;
  WriteDescription write_;
  WritePlan plan_;
  std::optional<WriteQuorum> quorum_;
  std::optional<Error> refused_;  // by this node: no replica takes it
  uint64_t hints_ = 0;            // by the number of the replica: a hint was asked for
  uint32_t holds_ = 0;            // its client, and whoever will tell it of something
  // While its client waits.
  Promise<bool>* client_ = nullptr;
  WriteDeadlines* deadlines_ = nullptr;
  int64_t deadline_ = 0;
  WriteOperation* previous_ = nullptr;
  WriteOperation* next_ = nullptr;
};

}  // namespace cassandra_like
