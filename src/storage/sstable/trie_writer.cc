// The page-aware packing of tries and the encoding of their nodes.
//
// A completed node stays in memory until the branch below it outgrows a page; then its children's branches are laid
// out, the largest that fits what is left of the page first. The order is part of the format only in so far as it
// decides sizes; it follows Cassandra's exactly, so that both write the same files.
#include "storage/sstable/trie_writer.h"

#include <algorithm>
#include <utility>

namespace cassandra_like {

int sized_int_size(int64_t value) {
  auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  return (64 - std::countl_zero(magnitude) + 1 + 7) / 8;
}

void append_sized_int(Bytes& out, int64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

// A million keys leave tens of thousands of small nodes until the end: they end with the arena.
struct TrieWriter::Node {
  static constexpr int64_t kUnplaced = -1;

  // In order of their transitions. A node that is used again keeps its array.
  class Children {
   public:
    Node** begin() const { return nodes_; }
    Node** end() const { return nodes_ + size_; }
    Node* front() const { return nodes_[0]; }
    Node* back() const { return nodes_[size_ - 1]; }
    int size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void clear() { size_ = 0; }
    void push_back(Node* node, Arena& arena) {
      if (size_ == capacity_) grow(arena);
      nodes_[size_++] = node;
    }

   private:
    void grow(Arena& arena) {
      capacity_ = std::max(1, 2 * capacity_);
      auto* larger =
          static_cast<Node**>(arena.allocate(static_cast<size_t>(capacity_) * sizeof(Node*), alignof(Node*)));
      std::copy(begin(), end(), larger);
      nodes_ = larger;
    }

    Node** nodes_ = nullptr;
    int size_ = 0;
    int capacity_ = 0;
  };

  uint8_t transition = 0;
  uint8_t payload_bits = 0;
  uint8_t payload_size = 0;
  // Whether the children, or something below a child, are already written: then this node's size depends on where it goes.
  bool out_of_page_children = false;
  bool out_of_page_in_branch = false;
  int branch_size = -1;  // of all that is not yet written below
  int node_size = -1;
  int64_t position = kUnplaced;
  int64_t furthest_child = 0;  // the position of the child that was written first
  std::array<char, kMaxPayload> payload{};
  Children children;
  Node* next_free = nullptr;

  bool placed() const { return position != kUnplaced; }
  // Distance to the furthest child. Children are written all together: before the node, or just before it with their
  // branches.
  uint64_t max_distance(uint64_t own_position) const {
    if (out_of_page_children) return own_position - static_cast<uint64_t>(furthest_child);
    return static_cast<uint64_t>(branch_size - children.front()->branch_size);
  }
};

namespace {

enum NodeType : uint8_t {
  kPayloadOnly,
  kSingleNoPayload4,
  kSingle8,
  kSingleNoPayload12,
  kSingle16,
  kSparse8,
  kSparse12,
  kSparse16,
  kSparse24,
  kSparse40,
  kDense12,
  kDense16,
  kDense24,
  kDense32,
  kDense40,
  kLongDense,
};
enum class Shape : uint8_t { kLeaf, kSingle, kSparse, kDense };

struct TypeInfo {
  Shape shape;
  int pointer_bits;
};
constexpr TypeInfo kTypes[16] = {
    {Shape::kLeaf, 0},    {Shape::kSingle, 4},  {Shape::kSingle, 8},  {Shape::kSingle, 12},
    {Shape::kSingle, 16}, {Shape::kSparse, 8},  {Shape::kSparse, 12}, {Shape::kSparse, 16},
    {Shape::kSparse, 24}, {Shape::kSparse, 40}, {Shape::kDense, 12},  {Shape::kDense, 16},
    {Shape::kDense, 24},  {Shape::kDense, 32},  {Shape::kDense, 40},  {Shape::kDense, 64},
};
// The types for one, few and many children, by the size of the furthest pointer.
constexpr int kPointerBits[8] = {4, 8, 12, 16, 24, 32, 40, 64};
constexpr NodeType kSingles[8] = {kSingleNoPayload4, kSingle8, kSingleNoPayload12, kSingle16,
                                  kDense24,          kDense32, kDense40,           kLongDense};
constexpr NodeType kSparses[8] = {kSparse8,  kSparse8,  kSparse12, kSparse16,
                                  kSparse24, kSparse40, kSparse40, kLongDense};
constexpr NodeType kDenses[8] = {kDense12, kDense12, kDense12, kDense16, kDense24, kDense32, kDense40, kLongDense};

int size_of(NodeType type, int children, int first, int last) {
  int bits = kTypes[type].pointer_bits;
  switch (kTypes[type].shape) {
    case Shape::kLeaf:
      return 1;
    case Shape::kSingle:
      return bits == 4 ? 2 : bits == 12 ? 3 : 2 + bits / 8;
    case Shape::kSparse:
      return 2 + children + (children * bits + 7) / 8;
    case Shape::kDense:
      return 3 + ((last - first + 1) * bits + 7) / 8;
  }
  return 0;
}

// Writes pointers of 12 or of whole bytes' bits one after the other.
class PointerPacker {
 public:
  PointerPacker(Bytes& out, int bits) : out_(out), bits_(bits) {}
  void add(uint64_t distance) {
    if (bits_ != 12) return append_sized_int(out_, static_cast<int64_t>(distance), bits_ / 8);
    if (odd_) {
      out_.push_back(static_cast<char>(carry_ | distance >> 8));
      out_.push_back(static_cast<char>(distance));
    } else {
      out_.push_back(static_cast<char>(distance >> 4));
      carry_ = static_cast<uint8_t>(distance << 4);
    }
    odd_ = !odd_;
  }
  void finish() {
    if (odd_) out_.push_back(static_cast<char>(carry_));
  }

 private:
  Bytes& out_;
  int bits_;
  bool odd_ = false;
  uint8_t carry_ = 0;
};

template <class Node>
NodeType type_for(const Node& node, uint64_t position) {
  if (node.children.empty()) return kPayloadOnly;
  uint64_t distance = node.max_distance(position);
  int size_class = 0;
  while (kPointerBits[size_class] < 64 && distance >> kPointerBits[size_class] != 0) ++size_class;
  const int children = node.children.size();
  if (children == 1) {
    // The 4 and 12 bit forms have no room for payload bits.
    bool no_payload = kSingles[size_class] == kSingleNoPayload4 || kSingles[size_class] == kSingleNoPayload12;
    return kSingles[node.payload_bits != 0 && no_payload ? size_class + 1 : size_class];
  }
  int first = node.children.front()->transition;
  int last = node.children.back()->transition;
  NodeType sparse = kSparses[size_class];
  NodeType dense = kDenses[size_class];
  return size_of(sparse, children, first, last) < size_of(dense, children, first, last) ? sparse : dense;
}

template <class Node>
int size_of_node(const Node& node, uint64_t position) {
  int first = node.children.empty() ? 0 : node.children.front()->transition;
  int last = node.children.empty() ? 0 : node.children.back()->transition;
  return size_of(type_for(node, position), node.children.size(), first, last) + node.payload_size;
}

template <class Node>
void append_node(Bytes& out, const Node& node, uint64_t position) {
  NodeType type = type_for(node, position);
  auto distance = [&](const Node* child) { return position - static_cast<uint64_t>(child->position); };
  int bits = kTypes[type].pointer_bits;
  auto header = static_cast<char>(type << 4 | node.payload_bits);
  switch (kTypes[type].shape) {
    case Shape::kLeaf:
      out.push_back(header);
      break;
    case Shape::kSingle: {
      uint64_t d = distance(node.children.front());
      if (bits == 4) {
        out.push_back(static_cast<char>(type << 4 | d));
      } else if (bits == 12) {
        out.push_back(static_cast<char>(type << 4 | d >> 8));
        out.push_back(static_cast<char>(d));
      } else {
        out.push_back(header);
      }
      out.push_back(static_cast<char>(node.children.front()->transition));
      if (bits == 8 || bits == 16) append_sized_int(out, static_cast<int64_t>(d), bits / 8);
      break;
    }
    case Shape::kSparse: {
      out.push_back(header);
      out.push_back(static_cast<char>(node.children.size()));
      for (const Node* child : node.children) out.push_back(static_cast<char>(child->transition));
      PointerPacker pointers(out, bits);
      for (const Node* child : node.children) pointers.add(distance(child));
      pointers.finish();
      break;
    }
    case Shape::kDense: {
      int next = node.children.front()->transition;
      out.push_back(header);
      out.push_back(static_cast<char>(next));
      out.push_back(static_cast<char>(node.children.back()->transition - next));
      PointerPacker pointers(out, bits);
      for (const Node* child : node.children) {
        for (; next < child->transition; ++next) pointers.add(0);
        pointers.add(distance(child));
        ++next;
      }
      pointers.finish();
      break;
    }
  }
  out.append(node.payload.data(), node.payload_size);
}

}  // namespace

TrieWriter::TrieWriter(FileWriter& out) : out_(out) { reset(); }

TrieWriter::Node* TrieWriter::new_node(uint8_t transition) {
  Node* node = free_;
  if (node == nullptr) {
    node = nodes_.make<Node>();
  } else {
    free_ = node->next_free;
    Node::Children children = node->children;
    *node = Node();
    node->children = children;
  }
  node->transition = transition;
  return node;
}

void TrieWriter::recycle(Node* node) {
  recycle_children(node);
  node->next_free = free_;
  free_ = node;
}

void TrieWriter::recycle_children(Node* node) {
  for (Node* child : node->children) recycle(child);
  node->children.clear();
}

void TrieWriter::reset() {
  if (!path_.empty()) recycle(path_[0]);
  path_.assign(1, new_node(0));
  last_key_.clear();
  count_ = 0;
}

void TrieWriter::add(BytesView key, uint8_t payload_bits, BytesView payload) {
  CHECK(payload_bits != 0 && payload_bits < 16 && payload.size() <= kMaxPayload);
  size_t common = 0;
  if (count_ > 0) {
    size_t limit = std::min(key.size(), last_key_.size());
    while (common < limit && key[common] == last_key_[common]) ++common;
    CHECK(last_key_ < key);
  }
  ++count_;
  while (path_.size() > common + 1) complete_last();
  Node* node = path_.back();
  for (char c : key.substr(common)) {
    Node* child = new_node(static_cast<uint8_t>(c));
    node->children.push_back(child, nodes_);
    path_.push_back(child);
    node = child;
  }
  node->payload_bits = payload_bits;
  node->payload_size = static_cast<uint8_t>(payload.size());
  std::copy(payload.begin(), payload.end(), node->payload.begin());
  last_key_.assign(key);
}

uint64_t TrieWriter::complete() {
  CHECK(count_ > 0);
  Node* root = path_[0];
  while (!path_.empty()) complete_last();
  uint64_t position = finish_root(root);
  recycle(root);
  path_.assign(1, new_node(0));
  last_key_.clear();
  return position;
}

void TrieWriter::complete_last() {
  Node* node = path_.back();
  path_.pop_back();
  complete_node(node);
}

void TrieWriter::complete_node(Node* node) {
  int branch_size = 0;
  for (const Node* child : node->children) {
    branch_size += child->branch_size + child->node_size;
    node->out_of_page_in_branch |= child->out_of_page_children || child->out_of_page_in_branch;
  }
  node->branch_size = branch_size;
  int node_size = size_of_node(*node, out_.position());
  if (static_cast<uint64_t>(node_size + branch_size) >= kTriePageBytes) return lay_out_children(node);
  node->node_size = node_size;
}

// The children that are not placed yet, smallest branch first; equals by their byte.
class TrieWriter::Placement {
 public:
  explicit Placement(const Node& node) {
    for (Node* child : node.children) {
      if (!child->placed()) children_.push_back(child);
    }
    std::sort(children_.begin(), children_.end(), before);
  }
  bool empty() const { return children_.empty(); }
  // The largest of at most `limit` bytes; nullptr when all are larger.
  Node* take_largest(uint64_t limit) {
    auto end = std::find_if(children_.begin(), children_.end(), [&](const Node* c) { return total(c) > limit; });
    if (end == children_.begin()) return nullptr;
    Node* node = *--end;
    children_.erase(end);
    return node;
  }
  void put_back(Node* node) {
    children_.insert(std::upper_bound(children_.begin(), children_.end(), node, before), node);
  }

 private:
  static uint64_t total(const Node* n) { return static_cast<uint64_t>(n->branch_size + n->node_size); }
  static bool before(const Node* a, const Node* b) {
    return total(a) != total(b) ? total(a) < total(b) : a->transition < b->transition;
  }
  std::vector<Node*> children_;
};

void TrieWriter::lay_out_children(Node* node) {
  Placement children(*node);
  uint64_t bytes_left = bytes_left_in_page();
  while (!children.empty()) {
    Node* child = children.take_largest(bytes_left);
    if (child == nullptr) {
      pad_to_page();
      bytes_left = kTriePageBytes;
      child = children.take_largest(~uint64_t{0});
    }
    if (child->out_of_page_children || child->out_of_page_in_branch) {
      auto actual = static_cast<uint64_t>(recalculate_size(child, out_.position()));
      if (actual > bytes_left) {
        // It outgrew this page, or even any page, since its size was first taken.
        if (bytes_left == kTriePageBytes) {
          lay_out_children(child);
          bytes_left = bytes_left_in_page();
        }
        children.put_back(child);
        continue;
      }
    }
    write_and_finalize(child);
    if (!std::exchange(node->out_of_page_children, true)) node->furthest_child = child->position;
    bytes_left = bytes_left_in_page();
  }
  node->branch_size = 0;
  node->out_of_page_in_branch = false;
  node->node_size = size_of_node(*node, out_.position());
}

uint64_t TrieWriter::finish_root(Node* root) {
  auto size = static_cast<uint64_t>(recalculate_size(root, out_.position()));
  uint64_t bytes_left = bytes_left_in_page();
  if (size > bytes_left) {
    if (size <= kTriePageBytes) {
      pad_to_page();
      bytes_left = kTriePageBytes;
      size = static_cast<uint64_t>(recalculate_size(root, out_.position()));
    }
    if (size > bytes_left) {
      lay_out_children(root);
      if (static_cast<uint64_t>(root->node_size) > bytes_left_in_page()) {
        pad_to_page();
        recalculate_size(root, out_.position());
      }
    }
  }
  write_and_finalize(root);
  return static_cast<uint64_t>(root->position);
}

int TrieWriter::recalculate_size(Node* node, uint64_t position) {
  if (node->out_of_page_in_branch) {
    int size = 0;
    for (Node* child : node->children) size += recalculate_size(child, position + static_cast<uint64_t>(size));
    node->branch_size = size;
  }
  if (node->out_of_page_children || node->out_of_page_in_branch) {
    node->node_size = size_of_node(*node, position + static_cast<uint64_t>(node->branch_size));
  }
  return node->branch_size + node->node_size;
}

uint64_t TrieWriter::write_branch(Node* node) {
  for (Node* child : node->children) {
    if (!child->placed()) child->position = static_cast<int64_t>(write_branch(child));
  }
  uint64_t position = out_.position();
  scratch_.clear();
  append_node(scratch_, *node, position);
  out_.append(scratch_);
  return position;
}

void TrieWriter::write_and_finalize(Node* node) {
  node->position = static_cast<int64_t>(write_branch(node));
  recycle_children(node);
  node->branch_size = 0;
  node->node_size = 0;
  node->out_of_page_children = false;
  node->out_of_page_in_branch = false;
}

void TrieWriter::pad_to_page() {
  if (uint64_t left = bytes_left_in_page(); left < kTriePageBytes) out_.append(Bytes(left, '\0'));
}

}  // namespace cassandra_like
