// tablestats: the numbers of every table, grouped by keyspace or sorted by one of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "nodetool_format.h"

namespace cassandra_like::nodetool {
namespace {

// The fields that `-s KEY` sorts by, if the node's answer has them. Larger first, equals by full name.
constexpr std::pair<std::string_view, const char*> kSortKeys[] = {
    {"average_live_cells_per_slice_last_five_minutes", "live_cells_mean"},
    {"average_tombstones_per_slice_last_five_minutes", "tombstones_mean"},
    {"bloom_filter_false_positives", "bloom_filter_false_positives"},
    {"bloom_filter_false_ratio", "bloom_filter_false_ratio"},
    {"bloom_filter_off_heap_memory_used", "bloom_filter_off_heap_bytes"},
    {"bloom_filter_space_used", "bloom_filter_disk_bytes"},
    {"compacted_partition_maximum_bytes", "partition_max_bytes"},
    {"compacted_partition_mean_bytes", "partition_mean_bytes"},
    {"compacted_partition_minimum_bytes", "partition_min_bytes"},
    {"compression_metadata_off_heap_memory_used", "compression_metadata_off_heap_bytes"},
    {"dropped_mutations", "dropped_mutations"},
    {"full_name", ""},
    {"index_summary_off_heap_memory_used", "index_summary_off_heap_bytes"},
    {"local_read_count", "read_count"},
    {"local_read_latency_ms", "read_mean_micros"},
    {"local_write_latency_ms", "write_mean_micros"},
    {"maximum_live_cells_per_slice_last_five_minutes", "live_cells_max"},
    {"maximum_tombstones_per_slice_last_five_minutes", "tombstones_max"},
    {"memtable_cell_count", "memtable_cell_count"},
    {"memtable_data_size", "memtable_data_bytes"},
    {"memtable_off_heap_memory_used", "memtable_off_heap_bytes"},
    {"memtable_switch_count", "memtable_switch_count"},
    {"number_of_partitions_estimate", "partitions_estimate"},
    {"off_heap_memory_used_total", "off_heap_bytes"},
    {"pending_flushes", "pending_flushes"},
    {"percent_repaired", "percent_repaired"},
    {"read_latency", "read_mean_micros"},
    {"reads", "read_count"},
    {"space_used_by_snapshots_total", "space_used_by_snapshots_bytes"},
    {"space_used_live", "space_used_live_bytes"},
    {"space_used_total", "space_used_total_bytes"},
    {"sstable_compression_ratio", "sstable_compression_ratio"},
    {"sstable_count", "sstable_count"},
    {"table_name", "table"},
    {"write_latency", "write_mean_micros"},
    {"writes", "write_count"},
    {"max_sstable_size", "max_sstable_size_bytes"},
    {"local_read_write_ratio", "read_write_ratio"},
    {"twcs_max_duration", "twcs_max_duration_millis"},
    {"sai_local_query_latency_ms", "sai_local_query_latency_ms"},
    {"sai_post_filtering_read_latency", "sai_post_filtering_read_latency"},
    {"sai_disk_used_bytes", "sai_disk_used_bytes"},
    {"sai_sstable_indexes_hit", "sai_sstable_indexes_hit"},
    {"sai_index_segments_hit", "sai_index_segments_hit"},
    {"sai_rows_filtered", "sai_rows_filtered"},
    {"sai_total_query_timeouts", "sai_total_query_timeouts"},
    {"sai_total_queryable_index_ratio", "sai_total_queryable_index_ratio"}};

struct Keyspace {
  std::string name;
  int64_t reads = 0, writes = 0, pending_flushes = 0;
  double read_micros = 0, write_micros = 0;
  std::vector<Json> tables;

  void add(const Json& t) {
    reads += t.at("read_count").get<int64_t>();
    writes += t.at("write_count").get<int64_t>();
    read_micros += number_or(t, "read_total_micros", 0);
    write_micros += number_or(t, "write_total_micros", 0);
    pending_flushes += t.at("pending_flushes").get<int64_t>();
  }
  double read_latency_ms() const { return reads > 0 ? read_micros / static_cast<double>(reads) / 1000 : NAN; }
  double write_latency_ms() const { return writes > 0 ? write_micros / static_cast<double>(writes) / 1000 : NAN; }
};

// The names on the command line: `keyspace`, `keyspace.table`, with -i those that shall not show.
class Filter {
 public:
  Filter(const std::vector<std::string>& names, bool ignore) : ignore_(ignore) {
    for (const std::string& name : names) {
      const size_t dot = name.find('.');
      auto& tables = wanted_[name.substr(0, dot)];
      if (dot != std::string::npos) tables.push_back(name.substr(dot + 1));
    }
  }
  bool keyspace(const std::string& name) const {
    return wanted_.empty() ? !ignore_ : wanted_.contains(name) || ignore_;
  }
  bool table(const std::string& keyspace, const std::string& name) const {
    if (wanted_.empty()) return !ignore_;
    auto it = wanted_.find(keyspace);
    if (it == wanted_.end()) return ignore_;
    if (it->second.empty()) return !ignore_;
    return ignore_ != (std::ranges::find(it->second, name) != it->second.end());
  }
  void verify(const Json& tables) const {
    std::map<std::string, std::set<std::string>> existing;
    for (const Json& t : tables) existing[t.at("keyspace")].insert(t.at("table").get<std::string>());
    for (const auto& [keyspace, names] : wanted_) {
      if (!existing.contains(keyspace)) bad_use("Unknown keyspace: " + keyspace);
      std::vector<std::string> missing;
      for (const std::string& name : names) {
        if (!existing[keyspace].contains(name)) missing.push_back(name);
      }
      if (!missing.empty()) {
        bad_use(fmt::format("Unknown tables: [{}] in keyspace: {}", fmt::join(missing, ", "), keyspace));
      }
    }
  }

 private:
  std::map<std::string, std::vector<std::string>> wanted_;
  bool ignore_;
};

// Adds sums and ratios of the node's numbers.
void complete(Json& t) {
  double off_heap = 0;
  for (const char* key : {"memtable_off_heap_bytes", "bloom_filter_off_heap_bytes", "index_summary_off_heap_bytes",
                          "compression_metadata_off_heap_bytes"}) {
    off_heap += number_or(t, key, 0);
  }
  const double reads = number_or(t, "read_count", 0), writes = number_or(t, "write_count", 0);
  t["off_heap_bytes"] = static_cast<int64_t>(off_heap);
  t["read_write_ratio"] = writes > 0 ? reads / writes : 0.0;
  if (number_or(t, "partitions_estimate", -1) < 0) t["partitions_estimate"] = 0;
}

std::string millis(const Json& t, const char* key) {
  const double micros = number_or(t, key, 0);
  return micros > 0 ? fmt::format("{:.3f}", micros / 1000) : "NaN";
}

std::string duration_words(int64_t millis) {
  std::string out;
  int64_t seconds = millis / 1000;
  for (auto [unit, size] : {std::pair{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}}) {
    const int64_t count = seconds / size;
    seconds %= size;
    if (count == 0) continue;
    out += fmt::format("{}{} {}{}", out.empty() ? "" : " ", count, unit, count == 1 ? "" : "s");
  }
  return out.empty() ? "0 seconds" : out;
}

std::string twcs_window(const Json& t) {
  const Json& w = t.at("twcs");
  return fmt::format("{} {}, max duration: {}", w.at("size").get<std::string>(), w.at("unit").get<std::string>(),
                     duration_words(static_cast<int64_t>(number_or(t, "twcs_max_duration_millis", 0))));
}

// Levels of the levelled strategy; empty for another. A level that holds more than it should says so: 12/10.
std::vector<std::string> level_counts(const Json& t) {
  std::vector<std::string> out;
  const auto fanout = static_cast<int64_t>(number_or(t, "level_fanout", 10));
  int64_t most = 4;
  for (const Json& level : t.at("sstables_per_level")) {
    const int64_t count = level;
    out.push_back(count > most ? fmt::format("{}/{}", count, most) : std::to_string(count));
    most = out.size() == 1 ? fanout : most * fanout;
  }
  return out;
}

std::vector<std::string> level_sizes(const Json& t, bool human) {
  std::vector<std::string> out;
  for (const Json& bytes : t.at("sstable_bytes_per_level")) {
    out.push_back(human ? file_size(bytes.get<double>()) : std::to_string(bytes.get<int64_t>()));
  }
  return out;
}

class Printer {
 public:
  Printer(const Session& s, std::string indent) : s_(s), indent_(std::move(indent)), human_(s.has("-H")) {}

  void print(const Json& t, const std::string& name) {
    line(t.at("is_index").get<bool>() ? "Table (index)" : "Table", name);
    number("SSTable count", t, "sstable_count");
    number("Old SSTable count", t, "old_sstable_count");
    line("Max SSTable size", pretty_memory(t.at("max_sstable_size_bytes")));
    if (!t.at("twcs").is_null()) line("SSTables Time Window", twcs_window(t));
    if (!t.at("sstables_per_level").is_null()) levels(t);
    size("Space used (live)", t, "space_used_live_bytes");
    size("Space used (total)", t, "space_used_total_bytes");
    size("Space used by snapshots (total)", t, "space_used_by_snapshots_bytes");
    size("Off heap memory used (total)", t, "off_heap_bytes");
    line("SSTable Compression Ratio", fixed(t.at("sstable_compression_ratio"), 5));
    number("Number of partitions (estimate)", t, "partitions_estimate");
    number("Memtable cell count", t, "memtable_cell_count");
    size("Memtable data size", t, "memtable_data_bytes");
    size("Memtable off heap memory used", t, "memtable_off_heap_bytes");
    number("Memtable switch count", t, "memtable_switch_count");
    number("Speculative retries", t, "speculative_retries");
    number("Local read count", t, "read_count");
    line("Local read latency", millis(t, "read_mean_micros") + " ms");
    number("Local write count", t, "write_count");
    line("Local write latency", millis(t, "write_mean_micros") + " ms");
    line("Local read/write ratio", fixed(t.at("read_write_ratio"), 5));
    number("Pending flushes", t, "pending_flushes");
    repair_and_filters(t);
    partitions(t);
    s_.out << "\n";
  }

 private:
  void line(const char* label, const std::string& value) { s_.out << indent_ << label << ": " << value << "\n"; }
  void number(const char* label, const Json& t, const char* key) {
    line(label, std::to_string(static_cast<int64_t>(number_or(t, key, 0))));
  }
  void size(const char* label, const Json& t, const char* key) {
    const double bytes = number_or(t, key, 0);
    line(label, human_ ? file_size(bytes) : std::to_string(static_cast<int64_t>(bytes)));
  }
  void mean(const char* label, const Json& t, const char* key) { line(label, java_double(number_or(t, key, NAN))); }

  void levels(const Json& t) {
    line("SSTables in each level", fmt::format("[{}]", fmt::join(level_counts(t), ", ")));
    line("SSTable bytes in each level", fmt::format("[{}]", fmt::join(level_sizes(t, human_), ", ")));
  }

  void repair_and_filters(const Json& t) {
    line("Percent repaired", java_double(std::round(number_or(t, "percent_repaired", 0) * 100) / 100));
    line("Bytes repaired", pretty_memory(t.at("bytes_repaired")));
    line("Bytes unrepaired", pretty_memory(t.at("bytes_unrepaired")));
    line("Bytes pending repair", pretty_memory(t.at("bytes_pending_repair")));
    number("Bloom filter false positives", t, "bloom_filter_false_positives");
    line("Bloom filter false ratio", fixed(t.at("bloom_filter_false_ratio"), 5));
    size("Bloom filter space used", t, "bloom_filter_disk_bytes");
    size("Bloom filter off heap memory used", t, "bloom_filter_off_heap_bytes");
    size("Index summary off heap memory used", t, "index_summary_off_heap_bytes");
    size("Compression metadata off heap memory used", t, "compression_metadata_off_heap_bytes");
  }

  void partitions(const Json& t) {
    number("Compacted partition minimum bytes", t, "partition_min_bytes");
    number("Compacted partition maximum bytes", t, "partition_max_bytes");
    number("Compacted partition mean bytes", t, "partition_mean_bytes");
    mean("Average live cells per slice (last five minutes)", t, "live_cells_mean");
    number("Maximum live cells per slice (last five minutes)", t, "live_cells_max");
    mean("Average tombstones per slice (last five minutes)", t, "tombstones_mean");
    number("Maximum tombstones per slice (last five minutes)", t, "tombstones_max");
    line("Droppable tombstone ratio", fixed(t.at("droppable_tombstone_ratio"), 5));
    if (s_.has("-l")) line("SSTables in correct location", t.at("misplaced_sstables").get<bool>() ? "false" : "true");
  }

  const Session& s_;
  std::string indent_;
  bool human_;
};

// The format that -F asks for.
struct TreeStyle {
  bool human, locations;
};

// The tree of -F: Cassandra's names, sizes as text as in the plain layout.
Json storage_tree(const Json& t, TreeStyle style) {
  auto size = [&](const char* key) {
    const double bytes = number_or(t, key, 0);
    return style.human ? file_size(bytes) : std::to_string(static_cast<int64_t>(bytes));
  };
  return {{"sstable_count", t.at("sstable_count")},
          {"old_sstable_count", t.at("old_sstable_count")},
          {"sstables_in_each_level", level_counts(t)},
          {"sstable_bytes_in_each_level", level_sizes(t, style.human)},
          {"max_sstable_size", t.at("max_sstable_size_bytes")},
          {"twcs", t.at("twcs").is_null() ? Json(nullptr) : Json(twcs_window(t))},
          {"space_used_live", size("space_used_live_bytes")},
          {"space_used_total", size("space_used_total_bytes")},
          {"space_used_by_snapshots_total", size("space_used_by_snapshots_bytes")},
          {"off_heap_memory_used_total", size("off_heap_bytes")},
          {"sstable_compression_ratio", t.at("sstable_compression_ratio")},
          {"number_of_partitions_estimate", t.at("partitions_estimate")},
          {"memtable_cell_count", t.at("memtable_cell_count")},
          {"memtable_data_size", size("memtable_data_bytes")},
          {"memtable_off_heap_memory_used", size("memtable_off_heap_bytes")},
          {"memtable_switch_count", t.at("memtable_switch_count")},
          {"percent_repaired", t.at("percent_repaired")},
          {"bytes_repaired", t.at("bytes_repaired")},
          {"bytes_unrepaired", t.at("bytes_unrepaired")},
          {"bytes_pending_repair", t.at("bytes_pending_repair")},
          {"bloom_filter_false_positives", t.at("bloom_filter_false_positives")},
          {"bloom_filter_false_ratio", fixed(t.at("bloom_filter_false_ratio"), 5)},
          {"bloom_filter_space_used", size("bloom_filter_disk_bytes")},
          {"bloom_filter_off_heap_memory_used", size("bloom_filter_off_heap_bytes")},
          {"index_summary_off_heap_memory_used", size("index_summary_off_heap_bytes")},
          {"compression_metadata_off_heap_memory_used", size("compression_metadata_off_heap_bytes")}};
}

Json as_tree(const Json& t, TreeStyle style) {
  auto number = [&t](const char* key) { return static_cast<int64_t>(number_or(t, key, 0)); };
  auto mean = [&t](const char* key) { return number_or(t, key, NAN); };
  Json out = storage_tree(t, style);
  out.update({{"speculative_retries", t.at("speculative_retries")},
              {"local_read_count", t.at("read_count")},
              {"local_read_latency_ms", millis(t, "read_mean_micros")},
              {"local_write_count", t.at("write_count")},
              {"local_write_latency_ms", millis(t, "write_mean_micros")},
              {"local_read_write_ratio", fixed(t.at("read_write_ratio"), 5)},
              {"pending_flushes", t.at("pending_flushes")},
              {"compacted_partition_minimum_bytes", number("partition_min_bytes")},
              {"compacted_partition_maximum_bytes", number("partition_max_bytes")},
              {"compacted_partition_mean_bytes", number("partition_mean_bytes")},
              {"average_live_cells_per_slice_last_five_minutes", mean("live_cells_mean")},
              {"maximum_live_cells_per_slice_last_five_minutes", t.at("live_cells_max")},
              {"average_tombstones_per_slice_last_five_minutes", mean("tombstones_mean")},
              {"maximum_tombstones_per_slice_last_five_minutes", t.at("tombstones_max")},
              {"droppable_tombstone_ratio", fixed(t.at("droppable_tombstone_ratio"), 5)},
              {"top_size_partitions", Json::object()},
              {"top_tombstone_partitions", Json::object()}});
  if (style.locations) out["sstables_in_correct_location"] = !t.at("misplaced_sstables").get<bool>();
  // Cassandra's figures of a table without such indexes.
  out.update({{"sai_local_query_latency_ms", "0.000"},
              {"sai_post_filtering_read_latency", "0.000"},
              {"sai_disk_used_bytes", nullptr},
              {"sai_sstable_indexes_hit", 0.0},
              {"sai_index_segments_hit", 0.0},
              {"sai_rows_filtered", 0.0},
              {"sai_total_query_timeouts", 0},
              {"sai_total_queryable_index_ratio", nullptr}});
  return out;
}

Json all_as_tree(const std::vector<Keyspace>& keyspaces, size_t count, TreeStyle style) {
  Json out{{"total_number_of_tables", count}};
  for (const Keyspace& k : keyspaces) {
    Json tables = Json::object();
    for (const Json& t : k.tables) tables[t.at("table").get<std::string>()] = as_tree(t, style);
    out[k.name] = {{"read_latency", k.read_latency_ms()},
                   {"read_count", k.reads},
                   {"read_latency_ms", k.read_latency_ms()},
                   {"write_count", k.writes},
                   {"write_latency_ms", k.write_latency_ms()},
                   {"pending_flushes", k.pending_flushes},
                   {"tables", tables}};
  }
  return out;
}

void print_by_keyspace(Session& s, const std::vector<Keyspace>& keyspaces, size_t count) {
  if (count == 0) return;
  s.out << "Total number of tables: " << count << "\n----------------\n";
  for (const Keyspace& k : keyspaces) {
    s.out << "Keyspace: " << k.name << "\n\tRead Count: " << k.reads
          << "\n\tRead Latency: " << java_double(k.read_latency_ms()) << " ms\n\tWrite Count: " << k.writes
          << "\n\tWrite Latency: " << java_double(k.write_latency_ms())
          << " ms\n\tPending Flushes: " << k.pending_flushes << "\n";
    for (const Json& t : k.tables) Printer(s, "\t\t").print(t, t.at("table"));
    s.out << "----------------\n";
  }
}

std::string full_name(const Json& t) {
  return t.at("keyspace").get<std::string>() + "." + t.at("table").get<std::string>();
}

void sort_by(std::vector<Json>& tables, const std::string& field) {
  std::ranges::sort(tables, [&field](const Json& a, const Json& b) {
    if (field.empty()) return full_name(a) > full_name(b);
    if (field == "table" && a.at(field) != b.at(field)) return a.at(field) > b.at(field);
    const double x = number_or(a, field.c_str(), 0), y = number_or(b, field.c_str(), 0);
    return x != y ? x > y : full_name(a) < full_name(b);
  });
}

std::string sort_field(const std::string& key) {
  std::vector<std::string_view> known;
  for (const auto& [name, field] : kSortKeys) {
    if (name == key) return field;
    known.push_back(name);
  }
  bad_use(fmt::format("argument for sort must be one of: {}", fmt::join(known, ", ")));
}

int top_of(const Session& s) {
  if (!s.has("-t")) return 0;
  int top = 0;
  try {
    top = std::stoi(s.option("-t"));
  } catch (const std::exception&) {
    bad_use(fmt::format("top: can not convert \"{}\" to a int", s.option("-t")));
  }
  if (top > 0 && !s.has("-s")) bad_use("cannot filter top K tables without specifying a sort key.");
  if (top < 0) bad_use("argument for top must be a positive integer.");
  return top;
}

}  // namespace

void run_tablestats(Session& s) {
  const std::string format = s.option("-F");
  if (!format.empty() && format != "json" && format != "yaml") bad_use("arguments for -F are json,yaml only.");
  const std::string field = s.has("-s") ? sort_field(s.option("-s")) : "";
  const int top = top_of(s);

  const Json answer = s.get("/v1/tables");
  const Filter filter(s.arguments, s.has("-i"));
  filter.verify(answer.at("tables"));
  std::vector<Keyspace> keyspaces;
  std::vector<Json> selected;
  for (Json t : answer.at("tables")) {
    const std::string keyspace = t.at("keyspace");
    if (!filter.keyspace(keyspace)) continue;
    if (keyspaces.empty() || keyspaces.back().name != keyspace) keyspaces.emplace_back().name = keyspace;
    keyspaces.back().add(t);
    if (!filter.table(keyspace, t.at("table"))) continue;
    complete(t);
    keyspaces.back().tables.push_back(t);
    selected.push_back(std::move(t));
  }
  std::erase_if(keyspaces, [](const Keyspace& k) { return k.tables.empty(); });
  const size_t count = selected.size();
  if (s.has("-s")) {
    sort_by(selected, field);
    if (top > 0 && selected.size() > static_cast<size_t>(top)) selected.resize(static_cast<size_t>(top));
  }

  if (!format.empty()) {
    const TreeStyle style{.human = s.has("-H"), .locations = s.has("-l")};
    Json tree = all_as_tree(keyspaces, count, style);
    if (s.has("-s")) {
      tree = Json{{"total_number_of_tables", count}};
      for (const Json& t : selected) tree[full_name(t)] = as_tree(t, style);
    }
    s.out << (format == "json" ? pretty_json(tree) : block_yaml(tree)) << "\n";
  } else if (!s.has("-s")) {
    print_by_keyspace(s, keyspaces, count);
  } else if (count > 0) {
    s.out << "Total number of tables: " << count;
    if (top > 0)
      s.out << fmt::format(" (showing top {} by {})", std::min<size_t>(count, static_cast<size_t>(top)),
                           s.option("-s"));
    s.out << "\n----------------\n";
    for (const Json& t : selected) Printer(s, "\t").print(t, full_name(t));
    s.out << "----------------\n";
  }
}

void run_statusautocompaction(Session& s) {
  const Json answer = s.get("/v1/auto_compaction", s.keyspace_and_tables());
  Table table;
  table.add({"Keyspace", "Table", "Status"});
  size_t running = 0;
  for (const Json& each : answer.at("tables")) {
    const bool runs = each.at("running");
    running += runs ? 1 : 0;
    table.add({each.at("keyspace"), each.at("table"), runs ? "running" : "not running"});
  }
  if (s.has("-a")) {
    s.out << table.text();
  } else if (running == answer.at("tables").size()) {
    s.out << "running\n";
  } else {
    s.out << (running == 0 ? "not running\n" : "partially running\n");
  }
}

}  // namespace cassandra_like::nodetool
