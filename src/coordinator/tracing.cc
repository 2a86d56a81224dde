#include "coordinator/tracing.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "coordinator/coordinator.h"
#include "model/values.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

constexpr size_t kMaxEvents = 1000;  // of a part
// Parts that wait to be written at once. More of them are left out.
constexpr size_t kMaxWriting = 256;

Bytes inet(const std::string& host) {
  auto parsed = parse_inet(host);
  return parsed.ok() ? *parsed : *parse_inet("127.0.0.1");
}

// Cassandra's stage of a verb.
const char* stage_of(Verb verb) {
  switch (verb) {
    case Verb::kReadReq:
    case Verb::kRangeReq:
      return "ReadStage-";
    case Verb::kCounterMutationReq:
      return "CounterMutationStage-";
    case Verb::kSchemaPushReq:
    case Verb::kSchemaPullReq:
    case Verb::kSchemaVersionReq:
      return "MigrationStage-";
    case Verb::kEchoReq:
    case Verb::kPingReq:
      return "GossipStage-";
    default:
      return "MutationStage-";
  }
}

}  // namespace

// Events of a client's request count from the millisecond of its start, and so does the end that clients compute from
// started_at and duration: no event passes the end. Their ids end in the session's own number. Ids of other parts have the
// times at which they are made.
class Tracing::Part final : public Trace {
 public:
  Part(Tracing& owner, const Uuid& session, TraceType type, bool is_local, std::string thread)
      : Trace(session, type),
        owner_(owner),
        sessions_(owner.sessions_),
        is_local_(is_local),
        thread_(std::move(thread)),
        started_millis_(owner.runtime_.clock.wall_millis()),
        started_nanos_(owner.runtime_.clock.monotonic_nanos()) {}
  ~Part() override {
    const auto found = sessions_->find(session());
    if (found != sessions_->end() && found->second.expired()) sessions_->erase(found);
  }

  void event(std::string activity) override {
    if (has_ended_) {
      std::vector<Event> late;
      late.push_back({owner_.next_event_id(), std::move(activity), -1, thread_});
      return owner_.write_later(session(), type(), std::move(late));
    }
    if (events_.size() >= kMaxEvents) return;
    const int32_t elapsed = elapsed_micros();
    events_.push_back({is_local_ ? local_id(elapsed) : owner_.next_event_id(), std::move(activity), elapsed, thread_});
  }

  void end() override {
    if (std::exchange(has_ended_, true) || events_.empty()) return;
    owner_.write_later(session(), type(), std::move(events_));
  }

  std::vector<Event> take_events() {
    has_ended_ = true;
    return std::move(events_);
  }
  int64_t started_millis() const { return started_millis_; }
  // The end comes after every event, also for clients that compare whole microseconds.
  int32_t duration_micros() const {
    const int32_t elapsed = elapsed_micros();
    return last_ == 0 ? elapsed : std::max(elapsed, static_cast<int32_t>((last_ - raw_start()) / 10) + 1);
  }

 private:
  uint64_t raw_start() const { return static_cast<uint64_t>(started_millis_) * 10'000 + kUuidEpochOffset; }
  int32_t elapsed_micros() const {
    return static_cast<int32_t>((owner_.runtime_.clock.monotonic_nanos() - started_nanos_) / 1000);
  }
  Uuid local_id(int32_t elapsed) {
    last_ = std::max(raw_start() + static_cast<uint64_t>(elapsed) * 10, last_ + 1);
    uint64_t clock_and_node = 0;
    for (size_t i = 8; i < 16; ++i) clock_and_node = clock_and_node << 8 | session().bytes[i];
    return Uuid::time_based(last_, clock_and_node);
  }

  Tracing& owner_;
  const std::shared_ptr<Sessions> sessions_;
  const bool is_local_;  // the request is a client's of this node
  const std::string thread_;
  const int64_t started_millis_, started_nanos_;
  std::vector<Event> events_;
  uint64_t last_ = 0;  // the time of the last id of a local event
  bool has_ended_ = false;
};

Tracing::Tracing(ShardRuntime& runtime, Coordinator& coordinator, const CoordinatorOptions& options)
    : runtime_(runtime),
      coordinator_(coordinator),
      query_ttl_(static_cast<int32_t>(options.trace_query_ttl.count())),
      repair_ttl_(static_cast<int32_t>(options.trace_repair_ttl.count())) {}
Tracing::~Tracing() = default;

int32_t Tracing::ttl(TraceType type) const { return type == TraceType::kRepair ? repair_ttl_ : query_ttl_; }

// Numbers are drawn when they are needed first: a node without traced requests draws none.
Uuid Tracing::next_event_id() {
  constexpr uint64_t kVariant = 0x8000000000000000ULL;
  if (clock_and_node_ == 0) clock_and_node_ = (runtime_.random.next() >> 2) | kVariant;
  last_event_ = std::max(last_event_ + 1, kUuidEpochOffset + static_cast<uint64_t>(runtime_.clock.wall_micros()) * 10);
  return Uuid::time_based(last_event_, clock_and_node_);
}

// Answers find the first part of a session.
TracePtr Tracing::keep(std::shared_ptr<Part> part) {
  std::weak_ptr<Trace>& known = (*sessions_)[part->session()];
  if (known.expired()) known = part;
  return part;
}

TracePtr Tracing::begin(const Uuid& session) {
  std::string thread = "Native-Transport-Requests-" + std::to_string(runtime_.executor.shard() + 1);
  return keep(std::make_shared<Part>(*this, session, TraceType::kQuery, true, std::move(thread)));
}

TracePtr Tracing::join(const Uuid& session, TraceType type, Verb verb) {
  std::string thread = stage_of(verb) + std::to_string(runtime_.executor.shard() + 1);
  return keep(std::make_shared<Part>(*this, session, type, false, std::move(thread)));
}

TracePtr Tracing::of_response(const Uuid& session, TraceType type) {
  const auto found = sessions_->find(session);
  TracePtr known = found == sessions_->end() ? nullptr : found->second.lock();
  if (known != nullptr) return known;
  std::string thread = "RequestResponseStage-" + std::to_string(runtime_.executor.shard() + 1);
  auto expired = std::make_shared<Part>(*this, session, type, false, std::move(thread));
  expired->end();
  return expired;
}

// ---- Writing

Task<Status> Tracing::finish(TracePtr trace, TracedRequest request) {
  auto& part = static_cast<Part&>(*trace);
  Session row{std::move(request), part.started_millis(), part.duration_micros()};
  return write(this, part.session(), part.type(), part.take_events(), std::move(row));
}

void Tracing::write_later(const Uuid& session, TraceType type, std::vector<Event> events) {
  if (writing_ >= kMaxWriting || !running_.enter()) {
    if (auto more = log_.take(runtime_.clock.monotonic_nanos())) {
      LOG_WARN("Too many trace events wait to be written: those of a session are left out{}", *more);
    }
    return;
  }
  ++writing_;
  spawn(write_unwatched(this, session, type, std::move(events)));
}

Task<void> Tracing::write_unwatched(Tracing* self, Uuid session, TraceType type, std::vector<Event> events) {
  Task<Status> writing = write(self, session, type, std::move(events), std::nullopt);
  const Status written = co_await writing;
  if (!written.ok()) {
    if (auto more = self->log_.take(self->runtime_.clock.monotonic_nanos())) {
      LOG_WARN("Trace events could not be written: {}{}", written.error().message(), *more);
    }
  }
  --self->writing_;
  self->running_.leave();
}

// Both tables have the session's id as their key: one mutation.
Task<Status> Tracing::write(Tracing* self, Uuid session, TraceType type, std::vector<Event> events,
                            std::optional<Session> row) {
  Coordinator& coordinator = self->coordinator_;
  const SchemaPtr schema = coordinator.schema().current();
  const TablePtr events_table = schema->table("system_traces", "events");
  const TablePtr sessions_table = schema->table("system_traces", "sessions");
  if (events_table == nullptr || sessions_table == nullptr) co_return Status();
  const LocalNode& node = coordinator.replica().local_node();
  const Bytes source = inet(node.broadcast_address);
  const Bytes port = encode_int(node.storage_port);
  const int64_t timestamp = self->runtime_.clock.wall_micros();
  const std::vector<Bytes> key{Bytes(session.view())};
  Arena arena;
  std::vector<PartitionUpdate> updates;
  if (!events.empty()) {
    UpdateBuilder builder(events_table, key, timestamp, arena);
    builder.ttl(self->ttl(type));
    for (const Event& event : events) {
      builder.row({Bytes(event.id.view())}).set("activity", event.activity).set("source", source);
      builder.set("source_port", port).set("thread", event.thread);
      if (event.elapsed_micros >= 0) builder.set("source_elapsed", encode_int(event.elapsed_micros));
    }
    updates.push_back(builder.build());
  }
  if (row) {
    UpdateBuilder builder(sessions_table, key, timestamp, arena);
    builder.ttl(self->ttl(type)).row().set("client", inet(row->request.client)).set("coordinator", source);
    builder.set("coordinator_port", port).set("request", row->request.request).set("command", "QUERY");
    builder.set("started_at", encode_bigint(row->started_millis)).set("duration", encode_int(row->duration_micros));
    for (const auto& [name, value] : row->request.parameters) builder.element("parameters", name, value);
    updates.push_back(builder.build());
  }
  const Mutation mutation{"system_traces", updates[0].key, updates};
  Task<Status> writing = coordinator.write({&mutation, 1}, Consistency::kAny, WriteType::kSimple);
  Status status = co_await writing;
  co_return status;
}

Task<void> Tracing::stop() { return running_.close(); }

}  // namespace cassandra_like
