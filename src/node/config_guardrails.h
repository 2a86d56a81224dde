// Cassandra's demands on guardrails in cassandra.yaml (config.GuardrailsOptions).
#pragma once

#include "node/config.h"

namespace cassandra_like {

// The error is a line as Config::error_at makes it.
Status check_guardrails(const Config& config);

}  // namespace cassandra_like
