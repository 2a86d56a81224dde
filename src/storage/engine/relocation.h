// The steps of all shards when one of them splits an SSTable that all of them read: from one moment of the disk on, each reads
// its own part in place of it.
//
// The one that splits asks the Engine of every shard, in this order: relocation_id(); prepare_relocation(), when all parts are
// on the disk; then it commits; end_relocation(). The parts and the shared SSTable hold the same, so shards may change over one
// after the other. Nothing may void the table between prepare_relocation() and end_relocation(): who truncates or drops it waits
// for the end, or prepare_relocation() fails.
#pragma once

#include <string>

#include "base/uuid.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

// An SSTable as any shard finds it.
struct SharedSSTable {
  Uuid table;
  std::string index;  // whose hidden table has it; empty: the table itself
  SSTableDescriptor descriptor;
  std::string directory;     // of the parts
  bool is_imported = false;  // no shard reads it before
  bool is_placed = false;    // imported from the table's own directory: it goes when its parts come
};

}  // namespace cassandra_like
