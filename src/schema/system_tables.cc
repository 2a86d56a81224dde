#include "schema/system_tables.h"

#include <algorithm>

namespace cassandra_like {
namespace {

// Splits at `separator`, but not inside of <…>.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '<') ++depth;
    if (i < text.size() && text[i] == '>') --depth;
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      auto part = text.substr(start, i - start);
      while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
      if (!part.empty()) parts.push_back(part);
      start = i + 1;
    }
  }
  return parts;
}

StringPairs parse_compaction(std::string_view text) {
  auto words = split(text, ' ');
  StringPairs options{{"class", "org.apache.cassandra.db.compaction." + std::string(words[0])},
                      {"max_threshold", "32"},
                      {"min_threshold", "4"}};
  for (size_t i = 1; i < words.size(); ++i) {
    size_t equals = words[i].find('=');
    options[std::string(words[i].substr(0, equals))] = words[i].substr(equals + 1);
  }
  return options;
}

TablePtr parse_table(const SystemTableText& text, const SystemKeyspaceOptions& options) {
  std::vector<ColumnPtr> key, clustering, others;
  for (auto column_text : split(text.columns, ';')) {
    auto words = split(column_text, ' ');
    // A type may hold spaces inside of <…> only, so it is one word.
    auto type = types::parse_cql(words[1], text.keyspace, nullptr);
    CHECK(type.ok());
    auto has = [&](std::string_view word) { return std::find(words.begin() + 2, words.end(), word) != words.end(); };
    auto column = std::make_shared<Column>();
    column->name = std::string(words[0]);
    column->type = has("desc") ? types::reversed(*type) : *type;
    column->kind = has("key")          ? ColumnKind::kPartitionKey
                   : has("clustering") ? ColumnKind::kClustering
                   : has("static")     ? ColumnKind::kStatic
                                       : ColumnKind::kRegular;
    auto& list = has("key") ? key : has("clustering") ? clustering : others;
    if (column->is_primary_key()) column->position = static_cast<int>(list.size());
    list.push_back(std::move(column));
  }
  auto table = std::make_shared<TableMetadata>(text.keyspace, text.name, system_table_id(text.keyspace, text.name),
                                               std::move(key), std::move(clustering), std::move(others));
  table->params.comment = text.comment;
  table->params.gc_grace_seconds = text.gc_grace_seconds;
  table->params.default_time_to_live = text.default_time_to_live;
  if (*text.compaction != '\0') {
    table->params.compaction = parse_compaction(text.compaction);
  } else if (!options.default_compaction.empty()) {
    table->params.compaction = options.default_compaction;
  }
  table->is_virtual = is_virtual_keyspace(text.keyspace);
  table->local_only = is_local_system_keyspace(text.keyspace) || table->is_virtual;
  if (table->local_only && !table->is_virtual) table->params.memtable_flush_period_in_ms = 3600000;
  return table;
}

ReplicationParams replication_of(std::string_view keyspace, const SystemKeyspaceOptions& options) {
  const std::string locator = "org.apache.cassandra.locator.";
  ReplicationParams params;
  if (is_local_system_keyspace(keyspace) || is_virtual_keyspace(keyspace)) {
    params.options = {{"class", locator + "LocalStrategy"}};
    return params;
  }
  const int factor = keyspace == "system_auth" ? 1 : keyspace == "system_traces" ? 2 : 3;
  params.options = {{"class", locator + "SimpleStrategy"},
                    {"replication_factor", std::to_string(std::max(factor, options.default_keyspace_rf))}};
  return params;
}

SchemaPtr make_schema(const SystemKeyspaceOptions& options) {
  std::map<std::string, std::shared_ptr<KeyspaceMetadata>> keyspaces;
  for (const auto& text : system_table_texts()) {
    auto& keyspace = keyspaces[text.keyspace];
    if (!keyspace) {
      keyspace = std::make_shared<KeyspaceMetadata>();
      keyspace->name = text.keyspace;
      keyspace->replication = replication_of(text.keyspace, options);
      keyspace->is_virtual = is_virtual_keyspace(text.keyspace);
    }
    keyspace->tables[text.name] = parse_table(text, options);
  }
  SchemaPtr schema = std::make_shared<Schema>();
  for (auto& [name, keyspace] : keyspaces) schema = schema->with_keyspace(keyspace);
  return schema;
}

}  // namespace

Uuid system_table_id(std::string_view keyspace, std::string_view name) {
  return Uuid::name_based(std::string(keyspace) + std::string(name));
}

// Each shard of a node asks for the one of the defaults.
SchemaPtr builtin_schema(const SystemKeyspaceOptions& options) {
  static const SchemaPtr of_defaults = make_schema({});
  return options == SystemKeyspaceOptions() ? of_defaults : make_schema(options);
}

}  // namespace cassandra_like
