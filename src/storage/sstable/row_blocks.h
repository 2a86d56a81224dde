// The row index of a partition: blocks of column_index_size, from a clustering to where the block begins that has it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "storage/sstable/sstable_version.h"
#include "storage/sstable/trie_reader.h"

namespace cassandra_like {

struct RowIndexBlock {
  uint64_t offset = 0;         // from the partition's start
  DeletionTime open_deletion;  // at the block's start
};

// Where a partition is.
struct PartitionPlace {
  uint64_t data_position = 0;
  BytesView key;  // null when only Data.db has it
  // The row index of a large partition; 0 blocks: it has none.
  uint32_t blocks = 0;
  uint64_t row_index = 0;      // where it is: the trie's root (BTI), the first IndexInfo (BIG)
  uint64_t row_index_end = 0;  // of BIG
  DeletionTime deletion;
};

inline constexpr uint64_t kInfoOffsetBytes = 4;  // of BIG, for each block

// From a block backwards.
class RowBlocks {
 public:
  virtual ~RowBlocks() = default;
  // The next previous() gives the block that has the first unfiltered after a clustering or bound, or one before it.
  virtual void seek_floor(BytesView comparable) = 0;
  virtual void seek_last() = 0;
  // False before the first block. kCorruption naming the file.
  virtual Result<bool> previous(RowIndexBlock* block) = 0;
  virtual Error corrupt() const = 0;
};

// A trie of Rows.db.
class TrieRowBlocks final : public RowBlocks {
 public:
  void open(BytesView file, const std::string* path, uint64_t root) {
    file_ = file;
    path_ = path;
    root_ = root;
  }
  void seek_floor(BytesView comparable) override { walk_.seek_floor(file_, root_, comparable); }
  void seek_last() override { walk_.seek_last(file_, root_); }
  Result<bool> previous(RowIndexBlock* block) override;
  Error corrupt() const override { return corrupt(root_); }

 private:
  Error corrupt(uint64_t at) const;

  BytesView file_;
  const std::string* path_ = nullptr;
  uint64_t root_ = 0;
  TrieWalk walk_;
};

// The IndexInfos of a partition in Index.db (big_index.h).
class BigRowBlocks final : public RowBlocks {
 public:
  // The path, the version and what the types point to outlive the blocks.
  void open(BytesView file, const std::string* path, const PartitionPlace& place, const SSTableVersion& version,
            std::span<const Type* const> clustering_types);
  void seek_floor(BytesView comparable) override;
  void seek_last() override { next_ = blocks_; }
  Result<bool> previous(RowIndexBlock* block) override;
  Error corrupt() const override;

 private:
  // At an IndexInfo; fails when there is none.
  Reader info(uint32_t index) const;
  void skip_names(Reader& in);

  BytesView file_;
  const std::string* path_ = nullptr;
  const SSTableVersion* version_ = nullptr;
  std::span<const Type* const> clustering_types_;
  uint64_t start_ = 0, end_ = 0;  // of the IndexInfos and their offsets
  uint32_t blocks_ = 0;
  uint32_t next_ = 0;  // one more than the block that previous() gives
  bool failed_ = false;
  // Scratch.
  ClusteringKind kind_ = ClusteringKind::kClustering;
  std::vector<BytesView> values_;
  Bytes comparable_;
};

struct RowBlocksSpace {
  TrieRowBlocks trie;
  BigRowBlocks big;
};

}  // namespace cassandra_like
