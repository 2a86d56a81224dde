// The index part of an SSTable that is written: what partition_lookup.h reads. Partitions.db and Rows.db of BTI, or Index.db
// and Summary.db of BIG.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "storage/sstable/checksums.h"
#include "storage/sstable/row_blocks.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {

// A place in a partition, which the writer keeps until its block is whole.
struct BlockEnd {
  Bytes comparable;
  ClusteringKind kind = ClusteringKind::kClustering;

  void assign(const ClusteringPrefix& position) {
    comparable.assign(position.comparable);
    kind = position.kind;
  }
};

struct WrittenBlock {
  const BlockEnd* first = nullptr;
  const BlockEnd* last = nullptr;
  RowIndexBlock start;
  uint64_t end_offset = 0;  // from the partition's start
  DeletionTime open_at_end;
};

struct WrittenPartition {
  DecoratedKey key;
  std::array<uint64_t, 2> hash;
  uint64_t position = 0;      // in Data.db
  uint64_t header_bytes = 0;  // static row included
  uint64_t end_offset = 0;    // of its last unfiltered, from its position
  DeletionTime deletion;
};

using SmallComponents = std::vector<std::pair<std::string_view, Bytes>>;

class IndexWriter {
 public:
  virtual ~IndexWriter() = default;
  // The components of a version, those of add_small_components() included.
  static std::vector<std::string_view> components(const SSTableVersion& version);
  // The header, and what it borrows, outlive the writer.
  static Result<std::unique_ptr<IndexWriter>> create(Disk& disk, const SSTableDescriptor& descriptor,
                                                     const TableMetadata& table, const SerializationHeader& header,
                                                     const SSTableVersion& version);

  virtual void begin_partition() = 0;
  virtual void add_block(const WrittenBlock& block) = 0;
  virtual uint32_t blocks() const = 0;  // of the partition
  virtual void end_partition(const WrittenPartition& partition) = 0;
  virtual Status status() const = 0;
  // Writes the rest of the buffers.
  virtual Status finish() = 0;
  // Syncs of the files; after finish().
  virtual void add_syncs(std::vector<Task<Status>>* syncs) = 0;
  // After finish().
  virtual uint64_t bytes() const = 0;
  virtual void add_checksums(ComponentChecksums* checksums) const = 0;
  // Adds components that are written whole, at the end.
  virtual void add_small_components(SmallComponents* /*small*/) const {}
};

}  // namespace cassandra_like
