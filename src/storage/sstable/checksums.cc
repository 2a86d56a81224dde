#include "storage/sstable/checksums.h"

#include <charconv>

#include <fmt/format.h>

#include "base/checksum.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

Bytes serialize_checksums(const ComponentChecksums& checksums) {
  Bytes out;
  for (const auto& [component, crc] : checksums) out += fmt::format("{} {}\n", component, crc);
  return out + fmt::format("{} {}\n", components::kChecksums, crc32(out));
}

std::optional<ComponentChecksums> parse_checksums(BytesView file) {
  ComponentChecksums checksums;
  for (size_t at = 0; at < file.size();) {
    const size_t end = file.find('\n', at);
    const BytesView line = file.substr(at, end == file.npos ? end : end - at);
    const size_t space = line.find(' ');
    if (end == file.npos || space == line.npos) return std::nullopt;
    uint32_t crc = 0;
    const char* last = line.data() + line.size();
    if (std::from_chars(line.data() + space + 1, last, crc).ptr != last) return std::nullopt;
    if (line.substr(0, space) == components::kChecksums) {
      const bool is_whole = end + 1 == file.size() && crc == crc32(file.substr(0, at));
      return is_whole ? std::optional(checksums) : std::nullopt;
    }
    checksums.emplace(line.substr(0, space), crc);
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace cassandra_like
