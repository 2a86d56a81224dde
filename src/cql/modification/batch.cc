// BATCH as a statement and as an opcode, and TRUNCATE (BatchStatement, TruncateStatement).
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "cql/context/tracing.h"
#include "cql/modification/modification.h"
#include "cql/modification/value_guard.h"
#include "model/data_size.h"

namespace cassandra_like {
namespace {

enum class BatchType : uint8_t { kLogged = 0, kUnlogged = 1, kCounter = 2 };

struct BatchPart {
  const Modification* statement;
  std::span<const BytesView> values;
};

// In the order of BatchStatement.validate().
Status validate_parts(BatchType type, std::span<const BatchPart> parts, bool has_timestamp) {
  if (has_timestamp && type == BatchType::kCounter) return invalid("Cannot provide custom timestamp for counter BATCH");
  bool counters = false, others = false, virtual_tables = false, regular_tables = false;
  for (const BatchPart& part : parts) {
    if (has_timestamp && part.statement->has_timestamp()) {
      return invalid("Timestamp must be set either on BATCH or individual statements");
    }
    (part.statement->is_counter() ? counters : others) = true;
    (part.statement->table()->is_virtual ? virtual_tables : regular_tables) = true;
  }
  if (has_timestamp && counters) return invalid("Cannot provide custom timestamp for a BATCH containing counters");
  if (type == BatchType::kCounter && others) return invalid("Cannot include non-counter statement in a counter batch");
  if (counters && others) return invalid("Counter and non-counter mutations cannot exist in the same batch");
  if (type == BatchType::kLogged && counters) return invalid("Cannot include a counter statement in a logged batch");
  if (type == BatchType::kLogged && virtual_tables) {
    return invalid("Cannot include a virtual table statement in a logged batch");
  }
  if (virtual_tables && regular_tables) {
    return invalid("Mutations for virtual and regular tables cannot exist in the same batch");
  }
  return {};
}

std::string in_brackets(const std::set<std::string>& names) { return "[" + absl::StrJoin(names, ", ") + "]"; }

std::string table_names(std::span<const Mutation> mutations) {
  std::set<std::string> names;
  for (const Mutation& mutation : mutations) {
    for (const PartitionUpdate& update : mutation.updates) names.insert(update.table->qualified_name());
  }
  return in_brackets(names);
}

// IMutation.dataSize().
uint64_t data_size(const Mutation& mutation) {
  uint64_t size = 0;
  for (const PartitionUpdate& update : mutation.updates) size += data_size(update);
  return size;
}

void log_size(std::span<const Mutation> mutations, uint64_t size, uint64_t threshold, bool is_refused,
              ExecutionContext& context) {
  auto more = context.services.request_log().large_batches.take(context.runtime.clock.monotonic_nanos());
  if (!more) return;
  const LogLevel level = is_refused ? LogLevel::kError : LogLevel::kWarn;
  LOG_AT(level, "Batch for {} is of size {}, exceeding specified threshold of {} by {}.{}{}", table_names(mutations),
         memory_text(size), memory_text(threshold), memory_text(size - threshold),
         is_refused ? " (see batch_size_fail_threshold)" : "", *more);
}

Status check_size(std::span<const Mutation> mutations, ExecutionContext& context) {
  if (mutations.size() <= 1) return {};
  uint64_t size = 0, warn = context.config.batch_size_warn_bytes;
  for (const Mutation& mutation : mutations) size += data_size(mutation);
  if (size <= warn) return {};
  const uint64_t fail = context.config.batch_size_fail_bytes;
  log_size(mutations, size, size > fail ? fail : warn, size > fail, context);
  if (size > fail) return invalid("Batch too large");
  context.warnings.push_back("Batch for " + table_names(mutations) + " is of size " + std::to_string(size) +
                             ", exceeding specified threshold of " + std::to_string(warn) + " by " +
                             std::to_string(size - warn) + ".");
  return {};
}

void warn_of_many_partitions(BatchType type, std::span<const Mutation> mutations, ExecutionContext& context) {
  if (type == BatchType::kLogged || mutations.size() <= 1) return;
  std::set<BytesView> keys;
  for (const Mutation& mutation : mutations) keys.insert(mutation.key.key);
  if (keys.size() <= context.config.unlogged_batch_across_partitions_warn_threshold) return;
  std::string names = table_names(mutations);
  bool several = names.find(',') != std::string::npos;
  std::string warning = "Unlogged batch covering " + std::to_string(keys.size()) +
                        " partitions detected against table" + (several ? "s " : " ") + names +
                        ". You should use a logged batch for atomicity, or asynchronous writes for performance.";
  if (auto more = context.services.request_log().wide_batches.take(context.runtime.clock.monotonic_nanos())) {
    LOG_WARN("{}{}", warning, *more);
  }
  context.warnings.push_back(std::move(warning));
}

// An entry of the batchlog lives as long as the smallest gc_grace_seconds of its tables.
void warn_of_short_batchlog(std::span<const BatchPart> parts, ExecutionContext& context) {
  std::set<std::string> names;
  for (const BatchPart& part : parts) {
    const TableMetadata& table = *part.statement->table();
    if (table.params.gc_grace_seconds == 0) names.insert(table.qualified_name());
  }
  if (names.empty()) return;
  std::string warning =
      "Executing a LOGGED BATCH on table" + std::string(names.size() == 1 ? " " : "s ") + in_brackets(names) +
      ", configured with a gc_grace_seconds of 0. The gc_grace_seconds is used to TTL batchlog entries, so "
      "setting gc_grace_seconds too low on tables involved in an atomic batch might cause batchlog entries to "
      "expire before being replayed.";
  if (auto more = context.services.request_log().short_batchlogs.take(context.runtime.clock.monotonic_nanos())) {
    LOG_WARN("{}{}", warning, *more);
  }
  context.warnings.push_back(std::move(warning));
}

// Each statement is bound with its own values; all share the request's time and arena.
ExecutionContext context_of(const BatchPart& part, int64_t timestamp, ExecutionContext& context) {
  auto* options = new (context.arena.allocate(sizeof(QueryOptions))) QueryOptions(context.options);
  options->values = part.values;
  return {context.services, context.coordinator, context.runtime,
          context.config,   context.client,      *options,
          context.arena,    context.trace,       {},
          timestamp,        context.now_seconds};
}

// Cassandra binds the partition keys of all statements first, so what is wrong with those is told before `found`.
Error first_error(std::span<const BatchPart> parts, int64_t timestamp, ExecutionContext& context, Error found) {
  for (const BatchPart& part : parts) {
    ExecutionContext own = context_of(part, timestamp, context);
    Status keys = part.statement->check_keys(own);
    if (!keys.ok()) return std::move(keys.error());
  }
  return found;
}

Task<Result<QueryResult>> run_batch(BatchType type, std::vector<BatchPart> parts, int64_t timestamp,
                                    ExecutionContext* context) {
  if (is_serial(context->options.consistency)) {
    co_return invalid("You must use conditional updates for serializable writes");
  }
  UpdateCollector collector(context->arena);
  bool counters = false;
  for (const BatchPart& part : parts) {
    ExecutionContext own = context_of(part, timestamp, *context);
    std::shared_ptr<Modification::Prefetched> prefetched;
    if (part.statement->requires_read()) {
      auto read = co_await part.statement->prefetch(&own);
      if (!read.ok()) co_return first_error(parts, timestamp, *context, std::move(read.error()));
      prefetched = std::move(*read);
    }
    Status added = part.statement->add_updates(own, prefetched.get(), collector);
    for (std::string& warning : own.warnings) context->warnings.push_back(std::move(warning));
    if (!added.ok()) co_return first_error(parts, timestamp, *context, std::move(added.error()));
    counters = counters || part.statement->is_counter();
  }
  if (type == BatchType::kLogged) warn_of_short_batchlog(parts, *context);
  auto mutations = collector.mutations();
  if (mutations.empty()) co_return QueryResult{};
  if (context->config.guardrail_use.disks) CO_TRY(guard_disk_usage(mutations, *context));
  CO_TRY(check_size(mutations, *context));
  warn_of_many_partitions(type, mutations, *context);
  Consistency consistency = context->options.consistency;
  const TracePtr& trace = trace_of(context->trace);
  if (counters) {
    CO_TRY(co_await context->coordinator.write_counters(mutations, consistency, trace));
  } else {
    WriteType write_type = type == BatchType::kLogged ? WriteType::kBatch : WriteType::kUnloggedBatch;
    CO_TRY(co_await context->coordinator.write(mutations, consistency, write_type, trace));
  }
  co_return QueryResult{};
}

class BatchStatement : public Statement {
 public:
  BatchStatement(BatchType type, std::vector<std::unique_ptr<Statement>> statements, PreparedAttributes attributes)
      : type_(type), statements_(std::move(statements)), attributes_(std::move(attributes)) {}

  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    auto timestamp = attributes_.bind_timestamp(context);
    if (!timestamp.ok()) return Result<QueryResult>(std::move(timestamp.error()));
    return run_batch(type_, parts(context.options.values), *timestamp, &context);
  }
  Status validate(const ClientState& client) const override {
    for (const auto& statement : statements_) TRY(statement->validate(client));
    return {};
  }
  StatementKind kind() const override { return StatementKind::kBatch; }
  std::vector<Uuid> depends_on() const override {
    std::vector<Uuid> tables;
    for (const auto& statement : statements_) tables.push_back(statement->as_modification()->table()->id);
    return tables;
  }
  // Markers are numbered over the whole batch, so each part looks into all of the values.
  std::vector<BatchPart> parts(std::span<const BytesView> values) const {
    std::vector<BatchPart> parts;
    for (const auto& statement : statements_) parts.push_back({statement->as_modification(), values});
    return parts;
  }
  const TableMetadata* key_table() const override {
    const TableMetadata* table = nullptr;
    for (const auto& statement : statements_) {
      const TableMetadata* next = statement->as_modification()->table().get();
      if (table != nullptr && table->id != next->id) return nullptr;
      table = next;
    }
    return table;
  }

 private:
  BatchType type_;
  std::vector<std::unique_ptr<Statement>> statements_;
  PreparedAttributes attributes_;
};

class TruncateStatement : public Statement {
 public:
  explicit TruncateStatement(TablePtr table) : table_(std::move(table)) {}
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    if (Status status = table_->is_virtual ? Status() : check_modifiable(*table_, context.client); !status.ok()) {
      return Result<QueryResult>(std::move(status.error()));
    }
    return run(&context);
  }
  StatementKind kind() const override { return StatementKind::kTruncate; }
  std::vector<Uuid> depends_on() const override { return {table_->id}; }

 private:
  Task<Result<QueryResult>> run(ExecutionContext* context) const {
    const std::string name = table_->qualified_name();
    LOG_INFO("Truncating {}, as {} wants", name, context->client.to_string());
    CO_TRY(co_await context->coordinator.truncate(table_));
    LOG_INFO("Truncate of {} is complete", name);
    co_return QueryResult{};
  }
  TablePtr table_;
};

}  // namespace

PrepareResult prepare_batch(const ast::Batch& batch, PrepareContext& context) {
  std::vector<std::unique_ptr<Statement>> statements;
  for (const auto& tree : batch.statements) {
    PrepareResult statement = std::visit(
        [&context](const auto& s) -> PrepareResult {
          using S = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<S, ast::Insert>)
            return prepare_insert(s, context);
          else if constexpr (std::is_same_v<S, ast::InsertJson>)
            return prepare_insert_json(s, context);
          else if constexpr (std::is_same_v<S, ast::Update>)
            return prepare_update(s, context);
          else
            return prepare_delete(s, context);
        },
        tree);
    if (!statement.ok()) return std::move(statement.error());
    statements.push_back(std::move(*statement));
  }
  if (batch.using_.ttl) return invalid("Global TTL on the BATCH statement is not supported.");
  // The attributes belong to no table.
  static const TableMetadata kBatch("[batch]", "[batch]", Uuid{}, {}, {}, {});
  ASSIGN_OR_RETURN(PreparedAttributes attributes, prepare_attributes(batch.using_, kBatch, context));
  auto type = static_cast<BatchType>(batch.kind);
  bool has_timestamp = attributes.timestamp != nullptr;
  auto result = std::make_unique<BatchStatement>(type, std::move(statements), std::move(attributes));
  auto parts = result->parts({});
  TRY(validate_parts(type, parts, has_timestamp));
  return std::unique_ptr<Statement>(std::move(result));
}

PrepareResult prepare_truncate(const ast::Truncate& truncate, PrepareContext& context) {
  ASSIGN_OR_RETURN(TablePtr table, context.table(truncate.table));
  return std::unique_ptr<Statement>(std::make_unique<TruncateStatement>(std::move(table)));
}

Task<Result<QueryResult>> execute_batch(uint8_t type, std::span<const BatchItem> items, ExecutionContext& context) {
  std::vector<BatchPart> parts;
  for (const BatchItem& item : items) {
    const Modification* modification = item.statement->as_modification();
    if (modification == nullptr) {
      return Result<QueryResult>(
          invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed."));
    }
    parts.push_back({modification, item.values});
  }
  auto batch_type = static_cast<BatchType>(type);
  // The protocol's default timestamp is not USING TIMESTAMP: it does not clash with those of the statements.
  Status status = validate_parts(batch_type, parts, false);
  for (size_t i = 0; status.ok() && i < parts.size(); ++i) status = parts[i].statement->validate(context.client);
  if (!status.ok()) return Result<QueryResult>(std::move(status.error()));
  return run_batch(batch_type, std::move(parts), context.timestamp_micros, &context);
}

}  // namespace cassandra_like
