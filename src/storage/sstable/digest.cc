#include "storage/sstable/digest.h"

#include <charconv>

#include <fmt/format.h>

#include "base/checksum.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

std::optional<uint32_t> parse_number(BytesView text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Bytes Digest::serialize() const {
  Bytes out = fmt::format("{}\n", data);
  for (const auto& [component, crc] : components) out += fmt::format("{} {}\n", component, crc);
  return out + fmt::format("{} {}\n", components::kDigest, crc32(out));
}

std::optional<Digest> Digest::parse(BytesView file) {
  Digest digest;
  size_t end = file.find('\n');
  auto data = parse_number(file.substr(0, end));
  if (!data) return std::nullopt;
  digest.data = *data;
  if (end == file.npos || end + 1 == file.size()) return digest;
  for (size_t at = end + 1; at < file.size(); at = end + 1) {
    end = file.find('\n', at);
    const BytesView line = file.substr(at, end == file.npos ? end : end - at);
    const size_t space = line.find(' ');
    if (end == file.npos || space == line.npos) return std::nullopt;
    auto crc = parse_number(line.substr(space + 1));
    if (!crc) return std::nullopt;
    if (line.substr(0, space) == components::kDigest) {
      const bool is_whole = end + 1 == file.size() && *crc == crc32(file.substr(0, at));
      return is_whole ? std::optional(digest) : std::nullopt;
    }
    digest.components.emplace(line.substr(0, space), *crc);
  }
  return std::nullopt;
}

}  // namespace cassandra_like
