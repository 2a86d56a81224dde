// Decoding the bodies of requests. A Request owns its body and everything decoded from it borrows that, so that a
// statement which has to wait can outlive the read that brought it. Requests are pooled: their vectors and buffers
// keep their memory, and a request in the steady state allocates nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cql/query_processor.h"
#include "transport/frame.h"

namespace cassandra_like {

enum EventMask : uint8_t { kTopologyChange = 1, kStatusChange = 2, kSchemaChange = 4, kTraceComplete = 8 };

struct Request {
  FrameHeader header;
  Bytes body;  // uncompressed

  // The opcode decides which of these are set.
  std::string_view text;         // QUERY, PREPARE
  std::string_view keyspace;     // PREPARE (v5); empty: the session's
  BytesView id;                  // EXECUTE
  BytesView result_metadata_id;  // EXECUTE (v5)
  uint8_t batch_type = 0;
  std::vector<BatchEntry> entries;
  QueryOptions options;  // QUERY, EXECUTE, BATCH
  BytesView token;       // AUTH_RESPONSE; null when it was
  uint8_t events = 0;    // REGISTER, of EventMask
  std::map<std::string, std::string> startup;

  std::vector<BytesView> values;
  std::vector<std::string_view> names;

  // For the connection that runs it.
  int64_t received_nanos = 0;
  size_t charged = 0;                 // bytes held of the limits on requests in flight
  std::vector<std::string> warnings;  // of our own, beside the statement's

  Opcode opcode() const { return static_cast<Opcode>(header.opcode); }
  int version() const { return header.version; }
  bool tracing() const { return (header.flags & kFlagTracing) != 0; }
};

// Decodes header and body, both already there. kProtocolError in Cassandra's words.
Status decode_request(Request& request);

// Just enough of an EXECUTE's body, uncompressed, to know what it will ask for. No values when there are none by position,
// or when something is wrong: that is found when it is decoded.
PendingExecution read_expected_execution(BytesView body, int version);

// Free requests of a shard.
class RequestPool {
 public:
  std::unique_ptr<Request> take();
  void give_back(std::unique_ptr<Request> request);

 private:
  std::vector<std::unique_ptr<Request>> free_;
};

}  // namespace cassandra_like
