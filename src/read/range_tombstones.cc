// Interval arithmetic of range deletions.
#include "read/range_tombstones.h"

#include <algorithm>

#include "base/dcheck.h"

namespace cassandra_like {

namespace {

bool is_before(const ClusteringPrefix& place) { return place.comparable.back() == kBeforeTerminator; }

bool supersedes(const RangeTombstone& a, const RangeTombstone& b) { return a.deletion.supersedes(b.deletion); }

// Appends a piece, joined to the one before when they touch and are the same deletion.
void append_piece(std::vector<RangeTombstone>& out, const ClusteringPrefix& start, const ClusteringPrefix& end,
                  const DeletionTime& deletion) {
  if (start.comparable >= end.comparable) return;
  if (!out.empty() && out.back().deletion == deletion && out.back().end.comparable == start.comparable) {
    out.back().end = at_end(end);
    return;
  }
  out.push_back({at_start(start), at_end(end), deletion});
}

// Sorted, none empty; two may touch.
bool are_disjoint(std::span<const RangeTombstone> ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].start.comparable >= ranges[i].end.comparable) return false;
    if (i > 0 && ranges[i - 1].end.comparable > ranges[i].start.comparable) return false;
  }
  return true;
}

const ClusteringPrefix& later(const ClusteringPrefix& a, const ClusteringPrefix& b) {
  return a.comparable < b.comparable ? b : a;
}
const ClusteringPrefix& earlier(const ClusteringPrefix& a, const ClusteringPrefix& b) {
  return b.comparable < a.comparable ? b : a;
}

}  // namespace

ClusteringPrefix at_start(ClusteringPrefix place) {
  place.kind = is_before(place) ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound;
  return place;
}

ClusteringPrefix at_end(ClusteringPrefix place) {
  place.kind = is_before(place) ? ClusteringKind::kExclEndBound : ClusteringKind::kInclEndBound;
  return place;
}

void RangeTombstones::add(const RangeTombstone& range) {
  if (range.start.comparable >= range.end.comparable) return;
  if (ranges_.empty() || ranges_.back().end.comparable < range.start.comparable) {
    ranges_.push_back({at_start(range.start), at_end(range.end), range.deletion});
    return;
  }
  // [first, last) overlap or touch the new one.
  auto first = std::lower_bound(ranges_.begin(), ranges_.end(), range.start.comparable,
                                [](const RangeTombstone& r, BytesView start) { return r.end.comparable < start; });
  auto last = first;
  while (last != ranges_.end() && last->start.comparable <= range.end.comparable) ++last;
  std::vector<RangeTombstone> pieces;
  ClusteringPrefix at = range.start;  // what lies before is done
  for (auto old = first; old != last; ++old) {
    append_piece(pieces, old->start, earlier(old->end, range.start), old->deletion);
    append_piece(pieces, at, earlier(old->start, range.end), range.deletion);
    at = later(at, old->start);
    const DeletionTime& winner = supersedes(range, *old) ? range.deletion : old->deletion;
    append_piece(pieces, at, earlier(old->end, range.end), winner);
    at = later(at, earlier(old->end, range.end));
    append_piece(pieces, later(old->start, range.end), old->end, old->deletion);
  }
  append_piece(pieces, at, range.end, range.deletion);
  auto at_index = first - ranges_.begin();
  ranges_.erase(first, last);
  ranges_.insert(ranges_.begin() + at_index, pieces.begin(), pieces.end());
  DCHECK(are_disjoint(ranges_));
}

DeletionTime RangeTombstones::covering(BytesView comparable) const {
  auto found = std::upper_bound(ranges_.begin(), ranges_.end(), comparable,
                                [](BytesView wanted, const RangeTombstone& r) { return wanted < r.end.comparable; });
  return found != ranges_.end() && found->start.comparable < comparable ? found->deletion : DeletionTime{};
}

void RangeTombstones::clip(const TableMetadata& table, const Slice& slice, Arena& arena,
                           std::vector<RangeTombstone>& out) const {
  for (const RangeTombstone& range : ranges_) {
    if (!slice.end.empty() && slice.end <= range.start.comparable) break;
    if (!slice.start.empty() && range.end.comparable <= slice.start) continue;
    RangeTombstone part = range;
    ClusteringPrefix cut;
    if (!slice.start.empty() && part.start.comparable < slice.start) {
      CHECK(split_comparable(table, slice.start, arena, &cut));
      part.start = at_start(cut);
    }
    if (!slice.end.empty() && slice.end < part.end.comparable) {
      CHECK(split_comparable(table, slice.end, arena, &cut));
      part.end = at_end(cut);
    }
    out.push_back(part);
  }
}

RangeTombstoneMarker make_marker(ClusteringPrefix place, const DeletionTime& open, const DeletionTime& close,
                                 bool reversed) {
  DCHECK(!open.is_live() || !close.is_live());
  bool before = is_before(place);
  if (!open.is_live() && !close.is_live()) {
    place.kind = before ? ClusteringKind::kExclEndInclStartBoundary : ClusteringKind::kInclEndExclStartBoundary;
  } else {
    place = open.is_live() == reversed ? at_start(place) : at_end(place);
  }
  return {place, open, close};
}

void MarkerCursor::start(std::span<const RangeTombstone> ranges, bool reversed) {
  DCHECK(are_disjoint(ranges));
  ranges_ = ranges;
  reversed_ = reversed;
  next_ = 0;
  open_ = false;
  done_ = false;
  load();
}

void MarkerCursor::load() {
  auto in_order = [this](size_t i) -> const RangeTombstone& {
    return reversed_ ? ranges_[ranges_.size() - 1 - i] : ranges_[i];
  };
  auto opening = [this](const RangeTombstone& r) -> const ClusteringPrefix& { return reversed_ ? r.end : r.start; };
  auto closing = [this](const RangeTombstone& r) -> const ClusteringPrefix& { return reversed_ ? r.start : r.end; };
  if (!open_) {
    if (next_ == ranges_.size()) {
      done_ = true;
      return;
    }
    marker_ = make_marker(opening(in_order(next_)), in_order(next_).deletion, {}, reversed_);
    return;
  }
  const RangeTombstone& current = in_order(next_ - 1);
  bool joined = next_ < ranges_.size() && opening(in_order(next_)).comparable == closing(current).comparable;
  marker_ =
      make_marker(closing(current), joined ? in_order(next_).deletion : DeletionTime{}, current.deletion, reversed_);
}

void MarkerCursor::advance() {
  bool opens = !marker_.open.is_live();
  open_ = opens;
  if (opens) ++next_;
  load();
}

}  // namespace cassandra_like
