// TRUNCATE on all nodes of the ring (service.StorageProxy.truncateBlocking, TruncateResponseHandler).
#pragma once

#include "coordinator/context/request_context.h"

namespace cassandra_like {

// Nothing is done when a node that owns tokens is down: such a node would bring the rows back. kTruncateError, in Cassandra's
// words: a node was down, failed, or did not answer within truncate_request_timeout. The first failure is told.
Task<Status> truncate_everywhere(RequestContext* context, TablePtr table);

}  // namespace cassandra_like
