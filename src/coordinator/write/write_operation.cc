#include "coordinator/write/write_operation.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/log.h"

namespace cassandra_like {
namespace {

constexpr int64_t kNanosOfMilli = 1'000'000;
using Numbers = absl::InlinedVector<size_t, kInlinedReplicas>;  // of replicas in a plan

RequestFailureReason reason_for(const Error& error) {
  return error.code() == ErrorCode::kWriteTimeout ? RequestFailureReason::kTimeout : RequestFailureReason::kUnknown;
}

// The smallest of the tables that are known.
int32_t smallest_gc_grace(const Schema& schema, BytesView mutation) {
  Arena arena;
  auto find = [&schema](const Uuid& id) -> const TableMetadata* { return schema.table(id).get(); };
  auto rows = deserialize_mutation(mutation, find, arena);
  if (!rows.ok()) return 0;  // such a hint would reach nobody
  int32_t least = std::numeric_limits<int32_t>::max();
  for (const PartitionUpdate& update : rows->updates) least = std::min(least, update.table->params.gc_grace_seconds);
  return least;
}

}  // namespace

// ---- WriteDeadlines

WriteDeadlines::~WriteDeadlines() {
  if (timer_ != 0) runtime_.executor.cancel(timer_);
}

// The mutations of a batch have the deadline of its first step, which may be before those of writes that wait already.
void WriteDeadlines::add(WriteOperation& operation) {
  WriteOperation* next = nullptr;
  WriteOperation* previous = last_;
  while (previous != nullptr && previous->deadline_ > operation.deadline_) {
    next = std::exchange(previous, previous->previous_);
  }
  operation.previous_ = previous;
  operation.next_ = next;
  (previous == nullptr ? first_ : previous->next_) = &operation;
  (next == nullptr ? last_ : next->previous_) = &operation;
  if (timer_ != 0 && operation.deadline_ < timer_deadline_) runtime_.executor.cancel(std::exchange(timer_, 0));
  if (timer_ == 0) arm();
}

void WriteDeadlines::remove(WriteOperation& operation) {
  (operation.previous_ == nullptr ? first_ : operation.previous_->next_) = operation.next_;
  (operation.next_ == nullptr ? last_ : operation.next_->previous_) = operation.previous_;
}

void WriteDeadlines::arm() {
  timer_deadline_ = first_->deadline_;
  const int64_t left = timer_deadline_ - runtime_.clock.monotonic_nanos();
  timer_ = runtime_.executor.schedule(Duration(std::max<int64_t>(left, 0)), [this] {
    timer_ = 0;
    expire();
  });
}

void WriteDeadlines::expire() {
  const int64_t now = runtime_.clock.monotonic_nanos();
  while (first_ != nullptr && first_->deadline_ <= now) {
    WriteOperation* late = first_;
    late->hold();
    late->time_out();
    DCHECK(first_ != late);
    late->release();
  }
  if (first_ != nullptr && timer_ == 0) arm();
}

// ---- WriteOperations

WriteOperations::WriteOperations(RequestContext& context)
    : context_(context),
      writes_(context.runtime, context.options.write_timeout),
      counter_writes_(context.runtime, context.options.counter_write_timeout) {}

WriteOperations::~WriteOperations() = default;

WriteOperation* WriteOperations::begin(WritePlan plan, WriteDescription description) {
  if (!context_.running.enter()) return nullptr;
  if (idle_.empty()) {
    all_.push_back(std::make_unique<WriteOperation>(*this));
    idle_.push_back(all_.back().get());
  }
  WriteOperation* operation = idle_.back();
  idle_.pop_back();
  if (description.cluster == nullptr) description.cluster = context_.cluster;
  operation->begin(std::move(plan), std::move(description));
  return operation;
}

// ---- WriteOperation

void WriteOperation::begin(WritePlan plan, WriteDescription description) {
  DCHECK(holds_ == 0 && client_ == nullptr);
  plan_ = std::move(plan);
  write_ = std::move(description);
  quorum_.emplace(plan_, write_.type);
  deadlines_ = write_.type == WriteType::kCounter ? &pool_.counter_writes_ : &pool_.writes_;
  deadline_ = deadlines_->deadline_of(write_.began);
  hold();
}

void WriteOperation::release() {
  DCHECK(holds_ > 0);
  if (--holds_ > 0) return;
  DCHECK(client_ == nullptr);
  write_ = {};
  quorum_.reset();
  refused_.reset();
  hints_ = 0;
  pool_.idle_.push_back(this);
  context_.running.leave();
}

bool WriteOperation::is_replica_local() const {
  return std::any_of(plan_.replicas.begin(), plan_.replicas.end(),
                     [this](const WriteReplica& replica) { return replica.endpoint == local(); });
}

size_t WriteOperation::number_of(const InetAddressAndPort& address) const {
  size_t i = 0;
  while (i < plan_.replicas.size() && write_.cluster->address(plan_.replicas[i].endpoint) != address) ++i;
  return i;
}

// ---- The client

Status WriteOperation::outcome() const {
  if (refused_) return *refused_;
  if (quorum_->state() == QuorumState::kDone) return {};
  return quorum_->error(*write_.cluster->topology->ring());
}

Task<Status> WriteOperation::result() {
  const bool is_over = refused_ || quorum_->state() == QuorumState::kDone;
  if (!is_over) return wait(this);
  Status status = outcome();
  release();
  return status;
}

Task<Status> WriteOperation::wait(WriteOperation* self) {
  if (!self->is_decided()) {
    Promise<bool> decided;
    self->client_ = &decided;
    self->deadlines_->add(*self);
    co_await decided;
  }
  Status status = self->outcome();
  // A write of level ANY that no replica has is kept as hints (StorageProxy.hintMutations).
  if (!status.ok() && !self->refused_ && self->plan_.consistency == Consistency::kAny) {
    std::vector<Uuid> nodes = self->hint_for([](size_t) { return true; });
    if (!nodes.empty()) {
      Task<Status> writing = self->write_hint(std::move(nodes));
      Status written = co_await writing;
      if (written.ok()) status = Status();
    }
  }
  self->release();
  co_return status;
}

void WriteOperation::decide() {
  if (client_ == nullptr || !is_decided()) return;
  deadlines_->remove(*this);
  std::exchange(client_, nullptr)->set(true);
}

void WriteOperation::time_out() {
  quorum_->timed_out();
  decide();
}

// ---- Answers

void WriteOperation::acknowledged(EndpointIndex endpoint) {
  if (write_.batch != nullptr) write_.batch->acknowledged(write_.number_in_batch);
  quorum_->acknowledged(endpoint);
  decide();
}

void WriteOperation::on_response(InboundMessage& response) {
  const size_t i = number_of(response.from);
  if (i < plan_.replicas.size()) acknowledged(plan_.replicas[i].endpoint);
  release();
}

void WriteOperation::on_failure(const InetAddressAndPort& from, RequestFailureReason reason) {
  const size_t i = number_of(from);
  if (i < plan_.replicas.size()) {
    if (write_.hinting == Hinting::kDownAndFailed) {
      std::vector<Uuid> node = hint_for([i](size_t replica) { return replica == i; });
      if (!node.empty()) (void)keep_hint(std::move(node), false);  // it logs its failures
    }
    quorum_->failed(plan_.replicas[i].endpoint, reason);
    decide();
  }
  release();
}

// ---- This node's part

void WriteOperation::apply(Task<Status> task) {
  if (task.ready()) return applied(task.value());
  hold();
  spawn(carry(this, std::move(task)));
}

Task<void> WriteOperation::carry(WriteOperation* self, Task<Status> task) {
  const Status status = co_await task;
  self->applied(status);
  self->release();
}

// A mutation that this node calls invalid is so everywhere.
void WriteOperation::applied(const Status& status) {
  if (status.ok()) return acknowledged(local());
  const Error& error = status.error();
  if (error.code() == ErrorCode::kInvalid) {
    refused_ = error;
  } else {
    if (auto more = pool_.local_log_.take(context_.now())) {
      LOG_WARN("Failed to apply a mutation locally: {}{}", error.message(), *more);
    }
    quorum_->failed(local(), reason_for(error));
    if (write_.type == WriteType::kCounter) quorum_->timed_out();  // nobody else was asked
  }
  decide();
}

void WriteOperation::apply_counter(Task<Result<SerializedMutation>> task) {
  if (task.ready()) return sums_are(task.take());
  hold();
  spawn(carry_counter(this, std::move(task)));
}

Task<void> WriteOperation::carry_counter(WriteOperation* self, Task<Result<SerializedMutation>> task) {
  Result<SerializedMutation> sums = co_await task;
  self->sums_are(std::move(sums));
  self->release();
}

void WriteOperation::sums_are(Result<SerializedMutation> sums) {
  if (!sums.ok()) return applied(Status(std::move(sums.error())));
  write_.mutation = std::move(*sums);
  hold();  // the client may go while the others are told
  acknowledged(local());
  (void)hint_down();  // it logs its failures
  send(Verb::kMutationReq, write_.mutation.shared(), context_.now() + context_.options.write_timeout.count());
  release();
}

// ---- Other replicas

void WriteOperation::send(Verb verb, const SharedBytes& payload, int64_t deadline) {
  SendOptions options;
  options.flags = kCallBackOnFailure;
  options.deadline = deadline;
  options.trace = write_.trace.get();
  const std::string& here = write_.cluster->topology->local().datacenter;
  bool is_elsewhere = false;
  for (const WriteReplica& replica : plan_.replicas) {
    if (!replica.is_alive || replica.endpoint == local()) continue;
    if (write_.cluster->endpoint(replica.endpoint).datacenter != here) {
      is_elsewhere = true;
      continue;
    }
    hold();
    context_.messenger->send_request(write_.cluster->address(replica.endpoint), verb, payload, *this, options);
  }
  if (is_elsewhere) send_elsewhere(verb, payload, options);
}

// One message a datacenter (StorageProxy.sendMessagesToNonlocalDC).
void WriteOperation::send_elsewhere(Verb verb, const SharedBytes& payload, const SendOptions& options) {
  auto datacenter = [this](EndpointIndex e) -> const std::string& { return write_.cluster->endpoint(e).datacenter; };
  EndpointList left;
  for (const WriteReplica& replica : plan_.replicas) {
    if (!replica.is_alive || datacenter(replica.endpoint) == write_.cluster->topology->local().datacenter) continue;
    left.push_back(replica.endpoint);
  }
  while (!left.empty()) {
    const std::string& there = datacenter(left[0]);
    auto others = std::partition(left.begin(), left.end(), [&](EndpointIndex e) { return datacenter(e) == there; });
    const auto count = static_cast<size_t>(others - left.begin());
    std::swap(left[0], left[context_.runtime.random.below(count)]);
    absl::InlinedVector<InetAddressAndPort, kInlinedReplicas> to;
    for (size_t i = 0; i < count; ++i) to.push_back(write_.cluster->address(left[i]));
    left.erase(left.begin(), others);
    holds_ += static_cast<uint32_t>(count);
    context_.messenger->send_request_through(to[0], std::span(to).subspan(1), verb, payload, *this, options);
  }
}

// ---- Hints

template <class Wanted>
std::vector<Uuid> WriteOperation::hint_for(Wanted wanted) {
  std::vector<Uuid> nodes;
  if (write_.hinting == Hinting::kNone || context_.hints == nullptr) return nodes;
  for (size_t i = 0; i < plan_.replicas.size(); ++i) {
    const EndpointIndex endpoint = plan_.replicas[i].endpoint;
    const uint64_t bit = uint64_t{1} << (i % 64);
    if (!wanted(i) || endpoint == local() || (hints_ & bit) != 0) continue;
    const Endpoint& node = write_.cluster->endpoint(endpoint);
    if (!context_.hints->should_hint(node.host_id, node.datacenter)) continue;
    hints_ |= bit;
    nodes.push_back(node.host_id);
  }
  return nodes;
}

Task<Status> WriteOperation::write_hint(std::vector<Uuid> nodes) {
  const int64_t age = (context_.now() - write_.began) / kNanosOfMilli;
  return context_.hints->write(std::move(nodes), write_.mutation, context_.runtime.clock.wall_millis() - age,
                               gc_grace_seconds());
}

int32_t WriteOperation::gc_grace_seconds() {
  if (write_.gc_grace_seconds < 0) {
    write_.gc_grace_seconds = smallest_gc_grace(*context_.replica.schema().current(), write_.mutation.view());
  }
  return write_.gc_grace_seconds;
}

Status WriteOperation::hint_down() {
  std::vector<Uuid> nodes = hint_for([this](size_t i) { return !plan_.replicas[i].is_alive; });
  if (nodes.empty()) return {};
  Status kept = keep_hint(std::move(nodes), true);
  // Too large for a hint: the write itself is no larger than it may be.
  if (!kept.ok() && kept.error().code() == ErrorCode::kInvalid) return {};
  return kept;
}

// counts: at level ANY it is an answer.
Status WriteOperation::keep_hint(std::vector<Uuid> nodes, bool counts) {
  Task<Status> writing = write_hint(std::move(nodes));
  if (!writing.ready()) {
    hold();
    spawn(carry_hint(this, std::move(writing), counts));
    return {};
  }
  if (writing.value().ok() && counts) hinted();
  return writing.take();
}

Task<void> WriteOperation::carry_hint(WriteOperation* self, Task<Status> task, bool counts) {
  const Status written = co_await task;
  if (written.ok() && counts) self->hinted();
  self->release();
}

void WriteOperation::hinted() {
  if (plan_.consistency != Consistency::kAny) return;
  if (write_.batch != nullptr) write_.batch->acknowledged(write_.number_in_batch);
  quorum_->hinted();
  decide();
}

}  // namespace cassandra_like
