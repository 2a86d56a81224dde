// One read of a client while it runs: the things that its parts share.
#pragma once

#include "coordinator/quorum/recent_latencies.h"
#include "coordinator/quorum/speculative_retry.h"
#include "coordinator/read/fetch.h"
#include "coordinator/read/repair_writes.h"
#include "coordinator/read/row_feeder.h"

namespace cassandra_like {

// A question asks for no more rows at once.
inline constexpr uint64_t kRowsAtOnce = 10'000;
// This node's own part of a range is read ahead so far.
inline constexpr size_t kLocalBytesOfRange = size_t{1} << 20;

// Facts of a table that its reads need.
struct ReadTable {
  TablePtr table;
  ColumnFilter columns;
  SpeculativeRetry speculative_retry, additional_write_policy;
  std::shared_ptr<TableRequests> requests;
  RecentLatencies reads, writes;
  int64_t speculate_micros = 0;         // of speculative_retry
  int64_t additional_write_micros = 0;  // of additional_write_policy
  int64_t computed_at = 0;
  double estimated_rows = 0;  // that this node has of it
  int64_t estimated_at = std::numeric_limits<int64_t>::min() / 2;
};

struct ReadOperation final : Abandonment::Listener {
  ReadOperation(FetchPool& p, const ReadCommand& c, Consistency level, RowSink& sink)
      : pool(p), command(c), consistency(level), cluster(p.context.cluster), feeder(c, sink) {
    if (c.abandonment != nullptr) c.abandonment->add(*this);
  }
  ~ReadOperation() { Abandonment::remove(*this); }

  Placement placement() const { return {*cluster->topology, *replicas}; }
  // Completes when the fetch is decided or the client is gone; outcome() tells which.
  Task<void> wait_for(const FetchRef& fetch) {
    waits_for = fetch;
    const bool is_wanted = check_wanted(command.abandonment).ok();
    return is_wanted ? fetch->decided() : Task<void>();
  }
  Status outcome() {
    const FetchRef fetch = std::exchange(waits_for, FetchRef());
    TRY(check_wanted(command.abandonment));
    if (pool.context.options.tracks_warnings) warnings.merge(fetch->warnings());
    return fetch->state() == QuorumState::kDone ? Status() : Status(fetch->error());
  }
  void abandoned() override {
    if (waits_for) waits_for->abandon();
  }

  bool repairs() const { return command.table->params.read_repair == "BLOCKING"; }

  FetchPool& pool;
  const ReadCommand& command;
  const Consistency consistency;
  const ClusterSnapshotPtr cluster;
  std::shared_ptr<const KeyspaceReplicas> replicas;
  std::shared_ptr<ReadTable> table;
  RowFeeder feeder;
  // The partition that is fed is not over when its reader ends.
  bool partition_goes_on = false;
  int64_t deadline = 0;
  TracePtr trace;
  ReadWarnings warnings;
  std::vector<std::shared_ptr<RepairWrites>> unfinished;  // the client waits for them
  uint64_t tombstones = 0;
  FetchRef waits_for;
};

// The client is told that a replica failed whose answer is none: `error` says why, and a line of the log names the replica.
Error corrupt_answer(ReadOperation& operation, const Fetch& fetch, EndpointIndex from, int received,
                     const Error& error);

// When answers were compared, and the replicas that differ have been asked again, the client is told of a timeout as if one
// answer had been missing (AbstractReadExecutor.awaitReadRepair, ReplicaFilteringProtection). Other errors stay.
Status told_of_differences(const ReadOperation& operation, const ReadPlan& plan, Status status);

// ---- Questions (coordinator/read/questions.cc)

// The conditions of the command that replicas are asked to apply.
enum class SentConditions : uint8_t {
  kAll,     // one replica answers
  kOnKeys,  // keys do not change
  kOnOne,   // and one more condition: coordinator/read/filtered_resolver.h
};
// For `part` of the operation's command, which may have other slices and another range. Keys are the caller's to set.
void prepare_request(const ReadOperation& operation, const ReadCommand& part, SentConditions conditions, Fetch& fetch);
// The one condition on values that kOnOne sends; null when the command has none.
const FilterExpression* sent_condition(const ReadCommand& command);
// The same question as `like`, for another part of what it asked for: to the same replicas, for data. key: of one partition.
FetchRef ask_same(ReadOperation& operation, const Fetch& like, const ReadCommand& part, SentConditions conditions,
                  std::optional<DecoratedKey> key);

}  // namespace cassandra_like
