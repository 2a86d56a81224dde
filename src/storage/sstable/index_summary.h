// Summary.db of BIG: every min_index_interval-th key of Index.db, and where its entry is
// (io.sstable.indexsummary.IndexSummary).
//
//   file    := interval:i32, samples:i32, bytes of the offsets and the samples:i64, sampling level:i32,
//              samples at the full level:i32, offset*, sample*, first and last key (i32 length, bytes)
//   offset  := i32, little-endian, of each sample from the first offset
//   sample  := key, position of its entry in Index.db: u64, little-endian
//
// The level is of 128, and less when Cassandra has thinned the samples out to save memory.
#pragma once

#include <optional>
#include <vector>

#include "model/key.h"

namespace cassandra_like {

class IndexSummary {
 public:
  static constexpr int32_t kFullSamplingLevel = 128;

  // nullopt when it is malformed: offsets, positions and tokens ascend, the first position is 0.
  static std::optional<IndexSummary> parse(Bytes file);

  size_t size() const { return tokens_.size(); }
  // Every interval-th key is there, so that their number is known up to the last sample.
  bool is_full() const { return level_ == kFullSamplingLevel; }
  int32_t interval() const { return interval_; }
  BytesView first_key() const { return first_key_; }
  BytesView last_key() const { return last_key_; }
  DecoratedKey key(size_t i) const { return {tokens_[i], sample(i).substr(0, sample(i).size() - 8)}; }
  // In Index.db.
  uint64_t position(size_t i) const;
  // The last sample that is not after the key; size() when there is none.
  size_t floor(const DecoratedKey& key) const;
  size_t floor(const RingPosition& place) const;
  size_t memory_used() const { return file_.capacity() + tokens_.capacity() * sizeof(Token); }

 private:
  BytesView sample(size_t i) const;
  uint32_t offset(size_t i) const;
  template <class IsAfter>
  size_t last_before(IsAfter is_after) const;

  Bytes file_;
  int32_t interval_ = 0;
  int32_t level_ = 0;
  size_t end_ = 0;  // of the samples, as offsets count
  std::vector<Token> tokens_;
  Bytes first_key_, last_key_;
};

class IndexSummaryBuilder {
 public:
  explicit IndexSummaryBuilder(int32_t interval) : interval_(interval) {}
  // Takes every key, in their order.
  void add(BytesView key, uint64_t index_position);
  Bytes serialize() const;

 private:
  int32_t interval_;
  uint64_t keys_ = 0;
  std::vector<uint32_t> offsets_;  // from the first sample
  Bytes samples_;
  Bytes first_key_, last_key_;
};

}  // namespace cassandra_like
