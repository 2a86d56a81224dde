// The size of a change as Cassandra counts it for its limits and samplers (PartitionUpdate.dataSize).
#pragma once

#include <cstdint>

#include "model/mutation.h"

namespace cassandra_like {

uint64_t data_size(const PartitionUpdate& update);

}  // namespace cassandra_like
