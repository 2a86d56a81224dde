// Roles in system_auth (auth.CassandraRoleManager).
#pragma once

#include "cql/context/query_services.h"

namespace cassandra_like {

// The superuser `cassandra` with that password, when the authenticator looks passwords up and there is no role yet.
Task<Status> create_default_role(QueryServices* services);

// Whether the role, or one that was granted to it, is a superuser's. It is read anew each time: a connection may be older
// than what its role has become.
Task<Result<bool>> has_superuser_status(QueryServices* services, std::string role);

}  // namespace cassandra_like
