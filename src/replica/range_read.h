// A read of a range of the ring on a node with several shards.
//
// Every slice of the ring has a piece of each shard, so the rows of an answer come from all of them in turn. A shard is
// asked for its share of what the answer still needs, in a buffer of bounded size (RowBuffer), and again when it has run
// dry and its next piece of the ring is reached: the shards that a small answer does not reach are not asked. A share
// ends with a partition, so that each is seen as it was at one time. Partitions are merged in ring order.
//
// A partition that did not fit its buffer is read by its key into the sink itself, from its beginning: the rows that the
// buffer had of it, at most a buffer full, are read twice.
//
// A sink that takes partitions in any order is fed by one shard after another, without buffers.
#pragma once

#include <deque>
#include <optional>

#include "read/read_pipeline.h"
#include "read/row_buffer.h"
#include "replica/replica_impl.h"

namespace cassandra_like {

// kReadTimeout: the deadline of a read has passed before it was done.
Error read_timeout(const TableMetadata& table);

// The first token that is not before `from` and belongs to the shard; none when there is no such token.
std::optional<Token> next_token_of_shard(Token from, unsigned shard, unsigned shard_count);

class RangeRead {
 public:
  // On shard `home`. Everything outlives this.
  RangeRead(NodeShared& shared, unsigned home, const ReadCommand& command, RowSink& sink, int64_t deadline);

  Task<Result<ReadStatistics>> run();

 private:
  // A shard, and what it has given.
  struct Source {
    Source(unsigned s, const ReadCommand& command) : shard(s), rest(command) {}

    // A partition of a page's rows is delivered as a whole when it is not large.
    static constexpr RowBuffer::WholePartition kWhole{ReadPipeline::kPage, 64 * 1024};

    unsigned shard;
    RowBuffer rows{kWhole};
    ReadCommand rest;                 // what it has not given yet
    std::optional<Token> behind;      // where its rest begins at the earliest; none when it has nothing more
    uint64_t tombstones_of_last = 0;  // in the partition that it gave last
    uint64_t sstables = 0, memtables = 0;

    bool is_dry() const { return !rows.has_partition(); }
    bool has_more() const { return !is_dry() || behind.has_value(); }
    Token next_token() const { return is_dry() ? *behind : rows.key().token; }
  };
  // The answer of a shard.
  struct Filled {
    Status status;
    ReadStatistics statistics;
  };

  Task<Status> read_in_ring_order();
  Task<Status> read_in_any_order();
  // The next one, and the token of the one after it.
  Source* next(Token* until);
  uint64_t share() const;
  void prepare(Source& source) const;
  Task<Status> fill(Source* source);
  static Task<Filled> fill_one(Engine* engine, Source* source, int64_t deadline);
  void note(Source& source, const ReadStatistics& statistics);
  Task<Status> deliver(Source* source, Token until);
  Task<Status> read_cut_partition(Source* source);
  int64_t deadline();
  Status check_deadline();

  NodeShared& shared_;
  ShardRuntime& home_;
  ReplicaImpl& replica_;
  const ReadCommand& command_;
  RowSink& sink_;
  int64_t deadline_;
  const int64_t allowance_;
  uint64_t rows_before_ = 0;  // when the deadline began
  bool asked_ = false;        // a shard, before
  RowCounter counter_;
  TombstoneCount tombstones_;
  ReadStatistics total_;
  std::deque<Source> sources_;
};

}  // namespace cassandra_like
