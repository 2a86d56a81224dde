// Prints syntax trees compactly, so that tests can compare whole statements: `name=value` for what is not as it is by
// default, lists in brackets, operators before their operands.
#pragma once

#include <string>

#include "cql/syntax/ast.h"

namespace cassandra_like::ast {

std::string print(const Statement& statement);
std::string print(const Term& term);
std::string print(const TypeName& type);
std::string print(const WhereClause& where);

}  // namespace cassandra_like::ast
