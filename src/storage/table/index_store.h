// A secondary index of a table: its description, and the store of its hidden table.
#pragma once

#include <string>

#include "storage/table/table_store.h"

namespace cassandra_like {

enum class IndexShape : uint8_t {
  kRegular,
  kClustering,
  kPartitionKey,
  kCollectionKey,
  kCollectionValue,
  kCollectionEntry
};

struct IndexStore {
  IndexMetadata metadata;
  IndexTarget target;
  IndexShape shape = IndexShape::kRegular;
  std::string column_name;
  TableStorePtr store;

  const Column* column(const TableMetadata& base) const { return base.column(column_name); }
  bool is_static(const TableMetadata& base) const { return column(base)->kind == ColumnKind::kStatic; }
};

}  // namespace cassandra_like
