// Checksums.crc32: a component of this node beside Cassandra's, with checksums of the files that have none inside.
//
//   file := line* last
//   line := component " " CRC-32 "\n"
//   last := "Checksums.crc32 " CRC-32 "\n"      of all that stands before this line
//
// Numbers are decimal. Statistics.db and TOC.txt have no line: Cassandra replaces them in place. TOC.txt does not list
// Checksums.crc32, so Cassandra does not see it; when Cassandra removes the SSTable, the file stays, and the next start
// of either removes it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace cassandra_like {

using ComponentChecksums = std::map<std::string, uint32_t>;  // by the component's name

Bytes serialize_checksums(const ComponentChecksums& checksums);
// nullopt when damaged.
std::optional<ComponentChecksums> parse_checksums(BytesView file);

}  // namespace cassandra_like
