// Shared by the connections of one shard's server. It lives until the last connection and the last waiting request
// are gone, which may be after the Server.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log_quota.h"
#include "runtime/runtime.h"
#include "transport/authenticator.h"
#include "transport/limits.h"
#include "transport/request.h"
#include "transport/server.h"

namespace cassandra_like {

class ServerConnection;

struct ServerShard {
  ServerShard(ShardRuntime& shard, QueryProcessor& query_processor, TransportOptions given, TraceFactory trace_factory)
      : runtime(shard),
        processor(query_processor),
        options(std::move(given)),
        begin_trace(trace_factory),
        request_memory(query_processor.options().request_memory),
        request_limits(options),
        connection_limits(options.max_connections, options.max_connections_per_ip) {}

  ShardRuntime& runtime;
  QueryProcessor& processor;
  TransportOptions options;
  const TraceFactory begin_trace;
  const std::shared_ptr<RequestMemory> request_memory;  // nullptr: unbounded
  std::unique_ptr<Authenticator> authenticator;

  std::map<uint64_t, ServerConnection*> connections;  // by the order in which they came
  uint64_t next_id = 1;
  std::map<std::pair<int, std::string>, int64_t> history;  // version and host: when last seen, in milliseconds
  RequestPool pool;
  RequestLimits request_limits;
  ConnectionLimits connection_limits;
  TransportMetrics metrics;

  uint16_t shard_aware_port = 0;  // while it listens there
  LogQuota login_failures, refusals{1};

  // Scratch of whoever runs now.
  Bytes body;
  Bytes segment;

  size_t waiting_for_bytes = 0;  // connections that do not read until bytes in flight are released

  // Set while the server drains: called whenever a request or a connection ended.
  Callback on_progress;
  // Called when a connection was closed, for the other shards' counts.
  absl::AnyInvocable<void(const std::string& host)> on_connection_closed;

  int64_t now() const { return runtime.clock.monotonic_nanos(); }
  void release_bytes(HostUsage& host, size_t size);
  // Remembers the client for client_history().
  void note_client(int version, const std::string& host);
  void progressed() {
    if (on_progress) on_progress();
  }
};

}  // namespace cassandra_like
