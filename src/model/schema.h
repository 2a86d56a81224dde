// Keyspaces, tables, types and indexes as immutable snapshots. A change makes a new Schema that shares all unchanged
// parts; every shard holds a pointer to the snapshot it works with.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/containers.h"
#include "base/shared_map.h"
#include "base/uuid.h"
#include "model/types.h"

namespace cassandra_like {

enum class ColumnKind : uint8_t { kPartitionKey, kClustering, kStatic, kRegular };

// Shared by all versions of a table in which the column is the same, so that equal pointers mean the same column.
struct Column {
  std::string name;
  TypePtr type;  // reversed types for DESC clustering columns
  ColumnKind kind = ColumnKind::kRegular;
  int position = -1;  // among partition key or clustering columns, else -1
  std::string mask;   // dynamic data masking; empty: none

  bool is_primary_key() const { return kind <= ColumnKind::kClustering; }
  bool is_complex() const { return type->is_multi_cell(); }
  bool operator==(const Column& o) const {
    return name == o.name && kind == o.kind && position == o.position && type->equals(*o.type);
  }
};
using ColumnPtr = std::shared_ptr<const Column>;

// The order of cells in a row: simple columns before complex ones, each by name. Names that start with a non-ASCII
// character come first (Cassandra's ColumnMetadata.comparisonOrder), else their bytes decide, unsigned.
int compare_columns(const Column* a, const Column* b);

struct DroppedColumn {
  ColumnPtr column;  // name, type (with UDTs expanded to tuples), kind
  int64_t dropped_micros = 0;
};

enum class IndexKind : uint8_t { kKeys, kCustom, kComposites };
struct IndexMetadata {
  std::string name;
  IndexKind kind = IndexKind::kComposites;
  std::map<std::string, std::string> options;  // "target", and "class_name" for custom indexes
  Uuid id;                                     // name-based on the name, as Cassandra's

  bool operator==(const IndexMetadata&) const = default;
};

// The target of an index, parsed from options["target"]: `v`, `keys(m)`, `values(m)`, `entries(m)`, `full(f)`.
enum class IndexTargetType : uint8_t { kSimple, kKeys, kValues, kEntries, kFull };
struct IndexTarget {
  std::string column;
  IndexTargetType type = IndexTargetType::kSimple;
};
IndexTarget parse_index_target(std::string_view target);

using StringPairs = std::map<std::string, std::string>;

// Defaults are those of 5.0.9 with cassandra_latest.yaml's defaults left aside.
struct TableParams {
  std::string additional_write_policy = "99p";
  bool allow_auto_snapshot = true;
  double bloom_filter_fp_chance = 0.01;
  StringPairs caching{{"keys", "ALL"}, {"rows_per_partition", "NONE"}};
  bool cdc = false;
  std::string comment;
  StringPairs compaction{{"class", "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy"},
                         {"max_threshold", "32"},
                         {"min_threshold", "4"}};
  StringPairs compression{{"chunk_length_in_kb", "16"}, {"class", "org.apache.cassandra.io.compress.LZ4Compressor"}};
  double crc_check_chance = 1.0;
  int default_time_to_live = 0;
  std::map<std::string, Bytes> extensions;
  int gc_grace_seconds = 864000;
  bool incremental_backups = true;
  int max_index_interval = 2048;
  int memtable_flush_period_in_ms = 0;
  int min_index_interval = 128;
  std::string memtable = "default";
  std::string read_repair = "BLOCKING";
  std::string speculative_retry = "99p";

  bool operator==(const TableParams&) const = default;
};

struct TableFlags {
  bool compound = true;
  bool counter = false;
  bool dense = false;
  bool super = false;

  bool operator==(const TableFlags&) const = default;
  bool is_compact_table() const { return !compound || dense || super; }
  // One without clustering columns: its row is the static row, beside a clustering column that nobody sees.
  bool is_static_compact() const { return !compound && !dense && !super; }
};

class TableMetadata {
 public:
  // Sorts regular and static columns into cell order and computes what is derived. Columns of the key come in order.
  TableMetadata(std::string keyspace, std::string name, Uuid id, std::vector<ColumnPtr> partition_key,
                std::vector<ColumnPtr> clustering, std::vector<ColumnPtr> others);

  std::string keyspace;
  std::string name;
  Uuid id;
  TableFlags flags;
  TableParams params;
  std::vector<ColumnPtr> partition_key;
  std::vector<ColumnPtr> clustering;
  std::vector<ColumnPtr> static_columns;   // cell order
  std::vector<ColumnPtr> regular_columns;  // cell order
  std::map<std::string, DroppedColumn> dropped_columns;
  std::map<std::string, IndexMetadata> indexes;  // by name
  bool is_virtual = false;
  bool is_index = false;    // the hidden table of an index; name is then `table.index`
  bool local_only = false;  // of a LocalStrategy keyspace

  const Column* column(std::string_view name) const;  // nullptr when there is none
  // Cassandra has such columns in tables with COMPACT STORAGE, and shows them to nobody (CompactTables, TableMetadata.isStaticCompactTable).
  bool is_hidden(const Column& column) const;
  // Partition key, clustering, static columns by name, regular columns by name: SELECT *'s order, with hidden ones.
  std::vector<const Column*> all_columns_in_select_order() const;
  bool has_static_columns() const { return !static_columns.empty(); }
  bool is_counter() const { return flags.counter; }
  // Whether a statement prepared against the other means the same here: all columns, types and the id are equal.
  bool has_same_columns(const TableMetadata& other) const;
  // The type of a whole partition key: the column's own, or a CompositeType of them.
  const TypePtr& partition_key_type() const { return partition_key_type_; }
  std::span<const Type* const> clustering_types() const { return clustering_types_; }
  std::string qualified_name() const { return keyspace + "." + name; }
  // Directory name on disk: name-<id without dashes>.
  std::string directory_name() const;

 private:
  StringMap<const Column*> by_name_;
  TypePtr partition_key_type_;
  std::vector<const Type*> clustering_types_;
};
using TablePtr = std::shared_ptr<const TableMetadata>;

// A materialized view, which a Cassandra made. This node does not serve it: it keeps what its base table needs to be told of.
struct ViewMetadata {
  TablePtr table;  // the view's own name, id, columns and options
  Uuid base_table_id;
  bool includes_all_columns = false;  // SELECT *: it gets each column that the base table gets
};
using ViewPtr = std::shared_ptr<const ViewMetadata>;

struct ReplicationParams {
  StringPairs options;  // "class" (org.apache.cassandra.locator.…) and its options
  bool durable_writes = true;

  bool operator==(const ReplicationParams&) const = default;
  std::string short_class() const;  // SimpleStrategy, NetworkTopologyStrategy, LocalStrategy, …
};

struct KeyspaceMetadata {
  std::string name;
  ReplicationParams replication;
  SharedMap<std::string, TablePtr> tables;
  std::map<std::string, UserTypePtr> types;
  std::map<std::string, ViewPtr> views;
  bool is_virtual = false;

  TablePtr table(std::string_view name) const;
  UserTypePtr type(std::string_view name) const;
  ViewPtr view(std::string_view name) const;
  std::vector<ViewPtr> views_of(const TableMetadata& base) const;
  // Types ordered so that each comes after those it uses.
  std::vector<UserTypePtr> types_in_dependency_order() const;
};
using KeyspacePtr = std::shared_ptr<const KeyspaceMetadata>;

class Schema {
 public:
  const SharedMap<std::string, KeyspacePtr>& keyspaces() const { return keyspaces_; }
  KeyspacePtr keyspace(std::string_view name) const;
  TablePtr table(std::string_view keyspace, std::string_view name) const;
  const TablePtr& table(const Uuid& id) const;  // nullptr: there is none
  const Uuid& version() const { return version_; }

  // Copies with one thing changed.
  std::shared_ptr<const Schema> with_keyspace(KeyspacePtr keyspace) const;
  std::shared_ptr<const Schema> without_keyspace(const std::string& name) const;
  std::shared_ptr<const Schema> with_version(Uuid version) const;

 private:
  void index(const KeyspacePtr& before, const KeyspacePtr& after);
  SharedMap<std::string, KeyspacePtr> keyspaces_;
  SharedMap<Uuid, TablePtr> by_id_;
  Uuid version_;
};
using SchemaPtr = std::shared_ptr<const Schema>;

// Calls changed(old, now) for each table that is not the same object in both. One of them is nullptr for a table that is
// in the other schema alone.
template <class Changed>
void for_changed_tables(const Schema& before, const Schema& after, Changed changed) {
  static const KeyspaceMetadata kNone;
  auto compare = [&](const KeyspaceMetadata& old, const KeyspaceMetadata& now) {
    compare_maps(
        old.tables, now.tables, [&](const TableMetadata& gone) { changed(&gone, nullptr); },
        [&](const TableMetadata& made) { changed(nullptr, &made); },
        [&](const TableMetadata& from, const TableMetadata& to) { changed(&from, &to); });
  };
  compare_maps(
      before.keyspaces(), after.keyspaces(), [&](const KeyspaceMetadata& gone) { compare(gone, kNone); },
      [&](const KeyspaceMetadata& made) { compare(kNone, made); }, compare);
}

// Copies of a keyspace with one table or type replaced, added or removed.
KeyspacePtr with_table(const KeyspaceMetadata& keyspace, TablePtr table);
KeyspacePtr without_table(const KeyspaceMetadata& keyspace, const std::string& name);
KeyspacePtr with_type(const KeyspaceMetadata& keyspace, UserTypePtr type);
KeyspacePtr without_type(const KeyspaceMetadata& keyspace, const std::string& name);
KeyspacePtr without_view(const KeyspaceMetadata& keyspace, const std::string& name);

// Case-insensitive, as Cassandra's. system, system_schema, system_auth, … : whose tables are in every schema and cannot
// be changed by users.
bool is_system_keyspace(std::string_view name);        // any of the below
bool is_local_system_keyspace(std::string_view name);  // system, system_schema
bool is_virtual_keyspace(std::string_view name);       // system_views, system_virtual_schema

}  // namespace cassandra_like
