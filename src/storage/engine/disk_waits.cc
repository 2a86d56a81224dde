// How reads wait for the disk: nobody else waits with them.
//
// A turn of a read (read.cc, read_unfiltered.cc) fails with kDiskWait where something is not in memory. Then the read has
// that brought in, elsewhere, and its next turn goes on behind what the turn before has fed. Where it had fed nothing, it
// is the same turn again. A partition that a turn has begun to feed is read to the end of its page from the sources that
// were there then (PageRest).
#include <algorithm>

#include "storage/engine/read_sources.h"

namespace cassandra_like {

struct Engine::DiskWait {
  size_t pending = 0;
  Status status;  // the first error
  Promise<bool>* waiter = nullptr;

  void wake() {
    if (waiter != nullptr) std::exchange(waiter, nullptr)->set(true);
  }
};

Task<void> Engine::bring_in(Disk* disk, Gate* gate, std::shared_ptr<DiskWait> wait, ColdReads::Missing missing) {
  if (!gate->enter()) {
    if (wait->status.ok()) wait->status = Error(ErrorCode::kClosed, "The node is stopping");
  } else {
    Status status = co_await disk->bring_in(std::move(missing.file), missing.offset, missing.bytes);
    if (!status.ok() && wait->status.ok()) wait->status = std::move(status);
    gate->leave();
  }
  if (--wait->pending == 0) wait->wake();
}

// Until all that is missing has come, or the deadline, which whoever goes on finds to have passed.
Task<Status> Engine::wait_for_disk(ColdReads* cold, int64_t deadline) {
  const int64_t begun = runtime_.clock.monotonic_nanos();
  std::vector<ColdReads::Missing> missing = cold->take();
  auto wait = std::make_shared<DiskWait>();
  wait->pending = missing.size();
  for (ColdReads::Missing& one : missing) spawn(bring_in(&runtime_.disk, &gate_, wait, std::move(one)));
  if (wait->pending > 0) {
    Promise<bool> done;
    wait->waiter = &done;
    std::optional<TimerId> timer;
    if (deadline != kNoDeadline) {
      const Duration left(std::max<int64_t>(0, deadline - begun));
      timer = runtime_.executor.schedule(left, [wait] { wait->wake(); });
    }
    co_await done;
    if (timer) runtime_.executor.cancel(*timer);
  }
  disk_wait_micros_.record(static_cast<uint64_t>(runtime_.clock.monotonic_nanos() - begun) / 1000);
  co_return std::move(wait->status);
}

// continue_behind() for a partition in which the read may have paused before: then its key is not in the rest any more.
std::optional<ReadCommand> Engine::rest_of_partition(ReadCommand& rest, const DecoratedKey& key, const Bytes& place) {
  if (rest.range || std::find(rest.keys.begin(), rest.keys.end(), key) != rest.keys.end()) {
    return continue_behind(rest, key, place);
  }
  ReadCommand one = rest;
  one.keys = {key};
  return continue_behind(one, key, place);
}

std::unique_ptr<Engine::PageRest> Engine::keep_page(const TableStore& store, const ReadCommand& partition,
                                                    uint64_t most_rows) const {
  const DecoratedKey& key = partition.keys[0];
  const bool reversed = partition.reversed;
  const Sources sources(store, key);
  auto page = std::make_unique<PageRest>();
  for (const SSTable* sstable : sources.sstables) page->sstables.push_back(sstable->shared_from_this());
  for (const auto& [memtable, found] : sources.memtables) {
    Arena arena;
    std::vector<Row> rows;
    auto reader = memtable->read(*found, SliceSelection{partition.slices, reversed, true});
    while (true) {
      auto next = reader->next();
      CHECK(next.ok());
      const Unfiltered* unfiltered = *next;
      if (unfiltered == nullptr) break;
      if (!unfiltered->is_row) continue;
      if (rows.size() == most_rows) {
        const BytesView last = rows.back().clustering.comparable;
        if (page->end.empty() || (reversed ? last > page->end : last < page->end)) page->end.assign(last);
        break;
      }
      rows.push_back(copy_row(unfiltered->row, arena));
    }
    if (reversed) std::reverse(rows.begin(), rows.end());
    std::vector<RangeTombstone> ranges;
    static const Slice whole = Slice::all();
    if (found->ranges != nullptr) {
      for (const Slice& slice : partition.slices) found->ranges->clip(*store.table, slice, arena, ranges);
      if (partition.slices.empty()) found->ranges->clip(*store.table, whole, arena, ranges);
    }
    if (page->memtable == nullptr) page->memtable = std::make_unique<Memtable>(store.table, CommitLogPosition());
    PartitionUpdate update;
    update.table = store.table.get();
    update.key = key;
    update.partition_deletion = found->deletion;
    update.rows = rows;
    update.range_tombstones = ranges;
    page->memtable->apply(update);
  }
  return page;
}

void Engine::cut_at_end(const PageRest* page, ReadCommand& partition) {
  if (page != nullptr && !page->end.empty()) end_slices_behind(partition.slices, page->end, partition.reversed);
}

}  // namespace cassandra_like
