// Writing and reading the node's own tables without CQL: builders of updates by column name, and rows as maps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/mutation.h"
#include "read/read_command.h"

namespace cassandra_like {

// One partition's update. Values are copied into the arena, which must outlive what build() returns, as must the table.
class UpdateBuilder {
 public:
  UpdateBuilder(TablePtr table, std::vector<Bytes> partition_key, int64_t timestamp_micros, Arena& arena);

  // Starts a row (with liveness, as INSERT does); set() calls that follow are for it.
  UpdateBuilder& row(std::vector<Bytes> clustering = {});
  UpdateBuilder& set(std::string_view column, BytesView value);
  // One element of a multi-cell map or set; replace() first deletes what the collection had.
  UpdateBuilder& element(std::string_view column, BytesView path, BytesView value);
  UpdateBuilder& replace(std::string_view column);
  UpdateBuilder& ttl(int32_t seconds);  // of the cells and rows that follow

  // Deletes all that the row that was begun last had before.
  UpdateBuilder& delete_previous();
  UpdateBuilder& delete_partition();
  // All rows whose first clustering columns have these values; one row when all are given.
  UpdateBuilder& delete_prefix(std::vector<Bytes> clustering);

  PartitionUpdate build();

 private:
  struct PendingRow {
    ClusteringPrefix clustering;
    Liveness liveness;
    DeletionTime deletion;
    std::vector<Cell> cells;
    std::vector<ComplexDeletion> complex_deletions;
  };
  Cell cell(const Column* column, BytesView value) const;
  ClusteringPrefix position(const std::vector<Bytes>& values, ClusteringKind kind);

  TablePtr table_;
  Arena& arena_;
  Bytes key_;
  int64_t timestamp_;
  int32_t ttl_ = 0;
  DeletionTime partition_deletion_;
  std::vector<PendingRow> rows_;
  std::vector<RangeTombstone> tombstones_;
};

// One live row: the values of all its columns by name, keys included. Elements of multi-cell collections are kept
// apart.
struct InternalRow {
  std::map<std::string, Bytes, std::less<>> values;
  std::map<std::string, std::map<Bytes, Bytes>, std::less<>> elements;

  bool has(std::string_view column) const { return values.find(column) != values.end(); }
  // Empty when absent.
  const Bytes& get(std::string_view column) const;
  std::string text(std::string_view column) const { return get(column); }
  int32_t integer(std::string_view column) const;
  bool boolean(std::string_view column) const;
  double real(std::string_view column) const;
  std::optional<Uuid> uuid(std::string_view column) const;
  std::map<std::string, std::string> text_map(std::string_view column) const;  // of frozen<map<text, text>>
  std::vector<std::string> text_list(std::string_view column) const;           // of frozen<list or set<text>>
};

// A RowSink that keeps everything.
class InternalRows : public RowSink {
 public:
  explicit InternalRows(TablePtr table) : table_(std::move(table)) {}
  Next begin_partition(const DecoratedKey& key, const Row& static_row) override;
  Next row(const Row& row) override;

  std::vector<InternalRow> rows;

 private:
  TablePtr table_;
  InternalRow prototype_;
};

Bytes encode_text_map(const std::map<std::string, std::string>& map);
Bytes encode_text_list(const std::vector<std::string>& list);

}  // namespace cassandra_like
