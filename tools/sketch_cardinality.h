// How many distinct keys a sketch in Statistics.db has counted: HyperLogLogPlus.cardinality of stream-lib. The sketch is drawn
// in storage/sstable/cardinality.h.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace cassandra_like::sstable_tools {

// nullopt when it is malformed, or of another precision than Cassandra's.
std::optional<int64_t> cardinality_of(BytesView sketch);

}  // namespace cassandra_like::sstable_tools
