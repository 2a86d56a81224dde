#include "admin/api.h"

#include <algorithm>

#include "admin/access.h"

namespace cassandra_like::admin {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

struct Route {
  const char* method;
  const char* path;
  Command command;
};

constexpr Route kRoutes[] = {
    {"GET", "/v1/version", version},
    {"GET", "/v1/ring", ring},
    {"GET", "/v1/info", info},
    {"GET", "/v1/cluster", cluster},
    {"GET", "/v1/gossip", gossip},
    {"POST", "/v1/gossip/enable", enable_gossip},
    {"POST", "/v1/gossip/disable", disable_gossip},
    {"GET", "/v1/failure_detector", failure_detector},
    {"GET", "/v1/token_mismatches", token_mismatches},
    {"GET", "/v1/seeds", seeds},
    {"POST", "/v1/seeds/reload", reload_seeds},
    {"POST", "/v1/assassinate", assassinate},
    {"POST", "/v1/join", join},
    {"POST", "/v1/schema/reset", reset_schema},
    {"POST", "/v1/schema/reload", reload_schema},
    {"GET", "/v1/hints", hints},
    {"POST", "/v1/hints/truncate", truncate_hints},
    {"GET", "/v1/trace_probability", trace_probability},
    {"POST", "/v1/trace_probability", set_trace_probability},
    {"GET", "/v1/handoff", handoff},
    {"POST", "/v1/handoff", set_handoff},
    {"GET", "/v1/endpoints", endpoints},
    {"GET", "/v1/token_ranges", token_ranges},
    {"GET", "/v1/tables", tables},
    {"GET", "/v1/table_histograms", table_histograms},
    {"GET", "/v1/sstables", sstables},
    {"GET", "/v1/data_paths", data_paths},
    {"POST", "/v1/flush", flush},
    {"POST", "/v1/compact", compact},
    {"POST", "/v1/force_compact", force_compact},
    {"POST", "/v1/rebuild_index", rebuild_index},
    {"POST", "/v1/upgrade_sstables", upgrade_sstables},
    {"POST", "/v1/garbage_collect", garbage_collect},
    {"POST", "/v1/cleanup", cleanup},
    {"POST", "/v1/scrub", scrub},
    {"POST", "/v1/verify", verify},
    {"POST", "/v1/recompress_sstables", recompress_sstables},
    {"POST", "/v1/relocate_sstables", relocate_sstables},
    {"POST", "/v1/import", import_sstables},
    {"POST", "/v1/refresh", refresh},
    {"GET", "/v1/auto_compaction", auto_compaction},
    {"POST", "/v1/auto_compaction", set_auto_compaction},
    {"GET", "/v1/proxy_histograms", proxy_histograms},
    {"GET", "/v1/thread_pools", pools},
    {"GET", "/v1/clients", clients},
    {"POST", "/v1/clients/clear_history", clear_client_history},
    {"GET", "/v1/compactions", compactions},
    {"POST", "/v1/compactions", set_compactions},
    {"POST", "/v1/compactions/stop", stop_compactions},
    {"GET", "/v1/compaction_history", compaction_history},
    {"GET", "/v1/network", network},
    {"POST", "/v1/drain", drain},
    {"POST", "/v1/refresh_size_estimates", refresh_size_estimates},
    {"POST", "/v1/replay_batchlog", replay_batchlog},
    {"POST", "/v1/stop", stop},
    {"GET", "/v1/binary", binary},
    {"POST", "/v1/binary/enable", enable_binary},
    {"POST", "/v1/binary/disable", disable_binary},
    {"GET", "/v1/logging", logging},
    {"POST", "/v1/logging", set_logging},
    {"GET", "/v1/timeouts", timeouts},
    {"POST", "/v1/timeouts", set_timeouts},
    {"GET", "/v1/settings", settings},
    {"POST", "/v1/settings", set_settings},
    {"GET", "/v1/compaction_threshold", compaction_threshold},
    {"POST", "/v1/compaction_threshold", set_compaction_threshold},
    {"GET", "/v1/credentials_cache", credentials_cache},
    {"POST", "/v1/credentials_cache", set_credentials_cache},
    {"POST", "/v1/credentials_cache/invalidate", invalidate_credentials},
    {"GET", "/v1/guardrails", guardrails},
    {"POST", "/v1/guardrails", set_guardrails},
    {"POST", "/v1/samples", samples},
    {"GET", "/v1/snapshots", snapshots},
    {"POST", "/v1/snapshots", take_snapshot},
    {"POST", "/v1/snapshots/clear", clear_snapshots},
    {"GET", "/metrics", metrics},
};

}  // namespace

std::optional<Parameters> Parameters::parse(std::string_view query) {
  Parameters result;
  while (!query.empty()) {
    std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    auto name = unescape(pair.substr(0, equals));
    auto value = unescape(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return std::nullopt;
    result.values_.emplace_back(std::move(*name), std::move(*value));
  }
  return result;
}

const std::string& Parameters::get(std::string_view name) const {
  static const std::string none;
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return none;
}

std::vector<std::string> Parameters::all(std::string_view name) const {
  std::vector<std::string> result;
  for (const auto& [key, value] : values_) {
    if (key == name) result.push_back(value);
  }
  return result;
}

bool Parameters::has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [name](const auto& pair) { return pair.first == name; });
}

Answer refuse(int status, std::string text) { return {status, {{"error", std::move(text)}}, {}}; }

Answer not_supported(const std::string& what) { return refuse(501, what + " is not supported yet"); }

Answer failure(const Error& error, int invalid) {
  return refuse(error.code() == ErrorCode::kInvalid ? invalid : 500, error.message());
}

Answer done_or_failure(const Status& status, int invalid) {
  return status.ok() ? Answer{} : failure(status.error(), invalid);
}

HttpResponse to_http(Answer answer) {
  if (!answer.text.empty()) return {answer.status, "text/plain; version=0.0.4; charset=utf-8", std::move(answer.text)};
  // Names out of a partition key or a client may be any bytes.
  return {answer.status, "application/json", answer.json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Task<HttpResponse> serve(AdminContextPtr context, HttpRequest request) {
  Task<std::optional<Answer>> access = check_access(context, &request);
  std::optional<Answer> refusal = co_await access;
  if (refusal) co_return to_http(std::move(*refusal));
  auto route = std::find_if(std::begin(kRoutes), std::end(kRoutes), [&request](const Route& r) {
    return request.method == r.method && request.path == r.path;
  });
  if (route == std::end(kRoutes)) co_return to_http(refuse(404, "No command " + request.method + " " + request.path));
  auto parameters = Parameters::parse(request.query);
  if (!parameters) co_return to_http(refuse(400, "Malformed query: " + request.query));
  Task<Answer> task = route->command(context, std::move(*parameters));
  Answer answer = co_await task;
  if (context->stopped) answer = refuse(409, "The node is stopping");
  co_return to_http(std::move(answer));
}

}  // namespace cassandra_like::admin
