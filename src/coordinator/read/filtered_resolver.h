// Answers of several replicas to a read with conditions on values (service.reads.ReplicaFilteringProtection).
//
// A replica that applies such a condition leaves out rows that another replica, with older values, sends: the newer values
// would never be known. And a row may satisfy two conditions although at no replica it satisfies both. So replicas are asked
// to apply one condition only, beside those on keys: a row that satisfies it, with the newest values, is in the answer of the
// replica that has the value. Where answers differ, the rows of all of them are asked for again, by their keys and without the
// condition, and merged and repaired as those of any read. All conditions are applied to the result.
//
// With a condition on a static column, all rows of the partition are asked for again.
//
// The rows behind the last one of an answer that a limit has cut are asked for in another question, of all replicas.
#pragma once

#include "coordinator/read/read_operation.h"

namespace cassandra_like {

// Like resolve(), for a question with SentConditions::kOnOne.
Task<Status> resolve_filtered(ReadOperation* operation, FetchRef fetch);

}  // namespace cassandra_like
