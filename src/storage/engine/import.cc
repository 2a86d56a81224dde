// SSTables of other directories become a table's (db.SSTableImporter), while it is read.
//
// Each is verified first, then split as one that several shards read (relocate.cc): the parts are this node's own files, with
// ids of its own, and in one step all shards read theirs. A source is removed afterwards, unless it is to stay: so it is
// there or its parts are, wherever the node ends. Indexes of the table count as not built from the first part on; whoever
// orders an import builds them.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "storage/engine/engine.h"
#include "storage/sstable/component_set.h"
#include "storage/sstable/sstable_files.h"
#include "storage/sstable/sstable_verifier.h"

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
  for (const TableStorePtr& store : with_indexes(select(TableSelection()))) {
    if (std::find(store->paths.begin(), store->paths.end(), directory) == store->paths.end()) continue;
    return invalid(fmt::format("{} is the directory of {} itself", directory, store->table->qualified_name()));
  }
  return {};
}

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
    for (SSTablePtr& sstable : sstables) {
      const SSTableDescriptor source = sstable->info().descriptor;
      Task<Status> importing = import_one(store, std::move(sstable), order);
      Status status = co_await importing;
      if (status.ok() && !order->copies) status = remove_sstable(runtime_.disk, source);
      if (status.ok()) continue;
      LOG_ERROR("Failed importing sstables in directory {}: {}", directory, status.error().message());
      failed.push_back(directory);
      break;
    }
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

Task<Status> Engine::import_one(TableStorePtr store, SSTablePtr sstable, const SSTableImport* order) {
  co_await compactor_slots_.enter();
  CompactorSlots::Guard slot(compactor_slots_);
  co_await store->compaction_mutex.lock();
  AsyncMutex::Guard guard(store->compaction_mutex);
  CompactionRun run;
  run.store = store;
  run.path = pick_path(*store);
  run.inputs = {sstable};
  run.operation = CompactionOperation::kRelocate;
  run.is_import = true;
  run.resets_level = !order->keeps_level;
  run.clears_repaired = !order->keeps_repaired;
  CO_TRY(may_go_on(run));
  co_return co_await split_one(&run);
}

}  // namespace cassandra_like
