// The prepared statements of one shard, by id.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/clock_cache.h"
#include "cql/context/statement.h"

namespace cassandra_like {

struct PreparedEntry {
  StatementPtr statement;
  std::string keyspace;  // the session's when it was prepared
  std::string text;
  bool names_tables = false;                      // it reads or writes some
  bool fully_qualified = false;                   // and says their keyspaces
  bool has_structured_literals = false;           // see QueryProcessor
  std::vector<std::pair<Uuid, TablePtr>> tables;  // what it was prepared against
};

// An id is an MD5 hash already; a client may send any other bytes.
struct PreparedIdHash {
  using is_transparent = void;
  size_t operator()(BytesView id) const { return id.size() < sizeof(uint64_t) ? 0 : load_be<uint64_t>(id.data()); }
};

class PreparedCache {
 public:
  explicit PreparedCache(uint64_t capacity_bytes) : entries_(capacity_bytes) {}

  // nullptr when unknown. Marks it as used.
  PreparedEntry* find(BytesView id) { return entries_.find(id); }
  // The same for an observer: does not mark it.
  PreparedEntry* peek(BytesView id) { return entries_.peek(id); }
  // Returns the ids that had to go to make room; never `id` itself. An entry counts as used when it is found, not when it
  // is put: so statements that are prepared and never executed go before those that are.
  std::vector<Bytes> put(const Bytes& id, PreparedEntry entry);
  void erase(BytesView id) { entries_.erase(id); }
  size_t size() const { return entries_.size(); }
  std::vector<Bytes> ids() const;  // sorted

 private:
  ClockCache<Bytes, PreparedEntry, PreparedIdHash, std::equal_to<>> entries_;
};

// MD5 over the keyspace (which may be empty) and the text.
Bytes prepared_id(std::string_view keyspace, std::string_view text);

}  // namespace cassandra_like
