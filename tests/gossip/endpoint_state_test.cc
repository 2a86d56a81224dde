// The texts of application states, as Cassandra makes them and as they are parsed.
#include "gossip/endpoint_state.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gossip/modified_utf8.h"
#include "messaging/wire/endpoint_codec.h"
#include "tests/gossip/gossip_testing.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;
using state_values::ParsedStatus;
using state_values::StatusWord;

constexpr int64_t kExpires = 1'700'000'000'123;
const std::vector<Token> kTokens = {-9223372036854775807, -1, 0, 1, 255, 4611686018427387904};
const Uuid kHost = *Uuid::parse("12345678-9abc-4def-8123-456789abcdef");
const InetAddressAndPort kOld = *InetAddressAndPort::parse("10.0.0.7:7010");
const InetAddressAndPort kOld6 = *InetAddressAndPort::parse("[fd00::7]:7010");

TEST(StateValues, AreThoseThatCassandraMakes) {
  const std::map<std::string, std::string> ours = {
      {"BOOT", state_values::bootstrapping(kTokens)},
      {"BOOT_REPLACE", state_values::boot_replacing(kOld)},
      {"BOOT_REPLACE with port", state_values::boot_replacing_with_port(kOld)},
      {"BOOT_REPLACE of IPv6 with port", state_values::boot_replacing_with_port(kOld6)},
      {"NORMAL", state_values::normal(kTokens)},
      {"LEAVING", state_values::leaving(kTokens)},
      {"LEFT", state_values::left(kTokens, kExpires)},
      {"MOVING", state_values::moving(kTokens[5])},
      {"removing", state_values::removing(kHost)},
      {"removed", state_values::removed(kHost, kExpires)},
      {"hibernate", state_values::hibernate(true)},
      {"shutdown", state_values::shutdown(true)},
      {"TOKENS", state_values::tokens(kTokens)},
      {"TOKENS of nobody", state_values::tokens({})},
      {"REMOVAL_COORDINATOR", state_values::removal_coordinator(kHost)},
      {"RPC_READY", state_values::boolean(false)},
      {"LOAD", state_values::number(123456789.0)},
      {"SEVERITY", state_values::number(0.0)},
      {"INTERNAL_IP", state_values::address(kOld6)},
      {"INTERNAL_ADDRESS_AND_PORT", state_values::address_and_port(kOld6)},
      {"NATIVE_ADDRESS_AND_PORT", state_values::address_and_port(*InetAddressAndPort::parse("10.0.0.7:9042"))},
  };
  EXPECT_EQ(ours, oracle().values);
}

TEST(StateValues, StatusesThatCassandraMakesAreParsed) {
  auto parsed = [](const char* name) { return *state_values::parse_status(oracle().values.at(name)); };
  const Token first = kTokens[0];
  InetAddressAndPort old_without_port = kOld;
  old_without_port.port = kDefaultStoragePort;
  EXPECT_EQ(parsed("BOOT"), (ParsedStatus{StatusWord::kBoot, first, {}, {}, {}}));
  EXPECT_EQ(parsed("BOOT_REPLACE"), (ParsedStatus{StatusWord::kBootReplace, {}, old_without_port, {}, {}}));
  EXPECT_EQ(parsed("BOOT_REPLACE with port"), (ParsedStatus{StatusWord::kBootReplace, {}, kOld, {}, {}}));
  EXPECT_EQ(parsed("BOOT_REPLACE of IPv6 with port"), (ParsedStatus{StatusWord::kBootReplace, {}, kOld6, {}, {}}));
  EXPECT_EQ(parsed("NORMAL"), (ParsedStatus{StatusWord::kNormal, first, {}, {}, {}}));
  EXPECT_EQ(parsed("LEAVING"), (ParsedStatus{StatusWord::kLeaving, first, {}, {}, {}}));
  EXPECT_EQ(parsed("LEFT"), (ParsedStatus{StatusWord::kLeft, first, {}, {}, kExpires}));
  EXPECT_EQ(parsed("MOVING"), (ParsedStatus{StatusWord::kMoving, kTokens[5], {}, {}, {}}));
  EXPECT_EQ(parsed("removing"), (ParsedStatus{StatusWord::kRemoving, {}, {}, kHost, {}}));
  EXPECT_EQ(parsed("removed"), (ParsedStatus{StatusWord::kRemoved, {}, {}, kHost, kExpires}));
  EXPECT_EQ(parsed("hibernate").status, StatusWord::kHibernate);
  EXPECT_EQ(parsed("shutdown").status, StatusWord::kShutdown);
  EXPECT_EQ(*state_values::parse_tokens(oracle().values.at("TOKENS")), kTokens);
  EXPECT_EQ(*state_values::parse_removal_coordinator(oracle().values.at("REMOVAL_COORDINATOR")), kHost);
}

TEST(StateValues, AStatusThatLacksWhatBelongsToItIsRefusedWithItsText) {
  for (const char* text : {"LEFT,5", "LEFT,5,", "LEFT,5,soon", "MOVING", "MOVING,x", "removed", "BOOT_REPLACE",
                           "BOOT_REPLACE,nowhere", "removed,12345678-9abc-4def-8123-456789abcdef"}) {
    auto parsed = state_values::parse_status(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().message(), "Malformed status in gossip: '" + std::string(text) + "'");
  }
  EXPECT_EQ(state_values::parse_status("")->status, StatusWord::kNone);
  EXPECT_EQ(state_values::parse_status("DANCING,5")->status, StatusWord::kOther);
}

TEST(StateValues, TokensThatAreCutOrOfAnotherSizeAreRefused) {
  const std::string whole = state_values::tokens(kTokens);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(state_values::parse_tokens(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(state_values::parse_tokens(std::string("\0\0\0\x04"
                                                      "abcd\0\0\0\0",
                                                      12))
                   .ok());
  EXPECT_FALSE(state_values::parse_tokens("\u20ac").ok());
}

TEST(StateValues, SstableVersionsAreAList) {
  const std::vector<std::string> versions = {"big-nb", "bti-da"};
  EXPECT_EQ(state_values::sstable_versions(versions), "big-nb,bti-da");
  EXPECT_EQ(state_values::parse_sstable_versions("big-nb,bti-da"), versions);
}

TEST(EndpointState, TheStatusWithPortCountsBeforeTheOneWithout) {
  EndpointState state;
  EXPECT_EQ(state.status(), "");
  state.states[ApplicationState::kStatus] = {"LEAVING,5", 1};
  EXPECT_EQ(state.status(), "LEAVING");
  state.states[ApplicationState::kStatusWithPort] = {"NORMAL,5", 2};
  EXPECT_EQ(state.status(), "NORMAL");
}

TEST(EndpointState, TheGreatestVersionIsThatOfTheHeartbeatOrOfAValue) {
  EndpointState state = state_of(5, 7, {});
  EXPECT_EQ(state.max_version(), 7);
  state.states[ApplicationState::kLoad] = {"1.0", 9};
  EXPECT_EQ(state.max_version(), 9);
}

TEST(EndpointState, AStateGoesWhenItsSuccessorWithPortIsThere) {
  EndpointState state = state_of(1, 1,
                                 {{ApplicationState::kStatus, "NORMAL,1"},
                                  {ApplicationState::kInternalIp, "10.0.0.1"},
                                  {ApplicationState::kRpcAddress, "10.0.0.1"},
                                  {ApplicationState::kNativeAddressAndPort, "10.0.0.1:9042"},
                                  {ApplicationState::kStatusWithPort, "NORMAL,1"}});
  state.remove_legacy_states();
  std::vector<std::string_view> left;
  for (const auto& [key, value] : state.states) left.push_back(application_state_name(key));
  EXPECT_EQ(left, (std::vector<std::string_view>{"INTERNAL_IP", "NATIVE_ADDRESS_AND_PORT", "STATUS_WITH_PORT"}));
}

TEST(EndpointState, WhoIsDeadWhoIsSilentWhoJoins) {
  auto with = [](const char* status) { return state_of(1, 1, {{ApplicationState::kStatusWithPort, status}}); };
  for (const char* status : {"removing,x", "removed,x,1", "LEFT,1,1", "hibernate,true"}) {
    EXPECT_TRUE(is_dead_state(with(status))) << status;
    EXPECT_TRUE(is_silent_shutdown_state(with(status))) << status;
  }
  for (const char* status : {"BOOT,1", "BOOT_REPLACE,10.0.0.1"}) {
    EXPECT_FALSE(is_dead_state(with(status))) << status;
    EXPECT_TRUE(is_silent_shutdown_state(with(status))) << status;
    EXPECT_TRUE(is_bootstrapping_state(with(status))) << status;
  }
  for (const char* status : {"NORMAL,1", "LEAVING,1", "MOVING,1", "shutdown,true", ""}) {
    EXPECT_FALSE(is_dead_state(with(status))) << status;
    EXPECT_FALSE(is_silent_shutdown_state(with(status))) << status;
  }
}

TEST(InetAddressAndPort, SortsAsInCassandra) {
  std::vector<InetAddressAndPort> endpoints;
  for (const std::string& text : oracle().order) endpoints.push_back(*InetAddressAndPort::parse(text));
  std::reverse(endpoints.begin(), endpoints.end());
  std::sort(endpoints.begin(), endpoints.end());
  std::vector<std::string> sorted;
  for (const InetAddressAndPort& endpoint : endpoints) sorted.push_back(endpoint.host_and_port());
  EXPECT_EQ(sorted, oracle().order);
}

TEST(InetAddressAndPort, ParsesAddressesWithAndWithoutPorts) {
  EXPECT_EQ(InetAddressAndPort::parse("10.0.0.1", 7001)->host_and_port(), "10.0.0.1:7001");
  EXPECT_EQ(InetAddressAndPort::parse("10.0.0.1:99", 7001)->host_and_port(), "10.0.0.1:99");
  EXPECT_EQ(InetAddressAndPort::parse("::1", 7001)->host_and_port(), "[0:0:0:0:0:0:0:1]:7001");
  EXPECT_EQ(InetAddressAndPort::parse("[::1]:99", 7001)->host_and_port(), "[0:0:0:0:0:0:0:1]:99");
  for (const char* text : {"", "seed.example", "10.0.0.1:", "10.0.0.1:70000", "[::1", "[::1]x", "10.0.0.x"}) {
    EXPECT_FALSE(InetAddressAndPort::parse(text).has_value()) << text;
  }
}

TEST(ModifiedUtf8, ReadsBackWhatItWrites) {
  for (std::string_view text :
       {std::string_view("plain"), std::string_view("a\0b", 3), std::string_view("\u00fc\u20ac"),
        std::string_view("\U0001F600"), std::string_view("\xED\xA0\x80x"),
        std::string_view("sixteen letters and more\xED\xA0\x80x\u00fc\xED\xB0\x80\U0001F600 and more of them")}) {
    Bytes bytes;
    append_utf(bytes, text);
    EXPECT_EQ(bytes.size(), 2 + modified_utf8_size(text));
    Reader in(bytes);
    EXPECT_EQ(read_utf(in), text);
    EXPECT_TRUE(in.at_end() && !in.failed());
  }
}

TEST(ModifiedUtf8, RefusesWhatJavaRefuses) {
  for (std::string_view body : {"\x80", "\xC3", "\xC3\x28", "\xE2\x82", "\xF0\x9F\x98\x80", "\xFF"}) {
    Bytes bytes;
    append_be<uint16_t>(bytes, static_cast<uint16_t>(body.size()));
    bytes += body;
    Reader in(bytes);
    read_utf(in);
    EXPECT_TRUE(in.failed()) << to_hex(body);
  }
}

}  // namespace
}  // namespace cassandra_like
