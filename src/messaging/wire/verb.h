// The verbs of the internode protocol (net.Verb): one table, from which everything else about a verb comes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace cassandra_like {

// Only kP0 has a meaning on the wire: such messages travel on the urgent connection. The others order a queue.
enum class VerbPriority : uint8_t { kP0, kP1, kP2, kP3, kP4 };

// The configured timeout that a verb has (net.VerbTimeouts).
enum class VerbTimeout : uint8_t {
  kRpc,
  kWrite,
  kRead,
  kRange,
  kCounter,
  kTruncate,
  kRepair,
  kPing,
  kLong,               // the larger of kRpc and five minutes
  kRepairWithBackoff,  // kRepair, or kRpc when repairs retry
  kRepairValidation,   // kLong, or kRpc when Merkle trees are retried
  kNone,               // a response lives as long as its request
};

// clang-format off
// name, id, Cassandra's name, priority, timeout, whether it answers a request by its id, the verb that answers it
#define CASSANDRA_LIKE_VERBS(X) \
  X(kMutationReq, 0, "MUTATION_REQ", kP3, kWrite, false, kMutationRsp)                                                \
  X(kHintReq, 1, "HINT_REQ", kP4, kWrite, false, kHintRsp)                                                            \
  X(kReadRepairReq, 2, "READ_REPAIR_REQ", kP1, kWrite, false, kReadRepairRsp)                                         \
  X(kReadReq, 3, "READ_REQ", kP3, kRead, false, kReadRsp)                                                             \
  X(kRequestRsp, 4, "REQUEST_RSP", kP1, kRpc, true, kNoVerb)                                                          \
  X(kBatchStoreReq, 5, "BATCH_STORE_REQ", kP3, kWrite, false, kBatchStoreRsp)                                         \
  X(kBatchRemoveReq, 6, "BATCH_REMOVE_REQ", kP3, kWrite, false, kBatchRemoveRsp)                                      \
  X(kRangeReq, 9, "RANGE_REQ", kP3, kRange, false, kRangeRsp)                                                         \
  X(kTest1, 10, "_TEST_1", kP0, kWrite, false, kNoVerb)                                                               \
  X(kTest2, 11, "_TEST_2", kP1, kRpc, false, kNoVerb)                                                                 \
  X(kGossipDigestSyn, 14, "GOSSIP_DIGEST_SYN", kP0, kLong, false, kNoVerb)                                            \
  X(kGossipDigestAck, 15, "GOSSIP_DIGEST_ACK", kP0, kLong, false, kNoVerb)                                            \
  X(kGossipDigestAck2, 16, "GOSSIP_DIGEST_ACK2", kP0, kLong, false, kNoVerb)                                          \
  X(kSchemaPushReq, 18, "SCHEMA_PUSH_REQ", kP1, kRpc, false, kSchemaPushRsp)                                          \
  X(kTruncateReq, 19, "TRUNCATE_REQ", kP0, kTruncate, false, kTruncateRsp)                                            \
  X(kSchemaVersionReq, 20, "SCHEMA_VERSION_REQ", kP1, kRpc, false, kSchemaVersionRsp)                                 \
  X(kReplicationDoneReq, 22, "REPLICATION_DONE_REQ", kP0, kRpc, false, kReplicationDoneRsp)                           \
  X(kInternalRsp, 23, "INTERNAL_RSP", kP1, kRpc, true, kNoVerb)                                                       \
  X(kCounterMutationReq, 24, "COUNTER_MUTATION_REQ", kP2, kCounter, false, kCounterMutationRsp)                       \
  X(kSnapshotReq, 27, "SNAPSHOT_REQ", kP0, kRpc, false, kSnapshotRsp)                                                 \
  X(kSchemaPullReq, 28, "SCHEMA_PULL_REQ", kP1, kRpc, false, kSchemaPullRsp)                                          \
  X(kGossipShutdown, 29, "GOSSIP_SHUTDOWN", kP0, kRpc, false, kNoVerb)                                                \
  X(kTrace, 30, "_TRACE", kP1, kRpc, false, kNoVerb)                                                                  \
  X(kEchoReq, 31, "ECHO_REQ", kP0, kRpc, false, kEchoRsp)                                                             \
  X(kPaxosPrepareReq, 33, "PAXOS_PREPARE_REQ", kP2, kWrite, false, kPaxosPrepareRsp)                                  \
  X(kPaxosProposeReq, 34, "PAXOS_PROPOSE_REQ", kP2, kWrite, false, kPaxosProposeRsp)                                  \
  X(kPaxosCommitReq, 35, "PAXOS_COMMIT_REQ", kP2, kWrite, false, kPaxosCommitRsp)                                     \
  X(kPingReq, 37, "PING_REQ", kP1, kPing, false, kPingRsp)                                                            \
  X(kPaxos2CommitRemoteReq, 38, "PAXOS2_COMMIT_REMOTE_REQ", kP2, kWrite, false, kMutationRsp)                         \
  X(kPaxos2CommitRemoteRsp, 39, "PAXOS2_COMMIT_REMOTE_RSP", kP2, kWrite, true, kNoVerb)                               \
  X(kPaxos2PrepareReq, 40, "PAXOS2_PREPARE_REQ", kP2, kWrite, false, kPaxos2PrepareRsp)                               \
  X(kPaxos2PrepareRefreshReq, 41, "PAXOS2_PREPARE_REFRESH_REQ", kP2, kWrite, false, kPaxos2PrepareRefreshRsp)         \
  X(kPaxos2ProposeReq, 42, "PAXOS2_PROPOSE_REQ", kP2, kWrite, false, kPaxos2ProposeRsp)                               \
  X(kPaxos2CommitAndPrepareReq, 43, "PAXOS2_COMMIT_AND_PREPARE_REQ", kP2, kWrite, false, kPaxos2CommitAndPrepareRsp)  \
  X(kPaxos2RepairReq, 44, "PAXOS2_REPAIR_REQ", kP2, kWrite, false, kPaxos2RepairRsp)                                  \
  X(kPaxos2CleanupStartPrepareReq, 45, "PAXOS2_CLEANUP_START_PREPARE_REQ", kP2, kRepair, false,                       \
    kPaxos2CleanupStartPrepareRsp)                                                                                    \
  X(kPaxos2CleanupReq, 46, "PAXOS2_CLEANUP_REQ", kP2, kRepair, false, kPaxos2CleanupRsp)                              \
  X(kPaxos2CleanupFinishPrepareReq, 47, "PAXOS2_CLEANUP_FINISH_PREPARE_REQ", kP2, kRepair, false,                     \
    kPaxos2CleanupFinishPrepareRsp)                                                                                   \
  X(kPaxos2CleanupCompleteReq, 48, "PAXOS2_CLEANUP_COMPLETE_REQ", kP2, kRepair, false, kPaxos2CleanupCompleteRsp)     \
  X(kSample, 49, "_SAMPLE", kP1, kRpc, false, kNoVerb)                                                                \
  X(kPaxos2PrepareRsp, 50, "PAXOS2_PREPARE_RSP", kP2, kWrite, true, kNoVerb)                                          \
  X(kPaxos2PrepareRefreshRsp, 51, "PAXOS2_PREPARE_REFRESH_RSP", kP2, kWrite, true, kNoVerb)                           \
  X(kPaxos2ProposeRsp, 52, "PAXOS2_PROPOSE_RSP", kP2, kWrite, true, kNoVerb)                                          \
  X(kPaxos2CommitAndPrepareRsp, 53, "PAXOS2_COMMIT_AND_PREPARE_RSP", kP2, kWrite, true, kNoVerb)                      \
  X(kPaxos2RepairRsp, 54, "PAXOS2_REPAIR_RSP", kP2, kWrite, true, kNoVerb)                                            \
  X(kPaxos2CleanupStartPrepareRsp, 55, "PAXOS2_CLEANUP_START_PREPARE_RSP", kP2, kRepair, true, kNoVerb)               \
  X(kPaxos2CleanupRsp, 56, "PAXOS2_CLEANUP_RSP", kP2, kRepair, true, kNoVerb)                                         \
  X(kPaxos2CleanupRsp2, 57, "PAXOS2_CLEANUP_RSP2", kP2, kRepair, false, kNoVerb)                                      \
  X(kPaxos2CleanupFinishPrepareRsp, 58, "PAXOS2_CLEANUP_FINISH_PREPARE_RSP", kP2, kRepair, true, kNoVerb)             \
  X(kPaxos2CleanupCompleteRsp, 59, "PAXOS2_CLEANUP_COMPLETE_RSP", kP2, kRepair, true, kNoVerb)                        \
  X(kMutationRsp, 60, "MUTATION_RSP", kP1, kWrite, true, kNoVerb)                                                     \
  X(kHintRsp, 61, "HINT_RSP", kP1, kWrite, true, kNoVerb)                                                             \
  X(kReadRepairRsp, 62, "READ_REPAIR_RSP", kP1, kWrite, true, kNoVerb)                                                \
  X(kReadRsp, 63, "READ_RSP", kP2, kRead, true, kNoVerb)                                                              \
  X(kBatchStoreRsp, 65, "BATCH_STORE_RSP", kP1, kWrite, true, kNoVerb)                                                \
  X(kBatchRemoveRsp, 66, "BATCH_REMOVE_RSP", kP1, kWrite, true, kNoVerb)                                              \
  X(kRangeRsp, 69, "RANGE_RSP", kP2, kRange, true, kNoVerb)                                                           \
  X(kTruncateRsp, 79, "TRUNCATE_RSP", kP0, kTruncate, true, kNoVerb)                                                  \
  X(kSchemaVersionRsp, 80, "SCHEMA_VERSION_RSP", kP1, kRpc, true, kNoVerb)                                            \
  X(kReplicationDoneRsp, 82, "REPLICATION_DONE_RSP", kP0, kRpc, true, kNoVerb)                                        \
  X(kCounterMutationRsp, 84, "COUNTER_MUTATION_RSP", kP1, kCounter, true, kNoVerb)                                    \
  X(kSnapshotRsp, 87, "SNAPSHOT_RSP", kP0, kRpc, true, kNoVerb)                                                       \
  X(kSchemaPullRsp, 88, "SCHEMA_PULL_RSP", kP1, kRpc, true, kNoVerb)                                                  \
  X(kEchoRsp, 91, "ECHO_RSP", kP0, kRpc, true, kNoVerb)                                                               \
  X(kPaxosPrepareRsp, 93, "PAXOS_PREPARE_RSP", kP2, kWrite, true, kNoVerb)                                            \
  X(kPaxosProposeRsp, 94, "PAXOS_PROPOSE_RSP", kP2, kWrite, true, kNoVerb)                                            \
  X(kPaxosCommitRsp, 95, "PAXOS_COMMIT_RSP", kP2, kWrite, true, kNoVerb)                                              \
  X(kPingRsp, 97, "PING_RSP", kP1, kPing, true, kNoVerb)                                                              \
  X(kSchemaPushRsp, 98, "SCHEMA_PUSH_RSP", kP1, kRpc, true, kNoVerb)                                                  \
  X(kFailureRsp, 99, "FAILURE_RSP", kP0, kNone, true, kNoVerb)                                                        \
  X(kRepairRsp, 100, "REPAIR_RSP", kP1, kRepair, true, kNoVerb)                                                       \
  X(kValidationReq, 101, "VALIDATION_REQ", kP1, kRepairWithBackoff, false, kRepairRsp)                                \
  X(kValidationRsp, 102, "VALIDATION_RSP", kP1, kRepairValidation, false, kRepairRsp)                                 \
  X(kSyncReq, 103, "SYNC_REQ", kP1, kRepairWithBackoff, false, kRepairRsp)                                            \
  X(kSyncRsp, 104, "SYNC_RSP", kP1, kRepairWithBackoff, false, kRepairRsp)                                            \
  X(kPrepareMsg, 105, "PREPARE_MSG", kP1, kRepairWithBackoff, false, kRepairRsp)                                      \
  X(kSnapshotMsg, 106, "SNAPSHOT_MSG", kP1, kRepairWithBackoff, false, kRepairRsp)                                    \
  X(kCleanupMsg, 107, "CLEANUP_MSG", kP1, kRepairWithBackoff, false, kRepairRsp)                                      \
  X(kPrepareConsistentReq, 108, "PREPARE_CONSISTENT_REQ", kP1, kRepairWithBackoff, false, kRepairRsp)                 \
  X(kPrepareConsistentRsp, 109, "PREPARE_CONSISTENT_RSP", kP1, kRepairWithBackoff, false, kRepairRsp)                 \
  X(kFinalizeProposeMsg, 110, "FINALIZE_PROPOSE_MSG", kP1, kRepairWithBackoff, false, kRepairRsp)                     \
  X(kFinalizePromiseMsg, 111, "FINALIZE_PROMISE_MSG", kP1, kRepairWithBackoff, false, kRepairRsp)                     \
  X(kFinalizeCommitMsg, 112, "FINALIZE_COMMIT_MSG", kP1, kRepairWithBackoff, false, kRepairRsp)                       \
  X(kFailedSessionMsg, 113, "FAILED_SESSION_MSG", kP1, kRepairWithBackoff, false, kRepairRsp)                         \
  X(kStatusReq, 114, "STATUS_REQ", kP1, kRepair, false, kRepairRsp)                                                   \
  X(kStatusRsp, 115, "STATUS_RSP", kP1, kRepair, false, kRepairRsp)                                                   \
  X(kUnusedCustomVerb, 16383, "UNUSED_CUSTOM_VERB", kP1, kRpc, false, kNoVerb)

// clang-format on

enum class Verb : uint16_t {
#define CASSANDRA_LIKE_VERB_ENUM(name, id, ...) name = id,
  CASSANDRA_LIKE_VERBS(CASSANDRA_LIKE_VERB_ENUM)
#undef CASSANDRA_LIKE_VERB_ENUM
      kNoVerb = 0xFFFF,
};

struct VerbInfo {
  Verb verb = Verb::kNoVerb;
  const char* name = nullptr;
  VerbPriority priority = VerbPriority::kP0;
  VerbTimeout timeout = VerbTimeout::kNone;
  bool is_response = false;
  Verb response = Verb::kNoVerb;
};

// nullptr: no verb has this id (Cassandra: "Unknown verb id").
const VerbInfo* find_verb(uint64_t id);
// The verb has to be one.
const VerbInfo& info_of(Verb verb);
inline const char* verb_name(Verb verb) { return info_of(verb).name; }

// For counters of each verb: a dense number below kVerbCount, in the order of the ids.
#define CASSANDRA_LIKE_VERB_COUNT(...) +1
inline constexpr size_t kVerbCount = 0 CASSANDRA_LIKE_VERBS(CASSANDRA_LIKE_VERB_COUNT);
#undef CASSANDRA_LIKE_VERB_COUNT
size_t verb_index(Verb verb);
const VerbInfo& verb_at(size_t index);

// The node's timeouts in milliseconds; the defaults are Cassandra's.
struct VerbTimeouts {
  int64_t rpc = 10'000;
  int64_t write = 2'000;
  int64_t read = 5'000;
  int64_t range = 10'000;
  int64_t counter = 5'000;
  int64_t truncate = 60'000;
  int64_t repair = 120'000;
  int64_t ping = 10'000;
  bool repair_retries = false;
  bool merkle_tree_retries = false;

  // Not of kNone.
  int64_t of(VerbTimeout timeout) const;
  int64_t of(Verb verb) const { return of(info_of(verb).timeout); }
};

// The connections between two nodes (net.ConnectionType). The numbers are those of the handshake and of PING_REQ.
enum class ConnectionType : uint8_t { kLegacy = 0, kUrgent = 1, kSmall = 2, kLarge = 3, kStreaming = 4 };
const char* connection_type_name(ConnectionType type);  // URGENT_MESSAGES and so on

// A larger message, header and payload, travels on the large connection, whatever its priority
// (OutboundConnections.LARGE_MESSAGE_THRESHOLD).
inline constexpr size_t kLargeMessageThreshold = 64 * 1024 - 12;
inline ConnectionType connection_type_of(Verb verb, size_t message_size) {
  if (message_size > kLargeMessageThreshold) return ConnectionType::kLarge;
  return info_of(verb).priority == VerbPriority::kP0 ? ConnectionType::kUrgent : ConnectionType::kSmall;
}

}  // namespace cassandra_like
