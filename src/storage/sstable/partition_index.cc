// Building and searching the partition index.
#include "storage/sstable/partition_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "absl/container/inlined_vector.h"
#include "base/prefetch.h"
#include "model/clustering.h"
#include "model/types.h"

namespace cassandra_like {

namespace {

constexpr uint8_t kHasHash = 8;
constexpr size_t kFooterBytes = 24;
constexpr char kSeparator = 0x40;  // ByteSource.NEXT_COMPONENT

size_t difference(BytesView a, BytesView b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

uint64_t ordered(Token token) {
  return static_cast<uint64_t>(token) ^ uint64_t { 1 } << 63;
}

constexpr size_t kTokenBytes = 1 + sizeof(Token);  // of the comparable form

void write_comparable_token(char* to, Token token) {
  *to = kSeparator;
  store_be(to + 1, ordered(token));
}

// The way of one key down the trie, as far as its token tells it.
struct Descent {
  uint64_t token;  // in the order of unsigned numbers
  uint64_t at;     // the next node
  unsigned depth = 0;

  uint8_t byte() const {
    return depth == 0 ? kSeparator : static_cast<uint8_t>(token >> 8 * (kTokenBytes - 1 - depth));
  }
};

}  // namespace

void append_comparable_token(Bytes& out, Token token) {
  std::array<char, kTokenBytes> bytes;
  write_comparable_token(bytes.data(), token);
  out.append(bytes.data(), bytes.size());
}

void append_comparable_key(Bytes& out, const DecoratedKey& key) {
  static const TypePtr bytes = types::blob();
  append_comparable_token(out, key.token);
  out.push_back(kSeparator);
  bytes->append_comparable(out, key.key);
  out.push_back(kAtTerminator);
}

size_t PartitionIndexWriter::unique_prefix(const DecoratedKey& key) const {
  if (const uint64_t differing = ordered(key.token) ^ ordered(last_token_); differing != 0) {
    constexpr size_t kSeparatorBytes = 1, kBits = 8;
    return kSeparatorBytes + static_cast<size_t>(std::countl_zero(differing)) / kBits + 1;
  }
  Bytes comparable, last_comparable;
  append_comparable_key(comparable, key);
  append_comparable_key(last_comparable, last());
  return difference(comparable, last_comparable) + 1;
}

// The prefix of a key that tells it from both its neighbours is known when the next one comes.
void PartitionIndexWriter::add(const DecoratedKey& key, const KeyHash& hash, const IndexPosition& position) {
  if (count_ == 0) {
    first_key_.assign(key.key);
  } else {
    const size_t prefix = unique_prefix(key);
    write_last(std::max(prefix, last_prefix_));
    last_prefix_ = prefix;
  }
  ++count_;
  last_key_.assign(key.key);
  last_token_ = key.token;
  last_hash_ = static_cast<char>(hash[1]);
  last_position_ = position;
}

void PartitionIndexWriter::write_last(size_t prefix) {
  const auto value =
      static_cast<int64_t>(last_position_.in_rows_file ? last_position_.position : ~last_position_.position);
  const int size = sized_int_size(value);
  std::array<char, 1 + sizeof(value)> payload;
  payload[0] = last_hash_;
  const char* const payload_end = write_sized_int(&payload[1], value, size);
  const auto write = [&](BytesView comparable) {
    trie_.add(comparable.substr(0, prefix), static_cast<uint8_t>(kHasHash + size - 1),
              BytesView(payload.data(), static_cast<size_t>(payload_end - payload.data())));
  };
  // Two keys that follow one another hardly ever have the same token: only then the part behind it is made.
  if (std::array<char, kTokenBytes> token; prefix <= token.size()) {
    write_comparable_token(token.data(), last_token_);
    write(BytesView(token.data(), token.size()));
  } else {
    Bytes comparable;
    append_comparable_key(comparable, last());
    write(comparable);
  }
}

void PartitionIndexWriter::finish() {
  write_last(last_prefix_);
  uint64_t root = trie_.complete();
  uint64_t first_key_position = out_.position();
  Bytes end;
  for (const Bytes* key : {&first_key_, &last_key_}) {
    append_be<uint16_t>(end, static_cast<uint16_t>(key->size()));
    end.append(*key);
  }
  append_be(end, first_key_position);
  append_be(end, count_);
  append_be(end, root);
  out_.append(end);
}

std::optional<PartitionIndex> PartitionIndex::open(BytesView file) {
  if (file.size() < kFooterBytes) return std::nullopt;
  Reader footer(file.substr(file.size() - kFooterBytes));
  auto first_key_position = footer.be<uint64_t>();
  PartitionIndex index;
  index.count_ = footer.be<uint64_t>();
  index.root_ = footer.be<uint64_t>();
  if (first_key_position > file.size() - kFooterBytes || index.root_ >= first_key_position || index.count_ == 0) {
    return std::nullopt;
  }
  Reader keys(file.substr(first_key_position, file.size() - kFooterBytes - first_key_position));
  index.first_key_ = keys.take(keys.u16());
  index.last_key_ = keys.take(keys.u16());
  if (keys.failed()) return std::nullopt;
  index.file_ = file.substr(0, first_key_position);
  return index;
}

bool PartitionIndex::read_payload(const TriePayload& payload, IndexPosition* position) {
  int hash_bytes = payload.bits >= kHasHash ? 1 : 0;
  int size = hash_bytes == 1 ? payload.bits - kHasHash + 1 : payload.bits;
  if (size == 0 || payload.data.size() < static_cast<size_t>(hash_bytes + size)) return false;
  int64_t value = read_sized_int(payload.data.data() + hash_bytes, size);
  position->in_rows_file = value >= 0;
  position->position = static_cast<uint64_t>(value >= 0 ? value : ~value);
  return true;
}

void PartitionIndex::prefetch(std::span<const KeyHash> keys, std::vector<uint64_t>* data_positions) const {
  absl::InlinedVector<Descent, 16> descents;
  for (const KeyHash& key : keys) descents.push_back({ordered(token_of(key)), root_});
  // False: it is at its end.
  auto descend = [&](Descent& descent) {
    TrieNode node;
    if (!node.load(file_, descent.at)) return false;
    int below;
    const int child = descent.depth < kTokenBytes ? node.find(descent.byte(), &below) : -1;
    if (child < 0) {
      IndexPosition position;
      if (node.has_payload() && read_payload(node.payload(), &position) && !position.in_rows_file) {
        data_positions->push_back(position.position);
      }
      return false;
    }
    descent.at = node.child(child);
    ++descent.depth;
    if (descent.at >= file_.size()) return false;
    constexpr size_t kLines = 2;  // most nodes are no longer, and many lie across two
    prefetch_lines(file_.data() + descent.at, kLines);
    return true;
  };
  while (!descents.empty()) {
    descents.erase(std::remove_if(descents.begin(), descents.end(), std::not_fn(descend)), descents.end());
  }
}

PartitionIndex::Found PartitionIndex::find(BytesView comparable_key, const KeyHash& hash,
                                           IndexPosition* position) const {
  TrieNode node;
  uint64_t at = root_;
  size_t depth = 0;
  for (;; ++depth) {
    if (!node.load(file_, at)) {
      position->position = at;
      return Found::kCorrupt;
    }
    int below;
    int child = depth < comparable_key.size() ? node.find(static_cast<uint8_t>(comparable_key[depth]), &below) : -1;
    if (child < 0) break;
    position->position = at;
    at = node.child(child);
    if (at >= TrieNode::kBad) return Found::kCorrupt;
  }
  if (!node.has_payload() || (node.count() > 0 && depth < comparable_key.size())) return Found::kNo;
  TriePayload payload = node.payload();
  position->position = at;
  if (payload.data.empty()) return Found::kCorrupt;
  if (payload.bits >= kHasHash && payload.data[0] != static_cast<char>(hash[1])) return Found::kNo;
  return read_payload(payload, position) ? Found::kMaybe : Found::kCorrupt;
}

}  // namespace cassandra_like
