// The parts' options, as the configuration has them. Each part knows its own options and nothing of the configuration.
#pragma once

#include <string>

#include "cql/context/statement.h"
#include "node/config.h"
#include "storage/options.h"
#include "transport/server.h"

namespace cassandra_like {

EngineOptions engine_options(const Config& config);
TransportOptions transport_options(const Config& config);
CqlOptions cql_options(const Config& config);
std::string snitch_class(const Config& config);  // with its package

}  // namespace cassandra_like
