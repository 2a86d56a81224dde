// The messages that the shards have sent to other nodes and received from them, as one sum: netstats, tpstats,
// system_views.internode_inbound and internode_outbound, metrics.
#pragma once

#include <array>
#include <map>

#include "admin/context.h"

namespace cassandra_like {

struct OutboundTotals {
  uint64_t pending = 0, pending_bytes = 0;
  uint64_t connected = 0;  // connections that are open
  PeerLink::Counters counters;
};

struct InboundTotals {
  uint64_t pending_bytes = 0;  // in the receive queues of open connections
  uint64_t connections = 0;
  InboundLink::Counters counters;  // of open connections
};

struct InternodeReport {
  std::map<InetAddressAndPort, OutboundTotals> outbound;
  std::map<InetAddressAndPort, InboundTotals> inbound;
  std::map<ConnectionType, OutboundTotals> by_type;
  std::array<uint64_t, kVerbCount> dropped{};  // by verb_index()
  uint64_t waiting_requests = 0, unexpected_responses = 0;

  void merge(const InternodeReport& other);
};

// Empty in a node that is alone.
Task<InternodeReport> report_internode(AdminContextPtr context);

// Sums of all shards.
Task<HintsStatistics> sum_hints(AdminContextPtr context);

}  // namespace cassandra_like
