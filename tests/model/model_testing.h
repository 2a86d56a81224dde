// Shared by the tests of rows: the tables of oracle/ModelOracle.java, builders in its manner, and its results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/mutation.h"
#include "model/schema.h"
#include "model/values.h"

namespace cassandra_like::model_testing {

inline constexpr int64_t kTs = 1700000000000000;
inline constexpr int64_t kNow = 1700000000;

// One line of data/model.txt.
struct OracleCase {
  std::string name;
  std::vector<std::string> results;
};
const std::vector<OracleCase>& oracle(const std::string& group);
// The only result of a case.
std::string oracle_result(const std::string& group, const std::string& name);

Bytes unhex(std::string_view hex);                            // aborts on bad digits
BytesView unhex_or_null(std::string_view hex, Arena& arena);  // "null" is null

TablePtr plain_table();   // k blob PRIMARY KEY, c0 … c4 blob
TablePtr wide_table();    // k text, a int, b text DESC; statics; every kind of collection
TablePtr many_table();    // k int PRIMARY KEY, r00 … r69 int
TablePtr counts_table();  // k1 text, k2 int; counters c and d
const TableMetadata* table_by_id(const Uuid& id);

// Lives as long as the program.
Arena& program_arena();

// Builds rows in an arena.
class RowBuilder {
 public:
  explicit RowBuilder(TablePtr table, Arena& arena = program_arena()) : table_(std::move(table)), arena_(&arena) {}

  RowBuilder& at(int a, std::string_view b);  // of the wide table
  RowBuilder& at_static();
  RowBuilder& live(int64_t ts, int32_t ttl = kNoTtl, int64_t expires = kNoDeletionTime);
  RowBuilder& erase(int64_t ts, int64_t seconds);
  RowBuilder& set(std::string_view column, int64_t ts, BytesView value);
  RowBuilder& put(std::string_view column, int64_t ts, BytesView path, BytesView value);
  RowBuilder& tombstone(std::string_view column, int64_t ts, int64_t seconds);
  RowBuilder& cell(std::string_view column, int64_t ts, int32_t ttl, int64_t seconds, BytesView value,
                   BytesView path = kNull);
  RowBuilder& erase_all(std::string_view column, int64_t ts, int64_t seconds);
  Row build();

 private:
  TablePtr table_;
  Arena* arena_;
  Row row_ = {.clustering = empty_clustering()};
  std::vector<Cell> cells_;
  std::vector<ComplexDeletion> deletions_;
};

RowBuilder insert_row(int64_t ts);  // of the plain table: five blobs
RowBuilder wide_row(int a, std::string_view b);
Bytes list_path(int i);  // time uuids that only differ in the last digit
Bytes frozen_list(std::initializer_list<int> v);

// An update and all that it borrows.
class UpdateBuilder {
 public:
  UpdateBuilder(TablePtr table, BytesView key) : table_(std::move(table)), key_(key) {}

  UpdateBuilder& erase(int64_t ts, int64_t seconds);
  UpdateBuilder& static_row(RowBuilder row);
  UpdateBuilder& row(RowBuilder row);
  UpdateBuilder& range(ClusteringKind from_kind, std::vector<Bytes> from, ClusteringKind to_kind, std::vector<Bytes> to,
                       int64_t ts, int64_t seconds);
  // Valid as long as the builder is.
  const PartitionUpdate& build();
  Bytes serialized();  // as a mutation of nothing else

 private:
  ClusteringPrefix bound(const std::vector<Bytes>& values, ClusteringKind kind);

  TablePtr table_;
  Bytes key_;
  Arena arena_;
  std::vector<Row> rows_;
  std::vector<RangeTombstone> ranges_;
  PartitionUpdate update_;
};

// The cases "rich" and "ranges".
void build_rich(UpdateBuilder* out);
void build_ranges(UpdateBuilder* out);

}  // namespace cassandra_like::model_testing
