// Guardrails while the node runs: `nodetool getguardrailsconfig` and `setguardrailsconfig` (db.guardrails.GuardrailsMBean,
// config.GuardrailsOptions).
#pragma once

#include <string>
#include <vector>

#include "admin/admin.h"

namespace cassandra_like {

// In order of name.
std::vector<AdminGuardrail> show_guardrails(const Guardrails& guardrails);
// kInvalid, in Cassandra's words, for a value that makes no sense. The values are those that show_guardrails() gives, in its order;
// an empty text or "null" switches one off. default_keyspace_rf bounds those on replication factors.
Status change_guardrail(Guardrails* guardrails, const std::string& name, const std::vector<std::string>& values,
                        int default_keyspace_rf);

}  // namespace cassandra_like
