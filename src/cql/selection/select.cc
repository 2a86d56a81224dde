// SELECT: prepared against the schema, executed as one or two reads a page (cql3.statements.SelectStatement).
#include <algorithm>

#include "cql/context/named_column.h"
#include "cql/context/tracing.h"
#include "cql/restrictions/restrictions.h"
#include "cql/selection/select_sink.h"
#include "cql/selection/selector.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

// Groups are read in pages of so many rows, each of which has the timeout of a read. All rows in one group are one read,
// whose timeout begins anew behind so many rows.
constexpr uint64_t kGroupPage = 10000;

}  // namespace

class SelectStatement : public Statement {
 public:
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override;
  StatementKind kind() const override { return StatementKind::kSelect; }
  ResultMetadataPtr result_metadata() const override { return selection_.metadata(); }
  std::vector<Uuid> depends_on() const override { return {table_->id}; }
  const TableMetadata* key_table() const override { return table_.get(); }

 private:
  friend class SelectBuilder;
  struct Execution;
  // Rows, or groups when there are some.
  struct AskedLimits {
    uint64_t rows = kNoLimit;  // of LIMIT, what is left of it
    uint64_t per_partition = kNoLimit;
    uint64_t page = DataLimits::kNone;
  };

  bool has_groups() const { return grouping_ || selection_.has_aggregates(); }
  // One result row, whatever the limits.
  bool is_one_group() const { return !grouping_ && selection_.has_aggregates(); }

  Result<uint64_t> bind_limit(const TermPtr& term, ExecutionContext& context) const;
  Result<std::unique_ptr<Execution>> begin(ExecutionContext& context) const;
  Status build_command(ExecutionContext& context, ReadCommand& command) const;
  bool needs_reconciliation(ExecutionContext& context, const ReadCommand& command) const;
  Status check_execution(ExecutionContext& context, const ReadCommand& command) const;
  Status check_order(ExecutionContext& context, const ReadCommand& command) const;
  uint64_t most_rows(const ReadCommand& command) const;
  bool finds_nothing(const ReadCommand& command) const;
  bool checks_without_rows() const;
  Task<Result<QueryResult>> run(std::unique_ptr<Execution> execution) const;
  Task<Result<QueryResult>> finish_later(std::unique_ptr<Execution> execution, Task<Result<ReadStatistics>> read) const;
  void limit_read(Execution& execution) const;
  Status start_page(Execution& execution, const std::optional<PagingState>& state) const;
  Status check_timeout(const Execution& execution) const;
  Result<QueryResult> finish(Execution& execution) const;
  Result<QueryResult> answer(Execution& execution) const;
  void order_rows(Execution& execution) const;

  TablePtr table_;
  Selection selection_;
  std::optional<Grouping> grouping_;
  std::unique_ptr<Restrictions> restrictions_;
  TermPtr limit_, per_partition_limit_;
  bool distinct_ = false;
  bool reversed_ = false;
  bool orders_afterwards_ = false;  // ORDER BY over several partitions
  size_t ordering_columns_ = 0;     // of the clustering
  bool filters_regular_columns_ = false;
  bool fetches_static_columns_ = false;
  std::optional<int64_t> timeout_nanos_;  // USING TIMEOUT
};

// One run of the statement: what is asked, what has come.
struct SelectStatement::Execution final : FramePooled {
  Execution(const SelectStatement& statement, ExecutionContext& c, AskedLimits l, bool static_rows)
      : context(c), limits(l), sink(*statement.table_, statement.selection_, c, statement.distinct_, static_rows) {}

  ExecutionContext& context;
  AskedLimits limits;
  SelectSink sink;
  ReadCommand command;
  std::optional<ReadCommand> partial;  // the rest of the partition that the last page ended in
  bool counts_groups = false;
  bool pages = false;
  bool reads_range = false;
  bool reads_one_partition = false;
  uint64_t tombstones = 0;
  int64_t deadline_nanos = 0;  // with a timeout

  // Continues where a page ended.
  Status resume(const PagingState& state);
  // Continues behind a row of a partition, or behind the partition when the comparable clustering is empty.
  void resume_behind(const Bytes& key, const Bytes& clustering, uint64_t left);
  // Where the next page starts; nothing when this one is the last.
  std::optional<PagingState> next_page() const;

 private:
  std::optional<PagingState> next_partition(PagingState state) const;

  Bytes resume_key_;
};

void SelectStatement::Execution::resume_behind(const Bytes& key, const Bytes& clustering, uint64_t left) {
  resume_key_ = key;
  partial = continue_behind(command, DecoratedKey::of(resume_key_), clustering);
  if (!partial) return;
  partial->limits.continued_key = resume_key_;
  if (counts_groups) {
    sink.continue_groups(resume_key_, left);
  } else {
    partial->limits.left_in_continued = left;
  }
}

// Follows SinglePartitionPager, MultiPartitionPager and PartitionRangeQueryPager, but never leaves a range.
Status SelectStatement::Execution::resume(const PagingState& state) {
  const Error invalid_state(ErrorCode::kProtocolError, kInvalidPagingState);
  const bool has_more = state.remaining_in_partition > 0;
  const bool is_marked = !state.row_mark.empty();
  Bytes key(reads_one_partition ? command.keys[0].key : BytesView(state.partition_key));
  const DecoratedKey at = DecoratedKey::of(key);
  if (reads_range) {
    if (key.empty()) return invalid_state;
    if (command.range->end.compare(at) < 0) command.range.reset();
    if (!command.range || command.range->start.compare(at) > 0) return {};
  } else {
    const auto found = std::find(command.keys.begin(), command.keys.end(), at);
    const bool is_there = found != command.keys.end();
    command.keys.erase(command.keys.begin(), found);
    // The partition has not been begun.
    if (!is_there || (has_more && !is_marked)) return {};
  }
  Bytes clustering;
  if (has_more && is_marked && !command.table->clustering.empty()) {
    auto marked = marked_clustering(state, *command.table);
    if (!marked) return invalid_state;
    clustering = std::move(*marked);
  }
  resume_behind(key, clustering, state.remaining_in_partition);
  return {};
}

std::optional<PagingState> SelectStatement::Execution::next_page() const {
  if (!pages || sink.row_count() < limits.page || sink.row_count() >= limits.rows) return std::nullopt;
  PagingState state;
  state.has_legacy_mark = has_legacy_marks(context.options.protocol_version);
  state.remaining = static_cast<uint32_t>(limits.rows - sink.row_count());
  state.remaining_in_partition = static_cast<uint32_t>(sink.left_in_partition());
  if (!reads_range && state.remaining_in_partition == 0) return next_partition(std::move(state));
  if (!reads_one_partition) state.partition_key = sink.last_key();
  state.row_mark = sink.last_mark();
  return state;
}

// The last one of the page is done.
std::optional<PagingState> SelectStatement::Execution::next_partition(PagingState state) const {
  if (reads_one_partition) return std::nullopt;
  const auto is_last = [this](const DecoratedKey& key) { return key.key == sink.last_key(); };
  auto next = std::find_if(command.keys.begin(), command.keys.end(), is_last);
  // When it is not there, it was resumed, and all that is there comes behind it.
  next = next == command.keys.end() ? command.keys.begin() : next + 1;
  if (next == command.keys.end()) return std::nullopt;
  state.partition_key.assign(next->key);
  state.remaining_in_partition = static_cast<uint32_t>(limits.per_partition);
  return state;
}

Result<uint64_t> SelectStatement::bind_limit(const TermPtr& term, ExecutionContext& context) const {
  if (term == nullptr) return uint64_t{kNoLimit};
  ASSIGN_OR_RETURN(BytesView value, term->bind(context));
  if (is_null(value)) return invalid("Invalid null value of limit");
  if (is_unset(value)) return uint64_t{kNoLimit};
  if (value.size() != 4) return invalid("Invalid limit value");
  int32_t limit = decode_int(value);
  if (limit <= 0) return invalid("LIMIT must be strictly positive");
  return static_cast<uint64_t>(limit);
}

namespace {

// It is a partition key of the index, whose length is written in 16 bits (index.internal.CassandraIndex.validate).
Status check_indexed_value(const FilterExpression& expression) {
  constexpr size_t kComponent = 3;  // what a part of a composite key takes beside its bytes
  size_t size = expression.value.size();
  if (expression.is_map_entry) size += expression.map_key.size() + 2 * kComponent;
  return size < (1u << 16) ? Status() : invalid("Index expression values may not be larger than 64K");
}

}  // namespace

// RowFilter.needsReconciliation, isMutableIntersection
bool SelectStatement::needs_reconciliation(ExecutionContext& context, const ReadCommand& command) const {
  const Consistency level = context.options.consistency;
  if (command.filter.size() < 2 || level == Consistency::kOne || level == Consistency::kLocalOne) return false;
  const Column* first = nullptr;
  bool intersects = false;
  for (const FilterExpression& expression : command.filter) {
    const Column* column = expression.column;
    if (column->kind == ColumnKind::kStatic) intersects = true;
    if (column->is_primary_key()) continue;
    intersects = intersects || (first != nullptr && first != column);
    first = column;
  }
  if (!intersects || table_->is_virtual) return false;
  const KeyspacePtr keyspace = context.coordinator.schema().current()->keyspace(table_->keyspace);
  if (keyspace == nullptr) return false;
  const auto strategy = ReplicationStrategy::make(keyspace->replication);
  return strategy.ok() && strategy->replication_factor() > 1;
}

Status SelectStatement::build_command(ExecutionContext& context, ReadCommand& command) const {
  command.table = table_;
  command.now_seconds = context.now_seconds;
  command.abandonment = context.client.abandonment;
  command.reversed = reversed_;
  command.wants_static = table_->has_static_columns();
  if (restrictions_->has_partition_keys()) {
    ASSIGN_OR_RETURN(auto keys, restrictions_->partition_keys(context));
    if (keys.empty()) return {};  // IN (): whatever the other values are
    command.keys.reserve(keys.size());
    for (BytesView key : keys) command.keys.push_back(DecoratedKey::of(key));
  }
  if (restrictions_->needs_filtering()) {
    ASSIGN_OR_RETURN(command.filter, restrictions_->filter(context));
    if (needs_reconciliation(context, command)) TRY(guard_intersection(context));
  }
  if (restrictions_->has_clustering_restrictions()) {
    ASSIGN_OR_RETURN(command.slices, restrictions_->slices(context));
  }
  TRY(guard_restrictions(context, table_->name, command.keys.size(), command.slices.size()));
  const bool checks = !finds_nothing(command) || checks_without_rows();
  if (!checks) command.keys.clear();
  for (const DecoratedKey& key : command.keys) TRY(check_partition_key(*table_, key.key));
  if (!restrictions_->has_partition_keys() && checks) {
    ASSIGN_OR_RETURN(command.range, restrictions_->key_range(context));
  }
  command.index = restrictions_->index();
  const bool is_of_node = is_local_system_keyspace(table_->keyspace);
  if (command.index != nullptr && command.range && !is_of_node) TRY(guard_index_query(context));
  command.index_expression = 0;
  if (command.index != nullptr && checks) TRY(check_indexed_value(command.filter[command.index_expression]));
  return {};
}

// Checks that need the values.
Status SelectStatement::check_execution(ExecutionContext& context, const ReadCommand& command) const {
  if (has_groups() && !restrictions_->restricts_partition_key()) {
    context.warnings.push_back("Aggregation query used without partition key");
  } else if (has_groups() && restrictions_->key_has_in()) {
    context.warnings.push_back("Aggregation query used on multiple partition keys (IN restriction)");
  }
  return check_order(context, command);
}

// IN (), or bounds that exclude each other.
bool SelectStatement::finds_nothing(const ReadCommand& command) const {
  return restrictions_->has_clustering_restrictions() && command.slices.empty();
}

// Cassandra reads static columns even where no row can match, and so refuses what is wrong with the keys
// (SelectStatement.makeClusteringIndexFilter). Slices of known partitions are seen to be none before that.
bool SelectStatement::checks_without_rows() const {
  if (restrictions_->has_full_clusterings()) return fetches_static_columns_;
  return !restrictions_->has_partition_keys() && selection_.uses(ColumnKind::kStatic);
}

// How many rows the primary keys alone allow: a replica that knows that there are few need not prepare for many.
uint64_t SelectStatement::most_rows(const ReadCommand& command) const {
  if (command.range || !restrictions_->has_full_clusterings()) return std::numeric_limits<uint64_t>::max();
  return command.keys.size() * std::max<size_t>(command.slices.size(), 1);
}

// Rows that are sorted are read as a whole, whatever the LIMIT.
Status SelectStatement::check_order(ExecutionContext& context, const ReadCommand& command) const {
  bool reads = command.range || !command.keys.empty() || has_groups();
  if (orders_afterwards_ && context.options.page_size > 0 && reads) {
    return invalid(
        "Cannot page queries with both ORDER BY and a IN restriction on the partition key; you must either "
        "remove the ORDER BY or the IN and sort client side, or disable paging for this query");
  }
  return {};
}

Result<std::unique_ptr<SelectStatement::Execution>> SelectStatement::begin(ExecutionContext& context) const {
  AskedLimits limits;
  ASSIGN_OR_RETURN(limits.rows, bind_limit(limit_, context));
  ASSIGN_OR_RETURN(limits.per_partition, bind_limit(per_partition_limit_, context));
  TRY(selection_.check_bounds(context));
  if (grouping_ && grouping_->refusal) return *grouping_->refusal;
  if (distinct_) limits.per_partition = 1;
  const auto page_size = static_cast<uint64_t>(std::max(context.options.page_size, 0));
  // Without groups, a LIMIT of a page or less is not paged. Groups of DISTINCT come in one page.
  const bool has_more_pages = orders_afterwards_ || limits.rows > page_size;
  const bool pages = page_size > 0 && (has_groups() ? grouping_ && !distinct_ : has_more_pages);
  if (is_one_group()) limits.rows = std::numeric_limits<uint64_t>::max();
  if (pages) limits.page = page_size;
  std::optional<PagingState> state;
  if ((pages || has_groups()) && !is_null(context.options.paging_state)) {
    state = parse_paging_state(context.options.paging_state, context.options.protocol_version);
    if (!state) return Error(ErrorCode::kProtocolError, kInvalidPagingState);
    if (!is_one_group()) limits.rows = state->remaining;
  }
  bool static_rows =
      table_->has_static_columns() && !restrictions_->has_clustering_restrictions() && !filters_regular_columns_;
  auto execution = std::make_unique<Execution>(*this, context, limits, static_rows);
  if (timeout_nanos_) execution->deadline_nanos = context.runtime.clock.monotonic_nanos() + *timeout_nanos_;
  TRY(build_command(context, execution->command));
  TRY(check_execution(context, execution->command));
  ReadCommand& command = execution->command;
  // No page is full with fewer rows.
  execution->pages = pages && (has_groups() || most_rows(command) >= limits.page);
  execution->reads_range = command.range.has_value();
  execution->reads_one_partition = command.keys.size() == 1;
  if (finds_nothing(command) || (state && state->remaining == 0)) {
    command.keys.clear();
    command.range.reset();
  }
  limit_read(*execution);
  TRY(start_page(*execution, state));
  return execution;
}

// Limits end the read, but not one whose rows are sorted: their LIMIT is for the sorted rows.
void SelectStatement::limit_read(Execution& e) const {
  const uint64_t rows = orders_afterwards_ ? DataLimits::kNone : std::min(e.limits.rows, e.limits.page);
  DataLimits& limits = e.command.limits;
  if (distinct_ || !has_groups()) limits.per_partition = e.limits.per_partition;
  if (orders_afterwards_) e.sink.keep_positions(ordering_columns_);
  if (is_one_group()) {
    e.command.rows_of_deadline = kGroupPage;
    e.sink.group_all();
  } else if (grouping_) {
    limits.rows = kGroupPage;
    DataLimits of_groups;
    of_groups.groups = rows;
    of_groups.per_partition = e.limits.per_partition;
    e.sink.group_by(*grouping_, of_groups);
    e.counts_groups = true;
  } else {
    limits.rows = std::min(rows, most_rows(e.command));
  }
}

// Where it begins, and what is remembered for the next one.
Status SelectStatement::start_page(Execution& execution, const std::optional<PagingState>& state) const {
  const int version = execution.context.options.protocol_version;
  // The pager of a range keeps the mark of the page before when its own page ends in a static row. Nobody looks at it.
  const bool keeps = execution.reads_range && state && state->has_legacy_mark == has_legacy_marks(version);
  if (execution.pages) {
    execution.sink.keep_mark(version, execution.limits.page, keeps ? state->row_mark : Bytes());
  }
  const bool reads = execution.command.range || !execution.command.keys.empty();
  return state && reads ? execution.resume(*state) : Status();
}

Task<Result<QueryResult>> SelectStatement::execute(ExecutionContext& context) const {
  if (context.options.consistency == Consistency::kAny) {
    return Result<QueryResult>(invalid("ANY ConsistencyLevel is only supported for writes"));
  }
  auto execution = begin(context);
  if (!execution.ok()) return Result<QueryResult>(std::move(execution.error()));
  Execution& e = **execution;
  // The common case: one read that completes at once.
  if (!has_groups() && !e.partial && (e.command.range || !e.command.keys.empty())) {
    auto read = context.coordinator.read(e.command, context.options.consistency, e.sink, trace_of(context.trace),
                                         &context.warnings);
    if (!read.ready()) return finish_later(std::move(*execution), std::move(read));
    auto statistics = read.take();
    if (!statistics.ok()) return Result<QueryResult>(std::move(statistics.error()));
    e.tombstones = statistics->tombstones;
    return finish(e);
  }
  return run(std::move(*execution));
}

Task<Result<QueryResult>> SelectStatement::finish_later(std::unique_ptr<Execution> execution,
                                                        Task<Result<ReadStatistics>> read) const {
  CO_ASSIGN_OR_RETURN(ReadStatistics statistics, co_await read);
  execution->tombstones = statistics.tombstones;
  co_return finish(*execution);
}

Task<Result<QueryResult>> SelectStatement::run(std::unique_ptr<Execution> execution) const {
  Execution& e = *execution;
  Consistency consistency = e.context.options.consistency;
  const TracePtr& trace = trace_of(e.context.trace);
  std::vector<std::string>* warnings = &e.context.warnings;
  const uint64_t page = e.command.limits.rows;
  while (true) {
    ReadStatistics read;
    if (e.partial) {
      CO_ASSIGN_OR_RETURN(read, co_await e.context.coordinator.read(*e.partial, consistency, e.sink, trace, warnings));
      e.tombstones += read.tombstones;
    }
    if (!read.stopped && (e.command.range || !e.command.keys.empty())) {
      e.command.limits.rows = page - read.rows;
      CO_ASSIGN_OR_RETURN(read, co_await e.context.coordinator.read(e.command, consistency, e.sink, trace, warnings));
      e.tombstones += read.tombstones;
    }
    // Groups go on when the rows of an internal page are there.
    if (!grouping_ || !read.stopped || e.sink.stopped()) break;
    e.command.limits.rows = page;
    e.resume_behind(e.sink.last_key(), e.sink.last_clustering(), e.sink.left_in_partition());
    co_await e.context.runtime.executor.yield();
  }
  co_return finish(e);
}

// Several partitions, each in order already: their rows, or groups by their first row, by what ORDER BY names of the clustering.
void SelectStatement::order_rows(Execution& execution) const {
  auto& positions = execution.sink.positions();
  Bytes& rows = execution.sink.rows();
  std::vector<size_t> ends(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    ends[i] = i + 1 < positions.size() ? positions[i + 1].offset : rows.size();
  }
  std::vector<size_t> order(positions.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return reversed_ ? positions[b].comparable < positions[a].comparable
                     : positions[a].comparable < positions[b].comparable;
  });
  if (order.size() > execution.limits.rows) order.resize(execution.limits.rows);
  Bytes sorted;
  for (size_t i : order) sorted.append(rows, positions[i].offset, ends[i] - positions[i].offset);
  rows = std::move(sorted);
}

// A result that came too late for the client is no answer.
Status SelectStatement::check_timeout(const Execution& e) const {
  if (!timeout_nanos_ || e.context.runtime.clock.monotonic_nanos() <= e.deadline_nanos) return {};
  ErrorInfo timeout;
  timeout.code = ErrorCode::kReadTimeout;
  timeout.message = "Operation timed out - received 1 of 1 responses after the statement's USING TIMEOUT.";
  timeout.consistency = static_cast<uint16_t>(e.context.options.consistency);
  timeout.required = timeout.received = 1;
  timeout.data_present = true;
  return Error(std::move(timeout));
}

Result<QueryResult> SelectStatement::finish(Execution& e) const {
  TRY(check_timeout(e));
  TRY(e.sink.take_status());
  TRY(e.sink.finish());
  return answer(e);
}

Result<QueryResult> SelectStatement::answer(Execution& e) const {
  uint64_t count = e.sink.row_count();
  if (orders_afterwards_) {
    order_rows(e);
    count = std::min(count, e.limits.rows);
  }
  Result<QueryResult> result{QueryResult()};
  auto& rows =
      result->value.emplace<RowsResult>(selection_.metadata(), static_cast<int32_t>(count), e.sink.take_rows());
  rows.is_as_prepared = true;
  if (auto next = e.next_page()) {
    rows.paging_state = serialize_paging_state(*next, e.context.options.protocol_version);
  }
  const bool has_many_tombstones = e.tombstones > e.context.config.tombstone_warn_threshold;
  if (has_many_tombstones && !e.context.config.read_thresholds_enabled && !is_system_keyspace(table_->keyspace)) {
    result->warnings.push_back("Read " + std::to_string(count) + " live rows and " + std::to_string(e.tombstones) +
                               " tombstone cells for query on " + table_->qualified_name() +
                               " (see tombstone_warn_threshold)");
  }
  return result;
}

// --- Preparing ---

class SelectBuilder {
 public:
  SelectBuilder(const ast::Select& select, PrepareContext& context)
      : select_(select), context_(context), statement_(std::make_unique<SelectStatement>()) {}

  PrepareResult build() {
    for (const ast::OrderBy& order : select_.order_by) {
      if (order.ann_of) return invalid("ORDER BY … ANN OF is not supported yet");
    }
    ASSIGN_OR_RETURN(statement_->table_, context_.table(select_.table));
    statement_->distinct_ = select_.distinct;
    TRY(check_order_columns());
    auto selection = Selection::prepare(statement_->table_, select_.selectors, context_);
    bool only_static = false;
    const bool has_static_columns = table().has_static_columns() && !table().flags.is_static_compact();
    if (selection.ok()) {
      statement_->selection_ = std::move(*selection);
      only_static = statement_->selection_.only_static_and_key() && !statement_->selection_.is_wildcard();
    } else if (has_static_columns) {
      // The lack of a condition is told first, but for names: static columns make Cassandra look at names before.
      ASSIGN_OR_RETURN(only_static, resolves_to_static_columns());
    }
    Restrictions::Options options;
    options.allow_filtering = select_.allow_filtering;
    options.selects_only_static_columns = only_static;
    options.is_distinct = select_.distinct;
    ASSIGN_OR_RETURN(statement_->restrictions_,
                     Restrictions::prepare(statement_->table_, select_.where, options, context_));
    if (!selection.ok()) return selection_error(std::move(selection.error()));
    if (select_.distinct) TRY(check_distinct());
    if (!select_.group_by.empty()) {
      ASSIGN_OR_RETURN(statement_->grouping_,
                       prepare_grouping(select_, statement_->table_, *statement_->restrictions_, context_));
    }
    if (statement_->is_one_group() && select_.per_partition_limit) {
      return invalid("PER PARTITION LIMIT is not allowed with aggregate queries.");
    }
    if (!select_.order_by.empty()) TRY(prepare_order());
    TRY(statement_->restrictions_->check_filtering());
    TRY(prepare_limits());
    TRY(prepare_timeout());
    prepare_fetched_columns();
    if (select_.json) statement_->selection_.make_json();
    return std::unique_ptr<Statement>(std::move(statement_));
  }

 private:
  const TableMetadata& table() const { return *statement_->table_; }

  // When no column outside of the key is named, all are read.
  void prepare_fetched_columns() {
    const Selection& selection = statement_->selection_;
    bool regular = selection.uses(ColumnKind::kRegular), is_static = selection.uses(ColumnKind::kStatic);
    for (const ast::Relation& relation : select_.where.relations) {
      const Column* column = table().column(relation.columns[0]);
      if (column->kind == ColumnKind::kRegular) statement_->filters_regular_columns_ = regular = true;
      if (column->kind == ColumnKind::kStatic) is_static = true;
    }
    statement_->fetches_static_columns_ = table().has_static_columns() && (is_static || !regular);
  }

  // Whether a selection that cannot be prepared names static columns and the partition key alone.
  Result<bool> resolves_to_static_columns() const {
    // Cassandra resolves them as it looks for the first one of a kind, and no further.
    auto first_of = [this](std::initializer_list<ColumnKind> kinds) -> Result<bool> {
      for (const ast::Selector& selector : select_.selectors) {
        ASSIGN_OR_RETURN(bool is_named, names_column(selector.selectable, kinds));
        if (is_named) return true;
      }
      return false;
    };
    ASSIGN_OR_RETURN(bool any_static, first_of({ColumnKind::kStatic}));
    if (!any_static) return false;
    ASSIGN_OR_RETURN(bool any_other, first_of({ColumnKind::kClustering, ColumnKind::kRegular}));
    return !any_other;
  }

  // Whether Cassandra takes it for one that names a column of the kinds (Selectable.selectColumns): in the literal of a map or of
  // a UDT, by mistake, a value that names none.
  Result<bool> names_column(const ast::Selectable& selectable, std::initializer_list<ColumnKind> kinds) const {
    SelectorBuilder builder(table(), context_);
    TRY(builder.resolve_names(selectable));
    if (const auto* hint = std::get_if<ast::TypeHintSelectable>(&selectable.value)) {
      return names_column(*hint->selectable, kinds);
    }
    if (const auto* literal = std::get_if<ast::MapOrUdtSelectable>(&selectable.value)) {
      for (const auto& [key, value] : literal->entries) {
        if (!std::holds_alternative<ast::ColumnSelectable>(key.value)) {
          ASSIGN_OR_RETURN(bool key_is_named, names_column(key, kinds));
          if (key_is_named) return true;
        }
        ASSIGN_OR_RETURN(bool value_is_named, names_column(value, kinds));
        if (!value_is_named) return true;
      }
    }
    return std::ranges::any_of(builder.used(), [&](const Column* column) {
      return std::find(kinds.begin(), kinds.end(), column->kind) != kinds.end();
    });
  }

  // The error of the first selector that cannot be prepared, first that of its names.
  Error selection_error(Error found) const {
    for (const ast::Selector& selector : select_.selectors) {
      SelectorBuilder builder(table(), context_);
      if (Status status = builder.resolve_names(selector.selectable); !status.ok()) return std::move(status.error());
      if (!Selection::prepare(statement_->table_, {selector}, context_).ok()) return found;
    }
    return found;
  }

  Status check_distinct() {
    if (select_.per_partition_limit) return invalid("PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries");
    for (const ast::Relation& relation : select_.where.relations) {
      const Column* column = table().column(relation.columns[0]);
      if (column->kind == ColumnKind::kClustering || column->kind == ColumnKind::kRegular) {
        return invalid(
            "SELECT DISTINCT with WHERE clause only supports restriction by partition key and/or static columns.");
      }
    }
    auto used = statement_->selection_.used_columns();
    // To be sorted by, they are read.
    if (statement_->restrictions_->key_has_in()) {
      for (const ast::OrderBy& order : select_.order_by) used.push_back(table().column(order.column));
    }
    for (const Column* column : used) {
      if (column->kind != ColumnKind::kPartitionKey && column->kind != ColumnKind::kStatic) {
        return invalid("SELECT DISTINCT queries must only request partition key columns and/or static columns (not " +
                       column->name + ")");
      }
    }
    if (statement_->restrictions_->has_partition_keys()) return {};
    for (const ColumnPtr& column : table().partition_key) {
      if (std::find(used.begin(), used.end(), column.get()) == used.end()) {
        return invalid("SELECT DISTINCT queries must request all the partition key columns (missing " + column->name +
                       ")");
      }
    }
    return {};
  }

  Status check_order_columns() const {
    for (const ast::OrderBy& order : select_.order_by) TRY(named_column(table(), order.column));
    return {};
  }

  Status prepare_order() {
    const Restrictions& restrictions = *statement_->restrictions_;
    if (restrictions.index() != nullptr) {
      return invalid("ORDER BY with 2ndary indexes is not supported, except for ANN queries.");
    }
    if (!restrictions.has_partition_keys()) {
      return invalid("ORDER BY is only supported when the partition key is restricted by an EQ or an IN.");
    }
    // A column that is named again keeps its place.
    std::vector<std::pair<const Column*, bool>> orders;
    for (const ast::OrderBy& order : select_.order_by) {
      const Column* column = table().column(order.column);
      auto same = std::find_if(orders.begin(), orders.end(), [&](const auto& other) { return other.first == column; });
      if (same == orders.end()) same = orders.emplace(orders.end(), column, false);
      same->second = order.descending;
    }
    size_t position = 0;
    std::optional<bool> reversed;
    for (const auto& [column, descending] : orders) {
      if (column->kind != ColumnKind::kClustering) {
        return invalid("Order by is currently only supported on the clustered columns of the PRIMARY KEY, got " +
                       column->name);
      }
      while (position != static_cast<size_t>(column->position)) {
        if (position >= table().clustering.size() ||
            !restrictions.is_restricted_by_equality(table().clustering[position++].get())) {
          return invalid(
              "Order by currently only supports the ordering of columns following their declared order in the "
              "PRIMARY KEY");
        }
      }
      ++position;
      bool opposite = descending != column->type->is_reversed();
      if (reversed && *reversed != opposite) return invalid("Unsupported order by relation");
      reversed = opposite;
    }
    statement_->reversed_ = *reversed;
    statement_->orders_afterwards_ = restrictions.key_has_in();
    statement_->ordering_columns_ = position;
    return {};
  }

  Status prepare_limits() {
    auto prepare = [this](const std::optional<ast::Term>& term, const char* name, TermPtr& into) -> Status {
      if (!term) return {};
      ColumnSpec receiver{table().keyspace, table().name, name, types::int_()};
      ASSIGN_OR_RETURN(into, prepare_term(*term, receiver, context_));
      return {};
    };
    TRY(prepare(select_.limit, "[limit]", statement_->limit_));
    return prepare(select_.per_partition_limit, "[per_partition_limit]", statement_->per_partition_limit_);
  }

  Status prepare_timeout() {
    if (!select_.timeout) return {};
    ASSIGN_OR_RETURN(CqlDuration duration, parse_duration(*select_.timeout));
    bool is_time = duration.months == 0 && duration.days == 0 && duration.nanos >= 0;
    if (!is_time) return invalid("USING TIMEOUT wants a duration of hours or less units, not " + *select_.timeout);
    statement_->timeout_nanos_ = duration.nanos;
    return {};
  }

  const ast::Select& select_;
  PrepareContext& context_;
  std::unique_ptr<SelectStatement> statement_;
};

PrepareResult prepare_select(const ast::Select& select, PrepareContext& context) {
  return SelectBuilder(select, context).build();
}

}  // namespace cassandra_like
