#include "cql/context/result.h"

#include <algorithm>

#include "base/checksum.h"

namespace cassandra_like {

bool in_one_table(const std::vector<ColumnSpec>& columns) {
  return !columns.empty() && std::all_of(columns.begin() + 1, columns.end(), [&](const ColumnSpec& c) {
    return c.table == columns[0].table && c.keyspace == columns[0].keyspace;
  });
}

ResultMetadataPtr make_result_metadata(std::vector<ColumnSpec> columns) {
  Bytes text;
  for (const ColumnSpec& column : columns) {
    text.append(column.name).push_back('\0');
    text.append(column.type->class_name()).append(2, '\0');
  }
  auto digest = md5(text);
  auto metadata = std::make_shared<ResultMetadata>();
  metadata->columns = std::move(columns);
  metadata->in_one_table = in_one_table(metadata->columns);
  metadata->id.assign(reinterpret_cast<const char*>(digest.data()), digest.size());
  return metadata;
}

}  // namespace cassandra_like
