// Guardrails while the node runs: GET and POST /v1/guardrails. All shards have the same: the one that is asked tells.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "admin/api.h"
#include "admin/selection.h"
#include "base/log.h"
#include "runtime/gather.h"

namespace cassandra_like::admin {

Task<Answer> guardrails(AdminContextPtr context, Parameters) {
  if (!context->hooks.show_guardrails) return not_supported("getguardrailsconfig");
  Json all = Json::array();
  for (const auto& [name, values] :
       context->hooks.show_guardrails(context->node.processors[context->shard]->options().guardrails)) {
    all.push_back({{"name", name}, {"values", values}});
  }
  Answer answer;
  answer.json = {{"guardrails", std::move(all)}};
  return answer;
}

namespace {

void log_changes(const std::vector<AdminGuardrail>& before, const std::vector<AdminGuardrail>& after) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].values == after[i].values) continue;
    LOG_INFO("Updated {} from {} to {}", before[i].name, fmt::join(before[i].values, ", "),
             fmt::join(after[i].values, ", "));
  }
}

}  // namespace

// Cassandra's setters: for a threshold, first the value of the failure, then of the warning.
Task<Answer> set_guardrails(AdminContextPtr context, Parameters parameters) {
  if (!context->hooks.change_guardrail) co_return not_supported("setguardrailsconfig");
  const CqlOptions& options = context->node.processors[context->shard]->options();
  const Guardrails before = options.guardrails;
  Guardrails after = before;
  Status changed = context->hooks.change_guardrail(&after, parameters.get("name"), parameters.all("value"),
                                                   options.default_keyspace_rf);
  if (!changed.ok()) co_return failure(changed.error(), 400);
  log_changes(context->hooks.show_guardrails(before), context->hooks.show_guardrails(after));
  auto* node = &context->node;
  std::function<Task<Status>(unsigned)> use = [node, after](unsigned shard) {
    node->processors[shard]->set_guardrails(after);
    Maintenance& maintenance = node->replicas[shard]->maintenance();
    EngineSettings settings = maintenance.settings();
    settings.guardrails = of_sstables(after);
    maintenance.use(settings);
    return Task<Status>(Status());
  };
  Task<std::vector<Status>> task = gather<Status>(*node->runtime, context->here(), std::move(use));
  co_await task;
  co_return Answer{};
}

}  // namespace cassandra_like::admin
