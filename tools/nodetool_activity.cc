// proxyhistograms, tablehistograms, tpstats, clientstats, compactionstats, compactionhistory, netstats: what the node is
// doing, and did.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

#include "nodetool_format.h"

namespace cassandra_like::nodetool {
namespace {

constexpr std::pair<const char*, const char*> kPercentiles[] = {
    {"50%", "p50"}, {"75%", "p75"}, {"95%", "p95"}, {"98%", "p98"}, {"99%", "p99"}, {"Min", "min"}, {"Max", "max"}};

// One percentile of a histogram, null (shown as NaN) when there is none.
Json percentile(const Json& histogram, const char* key) {
  if (!histogram.is_object()) return nullptr;
  auto it = histogram.find(key);
  return it == histogram.end() ? Json(0) : *it;
}

void print_table_histograms(std::ostream& out, const Json& t) {
  if (t.at("partition_bytes").is_null() || t.at("cell_count").is_null()) {
    out << "No SSTables exists, unable to calculate 'Partition Size' and 'Cell Count' percentiles\n";
  }
  out << fmt::format("{}/{} histograms\n", t.at("keyspace").get<std::string>(), t.at("table").get<std::string>());
  constexpr const char* kRow = "{:<10}{:>18}{:>18}{:>18}{:>18}{:>18}\n";
  out << fmt::format(kRow, "Percentile", "Read Latency", "Write Latency", "SSTables", "Partition Size", "Cell Count");
  out << fmt::format(kRow, "", "(micros)", "(micros)", "", "(bytes)", "");
  for (const auto& [label, key] : kPercentiles) {
    out << fmt::format(
        kRow, label, fixed(percentile(t.at("read_micros"), key), 2), fixed(percentile(t.at("write_micros"), key), 2),
        fixed(percentile(t.at("sstables_per_read"), key), 2), fixed(percentile(t.at("partition_bytes"), key), 0),
        fixed(percentile(t.at("cell_count"), key), 0));
  }
  out << "\n";
}

Json pools_as_tree(const Json& answer) {
  Json pools = Json::object(), dropped = Json::object(), waits = Json::object();
  for (const Json& p : answer.at("pools")) {
    pools[p.at("name").get<std::string>()] = {{"ActiveTasks", p.at("active")},
                                              {"PendingTasks", p.at("pending")},
                                              {"CompletedTasks", p.at("completed")},
                                              {"CurrentlyBlockedTasks", p.at("blocked")},
                                              {"TotalBlockedTasks", p.at("all_time_blocked")}};
  }
  for (const Json& d : answer.at("dropped")) {
    const std::string type = d.at("type");
    dropped[type] = d.at("dropped");
    if (d.at("wait_micros").is_null()) continue;
    for (const auto& [label, key] : kPercentiles) {
      waits[type].push_back(percentile(d.at("wait_micros"), key).get<double>());
    }
  }
  return {{"ThreadPools", pools}, {"DroppedMessage", dropped}, {"WaitLatencies", waits}};
}

void print_pools(std::ostream& out, const Json& answer) {
  Table pools;
  pools.add({"Pool Name", "Active", "Pending", "Completed", "Blocked", "All time blocked"});
  for (const Json& p : answer.at("pools")) {
    std::vector<std::string> row{p.at("name")};
    for (const char* key : {"active", "pending", "completed", "blocked", "all_time_blocked"}) {
      row.push_back(std::to_string(p.at(key).get<int64_t>()));
    }
    pools.add(std::move(row));
  }
  out << pools.text() << "\nLatencies waiting in queue (micros) per dropped message types\n";
  Table dropped;
  dropped.add({"Message type", "Dropped    ", "50%     ", "95%     ", "99%     ", "Max"});
  for (const Json& d : answer.at("dropped")) {
    std::vector<std::string> row{d.at("type"), std::to_string(d.at("dropped").get<int64_t>())};
    for (const char* key : {"p50", "p95", "p99", "max"}) {
      const Json& waits = d.at("wait_micros");
      row.push_back(waits.is_null() ? "N/A" : java_double(percentile(waits, key).get<double>()));
    }
    dropped.add(std::move(row));
  }
  out << dropped.text();
}

void print_connections(std::ostream& out, const Json& connections, bool with_options) {
  if (connections.empty()) return;
  Table table;
  std::vector<std::string> header{"Address", "SSL",      "Cipher",   "Protocol",    "Version",
                                  "User",    "Keyspace", "Requests", "Driver-Name", "Driver-Version"};
  if (with_options) header.emplace_back("Client-Options");
  table.add(std::move(header));
  for (const Json& c : connections) {
    std::vector<std::string> row{"/" + address_of(c, true),
                                 c.at("ssl").get<bool>() ? "true" : "false",
                                 text_or(c, "cipher", "undefined"),
                                 text_or(c, "ssl_protocol", "undefined"),
                                 std::to_string(c.at("protocol_version").get<int>()),
                                 text_or(c, "user", ""),
                                 text_or(c, "keyspace", ""),
                                 std::to_string(c.at("requests").get<int64_t>()),
                                 text_or(c, "driver_name", "undefined"),
                                 text_or(c, "driver_version", "undefined")};
    if (with_options) {
      std::vector<std::string> options;
      for (const auto& [name, value] : c.at("options").items())
        options.push_back(name + "=" + value.get<std::string>());
      row.push_back(fmt::format("{}", fmt::join(options, ", ")));
    }
    table.add(std::move(row));
  }
  out << table.text() << "\n";
}

void print_by_protocol(std::ostream& out, const Json& clients) {
  out << "Clients by protocol version\n\n";
  if (clients.empty()) return;
  Table table;
  table.add({"Protocol-Version", "IP-Address", "Last-Seen"});
  for (const Json& c : clients) {
    const std::time_t seen = c.at("last_seen_millis").get<int64_t>() / 1000;
    const int version = c.at("protocol_version");
    table.add({fmt::format("{0}/v{0}{1}", version, version == 6 ? "-beta" : ""), "/" + address_of(c, false),
               fmt::format("{:%b %d, %Y %H:%M:%S}", fmt::localtime(seen))});
  }
  out << table.text() << "\n";
}

std::string size_or_number(const Json& value, bool human) {
  return human ? file_size(value.get<double>()) : std::to_string(value.get<int64_t>());
}

void add_running(Table& table, const Json& c, bool human_readable, bool vtable) {
  const int64_t total = c.at("total"), completed = c.at("completed");
  const std::string unit = c.at("unit");
  const bool human = human_readable && unit == "bytes";
  const std::string progress =
      total == 0 ? "n/a" : fmt::format("{:.2f}%", 100.0 * static_cast<double>(completed) / static_cast<double>(total));
  const std::string done = size_or_number(c.at("completed"), human), all = size_or_number(c.at("total"), human);
  if (vtable) {
    const Json& compressed = c.at("total_compressed");
    table.add({c.at("keyspace"), c.at("table"), c.at("id"), progress, c.at("type"), done,
               std::to_string(c.at("sstables").get<int64_t>()), all,
               compressed.is_null() ? "n/a" : size_or_number(compressed, human), unit,
               text_or(c, "target_directory", "")});
  } else {
    table.add({c.at("id"), c.at("type"), c.at("keyspace"), c.at("table"), done, all, unit, progress});
  }
}

void add_compaction_totals(Table& table, const Json& c, bool human) {
  int64_t pending = 0;
  for (const Json& p : c.at("pending")) pending += p.at("tasks").get<int64_t>();
  table.add({"concurrent compactors", std::to_string(c.at("concurrent_compactors").get<int64_t>())});
  table.add({"pending tasks", std::to_string(pending)});
  for (const Json& p : c.at("pending")) {
    table.add({p.at("keyspace"), p.at("table"), std::to_string(p.at("tasks").get<int64_t>())});
  }
  table.add({"compactions completed", std::to_string(c.at("completed").get<int64_t>())});
  table.add({"data compacted", size_or_number(c.at("bytes_compacted"), human)});
  table.add({"compressed data compacted", size_or_number(c.at("compressed_bytes_compacted"), human)});
  table.add({"compactions aborted", std::to_string(c.at("aborted").get<int64_t>())});
  table.add({"compactions reduced", std::to_string(c.at("reduced").get<int64_t>())});
  table.add({"sstables dropped from compaction", std::to_string(c.at("sstables_dropped").get<int64_t>())});
  table.add({"15 minute rate", fmt::format("{:.2f}/minute", number_or(c, "fifteen_minute_rate_per_second", 0) * 60)});
  table.add({"mean rate", fmt::format("{:.2f}/hour", number_or(c, "mean_rate_per_second", 0) * 3600)});
  const double throughput = number_or(c, "throughput_bytes_per_second", 0) / (1024 * 1024);
  table.add({"compaction throughput (MiB/s)", throughput == 0 ? "throttling disabled (0)" : java_double(throughput)});
}

std::string pairs_text(const Json& map) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : map.items()) {
    pairs.push_back(key + ":" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return fmt::format("{{{}}}", fmt::join(pairs, ", "));
}

// LocalDateTime.toString: without what is zero at its end, seconds included.
std::string local_date_time(int64_t millis) {
  const std::tm time = fmt::localtime(static_cast<std::time_t>(millis / 1000));
  if (millis % 1000 != 0) return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}", time, millis % 1000);
  return time.tm_sec == 0 ? fmt::format("{:%Y-%m-%dT%H:%M}", time) : fmt::format("{:%Y-%m-%dT%H:%M:%S}", time);
}

// Keys in the order of Java's hash table.
Json history_as_tree(const Json& answer) {
  Json tree = Json::object();
  for (const Json& c : answer.at("compactions")) {
    tree["CompactionHistory"].push_back({{"keyspace_name", c.at("keyspace")},
                                         {"bytes_out", c.at("bytes_out")},
                                         {"bytes_in", c.at("bytes_in")},
                                         {"compaction_properties", pairs_text(c.at("properties"))},
                                         {"columnfamily_name", c.at("table")},
                                         {"rows_merged", pairs_text(c.at("rows_merged"))},
                                         {"id", c.at("id")},
                                         {"compacted_at", local_date_time(c.at("compacted_millis"))}});
  }
  return tree;
}

void print_history(std::ostream& out, const Json& tree) {
  out << "Compaction History: \n";
  if (tree.empty()) {
    out << "There is no compaction history";
    return;
  }
  const std::vector<std::string> columns{"id",       "keyspace_name", "columnfamily_name", "compacted_at",
                                         "bytes_in", "bytes_out",     "rows_merged",       "compaction_properties"};
  Table table;
  table.add(columns);
  for (const Json& compaction : tree.at("CompactionHistory")) {
    std::vector<std::string> row;
    for (const std::string& column : columns) {
      const Json& value = compaction.at(column);
      row.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    table.add(std::move(row));
  }
  out << table.text();
}

}  // namespace

void run_proxyhistograms(Session& s) {
  const Json h = s.get("/v1/proxy_histograms");
  constexpr const char* kRow = "{:<10}{:>19}{:>19}{:>19}{:>19}{:>19}{:>19}\n";
  constexpr const char* kMicros = "(micros)";
  s.out << "proxy histograms\n"
        << fmt::format(kRow, "Percentile", "Read Latency", "Write Latency", "Range Latency", "CAS Read Latency",
                       "CAS Write Latency", "View Write Latency")
        << fmt::format(kRow, "", kMicros, kMicros, kMicros, kMicros, kMicros, kMicros);
  for (const auto& [label, key] : kPercentiles) {
    auto cell = [&h, k = key](const char* which) { return fixed(percentile(h.at(which), k), 2); };
    s.out << fmt::format(kRow, label, cell("read"), cell("write"), cell("range"), cell("cas_read"), cell("cas_write"),
                         cell("view_write"));
  }
  s.out << "\n";
}

void run_tablehistograms(Session& s) {
  constexpr const char* kNeeds = "tablehistograms requires <keyspace> <table> or <keyspace.table> format argument.";
  Parameters parameters;
  if (s.arguments.size() == 1) {
    const std::string& name = s.arguments[0];
    const size_t dot = name.find('.');
    if (dot == std::string::npos || name.find('.', dot + 1) != std::string::npos) {
      bad_use("tablehistograms requires keyspace and table name arguments");
    }
    parameters = {{"keyspace", name.substr(0, dot)}, {"table", name.substr(dot + 1)}};
  } else if (s.arguments.size() == 2) {
    if ((s.arguments[0] + s.arguments[1]).find('.') != std::string::npos) bad_use(kNeeds);
    parameters = {{"keyspace", s.arguments[0]}, {"table", s.arguments[1]}};
  } else if (!s.arguments.empty()) {
    bad_use(kNeeds);
  }
  const Json answer = s.get("/v1/table_histograms", parameters);
  for (const Json& table : answer.at("tables")) print_table_histograms(s.out, table);
}

void run_tpstats(Session& s) {
  const std::string format = s.option("-F");
  if (!format.empty() && format != "json" && format != "yaml") bad_use("arguments for -F are json,yaml only.");
  const Json answer = s.get("/v1/thread_pools");
  if (format == "json") {
    s.out << pretty_json(pools_as_tree(answer)) << "\n";
  } else if (format == "yaml") {
    s.out << block_yaml(pools_as_tree(answer)) << "\n";
  } else {
    print_pools(s.out, answer);
  }
}

void run_clientstats(Session& s) {
  if (s.has("--clear-history")) {
    s.out << "Clearing connection history\n";
    s.post("/v1/clients/clear_history");
    return;
  }
  const Json clients = s.get("/v1/clients");
  if (s.has("--by-protocol")) return print_by_protocol(s.out, clients.at("by_protocol"));
  if (s.has("--all")) print_connections(s.out, clients.at("connections"), false);
  if (s.has("--client-options")) print_connections(s.out, clients.at("connections"), true);
  int64_t total = 0;
  Table table;
  table.add({"User", "Connections"});
  for (const Json& user : clients.at("by_user")) {
    const int64_t count = user.at("connections");
    total += count;
    table.add({user.at("user"), std::to_string(count)});
  }
  s.out << "Total connected clients: " << total << "\n\n" << table.text();
}

void run_compactionstats(Session& s) {
  const Json c = s.get("/v1/compactions");
  const bool human = s.has("-H"), vtable = s.has("-V");
  Table table;
  add_compaction_totals(table, c, human);
  if (!c.at("running").empty()) {
    if (vtable) {
      table.add({"keyspace", "table", "task id", "completion ratio", "kind", "progress", "sstables", "total",
                 "total compressed", "unit", "target directory"});
    } else {
      table.add({"id", "compaction type", "keyspace", "table", "completed", "total", "unit", "progress"});
    }
    int64_t remaining = 0;
    for (const Json& running : c.at("running")) {
      add_running(table, running, human, vtable);
      remaining += running.at("total").get<int64_t>() - running.at("completed").get<int64_t>();
    }
    const int64_t rate = c.at("throughput_bytes_per_second");
    const int64_t seconds = rate == 0 ? 0 : remaining / rate;
    table.add({"active compaction remaining time",
               rate == 0 ? "n/a" : fmt::format("{}h{:02}m{:02}s", seconds / 3600, seconds % 3600 / 60, seconds % 60)});
  }
  s.out << table.text();
}

void run_compactionhistory(Session& s) {
  const std::string format = s.option("-F");
  if (!format.empty() && format != "json" && format != "yaml") bad_use("arguments for -F are json,yaml only.");
  const Json tree = history_as_tree(s.get("/v1/compaction_history"));
  if (format == "json") {
    s.out << pretty_json(tree) << "\n";
  } else if (format == "yaml") {
    s.out << block_yaml(tree) << "\n";
  } else {
    print_history(s.out, tree);
  }
}

// Streams are not printed: the node has none.
void run_netstats(Session& s) {
  const Json n = s.get("/v1/network");
  const Json& repairs = n.at("read_repairs");
  s.out << fmt::format("Mode: {}\n", n.at("mode").get<std::string>()) << "Not sending any streams.\n"
        << fmt::format("Read Repair Statistics:\nAttempted: {}\nMismatch (Blocking): {}\nMismatch (Background): {}\n",
                       repairs.at("attempted").get<int64_t>(), repairs.at("blocking_mismatches").get<int64_t>(),
                       repairs.at("background_mismatches").get<int64_t>());
  constexpr const char* kRow = "{:<25}{:>10}{:>10}{:>15}{:>10}\n";
  s.out << fmt::format(kRow, "Pool Name", "Active", "Pending", "Completed", "Dropped");
  for (const Json& m : n.at("messages")) {
    s.out << fmt::format(kRow, m.at("name").get<std::string>(), "n/a", m.at("pending").get<int64_t>(),
                         m.at("completed").get<int64_t>(), m.at("dropped").get<int64_t>());
  }
}

}  // namespace cassandra_like::nodetool
