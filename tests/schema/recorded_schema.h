// The schema tables of a real Cassandra 5.0.9, as data/record_schema.py wrote them down: data/NAME.txt.
//   fresh          nothing but system keyspaces, settings of cassandra_latest.yaml
//   fresh_default  the same, settings of cassandra.yaml
//   rich           keyspaces, types, tables, indexes, dropped columns, functions, an aggregate, a view, masks
//   drops          the same node after drops, alterations and tables made again
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/mutation.h"
#include "schema/system_tables.h"

namespace cassandra_like::test {

struct RecordedSchema {
  struct Cell {
    std::string column;
    int64_t timestamp;
    Bytes value;
  };
  struct Row {
    std::string table;
    std::string keyspace;
    std::vector<Bytes> clustering;
    std::vector<Cell> cells;
  };

  Uuid version;
  std::vector<Row> rows;

  static RecordedSchema read(const std::string& name);
  // A mutation for each row, serialized. `schema` has system_schema's tables.
  std::vector<Bytes> mutations(const Schema& schema) const;
};

// cassandra_latest.yaml's.
SystemKeyspaceOptions latest_options();

}  // namespace cassandra_like::test
