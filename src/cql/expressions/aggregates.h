// The native aggregates (cql3.functions.AggregateFcts), for SELECT and, over the elements of one value, collection_*.
#pragma once

#include "cql/expressions/function.h"

namespace cassandra_like::functions {

FunctionPtr min_aggregate(const TypePtr& type);
FunctionPtr max_aggregate(const TypePtr& type);
// The aggregates of a numeric type.
FunctionPtr sum_aggregate(const TypePtr& type);
FunctionPtr avg_aggregate(const TypePtr& type);
FunctionPtr count_rows_aggregate(std::string name, std::vector<TypePtr> arguments);

}  // namespace cassandra_like::functions
