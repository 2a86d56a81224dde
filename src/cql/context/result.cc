#include "cql/context/result.h"

#include <algorithm>

#include "base/checksum.h"

namespace cassandra_like {

bool in_one_table(const std::vector<ColumnSpec>& columns) {
  return !columns.empty() && std::all_of(columns.begin() + 1, columns.end(), [&](const ColumnSpec& c) {
    return c.table == columns[0].table && c.keyspace == columns[0].keyspace;
  });
}

ResultMetadata::ResultMetadata(std::vector<ColumnSpec> c, Bytes i)
    : columns(std::move(c)), in_one_table(cassandra_like::in_one_table(columns)), id(std::move(i)) {}

ResultMetadataPtr make_result_metadata(std::vector<ColumnSpec> columns) {
  Bytes text;
  for (const ColumnSpec& column : columns) {
    text.append(column.name).push_back('\0');
    text.append(column.type->class_name()).append(2, '\0');
  }
  const auto digest = md5(text);
  Bytes id(reinterpret_cast<const char*>(digest.data()), digest.size());
  return std::make_shared<ResultMetadata>(std::move(columns), std::move(id));
}

}  // namespace cassandra_like
