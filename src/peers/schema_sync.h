// One schema for the cluster (schema.MigrationCoordinator, schema.DefaultSchemaUpdateHandler): this node's changes are pushed to
// all live nodes, and a node whose schema version differs is asked for its schema. A schema that came from elsewhere is not
// pushed again.
//
// A version that some node has, and that this one neither has nor has merged, is asked for: at once when this node has started
// less than migration_delay ago, or else after it, because a push or another pull may bring it meanwhile. Up to three nodes
// that have it are asked at a time, another one when that fails, and again every pull_interval.
//
// Lives on shard 0; its verbs are served on every shard.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "messaging/link/messenger.h"
#include "replica/replica.h"

namespace cassandra_like {

// The questions that it asks its node, on shard 0.
struct SchemaSyncNode {
  std::function<std::vector<InetAddressAndPort>()> live_peers;
  // A peer of another major version is neither asked nor told.
  std::function<bool(const InetAddressAndPort&)> has_same_major_version;
};

// Cassandra's system properties, with their defaults.
struct SchemaSyncOptions {
  Duration migration_delay = std::chrono::seconds(60);  // cassandra.migration_delay_ms
  Duration pull_interval = std::chrono::seconds(60);    // cassandra.schema_pull_interval_ms
  Duration pull_backoff = std::chrono::seconds(1);      // behind a failed pull
  size_t max_outstanding = 3;                           // pulls of one version at a time
  std::set<Uuid> ignored_versions;                      // cassandra.skip_schema_check_for_versions
  std::set<InetAddressAndPort> ignored_endpoints;       // cassandra.skip_schema_check_for_endpoints
};

struct SchemaSyncStatistics {
  uint64_t pushes = 0;  // messages
  uint64_t pulls = 0, failed_pulls = 0;
  uint64_t merges = 0;  // of pulled schemas
};

class SchemaSync {
 public:
  // All of them outlive stop(). Begins the rounds, and pushes the changes of the schema from now on.
  static std::unique_ptr<SchemaSync> create(ShardRuntime& runtime, Messenger& messenger, Replica& replica,
                                            SchemaSyncNode node, SchemaSyncOptions options = {});
  // Not before stop().
  virtual ~SchemaSync() = default;

  // SCHEMA_PUSH_REQ, SCHEMA_PULL_REQ, SCHEMA_VERSION_REQ. Called for each shard's messenger, on that shard, before it listens;
  // runtime and replica are that shard's.
  virtual void handle_verbs(Messenger& messenger, ShardRuntime& runtime, Replica& replica) = 0;
  // A peer's version, as gossip told it. Peers that left the ring are not told of.
  virtual void on_version(const InetAddressAndPort& peer, const Uuid& version) = 0;
  virtual void on_gone(const InetAddressAndPort& peer) = 0;
  // Somebody needs a table or column that is not known here: pulls that wait begin now. At most once a second.
  virtual void hurry() = 0;
  // The versions of all peers that were told of are this node's, or were asked for and merged. At the start; no longer than
  // `timeout`. kServerError names the versions that are missing and who has them.
  virtual Task<Status> await_agreement(Duration timeout) = 0;
  // Versions that are not merged, and who has them.
  virtual std::map<std::string, std::vector<InetAddressAndPort>> outstanding() const = 0;
  // nodetool describecluster (StorageProxy.describeSchemaVersions): who has which version. Asks all live ones, this node too
  // when it is among them. Who is unreachable, or does not answer in time, is below UNREACHABLE.
  virtual Task<std::map<std::string, std::vector<InetAddressAndPort>>> versions(
      std::vector<InetAddressAndPort> live, std::vector<InetAddressAndPort> unreachable) = 0;
  // nodetool resetlocalschema: forgets this node's schema when another node has sent its own. Until then pushes are not taken and
  // nobody gets this node's schema. Fails, and nothing is forgotten, when no live node sends one in time. Tables that are in
  // no other node's schema go.
  virtual Task<Status> reset(Duration timeout = std::chrono::seconds(60)) = 0;
  virtual const SchemaSyncStatistics& statistics() const = 0;
  // Before the messenger closes.
  virtual Task<void> stop() = 0;
};

}  // namespace cassandra_like
