// Building and decoding row indexes.
#include "storage/sstable/row_index.h"

#include <algorithm>

#include "base/vint.h"

namespace cassandra_like {

namespace {
constexpr uint8_t kOpenDeletion = 8;
}  // namespace

void RowIndexWriter::reset() {
  if (blocks_ == 0) return;
  trie_.reset();
  previous_last_.clear();
  previous_separator_.clear();
  blocks_ = 0;
}

void RowIndexWriter::add(BytesView first, BytesView last, const RowIndexBlock& block) {
  // The shortest prefix of the block's first clustering that is greater than the last of the block before.
  size_t length = 0;
  if (blocks_ > 0) {
    auto end = std::mismatch(first.begin(), first.end(), previous_last_.begin(), previous_last_.end()).first;
    length = std::min(first.size(), static_cast<size_t>(end - first.begin()) + 1);
  }
  write(first.substr(0, length), block);
  previous_separator_.assign(first.substr(0, length));
  previous_last_.assign(last);
  ++blocks_;
}

void RowIndexWriter::write(BytesView separator, const RowIndexBlock& block) {
  auto offset = static_cast<int64_t>(block.offset);
  int size = sized_int_size(offset);
  auto bits = static_cast<uint8_t>(size);
  payload_.clear();
  append_sized_int(payload_, offset, size);
  if (!block.open_deletion.is_live()) {
    bits |= kOpenDeletion;
    append_partition_deletion(payload_, block.open_deletion);
  }
  trie_.add(separator, bits, payload_);
}

uint64_t RowIndexWriter::complete(uint64_t end_offset) {
  // A separator slightly greater than the last clustering, as short as the one before allows. The one before may be the whole
  // clustering, when the last block has no other: its terminator is nudged then. Cassandra fails an assertion.
  auto common = std::mismatch(previous_last_.begin(), previous_last_.end(), previous_separator_.begin(),
                              previous_separator_.end());
  size_t at = std::min(static_cast<size_t>(common.first - previous_last_.begin()), previous_last_.size() - 1);
  while (at < previous_last_.size() && previous_last_[at] == '\xFF') ++at;
  Bytes after = previous_last_.substr(0, at);
  if (at < previous_last_.size()) after.push_back(static_cast<char>(previous_last_[at] + 1));
  write(after, {end_offset, {}});
  return trie_.complete();
}

void append_row_index_entry(FileWriter& out, BytesView key, const RowIndexEntry& entry) {
  Bytes b;
  append_be<uint16_t>(b, static_cast<uint16_t>(key.size()));
  b.append(key);
  auto base = static_cast<int64_t>(out.position() + b.size());
  append_unsigned_vint(b, entry.data_position);
  append_vint(b, static_cast<int64_t>(entry.root) - base);
  append_unsigned_vint(b, entry.blocks);
  append_partition_deletion(b, entry.deletion);
  out.append(b);
}

bool read_row_index_entry(BytesView file, uint64_t position, BytesView* key, RowIndexEntry* entry) {
  if (position >= file.size()) return false;
  Reader in(file.substr(position));
  *key = in.take(in.u16());
  auto base = static_cast<uint64_t>(in.position() - file.data());
  entry->data_position = read_unsigned_vint(in);
  entry->root = base + static_cast<uint64_t>(read_vint(in));
  entry->blocks = static_cast<uint32_t>(read_unsigned_vint(in));
  entry->deletion = read_partition_deletion(in);
  return !in.failed() && entry->root < base;
}

bool read_row_index_block(const TriePayload& payload, RowIndexBlock* block) {
  int size = payload.bits & ~kOpenDeletion;
  if (size == 0 || payload.data.size() < static_cast<size_t>(size)) return false;
  int64_t offset = read_sized_int(payload.data.data(), size);
  if (offset < 0) return false;
  block->offset = static_cast<uint64_t>(offset);
  block->open_deletion = {};
  if ((payload.bits & kOpenDeletion) == 0) return true;
  Reader in(payload.data.substr(static_cast<size_t>(size)));
  block->open_deletion = read_partition_deletion(in);
  return !in.failed();
}

}  // namespace cassandra_like
