// CREATE, ALTER and DROP KEYSPACE: the replication strategies and their options.
#include <algorithm>

#include "cql/schema/schema_statement.h"
#include "cql/schema/table_options.h"

namespace cassandra_like {
namespace {

constexpr std::string_view kLocatorPackage = "org.apache.cassandra.locator.";
constexpr const char* kFactor = "replication_factor";
constexpr const char* kSimple = "SimpleStrategy";
constexpr const char* kNetworkTopology = "NetworkTopologyStrategy";

// The replication that the statement gives; none: it gives none.
Result<std::optional<StringPairs>> read_replication(const ast::Properties& properties) {
  PropertyReader in(properties);
  TRY(in.check_names({"durable_writes", "replication"}));
  if (!in.has("replication")) return std::optional<StringPairs>();
  ASSIGN_OR_RETURN(StringPairs replication, in.map("replication"));
  if (!replication.empty() && !replication.contains("class")) {
    return config_error("Missing replication strategy class");
  }
  return std::optional<StringPairs>(std::move(replication));
}

Result<bool> read_durable_writes(const ast::Properties& properties, bool otherwise) {
  PropertyReader in(properties);
  if (!in.has("durable_writes")) return otherwise;
  return in.boolean("durable_writes");
}

Result<std::string> strategy_class(const std::string& written) {
  std::string full = written.find('.') == std::string::npos ? std::string(kLocatorPackage) + written : written;
  std::string name = full.starts_with(kLocatorPackage) ? full.substr(kLocatorPackage.size()) : "";
  if (name == "OldNetworkTopologyStrategy") {
    return config_error(
        "The support for the OldNetworkTopologyStrategy has been removed in C* version 4.0. The keyspace strategy "
        "should be switch to NetworkTopologyStrategy");
  }
  if (name == kSimple || name == kNetworkTopology || name == "LocalStrategy") return full;
  return config_error("Unable to find replication strategy class '" + full + "'");
}

Error not_an_int(std::string_view text) { return config_error("For input string: \"" + std::string(text) + "\""); }

// A number of replicas, or REPLICAS/TRANSIENT; the error's text is that of the exception it is in Cassandra.
Result<int> parse_factor(const std::string& text) {
  std::string_view all = text, of_transient;
  if (const size_t slash = all.find('/'); slash != all.npos) {
    of_transient = all.substr(slash + 1);
    all = all.substr(0, slash);
    if (of_transient.empty() || of_transient.find('/') != of_transient.npos) {
      return config_error("Replication factor format is <replicas> or <replicas>/<transient>");
    }
  }
  const auto factor = parse_java_int(all);
  if (!factor) return not_an_int(all);
  if (of_transient.data() != nullptr) {
    const auto transient = parse_java_int(of_transient);
    if (!transient) return not_an_int(of_transient);
    if (*transient != 0) return config_error("Transient replication is not enabled on this node");
  }
  if (*factor < 0) return config_error("Replication factor must be non-negative, found " + std::to_string(*factor));
  return *factor;
}

void expand_simple(StringPairs& options, const StringPairs& previous, int default_factor) {
  auto old = previous.find(kFactor);
  options.emplace(kFactor, old != previous.end() ? old->second : std::to_string(default_factor));
}

// `replication_factor` stands for every data center that is not named; those of before keep what they have.
void expand_network_topology(StringPairs& options, const StringPairs& previous, const SchemaChangeInput& input) {
  if (options.empty()) {
    auto old = previous.find(kFactor);
    options[kFactor] = old != previous.end() ? old->second : std::to_string(input.options->default_keyspace_rf);
  }
  auto given = options.find(kFactor);
  if (given != options.end()) {
    std::string text = given->second;
    options.erase(given);
    for (const auto& [name, value] : previous) {
      if (name != kFactor && name != "class") options.emplace(name, value);
    }
    // One that is no number leaves the options as they are: what is missing is told when they are checked.
    auto factor = parse_factor(text);
    if (factor.ok()) {
      for (const auto& [data_center, nodes] : input.nodes) options.emplace(data_center, std::to_string(*factor));
    } else {
      return;
    }
  }
  std::erase_if(options, [](const auto& option) { return option.second == "0"; });
}

Result<StringPairs> prepare_replication(const StringPairs& written, const StringPairs& previous,
                                        const SchemaChangeInput& input) {
  StringPairs options = written;
  auto given = options.find("class");
  ASSIGN_OR_RETURN(std::string class_name, strategy_class(given == options.end() ? "" : given->second));
  options.erase("class");
  if (class_name.ends_with(kSimple)) expand_simple(options, previous, input.options->default_keyspace_rf);
  if (class_name.ends_with(kNetworkTopology)) expand_network_topology(options, previous, input);
  options["class"] = class_name;
  return options;
}

void warn_of_factor(const std::string& keyspace, int factor, int nodes, const std::string& where,
                    SchemaChangeInput& input) {
  if (factor <= nodes || nodes == 0 || is_system_keyspace(keyspace)) return;
  input.warnings.push_back("Your replication factor " + std::to_string(factor) + " for keyspace " + keyspace +
                           " is higher than the number of nodes " + std::to_string(nodes) + where);
}

Error unrecognized(const std::string& option, const char* strategy, const std::string& keyspace) {
  return config_error("Unrecognized strategy option {" + option + "} passed to " + strategy + " for keyspace " +
                      keyspace);
}

// The number of replicas in all.
Result<int> check_simple(const std::string& keyspace, const StringPairs& options, SchemaChangeInput& input) {
  ASSIGN_OR_RETURN(int factor, parse_factor(options.at(kFactor)));
  int nodes = 0;
  for (const auto& [data_center, count] : input.nodes) nodes += count;
  for (const auto& [name, value] : options) {
    if (name != "class" && name != kFactor) return unrecognized(name, kSimple, keyspace);
  }
  warn_of_factor(keyspace, factor, nodes, "", input);
  return factor;
}

Result<int> check_network_topology(const std::string& keyspace, const StringPairs& options, SchemaChangeInput& input) {
  int total = 0;
  for (const auto& [name, value] : options) {
    if (name == "class") continue;
    ASSIGN_OR_RETURN(int factor, parse_factor(value));
    total += factor;
  }
  if (options.size() == 1) return config_error("Configuration for at least one datacenter must be present");
  for (const auto& [name, value] : options) {
    if (name != "class" && !input.nodes.contains(name)) return unrecognized(name, kNetworkTopology, keyspace);
  }
  std::string missing;
  for (const auto& [data_center, nodes] : input.nodes) {
    auto option = options.find(data_center);
    if (option == options.end()) {
      missing += (missing.empty() ? "" : ", ") + data_center;
    } else {
      warn_of_factor(keyspace, *parse_factor(option->second), nodes, " for datacenter " + data_center, input);
    }
  }
  if (keyspace == "system_auth" && !missing.empty()) {
    return config_error(
        "Following datacenters have active nodes and must be present in replication options for keyspace "
        "system_auth: [" +
        missing + "]");
  }
  return total;
}

Result<int> check_replication(const std::string& keyspace, const ReplicationParams& replication,
                              SchemaChangeInput& input) {
  std::string name = replication.short_class();
  if (name == "LocalStrategy") {
    return invalid("Unable to use given strategy class: LocalStrategy is reserved for internal use.");
  }
  return name == kSimple ? check_simple(keyspace, replication.options, input)
                         : check_network_topology(keyspace, replication.options, input);
}

int total_factor(const ReplicationParams& replication) {
  int total = 0;
  for (const auto& [name, value] : replication.options) total += parse_java_int(value).value_or(0);
  return total;
}

}  // namespace

SchemaResult apply_change(SchemaChange<ast::CreateKeyspace> c) {
  ASSIGN_OR_RETURN(auto written, read_replication(c.change.properties));
  if (!written) return invalid("Missing mandatory option 'replication'");
  if (c.schema->keyspace(c.keyspace) != nullptr) {
    if (c.change.if_not_exists) return c.schema;
    ErrorInfo info;
    info.code = ErrorCode::kAlreadyExists;
    info.message = "Cannot add existing keyspace \"" + c.keyspace + "\"";
    info.keyspace = c.keyspace;
    return Error(std::move(info));
  }
  auto keyspace = std::make_shared<KeyspaceMetadata>();
  keyspace->name = c.keyspace;
  ASSIGN_OR_RETURN(keyspace->replication.durable_writes, read_durable_writes(c.change.properties, true));
  ASSIGN_OR_RETURN(keyspace->replication.options, prepare_replication(*written, {}, c.input));
  TRY(check_replication(c.keyspace, keyspace->replication, c.input));
  return SchemaPtr(c.schema->with_keyspace(std::move(keyspace)));
}

SchemaResult apply_change(SchemaChange<ast::AlterKeyspace> c) {
  ASSIGN_OR_RETURN(auto written, read_replication(c.change.properties));
  KeyspacePtr old = c.schema->keyspace(c.keyspace);
  if (old == nullptr) {
    if (c.change.if_exists) return c.schema;
    return keyspace_does_not_exist(c.keyspace);
  }
  auto keyspace = std::make_shared<KeyspaceMetadata>(*old);
  ReplicationParams& replication = keyspace->replication;
  ASSIGN_OR_RETURN(replication.durable_writes, read_durable_writes(c.change.properties, replication.durable_writes));
  if (written && !written->empty()) {
    ASSIGN_OR_RETURN(replication.options, prepare_replication(*written, old->replication.options, c.input));
  }
  ASSIGN_OR_RETURN(int factor, check_replication(c.keyspace, replication, c.input));
  if (replication == old->replication) return c.schema;
  if (factor > total_factor(old->replication)) {
    c.input.warnings.push_back(
        "When increasing replication factor you need to run a full (-full) repair to distribute the data.");
  }
  return SchemaPtr(c.schema->with_keyspace(std::move(keyspace)));
}

SchemaResult apply_change(SchemaChange<ast::DropKeyspace> c) {
  if (c.schema->keyspace(c.keyspace) != nullptr) return SchemaPtr(c.schema->without_keyspace(c.keyspace));
  if (c.change.if_exists) return c.schema;
  return keyspace_does_not_exist(c.keyspace);
}

}  // namespace cassandra_like
