#include "coordinator/coordinator.h"

#include <fmt/format.h>

#include "absl/container/flat_hash_map.h"
#include "base/log.h"
#include "model/values.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

// MessagingService.VERSION_50, the version of the mutations in system.batches.
constexpr int32_t kMessagingVersion = 13;

Error unavailable(Consistency consistency, int required, int alive, const std::string& where = "") {
  ErrorInfo info;
  info.code = ErrorCode::kUnavailable;
  info.message = "Cannot achieve consistency level " + std::string(consistency_name(consistency)) + where;
  info.consistency = static_cast<uint16_t>(consistency);
  info.required = required;
  info.received = alive;
  return Error(std::move(info));
}

// The client's error for a read that its replica gave up (ReadFailureException). The replica logs the details.
Error read_failure(Consistency consistency, int required, const LocalNode& node) {
  constexpr uint16_t kReadTooManyTombstones = 1;  // RequestFailureReason
  ErrorInfo info;
  info.code = ErrorCode::kReadFailure;
  info.message =
      fmt::format("Operation failed - received 0 responses and 1 failures: READ_TOO_MANY_TOMBSTONES from /{}:{}",
                  node.broadcast_address, node.storage_port);
  info.consistency = static_cast<uint16_t>(consistency);
  info.required = required;
  info.failures = 1;
  if (auto address = parse_inet(node.broadcast_address); address.ok()) {
    info.failure_reasons.emplace_back(std::move(*address), kReadTooManyTombstones);
  }
  return Error(std::move(info));
}

Error read_timeout(Consistency consistency, int required) {
  ErrorInfo info;
  info.code = ErrorCode::kReadTimeout;
  info.message = "Operation timed out - received only 0 responses.";
  info.consistency = static_cast<uint16_t>(consistency);
  info.required = required;
  return Error(std::move(info));
}

// A serial read of a partition fetches at a quorum, and says so when there is none.
Consistency consistency_to_fetch(const ReadCommand& command, Consistency consistency) {
  if (command.range || !is_serial(consistency)) return consistency;
  return consistency == Consistency::kSerial ? Consistency::kQuorum : Consistency::kLocalQuorum;
}

class CoordinatorImpl : public Coordinator {
 public:
  CoordinatorImpl(ShardRuntime& runtime, Replica& replica, CoordinatorOptions options)
      : runtime_(runtime), replica_(replica), options_(options) {
    // Tables of an old snapshot must not be found by their address.
    replica_.schema().add_listener([this](const SchemaDiff& diff) { forget_tables(*diff.schema); });
  }

  Task<Status> write(std::span<const Mutation> mutations, Consistency consistency, WriteType type) override;
  Task<Status> write_counters(std::span<const Mutation> mutations, Consistency consistency) override;
  Task<Result<ReadStatistics>> read(const ReadCommand& command, Consistency consistency, RowSink& sink) override;
  Task<Status> truncate(TablePtr table) override { return replica_.truncate(std::move(table)); }
  Task<Status> replay_batchlog() override;

  Replica& replica() override { return replica_; }
  SchemaStore& schema() override { return replica_.schema(); }
  const CoordinatorStatistics& statistics() const override { return statistics_; }
  CoordinatorStatistics& statistics() override { return statistics_; }
  const TableLatencies* latencies(const Uuid& table) const override {
    auto it = latencies_.find(table);
    return it == latencies_.end() ? nullptr : it->second.get();
  }

 private:
  // Facts of a table while a schema snapshot is current.
  struct TableState {
    ReplicaCounts counts;
    TableLatencies* latencies;
  };
  const TableState& state(const TableMetadata& table);
  void forget_tables(const Schema& schema);
  Status check_available(const TableMetadata& table, Consistency consistency);
  Status check_writable(std::span<const Mutation> mutations, Consistency consistency);
  Task<Status> write_later(Task<Status> pending, std::span<const Mutation> mutations, int64_t began);
  Task<Status> write_all(std::span<const Mutation> mutations, bool counters, int64_t began);
  Task<Status> write_batch(std::span<const Mutation> mutations, int64_t began);
  Task<Result<ReadStatistics>> read_later(Task<Result<ReadStatistics>> pending, TablePtr table, Consistency consistency,
                                          bool is_range, int64_t began);
  Result<ReadStatistics> finish_read(Result<ReadStatistics> result, const TableMetadata& table, Consistency consistency,
                                     bool is_range, int64_t began);
  Task<Status> replay_one(InternalRow row);
  Task<Status> remove_batch(Uuid id);
  void count_write(const Status& status, std::span<const Mutation> mutations, int64_t began);
  int64_t now() const { return runtime_.clock.monotonic_nanos(); }
  uint64_t micros_since(int64_t began) const { return static_cast<uint64_t>(now() - began) / 1000; }
  Uuid time_uuid();
  PartitionUpdate batch_record(const Uuid& id, std::span<const Mutation> mutations, Arena& arena);
  PartitionUpdate batch_removal(const Uuid& id, Arena& arena);

  ShardRuntime& runtime_;
  Replica& replica_;
  CoordinatorOptions options_;
  CoordinatorStatistics statistics_;
  absl::flat_hash_map<const TableMetadata*, TableState> tables_;
  std::map<Uuid, std::unique_ptr<TableLatencies>> latencies_;
};

const CoordinatorImpl::TableState& CoordinatorImpl::state(const TableMetadata& table) {
  auto it = tables_.find(&table);
  if (it != tables_.end()) return it->second;
  TableState state{{}, nullptr};
  // A keyspace that was dropped meanwhile has no replicas.
  if (KeyspacePtr keyspace = schema().current()->keyspace(table.keyspace)) {
    state.counts = count_replicas(keyspace->replication, replica_.local_node().data_center);
  }
  std::unique_ptr<TableLatencies>& latencies = latencies_[table.id];
  if (latencies == nullptr) latencies = std::make_unique<TableLatencies>();
  state.latencies = latencies.get();
  return tables_.emplace(&table, state).first->second;
}

void CoordinatorImpl::forget_tables(const Schema& schema) {
  tables_.clear();
  std::erase_if(latencies_, [&schema](const auto& entry) { return schema.table(entry.first) == nullptr; });
}

Status CoordinatorImpl::check_available(const TableMetadata& table, Consistency consistency) {
  if (table.is_virtual) return {};
  const ReplicaCounts& c = state(table).counts;
  int required = block_for(consistency, c);
  if (c.alive >= required) return {};
  ++statistics_.unavailables;
  if (consistency == Consistency::kEachQuorum && c.by_data_center) {
    // Cassandra counts no replica as alive here.
    return unavailable(consistency, required, 0, " in DC " + replica_.local_node().data_center);
  }
  return unavailable(consistency, required, c.alive);
}

Status CoordinatorImpl::check_writable(std::span<const Mutation> mutations, Consistency consistency) {
  for (const Mutation& mutation : mutations) TRY(check_available(*mutation.updates[0].table, consistency));
  return {};
}

void CoordinatorImpl::count_write(const Status& status, std::span<const Mutation> mutations, int64_t began) {
  const uint64_t micros = micros_since(began);
  statistics_.write_micros.record(micros);
  for (const Mutation& mutation : mutations) {
    for (const PartitionUpdate& update : mutation.updates) state(*update.table).latencies->write_micros.record(micros);
  }
  if (!status.ok()) ++statistics_.failures;
}

Task<Status> CoordinatorImpl::write(std::span<const Mutation> mutations, Consistency consistency, WriteType type) {
  int64_t began = now();
  if (Status status = check_writable(mutations, consistency); !status.ok()) return status;
  if (type == WriteType::kBatch) statistics_.partitions_per_logged_batch.record(mutations.size());
  if (type == WriteType::kUnloggedBatch) statistics_.partitions_per_unlogged_batch.record(mutations.size());
  if (mutations.size() == 1) {
    Task<Status> task = replica_.mutate(mutations[0]);
    if (!task.ready()) return write_later(std::move(task), mutations, began);
    Status status = task.take();
    count_write(status, mutations, began);
    return status;
  }
  return type == WriteType::kBatch ? write_batch(mutations, began) : write_all(mutations, false, began);
}

Task<Status> CoordinatorImpl::write_later(Task<Status> pending, std::span<const Mutation> mutations, int64_t began) {
  Status status = co_await pending;
  count_write(status, mutations, began);
  co_return status;
}

Task<Status> CoordinatorImpl::write_counters(std::span<const Mutation> mutations, Consistency consistency) {
  int64_t began = now();
  if (Status status = check_writable(mutations, consistency); !status.ok()) return status;
  if (mutations.size() > 1) statistics_.partitions_per_counter_batch.record(mutations.size());
  return write_all(mutations, true, began);
}

Task<Status> CoordinatorImpl::write_all(std::span<const Mutation> mutations, bool counters, int64_t began) {
  Status status;
  for (const Mutation& mutation : mutations) {
    // GCC 12 would destroy a status twice that comes of a co_await inside the ?:.
    Task<Status> task = counters ? replica_.mutate_counter(mutation) : replica_.mutate(mutation);
    status = co_await task;
    if (!status.ok()) break;
  }
  count_write(status, mutations, began);
  co_return status;
}

Uuid CoordinatorImpl::time_uuid() {
  constexpr uint64_t kVariant = 0x8000000000000000ULL;
  return Uuid::time_based(kUuidEpochOffset + static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10,
                          (runtime_.random.next() >> 2) | kVariant);
}

PartitionUpdate CoordinatorImpl::batch_record(const Uuid& id, std::span<const Mutation> mutations, Arena& arena) {
  UpdateBuilder row(schema().current()->table("system", "batches"), {Bytes(id.view())}, runtime_.clock.wall_micros(),
                    arena);
  row.row().set("version", encode_int(kMessagingVersion)).replace("mutations");
  for (const Mutation& mutation : mutations) {
    Bytes bytes;
    serialize(mutation, bytes);
    row.element("mutations", time_uuid().view(), bytes);
  }
  return row.build();
}

PartitionUpdate CoordinatorImpl::batch_removal(const Uuid& id, Arena& arena) {
  TablePtr batches = schema().current()->table("system", "batches");
  return UpdateBuilder(batches, {Bytes(id.view())}, runtime_.clock.wall_micros(), arena).delete_partition().build();
}

// First the record that lets a restart finish the batch, then the mutations, then the record's removal.
Task<Status> CoordinatorImpl::write_batch(std::span<const Mutation> mutations, int64_t began) {
  Uuid id = time_uuid();
  Arena arena;
  PartitionUpdate update = batch_record(id, mutations, arena);
  Mutation record{"system", update.key, {&update, 1}};
  Status status = co_await replica_.mutate(record);
  for (const Mutation& mutation : mutations) {
    if (status.ok()) status = co_await replica_.mutate(mutation);
  }
  if (status.ok()) status = co_await remove_batch(id);
  count_write(status, mutations, began);
  co_return status;
}

Task<Status> CoordinatorImpl::remove_batch(Uuid id) {
  Arena arena;
  PartitionUpdate update = batch_removal(id, arena);
  Mutation removal{"system", update.key, {&update, 1}};
  co_return co_await replica_.mutate(removal);
}

Task<Result<ReadStatistics>> CoordinatorImpl::read(const ReadCommand& command, Consistency consistency, RowSink& sink) {
  int64_t began = now();
  consistency = consistency_to_fetch(command, consistency);
  if (Status status = check_available(*command.table, consistency); !status.ok()) {
    return Result<ReadStatistics>(std::move(status.error()));
  }
  const bool is_range = command.range.has_value();
  const int64_t deadline = began + (is_range ? options_.range_timeout : options_.read_timeout).count();
  Task<Result<ReadStatistics>> task = replica_.read(command, sink, deadline);
  if (!task.ready()) return read_later(std::move(task), command.table, consistency, is_range, began);
  return finish_read(task.take(), *command.table, consistency, is_range, began);
}

Task<Result<ReadStatistics>> CoordinatorImpl::read_later(Task<Result<ReadStatistics>> pending, TablePtr table,
                                                         Consistency consistency, bool is_range, int64_t began) {
  Result<ReadStatistics> result = co_await pending;
  result = finish_read(std::move(result), *table, consistency, is_range, began);
  co_return result;
}

Result<ReadStatistics> CoordinatorImpl::finish_read(Result<ReadStatistics> result, const TableMetadata& table,
                                                    Consistency consistency, bool is_range, int64_t began) {
  const uint64_t micros = micros_since(began);
  (is_range ? statistics_.range_micros : statistics_.read_micros).record(micros);
  TableLatencies& of_table = *state(table).latencies;
  (is_range ? of_table.range_micros : of_table.read_micros).record(micros);
  if (result.ok()) return result;
  const ErrorCode code = result.error().code();
  if (code != ErrorCode::kReadFailure && code != ErrorCode::kReadTimeout) return result;
  const bool in_time = code == ErrorCode::kReadFailure;
  ++(in_time ? statistics_.failures : statistics_.timeouts);
  LOG_WARN("{}", result.error().message());
  const int required = block_for(consistency, state(table).counts);
  return in_time ? read_failure(consistency, required, replica_.local_node()) : read_timeout(consistency, required);
}

Task<Status> CoordinatorImpl::replay_batchlog() {
  ReadCommand command;
  command.table = schema().current()->table("system", "batches");
  command.range = KeyRange{};
  command.now_seconds = runtime_.clock.wall_seconds();
  InternalRows rows(command.table);
  CO_TRY(co_await replica_.read(command, rows));
  for (InternalRow& row : rows.rows) CO_TRY(co_await replay_one(std::move(row)));
  if (!rows.rows.empty()) LOG_INFO("Finished {} logged batches that had been interrupted", rows.rows.size());
  co_return Status();
}

Task<Status> CoordinatorImpl::replay_one(InternalRow row) {
  auto id = row.uuid("id");
  if (!id || row.integer("version") != kMessagingVersion) co_return Status();
  SchemaPtr schema = replica_.schema().current();
  auto find = [&schema](const Uuid& table) { return schema->table(table).get(); };
  for (const auto& [path, bytes] : row.elements["mutations"]) {
    Arena arena;
    auto mutation = deserialize_mutation(bytes, find, arena);
    // Its table may have been dropped since: then there is nothing to finish.
    if (mutation.ok()) CO_TRY(co_await replica_.mutate(*mutation));
  }
  co_return co_await remove_batch(*id);
}

}  // namespace

std::unique_ptr<Coordinator> Coordinator::create(ShardRuntime& runtime, Replica& replica, CoordinatorOptions options) {
  return std::make_unique<CoordinatorImpl>(runtime, replica, options);
}

}  // namespace cassandra_like
