#include "schema/schema_digest.h"

#include "base/checksum.h"
#include "base/result.h"

namespace cassandra_like {
namespace {

constexpr char kFalse = 1;  // Digest.updateWithBoolean writes false as 1

void append_row(Bytes& out, ClusteringKind kind, std::span<const BytesView> clustering, const Liveness& liveness) {
  out.push_back(0);  // Unfiltered.Kind.ROW
  for (BytesView value : clustering) {
    if (!is_null(value)) out.append(value);
  }
  out.push_back(static_cast<char>(kind));
  append_be<int64_t>(out, kNoTimestamp);  // no deletion of the row
  out.push_back(kFalse);                  // which is not shadowable
  append_be<int64_t>(out, liveness.timestamp);
  if (!liveness.is_expiring()) return;
  append_be<int32_t>(out, static_cast<int32_t>(liveness.local_expiration_time));
  append_be<int32_t>(out, liveness.ttl);
}

}  // namespace

const std::array<const char*, kSchemaTables>& schema_tables_in_digest_order() {
  static constexpr std::array<const char*, kSchemaTables> kTables = {
      "column_masks", "columns", "dropped_columns", "triggers", "types",    "functions",
      "aggregates",   "indexes", "tables",          "views",    "keyspaces"};
  return kTables;
}

void append_row_digest(Bytes& out, const Row& row) {
  append_row(out, ClusteringKind::kClustering, row.clustering.values, row.liveness);
  for (const Cell& cell : row.cells) {
    out.append(cell.value);
    append_be<int64_t>(out, cell.timestamp);
    append_be<int32_t>(out, cell.ttl);
    out.push_back(kFalse);
  }
}

SchemaDigest::SchemaDigest(const Schema& schema) {
  for (size_t i = 0; i < kSchemaTables; ++i) {
    const TablePtr table = schema.table("system_schema", schema_tables_in_digest_order()[i]);
    CHECK(table != nullptr && table->static_columns.empty());
    for (const ColumnPtr& column : table->regular_columns) {
      CHECK(!column->is_complex());
      columns_[i].append(column->name);
    }
    columns_[i].push_back(kFalse);
    append_row(columns_[i], ClusteringKind::kStaticClustering, {}, {});
  }
}

void SchemaDigest::set(size_t table, const DecoratedKey& keyspace, std::string_view name, Bytes rows) {
  if (is_local_system_keyspace(keyspace.key)) return;
  auto& partitions = partitions_[table];
  const Position position(keyspace.token, keyspace.key);
  auto it = partitions.find(position);
  if (rows.empty()) {
    if (it == partitions.end()) return;
    if (auto row = it->second.rows.find(name); row != it->second.rows.end()) it->second.rows.erase(row);
    if (it->second.rows.empty()) partitions.erase(it);
    return;
  }
  if (it == partitions.end()) {
    it = partitions.emplace(position, Partition{position.second + columns_[table], {}}).first;
  }
  it->second.rows.insert_or_assign(std::string(name), std::move(rows));
}

void SchemaDigest::clear(size_t table, const DecoratedKey& keyspace) {
  partitions_[table].erase(Position(keyspace.token, keyspace.key));
}

std::vector<BytesView> SchemaDigest::parts() const {
  std::vector<BytesView> out;
  for (const auto& partitions : partitions_) {
    for (const auto& [position, partition] : partitions) {
      out.emplace_back(partition.head);
      for (const auto& [name, rows] : partition.rows) out.emplace_back(rows);
    }
  }
  return out;
}

Uuid SchemaDigest::version() const {
  Md5 md5;
  for (BytesView part : parts()) md5.update(part);
  return version_of(md5);
}

Uuid SchemaDigest::version_of(Md5& md5) {
  const std::array<uint8_t, 16> sum = md5.finish();
  return Uuid::name_based(BytesView(reinterpret_cast<const char*>(sum.data()), sum.size()));
}

}  // namespace cassandra_like
