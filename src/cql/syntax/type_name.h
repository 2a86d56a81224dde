// A type as it was written, as text for error messages.
#pragma once

#include <string>

#include "cql/syntax/ast.h"

namespace cassandra_like {

// CQL3Type.Raw.toString. User types without a keyspace of their own are given `keyspace`, unless that is empty.
std::string type_name_text(const ast::TypeName& type, const std::string& keyspace = "");

}  // namespace cassandra_like
