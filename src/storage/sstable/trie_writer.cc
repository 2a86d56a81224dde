// The page-aware packing of tries and the encoding of their nodes.
//
// A branch that lies in one page has the same bytes in every page, since all its pointers are distances: so it is encoded as
// soon as its root has all children, behind the branches of the children. When the branch outgrows a page, its children's
// branches are laid out, the largest that fits what is left of the page first. Pointers to them depend on where their node
// will be: such a node, and those above it in its page, are encoded when they are written.
//
// The order is part of the format only in so far as it decides sizes; it follows Cassandra's exactly, so that both write the
// same files.
#include "storage/sstable/trie_writer.h"

#include <algorithm>
#include <utility>

namespace cassandra_like {

int sized_int_size(int64_t value) {
  auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  return (64 - std::countl_zero(magnitude) + 1 + 7) / 8;
}

char* write_sized_int(char* to, int64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) *to++ = static_cast<char>(value >> shift);
  return to;
}

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
  PointerPacker(char* p, int bits) : p_(p), bits_(bits) {}
  void add(uint64_t distance) {
    if (bits_ != 12) {
      p_ = write_sized_int(p_, static_cast<int64_t>(distance), bits_ / 8);
      return;
    }
    if (odd_) {
      *p_++ = static_cast<char>(carry_ | distance >> 8);
      *p_++ = static_cast<char>(distance);
    } else {
      *p_++ = static_cast<char>(distance >> 4);
      carry_ = static_cast<uint8_t>(distance << 4);
    }
    odd_ = !odd_;
  }
  // Behind the last one.
  char* finish() {
    if (odd_) *p_++ = static_cast<char>(carry_);
    return p_;
  }

 private:
  char* p_;
  int bits_;
  bool odd_ = false;
  uint8_t carry_ = 0;
};

// A node with all children has pointers of at most 64 bits.
constexpr size_t kMaxNodeBytes = 3 + 256 * sizeof(uint64_t) + TrieWriter::kMaxPayload;

}  // namespace

void append_sized_int(Bytes& out, int64_t value, int size) {
  char bytes[sizeof(value)];
  write_sized_int(bytes, value, size);
  out.append(bytes, static_cast<size_t>(size));
}

int TrieWriter::type_for(std::span<const Branch> children, const Payload& payload, uint64_t furthest) {
  int size_class = 0;
  while (kPointerBits[size_class] < 64 && furthest >> kPointerBits[size_class] != 0) ++size_class;
  if (children.size() == 1) {
    // The 4 and 12 bit forms have no room for payload bits.
    bool no_payload = kSingles[size_class] == kSingleNoPayload4 || kSingles[size_class] == kSingleNoPayload12;
    return kSingles[payload.bits != 0 && no_payload ? size_class + 1 : size_class];
  }
  const int count = static_cast<int>(children.size());
  const int first = children.front().transition, last = children.back().transition;
  NodeType sparse = kSparses[size_class];
  NodeType dense = kDenses[size_class];
  return size_of(sparse, count, first, last) < size_of(dense, count, first, last) ? sparse : dense;
}

uint16_t TrieWriter::size_of_node(std::span<const Branch> children, const Payload& payload, uint64_t furthest) {
  const int first = children.front().transition, last = children.back().transition;
  const auto type = static_cast<NodeType>(type_for(children, payload, furthest));
  return static_cast<uint16_t>(size_of(type, static_cast<int>(children.size()), first, last) + payload.size);
}

void TrieWriter::append_node(Bytes& out, std::span<const Branch> children, const Payload& payload, uint64_t position,
                             uint64_t furthest) {
  const int type = type_for(children, payload, furthest);
  auto distance = [&](const Branch& child) { return position - child.at; };
  int bits = kTypes[type].pointer_bits;
  std::array<char, kMaxNodeBytes> node;
  char* p = node.data();
  *p++ = static_cast<char>(type << 4 | payload.bits);
  switch (kTypes[type].shape) {
    case Shape::kLeaf:  // complete_leaf() writes those
      break;
    case Shape::kSingle: {
      uint64_t d = distance(children.front());
      if (bits == 4) {
        node[0] = static_cast<char>(type << 4 | d);
      } else if (bits == 12) {
        node[0] = static_cast<char>(type << 4 | d >> 8);
        *p++ = static_cast<char>(d);
      }
      *p++ = static_cast<char>(children.front().transition);
      if (bits == 8 || bits == 16) p = write_sized_int(p, static_cast<int64_t>(d), bits / 8);
      break;
    }
    case Shape::kSparse: {
      *p++ = static_cast<char>(children.size());
      for (const Branch& child : children) *p++ = static_cast<char>(child.transition);
      PointerPacker pointers(p, bits);
      for (const Branch& child : children) pointers.add(distance(child));
      p = pointers.finish();
      break;
    }
    case Shape::kDense: {
      int next = children.front().transition;
      *p++ = static_cast<char>(next);
      *p++ = static_cast<char>(children.back().transition - next);
      PointerPacker pointers(p, bits);
      for (const Branch& child : children) {
        for (; next < child.transition; ++next) pointers.add(0);
        pointers.add(distance(child));
        ++next;
      }
      p = pointers.finish();
      break;
    }
  }
  p = std::copy_n(payload.data.begin(), payload.size, p);
  out.append(node.data(), static_cast<size_t>(p - node.data()));
}

void TrieWriter::open_node(uint8_t transition) { path_.push_back({transition, {}, branches_.size(), bytes_.size()}); }

TrieWriter::Node* TrieWriter::new_node(std::span<const Branch> children, const Payload& payload) {
  if (free_nodes_.empty()) {
    nodes_.push_back(std::make_unique<Node>());
    free_nodes_.push_back(nodes_.back().get());
  }
  Node* node = free_nodes_.back();
  free_nodes_.pop_back();
  node->children.assign(children.begin(), children.end());
  node->payload = payload;
  node->children_written = false;
  return node;
}

void TrieWriter::reset() {
  free_nodes_.clear();
  for (const auto& node : nodes_) free_nodes_.push_back(node.get());
  path_.clear();
  branches_.clear();
  bytes_.clear();
  open_node(0);
  count_ = 0;
}

size_t TrieWriter::shared_with_last(BytesView key) const {
  const size_t last_size = path_.size() - 1;
  const auto last = [&](size_t at) { return path_[at + 1].transition; };
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(key[at]); };
  size_t shared = 0;
  while (shared < key.size() && shared < last_size && last(shared) == byte(shared)) ++shared;
  CHECK(count_ == 0 || (shared < key.size() && (shared == last_size || last(shared) < byte(shared))));
  return shared;
}

void TrieWriter::add(BytesView key, uint8_t payload_bits, BytesView payload) {
  CHECK(payload_bits != 0 && payload_bits < 16 && payload.size() <= kMaxPayload);
  const size_t shared = shared_with_last(key);
  ++count_;
  while (path_.size() > shared + 1) complete_last();
  for (char c : key.substr(shared)) open_node(static_cast<uint8_t>(c));
  Payload& own = path_.back().payload;
  own.bits = payload_bits;
  own.size = static_cast<uint8_t>(payload.size());
  std::copy(payload.begin(), payload.end(), own.data.begin());
}

uint64_t TrieWriter::complete() {
  CHECK(count_ > 0);
  while (!path_.empty()) complete_last();
  uint64_t position = finish_root(branches_.front());
  reset();
  return position;
}

void TrieWriter::complete_last() {
  const OpenNode& open = path_.back();
  const bool is_leaf = open.first_child == branches_.size();
  const Branch branch = is_leaf ? complete_leaf(open, bytes_) : complete_inner(open);
  branches_.resize(open.first_child);
  branches_.push_back(branch);
  path_.pop_back();
}

// Most nodes are leaves.
TrieWriter::Branch TrieWriter::complete_leaf(const OpenNode& leaf, Bytes& bytes) {
  std::array<char, 1 + kMaxPayload> node;
  node[0] = static_cast<char>(kPayloadOnly << 4 | leaf.payload.bits);
  std::copy(leaf.payload.data.begin(), leaf.payload.data.end(), node.begin() + 1);
  Branch branch;
  branch.transition = leaf.transition;
  branch.node_size = static_cast<uint16_t>(1 + leaf.payload.size);
  branch.at = bytes.size();
  bytes.append(node.data(), branch.node_size);
  return branch;
}

TrieWriter::Branch TrieWriter::complete_inner(const OpenNode& open) {
  std::span<const Branch> children(branches_.data() + open.first_child, branches_.size() - open.first_child);
  Branch branch;
  branch.transition = open.transition;
  bool is_fixed = true;
  for (const Branch& child : children) {
    branch.branch_size += child.size();
    is_fixed &= child.node == nullptr;
  }
  const uint64_t furthest = branch.branch_size - children.front().branch_size;
  branch.node_size = size_of_node(children, open.payload, furthest);
  if (branch.size() >= kTriePageBytes) {
    branch.node = new_node(children, open.payload);
    lay_out_children(branch);
    bytes_.resize(open.first_byte);
  } else if (is_fixed) {
    branch.at = bytes_.size();
    append_node(bytes_, children, open.payload, branch.at, furthest);
  } else {
    branch.node = new_node(children, open.payload);
  }
  return branch;
}

// The children that are not placed yet, smallest branch first; equals by their byte.
class TrieWriter::Placement {
 public:
  explicit Placement(Node& node) {
    for (Branch& child : node.children) {
      if (!child.placed) children_.push_back(&child);
    }
    std::sort(children_.begin(), children_.end(), before);
  }
  bool empty() const { return children_.empty(); }
  // The largest of at most `limit` bytes; nullptr when all are larger.
  Branch* take_largest(uint64_t limit) {
    auto end = std::upper_bound(children_.begin(), children_.end(), limit,
                                [](uint64_t most, const Branch* child) { return most < child->size(); });
    if (end == children_.begin()) return nullptr;
    Branch* child = *--end;
    children_.erase(end);
    return child;
  }
  void put_back(Branch* child) {
    children_.insert(std::upper_bound(children_.begin(), children_.end(), child, before), child);
  }

 private:
  static bool before(const Branch* a, const Branch* b) {
    return a->size() != b->size() ? a->size() < b->size() : a->transition < b->transition;
  }
  std::vector<Branch*> children_;
};

void TrieWriter::lay_out_children(Branch& branch) {
  Node& node = *branch.node;
  Placement children(node);
  uint64_t bytes_left = bytes_left_in_page();
  while (!children.empty()) {
    Branch* child = children.take_largest(bytes_left);
    if (child == nullptr) {
      pad_to_page();
      bytes_left = kTriePageBytes;
      child = children.take_largest(~uint64_t{0});
    }
    if (child->node != nullptr && recalculate_size(*child, out_.position()) > bytes_left) {
      // It outgrew this page, or even any page, since its size was first taken.
      if (bytes_left == kTriePageBytes) {
        lay_out_children(*child);
        bytes_left = bytes_left_in_page();
      }
      children.put_back(child);
      continue;
    }
    write_and_finalize(*child);
    if (!std::exchange(node.children_written, true)) node.first_written = child->at;
    bytes_left = bytes_left_in_page();
  }
  branch.branch_size = 0;
  branch.node_size = size_of_node(node.children, node.payload, furthest_child(branch, out_.position()));
}

uint64_t TrieWriter::finish_root(Branch& root) {
  uint64_t size = recalculate_size(root, out_.position());
  uint64_t bytes_left = bytes_left_in_page();
  if (size > bytes_left) {
    if (size <= kTriePageBytes) {
      pad_to_page();
      bytes_left = kTriePageBytes;
      size = recalculate_size(root, out_.position());
    }
    if (size > bytes_left) {
      lay_out_children(root);
      if (root.node_size > bytes_left_in_page()) {
        pad_to_page();
        recalculate_size(root, out_.position());
      }
    }
  }
  write_and_finalize(root);
  return root.at;
}

// The distance to the furthest child of a branch's node that lies at a position. Children are written all together: before the
// node, or just before it with their branches.
uint64_t TrieWriter::furthest_child(const Branch& branch, uint64_t position) {
  const Node& node = *branch.node;
  return node.children_written ? position - node.first_written : branch.branch_size - node.children.front().branch_size;
}

// Gives the branch's size when it begins at a position.
uint32_t TrieWriter::recalculate_size(Branch& branch, uint64_t position) {
  if (branch.node == nullptr) return branch.size();
  Node& node = *branch.node;
  if (!node.children_written) {
    uint32_t size = 0;
    for (Branch& child : node.children) size += recalculate_size(child, position + size);
    branch.branch_size = size;
  }
  branch.node_size = size_of_node(node.children, node.payload, furthest_child(branch, position + branch.branch_size));
  return branch.size();
}

uint64_t TrieWriter::write_branch(Branch& branch) {
  if (branch.node == nullptr) {
    out_.append(BytesView(bytes_).substr(branch.at - branch.branch_size, branch.size()));
    return out_.position() - branch.node_size;
  }
  Node& node = *branch.node;
  if (!node.children_written) {
    for (Branch& child : node.children) child.at = write_branch(child);
  }
  const uint64_t position = out_.position();
  scratch_.clear();
  append_node(scratch_, node.children, node.payload, position, furthest_child(branch, position));
  out_.append(scratch_);
  free_nodes_.push_back(&node);
  return position;
}

void TrieWriter::write_and_finalize(Branch& branch) {
  branch.at = write_branch(branch);
  branch.node = nullptr;
  branch.placed = true;
  branch.branch_size = 0;
  branch.node_size = 0;
}

void TrieWriter::pad_to_page() {
  if (uint64_t left = bytes_left_in_page(); left < kTriePageBytes) out_.append(Bytes(left, '\0'));
}

}  // namespace cassandra_like
