#include "cql/modification/value_guard.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"

namespace cassandra_like {

namespace {

constexpr GuardedNumber kColumnValueSize{
    "column_value_size", "Value of column '{0}' has size {1}, this exceeds the warning threshold of {2}.",
    "Value of column '{0}' has size {1}, this exceeds the failure threshold of {2}."};
constexpr GuardedNumber kCollectionSize{
    "collection_size", "Detected collection {0} of size {1}, this exceeds the warning threshold of {2}.",
    "Detected collection {0} of size {1}, this exceeds the failure threshold of {2}."};
constexpr GuardedNumber kItems{"items_per_collection",
                               "Detected collection {0} with {1} items, this exceeds the warning threshold of {2}.",
                               "Detected collection {0} with {1} items, this exceeds the failure threshold of {2}."};
constexpr GuardedNumber kMaximumTimestamp{
    "maximum_timestamp",
    "The modification to table {0} has a timestamp {1} after the maximum allowable warning threshold {2}",
    "The modification to table {0} has a timestamp {1} after the maximum allowable failure threshold {2}",
    "Timestamps too far in the future can lead to data that can't be easily overwritten"};
constexpr GuardedNumber kMinimumTimestamp{
    "minimum_timestamp",
    "The modification to table {0} has a timestamp {1} before the minimum allowable warning threshold {2}",
    "The modification to table {0} has a timestamp {1} before the minimum allowable failure threshold {2}",
    "Timestamps too far in the past can cause writes can be unexpectedly lost", true};

// Cell.dataSize: the time, the TTL and the time of deletion; the value and the path come on top.
constexpr size_t kCellBytes = 8 + 4 + 8;

using Threshold = std::optional<int64_t>;
Threshold of_number(int threshold) { return threshold > 0 ? Threshold(threshold) : std::nullopt; }
Threshold of_size(std::optional<uint64_t> threshold) {
  return threshold ? Threshold(static_cast<int64_t>(*threshold)) : std::nullopt;
}
// A threshold that is so far from now.
Threshold of_distance(std::optional<uint64_t> distance, int64_t now, int sign) {
  // No distance is so long that the sum overflows.
  constexpr uint64_t kLongest = uint64_t{1} << 61;
  return distance ? Threshold(now + sign * static_cast<int64_t>(std::min(*distance, kLongest))) : std::nullopt;
}

class ValueGuard {
 public:
  ValueGuard(const Column& column, ExecutionContext& context)
      : column_(column), context_(context), guardrails_(context.config.guardrails) {}

  Status value(size_t bytes) const {
    return guard(kColumnValueSize, bytes, of_size(guardrails_.column_value_size_warn_threshold),
                 of_size(guardrails_.column_value_size_fail_threshold));
  }
  Status items(size_t count) const {
    return guard(kItems, count, of_number(guardrails_.items_per_collection_warn_threshold),
                 of_number(guardrails_.items_per_collection_fail_threshold));
  }
  Status collection(size_t bytes) const {
    return guard(kCollectionSize, bytes, of_size(guardrails_.collection_size_warn_threshold),
                 of_size(guardrails_.collection_size_fail_threshold));
  }

 private:
  Status guard(const GuardedNumber& number, size_t value, Threshold warn, Threshold fail) const {
    return guard_number(number, static_cast<int64_t>(value), warn, fail, column_.name, context_);
  }

  const Column& column_;
  ExecutionContext& context_;
  const Guardrails& guardrails_;
};

// How many elements a frozen collection has; a multi-cell one has a cell for each.
size_t count_elements(const Column& column, std::span<const Cell> cells) {
  if (column.is_complex()) return cells.size();
  Reader value(cells[0].value);
  return static_cast<size_t>(std::max(0, value.be<int32_t>()));  // a count below zero means none
}

// In Cassandra's order: the number of elements, each of them, their sum.
Status guard_cells(const Operation& operation, std::span<const Cell> cells, ExecutionContext& context) {
  if (cells.empty()) return {};
  const Column& column = *operation.column();
  const ValueGuard guard(column, context);
  const bool is_collection = operation.writes_collection() && !cells[0].is_tombstone();
  if (is_collection) TRY(guard.items(count_elements(column, cells)));
  size_t bytes = 0;
  for (const Cell& cell : cells) {
    if (!cell.is_tombstone()) TRY(guard.value(cell.value.size()));
    if (column.is_complex()) TRY(guard.value(cell.path.size()));
    bytes += kCellBytes + cell.value.size() + (column.is_complex() ? cell.path.size() : 0);
  }
  return is_collection ? guard.collection(bytes) : Status();
}

}  // namespace

Status guard_timestamp(const std::string& table, int64_t micros, ExecutionContext& context) {
  const Guardrails& g = context.config.guardrails;
  const int64_t now = context.runtime.clock.wall_micros();
  TRY(guard_number(kMaximumTimestamp, micros, of_distance(g.maximum_timestamp_warn_threshold, now, 1),
                   of_distance(g.maximum_timestamp_fail_threshold, now, 1), table, context));
  return guard_number(kMinimumTimestamp, micros, of_distance(g.minimum_timestamp_warn_threshold, now, -1),
                      of_distance(g.minimum_timestamp_fail_threshold, now, -1), table, context);
}

Status guard_disk_usage(std::span<const Mutation> mutations, ExecutionContext& context) {
  if (!is_ordinary(context.client)) return {};
  const TopologyPtr topology = context.coordinator.replica().topology().current();
  DiskUsage worst = DiskUsage::kNotAvailable;
  for (const Mutation& mutation : mutations) {
    const KeyspacePtr keyspace = context.coordinator.schema().current()->keyspace(mutation.keyspace);
    if (keyspace == nullptr) continue;
    const auto strategy = ReplicationStrategy::make(keyspace->replication);
    if (!strategy.ok()) continue;
    for (EndpointIndex replica : strategy->replicas(*topology->ring(), mutation.key.token)) {
      worst = std::max(worst, topology->disk_usage(replica));
    }
  }
  const int64_t now = context.runtime.clock.monotonic_nanos();
  RequestLog& log = context.services.request_log();
  const std::string name = "Guardrail replica_disk_usage violated: ";
  if (worst == DiskUsage::kFull) {
    const std::string text = name + "Write request failed because disk usage exceeds failure threshold";
    if (log.full_disks.take(now)) {
      LOG_ERROR("{}", text);
      context.warnings.push_back(text);
    }
    return invalid(text);
  }
  if (worst == DiskUsage::kStuffed && log.stuffed_disks.take(now)) {
    std::string text = name + "Replica disk usage exceeds warning threshold";
    LOG_WARN("{}", text);
    context.warnings.push_back(std::move(text));
  }
  return {};
}

Status apply_guarded(const Operation& operation, RowBuilder& row) {
  ExecutionContext& context = row.context;
  if (const char* read = operation.list_read(); read != nullptr) {
    const bool enabled = context.config.guardrails.read_before_write_list_operations_enabled;
    TRY(guard_feature({"read_before_write_list_operations", read}, enabled, false, context));
  }
  const size_t before = row.cells().size();
  TRY(operation.apply(row));
  if (operation.column()->type->is_counter()) return {};
  return guard_cells(operation, row.cells().subspan(before), context);
}

}  // namespace cassandra_like
