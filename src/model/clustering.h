// Clusterings and bounds: where in a partition something is.
//
// Every ClusteringPrefix carries its byte-comparable form (db.ClusteringComparator.asByteComparable, version OSS50):
// for each component a separator and the encoded value, then a terminator: 0x20 before, 0x38 at, 0x60 after (0x18 for
// the static row). The separator is 0x40; of a null 0x3E, of an empty value of a type for which empty means nothing
// 0x3F (0x41 when the type is reversed), and no value follows these. So the order of everything in a partition is
// memcmp of these strings, and a row is inside a slice when start < row < end.
#pragma once

#include <span>

#include "base/arena.h"
#include "model/schema.h"

namespace cassandra_like {

// The numbers are those of Cassandra's ClusteringPrefix.Kind, as on disk.
enum class ClusteringKind : uint8_t {
  kExclEndBound = 0,
  kInclStartBound = 1,
  kExclEndInclStartBoundary = 2,
  kStaticClustering = 3,
  kClustering = 4,
  kInclEndExclStartBoundary = 5,
  kInclEndBound = 6,
  kExclStartBound = 7,
};
inline bool is_start(ClusteringKind k) {
  return k == ClusteringKind::kInclStartBound || k == ClusteringKind::kExclStartBound;
}
inline bool is_end(ClusteringKind k) {
  return k == ClusteringKind::kExclEndBound || k == ClusteringKind::kInclEndBound;
}
inline bool is_boundary(ClusteringKind k) {
  return k == ClusteringKind::kExclEndInclStartBoundary || k == ClusteringKind::kInclEndExclStartBoundary;
}

struct ClusteringPrefix {
  ClusteringKind kind = ClusteringKind::kClustering;
  std::span<const BytesView> values;  // of a row: one per clustering column; of a bound: any prefix of them
  BytesView comparable;
};

inline constexpr char kStaticTerminator = 0x18;
inline constexpr char kBeforeTerminator = 0x20;
inline constexpr char kAtTerminator = 0x38;
inline constexpr char kAfterTerminator = 0x60;

// Appends the comparable form of a prefix of the table's clustering columns.
void append_comparable(Bytes& out, std::span<const Type* const> clustering_types, std::span<const BytesView> values,
                       ClusteringKind kind);
void append_comparable(Bytes& out, const TableMetadata& table, std::span<const BytesView> values, ClusteringKind kind);
// Fills in comparable, allocated in the arena; values are not copied.
ClusteringPrefix make_clustering(const TableMetadata& table, std::span<const BytesView> values, ClusteringKind kind,
                                 Arena& arena);
// The position of the static row, and of the only row of a partition without clustering columns.
ClusteringPrefix static_clustering();
ClusteringPrefix empty_clustering();
// The values of a clustering from its comparable form, which it goes on to borrow; false when it is malformed. For a
// bound it only shows whether it is before or after: kInclStartBound or kExclStartBound.
bool split_comparable(const TableMetadata& table, BytesView comparable, Arena& arena, ClusteringPrefix* out);

// An open interval of comparable forms; empty strings mean the partition's start and end.
struct Slice {
  Bytes start;
  Bytes end;

  bool contains(BytesView comparable) const {
    return (start.empty() || start < comparable) && (end.empty() || comparable < end);
  }
  static Slice all() { return {}; }
  // All rows whose first columns have these values (a single row, when all columns are given).
  static Slice of_prefix(const TableMetadata& table, std::span<const BytesView> values);
};

}  // namespace cassandra_like
