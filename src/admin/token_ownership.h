// The tokens of a keyspace that this node has, for commands that work on these alone.
#pragma once

#include <map>
#include <string>

#include "admin/context.h"
#include "storage/owned_tokens.h"

namespace cassandra_like::admin {

struct TokenOwnership {
  OwnedTokens owned;               // StorageService.getLocalReplicas
  OwnedTokens with_pending;        // getLocalAndPendingRanges
  bool is_changing = false;        // this node is about to get ranges, or has no tokens
  bool is_local_strategy = false;  // nobody else has the keyspace
};

// Keyspaces of a schema whose replication options make sense.
std::map<std::string, TokenOwnership> token_ownership(const Schema& schema, const Topology& topology);
// Tokens that a cleanup leaves: all where the node is about to get some, or where nobody can say.
OwnedTokens tokens_to_keep(const Schema& schema, const Topology& topology, const std::string& keyspace);

}  // namespace cassandra_like::admin
