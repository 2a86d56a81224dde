#include "model/key.h"

#include "base/checksum.h"

namespace cassandra_like {

namespace {

int sign(std::strong_ordering c) { return c < 0 ? -1 : c > 0; }

}  // namespace

Token murmur3_token(BytesView key) {
  if (key.empty()) return kMinimumToken;
  return token_of(murmur3_128(key));
}

Token token_of(const KeyHash& hash) {
  const auto token = static_cast<Token>(hash[0]);
  return token == kMinimumToken ? std::numeric_limits<Token>::max() : token;
}

Bytes serialize_partition_key(std::span<const BytesView> components) {
  if (components.size() == 1) return Bytes(components[0]);
  size_t size = 0;
  for (BytesView c : components) size += c.size() + 3;
  Bytes out;
  out.reserve(size);
  for (BytesView c : components) {
    append_be(out, static_cast<uint16_t>(c.size()));
    out.append(c);
    out.push_back('\0');
  }
  return out;
}

std::vector<BytesView> split_partition_key(const TableMetadata& table, BytesView key) {
  if (table.partition_key.size() == 1) return {key};
  std::vector<BytesView> out;
  out.reserve(table.partition_key.size());
  Reader in(key);
  while (!in.at_end()) {
    out.push_back(in.take(in.u16()));
    in.skip(1);
  }
  return out;
}

int RingPosition::compare(const DecoratedKey& k) const {
  if (auto c = token <=> k.token; c != 0) return sign(c);
  if (kind != Kind::kKey) return static_cast<int>(kind);
  return sign(BytesView(key) <=> k.key);
}

int RingPosition::compare(const RingPosition& other) const {
  if (auto c = token <=> other.token; c != 0) return sign(c);
  if (kind != other.kind) return kind < other.kind ? -1 : 1;
  return sign(key <=> other.key);
}

bool KeyRange::contains(const DecoratedKey& k) const {
  int from = start.compare(k);
  int to = end.compare(k);
  return (from < 0 || (from == 0 && start_inclusive)) && (to > 0 || (to == 0 && end_inclusive));
}

unsigned shard_of(Token token, unsigned shard_count, unsigned ignore_msb) {
  uint64_t biased = static_cast<uint64_t>(token) + (1ULL << 63);
  biased <<= ignore_msb;
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned>(static_cast<Wide>(biased) * shard_count >> 64);
}

}  // namespace cassandra_like
