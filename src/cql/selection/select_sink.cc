#include "cql/selection/select_sink.h"

#include <algorithm>

#include "model/values.h"

namespace cassandra_like {

SelectSink::SelectSink(const TableMetadata& table, const Selection& selection, ExecutionContext& context,
                       SelectLimits limits, bool one_row_per_partition, bool static_rows)
    : table_(table),
      selection_(selection),
      row_context_{context.services,
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
      share_(context.config.answer_memory.get()),
      limits_(limits),
      one_row_per_partition_(one_row_per_partition),
      static_rows_(static_rows) {}

InputRow SelectSink::input(const Row* row) { return {&row_context_, key_components_, key_, &static_row_, row}; }

void SelectSink::take_key(const DecoratedKey& key) {
  key_ = key;
  if (table_.partition_key.size() == 1) {
    key_components_.assign(1, key.key);
  } else {
    auto components = split_partition_key(table_, key.key);
    key_components_.assign(components.begin(), components.end());
  }
}

RowSink::Next SelectSink::begin_partition(const DecoratedKey& key, const Row& static_row) {
  take_key(key);
  static_row_ = Row();
  if (!static_row.cells.empty()) {
    partition_arena_.reset();
    static_row_ = copy_row(static_row, partition_arena_);
  }
  rows_in_partition_ = groups_in_partition_ = 0;
  partition_limit_ = resumed_ ? resumed_limit_ : limits_.per_partition;
  return Next::kContinue;
}

RowSink::Next SelectSink::row(const Row& row) {
  Next next = emit(&row);
  if (next == Next::kContinue && one_row_per_partition_) return Next::kSkipPartition;
  if (next == Next::kContinue && !groups_ && rows_in_partition_ >= partition_limit_) return Next::kSkipPartition;
  return next;
}

RowSink::Next SelectSink::end_partition() {
  bool only_static = rows_in_partition_ == 0 && static_rows_ && !resumed_ && !static_row_.cells.empty();
  resumed_ = false;
  return only_static ? emit(nullptr) : Next::kContinue;
}

// Room for n more bytes of output, to be filled.
inline char* SelectSink::extend(size_t n) {
  constexpr size_t kFirst = 512;
  const size_t begin = size_;
  size_ += n;
  if (size_ > out_.size()) grow(std::max({size_, 2 * out_.size(), kFirst}));
  return out_.data() + begin;
}

// The row that is refused room is written to its end, and ends the read.
void SelectSink::grow(size_t size) {
  size = share_.bounded(size_, size);
  if (Status status = share_.reserve(size); !status.ok() && status_.ok()) status_ = std::move(status);
  out_.resize(size);
}

// Writes as append_element() would.
inline void SelectSink::append_value(BytesView value) {
  char* p = extend(sizeof(int32_t) + value.size());
  store_be(p, is_null(value) ? int32_t{-1} : static_cast<int32_t>(value.size()));
  p += sizeof(int32_t);
  if (value.size() == sizeof(uint64_t)) {
    std::memcpy(p, value.data(), sizeof(uint64_t));  // without a call
  } else if (!value.empty()) {
    std::memcpy(p, value.data(), value.size());
  }
}

RowSink::Next SelectSink::uniform_row(const UniformRow& row) {
  for (const SelectedColumn& selected : selection_.columns()) {
    const Column& column = *selected.column;
    switch (column.kind) {
      case ColumnKind::kPartitionKey: {
        const auto position = static_cast<size_t>(column.position);  // a damaged file's key may have fewer
        append_value(position < key_components_.size() ? key_components_[position] : kNull);
        break;
      }
      case ColumnKind::kClustering:
        append_value(row.clustering.values[static_cast<size_t>(column.position)]);
        break;
      case ColumnKind::kStatic:
        append_value(column_value(selected, input(nullptr)));
        break;
      case ColumnKind::kRegular:
        append_value(selected.usual_cell < row.values.size() ? row.values[selected.usual_cell] : kNull);
        break;
    }
  }
  const Next next = written(&row.clustering, nullptr);
  return next == Next::kContinue && rows_in_partition_ >= partition_limit_ ? Next::kSkipPartition : next;
}

void SelectSink::mark(const ClusteringPrefix* clustering, const Row* row) {
  last_mark_.clear();
  if (clustering == nullptr) {
    last_mark_ = mark_before_;
  } else if (marks_ == Marks::kLegacy) {
    append_legacy_row_mark(last_mark_, *row);
  } else {
    append_row_mark(last_mark_, clustering->values);
  }
}

void SelectSink::keep_place(const ClusteringPrefix* clustering, const Row* row) {
  last_key_.assign(key_.key);
  const bool has_clustering = clustering != nullptr && !clustering->values.empty();
  if (marks_ != Marks::kNone) mark(clustering, row);
  left_in_partition_ = !has_clustering ? 0 : partition_limit_ - (groups_ ? groups_in_partition_ : rows_in_partition_);
  if (!groups_) return;
  last_clustering_.clear();
  if (!has_clustering || one_row_per_partition_) return;
  last_clustering_.assign(clustering->comparable);
  if (last_clustering_.empty()) {
    append_comparable(last_clustering_, table_, clustering->values, ClusteringKind::kClustering);
  }
}

RowSink::Next SelectSink::emit(const Row* row) {
  if (groups_) {
    auto next = emit_to_group(row);
    if (next.ok()) return status_.ok() ? *next : Next::kStop;
    status_ = std::move(next.error());
    return Next::kStop;
  }
  Status status = write_row(input(one_row_per_partition_ ? nullptr : row));
  if (!status.ok()) {
    status_ = std::move(status);
    return Next::kStop;
  }
  return written(row == nullptr ? nullptr : &row->clustering, row);
}

RowSink::Next SelectSink::written(const ClusteringPrefix* clustering, const Row* row) {
  ++rows_;
  ++rows_in_partition_;
  if (rows_ < limits_.page && rows_ < limits_.rows) return status_.ok() ? Next::kContinue : Next::kStop;
  keep_place(clustering, row);
  return Next::kStop;
}

Result<RowSink::Next> SelectSink::emit_to_group(const Row* row) {
  InputRow in = input(one_row_per_partition_ ? nullptr : row);
  ASSIGN_OR_RETURN(bool begins, groups_->begins_group(in));
  ++rows_in_partition_;
  if (begins) {
    if (groups_->is_open()) TRY(close_group());
    full_ = rows_ >= limits_.page || rows_ >= limits_.rows;
    if (full_) return Next::kStop;
  }
  ++rows_seen_;
  if (begins && groups_in_partition_ >= partition_limit_) return Next::kSkipPartition;
  if (begins) ++groups_in_partition_;
  TRY(groups_->add(in));
  // One group of all rows has no page that ends in it.
  if (!groups_->is_one_group()) keep_place(row == nullptr ? nullptr : &row->clustering, row);
  // Cassandra reads groups by pages of as many rows, each of which leaves a mark.
  if (marks_ != Marks::kNone && ++rows_of_groups_ % limits_.page == 0) mark_before_ = last_mark_;
  row_arena_.reset();
  return Next::kContinue;
}

Status SelectSink::close_group() {
  ASSIGN_OR_RETURN(InputRow group, groups_->close(row_context_));
  TRY(write_row(group));
  ++rows_;
  return {};
}

Bytes SelectSink::ordering_place(const ClusteringPrefix& clustering) {
  if (ordering_columns_ >= clustering.values.size()) return Bytes(clustering.comparable);
  auto values = clustering.values.first(ordering_columns_);
  Bytes place;
  append_comparable(place, table_, values, ClusteringKind::kClustering);
  return place;
}

Status SelectSink::write_row(const InputRow& input) {
  if (keep_positions_) {
    positions_.push_back({size_, input.row == nullptr ? Bytes() : ordering_place(input.row->clustering)});
  }
  std::string json;
  for (const SelectedColumn& column : selection_.columns()) {
    BytesView value;
    if (column.column != nullptr) {
      value = column_value(column, input);
    } else {
      ASSIGN_OR_RETURN(value, column.selector->evaluate(input));
    }
    if (selection_.is_json()) {
      append_json(json, column.spec, value);
    } else {
      append_value(value);
    }
  }
  if (selection_.is_json()) append_value(json + "}");
  row_arena_.reset();
  return {};
}

void SelectSink::append_json(std::string& json, const ColumnSpec& spec, BytesView value) {
  const bool lower = std::none_of(spec.name.begin(), spec.name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  json += json.empty() ? "{" : ", ";
  json += json_quote(lower ? spec.name : '"' + spec.name + '"') + ": ";
  json += is_null(value) ? "null" : spec.type->to_json(value);
}

Status SelectSink::finish() {
  // Aggregates of no rows have a value too.
  if (groups_ && (groups_->is_open() || groups_->is_one_group())) TRY(close_group());
  out_.resize(size_);
  return take_status();
}

}  // namespace cassandra_like
