// Opening a table's directory, and swapping its memtables and SSTables.
#include "storage/table/table_store.h"

#include <algorithm>

#include "base/containers.h"
#include "base/log.h"
#include "storage/table/index_store.h"

namespace cassandra_like {

TableStore::TableStore(TablePtr t, std::string dir, CommitLogPosition lower)
    : table(std::move(t)), directory(std::move(dir)), memtable(std::make_shared<Memtable>(table, lower)) {
  log.id = table->id;
}

namespace {

struct Listed {
  std::vector<SSTableDescriptor> complete;
  std::vector<SSTableDescriptor> incomplete;
};

// A set of files is complete when its TOC.txt is there.
Result<Listed> list_directory(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(auto entries, disk.list(path));
  StringSet names;
  for (const DirectoryEntry& entry : entries) names.insert(entry.name);
  constexpr std::string_view kData = "Data.db";
  Listed out;
  for (const DirectoryEntry& entry : entries) {
    auto descriptor = SSTableDescriptor::parse(path, entry.name);
    if (!descriptor || !entry.name.ends_with(kData)) continue;
    std::string prefix = entry.name.substr(0, entry.name.size() - kData.size());
    (names.contains(prefix + "TOC.txt") ? out.complete : out.incomplete).push_back(*descriptor);
  }
  return out;
}

bool is_of_other_shard(const SSTableDescriptor& descriptor, const SSTableOwner& self) {
  auto owner = sstable_owner(descriptor.id);
  return owner && owner->shards == self.shards && owner->shard != self.shard;
}

}  // namespace

Status TableStore::open(Disk& disk, const std::vector<std::string>& data_directories, const SSTableOwner& self,
                        FailurePolicy policy, ChunkCache* cache) {
  for (const std::string& data_directory : data_directories) {
    std::string path = data_directory + "/" + directory;
    paths.push_back(path);
    if (!disk.exists(path)) {
      // Cassandra gives a table its backups/ from the start, too.
      TRY(disk.make_directories(table->is_index ? path : path + "/backups"));
      continue;
    }
    ASSIGN_OR_RETURN(Listed listed, list_directory(disk, path));
    for (const SSTableDescriptor& descriptor : listed.incomplete) {
      // Files of other shards may be incomplete because they are being written.
      if (sstable_owner(descriptor.id) != self) continue;
      LOG_INFO("Removing the incomplete SSTable {}", descriptor.file("Data.db"));
      TRY(remove_sstable(disk, descriptor));
    }
    for (const SSTableDescriptor& descriptor : listed.complete) {
      if (is_of_other_shard(descriptor, self)) continue;
      if (table->is_index && !sstable_owner(descriptor.id)) {
        // Cassandra orders an index by the indexed type, not by token.
        LOG_WARN("Not using the index SSTable {}: the index is built anew", descriptor.file("Data.db"));
        needs_rebuild = true;
        continue;
      }
      auto sstable = SSTable::open(disk, descriptor, table, cache);
      if (!sstable.ok()) {
        if (policy != FailurePolicy::kIgnore && policy != FailurePolicy::kBestEffort) return sstable.error();
        LOG_ERROR("Not using {}: {}", descriptor.file("Data.db"), sstable.error().message());
        continue;
      }
      add_sstable(std::move(sstable).value(), self);
    }
  }
  return {};
}

void TableStore::use_table(TablePtr next) {
  table = std::move(next);
  memtable->use_table(table);
  for (auto& old : flushing) old->use_table(table);
}

std::shared_ptr<Memtable> TableStore::switch_memtable(const CommitLogPosition& at) {
  if (memtable->empty()) return nullptr;
  auto full = std::exchange(memtable, std::make_shared<Memtable>(table, at));
  flushing.push_back(full);
  ++counters.memtable_switches;
  return full;
}

void TableStore::forget_flushed(const std::shared_ptr<Memtable>& gone) { std::erase(flushing, gone); }

void TableStore::add_sstable(SSTablePtr sstable, const SSTableOwner& self) {
  auto owner = sstable_owner(sstable->info().descriptor.id);
  auto older = [&](const LiveSSTable& o) { return o.sstable->info().max_timestamp < sstable->info().max_timestamp; };
  auto at = std::find_if(sstables.begin(), sstables.end(), older);
  bool foreign = owner != self;
  sstables.insert(at, {std::move(sstable), owner, foreign});
}

void TableStore::remove_sstables(const std::vector<SSTablePtr>& gone) {
  std::erase_if(sstables, [&](const LiveSSTable& live) {
    return std::find(gone.begin(), gone.end(), live.sstable) != gone.end();
  });
}

Status TableStore::remove_leftovers(Disk& disk) {
  Status status;
  std::erase_if(leftovers, [&](const SSTableDescriptor& descriptor) {
    Status removed = remove_sstable(disk, descriptor);
    const bool is_gone = removed.ok();
    if (!is_gone && status.ok()) status = std::move(removed);
    return is_gone;
  });
  return status;
}

// Only what this shard wrote or reads: an operator may have put other files there.
Status TableStore::discard(Disk& disk, const CommitLogPosition& at) {
  memtable = std::make_shared<Memtable>(table, at);
  flushing.clear();
  for (const LiveSSTable& live : std::exchange(sstables, {})) leftovers.push_back(live.sstable->info().descriptor);
  Status status = remove_leftovers(disk);
  for (auto& index : indexes) {
    Status discarded = index->store->discard(disk, at);
    if (!discarded.ok() && status.ok()) status = std::move(discarded);
  }
  return status;
}

size_t TableStore::memtable_bytes() const {
  size_t bytes = memtable->empty() ? 0 : memtable->memory_used();
  for (const auto& old : flushing) bytes += old->memory_used();
  return bytes;
}

}  // namespace cassandra_like
