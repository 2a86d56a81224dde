// Sends one file's hints to their node (hints.HintsDispatcher): in order, a bounded number at once, no faster than the throttle.
#pragma once

#include <deque>
#include <functional>

#include "hints/hints_store.h"

namespace cassandra_like {

class HintsDispatcher {
 public:
  enum class Outcome : uint8_t {
    kFinished,  // all hints have arrived, or may not be sent any more
    kStopped,   // position() says where to go on
    kUnreadable,
  };
  // May this go on? Asked before each hint.
  using MayGoOn = std::function<bool()>;

  HintsDispatcher(ShardRuntime& runtime, Messenger& messenger, HintsControl& control, HintsStatistics& statistics)
      : runtime_(runtime), messenger_(messenger), control_(control), statistics_(statistics) {}

  // `nodes`: how many others are in the cluster; each of them may send to the same node. The node and what is passed have to
  // live until the Task completes.
  Task<Outcome> send(std::unique_ptr<HintsFileReader> reader, HintsTarget* node, InetAddressAndPort to, size_t nodes,
                     const MayGoOn* may_go_on);
  // Ends send() soon, without a wait for answers.
  void abort();
  // The entry before which everything has arrived.
  uint64_t position() const { return sent_.empty() ? next_ : sent_.front()->position; }

 private:
  struct Sent final : ResponseHandler {
    Sent(HintsDispatcher& owner, uint64_t at, size_t bytes) : dispatcher(owner), position(at), size(bytes) {}
    void on_response(InboundMessage&) override { dispatcher.on_answer(*this, std::nullopt); }
    void on_failure(const InetAddressAndPort&, RequestFailureReason reason) override {
      dispatcher.on_answer(*this, reason);
    }
    HintsDispatcher& dispatcher;
    const uint64_t position;
    const size_t size;
    uint32_t id = 0;
    bool arrived = false;
  };

  void on_answer(Sent& sent, std::optional<RequestFailureReason> failure);
  void send_one(const HintsFileReader& reader, const HintsFileReader::Hint& hint, const InetAddressAndPort& to);
  Task<bool> take_turn(HintsTarget* node, size_t size, size_t nodes, const MayGoOn* may_go_on);
  Task<void> wait_for_answer();
  void wake();

  ShardRuntime& runtime_;
  Messenger& messenger_;
  HintsControl& control_;
  HintsStatistics& statistics_;

  std::deque<std::unique_ptr<Sent>> sent_;  // in the file's order, without those at the front that have arrived
  size_t in_flight_ = 0;
  size_t in_flight_bytes_ = 0;
  uint64_t next_ = 0;  // the entry after the last that was sent
  bool failed_ = false;
  Promise<bool>* waiter_ = nullptr;
};

}  // namespace cassandra_like
