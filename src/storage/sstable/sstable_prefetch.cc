// Reads of many keys wait for memory together.
#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "storage/sstable/data_reader.h"
#include "storage/sstable/partition_lookup.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

void SSTable::prefetch(std::span<const KeyHash> keys) const {
  // Smaller ones stay in the processor's caches, so that looking twice would only cost time.
  constexpr uint64_t kLarge = 32 << 20;
  if (data_->size() < kLarge) return;
  absl::InlinedVector<KeyHash, 16> here;
  for (const KeyHash& key : keys) {
    const Token token = token_of(key);
    if (token < first_key_.token || last_key_.token < token) continue;
    here.push_back(key);
    filter_->prefetch_all(key);
  }
  here.erase(
      std::remove_if(here.begin(), here.end(), [this](const KeyHash& key) { return !filter_->may_contain(key); }),
      here.end());
  std::vector<uint64_t> positions;
  positions.reserve(here.size());
  lookup_->prefetch(here, &positions);
  data_->prefetch(positions);
}

}  // namespace cassandra_like
