// The hints that other nodes kept for this one (hints.HintVerbHandler, Hint.apply): what of them is still to be applied.
#pragma once

#include "absl/functional/function_ref.h"
#include "base/arena.h"
#include "messaging/wire/mutation_codec.h"

namespace cassandra_like {

struct ReceivedHint {
  // Not this node: the hint is to be kept for the other one, which a node that leaves could not reach.
  Uuid host_id;
  int64_t created_millis = 0;
  int32_t gc_grace_seconds = 0;
  BytesView serialized;  // the mutation as it came

  // Without the tables that were truncated since; no updates: there is nothing to apply, and the answer is the same.
  Mutation mutation;
};

// When the table was last truncated, in milliseconds since 1970; INT64_MIN: never.
using TruncatedAt = absl::FunctionRef<int64_t(const Uuid& table_id)>;

// The hint of a HINT_REQ. Borrows the body, the tables and the arena. A hint for a table that is unknown (it was dropped) and
// one that is older than the smallest gc_grace_seconds of its tables, then or now, has nothing to apply. kCorruption.
Result<ReceivedHint> read_received_hint(BytesView body, const TableById& find_table, TruncatedAt truncated_at,
                                        int64_t now_millis, Arena& arena);

}  // namespace cassandra_like
