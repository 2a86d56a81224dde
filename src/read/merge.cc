// k-way merges; k is small, so heads are compared one by one.
#include "read/merge.h"

#include "read/range_tombstones.h"

namespace cassandra_like {

MergedPartition::MergedPartition(std::vector<std::unique_ptr<PartitionReader>> sources, bool reversed)
    : owned_(std::move(sources)), reversed_(reversed) {
  std::vector<PartitionReader*> borrowed;
  borrowed.reserve(owned_.size());
  for (auto& source : owned_) borrowed.push_back(source.get());
  begin(borrowed);
}

MergedPartition::MergedPartition(std::span<PartitionReader* const> sources, bool reversed) : reversed_(reversed) {
  begin(sources);
}

void MergedPartition::restart(std::span<PartitionReader* const> sources) {
  partition_deletion_ = open_ = {};
  static_row_ = Row();
  heads_.clear();
  rows_.clear();
  static_arena_.reset();
  pause_after_ = std::numeric_limits<uint32_t>::max();
  begin(sources);
}

void MergedPartition::begin(std::span<PartitionReader* const> sources) {
  DCHECK(!sources.empty());
  key_ = sources[0]->key();
  heads_.reserve(sources.size());
  for (PartitionReader* source : sources) {
    DCHECK(source->key() == key_);
    heads_.push_back({.source = source});
    if (source->partition_deletion().supersedes(partition_deletion_)) {
      partition_deletion_ = source->partition_deletion();
    }
    if (!source->static_row().is_empty()) rows_.push_back(&source->static_row());
  }
  covering_ = partition_deletion_;
  static_row_.clustering = static_clustering();
  if (!rows_.empty()) static_row_ = merge_rows(rows_, partition_deletion_, static_arena_);
}

bool MergedPartition::precedes(const Unfiltered& a, const Unfiltered& b) const {
  BytesView x = a.position().comparable, y = b.position().comparable;
  return reversed_ ? y < x : x < y;
}

// Sources that have ended are left out, so that the last one is alone.
Status MergedPartition::fill_heads() {
  for (size_t i = 0; i < heads_.size();) {
    Head& head = heads_[i];
    if (head.consumed) {
      ASSIGN_OR_RETURN(head.at, head.source->next());
      head.order.next(head.at, reversed_);
      head.consumed = false;
    }
    if (head.at == nullptr) {
      heads_.erase(heads_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return {};
}

const Unfiltered* MergedPartition::paused() {
  static const Unfiltered kPaused;
  return &kPaused;
}

Result<const Unfiltered*> MergedPartition::next() {
  for (uint32_t covered = 0;; ++covered) {
    if (covered == pause_after_) return paused();
    // A single source has nothing to be compared with.
    if (is_alone()) {
      Head& head = heads_[0];
      ASSIGN_OR_RETURN(head.at, head.source->next());
      head.order.next(head.at, reversed_);
      if (head.at == nullptr) {
        heads_.clear();
        return nullptr;
      }
      if (head.at->is_row) return head.at;
      group_.assign(1, &head);
      if (merge_group_of_markers()) return &result_;
      continue;
    }
    TRY(fill_heads());
    if (heads_.empty()) return nullptr;
    const Unfiltered* first = heads_[0].at;
    for (size_t i = 1; i < heads_.size(); ++i) {
      if (precedes(*heads_[i].at, *first)) first = heads_[i].at;
    }
    group_.clear();
    for (Head& head : heads_) {
      if (head.at != first && head.at->position().comparable != first->position().comparable) continue;
      head.consumed = true;
      group_.push_back(&head);
    }
    if (first->is_row && group_.size() == 1 && covering_.is_live()) return first;
    if (first->is_row ? merge_group_of_rows() : merge_group_of_markers()) return &result_;
  }
}

bool MergedPartition::merge_group_of_rows() {
  rows_.clear();
  for (Head* head : group_) rows_.push_back(&head->at->row);
  arena_.reset();
  result_.is_row = true;
  result_.row = merge_rows(rows_, covering_, arena_);
  return !result_.row.is_empty();
}

bool MergedPartition::merge_group_of_markers() {
  for (Head* head : group_) head->open = head->at->marker.open;
  DeletionTime before = open_;
  open_ = {};
  for (Head& head : heads_) {
    if (head.open.supersedes(open_)) open_ = head.open;
  }
  if (!open_.supersedes(partition_deletion_)) open_ = {};
  covering_ = open_.is_live() ? partition_deletion_ : open_;
  if (open_ == before) return false;
  result_.is_row = false;
  result_.marker = make_marker(group_[0]->at->marker.bound, open_, before, reversed_);
  return true;
}

MergedScanner::MergedScanner(std::vector<std::unique_ptr<PartitionScanner>> sources, bool reversed)
    : reversed_(reversed) {
  heads_.reserve(sources.size());
  for (auto& source : sources) heads_.push_back({.source = std::move(source)});
}

Result<PartitionReader*> MergedScanner::next() {
  PartitionReader* first = nullptr;
  for (Head& head : heads_) {
    if (head.consumed) {
      ASSIGN_OR_RETURN(head.at, head.source->next());
      if (head.at != nullptr) head.order.next(head.at->key());
      head.consumed = false;
    }
    if (head.at != nullptr && (first == nullptr || head.at->key() < first->key())) first = head.at;
  }
  if (first == nullptr) return nullptr;
  group_.clear();
  for (Head& head : heads_) {
    if (head.at == nullptr || !(head.at == first || head.at->key() == first->key())) continue;
    head.consumed = true;
    group_.push_back(head.at);
  }
  if (partition_) {
    partition_->restart(group_);
  } else {
    partition_.emplace(group_, reversed_);
  }
  return &*partition_;
}

}  // namespace cassandra_like
