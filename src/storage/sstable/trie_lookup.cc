// Keys through the partition index, large partitions through their entries in the row index.
#include "storage/sstable/trie_lookup.h"

#include <fmt/format.h>

#include "storage/sstable/partition_index.h"
#include "storage/sstable/row_index.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like {

namespace {

class TrieLookup final : public PartitionLookup {
 public:
  Status open(const ComponentSet& components);

  BytesView first_key() const override { return index_->first_key(); }
  BytesView last_key() const override { return index_->last_key(); }
  uint64_t count() const override { return index_->count(); }
  std::string_view component() const override { return components::kPartitions; }
  Error corrupt() const override { return corrupt(index_->root()); }
  size_t memory_used() const override { return 0; }
  Result<bool> find(const HashedKey& key, PartitionPlace* place) const override;
  void prefetch(std::span<const KeyHash> keys, std::vector<uint64_t>* data_positions) const override {
    index_->prefetch(keys, data_positions);
  }
  std::unique_ptr<PartitionWalk> walk(const RingPosition& start) const override;
  RowBlocks* open_blocks(const PartitionPlace& place, const SerializationHeader& header,
                         RowBlocksSpace* space) const override;

  const PartitionIndex& index() const { return *index_; }
  Error corrupt(uint64_t at) const {
    return Error(ErrorCode::kCorruption, fmt::format("{} at {}: a damaged partition index", partitions_->path(), at));
  }
  Result<bool> read_place(const IndexPosition& position, PartitionPlace* place) const;

 private:
  std::unique_ptr<ReadFile> partitions_, rows_file_;
  std::optional<PartitionIndex> index_;
  BytesView rows_;
};

class TriePartitionWalk final : public PartitionWalk {
 public:
  TriePartitionWalk(const TrieLookup& lookup, const RingPosition& start) : lookup_(lookup) {
    Bytes comparable;
    append_comparable_token(comparable, start.token);
    if (start.kind == RingPosition::Kind::kTokenEnd) comparable.push_back('\xFF');
    if (start.kind == RingPosition::Kind::kKey) {
      comparable.clear();
      append_comparable_key(comparable, {start.token, start.key});
    }
    walk_.seek(lookup.index().file(), lookup.index().root(), comparable);
  }

  Result<bool> next(PartitionPlace* place) override {
    TriePayload payload;
    if (!walk_.next(&payload)) {
      if (walk_.failed()) return lookup_.corrupt(walk_.failed_at());
      return false;
    }
    IndexPosition position;
    if (!PartitionIndex::read_payload(payload, &position)) {
      return lookup_.corrupt(static_cast<uint64_t>(payload.data.data() - lookup_.index().file().data()));
    }
    return lookup_.read_place(position, place);
  }

 private:
  const TrieLookup& lookup_;
  TrieWalk walk_;
};

Status TrieLookup::open(const ComponentSet& components) {
  BytesView partitions;
  ASSIGN_OR_RETURN(partitions_, components.map(components::kPartitions, &partitions));
  index_ = PartitionIndex::open(partitions);
  if (!index_) {
    return Error(ErrorCode::kCorruption, fmt::format("{} at {}: a malformed end of the partition index",
                                                     partitions_->path(), partitions.size()));
  }
  ASSIGN_OR_RETURN(rows_file_, components.map(components::kRows, &rows_));
  return {};
}

Result<bool> TrieLookup::find(const HashedKey& key, PartitionPlace* place) const {
  thread_local Bytes comparable;
  comparable.clear();
  append_comparable_key(comparable, key.key);
  IndexPosition position;
  switch (index_->find(comparable, key.hash, &position)) {
    case PartitionIndex::Found::kNo:
      return false;
    case PartitionIndex::Found::kCorrupt:
      return corrupt(position.position);
    case PartitionIndex::Found::kMaybe:
      break;
  }
  return read_place(position, place);
}

Result<bool> TrieLookup::read_place(const IndexPosition& position, PartitionPlace* place) const {
  *place = {};
  if (!position.in_rows_file) {
    place->data_position = position.position;
    return true;
  }
  RowIndexEntry entry;
  if (!read_row_index_entry(rows_, position.position, &place->key, &entry)) {
    return Error(ErrorCode::kCorruption,
                 fmt::format("{} at {}: a malformed entry of the row index", rows_file_->path(), position.position));
  }
  place->data_position = entry.data_position;
  place->blocks = std::max<uint32_t>(entry.blocks, 1);
  place->row_index = entry.root;
  place->deletion = entry.deletion;
  return true;
}

std::unique_ptr<PartitionWalk> TrieLookup::walk(const RingPosition& start) const {
  return std::make_unique<TriePartitionWalk>(*this, start);
}

RowBlocks* TrieLookup::open_blocks(const PartitionPlace& place, const SerializationHeader& /*header*/,
                                   RowBlocksSpace* space) const {
  space->trie.open(rows_, &rows_file_->path(), place.row_index);
  return &space->trie;
}

}  // namespace

Result<std::unique_ptr<PartitionLookup>> open_trie_lookup(const ComponentSet& components) {
  auto lookup = std::make_unique<TrieLookup>();
  TRY(lookup->open(components));
  return std::unique_ptr<PartitionLookup>(std::move(lookup));
}

}  // namespace cassandra_like
