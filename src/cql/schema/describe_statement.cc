// DESCRIBE as a statement: rows of text, in pages.
//
// The paging state's partition key is a version, this node's release, the schema's version and how many rows were
// given: [short 1][short length][release][16 bytes][long rows].
#include <algorithm>
#include <map>

#include "cql/context/paging_state.h"
#include "cql/context/statement.h"
#include "cql/schema/describe.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Kind = ast::Describe::Kind;

constexpr uint16_t kPagingVersion = 1;

void append_value(Bytes& rows, std::string_view value) {
  append_be(rows, static_cast<int32_t>(value.size()));
  rows.append(value);
}

bool is_listing(Kind kind) {
  return kind == Kind::kKeyspaces || kind == Kind::kTables || kind == Kind::kTypes || kind == Kind::kFunctions ||
         kind == Kind::kAggregates;
}

ColumnSpec column(const char* name, TypePtr type = types::text()) {
  return {"system", "describe", name, std::move(type)};
}

ResultMetadataPtr elements_metadata(bool listing) {
  std::vector<ColumnSpec> columns{column("keyspace_name"), column("type"), column("name")};
  if (!listing) columns.push_back(column("create_statement"));
  return make_result_metadata(std::move(columns));
}

Bytes make_paging_state(uint64_t rows, const Uuid& schema_version, int protocol_version) {
  PagingState state;
  Bytes& key = state.partition_key;
  append_be(key, kPagingVersion);
  append_be(key, static_cast<uint16_t>(kReleaseVersion.size()));
  key.append(kReleaseVersion).append(schema_version.view());
  append_be(key, static_cast<int64_t>(rows));
  return serialize_paging_state(state, protocol_version);
}

Result<size_t> rows_before(const QueryOptions& options, const Uuid& schema_version) {
  if (is_null(options.paging_state)) return size_t{0};
  auto state = parse_paging_state(options.paging_state, options.protocol_version);
  if (!state) return Error(ErrorCode::kProtocolError, kInvalidPagingState);
  Reader in(state->partition_key);
  if (in.u16() != kPagingVersion || in.failed()) return invalid("Incompatible paging state");
  BytesView release = in.take(in.u16());
  if (release != kReleaseVersion) {
    return invalid("The server version of the paging state " + std::string(release) +
                   " is different from the one of the server " + std::string(kReleaseVersion));
  }
  BytesView version = in.take(16);
  int64_t rows = in.i64();
  if (in.failed()) return invalid("Invalid paging state.");
  if (version == schema_version.view()) return static_cast<size_t>(std::max(rows, int64_t{0}));
  return invalid(
      "The schema has changed since the previous page of the DESCRIBE statement result. Please retry the DESCRIBE "
      "statement.");
}

std::string_view without_package(std::string_view name, std::string_view package) {
  return name.starts_with(package) ? name.substr(package.size()) : name;
}

// Each range by its last token, with the addresses of its replicas. Empty when the keyspace has no replicas.
Bytes range_ownership(const Topology& topology, const KeyspaceMetadata* keyspace) {
  std::map<std::string, Bytes> owners;  // as Cassandra orders them: by the token's text
  auto strategy = ReplicationStrategy::make(keyspace == nullptr ? ReplicationParams() : keyspace->replication);
  if (strategy.ok()) {
    const TokenRing& ring = *topology.ring();
    const ReplicaMap replicas(topology.ring(), *strategy);
    for (const TokenRing::Entry& entry : ring.entries()) {
      Bytes& list = owners[std::to_string(entry.token)];
      append_be(list, static_cast<int32_t>(replicas.replicas(entry.token).size()));
      for (EndpointIndex i : replicas.replicas(entry.token)) {
        // The text of a Java address without a name.
        const Endpoint& endpoint = ring.endpoint(i);
        append_element(list, "/" + SocketAddress{endpoint.address, endpoint.storage_port}.to_string());
      }
    }
  }
  Bytes map;
  append_be(map, static_cast<int32_t>(owners.size()));
  for (const auto& [token, list] : owners) {
    append_element(map, token);
    append_element(map, list);
  }
  return map;
}

class DescribeStatement : public Statement {
 public:
  explicit DescribeStatement(ast::Describe describe) : describe_(std::move(describe)) {}

  StatementKind kind() const override { return StatementKind::kDescribe; }

  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    std::string keyspace =
        context.options.keyspace.empty() ? context.client.keyspace : std::string(context.options.keyspace);
    auto rows = describe_.kind == Kind::kCluster
                    ? cluster(context, keyspace)
                    : describe_page(describe_, *context.coordinator.schema().current(), keyspace, context.options);
    if (!rows.ok()) return Result<QueryResult>(std::move(rows.error()));
    return Result<QueryResult>(QueryResult{std::move(*rows), {}, {}});
  }

 private:
  Result<RowsResult> cluster(ExecutionContext& context, const std::string& session_keyspace) const {
    std::vector<ColumnSpec> columns{column("cluster"), column("partitioner"), column("snitch")};
    RowsResult result;
    append_value(result.rows, context.config.cluster_name);
    append_value(result.rows, without_package(context.config.partitioner, "org.apache.cassandra.dht."));
    append_value(result.rows, without_package(context.config.snitch, "org.apache.cassandra.locator."));
    if (!session_keyspace.empty() && !is_system_keyspace(session_keyspace)) {
      columns.push_back(column("range_ownership", types::map(types::text(), types::list(types::text(), false), false)));
      append_value(result.rows,
                   range_ownership(*context.coordinator.replica().topology().current(),
                                   context.coordinator.schema().current()->keyspace(session_keyspace).get()));
    }
    result.metadata = make_result_metadata(std::move(columns));
    result.row_count = 1;
    return result;
  }

  ast::Describe describe_;
};

}  // namespace

Result<RowsResult> describe_page(const ast::Describe& describe, const Schema& schema,
                                 const std::string& session_keyspace, const QueryOptions& options) {
  ASSIGN_OR_RETURN(const size_t start, rows_before(options, schema.version()));
  ASSIGN_OR_RETURN(auto elements, described_elements(describe, schema, session_keyspace));
  size_t end = elements.size();
  if (options.page_size > 0) end = std::min(end, start + static_cast<size_t>(options.page_size));
  bool listing = is_listing(describe.kind);
  RowsResult result;
  result.metadata = elements_metadata(listing);
  for (size_t i = start; i < end; ++i) {
    const SchemaElement& element = elements[i];
    append_value(result.rows, quote_identifier(element.keyspace->name));
    append_value(result.rows, element.type_name());
    append_value(result.rows, quote_identifier(element.name()));
    if (!listing) append_value(result.rows, element.create_statement(describe.with_internals));
    ++result.row_count;
  }
  // A full page may be the last one: only the next request tells.
  if (result.row_count > 0 && result.row_count == options.page_size) {
    result.paging_state = make_paging_state(end, schema.version(), options.protocol_version);
  }
  return result;
}

PrepareResult prepare_describe(const ast::Describe& describe, PrepareContext&) {
  return PrepareResult(std::make_unique<DescribeStatement>(describe));
}

}  // namespace cassandra_like
