// Clusterings and bounds as messages have them (db.ClusteringPrefix.Serializer, db.ClusteringBoundOrBoundary.Serializer):
// for each 32 values a vint of 2 bits for each (1 empty, 2 null), then the other values, after a vint length unless their
// type's length is fixed. A bound is its kind:u8 and its number of values:u16 before that.
#pragma once

#include "read/wire_limits.h"

namespace cassandra_like {

// All values of a clustering; fails `in` when it is malformed.
OwnedClustering read_clustering(Reader& in, const TableMetadata& table);
void append_clustering(Bytes& out, const TableMetadata& table, const OwnedClustering& clustering);
// The comparable form of a bound; empty for the bottom and the top. Fails `in` unless its kind is a start or an end as
// wanted.
Bytes read_bound(Reader& in, const TableMetadata& table, bool is_start);
void append_bound(Bytes& out, const TableMetadata& table, const Bytes& comparable, bool is_start);

}  // namespace cassandra_like
