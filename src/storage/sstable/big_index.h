// Index.db of BIG: an entry for each partition, in ring order (io.sstable.format.big.RowIndexEntry, io.sstable.IndexInfo).
//
//   file      := entry*
//   entry     := key (u16 length, bytes), position in Data.db: vint, size: vint, [row index: size bytes]
//   row index := bytes of the partition's header in Data.db, static row included: vint, partition deletion,
//                blocks: vint, info*, offset*
//   info      := first and last clustering of the block, offset from the partition's start: vint,
//                bytes less 65,536: signed vint, open:u8, [deletion that is open at the block's end]
//   offset    := of each info from the first one:i32
//
// Vints are unsigned but for one. Clusterings and deletions are as append_clustering_prefix() and append_deletion() write them. A
// partition of less than two blocks has no row index: its size is 0. The last block's bytes include the mark of the
// partition's end when that block was not full.
#pragma once

#include <vector>

#include "storage/sstable/file_writer.h"
#include "storage/sstable/row_blocks.h"

namespace cassandra_like {

// Reads one entry. False when it is malformed, or a row index lies outside of its size.
bool read_big_index_entry(BytesView file, Reader& in, const SSTableVersion& version, PartitionPlace* place);
// The same, of the key alone.
BytesView read_big_index_key(Reader& in);

// A block as it is written; clusterings are as they stand in `header`.
struct BigIndexInfo {
  ClusteringPrefix first, last;
  uint64_t offset = 0, bytes = 0;
  DeletionTime open_at_end;
};

// The row index of one partition after the other.
class BigRowIndexWriter {
 public:
  void reset();
  void add(const BigIndexInfo& info, const SerializationHeader& header, const SSTableVersion& version);
  uint32_t blocks() const { return static_cast<uint32_t>(offsets_.size()); }
  // Appends what follows the position in Data.db.
  void append_to(Bytes& out, uint64_t header_bytes, const DeletionTime& deletion, const SSTableVersion& version) const;

 private:
  Bytes infos_;
  std::vector<uint32_t> offsets_;
};

}  // namespace cassandra_like
