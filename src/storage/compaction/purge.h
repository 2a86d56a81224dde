// The tombstones that a compaction leaves out because nothing needs them any more (db.partitions.PurgeFunction, AbstractCell.purge,
// BTreeRow.purge).
//
// A tombstone may go when it is older than gc_grace_seconds, so that all replicas have had the time to hear of it, and when
// nothing outside of the compaction can hold data that it hides: neither another SSTable of the key nor a memtable with a
// timestamp as low. A cell that has expired is a tombstone of the moment when it was written, for what its end and its
// ttl say. A compaction takes a TTL's end for past kLongestRead later, so that a read that began before that end still finds
// the whole row.
#pragma once

#include <functional>
#include <vector>

#include "model/row.h"

namespace cassandra_like {

struct PurgeRules {
  static constexpr int64_t kNothingOutside = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  // Seconds. The default of range_request_timeout, and a second for clocks that differ: the coordinator says at which second
  // a read sees the data.
  static constexpr int64_t kLongestRead = 11;

  int64_t now_seconds = 0;     // TTLs that end later are live
  int64_t gc_before = kNever;  // seconds: deletions of before then may go
  // Partitions whose deletions may go whenever they were made, unless gc_before is kNever. Unset: none.
  std::function<bool(const DecoratedKey&)> purges_young;
  // The least timestamp that a source outside of the compaction may have for a key.
  std::function<int64_t(const DecoratedKey&)> oldest_outside;
};

class Purger {
 public:
  explicit Purger(const PurgeRules& rules) : rules_(rules) {}

  // The key is borrowed until the next call.
  void begin_partition(const DecoratedKey& key);
  DeletionTime purge(const DeletionTime& deletion);
  // Replaces the row by what stays of it, in the arena when that is less. False: nothing stays.
  bool purge(Row& row, Arena& arena);
  bool purge(RangeTombstoneMarker& marker);

 private:
  bool may_go(int64_t timestamp, int64_t local_deletion_time);
  bool may_go(const DeletionTime& deletion);
  bool has_deletion(const Row& row) const;

  const PurgeRules& rules_;
  const DecoratedKey* key_ = nullptr;
  int64_t gc_before_ = PurgeRules::kNever;  // of this key
  bool asked_ = false;                      // oldest_outside() of this key
  int64_t oldest_outside_ = 0;
};

}  // namespace cassandra_like
