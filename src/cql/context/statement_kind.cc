#include "cql/context/statement_kind.h"

namespace cassandra_like {

const char* name(StatementKind kind) {
  switch (kind) {
    case StatementKind::kSelect:
      return "SELECT";
    case StatementKind::kInsert:
      return "INSERT";
    case StatementKind::kUpdate:
      return "UPDATE";
    case StatementKind::kDelete:
      return "DELETE";
    case StatementKind::kBatch:
      return "BATCH";
    case StatementKind::kTruncate:
      return "TRUNCATE";
    case StatementKind::kUse:
      return "USE";
    case StatementKind::kDescribe:
      return "DESCRIBE";
    case StatementKind::kCreateKeyspace:
      return "CREATE KEYSPACE";
    case StatementKind::kAlterKeyspace:
      return "ALTER KEYSPACE";
    case StatementKind::kDropKeyspace:
      return "DROP KEYSPACE";
    case StatementKind::kCreateTable:
      return "CREATE TABLE";
    case StatementKind::kAlterTable:
      return "ALTER TABLE";
    case StatementKind::kDropTable:
      return "DROP TABLE";
    case StatementKind::kCreateType:
      return "CREATE TYPE";
    case StatementKind::kAlterType:
      return "ALTER TYPE";
    case StatementKind::kDropType:
      return "DROP TYPE";
    case StatementKind::kCreateIndex:
      return "CREATE INDEX";
    case StatementKind::kDropIndex:
      return "DROP INDEX";
    case StatementKind::kDropView:
      return "DROP MATERIALIZED VIEW";
    case StatementKind::kDropTrigger:
      return "DROP TRIGGER";
    case StatementKind::kDropFunction:
      return "DROP FUNCTION";
    case StatementKind::kDropAggregate:
      return "DROP AGGREGATE";
    case StatementKind::kCreateRole:
      return "CREATE ROLE";
    case StatementKind::kAlterRole:
      return "ALTER ROLE";
    case StatementKind::kDropRole:
      return "DROP ROLE";
    case StatementKind::kGrant:
      return "GRANT";
    case StatementKind::kRevoke:
      return "REVOKE";
    case StatementKind::kListRoles:
      return "LIST ROLES";
    case StatementKind::kListUsers:
      return "LIST USERS";
    case StatementKind::kListPermissions:
      return "LIST PERMISSIONS";
  }
  return "";
}

}  // namespace cassandra_like
