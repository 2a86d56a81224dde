// Checks INSERT, UPDATE and DELETE against the schema (UpdateStatement, DeleteStatement, ModificationStatement).
#include <algorithm>

#include "cql/context/named_column.h"
#include "cql/modification/insert_json.h"
#include "cql/modification/modification.h"
#include "model/values.h"

namespace cassandra_like {

class ModificationBuilder {
 public:
  ModificationBuilder(Modification::Kind kind, PrepareContext& context)
      : context_(context), statement_(std::make_unique<Modification>()) {
    statement_->statement_kind_ = kind;
  }

  Status begin(const ast::QualifiedName& name, const ast::Attributes& attributes) {
    ASSIGN_OR_RETURN(statement_->table_, context_.table(name));
    ASSIGN_OR_RETURN(statement_->attributes_, prepare_attributes(attributes, table(), context_));
    if (table().is_virtual && attributes.timestamp) {
      return invalid("Custom timestamp is not supported by virtual tables");
    }
    if (table().is_virtual && attributes.ttl) return invalid("Expiring columns are not supported by virtual tables");
    return {};
  }

  const TableMetadata& table() const { return *statement_->table_; }
  const TablePtr& table_ptr() const { return statement_->table_; }

  Result<const Column*> column(const std::string& name) const { return named_column(table(), name); }

  void add(OperationPtr operation) {
    statement_->requires_read_ = statement_->requires_read_ || operation->requires_read();
    bool is_static = operation->column()->kind == ColumnKind::kStatic;
    operation->position = statement_->static_operations_.size() + statement_->regular_operations_.size();
    (is_static ? statement_->static_operations_ : statement_->regular_operations_).push_back(std::move(operation));
  }

  bool only_static() const {
    return statement_->regular_operations_.empty() && !statement_->static_operations_.empty();
  }
  bool has_operations() const {
    return !statement_->regular_operations_.empty() || !statement_->static_operations_.empty();
  }
  void set_deletes_rows() { statement_->deletes_rows_ = true; }
  std::vector<TermPtr>& key_terms() { return statement_->key_terms_; }
  std::vector<TermPtr>& clustering_terms() { return statement_->clustering_terms_; }

  Status where(const ast::WhereClause& where, Restrictions::Use use) {
    Restrictions::Options options;
    options.use = use;
    options.selects_only_static_columns = only_static();
    ASSIGN_OR_RETURN(statement_->restrictions_, Restrictions::prepare(statement_->table_, where, options, context_));
    return {};
  }
  const Restrictions& restrictions() const { return *statement_->restrictions_; }

  PrepareResult finish() {
    const bool is_deletion = statement_->statement_kind_ == Modification::Kind::kDelete;
    if (table().flags.is_compact_table() && !is_deletion && !has_operations()) {
      statement_->unset_value_ = table().regular_columns[0].get();
    }
    auto by_column = [](const OperationPtr& a, const OperationPtr& b) {
      return compare_columns(a->column(), b->column()) < 0;
    };
    std::stable_sort(statement_->regular_operations_.begin(), statement_->regular_operations_.end(), by_column);
    std::stable_sort(statement_->static_operations_.begin(), statement_->static_operations_.end(), by_column);
    return std::unique_ptr<Statement>(std::move(statement_));
  }

 private:
  PrepareContext& context_;
  std::unique_ptr<Modification> statement_;
};

namespace {

Error not_supported(const std::string& what) { return invalid(what + " is not supported yet"); }

Status check_unconditional(const ast::UpdateConditions& conditions) {
  if (conditions.if_exists || !conditions.conditions.empty()) return not_supported("A conditional update (IF …)");
  return {};
}

// The values of a key's columns; names the first that is missing.
Status check_key_given(const std::vector<ColumnPtr>& columns, const std::vector<TermPtr>& terms) {
  std::string missing;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (terms[i] == nullptr) missing += (missing.empty() ? "" : ", ") + columns[i]->name;
  }
  if (missing.empty()) return {};
  return invalid("Some partition key parts are missing: " + missing);
}

Status check_clusterings_follow(const std::vector<ColumnPtr>& columns, const std::vector<TermPtr>& terms) {
  for (size_t i = 1; i < columns.size(); ++i) {
    if (terms[i] == nullptr || terms[i - 1] != nullptr) continue;
    return invalid("PRIMARY KEY column \"" + columns[i]->name + "\" cannot be restricted as preceding column \"" +
                   columns[i - 1]->name + "\" is not restricted");
  }
  return {};
}

Status check_clustering_given(ModificationBuilder& builder, bool sets_regular) {
  auto& terms = builder.clustering_terms();
  const auto& columns = builder.table().clustering;
  bool none = std::all_of(terms.begin(), terms.end(), [](const TermPtr& term) { return term == nullptr; });
  // Static columns belong to the partition: no row is named then.
  if (none && !columns.empty() && builder.only_static() && !sets_regular) {
    terms.clear();
    return {};
  }
  // Rows of tables with COMPACT STORAGE may lack their last clusterings.
  if (builder.table().flags.is_compact_table() && !none) return check_clusterings_follow(columns, terms);
  std::string missing;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (terms[i] == nullptr) missing += (missing.empty() ? "" : ", ") + columns[i]->name;
  }
  if (missing.empty()) return {};
  return invalid("Some clustering keys are missing: " + missing);
}

Status prepare_insert_columns(const ast::Insert& insert, ModificationBuilder& builder, PrepareContext& context) {
  const TableMetadata& table = builder.table();
  auto seen = insert.columns;
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) {
    return invalid("The column names contains duplicates");
  }
  std::vector<std::pair<const Column*, const ast::Term*>> keys;
  for (size_t i = 0; i < insert.columns.size(); ++i) {
    ASSIGN_OR_RETURN(const Column* column, builder.column(insert.columns[i]));
    if (column->is_primary_key()) {
      keys.emplace_back(column, &insert.values[i]);
      continue;
    }
    ASSIGN_OR_RETURN(OperationPtr operation, prepare_set_value(table, column, insert.values[i], context));
    builder.add(std::move(operation));
  }
  // Keys are relations to Cassandra, and looked at after the other values.
  for (const auto& [column, value] : keys) {
    ColumnSpec receiver{table.keyspace, table.name, column->name, column->type};
    auto& terms = column->kind == ColumnKind::kPartitionKey ? builder.key_terms() : builder.clustering_terms();
    ASSIGN_OR_RETURN(terms[static_cast<size_t>(column->position)], prepare_term(*value, receiver, context));
  }
  return {};
}

}  // namespace

PrepareResult prepare_insert(const ast::Insert& insert, PrepareContext& context) {
  if (insert.if_not_exists) return not_supported("A conditional insert (IF NOT EXISTS)");
  ModificationBuilder builder(Modification::Kind::kInsert, context);
  TRY(builder.begin(insert.table, insert.using_));
  if (builder.table().is_counter()) {
    return invalid("INSERT statements are not allowed on counter tables, use UPDATE instead");
  }
  if (insert.columns.empty()) return invalid("Column names for INSERT must be provided when using VALUES");
  if (insert.columns.size() != insert.values.size()) return invalid("Unmatched column names/values");
  builder.key_terms().resize(builder.table().partition_key.size());
  builder.clustering_terms().resize(builder.table().clustering.size());
  TRY(prepare_insert_columns(insert, builder, context));
  TRY(check_key_given(builder.table().partition_key, builder.key_terms()));
  TRY(check_clustering_given(builder, false));
  return builder.finish();
}

PrepareResult prepare_insert_json(const ast::InsertJson& insert, PrepareContext& context) {
  if (insert.if_not_exists) return not_supported("A conditional insert (IF NOT EXISTS)");
  ModificationBuilder builder(Modification::Kind::kInsert, context);
  TRY(builder.begin(insert.table, insert.using_));
  const TableMetadata& table = builder.table();
  if (table.is_counter()) return invalid("INSERT statements are not allowed on counter tables, use UPDATE instead");
  ASSIGN_OR_RETURN(JsonColumns columns, JsonColumns::prepare(builder.table_ptr(), insert, context));
  if (table.flags.is_static_compact()) TRY(builder.column(table.clustering[0]->name));  // which nobody can name
  for (const ColumnPtr& column : table.partition_key) builder.key_terms().push_back(columns.term(column.get()));
  for (const ColumnPtr& column : table.clustering) builder.clustering_terms().push_back(columns.term(column.get()));
  for (const auto* others : {&table.static_columns, &table.regular_columns}) {
    for (const ColumnPtr& column : *others) {
      ASSIGN_OR_RETURN(OperationPtr operation, set_value(column.get(), columns.term(column.get())));
      builder.add(std::move(operation));
    }
  }
  return builder.finish();
}

PrepareResult prepare_update(const ast::Update& update, PrepareContext& context) {
  TRY(check_unconditional(update.if_));
  ModificationBuilder builder(Modification::Kind::kUpdate, context);
  TRY(builder.begin(update.table, update.using_));
  for (const ast::Assignment& assignment : update.assignments) {
    ASSIGN_OR_RETURN(const Column* column, builder.column(assignment.column));
    if (column->is_primary_key()) return invalid("PRIMARY KEY part " + column->name + " found in SET part");
    ASSIGN_OR_RETURN(OperationPtr operation, prepare_assignment(builder.table(), column, assignment, context));
    builder.add(std::move(operation));
  }
  TRY(builder.where(update.where, Restrictions::Use::kUpdate));
  return builder.finish();
}

PrepareResult prepare_delete(const ast::Delete& deletion, PrepareContext& context) {
  TRY(check_unconditional(deletion.if_));
  ModificationBuilder builder(Modification::Kind::kDelete, context);
  TRY(builder.begin(deletion.table, deletion.using_));
  std::vector<const Column*> whole;
  for (const ast::Deletion& part : deletion.deletions) {
    ASSIGN_OR_RETURN(const Column* column, builder.column(part.column));
    if (column->is_primary_key()) {
      return invalid("Invalid identifier " + column->name + " for deletion (should not be a PRIMARY KEY part)");
    }
    ASSIGN_OR_RETURN(OperationPtr operation, prepare_deletion(builder.table(), column, part, context));
    // A row holds a column once, however often its deletion is asked for.
    bool is_whole = std::holds_alternative<std::monostate>(part.part);
    if (is_whole && std::find(whole.begin(), whole.end(), column) != whole.end()) continue;
    if (is_whole) whole.push_back(column);
    builder.add(std::move(operation));
  }
  if (!builder.has_operations()) builder.set_deletes_rows();
  TRY(builder.where(deletion.where, Restrictions::Use::kDelete));
  return builder.finish();
}

}  // namespace cassandra_like
