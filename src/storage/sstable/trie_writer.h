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
#include <memory>
#include <span>
#include <vector>

#include "storage/sstable/file_writer.h"

namespace cassandra_like {

inline constexpr uint64_t kTriePageBytes = 4096;

// Bytes of the shortest two's complement form of a value, 1 to 8; and that form, big-endian. Returns the end of it.
int sized_int_size(int64_t value);
char* write_sized_int(char* to, int64_t value, int size);
void append_sized_int(Bytes& out, int64_t value, int size);

class TrieWriter {
 public:
  static constexpr size_t kMaxPayload = 24;

  explicit TrieWriter(FileWriter& out) : out_(out) { reset(); }
  TrieWriter(const TrieWriter&) = delete;
  TrieWriter& operator=(const TrieWriter&) = delete;

  // Keys come sorted, no two the same. payload_bits is 1 to 15.
  void add(BytesView key, uint8_t payload_bits, BytesView payload);
  // Writes what is not yet written and returns the root's position. At least one key was added.
  uint64_t complete();
  // Forgets everything that is not written, to begin another trie.
  void reset();

 private:
  struct Payload {
    uint8_t bits = 0;  // 0: there is none
    uint8_t size = 0;
    std::array<char, kMaxPayload> data{};
  };
  struct Node;
  // A node that has all its children, and the nodes below it that are not yet written.
  struct Branch {
    uint64_t at = 0;           // where the node is: in the file when `placed`, else in bytes_ when it has no `node`
    Node* node = nullptr;      // of a branch whose form depends on where it goes
    uint32_t branch_size = 0;  // bytes of all that is not yet written below the node
    uint16_t node_size = 0;    // bytes of the node; 0 when it is written
    uint8_t transition = 0;
    bool placed = false;
    uint32_t size() const { return branch_size + node_size; }
  };
  // A node that has children in other pages, or has such a node below it in its page.
  struct Node {
    std::vector<Branch> children;
    Payload payload;
    bool children_written = false;
    uint64_t first_written = 0;  // where the child is that was written first, the furthest
  };
  // A node on the path to the last key: the transitions behind the root are that key. The complete children of the node begin
  // at an index of branches_ and of bytes_.
  struct OpenNode {
    uint8_t transition = 0;
    Payload payload;
    size_t first_child = 0;
    size_t first_byte = 0;
  };

  class Placement;

  // How many bytes of a key, from its first, the last key has too. The key is behind it.
  size_t shared_with_last(BytesView key) const;
  void open_node(uint8_t transition);
  void complete_last();
  static Branch complete_leaf(const OpenNode& leaf, Bytes& bytes);
  Branch complete_inner(const OpenNode& open);
  Node* new_node(std::span<const Branch> children, const Payload& payload);
  void lay_out_children(Branch& branch);
  uint64_t finish_root(Branch& root);
  uint32_t recalculate_size(Branch& branch, uint64_t position);
  uint64_t write_branch(Branch& branch);
  void write_and_finalize(Branch& branch);
  void pad_to_page();
  uint64_t bytes_left_in_page() const { return kTriePageBytes - out_.position() % kTriePageBytes; }

  // The node has children. furthest: the distance to the child that is furthest from the node.
  static int type_for(std::span<const Branch> children, const Payload& payload, uint64_t furthest);
  static uint16_t size_of_node(std::span<const Branch> children, const Payload& payload, uint64_t furthest);
  static void append_node(Bytes& out, std::span<const Branch> children, const Payload& payload, uint64_t position,
                          uint64_t furthest);
  static uint64_t furthest_child(const Branch& branch, uint64_t position);

  FileWriter& out_;
  std::vector<OpenNode> path_;  // from the root
  // The complete children of the nodes on the path, and the bytes of their branches, each a stack.
  std::vector<Branch> branches_;
  Bytes bytes_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> free_nodes_;
  Bytes scratch_;
  uint64_t count_ = 0;
};

}  // namespace cassandra_like
