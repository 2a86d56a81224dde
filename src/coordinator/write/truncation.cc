#include "coordinator/write/truncation.h"

#include <fmt/format.h>

#include "base/log.h"
#include "coordinator/quorum/request_errors.h"
#include "messaging/wire/control_codec.h"

namespace cassandra_like {
namespace {

// Lives as long as somebody may still answer.
struct Truncation {
  explicit Truncation(RequestContext& c) : context(c) {}

  RequestContext& context;
  size_t missing = 0;
  size_t answers = 0;
  Promise<Status>* client = nullptr;  // null: it has been told
  TimerId timer = 0;

  Error timeout() const {
    return Error(ErrorCode::kTruncateError,
                 fmt::format("Error during truncate: Truncate timed out - received only {} responses", answers));
  }
  void tell(Status status) {
    if (client == nullptr) return;
    if (timer != 0) context.runtime.executor.cancel(std::exchange(timer, 0));
    std::exchange(client, nullptr)->set(std::move(status));
  }
  void answered() {
    ++answers;
    if (--missing == 0) tell({});
  }
  void failed(const InetAddressAndPort& node, RequestFailureReason reason) {
    if (reason == RequestFailureReason::kTimeout) return tell(timeout());
    tell(Error(ErrorCode::kTruncateError,
               fmt::format("Truncate failed on replica {} -> {}", node.to_string(), failure_reason_name(reason))));
  }
};

Task<void> truncate_here(std::shared_ptr<Truncation> truncation, TablePtr table) {
  RequestContext& context = truncation->context;
  Task<Status> truncating = context.replica.truncate(table);
  const Status status = co_await truncating;
  if (status.ok()) {
    truncation->answered();
  } else {
    if (auto more = context.failed_truncations.take(context.now())) {
      LOG_WARN("Truncating {}: {}{}", table->qualified_name(), status.error().message(), *more);
    }
    truncation->failed(context.cluster->address(context.cluster->local()), RequestFailureReason::kUnknown);
  }
  context.running.leave();
}

// Touches nothing but the truncation afterwards: nobody waits for it when the first failure was told.
Task<void> truncate_there(std::shared_ptr<Truncation> truncation, InetAddressAndPort node, SharedBytes body) {
  RequestContext& context = truncation->context;
  SendOptions options;
  options.flags = kCallBackOnFailure;
  options.deadline = context.now() + context.options.truncate_timeout.count();
  Task<Result<InboundMessage>> asking = context.messenger->request(node, Verb::kTruncateReq, std::move(body), options);
  Result<InboundMessage> answer = co_await asking;
  if (answer.ok()) {
    truncation->answered();
  } else {
    truncation->failed(node, reason_of(answer.error()));
  }
}

// The members that this node knows, of which so many live.
Status check_all_live(const Topology& topology) {
  int members = 0, live = 0, owners_down = 0;
  const std::span<const Endpoint> endpoints = topology.ring()->endpoints();
  for (EndpointIndex i = 0; i < endpoints.size(); ++i) {
    if (endpoints[i].state == EndpointStatus::kLeft) continue;
    ++members;
    live += topology.is_alive(i);
    owners_down += endpoints[i].owns_tokens() && !topology.is_alive(i);
  }
  if (owners_down == 0) return {};
  LOG_INFO("Cannot perform truncate, some hosts are down");
  const Error unavailable = unavailable_error(Consistency::kAll, members, live);
  return Error(ErrorCode::kTruncateError, "Error during truncate: " + unavailable.message());
}

}  // namespace

Task<Status> truncate_everywhere(RequestContext* context, TablePtr table) {
  if (table->is_virtual) {
    Task<Status> truncating = context->replica.truncate(table);
    co_return co_await truncating;
  }
  const ClusterSnapshotPtr cluster = context->cluster;
  CO_TRY(check_all_live(*cluster->topology));
  Bytes body;
  const TruncateRequest request{table->keyspace, table->name};
  append_truncate_request(body, request);
  const SharedBytes shared = SharedBytes::copy_of(body);
  std::vector<EndpointIndex> nodes;
  for (EndpointIndex i = 0; i < cluster->addresses.size(); ++i) {
    if (cluster->endpoint(i).owns_tokens()) nodes.push_back(i);
  }
  if (!context->running.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping: it truncates nothing more");
  auto truncation = std::make_shared<Truncation>(*context);
  Promise<Status> told;
  truncation->client = &told;
  truncation->missing = nodes.size();
  for (EndpointIndex node : nodes) {
    if (!cluster->is_local(node)) {
      spawn(truncate_there(truncation, cluster->address(node), shared));
    } else if (context->running.enter()) {
      spawn(truncate_here(truncation, table));
    }
  }
  if (truncation->client != nullptr) {
    auto late = [truncation] {
      truncation->timer = 0;
      truncation->tell(truncation->timeout());
    };
    truncation->timer = context->runtime.executor.schedule(context->options.truncate_timeout, late);
  }
  Status status = co_await told;
  context->running.leave();
  co_return status;
}

}  // namespace cassandra_like
