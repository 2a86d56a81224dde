// The directory of a node that is gone, in the simulated world, and offline tools that run on it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/sim/sim_runtime.h"
#include "schema/schema_mutations.h"
#include "schema/system_tables.h"
#include "sstable_tools.h"
#include "storage/sstable/sstable_version.h"
#include "tests/storage/fixture.h"

namespace cassandra_like::sstable_tools {

struct Ran {
  int exit = 0;
  std::string out, err;

  storage_test::Lines lines() const {
    storage_test::Lines lines;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
};

// A node with tables, and their schema in system_schema.
class OfflineNode {
 public:
  OfflineNode(uint64_t seed, const SSTableVersion& version, std::vector<TablePtr> tables)
      : node(seed, 1, options_of(version), with_schema_tables(tables)) {
    save_schema(tables);
  }

  // The process is gone. The schema and what was not flushed are in its commit log.
  template <class Tool>
  Ran run(Tool tool, const std::vector<std::string>& arguments, const SSTableVersion& version) {
    return run(tool, arguments, version, SimFaults());
  }
  template <class Tool>
  Ran run(Tool tool, const std::vector<std::string>& arguments, const SSTableVersion& version,
          const SimFaults& faults) {
    node.kill();
    Runtime& runtime = node.machine().boot(1);
    std::ostringstream out, err;
    auto wait = [this](Task<Status> task) { return node.run(std::move(task)); };
    auto storage = [this, &version](bool) {
      EngineOptions options = node.options;
      options.sstable_version = &version;
      return Result<EngineOptions>(options);
    };
    Disk& disk = runtime.shard(0).disk;
    const int64_t now = runtime.shard(0).clock.wall_millis();
    const ToolContext context{disk, now, "/", out, err, storage, wait, &runtime};
    node.machine().faults() = faults;
    Ran ran;
    ran.exit = tool(arguments, context);
    node.machine().faults() = SimFaults();
    ran.out = out.str();
    ran.err = err.str();
    return ran;
  }

  void boot(const SSTableVersion& version) {
    node.kill();
    node.options.sstable_version = &version;
    ASSERT_TRUE(node.boot()) << node.error();
  }

  std::vector<SSTableInfo> sstables(const std::string& table) {
    return node.engine().maintenance().sstables(node.table(table)->id);
  }
  std::string directory(const std::string& table) {
    return "/data/" + node.table(table)->keyspace + "/" + node.table(table)->directory_name();
  }
  Disk& disk() {
    node.kill();
    return node.machine().boot(1).shard(0).disk;
  }

  storage_test::Node node;

 private:
  static EngineOptions options_of(const SSTableVersion& version) {
    EngineOptions options;
    options.sstable_version = &version;
    options.disk_failure_policy = FailurePolicy::kIgnore;
    return options;
  }

  static std::vector<TablePtr> with_schema_tables(std::vector<TablePtr> tables) {
    const KeyspacePtr keyspace = builtin().keyspace("system_schema");
    for (const auto& [name, table] : keyspace->tables) tables.push_back(table);
    return tables;
  }

  static const Schema& builtin() {
    static const SchemaPtr schema = builtin_schema();
    return *schema;
  }

  static void add_types(const TypePtr& type, KeyspaceMetadata& keyspace) {
    for (const TypePtr& element : type->elements()) add_types(element, keyspace);
    if (auto user = std::dynamic_pointer_cast<const UserType>(type)) keyspace.types[user->name()] = user;
  }

  void save_schema(const std::vector<TablePtr>& tables) {
    std::map<std::string, KeyspaceMetadata> keyspaces;
    for (const TablePtr& table : tables) {
      KeyspaceMetadata& keyspace = keyspaces[table->keyspace];
      keyspace.tables[table->name] = table;
      for (const auto* columns : {&table->static_columns, &table->regular_columns}) {
        for (const ColumnPtr& column : *columns) add_types(column->type, keyspace);
      }
    }
    for (auto& [name, keyspace] : keyspaces) {
      keyspace.name = name;
      keyspace.replication.options = {{"class", "org.apache.cassandra.locator.SimpleStrategy"},
                                      {"replication_factor", "1"}};
      Arena arena;
      const auto updates = schema_updates(builtin(), nullptr, &keyspace, {1, false}, arena);
      const Mutation mutation{"system_schema", updates[0].key, updates};
      ASSERT_TRUE(node.run(node.engine().apply(mutation)).ok());
    }
  }
};

inline void flip(Disk& disk, const std::string& path, size_t at, char bits = 1) {
  const auto file = std::move(*disk.open(path));
  Bytes bytes(file->size(), '\0');
  ASSERT_TRUE(file->read(0, bytes).ok());
  bytes[at % bytes.size()] ^= bits;
  ASSERT_TRUE(disk.remove(path).ok());
  ASSERT_TRUE((*disk.create(path))->append(bytes).ok());
}

}  // namespace cassandra_like::sstable_tools
