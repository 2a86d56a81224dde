#include "cql/modification/operation.h"
#include "model/counter.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "cql/context/query_services.h"
#include "cql/expressions/term_internal.h"
#include "model/values.h"

namespace cassandra_like {

// --- RowBuilder ---

void RowBuilder::add(const Column* column, BytesView value, BytesView path) {
  Cell cell;
  cell.column = column;
  cell.timestamp = timestamp_;
  cell.value = value;
  cell.path = path;
  if (ttl_ != 0) {
    cell.ttl = ttl_;
    cell.local_deletion_time = std::min(context.now_seconds + ttl_, context.config.max_deletion_time);
  }
  needs_sorting_ = needs_sorting_ || !is_null(path);
  cells_.push_back(cell);
}

void RowBuilder::add_tombstone(const Column* column, BytesView path) {
  Cell cell;
  cell.column = column;
  cell.timestamp = timestamp_;
  cell.local_deletion_time = context.now_seconds;
  cell.value = BytesView("", 0);
  cell.path = path;
  needs_sorting_ = needs_sorting_ || !is_null(path);
  cells_.push_back(cell);
}

void RowBuilder::add_counter(const Column* column, int64_t delta) {
  if (!cells_.empty() && cells_.back().column == column) {
    uint64_t sum = static_cast<uint64_t>(counter_total(cells_.back().value)) + static_cast<uint64_t>(delta);
    cells_.back().value = context.arena.copy(make_counter_update(static_cast<int64_t>(sum)));
    return;
  }
  Cell cell;
  cell.column = column;
  cell.timestamp = timestamp_;
  cell.value = context.arena.copy(make_counter_update(delta));
  cells_.push_back(cell);
}

void RowBuilder::delete_complex(const Column* column, bool for_overwrite) {
  complex_deletions_.push_back({column, {for_overwrite ? timestamp_ - 1 : timestamp_, context.now_seconds}});
}

Liveness RowBuilder::liveness() const {
  Liveness liveness;
  liveness.timestamp = timestamp_;
  if (ttl_ != 0) {
    liveness.ttl = ttl_;
    liveness.local_expiration_time = std::min(context.now_seconds + ttl_, context.config.max_deletion_time);
  }
  return liveness;
}

Row RowBuilder::build() {
  static const TypePtr kTimeuuid = types::timeuuid();
  static const TypePtr kFieldIndex = types::smallint();
  auto path_type = [](const Column& column) -> const Type& {
    if (column.type->kind() == TypeKind::kList) return *kTimeuuid;
    return column.type->is_udt() ? *kFieldIndex : *column.type->elements()[0];
  };
  auto cells = cells_.span();
  if (needs_sorting_) {
    std::stable_sort(cells.begin(), cells.end(), [&](const Cell& a, const Cell& b) {
      int order = compare_columns(a.column, b.column);
      if (order != 0) return order < 0;
      return a.column->is_complex() && path_type(*a.column).compare(a.path, b.path) < 0;
    });
    // Several cells for one element are as if several statements had written them at that time.
    size_t kept = 0;
    for (size_t i = 0; i < cells.size(); ++i) {
      bool same = kept > 0 && cells[kept - 1].column == cells[i].column &&
                  (!cells[i].column->is_complex() || cells[kept - 1].path == cells[i].path);
      if (!same) {
        cells[kept++] = cells[i];
      } else if (reconcile(cells[kept - 1], cells[i]) < 0) {
        cells[kept - 1] = cells[i];
      }
    }
    cells = cells.first(kept);
  }
  Row row;
  row.cells = cells;
  row.complex_deletions = complex_deletions_.span();
  return row;
}

std::span<const Cell> RowBuilder::elements(const Column* list, Arena& scratch) const {
  RowBuilder changes(*this);  // building sorts the cells: those of a copy
  changes.cells_ = ArenaVector<Cell>(scratch, cells_.size());
  for (const Cell& cell : cells_.span()) changes.cells_.push_back(cell);
  const Row changed = changes.build();
  const Row none;
  const Row* rows[] = {prefetched != nullptr ? prefetched : &none, &changed};
  const Row now = live_row(merge_rows(rows, {}, scratch), context.now_seconds, scratch);
  auto is_of_list = [&](const Cell& cell) { return cell.column == list; };
  auto begin = std::find_if(now.cells.begin(), now.cells.end(), is_of_list);
  return {begin, std::find_if_not(begin, now.cells.end(), is_of_list)};
}

namespace {

// --- Operations ---

class SetSimple : public Operation {
 public:
  SetSimple(const Column* column, TermPtr value) : Operation(column), value_(std::move(value)) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_unset(value)) return {};
    if (is_null(value)) {
      row.add_tombstone(column_);
    } else {
      row.add(column_, value);
    }
    return {};
  }
  bool writes_collection() const override { return column_->type->is_collection(); }

 private:
  TermPtr value_;
};

Bytes field_path(size_t index) {
  Bytes path;
  append_be<uint16_t>(path, static_cast<uint16_t>(index));
  return path;
}

// The elements of a serialized collection or UDT as cells. With replace, what was there before goes.
class SetComplex : public Operation {
 public:
  SetComplex(const Column* column, TermPtr value, bool replace)
      : Operation(column), value_(std::move(value)), replace_(replace) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_unset(value)) return {};
    if (replace_) row.delete_complex(column_, true);
    if (is_null(value)) return {};
    if (column_->type->is_udt()) return add_fields(row, value);
    auto elements = ElementReader::collection(value);
    BytesView element, mapped;
    while (elements.next(&element)) {
      switch (column_->type->kind()) {
        case TypeKind::kList:
          row.add(column_, element, row.context.arena.copy(row.context.services.next_time_uuid().view()));
          break;
        case TypeKind::kSet:
          row.add(column_, BytesView("", 0), element);
          break;
        default:
          if (!elements.next(&mapped)) return invalid("Not enough bytes to read a map");
          row.add(column_, mapped, element);
      }
    }
    return {};
  }
  bool writes_collection() const override { return column_->type->is_collection(); }

 private:
  Status add_fields(RowBuilder& row, BytesView value) const {
    auto fields = ElementReader::tuple(value);
    BytesView field;
    for (size_t i = 0; i < column_->type->elements().size() && fields.next(&field); ++i) {
      if (is_null(field)) continue;
      row.add(column_, field, row.context.arena.copy(field_path(i)));
    }
    return {};
  }

  TermPtr value_;
  bool replace_;
};

// A list's elements in front: paths whose time runs backwards from a reference, as Cassandra's Lists.Prepender.
class PrependToList : public Operation {
 public:
  PrependToList(const Column* column, TermPtr value) : Operation(column), value_(std::move(value)) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_null(value) || is_unset(value)) return {};
    std::vector<BytesView> values;
    auto elements = ElementReader::collection(value);
    BytesView element;
    while (elements.next(&element)) values.push_back(element);
    // 2010-01-01 in 100 ns units since 1582.
    constexpr uint64_t kReference = kUuidEpochOffset + 1262304000000ULL * 10000;
    for (size_t i = values.size(); i-- > 0;) {
      Uuid now = row.context.services.next_time_uuid();
      Reader low(now.view().substr(8));
      Uuid path = Uuid::time_based(kReference - (now.raw_timestamp() - kReference), low.be<uint64_t>());
      row.add(column_, values[i], row.context.arena.copy(path.view()));
    }
    return {};
  }

 private:
  TermPtr value_;
};

// c[i] = v, and DELETE c[i] when there is no value.
class ListByIndex : public Operation {
 public:
  ListByIndex(const Column* column, TermPtr index, TermPtr value)
      : Operation(column), index_(std::move(index)), value_(std::move(value)) {}
  const char* list_read() const override {
    return value_ == nullptr ? "Removal of list items by index requiring read before write"
                             : "Setting of list items by index requiring read before write";
  }
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView index, index_->bind(row.context));
    BytesView value = kNull;
    if (value_ != nullptr) {
      ASSIGN_OR_RETURN(value, value_->bind(row.context));
    }
    if (is_null(index)) return invalid("Invalid null value for list index");
    if (is_unset(index)) {
      if (value_ == nullptr) return {};
      return invalid("Invalid unset value for list index");
    }
    if (index.empty()) return invalid("Invalid empty value for list index");
    Arena scratch;
    const std::span<const Cell> elements = row.elements(column_, scratch);
    int32_t at = decode_int(index);
    if (elements.empty()) {
      return invalid(value_ == nullptr ? "Attempted to delete an element from a list which is null"
                                       : "Attempted to set an element on a list which is null");
    }
    if (at < 0 || static_cast<size_t>(at) >= elements.size()) {
      return invalid("List index " + std::to_string(at) + " out of bound, list has size " +
                     std::to_string(elements.size()));
    }
    BytesView path = elements[static_cast<size_t>(at)].path;
    if (is_null(value)) {
      row.add_tombstone(column_, path);
    } else if (!is_unset(value)) {
      row.add(column_, value, path);
    }
    return {};
  }

 private:
  TermPtr index_, value_;
};

class MapByKey : public Operation {
 public:
  MapByKey(const Column* column, TermPtr key, TermPtr value)
      : Operation(column), key_(std::move(key)), value_(std::move(value)) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView key, key_->bind(row.context));
    if (is_null(key)) return invalid("Invalid null map key");
    if (is_unset(key)) return invalid("Invalid unset map key");
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_unset(value)) return {};
    if (is_null(value)) {
      row.add_tombstone(column_, key);
    } else {
      row.add(column_, value, key);
    }
    return {};
  }

 private:
  TermPtr key_, value_;
};

class SetField : public Operation {
 public:
  SetField(const Column* column, size_t field, TermPtr value)
      : Operation(column), path_(field_path(field)), value_(std::move(value)) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_unset(value)) return {};
    if (is_null(value)) {
      row.add_tombstone(column_, path_);
    } else {
      row.add(column_, value, path_);
    }
    return {};
  }

 private:
  Bytes path_;
  TermPtr value_;
};

class AddToCounter : public Operation {
 public:
  AddToCounter(const Column* column, TermPtr value, bool negate)
      : Operation(column), value_(std::move(value)), negate_(negate) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_unset(value)) return {};
    if (is_null(value)) return invalid("Invalid null value for counter increment");
    if (value.empty()) return invalid("Invalid empty value for counter increment");
    int64_t delta = decode_bigint(value);
    if (negate_ && delta == std::numeric_limits<int64_t>::min()) {
      return invalid("The negation of " + std::to_string(delta) +
                     " overflows supported counter precision (signed 8 bytes integer)");
    }
    row.add_counter(column_, negate_ ? -delta : delta);
    return {};
  }

 private:
  TermPtr value_;
  bool negate_;
};

// s = s - {…}, m = m - {keys}: the elements of a serialized set go.
class DiscardElements : public Operation {
 public:
  DiscardElements(const Column* column, TermPtr value) : Operation(column), value_(std::move(value)) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_null(value) || is_unset(value)) return {};
    auto elements = ElementReader::collection(value);
    BytesView element;
    while (elements.next(&element)) row.add_tombstone(column_, element);
    return {};
  }

 private:
  TermPtr value_;
};

class DiscardFromList : public Operation {
 public:
  DiscardFromList(const Column* column, TermPtr value) : Operation(column), value_(std::move(value)) {}
  const char* list_read() const override { return "Removal of list items requiring read before write"; }
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView value, value_->bind(row.context));
    if (is_null(value) || is_unset(value)) return {};
    absl::flat_hash_set<BytesView> unwanted;
    auto elements = ElementReader::collection(value);
    BytesView element;
    while (elements.next(&element)) unwanted.insert(element);
    Arena scratch;
    for (const Cell& present : row.elements(column_, scratch)) {
      if (unwanted.contains(present.value)) row.add_tombstone(column_, present.path);
    }
    return {};
  }

 private:
  TermPtr value_;
};

class DeleteColumn : public Operation {
 public:
  using Operation::Operation;
  Status apply(RowBuilder& row) const override {
    if (column_->is_complex()) {
      row.delete_complex(column_, false);
    } else {
      row.add_tombstone(column_);
    }
    return {};
  }
};

class DeleteElement : public Operation {
 public:
  DeleteElement(const Column* column, TermPtr key) : Operation(column), key_(std::move(key)) {}
  Status apply(RowBuilder& row) const override {
    ASSIGN_OR_RETURN(BytesView key, key_->bind(row.context));
    bool map = column_->type->kind() == TypeKind::kMap;
    if (is_null(key)) return invalid(map ? "Invalid null map key" : "Invalid null set element");
    if (is_unset(key)) return invalid(map ? "Invalid unset map key" : "Invalid unset set element");
    row.add_tombstone(column_, key);
    return {};
  }

 private:
  TermPtr key_;
};

class DeleteField : public Operation {
 public:
  DeleteField(const Column* column, size_t field) : Operation(column), path_(field_path(field)) {}
  Status apply(RowBuilder& row) const override {
    row.add_tombstone(column_, path_);
    return {};
  }

 private:
  Bytes path_;
};

// --- Preparing ---

struct Preparer {
  const TableMetadata& table;
  const Column* column;
  PrepareContext& context;

  ColumnSpec receiver() const { return {table.keyspace, table.name, column->name, column->type}; }
  ColumnSpec spec(std::string name, TypePtr type) const {
    return {table.keyspace, table.name, std::move(name), std::move(type)};
  }
  ColumnSpec value_spec() const { return spec("value(" + column->name + ")", column->type->elements().back()); }
  ColumnSpec key_spec() const { return spec("key(" + column->name + ")", column->type->elements()[0]); }
  ColumnSpec index_spec() const { return spec("idx(" + column->name + ")", types::int_()); }
  bool is_list() const { return column->type->kind() == TypeKind::kList; }
  bool is_map() const { return column->type->kind() == TypeKind::kMap; }

  Error bad_operation(const std::string& operation, const std::string& what) const {
    return invalid("Invalid operation (" + operation + ") for " + what + " column " + column->name);
  }
  // For operations that only multi-cell collections have.
  Status check_collection(const std::string& operation) const {
    if (!column->type->is_collection()) return bad_operation(operation, "non collection");
    if (!column->is_complex()) return bad_operation(operation, "frozen collection");
    return {};
  }

  Result<OperationPtr> set_element(const ast::Assignment& a) const {
    std::string text = column->name + "[" + source(*a.element, context) + "] = " + source(a.value, context);
    TRY(check_collection(text));
    if (column->type->kind() == TypeKind::kSet) return bad_operation(text, "set");
    ASSIGN_OR_RETURN(TermPtr key, prepare_term(*a.element, is_list() ? index_spec() : key_spec(), context));
    ASSIGN_OR_RETURN(TermPtr value, prepare_term(a.value, value_spec(), context));
    if (is_list()) return OperationPtr(std::make_unique<ListByIndex>(column, std::move(key), std::move(value)));
    return OperationPtr(std::make_unique<MapByKey>(column, std::move(key), std::move(value)));
  }

  Result<size_t> field_of(const std::string& field) const {
    auto index = static_cast<const UserType&>(*column->type).field_index(field);
    if (!index) return invalid("UDT column " + column->name + " does not have a field named " + field);
    return *index;
  }

  Result<OperationPtr> set_field(const ast::Assignment& a) const {
    std::string text = column->name + "." + a.field + " = " + source(a.value, context);
    if (!column->type->is_udt()) return bad_operation(text, "non-UDT");
    if (!column->is_complex()) return bad_operation(text, "frozen UDT");
    ASSIGN_OR_RETURN(size_t field, field_of(a.field));
    ASSIGN_OR_RETURN(
        TermPtr value,
        prepare_term(a.value, spec(column->name + "." + a.field, column->type->elements()[field]), context));
    return OperationPtr(std::make_unique<SetField>(column, field, std::move(value)));
  }

  Result<OperationPtr> add(const ast::Assignment& a, bool subtract) const {
    std::string sign = subtract ? " - " : " + ";
    std::string text = column->name + " = " + column->name + sign + source(a.value, context);
    if (!column->type->is_collection()) {
      if (!subtract && column->type->is_tuple()) return bad_operation(text, "tuple");
      if (!column->type->is_counter()) return bad_operation(text, "non counter");
      ASSIGN_OR_RETURN(TermPtr value, prepare_term(a.value, receiver(), context));
      return OperationPtr(std::make_unique<AddToCounter>(column, std::move(value), subtract));
    }
    if (!column->is_complex()) return bad_operation(text, "frozen collection");
    if (subtract && is_map()) {
      auto keys = prepare_term(a.value, spec(column->name, types::set(column->type->elements()[0], false)), context);
      if (!keys.ok()) {
        return invalid("Value for a map substraction has to be a set, but was: '" + source(a.value, context) + "'");
      }
      return OperationPtr(std::make_unique<DiscardElements>(column, std::move(*keys)));
    }
    auto value = prepare_term(a.value, receiver(), context);
    if (!value.ok() && !subtract && is_map()) {
      return invalid("Value for a map addition has to be a map, but was: '" + source(a.value, context) + "'");
    }
    if (!value.ok()) return std::move(value.error());
    if (!subtract) return OperationPtr(std::make_unique<SetComplex>(column, std::move(*value), false));
    if (is_list()) return OperationPtr(std::make_unique<DiscardFromList>(column, std::move(*value)));
    return OperationPtr(std::make_unique<DiscardElements>(column, std::move(*value)));
  }

  Result<OperationPtr> prepend(const ast::Assignment& a) const {
    std::string text = column->name + " = " + source(a.value, context) + " - " + column->name;
    ASSIGN_OR_RETURN(TermPtr value, prepare_term(a.value, receiver(), context));
    if (!is_list()) return bad_operation(text, "non list");
    if (!column->is_complex()) return bad_operation(text, "frozen list");
    return OperationPtr(std::make_unique<PrependToList>(column, std::move(value)));
  }
};

}  // namespace

Result<OperationPtr> prepare_set_value(const TableMetadata& table, const Column* column, const ast::Term& value,
                                       PrepareContext& context) {
  ColumnSpec receiver{table.keyspace, table.name, column->name, column->type};
  ASSIGN_OR_RETURN(TermPtr term, prepare_term(value, receiver, context));
  return set_value(column, std::move(term));
}

Result<OperationPtr> set_value(const Column* column, TermPtr term) {
  if (column->type->is_counter()) {
    return invalid("Cannot set the value of counter column " + column->name +
                   " (counters can only be incremented/decremented, not set)");
  }
  if (column->is_complex()) return OperationPtr(std::make_unique<SetComplex>(column, std::move(term), true));
  return OperationPtr(std::make_unique<SetSimple>(column, std::move(term)));
}

Result<OperationPtr> prepare_assignment(const TableMetadata& table, const Column* column,
                                        const ast::Assignment& assignment, PrepareContext& context) {
  Preparer preparer{table, column, context};
  switch (assignment.kind) {
    case ast::Assignment::Kind::kSet:
      return prepare_set_value(table, column, assignment.value, context);
    case ast::Assignment::Kind::kSetElement:
      return preparer.set_element(assignment);
    case ast::Assignment::Kind::kSetField:
      return preparer.set_field(assignment);
    case ast::Assignment::Kind::kAdd:
      return preparer.add(assignment, false);
    case ast::Assignment::Kind::kSubtract:
      return preparer.add(assignment, true);
    case ast::Assignment::Kind::kPrepend:
      return preparer.prepend(assignment);
  }
  return invalid("Unknown operation on column " + column->name);
}

Result<OperationPtr> prepare_deletion(const TableMetadata& table, const Column* column, const ast::Deletion& deletion,
                                      PrepareContext& context) {
  Preparer preparer{table, column, context};
  if (std::holds_alternative<std::monostate>(deletion.part)) {
    return OperationPtr(std::make_unique<DeleteColumn>(column));
  }
  if (const auto* field = std::get_if<std::string>(&deletion.part)) {
    if (!column->type->is_udt()) return invalid("Invalid field deletion operation for non-UDT column " + column->name);
    if (!column->is_complex())
      return invalid("Frozen UDT column " + column->name + " does not support field deletions");
    ASSIGN_OR_RETURN(size_t index, preparer.field_of(*field));
    return OperationPtr(std::make_unique<DeleteField>(column, index));
  }
  const auto& element = std::get<ast::Term>(deletion.part);
  if (!column->type->is_collection()) {
    return invalid("Invalid deletion operation for non collection column " + column->name);
  }
  if (!column->is_complex()) return invalid("Invalid deletion operation for frozen collection column " + column->name);
  ColumnSpec spec = preparer.is_list()  ? preparer.index_spec()
                    : preparer.is_map() ? preparer.key_spec()
                                        : preparer.value_spec();
  ASSIGN_OR_RETURN(TermPtr key, prepare_term(element, spec, context));
  if (preparer.is_list()) return OperationPtr(std::make_unique<ListByIndex>(column, std::move(key), nullptr));
  return OperationPtr(std::make_unique<DeleteElement>(column, std::move(key)));
}

}  // namespace cassandra_like
