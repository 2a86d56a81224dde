#include "cql/selection/select_sink.h"

#include <algorithm>
#include <cstring>

#include "model/values.h"

namespace cassandra_like {

SelectSink::SelectSink(const TableMetadata& table, const Selection& selection, ExecutionContext& context,
                       bool one_row_per_partition, bool static_rows)
    : SelectSink(table, selection, context, false, one_row_per_partition, static_rows) {}

// The memory of a fork is that of the buffer which it is for.
SelectSink::SelectSink(const TableMetadata& table, const Selection& selection, const ExecutionContext& context,
                       bool is_fork, bool one_row_per_partition, bool static_rows)
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
      share_(is_fork ? nullptr : context.config.request_memory.get()),
      is_fork_(is_fork),
      one_row_per_partition_(one_row_per_partition),
      static_rows_(static_rows) {}

void SelectSink::group_by(const Grouping& grouping, const DataLimits& limits) {
  groups_.emplace(table_, selection_, &grouping);
  group_limits_ = limits;
  group_counter_.emplace(group_limits_, static_rows_);
}

void SelectSink::continue_groups(BytesView key, uint64_t left_in_partition) {
  group_limits_.continued_key = key;
  group_limits_.left_in_continued = left_in_partition;
}

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
  has_rows_ = false;
  return group_counter_ ? begin_groups_of_partition() : Next::kContinue;
}

// A group does not go on in another partition.
RowSink::Next SelectSink::begin_groups_of_partition() {
  const bool begins = key_.key != last_key_;
  if (begins && groups_->is_open()) {
    if (Status status = close_group(); !status.ok()) status_ = std::move(status);
  }
  const Enough enough = group_counter_->begin_partition(key_, begins);
  if (enough == Enough::kOfRead || !status_.ok()) return Next::kStop;
  return enough == Enough::kOfPartition ? Next::kSkipPartition : Next::kContinue;
}

RowSink::Next SelectSink::row(const Row& row) {
  has_rows_ = true;
  return emit(&row);
}

RowSink::Next SelectSink::end_partition() {
  const bool continues = group_counter_ && group_counter_->continues_partition();
  const bool only_static = !has_rows_ && static_rows_ && !continues && !static_row_.cells.empty();
  return only_static ? emit(nullptr) : Next::kContinue;
}

// A statement without pages does not ask for the place.
void SelectSink::ended_behind(const ClusteringPrefix* row, uint64_t left_in_partition) {
  if (groups_ || marks_ == Marks::kNone) return;
  keep_place(row);
  left_in_partition_ = left_in_partition;
}

// Selectors may fail, and must not for rows that are beyond the limit. Legacy marks need the row.
std::unique_ptr<EncodingSink> SelectSink::fork() const {
  if (!selection_.is_plain() || groups_ || keep_positions_ || marks_ == Marks::kLegacy) return nullptr;
  return std::unique_ptr<EncodingSink>(
      new SelectSink(table_, selection_, row_context_, true, one_row_per_partition_, static_rows_));
}

RowSink::Next SelectSink::encoded_rows(const DecoratedKey& key, BytesView bytes, uint64_t rows) {
  key_ = key;
  if (char* to = extend(bytes.size()); to != nullptr && !bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  rows_ += rows;
  return status_.ok() ? Next::kContinue : Next::kStop;
}

uint64_t SelectSink::left_in_partition() const {
  if (!last_has_clustering_) return 0;
  return group_counter_ ? group_counter_->left_in_partition() : left_in_partition_;
}

// Room for n more bytes of output, to be filled. Null: it was refused, and the row ends the read.
inline char* SelectSink::extend(size_t n) {
  size_ += n;
  if (size_ > out_.size() && !grow(n)) return nullptr;
  return out_.data() + size_ - n;
}

// n: how much of size_ is not written.
bool SelectSink::grow(size_t n) {
  constexpr size_t kFirst = 512, kPiece = size_t{1} << 20;
  size_t size = std::max({size_, 2 * out_.size(), kFirst});
  if (!is_fork_ && size > kPiece) {
    out_.resize(size_ - n);
    piece_bytes_ += out_.size();
    pieces_.push_back(std::move(out_));
    out_ = Bytes();
    size_ = n;
    size = std::max(n, kPiece);
  }
  size = share_.bounded(piece_bytes_ + size_, piece_bytes_ + size) - piece_bytes_;
  if (Status status = share_.reserve(piece_bytes_ + size); !status.ok()) {
    if (status_.ok()) status_ = std::move(status);
    size_ -= n;
    return false;
  }
  out_.resize(size);
  return true;
}

void SelectSink::join_pieces() {
  out_.resize(size_);
  if (pieces_.empty()) return;
  Bytes all;
  all.reserve(piece_bytes_ + size_);
  for (Bytes& piece : pieces_) {
    all += piece;
    piece = Bytes();
  }
  all += out_;
  out_ = std::move(all);
}

// Writes as append_element() would.
inline void SelectSink::append_value(BytesView value) {
  char* p = extend(sizeof(int32_t) + value.size());
  if (p == nullptr) return;
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
  has_rows_ = true;
  ++rows_;
  return status_.ok() ? Next::kContinue : Next::kStop;
}

// Every row is marked, since only the read knows which one is the last.
void SelectSink::mark_legacy(const Row& row) {
  last_mark_.clear();
  append_legacy_row_mark(last_mark_, row);
}

void SelectSink::mark(const ClusteringPrefix* clustering) {
  if (clustering == nullptr) {
    last_mark_ = mark_before_;
  } else if (marks_ == Marks::kModern) {
    last_mark_.clear();
    append_row_mark(last_mark_, clustering->values);
  }
}

void SelectSink::keep_place(const ClusteringPrefix* clustering) {
  last_key_.assign(key_.key);
  last_has_clustering_ = clustering != nullptr && !clustering->values.empty();
  if (marks_ != Marks::kNone) mark(clustering);
  if (!groups_) return;
  last_clustering_.clear();
  if (!last_has_clustering_ || one_row_per_partition_) return;
  last_clustering_.assign(clustering->comparable);
  if (last_clustering_.empty()) {
    append_comparable(last_clustering_, table_, clustering->values, ClusteringKind::kClustering);
  }
}

// row: nullptr when there is the static row alone.
RowSink::Next SelectSink::emit(const Row* row) {
  if (groups_) {
    auto next = emit_to_group(row);
    if (next.ok()) return status_.ok() ? *next : Next::kStop;
    status_ = std::move(next.error());
    return Next::kStop;
  }
  if (Status status = write_row(input(one_row_per_partition_ ? nullptr : row)); !status.ok()) {
    status_ = std::move(status);
  }
  if (marks_ == Marks::kLegacy && row != nullptr) mark_legacy(*row);
  return status_.ok() ? Next::kContinue : Next::kStop;
}

Result<RowSink::Next> SelectSink::emit_to_group(const Row* row) {
  InputRow in = input(one_row_per_partition_ ? nullptr : row);
  ASSIGN_OR_RETURN(bool begins, groups_->begins_group(in));
  if (begins && groups_->is_open()) TRY(close_group());
  if (group_counter_) {
    const Enough enough = group_counter_->row(true, begins);
    if (enough == Enough::kOfRead) return Next::kStop;
    if (enough == Enough::kOfPartition) return Next::kSkipPartition;
  }
  TRY(groups_->add(in));
  if (group_counter_) {
    if (marks_ == Marks::kLegacy && row != nullptr) mark_legacy(*row);
    keep_place(row == nullptr ? nullptr : &row->clustering);
    // Cassandra reads groups by pages of as many rows, each of which leaves a mark.
    if (marks_ != Marks::kNone && group_counter_->rows() % page_ == 0) mark_before_ = last_mark_;
  }
  row_arena_.reset();
  return Next::kContinue;
}

Status SelectSink::close_group() {
  ASSIGN_OR_RETURN(InputRow group, groups_->close(row_context_));
  return write_row(group);
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
    positions_.push_back(
        {piece_bytes_ + size_, input.row == nullptr ? Bytes() : ordering_place(input.row->clustering)});
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
  ++rows_;
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
  if (group_counter_) group_counter_->end();
  join_pieces();
  return take_status();
}

}  // namespace cassandra_like
