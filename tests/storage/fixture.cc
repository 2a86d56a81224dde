#include "fixture.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "model/counter.h"
#include "model/values.h"
#include "storage/cache/chunk_budget.h"
#include "storage/memtable_budget.h"
#include "storage/table/directory_check.h"

namespace cassandra_like::storage_test {

namespace {

ColumnPtr make_column(std::string name, TypePtr type, ColumnKind kind, int position = -1) {
  return std::make_shared<Column>(Column{std::move(name), std::move(type), kind, position, {}});
}

}  // namespace

TablePtr make_table(const std::string& name) {
  auto text = types::text();
  std::vector<ColumnPtr> key{make_column("k", text, ColumnKind::kPartitionKey, 0)};
  std::vector<ColumnPtr> clustering, others;
  if (name == "kv") {
    for (int i = 1; i <= 5; ++i) {
      others.push_back(make_column("v" + std::to_string(i), types::blob(), ColumnKind::kRegular));
    }
  } else if (name == "d") {
    clustering = {make_column("a", types::reversed(types::int_()), ColumnKind::kClustering, 0),
                  make_column("b", types::int_(), ColumnKind::kClustering, 1)};
    others = {make_column("v", text, ColumnKind::kRegular)};
  } else if (name == "n") {
    clustering = {make_column("c", types::int_(), ColumnKind::kClustering, 0)};
    others = {make_column("n", types::counter(), ColumnKind::kRegular)};
  } else {
    clustering = {make_column("c", types::int_(), ColumnKind::kClustering, 0)};
    others = {make_column("s", text, ColumnKind::kStatic), make_column("v", text, ColumnKind::kRegular),
              make_column("w", text, ColumnKind::kRegular),
              make_column("m", types::map(text, text, true), ColumnKind::kRegular)};
  }
  auto table = std::make_shared<TableMetadata>("ks", name, Uuid::name_based("ks." + name), key, clustering, others);
  table->flags.counter = name == "n";
  return table;
}

SchemaPtr make_schema(std::vector<TablePtr> tables, bool durable_writes) {
  KeyspaceMetadata keyspace;
  keyspace.name = "ks";
  keyspace.replication.durable_writes = durable_writes;
  for (TablePtr& table : tables) keyspace.tables[table->name] = table;
  return Schema().with_keyspace(std::make_shared<KeyspaceMetadata>(keyspace));
}

std::string int_bytes(int32_t v) { return encode_int(v); }

Update::Update(TablePtr table, std::string key) : table_(std::move(table)) {
  update_.table = table_.get();
  update_.key = DecoratedKey::of(keep(std::move(key)));
  static_.row.clustering = static_clustering();
}

BytesView Update::keep(std::string text) { return arena_->copy(text); }

const Column* Update::column(const std::string& name) const {
  const Column* found = table_->column(name);
  CHECK(found != nullptr);
  return found;
}

Update& Update::at(int64_t timestamp) {
  timestamp_ = timestamp;
  return *this;
}

Update& Update::row(std::vector<int32_t> clustering) {
  current_ = &rows_.emplace_back();
  auto values = arena_->make_span<BytesView>(clustering.size());
  for (size_t i = 0; i < clustering.size(); ++i) values[i] = keep(int_bytes(clustering[i]));
  current_->row.clustering =
      clustering.empty() ? empty_clustering() : make_clustering(*table_, values, ClusteringKind::kClustering, *arena_);
  return *this;
}

Update& Update::static_row() {
  current_ = &static_;
  return *this;
}

Update& Update::live(int32_t ttl, int64_t expires) {
  current_->row.liveness = {timestamp_, ttl, expires};
  return *this;
}

Update& Update::cell(const std::string& name, const std::string& value, int32_t ttl, int64_t expires) {
  current_->cells.push_back({column(name), timestamp_, expires, ttl, keep(value), {}});
  return *this;
}

Update& Update::element(const std::string& name, const std::string& path, const std::string& value) {
  current_->cells.push_back({column(name), timestamp_, kNoDeletionTime, 0, keep(value), keep(path)});
  return *this;
}

Update& Update::tombstone(const std::string& name) {
  current_->cells.push_back({column(name), timestamp_, kNow - 100, 0, BytesView("", 0), {}});
  return *this;
}

Update& Update::clear(const std::string& name) {
  current_->complex.push_back({column(name), {timestamp_, kNow - 100}});
  return *this;
}

Update& Update::delete_row() {
  current_->row.deletion = {timestamp_, kNow - 100};
  return *this;
}

ClusteringPrefix Update::bound(int32_t value, ClusteringKind kind) {
  auto values = arena_->make_span<BytesView>(1);
  values[0] = keep(int_bytes(value));
  return make_clustering(*table_, values, kind, *arena_);
}

Update& Update::delete_range(int32_t from, bool from_inclusive, int32_t to, bool to_inclusive) {
  ranges_.push_back({bound(from, from_inclusive ? ClusteringKind::kInclStartBound : ClusteringKind::kExclStartBound),
                     bound(to, to_inclusive ? ClusteringKind::kInclEndBound : ClusteringKind::kExclEndBound),
                     {timestamp_, kNow - 100}});
  return *this;
}

Update& Update::delete_from(int32_t from) {
  ranges_.push_back({bound(from, ClusteringKind::kInclStartBound),
                     open_bound(ClusteringKind::kInclEndBound),
                     {timestamp_, kNow - 100}});
  return *this;
}

Update& Update::delete_up_to(int32_t to) {
  ranges_.push_back({open_bound(ClusteringKind::kInclStartBound),
                     bound(to, ClusteringKind::kInclEndBound),
                     {timestamp_, kNow - 100}});
  return *this;
}

Update& Update::delete_partition() {
  update_.partition_deletion = {timestamp_, kNow - 100};
  return *this;
}

const PartitionUpdate& Update::build() {
  auto finish_row = [](RowParts& parts) {
    std::sort(parts.cells.begin(), parts.cells.end(),
              [](const Cell& a, const Cell& b) { return compare_cells(a, b) < 0; });
    parts.row.cells = parts.cells;
    parts.row.complex_deletions = parts.complex;
    return parts.row;
  };
  update_.static_row = finish_row(static_);
  built_rows_.clear();
  for (RowParts& parts : rows_) built_rows_.push_back(finish_row(parts));
  std::sort(built_rows_.begin(), built_rows_.end(),
            [](const Row& a, const Row& b) { return a.clustering.comparable < b.clustering.comparable; });
  update_.rows = built_rows_;
  update_.range_tombstones = ranges_;
  return update_;
}

Mutation Update::mutation() {
  const PartitionUpdate& update = build();
  return {table_->keyspace, update.key, {&update, 1}};
}

std::string to_line(const TableMetadata& table, const Row& row) {
  std::string out;
  for (BytesView value : row.clustering.values) out += (out.empty() ? "" : ",") + std::to_string(decode_int(value));
  if (!table.clustering.empty() && row.clustering.kind == ClusteringKind::kClustering) out += ":";
  auto ttl = [](int32_t seconds) { return seconds == kNoTtl ? "" : fmt::format("+{}", seconds); };
  if (!row.liveness.is_empty()) out += fmt::format(" @{}{}", row.liveness.timestamp, ttl(row.liveness.ttl));
  for (const Cell& cell : row.cells) {
    std::string path = is_null(cell.path) ? "" : fmt::format("[{}]", cell.path);
    out += fmt::format("{}{}{}={}@{}{}", out.empty() ? "" : " ", cell.column->name, path,
                       cell.column->type->is_counter() ? "?" : cell.value, cell.timestamp, ttl(cell.ttl));
  }
  return out;
}

RowSink::Next TextSink::begin_partition(const DecoratedKey& key, const Row& static_row) {
  std::string line(key.key);
  if (!static_row.cells.empty()) line += " [" + to_line(table_, static_row) + "]";
  lines.push_back(std::move(line));
  return Next::kContinue;
}

RowSink::Next TextSink::row(const Row& row) {
  lines.push_back("  " + to_line(table_, row));
  return Next::kContinue;
}

Node::Node(uint64_t seed, unsigned shards, EngineOptions given, std::vector<TablePtr> tables)
    : options(std::move(given)),
      world_(SimWorld::create(seed)),
      machine_(world_->add_machine("10.0.0.1")),
      shards_(shards) {
  set_log_level(LogLevel::kOff);
  if (options.data_directories.empty()) options.data_directories = {"/data"};
  if (options.commitlog_directory.empty()) options.commitlog_directory = "/commitlog";
  if (options.commitlog_segment_bytes == 32u << 20) options.commitlog_segment_bytes = 64 << 10;
  options.host_id = Uuid::name_based("host");
  options.auto_snapshot = false;
  options.on_failure = [this](FailurePolicy policy, const Error& e) { failures.emplace_back(policy, e.message()); };
  if (tables.empty()) tables = {make_table("kv"), make_table("t"), make_table("d"), make_table("n")};
  schema_ = make_schema(std::move(tables));
  CHECK(boot());
}

Node::~Node() { engines_.clear(); }

namespace {

Task<Status> start_engine(Engine* engine, SchemaPtr schema, TruncationRecords truncated) {
  CO_TRY(co_await engine->set_schema(schema));
  Status replayed = co_await engine->replay([](const TableMetadata&) { return true; }, truncated);
  if (!replayed.ok()) co_return replayed;
  co_return co_await engine->start();
}

}  // namespace

bool Node::boot() {
  runtime_ = &machine_.boot(shards_);
  engines_.clear();
  Status finished = run(finish_transactions(&disk(), options.data_directories));
  if (finished.ok() && before_engines) finished = run(before_engines(runtime_->shard(0)));
  if (!finished.ok()) {
    error_ = finished.error().message();
    return false;
  }
  options.on_every_engine = [this](std::function<Status(unsigned, Engine&)> work) {
    Status first;
    for (unsigned i = 0; i < engines_.size(); ++i) {
      Status done = work(i, *engines_[i]);
      if (!done.ok() && first.ok()) first = std::move(done);
    }
    return Task<Status>(std::move(first));
  };
  options.memtables = std::make_shared<MemtableBudget>(options.memtable_bytes, shards_);
  options.chunks = std::make_shared<ChunkBudget>(options.chunk_cache_bytes, shards_);
  for (unsigned i = 0; i < shards_; ++i) {
    ShardRuntime* shard = &runtime_->shard(i);
    if (wrap_disk) {
      Disk& disk = *disks_.emplace_back(wrap_disk(shard->disk));
      shard = &wrapped_.emplace_back(
          ShardRuntime{shard->executor, shard->clock, shard->network, disk, shard->random, shard->blocking});
    }
    engines_.push_back(std::make_unique<Engine>(*shard, shards_, options));
    Status started = run(start_engine(engines_.back().get(), schema_, truncated));
    if (!started.ok()) {
      error_ = started.error().message();
      return false;
    }
  }
  return true;
}

Task<Result<std::vector<CommitLogPosition>>> Node::truncating(TablePtr table, std::string snapshot_tag) {
  std::function<Maintenance*(unsigned)> engine_of = [this](unsigned shard) { return &engines_[shard]->maintenance(); };
  return truncate_on_all_shards(runtime_, &runtime_->shard(0).executor, std::move(engine_of), std::move(table),
                                std::move(snapshot_tag));
}

void Node::crash() {
  engines_.clear();
  machine_.crash();
}

void Node::kill() {
  engines_.clear();
  machine_.shut_down();
}

void Node::set_tables(std::vector<TablePtr> tables, bool durable_writes) {
  schema_ = make_schema(std::move(tables), durable_writes);
  for (auto& engine : engines_) ASSERT_TRUE(run(engine->set_schema(schema_)).ok());
}

Status Node::apply(Update& update) {
  Mutation mutation = update.mutation();
  return run(engine(shard_of(mutation.key.token, shards_)).apply(mutation));
}

ReadCommand Node::command(const std::string& name) const {
  ReadCommand command;
  command.table = table(name);
  command.now_seconds = kNow;
  return command;
}

Lines Node::read(ReadCommand command) {
  TextSink sink(*command.table);
  for (unsigned i = 0; i < shards_; ++i) {
    ReadCommand own = command;
    own.keys.clear();
    for (const DecoratedKey& key : command.keys) {
      if (shard_of(key.token, shards_) == i) own.keys.push_back(key);
    }
    if (!own.range && own.keys.empty()) continue;
    Result<ReadStatistics> read = run(engine(i).read(own, sink));
    if (!read.ok()) return {"error: " + read.error().message()};
  }
  return sink.lines;
}

Lines Node::read(const std::string& name, const std::string& key, Slices slices, bool reversed) {
  ReadCommand one = command(name);
  one.keys = {DecoratedKey::of(key)};
  one.slices = std::move(slices);
  one.reversed = reversed;
  return read(one);
}

int64_t Node::counter(const std::string& key) {
  struct CounterSink : RowSink {
    Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
    Next row(const Row& row) override {
      total = counter_total(row.cells[0].value);
      return Next::kContinue;
    }
    int64_t total = 0;
  } sink;
  ReadCommand one = command("n");
  one.keys = {DecoratedKey::of(key)};
  CHECK(run(engine().read(one, sink)).ok());
  return sink.total;
}

Lines Node::scan(const std::string& name) {
  ReadCommand all = command(name);
  all.range = KeyRange{};
  return read(all);
}

}  // namespace cassandra_like::storage_test
