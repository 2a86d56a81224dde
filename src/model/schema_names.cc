#include "model/schema_names.h"

#include <algorithm>

#include <fmt/format.h>

namespace cassandra_like {

namespace {

constexpr size_t kLongestKeyspaceName = 48;
// So that name, a dash and the id in hex are a file name.
constexpr size_t kLongestTableName = 255 - 32 - 1;
// The directory of the hidden table is called "." and the name.
constexpr size_t kLongestIndexName = 255 - 1;

Error bad_name(std::string message) { return Error(ErrorCode::kConfigError, std::move(message)); }

}  // namespace

bool is_word(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Status check_keyspace_name(std::string_view name) {
  if (!is_word(name)) {
    return invalid(fmt::format(
        "Keyspace name must not be empty and must contain alphanumeric or underscore characters only (got \"{}\")",
        name));
  }
  if (name.size() <= kLongestKeyspaceName) return {};
  return invalid(fmt::format("Keyspace name must not be more than {} characters long (got {} characters for \"{}\")",
                             kLongestKeyspaceName, name.size(), name));
}

Status check_table_names(const TableMetadata& table) {
  if (!is_word(table.name)) {
    return bad_name(fmt::format(
        "{}: Table name must not be empty or not contain non-alphanumeric-underscore characters (got \"{}\")",
        table.qualified_name(), table.name));
  }
  if (table.name.size() > kLongestTableName) {
    return bad_name(
        fmt::format("{}: Table name must not be more than {} characters long (got {} characters for \"{}\")",
                    table.qualified_name(), kLongestTableName, table.name.size(), table.name));
  }
  for (const auto& [name, index] : table.indexes) {
    if (!is_word(name)) return bad_name("Illegal index name " + name);
    if (name.size() > kLongestIndexName) {
      return bad_name(fmt::format("Index name must not be more than {} characters long (got {} characters for \"{}\")",
                                  kLongestIndexName, name.size(), name));
    }
  }
  return {};
}

}  // namespace cassandra_like
