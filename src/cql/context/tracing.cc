// A session collects its events in memory and is written when the request is answered: with Cassandra's columns, under a
// time to live of a day, each event with a timeuuid of its own so that clients see them in order.
#include "cql/context/tracing.h"

#include <algorithm>

#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr int32_t kTimeToLive = 24 * 60 * 60;  // trace_type_query_ttl
constexpr size_t kMaxEvents = 1000;

Bytes inet(const std::string& host) {
  auto parsed = parse_inet(host);
  return parsed.ok() ? *parsed : *parse_inet("127.0.0.1");
}

class TraceSessionImpl : public TraceSession {
 public:
  TraceSessionImpl(QueryServices& services, const ClientState& client, std::string request,
                   std::map<std::string, std::string> parameters)
      : services_(services),
        id_(services.next_time_uuid()),
        client_(inet(client.address.host)),
        request_(std::move(request)),
        parameters_(std::move(parameters)),
        started_millis_(services.runtime().clock.wall_millis()),
        started_nanos_(services.runtime().clock.monotonic_nanos()) {}

  const Uuid& id() const override { return id_; }

  void event(std::string activity) override {
    if (events_.size() >= kMaxEvents) return;
    const int32_t elapsed = elapsed_micros();
    events_.push_back({event_id(elapsed), std::move(activity), elapsed});
  }

  Task<Status> finish() override {
    // The end comes after every event, also for clients that compare whole microseconds.
    int32_t duration = elapsed_micros();
    if (last_event_ != 0) duration = std::max(duration, static_cast<int32_t>((last_event_ - raw_start()) / 10) + 1);
    for (Event& event : events_) CO_TRY(co_await write_event(std::move(event)));
    std::vector<Bytes> values;
    values.emplace_back(id_.view());
    values.push_back(client_);
    values.push_back(inet(node().broadcast_address));
    values.push_back(encode_int(node().storage_port));
    values.push_back(request_);
    values.push_back(encode_bigint(started_millis_));
    values.push_back(encode_text_map(parameters_));
    values.push_back(encode_int(duration));
    std::string text =
        "INSERT INTO system_traces.sessions (session_id, client, coordinator, coordinator_port, request, started_at, "
        "command, "
        "parameters, duration) VALUES (?, ?, ?, ?, ?, ?, 'QUERY', ?, ?) USING TTL " +
        std::to_string(kTimeToLive);
    co_return co_await write(std::move(text), std::move(values));
  }

 private:
  struct Event {
    Uuid id;
    std::string activity;
    int32_t elapsed_micros;
  };

  uint64_t raw_start() const { return static_cast<uint64_t>(started_millis_) * 10'000 + kUuidEpochOffset; }
  // Clients order events by the times of their ids and put the request's end at started_at + duration. Both count from the
  // same millisecond, so no event passes the end. Ids of one session differ: each has its own number in the last bits.
  Uuid event_id(int32_t elapsed) {
    last_event_ = std::max(raw_start() + static_cast<uint64_t>(elapsed) * 10, last_event_ + 1);
    uint64_t clock_and_node = 0;
    for (size_t i = 8; i < 16; ++i) clock_and_node = clock_and_node << 8 | id_.bytes[i];
    return Uuid::time_based(last_event_, clock_and_node);
  }
  const LocalNode& node() const { return services_.coordinator().replica().local_node(); }
  int32_t elapsed_micros() const {
    return static_cast<int32_t>((services_.runtime().clock.monotonic_nanos() - started_nanos_) / 1000);
  }
  Task<Status> write_event(Event event) {
    std::vector<Bytes> values;
    values.emplace_back(id_.view());
    values.emplace_back(event.id.view());
    values.push_back(std::move(event.activity));
    values.push_back(inet(node().broadcast_address));
    values.push_back(encode_int(node().storage_port));
    values.push_back(encode_int(event.elapsed_micros));
    values.push_back("Native-Transport-Requests-" + std::to_string(services_.runtime().executor.shard() + 1));
    std::string text =
        "INSERT INTO system_traces.events (session_id, event_id, activity, source, source_port, source_elapsed, "
        "thread) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) USING TTL " +
        std::to_string(kTimeToLive);
    co_return co_await write(std::move(text), std::move(values));
  }
  Task<Status> write(std::string text, std::vector<Bytes> values) {
    Result<QueryResult> result = co_await services_.execute_internal(std::move(text), std::move(values));
    if (!result.ok()) co_return std::move(result.error());
    co_return Status();
  }

  QueryServices& services_;
  Uuid id_;
  Bytes client_;
  std::string request_;
  std::map<std::string, std::string> parameters_;
  int64_t started_millis_, started_nanos_;
  std::vector<Event> events_;
  uint64_t last_event_ = 0;  // of its id's time
};

}  // namespace

std::unique_ptr<TraceSession> TraceSession::begin(QueryServices& services, const ClientState& client,
                                                  std::string request, std::map<std::string, std::string> parameters) {
  return std::make_unique<TraceSessionImpl>(services, client, std::move(request), std::move(parameters));
}

}  // namespace cassandra_like
