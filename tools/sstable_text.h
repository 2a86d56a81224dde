// Partitions, rows and range tombstones of an SSTable in sstabledump's two forms: JSON (tools.JsonTransformer), and a line
// for each (Row.toString, RangeTombstoneMarker.toString).
#pragma once

#include <string>

#include "jackson_writer.h"
#include "model/row.h"
#include "model/schema.h"

namespace cassandra_like::sstable_tools {

struct DumpOptions {
  bool raw_times = false;  // numbers, not dates
  bool lines = false;      // a partition a line
  int64_t now_seconds = 0;
};

class SSTableJson {
 public:
  // The table outlives it.
  SSTableJson(std::string* out, const TableMetadata& table, const DumpOptions& options)
      : json_(out, !options.lines), table_(table), options_(options) {}

  void start_array() { json_.start_array(); }
  void end_array() { json_.end_array(); }
  void key(BytesView key);
  void start_partition(bool is_index, BytesView partition_key, uint64_t position, const DeletionTime& deletion);
  void end_partition();
  // position: where it begins.
  void row(const Row& row, uint64_t position);
  void marker(const RangeTombstoneMarker& marker);

 private:
  std::string date(int64_t time, int64_t units_per_second) const;
  void clustering(const ClusteringPrefix& prefix);
  void deletion(const DeletionTime& deletion);
  void liveness(const Liveness& liveness);
  void bound(bool is_start, bool is_inclusive, const ClusteringPrefix& prefix, const DeletionTime& deletion);
  void cells(const Row& row);
  void complex_deletion(const ComplexDeletion& deletion);
  void cell(const Cell& cell, const Liveness& liveness);

  JacksonWriter json_;
  const TableMetadata& table_;
  DumpOptions options_;
};

std::string to_debug_text(const TableMetadata& table, const Unfiltered& unfiltered);
std::string to_debug_text(const TableMetadata& table, const Row& row);
std::string to_debug_text(const DeletionTime& deletion);

}  // namespace cassandra_like::sstable_tools
