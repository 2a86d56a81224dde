// Partition keys and their tokens.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>

#include "base/bytes.h"
#include "model/schema.h"

namespace cassandra_like {

// Murmur3Partitioner: the first 64 bits of the hash, with Long.MIN_VALUE (the minimum token, owned by nobody) mapped
// to Long.MAX_VALUE.
using Token = int64_t;
inline constexpr Token kMinimumToken = std::numeric_limits<int64_t>::min();
Token murmur3_token(BytesView key);
// murmur3_128 of a key. Bloom filters use both halves, and the first one is the token of a key that is not empty.
using KeyHash = std::array<uint64_t, 2>;
Token token_of(const KeyHash& hash);

// A borrowed key with its token. Ordered by token, then by the key's bytes, unsigned.
struct DecoratedKey {
  Token token = kMinimumToken;
  BytesView key;

  static DecoratedKey of(BytesView key) { return {murmur3_token(key), key}; }
  auto operator<=>(const DecoratedKey& o) const {
    if (auto c = token <=> o.token; c != 0) return c;
    return key <=> o.key;
  }
  bool operator==(const DecoratedKey& o) const { return token == o.token && key == o.key; }
};

// The serialized partition key of its components: one component as it is; several each as a short length, the
// bytes and a zero byte (CompositeType).
Bytes serialize_partition_key(std::span<const BytesView> components);
std::vector<BytesView> split_partition_key(const TableMetadata& table, BytesView key);

// A place on the ring: before all keys of a token, after all of them, or at a key (just before or just after it).
struct RingPosition {
  Token token = kMinimumToken;
  enum class Kind : int8_t { kTokenStart = -1, kKey = 0, kTokenEnd = 1 } kind = Kind::kTokenStart;
  Bytes key;  // only of kKey

  static RingPosition minimum() { return {}; }
  static RingPosition maximum() { return {std::numeric_limits<int64_t>::max(), Kind::kTokenEnd, {}}; }
  static RingPosition before(Token t) { return {t, Kind::kTokenStart, {}}; }
  static RingPosition after(Token t) { return {t, Kind::kTokenEnd, {}}; }
  static RingPosition at(const DecoratedKey& k) { return {k.token, Kind::kKey, Bytes(k.key)}; }
  int compare(const DecoratedKey& k) const;  // <0: this is before k
  int compare(const RingPosition& other) const;
};

// Keys k with start < k < end, with start or end themselves when they are keys and inclusive.
struct KeyRange {
  RingPosition start = RingPosition::minimum();
  RingPosition end = RingPosition::maximum();
  bool start_inclusive = true;
  bool end_inclusive = true;

  bool contains(const DecoratedKey& k) const;
};

// ScyllaDB's shard-of-token rule: bias the token to unsigned, drop ignored most significant bits, multiply by the
// count and keep the high word. ScyllaDB's drivers compute the same from SUPPORTED.
inline constexpr unsigned kShardingIgnoreMsb = 12;
unsigned shard_of(Token token, unsigned shard_count, unsigned ignore_msb = kShardingIgnoreMsb);

}  // namespace cassandra_like
