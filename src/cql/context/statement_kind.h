// The kinds of statements, for the log, for tracing and for rules that only some statements have.
#pragma once

#include <cstdint>

namespace cassandra_like {

enum class StatementKind : uint8_t {
  kSelect,
  kInsert,
  kUpdate,
  kDelete,
  kBatch,
  kTruncate,
  kUse,
  kDescribe,
  kCreateKeyspace,
  kAlterKeyspace,
  kDropKeyspace,
  kCreateTable,
  kAlterTable,
  kDropTable,
  kCreateType,
  kAlterType,
  kDropType,
  kCreateIndex,
  kDropIndex,
  kDropView,
  kDropTrigger,
  kDropFunction,
  kDropAggregate,
  kCreateRole,
  kAlterRole,
  kDropRole,
  kGrant,
  kRevoke,
  kListRoles,
  kListUsers,
  kListPermissions,
};

// The words that a statement of this kind begins with: "SELECT", "CREATE TABLE".
const char* name(StatementKind kind);

}  // namespace cassandra_like
