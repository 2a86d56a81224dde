// SSTables of other directories become a table's (db.SSTableImporter), while it is read.
//
// All of a directory are verified first, then split as those that several shards read (relocate.cc), in one transaction: the
// parts are this node's own files, with ids of its own, and in one step all shards read theirs. So a directory becomes the table's as
// a whole or not at all. Sources are removed afterwards, unless they are to stay: so one is there or its parts are, wherever
// the node ends. Indexes of the table count as not built from the first part on; whoever orders an import builds them.
//
// SSTables that somebody has put into the table's own directory come the same way, and go in the same transaction. Files
// there that no shard knows and that no transaction names are such.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "storage/engine/engine.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_verifier.h"
#include "storage/sstable/transaction_log.h"

namespace cassandra_like {

namespace {

std::string without_slashes_at_end(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

Task<Result<std::vector<std::string>>> Engine::import_sstables(TablePtr table, SSTableImport order) {
  const TableStorePtr store = find(table->id);
  if (store == nullptr) co_return invalid(fmt::format("Unknown table {}", table->qualified_name()));
  for (std::string& directory : order.directories) {
    directory = without_slashes_at_end(std::move(directory));
    CO_TRY(check_import_directory(directory));
  }
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  Task<std::vector<std::string>> task = import_directories(store, &order);
  std::vector<std::string> failed = co_await task;
  gate_.leave();
  co_return failed;
}

// A table's own files are live.
Status Engine::check_import_directory(const std::string& directory) const {
  if (!runtime_.disk.list(directory).ok()) {
    return Error(ErrorCode::kServerError, fmt::format("Directory {} does not exist", directory));
  }
  ASSIGN_OR_RETURN(const std::string real, runtime_.disk.real_path(directory));
  for (const TableStorePtr& store : with_indexes(select(TableSelection()))) {
    for (const std::string& path : store->paths) {
      if (!runtime_.disk.exists(path)) continue;
      ASSIGN_OR_RETURN(const std::string live, runtime_.disk.real_path(path));
      if (live == real) {
        return invalid(fmt::format("{} is the directory of {} itself", directory, store->table->qualified_name()));
      }
    }
  }
  return {};
}

namespace {

// An import moves files. A link would stay one, and its target may be live.
Status check_no_links(Disk& disk, const SSTableOnDisk& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string real, disk.real_path(directory));
  for (const std::string& component : files.components) {
    const std::string file = files.descriptor.file(component);
    ASSIGN_OR_RETURN(const std::string target, disk.real_path(file));
    if (target != real + file.substr(file.rfind('/'))) {
      return invalid(fmt::format("{} is a symbolic link: import the files themselves", file));
    }
  }
  return {};
}

}  // namespace

Task<std::vector<std::string>> Engine::import_directories(TableStorePtr store, const SSTableImport* order) {
  std::vector<std::string> failed;
  std::vector<std::pair<std::string, std::vector<SSTablePtr>>> sources;
  for (const std::string& directory : order->directories) {
    Task<Result<std::vector<SSTablePtr>>> opening = open_for_import(store, order, directory);
    Result<std::vector<SSTablePtr>> opened = co_await opening;
    if (opened.ok()) {
      sources.emplace_back(directory, std::move(*opened));
    } else {
      LOG_ERROR("Failed verifying SSTables in directory {}: {}", directory, opened.error().message());
      failed.push_back(directory);
    }
  }
  for (auto& [directory, sstables] : sources) {
    Task<Status> importing = import_all(store, std::move(sstables), order);
    Status status = co_await importing;
    if (status.ok()) continue;
    LOG_ERROR("Failed importing sstables in directory {}: {}", directory, status.error().message());
    failed.push_back(directory);
  }
  co_return failed;
}

Task<Result<std::vector<SSTablePtr>>> Engine::open_for_import(TableStorePtr store, const SSTableImport* order,
                                                              std::string directory) {
  std::vector<SSTablePtr> out;
  CO_ASSIGN_OR_RETURN(const auto found, find_sstables(runtime_.disk, directory));
  for (const SSTableOnDisk& files : found) {
    if (files.is_unfinished() || files.is_only_checksums()) continue;
    if (!is_supported_format(files.descriptor)) co_return unsupported_format(files.descriptor);
    CO_TRY(check_no_links(runtime_.disk, files, directory));
    CO_ASSIGN_OR_RETURN(SSTablePtr sstable, SSTable::open(runtime_.disk, files.descriptor, store->table));
    if (has_already(*store, *sstable)) {
      LOG_INFO("{} is part of {} already and stays", files.descriptor.file(components::kData),
               store->table->qualified_name());
      continue;
    }
    Task<Status> verifying = verify_for_import(store, order, sstable);
    Status verified = co_await verifying;
    if (!verified.ok()) co_return std::move(verified.error());
    out.push_back(std::move(sstable));
  }
  co_return out;
}

// A snapshot that the table was not truncated after, or another name of the table's own directory, whose files must not go.
bool Engine::has_already(const TableStore& store, const SSTable& sstable) const {
  for (const std::string& path : store.paths) {
    SSTableDescriptor own = sstable.info().descriptor;
    own.directory = path;
    if (!runtime_.disk.exists(own.file(components::kData))) continue;
    const auto components = ComponentSet::open(runtime_.disk, own, false);
    if (!components.ok()) continue;
    const auto digest = components->data_digest();
    if (digest.ok() && *digest && *digest == sstable.digest()) return true;
  }
  return false;
}

Task<Status> Engine::verify_for_import(TableStorePtr store, const SSTableImport* order, SSTablePtr sstable) {
  const OwnedTokens owned = order->owned ? order->owned(*store->table) : OwnedTokens::all();
  if (!order->verifies && owned.are_all()) co_return Status();
  SSTableVerifyOptions options;
  options.quick = !order->verifies;
  options.extended = order->extended;
  if (!owned.are_all()) options.owns = [owned](Token token) { return owned.contains(token); };
  CompactionRun run;
  run.store = store;
  run.operation = CompactionOperation::kVerify;
  run.inputs = {sstable};
  run.record = begin_record(store->table, run.inputs);
  running_.push_back(&run);
  SSTableVerifier verifier(&runtime_.disk, sstable, store->table, std::move(options));
  Status status = co_await verify_in_slices(&run, &verifier);
  std::erase(running_, &run);
  co_return status;
}

Task<Status> Engine::import_all(TableStorePtr store, std::vector<SSTablePtr> sstables, const SSTableImport* order) {
  if (sstables.empty()) co_return Status();
  CompactionRun run;
  run.store = store;
  run.inputs = std::move(sstables);
  run.path = place_outputs(*store).directory_of(murmur3_token(run.inputs[0]->info().first_key));
  run.resets_level = !order->keeps_level;
  run.clears_repaired = !order->keeps_repaired;
  CO_TRY(co_await run_import(&run));
  if (order->copies) co_return Status();
  for (const SSTablePtr& source : run.inputs) CO_TRY(remove_sstable(runtime_.disk, source->info().descriptor));
  co_return Status();
}

Task<Status> Engine::run_import(CompactionRun* run) {
  run->operation = CompactionOperation::kRelocate;
  run->is_split = run->is_import = true;
  co_await compactor_slots_.enter();
  CompactorSlots::Guard slot(compactor_slots_);
  const TableStorePtr store = run->store;
  co_await store->compaction_mutex.lock();
  AsyncMutex::Guard guard(store->compaction_mutex);
  CO_TRY(may_go_on(*run));
  co_return co_await split_one(run);
}

// ColumnFamilyStore.loadNewSSTables
Task<Status> Engine::load_new_sstables(TablePtr table) {
  const TableStorePtr store = find(table->id);
  if (store == nullptr) co_return invalid(fmt::format("Unknown table {}", table->qualified_name()));
  if (!gate_.enter()) co_return Error(ErrorCode::kClosed, "The node is stopping");
  Status status;
  for (const std::string& path : store->paths) {
    status = co_await load_placed(store, path);
    if (!status.ok()) break;
  }
  gate_.leave();
  co_return status;
}

Task<Status> Engine::load_placed(TableStorePtr store, std::string path) {
  Result<std::vector<SSTablePtr>> placed = co_await find_placed(store, path);
  if (!placed.ok()) co_return std::move(placed.error());
  if (placed->empty()) co_return Status();
  CompactionRun run;
  run.store = store;
  run.path = path;
  run.inputs = std::move(*placed);
  run.is_placed = true;
  run.resets_level = true;
  co_return co_await run_import(&run);
}

namespace {

// The name that a transaction has for it.
std::string name_in_log(const SSTableDescriptor& descriptor) {
  const std::string data = descriptor.file(components::kData);
  return data.substr(0, data.size() - components::kData.size());
}

// The SSTables that the logs of transactions in a directory name, whether they come or go.
Result<std::set<std::string>> named_by_transactions(Disk& disk, const std::string& directory) {
  std::set<std::string> named;
  ASSIGN_OR_RETURN(const auto files, disk.list(directory));
  for (const auto& file : files) {
    if (!is_transaction_log(file.name)) continue;
    auto log = disk.open(directory + "/" + file.name);
    if (!log.ok()) continue;  // the transaction has ended
    Bytes content((*log)->size(), '\0');
    TRY((*log)->read(0, content));
    for (std::string_view rest = content; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      if (auto record = TransactionRecord::parse(rest.substr(0, end))) named.insert(record->sstable);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return named;
}

}  // namespace

Task<Status> Engine::leave_out_known(TableStorePtr store, std::vector<SSTableDescriptor>* descriptors) {
  std::vector<std::vector<bool>> known(shard_count_, std::vector<bool>(descriptors->size()));
  auto* out = &known;
  const std::vector<SSTableDescriptor>* asked = descriptors;
  std::function<Status(unsigned, Engine&)> ask = [out, asked, id = store->table->id](unsigned shard, Engine& engine) {
    for (size_t i = 0; i < asked->size(); ++i) (*out)[shard][i] = engine.knows(id, (*asked)[i]);
    return Status();
  };
  Status done = co_await on_every_engine(std::move(ask));
  if (!done.ok()) co_return done;
  std::vector<SSTableDescriptor> unknown;
  for (size_t i = 0; i < descriptors->size(); ++i) {
    if (std::none_of(known.begin(), known.end(), [i](const std::vector<bool>& of_shard) { return of_shard[i]; })) {
      unknown.push_back((*descriptors)[i]);
    }
  }
  *descriptors = std::move(unknown);
  co_return Status();
}

// Compactions and flushes go on meanwhile. Their files are named by a transaction or known to their shard at one of the two
// looks: an output is live once its transaction has ended, and an input is gone by then.
Task<Result<std::vector<SSTablePtr>>> Engine::find_placed(TableStorePtr store, std::string path) {
  std::vector<SSTableDescriptor> candidates;
  CO_ASSIGN_OR_RETURN(const auto found, find_sstables(runtime_.disk, path));
  for (const SSTableOnDisk& files : found) {
    if (!files.is_unfinished() && !files.is_only_checksums()) candidates.push_back(files.descriptor);
  }
  CO_ASSIGN_OR_RETURN(const auto named_before, named_by_transactions(runtime_.disk, path));
  std::erase_if(candidates, [&](const SSTableDescriptor& d) { return named_before.contains(name_in_log(d)); });
  Status asked = co_await leave_out_known(store, &candidates);
  if (!asked.ok()) co_return std::move(asked.error());
  CO_ASSIGN_OR_RETURN(const auto named_now, named_by_transactions(runtime_.disk, path));
  std::erase_if(candidates, [&](const SSTableDescriptor& d) {
    return named_now.contains(name_in_log(d)) || !runtime_.disk.exists(d.file(components::kData));
  });
  std::vector<SSTablePtr> placed;
  for (const SSTableDescriptor& descriptor : candidates) {
    if (!is_supported_format(descriptor)) co_return unsupported_format(descriptor);
    CO_ASSIGN_OR_RETURN(SSTablePtr sstable, SSTable::open(runtime_.disk, descriptor, store->table));
    placed.push_back(std::move(sstable));
  }
  co_return placed;
}

}  // namespace cassandra_like
