#include "cql/prepared_cache.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/dcheck.h"

namespace cassandra_like {

std::vector<Bytes> PreparedCache::put(const Bytes& id, PreparedEntry entry) {
  const uint64_t weight = 2048 + 4 * entry.text.size();
  std::vector<Bytes> evicted;
  entries_.put(id, std::move(entry), weight, [&](const Bytes& gone) { evicted.push_back(gone); });
  DCHECK(std::find(evicted.begin(), evicted.end(), id) == evicted.end());
  DCHECK(entries_.weight() <= entries_.capacity() || entries_.size() == 1);
  return evicted;
}

std::vector<Bytes> PreparedCache::ids() const {
  std::vector<Bytes> ids;
  entries_.for_each_key([&](const Bytes& id) { ids.push_back(id); });
  std::sort(ids.begin(), ids.end());
  return ids;
}

Bytes prepared_id(std::string_view keyspace, std::string_view text) {
  auto digest = md5(std::string(keyspace).append(text));
  return Bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace cassandra_like
