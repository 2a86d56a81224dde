// Tables that are computed when they are read: system_views and system_virtual_schema.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.h"
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

// The virtual tables of one shard.
class VirtualTables {
 public:
  void add(std::unique_ptr<VirtualTable> table) {
    const Uuid id = table->metadata()->id;
    tables_[id] = std::move(table);
  }
  VirtualTable* find(const Uuid& table) const {
    auto found = tables_.find(table);
    return found == tables_.end() ? nullptr : found->second.get();
  }

 private:
  std::map<Uuid, std::unique_ptr<VirtualTable>> tables_;
};

}  // namespace cassandra_like
