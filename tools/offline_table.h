// A table as an offline tool finds it: by its name, in the schema and the data directories of a node that is not running.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "sstable_tools.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/statistics.h"

namespace cassandra_like::sstable_tools {

struct OfflineTable {
  TablePtr table;
  std::vector<std::string> directories;  // <data directory>/<keyspace>/<table>-<id>, those that there are
};

// Whether a command line is right and has two words, a keyspace and a table. Otherwise prints the error and the usage.
bool names_a_table(const ToolContext& context, const CommandLine& line, const char* usage);
// The node's schema. Segments of the commit log that cannot be read are told on `err`.
Result<SchemaPtr> load_schema(const ToolContext& context, const EngineOptions& storage);
OfflineTable table_on_disk(const ToolContext& context, const EngineOptions& storage, const TablePtr& table);
// Both. nullopt: the schema has no such table.
Result<std::optional<OfflineTable>> find_table(const ToolContext& context, const std::string& keyspace,
                                               const std::string& name);
// The SSTables in the table's directories, without those that the log of a transaction voids or a crash has left.
Result<std::vector<SSTableOnDisk>> sstables_of(const ToolContext& context, const OfflineTable& table);

// Held while a tool changes files of a table's directory: a node locks its data directories.
using TableLock = std::unique_ptr<DirectoryLock>;
// nullptr for a directory that is not <data directory>/<keyspace>/<table>-<id>. An error names the directory that is in use.
Result<TableLock> lock_directory(const ToolContext& context, const std::string& directory);
Result<std::vector<TableLock>> lock_table(const ToolContext& context, const OfflineTable& table);
// Removes what transactions have left in the table's directories (LifecycleTransaction.removeUnfinishedLeftovers).
Status finish_transactions_of(const ToolContext& context, const OfflineTable& table);
// How Cassandra prints a Descriptor: the path of the SSTable's files without their components.
std::string base_name(const SSTableDescriptor& descriptor);
// Replaces Statistics.db by a changed one (MetadataSerializer.rewriteSSTableMetadata). kInvalid, and nothing is changed, when
// the file has something that this program would not write again.
Status rewrite_statistics(const ToolContext& context, const SSTableDescriptor& descriptor,
                          const std::function<void(Statistics&)>& change);

}  // namespace cassandra_like::sstable_tools
