// Orders for SSTables: GET /v1/sstables, POST /v1/compact, /v1/force_compact, /v1/upgrade_sstables,
// /v1/garbage_collect, /v1/cleanup, /v1/scrub, /v1/verify, /v1/import, /v1/refresh, /v1/recompress_sstables,
// /v1/relocate_sstables, /v1/rebuild_index.
#include <algorithm>
#include <charconv>
#include <map>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "admin/selection.h"
#include "admin/token_ownership.h"
#include "base/log.h"
#include "runtime/gather.h"
#include "storage/sstable/sstable_files.h"

namespace cassandra_like::admin {

namespace {

// ByteBufferUtil.hexToBytes, which does not know 0x.
Result<Bytes> bytes_of_hex(const std::string& text) {
  Bytes bytes;
  if (text.size() % 2 == 1) return invalid("An hex string representing bytes must have an even length");
  if (!from_hex(text, &bytes)) return invalid("Non-hex characters in " + text);
  return bytes;
}

bool is_leveled(const TableMetadata& table) {
  auto option = table.params.compaction.find("class");
  return option != table.params.compaction.end() && option->second.ends_with("LeveledCompactionStrategy");
}

// Long.parseLong
std::optional<int64_t> java_long(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t number = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

Answer no_token(const std::string& text) {
  return refuse(500, "Invalid token for Murmur3Partitioner. Got " + text +
                         " but expected a long value (unsigned 8 bytes integer).");
}

Task<Answer> compact_scope(AdminContextPtr context, Selections selections, CompactionScope scope) {
  TableWork work = [scope = std::move(scope)](Maintenance& maintenance, const TableSelection& tables) {
    return maintenance.compact(tables, scope);
  };
  return on_selections(std::move(context), std::move(selections), std::move(work));
}

// CompactionManager.forceCompactionForTokenRange: both ends are in the range, which may wrap around.
Task<Answer> compact_range(AdminContextPtr context, Selections selections, const Parameters& parameters) {
  const std::optional<Token> start = java_long(parameters.get("start_token"));
  if (!start) return no_token(parameters.get("start_token"));
  const std::optional<Token> end = java_long(parameters.get("end_token"));
  if (!end) return no_token(parameters.get("end_token"));
  if (*start == *end) return Answer{};  // the range is empty
  CompactionScope scope;
  scope.wants = [from = *start, to = *end](const TableMetadata& table, const SSTable& sstable) {
    const Token first = murmur3_token(sstable.info().first_key), last = murmur3_token(sstable.info().last_key);
    if (table.is_index) return false;
    return from < to ? first <= to && last >= from : first <= to || last >= from;
  };
  return compact_scope(std::move(context), std::move(selections), std::move(scope));
}

// CompactionManager.forceCompactionForKey. The key has to be one of every table that is named.
Task<Answer> compact_partition(AdminContextPtr context, Selections selections, const std::string& text) {
  std::map<Uuid, Bytes> keys;
  for (const TablePtr& table : tables_of(*context->schema(), selections)) {
    Result<Bytes> key = table->partition_key_type()->from_text(text);
    if (!key.ok()) {
      return refuse(500, fmt::format("Unable to parse partition key '{}' for table {}; {}", text,
                                     table->qualified_name(), key.error().message()));
    }
    keys[table->id] = std::move(*key);
  }
  CompactionScope scope;
  scope.wants = [keys = std::move(keys)](const TableMetadata& table, const SSTable& sstable) {
    auto found = table.is_index ? keys.end() : keys.find(table.id);
    if (found == keys.end()) return false;
    const DecoratedKey key = DecoratedKey::of(found->second);
    return sstable.may_contain(key);
  };
  return compact_scope(std::move(context), std::move(selections), std::move(scope));
}

// A table, or the hidden one of an index: keyspace and name.
using TableName = std::pair<std::string, std::string>;

struct NamedFile {
  TableName table;
  std::string base;  // the table itself, where it is the one of an index
  std::string data;  // the name of Data.db
};

// Descriptor.fromFileWithComponent. Without directories the table is unknown.
Result<NamedFile> parse_file(const std::string& path) {
  constexpr size_t kLongestPath = 4096;  // PATH_MAX; std::regex takes stack for each character
  if (path.size() > kLongestPath) return invalid("Invalid sstable file: the path is longer than 4096 bytes");
  static const std::regex kPath(
      R"(.*/(\w+)/(\w+)(?:-[0-9a-f]{32})?/(?:backups/|snapshots/[^/]+/)?(?:\.([\w-]+)/)?[\w+-]+\.\w+)");
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto parts = std::count(name.begin(), name.end(), '-') + 1;
  const std::string data = name.substr(0, name.rfind('-') + 1) + std::string(components::kData);
  const std::optional<SSTableDescriptor> descriptor = SSTableDescriptor::parse("", data);
  if (parts != 4 || !descriptor) {
    return invalid(
        fmt::format("Invalid sstable file {}: the name doesn't look like a supported sstable file name", name));
  }
  if (descriptor->known_version() == nullptr) {
    return invalid(
        fmt::format("Invalid sstable file {}: incompatible sstable version ({}); you should have run "
                    "upgradesstables before upgrading",
                    name, descriptor->version));
  }
  NamedFile file;
  file.data = data;
  if (std::smatch match; std::regex_match(path, match, kPath)) {
    file.base = match[2];
    file.table = {match[1], match[3].matched ? file.base + "." + match[3].str() : file.base};
  }
  return file;
}

// CompactionManager.forceUserDefinedCompaction: files that are not there, or not any more, are passed over.
Task<Answer> compact_files(AdminContextPtr context, const std::vector<std::string>& paths) {
  std::set<std::pair<TableName, std::string>> files;
  Selections selections;
  for (const std::string& path : paths) {
    Result<NamedFile> parsed = parse_file(path);
    if (!parsed.ok()) return refuse(500, parsed.error().message());
    const NamedFile& file = *parsed;
    const TablePtr table = context->schema()->table(file.table.first, file.base);
    if (table == nullptr || table->is_virtual) {
      LOG_WARN("Schema does not exist for file {}. Skipping.", path);
      continue;
    }
    const bool is_named = std::any_of(selections.begin(), selections.end(), [&](const TableSelection& s) {
      return s.keyspace == file.table.first && s.table == file.base;
    });
    if (!is_named) selections.emplace_back(file.table.first, file.base);
    files.emplace(file.table, file.data);
  }
  CompactionScope scope;
  scope.operation = CompactionOperation::kCompaction;
  scope.wants = [files = std::move(files)](const TableMetadata& table, const SSTable& sstable) {
    SSTableDescriptor descriptor = sstable.info().descriptor;
    descriptor.directory.clear();
    return files.contains({{table.keyspace, table.name}, descriptor.file(components::kData).substr(1)});
  };
  return compact_scope(std::move(context), std::move(selections), std::move(scope));
}

// The table that a command has to name. StorageService.getValidKeyspace and Keyspace.getColumnFamilyStore.
TablePtr named_table(const Schema& schema, const Parameters& parameters, int unknown_table, Answer* refusal) {
  const std::string &keyspace = parameters.get("keyspace"), &name = parameters.get("table");
  const KeyspacePtr found = schema.keyspace(keyspace);
  if (found == nullptr || found->is_virtual) {
    *refusal = refuse(500, "Keyspace " + keyspace + " does not exist");
    return nullptr;
  }
  TablePtr table = found->table(name);
  if (table == nullptr) *refusal = refuse(unknown_table, "Unknown keyspace/cf pair (" + keyspace + "." + name + ")");
  return table;
}

// Shards split what they share first, and only then write anew what each has alone.
Task<Answer> rewrite(AdminContextPtr context, Parameters parameters, SSTableRewrite order) {
  TableWork split = [](Maintenance& maintenance, const TableSelection& tables) { return maintenance.relocate(tables); };
  TableWork work = [order](Maintenance& maintenance, const TableSelection& tables) {
    return maintenance.rewrite(tables, order);
  };
  Task<Answer> first = on_named_tables(context, parameters, std::move(split));
  Answer answer = co_await first;
  if (answer.status != 200) co_return answer;
  Task<Answer> then = on_named_tables(context, parameters, std::move(work));
  co_return co_await then;
}

Task<Status> build_indexes(Maintenance* maintenance, TablePtr table, std::vector<std::string> indexes) {
  for (const std::string& index : indexes) {
    Task<Status> task = maintenance->build_index(table, index);
    Status built = co_await task;
    if (!built.ok()) co_return built;
  }
  co_return Status();
}

Task<Answer> build_on_every_shard(AdminContextPtr context, TablePtr table, std::vector<std::string> indexes) {
  TableWork work = [table, indexes](Maintenance& maintenance, const TableSelection&) {
    return build_indexes(&maintenance, table, indexes);
  };
  return on_selections(std::move(context), {TableSelection(table->keyspace, table->name)}, std::move(work));
}

}  // namespace

// ColumnFamilyStore.getSSTablesForKey
Task<Answer> sstables(AdminContextPtr context, Parameters parameters) {
  const std::string &keyspace = parameters.get("keyspace"), &name = parameters.get("table");
  const TablePtr table = context->schema()->table(keyspace, name);
  if (table == nullptr || table->is_virtual) {
    co_return refuse(404, fmt::format("ColumnFamilyStore for {}/{} not found.", keyspace, name));
  }
  const std::string& text = parameters.get("key");
  const bool is_hex = parameters.is_true("hex");
  Result<Bytes> key = is_hex ? bytes_of_hex(text) : table->partition_key_type()->from_text(text);
  if (!key.ok()) co_return refuse(is_hex ? 400 : 500, key.error().message());
  Answer answer;
  answer.json = {{"leveled", is_leveled(*table)}, {"sstables", Json::array()}};
  if (context->stopped) co_return answer;
  using Found = Result<std::vector<SSTableInfo>>;
  auto* node = &context->node;
  const std::vector<unsigned> owner{shard_of(murmur3_token(*key), node->runtime->shard_count())};
  std::function<Task<Found>(unsigned)> ask = [node, id = table->id, key = *key](unsigned shard) {
    return Task<Found>(node->replicas[shard]->maintenance().sstables_with_key(id, key));
  };
  Task<std::vector<Found>> task = gather<Found>(*node->runtime, context->here(), owner, std::move(ask));
  std::vector<Found> found = co_await task;
  if (!found[0].ok()) co_return failure(found[0].error());
  for (const SSTableInfo& info : *found[0]) {
    answer.json["sstables"].push_back({{"file", info.descriptor.file(components::kData)}, {"level", info.level}});
  }
  co_return answer;
}

Task<Answer> compact(AdminContextPtr context, Parameters parameters) {
  if (parameters.has("file")) return compact_files(std::move(context), parameters.all("file"));
  Selections selections;
  if (auto refusal = select(*context->schema(), parameters, selections)) return std::move(*refusal);
  if (parameters.has("start_token") || parameters.has("end_token")) {
    return compact_range(std::move(context), std::move(selections), parameters);
  }
  if (parameters.has("partition")) {
    return compact_partition(std::move(context), std::move(selections), parameters.get("partition"));
  }
  CompactionScope scope;
  scope.split_output = parameters.is_true("split_output");
  return compact_scope(std::move(context), std::move(selections), std::move(scope));
}

Task<Answer> upgrade_sstables(AdminContextPtr context, Parameters parameters) {
  SSTableRewrite order;
  order.include_all = parameters.is_true("include_all");
  if (const std::string& text = parameters.get("max_timestamp"); !text.empty()) {
    const std::optional<int64_t> millis = java_long(text);
    if (!millis) return refuse(400, "max_timestamp is a number of milliseconds");
    order.created_until_millis = *millis;
  }
  return rewrite(std::move(context), std::move(parameters), order);
}

Task<Answer> recompress_sstables(AdminContextPtr context, Parameters parameters) {
  SSTableRewrite order;
  order.recompresses = true;
  return rewrite(std::move(context), std::move(parameters), order);
}

Task<Answer> relocate_sstables(AdminContextPtr context, Parameters parameters) {
  SSTableRewrite order;
  order.operation = CompactionOperation::kRelocate;
  return rewrite(std::move(context), std::move(parameters), order);
}

Task<Answer> garbage_collect(AdminContextPtr context, Parameters parameters) {
  const std::string& granularity = parameters.get("granularity");
  if (!granularity.empty() && granularity != "ROW" && granularity != "CELL" && granularity != "NONE") {
    return refuse(500, "No enum constant org.apache.cassandra.schema.CompactionParams.TombstoneOption." + granularity);
  }
  SSTableRewrite order;
  order.operation = CompactionOperation::kGarbageCollect;
  order.skips_rows = granularity != "NONE";
  order.skips_cells = granularity == "CELL";
  return rewrite(std::move(context), std::move(parameters), order);
}

// ColumnFamilyStore.scrub. Files that shards share are split first, as far as they can be read.
Task<Answer> scrub(AdminContextPtr context, Parameters parameters) {
  Selections selections;
  if (auto refusal = select(*context->schema(), parameters, selections, 400)) co_return std::move(*refusal);
  if (!parameters.is_true("no_snapshot")) {
    SnapshotRequest request(fmt::format("pre-scrub-{}", context->runtime().clock.wall_millis()));
    request.skip_flush = request.with_unread = true;
    for (const TablePtr& table : tables_of(*context->schema(), selections)) {
      Task<Status> snapshot = snapshot_table(context, table, request);
      Status kept = co_await snapshot;
      if (!kept.ok()) co_return failure(kept.error());
    }
  }
  TableWork split = [](Maintenance& maintenance, const TableSelection& tables) { return maintenance.relocate(tables); };
  Task<Answer> first = on_selections(context, selections, std::move(split));
  Answer ignored = co_await first;
  SSTableScrubOrder order;
  order.skips_corrupted = parameters.is_true("skip_corrupted");
  order.validates = !parameters.is_true("no_validate");
  order.reinserts_overflowed_ttl = parameters.is_true("reinsert_overflowed_ttl");
  TableWork work = [order](Maintenance& maintenance, const TableSelection& tables) {
    return maintenance.scrub(tables, order);
  };
  Task<Answer> then = on_selections(std::move(context), std::move(selections), std::move(work));
  co_return co_await then;
}

// ColumnFamilyStore.forceCompactionKeysIgnoringGcGrace: the SSTables that may have one of the partitions, whose tombstones
// go although gc_grace_seconds are not over.
Task<Answer> force_compact(AdminContextPtr context, Parameters parameters) {
  Answer refusal;
  const TablePtr table = named_table(*context->schema(), parameters, 500, &refusal);
  if (table == nullptr) return refusal;
  std::set<Bytes, std::less<>> keys;
  for (const std::string& text : parameters.all("key")) {
    Result<Bytes> key = table->partition_key_type()->from_text(text);
    if (!key.ok()) return refuse(500, key.error().message());
    keys.insert(std::move(*key));
  }
  CompactionScope scope;
  scope.purges_young = [keys](const DecoratedKey& key) { return keys.contains(key.key); };
  scope.wants = [keys](const TableMetadata& of, const SSTable& sstable) {
    return !of.is_index && std::any_of(keys.begin(), keys.end(), [&sstable](const Bytes& key) {
      const DecoratedKey decorated = DecoratedKey::of(key);
      return sstable.may_contain(decorated);
    });
  };
  return compact_scope(std::move(context), {TableSelection(table->keyspace, table->name)}, std::move(scope));
}

// SecondaryIndexManager.rebuildIndexesBlocking. Indexes that are not there are passed over.
Task<Answer> rebuild_index(AdminContextPtr context, Parameters parameters) {
  Answer refusal;
  const TablePtr table = named_table(*context->schema(), parameters, 400, &refusal);
  if (table == nullptr) return refusal;
  std::set<std::string> wanted;
  for (std::string name : parameters.all("index")) {
    // The name of its hidden table is taken, too.
    if (const size_t dot = name.find('.'); dot != std::string::npos) name.erase(0, dot + 1);
    wanted.insert(std::move(name));
  }
  std::vector<std::string> indexes;
  for (const auto& [name, index] : table->indexes) {
    if (wanted.contains(name)) indexes.push_back(name);
  }
  LOG_INFO("User Requested secondary index re-build for {}/{} indexes: {}", table->keyspace, table->name,
           fmt::join(indexes, ","));
  return build_on_every_shard(std::move(context), table, std::move(indexes));
}

// StorageService.forceKeyspaceCleanup. Keyspaces that are this node's alone have nothing to clean.
Task<Answer> cleanup(AdminContextPtr context, Parameters parameters) {
  const auto all = token_ownership(*context->schema(), *context->replica().topology().current());
  const std::string& named = parameters.get("keyspace");
  if (named == "system" || named == "system_schema") {
    return refuse(500, "Cleanup of the system keyspace is neither necessary nor wise");
  }
  for (const auto& [keyspace, ownership] : all) {
    if (!ownership.is_changing || (!named.empty() && keyspace != named)) continue;
    return refuse(500, "Node is involved in cluster membership changes. Not safe to run cleanup.");
  }
  SSTableRewrite order;
  order.operation = CompactionOperation::kCleanup;
  // Asked by every shard when it comes to a table: ALTER KEYSPACE may have been there by then.
  order.owned = [node = &context->node](const TableMetadata& table) {
    for (unsigned shard = 0; shard < node->runtime->shard_count(); ++shard) {
      if (!node->runtime->shard(shard).executor.is_current()) continue;
      Replica& replica = *node->replicas[shard];
      return tokens_to_keep(*replica.schema().current(), *replica.topology().current(), table.keyspace);
    }
    return OwnedTokens::all();
  };
  return rewrite(std::move(context), std::move(parameters), std::move(order));
}

namespace {

// The tokens of each keyspace that this node has or is about to get. No range is no reason to complain, as in Cassandra.
std::function<OwnedTokens(const TableMetadata&)> owned_tokens(const AdminContext& context) {
  return
      [all = token_ownership(*context.schema(), *context.replica().topology().current())](const TableMetadata& table) {
        const auto found = all.find(table.keyspace);
        const bool has_any = found != all.end() && !found->second.with_pending.spans().empty();
        return has_any ? found->second.with_pending : OwnedTokens::all();
      };
}

}  // namespace

// ColumnFamilyStore.importNewSSTables. Shard 0 splits the files among all of them; then indexes are built anew.
Task<Answer> import_sstables(AdminContextPtr context, Parameters parameters) {
  const std::string &keyspace = parameters.get("keyspace"), &name = parameters.get("table");
  const TablePtr table = context->schema()->table(keyspace, name);
  if (table == nullptr || table->is_virtual) {
    co_return refuse(404, fmt::format("ColumnFamilyStore for {}/{} not found.", keyspace, name));
  }
  SSTableImport order;
  order.directories = parameters.all("directory");
  if (order.directories.empty()) co_return refuse(400, "directory is needed");
  order.verifies = !parameters.is_true("no_verify");
  order.extended = parameters.is_true("extended");
  order.keeps_level = parameters.is_true("keep_level");
  order.keeps_repaired = parameters.is_true("keep_repaired");
  order.copies = parameters.is_true("copy_data");
  if (!parameters.is_true("no_tokens")) order.owned = owned_tokens(*context);
  using Imported = Result<std::vector<std::string>>;
  Replica* first = context->node.replicas[0];
  auto work = [first, table, order] { return first->maintenance().import_sstables(table, order); };
  Task<Imported> task = run_on<Imported>(context->here(), context->node.runtime->shard(0).executor, work);
  Imported failed = co_await task;
  if (!failed.ok()) co_return failure(failed.error(), 400);
  std::vector<std::string> indexes;
  for (const auto& [index, metadata] : table->indexes) indexes.push_back(index);
  Task<Answer> building = build_on_every_shard(context, table, std::move(indexes));
  Answer answer = co_await building;
  if (answer.status == 200) answer.json["failed"] = *failed;
  co_return answer;
}

// ColumnFamilyStore.loadNewSSTables
Task<Answer> refresh(AdminContextPtr context, Parameters parameters) {
  const std::string &keyspace = parameters.get("keyspace"), &name = parameters.get("table");
  const KeyspacePtr found = context->schema()->keyspace(keyspace);
  if (found == nullptr || found->is_virtual) co_return refuse(400, fmt::format("Keyspace {} does not exist", keyspace));
  const TablePtr table = found->table(name);
  if (table == nullptr) co_return refuse(400, fmt::format("Unknown keyspace/cf pair ({}.{})", keyspace, name));
  Replica* first = context->node.replicas[0];
  auto work = [first, table] { return first->maintenance().load_new_sstables(table); };
  Task<Status> task = run_on<Status>(context->here(), context->node.runtime->shard(0).executor, work);
  Status loaded = co_await task;
  if (!loaded.ok()) co_return failure(loaded.error());
  std::vector<std::string> indexes;
  for (const auto& [index, metadata] : table->indexes) indexes.push_back(index);
  Task<Answer> building = build_on_every_shard(context, table, std::move(indexes));
  co_return co_await building;
}

Task<Answer> verify(AdminContextPtr context, Parameters parameters) {
  SSTableVerification order;
  order.extended = parameters.is_true("extended");
  order.quick = parameters.is_true("quick");
  order.check_version = parameters.is_true("check_version");
  order.invokes_failure_policy = parameters.is_true("invoke_failure_policy");
  order.mutates_repair_status = parameters.is_true("mutate_repair_status");
  if (parameters.is_true("check_tokens")) {
    if (!order.extended) return refuse(400, "Token verification requires --extended-verify");
    order.owned = owned_tokens(*context);
  }
  TableWork work = [order](Maintenance& maintenance, const TableSelection& tables) {
    return maintenance.verify(tables, order);
  };
  return on_named_tables(std::move(context), std::move(parameters), std::move(work));
}

}  // namespace cassandra_like::admin
