// Reading memtables through the interfaces that SSTables have, too.
#include "base/dcheck.h"
#include "storage/memtable/column_versions.h"
#include "storage/memtable/memtable.h"

namespace cassandra_like {

namespace {

class MemtablePartitionReader final : public PartitionReader {
 public:
  MemtablePartitionReader(const Memtable& memtable, const MemtablePartition& partition, const SliceSelection& selection)
      : table_(*memtable.table()),
        partition_(partition),
        slices_(selection.slices),
        reversed_(selection.reversed),
        remap_(memtable.has_old_columns() || !hides_nothing(table_)),
        arena_(256) {
    key_ = partition.key;
    partition_deletion_ = partition.deletion;
    static_row_.clustering = static_clustering();
    if (partition.static_row != nullptr) static_row_ = current(partition.static_row->row, arena_);
    slice_count_ = !selection.wants_rows ? 0 : slices_.empty() ? 1 : slices_.size();
    open_slice();
  }

  Result<const Unfiltered*> next() override {
    while (slice_ < slice_count_) {
      const MemtableRow* row = peek_row();
      const RangeTombstoneMarker* marker = markers_.peek();
      if (row == nullptr && marker == nullptr) {
        ++slice_;
        open_slice();
        continue;
      }
      if (row == nullptr || (marker != nullptr && comes_first(*marker, *row))) {
        result_.is_row = false;
        result_.marker = *marker;
        markers_.advance();
        return &result_;
      }
      result_.is_row = true;
      rows_arena_.reset();
      result_.row = current(row->row(rows_arena_), rows_arena_);
      advance_row();
      if (result_.row.is_empty()) continue;
      return &result_;
    }
    return nullptr;
  }

  const UniformRow* next_uniform(int64_t now_seconds) override {
    const MemtableRow* row = slice_ < slice_count_ ? peek_row() : nullptr;
    if (row == nullptr || row->table() != &table_ || !row->is_live(now_seconds) || remap_ ||
        markers_.peek() != nullptr) {
      return nullptr;
    }
    uniform_row_ = row->uniform(views_);
    advance_row();
    return &uniform_row_;
  }

 private:
  bool comes_first(const RangeTombstoneMarker& marker, const MemtableRow& row) const {
    return reversed_ ? marker.bound.comparable > row.comparable() : marker.bound.comparable < row.comparable();
  }
  Row current(const Row& row, Arena& arena) const { return remap_ ? with_current_columns(row, table_, arena) : row; }

  void open_slice() {
    only_row_ = nullptr;
    if (slice_ >= slice_count_) return;
    static const Slice whole = Slice::all();
    const Slice& slice = slices_.empty() ? whole : slices_[reversed_ ? slice_count_ - 1 - slice_ : slice_];
    DCHECK(slice.end.empty() || slice.start < slice.end);
    if (partition_.only_row != nullptr && slice.contains(partition_.only_row->comparable())) {
      only_row_ = partition_.only_row;
    }
    if (partition_.rows != nullptr) {
      const RowTree& rows = partition_.rows->tree;
      begin_ = slice.start.empty() ? rows.begin() : rows.lower_bound(RowKey(slice.start));
      end_ = slice.end.empty() ? rows.end() : rows.lower_bound(RowKey(slice.end));
    }
    ranges_.clear();
    if (partition_.ranges != nullptr) partition_.ranges->clip(table_, slice, arena_, ranges_);
    markers_.start(ranges_, reversed_);
  }

  const MemtableRow* peek_row() const {
    if (only_row_ != nullptr) return only_row_;
    if (partition_.rows == nullptr || begin_ == end_) return nullptr;
    return (reversed_ ? std::prev(end_) : begin_)->row;
  }
  void advance_row() {
    if (only_row_ != nullptr) {
      only_row_ = nullptr;
    } else if (reversed_) {
      --end_;
    } else {
      ++begin_;
    }
  }

  const TableMetadata& table_;
  const MemtablePartition& partition_;
  std::span<const Slice> slices_;
  bool reversed_;
  bool remap_;
  Arena arena_;            // of what lives as long as the reader
  Arena rows_arena_{256};  // of the current row
  size_t slice_ = 0;       // in reading order
  size_t slice_count_ = 0;
  const MemtableRow* only_row_ = nullptr;
  RowTree::const_iterator begin_, end_;
  std::vector<RangeTombstone> ranges_;
  MarkerCursor markers_;
  Unfiltered result_;
  UniformRow uniform_row_;
  std::vector<BytesView> views_;  // of uniform_row_
};

class MemtableScanner final : public PartitionScanner {
 public:
  MemtableScanner(const Memtable& memtable, const KeyRange& range, const SliceSelection& selection)
      : memtable_(memtable), range_(range), selection_(selection) {
    at_ = memtable.partitions().lower_bound(range.start);
  }

  Result<PartitionReader*> next() override {
    for (; at_ != memtable_.partitions().end(); ++at_) {
      const MemtablePartition& partition = *at_;
      if (range_.contains(partition.key)) {
        ++at_;
        reader_ = memtable_.read(partition, selection_);
        return reader_.get();
      }
      if (range_.end.compare(partition.key) < 0) break;
    }
    return nullptr;
  }

 private:
  const Memtable& memtable_;
  KeyRange range_;
  SliceSelection selection_;
  PartitionMap::Iterator at_;
  std::unique_ptr<PartitionReader> reader_;
};

}  // namespace

std::unique_ptr<PartitionReader> Memtable::read(const MemtablePartition& partition,
                                                const SliceSelection& selection) const {
  return std::make_unique<MemtablePartitionReader>(*this, partition, selection);
}

std::unique_ptr<PartitionScanner> Memtable::scan(const KeyRange& range, const SliceSelection& selection) const {
  return std::make_unique<MemtableScanner>(*this, range, selection);
}

}  // namespace cassandra_like
