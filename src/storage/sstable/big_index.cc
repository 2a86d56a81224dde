// The codec of Index.db.
#include "storage/sstable/big_index.h"

#include "base/vint.h"

namespace cassandra_like {

namespace {

constexpr int64_t kWidthBase = 64 * 1024;

}  // namespace

BytesView read_big_index_key(Reader& in) {
  const BytesView key = in.take(in.u16());
  read_unsigned_vint(in);
  in.skip(read_unsigned_vint(in));
  return key;
}

bool read_big_index_entry(BytesView file, Reader& in, const SSTableVersion& version, PartitionPlace* place) {
  *place = {};
  place->key = in.take(in.u16());
  place->data_position = read_unsigned_vint(in);
  const uint64_t size = read_unsigned_vint(in);
  if (size == 0) return !in.failed();
  Reader index(in.take(size));
  if (in.failed()) return false;
  read_unsigned_vint(index);  // the header's bytes
  place->deletion = read_deletion(index, version);
  const uint64_t blocks = read_unsigned_vint(index);
  if (index.failed() || blocks == 0 || blocks > index.remaining() / kInfoOffsetBytes) return false;
  place->blocks = static_cast<uint32_t>(blocks);
  place->row_index = static_cast<uint64_t>(index.position() - file.data());
  place->row_index_end = static_cast<uint64_t>(in.position() - file.data());
  return true;
}

void BigRowIndexWriter::reset() {
  infos_.clear();
  offsets_.clear();
}

void BigRowIndexWriter::add(const BigIndexInfo& info, const SerializationHeader& header,
                            const SSTableVersion& version) {
  offsets_.push_back(static_cast<uint32_t>(infos_.size()));
  append_clustering_prefix(infos_, header, info.first);
  append_clustering_prefix(infos_, header, info.last);
  append_unsigned_vint(infos_, info.offset);
  append_vint(infos_, static_cast<int64_t>(info.bytes) - kWidthBase);
  infos_.push_back(info.open_at_end.is_live() ? 0 : 1);
  if (!info.open_at_end.is_live()) append_deletion(infos_, info.open_at_end, version);
}

void BigRowIndexWriter::append_to(Bytes& out, uint64_t header_bytes, const DeletionTime& deletion,
                                  const SSTableVersion& version) const {
  if (offsets_.size() < 2) {
    append_unsigned_vint(out, 0);
    return;
  }
  Bytes start;
  append_unsigned_vint(start, header_bytes);
  append_deletion(start, deletion, version);
  append_unsigned_vint(start, offsets_.size());
  append_unsigned_vint(out, start.size() + infos_.size() + offsets_.size() * kInfoOffsetBytes);
  out.append(start).append(infos_);
  for (uint32_t offset : offsets_) append_be(out, offset);
}

}  // namespace cassandra_like
