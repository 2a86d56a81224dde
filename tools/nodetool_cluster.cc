// status, ring, info, version, describecluster, describering, gossipinfo, statusgossip, getendpoints: what the cluster looks like from the node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "nodetool_format.h"

namespace cassandra_like::nodetool {
namespace {

std::string shown_address(const Session& s, const Json& node) {
  if (!s.has("-r")) return address_of(node, s.print_port);
  const std::string name = text_or(node, "host_name", node.at("address"));
  return s.print_port ? fmt::format("{}:{}", name, node.at("port").get<int>()) : name;
}

std::string shown_load(const Json& node) {
  const double bytes = number_or(node, "load_bytes", -1);
  return bytes < 0 ? "?" : file_size(bytes);
}

// Cassandra prints an unknown keyspace of these two in a layout of its own.
Json get_ring(Session& s) {
  try {
    return s.get("/v1/ring", s.arguments.empty() ? Parameters{} : Parameters{{"keyspace", s.arguments.back()}});
  } catch (const Failure& f) {
    if (f.kind != Failure::kBadUse) throw;
    s.out << "\nError: " << f.text << "\n";
    throw Failure{Failure::kPlain, "", 1};
  }
}

std::string shown_owns(const Json& ring, const Json& node, int decimals) {
  const double owns = number_or(node, "owns", -1);
  return owns < 0 || !ring.at("effective").get<bool>() ? "?" : percent(owns, decimals);
}

std::map<std::string, std::vector<Json>> by_data_center(const Json& ring) {
  std::map<std::string, std::vector<Json>> out;
  for (const Json& node : ring.at("nodes")) out[node.at("data_center")].push_back(node);
  return out;
}

Table status_table(const Session& s, const Json& ring, const std::vector<Json>& nodes, bool token_per_node) {
  Table table("  ");
  const char* owns = ring.at("effective").get<bool>() ? "Owns (effective)" : "Owns";
  if (token_per_node) {
    table.add({"--", "Address", "Load", owns, "Host ID", "Token", "Rack"});
  } else {
    table.add({"--", "Address", "Load", "Tokens", owns, "Host ID", "Rack"});
  }
  for (const Json& node : nodes) {
    const std::string status = node.at("status"), state = node.at("state");
    const Json& tokens = node.at("tokens");
    std::string letters = status == "up" ? "U" : status == "down" ? "D" : "?";
    letters += state == "joining" ? "J" : state == "leaving" ? "L" : state == "moving" ? "M" : "N";
    std::vector<std::string> row{letters, shown_address(s, node), shown_load(node)};
    if (!token_per_node) row.push_back(std::to_string(tokens.size()));
    row.push_back(shown_owns(ring, node, 1));
    row.push_back(node.at("host_id"));
    if (token_per_node) row.push_back(tokens.empty() ? "" : tokens[0].get<std::string>());
    row.push_back(node.at("rack"));
    table.add(std::move(row));
  }
  return table;
}

void print_cache(std::ostream& out, const char* name, const Json& info, const char* key) {
  const Json& c = info.at(key);
  if (c.is_null()) return;
  out << fmt::format(
      "{:<23}: entries {}, size {}, capacity {}, {} hits, {} requests, {} recent hit rate, {} save period in "
      "seconds\n",
      name, c.at("entries").get<int64_t>(), file_size(c.at("size_bytes")), file_size(c.at("capacity_bytes")),
      c.at("hits").get<int64_t>(), c.at("requests").get<int64_t>(), fixed(c.at("recent_hit_rate"), 3),
      c.at("save_period_seconds").get<int64_t>());
}

void print_other_caches(std::ostream& out, const Json& info) {
  if (const Json& c = info.at("chunk_cache"); !c.is_null()) {
    out << fmt::format(
        "{:<23}: entries {}, size {}, capacity {}, {} misses, {} requests, {} recent hit rate, {} microseconds "
        "miss latency\n",
        "Chunk Cache", c.at("entries").get<int64_t>(), file_size(c.at("size_bytes")), file_size(c.at("capacity_bytes")),
        c.at("misses").get<int64_t>(), c.at("requests").get<int64_t>(), fixed(c.at("recent_hit_rate"), 3),
        fixed(c.at("miss_latency_micros"), 3));
  }
  if (const Json& c = info.at("network_cache"); !c.is_null()) {
    out << fmt::format("{:<23}: size {}, overflow size: {}, capacity {}\n", "Network Cache",
                       file_size(c.at("size_bytes")), file_size(c.at("overflow_bytes")),
                       file_size(c.at("capacity_bytes")));
  }
}

void print_tokens(std::ostream& out, const Json& info, bool all) {
  const Json& tokens = info.at("tokens");
  if (!info.at("joined").get<bool>()) {
    out << fmt::format("{:<23}: (node is not joined to the cluster)\n", "Token");
  } else if (all || tokens.size() == 1) {
    for (const Json& token : tokens) out << fmt::format("{:<23}: {}\n", "Token", token.get<std::string>());
  } else {
    out << fmt::format("{:<23}: (invoke with -T/--tokens to see all {} tokens)\n", "Token", tokens.size());
  }
}

std::string address_list(const Json& nodes, bool with_port) {
  std::vector<std::string> out;
  for (const Json& node : nodes) out.push_back(address_of(node, with_port));
  return fmt::format("[{}]", fmt::join(out, ", "));
}

}  // namespace

void run_status(Session& s) {
  const Json ring = get_ring(s);
  const auto data_centers = by_data_center(ring);
  size_t tokens = 0;
  for (const Json& node : ring.at("nodes")) tokens += node.at("tokens").size();
  const bool token_per_node = data_centers.size() >= tokens;

  std::vector<Table> tables;
  for (const auto& [name, nodes] : data_centers) tables.push_back(status_table(s, ring, nodes, token_per_node));
  for (Table& table : tables) {
    for (const Table& other : tables) table.share_widths(other);
  }
  size_t i = 0;
  for (const auto& [name, nodes] : data_centers) {
    if (i > 0) s.out << "\n";
    const std::string header = "Datacenter: " + name;
    s.out << header << "\n" << std::string(header.size(), '=') << "\n";
    s.out << "Status=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n" << tables[i++].text();
  }
  s.out << "\n";
  if (const std::string note = text_or(ring, "note", ""); !note.empty()) s.out << "Note: " << note << "\n";
}

void run_ring(Session& s) {
  const Json ring = get_ring(s);
  size_t width = 0;
  bool vnodes = false;
  for (const Json& node : ring.at("nodes")) {
    width = std::max(width, address_of(node, true).size());
    vnodes |= node.at("tokens").size() > 1;
  }
  auto line = [&](const std::vector<std::string>& c) {
    s.out << fmt::format("{:<{}}  {:<12}{:<7}{:<8}{:<16}{:<20}{:<44}\n", c[0], width, c[1], c[2], c[3], c[4], c[5],
                         c[6]);
  };
  s.out << "\n";
  for (const auto& [name, nodes] : by_data_center(ring)) {
    std::vector<std::pair<int64_t, const Json*>> owners;
    for (const Json& node : nodes) {
      for (const Json& token : node.at("tokens")) owners.emplace_back(std::stoll(token.get<std::string>()), &node);
    }
    std::ranges::sort(owners, {}, &std::pair<int64_t, const Json*>::first);
    s.out << "Datacenter: " << name << "\n==========\n";
    line({"Address", "Rack", "Status", "State", "Load", "Owns", "Token"});
    if (owners.size() > 1) {
      line({"", "", "", "", "", "", std::to_string(owners.back().first)});
    } else {
      s.out << "\n";
    }
    for (const auto& [token, node] : owners) {
      const std::string status = node->at("status");
      std::string state = node->at("state");
      state[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(state[0])));
      line({shown_address(s, *node), node->at("rack"),
            status == "up"     ? "Up"
            : status == "down" ? "Down"
                               : "?",
            state, shown_load(*node), shown_owns(ring, *node, 2), std::to_string(token)});
    }
    s.out << "\n";
  }
  if (vnodes) {
    s.out << "  Warning: \"nodetool ring\" is used to output all the tokens of a node.\n"
             "  To view status related info of a node use \"nodetool status\" instead.\n\n";
  }
  s.out << "\n  ";
  if (const std::string note = text_or(ring, "note", ""); !note.empty()) s.out << "Note: " << note << "\n";
}

void run_info(Session& s) {
  if (s.has("-O")) throw Failure{Failure::kPlain, "nodetool: info --out-of-range-ops is not supported yet", 2};
  const Json info = s.get("/v1/info");
  auto line = [&s](const char* name, const std::string& value) { s.out << fmt::format("{:<23}: {}\n", name, value); };
  auto flag = [&info](const char* key) { return info.at(key).get<bool>() ? "true" : "false"; };
  constexpr double kMiB = 1024 * 1024;
  line("ID", info.at("host_id"));
  line("Gossip active", flag("gossip_active"));
  line("Native Transport active", flag("native_transport_active"));
  line("Load", file_size(info.at("load_bytes")));
  line("Uncompressed load", file_size(info.at("uncompressed_load_bytes")));
  const bool gossips = info.at("gossip_active").get<bool>();
  line("Generation No", std::to_string(gossips ? info.at("generation").get<int64_t>() : 0));
  line("Uptime (seconds)", std::to_string(info.at("uptime_seconds").get<int64_t>()));
  line("Heap Memory (MB)", fmt::format("{:.2f} / {:.2f}", number_or(info, "memory_used_bytes", 0) / kMiB,
                                       number_or(info, "memory_max_bytes", 0) / kMiB));
  line("Off Heap Memory (MB)", fmt::format("{:.2f}", number_or(info, "off_heap_bytes", 0) / kMiB));
  line("Data Center", info.at("data_center"));
  line("Rack", info.at("rack"));
  line("Exceptions", std::to_string(info.at("exceptions").get<int64_t>()));
  print_cache(s.out, "Key Cache", info, "key_cache");
  print_cache(s.out, "Row Cache", info, "row_cache");
  print_cache(s.out, "Counter Cache", info, "counter_cache");
  print_other_caches(s.out, info);
  line("Percent Repaired", java_double(number_or(info, "percent_repaired", NAN)) + "%");
  print_tokens(s.out, info, s.has("-T"));
  line("Bootstrap state", info.at("bootstrap_state"));
  line("Bootstrap failed", flag("bootstrap_failed"));
  line("Decommissioning", flag("decommissioning"));
  line("Decommission failed", flag("decommission_failed"));
}

void run_version(Session& s) {
  const Json version = s.get("/v1/version");
  s.out << "ReleaseVersion: " << version.at("release_version").get<std::string>() << "\n";
  if (s.has("-v")) s.out << "GitSHA: " << version.at("git_sha").get<std::string>() << "\n";
}

void run_describecluster(Session& s) {
  const Json c = s.get("/v1/cluster");
  s.out << "Cluster Information:\n\tName: " << c.at("name").get<std::string>()
        << "\n\tSnitch: " << c.at("snitch").get<std::string>()
        << "\n\tDynamicEndPointSnitch: " << (c.at("dynamic_snitch").get<bool>() ? "enabled" : "disabled")
        << "\n\tPartitioner: " << c.at("partitioner").get<std::string>() << "\n\tSchema versions:\n";
  for (const Json& v : c.at("schema_versions")) {
    s.out << fmt::format("\t\t{}: {}\n\n", v.at("version").get<std::string>(),
                         address_list(v.at("nodes"), s.print_port));
  }
  s.out << "Stats for all nodes:\n";
  for (auto [name, key] : {std::pair{"Live", "live"},
                           {"Joining", "joining"},
                           {"Moving", "moving"},
                           {"Leaving", "leaving"},
                           {"Unreachable", "unreachable"}}) {
    s.out << fmt::format("\t{}: {}\n", name, c.at(key).get<int64_t>());
  }
  s.out << "\nData Centers: \n";
  for (const Json& dc : c.at("data_centers")) {
    s.out << fmt::format("\t{} #Nodes: {} #Down: {}\n", dc.at("name").get<std::string>(), dc.at("nodes").get<int64_t>(),
                         dc.at("down").get<int64_t>());
  }
  s.out << "\nDatabase versions:\n";
  for (const Json& v : c.at("release_versions")) {
    s.out << fmt::format("\t{}: {}\n\n", v.at("version").get<std::string>(), address_list(v.at("nodes"), true));
  }
  s.out << "Keyspaces:\n";
  for (const Json& k : c.at("keyspaces")) {
    std::vector<std::string> options;
    for (const auto& [name, value] : k.at("options").items()) options.push_back(name + "=" + value.get<std::string>());
    s.out << fmt::format("\t{} -> Replication class: {} {{{}}}\n", k.at("name").get<std::string>(),
                         k.at("class").get<std::string>(), fmt::join(options, ", "));
  }
  if (c.contains("note") && !c.at("note").is_null()) s.out << "\nNote: " << c.at("note").get<std::string>() << "\n";
}

void run_gossipinfo(Session& s) {
  const Json gossip = s.get("/v1/gossip");
  for (const Json& node : gossip.at("nodes")) {
    const std::string name = s.has("-r") ? text_or(node, "host_name", "") : "";
    s.out << name << "/" << address_of(node, s.print_port) << "\n";
    s.out << "  generation:" << node.at("generation").get<int64_t>() << "\n";
    s.out << "  heartbeat:" << node.at("heartbeat").get<int64_t>() << "\n";
    for (const Json& state : node.at("states")) {
      s.out << fmt::format("  {}:{}:{}\n", state.at("name").get<std::string>(), state.at("version").get<int64_t>(),
                           state.at("value").get<std::string>());
    }
  }
  s.out << "\n";
}

void run_getendpoints(Session& s) {
  if (s.arguments.size() != 3) bad_use("getendpoints requires keyspace, table and partition key arguments");
  const Json answer =
      s.get("/v1/endpoints", {{"keyspace", s.arguments[0]}, {"table", s.arguments[1]}, {"key", s.arguments[2]}});
  for (const Json& node : answer.at("endpoints")) s.out << address_of(node, s.print_port) << "\n";
}

// A range as TokenRange.toString writes it.
std::string token_range(const Json& range, bool with_port) {
  std::vector<std::string> hosts, natives, details;
  for (const Json& endpoint : range.at("endpoints")) {
    hosts.push_back(address_of(endpoint, with_port));
    natives.push_back(
        address_of({{"address", endpoint.at("native_address")}, {"port", endpoint.at("native_port")}}, with_port));
    details.push_back(fmt::format("EndpointDetails(host:{}, datacenter:{}, rack:{})", hosts.back(),
                                  endpoint.at("data_center").get<std::string>(),
                                  endpoint.at("rack").get<std::string>()));
  }
  return fmt::format(
      "TokenRange(start_token:{}, end_token:{}, endpoints:[{}], rpc_endpoints:[{}], endpoint_details:[{}])",
      range.at("start").get<std::string>(), range.at("end").get<std::string>(), fmt::join(hosts, ", "),
      fmt::join(natives, ", "), fmt::join(details, ", "));
}

void run_describering(Session& s) {
  if (s.arguments.empty()) bad_use("Required parameters are missing: keyspace");
  const Json cluster = s.get("/v1/cluster");
  s.out << "Schema Version:" << cluster.at("schema_versions").at(0).at("version").get<std::string>()
        << "\nTokenRange: \n";
  // Cassandra takes the last of several keyspaces.
  const Json answer = s.get("/v1/token_ranges", {{"keyspace", s.arguments.back()}});
  for (const Json& range : answer.at("ranges")) s.out << "\t" << token_range(range, s.print_port) << "\n";
}

void run_statusgossip(Session& s) {
  s.out << (s.get("/v1/info").at("gossip_active").get<bool>() ? "running\n" : "not running\n");
}

}  // namespace cassandra_like::nodetool
