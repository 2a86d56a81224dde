// drain, stop, binary, logging: what the hooks do.
#include <charconv>

#include "admin/api.h"

namespace cassandra_like::admin {
namespace {

// So long an answer has to leave before the node begins to stop.
constexpr Duration kStopDelay = std::chrono::milliseconds(50);

Task<Answer> run(AdminContextPtr context, std::function<Task<Status>()> hook) {
  Task<Status> task = call_hook<Status>(std::move(context), std::move(hook));
  Status status = co_await task;
  co_return done_or_failure(status, 409);
}

}  // namespace

Task<Answer> drain(AdminContextPtr context, Parameters) { return run(context, context->hooks.drain); }
Task<Answer> enable_binary(AdminContextPtr context, Parameters) { return run(context, context->hooks.enable_binary); }
Task<Answer> disable_binary(AdminContextPtr context, Parameters) { return run(context, context->hooks.disable_binary); }

Task<Answer> refresh_size_estimates(AdminContextPtr context, Parameters) {
  return run(context, context->hooks.refresh_size_estimates);
}

Task<Answer> replay_batchlog(AdminContextPtr context, Parameters) {
  return run(context, context->hooks.replay_batchlog);
}

Task<Answer> stop(AdminContextPtr context, Parameters) {
  context->here().schedule(kStopDelay, [context] {
    if (!context->stopped) context->hooks.stop();
  });
  return Answer{};
}

Task<Answer> binary(AdminContextPtr context, Parameters) {
  Answer answer;
  answer.json = {{"running", context->hooks.binary_running()}};
  return answer;
}

Task<Answer> logging(AdminContextPtr context, Parameters) {
  Json levels = Json::array();
  for (const auto& [logger, level] : context->hooks.logging_levels()) {
    levels.push_back({{"logger", logger}, {"level", level}});
  }
  Answer answer;
  answer.json = {{"levels", std::move(levels)}};
  return answer;
}

Task<Answer> set_logging(AdminContextPtr context, Parameters parameters) {
  const std::string& level = parameters.get("level");
  std::vector<std::string> loggers = parameters.all("logger");
  if (loggers.empty()) loggers.push_back(level.empty() ? "" : "ROOT");
  for (const std::string& logger : loggers) {
    if (!context->hooks.set_logging_level(logger, level)) return refuse(400, "Unknown logging level " + level);
  }
  return Answer{};
}

Task<Answer> trace_probability(AdminContextPtr context, Parameters) {
  Answer answer;
  answer.json = {{"probability", context->node.trace_settings->probability.load()}};
  return answer;
}

Task<Answer> set_trace_probability(AdminContextPtr context, Parameters parameters) {
  const std::string& text = parameters.get("value");
  double value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && rest == text.data() + text.size();
  if (!is_number || !(value >= 0 && value <= 1)) return refuse(400, "Trace probability must be between 0 and 1");
  context->node.trace_settings->probability = value;
  return Answer{};
}

}  // namespace cassandra_like::admin
