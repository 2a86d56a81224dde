// The requests of other nodes to this one as a replica, a leader of counters and a keeper of batchlogs and hints: each verb is
// decoded, done by the Replica or the Coordinator of the shard that it arrived on, and answered (the verb handlers of db,
// batchlog, hints, net).
//
//   MUTATION_REQ, READ_REPAIR_REQ, COUNTER_MUTATION_REQ, READ_REQ, RANGE_REQ, TRUNCATE_REQ, HINT_REQ, BATCH_STORE_REQ,
//   BATCH_REMOVE_REQ, PING_REQ, REPLICATION_DONE_REQ
//
// The messenger answers every other verb with a failure and a line that names verb and peer.
//
// A table or column that is not known here may be on its way: the request waits for the schema until half of its time has
// passed, and no longer than this node's own timeout of the verb, then fails with INCOMPATIBLE_SCHEMA. So many bytes may wait, no more. A request whose time has passed is not
// answered. A body that is malformed is refused, with a line that names the peer; the connection stays.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/log_quota.h"
#include "coordinator/coordinator.h"
#include "hints/hints.h"
#include "messaging/link/messenger.h"
#include "messaging/read_command_codec.h"
#include "messaging/wire/mutation_codec.h"
#include "peers/mutation_check.h"
#include "peers/schema_wait.h"

namespace cassandra_like {

struct PeerRequestsOptions {
  // cassandra.yaml's keys: requests for tokens that this node is no replica of.
  bool log_out_of_token_range = true;
  bool reject_out_of_token_range = false;
  // An answer with more bytes fails with READ_SIZE. At most internode_max_message_size less 64 KiB.
  size_t max_answer_bytes = (size_t{128} << 20) - (64 << 10);
  // Thresholds of this node as a replica: who asks for warnings is told. 0: none.
  uint64_t tombstone_warn_threshold = 1000, tombstone_failure_threshold = 100'000;
  size_t max_mutation_bytes = size_t{16} << 20;  // max_mutation_size
  // Requests that wait for the schema, on each shard.
  size_t max_waiting = 1024;
  size_t max_waiting_bytes = size_t{16} << 20;
  // A request names a table or column that is not known here: somebody may ask for the schema.
  std::function<void()> on_unknown_schema;
};

struct PeerRequestsStatistics {
  uint64_t writes = 0, reads = 0, hints = 0;
  uint64_t forwarded = 0;                                       // mutations passed on to other nodes
  uint64_t out_of_range_writes = 0, out_of_range_reads = 0;     // outOfRangeTokenWrites, outOfRangeTokenReads
  uint64_t waited_for_schema = 0, incompatible_schema = 0;      // requests
  uint64_t malformed = 0;                                       // bodies
  uint64_t tombstone_failures = 0, expired = 0, too_large = 0;  // reads
};

// The handlers of one shard, by kind: peer_requests.cc (the frame of all, small verbs), peer_writes.cc, peer_hints.cc,
// peer_reads.cc.
class PeerRequests final : public std::enable_shared_from_this<PeerRequests> {
 public:
  PeerRequests(Messenger& messenger, ShardRuntime& runtime, Coordinator& coordinator, Hints* hints,
               PeerRequestsOptions options);
  // Once, after its making; handle_peer_requests() does both.
  void handle_verbs();

  const PeerRequestsStatistics& statistics() const { return statistics_; }
  // Requests that wait for the schema fail now. Before the messenger closes, which waits for them.
  void stop() { schema_wait_.stop(); }

 private:
  // Decodes a request and begins it. nullopt: it names a table or column that is not known here. The message's views are
  // valid during the call: a Task that is not ready owns what it needs.
  using Attempt = std::optional<Task<VerbResult>> (PeerRequests::*)(InboundMessage&);
  struct Reading;

  void serve(Verb verb, Attempt attempt);
  Task<VerbResult> begin(InboundMessage& message, Attempt attempt);
  static Task<VerbResult> begin_later(std::shared_ptr<PeerRequests> self, InboundMessage message, Attempt attempt);

  // --- Writes
  std::optional<Task<VerbResult>> mutation(InboundMessage& message);
  std::optional<Task<VerbResult>> counter_mutation(InboundMessage& message);
  std::optional<Task<VerbResult>> truncate(InboundMessage& message);
  std::optional<Task<VerbResult>> batch_store(InboundMessage& message);
  std::optional<Task<VerbResult>> batch_remove(InboundMessage& message);
  void pass_on(const InboundMessage& message);
  Task<VerbResult> finish_write(Task<Status> task, const InboundMessage& message);
  static Task<VerbResult> finish_later(std::shared_ptr<PeerRequests> self, Task<Status> task, InetAddressAndPort from,
                                       Verb verb);
  static Task<Status> trace_answer(Task<Status> task, TracePtr trace, InetAddressAndPort to);
  static Task<VerbResult> finish_truncate(std::shared_ptr<PeerRequests> self, TablePtr table, InetAddressAndPort from);
  static Task<VerbResult> finish_removal(std::shared_ptr<PeerRequests> self, Uuid id, InetAddressAndPort from);
  VerbResult written(const Status& status, const InetAddressAndPort& from, Verb verb);

  // --- Hints
  std::optional<Task<VerbResult>> hint(InboundMessage& message);
  bool is_in_ring(const Uuid& host_id);
  static Task<VerbResult> apply_hint(std::shared_ptr<PeerRequests> self, InboundMessage message, int64_t created_millis,
                                     size_t mutation_size);
  Task<VerbResult> keep_hint(std::vector<Uuid> host_ids, const HintMessage& hint, const Mutation& mutation,
                             const InboundMessage& message);
  Task<Result<TruncationRecords>> truncations();

  // --- Reads
  std::optional<Task<VerbResult>> read(InboundMessage& message);
  static Task<VerbResult> finish_read(std::shared_ptr<PeerRequests> self, std::unique_ptr<Reading> reading,
                                      Task<Result<ReadStatistics>> task);
  VerbResult answer(Reading& reading, const Result<ReadStatistics>& result);
  VerbResult aborted(Reading& reading);

  // --- Small verbs
  Task<VerbResult> ping(const InboundMessage& message);

  // A body cannot be read: nullopt when another schema could.
  std::optional<Task<VerbResult>> not_decoded(const InboundMessage& message, const Error& error);
  VerbResult refuse(const InboundMessage& message, std::string_view why);
  // Whether this node is a replica of the token, or will be.
  bool is_replica(const TableMetadata& table, Token token, bool with_pending);
  // nullptr: not known.
  const KeyspaceReplicas* replicas_of(const std::string& keyspace);
  // Counts and logs a request for a token of other nodes. True: it is to be rejected.
  bool is_rejected(const InetAddressAndPort& from, const char* what, const TableMetadata& table, Token token,
                   uint64_t& counter);
  std::optional<std::string> quota(LogQuota& quota) { return quota.take(runtime_.clock.monotonic_nanos()); }
  const Schema& schema() { return *replica_.schema().current(); }
  void forget_replicas();

  Messenger& messenger_;
  ShardRuntime& runtime_;
  Coordinator& coordinator_;
  Replica& replica_;
  Hints* const hints_;
  const PeerRequestsOptions options_;
  PeerRequestsStatistics statistics_;
  SchemaWait schema_wait_;

  // Made once: looking up allocates nothing.
  TableById find_table_;
  FindTable find_shared_table_;
  Arena arena_;  // of the mutation that is being decoded

  // For the current topology and schema, filled when first asked for.
  ReplicaMaps replica_maps_;
  absl::flat_hash_map<std::string, std::shared_ptr<const KeyspaceReplicas>> replicas_;
  absl::flat_hash_set<InetAddressAndPort> endpoints_;

  LogQuota bad_body_log_{10}, failure_log_{10}, range_log_{1, 1'000'000'000};
};

// On that shard, before the messenger listens. All of them outlive the messenger's last handler. Without hints, what is to be
// kept for other nodes fails.
std::shared_ptr<PeerRequests> handle_peer_requests(Messenger& messenger, ShardRuntime& runtime,
                                                   Coordinator& coordinator, Hints* hints = nullptr,
                                                   PeerRequestsOptions options = {});

}  // namespace cassandra_like
