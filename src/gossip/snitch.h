// Where nodes are, as the snitches of cassandra.yaml decide it: pure functions of their files' texts.
//
//   SimpleSnitch                  all nodes in datacenter1, rack1
//   GossipingPropertyFileSnitch   this node from cassandra-rackdc.properties, others from gossip; while gossip says nothing,
//                                 from cassandra-topology.properties when it is there
//   PropertyFileSnitch            everybody from cassandra-topology.properties:  10.0.0.1=DC1:RAC1   default=DC2:r1
//   RackInferringSnitch           the second byte of the address is the datacenter, the third the rack
//
// The files are Java properties (java.util.Properties.load).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "messaging/wire/endpoint_codec.h"

namespace cassandra_like {

struct NodeLocation {
  std::string datacenter;
  std::string rack;
  bool operator==(const NodeLocation&) const = default;
};

// Where a node is, given what gossip says of it.
using Snitch = std::function<NodeLocation(const InetAddressAndPort&, const NodeLocation& gossiped)>;

inline constexpr const char* kUnknownDatacenter = "UNKNOWN_DC";
inline constexpr const char* kUnknownRack = "UNKNOWN_RACK";

// kInvalid with the line's number for a bad \u escape.
Result<std::map<std::string, std::string>> parse_properties(std::string_view text);

// cassandra-rackdc.properties.
struct RackDcProperties {
  NodeLocation location;  // of this node
  bool prefer_local = false;
};
// kConfigError without dc or rack.
Result<RackDcProperties> parse_rackdc(std::string_view text);

// cassandra-topology.properties.
class TopologyProperties {
 public:
  // kConfigError for a host that is no numeric address, and when neither `local` nor a default is there.
  static Result<TopologyProperties> parse(std::string_view text, const InetAddressAndPort& local);
  // Nothing for a node that is not there, without a default.
  std::optional<NodeLocation> location(const InetAddressAndPort& endpoint) const;

 private:
  std::map<InetAddressAndPort, NodeLocation> locations_;
  std::optional<NodeLocation> default_;
};

NodeLocation simple_location();
NodeLocation inferred_location(const InetAddressAndPort& endpoint);

Snitch simple_snitch();
Snitch rack_inferring_snitch();
// A node that the file does not name is in UNKNOWN_DC, UNKNOWN_RACK.
Snitch property_file_snitch(TopologyProperties file);
Snitch gossiping_property_file_snitch(const InetAddressAndPort& local, RackDcProperties own,
                                      std::optional<TopologyProperties> file);

}  // namespace cassandra_like
