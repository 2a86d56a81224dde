#include "cql/prepared_cache.h"

#include <algorithm>

#include "base/checksum.h"

namespace cassandra_like {

std::vector<Bytes> PreparedCache::put(const Bytes& id, PreparedEntry entry) {
  erase(id);
  bytes_ += weight(entry);
  entry.last_used = ++clock_;
  entries_[id] = std::make_unique<PreparedEntry>(std::move(entry));
  std::vector<Bytes> evicted;
  if (bytes_ <= capacity_) return evicted;
  // A tenth at a time, the longest unused first: sorting is paid for by the inserts until the next time.
  std::vector<std::pair<uint64_t, Bytes>> by_use;
  for (const auto& [key, value] : entries_) by_use.emplace_back(value->last_used, key);
  std::sort(by_use.begin(), by_use.end());
  for (const auto& [used, key] : by_use) {
    if (bytes_ <= capacity_ - capacity_ / 10 || key == id) break;
    erase(key);
    evicted.push_back(key);
  }
  return evicted;
}

void PreparedCache::erase(BytesView id) {
  auto it = entries_.find(id);
  if (it == entries_.end()) return;
  bytes_ -= weight(*it->second);
  entries_.erase(it);
}

std::vector<Bytes> PreparedCache::ids() const {
  std::vector<Bytes> ids;
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Bytes prepared_id(std::string_view keyspace, std::string_view text) {
  auto digest = md5(std::string(keyspace).append(text));
  return Bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace cassandra_like
