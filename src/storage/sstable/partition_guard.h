// Compares what is written to an SSTable with the guardrails, and tells the log (SortedTableWriter.guardPartitionThreshold,
// guardCollectionSize). It tells ten lines of an SSTable, then how many more there were.
#pragma once

#include <string>
#include <string_view>

#include "model/row.h"
#include "storage/sstable_guardrails.h"

namespace cassandra_like {

// TableMetadata.primaryKeyAsCQLLiteral, for people: 1 or (1, 'a'). The clustering may be empty. A damaged key may lack parts.
std::string primary_key_literal(const TableMetadata& table, BytesView key, const ClusteringPrefix& clustering);

class PartitionGuard {
 public:
  // `file`: Data.db, as the lines name it. The table outlives the guard.
  PartitionGuard(const SSTableGuardrails& guardrails, const TableMetadata& table, std::string file);
  ~PartitionGuard();
  PartitionGuard(const PartitionGuard&) = delete;
  PartitionGuard& operator=(const PartitionGuard&) = delete;

  void begin_partition(const DeletionTime& deletion);
  // The static row, too.
  void add(BytesView key, const Row& row);
  void add(const UniformRow& row);
  void add(const RangeTombstoneMarker& marker);
  void end_partition(BytesView key, uint64_t bytes);

 private:
  void look_at_collections(BytesView key, const Row& row);
  void look_at_partition(const GuardrailPair& guardrail, std::string_view form, BytesView key, uint64_t value);
  void tell(bool fails, const std::string& text);

  const SSTableGuardrails guardrails_;
  const TableMetadata& table_;
  const std::string file_;
  const bool looks_at_collections_;
  uint64_t tombstones_ = 0;  // of the partition
  uint64_t lines_ = 0;
};

}  // namespace cassandra_like
