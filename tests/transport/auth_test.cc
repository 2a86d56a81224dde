// Logging in, with hashes of libxcrypt.
#include <crypt.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transport/harness.h"

namespace cassandra_like::transport_test {
namespace {

struct RoleRow {
  std::string salted_hash;
  bool can_login = true;
  bool is_superuser = false;
  std::vector<std::string> member_of = {};
};

class Login : public testing::Test {
 protected:
  Login() : test(options()) {
    roles["ann"] = {hash_of("secret")};
    roles["root"] = {.salted_hash = hash_of("toor"), .is_superuser = true};
    roles["nobody"] = {.salted_hash = hash_of("secret"), .can_login = false};
    test.processor.on_internal = [this](std::string text, std::vector<Bytes> values) {
      if (text.starts_with("SELECT role, ")) return grants_of(values[0]);
      EXPECT_EQ(text, "SELECT salted_hash, can_login, is_superuser FROM system_auth.roles WHERE role = ?");
      RowsResult rows;
      rows.metadata = make_result_metadata({});
      if (auto role = roles.find(values[0]); role != roles.end()) {
        rows.row_count = 1;
        append_element(rows.rows, role->second.salted_hash);
        append_element(rows.rows, BytesView(role->second.can_login ? "\1" : "\0", 1));
        append_element(rows.rows, BytesView(role->second.is_superuser ? "\1" : "\0", 1));
      }
      return Task<Result<QueryResult>>(Result<QueryResult>(QueryResult{.value = std::move(rows)}));
    };
  }

  Task<Result<QueryResult>> grants_of(const std::string& name) {
    RowsResult rows;
    std::vector<ColumnSpec> columns;
    for (const TypePtr& type : {types::text(), types::boolean(), types::boolean(), types::set(types::text(), true)}) {
      columns.push_back({"system_auth", "roles", "", type});
    }
    rows.metadata = make_result_metadata(std::move(columns));
    if (auto role = roles.find(name); role != roles.end()) {
      rows.row_count = 1;
      append_element(rows.rows, name);
      append_element(rows.rows, BytesView(role->second.is_superuser ? "\1" : "\0", 1));
      append_element(rows.rows, BytesView(role->second.can_login ? "\1" : "\0", 1));
      Bytes set;
      append_be(set, static_cast<int32_t>(role->second.member_of.size()));
      for (const std::string& granted : role->second.member_of) append_element(set, granted);
      append_element(rows.rows, set);
    }
    return Task<Result<QueryResult>>(Result<QueryResult>(QueryResult{.value = std::move(rows)}));
  }

  static TransportOptions options() {
    TransportOptions out;
    out.authenticator = "PasswordAuthenticator";
    return out;
  }
  static std::string hash_of(const std::string& password) {
    crypt_data data{};
    return crypt_r(password.c_str(), "$2a$04$abcdefghijklmnopqrstuu", &data);
  }
  static Bytes plain(const std::string& user, const std::string& password) {
    return auth_response_body(std::string("\0", 1) + user + std::string("\0", 1) + password);
  }
  std::string answer_to(TestClient& client, const Bytes& body) {
    client.send(Opcode::kAuthResponse, 1, body);
    test.executor.advance(std::chrono::seconds(1));
    return client.error();
  }

  std::map<std::string, RoleRow> roles;
  TestServer test;
};

TEST_F(Login, WithTheRightPassword) {
  for (int version : {3, 4, 5}) {
    TestClient client(test, version);
    EXPECT_EQ(client.startup.get<ClientAuthenticate>()->class_name, "org.apache.cassandra.auth.PasswordAuthenticator");
    client.query("SELECT");
    EXPECT_EQ(client.error(), "000a Unexpected message QUERY, expecting SASL_RESPONSE");
    EXPECT_EQ(answer_to(client, plain("root", "toor")), "AUTH_SUCCESS");
    client.query("SELECT");
    EXPECT_TRUE(client.response()->get<ClientVoid>());
    EXPECT_EQ(test.processor.last_client->user, "root");
    EXPECT_TRUE(test.processor.last_client->is_superuser);
    EXPECT_EQ(test.server->clients().back().user, "root");
  }
  EXPECT_EQ(test.server->metrics().auth_successes, 3u);
}

TEST_F(Login, OfWhoeverWasGrantedASuperusersRole) {
  roles["operators"] = {.can_login = false, .member_of = {"root"}};
  roles["ann"].member_of = {"readers", "operators"};
  TestClient client(test, 4);
  EXPECT_EQ(answer_to(client, plain("ann", "secret")), "AUTH_SUCCESS");
  client.query("SELECT");
  EXPECT_TRUE(test.processor.last_client->is_superuser);
  roles["operators"].member_of.clear();
  TestClient later(test, 4);
  EXPECT_EQ(answer_to(later, plain("ann", "secret")), "AUTH_SUCCESS");
  later.query("SELECT");
  EXPECT_FALSE(test.processor.last_client->is_superuser);
}

TEST_F(Login, IsRefusedWithTheSameWordsForAWrongUserAndAWrongPassword) {
  TestClient client(test, 4);
  EXPECT_EQ(answer_to(client, plain("ann", "wrong")), "0100 Provided username ann and/or password are incorrect");
  EXPECT_EQ(answer_to(client, plain("bob", "secret")), "0100 Provided username bob and/or password are incorrect");
  EXPECT_EQ(answer_to(client, plain("nobody", "secret")), "0100 nobody is not permitted to log in");
  EXPECT_EQ(answer_to(client, plain("ann", "")), "0100 Password must not be null");
  EXPECT_EQ(answer_to(client, plain("", "secret")), "0100 Authentication ID must not be null");
  EXPECT_EQ(answer_to(client, auth_response_body("nonsense")), "0100 Password must not be null");
  for (const std::string& password : {std::string("secret\0", 7), std::string("sec\0ret", 7)}) {
    EXPECT_EQ(answer_to(client, plain("ann", password)),
              "0100 Credential format error: username or password is empty or contains NUL(\\0) character");
  }
  EXPECT_EQ(answer_to(client, auth_response_body(std::string("a\0b\0ann\0secret", 14))),
            "0100 Credential format error: username or password is empty or contains NUL(\\0) character");
  EXPECT_EQ(test.server->metrics().auth_failures, 9u);
  EXPECT_EQ(answer_to(client, plain("ann", "secret")), "AUTH_SUCCESS");
}

TEST_F(Login, OfAWrongPasswordIsAnsweredLate) {
  TestClient client(test, 4);
  client.send(Opcode::kAuthResponse, 1, plain("ann", "wrong"));
  // Whatever it sends meanwhile is not read.
  client.send(Opcode::kAuthResponse, 2, plain("ann", "wronger"));
  EXPECT_FALSE(client.response());
  test.executor.advance(std::chrono::milliseconds(240));
  EXPECT_FALSE(client.response());
  test.executor.advance(std::chrono::milliseconds(20));
  EXPECT_EQ(client.response()->header.stream, 1);
  EXPECT_FALSE(client.response());
  test.executor.advance(std::chrono::milliseconds(260));
  EXPECT_EQ(client.response()->header.stream, 2);
}

TEST_F(Login, SeesAChangedPasswordAtOnce) {
  TestClient first(test, 4);
  EXPECT_EQ(answer_to(first, plain("ann", "secret")), "AUTH_SUCCESS");
  // Known to be right, so it is not hashed again: the answer is there without a turn of the loop.
  TestClient second(test, 4);
  second.send(Opcode::kAuthResponse, 1, plain("ann", "secret"));
  EXPECT_EQ(second.error(), "AUTH_SUCCESS");
  roles["ann"].salted_hash = hash_of("new");
  TestClient third(test, 4);
  EXPECT_EQ(answer_to(third, plain("ann", "secret")), "0100 Provided username ann and/or password are incorrect");
  EXPECT_EQ(answer_to(third, plain("ann", "new")), "AUTH_SUCCESS");
}

TEST_F(Login, AsksAgainForWhatTheOperatorInvalidates) {
  // Without hashing the password.
  auto is_known = [this](const char* user, const char* password) {
    const int runs = test.blocking.runs;
    TestClient client(test, 4);
    EXPECT_EQ(answer_to(client, plain(user, password)), "AUTH_SUCCESS");
    return test.blocking.runs == runs;
  };
  EXPECT_EQ(test.server->credentials_validity(), std::chrono::seconds(2));
  test.server->set_credentials_validity(std::chrono::hours(1));
  EXPECT_FALSE(is_known("ann", "secret") || is_known("root", "toor"));
  EXPECT_TRUE(is_known("ann", "secret") && is_known("root", "toor"));
  test.server->invalidate_credentials({"ann", "nobody"});
  EXPECT_FALSE(is_known("ann", "secret"));
  EXPECT_TRUE(is_known("root", "toor"));
  test.server->invalidate_credentials({});
  EXPECT_FALSE(is_known("root", "toor"));
  test.server->set_credentials_validity(Duration(0));
  test.server->invalidate_credentials({});
  EXPECT_FALSE(is_known("ann", "secret"));
  EXPECT_FALSE(is_known("ann", "secret"));
}

TEST_F(Login, LeavesOthersTheirTurns) {
  TestClient known(test, 4);
  EXPECT_EQ(answer_to(known, plain("ann", "secret")), "AUTH_SUCCESS");
  roles["slow"] = {.salted_hash = "$2a$08$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"};
  TestClient slow(test, 4);
  Bytes login;
  slow.codec.append(login, Opcode::kAuthResponse, 1, plain("slow", "x"));
  slow.connection->arrive(login);
  // While its hash is computed the loop serves the other client.
  Bytes request;
  known.codec.append(request, Opcode::kOptions, 1, "");
  known.connection->sent.clear();
  known.connection->arrive(request);
  EXPECT_NE(known.connection->sent, "");
  EXPECT_EQ(slow.connection->sent, "");
}

TEST_F(Login, IsOneCheckAtATime) {
  roles["ann"].salted_hash = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 140; ++i) clients.push_back(std::make_unique<TestClient>(test, 4));
  for (auto& client : clients) {
    Bytes login;
    client->codec.append(login, Opcode::kAuthResponse, 1, plain("ann", "wrong"));
    client->connection->arrive(login);
  }
  test.executor.advance(std::chrono::seconds(2));
  std::map<std::string, int> answers;
  for (auto& client : clients) ++answers[client->error()];
  EXPECT_EQ(answers, (std::map<std::string, int>{{"0100 Provided username ann and/or password are incorrect", 129},
                                                 {"1001 Too many logins are waiting", 11}}));
  EXPECT_EQ(test.blocking.under_way, 1);
}

// Nobody could wait for it, nor stop it.
TEST_F(Login, OfAHashOfTooMuchCostIsRefusedWithoutComputingIt) {
  roles["ann"].salted_hash = "$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
  TestClient client(test, 4);
  EXPECT_EQ(answer_to(client, plain("ann", "secret")), "0100 Provided username ann and/or password are incorrect");
}

TEST(Authenticators, ThatAreUnknownAreNamedAtStart) {
  ManualExecutor executor;
  FakeNetwork network;
  FakeRandom random;
  FakeBlocking blocking(executor);
  FakeSchemaStore schema;
  FakeProcessor processor;
  ShardRuntime runtime{executor, executor, network, no_disk(), random, blocking};
  TransportOptions options;
  options.authenticator = "org.apache.cassandra.auth.MutualTlsAuthenticator";
  std::unique_ptr<Server> server = std::make_unique<Server>(runtime, processor, schema, options, &FakeTrace::begin);
  Status status = server->start();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(),
            "authenticator org.apache.cassandra.auth.MutualTlsAuthenticator is not supported yet");
  EXPECT_FALSE(server->running());
}

}  // namespace
}  // namespace cassandra_like::transport_test
