// Which replicas a read asks, and for what.
#include "coordinator/read/replicated_reads.h"

#include <algorithm>
#include <deque>

#include "coordinator/quorum/range_plan.h"
#include "coordinator/quorum/speculative_retry.h"
#include "coordinator/read/read_operation.h"
#include "coordinator/read/resolver.h"

namespace cassandra_like {
namespace {

// Keys of one statement that are read at once.
constexpr size_t kKeysAtOnce = 64;
// Parts of the ring that a shard asks at once (cassandra.max_concurrent_range_requests: ten for each core).
constexpr int kPartsAtOnce = 10;
// Speculation thresholds are computed anew so often, in nanoseconds.
constexpr int64_t kThresholdInterval = 5'000'000'000;

// Facts of a table that its reads need.
struct ReadTable {
  TablePtr table;
  ColumnFilter columns;
  SpeculativeRetry speculative_retry, additional_write_policy;
  Histogram latencies_micros;
  int64_t speculate_micros = 0;         // of the table's speculative_retry
  int64_t additional_write_micros = 0;  // of its additional_write_policy
  int64_t computed_at = 0;
};

bool is_single_row(const TableMetadata& table, const Slice& slice) {
  const size_t size = slice.start.size();
  if (size == 0 || slice.end.size() != size || slice.start.back() != kBeforeTerminator ||
      slice.end.back() != kAfterTerminator || slice.start.compare(0, size - 1, slice.end, 0, size - 1) != 0) {
    return false;
  }
  Arena arena(64);
  ClusteringPrefix row;
  return split_comparable(table, slice.start, arena, &row) && row.values.size() == table.clustering.size();
}

// Cassandra's ClusteringIndexNamesFilter.
bool is_names(const ReadCommand& command) {
  const TableMetadata& table = *command.table;
  if (table.clustering.empty()) return true;
  return command.wants_rows && !command.slices.empty() &&
         std::all_of(command.slices.begin(), command.slices.end(),
                     [&](const Slice& slice) { return is_single_row(table, slice); });
}

uint32_t to_wire(uint64_t limit) {
  return static_cast<uint32_t>(std::min<uint64_t>(limit, uint64_t{WireLimits::kNoLimit}));
}

bool is_of_key(const FilterExpression& condition) {
  return condition.column->kind == ColumnKind::kPartitionKey || condition.column->kind == ColumnKind::kClustering;
}

class ReplicatedReadsImpl final : public ReplicatedReads {
 public:
  explicit ReplicatedReadsImpl(RequestContext& context) : context_(context), pool_(context) {
    context.replica.schema().add_listener([this](const SchemaDiff&) { forget_tables(); });
  }

  Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink) override;

 private:
  ReadTable& table_of(const TablePtr& table);
  void forget_tables();
  Task<Result<ReadStatistics>> run(std::unique_ptr<ReadOperation> operation);
  Task<Status> read_keys(ReadOperation* operation);
  Task<Status> read_range(ReadOperation* operation);
  Task<Status> finish_key(ReadOperation* operation, DecoratedKey key, FetchRef fetch);
  Task<Status> read_differences(ReadOperation* operation, FetchRef digests);
  Task<Status> finish_repairs(ReadOperation* operation);
  Result<std::optional<Bytes>> deliver(ReadOperation& operation, Fetch& fetch);
  FetchRef begin_key(ReadOperation& operation, ReadPlan plan, const ReadCommand& part, DecoratedKey key);
  FetchRef begin_part(ReadOperation& operation, RangePlan plan);
  void prepare(ReadOperation& operation, const ReadCommand& part, bool one_answers, Fetch& fetch);
  Result<ReadPlan> plan_key(ReadOperation& operation, Token token);
  void renew_deadline(ReadOperation& operation) const;
  auto order_of(const ReadOperation& operation) {
    return [this, cluster = operation.cluster.get()](std::span<EndpointIndex> endpoints) {
      context_.proximity.sort(*cluster->topology, cluster->addresses, endpoints);
    };
  }

  RequestContext& context_;
  FetchPool pool_;
  absl::flat_hash_map<const TableMetadata*, std::unique_ptr<ReadTable>> tables_;
};

// ---- Tables

// Latencies of a table stay when its definition changes.
void ReplicatedReadsImpl::forget_tables() { tables_.clear(); }

ReadTable& ReplicatedReadsImpl::table_of(const TablePtr& table) {
  std::unique_ptr<ReadTable>& known = tables_[table.get()];
  const int64_t now = context_.now();
  if (known == nullptr) {
    known = std::make_unique<ReadTable>();
    known->table = table;
    known->columns = ColumnFilter::all(*table);
    auto policy = [](const std::string& text) {
      Result<SpeculativeRetry> parsed = SpeculativeRetry::parse(text);
      return parsed.ok() ? *parsed : SpeculativeRetry();
    };
    known->speculative_retry = policy(table->params.speculative_retry);
    known->additional_write_policy = policy(table->params.additional_write_policy);
    known->speculate_micros = context_.options.read_timeout.count() / 2000;
    known->additional_write_micros = context_.options.write_timeout.count() / 2000;
  } else if (now - known->computed_at < kThresholdInterval) {
    return *known;
  }
  known->computed_at = now;
  const Histogram none;
  known->speculate_micros = known->speculative_retry.threshold_micros(known->latencies_micros, known->speculate_micros);
  known->additional_write_micros =
      known->additional_write_policy.threshold_micros(none, known->additional_write_micros);
  return *known;
}

// ---- Questions

void ReplicatedReadsImpl::renew_deadline(ReadOperation& operation) const {
  const CoordinatorOptions& options = context_.options;
  operation.deadline =
      context_.now() + (operation.command.range ? options.range_timeout : options.read_timeout).count();
}

// Several replicas are not asked to apply conditions on values: a row that one of them finds may have changed at another,
// which would not tell; and a row that satisfies two conditions may satisfy them at no replica alone. Keys do not change.
void ReplicatedReadsImpl::prepare(ReadOperation& operation, const ReadCommand& part, bool one_answers, Fetch& fetch) {
  const ReadCommand& command = operation.command;
  ReadRequest& request = fetch.request;
  request.command.table = command.table;
  request.command.now_seconds = command.now_seconds;
  request.command.keys.clear();
  request.command.range = part.range;
  request.command.slices = part.slices;
  request.command.wants_static = command.wants_static;
  request.command.wants_rows = command.wants_rows;
  request.command.reversed = command.reversed;
  request.command.filter.clear();
  bool leaves_out = false;
  for (const FilterExpression& condition : command.filter) {
    const bool goes = one_answers || is_of_key(condition);
    if (goes) request.command.filter.push_back(condition);
    leaves_out |= !goes;
  }
  request.needs_reconciliation = !one_answers && !command.filter.empty();
  request.index = command.index != nullptr && !leaves_out ? command.index->id : Uuid();
  request.columns = table_of(command.table).columns;
  request.is_names = !command.range && is_names(part);
  request.page.reset();
  request.limits = WireLimits();
  request.limits.rows = to_wire(std::min(command.limits.rows - operation.feeder.rows(), kRowsAtOnce));
  if (leaves_out || command.limits.per_partition == DataLimits::kNone) return;
  request.limits.rows_per_partition = to_wire(command.limits.per_partition);
  if (is_null(command.limits.continued_key)) return;
  request.limits.kind = WireLimits::Kind::kCqlPaging;
  request.limits.last_key.assign(command.limits.continued_key);
  request.limits.last_key_remaining =
      std::min(to_wire(command.limits.left_in_continued), request.limits.rows_per_partition);
}

Result<ReadPlan> ReplicatedReadsImpl::plan_key(ReadOperation& operation, Token token) {
  const bool always = table_of(operation.command.table).speculative_retry.kind() == SpeculativeRetry::Kind::kAlways &&
                      operation.consistency != Consistency::kEachQuorum;
  const auto order = order_of(operation);
  return plan_read(operation.placement(), token, operation.consistency, order, always);
}

FetchRef ReplicatedReadsImpl::begin_key(ReadOperation& operation, ReadPlan plan, const ReadCommand& part,
                                        DecoratedKey key) {
  const ReadTable& table = table_of(operation.command.table);
  FetchRef fetch = pool_.take();
  prepare(operation, part, plan.block_for <= 1 && plan.contacts <= 1, *fetch);
  fetch->key.assign(key.key);
  fetch->request.command.keys = {DecoratedKey{key.token, fetch->key}};
  fetch->request.command.range.reset();
  Fetch::Options options;
  options.kind = Fetch::Kind::kDigests;
  options.deadline = operation.deadline;
  options.speculation = speculation_of(plan, table.speculative_retry);
  const auto after =
      speculate_after_micros(options.speculation, table.speculate_micros, context_.options.read_timeout.count() / 1000);
  if (options.speculation == Speculation::kAtOnce) ++context_.statistics.speculative_retries;
  if (after) options.speculate_at = context_.now() + *after * 1000;
  fetch->start(operation.cluster, std::move(plan), options);
  return fetch;
}

FetchRef ReplicatedReadsImpl::begin_part(ReadOperation& operation, RangePlan plan) {
  FetchRef fetch = pool_.take();
  prepare(operation, operation.command, plan.replicas.block_for <= 1 && plan.replicas.contacts <= 1, *fetch);
  fetch->request.command.range = std::move(plan.range);
  Fetch::Options options;
  options.deadline = operation.deadline;
  options.local_bytes = kLocalBytesOfRange;
  fetch->start(operation.cluster, std::move(plan.replicas), options);
  return fetch;
}

// ---- Single keys

Task<Result<ReadStatistics>> ReplicatedReadsImpl::read(const ReadCommand& command, Consistency consistency,
                                                       RowSink& sink) {
  return run(std::make_unique<ReadOperation>(pool_, command, consistency, sink));
}

Task<Result<ReadStatistics>> ReplicatedReadsImpl::run(std::unique_ptr<ReadOperation> operation) {
  const ReadCommand& command = operation->command;
  operation->replicas = context_.replicas_of(command.table->keyspace);
  if (operation->replicas == nullptr) co_return unavailable_error(operation->consistency, 1, 0);
  ReadTable& table = table_of(command.table);
  operation->additional_write_micros = table.additional_write_micros;
  renew_deadline(*operation);
  const int64_t began = context_.now();
  Task<Status> reading = command.range ? read_range(operation.get()) : read_keys(operation.get());
  Status status = co_await reading;
  if (!command.range) {
    table_of(command.table).latencies_micros.record(static_cast<uint64_t>((context_.now() - began) / 1000));
  }
  if (!status.ok()) co_return std::move(status.error());
  ReadStatistics statistics;
  statistics.rows = operation->feeder.rows();
  statistics.tombstones = operation->tombstones;
  statistics.stopped = operation->feeder.stopped();
  co_return statistics;
}

// All are planned before one is asked for.
Task<Status> ReplicatedReadsImpl::read_keys(ReadOperation* operation) {
  const ReadCommand& command = operation->command;
  absl::InlinedVector<ReadPlan, 1> plans;
  for (const DecoratedKey& key : command.keys) {
    Result<ReadPlan> plan = plan_key(*operation, key.token);
    if (!plan.ok()) co_return std::move(plan.error());
    plans.push_back(std::move(*plan));
  }
  std::deque<FetchRef> under_way;
  size_t begun = 0;
  for (size_t i = 0; i < command.keys.size() && !operation->feeder.stopped(); ++i) {
    for (; begun < command.keys.size() && begun < i + kKeysAtOnce; ++begun) {
      under_way.push_back(begin_key(*operation, std::move(plans[begun]), command, command.keys[begun]));
    }
    FetchRef fetch = std::move(under_way.front());
    under_way.pop_front();
    Task<Status> finishing = finish_key(operation, command.keys[i], std::move(fetch));
    Status status = co_await finishing;
    if (!status.ok()) co_return status;
  }
  Task<Status> finishing = finish_repairs(operation);
  Status status = co_await finishing;
  co_return status;
}

// To the client, when the answers are the same: the rows of one of them. Returns the place of its end when there may be more.
Result<std::optional<Bytes>> ReplicatedReadsImpl::deliver(ReadOperation& operation, Fetch& fetch) {
  ResolveSource source(fetch.request, std::move(fetch.data()[0]));
  ASSIGN_OR_RETURN(const bool has_partition, source.advance());
  RowFeeder& feeder = operation.feeder;
  if (!has_partition || feeder.stopped()) {
    feeder.end();
    return std::optional<Bytes>();
  }
  TRY(feeder.begin(source));
  while (true) {
    Result<const Unfiltered*> next = source.next();
    if (!next.ok() && !source.wants_rows()) return std::move(next.error());
    if (!next.ok()) {
      feeder.change_reader();
      return std::optional<Bytes>(source.last_place());
    }
    if (*next == nullptr) break;
    ASSIGN_OR_RETURN(const RowFeeder::Step step, feeder.take(**next));
    if (step != RowFeeder::Step::kContinue) break;
  }
  feeder.end();
  return std::optional<Bytes>();
}

Task<Status> ReplicatedReadsImpl::finish_key(ReadOperation* operation, DecoratedKey key, FetchRef fetch) {
  ReadCommand rest;
  while (true) {
    Task<void> decided = fetch->decided();
    co_await decided;
    if (fetch->state() != QuorumState::kDone) co_return fetch->error();
    operation->tombstones += fetch->tombstones();
    Result<bool> match = fetch->answers_match();
    if (!match.ok() || !*match) {
      Task<Status> reading = read_differences(operation, std::move(fetch));
      Status status = co_await reading;
      co_return status;
    }
    Result<std::optional<Bytes>> end = deliver(*operation, *fetch);
    if (!end.ok()) co_return std::move(end.error());
    if (!*end || operation->feeder.stopped()) co_return Status();
    // A limit of the question has cut it: the rest is asked of all of them again.
    rest = fetch->request.command;
    std::optional<ReadCommand> next = continue_behind(rest, key, **end);
    if (!next) break;
    if (operation->command.rows_of_deadline != DataLimits::kNone) renew_deadline(*operation);
    Result<ReadPlan> plan = plan_key(*operation, key.token);
    if (!plan.ok()) co_return std::move(plan.error());
    fetch = begin_key(*operation, std::move(*plan), *next, key);
  }
  operation->feeder.end();
  co_return Status();
}

// The digests were not the same: all replicas that were asked are asked for data, unless theirs is here
// (repair.AbstractReadRepair.startRepair).
Task<Status> ReplicatedReadsImpl::read_differences(ReadOperation* operation, FetchRef digests) {
  if (operation->repairs()) ++context_.statistics.read_repairs_blocking;
  FetchRef fetch = pool_.take();
  fetch->request = digests->request;
  fetch->key = digests->key;
  fetch->request.command.keys[0].key = fetch->key;
  ReadPlan plan = digests->plan();
  plan.contacts = digests->contacted().size();
  for (ReplicaData& data : digests->data()) fetch->adopt(std::move(data));
  digests->data().clear();
  const ReadTable& table = table_of(operation->command.table);
  Fetch::Options options;
  options.deadline = operation->deadline;
  const bool speculates = operation->consistency != Consistency::kEachQuorum && plan.block_for > 1;
  options.speculation = speculates ? Speculation::kLater : Speculation::kNever;
  const auto after =
      speculate_after_micros(options.speculation, table.speculate_micros, context_.options.read_timeout.count() / 1000);
  if (after) options.speculate_at = context_.now() + *after * 1000;
  fetch->start(operation->cluster, std::move(plan), options);
  Task<void> decided = fetch->decided();
  co_await decided;
  if (fetch->state() != QuorumState::kDone) co_return fetch->error();
  Task<Status> resolving = resolve(operation, std::move(fetch));
  Status status = co_await resolving;
  co_return status;
}

Task<Status> ReplicatedReadsImpl::finish_repairs(ReadOperation* operation) {
  Status status;
  for (std::shared_ptr<RepairWrites>& repair : operation->unfinished) {
    Task<Status> finishing = RepairWrites::finished(repair);
    Status finished = co_await finishing;
    if (status.ok()) status = std::move(finished);
  }
  operation->unfinished.clear();
  co_return status;
}

// ---- Ranges

// Parts of the ring in token order, several at once.
Task<Status> ReplicatedReadsImpl::read_range(ReadOperation* operation) {
  const ReadCommand& command = operation->command;
  const auto order = order_of(*operation);
  RangePlans plans(*command.range, operation->placement(), operation->consistency, order);
  const int parts = static_cast<int>(plans.parts());
  int at_once = RangeConcurrency::first(0, command.limits.rows, parts, kPartsAtOnce), asked = 0;
  std::deque<FetchRef> under_way;
  for (bool has_more = true; (has_more || !under_way.empty()) && !operation->feeder.stopped();) {
    while (has_more && static_cast<int>(under_way.size()) < at_once) {
      Result<std::optional<RangePlan>> plan = plans.next();
      if (!plan.ok()) co_return std::move(plan.error());
      has_more = plan->has_value();
      if (!has_more) break;
      asked += (*plan)->vnodes;
      under_way.push_back(begin_part(*operation, std::move(**plan)));
    }
    if (under_way.empty()) break;
    FetchRef fetch = std::move(under_way.front());
    under_way.pop_front();
    Task<void> decided = fetch->decided();
    co_await decided;
    if (fetch->state() != QuorumState::kDone) co_return fetch->error();
    operation->tombstones += fetch->tombstones();
    Task<Status> resolving = resolve(operation, std::move(fetch));
    Status status = co_await resolving;
    if (!status.ok()) co_return status;
    Task<Status> finishing = finish_repairs(operation);
    status = co_await finishing;
    if (!status.ok()) co_return status;
    at_once = RangeConcurrency::next(operation->feeder.rows(), command.limits.rows, asked, parts, kPartsAtOnce);
    if (command.rows_of_deadline != DataLimits::kNone) renew_deadline(*operation);
  }
  co_return Status();
}

}  // namespace

std::unique_ptr<ReplicatedReads> ReplicatedReads::create(RequestContext& context) {
  return std::make_unique<ReplicatedReadsImpl>(context);
}

}  // namespace cassandra_like
