// Roles in system_auth (auth.CassandraRoleManager).
#pragma once

#include "cql/context/query_services.h"

namespace cassandra_like {

// The superuser `cassandra` with that password, when the authenticator looks passwords up and there is no role yet.
Task<Status> create_default_role(QueryServices* services);

}  // namespace cassandra_like
