#include "messaging/link/outbound_queue.h"

#include <algorithm>

namespace cassandra_like {

namespace {
constexpr size_t kCompactAt = 256;  // messages that were taken out of the front of a lane
}  // namespace

void OutboundQueue::push(OutboundMessage message) {
  earliest_deadline_ = std::min(earliest_deadline_, message.deadline);
  Lane& lane = lanes_[static_cast<size_t>(info_of(message.verb).priority)];
  lane.messages.push_back(std::move(message));
  ++count_;
}

OutboundQueue::Lane* OutboundQueue::first_lane() {
  for (Lane& lane : lanes_) {
    if (lane.first < lane.messages.size()) return &lane;
  }
  return nullptr;
}

OutboundMessage* OutboundQueue::front() {
  Lane* lane = first_lane();
  return lane == nullptr ? nullptr : &lane->messages[lane->first];
}

void OutboundQueue::pop() {
  Lane& lane = *first_lane();
  lane.messages[lane.first++] = {};
  --count_;
  if (lane.first == lane.messages.size()) {
    lane.messages.clear();
    lane.first = 0;
  } else if (lane.first >= kCompactAt && lane.first * 2 >= lane.messages.size()) {
    lane.messages.erase(lane.messages.begin(), lane.messages.begin() + static_cast<ptrdiff_t>(lane.first));
    lane.first = 0;
  }
}

void OutboundQueue::prune(int64_t now, std::vector<OutboundMessage>& expired) {
  if (earliest_deadline_ >= now) return;
  earliest_deadline_ = kNever;
  for (Lane& lane : lanes_) {
    size_t kept = 0;
    for (size_t i = lane.first; i < lane.messages.size(); ++i) {
      OutboundMessage& message = lane.messages[i];
      if (message.deadline < now) {
        expired.push_back(std::move(message));
        --count_;
        continue;
      }
      earliest_deadline_ = std::min(earliest_deadline_, message.deadline);
      if (kept != i) lane.messages[kept] = std::move(message);
      ++kept;
    }
    lane.messages.resize(kept);
    lane.first = 0;
  }
}

void OutboundQueue::clear(std::vector<OutboundMessage>& all) {
  for (Lane& lane : lanes_) {
    for (size_t i = lane.first; i < lane.messages.size(); ++i) all.push_back(std::move(lane.messages[i]));
    lane = {};
  }
  count_ = 0;
  earliest_deadline_ = kNever;
}

}  // namespace cassandra_like
