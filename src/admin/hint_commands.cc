// hints and handoff: hints that wait for other nodes, and how they are kept and sent.
#include <charconv>

#include "admin/api.h"
#include "admin/gossip_view.h"
#include "base/log.h"
#include "runtime/gather.h"

namespace cassandra_like::admin {
namespace {

Answer no_hints() { return refuse(409, "This node keeps no hints: it takes part in no cluster"); }

std::optional<int64_t> whole_number(const std::string& text) {
  int32_t value = 0;  // as Cassandra's
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Answer bad_number(const char* name, const std::string& text) {
  return refuse(400, std::string(name) + " must be a whole number, 0 or more: " + text);
}

Task<Status> remove_hints(AdminContextPtr context, std::optional<Uuid> host_id) {
  auto* node = &context->node;
  auto work = [node, host_id](unsigned shard) { return node->hints[shard]->remove_all(host_id); };
  auto statuses = co_await gather<Status>(*node->runtime, context->here(), work);
  co_return first_error(std::move(statuses));
}

}  // namespace

Task<Answer> hints(AdminContextPtr context, Parameters) {
  Task<std::vector<HintedNode>> asked = hinted_nodes(context);
  std::vector<HintedNode> nodes = co_await asked;
  Json pending = Json::array();
  for (const HintedNode& node : nodes) {
    pending.push_back({{"host_id", node.hints.host_id.to_string()},
                       {"address", node.endpoint ? Json(node.endpoint->host()) : Json(nullptr)},
                       {"port", node.endpoint ? Json(node.endpoint->port) : Json(nullptr)},
                       {"rack", node.location.rack},
                       {"data_center", node.location.datacenter},
                       {"status", node.status},
                       {"files", node.hints.files},
                       {"bytes", node.hints.bytes},
                       {"newest_millis", node.hints.newest_millis},
                       {"oldest_millis", node.hints.oldest_millis}});
  }
  Answer answer;
  answer.json = {{"pending", pending}};
  co_return answer;
}

Task<Answer> truncate_hints(AdminContextPtr context, Parameters parameters) {
  const MembershipService* membership = context->node.membership;
  if (membership == nullptr || context->node.hints.empty()) co_return no_hints();
  std::optional<Uuid> host_id;
  if (parameters.has("address")) {
    const std::string& text = parameters.get("address");
    auto endpoint = InetAddressAndPort::parse(text, membership->gossiper().config().local.port);
    if (!endpoint) co_return refuse(400, "Not an address: " + text);
    host_id = membership->membership().host_id(*endpoint);
    if (!host_id) co_return refuse(400, "Can't delete hints for unknown address " + endpoint->to_string());
  }
  Task<Status> task = remove_hints(context, host_id);
  Status status = co_await task;
  co_return done_or_failure(status);
}

Task<Answer> handoff(AdminContextPtr context, Parameters) {
  if (context->node.hints_control == nullptr) return no_hints();
  const HintsControlView settings = view(*context->node.hints_control);
  Answer answer;
  answer.json = {{"enabled", settings.enabled},
                 {"paused", settings.paused},
                 {"throttle_bytes_per_second", settings.throttle_bytes_per_second},
                 {"window_millis", settings.window_millis},
                 {"disabled_data_centers", settings.disabled_datacenters}};
  return answer;
}

// Changes what is given, once all of it is understood.
Task<Answer> set_handoff(AdminContextPtr context, Parameters parameters) {
  if (context->node.hints_control == nullptr) return no_hints();
  HintsControl& control = *context->node.hints_control;
  std::optional<int64_t> throttle, window;
  if (parameters.has("throttle_kib_per_second")) {
    const std::string& text = parameters.get("throttle_kib_per_second");
    throttle = whole_number(text);
    if (!throttle) return bad_number("throttle_kib_per_second", text);
  }
  if (parameters.has("window_millis")) {
    const std::string& text = parameters.get("window_millis");
    window = whole_number(text);
    if (!window) return bad_number("window_millis", text);
  }
  if (throttle) {
    set_throttle(control, static_cast<uint64_t>(*throttle) * 1024);
    LOG_INFO("updated hinted_handoff_throttle to {} KiB", *throttle);
  }
  if (window) set_window(control, *window);
  if (parameters.has("enabled")) set_enabled(control, parameters.is_true("enabled"));
  if (parameters.has("paused")) set_paused(control, parameters.is_true("paused"));
  for (const std::string& name : parameters.all("enabled_data_center")) set_datacenter_enabled(control, name, true);
  for (const std::string& name : parameters.all("disabled_data_center")) set_datacenter_enabled(control, name, false);
  return Answer{};
}

}  // namespace cassandra_like::admin
