#include "coordinator/read/resolver.h"

#include <algorithm>
#include <deque>

#include "base/dcheck.h"

namespace cassandra_like {

// ---- The answer of one replica

void ResolveSource::Part::open(const ReadRequest& request) {
  if (data.buffer == nullptr) response = std::make_unique<ResponseReader>(request, data.partitions());
}

Result<PartitionReader*> ResolveSource::Part::next() {
  if (response != nullptr) return response->next();
  return data.buffer->has_partition() ? &data.buffer->take() : nullptr;
}

ResolveSource::ResolveSource(const ReadRequest& request, ReplicaData data)
    : request_(request), limits_(request.limits.to_count()), endpoint_(data.endpoint) {
  partitions_part_.data = std::move(data);
  partitions_part_.open(request);
}

Result<bool> ResolveSource::advance() {
  DCHECK(at_ == nullptr);
  rows_parts_.clear();
  Result<PartitionReader*> next = partitions_part_.next();
  is_corrupt_ = !next.ok();
  if (!next.ok()) return std::move(next.error());
  at_ = *next;
  if (at_ == nullptr) return false;
  key_ = at_->key();
  partition_deletion_ = at_->partition_deletion();
  static_row_ = at_->static_row();
  partitions_.partition();
  rows_ = ShortReadRows();
  sent_.in_partition = 0;
  has_ended_ = false;
  last_token_ = key_.token;
  last_key_.assign(key_.key);
  last_place_.clear();
  return true;
}

void ResolveSource::count(const Unfiltered& unfiltered) {
  last_place_.assign(unfiltered.position().comparable);
  if (!unfiltered.is_row || !unfiltered.row.has_live_data(request_.command.now_seconds)) return;
  ++sent_.rows;
  ++sent_.in_partition;
}

void ResolveSource::count_end() {
  if (std::exchange(has_ended_, true)) return;
  const bool has_only_static = sent_.in_partition == 0 && static_row_.has_live_data(request_.command.now_seconds);
  if (has_only_static && request_.counts_static_rows()) ++sent_.rows;
}

Result<const Unfiltered*> ResolveSource::next() {
  if (at_ == nullptr) return nullptr;
  Result<const Unfiltered*> unfiltered = at_->next();
  is_corrupt_ = !unfiltered.ok();
  if (!unfiltered.ok()) return unfiltered;
  if (*unfiltered != nullptr) {
    count(**unfiltered);
    return unfiltered;
  }
  count_end();
  wanted_rows_ = rows_.more(limits_, sent_, !request_.command.table->clustering.empty());
  if (wanted_rows_) return Error(ErrorCode::kOverloaded, "A part of the partition has not been asked for yet");
  return nullptr;
}

Status ResolveSource::leave_partition() {
  while (at_ != nullptr) {
    Result<const Unfiltered*> unfiltered = at_->next();
    is_corrupt_ = !unfiltered.ok();
    if (!unfiltered.ok()) return std::move(unfiltered.error());
    if (*unfiltered != nullptr) {
      count(**unfiltered);
      continue;
    }
    count_end();
    at_ = nullptr;
  }
  wanted_rows_.reset();
  return {};
}

Status ResolveSource::add_rows(FetchRef fetch) {
  wanted_rows_.reset();
  if (!fetch) return {};
  Part& part = *rows_parts_.emplace_back(std::make_unique<Part>());
  part.fetch = std::move(fetch);
  part.data = std::move(part.fetch->data()[0]);
  part.open(part.fetch->request);
  Result<PartitionReader*> partition = part.next();
  is_corrupt_ = !partition.ok();
  if (!partition.ok()) return std::move(partition.error());
  // Without a partition there are no rows: the reader that has ended tells so again.
  if (*partition == nullptr) return {};
  at_ = *partition;
  // The partition was deleted since the replica's first answer. Range deletions that this one covers are not in the answer.
  if (at_->partition_deletion().supersedes(partition_deletion_)) partition_deletion_ = at_->partition_deletion();
  return {};
}

std::optional<WireLimits> ResolveSource::more_partitions(uint64_t merged_rows) {
  const UnfilteredBuffer* buffer = partitions_part_.data.buffer.get();
  if (buffer != nullptr && buffer->is_full() && sent_.rows < limits_.rows) {
    WireLimits rest = request_.limits;
    if (rest.rows != WireLimits::kNoLimit) rest.rows -= static_cast<uint32_t>(sent_.rows);
    return rest;
  }
  const auto wanted = partitions_.more(limits_, sent_, merged_rows < limits_.rows ? merged_rows : 0);
  if (!wanted) return std::nullopt;
  WireLimits limits;
  limits.rows = static_cast<uint32_t>(std::min<uint64_t>(*wanted, WireLimits::kNoLimit));
  return limits;
}

void ResolveSource::add_partitions(FetchRef fetch) {
  DCHECK(at_ == nullptr);
  partitions_part_.response.reset();
  partitions_part_.data = std::move(fetch->data()[0]);
  partitions_part_.fetch = std::move(fetch);
  partitions_part_.open(partitions_part_.fetch->request);
}

// ---- The merge

namespace {

constexpr int64_t kNotInTime = 1'000'000'000;  // microseconds

class Resolution {
 public:
  Resolution(ReadOperation& operation, FetchRef fetch);
  Task<Status> run();

 private:
  Task<Status> fill(ResolveSource* source);
  Task<Status> merge_partition();
  Task<Status> fetch_rows();
  Task<Result<FetchRef>> ask_again(EndpointIndex endpoint, ReadCommand command, WireLimits limits);
  Status feed(PartitionReader& partition, bool& needs_rows);
  ResolveSource* first_source();
  Status begin_repair(const DecoratedKey& key);
  Result<ReadRepairPlan> plan_repair(Token token) const;
  Status repair(ResolvedPartition& resolved);
  Error failure(Error error);

  ReadOperation& operation_;
  const FetchRef fetch_;
  const ReadRequest& request_;
  std::deque<ResolveSource> sources_;
  std::vector<bool> ended_;
  EndpointList answered_;
  uint64_t rows_before_;
  // The partition that is merged: who is repaired, and whose part of it is read.
  DecoratedKey key_;
  std::vector<EndpointIndex> targets_;
  std::vector<PartitionReader*> readers_;
  std::optional<ReadRepairPlan> repair_plan_;
};

Resolution::Resolution(ReadOperation& operation, FetchRef fetch)
    : operation_(operation),
      fetch_(std::move(fetch)),
      request_(fetch_->request),
      rows_before_(operation.feeder.rows()) {
  for (ReplicaData& data : fetch_->data()) {
    answered_.push_back(data.endpoint);
    sources_.emplace_back(request_, std::move(data));
  }
  fetch_->data().clear();
  ended_.resize(sources_.size());
}

Error Resolution::failure(Error error) {
  for (const ResolveSource& source : sources_) {
    if (!source.is_corrupt()) continue;
    return corrupt_answer(operation_, *fetch_, source.endpoint(), static_cast<int>(sources_.size()) - 1, error);
  }
  return error;
}

ResolveSource* Resolution::first_source() {
  ResolveSource* first = nullptr;
  for (ResolveSource& source : sources_) {
    if (source.has_partition() && (first == nullptr || source.key() < first->key())) first = &source;
  }
  return first;
}

Task<Status> Resolution::run() {
  while (!operation_.feeder.stopped()) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      ResolveSource& source = sources_[i];
      if (source.has_partition() || ended_[i]) continue;
      Result<bool> more = source.advance();
      if (!more.ok()) co_return failure(std::move(more.error()));
      if (*more) continue;
      if (request_.command.range) {
        Task<Status> filling = fill(&source);
        Status filled = co_await filling;
        if (!filled.ok()) co_return failure(std::move(filled.error()));
      }
      ended_[i] = !source.has_partition();
    }
    ResolveSource* first = first_source();
    if (first == nullptr) break;
    key_ = first->key();
    Task<Status> merging = merge_partition();
    Status merged = co_await merging;
    if (!merged.ok()) co_return failure(std::move(merged.error()));
    if (operation_.feeder.stopped()) break;
    for (ResolveSource& source : sources_) {
      if (!source.has_partition() || source.key() != key_) continue;
      Status left = source.leave_partition();
      if (!left.ok()) co_return failure(std::move(left.error()));
    }
  }
  co_return Status();
}

// The source's next partition from the replica, if that may have any.
Task<Status> Resolution::fill(ResolveSource* source) {
  while (!source->has_partition()) {
    const std::optional<WireLimits> limits = source->more_partitions(operation_.feeder.rows() - rows_before_);
    if (!limits) break;
    ReadCommand command = request_.command;
    command.range->start = RingPosition::at(source->last_key());
    command.range->start_inclusive = false;
    Task<Result<FetchRef>> asking = ask_again(source->endpoint(), std::move(command), *limits);
    Result<FetchRef> fetch = co_await asking;
    if (!fetch.ok()) co_return std::move(fetch.error());
    source->add_partitions(std::move(*fetch));
    Result<bool> more = source->advance();
    if (!more.ok()) co_return std::move(more.error());
  }
  co_return Status();
}

// The command's key lives as long as this.
Task<Result<FetchRef>> Resolution::ask_again(EndpointIndex endpoint, ReadCommand command, WireLimits limits) {
  FetchRef fetch = operation_.pool.take();
  fetch->request = request_;
  fetch->request.command = std::move(command);
  fetch->request.limits = std::move(limits);
  if (!fetch->request.command.keys.empty()) {
    DecoratedKey& key = fetch->request.command.keys[0];
    fetch->key.assign(key.key);
    key.key = fetch->key;
  }
  ReadPlan plan;
  plan.block_for = 1;
  plan.contacts = 1;
  plan.candidates = {endpoint};
  Fetch::Options options;
  options.deadline = operation_.deadline;
  options.trace = operation_.trace;
  options.tracks_warnings = operation_.pool.context.options.tracks_warnings;
  options.local_bytes = request_.command.range ? kLocalBytesOfRange : std::numeric_limits<size_t>::max();
  fetch->start(operation_.cluster, std::move(plan), options);
  Task<void> decided = operation_.wait_for(fetch);
  co_await decided;
  CO_TRY(operation_.outcome());
  co_return fetch;
}

// ---- A partition

// Fills in targets_ and readers_.
Status Resolution::begin_repair(const DecoratedKey& key) {
  targets_.clear();
  readers_.clear();
  repair_plan_.reset();
  for (ResolveSource& source : sources_) {
    targets_.push_back(source.endpoint());
    readers_.push_back(source.has_partition() && source.key() == key ? &source : nullptr);
  }
  if (sources_.size() < 2 || !operation_.repairs()) return {};
  const bool others_wait = !operation_.replicas->pending.of(key.token).empty();
  if (!others_wait && static_cast<int>(sources_.size()) >= fetch_->plan().block_for) return {};
  ASSIGN_OR_RETURN(repair_plan_, plan_repair(key.token));
  for (EndpointIndex endpoint : repair_plan_->contacts) {
    if (std::find(targets_.begin(), targets_.end(), endpoint) != targets_.end()) continue;
    targets_.push_back(endpoint);
    readers_.push_back(nullptr);
  }
  return {};
}

Result<ReadRepairPlan> Resolution::plan_repair(Token token) const {
  return plan_read_repair(operation_.placement(), token, operation_.consistency, {answered_.data(), answered_.size()});
}

// To the client, until rows are missing, or its limits are reached, or the partition ends.
Status Resolution::feed(PartitionReader& partition, bool& needs_rows) {
  needs_rows = false;
  while (true) {
    Result<const Unfiltered*> next = partition.next();
    if (!next.ok()) {
      needs_rows = std::any_of(sources_.begin(), sources_.end(), [](const auto& s) { return s.wants_rows(); });
      return needs_rows ? Status() : Status(std::move(next.error()));
    }
    if (*next == nullptr) return {};
    ASSIGN_OR_RETURN(const RowFeeder::Step step, operation_.feeder.take(**next));
    if (step != RowFeeder::Step::kContinue) return {};
  }
}

Task<Status> Resolution::merge_partition() {
  CO_TRY(begin_repair(key_));
  std::optional<ResolvedPartition> resolved;
  PartitionReader* partition = readers_[0];
  if (readers_.size() > 1) {
    ResolveOptions options;
    options.reversed = request_.command.reversed;
    options.gc_before = request_.command.now_seconds - request_.command.table->params.gc_grace_seconds;
    resolved.emplace(readers_, options);
    partition = &*resolved;
  }
  CO_TRY(operation_.feeder.begin(*partition));
  while (true) {
    bool needs_rows = false;
    CO_TRY(feed(*partition, needs_rows));
    if (!needs_rows) break;
    Task<Status> fetching = fetch_rows();
    Status fetched = co_await fetching;
    if (!fetched.ok()) co_return fetched;
  }
  if (operation_.partition_goes_on) {
    operation_.feeder.change_reader();
  } else {
    operation_.feeder.end();
  }
  if (resolved && operation_.repairs()) CO_TRY(repair(*resolved));
  resolved.reset();
  if (operation_.feeder.wants_break()) co_await operation_.pool.context.runtime.executor.yield();
  co_return Status();
}

// The rest of the partition, from those whose answers a limit has cut.
Task<Status> Resolution::fetch_rows() {
  for (ResolveSource& source : sources_) {
    if (!source.wants_rows()) continue;
    ReadCommand command = request_.command;
    std::optional<ReadCommand> rest = continue_behind(command, key_, source.last_place());
    FetchRef fetch;
    if (rest) {
      WireLimits limits;
      limits.rows = static_cast<uint32_t>(std::min<uint64_t>(*source.wants_rows(), WireLimits::kNoLimit));
      Task<Result<FetchRef>> asking = ask_again(source.endpoint(), std::move(*rest), std::move(limits));
      Result<FetchRef> answer = co_await asking;
      if (!answer.ok()) co_return std::move(answer.error());
      fetch = std::move(*answer);
    }
    Status added = source.add_rows(std::move(fetch));
    if (!added.ok()) co_return added;
  }
  co_return Status();
}

// Each replica gets what it lacks of what was read.
Status Resolution::repair(ResolvedPartition& resolved) {
  std::deque<PartitionRepair>& repairs = resolved.end();
  if (std::all_of(repairs.begin(), repairs.end(), [](const PartitionRepair& r) { return r.empty(); })) return {};
  if (!repair_plan_) {
    ASSIGN_OR_RETURN(repair_plan_, plan_repair(key_.token));
  }
  RequestContext& context = operation_.pool.context;
  RepairWrites::Options options;
  options.deadline = operation_.deadline;
  options.trace = operation_.trace;
  options.additional = context.now() + std::min<int64_t>(operation_.table->additional_write_micros, kNotInTime) * 1000;
  auto writes = std::make_shared<RepairWrites>(context, operation_.cluster, *repair_plan_, options);
  const TableMetadata& table = *request_.command.table;
  for (size_t i = 0; i < repairs.size(); ++i) {
    if (repairs[i].empty()) continue;
    const PartitionUpdate update = repairs[i].update(table, resolved.key());
    writes->add(targets_[i], SerializedMutation(Mutation{table.keyspace, update.key, {&update, 1}}));
  }
  writes->start();
  operation_.unfinished.push_back(std::move(writes));
  return {};
}

Task<Status> run_resolution(std::unique_ptr<Resolution> resolution) {
  Task<Status> running = resolution->run();
  Status status = co_await running;
  co_return status;
}

}  // namespace

Task<Status> resolve(ReadOperation* operation, FetchRef fetch) {
  return run_resolution(std::make_unique<Resolution>(*operation, std::move(fetch)));
}

}  // namespace cassandra_like
