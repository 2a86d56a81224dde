// Names of SSTables, and which shard an SSTable belongs to.
//
// Ids are time-based uuids or, with `uuid_sstable_identifiers_enabled: false`, numbers (UUIDBasedSSTableId,
// SequenceBasedSSTableId). A number is above all that the table's directories and their backups/ had at the start; those of one
// shard are congruent to it modulo the number of shards, so shards need not ask each other. Who wrote an SSTable with a number
// is in its Checksums.crc32 (checksums.h).
//
// Our uuids have as node: 0xC3 'L' 'K', shard count, shard, and a byte that is 0. The multicast bit is set, as in every node
// that is no network card's. A file with another id came from Cassandra.
//
// A file of a node with another number of shards may still have the keys of one shard only: where four shards were, each of
// two has the keys of two of them, and a single shard has all keys. All other files are shared: every shard opens them and sees
// its own keys only, until they are split (storage/engine/relocate.cc).
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/uuid.h"
#include "runtime/executor.h"

namespace cassandra_like {

struct SSTableOwner {
  unsigned shard = 0;
  unsigned shards = 1;
  bool operator==(const SSTableOwner&) const = default;
};

// The shard that wrote it; nullopt: not a uuid of ours.
std::optional<SSTableOwner> sstable_owner(std::string_view id);
// The only one of `shards` that can have keys of a file of this writer. nullopt: several may.
std::optional<unsigned> owning_shard(const std::optional<SSTableOwner>& writer, unsigned shards);

// nullopt: not a number that Cassandra takes as an id.
std::optional<uint32_t> sequence_number(std::string_view id);
inline constexpr uint32_t kLastSequenceNumber = 2'000'000'000;  // that a start takes; Cassandra's are ints

// The numbers of one table on one shard.
class SSTableSequence {
 public:
  // An SSTable with this id is there, or was.
  void note(std::string_view id) { highest_ = std::max(highest_, sequence_number(id).value_or(0)); }
  std::string next(const SSTableOwner& self);

 private:
  uint32_t highest_ = 0;
};

// Makes ids that grow with every call.
class SSTableIds {
 public:
  SSTableIds(Clock& clock, Random& random, SSTableOwner owner);
  std::string next();

 private:
  Clock& clock_;
  uint64_t clock_and_node_;
  uint64_t last_ = 0;
};

}  // namespace cassandra_like
