// Tables that are computed when they are read: system_views and system_virtual_schema.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/schema.h"
#include "runtime/task.h"

namespace cassandra_like {

// One row: a value for each column of metadata()->all_columns_in_select_order(); nullopt where there is none.
using VirtualRow = std::vector<std::optional<Bytes>>;
using VirtualRows = std::vector<VirtualRow>;

class VirtualTable {
 public:
  virtual ~VirtualTable() = default;
  virtual const TablePtr& metadata() const = 0;
  // All rows, in any order; runs on the shard that reads.
  virtual Task<VirtualRows> rows() = 0;
  // For writable ones; default refuses with kInvalid "Modification is not supported by table ks.t".
  virtual Status truncate() { return invalid("Truncation is not supported by table " + metadata()->qualified_name()); }
};

class VirtualTables {
 public:
  virtual ~VirtualTables() = default;
  virtual void add(std::unique_ptr<VirtualTable> table) = 0;
  virtual VirtualTable* find(const Uuid& table) const = 0;
};

}  // namespace cassandra_like
