#include "cql/query_processor.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/checksum.h"
#include "base/log.h"
#include "cql/context/tracing.h"
#include "cql/prepared_cache.h"
#include "cql/syntax/parser.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

// One request while it runs. Kept and reused, so that a request in the steady state allocates nothing of it.
struct RunningRequest {
  explicit RunningRequest(RequestMemory* node_memory) : memory(node_memory) {}

  Arena arena{16384};
  RequestShare memory;  // of the statements
  QueryOptions options;
  std::vector<BytesView> values;  // reordered by name
  std::vector<BatchItem> items;
  StatementPtr statement;
  ClientState internal_client;
  std::vector<Bytes> internal_values;
  std::optional<ExecutionContext> context;
};

class QueryProcessorImpl : public QueryProcessor {
 public:
  QueryProcessorImpl(ShardRuntime& runtime, Coordinator& coordinator, CqlOptions options)
      : runtime_(runtime),
        coordinator_(coordinator),
        options_(std::move(options)),
        cache_(options_.prepared_statements_cache_bytes),
        clock_and_node_((runtime.random.next() >> 2) | 0x8000000000000000ULL) {
    options_.guardrail_use = use_of(options_.guardrails);
    TopologyStore& topology = coordinator_.replica().topology();
    if (topology.current() != nullptr) options_.guardrail_use.disks = topology.current()->has_stuffed_disks();
    topology.add_listener([this](const TopologyPtr& now) { options_.guardrail_use.disks = now->has_stuffed_disks(); });
    coordinator_.schema().add_listener([this](const SchemaDiff& diff) { on_schema_change(diff); });
  }

  Task<Result<QueryResult>> query(std::string_view text, const QueryOptions& options, QueryState request) override;
  Task<Result<QueryResult>> prepare(std::string_view text, std::string_view keyspace, QueryState request) override;
  Task<Result<QueryResult>> execute(BytesView id, const QueryOptions& options, QueryState request) override;
  void prefetch(std::span<const PendingExecution> executions) override;
  Task<Result<QueryResult>> batch(uint8_t type, std::span<const BatchEntry> entries, const QueryOptions& options,
                                  QueryState request) override;
  void set_peers(std::vector<QueryProcessor*> peers) override {
    peers_.clear();
    for (QueryProcessor* peer : peers) peers_.push_back(static_cast<QueryProcessorImpl*>(peer));
  }
  Task<Status> load_prepared() override;
  Task<Status> remove_stale_prepared() override { return remove_prepared(std::exchange(void_, {})); }
  StatementPtr prepared(BytesView id) const override {
    auto* entry = const_cast<PreparedCache&>(cache_).find(id);
    return entry == nullptr ? nullptr : entry->statement;
  }
  std::string prepared_text(BytesView id) const override {
    auto* entry = const_cast<PreparedCache&>(cache_).find(id);
    return entry == nullptr ? "" : entry->text;
  }
  Task<Result<QueryResult>> execute_internal(std::string text, std::vector<Bytes> values,
                                             Consistency consistency) override;
  Uuid next_time_uuid() override;

  Coordinator& coordinator() override { return coordinator_; }
  ShardRuntime& runtime() override { return runtime_; }
  const CqlOptions& options() const override { return options_; }
  void set_default_keyspace_rf(int factor) override { options_.default_keyspace_rf = factor; }
  void set_guardrails(const Guardrails& guardrails) override {
    options_.guardrails = guardrails;
    const bool disks = options_.guardrail_use.disks;
    options_.guardrail_use = use_of(guardrails);
    options_.guardrail_use.disks = disks;
  }
  const QueryStatistics& statistics() const override { return statistics_; }

 private:
  struct Prepared {
    std::unique_ptr<Statement> statement;
    bool names_tables = false;
    bool fully_qualified = false;
    bool has_structured_literals = false;
    size_t terms = 0;
  };
  Result<std::string> keyspace_of(std::string_view keyspace, const ClientState& client) const;
  Result<Prepared> parse_and_prepare(std::string_view text, const std::string& keyspace, bool is_internal,
                                     bool is_kept = false);
  Result<PreparedEntry> make_entry(std::string_view text, const std::string& keyspace);
  void put(const PreparedEntry& entry, std::vector<Bytes>* evicted);
  Status store(std::string_view text, const std::string& keyspace, std::vector<Bytes>* evicted);
  void on_schema_change(const SchemaDiff& diff);
  TablePtr prepared_table() const { return coordinator_.schema().current()->table("system", "prepared_statements"); }
  PartitionUpdate prepared_row(const Bytes& id, const std::string& keyspace, const std::string& text, Arena& arena);
  PartitionUpdate prepared_removal(const Bytes& id, Arena& arena);
  Task<Status> announce(std::string text, std::string keyspace);
  Task<Status> save_prepared(Bytes id, std::string keyspace, std::string text);
  Task<Status> remove_prepared(std::vector<Bytes> ids);
  QueryResult prepared_result(Bytes id, const Statement& statement) const;

  RunningRequest* acquire();
  void release(RunningRequest* request);
  Result<std::span<const BytesView>> bound_values(RunningRequest& request, const std::vector<ColumnSpec>& variables,
                                                  const QueryOptions& options);
  Status begin(RunningRequest& request, const QueryOptions& options, ClientState& client, TraceSession* trace);
  Task<Result<QueryResult>> start(RunningRequest* request, const QueryOptions& options, const QueryState& context,
                                  std::string warning);
  template <class Execute>
  Task<Result<QueryResult>> run(RunningRequest* request, Execute execute);
  Task<Result<QueryResult>> finish_later(RunningRequest* request, Task<Result<QueryResult>> task);
  void finish(RunningRequest* request, Result<QueryResult>& result);
  int64_t next_timestamp() override;
  int64_t next_timestamp(int64_t wall_micros);

  ShardRuntime& runtime_;
  Coordinator& coordinator_;
  CqlOptions options_;
  PreparedCache cache_;
  std::vector<Bytes> void_;  // ids of statements that the last change of the schema ended
  QueryStatistics statistics_;
  std::vector<QueryProcessorImpl*> peers_;
  std::vector<std::unique_ptr<RunningRequest>> requests_;
  std::vector<RunningRequest*> idle_;
  int64_t last_timestamp_ = 0;
  uint64_t last_uuid_time_ = 0;
  uint64_t clock_and_node_;  // drawn once a start, so that shards and restarts differ
};

// --- Requests ---

RunningRequest* QueryProcessorImpl::acquire() {
  if (idle_.empty()) {
    requests_.push_back(std::make_unique<RunningRequest>(options_.request_memory.get()));
    idle_.push_back(requests_.back().get());
  }
  RunningRequest* request = idle_.back();
  idle_.pop_back();
  return request;
}

void QueryProcessorImpl::release(RunningRequest* request) {
  request->context.reset();
  request->memory.release();
  request->arena.reset();
  request->items.clear();
  request->internal_values.clear();
  request->statement = nullptr;
  idle_.push_back(request);
}

// Strictly increasing, so that two writes of one shard never tie.
int64_t QueryProcessorImpl::next_timestamp() { return next_timestamp(runtime_.clock.wall_micros()); }

int64_t QueryProcessorImpl::next_timestamp(int64_t wall_micros) {
  last_timestamp_ = std::max(last_timestamp_ + 1, wall_micros);
  return last_timestamp_;
}

Uuid QueryProcessorImpl::next_time_uuid() {
  uint64_t now = kUuidEpochOffset + static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10;
  last_uuid_time_ = std::max(last_uuid_time_ + 1, now);
  return Uuid::time_based(last_uuid_time_, clock_and_node_);
}

Status QueryProcessorImpl::begin(RunningRequest& request, const QueryOptions& options, ClientState& client,
                                 TraceSession* trace) {
  request.options = options;
  request.context.emplace(ExecutionContext{*this,
                                           coordinator_,
                                           runtime_,
                                           options_,
                                           client,
                                           request.options,
                                           request.arena,
                                           trace,
                                           {},
                                           0,
                                           0,
                                           &request.memory});
  const int64_t now = runtime_.clock.wall_micros();
  request.context->timestamp_micros = options.timestamp ? *options.timestamp : next_timestamp(now);
  request.context->now_seconds = options.now_seconds ? *options.now_seconds : now / 1000000;
  if (options.consistency == Consistency::kNodeLocal) {
    return invalid("NODE_LOCAL consistency level is highly dangerous and should be used only for debugging purposes");
  }
  return check_guard(request.statement == nullptr ? nullptr : request.statement->guard(), *request.context);
}

namespace {

// Where each name is first. A client may send as many as 16 bits can count, for as many markers.
absl::flat_hash_map<std::string_view, size_t> places_of(std::span<const std::string_view> names) {
  absl::flat_hash_map<std::string_view, size_t> places;
  for (size_t i = 0; i < names.size(); ++i) places.try_emplace(names[i], i);
  return places;
}

// How many values there are for markers: of values with names, those that a marker asks for.
size_t bound_markers(const std::vector<ColumnSpec>& markers, const QueryOptions& options) {
  if (options.value_names.empty()) return options.values.size();
  const auto places = places_of(options.value_names);
  auto is_named = [&](const ColumnSpec& marker) { return places.contains(marker.name); };
  return static_cast<size_t>(std::count_if(markers.begin(), markers.end(), is_named));
}

}  // namespace

Result<std::span<const BytesView>> QueryProcessorImpl::bound_values(RunningRequest& request,
                                                                    const std::vector<ColumnSpec>& variables,
                                                                    const QueryOptions& options) {
  if (options.value_names.empty()) {
    if (options.values.size() == variables.size()) return options.values;
    return invalid("Invalid amount of bind variables");
  }
  request.values.assign(variables.size(), kNull);
  const auto places = places_of(options.value_names);
  for (size_t i = 0; i < variables.size(); ++i) {
    auto place = places.find(variables[i].name);
    if (place == places.end()) return invalid("Invalid amount of bind variables");
    request.values[i] = options.values[place->second];
  }
  return std::span<const BytesView>(request.values);
}

void QueryProcessorImpl::finish(RunningRequest* request, Result<QueryResult>& result) {
  if (!request->context->warnings.empty()) {
    auto& warnings = result.ok() ? result->warnings : result.error().info().warnings;
    for (auto& warning : request->context->warnings) warnings.push_back(std::move(warning));
  }
  release(request);
}

Task<Result<QueryResult>> QueryProcessorImpl::finish_later(RunningRequest* request, Task<Result<QueryResult>> task) {
  Result<QueryResult> result = co_await task;
  finish(request, result);
  co_return std::move(result);
}

// One return: so the result of a task that is ready is not moved.
template <class Execute>
Task<Result<QueryResult>> QueryProcessorImpl::run(RunningRequest* request, Execute execute) {
  Task<Result<QueryResult>> task = execute();
  if (task.ready()) {
    finish(request, task.value());
  } else {
    task = finish_later(request, std::move(task));
  }
  return task;
}

// --- Statements ---

namespace {

// Empty when the connection was warned already: once is enough.
std::string warn_of_use(bool& was_warned, BytesView id, std::string_view keyspace,
                        std::string_view statement_keyspace) {
  if (std::exchange(was_warned, true)) return "";
  auto shown = [](std::string_view keyspace) { return keyspace.empty() ? "null" : std::string(keyspace); };
  return "`USE <keyspace>` with prepared statements is considered to be an anti-pattern due to ambiguity in "
         "non-qualified table names. Please consider removing instances of `Session#setKeyspace(<keyspace>)`, "
         "`Session#execute(\"USE <keyspace>\")` and `cluster.newSession(<keyspace>)` from your code, and always use "
         "fully qualified table names (e.g. <keyspace>.<table>). Keyspace used: " +
         shown(keyspace) + ", statement keyspace: " + shown(statement_keyspace) + ", statement id: " + to_hex(id);
}

// When it was prepared in another keyspace than the session's. A batch does not tell.
std::string warn_of_other_keyspace(const PreparedEntry& entry, BytesView id, ClientState& client) {
  const std::string_view keyspace = entry.names_tables ? std::string_view(entry.keyspace) : std::string_view();
  if (keyspace == client.keyspace || entry.statement->kind() == StatementKind::kBatch) return "";
  return warn_of_use(client.was_warned_of_use, id, client.keyspace, keyspace);
}

// The answer to PREPARE counts markers in 16 bits.
Status check_marker_count(const Statement& statement) {
  constexpr size_t kMax = 65535;
  const size_t count = statement.bind_variables().size();
  if (count <= kMax) return {};
  return invalid("Too many markers(?). " + std::to_string(count) + " markers exceed the allowed maximum of " +
                 std::to_string(kMax));
}

// Ids of other statements are those with the session's keyspace, whatever they name.
bool names_tables(const ast::Statement& tree) {
  return std::holds_alternative<ast::Select>(tree.body) || std::holds_alternative<ast::Insert>(tree.body) ||
         std::holds_alternative<ast::InsertJson>(tree.body) || std::holds_alternative<ast::Update>(tree.body) ||
         std::holds_alternative<ast::Delete>(tree.body) || std::holds_alternative<ast::Batch>(tree.body) ||
         std::holds_alternative<ast::Truncate>(tree.body);
}

}  // namespace

Result<QueryProcessorImpl::Prepared> QueryProcessorImpl::parse_and_prepare(std::string_view text,
                                                                           const std::string& keyspace,
                                                                           bool is_internal, bool is_kept) {
  Dialect dialect{.using_timeout = options_.takes_using_timeout, .max_terms = options_.max_values()};
  ASSIGN_OR_RETURN(ast::Statement tree, parse_statement(text, dialect));
  PrepareContext context(coordinator_.schema().current(), keyspace, text, tree.bind_variables, options_, is_internal);
  if (is_kept) context.set_kept();
  auto statement = prepare_statement(tree, context);
  if (!statement.ok()) return std::move(statement.error());
  const bool names = names_tables(tree);
  return Prepared{std::move(*statement), names, names && !context.used_session_keyspace(), tree.has_structured_literals,
                  tree.terms};
}

// That of the request, which has to be there, or else the connection's.
Result<std::string> QueryProcessorImpl::keyspace_of(std::string_view keyspace, const ClientState& client) const {
  if (keyspace.empty()) return client.keyspace;
  if (coordinator_.schema().current()->keyspace(keyspace) == nullptr) {
    return invalid("Keyspace '" + std::string(keyspace) + "' does not exist");
  }
  return std::string(keyspace);
}

// Runs a request that has its statement.
Task<Result<QueryResult>> QueryProcessorImpl::start(RunningRequest* request, const QueryOptions& options,
                                                    const QueryState& context, std::string warning) {
  Status status = begin(*request, options, context.client, context.trace);
  auto values = bound_values(*request, request->statement->bind_variables(), options);
  if (status.ok() && values.ok()) status = request->statement->validate(context.client);
  if (!status.ok() || !values.ok()) {
    Error error = !status.ok() ? std::move(status.error()) : std::move(values.error());
    error.info().warnings = std::move(request->context->warnings);
    release(request);
    return Result<QueryResult>(std::move(error));
  }
  if (!warning.empty()) request->context->warnings.push_back(std::move(warning));
  request->options.values = *values;
  return run(request, [request] { return request->statement->execute(*request->context); });
}

Task<Result<QueryResult>> QueryProcessorImpl::query(std::string_view text, const QueryOptions& options,
                                                    QueryState context) {
  ++statistics_.regular_statements;
  Result<std::string> keyspace = keyspace_of(options.keyspace, context.client);
  if (!keyspace.ok()) return Result<QueryResult>(std::move(keyspace.error()));
  if (context.trace != nullptr) context.trace->event("Parsing " + std::string(text));
  auto prepared = parse_and_prepare(text, *keyspace, context.client.is_internal);
  if (context.trace != nullptr) context.trace->event("Preparing statement");
  if (!prepared.ok()) return Result<QueryResult>(std::move(prepared.error()));
  RunningRequest* request = acquire();
  if (Status status = request->memory.add_values(prepared->terms); !status.ok()) {
    release(request);
    return Result<QueryResult>(std::move(status.error()));
  }
  request->statement = std::move(prepared->statement);
  return start(request, options, context, "");
}

Task<Result<QueryResult>> QueryProcessorImpl::execute(BytesView id, const QueryOptions& options, QueryState context) {
  PreparedEntry* entry = cache_.find(id);
  if (entry == nullptr) {
    ErrorInfo info;
    info.code = ErrorCode::kUnprepared;
    info.message = "Prepared query with ID " + to_hex(id) +
                   " not found (either the query was not prepared on this host (maybe the host has been restarted?) "
                   "or you have prepared too many queries and it has been evicted from the internal cache)";
    info.unprepared_id = Bytes(id);
    return Result<QueryResult>(Error(std::move(info)));
  }
  ++statistics_.prepared_statements_executed;
  std::string use_warning;
  if (!entry->fully_qualified) use_warning = warn_of_other_keyspace(*entry, id, context.client);
  RunningRequest* request = acquire();
  request->statement = entry->statement;
  const std::vector<ColumnSpec>& markers = request->statement->bind_variables();
  if (size_t bound = bound_markers(markers, options); bound != markers.size()) {
    release(request);
    return Result<QueryResult>(invalid("there were " + std::to_string(markers.size()) + " markers(?) in CQL but " +
                                       std::to_string(bound) + " bound variables"));
  }
  return start(request, options, context, std::move(use_warning));
}

namespace {

// Null when there are not so many.
BytesView value_at(BytesView values, size_t index) {
  Reader in(values);
  while (true) {
    const int32_t size = in.i32();
    const BytesView value = size < 0 ? kNull : in.take(static_cast<size_t>(size));
    if (in.failed()) return kNull;
    if (index-- == 0) return value;
  }
}

// The hash of the partition key that the values name.
std::optional<KeyHash> hash_of(const Statement& statement, BytesView values) {
  absl::InlinedVector<BytesView, 4> components;
  for (uint16_t index : statement.partition_key_indexes()) {
    components.push_back(value_at(values, index));
    if (is_null(components.back())) return std::nullopt;
  }
  if (components.empty()) return std::nullopt;
  if (components.size() == 1) return murmur3_128(components[0]);
  return murmur3_128(serialize_partition_key(components));
}

}  // namespace

void QueryProcessorImpl::prefetch(std::span<const PendingExecution> executions) {
  absl::InlinedVector<PrefetchKey, 16> partitions;
  BytesView id;
  const Statement* statement = nullptr;  // of that id
  for (const PendingExecution& execution : executions) {
    if (execution.id != id) {
      id = execution.id;
      const PreparedEntry* entry = cache_.find(id);
      statement = entry == nullptr ? nullptr : entry->statement.get();
    }
    if (statement == nullptr || statement->key_table() == nullptr) continue;
    const std::optional<KeyHash> hash = hash_of(*statement, execution.values);
    if (!hash) continue;
    const bool reads = statement->kind() == StatementKind::kSelect;
    partitions.push_back({statement->key_table()->id, token_of(*hash), reads ? hash : std::nullopt});
  }
  coordinator_.replica().prefetch(partitions);
}

Task<Result<QueryResult>> QueryProcessorImpl::batch(uint8_t type, std::span<const BatchEntry> entries,
                                                    const QueryOptions& options, QueryState context) {
  Result<std::string> keyspace = keyspace_of(options.keyspace, context.client);
  if (!keyspace.ok()) return Result<QueryResult>(std::move(keyspace.error()));
  RunningRequest* request = acquire();
  for (const BatchEntry& entry : entries) {
    BatchItem item{nullptr, entry.values};
    size_t terms = 1;
    if (entry.is_prepared) {
      item.statement = this->prepared(entry.id_or_text);
      if (item.statement == nullptr) {
        release(request);
        return execute(entry.id_or_text, options, context);  // answers UNPREPARED
      }
      ++statistics_.prepared_statements_executed;
    } else {
      auto prepared = parse_and_prepare(entry.id_or_text, *keyspace, context.client.is_internal);
      if (!prepared.ok()) {
        release(request);
        return Result<QueryResult>(std::move(prepared.error()));
      }
      item.statement = std::move(prepared->statement);
      terms += prepared->terms;
      ++statistics_.regular_statements;
    }
    if (Status status = request->memory.add_values(terms); !status.ok()) {
      release(request);
      return Result<QueryResult>(std::move(status.error()));
    }
    if (item.values.size() != item.statement->bind_variables().size()) {
      release(request);
      return Result<QueryResult>(invalid("There were " + std::to_string(item.statement->bind_variables().size()) +
                                         " markers(?) in CQL but " + std::to_string(item.values.size()) +
                                         " bound variables"));
    }
    request->items.push_back(std::move(item));
  }
  Status status = begin(*request, options, context.client, context.trace);
  for (const BatchItem& item : request->items) {
    if (status.ok()) status = check_guard(item.statement->guard(), *request->context);
  }
  if (!status.ok()) {
    status.error().info().warnings = std::move(request->context->warnings);
    release(request);
    return Result<QueryResult>(std::move(status.error()));
  }
  return run(request, [request, type] { return execute_batch(type, request->items, *request->context); });
}

Task<Result<QueryResult>> QueryProcessorImpl::execute_internal(std::string text, std::vector<Bytes> values,
                                                               Consistency consistency) {
  auto prepared = parse_and_prepare(text, "", true);
  if (!prepared.ok()) co_return std::move(prepared.error());
  RunningRequest* request = acquire();
  request->statement = std::move(prepared->statement);
  request->internal_client = ClientState{};
  request->internal_client.is_internal = true;
  request->internal_client.is_superuser = true;
  request->internal_values = std::move(values);
  std::vector<BytesView> views(request->internal_values.begin(), request->internal_values.end());
  QueryOptions options;
  options.consistency = consistency;
  Status status = begin(*request, options, request->internal_client, nullptr);
  request->options.values = views;
  if (views.size() != request->statement->bind_variables().size()) {
    status = invalid("Invalid amount of bind variables");
  }
  if (!status.ok()) {
    release(request);
    co_return std::move(status.error());
  }
  Result<QueryResult> result = co_await request->statement->execute(*request->context);
  finish(request, result);
  co_return std::move(result);
}

// --- Prepared statements ---

Result<PreparedEntry> QueryProcessorImpl::make_entry(std::string_view text, const std::string& keyspace) {
  ASSIGN_OR_RETURN(Prepared prepared, parse_and_prepare(text, keyspace, false, true));
  PreparedEntry entry;
  entry.keyspace = keyspace;
  entry.text = std::string(text);
  entry.names_tables = prepared.names_tables;
  entry.fully_qualified = prepared.fully_qualified;
  entry.has_structured_literals = prepared.has_structured_literals;
  for (const Uuid& id : prepared.statement->depends_on()) {
    entry.tables.emplace_back(id, coordinator_.schema().current()->table(id));
  }
  entry.statement = std::move(prepared.statement);
  return entry;
}

QueryResult QueryProcessorImpl::prepared_result(Bytes id, const Statement& statement) const {
  PreparedResult result;
  result.id = std::move(id);
  result.bind_variables = statement.bind_variables();
  result.partition_key_indexes = statement.partition_key_indexes();
  result.metadata = statement.result_metadata();
  return QueryResult{std::move(result), {}, {}};
}

// Under the id without keyspace and, when there is a session keyspace, under the one with it: which of the two a client
// uses depends on whether the statement names its keyspace itself.
void QueryProcessorImpl::put(const PreparedEntry& entry, std::vector<Bytes>* evicted) {
  std::vector<Bytes> ids{prepared_id("", entry.text)};
  if (!entry.keyspace.empty()) ids.push_back(prepared_id(entry.keyspace, entry.text));
  for (const Bytes& id : ids) {
    for (Bytes& gone : cache_.put(id, entry)) evicted->push_back(std::move(gone));
  }
  statistics_.prepared_statements = cache_.size();
  statistics_.prepared_evicted += evicted->size();
}

Status QueryProcessorImpl::store(std::string_view text, const std::string& keyspace, std::vector<Bytes>* evicted) {
  ASSIGN_OR_RETURN(PreparedEntry entry, make_entry(text, keyspace));
  put(entry, evicted);
  return {};
}

Task<Result<QueryResult>> QueryProcessorImpl::prepare(std::string_view text, std::string_view keyspace_of_query,
                                                      QueryState context) {
  CO_ASSIGN_OR_RETURN(std::string keyspace, keyspace_of(keyspace_of_query, context.client));
  std::string owned_text(text);
  Bytes plain_id = prepared_id("", text), keyspace_id = prepared_id(keyspace, text);
  PreparedEntry* plain = cache_.find(plain_id);
  PreparedEntry* with_keyspace = cache_.find(keyspace_id);
  if (plain != nullptr && plain->fully_qualified) co_return prepared_result(plain_id, *plain->statement);
  if (with_keyspace != nullptr && !keyspace.empty() && !with_keyspace->fully_qualified) {
    co_return prepared_result(keyspace_id, *with_keyspace->statement);
  }
  std::vector<Bytes> evicted;
  CO_ASSIGN_OR_RETURN(PreparedEntry entry, make_entry(owned_text, keyspace));
  CO_TRY(entry.statement->validate(context.client));
  CO_TRY(check_marker_count(*entry.statement));
  put(entry, &evicted);
  const bool fully_qualified = entry.fully_qualified, is_saved = !entry.has_structured_literals;
  Bytes id = fully_qualified ? plain_id : keyspace_id;
  StatementPtr statement = entry.statement;
  std::string use_warning;
  // Cassandra warns each time of a keyspace that came with the request.
  bool was_warned = keyspace_of_query.empty() && context.client.was_warned_of_use;
  if (!fully_qualified) use_warning = warn_of_use(was_warned, keyspace_id, keyspace, keyspace);
  if (keyspace_of_query.empty()) context.client.was_warned_of_use = was_warned;
  CO_TRY(co_await announce(owned_text, keyspace));
  if (is_saved) CO_TRY(co_await save_prepared(id, keyspace, owned_text));
  if (!evicted.empty()) CO_TRY(co_await remove_prepared(std::move(evicted)));
  QueryResult result = prepared_result(std::move(id), *statement);
  if (!use_warning.empty()) result.warnings.push_back(std::move(use_warning));
  co_return result;
}

Task<Status> QueryProcessorImpl::announce(std::string text, std::string keyspace) {
  for (QueryProcessorImpl* peer : peers_) {
    if (peer == this) continue;
    auto work = [peer, text, keyspace]() -> Task<Status> {
      std::vector<Bytes> evicted;
      return peer->store(text, keyspace, &evicted);
    };
    CO_TRY(co_await run_on<Status>(runtime_.executor, peer->runtime_.executor, work));
  }
  co_return Status();
}

PartitionUpdate QueryProcessorImpl::prepared_row(const Bytes& id, const std::string& keyspace, const std::string& text,
                                                 Arena& arena) {
  UpdateBuilder row(prepared_table(), {id}, next_timestamp(), arena);
  row.row().set("query_string", text);
  if (!keyspace.empty()) row.set("logged_keyspace", keyspace);
  return row.build();
}

PartitionUpdate QueryProcessorImpl::prepared_removal(const Bytes& id, Arena& arena) {
  return UpdateBuilder(prepared_table(), {id}, next_timestamp(), arena).delete_partition().build();
}

Task<Status> QueryProcessorImpl::save_prepared(Bytes id, std::string keyspace, std::string text) {
  Arena arena;
  PartitionUpdate update = prepared_row(id, keyspace, text, arena);
  Mutation mutation{"system", update.key, {&update, 1}};
  co_return co_await coordinator_.replica().mutate(mutation);
}

Task<Status> QueryProcessorImpl::remove_prepared(std::vector<Bytes> ids) {
  for (const Bytes& id : ids) {
    Arena arena;
    PartitionUpdate update = prepared_removal(id, arena);
    Mutation mutation{"system", update.key, {&update, 1}};
    CO_TRY(co_await coordinator_.replica().mutate(mutation));
  }
  co_return Status();
}

Task<Status> QueryProcessorImpl::load_prepared() {
  ReadCommand command;
  command.table = coordinator_.schema().current()->table("system", "prepared_statements");
  command.range = KeyRange{};
  command.now_seconds = runtime_.clock.wall_seconds();
  InternalRows rows(command.table);
  CO_TRY(co_await coordinator_.replica().read(command, rows));
  size_t loaded = 0;
  for (const InternalRow& row : rows.rows) {
    std::vector<Bytes> evicted;
    // A statement whose table is gone is forgotten.
    if (store(row.text("query_string"), row.text("logged_keyspace"), &evicted).ok()) {
      ++loaded;
    } else {
      std::vector<Bytes> ids;
      ids.push_back(row.get("prepared_id"));
      CO_TRY(co_await remove_prepared(std::move(ids)));
    }
  }
  if (loaded > 0) LOG_INFO("Preloaded {} prepared statements", loaded);
  co_return Status();
}

// A statement whose tables kept their columns goes on under the same id; others are dropped, so that clients prepare
// them again and learn their new metadata.
void QueryProcessorImpl::on_schema_change(const SchemaDiff& diff) {
  if (diff.changed_tables.empty()) return;
  const Schema& schema = *diff.schema;
  void_.clear();
  for (const Bytes& id : cache_.ids()) {
    PreparedEntry* entry = cache_.peek(id);
    bool same = true, same_columns = true;
    for (const auto& [table_id, before] : entry->tables) {
      const TablePtr& now = schema.table(table_id);
      same = same && now == before;
      same_columns = same_columns && now != nullptr && before != nullptr && now->has_same_columns(*before);
    }
    if (same) continue;
    auto again =
        same_columns ? make_entry(entry->text, entry->keyspace) : Result<PreparedEntry>(invalid("its table changed"));
    if (again.ok()) {
      *entry = std::move(*again);
    } else {
      cache_.erase(id);
      void_.push_back(id);
    }
  }
  statistics_.prepared_statements = cache_.size();
}

}  // namespace

std::unique_ptr<QueryProcessor> QueryProcessor::create(ShardRuntime& runtime, Coordinator& coordinator,
                                                       CqlOptions options) {
  return std::make_unique<QueryProcessorImpl>(runtime, coordinator, std::move(options));
}

}  // namespace cassandra_like
