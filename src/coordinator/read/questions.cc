// Commands as requests to replicas.
#include <algorithm>
#include <string_view>
#include <tuple>

#include "coordinator/quorum/request_errors.h"
#include "coordinator/read/read_operation.h"

namespace cassandra_like {
namespace {

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

// In the order of Cassandra's RestrictionSet: keys by position, then others by name. Replicas look at the conditions in this order, and one that a row
// does not satisfy hides the errors of those behind it.
bool precedes(const FilterExpression& a, const FilterExpression& b) {
  auto rank = [](const FilterExpression& e) {
    const ColumnKind kind = is_of_key(e) ? e.column->kind : ColumnKind::kRegular;
    return std::tuple(kind, e.column->position, std::string_view(e.column->name));
  };
  return rank(a) < rank(b);
}

}  // namespace

// That of an index, or else one on rows: fewer rows satisfy it than lie in partitions that satisfy one on static columns.
const FilterExpression* sent_condition(const ReadCommand& command) {
  if (command.index != nullptr && !is_of_key(command.filter[command.index_expression])) {
    return &command.filter[command.index_expression];
  }
  const FilterExpression* found = nullptr;
  for (const FilterExpression& condition : command.filter) {
    if (is_of_key(condition)) continue;
    if (condition.column->kind == ColumnKind::kRegular) return &condition;
    if (found == nullptr) found = &condition;
  }
  return found;
}

void prepare_request(const ReadOperation& operation, const ReadCommand& part, SentConditions conditions, Fetch& fetch) {
  const ReadCommand& command = operation.command;
  ReadRequest& request = fetch.request;
  request.command.table = command.table;
  request.command.now_seconds = command.now_seconds;
  request.command.keys.clear();
  request.command.range = part.range;
  request.command.slices = part.slices;
  request.command.wants_static = command.wants_static;
  request.command.wants_rows = part.wants_rows;
  request.command.reversed = command.reversed;
  request.command.filter.clear();
  bool leaves_out = false, has_indexed = false;
  if (!command.filter.empty()) {
    const FilterExpression* one = conditions == SentConditions::kOnOne ? sent_condition(command) : nullptr;
    for (const FilterExpression& condition : command.filter) {
      const bool goes = conditions == SentConditions::kAll || is_of_key(condition) || &condition == one;
      if (goes) request.command.filter.push_back(condition);
      leaves_out |= !goes || &condition == one;
      has_indexed |= goes && command.index != nullptr && &condition == &command.filter[command.index_expression];
    }
  }
  std::stable_sort(request.command.filter.begin(), request.command.filter.end(), precedes);
  request.needs_reconciliation = conditions != SentConditions::kAll && !command.filter.empty();
  // Within a partition, Cassandra's replicas miss the entries of an index on a static column.
  has_indexed =
      has_indexed && (part.range || command.filter[command.index_expression].column->kind != ColumnKind::kStatic);
  request.index = has_indexed ? command.index->id : Uuid();
  request.columns = operation.table->columns;
  request.is_names = !part.range && is_names(part);
  request.page.reset();
  request.limits = WireLimits();
  request.limits.rows = to_wire(std::min(command.limits.rows - operation.feeder.rows(), kRowsAtOnce));
  // A row that a replica counts may not be part of the answer.
  if (leaves_out || command.limits.per_partition == DataLimits::kNone) return;
  request.limits.rows_per_partition = to_wire(command.limits.per_partition);
  if (is_null(command.limits.continued_key)) return;
  request.limits.kind = WireLimits::Kind::kCqlPaging;
  request.limits.last_key.assign(command.limits.continued_key);
  request.limits.last_key_remaining =
      std::min(to_wire(command.limits.left_in_continued), request.limits.rows_per_partition);
}

FetchRef ask_same(ReadOperation& operation, const Fetch& like, const ReadCommand& part, SentConditions conditions,
                  std::optional<DecoratedKey> key) {
  FetchRef fetch = operation.pool.take();
  prepare_request(operation, part, conditions, *fetch);
  if (key) {
    fetch->key.assign(key->key);
    fetch->request.command.keys = {DecoratedKey{key->token, fetch->key}};
    fetch->request.command.range.reset();
  }
  ReadPlan plan = like.plan();
  plan.contacts = std::max(plan.contacts, like.contacted().size());
  Fetch::Options options;
  options.deadline = operation.deadline;
  options.trace = operation.trace;
  options.tracks_warnings = operation.pool.context.options.tracks_warnings;
  if (!key) options.local_bytes = kLocalBytesOfRange;
  fetch->start(operation.cluster, std::move(plan), options);
  return fetch;
}

Status told_of_differences(const ReadOperation& operation, const ReadPlan& plan, Status status) {
  if (status.ok() || status.error().code() != ErrorCode::kReadTimeout) return status;
  return read_timeout_error({operation.consistency, plan.block_for - 1, plan.block_for}, true);
}

Error corrupt_answer(ReadOperation& operation, const Fetch& fetch, EndpointIndex from, int received,
                     const Error& error) {
  operation.pool.complain(operation.cluster->address(from), error.message());
  const ReadPlan& plan = fetch.plan();
  return read_failure_error({plan.consistency, received, plan.block_for}, received > 0,
                            {{from, RequestFailureReason::kUnknown}}, *operation.cluster->topology->ring());
}

}  // namespace cassandra_like
