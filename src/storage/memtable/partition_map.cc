// Finding, inserting and splitting in the index of a memtable's partitions.
#include "storage/memtable/partition_map.h"

#include <algorithm>
#include <array>
#include <new>

#include "base/dcheck.h"
#include "base/prefetch.h"

namespace cassandra_like {

namespace {

// Takes as much of the arena wherever that is in memory: what is counted must not depend on addresses.
void* allocate_lines(Arena& arena, size_t size) {
  auto at = reinterpret_cast<uintptr_t>(arena.allocate(size + kCacheLine - alignof(std::max_align_t)));
  return reinterpret_cast<void*>((at + kCacheLine - 1) & ~(kCacheLine - 1));
}

// A partition, its key and the first lines of what it has follow each other in the arena, mostly.
constexpr size_t kPartitionLines = 5;

// The number of loads that the processor has under way at once.
constexpr size_t kPrefetchedTogether = 16;

// So few that looking at all of them is faster than being wrong about where to look.
unsigned count_before(uint64_t token, const uint64_t* tokens, unsigned size) {
  unsigned count = 0;
  for (unsigned i = 0; i < size; ++i) count += tokens[i] < token;
  return count;
}

}  // namespace

PartitionMap::PartitionMap(Arena* arena) : arena_(arena), first_(new (allocate_lines(*arena, sizeof(Bucket))) Bucket) {
  static_assert(sizeof(Bucket) == 4 * kCacheLine);
  root_ = Slot(first_);
}

PartitionMap::Bucket* PartitionMap::bucket_of(uint64_t token) const {
  Slot slot = root_;
  for (unsigned used = 0; slot.is_node(); used += kNodeBits) slot = slot.node()->slots[slot_of(token, used)];
  return slot.bucket();
}

PartitionMap::Place PartitionMap::place_of(const DecoratedKey& key) const {
  const uint64_t token = ordered(key.token);
  Bucket* bucket = bucket_of(token);
  prefetch_lines(bucket, sizeof(Bucket) / kCacheLine);
  while (true) {
    const unsigned size = bucket->size;
    unsigned at = count_before(token, bucket->tokens, size);
    for (; at < size && bucket->tokens[at] == token; ++at) {
      const MemtablePartition* partition = bucket->partitions[at];
      prefetch_lines(partition, kPartitionLines);
      if (auto order = partition->key.key <=> key.key; order >= 0) return {bucket, at, order == 0};
    }
    if (at < size || bucket->next == nullptr || !bucket->next->continues) return {bucket, at, false};
    bucket = bucket->next;
  }
}

MemtablePartition* PartitionMap::find(const DecoratedKey& key) const {
  const Place place = place_of(key);
  return place.found ? place.bucket->partitions[place.at] : nullptr;
}

void PartitionMap::prefetch(std::span<const Token> tokens) const {
  for (; tokens.size() > kPrefetchedTogether; tokens = tokens.subspan(kPrefetchedTogether)) {
    prefetch_few(tokens.first(kPrefetchedTogether));
  }
  prefetch_few(tokens);
}

bool PartitionMap::has(Token token) const {
  const Bucket& bucket = *bucket_of(ordered(token));
  const unsigned at = count_before(ordered(token), bucket.tokens, bucket.size);
  return at < bucket.size && bucket.tokens[at] == ordered(token);
}

// All go the same way as place_of(), one step at a time: what one step reads is independent of each other.
void PartitionMap::prefetch_few(std::span<const Token> tokens) const {
  std::array<Slot, kPrefetchedTogether> slots;
  slots.fill(root_);
  bool at_buckets = false;
  for (unsigned used = 0; !at_buckets; used += kNodeBits) {
    at_buckets = true;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!slots[i].is_node()) continue;
      slots[i] = slots[i].node()->slots[slot_of(ordered(tokens[i]), used)];
      at_buckets = false;
    }
  }
  for (size_t i = 0; i < tokens.size(); ++i) prefetch_lines(slots[i].bucket(), sizeof(Bucket) / kCacheLine);
  std::array<const MemtablePartition*, kPrefetchedTogether> partitions{};
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Bucket& bucket = *slots[i].bucket();
    const unsigned at = count_before(ordered(tokens[i]), bucket.tokens, bucket.size);
    if (at == bucket.size) continue;
    partitions[i] = bucket.partitions[at];
    prefetch_lines(partitions[i], kPartitionLines);
  }
  for (const MemtablePartition* partition : partitions) {
    if (partition != nullptr && partition->only_row != nullptr) partition->only_row->prefetch();
  }
}

PartitionMap::Iterator PartitionMap::lower_bound(const RingPosition& position) const {
  const uint64_t token = ordered(position.token);
  const Bucket* bucket = bucket_of(token);
  Iterator at(bucket, count_before(token, bucket->tokens, bucket->size));
  while (at != end() && position.compare(at->key) > 0) ++at;
  return at;
}

MemtablePartition& PartitionMap::insert(const DecoratedKey& key, Place place, MemtablePartition* partition) {
  DCHECK(!place.found && partition->key == key);
  while (place.bucket->size == kCapacity) {
    make_room(ordered(key.token), *place.bucket);
    place = place_of(key);
  }
  Bucket& bucket = *place.bucket;
  std::copy_backward(bucket.tokens + place.at, bucket.tokens + bucket.size, bucket.tokens + bucket.size + 1);
  std::copy_backward(bucket.partitions + place.at, bucket.partitions + bucket.size,
                     bucket.partitions + bucket.size + 1);
  bucket.tokens[place.at] = ordered(key.token);
  bucket.partitions[place.at] = partition;
  ++bucket.size;
  ++size_;
  DCHECK(std::is_sorted(bucket.tokens, bucket.tokens + bucket.size));
  DCHECK(place.at == 0 || bucket.partitions[place.at - 1]->key < key);
  return *partition;
}

PartitionMap::Bucket* PartitionMap::make_bucket(Bucket& after) {
  auto* bucket = new (allocate_lines(*arena_, sizeof(Bucket))) Bucket;
  bucket->bits = after.bits;
  bucket->next = after.next;
  after.next = bucket;
  return bucket;
}

void PartitionMap::move_tail(Bucket& from, unsigned first, Bucket& to) {
  std::copy(from.tokens + first, from.tokens + from.size, to.tokens);
  std::copy(from.partitions + first, from.partitions + from.size, to.partitions);
  to.size = from.size - first;
  from.size = first;
}

void PartitionMap::make_room(uint64_t token, Bucket& full) {
  if (full.bits < kTokenBits) return split(token, full);
  Bucket* rest = make_bucket(full);
  rest->continues = true;
  move_tail(full, kCapacity / 2, *rest);
}

void PartitionMap::split(uint64_t token, Bucket& full) {
  Slot* slot = &root_;
  Node* node = nullptr;
  unsigned used = 0;  // bits of the token that lead to the slot
  for (; slot->is_node(); used += kNodeBits) {
    node = slot->node();
    slot = &node->slots[slot_of(token, used)];
  }
  if (full.bits == used) {  // it has the slot alone
    node = new (arena_->allocate(sizeof(Node))) Node;
    std::fill(std::begin(node->slots), std::end(node->slots), Slot(&full));
    *slot = Slot(node);
    used += kNodeBits;
  }
  const size_t width = size_t{1} << (used - full.bits);
  const size_t first = slot_of(token, used - kNodeBits) & ~(width - 1);
  const uint64_t next_bit = uint64_t{1} << (kTokenBits - 1 - full.bits);
  ++full.bits;
  Bucket* upper = make_bucket(full);
  std::fill_n(node->slots + first + width / 2, width / 2, Slot(upper));
  const uint64_t* tokens = full.tokens;
  const uint64_t* upper_tokens =
      std::partition_point(tokens, tokens + full.size, [&](uint64_t t) { return (t & next_bit) == 0; });
  move_tail(full, static_cast<unsigned>(upper_tokens - tokens), *upper);
}

}  // namespace cassandra_like
