// The version of a schema: a digest of what system_schema holds, as Cassandra computes it, so that nodes that hold the
// same rows with the same write times name the same version.
//
// schema.SchemaKeyspace.calculateSchemaDigest: MD5 over the live partitions of each schema table, the tables in the order
// of schema_tables_in_digest_order(), the partitions in ring order, without those of system and system_schema. The
// version is UUID.nameUUIDFromBytes of that MD5. A partition is (db.rows.RowIterators.digest, all integers big-endian):
//
//   key | name of each regular column, in cell order | name of each static column | 0x01 (not reversed) | static row | rows
//   row: 0x00 | value of each clustering column | kind of the clustering, 1 byte | row deletion: int64 minimum, 0x01
//        | timestamp of the liveness, int64 (none: minimum); of an expiring one: its end and ttl, int32 each | cells
//   cell: value | timestamp, int64 | ttl, int32 | 0x01 (no counter)
//
// The bytes are kept by partition and by the first clustering column (a table's name, mostly), so that a change reads
// and serializes only what it touched. MD5 runs over all of them each time: about 1.1 KB for a table of three columns, 1.5
// microseconds.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "base/checksum.h"
#include "base/uuid.h"
#include "model/row.h"

namespace cassandra_like {

inline constexpr size_t kSchemaTables = 11;
// SchemaKeyspaceTables.ALL.
const std::array<const char*, kSchemaTables>& schema_tables_in_digest_order();

// Appends a row of a schema table, whose columns all are frozen. The row is live: it has no tombstones.
void append_row_digest(Bytes& out, const Row& row);

class SchemaDigest {
 public:
  explicit SchemaDigest(const Schema& schema);  // which has system_schema's tables

  // The rows of one partition of one schema table under one name, the first clustering column's value. Replaces what it
  // had; empty: nothing is left of it. `table` is an index of schema_tables_in_digest_order().
  void set(size_t table, const DecoratedKey& keyspace, std::string_view name, Bytes rows);
  void clear(size_t table, const DecoratedKey& keyspace);

  Uuid version() const;
  // The bytes that the version is computed of, in order, for a caller who spreads the work; valid until the next change.
  std::vector<BytesView> parts() const;
  // `md5` got all parts.
  static Uuid version_of(Md5& md5);

 private:
  struct Partition {
    Bytes head;
    absl::btree_map<std::string, Bytes, std::less<>> rows;
  };
  using Position = std::pair<Token, std::string>;

  std::array<Bytes, kSchemaTables> columns_;  // what follows the key in each partition
  std::array<std::map<Position, Partition>, kSchemaTables> partitions_;
};

}  // namespace cassandra_like
