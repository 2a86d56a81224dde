#include "storage/sstable/partition_guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "model/key.h"

namespace cassandra_like {

namespace {

constexpr uint64_t kMostLines = 10;
// Cell.dataSize: the time, the TTL and the time of deletion. DeletionTime.dataSize: a complex deletion's.
constexpr uint64_t kCellBytes = 8 + 4 + 8;
constexpr uint64_t kComplexDeletionBytes = 12;

}  // namespace

std::string primary_key_literal(const TableMetadata& table, BytesView key, const ClusteringPrefix& clustering) {
  std::vector<std::string> literals;
  const std::vector<BytesView> parts = split_partition_key(table, key);
  for (size_t i = 0; i < std::min(parts.size(), table.partition_key.size()); ++i) {
    literals.push_back(table.partition_key[i]->type->to_cql_literal(parts[i]));
  }
  for (size_t i = 0; i < clustering.values.size(); ++i) {
    literals.push_back(table.clustering[i]->type->to_cql_literal(clustering.values[i]));
  }
  return literals.size() == 1 ? literals[0] : fmt::format("({})", fmt::join(literals, ", "));
}

PartitionGuard::PartitionGuard(const SSTableGuardrails& guardrails, const TableMetadata& table, std::string file)
    : guardrails_(guardrails),
      table_(table),
      file_(std::move(file)),
      looks_at_collections_((guardrails.collection_size.any() || guardrails.items_per_collection.any()) &&
                            !is_system_keyspace(table.keyspace)) {}

PartitionGuard::~PartitionGuard() {
  if (lines_ > kMostLines) LOG_WARN("{} more guardrails were violated in {}", lines_ - kMostLines, file_);
}

void PartitionGuard::tell(bool fails, const std::string& text) {
  if (++lines_ > kMostLines) return;
  if (fails) {
    LOG_ERROR("{}", text);
  } else {
    LOG_WARN("{}", text);
  }
}

void PartitionGuard::begin_partition(const DeletionTime& deletion) { tombstones_ = deletion.is_live() ? 0 : 1; }

// MetadataCollector.totalTombstones
void PartitionGuard::add(BytesView key, const Row& row) {
  const int64_t now = guardrails_.now_seconds;
  tombstones_ += row.deletion.is_live() ? 0 : 1;
  tombstones_ += row.liveness.is_empty() || row.liveness.is_live(now) ? 0 : 1;
  for (const ComplexDeletion& complex : row.complex_deletions) tombstones_ += complex.deletion.is_live() ? 0 : 1;
  for (const Cell& cell : row.cells) tombstones_ += cell.is_live(now) ? 0 : 1;
  if (looks_at_collections_) look_at_collections(key, row);
}

void PartitionGuard::add(const UniformRow& row) {
  if (!row.age.is_expiring() || row.age.is_live(guardrails_.now_seconds)) return;
  tombstones_ += row.count() + (row.has_liveness ? 1 : 0);
}

void PartitionGuard::add(const RangeTombstoneMarker& marker) {
  tombstones_ += marker.open.is_live() ? 0 : 1;
  tombstones_ += marker.close.is_live() ? 0 : 1;
}

void PartitionGuard::look_at_collections(BytesView key, const Row& row) {
  for (auto at = row.cells.begin(); at != row.cells.end();) {
    const Column& column = *at->column;
    auto end = std::find_if(at, row.cells.end(), [&column](const Cell& cell) { return cell.column != &column; });
    const std::span<const Cell> cells(at, end);
    at = end;
    if (!column.is_complex() || !column.type->is_collection()) continue;
    uint64_t bytes = kComplexDeletionBytes, items = 0;
    for (const Cell& cell : cells) {
      if (!cell.is_live(guardrails_.now_seconds)) continue;
      ++items;
      bytes += kCellBytes + cell.value.size() + cell.path.size();
    }
    if (items == 0) continue;
    const GuardrailPair &size = guardrails_.collection_size, &count = guardrails_.items_per_collection;
    if (!size.triggers_on(bytes) && !count.triggers_on(items)) continue;
    const std::string what = fmt::format("{} in row {} in table {}", column.name,
                                         primary_key_literal(table_, key, row.clustering), table_.qualified_name());
    auto form = [&](const char* name, const char* text, const GuardrailPair& guardrail, uint64_t value) {
      const bool fails = guardrail.fails_on(value);
      return fmt::format(fmt::runtime("Guardrail {} violated: Detected collection {} " + std::string(text) +
                                      ", this exceeds the {} threshold of {}."),
                         name, what, value, fails ? "failure" : "warning", fails ? guardrail.fail : guardrail.warn);
    };
    if (size.triggers_on(bytes)) tell(size.fails_on(bytes), form("collection_size", "of size {}", size, bytes));
    if (count.triggers_on(items)) {
      tell(count.fails_on(items), form("items_per_collection", "with {} items", count, items));
    }
  }
}

void PartitionGuard::look_at_partition(const GuardrailPair& guardrail, std::string_view form, BytesView key,
                                       uint64_t value) {
  if (!guardrail.triggers_on(value)) return;
  const bool fails = guardrail.fails_on(value);
  const std::string what = fmt::format("{}.{}:{} on sstable {}", table_.keyspace, table_.name,
                                       table_.partition_key_type()->to_text(key), file_);
  tell(fails, fmt::format(fmt::runtime(form), what, value, fails ? "failure" : "warning",
                          fails ? guardrail.fail : guardrail.warn));
}

void PartitionGuard::end_partition(BytesView key, uint64_t bytes) {
  look_at_partition(guardrails_.partition_size,
                    "Guardrail partition_size violated: Partition {} has size {}, this exceeds the {} threshold of {}. "
                    "Too large partitions can cause performance problems.",
                    key, bytes);
  look_at_partition(guardrails_.partition_tombstones,
                    "Guardrail partition_tombstones violated: Partition {} has {} tombstones, this exceeds the {} "
                    "threshold of {}. Partitions with too many tombstones can cause performance problems.",
                    key, tombstones_);
}

}  // namespace cassandra_like
