// Unfiltered partitions on their way from one shard to another: a sink that copies them there, until it has enough, and
// readers of them here. Rows refer to the columns of the request.
#pragma once

#include <limits>
#include <vector>

#include "read/partition_reader.h"
#include "read/unfiltered_sink.h"

namespace cassandra_like {

class UnfilteredBuffer final : public UnfilteredSink {
 public:
  // The partition that brings it over enough_bytes is kept as a whole, or its key is.
  enum class Last : uint8_t { kWhole, kKey };
  // Has enough with the partition that brings it over so many bytes.
  explicit UnfilteredBuffer(size_t enough_bytes, Last last = Last::kWhole) : enough_bytes_(enough_bytes), last_(last) {}
  void begin_partition(const Partition& partition) override;
  void unfiltered(const Unfiltered& unfiltered) override;
  bool end_partition() override;

  bool is_bounded() const { return enough_bytes_ != std::numeric_limits<size_t>::max(); }
  // Whether it ended the read. Then last_key() is that of the last partition.
  bool is_full() const { return is_full_; }
  DecoratedKey last_key() const { return partitions_.back().key; }
  bool has_partition() const { return next_ < partitions_.size(); }
  const DecoratedKey& key() const { return partitions_[next_].key; }
  // It has only the key of the first one that was not taken.
  bool has_only_key() const { return is_cut_ && next_ + 1 == partitions_.size(); }
  // The first one that was not taken; valid until the next call.
  PartitionReader& take();
  void skip() { ++next_; }
  // The first one is to be taken next, again.
  void rewind() { next_ = 0; }
  // Forgets everything but keeps its memory.
  void clear();
  size_t bytes() const { return arena_.reserved() + unfiltereds_.capacity() * sizeof(Unfiltered); }

 private:
  struct Held {
    DecoratedKey key;
    DeletionTime deletion;
    Row static_row;
    size_t first;  // in unfiltereds_; the last one is before the next partition's first
  };
  class HeldReader final : public PartitionReader {
   public:
    void start(const Held& held, std::span<const Unfiltered> unfiltereds);
    Result<const Unfiltered*> next() override { return at_ == all_.size() ? nullptr : &all_[at_++]; }

   private:
    std::span<const Unfiltered> all_;
    size_t at_ = 0;
  };

  ClusteringPrefix copy(const ClusteringPrefix& prefix);
  bool has_enough(size_t more = 0) const {
    const size_t of_vectors = partitions_.size() * sizeof(Held) + unfiltereds_.size() * sizeof(Unfiltered);
    return arena_.used() + of_vectors + more > enough_bytes_;
  }
  bool has_room_for(const Row& row) const;
  void cut();

  size_t enough_bytes_;
  Last last_;
  bool is_full_ = false, is_cut_ = false;
  Arena arena_;
  std::vector<Held> partitions_;
  std::vector<Unfiltered> unfiltereds_;
  size_t next_ = 0;
  HeldReader reader_;
};

}  // namespace cassandra_like
