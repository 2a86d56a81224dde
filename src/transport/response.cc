// RESULT, ERROR, SUPPORTED and EVENT bodies.
#include "transport/response.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/checksum.h"
#include "model/values.h"

namespace cassandra_like {

namespace {

enum class ResultKind : int32_t { kVoid = 1, kRows = 2, kSetKeyspace = 3, kPrepared = 4, kSchemaChange = 5 };
enum MetadataFlag : int32_t { kGlobalTable = 1, kHasMorePages = 2, kNoMetadata = 4, kMetadataChanged = 8 };

struct TypeOption {
  uint16_t id;      // 0: custom
  int min_version;  // below it the type is custom
};

TypeOption option_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::kAscii:
      return {1, 3};
    case TypeKind::kBigint:
      return {2, 3};
    case TypeKind::kBlob:
      return {3, 3};
    case TypeKind::kBoolean:
      return {4, 3};
    case TypeKind::kCounter:
      return {5, 3};
    case TypeKind::kDecimal:
      return {6, 3};
    case TypeKind::kDouble:
      return {7, 3};
    case TypeKind::kFloat:
      return {8, 3};
    case TypeKind::kInt:
      return {9, 3};
    case TypeKind::kTimestamp:
    case TypeKind::kLegacyTimestamp:
      return {11, 3};
    case TypeKind::kUuid:
      return {12, 3};
    case TypeKind::kText:
      return {13, 3};
    case TypeKind::kVarint:
      return {14, 3};
    case TypeKind::kTimeuuid:
      return {15, 3};
    case TypeKind::kInet:
      return {16, 3};
    case TypeKind::kDate:
      return {17, 4};
    case TypeKind::kTime:
      return {18, 4};
    case TypeKind::kSmallint:
      return {19, 4};
    case TypeKind::kTinyint:
      return {20, 4};
    case TypeKind::kDuration:
      return {21, 5};
    case TypeKind::kList:
      return {32, 3};
    case TypeKind::kMap:
      return {33, 3};
    case TypeKind::kSet:
      return {34, 3};
    case TypeKind::kUdt:
      return {48, 3};
    case TypeKind::kTuple:
      return {49, 3};
    default:
      return {0, 3};
  }
}

void append_columns(Bytes& out, int version, const std::vector<ColumnSpec>& columns, bool global) {
  if (global) {
    append_string(out, columns[0].keyspace);
    append_string(out, columns[0].table);
  }
  for (const ColumnSpec& column : columns) {
    if (!global) {
      append_string(out, column.keyspace);
      append_string(out, column.table);
    }
    append_string(out, column.name);
    append_type(out, version, *column.type);
  }
}

void append_rows(Bytes& out, int version, const RowsResult& rows, RowsMetadata mode) {
  const std::vector<ColumnSpec>& columns = rows.metadata->columns;
  const bool global = rows.metadata->in_one_table;
  int32_t flags = global ? kGlobalTable : 0;
  if (!rows.paging_state.empty()) flags |= kHasMorePages;
  if (mode == RowsMetadata::kSkip) flags |= kNoMetadata;
  if (mode == RowsMetadata::kChanged) flags |= kMetadataChanged;
  append_be(out, flags);
  append_be(out, static_cast<int32_t>(columns.size()));
  if (!rows.paging_state.empty()) append_value(out, rows.paging_state);
  if (mode == RowsMetadata::kChanged) append_short_bytes(out, rows.metadata->id);
  if (mode != RowsMetadata::kSkip) {
    out.append(rows.metadata->encoded(version, [&](Bytes& to) { append_columns(to, version, columns, global); }));
  }
  append_be(out, rows.row_count);
  out.append(rows.rows);
}

// The id for statements that return no rows.
BytesView empty_metadata_id() {
  static const std::array<uint8_t, 16> id = md5({});
  return BytesView(reinterpret_cast<const char*>(id.data()), id.size());
}

void append_prepared(Bytes& out, int version, const PreparedResult& prepared) {
  append_short_bytes(out, prepared.id);
  if (version >= 5) append_short_bytes(out, prepared.metadata ? BytesView(prepared.metadata->id) : empty_metadata_id());

  const std::vector<ColumnSpec>& variables = prepared.bind_variables;
  const bool global = in_one_table(variables);
  append_be(out, global ? int32_t{kGlobalTable} : int32_t{0});
  append_be(out, static_cast<int32_t>(variables.size()));
  if (version >= 4) {
    const size_t indexes = global ? prepared.partition_key_indexes.size() : 0;
    append_be(out, static_cast<int32_t>(indexes));
    for (size_t i = 0; i < indexes; ++i) append_be(out, prepared.partition_key_indexes[i]);
  }
  append_columns(out, version, variables, global);

  if (!prepared.metadata) {
    append_be(out, int32_t{kNoMetadata});
    append_be(out, int32_t{0});
    return;
  }
  const std::vector<ColumnSpec>& columns = prepared.metadata->columns;
  const bool result_global = prepared.metadata->in_one_table;
  append_be(out, result_global ? int32_t{kGlobalTable} : int32_t{0});
  append_be(out, static_cast<int32_t>(columns.size()));
  out.append(
      prepared.metadata->encoded(version, [&](Bytes& to) { append_columns(to, version, columns, result_global); }));
}

void append_schema_change(Bytes& out, int version, const SchemaEvent& event) {
  const bool function = event.target == "FUNCTION" || event.target == "AGGREGATE";
  if (function && version < 4) {  // which knows no functions: the keyspace changed
    append_string(out, "UPDATED");
    append_string(out, "KEYSPACE");
    append_string(out, event.keyspace);
    append_string(out, "");
    return;
  }
  append_string(out, event.change);
  append_string(out, event.target);
  append_string(out, event.keyspace);
  if (event.target != "KEYSPACE") append_string(out, event.name);
  if (function) append_string_list(out, event.arg_types);
}

ErrorCode code_for_version(ErrorCode code, int version) {
  switch (code) {
    case ErrorCode::kIo:
    case ErrorCode::kDiskFull:
    case ErrorCode::kCorruption:
    case ErrorCode::kClosed:
      return ErrorCode::kServerError;
    case ErrorCode::kReadFailure:
      return version < 4 ? ErrorCode::kReadTimeout : code;
    case ErrorCode::kWriteFailure:
      return version < 4 ? ErrorCode::kWriteTimeout : code;
    case ErrorCode::kFunctionFailure:
    case ErrorCode::kCdcWriteFailure:
      return version < 4 ? ErrorCode::kInvalid : code;
    case ErrorCode::kCasWriteUnknown:
      return version < 5 ? ErrorCode::kWriteTimeout : code;
    default:
      return code;
  }
}

void append_failures(Bytes& out, int version, const ErrorInfo& error) {
  if (version < 5) {
    append_be(out, std::max(error.failures, static_cast<int32_t>(error.failure_reasons.size())));
    return;
  }
  append_be(out, static_cast<int32_t>(error.failure_reasons.size()));
  for (const auto& [address, reason] : error.failure_reasons) {
    out.push_back(static_cast<char>(address.size()));
    out.append(address);
    append_be(out, reason);
  }
}

void append_counts(Bytes& out, const ErrorInfo& error, int32_t first, int32_t second) {
  append_be(out, error.consistency);
  append_be(out, first);
  append_be(out, second);
}

void append_kind(Bytes& out, ResultKind kind) { append_be(out, static_cast<int32_t>(kind)); }

}  // namespace

void append_type(Bytes& out, int version, const Type& given) {
  const Type& type = given.base();
  const TypeOption option = option_of(type.kind());
  if (option.id == 0 || version < option.min_version) {
    append_be(out, uint16_t{0});
    append_string(out, type.class_name());
    return;
  }
  append_be(out, option.id);
  if (type.is_udt()) {
    const auto& udt = static_cast<const UserType&>(type);
    append_string(out, udt.keyspace());
    append_string(out, udt.name());
    append_be(out, static_cast<uint16_t>(udt.elements().size()));
    for (size_t i = 0; i < udt.elements().size(); ++i) {
      append_string(out, udt.field_names()[i]);
      append_type(out, version, *udt.elements()[i]);
    }
    return;
  }
  if (type.is_tuple()) append_be(out, static_cast<uint16_t>(type.elements().size()));
  for (const TypePtr& element : type.elements()) append_type(out, version, *element);
}

void append_result(Bytes& out, int version, const QueryResult& result, RowsMetadata rows_metadata) {
  struct Visitor {
    Bytes& out;
    int version;
    RowsMetadata rows_metadata;
    void operator()(const VoidResult&) const { append_kind(out, ResultKind::kVoid); }
    void operator()(const RowsResult& rows) const {
      append_kind(out, ResultKind::kRows);
      append_rows(out, version, rows, rows_metadata);
    }
    void operator()(const SetKeyspaceResult& set) const {
      append_kind(out, ResultKind::kSetKeyspace);
      append_string(out, set.keyspace);
    }
    void operator()(const SchemaChangeResult& change) const {
      append_kind(out, ResultKind::kSchemaChange);
      append_schema_change(out, version, change.event);
    }
    void operator()(const PreparedResult& prepared) const {
      append_kind(out, ResultKind::kPrepared);
      append_prepared(out, version, prepared);
    }
  };
  std::visit(Visitor{out, version, rows_metadata}, result.value);
}

void append_error(Bytes& out, int version, const ErrorInfo& error) {
  const ErrorCode code = code_for_version(error.code, version);
  append_be(out, static_cast<uint32_t>(code));
  if (code == ErrorCode::kInvalid && error.code != ErrorCode::kInvalid) {
    const char* name = error.code == ErrorCode::kFunctionFailure ? "FUNCTION_FAILURE" : "CDC_WRITE_FAILURE";
    append_string(out, fmt::format("ERROR {}: {}", name, error.message));
    return;
  }
  append_string(out, error.message);
  switch (code) {
    case ErrorCode::kUnavailable:
      append_counts(out, error, error.required, error.received);
      break;
    case ErrorCode::kWriteTimeout:
      append_counts(out, error, error.received, error.required);
      append_string(out, error.code == ErrorCode::kCasWriteUnknown ? "CAS" : error.write_type);
      if (version >= 5 && error.write_type == "CAS") append_be(out, error.contentions);
      break;
    case ErrorCode::kReadTimeout:
      append_counts(out, error, error.received, error.required);
      out.push_back(error.data_present ? 1 : 0);
      break;
    case ErrorCode::kWriteFailure:
      append_counts(out, error, error.received, error.required);
      append_failures(out, version, error);
      append_string(out, error.write_type);
      break;
    case ErrorCode::kReadFailure:
      append_counts(out, error, error.received, error.required);
      append_failures(out, version, error);
      out.push_back(error.data_present ? 1 : 0);
      break;
    case ErrorCode::kFunctionFailure:
      append_string(out, error.keyspace);
      append_string(out, error.table);
      append_string_list(out, error.arg_types);
      break;
    case ErrorCode::kUnprepared:
      append_short_bytes(out, error.unprepared_id);
      break;
    case ErrorCode::kAlreadyExists:
      append_string(out, error.keyspace);
      append_string(out, error.table);
      break;
    case ErrorCode::kCasWriteUnknown:
      append_counts(out, error, error.received, error.required);
      break;
    default:
      break;
  }
}

void append_supported(Bytes& out, const std::vector<std::pair<std::string, std::vector<std::string>>>& options) {
  append_be(out, static_cast<uint16_t>(options.size()));
  for (const auto& [name, values] : options) {
    append_string(out, name);
    append_string_list(out, values);
  }
}

void append_schema_event(Bytes& out, int version, const SchemaEvent& event) {
  append_string(out, "SCHEMA_CHANGE");
  append_schema_change(out, version, event);
}

void append_node_event(Bytes& out, std::string_view kind, std::string_view change, const SocketAddress& node) {
  Result<Bytes> address = parse_inet(node.host);
  if (!address.ok()) return;
  append_string(out, kind);
  append_string(out, change);
  out.push_back(static_cast<char>(address->size()));
  out.append(*address);
  append_be(out, int32_t{node.port});
}

}  // namespace cassandra_like
