#include "cql/modification/modification.h"

#include <map>

#include <fmt/format.h>

#include "cql/context/tracing.h"
#include "cql/modification/value_guard.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

// Keeps one row and the static row of its partition.
class OneRow : public RowSink {
 public:
  explicit OneRow(Arena& arena) : arena_(arena) {}
  Next begin_partition(const DecoratedKey&, const Row& static_row) override {
    of_partition = copy_row(static_row, arena_);
    return Next::kContinue;
  }
  Next row(const Row& row) override {
    found = copy_row(row, arena_);
    return Next::kContinue;
  }
  Row of_partition, found;

 private:
  Arena& arena_;
};

}  // namespace

struct Modification::Prefetched {
  // By partition key and comparable clustering (empty for the static row). Their cells are in the request's arena.
  std::map<std::pair<Bytes, Bytes>, Row> rows;
};

Status check_modifiable(const TableMetadata& table, const ClientState& client) {
  if (client.is_internal) return {};
  if (is_local_system_keyspace(table.keyspace)) {
    return Error(ErrorCode::kUnauthorized, table.keyspace + " keyspace is not user-modifiable.");
  }
  if (table.is_virtual) return invalid("Modification is not supported by table " + table.qualified_name());
  return {};
}

StatementKind Modification::kind() const {
  return statement_kind_ == Kind::kInsert   ? StatementKind::kInsert
         : statement_kind_ == Kind::kUpdate ? StatementKind::kUpdate
                                            : StatementKind::kDelete;
}

Result<std::span<const BytesView>> Modification::bind_keys(ExecutionContext& context) const {
  if (restrictions_ != nullptr) return restrictions_->partition_keys(context);
  auto components = context.arena.make_span<BytesView>(key_terms_.size());
  for (size_t i = 0; i < key_terms_.size(); ++i) {
    ASSIGN_OR_RETURN(components[i], key_terms_[i]->bind(context));
    const std::string& name = table_->partition_key[i]->name;
    if (is_null(components[i])) return invalid("Invalid null value in condition for column " + name);
    if (is_unset(components[i])) return invalid("Invalid unset value for column " + name);
  }
  auto keys = context.arena.make_span<BytesView>(1);
  keys[0] = components.size() == 1 ? components[0] : context.arena.copy(serialize_partition_key(components));
  return std::span<const BytesView>(keys);
}

Status Modification::validate(const ClientState&) const {
  if (!is_counter()) return {};
  if (attributes_.timestamp) return invalid("Cannot provide custom timestamp for counter updates");
  if (attributes_.ttl) return invalid("Cannot provide custom TTL for counter updates");
  return {};
}

Status Modification::check_keys(ExecutionContext& context) const {
  ASSIGN_OR_RETURN(auto keys, bind_keys(context));
  for (BytesView key : keys) TRY(check_partition_key(*table_, key));
  return {};
}

Result<ClusteringPrefix> Modification::bind_clustering(ExecutionContext& context) const {
  auto values = context.arena.make_span<BytesView>(clustering_terms_.size());
  size_t total = 0;
  for (size_t i = 0; i < clustering_terms_.size(); ++i) {
    if (clustering_terms_[i] == nullptr) continue;  // kNull
    ASSIGN_OR_RETURN(values[i], clustering_terms_[i]->bind(context));
    const std::string& name = table_->clustering[i]->name;
    if (is_null(values[i])) return invalid("Invalid null value in condition for column " + name);
    if (is_unset(values[i])) return invalid("Invalid unset value for column " + name);
    total += values[i].size();
  }
  TRY(check_key_length(total));
  return make_clustering(*table_, values, ClusteringKind::kClustering, context.arena);
}

Result<std::vector<ClusteringPrefix>> Modification::clusterings(ExecutionContext& context) const {
  std::vector<ClusteringPrefix> result;
  if (restrictions_ == nullptr) {
    ASSIGN_OR_RETURN(ClusteringPrefix clustering, bind_clustering(context));
    result.push_back(clustering);
    return result;
  }
  ASSIGN_OR_RETURN(auto rows, restrictions_->clusterings(context));
  for (auto values : rows) {
    size_t total = 0;
    for (BytesView value : values) total += value.size();
    TRY(check_key_length(total));
    if (values.size() < table_->clustering.size()) {
      auto whole = context.arena.make_span<BytesView>(table_->clustering.size());
      std::copy(values.begin(), values.end(), whole.begin());
      values = whole;
    }
    result.push_back(make_clustering(*table_, values, ClusteringKind::kClustering, context.arena));
  }
  return result;
}

namespace {

// When several operations fail, the one that the statement names first is told.
Error first_error(std::span<const OperationPtr> operations, bool guarded, RowBuilder& scratch, Error found) {
  std::vector<const Operation*> as_written;
  for (const OperationPtr& operation : operations) as_written.push_back(operation.get());
  std::sort(as_written.begin(), as_written.end(),
            [](const Operation* a, const Operation* b) { return a->position < b->position; });
  for (const Operation* operation : as_written) {
    Status status = guarded ? apply_guarded(*operation, scratch) : operation->apply(scratch);
    if (!status.ok()) return std::move(status.error());
  }
  return found;
}

}  // namespace

// Cassandra calls this "the compact value", and the one that cannot have any "empty".
Status Modification::set_compact_value(const ClusteringPrefix& clustering, RowBuilder& row) const {
  const TableFlags& flags = table_->flags;
  if (flags.dense && !flags.compound && clustering.values[0].empty()) {
    return invalid("Invalid empty or null value for column " + table_->clustering[0]->name);
  }
  if (unset_value_ == nullptr) return {};
  if (unset_value_->type->kind() != TypeKind::kEmpty) {
    return invalid("Column " + unset_value_->name + " is mandatory for this COMPACT STORAGE table");
  }
  row.add(unset_value_, BytesView("", 0));
  return {};
}

Result<Row> Modification::make_row(ExecutionContext& context, const DecoratedKey& key,
                                   const ClusteringPrefix& clustering, const Parameters& parameters,
                                   std::span<const OperationPtr> operations) const {
  RowBuilder builder(context, parameters.timestamp, parameters.ttl, operations.size());
  if (parameters.prefetched != nullptr) {
    auto found = parameters.prefetched->rows.find({Bytes(key.key), Bytes(clustering.comparable)});
    if (found != parameters.prefetched->rows.end()) builder.prefetched = &found->second;
  }
  const bool is_static = clustering.kind == ClusteringKind::kStaticClustering;
  const bool is_compact = table_->flags.is_compact_table();
  if (is_compact && !is_static) TRY(set_compact_value(clustering, builder));
  const size_t warned = parameters.guarded ? context.warnings.size() : 0;
  for (const OperationPtr& operation : operations) {
    Status status = parameters.guarded ? apply_guarded(*operation, builder) : operation->apply(builder);
    if (!status.ok()) {
      RowBuilder scratch(context, parameters.timestamp, parameters.ttl, operations.size());
      scratch.prefetched = builder.prefetched;
      if (parameters.guarded) context.warnings.resize(warned);
      return first_error(operations, parameters.guarded, scratch, std::move(status.error()));
    }
  }
  // The engine of Cassandra 2 knew no deletion of a row (UpdateParameters.addRowDeletion).
  const bool deletes_value = deletes_rows_ && is_compact && !table_->flags.super;
  if (deletes_value) builder.add_tombstone(table_->regular_columns[0].get());
  Row row = builder.build();
  row.clustering = clustering;
  if (!is_static) {
    if (statement_kind_ == Kind::kInsert && !is_compact) row.liveness = builder.liveness();
    if (deletes_rows_ && !deletes_value) row.deletion = builder.deletion();
  }
  return row;
}

Status Modification::add_range_deletion(ExecutionContext& context, const Parameters& parameters,
                                        PartitionUpdate& update) const {
  DeletionTime deletion{parameters.timestamp, context.now_seconds};
  if (!restrictions_->has_clustering_restrictions()) {
    if (deletion.is_before_1970()) {
      return invalid(fmt::format("Cannot delete a partition of {} with timestamp {}: it must not be negative",
                                 table_->qualified_name(), parameters.timestamp));
    }
    update.partition_deletion = deletion;
    return {};
  }
  ASSIGN_OR_RETURN(auto bounds, restrictions_->bounds(context));
  auto tombstones = context.arena.make_span<RangeTombstone>(bounds.size());
  for (size_t i = 0; i < bounds.size(); ++i) tombstones[i] = {bounds[i].start, bounds[i].end, deletion};
  update.range_tombstones = tombstones;
  return {};
}

Status Modification::add_partition(ExecutionContext& context, const DecoratedKey& key, const Parameters& parameters,
                                   UpdateCollector& collector) const {
  TRY(check_partition_key(*table_, key.key));
  PartitionUpdate update;
  update.table = table_.get();
  update.key = key;
  bool whole_rows = restrictions_ == nullptr ? clustering_terms_.size() == table_->clustering.size()
                                             : restrictions_->has_full_clusterings();
  // A row with COMPACT STORAGE may lack its last clusterings.
  if (statement_kind_ == Kind::kUpdate && table_->flags.is_compact_table()) {
    whole_rows = whole_rows || restrictions_->has_clustering_restrictions();
  }
  if (statement_kind_ == Kind::kDelete && !whole_rows && !regular_operations_.empty()) {
    if (restrictions_->has_clustering_restrictions()) {
      ASSIGN_OR_RETURN(auto bounds, restrictions_->bounds(context));
      if (bounds.empty()) return {};
    }
    return invalid("Range deletions are not supported for specific columns");
  }
  if (deletes_rows_ && (!whole_rows || table_->clustering.empty())) {
    TRY(add_range_deletion(context, parameters, update));
  } else if (whole_rows && (!regular_operations_.empty() || deletes_rows_ || statement_kind_ == Kind::kInsert)) {
    if (restrictions_ == nullptr || table_->clustering.empty()) {
      auto rows = context.arena.make_span<Row>(1);
      ASSIGN_OR_RETURN(ClusteringPrefix clustering,
                       restrictions_ == nullptr ? bind_clustering(context)
                                                : Result<ClusteringPrefix>(make_clustering(
                                                      *table_, {}, ClusteringKind::kClustering, context.arena)));
      ASSIGN_OR_RETURN(rows[0], make_row(context, key, clustering, parameters, regular_operations_));
      if (!rows[0].is_empty()) update.rows = rows;
    } else {
      ASSIGN_OR_RETURN(auto positions, clusterings(context));
      auto rows = context.arena.make_span<Row>(positions.size());
      size_t count = 0;
      for (const ClusteringPrefix& position : positions) {
        ASSIGN_OR_RETURN(rows[count], make_row(context, key, position, parameters, regular_operations_));
        if (!rows[count].is_empty()) ++count;
      }
      update.rows = rows.first(count);
    }
  }
  if (!static_operations_.empty()) {
    ClusteringPrefix position{ClusteringKind::kStaticClustering, {}, {}};
    ASSIGN_OR_RETURN(update.static_row, make_row(context, key, position, parameters, static_operations_));
  }
  bool nothing = update.rows.empty() && update.static_row.is_empty() && update.range_tombstones.empty() &&
                 update.partition_deletion.is_live();
  if (!nothing) collector.add(update);
  return {};
}

// ExpirationDateOverflowHandling, whose policy is REJECT unless a system property says otherwise.
Status Modification::check_expiration(const ExecutionContext& context, int32_t ttl) const {
  if (ttl == 0 || context.now_seconds + ttl <= context.config.max_deletion_time) return {};
  return invalid(fmt::format(
      "Request on table {}.{} with {}ttl of {} seconds exceeds maximum supported expiration date of {}. In order to "
      "avoid this use a lower TTL, change the expiration date overflow policy or upgrade to a version where this "
      "limitation is fixed. See CASSANDRA-14092 and CASSANDRA-14227 for more details.",
      table_->keyspace, table_->name, attributes_.ttl == nullptr ? "default " : "", ttl,
      context.config.max_deletion_time == kMaxDeletionTime2038 ? "2038-01-19T03:14:06+00:00"
                                                               : "2106-02-07T06:28:13+00:00"));
}

Status Modification::add_updates(ExecutionContext& context, const Prefetched* prefetched,
                                 UpdateCollector& collector) const {
  TRY(check_modifiable(*table_, context.client));
  Parameters parameters{0, 0, prefetched, guards_values(context)};
  ASSIGN_OR_RETURN(parameters.timestamp, attributes_.bind_timestamp(context));
  if (statement_kind_ != Kind::kDelete && !is_counter()) {
    ASSIGN_OR_RETURN(parameters.ttl, attributes_.bind_ttl(context, table_->params.default_time_to_live));
    TRY(check_expiration(context, parameters.ttl));
  }
  ASSIGN_OR_RETURN(auto keys, bind_keys(context));
  for (BytesView key : keys) TRY(add_partition(context, DecoratedKey::of(key), parameters, collector));
  return {};
}

// --- Execution ---

Task<Result<QueryResult>> Modification::execute(ExecutionContext& context) const {
  if (requires_read_) return execute_with_read(&context);
  return write(context, nullptr);
}

namespace {

Task<Result<QueryResult>> finish_write(Task<Status> pending) {
  CO_TRY(co_await pending);
  co_return QueryResult{};
}

}  // namespace

Status Modification::check_level(Consistency level) const {
  if (is_counter() && level == Consistency::kAny) {
    return invalid("Consistency level ANY is not yet supported for counter table " + table_->name);
  }
  if (!is_serial(level)) return {};
  return invalid(is_counter() ? "Counter operations are inherently non-serializable"
                              : "You must use conditional updates for serializable writes");
}

// ModificationStatement.validateTimestamp: timestamps in a batch are not looked at.
Status Modification::guard_given_timestamp(ExecutionContext& context) const {
  ASSIGN_OR_RETURN(const int64_t micros, attributes_.bind_timestamp(context));
  return guard_timestamp(table_->name, micros, context);
}

Task<Result<QueryResult>> Modification::write(ExecutionContext& context, const Prefetched* prefetched) const {
  if (Status status = check_level(context.options.consistency); !status.ok()) {
    return Result<QueryResult>(std::move(status.error()));
  }
  if (attributes_.timestamp != nullptr && guards_values(context)) {
    if (Status status = guard_given_timestamp(context); !status.ok()) {
      return Result<QueryResult>(std::move(status.error()));
    }
  }
  UpdateCollector collector(context.arena);
  if (Status status = add_updates(context, prefetched, collector); !status.ok()) {
    return Result<QueryResult>(std::move(status.error()));
  }
  auto mutations = collector.mutations();
  if (mutations.empty()) return Result<QueryResult>(QueryResult{});
  if (context.config.guardrail_use.disks) {
    if (Status status = guard_disk_usage(mutations, context); !status.ok()) {
      return Result<QueryResult>(std::move(status.error()));
    }
  }
  bool counters = is_counter() && statement_kind_ == Kind::kUpdate;
  WriteType type = mutations.size() > 1 ? WriteType::kUnloggedBatch : WriteType::kSimple;
  const TracePtr& trace = trace_of(context.trace);
  Task<Status> task = counters ? context.coordinator.write_counters(mutations, context.options.consistency, trace)
                               : context.coordinator.write(mutations, context.options.consistency, type, trace);
  if (!task.ready()) return finish_write(std::move(task));
  Status status = task.take();
  if (!status.ok()) return Result<QueryResult>(std::move(status.error()));
  return Result<QueryResult>(QueryResult{});
}

Task<Result<QueryResult>> Modification::execute_with_read(ExecutionContext* context) const {
  CO_ASSIGN_OR_RETURN(auto prefetched, co_await prefetch(context));
  co_return co_await write(*context, prefetched.get());
}

Task<Result<std::shared_ptr<Modification::Prefetched>>> Modification::prefetch(ExecutionContext* context) const {
  auto result = std::make_shared<Prefetched>();
  CO_ASSIGN_OR_RETURN(auto keys, bind_keys(*context));
  for (BytesView key : keys) CO_TRY(check_partition_key(*table_, key));
  std::vector<ClusteringPrefix> positions;
  bool static_only = regular_operations_.empty();
  if (!static_only && !table_->clustering.empty()) {
    CO_ASSIGN_OR_RETURN(positions, clusterings(*context));
  } else {
    positions.push_back(static_only ? ClusteringPrefix{ClusteringKind::kStaticClustering, {}, {}}
                                    : make_clustering(*table_, {}, ClusteringKind::kClustering, context->arena));
  }
  for (BytesView key : keys) {
    for (const ClusteringPrefix& position : positions) {
      ReadCommand command;
      command.table = table_;
      command.now_seconds = context->now_seconds;
      command.keys = {DecoratedKey::of(key)};
      command.wants_rows = !static_only;
      if (!position.values.empty()) command.slices.push_back(Slice::of_prefix(*table_, position.values));
      OneRow row(context->arena);
      const TracePtr& trace = trace_of(context->trace);
      CO_TRY(co_await context->coordinator.read(command, context->options.consistency, row, trace));
      if (!static_operations_.empty()) result->rows[{Bytes(key), Bytes()}] = row.of_partition;
      if (!static_only) result->rows[{Bytes(key), Bytes(position.comparable)}] = row.found;
    }
  }
  co_return result;
}

}  // namespace cassandra_like
