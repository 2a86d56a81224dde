// Messages that wait for a connection, by the priority of their verbs, in order within one (net.OutboundMessageQueue). Expired
// ones are dropped before anybody looks at their bytes.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "base/shared_bytes.h"
#include "messaging/wire/message.h"

namespace cassandra_like {

// A message on its way out. Its payload is shared with those to other nodes.
struct OutboundMessage {
  uint64_t id = 0;
  Verb verb = Verb::kNoVerb;
  bool is_request = false;  // somebody here waits for the answer under this id
  uint32_t flags = 0;
  uint32_t params_count = 0;
  uint32_t created_millis = 0;  // the low bits
  uint64_t expires_in_millis = 0;
  int64_t deadline = 0;  // monotonic, nanoseconds
  Bytes params;          // as MessageParams has them
  SharedBytes payload;
  size_t size = 0;  // of head and payload: set by measure()

  // A message that waits takes so much memory beside its bytes: its place in a queue, which may have room for twice as
  // many, and the block of its payload. A short answer has a tenth of that in bytes.
  static constexpr size_t kOverhead = 256;

  // Counts in the limits.
  size_t room() const { return size + kOverhead; }
  MessageHeader header() const { return {id, created_millis, expires_in_millis, verb, flags, {params_count, params}}; }
  void measure() { size = message_head_size(header(), payload.view().size()) + payload.view().size(); }
};

static_assert(2 * sizeof(OutboundMessage) <= OutboundMessage::kOverhead);

class OutboundQueue {
 public:
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  void push(OutboundMessage message);
  // The next one; nullptr when there is none. Valid until the queue changes.
  OutboundMessage* front();
  void pop();
  // Moves the messages that expired before `now` out, or all of them.
  void prune(int64_t now, std::vector<OutboundMessage>& expired);
  void clear(std::vector<OutboundMessage>& all);

 private:
  struct Lane {
    std::vector<OutboundMessage> messages;
    size_t first = 0;
  };
  static constexpr size_t kLanes = 5;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  Lane* first_lane();

  std::array<Lane, kLanes> lanes_;
  size_t count_ = 0;
  int64_t earliest_deadline_ = kNever;  // of all that were pushed since the last prune
};

}  // namespace cassandra_like
