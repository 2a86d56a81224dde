#include "coordinator/read/repair_writes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "coordinator/quorum/request_errors.h"

namespace cassandra_like {

RepairWrites::RepairWrites(RequestContext& context, ClusterSnapshotPtr cluster, ReadRepairPlan plan,
                           const Options& options)
    : context_(context), cluster_(std::move(cluster)), plan_(std::move(plan)), options_(options) {}

RepairWrites::~RepairWrites() {
  for (const auto& write : writes_) {
    if (write->id != 0) context_.messenger->cancel(write->id);
  }
  for (TimerId timer : {additional_timer_, deadline_timer_}) {
    if (timer != 0) context_.runtime.executor.cancel(timer);
  }
}

void RepairWrites::add(EndpointIndex endpoint, SerializedMutation mutation) {
  Write& write = *writes_.emplace_back(std::make_unique<Write>());
  write.repair = this;
  write.endpoint = endpoint;
  write.mutation = std::move(mutation);
}

void RepairWrites::start() {
  missing_ = plan_.answers_to_wait_for(writes_.size());
  const size_t count = writes_.size();
  for (size_t i = 0; i < count; ++i) send(*writes_[i]);
  if (missing_ <= 0) return end(true);
  const int64_t now = context_.now();
  auto in = [now](int64_t at) { return Duration(std::max<int64_t>(at - now, 0)); };
  deadline_timer_ = context_.runtime.executor.schedule(in(options_.deadline), [this] {
    deadline_timer_ = 0;
    end(false);
  });
  if (plan_.others.empty() || options_.additional >= options_.deadline) return;
  additional_timer_ = context_.runtime.executor.schedule(in(options_.additional), [this] {
    additional_timer_ = 0;
    send_additional();
  });
}

void RepairWrites::send(Write& write) {
  if (cluster_->is_local(write.endpoint)) {
    if (context_.running.enter()) spawn(write_locally(shared_from_this(), &write));
    return;
  }
  SendOptions options;
  options.deadline = options_.deadline;
  options.trace = options_.trace.get();
  if (options.trace != nullptr) {
    const char* what = write.is_additional ? "speculative read-repair-mutation" : "read-repair-mutation";
    options.trace->event(fmt::format("Sending {} to {}", what, cluster_->address(write.endpoint).to_string()));
  }
  SharedBytes body = write.mutation.shared();
  write.id = context_.messenger->send_request(cluster_->address(write.endpoint), Verb::kReadRepairReq, std::move(body),
                                              write, options);
}

Task<void> RepairWrites::write_locally(std::shared_ptr<RepairWrites> self, Write* write) {
  MutationPayload payload(write->mutation);
  Task<Status> applying = self->context_.replica.mutate(payload);
  Status status = co_await applying;
  if (status.ok()) {
    self->acknowledge(*write);
  } else if (auto more = self->context_.failed_repairs.take(self->context_.now())) {
    LOG_WARN("The repair of a read was not applied here: {}{}", status.error().message(), *more);
  }
  Gate& running = self->context_.running;
  self.reset();
  running.leave();
}

void RepairWrites::Write::on_response(InboundMessage&) {
  id = 0;
  repair->acknowledge(*this);
}

// Afterwards this may be gone.
void RepairWrites::acknowledge(Write& write) {
  write.acknowledged = true;
  if (write.is_additional) {
    // One that gets several has them all, or counts for nothing.
    const bool all = std::all_of(writes_.begin(), writes_.end(), [&](const auto& other) {
      return other->endpoint != write.endpoint || other->acknowledged;
    });
    if (!all) return;
  }
  if (--missing_ == 0) end(true);
}

void RepairWrites::send_additional() {
  std::vector<SerializedMutation> unacknowledged;
  for (const auto& write : writes_) {
    if (!write->acknowledged) unacknowledged.push_back(write->mutation);
  }
  const size_t first = writes_.size();
  for (EndpointIndex endpoint : plan_.others) {
    for (const SerializedMutation& mutation : unacknowledged) {
      add(endpoint, mutation);
      writes_.back()->is_additional = true;
    }
  }
  const size_t count = writes_.size();
  for (size_t i = first; i < count; ++i) send(*writes_[i]);
}

void RepairWrites::end(bool in_time) {
  if (std::exchange(has_ended_, true)) return;
  ended_.set(in_time);
}

Task<Status> RepairWrites::finished(std::shared_ptr<RepairWrites> self) {
  Promise<bool>& ended = self->ended_;
  const bool in_time = co_await ended;
  if (in_time) co_return Status();
  const int received = std::min(self->plan_.block_for - self->missing_, self->plan_.block_for - 1);
  co_return read_timeout_error({self->plan_.consistency, received, self->plan_.block_for}, true);
}

}  // namespace cassandra_like
