// The columns that statements name.
#pragma once

#include <string>

#include "base/result.h"
#include "cql/context/statement.h"
#include "model/schema.h"
#include "model/schema_text.h"
#include "model/values.h"

namespace cassandra_like {

// kInvalid when the table has no column of this name, or one that COMPACT STORAGE hides.
inline Result<const Column*> named_column(const TableMetadata& table, const std::string& name) {
  const Column* column = table.column(name);
  if (column != nullptr && !table.is_hidden(*column)) return column;
  return invalid("Undefined column name " + quote_identifier(name) + " in table " + qualified_table_text(table));
}

}  // namespace cassandra_like
