// Reads tries where they lie (see trie_writer.h for the format). Nothing in the bytes is trusted: a node that does not
// fit the file, or a pointer that does not lead backwards, makes the walk fail.
#pragma once

#include <vector>

#include "base/bytes.h"

namespace cassandra_like {

// A two's complement integer of 1 to 8 bytes.
int64_t read_sized_int(const char* p, int size);

struct TriePayload {
  uint8_t bits = 0;  // 0: none
  BytesView data;    // from the payload to the end of the file
};

class TrieNode {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  // False when there is no whole node at the position.
  bool load(BytesView file, uint64_t position);
  uint64_t position() const { return position_; }
  TriePayload payload() const { return {payload_bits_, file_.substr(position_ + size_)}; }
  bool has_payload() const { return payload_bits_ != 0; }
  // Children have indexes from 0 to count(); in dense nodes some of them do not exist.
  int count() const { return count_; }
  uint8_t byte(int index) const;
  // The position of a child: kNone when it does not exist, kBad when the pointer is impossible.
  static constexpr uint64_t kBad = ~uint64_t{0} - 1;
  uint64_t child(int index) const;
  // The index of the child for a byte, or -1; *below is how many indexes are for lesser bytes.
  int find(uint8_t byte, int* below) const;

 private:
  enum class Shape : uint8_t { kLeaf, kSingle, kSparse, kDense };

  BytesView file_;
  uint64_t position_ = 0;
  uint64_t size_ = 0;  // without the payload
  const char* pointers_ = nullptr;
  const char* bytes_ = nullptr;  // of single and sparse nodes
  int count_ = 0;
  int pointer_bits_ = 0;
  uint8_t first_ = 0;  // of dense nodes
  uint8_t payload_bits_ = 0;
  Shape shape_ = Shape::kLeaf;
};

// Walks the entries of a trie in key order, either way. Reusable: a walk keeps its stack's memory.
class TrieWalk {
 public:
  // The next call of next() returns the least entry whose key is not less than `key` or is a prefix of it.
  void seek(BytesView file, uint64_t root, BytesView key);
  // The next call of previous() returns the greatest entry whose key is not greater than `key`.
  void seek_floor(BytesView file, uint64_t root, BytesView key);
  // Both start at the ends of the trie.
  void seek_first(BytesView file, uint64_t root) { seek(file, root, {}); }
  void seek_last(BytesView file, uint64_t root);

  // False at the end, and when the trie is damaged: failed().
  bool next(TriePayload* payload);
  bool previous(TriePayload* payload);
  bool failed() const { return failed_; }
  // Where the damage is.
  uint64_t failed_at() const { return failed_at_; }

 private:
  // Keys are at most 65,535 bytes, which escaping can double.
  static constexpr size_t kMaxDepth = 140'000;
  struct Frame {
    TrieNode node;
    int index;  // the next child to visit; going backwards, one more than it
  };
  bool push(uint64_t position);
  bool fail(uint64_t position);

  BytesView file_;
  std::vector<Frame> stack_;
  bool pending_ = false;  // the top's own payload comes first
  bool failed_ = false;
  uint64_t failed_at_ = 0;
};

}  // namespace cassandra_like
