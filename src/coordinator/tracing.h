// The traced requests of a shard, and their notes in system_traces (tracing.TraceStateImpl, tracing.TraceKeyspace).
//
// A part notes its events in memory. When the part ends, one mutation at ANY brings them to the replicas of system_traces:
// those of a client's request together with the row of its session, those of another node's request when it was answered.
// An event that comes after the end is written by itself, without the time that had passed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log_quota.h"
#include "coordinator/context/options.h"
#include "messaging/link/trace.h"
#include "runtime/runtime.h"

namespace cassandra_like {

class Coordinator;

// The row of a session: what a client asked this node for.
struct TracedRequest {
  std::string client;  // its address
  std::string request;
  std::map<std::string, std::string> parameters;
};

class Tracing final : public Traces {
 public:
  // Both outlive it.
  Tracing(ShardRuntime& runtime, Coordinator& coordinator, const CoordinatorOptions& options);
  ~Tracing() override;

  // A request of a client begins.
  TracePtr begin(const Uuid& session);
  // It has ended: its session and its events are written. They can be read when the Task completes.
  Task<Status> finish(TracePtr trace, TracedRequest request);

  // Traces
  TracePtr join(const Uuid& session, TraceType type, Verb verb) override;
  TracePtr of_response(const Uuid& session, TraceType type) override;

  // Waits for writes that nobody waits for. Afterwards nothing is written.
  Task<void> stop();

 private:
  class Part;
  using Sessions = std::map<Uuid, std::weak_ptr<Trace>>;
  struct Event {
    Uuid id;
    std::string activity;
    int32_t elapsed_micros = -1;  // -1: not told
    std::string thread;
  };
  struct Session {
    TracedRequest request;
    int64_t started_millis = 0;
    int32_t duration_micros = 0;
  };

  Uuid next_event_id();
  int32_t ttl(TraceType type) const;
  TracePtr keep(std::shared_ptr<Part> part);
  void write_later(const Uuid& session, TraceType type, std::vector<Event> events);
  static Task<void> write_unwatched(Tracing* self, Uuid session, TraceType type, std::vector<Event> events);
  static Task<Status> write(Tracing* self, Uuid session, TraceType type, std::vector<Event> events,
                            std::optional<Session> row);

  ShardRuntime& runtime_;
  Coordinator& coordinator_;
  const int32_t query_ttl_, repair_ttl_;  // seconds
  // Parts leave it when they go, which may be after this has gone.
  const std::shared_ptr<Sessions> sessions_ = std::make_shared<Sessions>();
  uint64_t last_event_ = 0, clock_and_node_ = 0;
  size_t writing_ = 0;  // that nobody waits for
  Gate running_;
  LogQuota log_;
};

}  // namespace cassandra_like
