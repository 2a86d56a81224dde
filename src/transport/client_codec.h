// The client's side of the protocol, v3 to v5: encodes requests, decodes responses. For simulated clients and tests.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "cql/context/query_options.h"
#include "runtime/network.h"
#include "schema/schema_diff.h"
#include "transport/compression.h"
#include "transport/frame.h"

namespace cassandra_like {

// Bodies of requests. Values may be kNull and kUnset.
struct ClientQueryOptions {
  Consistency consistency = Consistency::kOne;
  std::vector<BytesView> values;
  std::vector<std::string> names;
  bool skip_metadata = false;
  std::optional<int32_t> page_size;
  std::optional<Bytes> paging_state;
  std::optional<Consistency> serial_consistency;
  std::optional<int64_t> timestamp;
  std::optional<std::string> keyspace;
  std::optional<int32_t> now_seconds;
};
struct ClientBatchEntry {
  bool is_prepared = false;
  Bytes id_or_text;
  std::vector<BytesView> values;
};
Bytes startup_body(const std::map<std::string, std::string>& options);
Bytes query_body(int version, std::string_view text, const ClientQueryOptions& options);
Bytes prepare_body(int version, std::string_view text, std::optional<std::string> keyspace = {});
Bytes execute_body(int version, BytesView id, BytesView result_metadata_id, const ClientQueryOptions& options);
Bytes batch_body(int version, uint8_t type, const std::vector<ClientBatchEntry>& entries,
                 const ClientQueryOptions& options);
Bytes register_body(const std::vector<std::string>& events);
Bytes auth_response_body(BytesView token);

// The response.
struct ClientType {
  uint16_t id = 0;
  std::string name;  // the class of a custom type; keyspace.name of a UDT
  std::vector<std::string> fields;
  std::vector<ClientType> elements;
  std::string to_string() const;  // 13, 32<9>, 48 ks.address(street 13), 'org.…DurationType'
};
struct ClientColumn {
  std::string keyspace, table, name;
  ClientType type;
};
struct ClientReady {};
struct ClientSupported {
  std::map<std::string, std::vector<std::string>> options;
};
struct ClientAuthenticate {
  std::string class_name;
};
struct ClientAuthToken {
  std::optional<Bytes> token;
};
struct ClientVoid {};
struct ClientRows {
  int32_t flags = 0;
  int32_t column_count = 0;
  std::optional<Bytes> paging_state;
  Bytes metadata_id;                  // when it changed
  std::vector<ClientColumn> columns;  // none when the metadata was skipped
  std::vector<std::vector<std::optional<Bytes>>> rows;
};
struct ClientSetKeyspace {
  std::string keyspace;
};
struct ClientPrepared {
  Bytes id, result_metadata_id;
  std::vector<ClientColumn> variables;
  std::vector<uint16_t> partition_key_indexes;
  std::vector<ClientColumn> columns;
};
struct ClientNodeEvent {
  std::string kind, change;
  Bytes address;
  int32_t port = 0;
};
struct ClientResponse {
  FrameHeader header;
  std::optional<Uuid> tracing_id;
  std::vector<std::string> warnings;
  // SchemaEvent: of RESULT or EVENT.
  std::variant<ClientReady, ErrorInfo, ClientSupported, ClientAuthenticate, ClientAuthToken, ClientVoid, ClientRows,
               ClientSetKeyspace, ClientPrepared, SchemaEvent, ClientNodeEvent>
      body;

  Opcode opcode() const { return static_cast<Opcode>(header.opcode); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&body);
  }
};
// `body` is uncompressed. nullopt when it is malformed.
std::optional<ClientResponse> decode_response(const FrameHeader& header, BytesView body);

// One connection's framing. It begins unsegmented; a v5 codec goes over to segments with the first answer that is
// READY or AUTHENTICATE. Compression is used once that answer has come.
class ClientCodec {
 public:
  explicit ClientCodec(int version, Compression compression = Compression::kNone)
      : version_(version), compression_(compression) {}

  int version() const { return version_; }
  void append(Bytes& out, Opcode opcode, int16_t stream, BytesView body, uint8_t flags = 0);
  // Takes bytes in pieces of any size; false when they are not the protocol.
  bool feed(BytesView data);
  std::optional<ClientResponse> next();

 private:
  size_t feed_frame(BytesView data);
  size_t feed_segment(BytesView data);

  const int version_;
  const Compression compression_;
  bool negotiated_ = false;
  bool failed_ = false;
  Bytes received_;
  Bytes scratch_;
  Bytes large_;  // a frame spread over segments
  std::deque<ClientResponse> responses_;
};

}  // namespace cassandra_like
