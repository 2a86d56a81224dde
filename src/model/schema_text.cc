#include "model/schema_text.h"

#include <algorithm>

#include "base/bytes.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

constexpr const char* kIndent = "    ";

std::string map_text(const StringPairs& map, bool quote_values = true) {
  std::string text = "{";
  for (const auto& [key, value] : map) {
    text += (text.size() > 1 ? ", " : "") + quote_string(key) + ": " + (quote_values ? quote_string(value) : value);
  }
  return text + "}";
}

std::string replication_text(const StringPairs& options) {
  constexpr std::string_view kPackage = "org.apache.cassandra.locator.";
  std::string_view name = options.contains("class") ? std::string_view(options.at("class")) : std::string_view();
  if (name.starts_with(kPackage)) name.remove_prefix(kPackage.size());
  std::string text = "{'class': " + quote_string(name);
  for (const auto& [key, value] : options) {
    if (key != "class") text += ", " + quote_string(key) + ": " + quote_string(value);
  }
  return text + "}";
}

std::string column_text(const Column& column, bool as_regular = false) {
  std::string text = quote_identifier(column.name) + " " + column.type->cql_name();
  if (column.kind == ColumnKind::kStatic && !as_regular) text += " static";
  return column.mask.empty() ? text : text + " MASKED WITH " + column.mask;
}

// The order of columns in CREATE TABLE: that of the cells.
std::vector<const Column*> columns_in_create_order(const TableMetadata& table) {
  std::vector<const Column*> columns;
  for (const auto* some : {&table.partition_key, &table.clustering, &table.static_columns, &table.regular_columns}) {
    for (const ColumnPtr& column : *some) {
      if (!table.is_hidden(*column)) columns.push_back(column.get());
    }
  }
  return columns;
}

std::string names_text(const std::vector<ColumnPtr>& columns) {
  std::string text;
  for (const ColumnPtr& column : columns) text += (text.empty() ? "" : ", ") + quote_identifier(column->name);
  return text;
}

std::string primary_key_text(const TableMetadata& table) {
  std::string key = names_text(table.partition_key);
  if (table.partition_key.size() > 1) key = "(" + key + ")";
  if (!table.clustering.empty() && !table.flags.is_static_compact()) key += ", " + names_text(table.clustering);
  return std::string(kIndent) + "PRIMARY KEY (" + key + ")\n";
}

std::string columns_text(const TableMetadata& table, bool with_dropped) {
  // The clustering of a static compact table counts, though it is not shown.
  const bool single = table.partition_key.size() == 1 && table.clustering.empty();
  std::string text;
  auto columns = columns_in_create_order(table);
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = *columns[i];
    // One that was dropped and added again is described by those two steps, after the table.
    if (with_dropped && table.dropped_columns.contains(column.name)) continue;
    text += kIndent + column_text(column, table.flags.is_static_compact());
    if (single && column.kind == ColumnKind::kPartitionKey) text += " PRIMARY KEY";
    bool more = i + 1 < columns.size() || (with_dropped && !table.dropped_columns.empty());
    text += !single || more ? ",\n" : "\n";
  }
  size_t left = with_dropped ? table.dropped_columns.size() : 0;
  for (const auto& [name, dropped] : table.dropped_columns) {
    if (left == 0) break;
    text += kIndent + column_text(*dropped.column) + (!single || --left > 0 ? ",\n" : "\n");
  }
  return single ? text : text + primary_key_text(table);
}

std::string clustering_order_text(const TableMetadata& table) {
  std::string text;
  for (const ColumnPtr& column : table.clustering) {
    text +=
        (text.empty() ? "" : ", ") + quote_identifier(column->name) + (column->type->is_reversed() ? " DESC" : " ASC");
  }
  return "CLUSTERING ORDER BY (" + text + ")";
}

std::vector<std::string> parameter_texts(const TableParams& p) {
  auto boolean = [](bool value) { return std::string(value ? "true" : "false"); };
  StringPairs extensions;
  for (const auto& [name, value] : p.extensions) extensions[name] = "0x" + to_hex(value);
  return {"additional_write_policy = " + quote_string(p.additional_write_policy),
          "allow_auto_snapshot = " + boolean(p.allow_auto_snapshot),
          "bloom_filter_fp_chance = " + double_to_text(p.bloom_filter_fp_chance),
          "caching = " + map_text(p.caching),
          "cdc = " + boolean(p.cdc),
          "comment = " + quote_string(p.comment),
          "compaction = " + map_text(p.compaction),
          "compression = " + map_text(p.compression),
          "memtable = " + quote_string(p.memtable),
          "crc_check_chance = " + double_to_text(p.crc_check_chance),
          "default_time_to_live = " + std::to_string(p.default_time_to_live),
          "extensions = " + map_text(extensions, false),
          "gc_grace_seconds = " + std::to_string(p.gc_grace_seconds),
          "incremental_backups = " + boolean(p.incremental_backups),
          "max_index_interval = " + std::to_string(p.max_index_interval),
          "memtable_flush_period_in_ms = " + std::to_string(p.memtable_flush_period_in_ms),
          "min_index_interval = " + std::to_string(p.min_index_interval),
          "read_repair = " + quote_string(p.read_repair),
          "speculative_retry = " + quote_string(p.speculative_retry)};
}

std::string options_text(const TableMetadata& table, bool with_id) {
  std::vector<std::string> options;
  if (table.flags.is_compact_table()) options.push_back("COMPACT STORAGE");
  if (with_id) options.push_back("ID = " + table.id.to_string());
  if (!table.clustering.empty()) options.push_back(clustering_order_text(table));
  if (table.is_virtual) {
    options.push_back("comment = " + quote_string(table.params.comment));
  } else {
    for (std::string& option : parameter_texts(table.params)) options.push_back(std::move(option));
  }
  std::string text;
  for (const std::string& option : options) text += (text.empty() ? "" : std::string("\n") + kIndent + "AND ") + option;
  return text + ";";
}

std::string drops_text(const TableMetadata& table) {
  std::string text;
  for (const auto& [name, dropped] : table.dropped_columns) {
    std::string alter = "\nALTER TABLE " + qualified_table_text(table);
    text +=
        alter + " DROP " + quote_identifier(name) + " USING TIMESTAMP " + std::to_string(dropped.dropped_micros) + ";";
    const Column* again = table.column(name);
    if (again != nullptr) text += alter + " ADD " + column_text(*again) + ";";
  }
  return text;
}

void add_user_types(const Type& type, std::vector<std::string>* names) {
  if (!type.is_udt()) return;
  for (const TypePtr& field : type.elements()) add_user_types(field->base(), names);
  const std::string& name = static_cast<const UserType&>(type.base()).name();
  if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

const char* create_text(SchemaTextOptions options) { return options.if_not_exists ? "IF NOT EXISTS " : ""; }

}  // namespace

std::string qualified_table_text(const TableMetadata& table) {
  return quote_identifier(table.keyspace) + "." + quote_identifier(table.name);
}

std::string keyspace_text(const KeyspaceMetadata& keyspace, SchemaTextOptions options) {
  std::string name = quote_identifier(keyspace.name);
  if (keyspace.is_virtual) {
    return "/*\nWarning: Keyspace " + name +
           " is a virtual keyspace and cannot be recreated with CQL.\nStructure, for reference:\nVIRTUAL KEYSPACE " +
           name + ";\n*/";
  }
  return std::string("CREATE KEYSPACE ") + create_text(options) + name +
         " WITH replication = " + replication_text(keyspace.replication.options) +
         "  AND durable_writes = " + (keyspace.replication.durable_writes ? "true" : "false") + ";";
}

std::string table_text(const TableMetadata& table, SchemaTextOptions options) {
  std::string name = qualified_table_text(table);
  bool compact = table.flags.is_compact_table();
  std::string text;
  if (compact) {
    text = "/*\nWarning: Table " + name +
           " omitted because it has constructs not compatible with CQL (was created via legacy API).\n"
           "Approximate structure, for reference:\n(this should not be used to reproduce this schema)\n\n";
  }
  if (table.is_virtual) {
    text += "/*\nWarning: Table " + name +
            " is a virtual table and cannot be recreated with CQL.\nStructure, for reference:\n";
  }
  text += std::string(table.is_virtual ? "VIRTUAL" : "CREATE") + " TABLE " + create_text(options) + name + " (\n" +
          columns_text(table, options.with_internals) + ") WITH " + options_text(table, options.with_internals);
  if (table.is_virtual) text += "\n*/";
  if (options.with_internals) text += drops_text(table);
  if (compact) text += "\n*/";
  return text;
}

std::string type_text(const UserType& type, SchemaTextOptions options) {
  std::string text = std::string("CREATE TYPE ") + create_text(options) + quote_identifier(type.keyspace()) + "." +
                     quote_identifier(type.name()) + " (\n";
  for (size_t i = 0; i < type.elements().size(); ++i) {
    text += (i > 0 ? ",\n" : "") + std::string(kIndent) + quote_identifier(type.field_names()[i]) + " " +
            type.elements()[i]->cql_name();
  }
  return text + "\n);";
}

std::string index_text(const TableMetadata& table, const IndexMetadata& index, SchemaTextOptions options) {
  StringPairs rest = index.options;
  std::string target = rest["target"], class_name = rest["class_name"];
  rest.erase("target");
  rest.erase("class_name");
  bool custom = index.kind == IndexKind::kCustom;
  std::string text = std::string(custom ? "CREATE CUSTOM INDEX " : "CREATE INDEX ") + create_text(options) +
                     quote_identifier(index.name) + " ON " + qualified_table_text(table) + " (" + target + ")";
  if (custom) text += " USING " + quote_string(class_name);
  if (custom && !rest.empty()) text += " WITH OPTIONS = " + map_text(rest);
  return text + ";";
}

std::string snapshot_schema_text(const KeyspaceMetadata& keyspace, const TableMetadata& table) {
  constexpr SchemaTextOptions kOptions{.with_internals = true, .if_not_exists = true};
  std::vector<std::string> types;
  for (const Column* column : table.all_columns_in_select_order()) add_user_types(column->type->base(), &types);
  std::string text;
  for (const std::string& name : types) {
    UserTypePtr type = keyspace.type(name);
    if (type != nullptr) text += type_text(*type, {.with_internals = false, .if_not_exists = true}) + "\n";
  }
  text += table_text(table, kOptions) + "\n";
  for (const auto& [name, index] : table.indexes) text += index_text(table, index, kOptions) + "\n";
  return text;
}

}  // namespace cassandra_like
