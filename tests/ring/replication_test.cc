// Replicas are where Cassandra 5.0.9 places them, and replication options are refused in its words: those of the
// last tests are the answers of a node to CREATE KEYSPACE.
#include "ring/replication.h"

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cassandra_like {
namespace {

ReplicationParams params(StringPairs options) { return {std::move(options), true}; }

ReplicationStrategy strategy(StringPairs options) {
  auto made = ReplicationStrategy::make(params(std::move(options)));
  EXPECT_TRUE(made.ok()) << made.error().message();
  return *made;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) out.push_back(part);
  return out;
}

Endpoint parse_endpoint(const std::vector<std::string>& fields) {
  Endpoint e;
  e.datacenter = fields[2];
  e.rack = fields[3];
  for (size_t i = 4; i < fields.size(); ++i) e.tokens.push_back(std::stoll(fields[i]));
  return e;
}

StringPairs parse_options(const std::vector<std::string>& fields) {
  StringPairs options{{"class", fields[1]}};
  for (const std::string& option : split(fields[2], ' ')) {
    size_t equals = option.find('=');
    options[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return options;
}

TEST(ReplicationTest, PlacesReplicasWhereCassandraDoes) {
  std::ifstream in(SOURCE_DIR "/tests/ring/data/replicas.txt");
  std::vector<Endpoint> endpoints;
  std::shared_ptr<const TokenRing> ring;
  size_t cases = 0;
  for (std::string line; std::getline(in, line);) {
    auto fields = split(line, '\t');
    if (fields[0] == "ring") endpoints.clear();
    if (fields[0] == "node") {
      endpoints.push_back(parse_endpoint(fields));
      ring = std::make_shared<TokenRing>(endpoints, 0);
    }
    if (fields[0] != "replicas") continue;
    ++cases;
    Token token = std::stoll(fields[3]);
    auto to_text = [](std::span<const EndpointIndex> replicas) {
      std::string text;
      for (EndpointIndex i : replicas) text += std::to_string(i + 1) + " ";
      return text;
    };
    ReplicationStrategy s = strategy(parse_options(fields));
    std::string expected = fields.size() > 4 ? fields[4] : "";
    EXPECT_EQ(to_text(s.replicas(*ring, token)), expected) << line;
    EXPECT_EQ(to_text(ReplicaMap(ring, s).replicas(token)), expected) << line;
  }
  EXPECT_EQ(cases, 494u);
}

TEST(ReplicationTest, LocalStrategyIsThisNode) {
  auto ring = std::make_shared<TokenRing>(std::vector<Endpoint>(3), 2);
  ReplicationStrategy local = strategy({{"class", "org.apache.cassandra.locator.LocalStrategy"}});
  EXPECT_TRUE(local.is_local());
  EXPECT_EQ(local.replication_factor(), 1);
  EXPECT_THAT(local.replicas(*ring, 0), testing::ElementsAre(2u));
  EXPECT_THAT(ReplicaMap(ring, local).replicas(77), testing::ElementsAre(2u));
}

TEST(ReplicationTest, ARingWithoutTokensHasNoReplicas) {
  auto ring = std::make_shared<TokenRing>(std::vector<Endpoint>(1), 0);
  ReplicationStrategy simple = strategy({{"class", "SimpleStrategy"}, {"replication_factor", "3"}});
  EXPECT_THAT(simple.replicas(*ring, 0), testing::IsEmpty());
  EXPECT_THAT(ReplicaMap(ring, simple).replicas(0), testing::IsEmpty());
}

TEST(ReplicationTest, ReplicationFactorsOfDatacenters) {
  ReplicationStrategy network = strategy({{"class", "NetworkTopologyStrategy"}, {"dc1", "3"}, {"dc2", "2"}});
  EXPECT_TRUE(network.is_network_topology());
  EXPECT_EQ(network.replication_factor(), 5);
  EXPECT_EQ(network.replication_factor("dc2"), 2);
  EXPECT_EQ(network.replication_factor("dc3"), 0);
}

ReplicationRequest request(StringPairs options, StringPairs previous = {}) {
  return {"k", std::move(options), std::move(previous), {"datacenter1"}, 1};
}

// The options that are stored, or the error.
std::string answer(const ReplicationRequest& r) {
  auto options = prepare_replication(r);
  if (!options.ok()) return options.error().message();
  std::string text;
  for (const auto& [name, value] : *options) text += name + "=" + value + " ";
  return text;
}
std::string prepared(StringPairs options) { return answer(request(std::move(options))); }

TEST(ReplicationTest, OptionsThatAreTaken) {
  const std::string simple = "class=org.apache.cassandra.locator.SimpleStrategy ";
  const std::string network = "class=org.apache.cassandra.locator.NetworkTopologyStrategy ";
  EXPECT_EQ(prepared({{"class", "SimpleStrategy"}}), simple + "replication_factor=1 ");
  EXPECT_EQ(prepared({{"class", "SimpleStrategy"}, {"replication_factor", "0"}}), simple + "replication_factor=0 ");
  EXPECT_EQ(prepared({{"class", "SimpleStrategy"}, {"replication_factor", "+2"}}), simple + "replication_factor=+2 ");
  EXPECT_EQ(prepared({{"class", "org.apache.cassandra.locator.SimpleStrategy"}, {"replication_factor", "1"}}),
            simple + "replication_factor=1 ");
  EXPECT_EQ(prepared({{"class", "NetworkTopologyStrategy"}}), network + "datacenter1=1 ");
  EXPECT_EQ(prepared({{"class", "NetworkTopologyStrategy"}, {"replication_factor", "1"}}), network + "datacenter1=1 ");
  EXPECT_EQ(prepared({{"class", "NetworkTopologyStrategy"}, {"replication_factor", "2"}, {"datacenter1", "1"}}),
            network + "datacenter1=1 ");
}

TEST(ReplicationTest, AlteringKeepsWhatIsNotNamed) {
  const std::string network = "class=org.apache.cassandra.locator.NetworkTopologyStrategy ";
  ReplicationRequest from_simple =
      request({{"class", "NetworkTopologyStrategy"}}, {{"class", "SimpleStrategy"}, {"replication_factor", "3"}});
  EXPECT_EQ(answer(from_simple), network + "datacenter1=3 ");
  ReplicationRequest one_more = request({{"class", "NetworkTopologyStrategy"}, {"replication_factor", "3"}},
                                        {{"class", "NetworkTopologyStrategy"}, {"datacenter1", "2"}});
  one_more.datacenters = {"datacenter1", "datacenter2"};
  EXPECT_EQ(answer(one_more), network + "datacenter1=2 datacenter2=3 ");
}

TEST(ReplicationTest, OptionsThatAreRefused) {
  EXPECT_EQ(prepared({{"class", "Nope"}, {"replication_factor", "1"}}),
            "Unable to find replication strategy class 'org.apache.cassandra.locator.Nope'");
  EXPECT_EQ(prepared({{"class", "simplestrategy"}, {"replication_factor", "1"}}),
            "Unable to find replication strategy class 'org.apache.cassandra.locator.simplestrategy'");
  EXPECT_EQ(prepared({{"class", ""}}), "Unable to find replication strategy class 'org.apache.cassandra.locator.'");
  EXPECT_EQ(prepared({{"replication_factor", "1"}}), "Missing replication strategy class");
  EXPECT_EQ(prepared({{"class", "LocalStrategy"}}),
            "Unable to use given strategy class: LocalStrategy is reserved for internal use.");
  EXPECT_EQ(prepared({{"class", "OldNetworkTopologyStrategy"}}),
            "The support for the OldNetworkTopologyStrategy has been removed in C* version 4.0. The keyspace strategy "
            "should be switch to NetworkTopologyStrategy");
  auto simple = [](const char* factor) {
    return prepared({{"class", "SimpleStrategy"}, {"replication_factor", factor}});
  };
  EXPECT_EQ(simple("x"), "For input string: \"x\"");
  EXPECT_EQ(simple(" 2"), "For input string: \" 2\"");
  EXPECT_EQ(simple(""), "For input string: \"\"");
  EXPECT_EQ(simple("99999999999"), "For input string: \"99999999999\"");
  EXPECT_EQ(simple("-1"), "Replication factor must be non-negative, found -1");
  EXPECT_EQ(simple("3/1/1"), "Replication factor format is <replicas> or <replicas>/<transient>");
  EXPECT_EQ(simple("3/1"), "Transient replication is not enabled on this node");
  EXPECT_EQ(prepared({{"class", "SimpleStrategy"}, {"replication_factor", "1"}, {"foo", "2"}}),
            "Unrecognized strategy option {foo} passed to SimpleStrategy for keyspace k");
}

TEST(ReplicationTest, NetworkTopologyOptionsThatAreRefused) {
  auto network = [](const char* name, const char* value) {
    return prepared({{"class", "NetworkTopologyStrategy"}, {name, value}});
  };
  EXPECT_EQ(network("nodc", "1"),
            "Unrecognized strategy option {nodc} passed to NetworkTopologyStrategy for keyspace k");
  EXPECT_EQ(network("datacenter1", "x"), "For input string: \"x\"");
  EXPECT_EQ(network("datacenter1", "-1"), "Replication factor must be non-negative, found -1");
  EXPECT_EQ(network("datacenter1", "3/1"), "Transient replication is not enabled on this node");
  const char* none = "Configuration for at least one datacenter must be present";
  EXPECT_EQ(network("datacenter1", "0"), none);
  EXPECT_EQ(network("replication_factor", "0"), none);
  EXPECT_EQ(network("replication_factor", "x"), none);
  EXPECT_EQ(network("replication_factor", "3/1"), none);
  EXPECT_EQ(network("replication_factor", "-2"), none);
  EXPECT_EQ(network("Replication_factor", "1"),
            "replication_factor should not appear as an option at construction time for NetworkTopologyStrategy");

  ReplicationRequest auth = request({{"class", "NetworkTopologyStrategy"}, {"datacenter1", "1"}});
  auth.keyspace = "system_auth";
  auth.datacenters = {"datacenter1", "datacenter2"};
  EXPECT_EQ(answer(auth),
            "Following datacenters have active nodes and must be present in replication options for keyspace "
            "system_auth: [datacenter2]");
}

TEST(ReplicationTest, ErrorsAreThoseOfTheProtocol) {
  auto code = [](StringPairs options) { return prepare_replication(request(std::move(options))).error().code(); };
  EXPECT_EQ(code({{"class", "Nope"}}), ErrorCode::kConfigError);
  EXPECT_EQ(code({{"class", "LocalStrategy"}}), ErrorCode::kInvalid);
}

TEST(ReplicationTest, WarnsOfMoreReplicasThanNodes) {
  Endpoint e;
  e.datacenter = "datacenter1";
  e.tokens = {0};
  TokenRing ring({e}, 0);
  ReplicationStrategy simple = strategy({{"class", "SimpleStrategy"}, {"replication_factor", "3"}});
  EXPECT_THAT(replication_warnings("k", simple, ring),
              testing::ElementsAre("Your replication factor 3 for keyspace k is higher than the number of nodes 1"));
  ReplicationStrategy network = strategy({{"class", "NetworkTopologyStrategy"}, {"datacenter1", "2"}});
  EXPECT_THAT(replication_warnings("k", network, ring),
              testing::ElementsAre("Your replication factor 2 for keyspace k is higher than the number of nodes 1 for "
                                   "datacenter datacenter1"));
  EXPECT_THAT(replication_warnings("system_auth", network, ring), testing::IsEmpty());
}

}  // namespace
}  // namespace cassandra_like
