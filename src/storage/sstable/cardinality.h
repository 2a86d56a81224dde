// Estimates how many distinct partition keys were added: HyperLogLog++ with precision 13 and sparse precision 25, in
// the serialized form of the stream-lib that Cassandra puts into Statistics.db.
//
//   sketch  := version:i32 = -2, varint 13, varint 25, (varint 0, registers | varint 1, codes); varints are LEB128
//   registers := varint size in bytes, i32*: six 5-bit registers in each
//   codes   := varint count, varint difference to the previous code, for each
#pragma once

#include <vector>

#include "base/bytes.h"

namespace cassandra_like {

class CardinalityEstimator {
 public:
  void add_key(BytesView key);
  Bytes serialize() const;

 private:
  static constexpr int kPrecision = 13;
  static constexpr int kSparsePrecision = 25;
  static constexpr size_t kRegisters = size_t{1} << kPrecision;
  // Beyond this many codes, registers are smaller.
  static constexpr size_t kMaxSparse = kRegisters * 3 / 4;
  static constexpr size_t kMaxUnsorted = kMaxSparse / 4;

  void add_to_registers(uint64_t index, uint32_t run_length);
  void merge_unsorted();
  std::vector<uint32_t> merged() const;

  bool sparse_ = true;
  std::vector<uint32_t> codes_;     // sorted by their index
  std::vector<uint32_t> unsorted_;  // the latest codes
  std::vector<uint32_t> registers_;
};

}  // namespace cassandra_like
