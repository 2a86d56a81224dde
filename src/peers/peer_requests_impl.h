// The handlers of one shard, by kind: peer_requests.cc (the frame of all, small verbs), peer_writes.cc, peer_hints.cc,
// peer_reads.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/log_quota.h"
#include "messaging/read_command_codec.h"
#include "messaging/wire/mutation_codec.h"
#include "peers/mutation_check.h"
#include "peers/peer_requests.h"
#include "peers/schema_wait.h"

namespace cassandra_like {

class PeerRequestsImpl final : public PeerRequests, public std::enable_shared_from_this<PeerRequestsImpl> {
 public:
  PeerRequestsImpl(Messenger& messenger, ShardRuntime& runtime, Coordinator& coordinator, Hints* hints,
                   PeerRequestsOptions options);
  // Once, after its making.
  void handle_verbs();

  const PeerRequestsStatistics& statistics() const override { return statistics_; }
  void stop() override { schema_wait_.stop(); }

 private:
  // Decodes a request and begins it. nullopt: it names a table or column that is not known here. The message's views are
  // valid during the call: a Task that is not ready owns what it needs.
  using Attempt = std::optional<Task<VerbResult>> (PeerRequestsImpl::*)(InboundMessage&);
  struct Reading;

  void serve(Verb verb, Attempt attempt);
  Task<VerbResult> begin(InboundMessage& message, Attempt attempt);
  static Task<VerbResult> begin_later(std::shared_ptr<PeerRequestsImpl> self, InboundMessage message, Attempt attempt);

  // --- Writes
  std::optional<Task<VerbResult>> mutation(InboundMessage& message);
  std::optional<Task<VerbResult>> counter_mutation(InboundMessage& message);
  std::optional<Task<VerbResult>> truncate(InboundMessage& message);
  std::optional<Task<VerbResult>> batch_store(InboundMessage& message);
  std::optional<Task<VerbResult>> batch_remove(InboundMessage& message);
  void pass_on(const InboundMessage& message);
  Task<VerbResult> finish_write(Task<Status> task, const InboundMessage& message);
  static Task<VerbResult> finish_later(std::shared_ptr<PeerRequestsImpl> self, Task<Status> task,
                                       InetAddressAndPort from, Verb verb);
  static Task<Status> trace_answer(Task<Status> task, TracePtr trace, InetAddressAndPort to);
  static Task<VerbResult> finish_truncate(std::shared_ptr<PeerRequestsImpl> self, TablePtr table,
                                          InetAddressAndPort from);
  static Task<VerbResult> finish_removal(std::shared_ptr<PeerRequestsImpl> self, Uuid id, InetAddressAndPort from);
  VerbResult written(const Status& status, const InetAddressAndPort& from, Verb verb);

  // --- Hints
  std::optional<Task<VerbResult>> hint(InboundMessage& message);
  bool is_in_ring(const Uuid& host_id);
  static Task<VerbResult> apply_hint(std::shared_ptr<PeerRequestsImpl> self, InboundMessage message,
                                     int64_t created_millis, size_t mutation_size);
  Task<VerbResult> keep_hint(std::vector<Uuid> host_ids, const HintMessage& hint, const Mutation& mutation,
                             const InboundMessage& message);
  Task<Result<TruncationRecords>> truncations();

  // --- Reads
  std::optional<Task<VerbResult>> read(InboundMessage& message);
  static Task<VerbResult> finish_read(std::shared_ptr<PeerRequestsImpl> self, std::unique_ptr<Reading> reading,
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

}  // namespace cassandra_like
