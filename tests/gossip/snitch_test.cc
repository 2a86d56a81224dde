// Where the snitches of cassandra.yaml say that nodes are.
#include "gossip/snitch.h"

#include <gtest/gtest.h>

#include "tests/gossip/gossip_testing.h"

namespace cassandra_like {
namespace {

using namespace gossip_testing;
using Properties = std::map<std::string, std::string>;

const NodeLocation kGossiped{"gossiped dc", "gossiped rack"};
const NodeLocation kNothingGossiped{kUnknownDatacenter, kUnknownRack};

TEST(PropertiesFile, IsReadAsJavaReadsIt) {
  const char* text =
      "# a comment\n"
      "! another = one\n"
      "\n"
      "  dc = DC 1  \n"
      "rack:R1\r\n"
      "bare\n"
      "spaced   value = with sign\n"
      "long = one \\\n"
      "       two\\\\\n"
      "fd00\\:\\:7=DC\\u00fc\\t:r\n"
      "dc_suffix=\n"
      "last=x";
  EXPECT_EQ(*parse_properties(text), (Properties{{"dc", "DC 1  "},
                                                 {"rack", "R1"},
                                                 {"bare", ""},
                                                 {"spaced", "value = with sign"},
                                                 {"long", "one two\\"},
                                                 {"fd00::7", "DC\u00fc\t:r"},
                                                 {"dc_suffix", ""},
                                                 {"last", "x"}}));
  EXPECT_EQ(parse_properties("a=b\nc=\\u00g0\n").error().message(), "Malformed \\u escape in line 2");
}

TEST(RackDc, NamesTheDatacenterAndTheRackOfThisNode) {
  auto properties = parse_rackdc("dc= east \nrack=r7\nprefer_local=TRUE\n");
  ASSERT_TRUE(properties.ok());
  EXPECT_EQ(properties->location, (NodeLocation{"east", "r7"}));
  EXPECT_TRUE(properties->prefer_local);
  for (const char* text : {"dc=east\n", "rack=r7\n", ""}) {
    EXPECT_EQ(parse_rackdc(text).error().message(),
              "DC or rack not found in snitch properties, check your configuration in: cassandra-rackdc.properties");
  }
}

TEST(TopologyFile, NamesNodesAndADefault) {
  auto file = TopologyProperties::parse(
      "10.0.0.1=DC1:RAC1\n"
      "/10.0.0.2 = DC2 : RAC2 : more\n"
      "10.0.0.3\\:7010=DC3:RAC3\n"
      "10.0.0.4=DC4\n"
      "10.0.0.5=DC5:\n"
      "fd00\\:0\\:0\\:0\\:0\\:0\\:0\\:7=DC7:RAC7\n"
      "default=DC9:r9\n",
      node(1));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->location(node(1)), (NodeLocation{"DC1", "RAC1"}));
  EXPECT_EQ(file->location(node(2)), (NodeLocation{"DC2", "RAC2"}));
  EXPECT_EQ(file->location(*InetAddressAndPort::parse("10.0.0.3:7010")), (NodeLocation{"DC3", "RAC3"}));
  EXPECT_EQ(file->location(node(3)), (NodeLocation{"DC9", "r9"}));
  EXPECT_EQ(file->location(node(4)), (NodeLocation{"default", "default"}));
  EXPECT_EQ(file->location(node(5)), (NodeLocation{"default", "default"}));
  EXPECT_EQ(file->location(*InetAddressAndPort::parse("fd00::7")), (NodeLocation{"DC7", "RAC7"}));
}

TEST(TopologyFile, HasToNameThisNodeOrADefault) {
  EXPECT_EQ(TopologyProperties::parse("10.0.0.2=DC1:RAC1\n", node(1)).error().message(),
            "Snitch definitions at cassandra-topology.properties do not define a location for this node's broadcast "
            "address /10.0.0.1:7000, nor does it provides a default");
  EXPECT_EQ(TopologyProperties::parse("seed.example=DC1:RAC1\n", node(1)).error().message(),
            "Unknown host seed.example in cassandra-topology.properties");
  auto without_default = TopologyProperties::parse("10.0.0.1=DC1:RAC1\n", node(1));
  EXPECT_EQ(without_default->location(node(2)), std::nullopt);
}

TEST(Snitches, DecideWhereANodeIs) {
  EXPECT_EQ(simple_snitch()(node(2), kGossiped), (NodeLocation{"datacenter1", "rack1"}));
  EXPECT_EQ(rack_inferring_snitch()(*InetAddressAndPort::parse("10.200.30.4"), kGossiped), (NodeLocation{"200", "30"}));
  auto by_file = property_file_snitch(*TopologyProperties::parse("10.0.0.1=DC1:RAC1\n", node(1)));
  EXPECT_EQ(by_file(node(1), kGossiped), (NodeLocation{"DC1", "RAC1"}));
  EXPECT_EQ(by_file(node(2), kGossiped), kNothingGossiped);
}

TEST(Snitches, TheGossipingOneBelievesItsOwnFileThenGossipThenTheOldFile) {
  const RackDcProperties own{{"mine", "r1"}, false};
  auto file = TopologyProperties::parse("10.0.0.3=DC3:RAC3\ndefault=DC9:r9\n", node(1));
  auto with_file = gossiping_property_file_snitch(node(1), own, *file);
  EXPECT_EQ(with_file(node(1), kGossiped), own.location);
  EXPECT_EQ(with_file(node(3), kGossiped), kGossiped);
  EXPECT_EQ(with_file(node(3), kNothingGossiped), (NodeLocation{"DC3", "RAC3"}));
  auto without = gossiping_property_file_snitch(node(1), own, std::nullopt);
  EXPECT_EQ(without(node(3), kNothingGossiped), kNothingGossiped);
}

}  // namespace
}  // namespace cassandra_like
