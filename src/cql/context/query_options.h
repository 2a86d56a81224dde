// The options of a request: values, consistency, paging. All views borrow the frame that the request arrived in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "coordinator/quorum/consistency.h"
#include "model/key.h"

namespace cassandra_like {

// A bound value that leaves the column as it is (protocol v4 and later). Compare data() with kUnset.data().
inline constexpr char kUnsetMarker[] = "unset";
inline constexpr BytesView kUnset{kUnsetMarker, 0};
inline bool is_unset(BytesView v) { return v.data() == kUnset.data(); }

struct QueryOptions {
  Consistency consistency = Consistency::kOne;
  Consistency serial_consistency = Consistency::kSerial;
  std::span<const BytesView> values;              // kNull and kUnset included
  std::span<const std::string_view> value_names;  // empty: positional
  bool skip_metadata = false;
  int32_t page_size = -1;            // -1: no paging
  BytesView paging_state;            // null: from the start; else cql/context/paging_state.h finds one in it
  std::optional<int64_t> timestamp;  // microseconds
  std::optional<int32_t> now_seconds;
  std::string_view keyspace;  // of this query alone (v5); empty: the session's
  int protocol_version = 4;
};

}  // namespace cassandra_like
