// The tables of system_schema as SSTables and memtables that are merged at each read.
#include "schema/stored_schema.h"

#include <algorithm>
#include <map>

#include "read/merge.h"
#include "schema/schema_update_handler.h"
#include "schema/system_tables.h"
#include "storage/commitlog/segment_reader.h"
#include "storage/memtable/memtable.h"
#include "storage/sstable/sstable.h"

namespace cassandra_like {
namespace {

constexpr const char* kSchemaKeyspace = "system_schema";
constexpr size_t kTableIdEnd = 17;  // of a mutation's first update

class StoredTables {
 public:
  StoredTables(Disk& disk, const EngineOptions& options, const Schema& builtin)
      : disk_(disk), options_(options), builtin_(builtin) {}

  Status open() {
    const KeyspacePtr keyspace = builtin_.keyspace(kSchemaKeyspace);
    for (const auto& [name, table] : keyspace->tables) TRY(open_table(table));
    return {};
  }

  Status replay(const std::function<void(const Error&)>& on_damage) {
    if (!disk_.exists(options_.commitlog_directory)) return {};
    ASSIGN_OR_RETURN(const auto entries, disk_.list(options_.commitlog_directory));
    for (const DirectoryEntry& entry : entries) {
      if (entry.is_directory || !segment_id_of(entry.name)) continue;
      Status replayed = replay_segment(options_.commitlog_directory + "/" + entry.name, on_damage);
      if (!replayed.ok()) on_damage(replayed.error());
    }
    return {};
  }

  Result<ReadStatistics> read(const ReadCommand& command, RowSink& sink) const {
    const auto found = tables_.find(command.table->id);
    CHECK(found != tables_.end() && command.range);
    std::vector<std::unique_ptr<PartitionScanner>> scanners;
    for (const SSTablePtr& sstable : found->second.sstables) {
      ASSIGN_OR_RETURN(auto scanner, sstable->scan(found->second.table, *command.range, SliceSelection()));
      scanners.push_back(std::move(scanner));
    }
    scanners.push_back(found->second.memtable->scan(*command.range, SliceSelection()));
    MergedScanner merged(std::move(scanners), false);
    while (true) {
      ASSIGN_OR_RETURN(PartitionReader * partition, merged.next());
      if (partition == nullptr) return ReadStatistics();
      TRY(read_partition(*partition, command.now_seconds, sink));
    }
  }

 private:
  struct StoredTable {
    TablePtr table;
    std::vector<SSTablePtr> sstables;
    std::unique_ptr<Memtable> memtable;
  };

  static Status read_partition(PartitionReader& partition, int64_t now_seconds, RowSink& sink) {
    Arena arena(1024);
    bool begun = false;
    while (true) {
      ASSIGN_OR_RETURN(const Unfiltered* at, partition.next());
      if (at == nullptr) break;
      if (!at->is_row || !at->row.has_live_data(now_seconds)) continue;
      if (!std::exchange(begun, true)) sink.begin_partition(partition.key(), partition.static_row());
      arena.reset();
      sink.row(live_row(at->row, now_seconds, arena));
    }
    if (begun) sink.end_partition();
    return {};
  }

  Status open_table(const TablePtr& table) {
    StoredTable& stored = tables_[table->id];
    stored.table = table;
    stored.memtable = std::make_unique<Memtable>(table, CommitLogPosition());
    for (const std::string& data_directory : options_.data_directories) {
      const std::string directory = data_directory + "/" + kSchemaKeyspace + "/" + table->directory_name();
      if (!disk_.exists(directory)) continue;
      ASSIGN_OR_RETURN(const auto descriptors, list_sstables(disk_, directory));
      for (const SSTableDescriptor& descriptor : descriptors) {
        ASSIGN_OR_RETURN(auto sstable, SSTable::open(disk_, descriptor, table));
        stored.sstables.push_back(std::move(sstable));
      }
    }
    return {};
  }

  // Records that SSTables have, too, are applied once more, which changes nothing.
  Status replay_segment(const std::string& path, const std::function<void(const Error&)>& on_damage) {
    ASSIGN_OR_RETURN(const auto file, disk_.open(path));
    ASSIGN_OR_RETURN(const BytesView data, file->map());
    if (data.find_first_not_of('\0') == BytesView::npos) return {};  // it was never synced
    ASSIGN_OR_RETURN(const SegmentDescriptor descriptor, read_segment_header(data, path));
    auto pass = [&](const Error& error) {
      on_damage(error);
      return Status();
    };
    auto apply = [this](BytesView record, uint32_t /*end*/) {
      apply_record(record);
      return Status();
    };
    const SegmentReadOptions options{pass, true};
    auto read = read_segment(data, path, descriptor, options, apply);
    return read.ok() ? Status() : Status(std::move(read.error()));
  }

  void apply_record(BytesView record) {
    if (record.size() > kTableIdEnd && record[0] == 1 &&
        !tables_.contains(Uuid::from_bytes(record.substr(1, kTableIdEnd - 1)))) {
      return;
    }
    auto find_table = [this](const Uuid& id) -> const TableMetadata* {
      const auto found = tables_.find(id);
      return found == tables_.end() ? nullptr : found->second.table.get();
    };
    arena_.reset();
    const auto mutation = deserialize_mutation(record, find_table, arena_);
    if (!mutation.ok()) return;  // it is of other tables
    for (const PartitionUpdate& update : mutation->updates) tables_[update.table->id].memtable->apply(update);
  }

  Disk& disk_;
  const EngineOptions& options_;
  const Schema& builtin_;
  std::map<Uuid, StoredTable> tables_;
  Arena arena_{4096};
};

}  // namespace

Task<Result<SchemaPtr>> read_stored_schema(Runtime* runtime, const EngineOptions* options,
                                           std::function<void(const Error&)> on_damage) {
  const SchemaPtr builtin = builtin_schema();
  StoredTables tables(runtime->shard(0).disk, *options, *builtin);
  CO_TRY(tables.open());
  CO_TRY(tables.replay(on_damage));
  SystemTimestamps timestamps;
  SchemaUpdateHandler handler(*runtime, timestamps);
  SchemaNode node;
  node.read = [&tables](const ReadCommand& command, RowSink& sink) {
    return Task<Result<ReadStatistics>>(tables.read(command, sink));
  };
  handler.attach(std::move(node), {}, false);
  Task<Result<SchemaPtr>> loading = handler.load(builtin);
  co_return co_await loading;
}

}  // namespace cassandra_like
