// Decoding of trie nodes and walks over them.
#include "storage/sstable/trie_reader.h"

namespace cassandra_like {

int64_t read_sized_int(const char* p, int size) {
  auto v = static_cast<int64_t>(static_cast<int8_t>(p[0]));
  for (int i = 1; i < size; ++i) v = static_cast<int64_t>(static_cast<uint64_t>(v) << 8 | static_cast<uint8_t>(p[i]));
  return v;
}

bool TrieNode::load(BytesView file, uint64_t position) {
  static constexpr struct {
    Shape shape;
    int8_t bits;
  } kTypes[16] = {
      {Shape::kLeaf, 0},    {Shape::kSingle, 4},  {Shape::kSingle, 8},  {Shape::kSingle, 12},
      {Shape::kSingle, 16}, {Shape::kSparse, 8},  {Shape::kSparse, 12}, {Shape::kSparse, 16},
      {Shape::kSparse, 24}, {Shape::kSparse, 40}, {Shape::kDense, 12},  {Shape::kDense, 16},
      {Shape::kDense, 24},  {Shape::kDense, 32},  {Shape::kDense, 40},  {Shape::kDense, 64},
  };
  if (position >= file.size()) return false;
  uint64_t available = file.size() - position;
  const char* p = file.data() + position;
  auto header = static_cast<uint8_t>(*p);
  file_ = file;
  position_ = position;
  shape_ = kTypes[header >> 4].shape;
  pointer_bits_ = kTypes[header >> 4].bits;
  payload_bits_ = header & 15;
  count_ = 0;
  switch (shape_) {
    case Shape::kLeaf:
      size_ = 1;
      return true;
    case Shape::kSingle:
      count_ = 1;
      if (pointer_bits_ == 4 || pointer_bits_ == 12) {
        payload_bits_ = 0;
        size_ = pointer_bits_ == 4 ? 2 : 3;
        bytes_ = p + size_ - 1;
        pointers_ = p;
      } else {
        size_ = 2 + static_cast<uint64_t>(pointer_bits_) / 8;
        bytes_ = p + 1;
        pointers_ = p + 2;
      }
      return size_ <= available;
    case Shape::kSparse:
      if (available < 2) return false;
      count_ = static_cast<uint8_t>(p[1]);
      size_ = 2 + static_cast<uint64_t>(count_ + (count_ * pointer_bits_ + 7) / 8);
      bytes_ = p + 2;
      pointers_ = bytes_ + count_;
      return count_ > 0 && size_ <= available;
    case Shape::kDense:
      if (available < 3) return false;
      first_ = static_cast<uint8_t>(p[1]);
      count_ = 1 + static_cast<uint8_t>(p[2]);
      size_ = 3 + static_cast<uint64_t>((count_ * pointer_bits_ + 7) / 8);
      pointers_ = p + 3;
      return first_ + count_ <= 256 && size_ <= available;
  }
  return false;
}

uint8_t TrieNode::byte(int index) const {
  return shape_ == Shape::kDense ? static_cast<uint8_t>(first_ + index) : static_cast<uint8_t>(bytes_[index]);
}

uint64_t TrieNode::child(int index) const {
  uint64_t distance = 0;
  if (pointer_bits_ == 4) {
    distance = static_cast<uint8_t>(*pointers_) & 15;
  } else if (pointer_bits_ == 12) {
    if (shape_ == Shape::kSingle) {
      distance = load_be<uint16_t>(pointers_) & 0xFFF;
    } else {
      auto word = load_be<uint16_t>(pointers_ + 3 * index / 2);
      distance = index % 2 == 0 ? word >> 4 : word & 0xFFF;
    }
  } else {
    int size = pointer_bits_ / 8;
    const char* p = pointers_ + index * size;
    for (int i = 0; i < size; ++i) distance = distance << 8 | static_cast<uint8_t>(p[i]);
  }
  if (distance == 0 && shape_ == Shape::kDense) return kNone;
  return distance == 0 || distance > position_ ? kBad : position_ - distance;
}

int TrieNode::find(uint8_t byte, int* below) const {
  switch (shape_) {
    case Shape::kLeaf:
      *below = 0;
      return -1;
    case Shape::kDense: {
      int index = byte - first_;
      if (index < 0 || index >= count_) {
        *below = index < 0 ? 0 : count_;
        return -1;
      }
      *below = index;
      return child(index) == kNone ? -1 : index;
    }
    case Shape::kSingle:
    case Shape::kSparse: {
      int low = 0;
      int high = count_;
      while (low < high) {
        int middle = (low + high) / 2;
        if (static_cast<uint8_t>(bytes_[middle]) < byte) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      *below = low;
      return low < count_ && static_cast<uint8_t>(bytes_[low]) == byte ? low : -1;
    }
  }
  return -1;
}

bool TrieWalk::fail(uint64_t position) {
  failed_ = true;
  failed_at_ = position;
  stack_.clear();
  pending_ = false;
  return false;
}

bool TrieWalk::push(uint64_t position) {
  Frame& frame = stack_.emplace_back();
  if (stack_.size() > kMaxDepth || !frame.node.load(file_, position)) return fail(position);
  frame.index = 0;
  return true;
}

void TrieWalk::seek(BytesView file, uint64_t root, BytesView key) {
  file_ = file;
  stack_.clear();
  failed_ = false;
  pending_ = false;
  if (!push(root)) return;
  for (size_t i = 0; i < key.size(); ++i) {
    Frame& top = stack_.back();
    int below;
    int found = top.node.find(static_cast<uint8_t>(key[i]), &below);
    top.index = found >= 0 ? found + 1 : below;
    if (found < 0) break;
    uint64_t position = top.node.position();
    uint64_t child = top.node.child(found);
    if (child >= TrieNode::kBad) return static_cast<void>(fail(position));
    if (!push(child)) return;
  }
  pending_ = stack_.back().node.has_payload();
}

bool TrieWalk::next(TriePayload* payload) {
  while (!stack_.empty()) {
    Frame& top = stack_.back();
    if (pending_) {
      pending_ = false;
      *payload = top.node.payload();
      return true;
    }
    if (top.index >= top.node.count()) {
      stack_.pop_back();
      continue;
    }
    uint64_t position = top.node.position();
    uint64_t child = top.node.child(top.index++);
    if (child == TrieNode::kNone) continue;
    if (child == TrieNode::kBad) return fail(position);
    if (!push(child)) return false;
    pending_ = stack_.back().node.has_payload();
    // A leaf without an entry has no reason to be; without this check a damaged trie could be walked for ages.
    if (!pending_ && stack_.back().node.count() == 0) return fail(child);
  }
  return false;
}

void TrieWalk::seek_floor(BytesView file, uint64_t root, BytesView key) {
  file_ = file;
  stack_.clear();
  failed_ = false;
  if (!push(root)) return;
  for (size_t i = 0; i < key.size(); ++i) {
    Frame& top = stack_.back();
    int below;
    int found = top.node.find(static_cast<uint8_t>(key[i]), &below);
    top.index = below;
    if (found < 0) return;
    uint64_t position = top.node.position();
    uint64_t child = top.node.child(found);
    if (child >= TrieNode::kBad) return static_cast<void>(fail(position));
    if (!push(child)) return;
  }
}

void TrieWalk::seek_last(BytesView file, uint64_t root) {
  file_ = file;
  stack_.clear();
  failed_ = false;
  if (push(root)) stack_.back().index = stack_.back().node.count();
}

bool TrieWalk::previous(TriePayload* payload) {
  while (!stack_.empty()) {
    Frame& top = stack_.back();
    if (top.index == 0) {
      *payload = top.node.payload();
      stack_.pop_back();
      if (payload->bits != 0) return true;
      continue;
    }
    uint64_t position = top.node.position();
    uint64_t child = top.node.child(--top.index);
    if (child == TrieNode::kNone) continue;
    if (child == TrieNode::kBad) return fail(position);
    if (!push(child)) return false;
    Frame& pushed = stack_.back();
    pushed.index = pushed.node.count();
    if (!pushed.node.has_payload() && pushed.index == 0) return fail(child);
  }
  return false;
}

}  // namespace cassandra_like
