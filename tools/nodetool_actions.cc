// The commands that change something: flush, drain, snapshots, logging levels, the native transport, stop.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <regex>

#include "nodetool_format.h"

namespace cassandra_like::nodetool {
namespace {

std::string bracketed(const std::vector<std::string>& names, const char* none) {
  return names.empty() ? none : fmt::format("[{}]", fmt::join(names, ", "));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

[[noreturn]] void bad_duration(const std::string& text, const char* units) {
  bad_use(fmt::format("Invalid duration: {} Accepted units:[{}] where case matters and only non-negative values.", text,
                      units));
}

// A duration as in cassandra.yaml, in whole seconds.
std::optional<int64_t> seconds_of(const std::string& text) {
  size_t digits = 0;
  while (digits < text.size() && digits < 12 && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string unit = text.substr(digits);
  for (auto [name, seconds] : {std::pair{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}) {
    if (digits > 0 && unit == name) return std::stoll(text.substr(0, digits)) * seconds;
  }
  return std::nullopt;
}

// Takes 2026-11-22T06:13:04.628Z.
bool is_instant(const std::string& text) {
  static const std::regex kInstant(R"(\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{0,9})?)?Z)", std::regex::icase);
  return std::regex_match(text, kInstant);
}

// Cassandra's source packages by the component that stands for them.
std::vector<std::string> component_loggers(const std::string& target) {
  static const std::map<std::string, std::vector<std::string>> components = {
      {"bootstrap", {"gossip", "hints", "schema"}},
      {"repair", {"repair", "compaction", "snapshot"}},
      {"streaming", {"streaming"}},
      {"compaction", {"compaction"}},
      {"cql", {"parser", "query_processor", "auth"}},
      {"ring", {"gossip", "ring", "server"}}};
  auto it = components.find(target);
  return it == components.end() ? std::vector<std::string>{target} : it->second;
}

}  // namespace

void run_flush(Session& s) { s.post("/v1/flush", s.keyspace_and_tables()); }
void run_drain(Session& s) { s.post("/v1/drain"); }
void run_replaybatchlog(Session& s) { s.post("/v1/replay_batchlog"); }
void run_refreshsizeestimates(Session& s) { s.post("/v1/refresh_size_estimates"); }

void run_snapshot(Session& s) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string tag =
      s.has("-t") ? s.option("-t") : std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  if (tag.find('/') != std::string::npos) failed("Snapshot name cannot contain /");
  if (s.has("--ttl") && !seconds_of(s.option("--ttl"))) {
    bad_duration(s.option("--ttl"), "NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS");
  }
  Parameters parameters{{"tag", tag}};
  std::string what = bracketed(s.arguments, "[all keyspaces]");
  if (s.has("-kt")) {
    if (!s.arguments.empty() || s.has("-cf")) {
      failed(
          "When specifying the Keyspace table list (using -kt,--kt-list,-kc,--kc.list), you must not also specify "
          "keyspaces to snapshot");
    }
    std::string list = s.option("-kt");
    std::erase(list, ' ');
    what = "[" + list + "]";
    // A list that begins with a keyspace is one of keyspaces.
    const char* name = list.substr(0, list.find(',')).find('.') == std::string::npos ? "keyspace" : "ktlist";
    for (const std::string& each : split(list, ',')) parameters.emplace_back(name, each);
  }
  for (const std::string& keyspace : s.arguments) parameters.emplace_back("keyspace", keyspace);
  if (s.has("-cf")) parameters.emplace_back("table", s.option("-cf"));
  std::string options = fmt::format("skipFlush={}", s.has("-sf"));
  if (s.has("-sf")) parameters.emplace_back("skip_flush", "true");
  if (s.has("--ttl")) {
    parameters.emplace_back("ttl", s.option("--ttl"));
    options += ", ttl=" + s.option("--ttl");
  }
  const std::string name = tag.empty() ? "" : fmt::format(" with snapshot name [{}]", tag);
  s.out << fmt::format("Requested creating snapshot(s) for {}{} and options {{{}}}\n", what, name, options);
  if (s.has("-cf") && s.arguments.size() != 1) {
    failed("When specifying the table for a snapshot, you must specify one and only one keyspace");
  }
  s.post("/v1/snapshots", parameters);
  s.out << "Snapshot directory: " << tag << "\n";
}

void run_listsnapshots(Session& s) {
  const Json answer = s.get("/v1/snapshots");
  s.out << "Snapshot Details: \n";
  Table table;
  std::vector<std::string> header{"Snapshot name", "Keyspace name", "Column family name", "True size",
                                  "Size on disk",  "Creation time", "Expiration time"};
  const bool with_ephemeral = s.has("-e");
  if (with_ephemeral) header.emplace_back("Ephemeral");
  table.add(std::move(header));
  size_t shown = 0;
  for (const Json& snapshot : answer.at("snapshots")) {
    const bool ephemeral = snapshot.at("ephemeral");
    const Json& expires = snapshot.at("expires_millis");
    if ((ephemeral && !with_ephemeral) || (!expires.is_null() && s.has("-nt"))) continue;
    const Json& created = snapshot.at("created_millis");
    std::vector<std::string> row{snapshot.at("name"),
                                 snapshot.at("keyspace"),
                                 snapshot.at("table"),
                                 file_size(snapshot.at("true_size_bytes")),
                                 file_size(snapshot.at("size_on_disk_bytes")),
                                 created.is_null() ? "" : iso_instant(created),
                                 expires.is_null() ? "" : iso_instant(expires)};
    if (with_ephemeral) row.emplace_back(ephemeral ? "true" : "false");
    table.add(std::move(row));
    ++shown;
  }
  if (shown == 0) {
    s.out << "There are no snapshots\n";
    return;
  }
  s.out << table.text() << "\nTotal TrueDiskSpaceUsed: " << file_size(answer.at("true_total_bytes")) << "\n\n";
}

void run_clearsnapshot(Session& s) {
  const bool all = s.has("--all"), named = s.has("-t");
  const bool older = s.has("--older-than"), older_stamp = s.has("--older-than-timestamp");
  if (!named && !all) bad_use("Specify snapshot name or --all");
  if (named && all) bad_use("Specify only one of snapshot name or --all");
  if (older && older_stamp) bad_use("Specify only one of --older-than or --older-than-timestamp");
  if (named && older) bad_use("Specifying snapshot name together with --older-than flag is not allowed");
  if (named && older_stamp) {
    bad_use("Specifying snapshot name together with --older-than-timestamp flag is not allowed");
  }
  if (older && !seconds_of(s.option("--older-than"))) {
    bad_duration(s.option("--older-than"), "SECONDS, MINUTES, HOURS, DAYS");
  }
  if (older_stamp && !is_instant(s.option("--older-than-timestamp"))) {
    bad_use("Parameter --older-than-timestamp has to be a valid instant in ISO format.");
  }
  s.out << "Requested clearing snapshot(s) for " << bracketed(s.arguments, "[all keyspaces]");
  Parameters parameters;
  if (named) {
    s.out << fmt::format(" with snapshot name [{}]", s.option("-t"));
    parameters.emplace_back("tag", s.option("-t"));
  } else {
    s.out << " with [all snapshots]";
  }
  for (const std::string& keyspace : s.arguments) parameters.emplace_back("keyspace", keyspace);
  if (older) {
    s.out << fmt::format(" older than {} seconds.", *seconds_of(s.option("--older-than")));
    parameters.emplace_back("older_than", s.option("--older-than"));
  }
  if (older_stamp) {
    s.out << " older than timestamp " << s.option("--older-than-timestamp");
    parameters.emplace_back("older_than_timestamp", s.option("--older-than-timestamp"));
  }
  s.out << "\n";
  s.post("/v1/snapshots/clear", parameters);
}

void run_getlogginglevels(Session& s) {
  const Json answer = s.get("/v1/logging");
  s.out << fmt::format("\n{:<50}{:>10}\n", "Logger Name", "Log Level");
  for (const Json& each : answer.at("levels")) {
    s.out << fmt::format("{:<50}{:>10}\n", each.at("logger").get<std::string>(), each.at("level").get<std::string>());
  }
}

void run_setlogginglevel(Session& s) {
  Parameters parameters;
  if (!s.arguments.empty()) {
    for (const std::string& logger : component_loggers(s.arguments[0])) parameters.emplace_back("logger", logger);
  }
  if (s.arguments.size() == 2) parameters.emplace_back("level", s.arguments[1]);
  s.post("/v1/logging", parameters);
}

void run_gettraceprobability(Session& s) {
  const double probability = s.get("/v1/trace_probability").at("probability").get<double>();
  s.out << "Current trace probability: " << java_double(probability) << "\n";
}

void run_settraceprobability(Session& s) {
  double value = 0;
  for (const std::string& text : s.arguments) {
    auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size()) {
      bad_use(fmt::format("trace_probability: can not convert \"{}\" to a Double", text));
    }
  }
  if (!(value >= 0 && value <= 1)) bad_use("Trace probability must be between 0 and 1");
  s.post("/v1/trace_probability", {{"value", s.arguments.back()}});
}

void run_statusbinary(Session& s) {
  s.out << (s.get("/v1/binary").at("running").get<bool>() ? "running\n" : "not running\n");
}
void run_enablebinary(Session& s) { s.post("/v1/binary/enable"); }
void run_disablebinary(Session& s) {
  s.post("/v1/binary/disable", s.has("-f") ? Parameters{{"force", "true"}} : Parameters{});
}

void run_stopdaemon(Session& s) {
  s.post("/v1/stop");
  s.out << "Cassandra has shutdown.\n";
}

}  // namespace cassandra_like::nodetool
