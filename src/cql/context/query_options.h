// The options of a request: values, consistency, paging. All views borrow the frame that the request arrived in.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "coordinator/consistency.h"
#include "model/key.h"

namespace cassandra_like {

// A bound value that leaves the column as it is (protocol v4 and later). Compare data() with kUnset.data().
inline constexpr char kUnsetMarker[] = "unset";
inline constexpr BytesView kUnset{kUnsetMarker, 0};
inline bool is_unset(BytesView v) { return v.data() == kUnset.data(); }

// Where the next page starts; opaque to clients and good after a restart. Serialized: a version byte, then vint-length
// fields. Malformed input is refused with kProtocolError "Invalid value for the paging state": what is no paging state at
// all when a request of any kind is decoded, what is none of the table by SELECT.
struct PagingState {
  Bytes partition_key;
  Bytes clustering;             // comparable form of the last row returned; empty: none of this partition yet
  bool partition_done = false;  // continue behind partition_key
  uint64_t remaining = std::numeric_limits<uint64_t>::max();               // of LIMIT
  uint64_t remaining_in_partition = std::numeric_limits<uint64_t>::max();  // of PER PARTITION LIMIT
};
Bytes serialize_paging_state(const PagingState& state);
std::optional<PagingState> parse_paging_state(BytesView data);
bool is_paging_state(BytesView data);

struct QueryOptions {
  Consistency consistency = Consistency::kOne;
  Consistency serial_consistency = Consistency::kSerial;
  std::span<const BytesView> values;              // kNull and kUnset included
  std::span<const std::string_view> value_names;  // empty: positional
  bool skip_metadata = false;
  int32_t page_size = -1;            // -1: no paging
  BytesView paging_state;            // null: from the start
  std::optional<int64_t> timestamp;  // microseconds
  std::optional<int32_t> now_seconds;
  std::string_view keyspace;  // of this query alone (v5); empty: the session's
  int protocol_version = 4;
};

}  // namespace cassandra_like
