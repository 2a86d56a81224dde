// The components of one SSTable on the disk: which there must be, and whether their bytes are those that were written.
//
// TOC.txt lists the components, Checksums.crc32 has checksums of those that have none inside (checksums.h). Data.db is
// not looked into here: its chunks have checksums, which are checked when they are read.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/disk.h"
#include "storage/sstable/checksums.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

class ComponentSet {
 public:
  // kCorruption when a component is missing that TOC.txt lists, or without which the data cannot be read. Filter.db,
  // Summary.db and Digest.crc32 are missed with a warning in the log. verify: whether read() and map() compare checksums.
  static Result<ComponentSet> open(Disk& disk, const SSTableDescriptor& descriptor, bool verify);
  // The same for one that is damaged: Data.db and Statistics.db have to be there, nothing is compared.
  static Result<ComponentSet> open_damaged(Disk& disk, const SSTableDescriptor& descriptor);

  bool has(std::string_view component) const;
  std::string path(std::string_view component) const { return descriptor_.file(component); }
  // The whole content. kCorruption when it is not what Checksums.crc32 says.
  Result<Bytes> read(std::string_view component) const;
  // The same, mapped: `content` is valid while the file lives.
  Result<std::unique_ptr<ReadFile>> map(std::string_view component, BytesView* content) const;
  // The checksum of Data.db; nullopt without Digest.crc32.
  Result<std::optional<uint32_t>> data_digest() const;
  // Checksums.crc32 has a checksum of this component.
  bool is_verified(std::string_view component) const;
  // kCorruption when a component is missing that TOC.txt lists.
  Status check_toc() const;
  // kCorruption when TOC.txt is there and does not list a component of Cassandra's that is.
  Status check_listed() const;
  // The checksum that Checksums.crc32 has; nullopt: none.
  std::optional<uint32_t> checksum_of(std::string_view component) const;
  bool has_damaged_checksums() const { return has_damaged_checksums_; }
  // The list of all components that this node knows.
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  ComponentSet(Disk& disk, const SSTableDescriptor& descriptor, bool verify)
      : disk_(&disk), descriptor_(descriptor), verify_(verify) {}
  Status find_components();
  Result<std::vector<std::string>> listed() const;
  Status check_needed() const;
  Status check_there(std::span<const std::string_view> needed) const;
  Status read_checksums();
  Result<bool> is_of_another_sstable(const ComponentChecksums& checksums) const;
  Status check(std::string_view component, BytesView content) const;

  Disk* disk_;
  SSTableDescriptor descriptor_;
  bool verify_;
  std::vector<std::string_view> present_;
  ComponentChecksums checksums_;  // empty for SSTables of Cassandra
  bool has_damaged_checksums_ = false;
  uint64_t total_bytes_ = 0;
};

}  // namespace cassandra_like
