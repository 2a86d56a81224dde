// The answer of a statement; transport/ turns it into a RESULT frame.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "base/pooled_bytes.h"
#include "model/schema.h"
#include "schema/schema_diff.h"

namespace cassandra_like {

struct ColumnSpec {
  std::string keyspace, table, name;
  TypePtr type;
};

// Shared by all results of a prepared statement.
struct ResultMetadata {
  ResultMetadata(std::vector<ColumnSpec> columns, Bytes id);
  // The columns in a response, as a version of the protocol encodes them. Encoded once: encode(out) appends them. May be
  // called from any shard.
  template <class Encode>
  BytesView encoded(int protocol_version, Encode encode) const {
    Encoded& known = encoded_.at(static_cast<size_t>(protocol_version - kOldestVersion));
    std::call_once(known.once, [&] { encode(known.bytes); });
    return known.bytes;
  }

  const std::vector<ColumnSpec> columns;
  const bool in_one_table;
  // MD5 over names and types as Cassandra's ResultSet.ResultMetadata.ResultMetadata id; v5 only.
  const Bytes id;

 private:
  struct Encoded {
    std::once_flag once;
    Bytes bytes;
  };
  static constexpr int kOldestVersion = 3, kVersions = 4;
  mutable std::array<Encoded, kVersions> encoded_;
};
using ResultMetadataPtr = std::shared_ptr<const ResultMetadata>;
bool in_one_table(const std::vector<ColumnSpec>& columns);
ResultMetadataPtr make_result_metadata(std::vector<ColumnSpec> columns);

// Rows already encoded as in the RESULT frame: for each row and column an int length (-1: null) and the bytes.
struct RowsResult {
  ResultMetadataPtr metadata;
  int32_t row_count = 0;
  PooledBytes rows;
  Bytes paging_state;           // empty: no more pages
  bool is_as_prepared = false;  // the metadata is what PREPARE told of the statement
};
struct VoidResult {};
struct SetKeyspaceResult {
  std::string keyspace;
};
struct SchemaChangeResult {
  SchemaEvent event;
};
struct PreparedResult {
  Bytes id;  // MD5 of keyspace and text
  std::vector<ColumnSpec> bind_variables;
  std::vector<uint16_t> partition_key_indexes;  // v4 and later; empty when the key is not fully bound by markers
  ResultMetadataPtr metadata;                   // of a SELECT (or of LWT); nullptr: none
};

struct QueryResult {
  std::variant<VoidResult, RowsResult, SetKeyspaceResult, SchemaChangeResult, PreparedResult> value;
  std::vector<std::string> warnings;
  Uuid tracing_id;  // nil: not traced
};

}  // namespace cassandra_like
