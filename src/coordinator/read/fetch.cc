#include "coordinator/read/fetch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "messaging/read_command_codec.h"
#include "messaging/read_response.h"

namespace cassandra_like {
namespace {

constexpr size_t kDigestSize = std::tuple_size_v<ReadQuorum::Digest>;
// A buffer that has grown beyond this is not kept.
constexpr size_t kKeptBuffer = 64 * 1024;

ReadQuorum::Digest to_digest(BytesView bytes) {
  ReadQuorum::Digest out{};
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

// The reason that another node would be told (service.StorageProxy.LocalReadRunnable).
RequestFailureReason local_reason(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kReadFailure:
      return RequestFailureReason::kReadTooManyTombstones;
    case ErrorCode::kReadTimeout:
      return RequestFailureReason::kTimeout;
    default:
      return RequestFailureReason::kUnknown;
  }
}

Status add_to_digest(PartitionReader& partition, bool is_reversed, ReadDigest& digest) {
  digest.begin_partition({partition.key(), partition.partition_deletion(), partition.static_row(), is_reversed});
  while (true) {
    ASSIGN_OR_RETURN(const Unfiltered* unfiltered, partition.next());
    if (unfiltered == nullptr) return {};
    digest.unfiltered(*unfiltered);
  }
}

}  // namespace

// ---- References

FetchRef::FetchRef(Fetch* fetch) : fetch_(fetch) {
  if (fetch_ != nullptr) ++fetch_->holds_;
}
FetchRef::~FetchRef() {
  if (fetch_ != nullptr && --fetch_->holds_ == 0) fetch_->release();
}

void Fetch::release() {
  for (FetchContact* contact : contacts_) contact->fetch_ = nullptr;
  contacts_.clear();
  for (ReplicaData& data : data_) pool_.give_back(std::move(data.buffer));
  data_.clear();
  pool_.give_back(std::move(buffer_));
  local_digest_.reset();
  schema_before_.reset();
  schema_after_.reset();
  quorum_.reset();
  decided_.reset();
  data_body_ = digest_body_ = SharedBytes();
  cluster_.reset();
  options_.requests.reset();
  options_.trace.reset();
  if (options_.tracks_warnings) warnings_.clear();
  request.command.table.reset();
  ++generation_;
  pool_.free_fetches_.push_back(this);
}

// ---- The question

void Fetch::start(ClusterSnapshotPtr cluster, ReadPlan plan, Options options) {
  cluster_ = std::move(cluster);
  plan_ = std::move(plan);
  options_ = std::move(options);
  settled_ = false;
  speculated_ = options_.speculation == Speculation::kAtOnce;
  tombstones_ = 0;
  decided_.emplace();
  if (options_.kind == Kind::kData) {
    quorum_.emplace(ReadQuorum::of_data(plan_, options_.speculation));
  } else {
    quorum_.emplace(plan_, options_.speculation);
  }
  ++busy_;
  for (const ReplicaData& data : data_) quorum_->answered_with_data(data.endpoint);
  const auto targets = quorum_->targets();
  auto has_answered = [this](EndpointIndex endpoint) {
    return std::any_of(data_.begin(), data_.end(), [&](const ReplicaData& d) { return d.endpoint == endpoint; });
  };
  // This node's own read comes last: meanwhile the others work.
  for (const bool local : {false, true}) {
    for (const ReadTarget& target : targets) {
      const bool is_wanted = is_local(target.endpoint) == local && !has_answered(target.endpoint);
      if (is_wanted && state() == QuorumState::kWaiting) ask(target);
    }
  }
  if (options_.speculate_at > 0 && state() == QuorumState::kWaiting) {
    pool_.alarms.set(options_.speculate_at, *this, generation_);
  }
  --busy_;
  settle();
}

void Fetch::ask(const ReadTarget& target) {
  if (options_.trace != nullptr) trace(target);
  if (is_local(target.endpoint)) {
    ask_local(target.wants_data);
  } else {
    ask_remote(target);
  }
}

void Fetch::trace(const ReadTarget& target) {
  Trace& trace = *options_.trace;
  const std::string address = cluster_->address(target.endpoint).to_string();
  if (request.command.range) {
    const KeyRange& range = *request.command.range;
    trace.event(fmt::format("Enqueuing request to Full({},({},{}])", address, range.start.token, range.end.token));
  } else if (!is_local(target.endpoint)) {
    trace.event(fmt::format("reading {} from {}", target.wants_data ? "data" : "digest", address));
  }
  if (is_local(target.endpoint)) trace_read(trace, request.command);
}

void Fetch::ask_remote(const ReadTarget& target) {
  SharedBytes& body = target.wants_data ? data_body_ : digest_body_;
  if (!body) {
    request.is_digest = !target.wants_data;
    request.digest_version = request.is_digest ? kMessagingVersion40 : 0;
    pool_.scratch_.clear();
    encode_read_request(request, kMessagingVersion50, pool_.scratch_);
    body = SharedBytes::copy_of(pool_.scratch_);
    request.is_digest = false;
  }
  FetchContact* contact = pool_.take_contact();
  contact->fetch_ = this;
  contact->endpoint_ = target.endpoint;
  contact->wants_data_ = target.wants_data;
  contact->sent_at_ = pool_.context.now();
  contact->deadline_ = options_.deadline;
  contacts_.push_back(contact);
  SendOptions send;
  send.flags = kCallBackOnFailure | (options_.tracks_warnings ? kTrackWarnings : 0);
  send.deadline = options_.deadline;
  send.trace = options_.trace.get();
  const Verb verb = request.command.range ? Verb::kRangeReq : Verb::kReadReq;
  const uint32_t id =
      pool_.context.messenger->send_request(cluster_->address(target.endpoint), verb, body, *contact, send);
  if (id != 0) contact->id_ = id;
}

void Fetch::ask_local(bool wants_data) {
  UnfilteredSink* sink = nullptr;
  if (wants_data) {
    buffer_ = pool_.take_buffer(options_.local_bytes);
    sink = buffer_.get();
  } else {
    local_digest_.emplace(request);
    sink = &*local_digest_;
  }
  local_began_ = pool_.context.now();
  schema_before_ = pool_.context.replica.schema().current();
  // A read that was begun is waited for, since it writes into this.
  Gate& running = pool_.context.running;
  if (!running.enter()) return failed(cluster_->local(), RequestFailureReason::kNodeDown);
  Task<Result<ReadStatistics>> read = pool_.context.replica.read_unfiltered(request, *sink, options_.deadline);
  if (read.ready()) {
    local_done(read.take());
    return running.leave();
  }
  pool_.alarms.set(options_.deadline, *this, generation_);
  spawn(finish_local(FetchRef(this), std::move(read)));
}

Task<void> Fetch::finish_local(FetchRef self, Task<Result<ReadStatistics>> read) {
  Result<ReadStatistics> result = co_await read;
  Gate& running = self->pool_.context.running;
  self->local_done(std::move(result));
  self = FetchRef();
  running.leave();
}

// ---- Answers

void Fetch::local_done(Result<ReadStatistics> result) {
  const EndpointIndex local = cluster_->local();
  schema_after_ = pool_.context.replica.schema().current();
  if (options_.tracks_warnings) warn_locally(result);
  if (!result.ok()) {
    const RequestFailureReason reason = local_reason(result.error());
    if (reason != RequestFailureReason::kTimeout) {
      if (auto more = pool_.local_log.take(pool_.context.now())) {
        LOG_WARN("Failed to read locally: {}{}", result.error().message(), *more);
      }
    }
    return failed(local, reason);
  }
  tombstones_ = result->tombstones;
  if (options_.trace != nullptr) trace_rows(*options_.trace, *result);
  pool_.context.proximity.answered(cluster_->address(local), (pool_.context.now() - local_began_) / 1000);
  ++busy_;
  if (local_digest_) {
    quorum_->answered_with_digest(local, to_digest(local_digest_->finish()));
  } else {
    if (state() == QuorumState::kWaiting) {
      ReplicaData& data = data_.emplace_back();
      data.endpoint = local;
      data.buffer = std::move(buffer_);
    }
    quorum_->answered_with_data(local);
  }
  --busy_;
  settle();
}

// This node as a replica would tell another one the same.
void Fetch::warn_locally(const Result<ReadStatistics>& result) {
  const CoordinatorOptions& options = pool_.context.options;
  const InetAddressAndPort& self = cluster_->address(cluster_->local());
  if (!result.ok()) {
    if (result.error().code() != ErrorCode::kReadFailure) return;
    warnings_.add(ParamType::kTombstoneFail, options.tombstone_failure_threshold + 1, self);
  } else if (options.tombstone_warn_threshold > 0 && result->tombstones > options.tombstone_warn_threshold) {
    warnings_.add(ParamType::kTombstoneWarning, result->tombstones, self);
  }
}

Error Fetch::error() const {
  const std::string why = options_.tracks_warnings ? warnings_.abort_text(request.command) : "";
  return quorum_->error(*cluster_->topology->ring(), why);
}

void Fetch::on_response(EndpointIndex from, bool asked_for_data, InboundMessage& response) {
  if (state() != QuorumState::kWaiting) return;
  if (options_.tracks_warnings && !response.header.params.empty()) {
    if (const auto aborted = warnings_.add(response.header.params, response.from)) return failed(from, *aborted);
  }
  Result<ReadResponse> parsed = parse_read_response(response.payload);
  if (parsed.ok() && parsed->is_digest() && (asked_for_data || parsed->digest.size() != kDigestSize)) {
    parsed = Error(ErrorCode::kCorruption, "Corrupt read response: a digest that was not asked for");
  }
  if (!parsed.ok()) {
    pool_.complain(response.from, parsed.error().message());
    return failed(from, RequestFailureReason::kUnknown);
  }
  ++busy_;
  if (parsed->is_digest()) {
    quorum_->answered_with_digest(from, to_digest(parsed->digest));
  } else {
    ReplicaData& data = data_.emplace_back();
    data.endpoint = from;
    const size_t offset = static_cast<size_t>(parsed->data.data() - response.payload.data());
    data.size = parsed->data.size();
    response.keep();
    data.from = static_cast<size_t>(response.payload.data() - response.storage.data()) + offset;
    data.message = std::move(response.storage);
    quorum_->answered_with_data(from);
  }
  --busy_;
  settle();
}

void Fetch::failed(EndpointIndex from, RequestFailureReason reason) {
  ++busy_;
  quorum_->failed(from, reason);
  --busy_;
  settle();
}

// Afterwards this may be released.
void Fetch::settle() {
  if (busy_ > 0 || settled_ || state() == QuorumState::kWaiting) return;
  settled_ = true;
  const bool in_vain = speculated_ && state() == QuorumState::kTimedOut && options_.requests != nullptr;
  if (in_vain) ++options_.requests->speculative_failed_retries;
  decided_->set(true);
}

namespace {

Task<void> wait_for(Promise<bool>* promise) {
  Promise<bool>& decision = *promise;
  co_await decision;
}

}  // namespace

Task<void> Fetch::decided() {
  if (settled_) return {};
  return wait_for(&*decided_);
}

void Fetch::abandon() {
  if (settled_) return;
  FetchRef self(this);
  quorum_->timed_out();
  settle();
}

void Fetch::ring(uint64_t generation) {
  if (generation != generation_ || holds_ == 0 || settled_) return;
  FetchRef self(this);
  if (pool_.context.now() >= options_.deadline) {
    quorum_->timed_out();
    return settle();
  }
  CoordinatorStatistics& statistics = pool_.context.statistics;
  TableRequests* counted = options_.requests.get();
  if (options_.speculation == Speculation::kNoReplica && counted != nullptr) {
    ++statistics.speculative_insufficient_replicas;
    ++counted->speculative_insufficient_replicas;
  }
  std::optional<ReadTarget> target = quorum_->speculate();
  if (!target) return;
  speculated_ = true;
  if (options_.trace != nullptr) {
    options_.trace->event("speculating read retry on " + cluster_->address(target->endpoint).to_string());
  }
  if (counted != nullptr) {
    ++statistics.speculative_retries;
    ++counted->speculative_retries;
  }
  ++busy_;
  ask(*target);
  --busy_;
  settle();
}

Result<ReadQuorum::Digest> Fetch::digest_of(ReplicaData& data) {
  ReadDigest digest(request);
  const bool is_reversed = request.command.reversed;
  if (data.buffer != nullptr) {
    while (data.buffer->has_partition()) TRY(add_to_digest(data.buffer->take(), is_reversed, digest));
    data.buffer->rewind();
    return to_digest(digest.finish());
  }
  ResponseReader reader(request, data.partitions());
  while (true) {
    Result<PartitionReader*> partition = reader.next();
    Status status;
    if (!partition.ok()) status = std::move(partition.error());
    if (partition.ok() && *partition == nullptr) break;
    if (status.ok()) status = add_to_digest(**partition, is_reversed, digest);
    if (status.ok()) continue;
    pool_.complain(cluster_->address(data.endpoint), status.error().message());
    return std::move(status.error());
  }
  return to_digest(digest.finish());
}

Result<bool> Fetch::answers_match() {
  Status status;
  const bool match = quorum_->answers_match([&](EndpointIndex endpoint) {
    auto at = std::find_if(data_.begin(), data_.end(), [&](const auto& data) { return data.endpoint == endpoint; });
    CHECK(at != data_.end());
    Result<ReadQuorum::Digest> digest = digest_of(*at);
    if (digest.ok()) return *digest;
    status = std::move(digest.error());
    return ReadQuorum::Digest{};
  });
  if (!status.ok()) return std::move(status.error());
  return match;
}

// ---- Contacts

Fetch* FetchContact::end() {
  Fetch* fetch = std::exchange(fetch_, nullptr);
  id_ = 0;
  if (fetch != nullptr) {
    auto& all = fetch->contacts_;
    all.erase(std::find(all.begin(), all.end(), this));
  }
  pool_.free_contacts_.push_back(this);
  return fetch;
}

void FetchContact::on_response(InboundMessage& response) {
  pool_.context.proximity.answered(response.from, (pool_.context.now() - sent_at_) / 1000);
  const EndpointIndex endpoint = endpoint_;
  const bool wants_data = wants_data_;
  Fetch* fetch = end();
  if (fetch == nullptr) return;
  FetchRef self(fetch);
  fetch->on_response(endpoint, wants_data, response);
}

void FetchContact::on_failure(const InetAddressAndPort& from, RequestFailureReason reason) {
  // A message for which there was no room fails so, too, and at once.
  if (reason == RequestFailureReason::kTimeout) {
    pool_.context.proximity.answered(from, (std::max(pool_.context.now(), deadline_) - sent_at_) / 1000);
  }
  const EndpointIndex endpoint = endpoint_;
  Fetch* fetch = end();
  if (fetch == nullptr) return;
  FetchRef self(fetch);
  fetch->failed(endpoint, reason);
}

// ---- The pool

FetchPool::~FetchPool() {
  for (const auto& contact : contacts_) {
    if (contact->id_ != 0) context.messenger->cancel(contact->id_);
  }
}

FetchRef FetchPool::take() {
  if (free_fetches_.empty()) {
    fetches_.push_back(std::make_unique<Fetch>(*this));
    return FetchRef(fetches_.back().get());
  }
  Fetch* fetch = free_fetches_.back();
  free_fetches_.pop_back();
  return FetchRef(fetch);
}

FetchContact* FetchPool::take_contact() {
  if (free_contacts_.empty()) {
    contacts_.push_back(std::make_unique<FetchContact>(*this));
    return contacts_.back().get();
  }
  FetchContact* contact = free_contacts_.back();
  free_contacts_.pop_back();
  return contact;
}

std::unique_ptr<UnfilteredBuffer> FetchPool::take_buffer(size_t enough_bytes) {
  constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();
  if (enough_bytes != kUnlimited || buffers_.empty()) return std::make_unique<UnfilteredBuffer>(enough_bytes);
  std::unique_ptr<UnfilteredBuffer> buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void FetchPool::give_back(std::unique_ptr<UnfilteredBuffer> buffer) {
  if (buffer == nullptr || buffer->is_bounded() || buffer->bytes() > kKeptBuffer) return;
  buffer->clear();
  buffers_.push_back(std::move(buffer));
}

void FetchPool::complain(const InetAddressAndPort& peer, const std::string& what) {
  if (auto more = complaints_.take(context.now()))
    LOG_WARN("A read's answer of {} is of no use: {}{}", peer.to_string(), what, *more);
}

}  // namespace cassandra_like
