// Finding, reading and checking components.
#include "storage/sstable/component_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/log.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

Error corrupt(std::string message) { return Error(ErrorCode::kCorruption, std::move(message)); }

bool may_be_missed(std::string_view component) {
  return component == components::kFilter || component == components::kDigest;
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
  TRY(set.read_digest());
  return set;
}

Status ComponentSet::find_components() {
  for (std::string_view component : components::kAll) {
    if (!disk_->exists(path(component))) continue;
    present_.push_back(component);
    ASSIGN_OR_RETURN(auto file, disk_->open(path(component)));
    total_bytes_ += file->size();
  }
  for (std::string_view needed :
       {components::kData, components::kStatistics, components::kPartitions, components::kRows}) {
    if (!has(needed)) return corrupt(fmt::format("{} is missing", path(needed)));
  }
  if (!has(components::kCompressionInfo) && !has(components::kCrc)) {
    return corrupt(fmt::format("{} is missing (or {}, if the table is not compressed)",
                               path(components::kCompressionInfo), components::kCrc));
  }
  return {};
}

Status ComponentSet::check_toc() const {
  if (!has(components::kToc)) return {};
  ASSIGN_OR_RETURN(Bytes toc, read_file(*disk_, path(components::kToc)));
  for (size_t at = 0; at < toc.size();) {
    const size_t end = std::min(toc.find('\n', at), toc.size());
    const std::string_view listed = BytesView(toc).substr(at, end - at);
    at = end + 1;
    // Components of indexes belong to what Cassandra adds and removes beside an SSTable.
    const bool is_known = std::find(components::kAll.begin(), components::kAll.end(), listed) != components::kAll.end();
    if (!is_known || has(listed)) continue;
    if (!may_be_missed(listed)) {
      return corrupt(fmt::format("{} is missing, but {} lists it", path(listed), path(components::kToc)));
    }
    LOG_WARN("{} is missing, but {} lists it: answers stay right without it", path(listed), path(components::kToc));
  }
  return {};
}

Status ComponentSet::read_digest() {
  if (!has(components::kDigest)) return {};
  ASSIGN_OR_RETURN(Bytes content, read_file(*disk_, path(components::kDigest)));
  digest_ = Digest::parse(content);
  if (!digest_)
    return corrupt(fmt::format("{} at 0: the checksums of the SSTable are damaged", path(components::kDigest)));
  return {};
}

bool ComponentSet::has(std::string_view component) const {
  return std::find(present_.begin(), present_.end(), component) != present_.end();
}

std::optional<uint32_t> ComponentSet::data_digest() const {
  return digest_ ? std::optional(digest_->data) : std::nullopt;
}

bool ComponentSet::is_verified(std::string_view component) const {
  return digest_ && digest_->components.contains(std::string(component));
}

Status ComponentSet::check(std::string_view component, BytesView content) const {
  if (!verify_ || !is_verified(component)) return {};
  if (crc32(content) == digest_->components.at(std::string(component))) return {};
  return corrupt(fmt::format("{} at 0: the checksum in {} does not match", path(component), components::kDigest));
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
    ASSIGN_OR_RETURN(*content, file->map());
  }
  TRY(check(component, *content));
  return file;
}

}  // namespace cassandra_like
