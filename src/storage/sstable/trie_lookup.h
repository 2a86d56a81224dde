// Partitions.db and Rows.db of BTI, mapped.
#pragma once

#include "storage/sstable/partition_lookup.h"

namespace cassandra_like {

Result<std::unique_ptr<PartitionLookup>> open_trie_lookup(const ComponentSet& components);

}  // namespace cassandra_like
