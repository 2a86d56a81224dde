// Opening a node: engines on their shards, the node's own tables first, then everything they describe.
#include "replica/sharded_replica.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "replica/saved_ring.h"
#include "runtime/gather.h"
#include "schema/internal_table.h"
#include "schema/system_tables.h"
#include "schema/virtual_schema.h"
#include "storage/cache/chunk_budget.h"
#include "storage/memtable_budget.h"

namespace cassandra_like {
namespace {

Task<Status> use_schema_on(NodeShared* shared, unsigned shard, SchemaPtr schema) {
  CO_TRY(co_await shared->engines[shard]->set_schema(schema));
  shared->replicas[shard]->schema().use(schema);
  co_return Status();
}

Task<Status> replay_on(NodeShared* shared, unsigned shard, bool system_only, TruncationRecords truncated) {
  auto wanted = [system_only](const TableMetadata& table) {
    return is_local_system_keyspace(table.keyspace) == system_only;
  };
  co_return co_await shared->engines[shard]->replay(wanted, truncated, !system_only);
}

// By the engine that compacted: it owns the record's key. Compactions of the history itself are not told of, as each would
// leave something to compact.
Task<Status> record_compaction(NodeShared* shared, unsigned shard, CompactionRecord record) {
  SchemaPtr schema = shared->replicas[shard]->schema().current();
  if (record.table->keyspace == "system" && record.table->name == "compaction_history") co_return Status();
  Arena arena;
  const int64_t now = shared->runtime.shard(shard).clock.wall_micros();
  std::vector<PartitionUpdate> updates{compaction_update(*schema, record, now, arena)};
  Mutation mutation{updates[0].table->keyspace, updates[0].key, updates};
  Task<Status> applied = shared->engines[shard]->apply(mutation);
  co_return co_await applied;
}

Task<Status> on_every_engine_from(NodeShared* shared, unsigned shard, std::function<Status(unsigned, Engine&)> work) {
  std::function<Task<Status>(unsigned)> each = [shared, work](unsigned of) -> Task<Status> {
    if (shared->engines[of] == nullptr) return Status(Error(ErrorCode::kClosed, "The node is stopping"));
    return work(of, *shared->engines[of]);
  };
  Executor& home = shared->runtime.shard(shard).executor;
  auto statuses = co_await gather<Status>(shared->runtime, home, std::move(each));
  co_return first_error(std::move(statuses));
}

Task<Status> prepare_drop_on_every_engine(NodeShared* shared, std::vector<Uuid> tables) {
  ReplicaImpl& replica = *shared->replicas[0];
  std::function<Task<Status>(Engine&)> prepare = [&tables](Engine& engine) { return engine.prepare_drop(tables); };
  co_return co_await replica.on_every_engine(std::move(prepare));
}

Task<Status> cancel_drop_on_every_engine(NodeShared* shared, std::vector<Uuid> tables) {
  std::function<Status(unsigned, Engine&)> cancel = [&tables](unsigned, Engine& engine) {
    engine.cancel_drop(tables);
    return Status();
  };
  co_return co_await on_every_engine_from(shared, 0, std::move(cancel));
}

Task<Status> create_engine_on(NodeShared* shared, unsigned shard) {
  Runtime& runtime = shared->runtime;
  EngineOptions options = shared->engine_options;
  options.record_compaction = [shared, shard](CompactionRecord record) {
    return record_compaction(shared, shard, std::move(record));
  };
  options.disk_boundaries = [shared, shard](const TableMetadata& table, size_t directories) {
    return shared->replicas[shard]->disk_boundaries(table, directories);
  };
  options.on_every_engine = [shared, shard](std::function<Status(unsigned, Engine&)> work) {
    return on_every_engine_from(shared, shard, std::move(work));
  };
  shared->engines[shard] = std::make_unique<Engine>(runtime.shard(shard), runtime.shard_count(), std::move(options));
  Replica& replica = *shared->replicas[shard];
  add_virtual_schema_tables(replica.schema(), replica.virtual_tables());
  co_return Status();
}

Task<Status> start_on(NodeShared* shared, unsigned shard) {
  shared->engines[shard]->set_host_id(shared->node.host_id);
  co_return co_await shared->engines[shard]->start();
}

Task<Status> flush_on_every_engine(NodeShared* shared, TableSelection selection) {
  std::function<Task<Status>(Engine&)> flush = [&selection](Engine& engine) {
    return engine.maintenance().flush(selection);
  };
  co_return co_await shared->replicas[0]->on_every_engine(std::move(flush));
}

// A crash may come before the schema is written again. Then the next replay knows no table, so nothing but SSTables keeps
// the writes. It does not know the truncations of system_schema either when only the log has them: the replay of
// system_schema comes before that of system.local.
Task<Status> truncate_schema_tables(NodeShared* shared, std::vector<TablePtr> tables) {
  const TableSelection all, local("system", "local");
  CO_TRY(co_await flush_on_every_engine(shared, all));
  for (const TablePtr& table : tables) CO_TRY(co_await shared->replicas[0]->truncate(table));
  co_return co_await flush_on_every_engine(shared, local);
}

Task<Status> stop_on(NodeShared* shared, unsigned shard) {
  if (shared->engines[shard] == nullptr) co_return Status();
  co_await shared->engines[shard]->stop();
  shared->engines[shard].reset();
  co_return Status();
}

}  // namespace

ShardedReplica::ShardedReplica(Runtime& runtime, EngineOptions options, LocalNode node) : shared_(runtime) {
  options.memtables = std::make_shared<MemtableBudget>(options.memtable_bytes, runtime.shard_count());
  options.chunks = std::make_shared<ChunkBudget>(options.chunk_cache_bytes, runtime.shard_count());
  shared_.engine_options = std::move(options);
  shared_.node = std::move(node);
  shared_.engines.resize(runtime.shard_count());
  std::vector<SchemaStore*> stores;
  for (unsigned i = 0; i < runtime.shard_count(); ++i) {
    shared_.replicas.push_back(std::make_unique<ReplicaImpl>(shared_, i));
    stores.push_back(&shared_.replicas[i]->schema());
  }
  shared_.schema_updates.attach(schema_node(), std::move(stores), shared_.node.cdc_enabled);
}

SchemaNode ShardedReplica::schema_node() {
  auto* shared = &shared_;
  SchemaNode node;
  node.write = [shared](const Mutation& mutation) { return shared->replicas[0]->mutate(mutation); };
  node.read = [shared](const ReadCommand& command, RowSink& sink) { return shared->replicas[0]->read(command, sink); };
  node.read_unfiltered = [shared](const ReadRequest& request, UnfilteredSink& sink) {
    return shared->replicas[0]->read_unfiltered(request, sink);
  };
  node.sync = [shared] {
    return shared->replicas[0]->on_every_engine([](Engine& engine) { return engine.sync_commitlog(); });
  };
  node.prepare_drop = [shared](std::vector<Uuid> tables) {
    return prepare_drop_on_every_engine(shared, std::move(tables));
  };
  node.cancel_drop = [shared](std::vector<Uuid> tables) {
    return cancel_drop_on_every_engine(shared, std::move(tables));
  };
  node.flush_soon = [this] { flush_schema_soon(); };
  node.truncate = [shared](std::vector<TablePtr> tables) { return truncate_schema_tables(shared, std::move(tables)); };
  node.save_version = [this](Uuid version) { return save_version(version); };
  node.build_index = [shared](TablePtr table, std::string index) {
    return shared->replicas[0]->build_index(std::move(table), std::move(index));
  };
  node.use_schema = [shared](unsigned shard, SchemaPtr schema, int64_t at_millis) {
    return shared->engines[shard]->set_schema(std::move(schema), at_millis);
  };
  return node;
}

namespace {

Task<Status> use_topology_on(NodeShared* shared, unsigned shard, TopologyPtr topology) {
  shared->replicas[shard]->topology().set(std::move(topology));
  co_return Status();
}

Endpoint endpoint_of(const LocalNode& node) {
  Endpoint endpoint;
  endpoint.host_id = node.host_id;
  endpoint.address = node.broadcast_address;
  endpoint.storage_port = node.storage_port;
  endpoint.native_address = node.rpc_address;
  endpoint.native_port = node.native_port;
  endpoint.datacenter = node.data_center;
  endpoint.rack = node.rack;
  endpoint.tokens = node.tokens;
  if (node.tokens.empty()) endpoint.state = EndpointStatus::kLeft;
  return endpoint;
}

}  // namespace

Task<Status> ShardedReplica::on_every_shard(std::function<Task<Status>(unsigned)> work) {
  auto statuses = co_await gather<Status>(shared_.runtime, home(), std::move(work));
  co_return first_error(std::move(statuses));
}

Task<Status> ShardedReplica::create_engines() {
  auto* shared = &shared_;
  return on_every_shard([shared](unsigned shard) { return create_engine_on(shared, shard); });
}

Task<Status> ShardedReplica::use_schema(SchemaPtr schema) {
  auto* shared = &shared_;
  return on_every_shard([shared, schema](unsigned shard) { return use_schema_on(shared, shard, schema); });
}

Task<Status> ShardedReplica::use_topology(TopologyPtr topology) {
  auto* shared = &shared_;
  return on_every_shard([shared, topology](unsigned shard) { return use_topology_on(shared, shard, topology); });
}

Task<Status> ShardedReplica::replay(bool system_only, TruncationRecords truncated) {
  auto* shared = &shared_;
  return on_every_shard(
      [shared, system_only, truncated](unsigned shard) { return replay_on(shared, shard, system_only, truncated); });
}

Task<void> ShardedReplica::stop() {
  co_await end_schema_flushes();
  auto* shared = &shared_;
  auto stop = [shared](unsigned shard) { return stop_on(shared, shard); };
  Status ignored = co_await on_every_shard(stop);
  if (!ignored.ok()) LOG_WARN("Stopping: {}", ignored.error().message());
}

Task<Result<std::vector<InternalRow>>> ShardedReplica::read_table(std::string keyspace, std::string table) {
  ReadCommand command;
  command.table = schema()->table(keyspace, table);
  command.range = KeyRange{};
  command.now_seconds = now_micros() / 1000000;
  InternalRows rows(command.table);
  CO_TRY(co_await shared_.replicas[0]->read(command, rows));
  co_return std::move(rows.rows);
}

namespace {

// The latest write times that this shard has in the tables whose rows have the node's own times.
Task<Status> note_timestamps_on(NodeShared* shared, unsigned shard) {
  const SchemaPtr schema = shared->replicas[shard]->schema().current();
  std::vector<TablePtr> tables{schema->table("system", "local"), schema->table("system", "IndexInfo")};
  for (const auto& [name, table] : schema->keyspace("system_schema")->tables) tables.push_back(table);
  for (const TablePtr& table : tables) {
    CO_ASSIGN_OR_RETURN(int64_t latest, shared->replicas[shard]->maintenance().max_timestamp(table->id));
    shared->timestamps.note(latest);
  }
  co_return Status();
}

}  // namespace

Task<Status> ShardedReplica::note_timestamps() {
  auto* shared = &shared_;
  return on_every_shard([shared](unsigned shard) { return note_timestamps_on(shared, shard); });
}

Task<Status> ShardedReplica::adopt_identity(const SavedLocalState* saved, size_t num_tokens) {
  LocalNode& node = shared_.node;
  if (saved->found && saved->cluster_name != node.cluster_name) {
    co_return Error(ErrorCode::kConfigError,
                    "Saved cluster name " + saved->cluster_name + " != configured name " + node.cluster_name);
  }
  node.had_tokens = !saved->tokens.empty();
  if (node.had_tokens && saved->tokens.size() != num_tokens) {
    co_return Error(ErrorCode::kConfigError,
                    fmt::format("Cannot change the number of tokens from {} to {}", saved->tokens.size(), num_tokens));
  }
  Random& random = shared_.runtime.shard(0).random;
  if (saved->found) node.host_id = saved->host_id;
  if (node.host_id.is_nil()) node.host_id = Uuid::random(random.next(), random.next());
  if (node.had_tokens) node.tokens = saved->tokens;
  if (!node.had_tokens && !node.takes_tokens) node.tokens.clear();
  if (node.tokens.empty() && node.takes_tokens) node.tokens = make_tokens(num_tokens, random);
  node.gossip_generation = std::max(saved->gossip_generation + 1, static_cast<int32_t>(now_micros() / 1000000));
  co_return co_await save_local();
}

Task<Status> ShardedReplica::save_local() {
  Arena arena;
  co_return co_await write(local_update(*schema(), shared_.node, schema()->version(), next_timestamp(), arena));
}

Task<Status> ShardedReplica::take_tokens(std::vector<Token> tokens) {
  shared_.node.tokens = std::move(tokens);
  std::sort(shared_.node.tokens.begin(), shared_.node.tokens.end());
  CO_TRY(co_await save_local());
  flush_schema_soon();
  co_return co_await shared_.replicas[0]->on_every_engine([](Engine& engine) { return engine.sync_commitlog(); });
}

Task<Status> ShardedReplica::write(std::vector<PartitionUpdate> updates) {
  Mutation mutation{updates[0].table->keyspace, updates[0].key, updates};
  co_return co_await shared_.replicas[0]->mutate(mutation);
}

Task<Status> ShardedReplica::retire_foreign_segments() {
  auto* shared = &shared_;
  if (shared->engines[0]->foreign_segments().empty()) co_return Status();
  auto flush = [shared](unsigned shard) { return shared->replicas[shard]->maintenance().flush(TableSelection()); };
  auto remove = [shared](unsigned shard) { return Task<Status>(shared->engines[shard]->remove_foreign_segments()); };
  CO_TRY(co_await on_every_shard(flush));
  CO_TRY(co_await on_every_shard(remove));
  // A TRUNCATE from now on says nothing of them: they must not come back.
  co_return co_await shared_.runtime.shard(0).disk.sync_directory(shared_.engine_options.commitlog_directory);
}

// Changes that come within this time share a flush.
constexpr Duration kSchemaFlushDelay = std::chrono::milliseconds(100);

void ShardedReplica::flush_schema_soon() {
  if (schema_flush_ || schema_flushes_.closed()) return;
  schema_flush_ = home().schedule(kSchemaFlushDelay, [this] {
    schema_flush_.reset();
    if (schema_flushes_.enter()) spawn(flush_schema());
  });
}

Task<void> ShardedReplica::flush_schema() {
  const TableSelection schema("system_schema"), local("system", "local");
  Status flushed = co_await flush_on_every_engine(&shared_, schema);
  if (flushed.ok()) flushed = co_await flush_on_every_engine(&shared_, local);
  if (!flushed.ok()) LOG_WARN("The schema stays in the commit log: {}", flushed.error().message());
  schema_flushes_.leave();
}

Task<void> ShardedReplica::end_schema_flushes() {
  if (schema_flush_) home().cancel(*std::exchange(schema_flush_, std::nullopt));
  if (!schema_flushes_.closed()) co_await schema_flushes_.close();
}

Task<Status> ShardedReplica::save_version(Uuid version) {
  Arena arena;
  co_return co_await write(schema_version_update(*schema(), version, next_timestamp(), arena));
}

// While the node runs, system."IndexInfo" has all indexes. In the files of a drained node it has none: Cassandra cannot
// read the form of our indexes, and builds anew those that are not there.
Task<Status> ShardedReplica::save_built_indexes(bool built) {
  SchemaPtr snapshot = schema();
  for (const auto& [name, keyspace] : snapshot->keyspaces()) {
    for (const auto& [table_name, table] : keyspace->tables) {
      for (const auto& [index, metadata] : table->indexes) {
        if (metadata.kind != IndexKind::kComposites) continue;
        Arena arena;
        std::vector<PartitionUpdate> updates;
        updates.push_back(built ? index_built(*snapshot, *table, index, next_timestamp(), arena)
                                : indexes_not_built(*snapshot, name, next_timestamp(), arena));
        CO_TRY(co_await write(updates));
      }
    }
  }
  co_return Status();
}

Task<Status> ShardedReplica::drain() {
  co_await end_schema_flushes();
  CO_TRY(co_await save_built_indexes(false));
  co_return co_await shared_.replicas[0]->on_every_engine([](Engine& engine) { return engine.drain(); });
}

Task<Status> ShardedReplica::open(size_t num_tokens) {
  CO_TRY(co_await create_engines());
  SchemaPtr builtin = builtin_schema(shared_.node.system_keyspaces);
  CO_TRY(co_await use_schema(builtin));
  // The replay of system_schema needs the truncation records that truncate_schema_tables() flushed.
  CO_ASSIGN_OR_RETURN(auto flushed_rows, co_await read_table("system", "local"));
  CO_TRY(co_await replay(true, parse_local(flushed_rows).truncated));
  CO_TRY(co_await note_timestamps());
  CO_ASSIGN_OR_RETURN(auto local_rows, co_await read_table("system", "local"));
  SavedLocalState saved = parse_local(local_rows);
  CO_ASSIGN_OR_RETURN(SchemaPtr full, co_await shared_.schema_updates.load(builtin));
  if (saved.found) shared_.node.host_id = saved.host_id;
  // A replay passes over all that SSTables of this node hold.
  for (auto& engine : shared_.engines) engine->set_host_id(shared_.node.host_id);
  CO_TRY(co_await use_schema(full));
  // A replay flushes, to the directories where tokens belong.
  LocalNode node = shared_.node;
  node.tokens = saved.tokens;
  CO_ASSIGN_OR_RETURN(const auto peers, co_await read_table("system", "peers_v2"));
  CO_TRY(co_await use_topology(saved_ring(endpoint_of(node), peers)));
  CO_TRY(co_await replay(false, saved.truncated));
  Random& random = shared_.runtime.shard(0).random;
  if (shared_.node.host_id.is_nil()) shared_.node.host_id = Uuid::random(random.next(), random.next());
  auto* shared = &shared_;
  auto start = [shared](unsigned shard) { return start_on(shared, shard); };
  CO_TRY(co_await on_every_shard(start));
  CO_TRY(co_await retire_foreign_segments());
  CO_TRY(co_await adopt_identity(&saved, num_tokens));
  CO_TRY(co_await use_topology(Topology::of_one(endpoint_of(shared_.node))));
  CO_TRY(co_await shared_.schema_updates.save_system_keyspaces());
  flush_schema_soon();
  co_return co_await save_built_indexes(true);
}

Task<Result<std::unique_ptr<ShardedReplica>>> ShardedReplica::open(Runtime* runtime, EngineOptions options,
                                                                   LocalNode node, size_t num_tokens) {
  std::unique_ptr<ShardedReplica> set(new ShardedReplica(*runtime, std::move(options), std::move(node)));
  Status status = co_await set->open(num_tokens);
  if (!status.ok()) {
    co_await set->stop();
    co_return std::move(status.error());
  }
  co_return std::move(set);
}

}  // namespace cassandra_like
