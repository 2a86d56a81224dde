// Which shard an SSTable belongs to, as its id says.
//
// Ids are time-based uuids; ours have as node: 0xC3 'L' 'K' (the multicast bit is set, as it is in every node that is no
// network card's), shard count, shard, and a byte that is 0. A file with another id came from Cassandra.
//
// A file of a node with another number of shards may still have the keys of one shard only: where four shards were, each of
// two has the keys of two of them, and a single shard has all keys. All other files are shared: every shard opens them and sees
// its own keys only, until they are split (storage/engine/relocate.cc).
#pragma once

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

// The shard that wrote it; nullopt: not an id of ours.
std::optional<SSTableOwner> sstable_owner(std::string_view id);
// The only one of `shards` that can have keys of a file of this writer. nullopt: several may.
std::optional<unsigned> owning_shard(const std::optional<SSTableOwner>& writer, unsigned shards);

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
