// The node's memory of itself and of its peers in the system keyspace.
#pragma once

#include <string>
#include <vector>

#include "model/mutation.h"
#include "runtime/runtime.h"
#include "schema/system_tables.h"
#include "storage/engine/truncation.h"
#include "storage/options.h"

namespace cassandra_like {

struct LocalNode {
  std::string cluster_name;
  std::string data_center, rack;
  std::string listen_address, broadcast_address, rpc_address;
  uint16_t storage_port = 7000, native_port = 9042;
  std::string partitioner = "org.apache.cassandra.dht.Murmur3Partitioner";
  Uuid host_id;                   // kept in system.local; chosen at the first start
  std::vector<Token> tokens;      // likewise; num_tokens of them. None: a coordinator without data
  bool takes_tokens = true;       // at the first start, and when it had none
  bool had_tokens = false;        // before this start
  int32_t gossip_generation = 0;  // of this life: seconds since 1970, or more
  SystemKeyspaceOptions system_keyspaces;
  bool cdc_enabled = false;  // then system_schema says of each table whether it has change data capture
};

// The versions in system.local.
inline constexpr std::string_view kReleaseVersion = "5.0.9";
inline constexpr std::string_view kCqlVersion = "3.4.7";
inline constexpr std::string_view kNativeProtocolVersion = "5";

// system.local's row for this node; written at every start.
std::vector<PartitionUpdate> local_update(const Schema& schema, const LocalNode& node, const Uuid& schema_version,
                                          int64_t timestamp_micros, Arena& arena);
std::vector<PartitionUpdate> schema_version_update(const Schema& schema, const Uuid& version, int64_t timestamp_micros,
                                                   Arena& arena);
// truncated_at[table]: position and time, as Cassandra serializes them, then each shard's own position, which Cassandra
// does not read.
std::vector<PartitionUpdate> truncation_update(const Schema& schema, const Uuid& table, const TruncationRecord& record,
                                               int64_t timestamp_micros, Arena& arena);

// The row of system."IndexInfo" that says that an index is built.
PartitionUpdate index_built(const Schema& schema, const TableMetadata& table, const std::string& index,
                            int64_t timestamp_micros, Arena& arena);
// Removes it: an index that is made again under the same name must not pass for built.
PartitionUpdate index_gone(const Schema& schema, const std::string& keyspace, const std::string& index,
                           int64_t timestamp_micros, Arena& arena);
// The same for the rows that say how far a Cassandra has built a view.
std::vector<PartitionUpdate> view_gone(const Schema& schema, const std::string& keyspace, const std::string& view,
                                       int64_t timestamp_micros, Arena& arena);
// Removes the indexes of a keyspace.
PartitionUpdate indexes_not_built(const Schema& schema, const std::string& keyspace, int64_t timestamp_micros,
                                  Arena& arena);

// The row of system.compaction_history that tells of a compaction.
PartitionUpdate compaction_update(const Schema& schema, const CompactionRecord& record, int64_t timestamp_micros,
                                  Arena& arena);

struct SavedLocalState {
  bool found = false;
  std::string cluster_name;
  Uuid host_id;
  std::vector<Token> tokens;
  TruncationRecords truncated;
  int32_t gossip_generation = 0;
};
SavedLocalState parse_local(const std::vector<struct InternalRow>& rows);
// A row of system.local or system.peers_v2 has them; sorted. Text that is no token is left out.
std::vector<Token> tokens_of(const struct InternalRow& row);

// num_tokens tokens spread evenly over the ring from a random start, as a first node's allocation would be.
std::vector<Token> make_tokens(size_t count, Random& random);

}  // namespace cassandra_like
