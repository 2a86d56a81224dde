#include "cql/select_sink.h"

#include <algorithm>

namespace cassandra_like {

SelectSink::SelectSink(const TableMetadata& table, const Selection& selection, ExecutionContext& context,
                       SelectLimits limits, bool one_row_per_partition, bool static_rows)
    : table_(table),
      selection_(selection),
      row_context_{context.processor,
                   context.coordinator,
                   context.runtime,
                   context.config,
                   context.client,
                   context.options,
                   row_arena_,
                   context.trace,
                   {},
                   context.timestamp_micros,
                   context.now_seconds},
      limits_(limits),
      one_row_per_partition_(one_row_per_partition),
      static_rows_(static_rows) {
  if (!selection.has_aggregates()) return;
  for (const SelectedColumn& column : selection.columns()) {
    states_.push_back(column.aggregate == nullptr ? nullptr : column.aggregate->start());
  }
  first_values_.resize(selection.columns().size());
}

InputRow SelectSink::input(const Row* row) { return {&row_context_, key_components_, key_, &static_row_, row}; }

RowSink::Next SelectSink::begin_partition(const DecoratedKey& key, const Row& static_row) {
  key_ = key;
  static_row_ = Row();
  if (!static_row.cells.empty()) {
    partition_arena_.reset();
    static_row_ = copy_row(static_row, partition_arena_);
  }
  rows_in_partition_ = 0;
  partition_limit_ = resumed_ ? limits_.in_first_partition : limits_.per_partition;
  if (table_.partition_key.size() == 1) {
    key_components_.assign(1, key.key);
  } else {
    key_components_ = split_partition_key(table_, key.key);
  }
  if (!one_row_per_partition_) return Next::kContinue;
  Next next = emit(nullptr);
  return next == Next::kContinue ? Next::kSkipPartition : next;
}

RowSink::Next SelectSink::row(const Row& row) {
  if (one_row_per_partition_) return Next::kSkipPartition;
  Next next = emit(&row);
  if (next == Next::kContinue && rows_in_partition_ >= partition_limit_) return Next::kSkipPartition;
  return next;
}

RowSink::Next SelectSink::end_partition() {
  bool only_static =
      rows_in_partition_ == 0 && static_rows_ && !resumed_ && !one_row_per_partition_ && !static_row_.cells.empty();
  resumed_ = false;
  return only_static ? emit(nullptr) : Next::kContinue;
}

RowSink::Next SelectSink::emit(const Row* row) {
  Status status = selection_.has_aggregates() ? aggregate(input(row)) : write_row(input(row));
  if (!status.ok()) {
    status_ = std::move(status);
    return Next::kStop;
  }
  ++rows_;
  ++rows_in_partition_;
  if (rows_ < limits_.page && rows_ < limits_.rows) return Next::kContinue;
  last_key_.assign(key_.key);
  last_clustering_.assign(row == nullptr ? BytesView() : row->clustering.comparable);
  return Next::kStop;
}

Status SelectSink::write_row(const InputRow& input) {
  if (keep_positions_) {
    positions_.push_back({out_.size(), input.row == nullptr ? Bytes() : Bytes(input.row->clustering.comparable)});
  }
  for (const SelectedColumn& column : selection_.columns()) {
    if (column.column != nullptr) {
      append_element(out_, column_value(*column.column, input));
      continue;
    }
    ASSIGN_OR_RETURN(BytesView value, column.selector->evaluate(input));
    append_element(out_, value);
  }
  row_arena_.reset();
  return {};
}

Status SelectSink::aggregate(const InputRow& input) {
  for (size_t i = 0; i < states_.size(); ++i) {
    const SelectedColumn& column = selection_.columns()[i];
    if (states_[i] == nullptr) {
      if (aggregated_any_) continue;
      // Beside aggregates, a column shows the value of the first row.
      BytesView value = kNull;
      if (column.column != nullptr) {
        value = column_value(*column.column, input);
      } else {
        ASSIGN_OR_RETURN(value, column.selector->evaluate(input));
      }
      if (!is_null(value)) first_values_[i] = Bytes(value);
      continue;
    }
    BytesView values[2];
    for (size_t k = 0; k < column.arguments.size(); ++k) {
      ASSIGN_OR_RETURN(values[k], column.arguments[k]->evaluate(input));
    }
    TRY(states_[i]->add(std::span(values, column.arguments.size())));
  }
  aggregated_any_ = true;
  row_arena_.reset();
  return {};
}

Status SelectSink::finish() {
  if (!selection_.has_aggregates()) return {};
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == nullptr) {
      append_element(out_, first_values_[i] ? BytesView(*first_values_[i]) : kNull);
      continue;
    }
    bool null = false;
    ASSIGN_OR_RETURN(Bytes value, states_[i]->result(&null));
    append_element(out_, null ? kNull : BytesView(value));
  }
  rows_ = 1;
  return {};
}

}  // namespace cassandra_like
