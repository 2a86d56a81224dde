#include "read/query_text.h"

#include <fmt/format.h>

#include "model/key.h"

namespace cassandra_like {
namespace {

constexpr size_t kLongest = 512;

std::string key_conditions(const TableMetadata& table, const DecoratedKey& key) {
  std::string out;
  const std::vector<BytesView> values = split_partition_key(table, key.key);
  for (size_t i = 0; i < values.size() && i < table.partition_key.size(); ++i) {
    const Column& column = *table.partition_key[i];
    out += fmt::format("{}{} = {}", i == 0 ? "" : " AND ", column.name, column.type->to_cql_literal(values[i]));
  }
  return out;
}

std::string range_conditions(const TableMetadata& table, const KeyRange& range) {
  std::string columns;
  for (const ColumnPtr& column : table.partition_key) columns += (columns.empty() ? "" : ", ") + column->name;
  const bool from_start = range.start.compare(RingPosition::minimum()) == 0;
  const bool to_end = range.end.compare(RingPosition::maximum()) == 0;
  std::string out;
  if (!from_start) out += fmt::format("token({}) >= {}", columns, range.start.token);
  if (!to_end) out += fmt::format("{}token({}) <= {}", out.empty() ? "" : " AND ", columns, range.end.token);
  return out;
}

}  // namespace

std::string query_text(const ReadCommand& command) {
  const TableMetadata& table = *command.table;
  std::string out = "SELECT * FROM " + table.qualified_name();
  std::string where;
  if (command.range) {
    where = range_conditions(table, *command.range);
  } else if (!command.keys.empty()) {
    where = key_conditions(table, command.keys.front());
    if (command.keys.size() > 1) where += fmt::format(" (and {} more keys)", command.keys.size() - 1);
  }
  if (!where.empty()) out += " WHERE " + where;
  if (command.limits.rows != DataLimits::kNone) out += fmt::format(" LIMIT {}", command.limits.rows);
  if (!command.filter.empty()) out += " ALLOW FILTERING";
  if (out.size() > kLongest) out.resize(kLongest);
  return out;
}

std::string tombstone_warning(const ReadCommand& command, uint64_t rows, uint64_t tombstones, Token last) {
  return fmt::format("Read {} live rows and {} tombstone cells for query {}; token {} (see tombstone_warn_threshold)",
                     rows, tombstones, query_text(command), last);
}

}  // namespace cassandra_like
