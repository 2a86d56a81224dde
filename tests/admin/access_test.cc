// The rules of admin/access.h: what each header decides.
#include "admin/access.h"

#include <gtest/gtest.h>

namespace cassandra_like {
namespace {

using admin::check_headers;
using Headers = std::vector<std::pair<std::string, std::string>>;

// The status that the request is refused with; 0: it is not refused.
int refused(const std::string& method, const Headers& headers, bool has_login = false) {
  auto refusal = check_headers(HttpRequest{method, "/v1/version", "", "", headers}, "db1.example.com", has_login);
  return refusal ? refusal->status : 0;
}

TEST(AdminAccess, TakesItsOwnNamesAsHost) {
  for (const char* host : {"127.0.0.1:7199", "127.0.0.1", "localhost:7199", "LocalHost", "[::1]:7199", "10.0.0.5:7199",
                           "db1.example.com:7199", "DB1.example.com"}) {
    EXPECT_EQ(refused("GET", {{"host", host}}), 0) << host;
  }
}

TEST(AdminAccess, RefusesOtherNamesAsHost) {
  for (const char* host : {"evil.example:7199", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "",
                           ":7199", "[", "[evil]", "db1.example.com.:7199"}) {
    EXPECT_EQ(refused("GET", {{"host", host}}), 403) << host;
  }
}

TEST(AdminAccess, TakesAnyHostWithAPassword) {
  EXPECT_EQ(refused("GET", {{"host", "db1.internal"}}, true), 0);
  EXPECT_EQ(refused("GET", {{"host", "db1.internal"}, {"origin", "http://db1.internal"}}, true), 403);
}

TEST(AdminAccess, RefusesWhatAPageSends) {
  EXPECT_EQ(refused("GET", {{"host", "localhost"}, {"origin", "http://localhost"}}), 403);
  EXPECT_EQ(refused("OPTIONS", {{"host", "localhost"}, {"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(refused("GET", {{"host", "localhost"}, {"sec-fetch-site", "same-site"}}), 403);
  EXPECT_EQ(refused("GET", {{"host", "localhost"}, {"sec-fetch-site", "none"}}), 0);  // typed by the user
}

TEST(AdminAccess, ChangesNeedAHeaderThatPagesCannotSend) {
  EXPECT_EQ(refused("POST", {{"host", "localhost"}}), 403);
  EXPECT_EQ(refused("POST", {{"host", "localhost"}, {"x-requested-by", ""}}), 403);
  EXPECT_EQ(refused("POST", {{"host", "localhost"}, {"x-requested-by", "curl"}}), 0);
}

TEST(AdminAccess, KnowsLoopbackAddresses) {
  for (const char* address : {"127.0.0.1", "127.255.0.9", "::1"}) EXPECT_TRUE(admin::is_loopback(address)) << address;
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "fe80::1", "", "localhost"}) {
    EXPECT_FALSE(admin::is_loopback(address)) << address;
  }
}

TEST(AdminAccess, ListensOffLoopbackWithPasswordsAlone) {
  EXPECT_TRUE(admin::check_address("127.0.0.1", false).ok());
  EXPECT_TRUE(admin::check_address("10.0.0.1", true).ok());
  Status refused = admin::check_address("10.0.0.1", false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kConfigError);
  EXPECT_NE(refused.error().message().find("authenticator: PasswordAuthenticator"), std::string::npos);
}

// Base64 as `printf 'user:password' | base64` makes it.
TEST(BasicCredentials, AreUserAndPassword) {
  auto parsed = admin::parse_basic("Basic YWRtaW46cGE6c3M=");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->user, "admin");
  EXPECT_EQ(parsed->password, "pa:ss");
  EXPECT_EQ(admin::parse_basic("basic Og==")->user, "");
  EXPECT_FALSE(admin::parse_basic("Basic YWRtaW4="));  // no colon
  EXPECT_FALSE(admin::parse_basic("Basic YW=RtaW4"));
  EXPECT_FALSE(admin::parse_basic("Basic"));
  EXPECT_FALSE(admin::parse_basic(""));
}

}  // namespace
}  // namespace cassandra_like
