// The deadlines of requests, the earliest first. Requests of one timeout come in the order of their deadlines. So each
// timeout has a lane of its own, and a request joins the end of its lane. It leaves at the front when its time has come,
// whether it still waits or not. Both cost the same however many wait.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dcheck.h"

namespace cassandra_like {

class ExpiryLanes {
 public:
  struct Expiry {
    int64_t deadline = 0;
    uint32_t id = 0;
  };

  void push(int64_t deadline, uint32_t id) {
    Lane* best = nullptr;  // whose last deadline is the latest that is not behind this one
    Lane* idle = nullptr;
    Lane* least = nullptr;
    for (Lane& lane : lanes_) {
      if (lane.empty()) {
        idle = &lane;
        continue;
      }
      const int64_t last = lane.back().deadline;
      if (last <= deadline && (best == nullptr || last > best->back().deadline)) best = &lane;
      if (least == nullptr || last < least->back().deadline) least = &lane;
    }
    if (best == nullptr) best = idle;
    if (best == nullptr && lanes_.size() < kMostLanes) best = &lanes_.emplace_back();
    (best != nullptr ? best : least)->insert({deadline, id});
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // The first deadline. There is one.
  int64_t first() const { return first_lane()->front().deadline; }
  Expiry pop() {
    auto* lane = const_cast<Lane*>(first_lane());
    --size_;
    return lane->pop();
  }

 private:
  static constexpr size_t kMostLanes = 8;

  // A ring in order of deadlines.
  class Lane {
   public:
    bool empty() const { return size_ == 0; }
    const Expiry& front() const { return ring_[head_]; }
    const Expiry& back() const { return at(size_ - 1); }
    void insert(const Expiry& expiry) {
      if (size_ == ring_.size()) grow();
      size_t place = size_++;
      for (; place > 0 && at(place - 1).deadline > expiry.deadline; --place) at(place) = at(place - 1);
      at(place) = expiry;
    }
    Expiry pop() {
      const Expiry out = ring_[head_];
      head_ = (head_ + 1) & (ring_.size() - 1);
      --size_;
      return out;
    }

   private:
    const Expiry& at(size_t i) const { return ring_[(head_ + i) & (ring_.size() - 1)]; }
    Expiry& at(size_t i) { return ring_[(head_ + i) & (ring_.size() - 1)]; }
    void grow() {
      std::vector<Expiry> larger(ring_.empty() ? 64 : 2 * ring_.size());
      for (size_t i = 0; i < size_; ++i) larger[i] = at(i);
      ring_ = std::move(larger);
      head_ = 0;
    }

    std::vector<Expiry> ring_;  // its size is a power of two
    size_t head_ = 0, size_ = 0;
  };

  const Lane* first_lane() const {
    DCHECK(size_ > 0);
    const Lane* first = nullptr;
    for (const Lane& lane : lanes_) {
      if (lane.empty()) continue;
      if (first == nullptr || lane.front().deadline < first->front().deadline) first = &lane;
    }
    return first;
  }

  std::vector<Lane> lanes_;
  size_t size_ = 0;
};

}  // namespace cassandra_like
