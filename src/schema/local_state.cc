#include "schema/local_state.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "model/values.h"
#include "schema/internal_table.h"

namespace cassandra_like {
namespace {

Bytes inet(const std::string& address) {
  auto value = parse_inet(address);
  CHECK(value.ok());
  return *value;
}

std::vector<PartitionUpdate> one(PartitionUpdate update) { return {update}; }

}  // namespace

std::vector<PartitionUpdate> local_update(const Schema& schema, const LocalNode& node, const Uuid& schema_version,
                                          int64_t timestamp_micros, Arena& arena) {
  UpdateBuilder row(schema.table("system", "local"), {"local"}, timestamp_micros, arena);
  row.row()
      .set("bootstrapped", node.tokens.empty() ? "NEEDS_BOOTSTRAP" : "COMPLETED")
      .set("broadcast_address", inet(node.broadcast_address))
      .set("broadcast_port", encode_int(node.storage_port))
      .set("cluster_name", node.cluster_name)
      .set("cql_version", kCqlVersion)
      .set("data_center", node.data_center)
      .set("gossip_generation", encode_int(node.gossip_generation))
      .set("host_id", node.host_id.view())
      .set("listen_address", inet(node.listen_address))
      .set("listen_port", encode_int(node.storage_port))
      .set("native_protocol_version", kNativeProtocolVersion)
      .set("partitioner", node.partitioner)
      .set("rack", node.rack)
      .set("release_version", kReleaseVersion)
      .set("rpc_address", inet(node.rpc_address))
      .set("rpc_port", encode_int(node.native_port))
      .set("schema_version", schema_version.view())
      .replace("tokens");
  for (Token token : node.tokens) row.element("tokens", std::to_string(token), "");
  return one(row.build());
}

std::vector<PartitionUpdate> schema_version_update(const Schema& schema, const Uuid& version, int64_t timestamp_micros,
                                                   Arena& arena) {
  UpdateBuilder row(schema.table("system", "local"), {"local"}, timestamp_micros, arena);
  row.row().set("schema_version", version.view());
  return one(row.build());
}

std::vector<PartitionUpdate> truncation_update(const Schema& schema, const Uuid& table, const TruncationRecord& record,
                                               int64_t timestamp_micros, Arena& arena) {
  Bytes value;
  append_be<int64_t>(value, record.position.segment);
  append_be<int32_t>(value, record.position.position);
  append_be<int64_t>(value, record.truncated_at_millis);
  for (const CommitLogPosition& position : record.of_shards) {
    append_be<int64_t>(value, position.segment);
    append_be<int32_t>(value, position.position);
  }
  UpdateBuilder row(schema.table("system", "local"), {"local"}, timestamp_micros, arena);
  row.row().element("truncated_at", table.view(), value);
  return one(row.build());
}

PartitionUpdate index_built(const Schema& schema, const TableMetadata& table, const std::string& index,
                            int64_t timestamp_micros, Arena& arena) {
  UpdateBuilder row(schema.table("system", "IndexInfo"), {table.keyspace}, timestamp_micros, arena);
  return row.row({index}).build();
}

PartitionUpdate index_gone(const Schema& schema, const std::string& keyspace, const std::string& index,
                           int64_t timestamp_micros, Arena& arena) {
  UpdateBuilder row(schema.table("system", "IndexInfo"), {keyspace}, timestamp_micros, arena);
  return row.delete_prefix({index}).build();
}

std::vector<PartitionUpdate> view_gone(const Schema& schema, const std::string& keyspace, const std::string& view,
                                       int64_t timestamp_micros, Arena& arena) {
  std::vector<PartitionUpdate> out;
  for (const char* table : {"built_views", "view_builds_in_progress"}) {
    UpdateBuilder rows(schema.table("system", table), {keyspace}, timestamp_micros, arena);
    out.push_back(rows.delete_prefix({view}).build());
  }
  return out;
}

PartitionUpdate indexes_not_built(const Schema& schema, const std::string& keyspace, int64_t timestamp_micros,
                                  Arena& arena) {
  UpdateBuilder partition(schema.table("system", "IndexInfo"), {keyspace}, timestamp_micros, arena);
  return partition.delete_partition().build();
}

PartitionUpdate compaction_update(const Schema& schema, const CompactionRecord& record, int64_t timestamp_micros,
                                  Arena& arena) {
  TablePtr history = schema.table("system", "compaction_history");
  UpdateBuilder row(history, {Bytes(record.id.view())}, timestamp_micros, arena);
  row.ttl(history->params.default_time_to_live)
      .row()
      .set("bytes_in", encode_bigint(static_cast<int64_t>(record.bytes_in)))
      .set("bytes_out", encode_bigint(static_cast<int64_t>(record.bytes_out)))
      .set("columnfamily_name", record.table->name)
      .set("compacted_at", encode_bigint(record.ended_millis))
      .set("compaction_properties", encode_text_map({{"compaction_type", operation_text(record.operation)}}))
      .set("keyspace_name", record.table->keyspace)
      .replace("rows_merged");
  for (const auto& [sstables, partitions] : record.merged_partitions) {
    row.element("rows_merged", encode_int(sstables), encode_bigint(partitions));
  }
  return row.build();
}

std::vector<Token> tokens_of(const InternalRow& row) {
  std::vector<Token> tokens;
  const auto found = row.elements.find("tokens");
  if (found == row.elements.end()) return tokens;
  for (const auto& [text, unused] : found->second) {
    Token token = 0;
    if (absl::SimpleAtoi(text, &token)) tokens.push_back(token);
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

SavedLocalState parse_local(const std::vector<InternalRow>& rows) {
  SavedLocalState state;
  for (const InternalRow& row : rows) {
    if (auto id = row.uuid("host_id")) {
      state.found = true;
      state.host_id = *id;
    }
    state.cluster_name = row.text("cluster_name");
    state.gossip_generation = row.integer("gossip_generation");
    state.tokens = tokens_of(row);
    auto truncated = row.elements.find("truncated_at");
    if (truncated == row.elements.end()) continue;
    for (const auto& [table, value] : truncated->second) {
      if (table.size() != 16 || value.size() < 20) continue;
      Reader in(value);
      TruncationRecord record;
      record.position.segment = in.i64();
      record.position.position = in.i32();
      record.truncated_at_millis = in.i64();
      while (in.remaining() >= 12) {
        CommitLogPosition position;
        position.segment = in.i64();
        position.position = in.i32();
        record.of_shards.push_back(position);
      }
      state.truncated[Uuid::from_bytes(table)] = record;
    }
  }
  return state;
}

std::vector<Token> make_tokens(size_t count, Random& random) {
  std::vector<Token> tokens;
  uint64_t start = random.next(), step = count == 0 ? 0 : ~0ULL / count;
  for (size_t i = 0; i < count; ++i) {
    auto token = static_cast<Token>(start + step * i);
    tokens.push_back(token == kMinimumToken ? token + 1 : token);
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

}  // namespace cassandra_like
