// Where the next page of a result starts: Cassandra's service.pager.PagingState, byte for byte, so that a page begun on
// one node goes on at another. Clients keep it and send it back; it is good after a restart.
//
//   protocol v4, v5: [vint length][partition key] [vint length][row mark] [vint remaining] [vint remaining in partition]
//   protocol v3:     [short length][partition key] [short length][row mark] [int remaining] [int remaining in partition]
//
// The last int of v3 may be missing, as nodes of 2.x have it. Either form is read in any version, as Cassandra does.
//
// The row mark is the last row that was given:
//   v4, v5: Clustering.serializer with types of variable length. For each 32 values [vint header], in which bit 2i says
//           that value i is empty and bit 2i + 1 that it is null, then [vint length][value] of the others.
//   v3:     the name of the row's last cell in 2.x. [short length][value][0] of each clustering value, of the column's
//           name, and of the path in a collection; without any cell the name is empty.
#pragma once

#include <limits>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "model/row.h"

namespace cassandra_like {

// DataLimits.NO_LIMIT
inline constexpr uint32_t kNoLimit = std::numeric_limits<int32_t>::max();

struct PagingState {
  Bytes partition_key;  // empty: a single partition is read
  Bytes row_mark;       // empty: no row of the partition was given, or the partition is done
  bool has_legacy_mark = false;
  uint32_t remaining = kNoLimit;               // rows or groups of LIMIT
  uint32_t remaining_in_partition = kNoLimit;  // rows or groups of PER PARTITION LIMIT
  bool operator==(const PagingState&) const = default;
};

// The row mark has to be of the same version.
Bytes serialize_paging_state(const PagingState& state, int protocol_version);
// Nothing when the bytes are no paging state, which is answered with kProtocolError and kInvalidPagingState.
std::optional<PagingState> parse_paging_state(BytesView data, int protocol_version);
// Whether parse_paging_state finds one.
bool is_paging_state(BytesView data, int protocol_version);
inline constexpr char kInvalidPagingState[] = "Invalid value for the paging state";

inline bool has_legacy_marks(int protocol_version) { return protocol_version <= 3; }
// Appends the mark of a live row, of which legacy marks need the cells.
void append_row_mark(Bytes& out, std::span<const BytesView> clustering);
void append_legacy_row_mark(Bytes& out, const Row& row);
// The comparable clustering that the state's mark stands for; nothing when it is none of the table.
std::optional<Bytes> marked_clustering(const PagingState& state, const TableMetadata& table);

}  // namespace cassandra_like
