// Counter contexts (db.context.CounterContext), the values of counter cells. The counter's value is the sum of counts.
//
//   header := count:i16, then for each global or local shard its index:i16 (global ones with the sign bit set)
//   shards := (counter id:16 bytes, clock:i64, count:i64)*, sorted by id
//
// Each replica has a global shard of its own, which only it changes, and of which the one with the highest clock is
// the latest. Local shards add up; they and remote ones (those that the header does not list) are of Cassandra 2.0 and
// before, but an increment on its way to a replica is a local shard with an id that no node has. A negative count says that
// local shards of a streamed file are to be taken for remote ones; nothing here depends on it.
#pragma once

#include "base/arena.h"
#include "base/uuid.h"

namespace cassandra_like {

// One global shard of this node: clock and count are those of the writer.
Bytes make_counter_context(const Uuid& id, int64_t clock, int64_t count);
// The context after this node added delta to it (empty: none yet). Its clock must grow: max(now in microseconds,
// counter_clock() + 1).
Bytes add_to_counter(BytesView context, const Uuid& id, int64_t delta, int64_t clock);
BytesView merge_counter_contexts(BytesView a, BytesView b, Arena& arena);
int64_t counter_total(BytesView context);
// This node's clock and count in it; 0 when it has none.
int64_t counter_clock(BytesView context, const Uuid& id);
int64_t counter_count(BytesView context, const Uuid& id);

// An increment before a replica has applied it, as UPDATE statements bind it and COUNTER_MUTATION carries it.
Bytes make_counter_update(int64_t delta);
bool is_counter_update(BytesView context);
// Whether the bytes can be a context at all.
bool is_counter_context(BytesView context);

}  // namespace cassandra_like
