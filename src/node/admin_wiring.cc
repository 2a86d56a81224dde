#include "node/admin_wiring.h"

#include "node/guardrail_settings.h"
#include "node/logging.h"
#include "node/options.h"
#include "runtime/gather.h"
#include "transport/authenticator.h"

namespace cassandra_like {
namespace {

std::vector<AdminClient> clients_of(Server& server, unsigned shard) {
  std::vector<AdminClient> result;
  for (const ClientInfo& info : server.clients()) {
    AdminClient client;
    client.address = info.address.host;
    client.port = info.address.port;
    client.stage = connection_stage_name(info.stage);
    client.user = info.user;
    client.keyspace = info.keyspace;
    client.driver_name = info.driver_name;
    client.driver_version = info.driver_version;
    client.compression = info.compression;
    client.options = info.options;
    client.protocol_version = info.protocol_version;
    client.requests = info.requests;
    client.shard = shard;
    result.push_back(std::move(client));
  }
  return result;
}

template <class T>
std::vector<T> flatten(std::vector<std::vector<T>> parts) {
  std::vector<T> all;
  for (auto& part : parts) {
    for (T& item : part) all.push_back(std::move(item));
  }
  return all;
}

Task<std::vector<AdminClient>> all_clients(ClusterNode* node, Runtime* runtime) {
  using Clients = std::vector<AdminClient>;
  auto ask = [node](unsigned shard) { return Task<Clients>(clients_of(node->server(shard), shard)); };
  co_return flatten(co_await gather<Clients>(*runtime, runtime->shard(0).executor, ask));
}

Task<std::vector<AdminClientHistory>> all_history(ClusterNode* node, Runtime* runtime) {
  using History = std::vector<AdminClientHistory>;
  auto ask = [node](unsigned shard) {
    History history;
    for (const ClientHistory& h : node->server(shard).client_history()) {
      history.push_back({h.protocol_version, h.host, h.last_seen_millis});
    }
    return Task<History>(std::move(history));
  };
  co_return flatten(co_await gather<History>(*runtime, runtime->shard(0).executor, ask));
}

Task<Status> clear_history(ClusterNode* node, Runtime* runtime) {
  auto clear = [node](unsigned shard) {
    node->server(shard).clear_client_history();
    return Task<Status>(Status());
  };
  auto statuses = co_await gather<Status>(*runtime, runtime->shard(0).executor, clear);
  co_return first_error(std::move(statuses));
}

// The work must not fail.
Task<Status> on_every_server(ClusterNode* node, Runtime* runtime, std::function<void(Server&)> work) {
  std::function<Task<Status>(unsigned)> run = [node, work](unsigned shard) {
    work(node->server(shard));
    return Task<Status>(Status());
  };
  Task<std::vector<Status>> task = gather<Status>(*runtime, runtime->shard(0).executor, std::move(run));
  co_return first_error(co_await task);
}

void add(AdminTransport& total, const TransportMetrics& m) {
  total.connected_clients += m.connected_clients;
  total.requests_in_flight += m.requests_in_flight;
  total.request_bytes_in_flight += m.request_bytes_in_flight;
  total.paused_connections += m.paused_connections;
  total.connections += m.connections;
  total.connections_refused += m.connections_refused;
  total.requests += m.requests;
  total.bytes_received += m.bytes_received;
  total.bytes_sent += m.bytes_sent;
  total.requests_discarded += m.requests_discarded;
  total.protocol_errors += m.protocol_errors;
  total.auth_successes += m.auth_successes;
  total.auth_failures += m.auth_failures;
  total.events_sent += m.events_sent;
  total.request_micros.merge(m.request_micros);
}

Task<AdminTransport> all_transport(ClusterNode* node, Runtime* runtime) {
  auto ask = [node](unsigned shard) { return Task<TransportMetrics>(node->server(shard).metrics()); };
  auto parts = co_await gather<TransportMetrics>(*runtime, runtime->shard(0).executor, ask);
  AdminTransport total;
  for (const TransportMetrics& part : parts) add(total, part);
  co_return total;
}

Task<Result<AdminLogin>> log_in(std::shared_ptr<Authenticator> authenticator, std::string user, std::string password) {
  if (user.find('\0') != std::string::npos || password.find('\0') != std::string::npos) {
    co_return Error(ErrorCode::kBadCredentials, "A name or a password holds a NUL character");
  }
  Bytes token(1, '\0');
  token += user;
  token.push_back('\0');
  token += password;
  Result<AuthOutcome> outcome = co_await authenticator->evaluate(std::move(token));
  if (!outcome.ok()) co_return std::move(outcome.error());
  co_return AdminLogin{outcome->is_superuser};
}

}  // namespace

AdminNode admin_node(ClusterNode& node, Runtime& runtime) {
  AdminNode result;
  result.runtime = &runtime;
  for (unsigned i = 0; i < runtime.shard_count(); ++i) {
    result.replicas.push_back(&node.replica(i));
    result.coordinators.push_back(&node.coordinator(i));
    result.processors.push_back(&node.processor(i));
    if (node.membership() == nullptr) continue;
    result.messengers.push_back(node.messenger(i));
    result.hints.push_back(node.hints(i));
  }
  result.membership = node.membership();
  result.schema_sync = node.schema_sync();
  result.hints_control = node.hints_control();
  result.trace_settings = node.trace_settings();
  result.dynamic_snitch = node.config().dynamic_snitch;
  result.engine_options = engine_options(node.config());
  result.snitch = snitch_class(node.config());
  result.has_passwords = node.config().authenticator.short_name() == "PasswordAuthenticator";
  result.host_name = node.config().admin_host_name;
  result.started_nanos = runtime.shard(0).clock.monotonic_nanos();
  return result;
}

AdminHooks admin_hooks(ClusterNode& node, Runtime& runtime, std::function<void(const Status&)> stop) {
  AdminHooks hooks;
  auto* n = &node;
  auto* r = &runtime;
  hooks.clients = [n, r] { return all_clients(n, r); };
  hooks.client_history = [n, r] { return all_history(n, r); };
  hooks.clear_client_history = [n, r] { return clear_history(n, r); };
  hooks.transport = [n, r] { return all_transport(n, r); };
  hooks.binary_running = [n] { return n->binary_running(); };
  hooks.allows_older_protocols = [n] { return n->server(0).allows_older_protocols(); };
  hooks.allow_older_protocols = [n, r](bool allow) {
    return on_every_server(n, r, [allow](Server& server) { server.allow_older_protocols(allow); });
  };
  hooks.credentials_cache = [n] {
    return AdminCredentialsCache{n->server(0).credentials_validity(), kMostVerifiedPasswords};
  };
  hooks.set_credentials_validity = [n, r](Duration validity) {
    return on_every_server(n, r, [validity](Server& server) { server.set_credentials_validity(validity); });
  };
  hooks.invalidate_credentials = [n, r](std::vector<std::string> roles) {
    return on_every_server(n, r, [roles](Server& server) { server.invalidate_credentials(roles); });
  };
  hooks.operation_mode = [n] { return n->operation_mode(); };
  hooks.enable_binary = [n] { return n->enable_binary(); };
  hooks.disable_binary = [n] { return n->disable_binary(); };
  hooks.drain = [n] { return n->drain(); };
  hooks.refresh_size_estimates = [n] { return n->refresh_size_estimates(); };
  hooks.replay_batchlog = [n] { return n->replay_batchlog(); };
  hooks.stop = [stop] {
    if (stop) stop(Status());
  };
  hooks.logging_levels = [] { return logging_levels(); };
  hooks.set_logging_level = [](const std::string& logger, const std::string& level) {
    return set_logging_level(logger, level);
  };
  hooks.read_seeds = [n] { return n->read_seeds(); };
  hooks.settings = [n] { return n->config().settings_with(n->processor(0).options().guardrails); };
  hooks.show_guardrails = show_guardrails;
  hooks.change_guardrail = change_guardrail;
  return hooks;
}

Status add_admin_login(AdminHooks& hooks, ClusterNode& node, Runtime& runtime) {
  const TransportOptions options = transport_options(node.config());
  ASSIGN_OR_RETURN(auto made, Authenticator::create(options.authenticator, runtime.shard(0), node.processor(0),
                                                    options.credentials_validity));
  std::shared_ptr<Authenticator> authenticator = std::move(made);
  // The admin port has a cache of its own.
  hooks.set_credentials_validity = [authenticator, servers = hooks.set_credentials_validity](Duration validity) {
    authenticator->set_credentials_validity(validity);
    return servers(validity);
  };
  hooks.invalidate_credentials = [authenticator,
                                  servers = hooks.invalidate_credentials](std::vector<std::string> roles) {
    authenticator->invalidate_credentials(roles);
    return servers(std::move(roles));
  };
  hooks.log_in = [authenticator](std::string user, std::string password) {
    return log_in(authenticator, std::move(user), std::move(password));
  };
  return {};
}

}  // namespace cassandra_like
