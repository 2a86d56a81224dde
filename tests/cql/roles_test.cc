// Statements about roles, and tracing, by the CQL that they run on the node's own tables.
#include "cql/auth/roles.h"

#include "cql/context/tracing.h"
#include "cql/query_processor.h"
#include "cql/syntax/parser.h"
#include "gtest/gtest.h"
#include "model/values.h"
#include "tests/cql/function_fixture.h"
#include "tests/replica/fixture/replica_node.h"

namespace cassandra_like {
namespace {

// Only the number of columns counts here.
const ColumnSpec kText{"", "", "", types::text()};

// A row of system_auth.roles.
struct StoredRole {
  bool is_superuser = false, can_login = false;
  std::vector<std::string> member_of;
  std::optional<int64_t> password_micros;  // when it was set
};

// Answers the queries of roles.cc out of a map and writes down everything else.
class RoleProcessor : public IdleServices {
 public:
  RoleProcessor(ShardRuntime& runtime, CqlOptions options) : IdleServices(runtime), options_(std::move(options)) {}

  Task<Result<QueryResult>> execute_internal(std::string text, std::vector<Bytes> values, Consistency) override {
    if (text.rfind("SELECT role", 0) == 0) {
      RowsResult rows{make_result_metadata(std::vector<ColumnSpec>(4, kText)), 0, {}, {}};
      for (const auto& [name, role] : roles) {
        if (values.empty() || values[0] == name) append(rows, name, role);
      }
      return Result<QueryResult>(QueryResult{std::move(rows), {}, {}});
    }
    if (text.rfind("SELECT writetime", 0) == 0) {
      RowsResult rows{make_result_metadata({kText}), 1, {}, {}};
      const std::optional<int64_t> micros = roles[values[0]].password_micros;
      append_element(rows.rows, micros ? BytesView(encode_bigint(*micros)) : kNull);
      return Result<QueryResult>(QueryResult{std::move(rows), {}, {}});
    }
    if (text.rfind("SELECT member", 0) == 0) {
      RowsResult rows{make_result_metadata({kText}), 0, {}, {}};
      for (const auto& [name, role] : roles) {
        for (const std::string& of : role.member_of) {
          if (of != values[0]) continue;
          ++rows.row_count;
          append_element(rows.rows, name);
        }
      }
      return Result<QueryResult>(QueryResult{std::move(rows), {}, {}});
    }
    written.push_back(text);
    written_values.push_back(std::move(values));
    return Result<QueryResult>(QueryResult{VoidResult{}, {}, {}});
  }
  const CqlOptions& options() const override { return options_; }

  std::map<std::string, StoredRole> roles;
  std::vector<std::string> written;
  std::vector<std::vector<Bytes>> written_values;

 private:
  static void append(RowsResult& rows, const std::string& name, const StoredRole& role) {
    ++rows.row_count;
    append_element(rows.rows, name);
    append_element(rows.rows, Bytes(1, role.is_superuser ? '\1' : '\0'));
    append_element(rows.rows, Bytes(1, role.can_login ? '\1' : '\0'));
    if (role.member_of.empty()) return append_element(rows.rows, kNull);
    Bytes set;
    append_be<int32_t>(set, static_cast<int32_t>(role.member_of.size()));
    for (const std::string& of : role.member_of) append_element(set, of);
    append_element(rows.rows, set);
  }
  CqlOptions options_;
};

class RolesTest : public testing::Test {
 protected:
  RolesTest() : world_(SimWorld::create(1)), runtime_(world_->add_machine("10.0.0.1").boot(1).shard(0)) {
    config_.authenticator = "PasswordAuthenticator";
    processor_ = std::make_unique<RoleProcessor>(runtime_, config_);
    client_.user = "cassandra";
    client_.is_superuser = true;
  }

  // "ok", the rows in hex, or the error's code and message.
  std::string run(const std::string& text) {
    auto parsed = parse_statement(text);
    if (!parsed.ok()) return parsed.error().message();
    PrepareContext prepare(std::make_shared<Schema>(), "", text, {}, config_);
    auto statement = prepare_role_statement(*parsed, prepare);
    if (!statement.ok()) return statement.error().message();
    if (Status status = (*statement)->validate(client_); !status.ok()) return status.error().message();
    Arena arena;
    QueryOptions options;
    ExecutionContext context{*processor_, coordinator_, runtime_, config_, client_, options, arena, nullptr, {}, 0, 0};
    Task<Result<QueryResult>> task = (*statement)->execute(context);
    Result<QueryResult> result = invalid("not finished");
    bool finished = false;
    spawn(finish(std::move(task), &result, &finished));
    world_->run_until([&finished] { return finished; }, std::chrono::seconds(1));
    if (!result.ok()) return result.error().message();
    const auto* rows = std::get_if<RowsResult>(&result->value);
    return rows == nullptr ? "ok" : std::to_string(rows->row_count) + " rows " + to_hex(rows->rows);
  }
  static Task<void> finish(Task<Result<QueryResult>> task, Result<QueryResult>* result, bool* finished) {
    Result<QueryResult> value = co_await task;
    *result = std::move(value);
    *finished = true;
  }
  void create_default() {
    std::optional<Status> result;
    auto finish = [](Task<Status> task, std::optional<Status>* result) -> Task<void> { *result = co_await task; };
    spawn(finish(create_default_role(processor_.get()), &result));
    ASSERT_TRUE(world_->run_until([&result] { return result.has_value(); }, std::chrono::seconds(1)));
    EXPECT_TRUE(result->ok());
  }

  std::unique_ptr<SimWorld> world_;
  ShardRuntime& runtime_;
  CqlOptions config_;
  IdleCoordinator coordinator_;
  ClientState client_;
  std::unique_ptr<RoleProcessor> processor_;
};

TEST_F(RolesTest, AreCreatedWithWhatWasGiven) {
  processor_->roles["cassandra"] = {true, true, {}};
  EXPECT_EQ(run(std::string("CREATE ROLE nul WITH PASSWORD = 'a\0b'", 37)),
            "A password must not contain NUL: nobody could log in with it");
  EXPECT_EQ(
      run("CREATE ROLE slow WITH HASHED PASSWORD = '$2a$21$vbfmLdkQdUz3Rmw.fF7Ygu6GuphqHndpJKTvElqAciUJ4SZ3pwquu'"),
      "A hashed password with a cost of more than 20 is not supported: each login would take minutes");
  EXPECT_EQ(run("CREATE ROLE reader WITH LOGIN = true AND PASSWORD = 'secret'"), "ok");
  EXPECT_EQ(run("CREATE USER admin WITH PASSWORD 'secret' SUPERUSER"), "ok");
  EXPECT_EQ(run("CREATE ROLE nobody"), "ok");
  const std::string with_hash =
      "INSERT INTO system_auth.roles (role, is_superuser, can_login, salted_hash) VALUES (?, ?, ?, ?)";
  const std::string without = "INSERT INTO system_auth.roles (role, is_superuser, can_login) VALUES (?, ?, ?)";
  EXPECT_EQ(processor_->written, (std::vector<std::string>{with_hash, with_hash, without}));
  const auto& reader = processor_->written_values[0];
  EXPECT_EQ(reader[0] + to_hex(reader[1]) + to_hex(reader[2]), "reader0001");
  EXPECT_EQ(reader[3].substr(0, 7), "$2a$10$");
  EXPECT_EQ(reader[3].size(), 60u);
  const auto& admin = processor_->written_values[1];
  EXPECT_EQ(admin[0] + to_hex(admin[1]) + to_hex(admin[2]), "admin0101");
  EXPECT_NE(reader[3], admin[3]);  // salted
}

// The role counts as it is now, not as it was when the connection logged in.
TEST_F(RolesTest, AreSuperusersByWhatIsGrantedToThem) {
  processor_->roles["root"] = {true, false, {}};
  processor_->roles["cassandra"] = {false, true, {"operators"}};
  processor_->roles["operators"] = {false, false, {}};
  processor_->roles["reader"] = {false, true, {}};
  const std::string kCreate = "CREATE ROLE x WITH SUPERUSER = true", kAlter = "ALTER ROLE reader WITH SUPERUSER = true";
  EXPECT_EQ(run(kCreate), "Only superusers can create a role with superuser status");
  EXPECT_EQ(run(kAlter), "Only superusers are allowed to alter superuser status");
  EXPECT_EQ(run("DROP ROLE root"), "Only superusers can drop a role with superuser status");
  EXPECT_TRUE(processor_->written.empty());
  client_.is_superuser = false;
  processor_->roles["operators"].member_of = {"root"};
  EXPECT_EQ(run(kCreate), "ok");
  EXPECT_EQ(run(kAlter), "ok");
  EXPECT_EQ(run("DROP ROLE root"), "ok");
}

TEST_F(RolesTest, NeedALogin) {
  client_ = ClientState();
  for (const char* text : {"CREATE ROLE x", "DROP ROLE x", "LIST ROLES", "LIST USERS", "GRANT a TO b",
                           "GRANT SELECT ON ALL KEYSPACES TO b", "LIST ALL PERMISSIONS"}) {
    EXPECT_EQ(run(text), "You have to be logged in and not anonymous to perform this request") << text;
  }
  EXPECT_EQ(run("CREATE ROLE ''"), "Role name can't be an empty string");
  EXPECT_EQ(run("ALTER ROLE x"), "ALTER [ROLE|USER] can't be empty");
  EXPECT_EQ(run("CREATE ROLE x WITH OPTIONS = {'a': 'b'}"),
            "org.apache.cassandra.auth.CassandraRoleManager doesn't support OPTIONS");
  EXPECT_TRUE(processor_->written.empty());
}

TEST_F(RolesTest, HaveNoPasswordsWithoutAnAuthenticatorForThem) {
  config_.authenticator = "AllowAllAuthenticator";
  EXPECT_EQ(run("CREATE ROLE x WITH PASSWORD = 'a'"),
            "org.apache.cassandra.auth.CassandraRoleManager doesn't support PASSWORD");
  EXPECT_EQ(run("ALTER ROLE x WITH HASHED PASSWORD = '$2a$'"),
            "org.apache.cassandra.auth.CassandraRoleManager doesn't support HASHED_PASSWORD");
}

TEST_F(RolesTest, RefuseWhatDoesNotFit) {
  processor_->roles["reader"] = {false, true, {"group"}};
  processor_->roles["group"] = {};
  processor_->roles["cassandra"] = {true, true, {}};
  EXPECT_EQ(run("CREATE ROLE reader"), "reader already exists");
  EXPECT_EQ(run("CREATE ROLE IF NOT EXISTS reader"), "ok");
  EXPECT_EQ(run("DROP ROLE nosuch"), "nosuch doesn't exist");
  EXPECT_EQ(run("DROP ROLE IF EXISTS nosuch"), "ok");
  EXPECT_EQ(run("DROP ROLE cassandra"), "Cannot DROP primary role for current login");
  EXPECT_EQ(run("ALTER ROLE nosuch WITH LOGIN = true"), "Role nosuch doesn't exist");
  EXPECT_EQ(run("ALTER ROLE cassandra WITH SUPERUSER = false"),
            "You aren't allowed to alter your own superuser status or that of a role granted to you");
  EXPECT_EQ(run("GRANT group TO reader"), "reader is a member of group");
  EXPECT_EQ(run("GRANT reader TO group"), "reader is a member of group");
  EXPECT_EQ(run("REVOKE reader FROM group"), "group is not a member of reader");
  EXPECT_EQ(run("GRANT nosuch TO group"), "nosuch doesn't exist");
  EXPECT_EQ(run("LIST ROLES OF nosuch"), "<role nosuch> doesn't exist");
  EXPECT_EQ(run("ADD IDENTITY 'a' TO ROLE 'reader'"), "ADD IDENTITY is not supported yet");
  EXPECT_TRUE(processor_->written.empty());
}

TEST_F(RolesTest, KeepAPasswordForFiveSeconds) {
  auto now = [&] { return runtime_.clock.wall_micros(); };
  processor_->roles["cassandra"] = {true, true, {}};
  processor_->roles["reader"] = {false, true, {}, now() - 4'900'000};
  const std::string refused = "Password for role reader can only be changed every 5000ms.";
  EXPECT_EQ(run("ALTER ROLE reader WITH PASSWORD = 'b'"), refused);
  EXPECT_EQ(run("ALTER USER reader WITH PASSWORD 'b' SUPERUSER"), refused);
  EXPECT_TRUE(processor_->written.empty());
  EXPECT_EQ(run("ALTER ROLE reader WITH LOGIN = false"), "ok");
  EXPECT_EQ(
      run("ALTER ROLE reader WITH HASHED PASSWORD = '$2a$10$vbfmLdkQdUz3Rmw.fF7Ygu6GuphqHndpJKTvElqAciUJ4SZ3pwquu'"),
      "ok");
  processor_->roles["reader"].password_micros = now() - 5'100'000;
  EXPECT_EQ(run("ALTER ROLE reader WITH PASSWORD = 'b'"), "ok");
  processor_->roles["reader"].password_micros.reset();
  EXPECT_EQ(run("ALTER ROLE reader WITH PASSWORD = 'c'"), "ok");
}

TEST_F(RolesTest, KnowTheirMembers) {
  processor_->roles["reader"] = {false, true, {}};
  processor_->roles["group"] = {};
  EXPECT_EQ(run("GRANT group TO reader"), "ok");
  EXPECT_EQ(processor_->written,
            (std::vector<std::string>{"UPDATE system_auth.roles SET member_of = member_of + ? WHERE role = ?",
                                      "INSERT INTO system_auth.role_members (role, member) VALUES (?, ?)"}));
  EXPECT_EQ(to_hex(processor_->written_values[0][0]), "000000010000000567726f7570");
  processor_->written.clear();
  processor_->roles["reader"].member_of = {"group"};
  EXPECT_EQ(run("DROP ROLE group"), "ok");
  EXPECT_EQ(processor_->written,
            (std::vector<std::string>{"DELETE FROM system_auth.roles WHERE role = ?",
                                      "UPDATE system_auth.roles SET member_of = member_of - ? WHERE role = ?",
                                      "DELETE FROM system_auth.role_members WHERE role = ?"}));
}

TEST_F(RolesTest, AreListedInOrder) {
  processor_->roles["b"] = {false, true, {"a"}};
  processor_->roles["a"] = {true, false, {}};
  EXPECT_EQ(run("LIST ROLES"),
            "2 rows 0000000161"
            "0000000101"
            "0000000100"
            "0000000400000000"
            "00000003414c4c"
            "0000000162"
            "0000000100"
            "0000000101"
            "0000000400000000"
            "00000003414c4c");
  // A user is a superuser by a role that it has.
  EXPECT_EQ(run("LIST USERS"),
            "1 rows 0000000162"
            "0000000101"
            "00000003414c4c");
}

TEST_F(RolesTest, DefaultIsCreatedOnce) {
  create_default();
  ASSERT_EQ(processor_->written.size(), 1u);
  EXPECT_EQ(processor_->written[0],
            "INSERT INTO system_auth.roles (role, is_superuser, can_login, salted_hash) VALUES (?, true, true, ?) "
            "USING TIMESTAMP 0");
  EXPECT_EQ(processor_->written_values[0][0], "cassandra");
  processor_->roles["anyone"] = {};
  create_default();
  EXPECT_EQ(processor_->written.size(), 1u);
}

// Keyspaces and tables that a statement names beside roles are looked for in a whole node.
class RolesOfANode : public testing::Test {
 protected:
  RolesOfANode() {
    processor->set_peers({processor.get()});
    client.user = "cassandra";
    client.is_superuser = true;
    const std::string self =
        "INSERT INTO system_auth.roles (role, is_superuser, can_login) VALUES ('cassandra', true, true)";
    auto made =
        node.run<Result<QueryResult>>(0, [&] { return processor->execute_internal(self, {}, Consistency::kOne); });
    EXPECT_TRUE(made.ok());
    run("CREATE ROLE reader");
  }
  ~RolesOfANode() override { node.kill(); }
  static CqlOptions options() {
    CqlOptions options;
    options.authenticator = "PasswordAuthenticator";
    return options;
  }
  // "" or the error.
  std::string run(const std::string& text) {
    QueryOptions options;
    auto done = node.run<Result<QueryResult>>(0, [&] { return processor->query(text, options, QueryState{client}); });
    return done.ok() ? "" : done.error().message();
  }

  test::ReplicaNode node{1};
  std::unique_ptr<Coordinator> coordinator = Coordinator::create(node.runtime(0), node.on(0), {});
  std::unique_ptr<QueryProcessor> processor = QueryProcessor::create(node.runtime(0), *coordinator, options());
  ClientState client;
};

TEST_F(RolesOfANode, MayBeOfItsDataCenterAlone) {
  auto refusal = [](const std::string& names) {
    return "Invalid value(s) for DATACENTERS '[" + names + "]',All values must be valid datacenters";
  };
  EXPECT_EQ(run("CREATE ROLE x WITH ACCESS TO DATACENTERS {'nope'}"), refusal("nope"));
  EXPECT_EQ(run("ALTER ROLE nope WITH ACCESS TO DATACENTERS {'b', 'a'}"), refusal("a, b"));
  EXPECT_EQ(run("CREATE ROLE x WITH ACCESS TO ALL DATACENTERS"), "");
  EXPECT_EQ(run("CREATE ROLE y WITH ACCESS TO DATACENTERS {'datacenter1'}"), "");
  EXPECT_EQ(run("ALTER ROLE x WITH ACCESS TO DATACENTERS {'datacenter1'}"),
            "ACCESS TO DATACENTERS operations not supported by AllowAllNetworkAuthorizer");
}

TEST_F(RolesOfANode, HavePermissionsOnWhatIsThere) {
  EXPECT_EQ(run("GRANT SELECT ON KEYSPACE nope TO nobody"), "Role nobody doesn't exist");
  EXPECT_EQ(run("GRANT SELECT ON KEYSPACE nope TO reader"), "Resource <keyspace nope> doesn't exist");
  EXPECT_EQ(run("REVOKE ALL ON system.nope FROM reader"), "Resource <table system.nope> doesn't exist");
  EXPECT_EQ(run("GRANT SELECT ON nope TO reader"),
            "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename");
  EXPECT_EQ(run("GRANT ALTER ON ROLE nobody TO reader"), "Resource <role nobody> doesn't exist");
  EXPECT_EQ(run("LIST SELECT ON nope.t OF nobody"), "<table nope.t> doesn't exist");
  EXPECT_EQ(run("LIST ALL PERMISSIONS OF nobody"), "<role nobody> doesn't exist");
  for (const char* text : {"GRANT SELECT ON system.local TO reader", "GRANT ALTER ON ROLE reader TO reader",
                           "GRANT SELECT ON ALL KEYSPACES TO reader"}) {
    EXPECT_EQ(run(text),
              "java.lang.UnsupportedOperationException: GRANT operation is not supported by "
              "AllowAllAuthorizer");
  }
  EXPECT_EQ(run("LIST ALL PERMISSIONS OF reader"), "LIST PERMISSIONS operation is not supported by AllowAllAuthorizer");
}

}  // namespace
}  // namespace cassandra_like
