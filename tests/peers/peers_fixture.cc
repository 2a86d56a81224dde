#include "tests/peers/peers_fixture.h"

#include <fmt/format.h>

namespace cassandra_like::test {
namespace {

Task<Status> without_sums(Task<Result<SerializedMutation>> task) {
  Result<SerializedMutation> sums = co_await task;
  if (!sums.ok()) co_return std::move(sums.error());
  co_return Status();
}

Task<void> ask_and_keep(Messenger* messenger, InetAddressAndPort to, Verb verb, SharedBytes payload,
                        SendOptions options, std::optional<std::string>* out) {
  Task<Result<InboundMessage>> asking = messenger->request(to, verb, std::move(payload), options);
  Result<InboundMessage> answer = co_await asking;
  if (answer.ok()) {
    *out = Bytes(answer->payload);
  } else {
    *out = std::string("<") + failure_reason_name(reason_of(answer.error())) + ">";
  }
}

class CountRows final : public RowSink {
 public:
  Next begin_partition(const DecoratedKey&, const Row&) override { return Next::kContinue; }
  Next row(const Row&) override { return ++rows, Next::kContinue; }
  size_t rows = 0;
};

void add(PeerRequestsStatistics& sum, const PeerRequestsStatistics& part) {
  sum.writes += part.writes;
  sum.reads += part.reads;
  sum.hints += part.hints;
  sum.forwarded += part.forwarded;
  sum.out_of_range_writes += part.out_of_range_writes;
  sum.out_of_range_reads += part.out_of_range_reads;
  sum.waited_for_schema += part.waited_for_schema;
  sum.incompatible_schema += part.incompatible_schema;
  sum.malformed += part.malformed;
  sum.tombstone_failures += part.tombstone_failures;
  sum.expired += part.expired;
  sum.too_large += part.too_large;
}

}  // namespace

Task<Status> RecordedWrites::lead_counter(SerializedMutation deltas, std::string keyspace, Consistency consistency,
                                          const TracePtr&) {
  led.push_back(keyspace + " " + std::string(consistency_name(consistency)));
  const MutationPayload payload(std::move(deltas));
  return without_sums(replica_.mutate_counter(payload));
}

PeerRequestsStatistics PeerNode::statistics() const {
  PeerRequestsStatistics sum;
  for (const auto& each : requests) add(sum, each->statistics());
  return sum;
}

std::vector<RecordedHints::Hint> PeerNode::hints() const {
  std::vector<RecordedHints::Hint> all;
  for (const auto& each : hints_of_shards) all.insert(all.end(), each->hints.begin(), each->hints.end());
  return all;
}

PeersCluster::PeersCluster(size_t nodes, unsigned shards, int factor, PeerRequestsOptions options,
                           SchemaSyncOptions sync_options)
    : world_(SimWorld::create(1)),
      shards_(shards),
      factor_(factor),
      options_(std::move(options)),
      sync_options_(std::move(sync_options)),
      parted_(nodes) {
  set_log_level(LogLevel::kOff);
  for (const char* name : {"t", "n", "kv", "d"}) tables_[name] = storage_test::make_table(name);
  for (size_t i = 0; i < nodes; ++i) {
    nodes_.push_back(std::make_unique<PeerNode>());
    nodes_[i]->host = fmt::format("10.0.0.{}", i + 1);
    nodes_[i]->machine = &world_->add_machine(nodes_[i]->host);
  }
  for (size_t i = 0; i < nodes; ++i) boot(i);
  for (size_t i = 0; i < nodes; ++i) publish(i);
}

void PeersCluster::publish(size_t i) {
  std::vector<Endpoint> endpoints(size());
  for (size_t other = 0; other < size(); ++other) {
    Endpoint& endpoint = endpoints[other];
    endpoint.host_id = nodes_[other]->host_id;
    endpoint.address = nodes_[other]->host;
    endpoint.datacenter = "datacenter1";
    endpoint.rack = "rack1";
    const uint64_t step = std::numeric_limits<uint64_t>::max() / size();
    endpoint.tokens = {static_cast<Token>(step * other + (uint64_t{1} << 63) + 1)};
  }
  auto ring = std::make_shared<TokenRing>(std::move(endpoints), static_cast<EndpointIndex>(i));
  auto topology = std::make_shared<Topology>(ring, std::vector<bool>(size(), true));
  for (unsigned shard = 0; shard < shards_; ++shard) nodes_[i]->replica(shard).topology().set(topology);
}

PeersCluster::~PeersCluster() {
  for (size_t i = 0; i < size(); ++i) kill(i);
}

void PeersCluster::kill(size_t i) {
  PeerNode& node = *nodes_[i];
  node.machine->shut_down();
  node.sync.reset();
  node.requests.clear();
  node.messengers.clear();
  node.group.reset();
  node.coordinators.clear();
  node.hints_of_shards.clear();
  node.replicas.reset();
}

void PeersCluster::restart(size_t i) {
  kill(i);
  boot(i);
  publish(i);
}

void PeersCluster::boot(size_t i) {
  PeerNode& node = *nodes_[i];
  node.runtime = &node.machine->boot(shards_);
  node.engine.data_directories = {"/data"};
  node.engine.commitlog_directory = "/commitlog";
  node.engine.memtable_bytes = 64 << 20;
  node.engine.commitlog_segment_bytes = 1 << 20;
  node.engine.tombstone_failure_threshold = 100;
  LocalNode local;
  local.cluster_name = "Test Cluster";
  local.data_center = "datacenter1";
  local.rack = "rack1";
  local.listen_address = local.broadcast_address = local.rpc_address = node.host;
  using Opened = Result<std::unique_ptr<ShardedReplica>>;
  Opened opened = run<Opened>(i, [&] { return ShardedReplica::open(node.runtime, node.engine, local, 1); });
  CHECK(opened.ok());
  node.replicas = std::move(*opened);
  node.host_id = node.replica().local_node().host_id;
  LinkOptions link;
  link.self = node.address();
  node.group = std::make_unique<MessengerGroup>(*node.runtime, link);
  for (unsigned shard = 0; shard < shards_; ++shard) {
    ShardRuntime& runtime = node.runtime->shard(shard);
    node.messengers.push_back(std::make_unique<Messenger>(*node.group, shard));
    node.hints_of_shards.push_back(std::make_unique<RecordedHints>());
    node.coordinators.push_back(std::make_unique<PeerCoordinator>(runtime, node.replica(shard)));
    Messenger& messenger = *node.messengers.back();
    messenger.trace_with(&node.coordinators.back()->tracing());
    PeerRequestsOptions options = options_;
    options.on_unknown_schema = [n = &node] { n->runtime->shard(0).executor.post([n] { n->sync->hurry(); }); };
    node.requests.push_back(handle_peer_requests(messenger, runtime, *node.coordinators.back(),
                                                 node.hints_of_shards.back().get(), std::move(options)));
  }
  node.sync =
      SchemaSync::create(node.runtime->shard(0), *node.messengers[0], node.replica(), sync_node(i), sync_options_);
  for (unsigned shard = 0; shard < shards_; ++shard) {
    Messenger& messenger = *node.messengers[shard];
    node.sync->handle_verbs(messenger, node.runtime->shard(shard), node.replica(shard));
    CHECK(messenger.listen({node.host, kDefaultStoragePort}).ok());
  }
}

SchemaSyncNode PeersCluster::sync_node(size_t i) {
  SchemaSyncNode node;
  node.live_peers = [this, i] {
    std::vector<InetAddressAndPort> live;
    for (size_t other = 0; other < nodes_.size(); ++other) {
      if (other != i && sees(i, other)) live.push_back(nodes_[other]->address());
    }
    return live;
  };
  node.has_same_major_version = [](const InetAddressAndPort&) { return true; };
  return node;
}

std::vector<Bytes> PeersCluster::make_tables(const std::vector<std::string>& names, bool everywhere) {
  std::vector<TablePtr> tables;
  for (const std::string& name : names) tables.push_back(table(name));
  part({0});  // nothing is pushed
  auto made = change(0, make_keyspace(std::move(tables), "SimpleStrategy", "replication_factor", factor_));
  CHECK(made.ok());
  for (size_t i = 1; everywhere && i < size(); ++i) CHECK(merge(i, made->mutations).ok());
  part({});
  return made->mutations;
}

Result<SchemaDiff> PeersCluster::change(size_t i, SchemaTransformation transformation) {
  return run<Result<SchemaDiff>>(i, [&] { return node(i).replica().schema().change(transformation); });
}

Result<SchemaDiff> PeersCluster::merge(size_t i, std::vector<Bytes> mutations) {
  return run<Result<SchemaDiff>>(i, [&] { return node(i).replica().schema().merge(mutations); });
}

void PeersCluster::on(size_t i, unsigned shard, std::function<void()> fn) {
  bool done = false;
  node(i).runtime->shard(shard).executor.post([&] {
    fn();
    done = true;
  });
  CHECK(wait([&] { return done; }));
}

void PeersCluster::begin(size_t from, size_t to, Verb verb, Bytes payload, std::optional<std::string>* answer,
                         SendOptions options, unsigned shard) {
  options.flags |= kCallBackOnFailure;
  on(from, shard, [&] {
    Messenger* messenger = node(from).messengers[shard].get();
    spawn(ask_and_keep(messenger, node(to).address(), verb, SharedBytes::copy_of(payload), options, answer));
  });
}

std::string PeersCluster::ask(size_t from, size_t to, Verb verb, Bytes payload, SendOptions options, unsigned shard) {
  std::optional<std::string> answer;
  begin(from, to, verb, std::move(payload), &answer, options, shard);
  CHECK(wait([&] { return answer.has_value(); }, std::chrono::minutes(10)));
  return *answer;
}

Bytes PeersCluster::bytes_of(Update update) {
  Bytes bytes;
  serialize(update.mutation(), bytes);
  return bytes;
}

Bytes PeersCluster::write(const std::string& key, const std::string& value, int64_t timestamp) {
  return bytes_of(std::move(Update(table("t"), key).at(timestamp).row(1).cell("v", value)));
}

Lines PeersCluster::lines(size_t i, const std::string& name, const std::string& key) {
  ReadCommand command;
  command.table = node(i).replica().schema().current()->table("ks", name);
  command.now_seconds = storage_test::kNow;
  command.keys.push_back(DecoratedKey::of(keys_.emplace_back(key)));
  TextSink sink(*command.table);
  auto read = run<Result<ReadStatistics>>(i, [&] { return node(i).replica().read(command, sink); });
  return read.ok() ? sink.lines : Lines{"error: " + read.error().message()};
}

size_t PeersCluster::rows(size_t i, const std::string& name, const std::string& keyspace) {
  ReadCommand command;
  command.table = node(i).replica().schema().current()->table(keyspace, name);
  command.now_seconds = storage_test::kNow;
  command.range = KeyRange{};
  CountRows sink;
  CHECK(run<Result<ReadStatistics>>(i, [&] { return node(i).replica().read(command, sink); }).ok());
  return sink.rows;
}

std::string PeersCluster::key_of(EndpointIndex first, int n) {
  const TokenRing& ring = *node(0).replica().topology().current()->ring();
  for (int i = 0;; ++i) {
    std::string key(1, static_cast<char>('a' + i % 26));
    key.append(static_cast<size_t>(i / 26), '+');
    if (ring.entries()[ring.entry_of(murmur3_token(key))].endpoint == first && n-- == 0) return key;
  }
}

void PeersCluster::gossip() {
  for (size_t i = 0; i < size(); ++i) {
    on(i, 0, [&] {
      for (size_t other = 0; other < size(); ++other) {
        if (other == i || !sees(i, other)) continue;
        node(i).sync->on_version(node(other).address(), node(other).replica().schema().current()->version());
      }
    });
  }
}

bool PeersCluster::gossip_until(std::function<bool()> done, Duration limit) {
  for (Duration passed{0}; passed < limit; passed += std::chrono::seconds(1)) {
    gossip();
    if (done()) return true;
    world_->run_for(std::chrono::seconds(1));
  }
  return done();
}

bool PeersCluster::agree() {
  for (auto& each : nodes_) {
    if (each->version() != nodes_[0]->version()) return false;
  }
  return true;
}

void PeersCluster::part(std::vector<size_t> from_others) {
  parted_.assign(size(), false);
  for (size_t i : from_others) parted_[i] = true;
}

}  // namespace cassandra_like::test
