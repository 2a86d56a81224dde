// Encoding the bodies of responses, for each version of the protocol.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cql/context/result.h"
#include "runtime/network.h"
#include "transport/frame.h"

namespace cassandra_like {

// How much a RESULT of rows says about its columns.
enum class RowsMetadata : uint8_t { kFull, kSkip, kChanged };  // kChanged: with its id, for the client to keep (v5)

void append_error(Bytes& out, int version, const ErrorInfo& error);
void append_result(Bytes& out, int version, const QueryResult& result, RowsMetadata rows_metadata);
void append_supported(Bytes& out, const std::vector<std::pair<std::string, std::vector<std::string>>>& options);

// An [option]: the type of a column. Types that the version does not know travel as custom types.
void append_type(Bytes& out, int version, const Type& type);

void append_schema_event(Bytes& out, int version, const SchemaEvent& event);
// kind: TOPOLOGY_CHANGE or STATUS_CHANGE; change: NEW_NODE, UP, …; nothing is appended when node.host is no address.
void append_node_event(Bytes& out, std::string_view kind, std::string_view change, const SocketAddress& node);

}  // namespace cassandra_like
