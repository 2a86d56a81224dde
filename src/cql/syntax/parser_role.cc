// Roles, users, identities, permissions.
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

using ast::Permission;

constexpr TokenSet kPermissionTokens = {Tok::kCreate, Tok::kAlter,       Tok::kDrop,     Tok::kSelect,
                                        Tok::kModify, Tok::kAuthorize,   Tok::kDescribe, Tok::kExecute,
                                        Tok::kUnmask, Tok::kSelectMasked};
constexpr Permission kAllPermissions[] = {Permission::kCreate,      Permission::kAlter,   Permission::kDrop,
                                          Permission::kSelect,      Permission::kModify,  Permission::kAuthorize,
                                          Permission::kDescribe,    Permission::kExecute, Permission::kUnmask,
                                          Permission::kSelectMasked};

constexpr const char* kBadUserName =
    "Quoted strings are are not supported for user names and USER is deprecated, please use ROLE";
constexpr const char* kBadIdentity = "Quoted strings are are not supported for identity";

// Cassandra's name for the class of a resource.
const char* resource_class(ast::Resource::Kind kind) {
  using Kind = ast::Resource::Kind;
  switch (kind) {
    case Kind::kAllKeyspaces:
    case Kind::kKeyspace:
    case Kind::kTable:
    case Kind::kAllTables:
      return "DataResource";
    case Kind::kAllRoles:
    case Kind::kRole:
      return "RoleResource";
    case Kind::kAllFunctions:
    case Kind::kAllFunctionsInKeyspace:
    case Kind::kFunction:
      return "FunctionResource";
    case Kind::kAllMbeans:
    case Kind::kMbean:
    case Kind::kMbeans:
      break;
  }
  return "JMXResource";
}

bool is_applicable(Permission permission, ast::Resource::Kind kind) {
  using Kind = ast::Resource::Kind;
  switch (permission) {
    case Permission::kCreate:
      return kind == Kind::kAllKeyspaces || kind == Kind::kKeyspace || kind == Kind::kAllTables ||
             kind == Kind::kAllRoles || kind == Kind::kAllFunctions || kind == Kind::kAllFunctionsInKeyspace;
    case Permission::kAlter:
    case Permission::kDrop:
      return kind < Kind::kAllMbeans;
    case Permission::kSelect:
    case Permission::kModify:
      return kind <= Kind::kAllTables || kind >= Kind::kAllMbeans;
    case Permission::kAuthorize:
      return true;
    case Permission::kDescribe:
      return kind == Kind::kAllRoles || kind == Kind::kRole || kind >= Kind::kAllMbeans;
    case Permission::kExecute:
      return kind >= Kind::kAllFunctions;
    case Permission::kUnmask:
    case Permission::kSelectMasked:
      return kind <= Kind::kAllTables;
  }
  return false;
}

}  // namespace

// CREATE|ALTER|DROP ROLE

bool Parser::create_role(ast::CreateRole& out) {
  if (!expect(Tok::kCreate, Tok::kRole) || !if_not_exists(out.if_not_exists) || !role_name(out.role)) return false;
  if (accept(Tok::kWith) && !role_options(out.options)) return false;
  return check_passwords(out.options);
}

bool Parser::alter_role(ast::AlterRole& out) {
  if (!expect(Tok::kAlter, Tok::kRole) || !if_exists(out.if_exists) || !role_name(out.role)) return false;
  if (accept(Tok::kWith) && !role_options(out.options)) return false;
  return check_passwords(out.options);
}

bool Parser::drop_role(ast::DropRole& out) {
  return expect(Tok::kDrop, Tok::kRole) && if_exists(out.if_exists) && role_name(out.role);
}

bool Parser::create_user(ast::CreateRole& out) {
  out.user = true;
  out.options.login = true;
  if (!expect(Tok::kCreate, Tok::kUser) || !if_not_exists(out.if_not_exists)) return false;
  if (!deprecated_name(kBadUserName, out.role) || !user_options(out.options)) return false;
  if (!out.options.superuser) out.options.superuser = false;
  return true;
}

bool Parser::alter_user(ast::AlterRole& out) {
  out.user = true;
  if (!expect(Tok::kAlter, Tok::kUser) || !if_exists(out.if_exists)) return false;
  return deprecated_name(kBadUserName, out.role) && user_options(out.options);
}

bool Parser::drop_user(ast::DropRole& out) {
  out.user = true;
  return expect(Tok::kDrop, Tok::kUser) && if_exists(out.if_exists) && deprecated_name(kBadUserName, out.role);
}

bool Parser::user_options(ast::RoleOptions& out) {
  if (accept(Tok::kWith)) {
    if (!at(Tok::kPassword) && !at(Tok::kHashed)) return fail_no_viable();
    bool hashed = accept(Tok::kHashed);
    if (!password(hashed, false, out)) return false;
  }
  if (accept(Tok::kSuperuser)) {
    out.superuser = true;
  } else if (accept(Tok::kNosuperuser)) {
    out.superuser = false;
  }
  return true;
}

bool Parser::role_options(ast::RoleOptions& out) {
  do {
    if (!role_option(out)) return false;
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::role_option(ast::RoleOptions& out) {
  constexpr TokenSet kSimple = {Tok::kPassword, Tok::kHashed, Tok::kOptions, Tok::kSuperuser, Tok::kLogin};
  if (kSimple.contains(peek())) decided(1);
  switch (peek()) {
    case Tok::kPassword:
      return password(false, true, out);
    case Tok::kHashed:
      advance();
      return password(true, true, out);
    case Tok::kOptions: {
      advance();
      ast::Property::Map options;
      return expect(Tok::kEqual) && property_map(options) && set_option("OPTIONS", out.options, std::move(options));
    }
    case Tok::kSuperuser:
      return boolean_option("SUPERUSER", out.superuser);
    case Tok::kLogin:
      return boolean_option("LOGIN", out.login);
    case Tok::kAccess:
      return role_access(out);
    default:
      return fail_no_viable();
  }
}

// The password of a role has a = before it, that of a user has none.
bool Parser::password(bool hashed, bool with_equals, ast::RoleOptions& out) {
  std::string password;
  if (!expect(Tok::kPassword) || (with_equals && !expect(Tok::kEqual))) return false;
  if (!expect_value(Tok::kStringLiteral, password)) return false;
  return hashed ? set_option("HASHED_PASSWORD", out.hashed_password, std::move(password))
                : set_option("PASSWORD", out.password, std::move(password));
}

bool Parser::boolean_option(const char* option, std::optional<bool>& out) {
  std::string word;
  advance();
  if (!expect(Tok::kEqual) || !expect_value(Tok::kBooleanLiteral, word)) return false;
  return set_option(option, out, word[0] == 't' || word[0] == 'T');
}

template <class T>
bool Parser::set_option(const char* option, std::optional<T>& slot, T value) {
  if (slot) {
    return fail_with(Error(ErrorCode::kSyntaxError, "Multiple definition for property '" + std::string(option) + "'"));
  }
  slot = std::move(value);
  return true;
}

bool Parser::check_passwords(const ast::RoleOptions& options) {
  if (!options.password || !options.hashed_password) return true;
  return fail_with(Error(ErrorCode::kSyntaxError, "Options 'password' and 'hashed password' are mutually exclusive"));
}

// ACCESS TO ALL DATACENTERS, ACCESS TO DATACENTERS {…}, ACCESS FROM ALL CIDRS, ACCESS FROM CIDRS {…}
bool Parser::role_access(ast::RoleOptions& out) {
  Tok direction = peek(1);
  if (direction != Tok::kTo && direction != Tok::kFrom) return fail_no_viable(1);
  Tok what = direction == Tok::kTo ? Tok::kDatacenters : Tok::kCidrs;
  if (peek(2) != Tok::kAll && peek(2) != what) return fail_no_viable(2);
  decided(3);
  advance();
  advance();
  if (what == Tok::kCidrs) return access_list(what, "CIDR Groups", out.cidr_groups);
  return access_list(what, "DCs", out.datacenters);
}

bool Parser::access_list(Tok what, const char* names, std::optional<std::vector<std::string>>& out) {
  bool all = accept(Tok::kAll);
  if (!expect(what)) return false;
  std::string complaint;
  if (all && out && !out->empty()) complaint = std::string(names) + " have already been set";
  if (!all && out && out->empty()) complaint = "All has been set";
  if (!out) out.emplace();
  if (!all) {
    if (!expect(Tok::kLeftBrace)) return false;
    if (!list([&] { return expect_value(Tok::kStringLiteral, out->emplace_back()); })) return false;
    if (!expect(Tok::kRightBrace)) return false;
  }
  if (complaint.empty()) return true;
  return fail_with(Error(ErrorCode::kSyntaxError, "Failed parsing statement: [" + std::string(text_) +
                                                      "] reason: IllegalArgumentException " + complaint));
}

bool Parser::add_identity(ast::AddIdentity& out) {
  return expect(Tok::kAdd, Tok::kIdentity) && if_not_exists(out.if_not_exists) &&
         deprecated_name(kBadIdentity, out.identity) && expect(Tok::kTo, Tok::kRole) &&
         deprecated_name(kBadIdentity, out.role);
}

bool Parser::drop_identity(ast::DropIdentity& out) {
  return expect(Tok::kDrop, Tok::kIdentity) && if_exists(out.if_exists) && deprecated_name(kBadIdentity, out.identity);
}

// GRANT, REVOKE, LIST

// ALL, UNMASK and SELECT_MASKED may be roles: they are when TO or FROM comes next.
bool Parser::grant_or_revoke_statement(ast::Statement::Body& out) {
  bool grant = at(Tok::kGrant);
  Tok second = peek(1);
  bool is_role = (kNames | TokenSet{Tok::kStringLiteral, Tok::kQuestionMark}).contains(second);
  bool is_permission = kPermissionTokens.contains(second) || second == Tok::kAll;
  bool seen_two = is_role && is_permission;
  if (seen_two) {
    Tok third = peek(2);
    is_role = third == (grant ? Tok::kTo : Tok::kFrom);
    bool goes_on = second == Tok::kAll ? third == Tok::kPermissions : third == Tok::kPermission || third == Tok::kComma;
    if (!is_role && !goes_on && third != Tok::kOn) return fail_no_viable(2);
  } else if (!is_role && !is_permission) {
    return fail_no_viable(1);
  }
  size_t tokens = seen_two ? 3 : 2;
  if (!is_role) return read(&Parser::grant_permissions, out, tokens);
  return grant ? read(&Parser::grant_role, out, tokens) : read(&Parser::revoke_role, out, tokens);
}

bool Parser::grant_role(ast::GrantRole& out) {
  return expect(Tok::kGrant) && role_name(out.role) && expect(Tok::kTo) && role_name(out.grantee);
}

bool Parser::revoke_role(ast::RevokeRole& out) {
  return expect(Tok::kRevoke) && role_name(out.role) && expect(Tok::kFrom) && role_name(out.revokee);
}

bool Parser::grant_permissions(ast::GrantPermissions& out) {
  out.revoke = accept(Tok::kRevoke);
  if (!out.revoke && !expect(Tok::kGrant)) return false;
  if (!permission_or_all(out.permissions) || !expect(Tok::kOn) || !resource(out.resource)) return false;
  if (!expect(out.revoke ? Tok::kFrom : Tok::kTo) || !role_name(out.role)) return false;
  std::erase_if(out.permissions, [&](Permission p) { return !is_applicable(p, out.resource.kind); });
  if (out.permissions.empty()) {
    note(std::string("Resource type ") + resource_class(out.resource.kind) +
         " does not support any of the requested permissions");
  }
  return true;
}

bool Parser::list_statement(ast::Statement::Body& out) {
  Tok second = peek(1);
  if (second == Tok::kUsers) return read(&Parser::list_users, out);
  if (second == Tok::kRoles) return read(&Parser::list_roles, out);
  if (second == Tok::kAll || kPermissionTokens.contains(second)) return read(&Parser::list_permissions, out);
  return fail_no_viable(1);
}

bool Parser::list_users(ast::ListRoles& out) {
  out.users = true;
  return expect(Tok::kList, Tok::kUsers);
}

bool Parser::list_roles(ast::ListRoles& out) {
  if (!expect(Tok::kList, Tok::kRoles)) return false;
  if (accept(Tok::kOf) && !role_name(out.grantee.emplace())) return false;
  out.recursive = !accept(Tok::kNorecursive);
  return true;
}

bool Parser::list_permissions(ast::ListPermissions& out) {
  if (!expect(Tok::kList) || !permission_or_all(out.permissions)) return false;
  if (accept(Tok::kOn) && !resource(out.resource.emplace())) return false;
  if (accept(Tok::kOf) && !role_name(out.role.emplace())) return false;
  out.recursive = !accept(Tok::kNorecursive);
  return true;
}

bool Parser::permission_or_all(std::vector<Permission>& out) {
  if (accept(Tok::kAll)) {
    accept(Tok::kPermissions);
    out.assign(std::begin(kAllPermissions), std::end(kAllPermissions));
    return true;
  }
  if (!kPermissionTokens.contains(peek())) return fail_no_viable();
  bool ok = list([&] {
    if (!permission(out.emplace_back())) return false;
    accept(Tok::kPermission);
    return true;
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return ok;
}

bool Parser::permission(Permission& out) {
  switch (peek()) {
    case Tok::kCreate:
      out = Permission::kCreate;
      break;
    case Tok::kAlter:
      out = Permission::kAlter;
      break;
    case Tok::kDrop:
      out = Permission::kDrop;
      break;
    case Tok::kSelect:
      out = Permission::kSelect;
      break;
    case Tok::kModify:
      out = Permission::kModify;
      break;
    case Tok::kAuthorize:
      out = Permission::kAuthorize;
      break;
    case Tok::kDescribe:
      out = Permission::kDescribe;
      break;
    case Tok::kExecute:
      out = Permission::kExecute;
      break;
    case Tok::kUnmask:
      out = Permission::kUnmask;
      break;
    case Tok::kSelectMasked:
      out = Permission::kSelectMasked;
      break;
    default:
      return fail_mismatched_set();
  }
  advance();
  return true;
}

// ALL, ROLE, FUNCTION, MBEAN and MBEANS are tables when nothing of theirs follows.
bool Parser::resource(ast::Resource& out) {
  using Kind = ast::Resource::Kind;
  constexpr TokenSet kTableFollow = {Tok::kFrom, Tok::kTo,        Tok::kOf, Tok::kNorecursive,
                                     Tok::kDot,  Tok::kSemicolon, Tok::kEnd};
  constexpr TokenSet kAmbiguous = {Tok::kAll, Tok::kRole, Tok::kFunction, Tok::kMbean, Tok::kMbeans};
  Tok first = peek();
  out.kind = Kind::kTable;
  if (first == Tok::kKeyspace) {
    out.kind = Kind::kKeyspace;
    return decided(1) && expect(Tok::kKeyspace) && keyspace_name(out.name.keyspace);
  }
  if (first == Tok::kColumnfamily) return decided(1) && expect(first) && table_name(out.name);
  if (!kNames.contains(first) && first != Tok::kQuestionMark) return fail_no_viable();
  if (!kAmbiguous.contains(first)) return decided(1) && table_name(out.name);
  if (kTableFollow.contains(peek(1))) return decided(2) && table_name(out.name);
  switch (first) {
    case Tok::kAll:
      return all_resource(out);
    case Tok::kRole:
      if (!(kNames | TokenSet{Tok::kStringLiteral, Tok::kQuestionMark}).contains(peek(1))) return fail_no_viable(1);
      out.kind = Kind::kRole;
      return decided(2) && expect(Tok::kRole) && role_name(out.name.name);
    case Tok::kFunction: {
      if (!(kNames | TokenSet{Tok::kToken, Tok::kQuestionMark}).contains(peek(1))) return fail_no_viable(1);
      out.kind = Kind::kFunction;
      decided(2);
      advance();
      if (!function_name(out.name) || !expect(Tok::kLeftParen)) return false;
      return (!starts_type() || type_list(out.argument_types)) && expect(Tok::kRightParen);
    }
    default:
      return mbean_resource(out);
  }
}

bool Parser::all_resource(ast::Resource& out) {
  using Kind = ast::Resource::Kind;
  switch (peek(1)) {
    case Tok::kKeyspaces:
      out.kind = Kind::kAllKeyspaces;
      break;
    case Tok::kRoles:
      out.kind = Kind::kAllRoles;
      break;
    case Tok::kMbeans:
      out.kind = Kind::kAllMbeans;
      break;
    case Tok::kFunctions:
      return all_functions_resource(out);
    case Tok::kTables:
      out.kind = Kind::kAllTables;
      return decided(2) && expect(Tok::kAll, Tok::kTables) && expect(Tok::kIn, Tok::kKeyspace) &&
             keyspace_name(out.name.keyspace);
    default:
      return fail_no_viable(1);
  }
  decided(2);
  advance();
  advance();
  return true;
}

bool Parser::all_functions_resource(ast::Resource& out) {
  using Kind = ast::Resource::Kind;
  constexpr TokenSet kFollow = {Tok::kFrom, Tok::kTo, Tok::kOf, Tok::kNorecursive, Tok::kSemicolon, Tok::kEnd};
  decided(2);
  Tok third = peek(2);
  if (third != Tok::kIn && !kFollow.contains(third)) return fail_no_viable(2);
  out.kind = third == Tok::kIn ? Kind::kAllFunctionsInKeyspace : Kind::kAllFunctions;
  if (!expect(Tok::kAll, Tok::kFunctions) || !accept(Tok::kIn)) return third != Tok::kIn;
  return expect(Tok::kKeyspace) && keyspace_name(out.name.keyspace);
}

// MBEAN takes a JMX object name, MBEANS a pattern of them.
bool Parser::mbean_resource(ast::Resource& out) {
  bool plural = at(Tok::kMbeans);
  if (peek(1) != Tok::kStringLiteral) return fail_no_viable(1);
  out.kind = plural ? ast::Resource::Kind::kMbeans : ast::Resource::Kind::kMbean;
  decided(2);
  advance();
  std::string& name = out.name.name;
  if (!expect_value(Tok::kStringLiteral, name)) return false;
  if (name.empty()) {
    note("Empty JMX object name supplied");
  } else if (name == "*:*") {
    note("Please use ALL MBEANS instead of wildcard pattern");
  } else if (name.find_first_of("=*", name.find(':')) == std::string::npos) {
    note(name + " is not a valid JMX object name");
  } else if (plural && name.find_first_of("*?") == std::string::npos) {
    note("Plural form used, but non-pattern JMX object name specified (" + name + ")");
  }
  return true;
}

}  // namespace cassandra_like
