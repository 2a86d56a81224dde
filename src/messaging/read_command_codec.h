// The body of a READ_REQ and a RANGE_REQ (db.ReadCommand.Serializer), messaging versions 12 (4.x, and 5.0 in its
// CASSANDRA_4 mode) and 13 (5.0):
//
//   command   := kind:u8 (0 one partition, 1 a range), flags:u8, [vint digest version], table id:16, now:u32,
//                columns, filter, limits, [index id:16], partition | range
//   flags     := 0x01 digest, 0x04 has an index, 0x08 accepts transient, 0x10 the filter needs reconciliation
//   columns   := flags:u8 (0x01 all regular columns are fetched, 0x02 has queried, 0x04 has subselections, 0x08 all static
//                columns are fetched), [fetched: names, names], [queried: names, names], [vint count, subselection*]
//                db.filter.ColumnFilter.Serializer; static columns come first
//   names     := vint count, (vint length, name)*
//   subselection := u16 length, column name, kind:u8 (0 slice, 1 element), (vint length, path) twice or once
//   filter    := 0x00, vint count, expression*                                   db.filter.RowFilter.Serializer
//   expression := kind:u8 (0 simple, 1 map entry), u16 length, column name, operator:i32, [u16 length, map key],
//                u16 length, value
//   limits    := kind:u8, then by kind                                           db.filter.DataLimits.Serializer
//      0, 1      vint rows, vint rows of a partition, distinct:u8, [1: vint length, last key, vint remaining]
//      4, 5      vint groups, vint groups of a partition, vint rows, grouping, state, [5: as 1]
//   grouping  := kind:u8 (0 everything, 1 a prefix: vint clustering columns)     db.aggregation.AggregationSpecification
//   state     := 0x00 | 0x01, vint length, key, (0x00 | 0x01, clustering)        db.aggregation.GroupingState
//   partition := key (without its length when the key's type has a fixed one), clusterings
//   range     := bounds:u8 (0x02 start included, 0x04 end included), position, position, clusterings, 0x00 | 0x01,
//                clustering, included:u8                                         db.DataRange.Serializer
//   position  := kind:u8 (0 a key: u16 length, key; 1 before a token, 2 after it: 0x00000008, token:i64)
//   clusterings := kind:u8 (0 slices, 1 names), reversed:u8, (vint count, (bound, bound)* | vint count, clustering*)
//   bound     := kind:u8, u16 count of values, values as in a row's clustering   db.ClusteringBoundOrBoundary.Serializer
//
// The versions differ in `now`: version 12 reads it as signed. An end position before the minimum token is the end of the
// ring.
#pragma once

#include <functional>

#include "base/result.h"
#include "read/read_request.h"

namespace cassandra_like {

inline constexpr int kMessagingVersion40 = 12;
inline constexpr int kMessagingVersion50 = 13;

// A request that owns what its command points to.
struct ReceivedReadRequest {
  ReadRequest request;
  Bytes key;  // of one partition

  ReceivedReadRequest() = default;
  ReceivedReadRequest(const ReceivedReadRequest&) = delete;
  ReceivedReadRequest& operator=(const ReceivedReadRequest&) = delete;
};

// nullptr: there is none.
using FindTable = std::function<TablePtr(const Uuid&)>;

// kInvalid for an unknown table or column and for what this node does not serve, each named; kCorruption when the bytes are
// no command. Allocates no more than a small multiple of the input. An index that the table does not have is passed over,
// as Cassandra does.
Result<std::unique_ptr<ReceivedReadRequest>> decode_read_request(BytesView body, int version,
                                                                 const FindTable& find_table);
// Appends.
void encode_read_request(const ReadRequest& request, int version, Bytes& out);

}  // namespace cassandra_like
