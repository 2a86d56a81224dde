// The changes of a write. A PartitionUpdate is for one partition of one table; a Mutation groups updates of several
// tables with the same key in one keyspace, and is applied and logged as a whole.
//
// Both borrow: everything they point to must outlive the call they are passed to. A callee that has to keep one
// beyond its return (it was queued) keeps the serialized form. One that goes to another shard is lent until its Task
// completes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/arena.h"
#include "base/result.h"
#include "model/row.h"
#include "model/row_codec.h"

namespace cassandra_like {

struct RangeTombstone {
  ClusteringPrefix start;  // kInclStartBound or kExclStartBound
  ClusteringPrefix end;
  DeletionTime deletion;
};

struct PartitionUpdate {
  const TableMetadata* table = nullptr;
  DecoratedKey key;
  DeletionTime partition_deletion;
  Row static_row;                                    // is_empty() when there is none
  std::span<const Row> rows;                         // sorted by clustering.comparable, no two the same
  std::span<const RangeTombstone> range_tombstones;  // sorted by start, disjoint
};

// The header before a partition's rows, gathered from them.
struct UpdateHeader {
  explicit UpdateHeader(const PartitionUpdate& update);
  SerializationHeader get(const TableMetadata& table) const;

  EncodingStats stats;
  absl::InlinedVector<HeaderColumn, 4> static_columns;
  absl::InlinedVector<HeaderColumn, 16> regular_columns;
};

struct Mutation {
  std::string_view keyspace;
  DecoratedKey key;
  std::span<const PartitionUpdate> updates;
};

// Cassandra's own form (db.Mutation.MutationSerializer, db.partitions.PartitionUpdate, messaging version 5.0):
//   vint count, then for each update: table id (16 bytes), the partition: vint key length and key, flags, header
//   (EncodingStats as vints relative to their epochs, static and regular columns by name), partition deletion,
//   static row, vint row-count estimate, unfiltereds, end-of-partition.
// The same bytes go to the commit log and to peers. To write them where they are to be (a commit log's mapped
// segment), without a buffer in between: make one of these, reserve size() bytes, write there. Does not allocate for a
// mutation of one table with up to 16 columns. The mutation must outlive it.
class MutationSerializer {
 public:
  explicit MutationSerializer(const Mutation& mutation);
  size_t size() const { return size_; }
  // Writes exactly size() bytes and returns one past the last.
  char* write(char* p) const;

 private:
  const Mutation& mutation_;
  absl::InlinedVector<UpdateHeader, 1> headers_;
  size_t size_;
};
size_t serialized_size(const Mutation& mutation);
void serialize(const Mutation& mutation, Bytes& out);  // appends

// The tables must outlive the mutation: hold on to the schema snapshot they come from.
using TableById = std::function<const TableMetadata*(const Uuid&)>;
// Views point into data and arena. kInvalid "Unknown table <id>" when find_table returns nullptr (skip it then),
// kCorruption when the bytes are malformed. Columns that the table does not have are skipped when it dropped them.
Result<Mutation> deserialize_mutation(BytesView data, const TableById& find_table, Arena& arena);
// The same for a mutation that more follows: `in` stands behind it afterwards.
Result<Mutation> read_mutation(Reader& in, const TableById& find_table, Arena& arena);

// One partition's part of the above, for tests and for read responses.
void serialize_update(const PartitionUpdate& update, Bytes& out);

}  // namespace cassandra_like
