// Checksums.crc32: a component of this node beside Cassandra's, with checksums of the files that have none inside.
//
//   file := owner? line* last
//   line := component " " CRC-32 "\n"
//   owner := "shard-" shard "-of-" shards " " CRC-32 of Data.db "\n"      where the id is a number and does not tell
//   last := "Checksums.crc32 " CRC-32 "\n"      of all that stands before this line
//
// Numbers are decimal. Statistics.db and TOC.txt have no line: Cassandra replaces them in place. TOC.txt does not list
// Checksums.crc32, so Cassandra does not see it; when Cassandra removes the SSTable, the file stays, and the next start
// of either removes it. Cassandra may give a number again: then the owner's CRC-32 is not that of Digest.crc32, and nothing in
// the file holds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "storage/sstable/sstable_ids.h"

namespace cassandra_like {

using ComponentChecksums = std::map<std::string, uint32_t>;  // by the component's name

Bytes serialize_checksums(const ComponentChecksums& checksums);
struct RecordedOwner {
  SSTableOwner owner;
  uint32_t digest = 0;  // of Data.db
};
void record_owner(ComponentChecksums& checksums, const RecordedOwner& owner);
std::optional<RecordedOwner> recorded_owner(const ComponentChecksums& checksums);
// The content of Digest.crc32.
std::optional<uint32_t> parse_digest(BytesView file);
// nullopt when damaged.
std::optional<ComponentChecksums> parse_checksums(BytesView file);

}  // namespace cassandra_like
