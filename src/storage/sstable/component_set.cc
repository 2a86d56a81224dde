// Finding, reading and checking components.
#include "storage/sstable/component_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/log.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_version.h"

namespace cassandra_like {

namespace {

Error corrupt(std::string message) { return Error(ErrorCode::kCorruption, std::move(message)); }

bool may_be_missed(std::string_view component) {
  return component == components::kFilter || component == components::kSummary || component == components::kDigest;
}

Result<Bytes> read_file(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, disk.open(path));
  Bytes content(file->size(), '\0');
  if (!content.empty()) TRY(file->read(0, content));
  return content;
}

}  // namespace

Result<ComponentSet> ComponentSet::open(Disk& disk, const SSTableDescriptor& descriptor, bool verify) {
  ComponentSet set(disk, descriptor, verify);
  TRY(set.find_components());
  if (verify) TRY(set.check_toc());
  TRY(set.check_needed());
  TRY(set.read_checksums());
  return set;
}

Status ComponentSet::find_components() {
  for (std::string_view component : components::kAll) {
    if (!disk_->exists(path(component))) continue;
    present_.push_back(component);
    ASSIGN_OR_RETURN(auto file, disk_->open(path(component)));
    total_bytes_ += file->size();
  }
  return {};
}

Result<ComponentSet> ComponentSet::open_damaged(Disk& disk, const SSTableDescriptor& descriptor) {
  ComponentSet set(disk, descriptor, false);
  TRY(set.find_components());
  constexpr std::array kNeeded{components::kData, components::kStatistics};
  TRY(set.check_there(kNeeded));
  return set;
}

Status ComponentSet::check_there(std::span<const std::string_view> needed) const {
  for (std::string_view component : needed) {
    if (!has(component)) return corrupt(fmt::format("{} is missing", path(component)));
  }
  return {};
}

Status ComponentSet::check_needed() const {
  const SSTableVersion* version = descriptor_.known_version();
  const bool is_bti = version != nullptr && version->format == SSTableFormat::kBti;
  std::vector<std::string_view> needed{components::kData, components::kStatistics};
  if (is_bti) {
    needed.insert(needed.end(), {components::kPartitions, components::kRows});
  } else {
    needed.push_back(components::kPrimaryIndex);
  }
  TRY(check_there(needed));
  if (!has(components::kCompressionInfo) && !has(components::kCrc)) {
    return corrupt(fmt::format("{} is missing (or {}, if the table is not compressed)",
                               path(components::kCompressionInfo), components::kCrc));
  }
  return {};
}

// The lines of TOC.txt.
Result<std::vector<std::string>> ComponentSet::listed() const {
  std::vector<std::string> lines;
  ASSIGN_OR_RETURN(Bytes toc, read_file(*disk_, path(components::kToc)));
  for (size_t at = 0; at < toc.size();) {
    const size_t end = std::min(toc.find('\n', at), toc.size());
    lines.emplace_back(BytesView(toc).substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

Status ComponentSet::check_toc() const {
  if (!has(components::kToc)) return {};
  ASSIGN_OR_RETURN(const auto lines, listed());
  for (const std::string& component : lines) {
    // Components of indexes belong to what Cassandra adds and removes beside an SSTable.
    const auto known = std::find(components::kAll.begin(), components::kAll.end(), component);
    if (known == components::kAll.end() || has(component)) continue;
    if (!may_be_missed(component)) {
      return corrupt(fmt::format("{} is missing, but {} lists it", path(component), path(components::kToc)));
    }
    LOG_WARN("{} is missing, but {} lists it: answers stay right without it", path(component), path(components::kToc));
  }
  return {};
}

Status ComponentSet::check_listed() const {
  if (!has(components::kToc)) return {};
  ASSIGN_OR_RETURN(const auto lines, listed());
  for (std::string_view component : present_) {
    const bool is_listed = std::find(lines.begin(), lines.end(), component) != lines.end();
    if (!is_listed && component != components::kChecksums) {
      return corrupt(fmt::format("{} at 0: {} is not listed", path(components::kToc), component));
    }
  }
  return {};
}

std::optional<uint32_t> ComponentSet::checksum_of(std::string_view component) const {
  const auto found = checksums_.find(std::string(component));
  return found == checksums_.end() ? std::nullopt : std::optional(found->second);
}

Status ComponentSet::read_checksums() {
  if (!has(components::kChecksums)) return {};
  ASSIGN_OR_RETURN(Bytes content, read_file(*disk_, path(components::kChecksums)));
  auto checksums = parse_checksums(content);
  ASSIGN_OR_RETURN(const bool is_of_another, checksums ? is_of_another_sstable(*checksums) : Result<bool>(false));
  if (is_of_another) {
    LOG_WARN("{} is of an SSTable that Cassandra has removed: the other components are read without being compared",
             path(components::kChecksums));
  } else if (checksums) {
    checksums_ = std::move(*checksums);
  } else {
    has_damaged_checksums_ = true;
    LOG_WARN("{} is damaged: the other components are read without being compared", path(components::kChecksums));
  }
  return {};
}

// The number of the SSTable was given again.
Result<bool> ComponentSet::is_of_another_sstable(const ComponentChecksums& checksums) const {
  const std::optional<RecordedOwner> recorded = recorded_owner(checksums);
  if (!recorded || !has(components::kDigest)) return false;
  ASSIGN_OR_RETURN(Bytes content, read_file(*disk_, path(components::kDigest)));
  const std::optional<uint32_t> digest = parse_digest(content);
  return digest && *digest != recorded->digest;
}

bool ComponentSet::has(std::string_view component) const {
  return std::find(present_.begin(), present_.end(), component) != present_.end();
}

Result<std::optional<uint32_t>> ComponentSet::data_digest() const {
  std::optional<uint32_t> digest;
  if (!has(components::kDigest)) return digest;
  ASSIGN_OR_RETURN(Bytes content, read(components::kDigest));
  digest = parse_digest(content);
  if (!digest) return corrupt(fmt::format("{} at 0: no checksum", path(components::kDigest)));
  return digest;
}

bool ComponentSet::is_verified(std::string_view component) const { return checksums_.contains(std::string(component)); }

Status ComponentSet::check(std::string_view component, BytesView content) const {
  auto expected = checksums_.find(std::string(component));
  if (!verify_ || expected == checksums_.end() || crc32(content) == expected->second) return {};
  return corrupt(fmt::format("{} at 0: the checksum in {} does not match", path(component), components::kChecksums));
}

Result<Bytes> ComponentSet::read(std::string_view component) const {
  ASSIGN_OR_RETURN(Bytes content, read_file(*disk_, path(component)));
  TRY(check(component, content));
  return content;
}

Result<std::unique_ptr<ReadFile>> ComponentSet::map(std::string_view component, BytesView* content) const {
  ASSIGN_OR_RETURN(auto file, disk_->open(path(component)));
  *content = {};
  if (file->size() > 0) {
    file->bring_in_later();
    ASSIGN_OR_RETURN(*content, file->map());
  }
  TRY(check(component, *content));
  return file;
}

}  // namespace cassandra_like
