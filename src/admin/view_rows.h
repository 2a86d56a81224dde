// Rows of a virtual table, filled by column name.
#pragma once

#include <map>
#include <string>

#include "model/values.h"
#include "schema/virtual_table.h"

namespace cassandra_like {

class ViewRows {
 public:
  explicit ViewRows(const TableMetadata& table) {
    for (const Column* column : table.all_columns_in_select_order()) index_.emplace(column->name, index_.size());
  }

  // Starts a row; set() calls that follow are for it. Columns that are not set are null.
  ViewRows& row() {
    rows_.emplace_back(index_.size());
    return *this;
  }
  ViewRows& set(const std::string& column, Bytes value) {
    auto it = index_.find(column);
    CHECK(it != index_.end());
    rows_.back()[it->second] = std::move(value);
    return *this;
  }
  bool has(const std::string& column) const { return index_.count(column) != 0; }
  ViewRows& bigint(const std::string& column, uint64_t value) {
    return set(column, encode_bigint(static_cast<int64_t>(value)));
  }
  ViewRows& integer(const std::string& column, int64_t value) {
    return set(column, encode_int(static_cast<int32_t>(value)));
  }
  ViewRows& real(const std::string& column, double value) { return set(column, encode_double(value)); }

  VirtualRows take() { return std::move(rows_); }

 private:
  std::map<std::string, size_t> index_;
  VirtualRows rows_;
};

}  // namespace cassandra_like
