// Settings that last until the node ends: gettimeout and settimeout, get and set of compactionthreshold,
// batchlogreplaythrottle, columnindexsize, defaultrf and authcacheconfig; backups, old protocol versions, caches of
// credentials. And datapaths.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "nodetool.h"
#include "nodetool_format.h"

namespace cassandra_like::nodetool {

namespace {

constexpr char kTimeoutTypes[] =
    "read, range, write, counterwrite, cascontention, truncate, internodeconnect, internodeuser, "
    "internodestreaminguser, misc (general rpc_timeout_in_ms)";

// Integer.parseInt and Long.parseLong, whose exception nodetool prints.
template <class Number>
Number parse_java(const std::string& text) {
  const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  Number value = 0;
  auto [rest, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) bad_use(fmt::format("For input string: \"{}\"", text));
  return value;
}

// A value that nodetool's library converts itself.
int32_t converted(const std::string& text, const char* title, const char* type) {
  int32_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) {
    bad_use(fmt::format("{}: can not convert \"{}\" to a {}", title, text, type));
  }
  return value;
}

// NodeProbe.getCfsProxy ends the program when there is no such table.
Json call_table(Session& s, Json (Session::*call)(const std::string&, const Parameters&),
                const Parameters& parameters) {
  try {
    return (s.*call)("/v1/compaction_threshold", parameters);
  } catch (const Failure& f) {
    if (f.text.ends_with(" not found.")) throw Failure{Failure::kPlain, f.text, 1};
    throw;
  }
}

void set(Session& s, const char* name, const std::string& value) { s.post("/v1/settings", {{name, value}}); }

}  // namespace

void run_gettimeout(Session& s) {
  if (s.arguments.size() != 1) bad_use(fmt::format("gettimeout requires a timeout type, one of ({})", kTimeoutTypes));
  const Json answer = s.get("/v1/timeouts", {{"type", s.arguments[0]}});
  s.out << fmt::format("Current timeout for type {}: {} ms\n", s.arguments[0], answer.at("millis").get<int64_t>());
}

void run_settimeout(Session& s) {
  if (s.arguments.size() != 2) {
    bad_use(fmt::format(
        "Timeout type followed by value in ms (0 disables socket streaming timeout). Type should be one of ({})",
        kTimeoutTypes));
  }
  const auto millis = parse_java<int64_t>(s.arguments[1]);
  if (millis < 0) bad_use("timeout must be non-negative");
  s.post("/v1/timeouts", {{"type", s.arguments[0]}, {"millis", std::to_string(millis)}});
}

void run_getcompactionthreshold(Session& s) {
  if (s.arguments.size() != 2) bad_use("getcompactionthreshold requires ks and cf args");
  const std::string &keyspace = s.arguments[0], &table = s.arguments[1];
  const Json answer = call_table(s, &Session::get, {{"keyspace", keyspace}, {"table", table}});
  s.out << fmt::format("Current compaction thresholds for {}/{}: \n min = {},  max = {}\n", keyspace, table,
                       answer.at("min").get<int64_t>(), answer.at("max").get<int64_t>());
}

void run_setcompactionthreshold(Session& s) {
  if (s.arguments.size() != 4) bad_use("setcompactionthreshold requires ks, cf, min, and max threshold args.");
  const auto min = parse_java<int32_t>(s.arguments[2]), max = parse_java<int32_t>(s.arguments[3]);
  if (min < 0 || max < 0) bad_use("Thresholds must be positive integers");
  if (min > max) bad_use("Min threshold cannot be greater than max.");
  if (min < 2 && max != 0) bad_use("Min threshold must be at least 2");
  call_table(s, &Session::post,
             {{"keyspace", s.arguments[0]},
              {"table", s.arguments[1]},
              {"min", std::to_string(min)},
              {"max", std::to_string(max)}});
}

void run_getbatchlogreplaythrottle(Session& s) {
  const Json settings = s.get("/v1/settings");
  s.out << fmt::format("Batchlog replay throttle: {} KB/s\n",
                       settings.at("batchlog_replay_throttle_kib_per_second").get<int64_t>());
}
void run_setbatchlogreplaythrottle(Session& s) {
  set(s, "batchlog_replay_throttle_kib_per_second", integer(s, "batchlog_replay_throttle"));
}

// -1: as the format of the SSTables has it.
void run_getcolumnindexsize(Session& s) {
  const Json size = s.get("/v1/settings").at("column_index_size_kib");
  s.out << fmt::format("Current value for column_index_size: {} KiB\n", size.is_null() ? -1 : size.get<int64_t>());
}
void run_setcolumnindexsize(Session& s) {
  int32_t kib = 0;
  for (const std::string& text : s.arguments) kib = converted(text, "column_index_size", "int");
  set(s, "column_index_size_kib", std::to_string(kib));
}

void run_getdefaultrf(Session& s) { s.out << s.get("/v1/settings").at("default_keyspace_rf").get<int64_t>() << "\n"; }
void run_setdefaultrf(Session& s) { set(s, "default_keyspace_rf", integer(s, "default_rf")); }

void run_enableoldprotocolversions(Session& s) { set(s, "allow_older_protocols", "true"); }
void run_disableoldprotocolversions(Session& s) { set(s, "allow_older_protocols", "false"); }

void run_enablebackup(Session& s) { set(s, "incremental_backups", "true"); }
void run_disablebackup(Session& s) { set(s, "incremental_backups", "false"); }
void run_statusbackup(Session& s) {
  s.out << (s.get("/v1/settings").at("incremental_backups").get<bool>() ? "running\n" : "not running\n");
}

// This node has no key, row or counter cache, and none of roles and permissions: once it has answered, nothing of them is left.
void run_invalidate_nothing(Session& s) { s.get("/v1/settings"); }

// The resources that Cassandra would forget the permissions of have to fit together.
void run_invalidatepermissionscache(Session& s) {
  auto with = [&s](const char* option, const char* needed) {
    if (s.has(option) && s.option(needed).empty()) {
      bad_use(fmt::format("{} option should be passed along with {} option", option, needed));
    }
  };
  if (s.arguments.empty() && !s.options.empty())
    bad_use("No resource options allowed without a <role> being specified");
  if (s.arguments.size() > 1) {
    bad_use("A single <role> is only supported / you have a typo in the resource options spelling");
  }
  with("--all-tables", "--keyspace");
  with("--table", "--keyspace");
  with("--function", "--functions-in-keyspace");
  if (s.has("--function") && !s.option("--function").ends_with(']')) {
    bad_use(fmt::format("functions/{}/{} is not a valid function resource name. It must end with \"[]\"",
                        s.option("--functions-in-keyspace"), s.option("--function")));
  }
  if (!s.arguments.empty() && s.options.empty()) bad_use("No resource options specified");
  run_invalidate_nothing(s);
}

// NopCacheProvider: what Cassandra says of a cache that is switched off.
void run_setcachecapacity(Session& s) {
  constexpr char kTitle[] = "<key-cache-capacity> <row-cache-capacity> <counter-cache-capacity>";
  std::vector<int32_t> capacities;
  for (const std::string& text : s.arguments) capacities.push_back(converted(text, kTitle, "Integer"));
  if (capacities.size() != 3) {
    bad_use("setcachecapacity requires key-cache-capacity, row-cache-capacity, and counter-cache-capacity args.");
  }
  s.get("/v1/settings");
  const auto [least, most] = std::minmax_element(capacities.begin(), capacities.end());
  if (*least < 0) failed("capacity should not be negative.");
  if (*most == 0) return;
  failed(
      "Setting capacity of NopCache is not permitted as this cache is disabled. Check your yaml settings if you want "
      "to enable it.");
}

void run_invalidatecredentialscache(Session& s) {
  Parameters roles;
  for (const std::string& role : s.arguments) roles.emplace_back("role", role);
  s.post("/v1/credentials_cache/invalidate", roles);
}

namespace {

// This node has one of Cassandra's caches, that of credentials.
void check_cache(const Session& s, const char* command) {
  const std::string name = s.option("--cache-name");
  if (name == "CredentialsCache") return;
  for (const char* other : {"JmxPermissionsCache", "NetworkPermissionsCache", "PermissionsCache", "RolesCache"}) {
    if (name == other) {
      throw Failure{Failure::kPlain, fmt::format("nodetool: {} of {} is not supported yet", command, name), 2};
    }
  }
  bad_use("Unknown cache name: " + name);
}

}  // namespace

void run_getauthcacheconfig(Session& s) {
  check_cache(s, "getauthcacheconfig");
  const Json cache = s.get("/v1/credentials_cache");
  s.out << fmt::format("Validity Period: {}\nUpdate Interval: {}\nMax Entries: {}\nActive Update: {}\n",
                       cache.at("validity_millis").get<int64_t>(), cache.at("update_interval_millis").get<int64_t>(),
                       cache.at("max_entries").get<int64_t>(), cache.at("active_update").get<bool>());
}

void run_setauthcacheconfig(Session& s) {
  if (s.has("--enable-active-update") && s.has("--disable-active-update")) {
    bad_use("enable-active-update and disable-active-update cannot be used together");
  }
  const char* const kOthers[] = {"--update-interval", "--max-entries", "--enable-active-update",
                                 "--disable-active-update"};
  bool has_any = s.has("--validity-period");
  for (const char* other : kOthers) has_any |= s.has(other);
  if (!has_any) bad_use("At least one optional parameter need to be passed");
  check_cache(s, "setauthcacheconfig");
  for (const char* other : kOthers) {
    if (!s.has(other)) continue;
    throw Failure{Failure::kPlain, fmt::format("nodetool: setauthcacheconfig {} is not supported yet", other), 2};
  }
  const int32_t validity = converted(s.option("--validity-period"), "validity-period", "Integer");
  s.post("/v1/credentials_cache", {{"validity_millis", std::to_string(validity)}});
  s.out << fmt::format("Changed Validity Period to {}\n", validity);
}

// Cassandra prints them in the order of Java's hash tables.
void run_datapaths(Session& s) {
  const std::string format = s.option("-F");
  if (!format.empty() && format != "json" && format != "yaml") bad_use("arguments for -F are yaml and json only.");
  Json tree = Json::object();
  const Json answer = s.get("/v1/data_paths");
  for (const Json& table : answer.at("tables")) {
    const std::string keyspace = table.at("keyspace"), name = table.at("table");
    const auto wanted = [&](const std::string& given) { return given == keyspace || given == keyspace + "." + name; };
    if (!s.arguments.empty() && std::none_of(s.arguments.begin(), s.arguments.end(), wanted)) continue;
    tree[keyspace][name] = table.at("paths");
  }
  if (!format.empty()) {
    s.out << (format == "json" ? pretty_json(tree) : block_yaml(tree)) << "\n";
    return;
  }
  for (const auto& [keyspace, tables] : tree.items()) {
    s.out << "Keyspace: " << keyspace << "\n";
    for (const auto& [name, paths] : tables.items()) {
      s.out << "\tTable: " << name << "\n\tPaths:\n";
      for (const Json& path : paths) s.out << "\t\t" << path.get<std::string>() << "\n";
      s.out << "\n";
    }
  }
}

}  // namespace cassandra_like::nodetool
