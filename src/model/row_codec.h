// Cassandra's serialization of rows and range tombstone markers (db.rows.UnfilteredSerializer), the one form in which they
// travel in mutations and read responses and lie in SSTables.
//
//   unfiltered := flags:u8 [extended:u8] (row | marker) | 0x01 (end of partition)
//   row        := [clustering, unless static] [sizes, in SSTables] [liveness] [deletion] [column subset] column*
//   clustering := (vint of 2 bits for each of up to 32 values: 1 empty, 2 null; then the other values)*
//   sizes      := vint size of the bytes that follow it, vint size of the previous unfiltered in this partition
//   liveness   := timestamp [ttl, expiration]
//   deletion   := timestamp, local deletion time
//   column     := cell | [deletion, when the row has any complex deletion] vint count, cell*
//   cell       := flags:u8 [timestamp] [local deletion time] [ttl] [vint path length, path] [value]
//   value      := the bytes, after a vint length unless the type's length is fixed
//   marker     := kind:u8 value-count:u16 clustering [sizes] deletion (a boundary: the end's, then the start's)
//
// Timestamps, deletion times and ttls are vints relative to the header's EncodingStats. The header of a message, or of the
// SSTable's Statistics.db, lists the columns and the types that they were written with.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "model/integer_component.h"
#include "model/row.h"

namespace cassandra_like {

// The minima that vints are relative to. Defaults are Cassandra's epochs: 2015-09-22, no ttl.
struct EncodingStats {
  static constexpr int64_t kTimestampEpoch = 1442880000000000LL;
  static constexpr int64_t kDeletionTimeEpoch = 1442880000LL;

  int64_t min_timestamp = kTimestampEpoch;
  int64_t min_local_deletion_time = kDeletionTimeEpoch;
  int32_t min_ttl = 0;

  bool operator==(const EncodingStats&) const = default;
};
void append_encoding_stats(Bytes& out, const EncodingStats& stats);
EncodingStats read_encoding_stats(Reader& in);

// Gathers the exact EncodingStats of what is about to be written.
class EncodingStatsCollector {
 public:
  void update(const DeletionTime& deletion);
  void update(const Liveness& liveness);
  void update(const Cell& cell);
  void update(const Row& row);
  void update_timestamp(int64_t v) { min_timestamp_ = v < min_timestamp_ ? v : min_timestamp_; }
  void update_local_deletion_time(int64_t v) { min_deletion_time_ = v < min_deletion_time_ ? v : min_deletion_time_; }
  void update_ttl(int32_t v) { min_ttl_ = v < min_ttl_ ? v : min_ttl_; }
  EncodingStats get() const;

 private:
  int64_t min_timestamp_ = std::numeric_limits<int64_t>::max();
  int64_t min_deletion_time_ = std::numeric_limits<int64_t>::max();
  int32_t min_ttl_ = std::numeric_limits<int32_t>::max();
};

// A column as the serialized data has it.
struct HeaderColumn {
  const Column* column = nullptr;  // nullptr: decode past its cells without keeping them (dropped, or not wanted)
  int32_t fixed_length = -1;       // of the type it was written with; values of complex columns' cells never are
  bool complex = false;
  int64_t dropped_at = kNoTimestamp;  // cells and complex deletions that are not newer were dropped with the column

  // The columns that the table has now; for writing, and for messages.
  static HeaderColumn of(const Column* column);
  bool operator==(const HeaderColumn&) const = default;
};

// Borrows everything; columns are in cell order (compare_columns).
struct SerializationHeader {
  EncodingStats stats;
  std::span<const Type* const> clustering_types;
  std::span<const HeaderColumn> static_columns;
  std::span<const HeaderColumn> regular_columns;
  // SSTables: the largest deletion time that there may be. Greater ones are written as this one; a difference that
  // is negative is an impossible time when this is the year 2038's.
  int64_t max_deletion_time = kMaxDeletionTime;
};

// A header with all columns of a table, for writing SSTables.
class TableHeader {
 public:
  TableHeader(TablePtr table, const EncodingStats& stats);
  const SerializationHeader& get() const { return header_; }
  TableHeader(const TableHeader&) = delete;
  TableHeader& operator=(const TableHeader&) = delete;

 private:
  TablePtr table_;
  std::vector<HeaderColumn> static_columns_;
  std::vector<HeaderColumn> regular_columns_;
  SerializationHeader header_;
};

// How a column that was written under this name and type is to be decoded for the table as it is now; nullopt
// when the table neither has nor dropped it ("Unknown column … during deserialization").
std::optional<HeaderColumn> resolve_header_column(const TableMetadata& table, std::string_view name,
                                                  const Type& written_type, bool is_static);

// ---- Writing. Rows must only have columns that the header has.

// The form without sizes, as in messages. write_* need exactly *_size bytes at p and return one past the
// last.
size_t row_size(const SerializationHeader& header, const Row& row);
char* write_row(char* p, const SerializationHeader& header, const Row& row);
size_t marker_size(const SerializationHeader& header, const RangeTombstoneMarker& marker);
char* write_marker(char* p, const SerializationHeader& header, const RangeTombstoneMarker& marker);

// The form with sizes, as in SSTables. previous_size is that of the unfiltered before it, 0 for a partition's
// first and for the static row. The static row is known by its clustering's kind. While a large row is appended, `drain` is
// called each time that there are some more KiB, and may take bytes from the front.
using RowDrain = absl::FunctionRef<void()>;
void append_sstable_row(
    Bytes& out, const SerializationHeader& header, const Row& row, uint64_t previous_size, RowDrain drain = [] {});
// The header's regular columns are those of the row's table.
void append_sstable_row(
    Bytes& out, const SerializationHeader& header, const UniformRow& row, uint64_t previous_size,
    RowDrain drain = [] {});
void append_sstable_marker(Bytes& out, const SerializationHeader& header, const RangeTombstoneMarker& marker,
                           uint64_t previous_size);

inline constexpr char kEndOfPartition = 0x01;

// A clustering prefix as indexes and Statistics.db store it: kind, then for bounds their number of values,
// then values.
void append_clustering_prefix(Bytes& out, const SerializationHeader& header, const ClusteringPrefix& prefix);
// Kind and values of one, which borrow the input. The input fails when it is malformed.
void read_clustering_prefix(Reader& in, std::span<const Type* const> clustering_types, ClusteringKind* kind,
                            std::vector<BytesView>* values);

// A partition's deletion in SSTables: 0x80 when live, else timestamp:i64 and local deletion time:u32.
// Before 5.0 (versions below "oa" and "da"): local deletion time:i32 and timestamp:i64, Integer.MAX_VALUE and
// Long.MIN_VALUE when live.
void append_partition_deletion(Bytes& out, const DeletionTime& deletion);
DeletionTime read_partition_deletion(Reader& in);
void append_legacy_partition_deletion(Bytes& out, const DeletionTime& deletion);
DeletionTime read_legacy_partition_deletion(Reader& in);

// ---- Reading.

enum class RowForm { kMessaging, kSstable };

// Decodes the unfiltereds of partitions, one after the other. In two steps, so that a reader can look at the
// position and skip the body: values and paths point into the input, all else of what read_body() returns is
// in the arena; only the clustering of what an SSTable holds is the decoder's position(), which the next one takes over.
//
//   while (decoder.next(in)) {
//     if (decoder.position().comparable < wanted) { decoder.skip_body(in); continue; }
//     decoder.read_body(in, &unfiltered);
//     …
//   }
//   if (in.failed()) corrupt
class RowDecoder {
 public:
  // The header must outlive the decoder. The arena may be changed between calls.
  RowDecoder(const SerializationHeader& header, RowForm form, Arena& arena);
  void set_arena(Arena& arena) { arena_ = &arena; }
  // The cells of one row that has collections may take so many bytes of memory; at first as many as there are. Then reading
  // a row that needs more fails its input, and refused_cell_bytes() is what it needs. 0: it failed for another reason.
  void limit_cells(uint64_t bytes) { most_cell_bytes_ = bytes; }
  uint64_t refused_cell_bytes() const { return refused_cell_bytes_; }

  // Only for a partition whose header says that it has one (SSTables: whose table has static columns).
  Row read_static_row(Reader& in);
  void skip_static_row(Reader& in);  // only SSTables

  DeletionTime read_deletion(Reader& in);

  // Reads flags and clustering. False at the end of the partition and when the input is malformed
  // (in.failed()).
  bool next(Reader& in);
  // The same for a row whose clustering is integers, without the comparable form of its position. False for everything
  // else, which next() reads from where this one began.
  bool next_uniform(Reader& in);
  bool is_row() const { return (flags_ & 0x02) == 0; }
  bool has_row_deletion() const { return (flags_ & 0x10) != 0; }
  // The place of the unfiltered that next() found; valid until the following next().
  const ClusteringPrefix& position() const { return position_; }
  // A row of nothing but dropped columns comes out empty: Row::is_empty().
  void read_body(Reader& in, Unfiltered* out);
  // For an SSTable: a row that is all there and nothing but values of one age that live then (UniformRow). values: one for
  // each regular column of the header, none of which is complex. copied: gets the age and the cells, unless it is null. False
  // when it is another row, which read_body() reads from where this one began.
  bool read_plain_body(Reader& in, int64_t now_seconds, BytesView* values, UniformRow* copied);
  // SSTables: by the size, without a look at the cells. Messages: by decoding.
  void skip_body(Reader& in);
  // For an SSTable: passes over the rows that lie whole in the input and not after `bound`, a comparable form. Stops
  // before everything else, also what is malformed.
  void skip_rows(Reader& in, BytesView bound);

 private:
  void read_clustering(Reader& in, size_t count);
  // False when there is more to it than integers, one after the other.
  bool read_integers(Reader& in, bool makes_comparable);
  // Passes over rows whose first integer comes before `order`: nothing else of them has to be looked at.
  void skip_integer_rows(Reader& in, uint64_t order) const;
  void read_row_body(Reader& in, Row* row);
  void read_marker_body(Reader& in, RangeTombstoneMarker* marker);
  int64_t read_timestamp(Reader& in);
  void read_liveness(Reader& in, Liveness* liveness);
  // When every column is there and none is complex.
  void read_simple_cells(Reader& in, std::span<const HeaderColumn> columns, Row* row);
  // The cells of a row that has collections are gathered: few of them in scratch memory, many in the arena, where they
  // stay. There is room for `columns` cells then.
  void begin_cells(size_t columns);
  // Room for so many more; false when they may not be so many.
  bool make_room(size_t more);
  std::span<const Cell> end_cells();
  // Fills in all of the cell; false when the table no longer has it.
  bool read_cell(Reader& in, const HeaderColumn& column, const Liveness& liveness, Cell* cell);
  // Reads when a cell expires or was deleted, and its TTL.
  void read_cell_end(Reader& in, uint8_t flags, const Liveness& liveness, Cell* cell);
  ClusteringPrefix keep_position();

  const SerializationHeader& header_;
  RowForm form_;
  Arena* arena_;
  bool any_complex_ = false;  // of the header's columns
  uint8_t flags_ = 0;
  uint8_t extended_ = 0;
  ClusteringPrefix position_;
  // For clusterings that are integers only, and at most kMaxIntegers; else there are none.
  static constexpr size_t kMaxIntegers = 4;
  size_t integer_count_ = 0;
  size_t integers_width_ = 0;
  std::array<IntegerComponent, kMaxIntegers> integers_;
  std::array<BytesView, kMaxIntegers> integer_values_;
  std::array<char, kMaxIntegers * IntegerComponent::kMaxSize + 1> integers_comparable_;
  // Scratch for position(), so that skipping costs no arena; and for the cells of the row being read.
  absl::InlinedVector<BytesView, 4> values_;
  Bytes comparable_;
  absl::InlinedVector<Cell, 16> scratch_;
  Cell* cells_ = nullptr;
  size_t cell_count_ = 0, cell_capacity_ = 0;
  uint64_t most_cell_bytes_ = ~uint64_t{0}, refused_cell_bytes_ = 0;
  absl::InlinedVector<ComplexDeletion, 2> complex_deletions_;
};

}  // namespace cassandra_like
