#include "admin/endpoint_state.h"

#include <algorithm>

#include "admin/statistics.h"
#include "base/log.h"
#include "model/values.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

constexpr const char* kMessagingVersion = "13";  // of Cassandra 5.0

}  // namespace

std::string normal_status(const std::vector<Token>& tokens) {
  auto first = std::min_element(tokens.begin(), tokens.end());
  return "NORMAL," + (first == tokens.end() ? std::string() : std::to_string(*first));
}

Task<int64_t> gossip_generation(AdminContextPtr context) {
  ReadCommand command;
  command.table = context->schema()->table("system", "local");
  command.range = KeyRange{};
  command.now_seconds = context->runtime().clock.wall_seconds();
  InternalRows rows(command.table);
  Task<Result<ReadStatistics>> task = context->replica().read(command, rows);
  Result<ReadStatistics> read = co_await task;
  if (!read.ok()) LOG_WARN("Cannot read system.local: {}", read.error().message());
  co_return rows.rows.empty() ? 0 : rows.rows[0].integer("gossip_generation");
}

Task<EndpointState> endpoint_state(AdminContextPtr context) {
  EndpointState result;
  result.generation = co_await gossip_generation(context);
  Task<std::vector<TableReport>> reports = report_tables(context, stored_tables(*context->schema()));
  uint64_t load = load_of(co_await reports);
  Task<bool> serving = call_hook<bool>(context, context->hooks.binary_running);
  bool rpc_ready = co_await serving;
  const Endpoint& endpoint = context->replica().topology().current()->local();
  std::string status = normal_status(endpoint.tokens);
  SocketAddress native{endpoint.native_address, endpoint.native_port};
  result.states = {{"STATUS", 13, status},
                   {"LOAD", 9, double_to_text(static_cast<double>(load))},
                   {"SCHEMA", 7, context->schema()->version().to_string()},
                   {"DC", 8, endpoint.datacenter},
                   {"RACK", 10, endpoint.rack},
                   {"RELEASE_VERSION", 5, std::string(kReleaseVersion)},
                   {"RPC_ADDRESS", 4, endpoint.native_address},
                   {"NET_VERSION", 1, kMessagingVersion},
                   {"HOST_ID", 2, endpoint.host_id.to_string()},
                   {"RPC_READY", 14, rpc_ready ? "true" : "false"},
                   {"NATIVE_ADDRESS_AND_PORT", 3, native.to_string()},
                   {"STATUS_WITH_PORT", 12, status},
                   {"SSTABLE_VERSIONS", 6, "bti-" + SSTableDescriptor{}.version},
                   {"TOKENS", 11, "<hidden>"}};
  co_return result;
}

}  // namespace cassandra_like
