#include "peers/schema_sync.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/dcheck.h"
#include "base/log.h"
#include "base/log_quota.h"
#include "messaging/wire/control_codec.h"
#include "peers/schema_exchange.h"
#include "peers/schema_wait.h"
#include "runtime/async_mutex.h"

namespace cassandra_like {

namespace {

constexpr int64_t kHurryInterval = 1'000'000'000;
constexpr size_t kMostExports = 256;   // of a shard: a stranger may ask any number of times, nodes ask again
constexpr size_t kMostOfReason = 200;  // that tells one failure from another: the rest may be a stranger's text
constexpr const char* kUnreachable = "UNREACHABLE";

using VersionsByName = std::map<std::string, std::vector<InetAddressAndPort>>;

class SchemaSyncImpl final : public SchemaSync {
 public:
  SchemaSyncImpl(ShardRuntime& runtime, Messenger& messenger, Replica& replica, SchemaSyncNode node,
                 SchemaSyncOptions options)
      : runtime_(runtime),
        messenger_(messenger),
        schema_(replica.schema()),
        node_(std::move(node)),
        options_(std::move(options)),
        began_(runtime.clock.monotonic_nanos()) {}
  ~SchemaSyncImpl() override { *alive_ = false; }

  void start();
  void handle_verbs(Messenger& messenger, ShardRuntime& runtime, Replica& replica) override;
  void on_version(const InetAddressAndPort& peer, const Uuid& version) override;
  void on_gone(const InetAddressAndPort& peer) override;
  void hurry() override;
  Task<Status> await_agreement(Duration timeout) override;
  VersionsByName outstanding() const override;
  Task<VersionsByName> versions(std::vector<InetAddressAndPort> live,
                                std::vector<InetAddressAndPort> unreachable) override;
  Task<Status> reset(Duration timeout) override;
  const SchemaSyncStatistics& statistics() const override { return statistics_; }
  Task<void> stop() override;

 private:
  // A version that some peer has (MigrationCoordinator.VersionInfo).
  struct Tracked {
    std::set<InetAddressAndPort> endpoints;  // who has it
    std::set<InetAddressAndPort> asked;
    std::deque<InetAddressAndPort> queue;  // to ask next
    bool is_received = false;
  };
  struct Postponed {
    InetAddressAndPort from;
    Uuid version;
    TimerId timer = 0;
  };
  struct Waiter {
    Promise<bool> done;
    TimerId timer = 0;
  };
  struct Inquiry {
    VersionsByName found;
    size_t left = 0;
    Promise<bool> done;
  };

  const Uuid& version() const { return schema_.current()->version(); }
  bool is_resetting() const { return is_resetting_->load(std::memory_order_relaxed); }
  // A node that is to forget its schema has no version.
  bool has(const Uuid& wanted) const { return !is_resetting() && wanted == version(); }
  void end_reset(bool well);
  void push(const SchemaDiff& diff);
  void forget(const InetAddressAndPort& peer, const Uuid& version);
  void maybe_pull(const Uuid& version);
  void on_refused_push(const InetAddressAndPort& from);
  void postpone(const InetAddressAndPort& from, const Uuid& version, Duration delay);
  void begin_postponed(const InetAddressAndPort* from);
  void begin_pull(const InetAddressAndPort& from, const Uuid& version);
  static Task<void> pull(SchemaSyncImpl* self, InetAddressAndPort from, Uuid version);
  Task<bool> pull_and_merge(InetAddressAndPort from, Uuid version);
  Task<bool> merge(InetAddressAndPort from, Uuid version, std::vector<Bytes> mutations);
  void tell_failure(const InetAddressAndPort& from, const Error& error);
  void pulled(const InetAddressAndPort& from, const Uuid& version, bool well);
  void mark_received(Tracked& tracked);
  bool is_settled() const;
  // For DCHECK: a peer stands below the version that it told and no other; a version that nobody has is forgotten; no more
  // are asked at once than may be.
  bool is_consistent() const;
  void tell_waiters();
  void schedule_round();
  static Task<void> ask(SchemaSyncImpl* self, InetAddressAndPort peer, Inquiry* inquiry);

  ShardRuntime& runtime_;
  Messenger& messenger_;
  SchemaStore& schema_;
  const SchemaSyncNode node_;
  const SchemaSyncOptions options_;
  const int64_t began_;
  SchemaSyncStatistics statistics_;

  std::map<Uuid, Tracked> tracked_;
  std::map<InetAddressAndPort, Uuid> versions_;
  std::set<InetAddressAndPort> failed_;  // whose last pull failed
  std::set<InetAddressAndPort> ahead_;   // whose last push was refused
  LogQuotas failure_log_{1, 20};
  std::list<Postponed> postponed_;
  std::list<Waiter*> waiters_;
  TimerId round_ = 0;
  int64_t hurried_ = 0;
  AsyncMutex merging_;
  Gate gate_;
  bool stopped_ = false;
  Waiter* resetting_ = nullptr;
  const std::shared_ptr<std::atomic<bool>> is_resetting_ =
      std::make_shared<std::atomic<bool>>(false);               // for all shards
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for listeners, which stay
};

void SchemaSyncImpl::start() {
  schema_.add_change_listener([this, alive = alive_](const SchemaDiff& diff) {
    if (*alive) push(diff);
  });
  schema_.add_listener([this, alive = alive_](const SchemaDiff&) {
    if (!*alive) return;
    const auto found = tracked_.find(version());
    if (found != tracked_.end() && !is_resetting()) mark_received(found->second);
  });
  schedule_round();
}

void SchemaSyncImpl::schedule_round() {
  round_ = runtime_.executor.schedule(options_.pull_interval, [this] {
    round_ = 0;
    std::vector<Uuid> due;
    for (const auto& [version, tracked] : tracked_) {
      if (!tracked.is_received && tracked.asked.empty()) due.push_back(version);
    }
    for (const Uuid& version : due) maybe_pull(version);
    schedule_round();
  });
}

Task<void> SchemaSyncImpl::stop() {
  stopped_ = true;
  if (round_ != 0) runtime_.executor.cancel(std::exchange(round_, 0));
  for (Postponed& each : std::exchange(postponed_, {})) runtime_.executor.cancel(each.timer);
  tell_waiters();
  end_reset(false);
  if (!gate_.closed()) co_await gate_.close();
}

// ---- Changes of this node

void SchemaSyncImpl::push(const SchemaDiff& diff) {
  if (stopped_ || diff.mutations.empty()) return;
  const SharedBytes body = join_schema_mutations(diff.mutations);
  for (const InetAddressAndPort& peer : node_.live_peers()) {
    if (!node_.has_same_major_version(peer)) continue;
    ++statistics_.pushes;
    if (!messenger_.send(peer, Verb::kSchemaPushReq, body)) {
      LOG_WARN("A change of the schema could not be sent to {}: it will ask for it", peer.to_string());
    }
  }
}

// ---- Versions of peers

bool SchemaSyncImpl::is_consistent() const {
  size_t listed = 0;
  for (const auto& [version, tracked] : tracked_) {
    if (tracked.endpoints.empty() || tracked.asked.size() > options_.max_outstanding) return false;
    listed += tracked.endpoints.size();
  }
  const auto is_listed = [this](const auto& peer) {
    const auto found = tracked_.find(peer.second);
    return found != tracked_.end() && found->second.endpoints.contains(peer.first);
  };
  return listed == versions_.size() && std::ranges::all_of(versions_, is_listed);
}

void SchemaSyncImpl::on_version(const InetAddressAndPort& peer, const Uuid& told) {
  DCHECK(runtime_.executor.is_current());
  if (stopped_) return;
  const auto known = versions_.find(peer);
  const bool is_known = known != versions_.end();
  if (options_.ignored_endpoints.contains(peer) || options_.ignored_versions.contains(told)) return on_gone(peer);
  if (is_known && known->second == told) return;
  const Uuid before = is_known ? known->second : told;
  versions_[peer] = told;
  Tracked& tracked = tracked_[told];
  tracked.endpoints.insert(peer);
  if (has(told)) {
    ahead_.erase(peer);
    mark_received(tracked);
  } else {
    tracked.queue.push_front(peer);
  }
  if (before != told) forget(peer, before);
  maybe_pull(told);
  DCHECK(is_consistent());
}

void SchemaSyncImpl::on_gone(const InetAddressAndPort& peer) {
  DCHECK(runtime_.executor.is_current());
  const auto known = versions_.find(peer);
  if (known == versions_.end()) return;
  const Uuid before = known->second;
  versions_.erase(known);
  failed_.erase(peer);
  ahead_.erase(peer);
  forget(peer, before);
  DCHECK(is_consistent());
}

void SchemaSyncImpl::forget(const InetAddressAndPort& peer, const Uuid& before) {
  const auto found = tracked_.find(before);
  if (found == tracked_.end()) return;
  found->second.endpoints.erase(peer);
  if (!found->second.endpoints.empty()) return;
  tracked_.erase(found);
  tell_waiters();
}

void SchemaSyncImpl::mark_received(Tracked& tracked) {
  if (std::exchange(tracked.is_received, true)) return;
  tell_waiters();
}

// ---- Pulls

void SchemaSyncImpl::maybe_pull(const Uuid& wanted) {
  const auto found = tracked_.find(wanted);
  if (found == tracked_.end() || stopped_) return;
  Tracked& tracked = found->second;
  if (tracked.is_received || has(wanted) || tracked.asked.size() >= options_.max_outstanding) return;
  for (size_t left = tracked.queue.size(); left > 0; --left) {
    const InetAddressAndPort from = tracked.queue.front();
    tracked.queue.pop_front();
    if (!tracked.endpoints.contains(from)) continue;
    if (tracked.asked.contains(from) || !node_.has_same_major_version(from)) {
      tracked.queue.push_back(from);
      continue;
    }
    tracked.asked.insert(from);
    const bool has_just_started = runtime_.clock.monotonic_nanos() - began_ < options_.migration_delay.count();
    const bool may_wait = !has_just_started && !is_resetting() && !ahead_.contains(from);
    if (may_wait) return postpone(from, wanted, options_.migration_delay);
    if (failed_.contains(from)) return postpone(from, wanted, options_.pull_backoff);
    return begin_pull(from, wanted);
  }
}

void SchemaSyncImpl::postpone(const InetAddressAndPort& from, const Uuid& wanted, Duration delay) {
  const auto it = postponed_.insert(postponed_.end(), Postponed{from, wanted, 0});
  it->timer = runtime_.executor.schedule(delay, [this, it] {
    const Postponed due = *it;
    postponed_.erase(it);
    begin_pull(due.from, due.version);
  });
}

void SchemaSyncImpl::hurry() {
  DCHECK(runtime_.executor.is_current());
  const int64_t now = runtime_.clock.monotonic_nanos();
  if (postponed_.empty() || (hurried_ != 0 && now - hurried_ < kHurryInterval)) return;
  hurried_ = now;
  begin_postponed(nullptr);
}

// From everybody, or from one peer.
void SchemaSyncImpl::begin_postponed(const InetAddressAndPort* from) {
  std::list<Postponed> due;
  for (auto it = postponed_.begin(); it != postponed_.end();) {
    const auto each = it++;
    if (from == nullptr || each->from == *from) due.splice(due.end(), postponed_, each);
  }
  for (const Postponed& each : due) {
    runtime_.executor.cancel(each.timer);
    begin_pull(each.from, each.version);
  }
}

// It cannot be read without a change that has not come yet, of another node maybe. The peer has both: it is asked once,
// without the delay that pulls have otherwise.
void SchemaSyncImpl::on_refused_push(const InetAddressAndPort& from) {
  if (stopped_ || !versions_.contains(from)) return;
  ahead_.insert(from);
  begin_postponed(&from);
}

void SchemaSyncImpl::begin_pull(const InetAddressAndPort& from, const Uuid& wanted) {
  if (!gate_.enter()) return;
  spawn(pull(this, from, wanted));
}

Task<void> SchemaSyncImpl::pull(SchemaSyncImpl* self, InetAddressAndPort from, Uuid wanted) {
  // A failure must not be followed by the next attempt on the same stack.
  co_await self->runtime_.executor.yield();
  const auto found = self->tracked_.find(wanted);
  if (found != self->tracked_.end() && !self->stopped_) {
    bool well = found->second.is_received || self->has(wanted);  // it may have come meanwhile
    if (!well) {
      Task<bool> pulling = self->pull_and_merge(from, wanted);
      well = co_await pulling;
    }
    self->pulled(from, wanted, well);
  }
  self->gate_.leave();
}

Task<bool> SchemaSyncImpl::pull_and_merge(InetAddressAndPort from, Uuid wanted) {
  const std::vector<InetAddressAndPort> live = node_.live_peers();
  if (std::ranges::find(live, from) == live.end() || !node_.has_same_major_version(from)) co_return false;
  LOG_INFO("Sending schema pull request to {}", from.to_string());
  ++statistics_.pulls;
  SendOptions options;
  options.flags = kCallBackOnFailure;
  Task<Result<InboundMessage>> asking = messenger_.request(from, Verb::kSchemaPullReq, {}, options);
  Result<InboundMessage> answer = co_await asking;
  if (!answer.ok()) {
    tell_failure(from, answer.error());
    co_return false;
  }
  Result<std::vector<Bytes>> mutations = split_schema_mutations(answer->payload, *schema_.current());
  if (!mutations.ok()) {
    tell_failure(from, mutations.error());
    co_return false;
  }
  Task<void> turn = merging_.lock();
  co_await turn;
  AsyncMutex::Guard guard(merging_);
  Task<bool> merging = merge(from, wanted, std::move(*mutations));
  const bool well = co_await merging;
  co_return well;
}

// One after the other: the first of several answers may be enough.
Task<bool> SchemaSyncImpl::merge(InetAddressAndPort from, Uuid wanted, std::vector<Bytes> mutations) {
  const auto asked_for = tracked_.find(wanted);
  if (has(wanted) || (asked_for != tracked_.end() && asked_for->second.is_received)) co_return true;
  const bool replaces = is_resetting() && !mutations.empty();
  Task<Result<SchemaDiff>> merging =
      replaces ? schema_.replace(std::move(mutations)) : schema_.merge(std::move(mutations));
  Result<SchemaDiff> merged = co_await merging;
  if (!merged.ok()) {
    tell_failure(from, merged.error());
    co_return false;
  }
  ++statistics_.merges;
  const auto found = tracked_.find(wanted);
  if (found != tracked_.end()) mark_received(found->second);
  if (replaces) end_reset(true);
  co_return true;
}

// Each reason once a minute: a peer that nobody mends is asked every second.
void SchemaSyncImpl::tell_failure(const InetAddressAndPort& from, const Error& error) {
  const std::string text = fmt::format("The schema of {} was not merged: {}", from.to_string(), error.message());
  const auto more = failure_log_.take(text.substr(0, kMostOfReason), runtime_.clock.monotonic_nanos());
  if (more) LOG_WARN("{}{}", text, *more);
}

void SchemaSyncImpl::pulled(const InetAddressAndPort& from, const Uuid& wanted, bool well) {
  if (well) {
    failed_.erase(from);
  } else {
    ++statistics_.failed_pulls;
    failed_.insert(from);
  }
  ahead_.erase(from);
  const auto found = tracked_.find(wanted);
  if (found == tracked_.end()) return;
  Tracked& tracked = found->second;
  tracked.asked.erase(from);
  tracked.queue.push_back(from);
  if (well) return mark_received(tracked);
  maybe_pull(wanted);
  DCHECK(is_consistent());
}

// ---- Reset

Task<Status> SchemaSyncImpl::reset(Duration timeout) {
  if (stopped_ || resetting_ != nullptr) co_return invalid("Cannot reset local schema: a reset is under way");
  if (node_.live_peers().empty()) co_return invalid("Cannot reset local schema when there are no other live nodes");
  Waiter waiter;
  resetting_ = &waiter;
  is_resetting_->store(true);
  waiter.timer = runtime_.executor.schedule(timeout, [this] {
    resetting_->timer = 0;
    end_reset(false);
  });
  for (Postponed& each : std::exchange(postponed_, {})) runtime_.executor.cancel(each.timer);
  tracked_.clear();
  for (const auto& [peer, version] : std::exchange(versions_, {})) on_version(peer, version);
  Promise<bool>& done = waiter.done;
  const bool well = co_await done;
  if (!well) co_return Error(ErrorCode::kServerError, "Schema reset failed - no schema received from other nodes");
  LOG_INFO("Local schema reset completed");
  co_return Status();
}

void SchemaSyncImpl::end_reset(bool well) {
  DCHECK((resetting_ != nullptr) == is_resetting());
  Waiter* waiter = std::exchange(resetting_, nullptr);
  if (waiter == nullptr) return;
  is_resetting_->store(false);
  if (waiter->timer != 0) runtime_.executor.cancel(waiter->timer);
  waiter->done.set(well);
}

// ---- Agreement

bool SchemaSyncImpl::is_settled() const {
  return std::ranges::all_of(tracked_, [](const auto& each) { return each.second.is_received; });
}

void SchemaSyncImpl::tell_waiters() {
  if (!stopped_ && !is_settled()) return;
  for (Waiter* waiter : std::exchange(waiters_, {})) {
    if (waiter->timer != 0) runtime_.executor.cancel(waiter->timer);
    waiter->done.set(!stopped_);
  }
}

VersionsByName SchemaSyncImpl::outstanding() const {
  VersionsByName out;
  for (const auto& [version, tracked] : tracked_) {
    if (tracked.is_received) continue;
    out[version.to_string()].assign(tracked.endpoints.begin(), tracked.endpoints.end());
  }
  return out;
}

Task<Status> SchemaSyncImpl::await_agreement(Duration timeout) {
  bool settled = is_settled();
  if (!settled && !stopped_) {
    Waiter waiter;
    Waiter* self = &waiter;
    waiters_.push_back(self);
    waiter.timer = runtime_.executor.schedule(timeout, [this, self] {
      self->timer = 0;
      waiters_.remove(self);
      self->done.set(false);
    });
    Promise<bool>& done = waiter.done;
    settled = co_await done;
  }
  if (settled) co_return Status();
  std::vector<std::string> missing;
  for (const auto& [version, endpoints] : outstanding()) {
    std::vector<std::string> names;
    for (const InetAddressAndPort& endpoint : endpoints) names.push_back(endpoint.to_string());
    missing.push_back(fmt::format("{}={}", version, names));
  }
  co_return Error(
      ErrorCode::kServerError,
      fmt::format("There are nodes in the cluster with a different schema version than us, from which we did "
                  "not merge schemas: our version: ({}), outstanding versions -> endpoints: {{{}}}",
                  version().to_string(), fmt::join(missing, ", ")));
}

Task<void> SchemaSyncImpl::ask(SchemaSyncImpl* self, InetAddressAndPort peer, Inquiry* inquiry) {
  Task<Result<InboundMessage>> asking = self->messenger_.request(peer, Verb::kSchemaVersionReq, {});
  Result<InboundMessage> answer = co_await asking;
  std::string name = kUnreachable;
  if (answer.ok()) {
    if (auto version = decode_schema_version(answer->payload); version.ok()) name = version->to_string();
  }
  inquiry->found[name].push_back(peer);
  if (--inquiry->left == 0) inquiry->done.set(true);
}

Task<VersionsByName> SchemaSyncImpl::versions(std::vector<InetAddressAndPort> live,
                                              std::vector<InetAddressAndPort> unreachable) {
  Inquiry inquiry;
  if (!live.empty() && gate_.enter()) {
    inquiry.left = live.size();
    for (const InetAddressAndPort& peer : live) spawn(ask(this, peer, &inquiry));
    Promise<bool>& done = inquiry.done;
    co_await done;
    gate_.leave();
  }
  for (const InetAddressAndPort& peer : unreachable) inquiry.found[kUnreachable].push_back(peer);
  for (auto& [version, endpoints] : inquiry.found) std::ranges::sort(endpoints);
  co_return std::move(inquiry.found);
}

// ---- Verbs

// The things that a shard's handlers share.
struct SchemaVerbs {
  ShardRuntime& runtime;
  Replica& replica;
  std::shared_ptr<std::atomic<bool>> is_resetting;
  std::function<void(InetAddressAndPort)> on_refused_push;
  LogQuota bad_body_log{10}, failure_log{10};
  size_t exports = 0;  // under way

  VerbResult refuse(const InboundMessage& message, const Error& error) {
    if (auto more = bad_body_log.take(runtime.clock.monotonic_nanos())) {
      LOG_WARN("{} of {} is refused: {}{}", verb_name(message.header.verb), message.from.to_string(), error.message(),
               *more);
    }
    return VerbResult::failure(is_unknown_schema(error) ? RequestFailureReason::kIncompatibleSchema
                                                        : RequestFailureReason::kUnknown);
  }
};

Task<VerbResult> merge_pushed(std::shared_ptr<SchemaVerbs> verbs, InboundMessage message) {
  if (verbs->is_resetting->load(std::memory_order_relaxed)) co_return VerbResult::nothing();
  SchemaStore& schema = verbs->replica.schema();
  Result<std::vector<Bytes>> mutations = split_schema_mutations(message.payload, *schema.current());
  if (!mutations.ok()) co_return verbs->refuse(message, mutations.error());
  Task<Result<SchemaDiff>> merging = schema.merge(std::move(*mutations));
  Result<SchemaDiff> merged = co_await merging;
  if (!merged.ok()) {
    verbs->on_refused_push(message.from);
    co_return verbs->refuse(message, merged.error());
  }
  co_return VerbResult::nothing();  // nobody waits for an answer, and Cassandra sends none
}

Task<VerbResult> send_schema(std::shared_ptr<SchemaVerbs> verbs, InetAddressAndPort from) {
  if (verbs->is_resetting->load(std::memory_order_relaxed)) co_return VerbResult::answer(join_schema_mutations({}));
  Result<std::vector<Bytes>> mutations = invalid("too many nodes ask for the schema at once");
  if (verbs->exports < kMostExports) {
    ++verbs->exports;
    Task<Result<std::vector<Bytes>>> exporting = export_schema(&verbs->runtime, &verbs->replica);
    mutations = co_await exporting;
    --verbs->exports;
  }
  if (mutations.ok()) co_return VerbResult::answer(join_schema_mutations(*mutations));
  if (auto more = verbs->failure_log.take(verbs->runtime.clock.monotonic_nanos())) {
    LOG_ERROR("Failed to send schema mutations to {}: {}{}", from.to_string(), mutations.error().message(), *more);
  }
  co_return VerbResult::failure(RequestFailureReason::kUnknown);
}

void SchemaSyncImpl::handle_verbs(Messenger& messenger, ShardRuntime& runtime, Replica& replica) {
  auto refused = [this, alive = alive_](InetAddressAndPort from) {
    runtime_.executor.post([this, alive, from] {
      if (*alive) on_refused_push(from);
    });
  };
  auto verbs = std::make_shared<SchemaVerbs>(SchemaVerbs{runtime, replica, is_resetting_, refused});
  messenger.handle(Verb::kSchemaPushReq,
                   [verbs](InboundMessage message) { return merge_pushed(verbs, std::move(message)); });
  messenger.handle(Verb::kSchemaPullReq, [verbs](InboundMessage message) { return send_schema(verbs, message.from); });
  messenger.handle(Verb::kSchemaVersionReq, [verbs](InboundMessage) -> Task<VerbResult> {
    return VerbResult::answer(SharedBytes::copy_of(verbs->replica.schema().current()->version().view()));
  });
}

}  // namespace

std::unique_ptr<SchemaSync> SchemaSync::create(ShardRuntime& runtime, Messenger& messenger, Replica& replica,
                                               SchemaSyncNode node, SchemaSyncOptions options) {
  auto sync = std::make_unique<SchemaSyncImpl>(runtime, messenger, replica, std::move(node), std::move(options));
  sync->start();
  return sync;
}

}  // namespace cassandra_like
