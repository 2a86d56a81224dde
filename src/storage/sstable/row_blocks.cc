// Going from block to block.
#include "storage/sstable/row_blocks.h"

#include <fmt/format.h>

#include "base/vint.h"
#include "storage/sstable/row_index.h"

namespace cassandra_like {

namespace {

Error corrupt_row_index(const std::string& path, uint64_t at) {
  return Error(ErrorCode::kCorruption, fmt::format("{} at {}: a damaged row index", path, at));
}

}  // namespace

Error TrieRowBlocks::corrupt(uint64_t at) const { return corrupt_row_index(*path_, at); }

Result<bool> TrieRowBlocks::previous(RowIndexBlock* block) {
  TriePayload payload;
  if (!walk_.previous(&payload)) {
    if (walk_.failed()) return corrupt(walk_.failed_at());
    return false;
  }
  if (!read_row_index_block(payload, block)) return corrupt(static_cast<uint64_t>(payload.data.data() - file_.data()));
  return true;
}

void BigRowBlocks::open(BytesView file, const std::string* path, const PartitionPlace& place,
                        const SSTableVersion& version, std::span<const Type* const> clustering_types) {
  file_ = file;
  path_ = path;
  version_ = &version;
  clustering_types_ = clustering_types;
  blocks_ = place.blocks;
  start_ = place.row_index;
  end_ = place.row_index_end - blocks_ * kInfoOffsetBytes;
  next_ = 0;
  failed_ = false;
}

Error BigRowBlocks::corrupt() const { return corrupt_row_index(*path_, start_); }

Reader BigRowBlocks::info(uint32_t index) const {
  const uint64_t offset = load_be<uint32_t>(file_.data() + end_ + index * kInfoOffsetBytes);
  if (offset < end_ - start_) return Reader(file_.substr(start_ + offset, end_ - start_ - offset));
  Reader none{BytesView()};
  none.fail();
  return none;
}

void BigRowBlocks::skip_names(Reader& in) {
  read_clustering_prefix(in, clustering_types_, &kind_, &values_);
  read_clustering_prefix(in, clustering_types_, &kind_, &values_);
}

// The last block whose first clustering is not after the one that is looked for.
void BigRowBlocks::seek_floor(BytesView comparable) {
  uint32_t low = 0, high = blocks_;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    Reader in = info(middle);
    read_clustering_prefix(in, clustering_types_, &kind_, &values_);
    failed_ = failed_ || in.failed();
    if (failed_) break;
    comparable_.clear();
    append_comparable(comparable_, clustering_types_, values_, kind_);
    (comparable_ <= comparable ? low : high) = middle;
  }
  next_ = low + 1;
}

Result<bool> BigRowBlocks::previous(RowIndexBlock* block) {
  if (failed_) return corrupt();
  if (next_ == 0) return false;
  const uint32_t index = --next_;
  Reader in = info(index);
  skip_names(in);
  block->offset = read_unsigned_vint(in);
  block->open_deletion = {};
  if (!in.failed() && index > 0) {
    // The block before says what is open at its end.
    in = info(index - 1);
    skip_names(in);
    skip_vint(in);  // offset
    skip_vint(in);  // width
    if (in.u8() != 0) block->open_deletion = read_deletion(in, *version_);
  }
  if (in.failed()) return corrupt();
  return true;
}

}  // namespace cassandra_like
