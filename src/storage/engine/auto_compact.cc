// Automatic compaction: one scheduler a shard, which asks the strategy of a table what to compact and runs it.
//
// A table is asked after each flush and each compaction of it, at the start once the log is replayed, after ALTER, when
// autocompaction is switched on, and once a minute, since tombstones and windows of time grow old without a write. The
// hidden tables of indexes are tables here.
//
// Invariants:
// - One compaction of a store runs at a time (compaction_mutex), and no more on the shard than it has compactors.
//   After each the next table has its turn.
// - A task is chosen and its inputs are marked without a pause between.
// - What is purged, and when nothing is, compact.cc says. SSTables that are dropped unread have to keep the same rules: all of
//   them are looked at again just before the commit, and one whose writes the commit log may hold stays.
// - A compaction that fails is not tried again before the next reason to ask. A damaged input is left out from then on.
// - TRUNCATE, DROP, a major compaction and a stop end an automatic compaction at its next pause.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "base/memory_text.h"
#include "storage/engine/engine.h"

namespace cassandra_like {

namespace {

constexpr Duration kAskEvery = std::chrono::minutes(1);

// Cassandra's sequential ids are shorter than time-based ones and from before.
bool is_older(const SSTablePtr& a, const SSTablePtr& b) {
  const std::string &left = a->info().descriptor.id, &right = b->info().descriptor.id;
  return std::pair(left.size(), std::string_view(left)) < std::pair(right.size(), std::string_view(right));
}

// The directory where its first token belongs (DiskBoundaries.getDiskIndex), and not where it lies.
uint32_t group_of(const DiskBoundaries& boundaries, const SSTableInfo& info) {
  const size_t directory = boundaries.directory_of(murmur3_token(info.first_key));
  return static_cast<uint32_t>(2 * directory + (info.repaired_at != 0 ? 1 : 0));
}

CompactionCandidate candidate_of(const DiskBoundaries& boundaries, const SSTablePtr& sstable, int64_t gc_before) {
  const SSTableInfo& info = sstable->info();
  CompactionCandidate candidate;
  candidate.group = group_of(boundaries, info);
  candidate.repaired = info.repaired_at != 0;
  candidate.data_bytes = info.data_bytes;
  candidate.total_bytes = info.total_bytes;
  candidate.partitions = info.partitions;
  candidate.first = DecoratedKey::of(info.first_key);
  candidate.last = DecoratedKey::of(info.last_key);
  candidate.level = info.level;
  candidate.min_timestamp = info.min_timestamp;
  candidate.max_timestamp = info.max_timestamp;
  candidate.max_local_deletion_time = info.max_local_deletion_time;
  if (info.max_local_deletion_time == kNoDeletionTime) {
    candidate.max_local_deletion_time = std::numeric_limits<int64_t>::max();
  }
  candidate.droppable_ratio = info.droppable_before(gc_before);
  return candidate;
}

int64_t min_timestamp_of_memtables(const TableStore& store) {
  int64_t least = std::numeric_limits<int64_t>::max();
  auto look_at = [&least](const Memtable& memtable) {
    if (!memtable.empty()) least = std::min(least, memtable.stats().min_timestamp);
  };
  look_at(*store.memtable);
  for (const auto& flushing : store.flushing) look_at(*flushing);
  return least;
}

}  // namespace

Engine::Stores Engine::with_indexes(const Stores& tables) {
  Stores all;
  for (const TableStorePtr& store : tables) {
    all.push_back(store);
    for (const auto& index : store->indexes) all.push_back(index->store);
  }
  return all;
}

void Engine::ask_for_compaction(const TableStorePtr& store) {
  TableCompaction& compaction = store->compaction;
  if (!may_compact_automatically(*store)) return;
  if (compaction.asking) {
    compaction.ask_again = true;
    return;
  }
  compaction.asking = true;
  spawn(compact_automatically(store));
}

bool Engine::may_compact_automatically(const TableStore& store) const {
  return started_ && !refusing_ && !gate_.closed() && !store.dropped && store.compaction.enabled &&
         store.compaction_interrupts == 0 && store.compaction.interrupts == 0;
}

void Engine::ask_all_for_compaction() {
  for (const TableStorePtr& store : with_indexes(select(TableSelection()))) ask_for_compaction(store);
}

void Engine::ask_every_minute() {
  if (refusing_ || gate_.closed()) return;
  runtime_.executor.schedule(kAskEvery, [this, alive = alive_] {
    if (!*alive) return;
    ask_all_for_compaction();
    ask_every_minute();
  });
}

Task<void> Engine::compact_automatically(TableStorePtr store) {
  if (!gate_.enter()) co_return;
  // The caller may be in the middle of a change.
  co_await runtime_.executor.yield();
  bool again = false;
  {
    co_await compactor_slots_.enter();
    CompactorSlots::Guard slot(compactor_slots_);
    co_await store->compaction_mutex.lock();
    AsyncMutex::Guard guard(store->compaction_mutex);
    if (may_compact_automatically(*store)) again = co_await compact_next(store);
  }
  store->compaction.asking = false;
  again |= std::exchange(store->compaction.ask_again, false);
  if (again) ask_for_compaction(store);
  gate_.leave();
}

void Engine::look_at(const TableStore& store, uint32_t group, CompactionSight* sight) const {
  sight->sstables.clear();
  sight->candidates.clear();
  CompactionView& view = sight->view;
  view.group = group;
  view.ranges = &ranges_;
  view.now_millis = runtime_.clock.wall_millis();
  view.gc_before =
      runtime_.clock.wall_seconds() - std::max<int64_t>(store.table->params.gc_grace_seconds, PurgeRules::kLongestRead);
  view.never_purge = !may_purge(store);
  view.min_memtable_timestamp = min_timestamp_of_memtables(store);
  view.flush_bytes = store.compaction.flush_bytes;
  const DiskBoundaries boundaries = boundaries_of(store);
  std::vector<const LiveSSTable*> by_age;
  for (const LiveSSTable& live : store.sstables) by_age.push_back(&live);
  std::sort(by_age.begin(), by_age.end(),
            [](const LiveSSTable* a, const LiveSSTable* b) { return is_older(a->sstable, b->sstable); });
  for (const LiveSSTable* live : by_age) {
    CompactionCandidate candidate = candidate_of(boundaries, live->sstable, view.gc_before);
    candidate.id = sight->sstables.size();
    candidate.created_millis = live->created_millis;
    candidate.busy = live->compacting;
    candidate.suspect = live->suspect;
    candidate.shared = !is_compactable(*live);
    sight->sstables.push_back(live->sstable);
    sight->candidates.push_back(std::move(candidate));
  }
  view.sstables = sight->candidates;
}

// The ones of `inputs` that may go unread at this moment, out of what `sight` shows.
std::vector<SSTablePtr> Engine::droppable_unread(const TableStore& store, const CompactionSight& sight,
                                                 const std::vector<uint64_t>& inputs) const {
  std::vector<SSTablePtr> result;
  for (uint64_t id : fully_expired(sight.view, inputs, store.compaction.options)) {
    // An interval without an SSTable would be lost.
    if (!log_may_hold({sight.sstables[id]})) result.push_back(sight.sstables[id]);
  }
  return result;
}

bool Engine::are_still_droppable(const CompactionRun& run) const {
  CompactionSight sight;
  look_at(*run.store, run.group, &sight);
  std::vector<uint64_t> inputs;
  for (size_t id = 0; id < sight.sstables.size(); ++id) {
    if (std::find(run.inputs.begin(), run.inputs.end(), sight.sstables[id]) != run.inputs.end()) inputs.push_back(id);
  }
  return droppable_unread(*run.store, sight, inputs).size() == run.inputs.size();
}

std::set<uint32_t> Engine::groups_of(const TableStore& store) const {
  const DiskBoundaries boundaries = boundaries_of(store);
  std::set<uint32_t> groups;
  for (const LiveSSTable& live : store.sstables) groups.insert(group_of(boundaries, live.sstable->info()));
  return groups;
}

// They could not be removed.
void Engine::leave_out_unwritable(const TableStore& store, CompactionSight* sight) const {
  for (CompactionCandidate& candidate : sight->candidates) {
    candidate.shared |= is_unwritable(place_of(store, sight->sstables[candidate.id]->info().descriptor.directory));
  }
}

// Whether it is worth asking again.
Task<bool> Engine::compact_next(TableStorePtr store) {
  const std::set<uint32_t> groups = groups_of(*store);
  for (uint32_t group : groups) {
    CompactionSight sight;
    look_at(*store, group, &sight);
    leave_out_unwritable(*store, &sight);
    const std::shared_ptr<const CompactionStrategy> strategy = store->compaction.strategy;
    std::optional<CompactionTask> task = strategy->next(sight.view, store->compaction.states[group]);
    if (!task) continue;
    CompactionRun run;
    if (!prepare(store, sight, *task, &run)) continue;
    ++compactions_pending_;
    Status status = co_await run_compaction(&run);
    --compactions_pending_;
    compactions_completed_.mark(runtime_.clock.monotonic_nanos());
    if (!status.ok()) {
      // The other SSTables may be compacted without it.
      const bool is_set_aside = is_of_input(run, status);
      if (is_set_aside) store->suspect(run.inputs, status.error().message());
      co_return is_set_aside;
    }
    if (!run.unread && store->compaction.strategy == strategy) {
      const DiskBoundaries boundaries = boundaries_of(*store);
      std::vector<CompactionCandidate> outputs;
      for (const SSTablePtr& output : run.outputs) {
        outputs.push_back(candidate_of(boundaries, output, sight.view.gc_before));
        outputs.back().created_millis = runtime_.clock.wall_millis();
      }
      strategy->ended(sight.view, *task, outputs, store->compaction.states[group]);
    }
    co_return true;
  }
  co_return false;
}

// False: there is nothing to run, or no room to do it.
bool Engine::prepare(const TableStorePtr& store, const CompactionSight& sight, CompactionTask& task,
                     CompactionRun* run) {
  using Kind = CompactionTask::Kind;
  run->store = store;
  run->group = sight.view.group;
  run->path = place_outputs(*store).directory(run->group / 2);
  run->is_automatic = true;
  run->operation = task.kind == Kind::kTombstones ? CompactionOperation::kTombstones : CompactionOperation::kCompaction;
  if (task.kind == Kind::kCompaction || task.kind == Kind::kExpired) {
    // The rest is asked for again when they are gone.
    run->inputs = droppable_unread(*store, sight, task.inputs);
    run->unread = !run->inputs.empty();
    if (run->unread || task.kind == Kind::kExpired) return run->unread;
  }
  std::erase_if(task.inputs, [&sight](uint64_t id) { return sight.candidates[id].suspect; });
  if (task.inputs.empty() || !fit_to_space(sight, *run, task)) return false;
  for (uint64_t id : task.inputs) run->inputs.push_back(sight.sstables[id]);
  run->limits = task.limits;
  return true;
}

// Nothing where the disk does not tell.
std::optional<uint64_t> Engine::room_for_compaction(const std::string& path) const {
  const Result<DiskSpace> space = runtime_.disk.space(path);
  if (!space.ok()) return std::nullopt;
  uint64_t promised = 0;  // to compactions under way
  for (const CompactionRun* other : running_) {
    promised += other->record.bytes_in - std::min(other->record.bytes_in, other->progress.bytes_written);
  }
  return space->available - std::min(space->available, promised);
}

bool Engine::fit_to_space(const CompactionSight& sight, const CompactionRun& run, CompactionTask& task) {
  const std::optional<uint64_t> room = room_for_compaction(run.path);
  if (!room) return true;
  const uint64_t available = *room;
  auto needed = [&] {
    uint64_t bytes = 0;
    for (uint64_t id : task.inputs) bytes += sight.candidates[id].total_bytes;
    return bytes;
  };
  const size_t wanted = task.inputs.size();
  const uint64_t needed_by_all = needed();
  bool fits = needed_by_all <= available;
  while (!fits && without_largest(sight.view, task)) fits = needed() <= available;
  // One that is left alone would be written again and again.
  if (fits && (task.inputs.size() == wanted || task.inputs.size() > 1)) {
    compactions_reduced_ += task.inputs.size() < wanted ? 1 : 0;
    sstables_left_out_ += wanted - task.inputs.size();
    return true;
  }
  ++compactions_aborted_;
  LOG_WARN("Not enough space for compaction of {}: {} sstables, {} needed, {} available",
           run.store->table->qualified_name(), wanted, memory_text(needed_by_all), memory_text(available));
  return false;
}

void Engine::set_auto_compaction(const TableSelection& selection, bool on) {
  if (on && !std::exchange(asks_every_minute_, true)) ask_every_minute();
  for (const TableStorePtr& store : with_indexes(select(selection))) {
    store->compaction.enabled = on;
    if (on) ask_for_compaction(store);
  }
}

uint32_t Engine::pending_tasks(const TableStore& store) const {
  uint32_t tasks = 0;
  for (uint32_t group : groups_of(store)) {
    CompactionSight sight;
    look_at(store, group, &sight);
    const auto state = store.compaction.states.find(group);
    tasks += store.compaction.strategy->estimated_tasks(
        sight.view, state == store.compaction.states.end() ? CompactionState() : state->second);
  }
  return tasks;
}

std::vector<AutoCompactionState> Engine::auto_compaction(const TableSelection& selection) const {
  std::vector<AutoCompactionState> out;
  for (const TableStorePtr& store : with_indexes(select(selection))) {
    const bool running = store->compaction.enabled;
    const CompactionOptions& options = store->compaction.options;
    out.push_back({store->table->keyspace, store->table->name, running, running ? pending_tasks(*store) : 0,
                   options.min_threshold, options.max_threshold});
  }
  return out;
}

RunningCompaction Engine::described(const CompactionRun& run) {
  RunningCompaction out;
  out.id = run.record.id;
  out.table = run.record.table;
  out.operation = run.operation;
  out.sstables = run.inputs.size();
  out.total_compressed = run.record.bytes_in;
  out.directory = run.path;
  for (const SSTablePtr& input : run.inputs) out.total += input->info().uncompressed_bytes;
  const double done =
      run.record.bytes_in == 0 ? 0 : static_cast<double>(bytes_done(run)) / static_cast<double>(run.record.bytes_in);
  out.completed = static_cast<uint64_t>(done * static_cast<double>(out.total));
  return out;
}

std::vector<RunningCompaction> Engine::running_compactions() const {
  std::vector<RunningCompaction> out;
  for (const CompactionRun* run : running_) out.push_back(described(*run));
  tell_index_builds(&out);
  return out;
}

size_t Engine::stop_compactions(const std::function<bool(const RunningCompaction&)>& which) {
  size_t stopped = stop_index_builds(which);
  for (CompactionRun* run : running_) {
    if (run->stopped || !which(described(*run))) continue;
    run->stopped = true;
    ++stopped;
  }
  return stopped;
}

void Engine::set_compaction_thresholds(const TableSelection& table, int32_t min, int32_t max) {
  for (const TableStorePtr& store : with_indexes(select(TableSelection(table.keyspace)))) {
    if (store->table->name != table.table) continue;
    store->compaction.set_thresholds(min, max);
    ask_for_compaction(store);
  }
}

void Engine::set_compaction_throughput(uint64_t bytes_per_second) {
  const uint64_t least = bytes_per_second == 0 ? 0 : 1;
  options_.compaction_throughput = bytes_per_second;
  compaction_throughput_.set_rate(std::max(bytes_per_second / shard_count_, least));
}

void Engine::set_concurrent_compactors(unsigned count) {
  options_.concurrent_compactors = count;
  compactor_slots_.set_limit(count / shard_count_);
}

}  // namespace cassandra_like
