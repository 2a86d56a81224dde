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

namespace {

constexpr std::string_view kShard = "shard-", kOf = "-of-";

bool read_all(std::string_view text, uint32_t* number) {
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && parsed == end;
}

}  // namespace

void record_owner(ComponentChecksums& checksums, const RecordedOwner& owner) {
  checksums[fmt::format("{}{}{}{}", kShard, owner.owner.shard, kOf, owner.owner.shards)] = owner.digest;
}

std::optional<RecordedOwner> recorded_owner(const ComponentChecksums& checksums) {
  for (const auto& [name, digest] : checksums) {
    if (!name.starts_with(kShard)) continue;
    const std::string_view rest = std::string_view(name).substr(kShard.size());
    const size_t of = rest.find(kOf);
    uint32_t shard = 0, shards = 0;
    if (of != rest.npos && read_all(rest.substr(0, of), &shard) && read_all(rest.substr(of + kOf.size()), &shards) &&
        shard < shards) {
      return RecordedOwner{{shard, shards}, digest};
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> parse_digest(BytesView file) {
  uint32_t digest = 0;
  while (file.ends_with('\n')) file.remove_suffix(1);
  return read_all(file, &digest) ? std::optional(digest) : std::nullopt;
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
