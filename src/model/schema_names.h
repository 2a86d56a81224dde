// The names of keyspaces, tables and indexes are names of folders, too: which of them are taken (schema.SchemaConstants,
// schema.TableMetadata.validate). The messages are Cassandra's.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/schema.h"

namespace cassandra_like {

// Letters, digits and underscores, at least one.
bool is_word(std::string_view name);
// kInvalid.
Status check_keyspace_name(std::string_view name);
// The table's own name and those of its indexes. kConfigError.
Status check_table_names(const TableMetadata& table);

}  // namespace cassandra_like
