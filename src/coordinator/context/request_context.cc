#include "coordinator/context/request_context.h"

#include "base/dcheck.h"
#include "base/log.h"

namespace cassandra_like {

ClusterSnapshot::ClusterSnapshot(TopologyPtr t) : topology(std::move(t)) {
  for (const Endpoint& endpoint : topology->ring()->endpoints()) {
    // A name in place of an address: an endpoint of a test, to which no message goes.
    addresses.push_back(
        InetAddressAndPort::parse(endpoint.address, endpoint.storage_port).value_or(InetAddressAndPort{}));
  }
}

RequestContext::RequestContext(ShardRuntime& r, Replica& local, Messenger* m, Hints* h, const CoordinatorOptions& o,
                               CoordinatorStatistics& s)
    : runtime(r), replica(local), messenger(m), hints(h), options(o), statistics(s), proximity(o, r.clock) {
  use(replica.topology().current());
}

void RequestContext::use(const TopologyPtr& topology) {
  replica_maps.clear();
  cluster = std::make_shared<const ClusterSnapshot>(topology);
}

void RequestContext::record_stays(const Error& why) {
  if (auto more = kept_records.take(now())) {
    LOG_WARN("The record of a logged batch stays for now: {}{}", why.message(), *more);
  }
}

std::shared_ptr<const KeyspaceReplicas> RequestContext::replicas_of(const std::string& keyspace) {
  KeyspacePtr found = replica.schema().current()->keyspace(keyspace);
  return found == nullptr ? nullptr : replica_maps.of(*cluster->topology, found->replication);
}

}  // namespace cassandra_like
