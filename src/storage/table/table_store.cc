// Opening a table's directory, and swapping its memtables and SSTables.
#include "storage/table/table_store.h"

#include <algorithm>
#include <set>

#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "storage/sstable/sstable_files.h"
#include "storage/table/index_store.h"

namespace cassandra_like {

TableStore::TableStore(TablePtr t, std::string dir, CommitLogPosition lower)
    : table(std::move(t)),
      directory(std::move(dir)),
      memtable(std::make_shared<Memtable>(table, lower)),
      compaction(table->params.compaction) {
  log.id = table->id;
}

namespace {

// Every SSTable has one shard that may write and remove its files at the start: its owner, or the first shard for those
// that several shards open.
bool is_in_charge(const std::optional<unsigned>& owner, const SSTableOwner& self) {
  return owner.value_or(0) == self.shard;
}

// An SSTable without TOC.txt, whether or not it was Cassandra that lost it. Another shard may be removing the rest of an
// unfinished one while the directory is read: so the directory is read again.
Result<bool> has_lost_toc(Disk& disk, const SSTableOnDisk& files) {
  if (files.has(components::kToc) || files.is_unfinished()) return false;
  ASSIGN_OR_RETURN(auto again, find_sstables(disk, files.descriptor.directory));
  return std::any_of(again.begin(), again.end(), [&](const SSTableOnDisk& now) {
    return now.descriptor == files.descriptor && !now.has(components::kToc) && !now.is_unfinished();
  });
}

// Adopts files as Cassandra does (TOCComponent.loadOrCreate), but only when all of them are whole.
Status adopt(Disk& disk, const SSTable& sstable, const SSTableOnDisk& files, bool in_charge) {
  TRY(sstable.verify());
  if (!in_charge) return {};
  LOG_WARN("{} was missing: the SSTable's data is whole, and TOC.txt is written again",
           files.descriptor.file(components::kToc));
  return write_toc(disk, files);
}

Result<bool> is_gone_since(Disk& disk, const SSTableOnDisk& files) {
  ASSIGN_OR_RETURN(auto again, find_sstables(disk, files.descriptor.directory));
  return std::none_of(again.begin(), again.end(), [&](const SSTableOnDisk& now) {
    return now.descriptor == files.descriptor && !now.is_unfinished() && now.components == files.components;
  });
}

// "built-0-of-2": the index has all rows of the first shard of two.
const std::string kBuilt = "built-";

std::string built_ending(unsigned shards) { return fmt::format("-of-{}", shards); }

std::string built_name(unsigned shard, unsigned shards) {
  return fmt::format("{}{}{}", kBuilt, shard, built_ending(shards));
}

Result<std::set<std::string>> list_built(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(auto entries, disk.list(path));
  std::set<std::string> names;
  for (const DirectoryEntry& entry : entries) {
    if (entry.name.starts_with(kBuilt)) names.insert(entry.name);
  }
  return names;
}

bool is_built_by_all(const std::set<std::string>& names, unsigned shards) {
  for (unsigned shard = 0; shard < shards; ++shard) {
    if (!names.contains(built_name(shard, shards))) return false;
  }
  return true;
}

// All shards of some number have said so. One that did not builds its part anew, and for that removes the SSTables that all
// shards share.
bool is_built(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const size_t at = name.rfind('-');
    unsigned shards = 0;
    if (absl::SimpleAtoi(name.substr(at + 1), &shards) && shards > 0 && is_built_by_all(names, shards)) {
      return true;
    }
  }
  return false;
}

}  // namespace

// The key of an index's partition does not tell the shard.
bool TableStore::has_one_key(const SSTable& sstable) const {
  return !table->is_index && sstable.info().first_key == sstable.info().last_key;
}

bool TableStore::may_have_keys_of(const SSTable& sstable, const SSTableOwner& self) const {
  return !has_one_key(sstable) || shard_of(murmur3_token(sstable.info().first_key), self.shards) == self.shard;
}

Status TableStore::load(Disk& disk, const SSTableOnDisk& files, const SSTableOwner& self, FailurePolicy policy,
                        ChunkCache* cache) {
  const SSTableDescriptor& descriptor = files.descriptor;
  if (!is_supported_format(descriptor)) return unsupported_format(descriptor);
  // One that is written or removed now: what an earlier run left has gone (finish_transactions).
  if (files.is_unfinished()) return {};
  const bool is_numbered = sequence_number(descriptor.id).has_value();
  const std::optional<SSTableOwner> writer = writer_of(disk, files);
  const std::optional<unsigned> owner = owning_shard(writer, self.shards);
  if (owner && *owner != self.shard) return {};
  const bool in_charge = is_in_charge(owner, self);
  if (files.is_only_checksums()) {
    return in_charge ? disk.remove(descriptor.file(components::kChecksums)) : Status();
  }
  if (table->is_index && !writer) {
    // Cassandra orders an index by the indexed type, not by token.
    LOG_WARN("Not using the index SSTable {}: the index is built anew", descriptor.file(components::kData));
    shared_unread.push_back(descriptor);  // the build removes it
    needs_rebuild = true;
    return {};
  }
  ASSIGN_OR_RETURN(const bool lost_toc, has_lost_toc(disk, files));
  if (!lost_toc && !files.has(components::kToc)) return {};
  auto sstable = SSTable::open(disk, descriptor, table, cache);
  Status status = sstable.ok() ? Status() : Status(sstable.error());
  if (status.ok() && lost_toc) status = adopt(disk, **sstable, files, in_charge);
  if (status.ok()) {
    if (!may_have_keys_of(**sstable, self)) return {};
    const bool shared = !owner && !has_one_key(**sstable);
    insert({std::move(sstable).value(), writer, shared, files.modified_millis});
    return {};
  }
  // The owner, of which its name does not tell, may have removed it since the directory was read.
  ASSIGN_OR_RETURN(const bool is_gone, is_gone_since(disk, files));
  if (is_numbered && is_gone) return {};
  // Without a free descriptor nobody knows whether it is damaged.
  if (status.error().code() == ErrorCode::kOverloaded) return status;
  // Without a part of the schema, tables are unknown: their records in the commit log would be passed over. Without
  // system.local, the node would be another one, with another id and other tokens.
  const bool is_needed = table->keyspace == "system_schema" || (table->keyspace == "system" && table->name == "local");
  if (is_needed || (policy != FailurePolicy::kIgnore && policy != FailurePolicy::kBestEffort)) {
    return Error(
        status.error().code(),
        fmt::format("Cannot read an SSTable of {}: {}. Bring back the file or all of this SSTable's files from a "
                    "snapshot, or move all files {}* away and do without their data",
                    table->qualified_name(), status.error().message(), descriptor.file("")));
  }
  LOG_ERROR("Not using {}: {}", descriptor.file(components::kData), status.error().message());
  (owner || self.shards == 1 ? unread : shared_unread).push_back(descriptor);
  needs_rebuild |= table->is_index;
  return {};
}

Status TableStore::set_unbuilt(Disk& disk, const SSTableOwner& self) {
  needs_rebuild = true;
  is_marked_built = is_mark_withdrawn = false;
  return forget_built(disk, paths[0], self);
}

Status TableStore::withdraw_built(Disk& disk, const SSTableOwner& self) {
  is_mark_withdrawn |= std::exchange(is_marked_built, false);
  return forget_built(disk, paths[0], self);
}

Status TableStore::restore_built(Disk& disk, const SSTableOwner& self) {
  return std::exchange(is_mark_withdrawn, false) ? set_built(disk, self) : Status();
}

Status TableStore::forget_built(Disk& disk, const std::string& path, const SSTableOwner& self) {
  ASSIGN_OR_RETURN(const auto names, list_built(disk, path));
  for (const std::string& name : names) {
    // The other shards remove theirs.
    const bool is_of_another = name.ends_with(built_ending(self.shards)) && name != built_name(self.shard, self.shards);
    if (!is_of_another) TRY(disk.remove(path + "/" + name));
  }
  return {};
}

Status TableStore::set_built(Disk& disk, const SSTableOwner& self) {
  needs_rebuild = false;
  ASSIGN_OR_RETURN(auto names, list_built(disk, paths[0]));
  const std::string own = built_name(self.shard, self.shards);
  if (names.insert(own).second) TRY(disk.create(paths[0] + "/" + own));
  is_marked_built = true;
  if (!is_built_by_all(names, self.shards)) return {};
  for (const std::string& name : names) {
    if (!name.ends_with(built_ending(self.shards))) TRY(disk.remove(paths[0] + "/" + name));
  }
  return {};
}

Status TableStore::find_built(Disk& disk, const SSTableOwner& self) {
  ASSIGN_OR_RETURN(const auto names, list_built(disk, paths[0]));
  if (is_built(names)) return set_built(disk, self);
  needs_rebuild = true;
  return {};
}

Status TableStore::open(Disk& disk, const std::vector<std::string>& data_directories, const SSTableOwner& self,
                        FailurePolicy policy, ChunkCache* cache) {
  for (const std::string& data_directory : data_directories) {
    std::string path = data_directory + "/" + directory;
    paths.push_back(path);
    const bool is_fresh = !disk.exists(path);
    // Cassandra gives a table its backups/ from the start, too.
    if (is_fresh) TRY(disk.make_directories(table->is_index ? path : path + "/backups"));
    if (table->is_index && paths.size() == 1) TRY(find_built(disk, self));
    if (is_fresh) continue;
    TRY(note_sequence_numbers(disk, path, &sequence));
    ASSIGN_OR_RETURN(auto found, find_sstables(disk, path));
    for (const SSTableOnDisk& files : found) TRY(load(disk, files, self, policy, cache));
  }
  return {};
}

void TableStore::use_table(TablePtr next) {
  table = std::move(next);
  memtable->use_table(table);
  compaction.use(table->params.compaction);
  for (auto& old : flushing) old->use_table(table);
}

std::shared_ptr<Memtable> TableStore::switch_memtable(const CommitLogPosition& at) {
  if (memtable->empty()) return nullptr;
  DCHECK(memtable->lower() <= at);
  auto full = std::exchange(memtable, std::make_shared<Memtable>(table, at));
  flushing.push_back(full);
  ++counters.memtable_switches;
  return full;
}

void TableStore::forget_flushed(const std::shared_ptr<Memtable>& gone) { std::erase(flushing, gone); }

void TableStore::add_sstable(SSTablePtr sstable, const SSTableOwner& self, int64_t created_millis) {
  insert({std::move(sstable), self, false, created_millis});
}

void TableStore::insert(LiveSSTable live) {
  const int64_t newest = live.sstable->info().max_timestamp;
  auto at = std::find_if(sstables.begin(), sstables.end(),
                         [newest](const LiveSSTable& o) { return o.sstable->info().max_timestamp < newest; });
  sstables.insert(at, std::move(live));
  // Reads stop at the first SSTable that is too old to matter.
  DCHECK(std::is_sorted(sstables.begin(), sstables.end(), [](const LiveSSTable& a, const LiveSSTable& b) {
    return a.sstable->info().max_timestamp > b.sstable->info().max_timestamp;
  }));
}

void TableStore::remove_sstables(const std::vector<SSTablePtr>& gone) {
  std::erase_if(sstables, [&](const LiveSSTable& live) {
    return std::find(gone.begin(), gone.end(), live.sstable) != gone.end();
  });
}

void TableStore::suspect(const std::vector<SSTablePtr>& inputs, const std::string& message) {
  auto is_named = [&message](const SSTablePtr& input) {
    return message.find(input->info().descriptor.file("")) != std::string::npos;
  };
  const bool any = std::any_of(sstables.begin(), sstables.end(),
                               [&is_named](const LiveSSTable& live) { return is_named(live.sstable); });
  for (LiveSSTable& live : sstables) {
    const bool is_input = std::find(inputs.begin(), inputs.end(), live.sstable) != inputs.end();
    if (any ? is_named(live.sstable) : is_input) live.suspect = true;
  }
}

void TableStore::set_compacting(const std::vector<SSTablePtr>& inputs, bool compacting) {
  for (LiveSSTable& live : sstables) {
    if (std::find(inputs.begin(), inputs.end(), live.sstable) != inputs.end()) live.compacting = compacting;
  }
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

// Only what this shard wrote, reads or has set aside: an operator may have put other files there.
Status TableStore::discard(Disk& disk, const CommitLogPosition& at) {
  memtable = std::make_shared<Memtable>(table, at);
  flushing.clear();
  for (const LiveSSTable& live : std::exchange(sstables, {})) leftovers.push_back(live.sstable->info().descriptor);
  for (std::vector<SSTableDescriptor>* damaged : {&unread, &shared_unread}) {
    for (SSTableDescriptor& descriptor : std::exchange(*damaged, {})) leftovers.push_back(std::move(descriptor));
  }
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
