#include "replica/saved_ring.h"

#include "model/values.h"
#include "schema/local_state.h"

namespace cassandra_like {

TopologyPtr saved_ring(Endpoint local, const std::vector<InternalRow>& peers) {
  std::vector<Endpoint> endpoints{std::move(local)};
  for (const InternalRow& row : peers) {
    const std::optional<Uuid> host_id = row.uuid("host_id");
    Endpoint peer;
    peer.address = inet_to_text(row.get("peer"));
    peer.datacenter = row.text("data_center");
    peer.rack = row.text("rack");
    peer.tokens = tokens_of(row);
    if (!host_id || peer.datacenter.empty() || peer.rack.empty() || peer.tokens.empty()) continue;
    peer.host_id = *host_id;
    endpoints.push_back(std::move(peer));
  }
  std::vector<bool> alive(endpoints.size(), true);
  return std::make_shared<Topology>(std::make_shared<TokenRing>(std::move(endpoints), 0), std::move(alive));
}

}  // namespace cassandra_like
