#include "replica/range_read.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "runtime/gather.h"

namespace cassandra_like {

Error read_timeout(const TableMetadata& table) {
  return Error(ErrorCode::kReadTimeout,
               fmt::format("A read of {} took longer than the timeout of its request", table.qualified_name()));
}

// The bits that shard_of() ignores number slices of the ring; each has a piece of every shard, in the order of the shards.
std::optional<Token> next_token_of_shard(Token from, unsigned shard, unsigned shard_count) {
  const unsigned owner = shard_of(from, shard_count);
  if (owner == shard) return from;
  constexpr unsigned kBits = 64 - kShardingIgnoreMsb;
  constexpr uint64_t kBias = 1ULL << 63;
  const uint64_t slice = ((static_cast<uint64_t>(from) + kBias) >> kBits) + (owner > shard ? 1 : 0);
  if (slice >> kShardingIgnoreMsb != 0) return std::nullopt;
  __extension__ using Wide = unsigned __int128;
  // shard / shard_count of a slice, rounded up.
  const auto piece = static_cast<uint64_t>(((static_cast<Wide>(shard) << kBits) + shard_count - 1) / shard_count);
  const auto token = static_cast<Token>(((slice << kBits) | piece) - kBias);
  DCHECK(token > from && shard_of(token, shard_count) == shard);
  return token;
}

RangeRead::RangeRead(NodeShared& shared, unsigned home, const ReadCommand& command, RowSink& sink, int64_t deadline)
    : shared_(shared),
      home_(shared.runtime.shard(home)),
      replica_(*shared.replicas[home]),
      command_(command),
      sink_(sink),
      deadline_(deadline),
      allowance_(deadline == kNoDeadline ? 0 : deadline - home_.clock.monotonic_nanos()),
      counter_(command.limits, command.counts_static_rows()) {
  const unsigned shards = shared.runtime.shard_count();
  for (unsigned shard = 0; shard < shards; ++shard) {
    Source& source = sources_.emplace_back(shard, command);
    source.rest.tombstones = &tombstones_;
    source.behind = next_token_of_shard(command.range->start.token, shard, shards);
    if (source.behind && *source.behind > command.range->end.token) source.behind.reset();
  }
}

int64_t RangeRead::deadline() {
  if (deadline_ != kNoDeadline && counter_.rows() - rows_before_ >= command_.rows_of_deadline) {
    deadline_ = home_.clock.monotonic_nanos() + allowance_;
    rows_before_ = counter_.rows();
  }
  return deadline_;
}

Task<Result<ReadStatistics>> RangeRead::run() {
  const bool any_order = sink_.takes_any_order() && sink_.callable_from_any_shard();
  Status status;
  if (any_order) {
    status = co_await read_in_any_order();
  } else {
    status = co_await read_in_ring_order();
  }
  CO_TRY(std::move(status));
  for (const Source& source : sources_) {
    total_.sstables += source.sstables;
    total_.memtables += source.memtables;
  }
  total_.rows = counter_.rows();
  total_.tombstones = tombstones_.sum.load(std::memory_order_relaxed);
  total_.stopped |= counter_.done();
  co_return total_;
}

Task<Status> RangeRead::read_in_ring_order() {
  while (!counter_.done() && !total_.stopped) {
    Token until = 0;
    Source* source = next(&until);
    if (source == nullptr) break;
    if (source->is_dry()) {
      CO_TRY(co_await fill(source));
    } else {
      CO_TRY(co_await deliver(source, until));
    }
  }
  co_return Status();
}

RangeRead::Source* RangeRead::next(Token* until) {
  Source* first = nullptr;
  *until = std::numeric_limits<Token>::max();
  for (Source& source : sources_) {
    if (!source.has_more()) continue;
    const Token token = source.next_token();
    if (first == nullptr) {
      first = &source;
    } else if (token < first->next_token()) {
      *until = std::min(*until, first->next_token());
      first = &source;
    } else {
      *until = std::min(*until, token);
    }
  }
  return first;
}

// A share of the rows that the answer still needs. Rows are spread evenly over the shards when there are many; a few may all be of one.
uint64_t RangeRead::share() const {
  constexpr uint64_t kFew = 32;
  const uint64_t left = counter_.left();
  return std::min(left, std::max(kFew, left / sources_.size() + kFew / 2));
}

// A read that is done when it has asked once does not look at the clock again.
Status RangeRead::check_deadline() {
  TRY(check_wanted(command_.abandonment));
  if (!std::exchange(asked_, true) || home_.clock.monotonic_nanos() <= deadline()) return {};
  return read_timeout(*command_.table);
}

void RangeRead::prepare(Source& source) const {
  source.rows.clear();
  source.rows.set_share(share());
  // A partition that ends the answer on its own need not be whole.
  source.rest.limits.rows = counter_.left();
  if (!source.rows.encodes()) source.rows.encode_with(sink_.fork());
}

// Large answers need all shards, so those that are dry are asked together.
Task<Status> RangeRead::fill(Source* source) {
  DCHECK(source->is_dry() && source->behind);
  CO_TRY(check_deadline());
  constexpr uint64_t kLarge = 128;
  const bool all = counter_.left() > kLarge;
  std::vector<unsigned> shards;
  for (Source& other : sources_) {
    if (&other != source && !(all && other.is_dry() && other.behind)) continue;
    prepare(other);
    shards.push_back(other.shard);
  }
  std::function<Task<Filled>(unsigned)> ask = [this, deadline = deadline()](unsigned shard) {
    return fill_one(shared_.engines[shard].get(), &sources_[shard], deadline);
  };
  auto parts = co_await gather<Filled>(shared_.runtime, home_.executor, shards, std::move(ask));
  for (size_t i = 0; i < parts.size(); ++i) {
    CO_TRY(std::move(parts[i].status));
    note(sources_[shards[i]], parts[i].statistics);
  }
  co_return Status();
}

Task<RangeRead::Filled> RangeRead::fill_one(Engine* engine, Source* source, int64_t deadline) {
  Filled filled;
  Result<ReadStatistics> statistics = co_await engine->read(source->rest, source->rows, deadline);
  if (statistics.ok()) {
    filled.statistics = *statistics;
  } else {
    filled.status = std::move(statistics.error());
  }
  co_return filled;
}

// The rows that a shard has given, and the place where it goes on.
void RangeRead::note(Source& source, const ReadStatistics& statistics) {
  source.tombstones_of_last = statistics.tombstones_of_last;
  source.sstables = std::max(source.sstables, statistics.sstables);
  source.memtables = std::max(source.memtables, statistics.memtables);
  source.behind.reset();
  if (!statistics.stopped || source.is_dry()) return;
  const DecoratedKey& last = source.rows.last_key();
  DCHECK(source.rest.range->contains(last));
  source.behind = last.token;
  source.rest.range->start = RingPosition::at(last);
  source.rest.range->start_inclusive = false;
}

Task<Status> RangeRead::deliver(Source* source, Token until) {
  RowBuffer& rows = source->rows;
  do {
    if (rows.is_cut()) {
      Status status = co_await read_cut_partition(source);
      co_return status;
    }
    total_.stopped = rows.deliver(sink_, counter_) == RowSink::Next::kStop;
  } while (!total_.stopped && rows.has_partition() && rows.key().token < until);
  co_return Status();
}

Task<Status> RangeRead::read_cut_partition(Source* source) {
  ReadCommand partition = command_;
  partition.range.reset();
  partition.keys.push_back(source->rows.key());
  partition.limits.rows = counter_.left();
  // They are met again.
  partition.tombstones = &tombstones_;
  tombstones_.sum.fetch_sub(source->tombstones_of_last, std::memory_order_relaxed);
  source->rows.skip();
  CO_ASSIGN_OR_RETURN(ReadStatistics statistics, co_await replica_.read(partition, sink_, deadline()));
  counter_.count_elsewhere(statistics.rows);
  total_.stopped = statistics.stopped;
  co_return Status();
}

Task<Status> RangeRead::read_in_any_order() {
  for (Source& source : sources_) {
    if (!source.behind || total_.stopped) continue;
    CO_TRY(check_wanted(command_.abandonment));
    source.rest.limits.rows = counter_.left();
    Engine* engine = shared_.engines[source.shard].get();
    auto read = [engine, command = &source.rest, sink = &sink_, deadline = deadline()] {
      return engine->read(*command, *sink, deadline);
    };
    Executor& there = shared_.runtime.shard(source.shard).executor;
    Task<Result<ReadStatistics>> reading = run_on<Result<ReadStatistics>>(home_.executor, there, read);
    CO_ASSIGN_OR_RETURN(ReadStatistics statistics, co_await reading);
    counter_.count_elsewhere(statistics.rows);
    total_.stopped = statistics.stopped;
    source.sstables = statistics.sstables;
    source.memtables = statistics.memtables;
  }
  co_return Status();
}

}  // namespace cassandra_like
