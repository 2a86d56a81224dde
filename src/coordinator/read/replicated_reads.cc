// Chooses the replicas that a read asks, and brings their answers to the client.
#include "coordinator/read/replicated_reads.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "coordinator/quorum/range_plan.h"
#include "coordinator/read/filtered_resolver.h"
#include "coordinator/read/resolver.h"

namespace cassandra_like {

namespace {

// Keys of one statement that are read at once.
constexpr size_t kKeysAtOnce = 64;
// Parts of the ring that a shard asks at once (cassandra.max_concurrent_range_requests: ten for each core).
constexpr int kPartsAtOnce = 10;
// All the parts that are asked at once should bring no more.
constexpr size_t kBytesAtOnce = size_t{16} << 20;

}  // namespace

ReplicatedReads::ReplicatedReads(RequestContext& context) : context_(context), pool_(context) {
  context.replica.schema().add_listener([this](const SchemaDiff& diff) {
    tables_.clear();
    for (const Uuid& id : diff.changed_tables) {
      if (diff.schema->table(id) == nullptr) by_id_.erase(id);
    }
  });
}

// ---- Tables

namespace {

SpeculativeRetry retry_policy(const std::string& text) {
  Result<SpeculativeRetry> parsed = SpeculativeRetry::parse(text);
  return parsed.ok() ? *parsed : SpeculativeRetry();
}

}  // namespace

// Latencies stay when the table's definition changes. Thresholds are computed anew as often as a read may take
// (CassandraDaemon.SPECULATION_THRESHOLD_UPDATER).
const std::shared_ptr<ReadTable>& ReplicatedReads::table_of(const TablePtr& table) {
  std::shared_ptr<ReadTable>& known = tables_[table.get()];
  const int64_t now = context_.now();
  if (known != nullptr) {
    if (now - known->computed_at >= context_.options.read_timeout.count()) compute_thresholds(*known, now);
    return known;
  }
  auto made = std::make_shared<ReadTable>();
  made->table = table;
  // Statements may name fewer, but a replica leaves out a cell that nobody asked for when the row's liveness is newer, although
  // that may have expired: the row would be hidden. A repair of fewer columns would show readers a part of a write.
  made->columns = ColumnFilter::all(*table);
  made->speculative_retry = retry_policy(table->params.speculative_retry);
  made->additional_write_policy = retry_policy(table->params.additional_write_policy);
  made->speculate_micros = context_.options.read_timeout.count() / 2000;
  made->additional_write_micros = context_.options.write_timeout.count() / 2000;
  made->requests = context_.requests_of(table->id);
  std::shared_ptr<ReadTable>& former = by_id_[table->id];
  if (former != nullptr) {
    made->reads = former->reads;
    made->writes = former->writes;
  }
  compute_thresholds(*made, now);
  former = known = std::move(made);
  return known;
}

void ReplicatedReads::compute_thresholds(ReadTable& table, int64_t now) const {
  table.computed_at = now;
  const Histogram reads = table.reads.update(table.requests->read_micros, now);
  const Histogram writes = table.writes.update(table.requests->write_micros, now);
  table.speculate_micros = table.speculative_retry.threshold_micros(reads, table.speculate_micros);
  table.additional_write_micros = table.additional_write_policy.threshold_micros(writes, table.additional_write_micros);
}

// ---- Questions

namespace {

// service.reads.thresholds.CoordinatorWarnings
void tell_warnings(ReadOperation& operation, std::vector<std::string>* warnings) {
  for (std::string& text : operation.warnings.texts(operation.command)) {
    if (auto more = operation.pool.warning_log.take(operation.pool.context.now())) LOG_WARN("{}{}", text, *more);
    if (warnings != nullptr) warnings->push_back(text + " with " + loggable_tokens(operation.command));
  }
}

std::string mismatch_text(const DecoratedKey& key) {
  return fmt::format("Digest mismatch: Mismatch for key DecoratedKey({}, {})", key.token, to_hex(key.key));
}

}  // namespace

void ReplicatedReads::renew_deadline(ReadOperation& operation) const {
  const CoordinatorOptions& options = context_.options;
  operation.deadline =
      context_.now() + (operation.command.range ? options.range_timeout : options.read_timeout).count();
}

namespace {

SentConditions conditions_for(const ReadPlan& plan) {
  return plan.block_for <= 1 && plan.contacts <= 1 ? SentConditions::kAll : SentConditions::kOnOne;
}

}  // namespace

Result<ReadPlan> ReplicatedReads::plan_key(ReadOperation& operation, Token token) {
  const bool always = operation.table->speculative_retry.kind() == SpeculativeRetry::Kind::kAlways &&
                      operation.consistency != Consistency::kEachQuorum;
  const auto order = order_of(operation);
  return plan_read(operation.placement(), token, operation.consistency, order, always);
}

FetchRef ReplicatedReads::begin_key(ReadOperation& operation, ReadPlan plan, const ReadCommand& part,
                                    DecoratedKey key) {
  const ReadTable& table = *operation.table;
  FetchRef fetch = pool_.take();
  prepare_request(operation, part, conditions_for(plan), *fetch);
  fetch->key.assign(key.key);
  fetch->request.command.keys = {DecoratedKey{key.token, fetch->key}};
  Fetch::Options options;
  options.kind = Fetch::Kind::kDigests;
  options.deadline = operation.deadline;
  options.trace = operation.trace;
  options.tracks_warnings = context_.options.tracks_warnings;
  options.speculation = speculation_of(plan, table.speculative_retry);
  const auto after =
      speculate_after_micros(options.speculation, table.speculate_micros, context_.options.read_timeout.count() / 1000);
  options.requests = table.requests;
  if (options.speculation == Speculation::kAtOnce) {
    ++context_.statistics.speculative_retries;
    ++table.requests->speculative_retries;
  }
  if (after) options.speculate_at = context_.now() + *after * 1000;
  fetch->start(operation.cluster, std::move(plan), std::move(options));
  return fetch;
}

FetchRef ReplicatedReads::begin_part(ReadOperation& operation, RangePlan plan) {
  FetchRef fetch = pool_.take();
  const SentConditions conditions = conditions_for(plan.replicas);
  prepare_request(operation, operation.command, conditions, *fetch);
  fetch->request.command.range = std::move(plan.range);
  Fetch::Options options;
  options.deadline = operation.deadline;
  options.trace = operation.trace;
  options.tracks_warnings = context_.options.tracks_warnings;
  const bool may_differ = conditions == SentConditions::kOnOne && sent_condition(operation.command) != nullptr;
  if (!may_differ) options.local_bytes = kLocalBytesOfRange;
  fetch->start(operation.cluster, std::move(plan.replicas), options);
  return fetch;
}

// ---- Single keys

Task<Result<ReadStatistics>> ReplicatedReads::run(const ReadCommand* command, Consistency consistency, RowSink* sink,
                                                  TracePtr trace, std::vector<std::string>* warnings) {
  ReadOperation operation(pool_, *command, consistency, *sink);
  operation.trace = std::move(trace);
  operation.replicas = context_.replicas_of(command->table->keyspace);
  if (operation.replicas == nullptr) co_return unavailable_error(consistency, 1, 0);
  operation.table = table_of(command->table);
  renew_deadline(operation);
  Status status;
  if (command->range) {
    Task<Status> reading = read_range(&operation);
    status = co_await reading;
  } else {
    Task<Status> reading = command->keys.size() == 1 ? read_key(&operation) : read_keys(&operation);
    status = co_await reading;
  }
  if (!operation.warnings.empty()) tell_warnings(operation, warnings);
  if (!status.ok()) co_return std::move(status.error());
  ReadStatistics statistics;
  statistics.rows = operation.feeder.rows();
  statistics.tombstones = operation.tombstones;
  statistics.stopped = operation.feeder.stopped();
  co_return statistics;
}

Task<Status> ReplicatedReads::read_key(ReadOperation* operation) {
  const DecoratedKey key = operation->command.keys[0];
  Result<ReadPlan> plan = plan_key(*operation, key.token);
  if (!plan.ok()) co_return std::move(plan.error());
  Task<Status> finishing = finish_key(operation, key, begin_key(*operation, std::move(*plan), operation->command, key));
  Status status = co_await finishing;
  if (!status.ok() || operation->unfinished.empty()) co_return status;
  Task<Status> repairing = finish_repairs(operation);
  status = co_await repairing;
  co_return status;
}

// All are planned before one is asked for.
Task<Status> ReplicatedReads::read_keys(ReadOperation* operation) {
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
    CO_TRY(check_wanted(command.abandonment));
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
Result<std::optional<Bytes>> ReplicatedReads::deliver(ReadOperation& operation, Fetch& fetch) {
  ReplicaData& data = fetch.data()[0];
  RowFeeder& feeder = operation.feeder;
  std::optional<ResponseReader> response;
  PartitionReader* partition = nullptr;
  if (data.buffer == nullptr) {
    response.emplace(fetch.request, data.partitions());
    ASSIGN_OR_RETURN(partition, response->next());
  } else if (data.buffer->has_partition()) {
    partition = &data.buffer->take();
  }
  if (partition == nullptr) {
    feeder.end();
    return std::optional<Bytes>();
  }
  TRY(feeder.begin(*partition));
  uint64_t rows = 0;
  std::optional<Bytes> end;
  while (true) {
    ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition->next());
    if (unfiltered == nullptr) break;
    ASSIGN_OR_RETURN(const RowFeeder::Step step, feeder.take(*unfiltered));
    if (step != RowFeeder::Step::kContinue) {
      end.reset();
      break;
    }
    if (!unfiltered->is_row || !unfiltered->row.has_live_data(operation.command.now_seconds)) continue;
    // The answer ends here.
    if (++rows == fetch.request.limits.rows) end = Bytes(unfiltered->row.clustering.comparable);
  }
  if (!end || end->empty()) {
    feeder.end();
    return std::optional<Bytes>();
  }
  feeder.change_reader();
  return end;
}

Task<Status> ReplicatedReads::finish_key(ReadOperation* operation, DecoratedKey key, FetchRef fetch) {
  ReadCommand rest;
  while (true) {
    Task<void> decided = operation->wait_for(fetch);
    co_await decided;
    CO_TRY(operation->outcome());
    operation->tombstones += fetch->tombstones();
    Result<bool> match = fetch->answers_match();
    if (!match.ok() || !*match) {
      if (operation->trace != nullptr) operation->trace->event(mismatch_text(key));
      Task<Status> reading = read_differences(operation, std::move(fetch));
      CO_TRY(co_await reading);  // a partition that it did not end is gone, with its static row
      operation->feeder.end();
      co_return Status();
    }
    Result<std::optional<Bytes>> end = deliver(*operation, *fetch);
    if (!end.ok()) {
      const int others = static_cast<int>(fetch->contacted().size()) - 1;
      co_return corrupt_answer(*operation, *fetch, fetch->data()[0].endpoint, others, end.error());
    }
    if (!*end || operation->feeder.stopped()) co_return Status();
    CO_TRY(check_wanted(operation->command.abandonment));
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
Task<Status> ReplicatedReads::read_differences(ReadOperation* operation, FetchRef digests) {
  if (operation->repairs()) ++context_.statistics.read_repairs_blocking;
  FetchRef fetch = pool_.take();
  fetch->request = digests->request;
  fetch->key = digests->key;
  fetch->request.command.keys[0].key = fetch->key;
  ReadPlan plan = digests->plan();
  plan.contacts = digests->contacted().size();
  for (ReplicaData& data : digests->data()) fetch->adopt(std::move(data));
  digests->data().clear();
  const ReadTable& table = *operation->table;
  Fetch::Options options;
  options.deadline = operation->deadline;
  options.trace = operation->trace;
  options.tracks_warnings = context_.options.tracks_warnings;
  const bool speculates = operation->consistency != Consistency::kEachQuorum && plan.block_for > 1;
  options.speculation = speculates ? Speculation::kLater : Speculation::kNever;
  const auto after =
      speculate_after_micros(options.speculation, table.speculate_micros, context_.options.read_timeout.count() / 1000);
  if (after) options.speculate_at = context_.now() + *after * 1000;
  fetch->start(operation->cluster, std::move(plan), options);
  Task<void> decided = operation->wait_for(fetch);
  co_await decided;
  if (fetch->state() != QuorumState::kDone) {
    co_return told_of_differences(*operation, fetch->plan(), operation->outcome());
  }
  Task<Status> finishing = finish_part(operation, std::move(fetch));
  Status status = co_await finishing;
  co_return status;
}

// Data of all that were asked.
Task<Status> ReplicatedReads::finish_part(ReadOperation* operation, FetchRef fetch) {
  Task<void> decided = operation->wait_for(fetch);
  co_await decided;
  CO_TRY(operation->outcome());
  operation->tombstones += fetch->tombstones();
  const bool may_differ =
      conditions_for(fetch->plan()) == SentConditions::kOnOne && sent_condition(operation->command) != nullptr;
  Task<Status> resolving =
      may_differ ? resolve_filtered(operation, std::move(fetch)) : resolve(operation, std::move(fetch));
  Status status = co_await resolving;
  co_return status;
}

Task<Status> ReplicatedReads::finish_repairs(ReadOperation* operation) {
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

namespace {

size_t bytes_of(std::span<const ReplicaData> answers) {
  size_t bytes = 0;
  for (const ReplicaData& answer : answers) bytes += answer.buffer ? answer.buffer->bytes() : answer.message.size();
  return bytes;
}

}  // namespace

// By all SSTables of this node (DataLimits.CQLLimits.estimateTotalResults). Computed as seldom as thresholds.
Task<void> ReplicatedReads::estimate_rows(std::shared_ptr<ReadTable> known) {
  if (context_.now() - known->estimated_at < context_.options.read_timeout.count()) co_return;
  known->estimated_at = context_.now();
  Task<std::vector<TableStatistics>> asking = context_.replica.table_statistics(known->table->id);
  const std::vector<TableStatistics> of_shards = co_await asking;
  Histogram cells;
  for (const TableStatistics& of_shard : of_shards) cells.merge(of_shard.cells_per_partition);
  const size_t columns = known->table->regular_columns.size();
  known->estimated_rows = 0;
  if (columns == 0) co_return;
  known->estimated_rows = std::floor(cells.mean()) / static_cast<double>(columns) * static_cast<double>(cells.count());
}

namespace {

// RangeCommands.estimateResultsPerRange
double rows_per_part(const ReadOperation& operation) {
  const size_t tokens = std::max<size_t>(operation.cluster->endpoint(operation.cluster->local()).tokens.size(), 1);
  const int factor = std::max(operation.replicas->strategy.replication_factor(), 1);
  return operation.table->estimated_rows / static_cast<double>(tokens) / factor;
}

}  // namespace

// Parts of the ring in token order, several at once (RangeCommandIterator).
Task<Status> ReplicatedReads::read_range(ReadOperation* operation) {
  const ReadCommand& command = operation->command;
  if (operation->trace != nullptr) operation->trace->event("Computing ranges to query");
  const auto order = order_of(*operation);
  RangePlans plans(*command.range, operation->placement(), operation->consistency, order);
  const int parts = static_cast<int>(plans.parts());
  if (parts > 1) {
    Task<void> estimating = estimate_rows(operation->table);
    co_await estimating;
  }
  int at_once = RangeConcurrency::first(rows_per_part(*operation), command.limits.rows, parts, kPartsAtOnce);
  int asked = 0;
  size_t largest = 1;  // answer
  std::deque<FetchRef> under_way;
  while (!operation->feeder.stopped()) {
    CO_TRY(check_wanted(command.abandonment));
    if (under_way.empty()) {
      if (asked > 0) {
        const int most = static_cast<int>(std::min<size_t>(kPartsAtOnce, 1 + kBytesAtOnce / largest));
        at_once = RangeConcurrency::next(operation->feeder.rows(), command.limits.rows, asked, parts, most);
      }
      for (const int before = asked; asked < before + at_once;) {
        Result<std::optional<RangePlan>> plan = plans.next();
        if (!plan.ok()) co_return std::move(plan.error());
        if (!plan->has_value()) break;
        asked += (*plan)->vnodes;
        under_way.push_back(begin_part(*operation, std::move(**plan)));
      }
      if (under_way.empty()) break;
    }
    FetchRef fetch = std::move(under_way.front());
    under_way.pop_front();
    Task<void> decided = operation->wait_for(fetch);
    co_await decided;
    CO_TRY(operation->outcome());
    largest = std::max(largest, bytes_of(fetch->data()));
    Task<Status> finishing = finish_part(operation, std::move(fetch));
    Status status = co_await finishing;
    if (!status.ok()) co_return status;
    Task<Status> repairing = finish_repairs(operation);
    status = co_await repairing;
    if (!status.ok()) co_return status;
    if (command.rows_of_deadline != DataLimits::kNone) renew_deadline(*operation);
  }
  co_return Status();
}

}  // namespace cassandra_like
