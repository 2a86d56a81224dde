// failuredetector, enablegossip, disablegossip, getseeds, reloadseeds, assassinate, join, and all about hints: orders to one node
// about the others.
#include <fmt/format.h>

#include <charconv>

#include "nodetool_format.h"

namespace cassandra_like::nodetool {
namespace {

std::string seed_list(const Json& seeds) {
  std::string out;
  for (const Json& seed : seeds) out += " /" + address_of(seed, true);
  return out;
}

std::string data_center(const Session& s, const char* command) {
  if (s.arguments.size() != 1) bad_use(fmt::format("{} requires exactly one data center", command));
  return s.arguments[0];
}

// "2026-11-23 03:03:22,959", in UTC.
std::string hint_time(const Json& millis) {
  std::string text = iso_instant(millis.get<int64_t>());
  text.pop_back();
  const size_t point = text.find('.');
  std::string fraction = point == std::string::npos ? "000" : text.substr(point + 1);
  fraction.resize(3, '0');
  text.resize(std::min(point, text.size()));
  text[text.find('T')] = ' ';
  return text + "," + fraction;
}

}  // namespace

std::string integer(const Session& s, const char* name) {
  for (const std::string& text : s.arguments) {
    int32_t value = 0;
    auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size()) {
      bad_use(fmt::format("{}: can not convert \"{}\" to a Integer", name, text));
    }
  }
  return s.arguments.back();
}

void run_failuredetector(Session& s) {
  const Json answer = s.get("/v1/failure_detector");
  s.out << fmt::format("{:>10},{:>16}\n", "Endpoint", "Phi");
  for (const Json& node : answer.at("nodes")) {
    s.out << fmt::format("{:>10},{:>16.8f}\n", "/" + address_of(node, s.print_port), node.at("phi").get<double>());
  }
}

void run_checktokenmetadata(Session& s) {
  auto list = [](const Json& tokens) {
    std::string out;
    for (const Json& token : tokens) out += (out.empty() ? "" : ", ") + token.get<std::string>();
    return "[" + out + "]";
  };
  const Json answer = s.get("/v1/token_mismatches");
  for (const Json& node : answer.at("mismatches")) {
    s.out << fmt::format("Mismatch on : /{}\n  Gossip tokens: {}\n  TokenMetadata: {}\n", address_of(node, true),
                         list(node.at("gossip")), list(node.at("ring")));
  }
  s.out << "\n";
}

void run_enablegossip(Session& s) { s.post("/v1/gossip/enable"); }
void run_disablegossip(Session& s) { s.post("/v1/gossip/disable"); }
void run_assassinate(Session& s) { s.post("/v1/assassinate", {{"address", s.arguments.back()}}); }
void run_join(Session& s) { s.post("/v1/join"); }
void run_resetlocalschema(Session& s) { s.post("/v1/schema/reset"); }
void run_reloadlocalschema(Session& s) { s.post("/v1/schema/reload"); }

void run_getseeds(Session& s) {
  const Json seeds = s.get("/v1/seeds").at("seeds");
  if (seeds.empty()) {
    s.out << "Seed node list does not contain any remote node IPs\n";
  } else {
    s.out << "Current list of seed node IPs, excluding the current node's IP:" << seed_list(seeds) << "\n";
  }
}

void run_reloadseeds(Session& s) {
  const Json seeds = s.post("/v1/seeds/reload").at("seeds");
  if (seeds.is_null()) {
    s.out << "Failed to reload the seed node list.\n";
  } else if (seeds.empty()) {
    s.out << "Seed node list does not contain any remote node IPs\n";
  } else {
    s.out << "Updated seed node IP list, excluding the current node's IP:" << seed_list(seeds) << "\n";
  }
}

// The address has its port always.
void run_listpendinghints(Session& s) {
  const Json pending = s.get("/v1/hints").at("pending");
  if (pending.empty()) {
    s.out << "This node does not have any pending hints\n";
    return;
  }
  Table table;
  table.add({"Host ID", "Address", "Rack", "DC", "Status", "Total files", "Newest", "Oldest"});
  for (const Json& node : pending) {
    const bool is_known = !node.at("address").is_null();
    table.add({node.at("host_id"), is_known ? address_of(node, true) : "null", node.at("rack"), node.at("data_center"),
               node.at("status"), std::to_string(node.at("files").get<int64_t>()), hint_time(node.at("newest_millis")),
               hint_time(node.at("oldest_millis"))});
  }
  s.out << table.text();
}

void run_truncatehints(Session& s) {
  s.post("/v1/hints/truncate", s.arguments.empty() ? Parameters{} : Parameters{{"address", s.arguments.back()}});
}

void run_pausehandoff(Session& s) { s.post("/v1/handoff", {{"paused", "true"}}); }
void run_resumehandoff(Session& s) { s.post("/v1/handoff", {{"paused", "false"}}); }
void run_enablehandoff(Session& s) { s.post("/v1/handoff", {{"enabled", "true"}}); }
void run_disablehandoff(Session& s) { s.post("/v1/handoff", {{"enabled", "false"}}); }

void run_enablehintsfordc(Session& s) {
  s.post("/v1/handoff", {{"enabled_data_center", data_center(s, "enablehintsfordc")}});
}
void run_disablehintsfordc(Session& s) {
  s.post("/v1/handoff", {{"disabled_data_center", data_center(s, "disablehintsfordc")}});
}

void run_sethintedhandoffthrottlekb(Session& s) {
  s.post("/v1/handoff", {{"throttle_kib_per_second", integer(s, "throttle_in_kb")}});
}

void run_getmaxhintwindow(Session& s) {
  const Json handoff = s.get("/v1/handoff");
  s.out << fmt::format("Current max hint window: {} ms\n", handoff.at("window_millis").get<int64_t>());
}
void run_setmaxhintwindow(Session& s) { s.post("/v1/handoff", {{"window_millis", integer(s, "max_hint_window")}}); }

void run_statushandoff(Session& s) {
  const Json handoff = s.get("/v1/handoff");
  s.out << (handoff.at("enabled").get<bool>() ? "Hinted handoff is running\n" : "Hinted handoff is not running\n");
  for (const Json& name : handoff.at("disabled_data_centers")) {
    s.out << fmt::format("Data center {} is disabled\n", name.get<std::string>());
  }
}

}  // namespace cassandra_like::nodetool
