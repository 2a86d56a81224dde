// Encoding and decoding of segment headers and markers.
#include "storage/commitlog/segment_format.h"

#include <charconv>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/dcheck.h"

namespace cassandra_like {

namespace {

constexpr std::string_view kPrefix = "CommitLog-";
constexpr std::string_view kSuffix = ".log";

uint32_t crc_of_int(uint32_t v, uint32_t previous) {
  char b[4];
  store_be(b, v);
  return crc32(BytesView(b, 4), previous);
}

uint32_t crc_of_id(int64_t id, uint32_t previous) {
  auto bits = static_cast<uint64_t>(id);
  return crc_of_int(static_cast<uint32_t>(bits >> 32), crc_of_int(static_cast<uint32_t>(bits), previous));
}

template <class T>
bool parse_number(std::string_view text, T* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The string value of a key in a flat JSON object whose strings have no escapes: all that we ever wrote.
std::string_view json_value(std::string_view json, std::string_view key) {
  size_t at = json.find(fmt::format("\"{}\"", key));
  if (at == std::string_view::npos) return {};
  at = json.find_first_not_of(" :", at + key.size() + 2);
  if (at == std::string_view::npos || json[at] != '"') return {};
  size_t end = json.find('"', at + 1);
  return end == std::string_view::npos ? std::string_view{} : json.substr(at + 1, end - at - 1);
}

}  // namespace

std::string segment_file_name(int64_t id) { return fmt::format("{}{}-{}{}", kPrefix, kCommitLogVersion, id, kSuffix); }

std::optional<int64_t> segment_id_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  size_t dash = name.find('-');
  int version = 0;
  int64_t id = 0;
  if (dash == std::string_view::npos || !parse_number(name.substr(0, dash), &version) ||
      !parse_number(name.substr(dash + 1), &id)) {
    return std::nullopt;
  }
  return id;
}

Bytes segment_header(int64_t id, const SegmentWriter& writer) {
  std::string parameters = fmt::format("{{\"shard\":\"{}\",\"shards\":\"{}\"}}", writer.shard, writer.shards);
  Bytes out;
  append_be<int32_t>(out, kCommitLogVersion);
  append_be<int64_t>(out, id);
  append_be<uint16_t>(out, static_cast<uint16_t>(parameters.size()));
  out += parameters;
  uint32_t crc = crc_of_id(id, crc_of_int(kCommitLogVersion, 0));
  crc = crc32(parameters, crc_of_int(static_cast<uint32_t>(parameters.size()), crc));
  append_be(out, crc);
  return out;
}

Result<SegmentDescriptor> read_segment_header(BytesView file, const std::string& path) {
  Reader in(file);
  SegmentDescriptor descriptor;
  descriptor.version = in.i32();
  descriptor.id = in.i64();
  uint16_t size = in.u16();
  BytesView parameters = in.take(size);
  uint32_t crc = crc_of_id(descriptor.id, crc_of_int(static_cast<uint32_t>(descriptor.version), 0));
  crc = crc32(parameters, crc_of_int(size, crc));
  if (crc != in.u32() || in.failed()) {
    return Error(ErrorCode::kCorruption, fmt::format("Could not read commit log descriptor in file {}", path));
  }
  if (descriptor.version < kOldestCommitLogVersion || descriptor.version > kCommitLogVersion) {
    return invalid(fmt::format("Commit log version {} of file {} is not supported yet", descriptor.version, path));
  }
  if (parameters.find("compressionClass") != BytesView::npos || parameters.find("encCipher") != BytesView::npos) {
    return invalid(fmt::format("Compressed or encrypted commit log segments are not supported yet: {}", path));
  }
  SegmentWriter writer;
  if (parse_number(json_value(parameters, "shard"), &writer.shard) &&
      parse_number(json_value(parameters, "shards"), &writer.shards)) {
    descriptor.writer = writer;
  }
  descriptor.header_size = static_cast<uint32_t>(file.size() - in.remaining());
  return descriptor;
}

uint32_t marker_crc(int64_t id, uint32_t offset) { return crc_of_int(offset, crc_of_id(id, 0)); }

void store_marker(char* segment, int64_t id, uint32_t offset, uint32_t end) {
  DCHECK(end >= offset + kMarkerSize);
  store_be<uint32_t>(segment + offset, end);
  store_be<uint32_t>(segment + offset + 4, marker_crc(id, offset));
}

std::optional<uint32_t> find_marker(BytesView segment, int64_t id) {
  for (size_t offset = 0; offset + kMarkerSize <= segment.size(); ++offset) {
    const auto end = load_be<uint32_t>(segment.data() + offset), crc = load_be<uint32_t>(segment.data() + offset + 4);
    if (end < offset + kMarkerSize || end > segment.size()) continue;
    if (crc == marker_crc(id, static_cast<uint32_t>(offset))) return static_cast<uint32_t>(offset);
  }
  return std::nullopt;
}

uint32_t size_crc(uint32_t size) { return crc_of_int(size, 0); }

}  // namespace cassandra_like
