// Where a key may be: what a read of it looks at.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "storage/engine/engine.h"

namespace cassandra_like {

// The rest of the page of a partition in which a read waits for the disk: the SSTables, and a copy of the rows that memtables
// have. So the page shows what was there at one time, though others write while the read waits.
struct Engine::PageRest {
  std::unique_ptr<Memtable> memtable;  // null: none has the partition
  std::vector<std::shared_ptr<const SSTable>> sstables;
  Bytes end;  // the memtables had more behind this row; empty: all of the partition is here

  // The table as it is now: it may have been altered since the page began.
  void use_table(const TablePtr& table) {
    if (memtable != nullptr) memtable->use_table(table);
  }
};

struct Engine::Sources {
  struct InMemtable {
    const Memtable* memtable;
    const MemtablePartition* partition;
  };
  absl::InlinedVector<InMemtable, 2> memtables;     // newest first
  absl::InlinedVector<const SSTable*, 8> sstables;  // newest max_timestamp first
  HashedKey hashed;

  // The filters' memory is on its way to the processor while the memtables are looked at.
  Sources(const TableStore& store, const DecoratedKey& key) : hashed(key) {
    for (const LiveSSTable& live : store.sstables) live.sstable->prefetch(hashed);
    look(*store.memtable, key);
    for (auto it = store.flushing.rbegin(); it != store.flushing.rend(); ++it) look(**it, key);
    for (const LiveSSTable& live : store.sstables) {
      if (live.sstable->may_contain(hashed)) sstables.push_back(live.sstable.get());
    }
  }
  Sources(const PageRest& page, const DecoratedKey& key) : hashed(key) {
    if (page.memtable != nullptr) look(*page.memtable, key);
    for (const auto& sstable : page.sstables) sstables.push_back(sstable.get());
  }
  bool none() const { return memtables.empty() && sstables.empty(); }

 private:
  void look(const Memtable& memtable, const DecoratedKey& key) {
    if (const MemtablePartition* found = memtable.find(key)) memtables.push_back({&memtable, found});
  }
};

// Begins a partition: partition.next(), and before it is returned the feed learns of the partition. When it is not in memory,
// the feed pauses behind what deletions cover before it; if that is nothing, the partition is as if it had not begun.
Result<const Unfiltered*> first_or_wait(PartitionReader& partition, ReadPipeline& feed, const ColdReads* cold);
// partition.next(). When that is not in memory, the feed pauses behind the row or marker that it got last.
Result<const Unfiltered*> next_or_wait(PartitionReader& partition, ReadPipeline& feed, const ColdReads* cold);

}  // namespace cassandra_like
