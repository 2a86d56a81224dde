// SSTables as files of a directory: their names, and which of them belong together.
#include "storage/sstable/sstable_files.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "storage/sstable/checksums.h"
#include "storage/sstable/sstable_version.h"
#include "storage/sstable/statistics.h"
#include "storage/sstable/transaction_log.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kTicksPerSecond = 10'000'000;
constexpr uint64_t kSecondsPerDay = 86'400;

void append_base36(std::string& out, uint64_t v, size_t width) {
  std::string digits;
  for (; v > 0; v /= 36) digits.push_back("0123456789abcdefghijklmnopqrstuvwxyz"[v % 36]);
  digits.resize(std::max(width, digits.size()), '0');
  out.append(digits.rbegin(), digits.rend());
}

bool parse_base36(std::string_view text, uint64_t* v) {
  *v = 0;
  for (char c : text) {
    uint64_t digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'z') {
      digit = static_cast<uint64_t>(c - 'a') + 10;
    } else {
      return false;
    }
    if (__builtin_mul_overflow(*v, uint64_t{36}, v) || __builtin_add_overflow(*v, digit, v)) return false;
  }
  return true;
}

// <version>-<id>-<format>-<component>
struct ParsedName {
  SSTableDescriptor descriptor;
  std::string_view component;
};
std::optional<ParsedName> parse_name(const std::string& directory, std::string_view name) {
  size_t first = name.find('-');
  size_t second = first == name.npos ? first : name.find('-', first + 1);
  size_t third = second == name.npos ? second : name.find('-', second + 1);
  if (third == name.npos) return std::nullopt;
  ParsedName parsed;
  parsed.descriptor.directory = directory;
  parsed.descriptor.version = name.substr(0, first);
  parsed.descriptor.id = name.substr(first + 1, second - first - 1);
  parsed.descriptor.format = name.substr(second + 1, third - second - 1);
  parsed.component = name.substr(third + 1);
  auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto is_id = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  const SSTableDescriptor& d = parsed.descriptor;
  if (d.version.size() != 2 || !std::all_of(d.version.begin(), d.version.end(), is_letter) || d.id.empty() ||
      !std::all_of(d.id.begin(), d.id.end(), is_id) || d.format.empty() ||
      !std::all_of(d.format.begin(), d.format.end(), is_letter) || parsed.component.empty()) {
    return std::nullopt;
  }
  return parsed;
}

}  // namespace

std::string SSTableDescriptor::file(std::string_view component) const {
  std::string path = directory;
  path.append("/").append(version).append("-").append(id).append("-").append(format).append("-").append(component);
  return path;
}

std::optional<SSTableDescriptor> SSTableDescriptor::parse(const std::string& directory, std::string_view file_name) {
  auto parsed = parse_name(directory, file_name);
  if (!parsed || parsed->component != components::kData) return std::nullopt;
  return parsed->descriptor;
}

// Days, seconds of the day and ticks of the second of its time, and its other half, each in base 36.
std::string SSTableDescriptor::id_of(const Uuid& uuid) {
  uint64_t ticks = uuid.raw_timestamp();
  uint64_t seconds = ticks / kTicksPerSecond;
  std::string id;
  append_base36(id, seconds / kSecondsPerDay, 4);
  id.push_back('_');
  append_base36(id, seconds % kSecondsPerDay, 4);
  id.push_back('_');
  append_base36(id, ticks % kTicksPerSecond, 5);
  append_base36(id, load_be<uint64_t>(uuid.view().data() + 8), 13);
  return id;
}

std::optional<Uuid> SSTableDescriptor::uuid_of(std::string_view id) {
  uint64_t days, seconds, ticks, rest;
  if (id.size() != 28 || id[4] != '_' || id[9] != '_' || !parse_base36(id.substr(0, 4), &days) ||
      !parse_base36(id.substr(5, 4), &seconds) || !parse_base36(id.substr(10, 5), &ticks) ||
      !parse_base36(id.substr(15), &rest)) {
    return std::nullopt;
  }
  return Uuid::time_based((days * kSecondsPerDay + seconds) * kTicksPerSecond + ticks, rest);
}

const SSTableVersion* SSTableDescriptor::known_version() const { return SSTableVersion::find(format, version); }

SSTableDescriptor SSTableDescriptor::of(const SSTableVersion* version, std::string directory, std::string id) {
  const SSTableVersion& of = version != nullptr ? *version : SSTableVersion::da();
  return {std::move(directory), std::string(of.letters), std::string(of.format_name), std::move(id)};
}

bool is_supported_format(const SSTableDescriptor& descriptor) { return descriptor.known_version() != nullptr; }

Error unsupported_format(const SSTableDescriptor& descriptor) {
  return invalid(fmt::format(
      "{} is of format {}-{}, which is not supported yet: let a Cassandra that reads it rewrite all SSTables "
      "(nodetool upgradesstables)",
      descriptor.file(components::kData), descriptor.version, descriptor.format));
}

bool SSTableOnDisk::has(std::string_view component) const {
  return std::find(components.begin(), components.end(), component) != components.end();
}

bool SSTableOnDisk::is_unfinished() const { return has(components::kUnfinished); }

bool SSTableOnDisk::is_only_checksums() const { return components.size() == 1 && has(components::kChecksums); }

Result<std::vector<SSTableOnDisk>> find_sstables(Disk& disk, const std::string& directory) {
  ASSIGN_OR_RETURN(auto entries, disk.list(directory));
  ASSIGN_OR_RETURN(const auto gone, void_sstables(disk, directory));
  std::map<std::string, SSTableOnDisk> found;  // by all of the name before the component
  for (const DirectoryEntry& entry : entries) {
    if (entry.is_directory) continue;
    auto parsed = parse_name(directory, entry.name);
    if (!parsed || (parsed->component.ends_with(".tmp") && parsed->component != components::kUnfinished)) continue;
    const std::string prefix = entry.name.substr(0, entry.name.size() - parsed->component.size());
    if (std::find(gone.begin(), gone.end(), prefix) != gone.end()) continue;
    SSTableOnDisk& files = found[prefix];
    files.descriptor = parsed->descriptor;
    if (parsed->component == components::kData) files.modified_millis = entry.modified_millis;
    files.components.emplace_back(parsed->component);
  }
  std::vector<SSTableOnDisk> out;
  for (auto& [prefix, files] : found) out.push_back(std::move(files));
  return out;
}

namespace {

// Empty: it cannot be read.
Bytes read_small(Disk& disk, const std::string& path) {
  auto file = disk.open(path);
  if (!file.ok()) return {};
  Bytes content((*file)->size(), '\0');
  if (!content.empty() && !(*file)->read(0, content).ok()) return {};
  return content;
}

}  // namespace

std::optional<SSTableOwner> writer_of(Disk& disk, const SSTableOnDisk& files) {
  if (auto owner = sstable_owner(files.descriptor.id)) return owner;
  if (!sequence_number(files.descriptor.id) || !files.has(components::kChecksums)) return std::nullopt;
  const auto checksums = parse_checksums(read_small(disk, files.descriptor.file(components::kChecksums)));
  const auto recorded = checksums ? recorded_owner(*checksums) : std::nullopt;
  if (!recorded || parse_digest(read_small(disk, files.descriptor.file(components::kDigest))) != recorded->digest) {
    return std::nullopt;
  }
  return recorded->owner;
}

Status note_sequence_numbers(Disk& disk, const std::string& directory, SSTableSequence* sequence) {
  for (const std::string& path : {directory, directory + "/backups"}) {
    if (!disk.exists(path)) continue;
    ASSIGN_OR_RETURN(auto entries, disk.list(path));
    for (const DirectoryEntry& entry : entries) {
      if (auto parsed = parse_name(path, entry.name)) sequence->note(parsed->descriptor.id);
    }
  }
  ASSIGN_OR_RETURN(const auto logged, logged_sstables(disk, directory));
  for (const std::string& prefix : logged) {
    if (auto parsed = parse_name(directory, prefix + std::string(components::kData))) {
      sequence->note(parsed->descriptor.id);
    }
  }
  return {};
}

Result<std::vector<SSTableDescriptor>> list_sstables(Disk& disk, const std::string& directory) {
  ASSIGN_OR_RETURN(auto found, find_sstables(disk, directory));
  std::vector<SSTableDescriptor> out;
  for (SSTableOnDisk& files : found) {
    if (!files.is_unfinished() && !files.is_only_checksums()) out.push_back(std::move(files.descriptor));
  }
  return out;
}

Status write_toc(Disk& disk, const SSTableOnDisk& files) {
  std::vector<std::string> names = files.components;
  std::erase(names, components::kChecksums);
  if (!files.has(components::kToc)) names.emplace_back(components::kToc);
  std::sort(names.begin(), names.end());
  Bytes toc;
  for (const std::string& name : names) toc.append(name).push_back('\n');
  const std::string path = files.descriptor.file(components::kToc);
  TRY(disk.remove(path));
  ASSIGN_OR_RETURN(auto file, disk.create(path));
  return file->append(toc);
}

Status link_sstable(Disk& disk, const SSTableDescriptor& descriptor, const std::string& target) {
  std::string prefix = descriptor.file("");
  prefix = prefix.substr(prefix.rfind('/') + 1);
  ASSIGN_OR_RETURN(auto entries, disk.list(descriptor.directory));
  for (const DirectoryEntry& entry : entries) {
    if (!entry.name.starts_with(prefix) || entry.name.ends_with(".tmp")) continue;
    if (disk.exists(target + "/" + entry.name)) continue;
    Status linked = disk.link(descriptor.directory + "/" + entry.name, target + "/" + entry.name);
    if (!linked.ok() && !disk.exists(target + "/" + entry.name)) return linked;
  }
  return {};
}

std::string reader_name(const SSTableDescriptor& descriptor) {
  const bool is_big = descriptor.format == "big";
  return fmt::format("{}TableReader:{}(path='{}')", is_big ? "Big" : "Bti", descriptor.format,
                     descriptor.file(components::kData));
}

// MetadataSerializer.mutateRepairMetadata, with its name for the file until it is whole.
Task<Status> mutate_repaired_at(Disk* disk, SSTableDescriptor descriptor, int64_t repaired_at) {
  const SSTableVersion& version = *descriptor.known_version();
  if (!version.has_metadata_checksum) {
    co_return invalid(fmt::format("Writing Statistics.db of version {} is not supported yet", descriptor.version));
  }
  const std::string path = descriptor.file(components::kStatistics), next = path + ".tmp";
  CO_ASSIGN_OR_RETURN(auto file, disk->open(path));
  Bytes content(file->size(), '\0');
  if (!content.empty()) CO_TRY(file->read(0, content));
  Result<Statistics> statistics = Statistics::parse(content, version);
  if (!statistics.ok()) co_return Error(ErrorCode::kCorruption, path + " at 0: " + statistics.error().message());
  statistics->repaired_at = repaired_at;
  CO_TRY(disk->remove(next));
  CO_ASSIGN_OR_RETURN(auto written, disk->create(next));
  CO_TRY(written->append(statistics->serialize(version)));
  Status synced = co_await written->sync();
  CO_TRY(std::move(synced));
  CO_TRY(disk->rename(next, path));
  synced = co_await disk->sync_directory(descriptor.directory);
  co_return synced;
}

// Every component, also those that this node does not write. TOC.txt becomes TOC.txt.tmp first and goes last, so that a
// crash leaves an unfinished SSTable and never one that looks damaged.
Status remove_sstable(Disk& disk, const SSTableDescriptor& descriptor) {
  ASSIGN_OR_RETURN(auto entries, disk.list(descriptor.directory));
  std::vector<std::string> files;
  bool has_toc = false, has_mark = false;
  for (const DirectoryEntry& entry : entries) {
    auto parsed = parse_name(descriptor.directory, entry.name);
    if (!parsed || !(parsed->descriptor == descriptor)) continue;
    if (parsed->component == components::kToc) {
      has_toc = true;
    } else if (parsed->component == components::kUnfinished) {
      has_mark = true;
    } else {
      files.push_back(descriptor.file(parsed->component));
    }
  }
  const std::string mark = descriptor.file(components::kUnfinished);
  // Another shard may remove the same files at the same moment.
  if (has_toc) {
    Status renamed = disk.rename(descriptor.file(components::kToc), mark);
    if (!renamed.ok() && disk.exists(descriptor.file(components::kToc))) return renamed;
  } else if (!has_mark && !files.empty()) {
    auto made = disk.create(mark);
    if (!made.ok() && !disk.exists(mark)) return std::move(made.error());
  }
  for (const std::string& file : files) TRY(disk.remove(file));
  return disk.remove(mark);
}

}  // namespace cassandra_like
