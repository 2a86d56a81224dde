// One name in a path: of a snapshot, a keyspace's or a table's directory, an index, an SSTable, a commit log segment.
//
// Every function that joins a name from outside (a client, the admin port, a file of the disk) to a path checks the name
// with this first: a path that leaves its directory reads or removes what belongs to somebody else.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cassandra_like {

inline constexpr size_t kLongestPathComponent = 255;  // bytes; NAME_MAX of Linux's file systems

// kInvalid unless the name has 1 to 255 bytes, no '/', no control byte (below 0x20, or 0x7F), and not only dots. `what`
// begins the message: "Snapshot name".
Status check_path_component(std::string_view name, std::string_view what);

}  // namespace cassandra_like
