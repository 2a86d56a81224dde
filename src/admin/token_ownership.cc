// From the ring to ranges of tokens.
#include "admin/token_ownership.h"

#include "ring/topology.h"

namespace cassandra_like::admin {

namespace {

TokenOwnership ownership_of(const KeyspaceReplicas& replicas, const TokenRing& ring) {
  TokenOwnership ownership;
  const Endpoint& local = ring.endpoint(ring.local());
  ownership.is_local_strategy = replicas.strategy.is_local();
  if (ownership.is_local_strategy) {
    ownership.owned = ownership.with_pending = OwnedTokens::all();
    return ownership;
  }
  std::vector<std::pair<Token, Token>> ranges;
  auto add = [&ranges](const std::vector<TokenRange>& more) {
    for (const TokenRange& range : more) ranges.emplace_back(range.left, range.right);
  };
  add(replicated_ranges(replicas.natural, ring.local()));
  ownership.owned = OwnedTokens::of(ranges);
  const std::vector<TokenRange> pending = replicas.pending.ranges_of(ring.local());
  add(pending);
  ownership.with_pending = OwnedTokens::of(ranges);
  ownership.is_changing = !pending.empty() || !local.owns_tokens() || local.tokens.empty();
  return ownership;
}

}  // namespace

OwnedTokens tokens_to_keep(const Schema& schema, const Topology& topology, const std::string& keyspace) {
  const KeyspacePtr found = schema.keyspace(keyspace);
  if (found == nullptr || found->is_virtual) return OwnedTokens::all();
  auto strategy = ReplicationStrategy::make(found->replication);
  if (!strategy.ok()) return OwnedTokens::all();
  TokenOwnership ownership = ownership_of(KeyspaceReplicas(topology, std::move(*strategy)), *topology.ring());
  return ownership.is_changing ? OwnedTokens::all() : std::move(ownership.owned);
}

std::map<std::string, TokenOwnership> token_ownership(const Schema& schema, const Topology& topology) {
  std::map<std::string, TokenOwnership> all;
  for (const auto& [name, keyspace] : schema.keyspaces()) {
    if (keyspace->is_virtual) continue;
    auto strategy = ReplicationStrategy::make(keyspace->replication);
    if (!strategy.ok()) continue;
    all.emplace(name, ownership_of(KeyspaceReplicas(topology, std::move(*strategy)), *topology.ring()));
  }
  return all;
}

}  // namespace cassandra_like::admin
