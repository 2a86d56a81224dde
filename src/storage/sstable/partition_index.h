// Partitions.db: a trie of the shortest unique prefixes of all partition keys, in their byte-comparable form
// (0x40, token, 0x40, escaped key, 0x38).
//
//   file    := trie, first key, last key (each u16 length, bytes), position of the first key:i64, count:i64, root:i64
//   payload := low byte of the key's hash (when the payload bits are 8 or more: the position then has bits - 7 bytes,
//              else bits), position: where the entry is in Rows.db, or the complement of where the partition is in
//              Data.db
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/key.h"
#include "storage/sstable/trie_reader.h"
#include "storage/sstable/trie_writer.h"

namespace cassandra_like {

// Appends nothing after the token when there is no key: such a string is less than all keys of its token.
void append_comparable_token(Bytes& out, Token token);
void append_comparable_key(Bytes& out, const DecoratedKey& key);

// Where a partition is to be found.
struct IndexPosition {
  bool in_rows_file = false;
  uint64_t position = 0;
};

class PartitionIndexWriter {
 public:
  explicit PartitionIndexWriter(FileWriter& out) : out_(out), trie_(out) {}
  void add(const DecoratedKey& key, const KeyHash& hash, const IndexPosition& position);
  void finish();
  const Bytes& first_key() const { return first_key_; }
  const Bytes& last_key() const { return last_key_; }

 private:
  DecoratedKey last() const { return {last_token_, last_key_}; }
  // The shortest prefix of the key, in bytes of its comparable form, that the last key does not have.
  size_t unique_prefix(const DecoratedKey& key) const;
  void write_last(size_t prefix);

  FileWriter& out_;
  TrieWriter trie_;
  uint64_t count_ = 0;
  Bytes first_key_;
  // The last key, which is not written yet.
  Bytes last_key_;
  Token last_token_ = kMinimumToken;
  size_t last_prefix_ = 0;  // that tells it from the key before it
  char last_hash_ = 0;
  IndexPosition last_position_;
};

class PartitionIndex {
 public:
  // file outlives this. nullopt when its end is malformed.
  static std::optional<PartitionIndex> open(BytesView file);

  BytesView first_key() const { return first_key_; }
  BytesView last_key() const { return last_key_; }
  uint64_t count() const { return count_; }
  BytesView file() const { return file_; }
  uint64_t root() const { return root_; }

  enum class Found { kNo, kMaybe, kCorrupt };
  // kMaybe: what is at the position may be another key. kCorrupt: position is where the damage is.
  Found find(BytesView comparable_key, const KeyHash& hash, IndexPosition* position) const;
  // find() follows for these keys: has what it will look at brought into the processor's caches, one step of all keys at a
  // time. Appends where their partitions begin in Data.db, of those for which the index says so.
  void prefetch(std::span<const KeyHash> keys, std::vector<uint64_t>* data_positions) const;
  static bool read_payload(const TriePayload& payload, IndexPosition* position);

 private:
  BytesView file_;
  BytesView first_key_, last_key_;
  uint64_t count_ = 0;
  uint64_t root_ = 0;
};

}  // namespace cassandra_like
