#include "schema/schema_update_handler.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/log.h"
#include "runtime/gather.h"
#include "schema/local_state.h"

namespace cassandra_like {
namespace {

// More names than this are read with all that the keyspace has.
constexpr size_t kMaxNames = 64;
// Hashed in one turn: MD5 takes a millisecond for 700 KB.
constexpr size_t kTurnBytes = 128 << 10;

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

// Whether system_schema and the headers of SSTables can have the type and give it back.
Status check_type(const Type& type, const KeyspaceMetadata& keyspace) {
  TRY(types::check_extent(type));
  auto find = [&](std::string_view, std::string_view name) { return keyspace.type(name); };
  ASSIGN_OR_RETURN(TypePtr again, types::parse_cql(type.cql_name(), keyspace.name, find));
  if (again->equals(type.base())) return {};
  return invalid("The type " + type.base().class_name() + " would be read again as " + again->class_name());
}

// A type that changes may make others deeper that consist of it: these are in the difference, too.
Status check_types(const KeyspaceMetadata& before, const KeyspaceMetadata& after) {
  Status status;
  auto check = [&](std::string_view kind, const std::string& name, const Type& type) {
    if (!status.ok()) return;
    status = check_type(type, after);
    if (!status.ok()) {
      status = invalid(fmt::format("{} {}.{}: {}", kind, after.name, name, status.error().message()));
    }
  };
  auto check_user_type = [&](const UserType& type) {
    check("Type", type.name(), type);
    for (const TypePtr& field : type.elements()) check("Type", type.name(), *field);
  };
  auto check_table = [&](const TableMetadata& table) {
    for (const auto* list : {&table.partition_key, &table.clustering, &table.static_columns, &table.regular_columns}) {
      for (const ColumnPtr& column : *list) check("Column", table.name + "." + column->name, *column->type);
    }
  };
  compare_maps(
      before.types, after.types, [](const UserType&) {}, check_user_type,
      [&](const UserType&, const UserType& now) { check_user_type(now); });
  compare_maps(
      before.tables, after.tables, [](const TableMetadata&) {}, check_table,
      [&](const TableMetadata&, const TableMetadata& now) { check_table(now); });
  return status;
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
  end();
  if (diff.ok() && !diff->mutations.empty()) stores_[0]->announce(*diff);
  if (diff.ok()) CO_TRY(co_await build_indexes(before, diff->schema));
  co_return diff;
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::merge(std::vector<Bytes> mutations) {
  co_await begin();
  const SchemaPtr before = stores_[0]->current();
  Result<SchemaDiff> diff = co_await run_merge(&mutations);
  end();
  if (diff.ok()) CO_TRY(co_await build_indexes(before, diff->schema));
  co_return diff;
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::reload() {
  co_await begin();
  const SchemaPtr before = stores_[0]->current();
  read_all_again();
  Batch nothing;
  nothing.tables = before;
  Result<SchemaDiff> diff = co_await apply(&nothing);
  end();
  if (diff.ok()) CO_TRY(co_await build_indexes(before, diff->schema));
  co_return diff;
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::replace(std::vector<Bytes> mutations) {
  co_await begin();
  const SchemaPtr before = stores_[0]->current();
  Result<SchemaDiff> diff = co_await run_replace(&mutations);
  end();
  if (diff.ok()) CO_TRY(co_await build_indexes(before, diff->schema));
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
  CO_TRY(co_await prepare_drop(missing_tables(*batch.tables, batch.mutations)));
  std::vector<TablePtr> emptied;
  for (const char* name : schema_tables_in_digest_order()) {
    emptied.push_back(batch.tables->table("system_schema", name));
  }
  CO_TRY(co_await node_.truncate(std::move(emptied)));
  co_return co_await apply(&batch);
}

Task<Result<SchemaDiff>> SchemaUpdateHandler::apply(const Batch* batch) {
  const SchemaPtr before = stores_[0]->current();
  for (const Mutation& mutation : batch->mutations) {
    pending_[std::string(mutation.key.key)].add(touched(mutation));
    for (const PartitionUpdate& update : mutation.updates) timestamps_.note(max_timestamp(update));
  }
  std::vector<Uuid> dropped;
  for (const Mutation& mutation : batch->mutations) {
    const std::vector<Uuid> of_keyspace = dropped_tables(*before, mutation);
    dropped.insert(dropped.end(), of_keyspace.begin(), of_keyspace.end());
  }
  if (!dropped.empty()) CO_TRY(co_await prepare_drop(std::move(dropped)));
  for (const Mutation& mutation : batch->mutations) {
    DCHECK(mutation.keyspace == "system_schema");
    CO_TRY(co_await node_.write(mutation));
  }
  Scopes unread;
  Status broken;
  CO_ASSIGN_OR_RETURN(SchemaPtr after, co_await read_again(before, pending_, &unread, &broken));
  CO_TRY(co_await forget_indexes(before.get(), after.get()));
  // The version has no need of a sync: it is computed from the tables again at the start.
  Promise<Uuid> computed;
  spawn(compute_version(&computed));
  Status synced = co_await node_.sync();
  const Uuid version = co_await computed;
  if (!synced.ok()) co_return std::move(synced.error());
  if (version != after->version()) after = after->with_version(version);
  SchemaDiff diff{after, schema_events(*before, *after), {}, {}};
  // Changes run one after the other, so the snapshot is the one that this change began with.
  DCHECK(stores_[0]->current() == before);
  if (after != before) {
    CO_TRY(co_await node_.save_version(version));
    CO_TRY(co_await publish(&diff));
  }
  pending_ = std::move(unread);
  if (!broken.ok()) co_return std::move(broken.error());
  CO_TRY(co_await cancel_drop_of_those_in(after));
  co_return diff;
}

// Tables of an earlier change that was written and not read again stay prepared, whatever becomes of this one.
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

Task<Status> SchemaUpdateHandler::forget_indexes(const Schema* before, const Schema* after) {
  for (const auto& [keyspace, index] : dropped_indexes(*before, *after)) {
    Arena arena;
    PartitionUpdate update = index_gone(*before, keyspace, index, next_timestamp(), arena);
    Mutation mutation{"system", update.key, {&update, 1}};
    CO_TRY(co_await node_.write(mutation));
  }
  co_return Status();
}

Task<Result<SchemaPtr>> SchemaUpdateHandler::read_again(SchemaPtr before, Scopes scopes, Scopes* unread,
                                                        Status* first) {
  SchemaPtr after = before;
  for (auto& [name, scope] : scopes) {
    const KeyspacePtr old = before->keyspace(name);
    auto is_known = [&](const std::string& type) { return old != nullptr && old->types.contains(type); };
    // Columns and other types may be of a type that changed.
    if (std::any_of(scope.types.begin(), scope.types.end(), is_known)) scope.whole = true;
    if (scope.tables.size() + scope.types.size() + scope.others.size() > kMaxNames) scope.whole = true;
    Result<KeyspacePtr> keyspace = co_await read_keyspace(name, scope, old);
    if (!keyspace.ok()) {
      LOG_ERROR("Keyspace {} stays as it was: {}", name, keyspace.error().message());
      (*unread)[name] = scope;
      if (first->ok()) *first = std::move(keyspace.error());
      continue;
    }
    // system and system_schema are as this version of the node defines them; virtual ones are not in the tables.
    if (*keyspace == old || is_local_system_keyspace(name) || is_virtual_keyspace(name)) continue;
    after = *keyspace != nullptr ? after->with_keyspace(*keyspace) : after->without_keyspace(name);
  }
  co_return after;
}

Task<Result<KeyspacePtr>> SchemaUpdateHandler::read_keyspace(std::string name, SchemaScope scope, KeyspacePtr before) {
  SchemaRows rows;
  const auto& tables = schema_tables_in_digest_order();
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::string_view table = tables[i];
    const std::set<std::string>* names = table == "types"                                ? &scope.types
                                         : table == "functions" || table == "aggregates" ? &scope.others
                                                                                         : &scope.tables;
    if (scope.whole || table == "keyspaces") names = nullptr;
    if (names != nullptr && names->empty()) continue;
    CO_TRY(co_await read_partition(i, name, names, &rows));
  }
  co_return keyspace_from_rows(name, rows, scope, before);
}

// Without names: the whole partition.
Task<Status> SchemaUpdateHandler::read_partition(size_t table, std::string keyspace, const std::set<std::string>* names,
                                                 SchemaRows* rows) {
  ReadCommand command;
  command.table = stores_[0]->current()->table("system_schema", schema_tables_in_digest_order()[table]);
  const DecoratedKey key = DecoratedKey::of(keyspace);
  command.keys.push_back(key);
  command.now_seconds = runtime_.shard(0).clock.wall_micros() / 1000000;
  if (names != nullptr) {
    for (const std::string& name : *names) {
      const BytesView value(name);
      command.slices.push_back(Slice::of_prefix(*command.table, {&value, 1}));
    }
  }
  GroupingSink sink(command.table);
  CO_TRY(co_await node_.read(command, sink));
  if (names == nullptr) {
    digest_->clear(table, key);
  } else {
    for (const std::string& name : *names) digest_->set(table, key, name, "");
  }
  for (auto& [name, group] : sink.keyspaces[keyspace]) {
    digest_->set(table, key, name, std::move(group.digest));
    (*rows)[command.table->name][name] = std::move(group.rows);
  }
  co_return Status();
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
