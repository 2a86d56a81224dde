// Rows.db: for each partition that spans several blocks of column_index_size, a trie that leads from a clustering to
// the block that it is in, and an entry that the partition index points to.
//
//   file    := (trie entry)*
//   entry   := key (u16 length, bytes), position in Data.db (unsigned vint), root of the trie relative to the end of
//              the key (vint), number of blocks (unsigned vint), partition deletion
//   payload := offset of the block from the start of the partition (payload bits & 7 bytes), then with bit 8 the
//              deletion that is open at the block's start
//
// The trie's keys are separators: greater than all clusterings of the block before, not greater than the block's first.
// One more, after the last block, has the offset of the partition's end.
#pragma once

#include <optional>

#include "model/row_codec.h"
#include "storage/sstable/row_blocks.h"
#include "storage/sstable/trie_writer.h"

namespace cassandra_like {

class RowIndexWriter {
 public:
  explicit RowIndexWriter(FileWriter& out) : trie_(out) {}
  void reset();
  // first and last are the comparable forms of the block's first and last unfiltered.
  void add(BytesView first, BytesView last, const RowIndexBlock& block);
  // Returns the trie's root.
  uint64_t complete(uint64_t end_offset);
  uint32_t blocks() const { return blocks_; }

 private:
  void write(BytesView separator, const RowIndexBlock& block);

  TrieWriter trie_;
  Bytes previous_last_;
  Bytes previous_separator_;
  Bytes payload_;
  uint32_t blocks_ = 0;
};

struct RowIndexEntry {
  uint64_t data_position = 0;
  uint64_t root = 0;
  uint32_t blocks = 0;
  DeletionTime deletion;
};
void append_row_index_entry(FileWriter& out, BytesView key, const RowIndexEntry& entry);
// The key comes out, too. False when malformed.
bool read_row_index_entry(BytesView file, uint64_t position, BytesView* key, RowIndexEntry* entry);
bool read_row_index_block(const TriePayload& payload, RowIndexBlock* block);

}  // namespace cassandra_like
