// SSTables that a tool writes in place of one that is there, as one step: wherever the tool is cut off, the table has the old
// SSTable or all of the new ones. A transaction log tells which (storage/sstable/transaction_log.h).
//
// The new ones have the shard of the old one as their owner, if it has one, and the same commit log intervals: what the old one
// says of the log stays true, since nothing is purged.
#pragma once

#include "offline_table.h"
#include "storage/compaction/scrub_sstable.h"

namespace cassandra_like::sstable_tools {

struct OfflineSSTable {
  SSTableOnDisk files;
  SSTablePtr sstable;  // open

  const SSTableDescriptor& descriptor() const { return files.descriptor; }
};

class OfflineRewriter {
 public:
  // All outlive it.
  OfflineRewriter(const ToolContext& context, const EngineOptions& storage, TablePtr table)
      : context_(context), storage_(storage), table_(std::move(table)) {}

  // Learns which ids are taken in a directory and in its backups/. Before the first SSTable is written there.
  Status note_ids(const std::string& directory);
  // Each in the version that the node writes. kCorruption and kInvalid: the old SSTable cannot be read.
  Status upgrade(const OfflineSSTable& old, bool keeps_old);
  // An SSTable ends when its Data.db has more than so many bytes; all are on level 0.
  Status split(const OfflineSSTable& old, uint64_t max_bytes);
  // Keeps all that can be read. kCorruption: it has to stop.
  Status scrub(const OfflineSSTable& old, const SSTableScrub& options);

 private:
  struct Names;
  struct Rewrite;

  Task<Status> merge(Rewrite* rewrite);
  Task<Status> scrub_all(Rewrite* rewrite, const SSTableScrub* options);
  Task<Status> end(SSTableTransaction* transaction, Status written, std::vector<SSTableDescriptor> obsolete);
  ShardRuntime& shard() const { return context_.runtime->shard(0); }

  const ToolContext& context_;
  const EngineOptions& storage_;
  TablePtr table_;
  SSTableSequence sequence_;
};

// Hard links in snapshots/<tag>/ of the directory of each.
Status snapshot_sstables(const ToolContext& context, const std::vector<SSTableDescriptor>& sstables,
                         const std::string& tag);

// In the order of their ids (SSTableIdFactory.COMPARATOR).
void sort_by_id(std::vector<SSTableOnDisk>& sstables);

// Whether Cassandra's tool would have gone on with the next SSTable after such an error. Its other errors end it.
inline bool is_of_sstable(const Error& error) {
  return error.code() == ErrorCode::kCorruption || error.code() == ErrorCode::kInvalid;
}

// Prints what the JVM does when Cassandra's tool cannot write a file. Returns the exit code.
int fail_to_write(const ToolContext& context, const Error& error);

// The end of a tool that prints the message of an exception, and with --debug the exception. Returns the exit code.
int fail_with_message(const ToolContext& context, const Error& error, bool is_debug);

}  // namespace cassandra_like::sstable_tools
