#include "coordinator/read/filtered_resolver.h"

#include <algorithm>
#include <deque>

#include "coordinator/read/resolver.h"

namespace cassandra_like {
namespace {

class FilteredResolution {
 public:
  FilteredResolution(ReadOperation& operation, FetchRef fetch)
      : operation_(operation),
        fetch_(std::move(fetch)),
        is_static_(sent_condition(operation.command)->column->kind == ColumnKind::kStatic) {}
  Task<Status> run();

 private:
  // Behind it, what is left of the question has not been answered. No clustering: behind the partition.
  struct Place {
    Token token = kMinimumToken;
    Bytes key, clustering;
  };

  Status open_answers();
  Result<bool> next_partition();
  Task<Status> merge();
  Result<bool> read_partition();
  Status read_rows(ResolveSource& source, UnfilteredBuffer* copy, ReadQuorum::Digest& digest);
  void cut_at(const Bytes& place);
  Status feed_copy();
  Task<Status> fetch_again();
  Task<Status> wait(FetchRef fetch);
  Error failure(Error error);
  bool precedes(const Bytes& a, const Bytes& b) const { return operation_.command.reversed ? b < a : a < b; }

  ReadOperation& operation_;
  FetchRef fetch_;
  const bool is_static_;
  std::deque<ResolveSource> sources_;
  // The partition that is looked at.
  Token token_ = kMinimumToken;
  Bytes key_;
  std::vector<Bytes> rows_;  // their places
  UnfilteredBuffer copy_{std::numeric_limits<size_t>::max()};
  std::optional<Place> end_;
};

Error FilteredResolution::failure(Error error) {
  for (const ResolveSource& source : sources_) {
    if (!source.is_corrupt()) continue;
    return corrupt_answer(operation_, *fetch_, source.endpoint(), static_cast<int>(sources_.size()) - 1, error);
  }
  return error;
}

// One of them, when all are the same.
Status FilteredResolution::open_answers() {
  sources_.clear();
  end_.reset();
  const Result<bool> match = fetch_->answers_match();
  std::vector<ReplicaData>& data = fetch_->data();
  if (match.ok() && *match) data.resize(1);
  for (ReplicaData& answer : data) {
    ResolveSource& source = sources_.emplace_back(fetch_->request, std::move(answer));
    TRY(source.advance());
  }
  data.clear();
  return {};
}

// Reads the first partition of all that are left. False: there is none.
Result<bool> FilteredResolution::next_partition() {
  const ResolveSource* first = nullptr;
  for (const ResolveSource& source : sources_) {
    if (source.has_partition() && (first == nullptr || source.key() < first->key())) first = &source;
  }
  if (first == nullptr) return false;
  token_ = first->key().token;
  key_.assign(first->key().key);
  return true;
}

Status FilteredResolution::read_rows(ResolveSource& source, UnfilteredBuffer* copy, ReadQuorum::Digest& digest) {
  ReadDigest hash(fetch_->request);
  const UnfilteredSink::Partition head{source.key(), source.partition_deletion(), source.static_row(),
                                       operation_.command.reversed};
  hash.begin_partition(head);
  if (copy != nullptr) copy->begin_partition(head);
  while (true) {
    Result<const Unfiltered*> next = source.next();
    if (!next.ok() && !source.wants_rows()) return std::move(next.error());
    if (!next.ok() || *next == nullptr) break;
    const Unfiltered& unfiltered = **next;
    hash.unfiltered(unfiltered);
    if (copy != nullptr) copy->unfiltered(unfiltered);
    if (unfiltered.is_row) rows_.emplace_back(unfiltered.row.clustering.comparable);
  }
  if (copy != nullptr) copy->end_partition();
  const Bytes bytes = hash.finish();
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return source.leave_partition();
}

// The nearest of those that are told.
void FilteredResolution::cut_at(const Bytes& place) {
  if (!end_) {
    end_ = Place{token_, key_, place};
  } else if (end_->clustering.empty() || (!place.empty() && precedes(place, end_->clustering))) {
    end_->clustering = place;
  }
}

// Whether the partition is the same in all answers. Then copy_ has it.
Result<bool> FilteredResolution::read_partition() {
  rows_.clear();
  copy_.clear();
  std::optional<ReadQuorum::Digest> first;
  bool is_same = true;
  const DecoratedKey key{token_, key_};
  for (ResolveSource& source : sources_) {
    if (!source.has_partition() || source.key() != key) {
      is_same = false;
      continue;
    }
    ReadQuorum::Digest digest{};
    TRY(read_rows(source, first ? nullptr : &copy_, digest));
    if (!first) first = digest;
    is_same &= *first == digest;
    const Bytes last = source.last_place();
    ASSIGN_OR_RETURN(const bool has_more, source.advance());
    if (!has_more && source.is_cut()) cut_at(last);
  }
  return is_same;
}

Status FilteredResolution::feed_copy() {
  PartitionReader& partition = copy_.take();
  TRY(operation_.feeder.begin(partition));
  while (true) {
    ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition.next());
    if (unfiltered == nullptr) break;
    ASSIGN_OR_RETURN(const RowFeeder::Step step, operation_.feeder.take(*unfiltered));
    if (step != RowFeeder::Step::kContinue) break;
  }
  if (operation_.partition_goes_on) {
    operation_.feeder.change_reader();
  } else {
    operation_.feeder.end();
  }
  return {};
}

Task<Status> FilteredResolution::wait(FetchRef fetch) {
  Task<void> decided = operation_.wait_for(fetch);
  co_await decided;
  CO_TRY(operation_.outcome());
  operation_.tombstones += fetch->tombstones();
  co_return Status();
}

// The partition's rows by their keys, or all of them, without conditions on values.
Task<Status> FilteredResolution::fetch_again() {
  const TableMetadata& table = *operation_.command.table;
  ReadCommand part = fetch_->request.command;
  if (!is_static_ && !table.clustering.empty()) {
    if (end_ && !end_->clustering.empty()) {
      auto is_behind = [this](const Bytes& row) { return precedes(end_->clustering, row); };
      rows_.erase(std::remove_if(rows_.begin(), rows_.end(), is_behind), rows_.end());
    }
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
    if (rows_.empty()) co_return Status();
    part.slices.clear();
    for (const Bytes& row : rows_) {
      Slice& slice = part.slices.emplace_back(Slice{row, row});
      slice.start.back() = kBeforeTerminator;
      slice.end.back() = kAfterTerminator;
    }
  }
  part.range.reset();
  FetchRef fetch = ask_same(operation_, *fetch_, part, SentConditions::kOnKeys, DecoratedKey{token_, key_});
  Task<Status> waiting = wait(fetch);
  Status status = co_await waiting;
  if (!status.ok()) co_return told_of_differences(operation_, fetch->plan(), std::move(status));
  Task<Status> resolving = resolve(&operation_, std::move(fetch));
  status = co_await resolving;
  co_return status;
}

Task<Status> FilteredResolution::merge() {
  Status opened = open_answers();
  if (!opened.ok()) co_return failure(std::move(opened.error()));
  while (!operation_.feeder.stopped() && !end_) {
    CO_ASSIGN_OR_RETURN(const bool has_partition, next_partition());
    if (!has_partition) break;
    Result<bool> is_same = read_partition();
    if (!is_same.ok()) co_return failure(std::move(is_same.error()));
    if (!*is_same && is_static_ && end_) end_->clustering.clear();
    operation_.partition_goes_on = end_ && !end_->clustering.empty();
    if (*is_same) {
      CO_TRY(feed_copy());
    } else {
      Task<Status> fetching = fetch_again();
      Status fetched = co_await fetching;
      if (!fetched.ok()) co_return fetched;
    }
    if (operation_.feeder.wants_break()) co_await operation_.pool.context.runtime.executor.yield();
  }
  operation_.partition_goes_on = false;
  co_return Status();
}

Task<Status> FilteredResolution::run() {
  while (true) {
    Task<Status> merging = merge();
    Status status = co_await merging;
    if (!status.ok()) co_return status;
    if (!end_ || operation_.feeder.stopped()) break;
    ReadCommand rest = fetch_->request.command;
    const DecoratedKey key{end_->token, end_->key};
    std::optional<ReadCommand> partition = continue_behind(rest, key, end_->clustering);
    if (partition) {
      FetchRef fetch = ask_same(operation_, *fetch_, *partition, SentConditions::kOnOne, key);
      Task<Status> waiting = wait(fetch);
      status = co_await waiting;
      if (!status.ok()) co_return status;
      Task<Status> resolving = resolve_filtered(&operation_, std::move(fetch));
      status = co_await resolving;
      if (!status.ok()) co_return status;
    }
    operation_.feeder.end();
    if (!rest.range || operation_.feeder.stopped()) break;
    sources_.clear();
    fetch_ = ask_same(operation_, *fetch_, rest, SentConditions::kOnOne, std::nullopt);
    Task<Status> waiting = wait(fetch_);
    status = co_await waiting;
    if (!status.ok()) co_return status;
  }
  operation_.feeder.end();
  co_return Status();
}

Task<Status> run_filtered(std::unique_ptr<FilteredResolution> resolution) {
  Task<Status> running = resolution->run();
  Status status = co_await running;
  co_return status;
}

}  // namespace

Task<Status> resolve_filtered(ReadOperation* operation, FetchRef fetch) {
  return run_filtered(std::make_unique<FilteredResolution>(*operation, std::move(fetch)));
}

}  // namespace cassandra_like
