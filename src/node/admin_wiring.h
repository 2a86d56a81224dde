// Tells admin/ of the node around it.
#pragma once

#include "admin/admin.h"
#include "node/cluster_node.h"

namespace cassandra_like {

AdminNode admin_node(ClusterNode& node, Runtime& runtime);
AdminHooks admin_hooks(ClusterNode& node, Runtime& runtime, std::function<void(const Status&)> stop);
// Logins of the admin port, by the configured authenticator. To be called when the processor of shard 0 is there.
Status add_admin_login(AdminHooks& hooks, ClusterNode& node, Runtime& runtime);

}  // namespace cassandra_like
