// getguardrailsconfig and setguardrailsconfig (tools.nodetool.GuardrailsConfigCommand).
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nodetool.h"
#include "nodetool_format.h"

namespace cassandra_like::nodetool {

namespace {

struct Guardrail {
  std::string name;
  std::vector<std::string> values;  // of a threshold: the failure's, the warning's
};

using Rows = std::vector<std::vector<std::string>>;

// In the order in which they are printed.
constexpr const char* kCategories[] = {"flags", "thresholds", "values", "others"};

std::string category_of(const std::string& name) {
  // They are switches, whatever their names say.
  if (name == "intersect_filtering_query_warned" || name == "zero_ttl_on_twcs_warned") return "flags";
  if (name.ends_with("_enabled")) return "flags";
  if (name.ends_with("_threshold")) return "thresholds";
  const bool is_set = name.ends_with("_disallowed") || name.ends_with("_ignored") || name.ends_with("_warned");
  return is_set ? "values" : "others";
}

// "tables_fail_threshold" of "tables_threshold"
std::string part_name(const std::string& name, const char* part) {
  return name.substr(0, name.size() - std::string("threshold").size()) + part + "_threshold";
}

std::vector<Guardrail> all_guardrails(Session& s) {
  std::vector<Guardrail> all;
  const Json answer = s.get("/v1/guardrails");
  for (const Json& each : answer.at("guardrails")) {
    all.push_back({each.at("name"), each.at("values").get<std::vector<std::string>>()});
  }
  return all;
}

std::string joined(const std::vector<std::string>& values) {
  return values.size() == 1 ? values[0] : fmt::format("[{}]", fmt::join(values, ", "));
}

void add_rows(const Guardrail& guardrail, bool expand, Rows& rows) {
  if (!expand || guardrail.values.size() != 2) {
    rows.push_back({guardrail.name, joined(guardrail.values)});
    return;
  }
  rows.push_back({part_name(guardrail.name, "fail"), guardrail.values[0]});
  rows.push_back({part_name(guardrail.name, "warn"), guardrail.values[1]});
}

// A guardrail by the name that cassandra.yaml has for it, or by the one of both thresholds.
std::vector<Guardrail> named(const std::vector<Guardrail>& all, const std::string& name) {
  for (const Guardrail& each : all) {
    if (each.name == name) return {each};
    if (each.values.size() != 2) continue;
    if (part_name(each.name, "fail") == name) return {{each.name, {each.values[0]}}};
    if (part_name(each.name, "warn") == name) return {{each.name, {each.values[1]}}};
  }
  bad_use(fmt::format("Guardrail {} not found.", name));
}

std::string category_option(Session& s) {
  std::string category = s.option("--category");
  std::transform(category.begin(), category.end(), category.begin(), [](unsigned char c) { return std::tolower(c); });
  if (!s.has("--category") ||
      std::find(std::begin(kCategories), std::end(kCategories), category) != std::end(kCategories))
    return category;
  s.out << fmt::format(
      "\nError: Illegal value for -c/--category used: '{}'. Supported values are values,thresholds,flags,others.\n",
      s.option("--category"));
  throw Failure{Failure::kPlain, "", 1};
}

}  // namespace

void run_getguardrailsconfig(Session& s) {
  const std::string category = category_option(s);
  if (s.arguments.size() > 1) {
    bad_use(
        "Specify only one guardrail name to get the configuration of or no name to get the configuration of all of "
        "them.");
  }
  if (!s.arguments.empty() && !category.empty()) {
    bad_use("Do not specify additional arguments when --category/-c is set.");
  }
  std::vector<Guardrail> shown = all_guardrails(s);
  if (!s.arguments.empty()) shown = named(shown, s.arguments[0]);
  std::map<std::string, Rows> rows;
  size_t count = 0;
  for (const Guardrail& each : shown) {
    add_rows(each, s.has("--expand"), rows[category_of(each.name)]);
    count += s.has("--expand") ? each.values.size() : 1;
  }
  Table table;
  for (const char* one : kCategories) {
    if (!category.empty() && category != one) continue;
    for (std::vector<std::string>& row : rows[one]) {
      if (count == 1 && category.empty()) row.erase(row.begin());
      table.add(std::move(row));
    }
  }
  s.out << table.text();
}

void run_setguardrailsconfig(Session& s) {
  if (s.arguments.empty()) bad_use("No arguments.");
  const std::string& name = s.arguments[0];
  const std::vector<Guardrail> all = all_guardrails(s);
  const auto found = std::ranges::find(all, name, &Guardrail::name);
  if (found == all.end()) bad_use(fmt::format("Guardrail {} not found.", name));
  std::vector<std::string> values(s.arguments.begin() + 1, s.arguments.end());
  if (category_of(name) == "values" && values.size() > 1) values = {fmt::format("{}", fmt::join(values, ","))};
  if (values.size() != found->values.size()) {
    bad_use(fmt::format("{} is expecting {} argument values. Getting {} instead.", name, found->values.size(),
                        values.size()));
  }
  Parameters parameters{{"name", name}};
  for (const std::string& value : values) parameters.emplace_back("value", value);
  try {
    s.post("/v1/guardrails", parameters);
  } catch (const Failure& f) {
    if (f.kind != Failure::kBadUse || f.text.ends_with(" is not supported yet")) throw;
    bad_use(fmt::format("Error occured when setting the config for setter {} with arguments [{}]: {}", name,
                        fmt::join(values, ", "), f.text));
  }
}

}  // namespace cassandra_like::nodetool
