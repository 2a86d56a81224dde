// One transaction for each SSTable.
#include "offline_rewrite.h"

#include <algorithm>
#include <set>

#include "storage/compaction/merge_sstables.h"
#include "storage/sstable/sstable_transaction.h"

namespace cassandra_like::sstable_tools {

namespace {

// Ids that are no shard's look like Cassandra's: every shard of a node reads its part of such an SSTable.
constexpr uint64_t kVariant = uint64_t{1} << 63;
constexpr uint64_t kMulticastNode = uint64_t{3} << 40;  // the first byte of a node that is no network card's
constexpr uint64_t kClockSequence = uint64_t{0x3FFF} << 48;
constexpr uint64_t kRestOfNode = (uint64_t{1} << 40) - 1;

Uuid new_uuid(ShardRuntime& shard) {
  const uint64_t ticks = static_cast<uint64_t>(shard.clock.wall_micros()) * 10 + kUuidEpochOffset;
  return Uuid::time_based(ticks, kVariant | kMulticastNode | (shard.random.next() & (kClockSequence | kRestOfNode)));
}

Task<Status> go_on() { return Status(); }

}  // namespace

// The ids of what replaces an SSTable.
struct OfflineRewriter::Names {
  Names(OfflineRewriter& rewriter, const OfflineSSTable& old)
      : rewriter(rewriter), owner(writer_of(rewriter.context_.disk, old.files)) {
    if (owner) ids.emplace(rewriter.shard().clock, rewriter.shard().random, *owner);
  }

  // A number cannot tell that nobody owns the SSTable. The first of one shard stands for that: the intervals are not of its log.
  bool keeps_intervals() const { return owner || !rewriter.storage_.sequence_ids; }
  std::string next() {
    if (rewriter.storage_.sequence_ids) return rewriter.sequence_.next(owner.value_or(SSTableOwner()));
    return owner ? ids->next() : SSTableDescriptor::id_of(new_uuid(rewriter.shard()));
  }

  OfflineRewriter& rewriter;
  const std::optional<SSTableOwner> owner;
  std::optional<SSTableIds> ids;
};

struct OfflineRewriter::Rewrite {
  Rewrite(OfflineRewriter& rewriter, const OfflineSSTable& of, std::string_view operation)
      : old(of),
        info(of.sstable->info()),
        names(rewriter, of),
        transaction(rewriter.context_.disk, operation, new_uuid(rewriter.shard())) {}

  // Fills in what every way of writing has to know.
  template <class Work>
  void give_to(Work* work) {
    OfflineRewriter& rewriter = names.rewriter;
    work->table = rewriter.table_;
    work->transaction = &transaction;
    work->next_output = [this, version = rewriter.storage_.sstable_version](Token) {
      return SSTableDescriptor::of(version, info.descriptor.directory, names.next());
    };
    work->pause = go_on;
    work->host_id = info.originating_host;
    work->owner = names.owner.value_or(SSTableOwner());
    if (names.keeps_intervals()) work->commit_log_intervals = info.commit_log_intervals;
    work->row_index_granularity = row_index_granularity(rewriter.storage_);
  }

  const OfflineSSTable& old;
  const SSTableInfo& info;
  Names names;
  SSTableTransaction transaction;
  int level = 0;
  std::optional<uint64_t> max_bytes;
  bool keeps_old = false;
};

Status OfflineRewriter::note_ids(const std::string& directory) {
  return note_sequence_numbers(context_.disk, directory, &sequence_);
}

Task<Status> OfflineRewriter::end(SSTableTransaction* transaction, Status written,
                                  std::vector<SSTableDescriptor> obsolete) {
  if (written.ok()) written = co_await transaction->commit(std::move(obsolete));
  if (!written.ok()) {
    // The next start of the node undoes the rest.
    Status ignored = co_await transaction->abort();
    co_return written;
  }
  co_return co_await transaction->finish();
}

Task<Status> OfflineRewriter::merge(Rewrite* rewrite) {
  SSTableMerge merge;
  rewrite->give_to(&merge);
  merge.inputs = {rewrite->old.sstable};
  merge.purge.now_seconds = context_.now_millis / 1000;
  merge.purge.oldest_outside = [](const DecoratedKey&) { return kNoTimestamp; };
  merge.level = [rewrite] { return rewrite->level; };
  if (rewrite->max_bytes) {
    merge.ends_before = [rewrite](Token, uint64_t bytes) { return bytes > *rewrite->max_bytes; };
  }
  SSTableMergeProgress progress;
  Result<SSTableMergeResult> merged = co_await merge_sstables(&shard(), &merge, &progress);
  Status written = merged.ok() ? Status() : Status(std::move(merged.error()));
  std::vector<SSTableDescriptor> obsolete;
  if (!rewrite->keeps_old) obsolete.push_back(rewrite->info.descriptor);
  co_return co_await end(&rewrite->transaction, std::move(written), std::move(obsolete));
}

Task<Status> OfflineRewriter::scrub_all(Rewrite* rewrite, const SSTableScrub* options) {
  SSTableScrub scrub = *options;
  rewrite->give_to(&scrub);
  scrub.input = rewrite->old.sstable;
  SSTableMergeProgress progress;
  Result<SSTableScrubResult> scrubbed = co_await scrub_sstable(&shard(), &scrub, &progress);
  Status written = scrubbed.ok() ? Status() : Status(std::move(scrubbed.error()));
  std::vector<SSTableDescriptor> obsolete;
  obsolete.push_back(rewrite->info.descriptor);
  co_return co_await end(&rewrite->transaction, std::move(written), std::move(obsolete));
}

Status OfflineRewriter::upgrade(const OfflineSSTable& old, bool keeps_old) {
  Rewrite rewrite(*this, old, "upgradesstables");
  rewrite.level = rewrite.info.level;
  rewrite.keeps_old = keeps_old;
  return context_.wait(merge(&rewrite));
}

Status OfflineRewriter::split(const OfflineSSTable& old, uint64_t max_bytes) {
  Rewrite rewrite(*this, old, "unknowncompactiontype");
  rewrite.max_bytes = max_bytes;
  return context_.wait(merge(&rewrite));
}

Status OfflineRewriter::scrub(const OfflineSSTable& old, const SSTableScrub& options) {
  Rewrite rewrite(*this, old, "scrub");
  return context_.wait(scrub_all(&rewrite, &options));
}

namespace {

Task<Status> sync_all(Disk* disk, const std::set<std::string>* directories) {
  for (const std::string& directory : *directories) {
    Status synced = co_await disk->sync_directory(directory);
    if (!synced.ok()) co_return synced;
  }
  co_return Status();
}

bool precedes(const SSTableOnDisk& a, const SSTableOnDisk& b) {
  const auto x = sequence_number(a.descriptor.id), y = sequence_number(b.descriptor.id);
  if (x && y) return *x < *y;
  if (x || y) return x.has_value();
  return a.descriptor.id < b.descriptor.id;
}

}  // namespace

Status snapshot_sstables(const ToolContext& context, const std::vector<SSTableDescriptor>& sstables,
                         const std::string& tag) {
  std::set<std::string> changed;
  for (const SSTableDescriptor& sstable : sstables) {
    const std::string snapshots = sstable.directory + "/snapshots", target = snapshots + "/" + tag;
    TRY(context.disk.make_directories(target));
    TRY(link_sstable(context.disk, sstable, target));
    changed.insert({target, snapshots, sstable.directory});
  }
  return context.wait(sync_all(&context.disk, &changed));
}

void sort_by_id(std::vector<SSTableOnDisk>& sstables) { std::stable_sort(sstables.begin(), sstables.end(), precedes); }

int fail_to_write(const ToolContext& context, const Error& error) {
  return fail(context, "org.apache.cassandra.io.FSWriteError", error.message());
}

int fail_with_message(const ToolContext& context, const Error& error, bool is_debug) {
  context.err << error.message() << "\n";
  if (is_debug) context.err << "java.lang.IllegalArgumentException: " << error.message() << "\n";
  return 1;
}

}  // namespace cassandra_like::sstable_tools
