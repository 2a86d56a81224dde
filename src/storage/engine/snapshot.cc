// Snapshots: hard links of a table's SSTables below <table>/snapshots/<tag>/, with manifest.json and schema.cql.
//
// Every shard links its own files; the manifest lists what is there. It is written again when another shard has added
// files meanwhile, so the last one to finish leaves it whole.
#include <algorithm>
#include <array>

#include <absl/time/time.h>
#include <fmt/format.h>

#include "base/containers.h"
#include "base/log.h"
#include "base/path_component.h"
#include "model/schema_text.h"
#include "storage/engine/engine.h"
#include "storage/table/table_directories.h"

namespace cassandra_like {

namespace {

constexpr std::string_view kSnapshots = "snapshots";
// Whether the name is that of a component that Cassandra's formats have had.
constexpr std::array<std::string_view, 5> kComponentEndings{".db", ".txt", ".crc32", ".adler32", ".sha1"};

std::string iso_time(int64_t millis) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(millis), absl::UTCTimeZone());
}

Result<std::vector<std::string>> data_files(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(auto entries, disk.list(path));
  std::vector<std::string> out;
  for (const DirectoryEntry& entry : entries) {
    if (entry.name.ends_with("-Data.db")) out.push_back(entry.name);
  }
  return out;
}

// SnapshotManifest, as Jackson prints it.
std::string manifest_text(const std::vector<std::string>& files, int64_t created_millis, int64_t ttl_millis) {
  std::string list;
  for (const std::string& file : files) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", file);
  std::string expires = ttl_millis == 0 ? "null" : fmt::format("\"{}\"", iso_time(created_millis + ttl_millis));
  return fmt::format(
      "{{\n  \"files\" : [ {}{}],\n  \"created_at\" : \"{}\",\n  \"expires_at\" : {},\n  \"ephemeral\" : false\n}}",
      list, list.empty() ? "" : " ", iso_time(created_millis), expires);
}

Task<Status> replace_file(Disk* disk, std::string path, std::string text, std::string temporary) {
  CO_TRY(disk->remove(temporary));
  CO_ASSIGN_OR_RETURN(auto file, disk->create(temporary));
  CO_TRY(file->append(text));
  Status synced = co_await file->sync();
  if (!synced.ok()) co_return synced;
  co_return disk->rename(temporary, path);
}

}  // namespace

// Tracker.maybeIncrementallyBackup: of what is flushed and of what is imported.
bool Engine::wants_backups(const TableStore& store) const {
  return options_.incremental_backups && store.table->params.incremental_backups;
}

namespace {

struct BackupDirectories {
  std::string table, own;
};

// Directories.getBackupsDirectory: that of an index lies in its table's.
BackupDirectories backups_of(const std::string& directory) {
  const size_t slash = directory.rfind('/');
  if (directory[slash + 1] != '.') return {directory + "/backups", directory + "/backups"};
  const std::string backups = directory.substr(0, slash) + "/backups";
  return {backups, backups + directory.substr(slash)};
}

}  // namespace

Task<Status> Engine::back_up(SSTableDescriptor descriptor) {
  const BackupDirectories backups = backups_of(descriptor.directory);
  CO_TRY(runtime_.disk.make_directories(backups.own));
  CO_TRY(link_sstable(runtime_.disk, descriptor, backups.own));
  Status synced = co_await runtime_.disk.sync_directory(backups.own);
  if (!synced.ok() || backups.own == backups.table) co_return synced;
  co_return co_await runtime_.disk.sync_directory(backups.table);
}

Task<Status> Engine::back_up_all(std::vector<SSTableDescriptor> descriptors) {
  for (const SSTableDescriptor& descriptor : descriptors) {
    Status kept = co_await back_up(descriptor);
    if (!kept.ok()) co_return kept;
  }
  co_return Status();
}

void Engine::forget_backups(const std::vector<SSTableDescriptor>& descriptors) {
  for (SSTableDescriptor backup : descriptors) {
    backup.directory = backups_of(backup.directory).own;
    Status removed = remove_sstable(runtime_.disk, backup);
    if (!removed.ok()) LOG_WARN("{}", removed.error().message());
  }
}

namespace {

// A time of a manifest by its name, in milliseconds; 0 when there is none.
int64_t time_of_manifest(const std::string& manifest, const std::string& name) {
  size_t at = manifest.find('"' + name + "\" : \"");
  if (at == std::string::npos) return 0;
  at += name.size() + 6;
  absl::Time time;
  std::string text = manifest.substr(at, manifest.find('"', at) - at);
  return absl::ParseTime(absl::RFC3339_full, text, &time, nullptr) ? absl::ToUnixMillis(time) : 0;
}

Task<Status> write_manifest(Disk* disk, std::string directory, unsigned shard, int64_t millis,
                            SnapshotRequest request) {
  while (true) {
    CO_ASSIGN_OR_RETURN(auto files, data_files(*disk, directory));
    std::string temporary = fmt::format("{}/manifest.json.tmp{}", directory, shard);
    std::string path = directory + "/manifest.json", text = manifest_text(files, millis, request.ttl_millis);
    Status written = co_await replace_file(disk, path, text, temporary);
    if (!written.ok()) co_return written;
    CO_ASSIGN_OR_RETURN(auto now, data_files(*disk, directory));
    if (now == files) break;
  }
  if (!request.schema_cql.empty()) {
    std::string path = directory + "/schema.cql", temporary = fmt::format("{}/schema.cql.tmp{}", directory, shard);
    Status written = co_await replace_file(disk, path, request.schema_cql, temporary);
    if (!written.ok()) co_return written;
  }
  Status synced = co_await disk->sync_directory(directory);
  co_return synced;
}

}  // namespace

Task<Status> Engine::snapshot(TableSelection selection, SnapshotRequest request) {
  CO_TRY(check_path_component(request.tag, "Snapshot name"));
  for (TableStorePtr& store : select(selection)) {
    Status kept = co_await snapshot_store(store, request);
    if (!kept.ok()) co_return kept;
  }
  co_return Status();
}

SnapshotRequest Engine::automatic_snapshot(std::string tag, const Schema& schema, const TableMetadata& table) const {
  KeyspacePtr keyspace = schema.keyspace(table.keyspace);
  SnapshotRequest request(std::move(tag), keyspace == nullptr ? "" : snapshot_schema_text(*keyspace, table));
  request.ttl_millis = options_.auto_snapshot_ttl_millis;
  request.with_unread = true;
  return request;
}

Task<Status> Engine::snapshot_store(TableStorePtr store, SnapshotRequest request) {
  CO_TRY(check_path_component(request.tag, "Snapshot name"));
  if (!request.skip_flush) {
    Status flushed = co_await flush_store(store);
    if (!flushed.ok()) co_return flushed;
  }
  const std::string& tag = request.tag;
  // In one step: files of SSTables that are read from stay until the table reads from others.
  auto link_all = [&](const TableStore& from, const std::string& below) -> Status {
    std::vector<SSTableDescriptor> sstables;
    for (const LiveSSTable& live : from.sstables) sstables.push_back(live.sstable->info().descriptor);
    if (request.with_unread) {
      for (const auto* damaged : {&from.unread, &from.shared_unread}) {
        sstables.insert(sstables.end(), damaged->begin(), damaged->end());
      }
    }
    for (const SSTableDescriptor& descriptor : sstables) {
      auto path = std::find(from.paths.begin(), from.paths.end(), descriptor.directory);
      size_t i = static_cast<size_t>(path - from.paths.begin());
      std::string target = fmt::format("{}/{}/{}{}", store->paths[i], kSnapshots, tag, below);
      TRY(runtime_.disk.make_directories(target));
      TRY(link_sstable(runtime_.disk, descriptor, target));
    }
    return {};
  };
  CO_TRY(link_all(*store, ""));
  for (const auto& index : store->indexes) CO_TRY(link_all(*index->store, "/." + index->metadata.name));
  for (const std::string& path : store->paths) {
    std::string directory = fmt::format("{}/{}/{}", path, kSnapshots, tag);
    if (!runtime_.disk.exists(directory)) {
      if (path != store->paths[0]) continue;
      CO_TRY(runtime_.disk.make_directories(directory));
    }
    Status written = co_await write_manifest(&runtime_.disk, directory, shard_, runtime_.clock.wall_millis(), request);
    if (!written.ok()) co_return written;
    std::string snapshots = fmt::format("{}/{}", path, kSnapshots);
    Status synced = co_await runtime_.disk.sync_directory(snapshots);
    if (!synced.ok()) co_return synced;
    synced = co_await runtime_.disk.sync_directory(path);
    if (!synced.ok()) co_return synced;
  }
  // Every shard adds its files to it.
  if (shard_ == 0) LOG_INFO("Created snapshot {} of {}", tag, store->table->qualified_name());
  co_return Status();
}

namespace {

// Calls visit(keyspace, table directory name, path of the table's snapshots) for each table that has any. Goes on after a
// failure, and returns the first one.
Status visit_tables(Disk& disk, const EngineOptions& options,
                    absl::FunctionRef<Status(const std::string&, const std::string&, const std::string&)> visit) {
  Status first;
  ASSIGN_OR_RETURN(const auto tables, table_directories(disk, options.data_directories));
  for (const TableDirectory& table : tables) {
    const std::string path = fmt::format("{}/{}", table.path, kSnapshots);
    if (!disk.exists(path)) continue;
    Status visited = visit(table.keyspace, table.name, path);
    if (first.ok()) first = std::move(visited);
  }
  return first;
}

// The time of its oldest part, when it has several.
Status add_times(Disk& disk, const std::string& path, SnapshotInfo& info) {
  ASSIGN_OR_RETURN(auto file, disk.open(path));
  std::string manifest(file->size(), '\0');
  TRY(file->read(0, manifest));
  int64_t created = time_of_manifest(manifest, "created_at");
  if (info.created_millis == 0 || created < info.created_millis) info.created_millis = created;
  info.expires_millis = time_of_manifest(manifest, "expires_at");
  return {};
}

Status add_sizes(Disk& disk, const std::string& snapshot, const std::string& live, SnapshotInfo& info) {
  ASSIGN_OR_RETURN(auto entries, disk.list(snapshot));
  for (const DirectoryEntry& entry : entries) {
    if (entry.is_directory) {
      TRY(add_sizes(disk, snapshot + "/" + entry.name, live + "/" + entry.name, info));
      continue;
    }
    info.total_bytes += entry.size;
    if (!disk.exists(live + "/" + entry.name)) info.true_bytes += entry.size;
    if (entry.name == "manifest.json") TRY(add_times(disk, snapshot + "/" + entry.name, info));
  }
  return {};
}

// Whether a snapshot has files of this name: components of SSTables of any format, the manifest and the schema, and what
// replace_file() left of them.
bool is_file_of_snapshot(std::string_view name) {
  for (std::string_view known : {"manifest.json", "schema.cql"}) {
    if (name == known || name.starts_with(std::string(known) + ".tmp")) return true;
  }
  if (name.find('-') == name.npos) return false;
  return std::any_of(kComponentEndings.begin(), kComponentEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// The files of one snapshot, and the directories in the order in which they can be removed.
struct SnapshotContent {
  std::vector<std::string> files, directories;
};

// kInvalid when there is something that no snapshot has: an operator may have put it there.
Status collect_snapshot(Disk& disk, const std::string& path, bool of_index, SnapshotContent& content) {
  ASSIGN_OR_RETURN(auto entries, disk.list(path));
  for (const DirectoryEntry& entry : entries) {
    std::string inner = path + "/" + entry.name;
    if (entry.is_directory && !of_index && entry.name.starts_with('.')) {
      TRY(collect_snapshot(disk, inner, true, content));
    } else if (!entry.is_directory && is_file_of_snapshot(entry.name)) {
      content.files.push_back(std::move(inner));
    } else {
      return invalid(fmt::format("{} belongs to no snapshot: move it away, then clear the snapshot again", inner));
    }
  }
  content.directories.push_back(path);
  return {};
}

// Removes snapshots/<tag>, file by file; nothing when it holds what it should not.
Status remove_tag(Disk& disk, const std::string& snapshots, const std::string& tag) {
  TRY(check_path_component(tag, "Snapshot name"));
  ASSIGN_OR_RETURN(auto entries, disk.list(snapshots));
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const DirectoryEntry& e) { return e.name == tag; });
  if (entry == entries.end()) return {};
  const std::string path = snapshots + "/" + tag;
  if (!entry->is_directory) return invalid(fmt::format("{} is no directory of a snapshot: move it away", path));
  // A symbolic link goes itself, not what it leads to; and a directory that is empty already.
  if (disk.remove(path).ok()) return {};
  SnapshotContent content;
  TRY(collect_snapshot(disk, path, false, content));
  for (const std::string& file : content.files) TRY(disk.remove(file));
  for (const std::string& directory : content.directories) TRY(disk.remove(directory));
  return {};
}

Status remove_all_tags(Disk& disk, const std::string& snapshots) {
  ASSIGN_OR_RETURN(auto entries, disk.list(snapshots));
  Status first;
  for (const DirectoryEntry& entry : entries) {
    Status removed = remove_tag(disk, snapshots, entry.name);
    if (first.ok()) first = std::move(removed);
  }
  return first.ok() ? disk.remove(snapshots) : first;
}

// The time when a part of a snapshot expires; 0: never, or it has no manifest.
Result<int64_t> expiry_of(Disk& disk, const std::string& directory) {
  const std::string manifest = directory + "/manifest.json";
  SnapshotInfo info;
  if (disk.exists(manifest)) TRY(add_times(disk, manifest, info));
  return info.expires_millis;
}

Status remove_if_expired(Disk& disk, const std::string& snapshots, const std::string& tag, int64_t now_millis) {
  ASSIGN_OR_RETURN(const int64_t expires, expiry_of(disk, snapshots + "/" + tag));
  if (expires == 0 || expires > now_millis) return {};
  LOG_INFO("Removing the expired snapshot {}/{}", snapshots, tag);
  return remove_tag(disk, snapshots, tag);
}

}  // namespace

Result<std::vector<SnapshotInfo>> list_snapshots(Disk& disk, const EngineOptions& options) {
  std::vector<SnapshotInfo> out;
  auto visit = [&](const std::string& keyspace, const std::string& table, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(auto tags, disk.list(path));
    for (const DirectoryEntry& tag : tags) {
      if (!tag.is_directory) continue;
      std::string name = table.substr(0, table.rfind('-'));
      auto same = [&](const SnapshotInfo& i) { return i.tag == tag.name && i.keyspace == keyspace && i.table == name; };
      auto found = std::find_if(out.begin(), out.end(), same);
      if (found == out.end()) {
        out.push_back({.tag = tag.name, .keyspace = keyspace, .table = name});
        found = out.end() - 1;
      }
      std::string live = path.substr(0, path.size() - kSnapshots.size() - 1);
      TRY(add_sizes(disk, path + "/" + tag.name, live, *found));
    }
    return {};
  };
  TRY(visit_tables(disk, options, visit));
  return out;
}

// Each directory by its own manifest: a table that was dropped, and another of its name, may have snapshots of the same tag.
Status clear_expired_snapshots(Disk& disk, const EngineOptions& options, int64_t now_millis) {
  auto visit = [&](const std::string&, const std::string&, const std::string& snapshots) -> Status {
    ASSIGN_OR_RETURN(auto tags, disk.list(snapshots));
    Status first;
    for (const DirectoryEntry& tag : tags) {
      if (!tag.is_directory) continue;
      Status removed = remove_if_expired(disk, snapshots, tag.name, now_millis);
      if (first.ok()) first = std::move(removed);
    }
    return first;
  };
  return visit_tables(disk, options, visit);
}

bool has_snapshot(Disk& disk, const EngineOptions& options, const TableMetadata& table, const std::string& tag) {
  const std::string below = fmt::format("/{}/{}/{}/{}", table.keyspace, table.directory_name(), kSnapshots, tag);
  const auto& directories = options.data_directories;
  return std::any_of(directories.begin(), directories.end(),
                     [&](const auto& data) { return disk.exists(data + below); });
}

Status clear_snapshot(Disk& disk, const EngineOptions& options, const std::string& keyspace, const std::string& tag) {
  if (!tag.empty()) TRY(check_path_component(tag, "Snapshot name"));
  return visit_tables(disk, options, [&](const std::string& name, const std::string&, const std::string& path) {
    if (!keyspace.empty() && keyspace != name) return Status();
    return tag.empty() ? remove_all_tags(disk, path) : remove_tag(disk, path, tag);
  });
}

}  // namespace cassandra_like
