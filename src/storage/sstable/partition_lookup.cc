#include "storage/sstable/partition_lookup.h"

#include "storage/sstable/big_lookup.h"
#include "storage/sstable/trie_lookup.h"

namespace cassandra_like {

Result<std::unique_ptr<PartitionLookup>> PartitionLookup::open(const ComponentSet& components,
                                                               const TableMetadata& table,
                                                               const SSTableVersion& version) {
  return version.format == SSTableFormat::kBti ? open_trie_lookup(components)
                                               : open_big_lookup(components, table, version);
}

}  // namespace cassandra_like
