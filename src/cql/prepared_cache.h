// The prepared statements of one shard, by id. When they weigh more than the capacity, those go that were not used for the
// longest time, one by one: no PREPARE pays for more than it adds.
#pragma once

#include <list>
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
};

class PreparedCache {
 public:
  explicit PreparedCache(uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  // nullptr when unknown. Marks it as used.
  PreparedEntry* find(BytesView id);
  // Returns the ids that had to go to make room; never `id` itself.
  std::vector<Bytes> put(const Bytes& id, PreparedEntry entry);
  void erase(BytesView id);
  size_t size() const { return by_id_.size(); }
  std::vector<Bytes> ids() const;  // sorted

 private:
  struct Node {
    Bytes id;
    PreparedEntry entry;
  };
  static uint64_t weight(const PreparedEntry& entry) { return 2048 + 4 * entry.text.size(); }

  uint64_t capacity_;
  uint64_t bytes_ = 0;
  std::list<Node> by_use_;  // the last used first
  StringMap<std::list<Node>::iterator> by_id_;
};

// MD5 over the keyspace (which may be empty) and the text.
Bytes prepared_id(std::string_view keyspace, std::string_view text);

}  // namespace cassandra_like
