// A secondary index of one shard: a hidden table with one partition for each indexed value, whose rows are the base
// rows that have it (index.internal.CassandraIndex).
//
//   partition key   the indexed value
//   clustering      partition_key (the base row's, in ring order), then those clustering columns of the base table that
//                   are not the indexed one; an index on values of a collection ends with cell_path
//   row             no cells; its liveness is the indexed cell's
//
// Entries are written with the base row. Only a value that the memtable still holds is removed when it is replaced; what
// an entry points to is therefore checked when it is read, and entries that turn out stale are deleted then.
#pragma once

#include <functional>
#include <memory>

#include "read/read_command.h"
#include "storage/table/index_store.h"

namespace cassandra_like {

// Values of this size and longer cannot be partition keys of an index. Writes of them are refused; those that came to be
// before the index are not in it.
inline constexpr size_t kIndexedValueLimit = 65535;

// The hidden table. kInvalid when the index is of a kind that is not supported.
Result<std::unique_ptr<IndexStore>> make_index(const TableMetadata& base, const IndexMetadata& metadata,
                                               const std::string& base_directory, CommitLogPosition lower);

// Called for each entry: writes of an index are single rows.
using IndexWrite = absl::FunctionRef<void(const PartitionUpdate&)>;

// The entries that a base update makes and removes. `before` is the base memtable's partition, nullptr when it has none.
void update_index(const IndexStore& index, const PartitionUpdate& update, const MemtablePartition* before,
                  int64_t now_seconds, Arena& arena, IndexWrite write);
// The entries of a base row as it is on disk, for a rebuild.
void index_row(const IndexStore& index, const TableMetadata& base, const DecoratedKey& key, const Row& row,
               int64_t now_seconds, Arena& arena, IndexWrite write);

// One entry as it is read back.
struct IndexEntry {
  BytesView base_key;
  std::span<const BytesView> base_clustering;  // empty for an index on a static column
  Row row;                                     // of the index
};
IndexEntry decode_entry(const IndexStore& index, const TableMetadata& base, const DecoratedKey& value, const Row& row,
                        Arena& arena);
// The key of the index's partition for a condition on the indexed column.
Bytes index_key(const IndexStore& index, const FilterExpression& expression);
// Where the entries of a base key lie, or those of a part of the ring.
Slice entries_of_key(const IndexStore& index, BytesView base_key);
// Whether a base row (the static row for an index on a static column) does not have the value any more.
bool is_stale(const IndexStore& index, const TableMetadata& base, const Row& row, BytesView value, int64_t now_seconds);
// Deletes an entry, unless it is written again later.
void remove_entry(const IndexStore& index, const DecoratedKey& value, const Row& entry, int64_t now_seconds,
                  IndexWrite write);

}  // namespace cassandra_like
