#include "cql/prepared_cache.h"

#include <algorithm>

#include "base/checksum.h"

namespace cassandra_like {

PreparedEntry* PreparedCache::find(BytesView id) {
  auto it = by_id_.find(id);
  if (it == by_id_.end()) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, it->second);
  return &it->second->entry;
}

std::vector<Bytes> PreparedCache::put(const Bytes& id, PreparedEntry entry) {
  erase(id);
  bytes_ += weight(entry);
  by_use_.push_front({id, std::move(entry)});
  by_id_[id] = by_use_.begin();
  std::vector<Bytes> evicted;
  while (bytes_ > capacity_ && by_use_.size() > 1) {
    evicted.push_back(by_use_.back().id);
    erase(evicted.back());
  }
  return evicted;
}

void PreparedCache::erase(BytesView id) {
  auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  bytes_ -= weight(it->second->entry);
  by_use_.erase(it->second);
  by_id_.erase(it);
}

std::vector<Bytes> PreparedCache::ids() const {
  std::vector<Bytes> ids;
  for (const Node& node : by_use_) ids.push_back(node.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Bytes prepared_id(std::string_view keyspace, std::string_view text) {
  auto digest = md5(std::string(keyspace).append(text));
  return Bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace cassandra_like
