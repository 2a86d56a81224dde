// Writes a trie to a file incrementally, from sorted keys, so that each node lies within one 4 KiB page and as much
// of a branch as possible lies in the page of its root (io.tries.IncrementalTrieWriterPageAware, BtiFormat.md).
//
// Nodes are written after their children, so pointers are distances backwards. A node is one of 16 types:
//
//   payload only     type|bits
//   single           type|bits byte pointer          (a 4 or 12 bit pointer takes the place of the payload bits)
//   sparse           type|bits count byte* pointer*
//   dense            type|bits first last-first pointer*      (0: no child)
//
// followed by the payload, whose form depends on the 4 payload bits; 0 means none. 12-bit pointers are packed two in
// three bytes.
#pragma once

#include <array>
#include <vector>

#include "base/arena.h"
#include "storage/sstable/file_writer.h"

namespace cassandra_like {

inline constexpr uint64_t kTriePageBytes = 4096;

// Bytes of the shortest two's complement form of a value, at least 1; and that form, big-endian.
int sized_int_size(int64_t value);
void append_sized_int(Bytes& out, int64_t value, int size);

class TrieWriter {
 public:
  static constexpr size_t kMaxPayload = 24;

  explicit TrieWriter(FileWriter& out);
  TrieWriter(const TrieWriter&) = delete;
  TrieWriter& operator=(const TrieWriter&) = delete;

  // Keys come sorted, no two the same. payload_bits is 1 to 15.
  void add(BytesView key, uint8_t payload_bits, BytesView payload);
  // Writes what is not yet written and returns the root's position. At least one key was added.
  uint64_t complete();
  // Forgets everything that is not written, to begin another trie.
  void reset();
  uint64_t count() const { return count_; }

 private:
  struct Node;
  class Placement;

  Node* new_node(uint8_t transition);
  void recycle(Node* node);
  void recycle_children(Node* node);
  void complete_last();
  void complete_node(Node* node);
  void lay_out_children(Node* node);
  uint64_t finish_root(Node* root);
  int recalculate_size(Node* node, uint64_t position);
  uint64_t write_branch(Node* node);
  void write_and_finalize(Node* node);
  void pad_to_page();
  uint64_t bytes_left_in_page() const { return kTriePageBytes - out_.position() % kTriePageBytes; }

  FileWriter& out_;
  Arena nodes_;
  Node* free_ = nullptr;
  std::vector<Node*> path_;  // nodes of the last key, from the root
  Bytes last_key_;
  Bytes scratch_;
  uint64_t count_ = 0;
};

}  // namespace cassandra_like
