// toppartitions and profileload (tools.nodetool.ProfileLoad, metrics.SamplingManager).
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nodetool.h"
#include "nodetool_format.h"

namespace cassandra_like::nodetool {

namespace {

struct Column {
  const char* title;
  const char* key;  // in the node's answer
};

struct Sampler {
  const char* name;
  const char* description;
  std::vector<Column> columns;
};

// In the order in which they are printed (Sampler.SamplerType).
const std::vector<Sampler>& samplers() {
  const Column table{"Table", "table"}, partition{"Partition", "value"};
  const std::vector<Column> frequency{table, partition, {"Count", "count"}, {"+/-", "error"}};
  static const std::vector<Sampler> all{
      {"READS", "Frequency of reads by partition", frequency},
      {"WRITES", "Frequency of writes by partition", frequency},
      {"LOCAL_READ_TIME", "Longest read query times", {{"Query", "value"}, {"Microseconds", "count"}}},
      {"READ_ROW_COUNT", "Partitions read with the most rows", {table, partition, {"Rows", "count"}}},
      {"READ_TOMBSTONE_COUNT", "Partitions read with the most tombstones", {table, partition, {"Tombstones", "count"}}},
      {"READ_SSTABLE_COUNT", "Partitions read with the most sstables", {table, partition, {"SSTables", "count"}}},
      {"WRITE_SIZE", "Max mutation size by partition", {table, partition, {"Bytes", "count"}}},
      {"CAS_CONTENTIONS", "Frequency of CAS contention by partition", frequency}};
  return all;
}

int32_t parse_int(const std::string& text) {
  const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  int32_t value = 0;
  auto [rest, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) bad_use(fmt::format("For input string: \"{}\"", text));
  return value;
}

int32_t int_option(const Session& s, const char* option, const char* title, int32_t otherwise) {
  if (!s.has(option)) return otherwise;
  const std::string text = s.option(option);
  int32_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && rest == text.data() + text.size()) return value;
  bad_use(fmt::format("{}: can not convert \"{}\" to a int", title, text));
}

// The names in the order of Cassandra's list.
std::vector<const Sampler*> wanted_samplers(const Session& s) {
  std::vector<std::string> names;
  for (const Sampler& each : samplers()) names.emplace_back(each.name);
  if (!s.has("-a")) {
    std::vector<const Sampler*> all;
    for (const Sampler& each : samplers()) all.push_back(&each);
    return all;
  }
  std::vector<bool> wanted(names.size());
  const std::string text = s.option("-a");
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string given = text.substr(at, end - at);
    std::string name = given;
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    name.erase(name.find_last_not_of(' ') + 1);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      bad_use(fmt::format("'{}' sampler is not available from: [{}]", given, fmt::join(names, ", ")));
    }
    wanted[static_cast<size_t>(found - names.begin())] = true;
    at = end + 1;
  }
  std::vector<const Sampler*> out;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) out.push_back(&samplers()[i]);
  }
  return out;
}

void print(Session& s, const Sampler& sampler, const Json& samples) {
  s.out << sampler.description << ":\n";
  if (samples.empty()) {
    s.out << "   Nothing recorded during sampling period...\n";
    return;
  }
  Table table;
  std::vector<std::string> head{"  "};
  for (const Column& column : sampler.columns) head.emplace_back(column.title);
  table.add(std::move(head));
  for (const Json& sample : samples) {
    std::vector<std::string> row{"  "};
    for (const Column& column : sampler.columns) {
      const Json& value = sample.at(column.key);
      row.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    table.add(std::move(row));
  }
  s.out << table.text();
}

}  // namespace

void run_profileload(Session& s) {
  if (s.arguments.size() > 3) {
    bad_use(
        "Invalid arguments, either [keyspace table/* duration] or [keyspace table/*] or [duration] or no args.\n"
        "Optionally, use * to represent all tables under the keyspace.");
  }
  const int32_t count = int_option(s, "-k", "topCount", 10), capacity = int_option(s, "-s", "capacity", 256);
  if (count <= 0) bad_use("TopK count (-k) option must have positive value");
  if (count >= capacity) bad_use("TopK count (-k) option must be smaller then the summary capacity (-s)");
  if (capacity > 1024) bad_use("Capacity (-s) cannot exceed 1024.");
  const size_t words = s.arguments.size();
  const std::string keyspace = words >= 2 ? s.arguments[0] : "*", table = words >= 2 ? s.arguments[1] : "*";
  const int32_t duration = words % 2 == 1 ? parse_int(s.arguments.back()) : 10000;
  if (duration <= 0) bad_use(fmt::format("Duration: {} must be positive", duration));
  const int32_t interval = int_option(s, "-i", "intervalMillis", -1);
  if (interval != -1 && interval < duration) {
    bad_use(
        fmt::format("Invalid scheduled sampling interval. Expecting interval >= duration, but interval: {} ms; "
                    "duration: {} ms",
                    interval, duration));
  }
  const std::vector<const Sampler*> wanted = wanted_samplers(s);
  for (const char* option : {"-i", "-t", "-l"}) {
    if (s.has(option)) {
      throw Failure{Failure::kPlain, fmt::format("nodetool: profileload {} is not supported yet", option), 2};
    }
  }
  Parameters parameters;
  if (keyspace != "*") parameters.emplace_back("keyspace", keyspace);
  if (keyspace != "*" && table != "*") parameters.emplace_back("table", table);
  parameters.emplace_back("duration", std::to_string(duration));
  parameters.emplace_back("capacity", std::to_string(capacity));
  parameters.emplace_back("count", std::to_string(count));
  for (const Sampler* each : wanted) parameters.emplace_back("sampler", each->name);
  Json samples;
  try {
    samples = s.post("/v1/samples", parameters).at("samples");
  } catch (const Failure& f) {
    if (f.text.ends_with(" not found.")) throw Failure{Failure::kPlain, f.text, 1};
    throw;
  }
  for (const Sampler* each : wanted) {
    if (each != wanted.front()) s.out << "\n";
    print(s, *each, samples.at(each->name));
  }
  s.out << "\n";
}

}  // namespace cassandra_like::nodetool
