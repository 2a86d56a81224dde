// A read in CQL's words, for the log: `SELECT * FROM shop.orders WHERE customer = 'ann' LIMIT 5000 ALLOW FILTERING`, in the
// form of Cassandra's ReadCommand.toCQLString. Conditions on clusterings are left out.
#pragma once

#include <string>

#include "read/read_command.h"

namespace cassandra_like {

// At most 512 bytes, as Cassandra cuts it for its log. For several keys: the first, and how many more there are.
std::string query_text(const ReadCommand& command);

// Cassandra's warning of a read that met many tombstones; `last` is the token of the last partition that it looked at.
std::string tombstone_warning(const ReadCommand& command, uint64_t rows, uint64_t tombstones, Token last);

}  // namespace cassandra_like
