// Consistency levels (db.ConsistencyLevel), with their numbers in the native protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ring/replication.h"

namespace cassandra_like {

enum class Consistency : uint16_t {
  kAny = 0,
  kOne = 1,
  kTwo = 2,
  kThree = 3,
  kQuorum = 4,
  kAll = 5,
  kLocalQuorum = 6,
  kEachQuorum = 7,
  kSerial = 8,
  kLocalSerial = 9,
  kLocalOne = 10,
  kNodeLocal = 11,
};

inline constexpr size_t kConsistencyLevels = 12;

std::string_view consistency_name(Consistency c);
std::optional<Consistency> parse_consistency(std::string_view name);
// Counts replicas of this data center only (ConsistencyLevel.isDatacenterLocal).
bool is_datacenter_local(Consistency c);
// How many replicas must answer (ConsistencyLevel.blockFor).
int block_for(Consistency c, const ReplicationStrategy& strategy, const std::string& local_datacenter);
inline bool is_serial(Consistency c) { return c == Consistency::kSerial || c == Consistency::kLocalSerial; }

// SIMPLE BATCH UNLOGGED_BATCH COUNTER BATCH_LOG CAS VIEW CDC
enum class WriteType : uint8_t { kSimple, kBatch, kUnloggedBatch, kCounter, kBatchLog, kCas, kView, kCdc };
std::string_view write_type_name(WriteType t);

}  // namespace cassandra_like
