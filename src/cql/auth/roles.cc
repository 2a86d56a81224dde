// CREATE, ALTER, DROP, GRANT, REVOKE and LIST of roles, kept in system_auth.roles and role_members and written with CQL.
// Permissions are not checked: every authorizer but AllowAllAuthorizer is refused when the node starts.
#include "cql/auth/roles.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "cql/auth/password_hash.h"
#include "cql/expressions/functions_internal.h"
#include "model/values.h"
#include "replica/replica.h"

namespace cassandra_like {
namespace {

constexpr char kDefaultRole[] = "cassandra";
constexpr int64_t kPasswordIntervalMillis = 5000;  // cassandra.role_password_update_min_interval_in_ms

bool looks_up_passwords(const CqlOptions& options) {
  return options.authenticator.find("PasswordAuthenticator") != std::string::npos;
}

// --- Reading ---

using InternalRow = std::vector<Bytes>;  // null is empty here

Result<std::vector<InternalRow>> rows_of(const Result<QueryResult>& result) {
  if (!result.ok()) return result.error();
  std::vector<InternalRow> rows;
  const auto* encoded = std::get_if<RowsResult>(&result->value);
  if (encoded == nullptr) return rows;
  Reader in(encoded->rows);
  for (int32_t i = 0; i < encoded->row_count; ++i) {
    rows.emplace_back();
    for (size_t column = 0; column < encoded->metadata->columns.size(); ++column) {
      int32_t size = in.i32();
      rows.back().emplace_back(size < 0 ? BytesView("", 0) : in.take(static_cast<size_t>(size)));
    }
  }
  return rows;
}

struct Role {
  std::string name;
  bool is_superuser = false, can_login = false;
  std::set<std::string> member_of;
};

using Values = std::vector<Bytes>;

// A braced list within a co_await is more than GCC 12 can compile.
template <class... T>
Values values_of(T&&... value) {
  Values values;
  (values.emplace_back(std::forward<T>(value)), ...);
  return values;
}

Task<Status> write(QueryServices* services, std::string text, Values values) {
  auto executed = services->execute_internal(std::move(text), std::move(values), kAuthWrite);
  Result<QueryResult> result = co_await executed;
  if (!result.ok()) co_return result.error();
  co_return Status();
}

Task<Result<std::vector<Role>>> read_roles(QueryServices* services, std::string where, Values values) {
  std::string text = "SELECT role, is_superuser, can_login, member_of FROM system_auth.roles" + where;
  auto executed = services->execute_internal(std::move(text), std::move(values), kAuthRead);
  Result<QueryResult> result = co_await executed;
  CO_ASSIGN_OR_RETURN(std::vector<InternalRow> rows, rows_of(result));
  std::vector<Role> roles;
  for (InternalRow& row : rows) {
    Role role{std::move(row[0]), row[1] == BytesView("\1", 1), row[2] == BytesView("\1", 1), {}};
    auto members = ElementReader::collection(row[3]);
    BytesView member;
    while (!row[3].empty() && members.next(&member)) role.member_of.emplace(member);
    roles.push_back(std::move(role));
  }
  std::sort(roles.begin(), roles.end(), [](const Role& a, const Role& b) { return a.name < b.name; });
  co_return roles;
}

// nullopt when there is none.
Task<Result<std::optional<Role>>> read_role(QueryServices* services, std::string name) {
  Values values = values_of(std::move(name));
  CO_ASSIGN_OR_RETURN(std::vector<Role> roles, co_await read_roles(services, " WHERE role = ?", std::move(values)));
  if (roles.empty()) co_return std::optional<Role>();
  co_return std::optional<Role>(std::move(roles.front()));
}

// The role and those granted to it; of these, when recursive, those granted to them.
Task<Result<std::vector<Role>>> granted_roles(QueryServices* services, std::string name, bool recursive) {
  std::vector<Role> found;
  std::set<std::string> seen{name};
  std::vector<std::string> waiting{std::move(name)};
  for (size_t i = 0; i < waiting.size(); ++i) {
    std::string next = waiting[i];
    CO_ASSIGN_OR_RETURN(std::optional<Role> role, co_await read_role(services, std::move(next)));
    if (!role) continue;
    for (const std::string& granted : role->member_of) {
      if ((recursive || i == 0) && seen.insert(granted).second) waiting.push_back(granted);
    }
    found.push_back(std::move(*role));
  }
  std::sort(found.begin(), found.end(), [](const Role& a, const Role& b) { return a.name < b.name; });
  co_return found;
}

bool any_is_superuser(const std::vector<Role>& roles) {
  return std::any_of(roles.begin(), roles.end(), [](const Role& role) { return role.is_superuser; });
}

bool contains(const std::vector<Role>& roles, const std::string& name) {
  return std::any_of(roles.begin(), roles.end(), [&](const Role& role) { return role.name == name; });
}

// --- Checks ---

Status check_logged_in(const ClientState& client) {
  if (client.is_internal || !client.user.empty()) return {};
  return Error(ErrorCode::kUnauthorized, "You have to be logged in and not anonymous to perform this request");
}

Error unauthorized(std::string message) { return Error(ErrorCode::kUnauthorized, std::move(message)); }

Status check_options(const ast::RoleOptions& options, const CqlOptions& config) {
  const std::string manager = "org.apache.cassandra.auth.CassandraRoleManager doesn't support ";
  if (options.options) return invalid(manager + "OPTIONS");
  if (!looks_up_passwords(config)) {
    if (options.password) return invalid(manager + "PASSWORD");
    if (options.hashed_password) return invalid(manager + "HASHED_PASSWORD");
  }
  if (options.password && options.hashed_password) {
    return invalid("Properties 'PASSWORD' and 'HASHED_PASSWORD' are mutually exclusive");
  }
  if (options.hashed_password && !is_bcrypt_hash(*options.hashed_password)) {
    return invalid("Invalid hashed password value. Please use jBcrypt.");
  }
  if (options.hashed_password && password_cost(*options.hashed_password) > kMaxPasswordCost) {
    return invalid("A hashed password with a cost of more than " + std::to_string(kMaxPasswordCost) +
                   " is not supported: each login would take minutes");
  }
  if (options.password && options.password->find('\0') != std::string::npos) {
    return invalid("A password must not contain NUL: nobody could log in with it");
  }
  if (options.cidr_groups) return invalid("ACCESS FROM CIDRS is not supported yet");
  return {};
}

// Each must have a node.
Status check_datacenters(const ast::RoleOptions& options, const ExecutionContext& context) {
  if (!options.datacenters || options.datacenters->empty()) return {};
  const auto& known = context.coordinator.replica().topology().current()->ring()->datacenters();
  const std::set<std::string> named(options.datacenters->begin(), options.datacenters->end());
  auto is_known = [&known](const std::string& name) { return known.contains(name); };
  if (std::all_of(named.begin(), named.end(), is_known)) return {};
  std::string all;
  for (const std::string& name : named) all += (all.empty() ? "" : ", ") + name;
  return invalid("Invalid value(s) for DATACENTERS '[" + all + "]',All values must be valid datacenters");
}

// The hash to store; empty: none was given.
Task<std::string> salted_hash(const ast::RoleOptions* options, ShardRuntime& runtime) {
  if (options->hashed_password) co_return *options->hashed_password;
  if (!options->password) co_return std::string();
  std::string salt = password_salt(runtime.random);
  co_return co_await hash_password(runtime.blocking, *options->password, std::move(salt));
}

// Passwords are expensive to hash, so that of one role may not be changed again at once, however it was set.
Task<Status> check_password_interval(QueryServices* services, std::string role) {
  std::string text = "SELECT writetime(salted_hash) FROM system_auth.roles WHERE role = ?";
  Values values = values_of(role);
  auto executed = services->execute_internal(std::move(text), std::move(values), kAuthRead);
  Result<QueryResult> result = co_await executed;
  CO_ASSIGN_OR_RETURN(std::vector<InternalRow> rows, rows_of(result));
  if (rows.empty() || rows[0][0].empty()) co_return Status();
  const int64_t changed_millis = load_be<int64_t>(rows[0][0].data()) / 1000;
  const int64_t now_millis = services->runtime().clock.wall_micros() / 1000;
  if (now_millis - changed_millis > kPasswordIntervalMillis) co_return Status();
  co_return Error(ErrorCode::kOverloaded, "Password for role " + role + " can only be changed every " +
                                              std::to_string(kPasswordIntervalMillis) + "ms.");
}

Result<QueryResult> done() { return QueryResult{VoidResult{}, {}, {}}; }

// "CREATE ROLE alice: done for cassandra at 127.0.0.1:50376". The statement itself may hold a password, so it is not
// in the log.
Result<QueryResult> done(const Statement& statement, const std::string& subject, const ExecutionContext& context) {
  LOG_INFO("{} {}: done for {}", name(statement.kind()), subject, context.client.to_string());
  return done();
}

// --- Statements ---

class CreateRoleStatement : public Statement {
 public:
  explicit CreateRoleStatement(ast::CreateRole ast) : ast_(std::move(ast)) {}
  StatementKind kind() const override { return StatementKind::kCreateRole; }
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    const ast::RoleOptions& options = ast_.options;
    QueryServices* services = &context.services;
    CO_TRY(check_options(options, context.config));
    if (ast_.role.empty()) co_return invalid("Role name can't be an empty string");
    CO_TRY(check_datacenters(options, context));
    CO_TRY(check_logged_in(context.client));
    if (options.superuser.value_or(false)) {
      CO_ASSIGN_OR_RETURN(bool is_super, co_await has_superuser_status(services, context.client.user));
      if (!is_super) co_return unauthorized("Only superusers can create a role with superuser status");
    }
    CO_ASSIGN_OR_RETURN(std::optional<Role> existing, co_await read_role(services, ast_.role));
    if (existing && ast_.if_not_exists) co_return done();
    if (existing) co_return invalid(ast_.role + " already exists");
    std::string hash = co_await salted_hash(&options, context.runtime);
    Values values = values_of(ast_.role, encode_boolean(options.superuser.value_or(false)),
                              encode_boolean(options.login.value_or(false)));
    std::string columns = "role, is_superuser, can_login", markers = "?, ?, ?";
    if (!hash.empty()) {
      columns += ", salted_hash";
      markers += ", ?";
      values.push_back(std::move(hash));
    }
    std::string text = "INSERT INTO system_auth.roles (" + columns + ") VALUES (" + markers + ")";
    CO_TRY(co_await write(services, std::move(text), std::move(values)));
    co_return done(*this, ast_.role, context);
  }

 private:
  ast::CreateRole ast_;
};

class AlterRoleStatement : public Statement {
 public:
  explicit AlterRoleStatement(ast::AlterRole ast) : ast_(std::move(ast)) {}
  StatementKind kind() const override { return StatementKind::kAlterRole; }
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    QueryServices* services = &context.services;
    const ast::RoleOptions& options = ast_.options;
    CO_TRY(check_options(options, context.config));
    if (is_empty() && !options.datacenters) co_return invalid("ALTER [ROLE|USER] can't be empty");
    CO_TRY(check_datacenters(options, context));
    CO_TRY(check_logged_in(context.client));
    CO_ASSIGN_OR_RETURN(std::optional<Role> existing, co_await read_role(services, ast_.role));
    if (!existing && !ast_.if_exists) co_return invalid("Role " + ast_.role + " doesn't exist");
    std::string user = context.client.user;
    CO_ASSIGN_OR_RETURN(std::vector<Role> own, co_await granted_roles(services, std::move(user), true));
    CO_TRY(authorize(context.client.user, own));
    if (!existing) co_return done();
    if (options.password) {
      Task<Status> allowed = check_password_interval(services, ast_.role);
      CO_TRY(co_await allowed);
    }
    if (!is_empty()) {
      std::string hash = co_await salted_hash(&options, context.runtime);
      Values values;
      std::string text = "UPDATE system_auth.roles SET " + assignments(std::move(hash), &values) + " WHERE role = ?";
      values.push_back(ast_.role);
      CO_TRY(co_await write(services, std::move(text), std::move(values)));
    }
    if (options.datacenters) {
      co_return invalid("ACCESS TO DATACENTERS operations not supported by AllowAllNetworkAuthorizer");
    }
    co_return done(*this, ast_.role, context);
  }

 private:
  bool is_empty() const {
    const ast::RoleOptions& o = ast_.options;
    return !o.superuser && !o.login && !o.password && !o.hashed_password;
  }
  // own: the user's role and those granted to it.
  Status authorize(const std::string& user, const std::vector<Role>& own) const {
    const ast::RoleOptions& options = ast_.options;
    bool super = any_is_superuser(own);
    if (options.superuser && contains(own, ast_.role)) {
      return unauthorized("You aren't allowed to alter your own superuser status or that of a role granted to you");
    }
    if (options.superuser && !super) return unauthorized("Only superusers are allowed to alter superuser status");
    if (options.datacenters && !super) {
      return unauthorized("Only superusers are allowed to alter access to datacenters.");
    }
    if (!super && user == ast_.role && options.login) return unauthorized("You aren't allowed to alter LOGIN");
    return {};
  }
  std::string assignments(std::string hash, Values* values) const {
    std::string text;
    auto assign = [&](const char* column, Bytes value) {
      text += (text.empty() ? "" : ", ") + std::string(column) + " = ?";
      values->push_back(std::move(value));
    };
    if (ast_.options.superuser) assign("is_superuser", encode_boolean(*ast_.options.superuser));
    if (ast_.options.login) assign("can_login", encode_boolean(*ast_.options.login));
    if (!hash.empty()) assign("salted_hash", std::move(hash));
    return text;
  }
  ast::AlterRole ast_;
};

// member_of of one role, with or without another.
Task<Status> change_membership(QueryServices* services, std::string member, std::string role, bool add) {
  Bytes set;
  append_be<int32_t>(set, 1);
  append_element(set, role);
  Values values = values_of(std::move(set), std::move(member));
  std::string text =
      "UPDATE system_auth.roles SET member_of = member_of " + std::string(add ? "+" : "-") + " ? WHERE role = ?";
  co_return co_await write(services, std::move(text), std::move(values));
}

class DropRoleStatement : public Statement {
 public:
  explicit DropRoleStatement(ast::DropRole ast) : ast_(std::move(ast)) {}
  StatementKind kind() const override { return StatementKind::kDropRole; }
  Status validate(const ClientState& client) const override { return check_logged_in(client); }
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    QueryServices* services = &context.services;
    CO_ASSIGN_OR_RETURN(std::optional<Role> role, co_await read_role(services, ast_.role));
    if (!role && !ast_.if_exists) co_return invalid(ast_.role + " doesn't exist");
    if (context.client.user == ast_.role) co_return invalid("Cannot DROP primary role for current login");
    if (role && role->is_superuser) {
      CO_ASSIGN_OR_RETURN(bool is_super, co_await has_superuser_status(services, context.client.user));
      if (!is_super) co_return unauthorized("Only superusers can drop a role with superuser status");
    }
    if (!role) co_return done();
    CO_TRY(co_await write(services, "DELETE FROM system_auth.roles WHERE role = ?", values_of(ast_.role)));
    CO_TRY(co_await remove_members(services, ast_.role));
    co_return done(*this, ast_.role, context);
  }

 private:
  static Task<Status> remove_members(QueryServices* services, std::string role) {
    std::string text = "SELECT member FROM system_auth.role_members WHERE role = ?";
    auto executed = services->execute_internal(std::move(text), values_of(role), kAuthRead);
    Result<QueryResult> result = co_await executed;
    CO_ASSIGN_OR_RETURN(std::vector<InternalRow> members, rows_of(result));
    if (members.empty()) co_return Status();
    for (InternalRow& member : members) CO_TRY(co_await change_membership(services, std::move(member[0]), role, false));
    co_return co_await write(services, "DELETE FROM system_auth.role_members WHERE role = ?", values_of(role));
  }
  ast::DropRole ast_;
};

// GRANT role TO grantee, REVOKE role FROM grantee.
class MembershipStatement : public Statement {
 public:
  MembershipStatement(std::string role, std::string grantee, bool grant)
      : role_(std::move(role)), grantee_(std::move(grantee)), grant_(grant) {}
  StatementKind kind() const override { return grant_ ? StatementKind::kGrant : StatementKind::kRevoke; }
  Status validate(const ClientState& client) const override { return check_logged_in(client); }
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    QueryServices* services = &context.services;
    CO_ASSIGN_OR_RETURN(std::vector<Role> above, co_await granted_roles(services, role_, true));
    CO_ASSIGN_OR_RETURN(std::vector<Role> held, co_await granted_roles(services, grantee_, grant_));
    if (!contains(above, role_)) co_return invalid(role_ + " doesn't exist");
    if (!contains(held, grantee_)) co_return invalid(grantee_ + " doesn't exist");
    if (grant_) {
      if (contains(held, role_)) co_return invalid(grantee_ + " is a member of " + role_);
      if (contains(above, grantee_)) co_return invalid(role_ + " is a member of " + grantee_);
    } else if (!contains(held, role_)) {
      co_return invalid(grantee_ + " is not a member of " + role_);
    }
    CO_TRY(co_await change_membership(services, grantee_, role_, grant_));
    std::string text = grant_ ? "INSERT INTO system_auth.role_members (role, member) VALUES (?, ?)"
                              : "DELETE FROM system_auth.role_members WHERE role = ? AND member = ?";
    CO_TRY(co_await write(services, std::move(text), values_of(role_, grantee_)));
    co_return done(*this, role_ + (grant_ ? " to " : " from ") + grantee_, context);
  }

 private:
  std::string role_, grantee_;
  bool grant_;
};

class ListRolesStatement : public Statement {
 public:
  explicit ListRolesStatement(ast::ListRoles ast) : ast_(std::move(ast)) {
    auto column = [this](const char* name, TypePtr type) {
      return ColumnSpec{"system_auth", ast_.users ? "users" : "roles", name, std::move(type)};
    };
    std::vector<ColumnSpec> columns{column(ast_.users ? "name" : "role", types::text()),
                                    column("super", types::boolean())};
    if (!ast_.users) {
      columns.push_back(column("login", types::boolean()));
      columns.push_back(column("options", types::map(types::text(), types::text(), false)));
    }
    columns.push_back(column("datacenters", types::text()));
    metadata_ = make_result_metadata(std::move(columns));
  }
  StatementKind kind() const override { return ast_.users ? StatementKind::kListUsers : StatementKind::kListRoles; }
  Status validate(const ClientState& client) const override { return check_logged_in(client); }
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    QueryServices* services = &context.services;
    std::vector<Role> roles;
    if (ast_.grantee) {
      CO_ASSIGN_OR_RETURN(roles, co_await granted_roles(services, *ast_.grantee, ast_.recursive));
      if (!contains(roles, *ast_.grantee)) co_return invalid("<role " + *ast_.grantee + "> doesn't exist");
    } else {
      std::vector<Bytes> no_values;
      CO_ASSIGN_OR_RETURN(roles, co_await read_roles(services, "", no_values));
    }
    RowsResult result{metadata_, 0, {}, {}};
    for (const Role& role : roles) {
      if (ast_.users && !role.can_login) continue;
      bool super = role.is_superuser;
      if (ast_.users && !super) {
        // A user is one too by a role that it was granted.
        CO_ASSIGN_OR_RETURN(std::vector<Role> held, co_await granted_roles(services, role.name, true));
        super = any_is_superuser(held);
      }
      append_row(role, super, &result);
    }
    if (roles.empty()) co_return done();
    co_return QueryResult{std::move(result), {}, {}};
  }

 private:
  void append_row(const Role& role, bool super, RowsResult* result) const {
    ++result->row_count;
    append_element(result->rows, role.name);
    append_element(result->rows, encode_boolean(super));
    if (!ast_.users) {
      append_element(result->rows, encode_boolean(role.can_login));
      append_element(result->rows, Bytes(4, '\0'));  // an empty map
    }
    append_element(result->rows, "ALL");
  }
  ast::ListRoles ast_;
  ResultMetadataPtr metadata_;
};

// "" or what is named and not there, in the words of auth.IResource.
Result<std::string> absent_data(const ast::Resource& resource, const ExecutionContext& context) {
  using Kind = ast::Resource::Kind;
  const SchemaPtr& schema = context.coordinator.schema().current();
  const std::string& keyspace = resource.name.keyspace.empty() ? context.client.keyspace : resource.name.keyspace;
  switch (resource.kind) {
    case Kind::kKeyspace:
      return schema->keyspace(keyspace) ? "" : "<keyspace " + keyspace + ">";
    case Kind::kAllTables:
      return schema->keyspace(keyspace) ? "" : "<all tables in " + keyspace + ">";
    case Kind::kTable:
      if (keyspace.empty()) {
        return invalid("No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename");
      }
      return schema->table(keyspace, resource.name.name) ? "" : "<table " + keyspace + "." + resource.name.name + ">";
    default:
      return std::string();
  }
}

// GRANT, REVOKE and LIST of permissions, which AllowAllAuthorizer has none of. The names are looked for all the same.
class PermissionStatement : public Statement {
 public:
  PermissionStatement(StatementKind operation, std::optional<ast::Resource> resource, std::optional<std::string> role)
      : operation_(operation), resource_(std::move(resource)), role_(std::move(role)) {}
  StatementKind kind() const override { return operation_; }
  Status validate(const ClientState& client) const override { return check_logged_in(client); }
  Task<Result<QueryResult>> execute(ExecutionContext& context) const override {
    const bool list = operation_ == StatementKind::kListPermissions;
    if (role_ && !list) {
      CO_ASSIGN_OR_RETURN(std::optional<Role> role, co_await read_role(&context.services, *role_));
      if (!role) co_return invalid("Role " + *role_ + " doesn't exist");
    }
    if (resource_) {
      CO_ASSIGN_OR_RETURN(std::string absent, absent_data(*resource_, context));
      if (resource_->kind == ast::Resource::Kind::kRole) {
        CO_ASSIGN_OR_RETURN(std::optional<Role> role, co_await read_role(&context.services, resource_->name.name));
        if (!role) absent = "<role " + resource_->name.name + ">";
      }
      if (!absent.empty()) co_return invalid((list ? "" : "Resource ") + absent + " doesn't exist");
    }
    if (role_ && list) {
      CO_ASSIGN_OR_RETURN(std::optional<Role> role, co_await read_role(&context.services, *role_));
      if (!role) co_return invalid("<role " + *role_ + "> doesn't exist");
    }
    const std::string message = std::string(name(operation_)) + " operation is not supported by AllowAllAuthorizer";
    if (list) co_return invalid(message);
    co_return Error(ErrorCode::kServerError, "java.lang.UnsupportedOperationException: " + message);
  }

 private:
  StatementKind operation_;
  std::optional<ast::Resource> resource_;
  std::optional<std::string> role_;
};

struct PrepareRoleStatement {
  using Prepared = PrepareResult;
  Prepared operator()(const ast::CreateRole& s) const { return make<CreateRoleStatement>(s); }
  Prepared operator()(const ast::AlterRole& s) const { return make<AlterRoleStatement>(s); }
  Prepared operator()(const ast::DropRole& s) const { return make<DropRoleStatement>(s); }
  Prepared operator()(const ast::GrantRole& s) const { return make<MembershipStatement>(s.role, s.grantee, true); }
  Prepared operator()(const ast::RevokeRole& s) const { return make<MembershipStatement>(s.role, s.revokee, false); }
  Prepared operator()(const ast::ListRoles& s) const { return make<ListRolesStatement>(s); }
  Prepared operator()(const ast::GrantPermissions& s) const {
    return make<PermissionStatement>(s.revoke ? StatementKind::kRevoke : StatementKind::kGrant, s.resource, s.role);
  }
  Prepared operator()(const ast::ListPermissions& s) const {
    return make<PermissionStatement>(StatementKind::kListPermissions, s.resource, s.role);
  }
  Prepared operator()(const ast::AddIdentity&) const { return invalid("ADD IDENTITY is not supported yet"); }
  Prepared operator()(const ast::DropIdentity&) const { return invalid("DROP IDENTITY is not supported yet"); }
  template <class T>
  Prepared operator()(const T&) const {
    return invalid("This statement is not about roles");
  }

 private:
  template <class T, class... Arguments>
  static Prepared make(Arguments&&... arguments) {
    return std::unique_ptr<Statement>(std::make_unique<T>(std::forward<Arguments>(arguments)...));
  }
};

}  // namespace

PrepareResult prepare_role_statement(const ast::Statement& statement, PrepareContext&) {
  return std::visit(PrepareRoleStatement{}, statement.body);
}

Task<Result<bool>> has_superuser_status(QueryServices* services, std::string role) {
  CO_ASSIGN_OR_RETURN(std::vector<Role> held, co_await granted_roles(services, std::move(role), true));
  co_return any_is_superuser(held);
}

// Written with timestamp 0, so that what a cluster already knows of the role wins. The password is public, its salt is
// random.
Task<Status> create_default_role(QueryServices* services) {
  if (!looks_up_passwords(services->options())) co_return Status();
  std::vector<Bytes> no_values;
  CO_ASSIGN_OR_RETURN(std::vector<Role> any, co_await read_roles(services, " LIMIT 1", no_values));
  if (!any.empty()) co_return Status();
  std::string salt = password_salt(services->runtime().random);
  std::string hash = co_await hash_password(services->runtime().blocking, kDefaultRole, std::move(salt));
  std::string text =
      "INSERT INTO system_auth.roles (role, is_superuser, can_login, salted_hash) VALUES (?, true, true, ?) USING "
      "TIMESTAMP 0";
  CO_TRY(co_await write(services, std::move(text), values_of(kDefaultRole, std::move(hash))));
  LOG_INFO("Created default superuser role '{}'", kDefaultRole);
  co_return Status();
}

}  // namespace cassandra_like
