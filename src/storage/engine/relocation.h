// The steps of all shards when one of them splits an SSTable that all of them read: from one moment of the disk on, each reads
// its own part in place of it.
//
// The one that splits asks all others, in this order: output_id(); prepare(), when all parts are on the disk; then it commits;
// end(). The parts and the shared SSTable hold the same, so shards may change over one after the other. Nothing may void the
// table between prepare() and end(): who truncates or drops it waits for end(), or prepare() fails.
#pragma once

#include <functional>
#include <string>

#include "base/uuid.h"
#include "runtime/task.h"
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

class Relocations {
 public:
  virtual ~Relocations() = default;
  // A name for this shard's part. kClosed: the shard does not read the SSTable, or not any more.
  virtual Result<std::string> output_id(const SharedSSTable& shared) = 0;
  // Opens this shard's part; empty: it has no keys. After an error there is no end().
  virtual Status prepare(const SharedSSTable& shared, const std::string& output_id) = 0;
  // Committed: reads go to the part from now on.
  virtual void end(const SharedSSTable& shared, bool committed) = 0;
  // Whether the files are the table's on this shard, or are about to be.
  virtual bool knows(const Uuid& table, const SSTableDescriptor& descriptor) const = 0;
};

}  // namespace cassandra_like
