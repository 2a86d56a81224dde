#include "cluster_fixture.h"

#include <fmt/format.h>

#include "base/log.h"
#include "coordinator/write/replicated_writes.h"
#include "messaging/wire/batch_codec.h"
#include "messaging/wire/control_codec.h"
#include "messaging/wire/mutation_codec.h"

namespace cassandra_like::test {

Task<VerbResult> apply_mutation(Replica* replica, InboundMessage message) {
  message.keep();
  const SchemaPtr schema = replica->schema().current();
  Arena arena;
  auto find = [&schema](const Uuid& id) { return schema->table(id).get(); };
  auto mutation = decode_mutation(message.payload, find, arena);
  if (!mutation.ok()) co_return VerbResult::failure(RequestFailureReason::kIncompatibleSchema);
  Task<Status> applying = replica->mutate(*mutation);
  const Status applied = co_await applying;
  co_return applied.ok() ? VerbResult::answer() : VerbResult::failure(RequestFailureReason::kUnknown);
}

namespace {

Task<VerbResult> answer_nothing() { co_return VerbResult::nothing(); }
Task<VerbResult> answer_failure(RequestFailureReason reason) { co_return VerbResult::failure(reason); }

// Passes the message on to those that it names (MutationVerbHandler.forwardToLocalNodes).
void forward(Messenger& messenger, const InboundMessage& message) {
  if (!message.header.params.find(ParamType::kForwardTo)) return;
  ParamsBuilder params;
  params.respond_to(message.from).copy_without(message.header.params, ParamType::kForwardTo);
  const SharedBytes payload = SharedBytes::copy_of(message.payload);
  const SendOptions options{.flags = message.header.flags, .params = params.get(), .deadline = message.deadline};
  message.header.params.for_each_forward([&](const InetAddressAndPort& to, uint32_t id) {
    messenger.forward(to, id, message.header.verb, payload, options);
  });
}

Task<VerbResult> mutate(CoordinatorNode* node, unsigned shard, InboundMessage message) {
  forward(node->messenger(shard), message);
  return apply_mutation(&node->replica(shard), std::move(message));
}

VerbResult result_of(const Status& status) {
  return status.ok() ? VerbResult::answer() : VerbResult::failure(RequestFailureReason::kUnknown);
}

Task<VerbResult> lead_counter(CoordinatorNode* node, unsigned shard, InboundMessage message) {
  const SchemaPtr schema = node->replica(shard).schema().current();
  Arena arena;
  auto find = [&schema](const Uuid& id) { return schema->table(id).get(); };
  auto counter = decode_counter_mutation(message.payload, find, arena);
  if (!counter.ok()) co_return VerbResult::failure(RequestFailureReason::kIncompatibleSchema);
  SerializedMutation deltas(counter->mutation.key.token, counter->serialized);
  Task<Status> leading = node->coordinator(shard).replicated_writes().lead_counter(
      std::move(deltas), std::string(counter->mutation.keyspace), *parse_consistency(counter->consistency));
  const Status led = co_await leading;
  co_return result_of(led);
}

Task<VerbResult> keep_batch(CoordinatorNode* node, unsigned shard, InboundMessage message) {
  auto batch = decode_batch(message.payload);
  if (!batch.ok()) co_return VerbResult::failure(RequestFailureReason::kUnknown);
  Task<Status> storing =
      node->coordinator(shard).batchlog().store_for_peer(batch->id, batch->created_micros, batch->mutations);
  const Status stored = co_await storing;
  co_return result_of(stored);
}

Task<VerbResult> remove_batch(CoordinatorNode* node, unsigned shard, InboundMessage message) {
  Task<Status> removing = node->coordinator(shard).batchlog().remove(*decode_batch_id(message.payload));
  const Status removed = co_await removing;
  co_return removed.ok() ? VerbResult::nothing() : VerbResult::failure(RequestFailureReason::kUnknown);
}

Task<VerbResult> truncate(CoordinatorNode* node, unsigned shard, InboundMessage message) {
  auto request = decode_truncate_request(message.payload);
  TablePtr table = node->replica(shard).schema().current()->table(request->keyspace, request->table);
  Task<Status> truncating = node->replica(shard).truncate(table);
  const Status truncated = co_await truncating;
  if (!truncated.ok()) co_return result_of(truncated);
  Bytes body;
  const TruncateResponse response{table->keyspace, table->name, true};
  append_truncate_response(body, response);
  co_return VerbResult::answer(SharedBytes::copy_of(body));
}

SchemaTransformation with_tables(std::map<std::string, TablePtr> tables, StringPairs replication) {
  auto keyspace = std::make_shared<KeyspaceMetadata>();
  keyspace->name = "ks";
  keyspace->replication.options = std::move(replication);
  for (const auto& [name, table] : tables) keyspace->tables[name] = table;
  return [keyspace](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    return SchemaPtr(schema->with_keyspace(keyspace));
  };
}

TablePtr with_index(const TablePtr& plain, const std::string& column) {
  auto table = std::make_shared<TableMetadata>(*plain);
  IndexMetadata index;
  index.id = Uuid::name_based("by_" + column);
  index.name = "by_" + column;
  index.options["target"] = column;
  table->indexes[index.name] = index;
  return table;
}

}  // namespace

// ---- CoordinatorNode

VerbHandler CoordinatorNode::silence() {
  return [](InboundMessage) { return answer_nothing(); };
}

VerbHandler CoordinatorNode::failure(RequestFailureReason reason) {
  return [reason](InboundMessage) { return answer_failure(reason); };
}

void CoordinatorNode::answers(Verb verb, VerbHandler handler) {
  for (unsigned shard = 0; shard < messengers.size(); ++shard) answers(verb, shard, handler);
}

void CoordinatorNode::answers(Verb verb, unsigned shard, VerbHandler handler) {
  messengers[shard]->handle(verb, [this, verb, handler = std::move(handler)](InboundMessage message) {
    ++received_[verb_index(verb)];
    return handler(std::move(message));
  });
}

std::vector<RecordedHints::Hint> CoordinatorNode::hints() const {
  std::vector<RecordedHints::Hint> all;
  for (const auto& of_shard : hints_of_shards) all.insert(all.end(), of_shard->hints.begin(), of_shard->hints.end());
  return all;
}

// ---- CoordinatorCluster

CoordinatorCluster::CoordinatorCluster(size_t nodes, int factor, unsigned shards, CoordinatorOptions options)
    : CoordinatorCluster(
          std::vector<NodePlace>(nodes),
          {{"class", "org.apache.cassandra.locator.SimpleStrategy"}, {"replication_factor", std::to_string(factor)}},
          shards, options) {}

CoordinatorCluster::CoordinatorCluster(std::vector<NodePlace> places, StringPairs replication, unsigned shards,
                                       CoordinatorOptions coordinator_options)
    : options(coordinator_options),
      world_(SimWorld::create(1)),
      places_(std::move(places)),
      shards_(shards),
      replication_(std::move(replication)),
      alive_(places_.size(), true) {
  set_log_level(LogLevel::kOff);
  for (const char* name : {"t", "n", "kv"}) tables_[name] = storage_test::make_table(name);
  tables_["i"] = with_index(storage_test::make_table("i"), "v");
  const size_t count = places_.size();
  for (size_t i = 0; i < count; ++i) {
    auto node = std::make_unique<CoordinatorNode>();
    node->host = fmt::format("10.0.0.{}", i + 1);
    node->machine = &world_->add_machine(node->host);
    nodes_.push_back(std::move(node));
    Endpoint& endpoint = endpoints_.emplace_back();
    endpoint.address = nodes_.back()->host;
    endpoint.datacenter = places_[i].datacenter;
    endpoint.rack = places_[i].rack;
    endpoint.state = places_[i].state;
    const uint64_t step = std::numeric_limits<uint64_t>::max() / count;
    endpoint.tokens = {static_cast<Token>(step * i + (uint64_t{1} << 63) + 1)};
    boot(i);
  }
  publish();
}

CoordinatorCluster::~CoordinatorCluster() {
  for (size_t i = 0; i < nodes_.size(); ++i) crash(i);
}

void CoordinatorCluster::crash(size_t i) {
  CoordinatorNode& node = *nodes_[i];
  node.machine->crash();
  node.coordinators.clear();
  node.messengers.clear();
  node.group.reset();
  node.hints_of_shards.clear();
  node.replicas.reset();
}

void CoordinatorCluster::boot(size_t i) {
  CoordinatorNode& node = *nodes_[i];
  node.runtime = &node.machine->boot(shards_);
  EngineOptions engine;
  engine.data_directories = {"/data"};
  engine.commitlog_directory = "/commitlog";
  engine.memtable_bytes = 64 << 20;
  engine.commitlog_segment_bytes = 1 << 20;
  LocalNode local;
  local.cluster_name = "Test Cluster";
  local.data_center = places_[i].datacenter;
  local.rack = places_[i].rack;
  local.listen_address = local.broadcast_address = local.rpc_address = node.host;
  using Opened = Result<std::unique_ptr<ShardedReplica>>;
  Opened opened = run<Opened>(i, [&] { return ShardedReplica::open(node.runtime, engine, local, 1); });
  CHECK(opened.ok());
  node.replicas = std::move(*opened);
  node.host_id = endpoints_[i].host_id = node.replica().local_node().host_id;
  if (node.replica().schema().current()->table("ks", "t") == nullptr) {
    auto changed =
        run<Result<SchemaDiff>>(i, [&] { return node.replica().schema().change(with_tables(tables_, replication_)); });
    CHECK(changed.ok());
  }
  LinkOptions link;
  link.self = node.address();
  node.group = std::make_unique<MessengerGroup>(*node.runtime, link);
  for (unsigned shard = 0; shard < shards_; ++shard) {
    node.messengers.push_back(std::make_unique<Messenger>(*node.group, shard));
    node.hints_of_shards.push_back(std::make_unique<RecordedHints>());
    const CoordinatorPeers peers{node.messengers.back().get(), node.hints_of_shards.back().get()};
    node.coordinators.push_back(Coordinator::create(node.runtime->shard(shard), node.replica(shard), options, peers));
    handle_verbs(node, shard);
    CHECK(node.messenger(shard).listen({node.host, kDefaultStoragePort}).ok());
  }
  if (nodes_.size() == places_.size()) publish();
}

void CoordinatorCluster::handle_verbs(CoordinatorNode& node, unsigned shard) {
  using Serve = Task<VerbResult> (*)(CoordinatorNode*, unsigned, InboundMessage);
  const std::pair<Verb, Serve> handlers[] = {{Verb::kMutationReq, mutate},
                                             {Verb::kCounterMutationReq, lead_counter},
                                             {Verb::kBatchStoreReq, keep_batch},
                                             {Verb::kBatchRemoveReq, remove_batch},
                                             {Verb::kTruncateReq, truncate}};
  for (const auto& [verb, serve] : handlers) {
    node.answers(verb, shard,
                 [n = &node, shard, serve = serve](InboundMessage m) { return serve(n, shard, std::move(m)); });
  }
}

void CoordinatorCluster::serve(size_t node) {
  for (unsigned shard = 0; shard < shards_; ++shard) handle_verbs(*nodes_[node], shard);
}

void CoordinatorCluster::down(std::vector<EndpointIndex> endpoints) {
  alive_.assign(nodes_.size(), true);
  for (EndpointIndex endpoint : endpoints) alive_[endpoint] = false;
  publish();
}

void CoordinatorCluster::not_serving(std::vector<EndpointIndex> endpoints) {
  serving_.assign(nodes_.size(), true);
  for (EndpointIndex endpoint : endpoints) serving_[endpoint] = false;
  publish();
}

void CoordinatorCluster::publish() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->replicas == nullptr) continue;
    auto ring = std::make_shared<TokenRing>(endpoints_, static_cast<EndpointIndex>(i));
    std::vector<bool> alive = alive_;
    alive[i] = true;
    auto topology = std::make_shared<Topology>(ring, alive, serving_);
    for (unsigned shard = 0; shard < shards_; ++shard) nodes_[i]->replica(shard).topology().set(topology);
  }
}

Status CoordinatorCluster::write(size_t node, std::vector<Update> updates, Consistency consistency, WriteType type) {
  std::vector<Mutation> mutations;
  for (Update& update : updates) mutations.push_back(update.mutation());
  return run<Status>(node, [&] { return nodes_[node]->coordinator().write(mutations, consistency, type); });
}

Status CoordinatorCluster::add(size_t node, Update update, Consistency consistency) {
  std::vector<Mutation> mutations{update.mutation()};
  return run<Status>(node, [&] { return nodes_[node]->coordinator().write_counters(mutations, consistency); });
}

Lines CoordinatorCluster::lines(size_t node, const std::string& name, const std::string& key) {
  ReadCommand command;
  command.table = table(name);
  command.now_seconds = storage_test::kNow;
  command.keys.push_back(DecoratedKey::of(keys_.emplace_back(key)));
  TextSink sink(*command.table);
  auto read = run<Result<ReadStatistics>>(node, [&] { return nodes_[node]->replica().read(command, sink); });
  return read.ok() ? sink.lines : Lines{"error: " + read.error().message()};
}

Lines CoordinatorCluster::scan(size_t node, const std::string& name, const std::string& keyspace) {
  ReadCommand command;
  command.table = nodes_[node]->replica().schema().current()->table(keyspace, name);
  command.now_seconds = storage_test::kNow;
  command.range = KeyRange{};
  TextSink sink(*command.table);
  auto read = run<Result<ReadStatistics>>(node, [&] { return nodes_[node]->replica().read(command, sink); });
  return read.ok() ? sink.lines : Lines{"error: " + read.error().message()};
}

std::string CoordinatorCluster::having(const std::string& key) {
  std::string out;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->replicas == nullptr || lines(i, "t", key).empty()) continue;
    out += (out.empty() ? "" : " ") + std::to_string(i);
  }
  return out;
}

std::string CoordinatorCluster::key_of(EndpointIndex node, int n) {
  const TokenRing& ring = *nodes_[0]->replica().topology().current()->ring();
  for (int i = 0;; ++i) {
    std::string key(1, static_cast<char>('a' + i % 26));
    key.append(static_cast<size_t>(i / 26), '+');
    if (ring.entries()[ring.entry_of(murmur3_token(key))].endpoint == node && n-- == 0) return key;
  }
}

std::string told(const Status& status) {
  if (status.ok()) return "ok";
  const ErrorInfo& info = status.error().info();
  std::string out =
      fmt::format("{} [{} {}/{}]", info.message, consistency_name(static_cast<Consistency>(info.consistency)),
                  info.received, info.required);
  if (!info.write_type.empty()) out += " " + info.write_type;
  for (const auto& [address, reason] : info.failure_reasons) {
    out += fmt::format(" .{}={}", static_cast<int>(address.back()), reason);
  }
  return out;
}

}  // namespace cassandra_like::test
