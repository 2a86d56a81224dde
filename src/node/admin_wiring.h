// Tells admin/ of the node around it.
#pragma once

#include "admin/admin.h"
#include "node/cluster_node.h"

namespace cassandra_like {

AdminNode admin_node(ClusterNode& node, Runtime& runtime);
AdminHooks admin_hooks(ClusterNode& node, Runtime& runtime, std::function<void(const Status&)> stop);

}  // namespace cassandra_like
