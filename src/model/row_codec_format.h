// Shared by the two halves of the row codec and the mutation codec: flag bits, column
// subsets and inlined vints.
#pragma once

#include "absl/container/inlined_vector.h"
#include "base/bytes.h"
#include "base/vint.h"

namespace cassandra_like::row_codec {

struct RowFlag {
  static constexpr uint8_t kEndOfPartition = 0x01;
  static constexpr uint8_t kMarker = 0x02;
  static constexpr uint8_t kHasTimestamp = 0x04;
  static constexpr uint8_t kHasTtl = 0x08;
  static constexpr uint8_t kHasDeletion = 0x10;
  static constexpr uint8_t kHasAllColumns = 0x20;
  static constexpr uint8_t kHasComplexDeletion = 0x40;
  static constexpr uint8_t kExtension = 0x80;
  // In the second byte. Its 0x02, a shadowable deletion, is of materialized views before 4.0; it is read as an
  // ordinary one.
  static constexpr uint8_t kExtendedStatic = 0x01;
};

// Before each partition of a mutation or of an answer to a read (db.rows.UnfilteredRowIteratorSerializer).
struct PartitionFlag {
  static constexpr uint8_t kIsEmpty = 0x01;
  static constexpr uint8_t kIsReversed = 0x02;
  static constexpr uint8_t kHasDeletion = 0x04;
  static constexpr uint8_t kHasStaticRow = 0x08;
  static constexpr uint8_t kHasRowEstimate = 0x10;
};

struct CellFlag {
  static constexpr uint8_t kDeleted = 0x01;
  static constexpr uint8_t kExpiring = 0x02;
  static constexpr uint8_t kHasEmptyValue = 0x04;
  static constexpr uint8_t kUseRowTimestamp = 0x08;
  static constexpr uint8_t kUseRowTtl = 0x10;
};

// Deletion times and ttls are written as the difference's low 32 bits, sign-extended: a negative one takes 9 bytes.
inline uint64_t delta32(int64_t v, int64_t minimum) {
  return static_cast<uint64_t>(
      static_cast<int64_t>(static_cast<int32_t>(static_cast<uint64_t>(v) - static_cast<uint64_t>(minimum))));
}

inline uint64_t read_vint64(Reader& in) {
  if (in.remaining() > 0 && static_cast<int8_t>(*in.position()) >= 0) return in.u8();
  return read_unsigned_vint(in);
}
// Fails unless it is a sign-extended 32-bit number.
inline int32_t read_vint32(Reader& in) {
  auto v = static_cast<int64_t>(read_vint64(in));
  if (v != static_cast<int32_t>(v)) in.fail();
  return static_cast<int32_t>(v);
}

// The columns of the header that a row has: one bit each for up to 63 columns, else a list.
class ColumnSubset {
 public:
  ColumnSubset(Reader& in, size_t total, bool all) : total_(total) {
    if (all) return;
    uint64_t encoded = read_vint64(in);
    if (encoded == 0) return;
    if (total < 64) {
      if (encoded >> total != 0) in.fail();
      missing_ = encoded;
    } else {
      read_large(in, encoded);
    }
  }
  bool has(size_t i) const { return total_ < 64 ? (missing_ >> i & 1) == 0 : large_.empty() || large_[i]; }

 private:
  void read_large(Reader& in, uint64_t missing) {
    if (missing > total_) return in.fail();
    size_t present = total_ - missing;
    bool lists_present = present < total_ / 2;
    large_.assign(total_, !lists_present);
    for (size_t n = lists_present ? present : missing; n > 0; --n) {
      uint64_t i = read_vint64(in);
      if (i >= total_) return in.fail();
      large_[i] = lists_present;
    }
  }

  size_t total_;
  uint64_t missing_ = 0;
  absl::InlinedVector<bool, 1> large_;
};

// The two sinks of everything that is written: one to know the size, one to write.
struct SizeOut {
  size_t n = 0;

  void u8(uint8_t) { ++n; }
  void u16(uint16_t) { n += 2; }
  void vint(uint64_t v) { n += v < 0x80 ? 1 : unsigned_vint_size(v); }
  void bytes(BytesView v) { n += v.size(); }
};
struct MemoryOut {
  char* p;

  void u8(uint8_t v) { *p++ = static_cast<char>(v); }
  void u16(uint16_t v) {
    store_be(p, v);
    p += 2;
  }
  void vint(uint64_t v) {
    if (v < 0x80) {
      *p++ = static_cast<char>(v);
      return;
    }
    // write_unsigned_vint may touch kMaxVintSize bytes, of which the last may not be ours.
    char buffer[kMaxVintSize];
    size_t size = static_cast<size_t>(write_unsigned_vint(buffer, v) - buffer);
    std::memcpy(p, buffer, size);
    p += size;
  }
  void bytes(BytesView v) {
    std::memcpy(p, v.data(), v.size());
    p += v.size();
  }
};

}  // namespace cassandra_like::row_codec
