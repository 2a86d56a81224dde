// Index.db of BIG, mapped, and Summary.db in memory.
#pragma once

#include "storage/sstable/partition_lookup.h"

namespace cassandra_like {

// A Summary.db that is missing, damaged or thinned out is built anew in memory, from all of Index.db, with a line in the
// log; the file stays as it is.
Result<std::unique_ptr<PartitionLookup>> open_big_lookup(const ComponentSet& components, const TableMetadata& table,
                                                         const SSTableVersion& version);

}  // namespace cassandra_like
