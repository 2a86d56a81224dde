#include "schema/schema_update_handler.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/dcheck.h"
#include "base/log.h"
#include "read/merge.h"
#include "read/read_request.h"
#include "read/unfiltered_buffer.h"
#include "runtime/gather.h"
#include "schema/local_state.h"
#include "schema/schema_check.h"
#include "storage/memtable/memtable.h"

namespace cassandra_like {
namespace {

// More names than this are read with all that the keyspace has.
constexpr size_t kMaxNames = 64;
// Hashed in one turn: MD5 takes a millisecond for 700 KB.
constexpr size_t kTurnBytes = 128 << 10;
constexpr size_t kTurnRows = 1024;  // read in one turn

// The generations of the replicated system keyspaces' definitions: the write times of their rows, so that nodes of one
// version agree (auth.AuthKeyspace, schema.SystemDistributedKeyspace, tracing.TraceKeyspace). In the order in which
// Cassandra writes them.
constexpr std::pair<const char*, int64_t> kGenerations[] = {
    {"system_traces", 1577836800000002}, {"system_distributed", 6}, {"system_auth", 1}};

bool is_replicated_system_keyspace(std::string_view name) {
  return is_system_keyspace(name) && !is_local_system_keyspace(name) && !is_virtual_keyspace(name);
}

// Rows of one schema table, grouped by keyspace and by first clustering value.
class GroupingSink : public RowSink {
 public:
  explicit GroupingSink(TablePtr table) : rows_(std::move(table)) {}
  Next begin_partition(const DecoratedKey& key, const Row& static_row) override {
    groups_ = &keyspaces[std::string(key.key)];
    return rows_.begin_partition(key, static_row);
  }
  void continue_partition(const DecoratedKey& key) override { groups_ = &keyspaces[std::string(key.key)]; }
  Next row(const Row& row) override {
    const BytesView name = row.clustering.values.empty() ? BytesView("", 0) : row.clustering.values[0];
    SchemaRowGroup& group = (*groups_)[std::string(name)];
    append_row_digest(group.digest, row);
    rows_.row(row);
    group.rows.push_back(std::move(rows_.rows.back()));
    rows_.rows.clear();
    return Next::kContinue;
  }

  std::map<std::string, std::map<std::string, SchemaRowGroup>> keyspaces;

 private:
  InternalRows rows_;
  std::map<std::string, SchemaRowGroup>* groups_ = nullptr;
};

// A builtin keyspace with what others added to it (schema.SchemaTransformations.updateSystemKeyspace).
KeyspacePtr evolved(const KeyspacePtr& builtin, const KeyspacePtr& saved) {
  if (saved == nullptr) return builtin;
  auto result = std::make_shared<KeyspaceMetadata>(*builtin);
  result->replication = saved->replication;
  result->types = saved->types;
  for (const auto& [name, table] : saved->tables) {
    auto own = result->tables.find(name);
    if (own == result->tables.end()) {
      result->tables.set(name, table);
      continue;
    }
    const TableMetadata& wanted = *own->second;
    std::vector<ColumnPtr> others = wanted.static_columns;
    others.insert(others.end(), wanted.regular_columns.begin(), wanted.regular_columns.end());
    const size_t known = others.size();
    for (const auto* columns : {&table->static_columns, &table->regular_columns}) {
      for (const ColumnPtr& column : *columns) {
        if (wanted.column(column->name) == nullptr) others.push_back(column);
      }
    }
    if (others.size() == known) continue;
    auto merged = std::make_shared<TableMetadata>(wanted.keyspace, wanted.name, wanted.id, wanted.partition_key,
                                                  wanted.clustering, std::move(others));
    merged->flags = wanted.flags;
    merged->params = wanted.params;
    result->tables.set(name, std::move(merged));
  }
  return result;
}

Task<Result<SchemaDiff>> run_change(SchemaUpdateHandler* handler, SchemaTransformation transformation) {
  return handler->change(std::move(transformation));
}

Task<Result<SchemaDiff>> run_merge_there(SchemaUpdateHandler* handler, std::vector<Bytes> mutations) {
  return handler->merge(std::move(mutations));
}

Task<Status> run_read_there(SchemaUpdateHandler* handler, std::function<Task<Status>()> read) {
  return handler->read_between_changes(std::move(read));
}

Task<Status> publish_on_shard(SchemaStore* store, const SchemaDiff* diff) {
  store->publish(*diff);
  co_return Status();
}

}  // namespace

// The rows that one read found in one partition of one schema table, for the digest.
struct SchemaUpdateHandler::DigestPart {
  size_t table = 0;
  std::string keyspace;
  bool is_whole = false;
  std::map<std::string, Bytes> names;
};

// The rows that system_schema will have when a batch is written, and the schema that they make.
struct SchemaUpdateHandler::Ahead {
  bool is_alone = false;                    // the tables will have no other rows
  std::map<std::string, Memtable> written;  // the batch, by table

  SchemaPtr schema;
  std::vector<DigestPart> digest;
  std::vector<const Mutation*> accepted;  // those of the keyspaces that can be read
  Scopes unread;                          // what is in the tables and cannot be read
  Status broken;                          // the first error
};

void SchemaUpdateHandler::Batch::add(std::vector<PartitionUpdate> of_keyspace) {
  if (of_keyspace.empty()) return;
  updates.push_back(std::move(of_keyspace));
  mutations.push_back({"system_schema", updates.back()[0].key, updates.back()});
}

void SchemaUpdateHandler::attach(SchemaNode node, std::vector<SchemaStore*> stores, bool cdc_enabled) {
  node_ = std::move(node);
  stores_ = std::move(stores);
  cdc_enabled_ = cdc_enabled;
}

// --- One after the other ---

Task<void> SchemaUpdateHandler::begin() {
  if (busy_) {
    Promise<bool> turn;
    waiting_.push_back(&turn);
    co_await turn;
  }
  busy_ = true;
}

void SchemaUpdateHandler::end() {
  DCHECK(busy_);
  busy_ = false;
  if (waiting_.empty()) return;
  auto* next = waiting_.front();
  waiting_.pop_front();
  busy_ = true;
  runtime_.shard(0).executor.post([next] { next->set(true); });
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::change_from(unsigned shard, SchemaTransformation transformation) {
  auto* self = this;
  auto change = [self, transformation = std::move(transformation)] { return run_change(self, transformation); };
  co_return co_await run_on<Result<SchemaDiff>>(runtime_.shard(shard).executor, runtime_.shard(0).executor,
                                                std::move(change));
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::merge_from(unsigned shard, std::vector<Bytes> mutations) {
  auto* self = this;
  auto merge = [self, mutations = std::move(mutations)] { return run_merge_there(self, mutations); };
  co_return co_await run_on<Result<SchemaDiff>>(runtime_.shard(shard).executor, runtime_.shard(0).executor,
                                                std::move(merge));
}

Task<Status> SchemaUpdateHandler::read_between_changes_from(unsigned shard, std::function<Task<Status>()> read) {
  auto* self = this;
  Executor &caller = runtime_.shard(shard).executor, &here = runtime_.shard(0).executor;
  std::function<Task<Status>()> read_there = [&caller, &here, read = std::move(read)] {
    return run_on<Status>(here, caller, read);
  };
  auto run = [self, read_there = std::move(read_there)] { return run_read_there(self, read_there); };
  co_return co_await run_on<Status>(caller, here, std::move(run));
}

Task<Status> SchemaUpdateHandler::read_between_changes(std::function<Task<Status>()> read) {
  co_await begin();
  Status done = co_await read();
  end();
  co_return done;
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::change(SchemaTransformation transformation) {
  co_await begin();
  const SchemaPtr before = stores_[0]->current();
  Result<SchemaDiff> diff = co_await run(&transformation);
  if (diff.ok() && !diff->mutations.empty()) stores_[0]->announce(*diff);
  co_return co_await finish(before, std::move(diff));
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::merge(std::vector<Bytes> mutations) {
  co_await begin();
  const SchemaPtr before = stores_[0]->current();
  Result<SchemaDiff> diff = co_await run_merge(&mutations);
  co_return co_await finish(before, std::move(diff));
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::reload() {
  co_await begin();
  const SchemaPtr before = stores_[0]->current();
  read_all_again();
  Batch nothing;
  nothing.tables = before;
  Result<SchemaDiff> diff = co_await apply(&nothing);
  co_return co_await finish(before, std::move(diff));
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::replace(std::vector<Bytes> mutations) {
  co_await begin();
  const SchemaPtr before = stores_[0]->current();
  Result<SchemaDiff> diff = co_await run_replace(&mutations);
  co_return co_await finish(before, std::move(diff));
}

// Keyspaces that could be read are published, whatever became of others.
Task<Result<SchemaDiff>> SchemaUpdateHandler::finish(SchemaPtr before, Result<SchemaDiff> diff) {
  const SchemaPtr after = stores_[0]->current();
  end();
  CO_TRY(co_await build_indexes(before, after));
  co_return diff;
}

// --- A change ---

Task<Result<SchemaDiff>> SchemaUpdateHandler::run(const SchemaTransformation* transformation) {
  DCHECK(busy_ && runtime_.shard(0).executor.is_current());
  const SchemaPtr before = stores_[0]->current();
  const int64_t timestamp = next_timestamp();
  CO_ASSIGN_OR_RETURN(SchemaPtr next, (*transformation)(before, runtime_.shard(0).clock.wall_micros()));
  Batch batch;
  batch.tables = before;
  Status fits;
  auto add = [&](const KeyspaceMetadata* old, const KeyspaceMetadata* now) {
    static const KeyspaceMetadata kNone;
    if (fits.ok() && now != nullptr) fits = check_types(old != nullptr ? *old : kNone, *now);
    if (!fits.ok()) return;
    batch.add(schema_updates(*before, old, now, options_at(timestamp), batch.arena));
  };
  compare_maps(
      before->keyspaces(), next->keyspaces(), [&](const KeyspaceMetadata& gone) { add(&gone, nullptr); },
      [&](const KeyspaceMetadata& made) { add(nullptr, &made); },
      [&](const KeyspaceMetadata& old, const KeyspaceMetadata& now) { add(&old, &now); });
  CO_TRY(std::move(fits));
  if (batch.mutations.empty()) co_return SchemaDiff{before, {}, {}, {}};
  CO_ASSIGN_OR_RETURN(SchemaDiff diff, co_await apply(&batch));
  for (const Mutation& mutation : batch.mutations) serialize(mutation, diff.mutations.emplace_back());
  co_return diff;
}

Status SchemaUpdateHandler::read_batch(const std::vector<Bytes>& mutations, Batch& batch) {
  const Schema* tables = batch.tables.get();
  TableById find = [tables](const Uuid& id) { return tables->table(id).get(); };
  for (const Bytes& bytes : mutations) {
    ASSIGN_OR_RETURN(Mutation mutation, deserialize_mutation(bytes, find, batch.arena));
    for (const PartitionUpdate& update : mutation.updates) {
      if (update.table->keyspace == "system_schema") continue;
      return invalid("A change of the schema that writes to " + update.table->qualified_name());
    }
    mutation.keyspace = "system_schema";
    batch.mutations.push_back(mutation);
  }
  return {};
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::run_merge(const std::vector<Bytes>* mutations) {
  DCHECK(busy_ && runtime_.shard(0).executor.is_current());
  Batch batch;
  batch.tables = stores_[0]->current();
  CO_TRY(read_batch(*mutations, batch));
  co_return co_await apply(&batch);
}

void SchemaUpdateHandler::read_all_again() {
  for (const auto& [name, keyspace] : stores_[0]->current()->keyspaces()) {
    if (!is_virtual_keyspace(name)) pending_[name].whole = true;
  }
}

// The rows of the node's own keyspaces are written again: nobody sends them.
Task<Result<SchemaDiff>> SchemaUpdateHandler::run_replace(const std::vector<Bytes>* mutations) {
  DCHECK(busy_ && runtime_.shard(0).executor.is_current());
  Batch batch;
  batch.tables = stores_[0]->current();
  CO_TRY(read_batch(*mutations, batch));
  for (const char* name : {"system", "system_schema"}) {
    const KeyspacePtr keyspace = batch.tables->keyspace(name);
    batch.add(schema_updates(*batch.tables, nullptr, keyspace.get(), options_at(next_timestamp()), batch.arena));
  }
  read_all_again();
  Ahead ahead;
  ahead.is_alone = true;
  co_await look_ahead(&batch, &ahead);
  CO_TRY(std::move(ahead.broken));
  CO_TRY(co_await prepare_drop(missing_tables(*batch.tables, batch.mutations)));
  std::vector<TablePtr> emptied;
  for (const char* name : schema_tables_in_digest_order()) {
    emptied.push_back(batch.tables->table("system_schema", name));
  }
  CO_TRY(co_await node_.truncate(std::move(emptied)));
  co_return co_await take(&ahead);
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::apply(const Batch* batch) {
  Ahead ahead;
  co_await look_ahead(batch, &ahead);
  if (ahead.accepted.empty() && !batch->mutations.empty()) co_return std::move(ahead.broken.error());
  co_return co_await take(&ahead);
}

Task<void> SchemaUpdateHandler::look_ahead(const Batch* batch, Ahead* ahead) {
  const SchemaPtr before = stores_[0]->current();
  Scopes scopes = pending_;
  for (const Mutation& mutation : batch->mutations) {
    DCHECK(mutation.keyspace == "system_schema");
    scopes[std::string(mutation.key.key)].add(touched(mutation));
    for (const PartitionUpdate& update : mutation.updates) {
      const TablePtr table = batch->tables->table("system_schema", update.table->name);
      ahead->written.try_emplace(table->name, table, CommitLogPosition()).first->second.apply(update);
    }
  }
  ahead->schema = before;
  std::set<std::string, std::less<>> refused;
  for (auto& [name, scope] : scopes) {
    const KeyspacePtr old = before->keyspace(name);
    auto is_known = [&](const std::string& type) { return old->types.contains(type); };
    // Columns and other types may be of a type that changed. A keyspace that is made may find tables that wait for it.
    if (old == nullptr || std::any_of(scope.types.begin(), scope.types.end(), is_known)) scope.whole = true;
    if (scope.tables.size() + scope.types.size() + scope.others.size() > kMaxNames) scope.whole = true;
    Result<KeyspacePtr> keyspace = co_await read_keyspace(name, scope, ahead);
    if (!keyspace.ok()) {
      refused.insert(name);
      if (const auto found = pending_.find(name); found != pending_.end()) ahead->unread.insert(*found);
      if (ahead->broken.ok()) ahead->broken = std::move(keyspace.error());
      continue;
    }
    // system and system_schema are as this version of the node defines them; virtual ones are not in the tables.
    if (*keyspace == old || is_local_system_keyspace(name) || is_virtual_keyspace(name)) continue;
    ahead->schema =
        *keyspace != nullptr ? ahead->schema->with_keyspace(*keyspace) : ahead->schema->without_keyspace(name);
  }
  for (const Mutation& mutation : batch->mutations) {
    if (!refused.contains(mutation.key.key)) ahead->accepted.push_back(&mutation);
  }
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::take(Ahead* ahead) {
  const SchemaPtr before = stores_[0]->current();
  std::vector<Uuid> dropped;
  for (const Mutation* mutation : ahead->accepted) {
    const std::vector<Uuid> of_keyspace = dropped_tables(*before, *mutation);
    dropped.insert(dropped.end(), of_keyspace.begin(), of_keyspace.end());
  }
  if (!dropped.empty()) CO_TRY(co_await prepare_drop(std::move(dropped)));
  for (const Mutation* mutation : ahead->accepted) {
    pending_[std::string(mutation->key.key)].add(touched(*mutation));
    for (const PartitionUpdate& update : mutation->updates) timestamps_.note(max_timestamp(update));
  }
  for (const Mutation* mutation : ahead->accepted) CO_TRY(co_await node_.write(*mutation));
  for (DigestPart& part : ahead->digest) {
    const DecoratedKey key = DecoratedKey::of(part.keyspace);
    if (part.is_whole) digest_->clear(part.table, key);
    for (auto& [name, rows] : part.names) digest_->set(part.table, key, name, std::move(rows));
  }
  SchemaPtr after = ahead->schema;
  CO_TRY(co_await forget_dropped(before.get(), after.get()));
  // The version has no need of a sync: it is computed from the tables again at the start.
  Promise<Uuid> computed;
  spawn(compute_version(&computed));
  Status synced = co_await node_.sync();
  const Uuid version = co_await computed;
  node_.flush_soon();
  if (!synced.ok()) co_return std::move(synced.error());
  if (version != after->version()) after = after->with_version(version);
  SchemaDiff diff{after, schema_events(*before, *after), {}, {}};
  // Changes run one after the other, so the snapshot is the one that this change began with.
  DCHECK(stores_[0]->current() == before);
  if (after != before) {
    CO_TRY(co_await node_.save_version(version));
    CO_TRY(co_await publish(&diff));
  }
  pending_ = std::move(ahead->unread);
  if (!ahead->broken.ok()) co_return std::move(ahead->broken.error());
  CO_TRY(co_await cancel_drop_of_those_in(after));
  co_return diff;
}

// Tables of an earlier change that was written and not published stay prepared, whatever becomes of this one.
Task<Status> SchemaUpdateHandler::prepare_drop(std::vector<Uuid> tables) {
  Status prepared = co_await node_.prepare_drop(tables);
  if (!prepared.ok()) {
    std::erase_if(tables, [this](const Uuid& id) { return prepared_.contains(id); });
    static_cast<void>(co_await node_.cancel_drop(std::move(tables)));
    co_return prepared;
  }
  prepared_.insert(tables.begin(), tables.end());
  co_return Status();
}

// A later write may have been there before the mutation that drops a table.
Task<Status> SchemaUpdateHandler::cancel_drop_of_those_in(SchemaPtr schema) {
  std::vector<Uuid> kept;
  for (const Uuid& id : std::exchange(prepared_, {})) {
    if (schema->table(id) != nullptr) kept.push_back(id);
  }
  if (kept.empty()) co_return Status();
  co_return co_await node_.cancel_drop(std::move(kept));
}

Task<Status> SchemaUpdateHandler::build_indexes(SchemaPtr before, SchemaPtr after) {
  for (const auto& [table, index] : created_indexes(*before, *after)) {
    CO_TRY(co_await node_.build_index(table, index));
  }
  co_return Status();
}

// Nothing else touches the digest meanwhile: changes run one after the other.
Task<void> SchemaUpdateHandler::compute_version(Promise<Uuid>* computed) {
  const std::vector<BytesView> parts = digest_->parts();
  Md5 md5;
  size_t in_turn = 0;
  for (BytesView part : parts) {
    md5.update(part);
    in_turn += part.size();
    if (in_turn < kTurnBytes) continue;
    in_turn = 0;
    co_await runtime_.shard(0).executor.yield();
  }
  computed->set(SchemaDigest::version_of(md5));
}

Task<Status> SchemaUpdateHandler::forget_dropped(const Schema* before, const Schema* after) {
  Arena arena;
  std::vector<PartitionUpdate> updates;
  for (const auto& [keyspace, index] : dropped_indexes(*before, *after)) {
    updates.push_back(index_gone(*before, keyspace, index, next_timestamp(), arena));
  }
  for (const auto& [keyspace, view] : dropped_views(*before, *after)) {
    for (PartitionUpdate& update : view_gone(*before, keyspace, view, next_timestamp(), arena)) {
      updates.push_back(update);
    }
  }
  for (const PartitionUpdate& update : updates) {
    Mutation mutation{"system", update.key, {&update, 1}};
    CO_TRY(co_await node_.write(mutation));
  }
  co_return Status();
}

Task<Result<KeyspacePtr>> SchemaUpdateHandler::read_keyspace(std::string name, SchemaScope scope, Ahead* ahead) {
  const KeyspacePtr before = stores_[0]->current()->keyspace(name);
  SchemaRows rows;
  std::vector<DigestPart> digest;
  const auto& tables = schema_tables_in_digest_order();
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::string_view table = tables[i];
    const std::set<std::string>* names = table == "types"                                ? &scope.types
                                         : table == "functions" || table == "aggregates" ? &scope.others
                                                                                         : &scope.tables;
    if (scope.whole || table == "keyspaces") names = nullptr;
    if (names != nullptr && names->empty()) continue;
    CO_TRY(co_await read_partition(i, name, names, ahead, &rows, &digest));
  }
  // Rows that wait for their keyspace have to be readable when it comes.
  const bool is_there = rows.contains("keyspaces");
  if (!is_there && !rows.empty()) rows["keyspaces"][""].emplace_back();
  CO_ASSIGN_OR_RETURN(KeyspacePtr keyspace, keyspace_from_rows(name, rows, scope, before));
  if (keyspace != nullptr && keyspace != before) {
    static const KeyspaceMetadata kNone;
    CO_TRY(check_names(before != nullptr ? *before : kNone, *keyspace));
    CO_TRY(check_ids(*ahead->schema, *keyspace));
  }
  std::move(digest.begin(), digest.end(), std::back_inserter(ahead->digest));
  co_return is_there ? keyspace : KeyspacePtr();
}

// Without names: the whole partition.
Task<Status> SchemaUpdateHandler::read_partition(size_t table, std::string keyspace, const std::set<std::string>* names,
                                                 Ahead* ahead, SchemaRows* rows, std::vector<DigestPart>* digest) {
  ReadRequest request;
  ReadCommand& command = request.command;
  command.table = stores_[0]->current()->table("system_schema", schema_tables_in_digest_order()[table]);
  const DecoratedKey key = DecoratedKey::of(keyspace);
  command.keys.push_back(key);
  // Tombstones that may be purged still hide what a late mutation brings: at this time none may be.
  command.now_seconds = 0;
  DigestPart& part = digest->emplace_back(DigestPart{table, keyspace, names == nullptr, {}});
  if (names != nullptr) {
    for (const std::string& name : *names) {
      const BytesView value(name);
      command.slices.push_back(Slice::of_prefix(*command.table, {&value, 1}));
      part.names[name];
    }
  }
  request.columns = ColumnFilter::all(*command.table);
  std::vector<PartitionReader*> sources;
  UnfilteredBuffer stored(std::numeric_limits<size_t>::max());
  if (!ahead->is_alone) CO_TRY(co_await node_.read_unfiltered(request, stored));
  if (stored.has_partition()) sources.push_back(&stored.take());
  std::unique_ptr<PartitionReader> written;
  if (const auto memtable = ahead->written.find(command.table->name); memtable != ahead->written.end()) {
    const MemtablePartition* partition = memtable->second.find(key);
    if (partition != nullptr) written = memtable->second.read(*partition, {command.slices});
  }
  if (written != nullptr) sources.push_back(written.get());
  if (sources.empty()) co_return Status();
  GroupingSink sink(command.table);
  MergedPartition merged(sources, false);
  CO_TRY(co_await feed(&merged, runtime_.shard(0).clock.wall_seconds(), &sink));
  for (auto& [name, group] : sink.keyspaces[keyspace]) {
    part.names[name] = std::move(group.digest);
    (*rows)[command.table->name][name] = std::move(group.rows);
  }
  co_return Status();
}

// The rows that live, in turns.
Task<Status> SchemaUpdateHandler::feed(PartitionReader* partition, int64_t now_seconds, RowSink* sink) {
  sink->begin_partition(partition->key(), partition->static_row());
  Arena arena(1024);
  for (size_t count = 1;; ++count) {
    CO_ASSIGN_OR_RETURN(const Unfiltered* at, partition->next());
    if (at == nullptr) co_return Status();
    if (at->is_row && at->row.has_live_data(now_seconds)) {
      arena.reset();
      sink->row(live_row(at->row, now_seconds, arena));
    }
    if (count % kTurnRows == 0) co_await runtime_.shard(0).executor.yield();
  }
}

// A change begins with shard 0's snapshot, and prepares the drop of tables that it finds there. So no shard may publish a
// table that shard 0 cannot use.
Task<Status> SchemaUpdateHandler::publish(const SchemaDiff* diff) {
  auto* self = this;
  Executor& home = runtime_.shard(0).executor;
  const int64_t at_millis = runtime_.shard(0).clock.wall_millis();
  std::function<Task<Status>(unsigned)> use = [self, diff, at_millis](unsigned shard) {
    return self->node_.use_schema(shard, diff->schema, at_millis);
  };
  std::vector<Status> used = co_await gather<Status>(runtime_, home, std::move(use));
  if (!used[0].ok()) co_return std::move(used[0]);
  std::vector<unsigned> ready;
  for (unsigned shard = 0; shard < used.size(); ++shard) {
    if (used[shard].ok()) ready.push_back(shard);
  }
  std::function<Task<Status>(unsigned)> publish_one = [self, diff](unsigned shard) {
    return publish_on_shard(self->stores_[shard], diff);
  };
  co_await gather<Status>(runtime_, home, std::move(ready), std::move(publish_one));
  co_return first_error(std::move(used));
}

// --- The start ---

Task<Result<SchemaPtr>> SchemaUpdateHandler::load(SchemaPtr builtin) {
  digest_.emplace(*builtin);
  std::map<std::string, SchemaRows> rows;
  for (size_t i = 0; i < kSchemaTables; ++i) {
    ReadCommand command;
    command.table = builtin->table("system_schema", schema_tables_in_digest_order()[i]);
    command.range = KeyRange{};
    command.now_seconds = runtime_.shard(0).clock.wall_micros() / 1000000;
    GroupingSink sink(command.table);
    CO_TRY(co_await node_.read(command, sink));
    for (auto& [keyspace, groups] : sink.keyspaces) {
      const DecoratedKey key = DecoratedKey::of(keyspace);
      for (auto& [name, group] : groups) {
        digest_->set(i, key, name, std::move(group.digest));
        rows[keyspace][command.table->name][name] = std::move(group.rows);
      }
    }
  }
  SchemaPtr schema = builtin;
  SchemaScope whole;
  whole.whole = true;
  for (const auto& [name, of_keyspace] : rows) {
    CO_ASSIGN_OR_RETURN(KeyspacePtr keyspace, keyspace_from_rows(name, of_keyspace, whole, nullptr));
    if (is_system_keyspace(name)) saved_[name] = keyspace;
    if (keyspace == nullptr || is_local_system_keyspace(name) || is_virtual_keyspace(name)) continue;
    if (is_replicated_system_keyspace(name)) keyspace = evolved(builtin->keyspace(name), keyspace);
    schema = schema->with_keyspace(keyspace);
  }
  co_return schema->with_version(digest_->version());
}

Task<Status> SchemaUpdateHandler::save_system_keyspaces() {
  const SchemaPtr schema = stores_[0]->current();
  const int64_t timestamp = next_timestamp();
  Batch batch;
  batch.tables = schema;
  for (const char* name : {"system", "system_schema"}) {
    const KeyspacePtr keyspace = schema->keyspace(name);
    if (saved_[name] != nullptr) {
      if (schema_updates(*schema, saved_[name].get(), keyspace.get(), options_at(0), batch.arena).empty()) continue;
      batch.add(schema_updates(*schema, saved_[name].get(), nullptr, options_at(timestamp - 1), batch.arena));
    }
    batch.add(schema_updates(*schema, nullptr, keyspace.get(), options_at(timestamp), batch.arena));
  }
  for (const auto& [name, generation] : kGenerations) {
    const KeyspacePtr keyspace = schema->keyspace(name);
    batch.add(schema_updates(*schema, saved_[name].get(), keyspace.get(), options_at(generation), batch.arena));
  }
  saved_.clear();
  if (batch.mutations.empty()) co_return Status();
  auto applied = co_await apply(&batch);
  co_return applied.ok() ? Status() : Status(std::move(applied.error()));
}

}  // namespace cassandra_like
