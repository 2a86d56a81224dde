// Frames that one read of the socket brought are served one after the other. Before the first of them is, this looks at
// which keys the next ones name, so that their partitions are brought into the processor's caches together: one by one,
// each request would wait for memory several times.
#pragma once

#include "cql/query_processor.h"

namespace cassandra_like {

// Tells the processor of the EXECUTEs among the first few frames. Returns the size of the frames that were looked at; 0 when
// not even the first is whole.
size_t look_ahead(BytesView frames, int version, QueryProcessor& processor);

}  // namespace cassandra_like
