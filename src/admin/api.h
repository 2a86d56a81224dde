// HTTP to commands: arguments out of a query, answers as JSON, and the list of all commands (docs/ADMIN.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "admin/context.h"
#include "runtime/network.h"

namespace cassandra_like::admin {

using Json = nlohmann::ordered_json;

// Arguments in the order in which they came.
class Parameters {
 public:
  // nullopt when an escape is malformed.
  static std::optional<Parameters> parse(std::string_view query);

  const std::string& get(std::string_view name) const;  // the first one; empty when there is none
  std::vector<std::string> all(std::string_view name) const;
  bool has(std::string_view name) const;
  bool is_true(std::string_view name) const { return get(name) == "true"; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

struct Answer {
  int status = 200;
  Json json = Json::object();
  std::string text;  // instead of JSON: the metrics
};
Answer refuse(int status, std::string text);
Answer not_supported(const std::string& what);
// The error of an operation of the node; `invalid` is the status for one that was not allowed.
Answer failure(const Error& error, int invalid = 500);
Answer done_or_failure(const Status& status, int invalid = 500);
HttpResponse to_http(Answer answer);

using Command = Task<Answer> (*)(AdminContextPtr, Parameters);

// cluster_commands.cc
Task<Answer> version(AdminContextPtr context, Parameters parameters);
Task<Answer> ring(AdminContextPtr context, Parameters parameters);
Task<Answer> info(AdminContextPtr context, Parameters parameters);
Task<Answer> cluster(AdminContextPtr context, Parameters parameters);
Task<Answer> gossip(AdminContextPtr context, Parameters parameters);
Task<Answer> endpoints(AdminContextPtr context, Parameters parameters);
Task<Answer> token_ranges(AdminContextPtr context, Parameters parameters);
// gossip_commands.cc
Task<Answer> failure_detector(AdminContextPtr context, Parameters parameters);
Task<Answer> enable_gossip(AdminContextPtr context, Parameters parameters);
Task<Answer> disable_gossip(AdminContextPtr context, Parameters parameters);
Task<Answer> seeds(AdminContextPtr context, Parameters parameters);
Task<Answer> reload_seeds(AdminContextPtr context, Parameters parameters);
Task<Answer> assassinate(AdminContextPtr context, Parameters parameters);
Task<Answer> join(AdminContextPtr context, Parameters parameters);
Task<Answer> reset_schema(AdminContextPtr context, Parameters parameters);
Task<Answer> token_mismatches(AdminContextPtr context, Parameters parameters);
Task<Answer> reload_schema(AdminContextPtr context, Parameters parameters);
// hint_commands.cc
Task<Answer> hints(AdminContextPtr context, Parameters parameters);
Task<Answer> truncate_hints(AdminContextPtr context, Parameters parameters);
Task<Answer> handoff(AdminContextPtr context, Parameters parameters);
Task<Answer> set_handoff(AdminContextPtr context, Parameters parameters);
// table_commands.cc
Task<Answer> tables(AdminContextPtr context, Parameters parameters);
Task<Answer> table_histograms(AdminContextPtr context, Parameters parameters);
Task<Answer> data_paths(AdminContextPtr context, Parameters parameters);
Task<Answer> flush(AdminContextPtr context, Parameters parameters);
Task<Answer> auto_compaction(AdminContextPtr context, Parameters parameters);
Task<Answer> set_auto_compaction(AdminContextPtr context, Parameters parameters);
// upkeep_commands.cc
Task<Answer> sstables(AdminContextPtr context, Parameters parameters);
Task<Answer> compact(AdminContextPtr context, Parameters parameters);
Task<Answer> force_compact(AdminContextPtr context, Parameters parameters);
Task<Answer> rebuild_index(AdminContextPtr context, Parameters parameters);
Task<Answer> upgrade_sstables(AdminContextPtr context, Parameters parameters);
Task<Answer> garbage_collect(AdminContextPtr context, Parameters parameters);
Task<Answer> scrub(AdminContextPtr context, Parameters parameters);
Task<Answer> cleanup(AdminContextPtr context, Parameters parameters);
Task<Answer> recompress_sstables(AdminContextPtr context, Parameters parameters);
Task<Answer> relocate_sstables(AdminContextPtr context, Parameters parameters);
Task<Answer> import_sstables(AdminContextPtr context, Parameters parameters);
Task<Answer> refresh(AdminContextPtr context, Parameters parameters);
Task<Answer> verify(AdminContextPtr context, Parameters parameters);
// activity_commands.cc
Task<Answer> proxy_histograms(AdminContextPtr context, Parameters parameters);
Task<Answer> pools(AdminContextPtr context, Parameters parameters);
Task<Answer> clients(AdminContextPtr context, Parameters parameters);
Task<Answer> clear_client_history(AdminContextPtr context, Parameters parameters);
Task<Answer> compactions(AdminContextPtr context, Parameters parameters);
Task<Answer> set_compactions(AdminContextPtr context, Parameters parameters);
Task<Answer> stop_compactions(AdminContextPtr context, Parameters parameters);
Task<Answer> compaction_history(AdminContextPtr context, Parameters parameters);
Task<Answer> network(AdminContextPtr context, Parameters parameters);
// control_commands.cc
Task<Answer> drain(AdminContextPtr context, Parameters parameters);
Task<Answer> refresh_size_estimates(AdminContextPtr context, Parameters parameters);
Task<Answer> replay_batchlog(AdminContextPtr context, Parameters parameters);
Task<Answer> stop(AdminContextPtr context, Parameters parameters);
Task<Answer> binary(AdminContextPtr context, Parameters parameters);
Task<Answer> enable_binary(AdminContextPtr context, Parameters parameters);
Task<Answer> disable_binary(AdminContextPtr context, Parameters parameters);
Task<Answer> logging(AdminContextPtr context, Parameters parameters);
Task<Answer> set_logging(AdminContextPtr context, Parameters parameters);
Task<Answer> trace_probability(AdminContextPtr context, Parameters parameters);
Task<Answer> set_trace_probability(AdminContextPtr context, Parameters parameters);
// setting_commands.cc
Task<Answer> timeouts(AdminContextPtr context, Parameters parameters);
Task<Answer> set_timeouts(AdminContextPtr context, Parameters parameters);
Task<Answer> settings(AdminContextPtr context, Parameters parameters);
Task<Answer> set_settings(AdminContextPtr context, Parameters parameters);
Task<Answer> compaction_threshold(AdminContextPtr context, Parameters parameters);
Task<Answer> set_compaction_threshold(AdminContextPtr context, Parameters parameters);
Task<Answer> credentials_cache(AdminContextPtr context, Parameters parameters);
Task<Answer> set_credentials_cache(AdminContextPtr context, Parameters parameters);
Task<Answer> invalidate_credentials(AdminContextPtr context, Parameters parameters);
// guardrail_commands.cc
Task<Answer> guardrails(AdminContextPtr context, Parameters parameters);
Task<Answer> set_guardrails(AdminContextPtr context, Parameters parameters);
// sampling_commands.cc
Task<Answer> samples(AdminContextPtr context, Parameters parameters);
// snapshot_commands.cc
Task<Answer> snapshots(AdminContextPtr context, Parameters parameters);
Task<Answer> take_snapshot(AdminContextPtr context, Parameters parameters);
Task<Answer> clear_snapshots(AdminContextPtr context, Parameters parameters);
// metrics.cc
Task<Answer> metrics(AdminContextPtr context, Parameters parameters);

// From a request to the command's answer, with every refusal on the way. Never fails.
Task<HttpResponse> serve(AdminContextPtr context, HttpRequest request);

}  // namespace cassandra_like::admin
