// The parts of the ring whose data a shard holds, as shares of the whole ring (ShardManagerNoDisks).
//
// A node with several shards gives each of them 4096 slivers of the ring (shard_of). Everything that
// UnifiedCompactionStrategy computes is relative to the slivers of one shard: the density of an SSTable is its size
// divided by the share of the ring that its slivers have, and a level is cut at tokens that leave equal shares of the
// shard's slivers between them. The coverage that Statistics.db keeps is the share of the whole ring, in Cassandra's
// sense: the densities that Cassandra sees of the files of all shards together are those of one node.
#pragma once

#include <span>
#include <vector>

#include "model/key.h"

namespace cassandra_like {

// Tokens t with left < t <= right. left < right, or right is kMinimumToken: up to the end of the ring.
struct OwnedRange {
  Token left = kMinimumToken;
  Token right = kMinimumToken;
  double weight = 1;
  bool operator==(const OwnedRange&) const = default;
};

class OwnedRanges {
 public:
  // The whole ring.
  OwnedRanges() : OwnedRanges(std::vector<OwnedRange>{OwnedRange{}}) {}
  // Ascending and disjoint; not empty.
  explicit OwnedRanges(std::vector<OwnedRange> ranges);
  // A shard's part of what its node owns.
  static OwnedRanges of_shard(std::span<const OwnedRange> node, unsigned shard, unsigned shard_count);

  std::span<const OwnedRange> ranges() const { return ranges_; }
  // The share of the ring that is owned: above 0, at most 1.
  double coverage() const { return positions_.back(); }
  // The owned share between two keys, both included. 0 when nothing of it is owned.
  double spanned(Token first, Token last) const;
  // The tokens that end the first count - 1 of `count` equal shares, ascending.
  std::vector<Token> boundaries(uint32_t count) const;

 private:
  std::vector<OwnedRange> ranges_;
  std::vector<double> positions_;  // the share up to and with each range
};

}  // namespace cassandra_like
