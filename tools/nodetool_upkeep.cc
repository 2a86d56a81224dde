// Orders for SSTables: compact, forcecompact, rebuild_index, import, refresh, getsstables, upgradesstables,
// recompress_sstables, relocatesstables, garbagecollect, cleanup, scrub, verify.
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "nodetool.h"

namespace cassandra_like::nodetool {

namespace {

// String.split(","): what is empty at the end does not count.
std::vector<std::string> split_at_commas(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    for (size_t at = 0; at <= word.size();) {
      const size_t end = std::min(word.find(',', at), word.size());
      out.push_back(word.substr(at, end - at));
      at = end + 1;
    }
  }
  while (out.size() > 1 && out.back().empty()) out.pop_back();
  if (out.empty()) out.emplace_back();
  return out;
}

// The value of an option, a number as Java reads it.
template <class Number>
Number number(const Session& s, const char* option, const char* title, const char* type, Number otherwise) {
  if (!s.has(option)) return otherwise;
  const std::string text = s.option(option);
  const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  Number value = 0;
  auto [rest, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) {
    bad_use(fmt::format("{}: can not convert \"{}\" to a {}", title, text, type));
  }
  return value;
}

int32_t jobs_of(const Session& s, int32_t otherwise) { return number<int32_t>(s, "-j", "jobs", "int", otherwise); }

// NodeProbe.checkJobs. How many run is the node's to say: one for each table and shard, as far as it has compactors.
void check_jobs(Session& s, int32_t jobs) {
  if (jobs <= 1) return;
  const auto compactors = s.get("/v1/compactions").at("concurrent_compactors").get<int32_t>();
  if (jobs <= compactors) return;
  s.out << fmt::format(
      "jobs ({}) is bigger than configured concurrent_compactors ({}) on the host, using at most {} threads\n", jobs,
      compactors, compactors);
}

}  // namespace

void run_compact(Session& s) {
  const bool range = !s.option("-st").empty() || !s.option("-et").empty();
  const bool partition = !s.option("--partition").empty();
  if (s.has("-s") && (s.has("--user-defined") || range || partition)) {
    failed("Invalid option combination: Can not use split-output here");
  }
  if (s.has("--user-defined") && (range || partition)) {
    failed("Invalid option combination: Can not provide tokens when using user-defined");
  }
  Parameters parameters;
  if (s.has("--user-defined")) {
    for (const std::string& file : split_at_commas(s.arguments)) parameters.emplace_back("file", file);
  } else {
    parameters = s.keyspace_and_tables();
    if (s.has("-s")) parameters.emplace_back("split_output", "true");
    if (range) {
      parameters.emplace_back("start_token", s.option("-st"));
      parameters.emplace_back("end_token", s.option("-et"));
    } else if (partition) {
      parameters.emplace_back("partition", s.option("--partition"));
    }
  }
  s.post("/v1/compact", parameters);
}

void run_getsstables(Session& s) {
  if (s.arguments.size() != 3) bad_use("getsstables requires ks, cf and key args");
  Parameters parameters{{"keyspace", s.arguments[0]}, {"table", s.arguments[1]}, {"key", s.arguments[2]}};
  if (s.has("-hf")) parameters.emplace_back("hex", "true");
  Json answer;
  try {
    answer = s.get("/v1/sstables", parameters);
  } catch (const Failure& f) {
    // NodeProbe.getCfsProxy, which ends the program.
    if (f.text.ends_with(" not found.")) throw Failure{Failure::kPlain, f.text, 1};
    throw;
  }
  if (!s.has("-l") || !answer.at("leveled").get<bool>()) {
    for (const Json& each : answer.at("sstables")) s.out << each.at("file").get<std::string>() << "\n";
    return;
  }
  std::multimap<int64_t, std::string> by_level;
  for (const Json& each : answer.at("sstables")) by_level.emplace(each.at("level"), each.at("file"));
  for (const auto& [level, file] : by_level) s.out << fmt::format("{}: {}\n", level, file);
}

void run_forcecompact(Session& s) {
  if (s.arguments.size() < 3) bad_use("forcecompact requires keyspace, table and keys args");
  Parameters parameters{{"keyspace", s.arguments[0]}, {"table", s.arguments[1]}};
  for (size_t i = 2; i < s.arguments.size(); ++i) parameters.emplace_back("key", s.arguments[i]);
  s.post("/v1/force_compact", parameters);
}

void run_rebuild_index(Session& s) {
  if (s.arguments.size() < 3) bad_use("rebuild_index requires ks, cf and idx args");
  Parameters parameters{{"keyspace", s.arguments[0]}, {"table", s.arguments[1]}};
  for (size_t i = 2; i < s.arguments.size(); ++i) parameters.emplace_back("index", s.arguments[i]);
  s.post("/v1/rebuild_index", parameters);
}

void run_upgradesstables(Session& s) {
  constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::max();
  const auto until = number<int64_t>(s, "-t", "max_timestamp", "long", kAnyTime);
  check_jobs(s, jobs_of(s, 2));
  Parameters parameters = s.keyspace_and_tables();
  if (s.has("-a")) parameters.emplace_back("include_all", "true");
  if (until != kAnyTime) parameters.emplace_back("max_timestamp", std::to_string(until));
  s.post("/v1/upgrade_sstables", parameters);
}

void run_recompress_sstables(Session& s) {
  check_jobs(s, jobs_of(s, 2));
  s.post("/v1/recompress_sstables", s.keyspace_and_tables());
}

void run_relocatesstables(Session& s) {
  jobs_of(s, 2);
  s.post("/v1/relocate_sstables", s.keyspace_and_tables());
}

void run_garbagecollect(Session& s) {
  jobs_of(s, 1);
  Parameters parameters = s.keyspace_and_tables();
  parameters.emplace_back("granularity", s.has("-g") ? s.option("-g") : "ROW");
  s.post("/v1/garbage_collect", parameters);
}

void run_cleanup(Session& s) {
  const int32_t jobs = jobs_of(s, 2);
  Parameters parameters = s.keyspace_and_tables();
  const std::string keyspace = s.arguments.empty() ? "" : s.arguments[0];
  if (keyspace == "system" || keyspace == "system_schema") return;
  check_jobs(s, jobs);
  s.post("/v1/cleanup", parameters);
}

void run_scrub(Session& s) {
  check_jobs(s, jobs_of(s, 2));
  Parameters parameters = s.keyspace_and_tables();
  for (const auto& [option, parameter] : {std::pair("-ns", "no_snapshot"),
                                          {"-s", "skip_corrupted"},
                                          {"-n", "no_validate"},
                                          {"-r", "reinsert_overflowed_ttl"}}) {
    if (s.has(option)) parameters.emplace_back(parameter, "true");
  }
  s.post("/v1/scrub", parameters);
}

void run_import(Session& s) {
  if (s.arguments.size() < 3) bad_use("import requires keyspace, table name and directories");
  const bool is_quick = s.has("-q");
  if (is_quick) s.out << "Doing a quick import - skipping sstable verification and row cache invalidation\n";
  Parameters parameters{{"keyspace", s.arguments[0]}, {"table", s.arguments[1]}};
  for (size_t i = 2; i < s.arguments.size(); ++i) {
    const Parameters::value_type directory("directory", s.arguments[i]);
    if (std::find(parameters.begin(), parameters.end(), directory) == parameters.end()) parameters.push_back(directory);
  }
  for (const auto& [option, parameter] :
       {std::pair("-l", "keep_level"), {"-r", "keep_repaired"}, {"-cd", "copy_data"}}) {
    if (s.has(option)) parameters.emplace_back(parameter, "true");
  }
  if (is_quick || s.has("-v")) parameters.emplace_back("no_verify", "true");
  if (is_quick || s.has("-t")) parameters.emplace_back("no_tokens", "true");
  if (!is_quick && s.has("-e")) parameters.emplace_back("extended", "true");
  Json failed;
  try {
    failed = s.post("/v1/import", parameters).at("failed");
  } catch (const Failure& f) {
    if (f.text.ends_with(" not found.")) throw Failure{Failure::kPlain, f.text, 1};
    throw;
  }
  if (failed.empty()) return;
  std::string text = "Some directories failed to import, check server logs for details:";
  for (const Json& directory : failed) text += "\n" + directory.get<std::string>();
  throw Failure{Failure::kPlain, text, 1};
}

void run_refresh(Session& s) {
  s.out << "nodetool refresh is deprecated, use nodetool import instead\n";
  if (s.arguments.size() != 2) bad_use("refresh requires ks and cf args");
  s.post("/v1/refresh", {{"keyspace", s.arguments[0]}, {"table", s.arguments[1]}});
}

void run_verify(Session& s) {
  if (!s.has("-f")) {
    s.out << "verify is disabled unless a [-f|--force] override flag is provided. See CASSANDRA-9947 and "
             "CASSANDRA-17017 for details.\n";
    throw Failure{Failure::kPlain, "", 1};
  }
  if (s.has("-t") && !s.has("-e")) {
    s.out << "Token verification requires --extended-verify\n";
    throw Failure{Failure::kPlain, "", 1};
  }
  Parameters parameters = s.keyspace_and_tables();
  for (const auto& [option, parameter] : {std::pair("-e", "extended"),
                                          {"-q", "quick"},
                                          {"-c", "check_version"},
                                          {"-d", "invoke_failure_policy"},
                                          {"-r", "mutate_repair_status"},
                                          {"-t", "check_tokens"}}) {
    if (s.has(option)) parameters.emplace_back(parameter, "true");
  }
  s.post("/v1/verify", parameters);
}

}  // namespace cassandra_like::nodetool
