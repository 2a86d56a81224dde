// The prepared statements of one shard, by id.
#pragma once

#include <vector>

#include "base/containers.h"
#include "cql/statement.h"

namespace cassandra_like {

struct PreparedEntry {
  StatementPtr statement;
  std::string keyspace;  // the session's when it was prepared
  std::string text;
  bool fully_qualified = false;
  std::vector<std::pair<Uuid, TablePtr>> tables;  // what it was prepared against
  uint64_t last_used = 0;
};

class PreparedCache {
 public:
  explicit PreparedCache(uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  // nullptr when unknown. Marks it as used.
  PreparedEntry* find(BytesView id) {
    auto it = entries_.find(id);
    if (it == entries_.end()) return nullptr;
    it->second->last_used = ++clock_;
    return it->second.get();
  }
  // Returns the ids that had to go to make room.
  std::vector<Bytes> put(const Bytes& id, PreparedEntry entry);
  void erase(BytesView id);
  size_t size() const { return entries_.size(); }
  std::vector<Bytes> ids() const;  // sorted

 private:
  static uint64_t weight(const PreparedEntry& entry) { return 2048 + 4 * entry.text.size(); }

  uint64_t capacity_;
  uint64_t bytes_ = 0;
  uint64_t clock_ = 0;
  StringMap<std::unique_ptr<PreparedEntry>> entries_;
};

// MD5 over the keyspace (which may be empty) and the text.
Bytes prepared_id(std::string_view keyspace, std::string_view text);

}  // namespace cassandra_like
