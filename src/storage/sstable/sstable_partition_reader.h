// Reads one partition of an SSTable after the other: its header, then the unfiltereds of the selected slices, forwards
// or backwards, through the partition's row index when it has one.
//
// Backwards, a block of the row index (or the whole partition when there is none, which is then small) is walked
// through forwards first, to learn where its unfiltereds begin; they are then decoded from the last to the first.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/task.h"
#include "storage/sstable/data_reader.h"
#include "storage/sstable/partition_lookup.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

// The columns of an SSTable's rows, as one version of the table's schema sees them.
struct ResolvedHeader {
  TablePtr table;
  std::vector<HeaderColumn> static_columns, regular_columns;
  SerializationHeader header;
  bool has_plain_rows = false;  // the regular columns are the table's, and of one cell each
};

// The scratch memory of a reader. A small pool of the thread lends it, so that a read allocates little.
struct ReadState {
  DataCursor cursor;
  Arena partition_arena, row_arena;
  RowBlocksSpace blocks;
  Bytes bound;                    // comparable form of a slice's bound
  Bytes place;                    // of the unfiltered that was returned last, once its memory may be gone
  std::vector<BytesView> values;  // of a plain row
  std::vector<uint64_t> offsets;  // where the unfiltereds of a block begin that are still to be returned

  static std::unique_ptr<ReadState> take();
  static void give_back(std::unique_ptr<ReadState> state);
};

// The files that a reader reads; they live as long as `owner`.
struct SSTableFiles {
  std::shared_ptr<const SSTable> owner;
  const SSTableVersion* version = nullptr;
  const DataFile* data = nullptr;
  const PartitionLookup* lookup = nullptr;
  bool fills_cache = false;   // with the chunks that it reads
  ColdReads* cold = nullptr;  // null: the reader may wait for the disk
};

class SSTablePartitionReader final : public PartitionReader, public FramePooled {
 public:
  SSTablePartitionReader(SSTableFiles files, std::shared_ptr<const ResolvedHeader> header,
                         const SliceSelection& selection);
  ~SSTablePartitionReader() override;

  // Goes to a partition. With `expected`, false when the one there is another.
  Result<bool> begin(const PartitionPlace& place, const DecoratedKey* expected);
  // Goes behind the key of a partition whose own cannot be read: to its deletion.
  Status begin_behind_key(uint64_t data_position, BytesView key);
  // After kDiskWait another reader goes on behind ColdReads::place().
  Result<const Unfiltered*> next() override;
  const UniformRow* next_uniform(int64_t now_seconds) override;
  uint64_t start_position() const { return partition_start_; }
  // Whether it read up to the partition's end, and where the next partition begins then.
  bool is_at_end() const { return at_end_; }
  uint64_t end_position() const { return state_->cursor.position(); }

 private:
  enum class Step { kEnterSlice, kInSlice, kDone };

  void reset(uint64_t data_position);
  // Before the cursor may leave the unfiltered that was returned last.
  void keep_place();
  Result<bool> begin_indexed(const PartitionPlace& place, const DecoratedKey* expected);
  Status read_partition_header(bool has_key);
  Status read_static_row();
  // False at the partition's end.
  Result<bool> read_head();
  // The row or marker behind the head is in the window then, all of it. Readers that pass over it do without.
  Status complete_body();
  Status skip_body();
  Status begin_large_row(uint64_t bytes);
  // Counts bytes of memory, and adds them to *held.
  Status hold(uint64_t bytes, uint64_t* held);
  // The row that was returned last, or the partition, is not needed any more.
  void let_go_of_row();
  void let_go_of_partition();
  Error too_large(uint64_t bytes) const;
  void end_partition(const Reader& behind);
  Status skip_unfiltered();        // also of markers, whose deletions it remembers
  Result<bool> read_unfiltered();  // false: it has nothing that the table still has
  Error corrupt(std::string_view what) const { return files_.data->corrupt(state_->cursor.position(), what); }

  const Slice& slice() const { return slices_[slice_]; }
  // Forwards: it is not entered yet, and begins where the cursor is.
  bool is_at_slice() const { return rows_start_ != 0 && slice().start.empty(); }
  bool has_more_slices() const { return selection_.reversed ? slice_ > 0 : slice_ + 1 < slices_.size(); }
  void leave_slice();
  Result<const Unfiltered*> marker_at_start(const DeletionTime& open, const DeletionTime& close);
  Result<const Unfiltered*> marker_at_end(const DeletionTime& open, const DeletionTime& close);
  Result<const Unfiltered*> make_marker(BytesView comparable, ClusteringKind kind, const DeletionTime& open,
                                        const DeletionTime& close);

  Status enter_slice();
  void skip_rows_to_slice();
  Result<const Unfiltered*> next_forwards();
  Status enter_slice_backwards();
  Status read_block(bool is_last, uint64_t stop);
  Result<const Unfiltered*> next_backwards();

  SSTableFiles files_;
  std::shared_ptr<const ResolvedHeader> header_;
  SliceSelection selection_;
  std::span<const Slice> slices_;
  std::unique_ptr<ReadState> state_;
  RowDecoder decoder_;
  Unfiltered unfiltered_;
  UniformRow uniform_row_;

  uint64_t partition_start_ = 0;
  uint64_t rows_start_ = 0;      // 0: not known, ask the row index
  RowBlocks* blocks_ = nullptr;  // null: the partition has no row index
  Step step_ = Step::kDone;
  size_t slice_ = 0;
  DeletionTime open_;  // the range tombstone that is open at the cursor
  // Where the unfiltered that was returned last begins, and the one that state_->place is of.
  static constexpr uint64_t kNothing = 0, kOwnMarker = 1;  // nothing was returned; a marker at a slice's end was
  uint64_t returned_ = kNothing, kept_ = kNothing;
  // The findings of read_head().
  bool have_head_ = false;
  bool at_end_ = false;
  Reader body_{BytesView()};
  uint64_t body_end_ = 0;  // may be behind the window
  bool is_large_ = false;  // the row that was put together last
  // Bytes of memory that are counted: of that row, and of the static row.
  uint64_t held_ = 0, held_static_ = 0;
  // Backwards.
  RowIndexBlock block_;
  bool found_before_ = false;   // the block has something before the slice: no other block is needed
  DeletionTime open_at_start_;  // what is open at the slice's start, or at the block's
  DeletionTime open_at_end_;    // at the slice's end; live once it is reported
};

}  // namespace cassandra_like
