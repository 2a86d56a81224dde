// One schema for the cluster (schema.MigrationCoordinator): this node's changes are pushed to all live nodes, and a node whose
// schema version differs is asked for its schema.
//
// Lives on shard 0. One pull a version at a time; a failed one is tried again from another node that has the version.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "messaging/link/messenger.h"
#include "schema/schema_store.h"

namespace cassandra_like {

// The questions that it asks its node.
struct SchemaSyncNode {
  std::function<std::vector<InetAddressAndPort>()> live_peers;
  // Of the same major version, or nothing is pulled from it.
  std::function<bool(const InetAddressAndPort&)> has_same_major_version;
};

class SchemaSync {
 public:
  static std::unique_ptr<SchemaSync> create(ShardRuntime& runtime, Messenger& messenger, SchemaStore& schema,
                                            SchemaSyncNode node);
  virtual ~SchemaSync() = default;

  // SCHEMA_PUSH_REQ, SCHEMA_PULL_REQ, SCHEMA_VERSION_REQ, on this shard. Before the messenger listens.
  virtual void handle_verbs(Messenger& messenger) = 0;
  // A peer's version, as gossip told it.
  virtual void on_version(const InetAddressAndPort& peer, const Uuid& version) = 0;
  virtual void on_gone(const InetAddressAndPort& peer) = 0;
  // Versions of all peers that live are known to be the same, or were asked for and merged. At the start; no longer than
  // `timeout`.
  virtual Task<Status> await_agreement(Duration timeout) = 0;
  // nodetool describecluster: who has which version. Asks all peers.
  virtual Task<std::map<std::string, std::vector<InetAddressAndPort>>> versions(
      std::vector<InetAddressAndPort> live, std::vector<InetAddressAndPort> unreachable) = 0;
  virtual Task<void> stop() = 0;
};

}  // namespace cassandra_like
