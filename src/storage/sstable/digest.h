// Digest.crc32: checksums of an SSTable's files.
//
//   file := CRC-32 of Data.db, then for files of this node: "\n" line* last
//   line := component " " CRC-32 "\n"                  of every component that has no checksums inside
//   last := "Digest.crc32 " CRC-32 "\n"                of all that stands before this line
//
// Numbers are decimal. Cassandra writes the first number alone and reads the first line alone
// (io.util.DataIntegrityMetadata). Cassandra replaces Statistics.db and TOC.txt in place, so these have no line.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace cassandra_like {

struct Digest {
  uint32_t data = 0;
  std::map<std::string, uint32_t> components;  // by name; empty when Cassandra wrote the file

  Bytes serialize() const;
  // nullopt when malformed.
  static std::optional<Digest> parse(BytesView file);
  bool operator==(const Digest&) const = default;
};

}  // namespace cassandra_like
