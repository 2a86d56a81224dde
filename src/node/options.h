// The parts' options, as the configuration has them. Each part knows its own options and nothing of the configuration.
#pragma once

#include <string>

#include "coordinator/context/options.h"
#include "cql/context/statement.h"
#include "hints/hints.h"
#include "messaging/link/link_options.h"
#include "node/config.h"
#include "peers/membership_service.h"
#include "peers/peer_requests.h"
#include "storage/options.h"
#include "storage/sstable/sstable_version.h"
#include "storage/table/directory_check.h"
#include "transport/server.h"

namespace cassandra_like {

EngineOptions engine_options(const Config& config);
// The version of new SSTables, as DatabaseDescriptor decides. A configuration that has neither of their keys leaves it to
// this node, which writes BTI da.
const SSTableVersion& written_version(const Config& config);
// Whether new SSTables have numbers as ids, and not uuids. Cassandra with the same configuration has to take the directory back:
// without uuids, it refuses them.
bool writes_sequence_ids(const Config& config, const FoundIds& found);
TransportOptions transport_options(const Config& config);
CqlOptions cql_options(const Config& config);
CoordinatorOptions coordinator_options(const Config& config);
HintsOptions hints_options(const Config& config);
LinkOptions link_options(const Config& config);
PeerRequestsOptions peer_requests_options(const Config& config);
// kConfigError for an address or a file that cannot be read.
// kConfigError when a seed is no numeric address.
Result<std::vector<InetAddressAndPort>> seed_addresses(const Config& config);
Result<MembershipOptions> membership_options(const Config& config, const LocalNode& node, const Uuid& schema_version);
std::string snitch_class(const Config& config);  // with its package

}  // namespace cassandra_like
