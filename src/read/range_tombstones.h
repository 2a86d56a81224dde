// The range deletions of one partition: sorted, disjoint intervals of clusterings, each with the newest deletion that
// covers it (db.RangeTombstoneList).
//
// A bound is a place between rows, and its comparable form says which. So a place that ends one interval and starts the
// next is the same string in both, and only the bound's kind differs: at_start() and at_end() give it the kind it needs.
#pragma once

#include <span>
#include <vector>

#include "model/mutation.h"
#include "read/partition_reader.h"

namespace cassandra_like {

ClusteringPrefix at_start(ClusteringPrefix place);
ClusteringPrefix at_end(ClusteringPrefix place);

class RangeTombstones {
 public:
  // All that the range points to must live as long as this.
  void add(const RangeTombstone& range);
  bool empty() const { return ranges_.empty(); }
  std::span<const RangeTombstone> ranges() const { return ranges_; }
  // The deletion that covers a row; live when nothing does.
  DeletionTime covering(BytesView comparable) const;
  // The parts inside a slice. The slice's own ends, where they cut, get their values in the arena.
  void clip(const TableMetadata& table, const Slice& slice, Arena& arena, std::vector<RangeTombstone>& out) const;

 private:
  std::vector<RangeTombstone> ranges_;
};

// Turns disjoint, sorted ranges into the markers that readers yield, from either end.
class MarkerCursor {
 public:
  void start(std::span<const RangeTombstone> ranges, bool reversed);
  // nullptr at the end.
  const RangeTombstoneMarker* peek() const { return done_ ? nullptr : &marker_; }
  void advance();

 private:
  void load();
  std::span<const RangeTombstone> ranges_;
  bool reversed_ = false;
  bool done_ = true;
  size_t next_ = 0;    // of the ranges in reading order: the one to open
  bool open_ = false;  // ranges_[next_ - 1] in reading order is open
  RangeTombstoneMarker marker_;
};

// The marker at a place: kind from its place in its string and from what happens there.
RangeTombstoneMarker make_marker(ClusteringPrefix place, const DeletionTime& open, const DeletionTime& close,
                                 bool reversed);

}  // namespace cassandra_like
