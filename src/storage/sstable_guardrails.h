// Guardrails on what an SSTable holds (cassandra.yaml's partition_size, partition_tombstones, collection_size and
// items_per_collection). They are looked at while it is written, by flushes and compactions, and only tell the log.
#pragma once

#include <cstdint>

namespace cassandra_like {

// 0: none.
struct GuardrailPair {
  uint64_t warn = 0, fail = 0;

  bool any() const { return warn != 0 || fail != 0; }
  bool fails_on(uint64_t value) const { return fail != 0 && value > fail; }
  bool triggers_on(uint64_t value) const { return fails_on(value) || (warn != 0 && value > warn); }
  bool operator==(const GuardrailPair&) const = default;
};

struct SSTableGuardrails {
  GuardrailPair partition_size;  // bytes, not compressed
  GuardrailPair partition_tombstones;
  GuardrailPair collection_size;  // bytes of the live cells of one row's collection, with their times
  GuardrailPair items_per_collection;
  int64_t now_seconds = 0;  // when the SSTable begins: what has expired by then is a tombstone

  bool any() const {
    return partition_size.any() || partition_tombstones.any() || collection_size.any() || items_per_collection.any();
  }
};

}  // namespace cassandra_like
