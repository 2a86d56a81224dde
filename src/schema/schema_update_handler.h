// Changes of the node's schema (schema.DefaultSchemaUpdateHandler): one after the other, on shard 0.
//
// A change is mutations of system_schema, whether a statement here made them or a peer sent them. The rows that they touch
// are read as the tables will have them. Then the mutations are written and synced, the engines of all shards take the next
// snapshot, and the shards publish it to their listeners. So changes that were made on several nodes at once end the same
// everywhere: by the write times of the rows.
//
// A keyspace that cannot be used with the mutations stays as it was, and they are not written: with their rows the next start
// would fail. When they came too early, they come again with the whole schema that SchemaSync asks for. A change that fails
// before the write changes nothing. A change that was written in part, or could not be published, is taken up by the next
// change.
//
// A write time is later than every write time in the node's own tables, whatever the clock says (SystemTimestamps).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "model/mutation.h"
#include "read/read_command.h"
#include "runtime/runtime.h"
#include "schema/schema_digest.h"
#include "schema/schema_mutations.h"
#include "schema/schema_store.h"
#include "schema/system_timestamps.h"

namespace cassandra_like {

class PartitionReader;
class UnfilteredSink;
struct ReadRequest;

// The services that the handler needs from its node. All but use_schema run on shard 0.
struct SchemaNode {
  // Borrows the mutation until the Task is done.
  std::function<Task<Status>(const Mutation&)> write;
  std::function<Task<Result<ReadStatistics>>(const ReadCommand&, RowSink&)> read;
  std::function<Task<Result<ReadStatistics>>(const ReadRequest&, UnfilteredSink&)> read_unfiltered;
  // Before tables may be dropped: what others have in common with them comes to the disks (Engine::prepare_drop), on all shards.
  std::function<Task<Status>(std::vector<Uuid> tables)> prepare_drop;
  // These tables stay (Engine::cancel_drop), on all shards.
  std::function<Task<Status>(std::vector<Uuid> tables)> cancel_drop;
  // Brings the writes to the disks of all shards.
  std::function<Task<Status>()> sync;
  // Begins to flush system_schema and system.local: after a kill, Cassandra reads the commit log with the schema that the
  // SSTables have, and passes over the tables that it does not find there.
  std::function<void()> flush_soon;
  // system.local has this schema_version.
  std::function<Task<Status>(Uuid version)> save_version;
  // Runs on the shard: its engine opens and drops tables. `at_millis` names the snapshots of dropped tables.
  std::function<Task<Status>(unsigned shard, SchemaPtr schema, int64_t at_millis)> use_schema;
  // Empties tables of system_schema, on all shards. A replay knows that they were emptied.
  std::function<Task<Status>(std::vector<TablePtr> tables)> truncate;
  // Fills an index from the rows that its table has.
  std::function<Task<Status>(TablePtr table, std::string index)> build_index;
};

// Rows of one schema table below one first clustering value: as values, and as the digest has them.
struct SchemaRowGroup {
  std::vector<InternalRow> rows;
  Bytes digest;
};

class SchemaUpdateHandler {
 public:
  SchemaUpdateHandler(Runtime& runtime, SystemTimestamps& timestamps) : runtime_(runtime), timestamps_(timestamps) {}
  // Before anything else. The stores, by shard, must live as long as the handler.
  void attach(SchemaNode node, std::vector<SchemaStore*> stores, bool cdc_enabled);

  // At the start, when the tables of system_schema can be read: the schema that they hold and its version. `builtin` has
  // the system keyspaces as this version of the node defines them; the replicated ones keep what others added to them.
  Task<Result<SchemaPtr>> load(SchemaPtr builtin);
  // Writes what load() found missing of the system keyspaces. The stores have what load() returned.
  Task<Status> save_system_keyspaces();

  // Runs the transformation on the latest schema, and makes what it returns the schema. Indexes that it creates are
  // built when it is done, and other changes may run meanwhile.
  Task<Result<SchemaDiff>> change(SchemaTransformation transformation);
  // Mutations of system_schema from elsewhere, each as MutationSerializer writes it. Any order and any repetition of the
  // same mutations ends in the same schema, once all are written. kInvalid when one is of another keyspace. An error that names
  // a keyspace tells that its mutations are not written, those of other keyspaces are.
  Task<Result<SchemaDiff>> merge(std::vector<Bytes> mutations);
  // The schema as system_schema's tables have it, whatever was read of them before.
  Task<Result<SchemaDiff>> reload();
  // The same as merge() into empty tables: the schema is these mutations and nothing else. Nothing happens when one of them, or one
  // of their keyspaces, cannot be read.
  Task<Result<SchemaDiff>> replace(std::vector<Bytes> mutations);
  // Reads of system_schema's tables that have to see each change in all tables or in none: no change is written meanwhile.
  Task<Status> read_between_changes(std::function<Task<Status>()> read);
  // The same, for a caller on another shard, where `read` runs; the result is brought back there.
  Task<Result<SchemaDiff>> change_from(unsigned shard, SchemaTransformation transformation);
  Task<Result<SchemaDiff>> merge_from(unsigned shard, std::vector<Bytes> mutations);
  Task<Status> read_between_changes_from(unsigned shard, std::function<Task<Status>()> read);

 private:
  // Mutations and what they point to. Each is of one keyspace's partition. `tables` has system_schema's tables.
  struct Batch {
    SchemaPtr tables;
    Arena arena;
    std::vector<std::vector<PartitionUpdate>> updates;
    std::vector<Mutation> mutations;
    void add(std::vector<PartitionUpdate> of_keyspace);
  };
  using Scopes = std::map<std::string, SchemaScope>;

  Task<void> begin();
  void end();
  Task<Result<SchemaDiff>> run(const SchemaTransformation* transformation);
  Task<Result<SchemaDiff>> run_merge(const std::vector<Bytes>* mutations);
  Task<Result<SchemaDiff>> run_replace(const std::vector<Bytes>* mutations);
  // kInvalid when one is not of system_schema.
  static Status read_batch(const std::vector<Bytes>& mutations, Batch& batch);
  struct DigestPart;
  struct Ahead;

  void read_all_again();
  Task<Result<SchemaDiff>> apply(const Batch* batch);
  Task<void> look_ahead(const Batch* batch, Ahead* ahead);
  Task<Result<SchemaDiff>> take(Ahead* ahead);
  // kCorruption, kInvalid or kConfigError names the keyspace, and table and column. nullptr: there is none.
  Task<Result<KeyspacePtr>> read_keyspace(std::string name, SchemaScope scope, Ahead* ahead);
  Task<Status> read_partition(size_t table, std::string keyspace, const std::set<std::string>* names, Ahead* ahead,
                              SchemaRows* rows, std::vector<DigestPart>* digest);
  Task<Status> feed(PartitionReader* partition, int64_t now_seconds, RowSink* sink);
  Task<Result<SchemaDiff>> finish(SchemaPtr before, Result<SchemaDiff> diff);
  Task<Status> prepare_drop(std::vector<Uuid> tables);
  Task<Status> cancel_drop_of_those_in(SchemaPtr schema);
  Task<Status> publish(const SchemaDiff* diff);
  Task<Status> build_indexes(SchemaPtr before, SchemaPtr after);
  Task<void> compute_version(Promise<Uuid>* computed);
  // system."IndexInfo" and system.built_views forget the indexes and views that are no longer there.
  Task<Status> forget_dropped(const Schema* before, const Schema* after);
  SchemaWriteOptions options_at(int64_t timestamp) const { return {timestamp, cdc_enabled_}; }
  int64_t next_timestamp() { return timestamps_.next(runtime_.shard(0).clock.wall_micros()); }

  Runtime& runtime_;
  SystemTimestamps& timestamps_;
  SchemaNode node_;
  std::vector<SchemaStore*> stores_;
  bool cdc_enabled_ = false;
  std::optional<SchemaDigest> digest_;
  std::map<std::string, KeyspacePtr> saved_;  // the system keyspaces as load() found them
  Scopes pending_;                            // may be written, not published
  // Tables that the next start may not find any more, though the snapshot has them.
  std::set<Uuid> prepared_;
  bool busy_ = false;
  std::deque<Promise<bool>*> waiting_;
};

}  // namespace cassandra_like
