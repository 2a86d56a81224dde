// Counter contexts (db.context.CounterContext): a cell's value is a short count of global and local shards' header, then
// shards of counter id (16 bytes), clock (8) and count (8), sorted by id. The counter's value is the sum of counts.
#pragma once

#include "base/arena.h"
#include "base/uuid.h"

namespace cassandra_like {

// One global shard of this node: clock and count are those of the writer.
Bytes make_counter_context(const Uuid& id, int64_t clock, int64_t count);
// The context after this node added delta to it (empty: none yet).
Bytes add_to_counter(BytesView context, const Uuid& id, int64_t delta, int64_t clock);
BytesView merge_counter_contexts(BytesView a, BytesView b, Arena& arena);
int64_t counter_total(BytesView context);
// This node's clock in it; 0 when it has none.
int64_t counter_clock(BytesView context, const Uuid& id);

}  // namespace cassandra_like
