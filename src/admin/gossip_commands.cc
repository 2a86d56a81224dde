// failure_detector, seeds, gossip, assassinate, join, schema: orders to gossip, and what it thinks of the others.
#include <algorithm>

#include "admin/api.h"
#include "base/log.h"
#include "gossip/state_values.h"

namespace cassandra_like::admin {
namespace {

Answer no_cluster() { return refuse(409, "This node takes part in no cluster"); }

Json list_of(const std::vector<InetAddressAndPort>& endpoints) {
  Json list = Json::array();
  for (const InetAddressAndPort& each : endpoints) list.push_back({{"address", each.host()}, {"port", each.port}});
  return list;
}

Answer seeds_answer(const std::vector<InetAddressAndPort>& seeds) {
  Answer answer;
  answer.json = {{"seeds", list_of(seeds)}};
  return answer;
}

}  // namespace

Task<Answer> failure_detector(AdminContextPtr context, Parameters) {
  Json nodes = Json::array();
  if (const MembershipService* membership = context->node.membership) {
    for (const auto& [endpoint, phi] : membership->gossiper().detector().phi_values()) {
      nodes.push_back({{"address", endpoint.host()}, {"port", endpoint.port}, {"phi", phi}});
    }
  }
  Answer answer;
  answer.json = {{"nodes", nodes}};
  return answer;
}

// Gossiper.compareGossipAndTokenMetadata: the tokens of normal nodes as gossip has them and as the ring has them.
Task<Answer> token_mismatches(AdminContextPtr context, Parameters) {
  Json mismatches = Json::array();
  const MembershipService* service = context->node.membership;
  auto texts = [](std::vector<Token> tokens) {
    std::sort(tokens.begin(), tokens.end());
    Json out = Json::array();
    for (Token token : tokens) out.push_back(std::to_string(token));
    return out;
  };
  if (service != nullptr) {
    for (const auto& [endpoint, state] : service->gossiper().states()) {
      if (state->status() != state_values::kNormal) continue;
      Json gossip = texts(service->membership().gossiped_tokens(endpoint));
      Json ring = texts(service->membership().tokens(endpoint));
      if (gossip == ring) continue;
      mismatches.push_back({{"address", endpoint.host()}, {"port", endpoint.port}, {"gossip", gossip}, {"ring", ring}});
    }
  }
  Answer answer;
  answer.json = {{"mismatches", std::move(mismatches)}};
  return answer;
}

Task<Answer> enable_gossip(AdminContextPtr context, Parameters) {
  MembershipService* membership = context->node.membership;
  if (membership == nullptr) return no_cluster();
  if (membership->is_gossip_running()) return Answer{};
  LOG_WARN("Starting gossip by operator request");
  return done_or_failure(membership->enable_gossip(), 400);
}

Task<Answer> disable_gossip(AdminContextPtr context, Parameters) {
  MembershipService* membership = context->node.membership;
  if (membership == nullptr) return no_cluster();
  if (!membership->is_gossip_running()) return Answer{};
  LOG_WARN("Stopping gossip by operator request");
  if (context->hooks.binary_running && context->hooks.binary_running()) {
    LOG_WARN("Disabling gossip while native transport is still active is unsafe");
  }
  return done_or_failure(membership->disable_gossip(), 400);
}

Task<Answer> seeds(AdminContextPtr context, Parameters) {
  const MembershipService* membership = context->node.membership;
  if (membership == nullptr) return seeds_answer({});
  const std::set<InetAddressAndPort>& seeds = membership->gossiper().seeds();
  return seeds_answer({seeds.begin(), seeds.end()});
}

// A configuration that cannot be read changes nothing: "seeds" is null.
Task<Answer> reload_seeds(AdminContextPtr context, Parameters) {
  MembershipService* membership = context->node.membership;
  if (membership == nullptr || !context->hooks.read_seeds) return no_cluster();
  Result<std::vector<InetAddressAndPort>> read = context->hooks.read_seeds();
  if (!read.ok()) {
    LOG_WARN("Error while getting seed node list: {}", read.error().message());
    Answer answer;
    answer.json = {{"seeds", nullptr}};
    return answer;
  }
  return seeds_answer(membership->reload_seeds(std::move(*read)));
}

Task<Answer> assassinate(AdminContextPtr context, Parameters parameters) {
  MembershipService* membership = context->node.membership;
  if (membership == nullptr) co_return no_cluster();
  const std::string& text = parameters.get("address");
  auto endpoint = InetAddressAndPort::parse(text, membership->gossiper().config().local.port);
  if (!endpoint) co_return refuse(400, "Not an address: " + text);
  Task<Status> task = membership->assassinate(*endpoint);
  Status status = co_await task;
  co_return done_or_failure(status);
}

Task<Answer> join(AdminContextPtr context, Parameters) {
  MembershipService* membership = context->node.membership;
  if (membership == nullptr || membership->has_joined()) {
    return refuse(400, "This node has already joined the ring.");
  }
  LOG_INFO("Joining ring by operator request");
  return done_or_failure(membership->join_ring(), 400);
}

Task<Answer> reset_schema(AdminContextPtr context, Parameters) {
  SchemaSync* sync = context->node.schema_sync;
  if (sync == nullptr) co_return no_cluster();
  Task<Status> task = sync->reset();
  Status status = co_await task;
  co_return done_or_failure(status);
}

// The tables of system_schema are read again, and peers learn the version when it has changed.
Task<Answer> reload_schema(AdminContextPtr context, Parameters) {
  Task<Result<SchemaDiff>> task = context->replica().schema().reload();
  Result<SchemaDiff> reloaded = co_await task;
  if (!reloaded.ok()) co_return failure(reloaded.error());
  co_return Answer{};
}

}  // namespace cassandra_like::admin
