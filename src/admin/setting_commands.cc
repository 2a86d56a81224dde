// Settings that an operator changes until the node ends: GET and POST /v1/timeouts, /v1/settings, /v1/compaction_threshold,
// /v1/credentials_cache, POST /v1/credentials_cache/invalidate. All shards have the same: the one that is asked tells.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "admin/selection.h"
#include "base/log.h"
#include "runtime/gather.h"

namespace cassandra_like::admin {

namespace {

// NodeProbe.getTimeout. A timeout of requests is one of the messages that carry them, too.
struct TimeoutType {
  const char* name;
  const char* log_name;
  Duration CoordinatorOptions::*requests;  // null: none
  int64_t VerbTimeouts::*messages;         // null: none
  bool is_of_connections = false;
};
constexpr std::array kTimeouts{
    TimeoutType{"read", "read rpc", &CoordinatorOptions::read_timeout, &VerbTimeouts::read},
    TimeoutType{"range", "range rpc", &CoordinatorOptions::range_timeout, &VerbTimeouts::range},
    TimeoutType{"write", "write rpc", &CoordinatorOptions::write_timeout, &VerbTimeouts::write},
    TimeoutType{"counterwrite", "counter write rpc", &CoordinatorOptions::counter_write_timeout,
                &VerbTimeouts::counter},
    TimeoutType{"truncate", "truncate rpc", &CoordinatorOptions::truncate_timeout, &VerbTimeouts::truncate},
    TimeoutType{"misc", "rpc", nullptr, &VerbTimeouts::rpc},
    TimeoutType{"internodeconnect", "internode tcp connect", nullptr, nullptr, true},
};
constexpr std::array kOtherTimeouts{"cascontention", "internodeuser", "internodestreaminguser"};
constexpr int64_t kLongestTimeout = 1'000'000'000'000;  // milliseconds; deadlines are nanoseconds

constexpr char kTimeoutTypes[] =
    "read, range, write, counterwrite, cascontention, truncate, internodeconnect, internodeuser, "
    "internodestreaminguser, misc (general rpc_timeout_in_ms)";

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

// Says why when this node has no such timeout.
const TimeoutType* find_timeout(const AdminContext& context, const std::string& command, const std::string& name,
                                Answer* refusal) {
  const auto* type =
      std::find_if(kTimeouts.begin(), kTimeouts.end(), [&](const TimeoutType& t) { return t.name == name; });
  if (std::find(kOtherTimeouts.begin(), kOtherTimeouts.end(), name) != kOtherTimeouts.end()) {
    *refusal = not_supported(command + " " + name);
  } else if (type == kTimeouts.end()) {
    *refusal = refuse(400, fmt::format("Timeout type requires one of ({})", kTimeoutTypes));
  } else if (type->requests == nullptr && context.node.messengers.empty()) {
    *refusal = refuse(409, "This node takes part in no cluster");
  } else {
    return type;
  }
  return nullptr;
}

void set_timeout(AdminNode& node, unsigned shard, const TimeoutType& type, int64_t millis) {
  const Duration timeout = std::chrono::milliseconds(millis);
  if (type.requests != nullptr) node.coordinators[shard]->set_timeout(type.requests, timeout);
  if (node.messengers.empty()) return;
  if (type.messages != nullptr) node.messengers[shard]->set_timeout(type.messages, millis);
  if (type.is_of_connections) node.messengers[shard]->set_connect_timeout(timeout);
}

// The work must not fail.
Task<void> on_every_shard(AdminContextPtr context, std::function<void(AdminNode&, unsigned)> work) {
  if (context->stopped) co_return;
  auto* node = &context->node;
  std::function<Task<Status>(unsigned)> run = [node, work](unsigned shard) {
    work(*node, shard);
    return Task<Status>(Status());
  };
  Task<std::vector<Status>> task = gather<Status>(*node->runtime, context->here(), std::move(run));
  co_await task;
}

Task<Answer> set_on_every_shard(AdminContextPtr context, std::function<void(AdminNode&, unsigned)> work) {
  Task<void> task = on_every_shard(std::move(context), std::move(work));
  co_await task;
  co_return Answer{};
}

}  // namespace

Task<Answer> timeouts(AdminContextPtr context, Parameters parameters) {
  Answer answer;
  const TimeoutType* type = find_timeout(*context, "gettimeout", parameters.get("type"), &answer);
  if (type == nullptr) return answer;
  int64_t millis = 0;
  if (type->requests != nullptr) {
    const Duration timeout = context->node.coordinators[context->shard]->options().*type->requests;
    millis = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  } else if (type->is_of_connections) {
    const Duration timeout = context->node.messengers[context->shard]->options().connect_timeout;
    millis = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  } else {
    millis = context->node.messengers[context->shard]->options().timeouts.*type->messages;
  }
  answer.json = {{"type", type->name}, {"millis", millis}};
  return answer;
}

Task<Answer> set_timeouts(AdminContextPtr context, Parameters parameters) {
  const std::optional<int64_t> millis = number_of<int64_t>(parameters.get("millis"));
  if (!millis) return refuse(400, fmt::format("For input string: \"{}\"", parameters.get("millis")));
  if (*millis < 0) return refuse(400, "timeout must be non-negative");
  if (*millis > kLongestTimeout) return refuse(400, fmt::format("timeout must be at most {} ms", kLongestTimeout));
  Answer refusal;
  const TimeoutType* type = find_timeout(*context, "settimeout", parameters.get("type"), &refusal);
  if (type == nullptr) return refusal;
  LOG_INFO("set {} timeout to {} ms", type->log_name, *millis);
  return set_on_every_shard(std::move(context), [type, millis](AdminNode& node, unsigned shard) {
    set_timeout(node, shard, *type, *millis);
  });
}

Task<Answer> settings(AdminContextPtr context, Parameters) {
  const EngineSettings engine = context->replica().maintenance().settings();
  Answer answer;
  answer.json = {
      {"batchlog_replay_throttle_kib_per_second",
       context->node.coordinators[context->shard]->batchlog().replay_throttle() / 1024},
      {"column_index_size_kib", engine.column_index_bytes ? Json(*engine.column_index_bytes / 1024) : Json(nullptr)},
      {"default_keyspace_rf", context->node.processors[context->shard]->options().default_keyspace_rf},
      {"incremental_backups", engine.incremental_backups},
      {"allow_older_protocols", context->hooks.allows_older_protocols && context->hooks.allows_older_protocols()}};
  return answer;
}

namespace {

constexpr int32_t kMostKib = std::numeric_limits<int32_t>::max();

// The settings that POST /v1/settings changes.
struct SettingChanges {
  std::optional<int32_t> batchlog_throttle, column_index, default_rf;
  std::optional<bool> incremental_backups, older_protocols;
};

// DataStorageSpec.IntKibibytesBound
std::optional<Answer> check_kibibytes(int32_t kib) {
  if (kib < 0) return refuse(400, "Invalid data storage: value must be non-negative");
  if (kib < kMostKib) return std::nullopt;
  return refuse(400, fmt::format("Invalid data storage: {} kibibytes. It shouldn't be more than {} in kibibytes", kib,
                                 kMostKib - 1));
}

std::optional<Answer> check_column_index(int32_t kib) {
  if (kib == -1) return std::nullopt;  // as the format has it
  if (auto refusal = check_kibibytes(kib)) return refusal;
  const int64_t bytes = int64_t{kib} * 1024;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
  if (bytes <= kMost) return std::nullopt;
  return refuse(500, fmt::format("column_index_size must be positive value <= {}B, but was {}B", kMost, bytes));
}

// DatabaseDescriptor.setDefaultKeyspaceRF
std::optional<Answer> check_default_rf(int32_t factor, const Guardrails& guardrails) {
  const int least = guardrails.minimum_replication_factor_fail_threshold;
  const int most = guardrails.maximum_replication_factor_fail_threshold;
  if (factor < 1) return refuse(400, "default_keyspace_rf cannot be less than 1");
  if (factor < least) {
    return refuse(400, fmt::format("default_keyspace_rf to be set ({}) cannot be less than "
                                   "minimum_replication_factor_fail_threshold ({})",
                                   factor, least));
  }
  if (most == -1 || factor <= most) return std::nullopt;
  return refuse(400, fmt::format("default_keyspace_rf to be set ({}) cannot be greater than "
                                 "maximum_replication_factor_fail_threshold ({})",
                                 factor, most));
}

std::optional<Answer> read_number(const Parameters& parameters, const char* name, std::optional<int32_t>* out) {
  if (!parameters.has(name)) return std::nullopt;
  *out = number_of<int32_t>(parameters.get(name));
  if (*out) return std::nullopt;
  return refuse(400, fmt::format("{} is a whole number: {}", name, parameters.get(name)));
}

std::optional<Answer> read_changes(const AdminContext& context, const Parameters& parameters, SettingChanges* changes) {
  if (auto refusal = read_number(parameters, "batchlog_replay_throttle_kib_per_second", &changes->batchlog_throttle)) {
    return refusal;
  }
  if (auto refusal = read_number(parameters, "column_index_size_kib", &changes->column_index)) return refusal;
  if (auto refusal = read_number(parameters, "default_keyspace_rf", &changes->default_rf)) return refusal;
  if (changes->batchlog_throttle) {
    if (auto refusal = check_kibibytes(*changes->batchlog_throttle)) return refusal;
  }
  if (changes->column_index) {
    if (auto refusal = check_column_index(*changes->column_index)) return refusal;
  }
  if (changes->default_rf) {
    const Guardrails& guardrails = context.node.processors[context.shard]->options().guardrails;
    if (auto refusal = check_default_rf(*changes->default_rf, guardrails)) return refusal;
  }
  if (parameters.has("incremental_backups")) changes->incremental_backups = parameters.is_true("incremental_backups");
  if (parameters.has("allow_older_protocols")) changes->older_protocols = parameters.is_true("allow_older_protocols");
  return std::nullopt;
}

void use_changes(AdminNode& node, unsigned shard, const SettingChanges& changes) {
  Maintenance& maintenance = node.replicas[shard]->maintenance();
  EngineSettings engine = maintenance.settings();
  if (changes.column_index) {
    engine.column_index_bytes.reset();
    if (*changes.column_index >= 0) engine.column_index_bytes = static_cast<uint32_t>(*changes.column_index) * 1024;
  }
  if (changes.incremental_backups) engine.incremental_backups = *changes.incremental_backups;
  maintenance.use(engine);
  if (changes.batchlog_throttle) {
    node.coordinators[shard]->batchlog().set_replay_throttle(uint64_t(*changes.batchlog_throttle) * 1024);
  }
  if (changes.default_rf) node.processors[shard]->set_default_keyspace_rf(*changes.default_rf);
}

}  // namespace

// Changes what is given, once all of it is understood.
Task<Answer> set_settings(AdminContextPtr context, Parameters parameters) {
  SettingChanges changes;
  if (auto refusal = read_changes(*context, parameters, &changes)) co_return std::move(*refusal);
  std::function<void(AdminNode&, unsigned)> work = [changes](AdminNode& node, unsigned shard) {
    use_changes(node, shard, changes);
  };
  Task<void> task = on_every_shard(context, std::move(work));
  co_await task;
  if (changes.column_index) LOG_INFO("Updated column_index_size to {} KiB", *changes.column_index);
  if (changes.default_rf) LOG_INFO("set default keyspace rf to {}", *changes.default_rf);
  if (!changes.older_protocols || !context->hooks.allow_older_protocols) co_return Answer{};
  Task<Status> allowing = context->hooks.allow_older_protocols(*changes.older_protocols);
  Status allowed = co_await allowing;
  co_return done_or_failure(allowed);
}

namespace {

// The table, or the hidden one of an index, as "table.index".
std::optional<AutoCompactionState> compaction_of(const AdminContext& context, const Parameters& parameters) {
  const std::string &keyspace = parameters.get("keyspace"), &table = parameters.get("table");
  if (keyspace.empty()) return std::nullopt;
  const Maintenance& maintenance = context.replica().maintenance();
  for (const AutoCompactionState& each : maintenance.auto_compaction(TableSelection(keyspace))) {
    if (each.table == table) return each;
  }
  return std::nullopt;
}

Answer no_such_table(const Parameters& parameters) {
  return refuse(
      404, fmt::format("ColumnFamilyStore for {}/{} not found.", parameters.get("keyspace"), parameters.get("table")));
}

}  // namespace

Task<Answer> compaction_threshold(AdminContextPtr context, Parameters parameters) {
  const std::optional<AutoCompactionState> state = compaction_of(*context, parameters);
  if (!state) return no_such_table(parameters);
  Answer answer;
  answer.json = {{"min", state->min_threshold}, {"max", state->max_threshold}};
  return answer;
}

// ColumnFamilyStore.setCompactionThresholds
Task<Answer> set_compaction_threshold(AdminContextPtr context, Parameters parameters) {
  const std::optional<int32_t> min = number_of<int32_t>(parameters.get("min"));
  const std::optional<int32_t> max = number_of<int32_t>(parameters.get("max"));
  if (!min || !max) return refuse(400, "min and max are whole numbers");
  if (!compaction_of(*context, parameters)) return no_such_table(parameters);
  if (*min > *max) {
    return refuse(500, fmt::format("The min_compaction_threshold cannot be larger than the max_compaction_threshold. "
                                   "Min is '{}', Max is '{}'.",
                                   *min, *max));
  }
  if (*min <= 0) {
    return refuse(500,
                  "Disabling compaction by setting min_compaction_threshold or max_compaction_threshold to 0 is "
                  "deprecated, set the compaction strategy option 'enabled' to 'false' instead or use the nodetool "
                  "command 'disableautocompaction'.");
  }
  const TableSelection table(parameters.get("keyspace"), parameters.get("table"));
  return set_on_every_shard(std::move(context), [table, min, max](AdminNode& node, unsigned shard) {
    node.replicas[shard]->maintenance().set_compaction_thresholds(table, *min, *max);
  });
}

namespace {

Answer no_credentials_cache() {
  return refuse(409, "There is no CredentialsCache: the authenticator asks for no password");
}

}  // namespace

// A password that was right is taken for right so long, as long as the role's hash stays. There is nothing to update.
Task<Answer> credentials_cache(AdminContextPtr context, Parameters) {
  if (!context->node.has_passwords) return no_credentials_cache();
  const AdminCredentialsCache cache = context->hooks.credentials_cache();
  const int64_t validity = std::chrono::duration_cast<std::chrono::milliseconds>(cache.validity).count();
  Answer answer;
  answer.json = {{"validity_millis", validity},
                 {"update_interval_millis", validity},
                 {"max_entries", cache.max_entries},
                 {"active_update", false}};
  return answer;
}

Task<Answer> set_credentials_cache(AdminContextPtr context, Parameters parameters) {
  if (!context->node.has_passwords) co_return no_credentials_cache();
  const std::optional<int32_t> validity = number_of<int32_t>(parameters.get("validity_millis"));
  if (!validity || *validity < 0) co_return refuse(400, "validity_millis is a whole number from 0 on");
  Task<Status> task = context->hooks.set_credentials_validity(std::chrono::milliseconds(*validity));
  Status status = co_await task;
  co_return done_or_failure(status);
}

Task<Answer> invalidate_credentials(AdminContextPtr context, Parameters parameters) {
  if (!context->node.has_passwords) co_return no_credentials_cache();
  Task<Status> task = context->hooks.invalidate_credentials(parameters.all("role"));
  Status status = co_await task;
  co_return done_or_failure(status);
}

}  // namespace cassandra_like::admin
