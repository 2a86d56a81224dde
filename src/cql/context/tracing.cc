#include "cql/context/tracing.h"

namespace cassandra_like {
namespace {

class TraceSessionImpl : public TraceSession {
 public:
  TraceSessionImpl(QueryServices& services, TracedRequest request)
      : tracing_(services.coordinator().tracing()),
        id_(services.next_time_uuid()),
        trace_(tracing_.begin(id_)),
        request_(std::move(request)) {}

  const Uuid& id() const override { return id_; }
  const TracePtr& trace() const override { return trace_; }
  void event(std::string activity) override { trace_->event(std::move(activity)); }
  Task<Status> finish() override { return tracing_.finish(trace_, std::move(request_)); }

 private:
  Tracing& tracing_;
  const Uuid id_;
  const TracePtr trace_;
  TracedRequest request_;
};

}  // namespace

std::unique_ptr<TraceSession> TraceSession::begin(QueryServices& services, const ClientState& client,
                                                  std::string request, std::map<std::string, std::string> parameters) {
  TracedRequest traced{client.address.host, std::move(request), std::move(parameters)};
  return std::make_unique<TraceSessionImpl>(services, std::move(traced));
}

}  // namespace cassandra_like
