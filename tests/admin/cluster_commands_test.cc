// The commands and tables about other nodes: a node 127.0.0.1 that knows 127.0.0.2, which lives, and 127.0.0.3, which is
// down. Gossip, the ring and the messengers are the real ones; the rooms around them are played.
#include <gmock/gmock.h>

#include "gossip/state_values.h"
#include "tests/admin/admin_node.h"

namespace cassandra_like {
namespace {

using admin::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int32_t kGeneration = 1'700'000'000;
constexpr GossipTime kNow{1'000'000'000, int64_t{kGeneration} * 1000};

InetAddressAndPort node(int n) { return *InetAddressAndPort::parse("127.0.0." + std::to_string(n)); }
Uuid host_id(int n) { return *Uuid::parse("00000000-0000-4000-8000-00000000000" + std::to_string(n)); }

EndpointState member(int n) {
  const std::vector<Token> tokens{n * 1000};
  const std::pair<ApplicationState, std::string> told[] = {
      {ApplicationState::kHostId, host_id(n).to_string()},
      {ApplicationState::kDc, "dc1"},
      {ApplicationState::kRack, "r" + std::to_string(n)},
      {ApplicationState::kLoad, "2048.0"},
      {ApplicationState::kReleaseVersion, "5.0.9"},
      {ApplicationState::kTokens, state_values::tokens(tokens)},
      {ApplicationState::kStatusWithPort, state_values::normal(tokens)}};
  EndpointState state;
  state.heart_beat = {kGeneration + n, 100};
  int32_t version = 0;
  for (const auto& [name, value] : told) state.states[name] = {value, ++version};
  return state;
}

class PlayedMembership : public MembershipService {
 public:
  PlayedMembership() : membership_(membership_config()), gossiper_(gossip_config(), membership_, kNow) {
    membership_.attach(gossiper_);
    EXPECT_TRUE(gossiper_.start(kGeneration, {{ApplicationState::kReleaseVersion, "5.0.9"}}, kNow).ok());
    gossiper_.on_ack2(node(2), {{{node(2), member(2)}, {node(3), member(3)}}}, kNow.millis, kNow);
    gossiper_.on_echo_answered(node(2), kNow);
    gossiper_.on_echo_answered(node(3), kNow);
    gossiper_.on_shutdown(node(3), {}, (kGeneration + int64_t{4}) * 1000, kNow);
    gossiper_.detector().report(node(2), kNow.nanos);
    gossiper_.detector().interpret(node(2), kNow.nanos + 2'000'000'000);
  }

  void handle_verbs(Messenger&) override {}
  Task<Status> start() override { return Task<Status>(Status()); }
  Task<void> stop() override { co_return; }
  Task<void> halt() override { co_return; }
  Status enable_gossip() override { return turn(true); }
  Status disable_gossip() override { return turn(false); }
  Task<Status> assassinate(InetAddressAndPort endpoint) override {
    return Task<Status>(Status(Error(ErrorCode::kServerError, "Endpoint still alive: " + endpoint.to_string())));
  }
  Status join_ring() override {
    has_joined_ = true;
    return {};
  }
  std::vector<InetAddressAndPort> reload_seeds(std::vector<InetAddressAndPort> seeds) override {
    return gossiper_.reload_seeds(seeds);
  }
  void set_rpc_ready(bool) override {}
  void set_schema_version(const Uuid&) override {}
  void set_load(uint64_t) override {}
  void set_disk_usage(DiskUsage) override {}
  bool is_gossip_running() const override { return is_running_; }
  bool has_joined() const override { return has_joined_; }
  std::vector<InetAddressAndPort> live_peers() const override { return {node(2)}; }
  const Gossiper& gossiper() const override { return gossiper_; }
  const Membership& membership() const override { return membership_; }

  // Without its status, which would change the ring.
  void tell_other_tokens() {
    const std::vector<Token> tokens{-5, 2000};
    EndpointState state;
    state.heart_beat = {kGeneration + 2, 200};
    state.states[ApplicationState::kTokens] = {state_values::tokens(tokens), 150};
    gossiper_.on_ack2(node(2), {{{node(2), state}}}, kNow.millis, kNow);
  }

  const TopologyPtr& topology() { return membership_.topology(); }
  bool has_joined_ = true;

 private:
  Status turn(bool on) {
    is_running_ = on;
    return {};
  }
  static Gossiper::Config gossip_config() {
    Gossiper::Config config;
    config.local = node(1);
    config.cluster = "Test Cluster";
    config.seeds = {node(1), node(2)};
    return config;
  }
  static Membership::Config membership_config() {
    Membership::Config config;
    config.local = node(1);
    config.local_native = node(1);
    config.host_id = host_id(1);
    return config;
  }

  Membership membership_;
  Gossiper gossiper_;
  bool is_running_ = true;
};

class PlayedSchemaSync : public SchemaSync {
 public:
  void handle_verbs(Messenger&, ShardRuntime&, Replica&) override {}
  void hurry() override {}
  std::map<std::string, std::vector<InetAddressAndPort>> outstanding() const override { return {}; }
  Task<Status> reset(Duration) override {
    ++resets_;
    return Task<Status>(resets_ == 1 ? Status() : Status(Error(ErrorCode::kServerError, "No live node")));
  }
  const SchemaSyncStatistics& statistics() const override { return statistics_; }
  void on_version(const InetAddressAndPort&, const Uuid&) override {}
  void on_gone(const InetAddressAndPort&) override {}
  Task<Status> await_agreement(Duration) override { return Task<Status>(Status()); }
  Task<std::map<std::string, std::vector<InetAddressAndPort>>> versions(
      std::vector<InetAddressAndPort> live, std::vector<InetAddressAndPort> unreachable) override {
    return Task<std::map<std::string, std::vector<InetAddressAndPort>>>(
        {{"aa789ad3-3a74-3a3e-b572-9a1d98e4039c", live}, {"UNREACHABLE", unreachable}});
  }
  Task<void> stop() override { co_return; }

 private:
  int resets_ = 0;
  SchemaSyncStatistics statistics_;
};

class PlayedHints : public Hints {
 public:
  explicit PlayedHints(std::vector<PendingHints> pending) : pending_(std::move(pending)) {}
  Task<Status> open() override { return Task<Status>(Status()); }
  Task<Status> stop() override { return Task<Status>(Status()); }
  void node_up(const Uuid&, const InetAddressAndPort&) override {}
  void node_down(const Uuid&) override {}
  void node_left(const Uuid&) override {}
  bool should_hint(const Uuid&, std::string_view) override { return true; }
  Task<Status> write(std::vector<Uuid>, SerializedMutation, int64_t, int32_t) override {
    return Task<Status>(Status());
  }
  Task<Status> remove_all(std::optional<Uuid> host_id) override {
    std::erase_if(pending_, [&](const PendingHints& each) { return !host_id || each.host_id == *host_id; });
    return Task<Status>(Status());
  }
  std::vector<PendingHints> pending() const override { return pending_; }
  const HintsStatistics& statistics() const override { return statistics_; }

 private:
  std::vector<PendingHints> pending_;
  HintsStatistics statistics_{.written = 5, .succeeded = 3, .failed = 1};
};

// All that a node has because it is not alone.
struct Others {
  PlayedMembership membership;
  PlayedSchemaSync schema_sync;
  PlayedHints hints[2] = {PlayedHints({{host_id(3), 2, 1000, 50'000, 70'000}}),
                          PlayedHints({{host_id(3), 1, 500, 40'000, 60'000}, {host_id(9), 1, 10, 1000, 2000}})};
  std::unique_ptr<MessengerGroup> group;
  std::vector<std::unique_ptr<Messenger>> messengers;

  void complete(AdminNode& node_parts) {
    LinkOptions options;
    options.self = node(1);
    group = std::make_unique<MessengerGroup>(*node_parts.runtime, options);
    for (unsigned i = 0; i < node_parts.runtime->shard_count(); ++i) {
      messengers.push_back(std::make_unique<Messenger>(*group, i));
      node_parts.messengers.push_back(messengers.back().get());
      node_parts.hints.push_back(&hints[i]);
      node_parts.replicas[i]->topology().set(membership.topology());
    }
    node_parts.membership = &membership;
    node_parts.schema_sync = &schema_sync;
    node_parts.hints_control = make_hints_control({}, node_parts.runtime->shard_count());
  }
};

Task<Status> closed(Messenger* messenger) {
  co_await messenger->close();
  co_return Status();
}

class ClusterCommands : public AdminNodeTest {
 protected:
  ClusterCommands() : ClusterCommands(std::make_shared<Others>()) {}
  explicit ClusterCommands(std::shared_ptr<Others> others)
      : AdminNodeTest([others](AdminNode& parts) { others->complete(parts); }), others_(others) {}
  ~ClusterCommands() override {
    for (unsigned i = 0; i < others_->messengers.size(); ++i) {
      Messenger* messenger = others_->messengers[i].get();
      EXPECT_TRUE(run<Status>(i, [messenger] { return closed(messenger); }).ok());
    }
    others_->messengers.clear();
  }

  // A message on shard 1 that finds nobody: nothing listens on 127.0.0.2.
  void send_to_nobody() {
    Messenger* messenger = others_->messengers[1].get();
    Status sent = run<Status>(1, [messenger] {
      EXPECT_TRUE(messenger->send(node(2), Verb::kMutationReq, SharedBytes::copy_of("x")));
      return Task<Status>(Status());
    });
    EXPECT_TRUE(sent.ok());
  }

  std::shared_ptr<Others> others_;
};

TEST_F(ClusterCommands, RingHoldsWhatGossipTells) {
  Json nodes = get("/v1/ring", "keyspace=system_traces").json["nodes"];
  ASSERT_EQ(nodes.size(), 2u) << nodes;
  EXPECT_EQ(nodes[0], Json::parse(R"({"address": "127.0.0.2", "port": 7000, "host_name": "127.0.0.2",
      "data_center": "dc1", "rack": "r2", "status": "up", "state": "normal", "load_bytes": 2048.0, "owns": 1.0,
      "host_id": "00000000-0000-4000-8000-000000000002", "tokens": ["2000"]})"));
  EXPECT_EQ(nodes[1]["status"], "down");
}

TEST_F(ClusterCommands, TimeoutsOfMessagesChangeOnEveryShard) {
  EXPECT_EQ(get("/v1/timeouts", "type=misc").json, Json({{"type", "misc"}, {"millis", 10'000}}));
  EXPECT_EQ(get("/v1/timeouts", "type=internodeconnect").json, Json({{"type", "internodeconnect"}, {"millis", 2000}}));
  EXPECT_EQ(post("/v1/timeouts", "type=misc&millis=7000").status, 200);
  EXPECT_EQ(post("/v1/timeouts", "type=write&millis=900").status, 200);
  EXPECT_EQ(post("/v1/timeouts", "type=internodeconnect&millis=500").status, 200);
  EXPECT_EQ(get("/v1/timeouts", "type=misc").json["millis"], 7000);
  EXPECT_EQ(get("/v1/timeouts", "type=internodeconnect").json["millis"], 500);
  for (const auto& messenger : others_->messengers) {
    EXPECT_EQ(messenger->options().timeouts.rpc, 7000);
    EXPECT_EQ(messenger->options().timeouts.write, 900);
    EXPECT_EQ(messenger->options().timeouts.read, 5000);
    EXPECT_EQ(messenger->options().connect_timeout, std::chrono::milliseconds(500));
  }
}

TEST_F(ClusterCommands, TokensOfGossipAndRingAreCompared) {
  EXPECT_EQ(get("/v1/token_mismatches").json, Json::parse(R"({"mismatches": []})"));
  others_->membership.tell_other_tokens();
  EXPECT_EQ(get("/v1/token_mismatches").json, Json::parse(R"({"mismatches": [
      {"address": "127.0.0.2", "port": 7000, "gossip": ["-5", "2000"], "ring": ["2000"]}]})"));
}

TEST_F(ClusterCommands, InfoOfANodeThatHasNotJoined) {
  others_->membership.has_joined_ = false;
  Json info = get("/v1/info").json;
  EXPECT_EQ(info["joined"], false);
  EXPECT_EQ(info["bootstrap_state"], "NEEDS_BOOTSTRAP");
  EXPECT_EQ(info["gossip_active"], true);
  EXPECT_EQ(info["generation"], kGeneration);
  EXPECT_EQ(post("/v1/join").status, 200);
  EXPECT_EQ(get("/v1/info").json["joined"], true);
  EXPECT_EQ(post("/v1/join").json, Json({{"error", "This node has already joined the ring."}}));
}

TEST_F(ClusterCommands, ClusterAsksForSchemaVersions) {
  Json cluster = get("/v1/cluster").json;
  EXPECT_EQ(cluster["live"], 2);
  EXPECT_EQ(cluster["unreachable"], 1);
  EXPECT_EQ(cluster["data_centers"], Json::parse(R"([{"name": "dc1", "nodes": 2, "down": 1}])"));
  EXPECT_EQ(cluster["schema_versions"], Json::parse(R"([
      {"version": "UNREACHABLE", "nodes": [{"address": "127.0.0.3", "port": 7000}]},
      {"version": "aa789ad3-3a74-3a3e-b572-9a1d98e4039c",
       "nodes": [{"address": "127.0.0.1", "port": 7000}, {"address": "127.0.0.2", "port": 7000}]}])"));
  EXPECT_EQ(cluster["release_versions"][0]["nodes"].size(), 3u);
}

TEST_F(ClusterCommands, GossipOfAllNodes) {
  Json nodes = get("/v1/gossip").json["nodes"];
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[1]["generation"], kGeneration + 2);
  EXPECT_EQ(nodes[1]["heartbeat"], 100);
  EXPECT_EQ(nodes[1]["states"][0], Json::parse(R"({"name": "LOAD", "version": 4, "value": "2048.0"})"));
  EXPECT_EQ(nodes[1]["states"].back(), Json::parse(R"({"name": "TOKENS", "version": 6, "value": "<hidden>"})"));
}

TEST_F(ClusterCommands, GossipIsTurnedOffAndOn) {
  EXPECT_EQ(post("/v1/gossip/disable").status, 200);
  EXPECT_EQ(get("/v1/info").json["gossip_active"], false);
  EXPECT_EQ(post("/v1/gossip/enable").status, 200);
  EXPECT_EQ(get("/v1/info").json["gossip_active"], true);
}

TEST_F(ClusterCommands, FailureDetector) {
  Json nodes = get("/v1/failure_detector").json["nodes"];
  ASSERT_EQ(nodes.size(), 1u) << nodes;
  EXPECT_EQ(nodes[0]["address"], "127.0.0.2");
  EXPECT_GT(nodes[0]["phi"], 0.1);
}

TEST_F(ClusterCommands, SeedsAreReadAgain) {
  EXPECT_EQ(get("/v1/seeds").json, Json::parse(R"({"seeds": [{"address": "127.0.0.2", "port": 7000}]})"));
  using Seeds = Result<std::vector<InetAddressAndPort>>;
  context_->hooks.read_seeds = [] { return Seeds({node(1), node(3)}); };
  EXPECT_EQ(post("/v1/seeds/reload").json, Json::parse(R"({"seeds": [{"address": "127.0.0.3", "port": 7000}]})"));
  context_->hooks.read_seeds = [] { return Seeds(invalid("no such file")); };
  EXPECT_EQ(post("/v1/seeds/reload").json, Json::parse(R"({"seeds": null})"));
  EXPECT_EQ(get("/v1/seeds").json["seeds"][0]["address"], "127.0.0.3");
}

TEST_F(ClusterCommands, SchemaIsReset) {
  EXPECT_EQ(post("/v1/schema/reset").status, 200);
  Reply failed = post("/v1/schema/reset");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.json, Json({{"error", "No live node"}}));
}

TEST_F(ClusterCommands, Assassinate) {
  Reply alive = post("/v1/assassinate", "address=127.0.0.2");
  EXPECT_EQ(alive.status, 500);
  EXPECT_EQ(alive.json, Json({{"error", "Endpoint still alive: /127.0.0.2:7000"}}));
  EXPECT_EQ(post("/v1/assassinate", "address=db1").json, Json({{"error", "Not an address: db1"}}));
}

TEST_F(ClusterCommands, HintsOfAllShardsByNode) {
  Json pending = get("/v1/hints").json["pending"];
  EXPECT_EQ(pending, Json::parse(R"([
      {"host_id": "00000000-0000-4000-8000-000000000003", "address": "127.0.0.3", "port": 7000, "rack": "r3",
       "data_center": "dc1", "status": "DOWN", "files": 3, "bytes": 1500, "newest_millis": 70000,
       "oldest_millis": 40000},
      {"host_id": "00000000-0000-4000-8000-000000000009", "address": null, "port": null, "rack": "Unknown",
       "data_center": "Unknown", "status": "Unknown", "files": 1, "bytes": 10, "newest_millis": 2000,
       "oldest_millis": 1000}])"));
}

TEST_F(ClusterCommands, HintsAreRemovedForOneNodeOrAll) {
  EXPECT_EQ(post("/v1/hints/truncate", "address=127.0.0.99").json,
            Json({{"error", "Can't delete hints for unknown address /127.0.0.99:7000"}}));
  EXPECT_EQ(post("/v1/hints/truncate", "address=127.0.0.3").status, 200);
  EXPECT_EQ(get("/v1/hints").json["pending"].size(), 1u);
  EXPECT_EQ(post("/v1/hints/truncate").status, 200);
  EXPECT_THAT(get("/v1/hints").json["pending"], IsEmpty());
}

TEST_F(ClusterCommands, HandoffSettings) {
  const Json before = get("/v1/handoff").json;
  EXPECT_EQ(before, Json::parse(R"({"enabled": true, "paused": false, "throttle_bytes_per_second": 1048576,
      "window_millis": 10800000, "disabled_data_centers": []})"));
  EXPECT_EQ(post("/v1/handoff", "window_millis=7200000&throttle_kib_per_second=fast").json,
            Json({{"error", "throttle_kib_per_second must be a whole number, 0 or more: fast"}}));
  EXPECT_EQ(post("/v1/handoff", "window_millis=-1").status, 400);
  EXPECT_EQ(get("/v1/handoff").json, before);
  EXPECT_EQ(post("/v1/handoff", "enabled=false&paused=true&window_millis=7200000&throttle_kib_per_second=2048").status,
            200);
  EXPECT_EQ(post("/v1/handoff", "disabled_data_center=dc2&disabled_data_center=dc3").status, 200);
  EXPECT_EQ(post("/v1/handoff", "enabled_data_center=dc2").status, 200);
  EXPECT_EQ(get("/v1/handoff").json, Json::parse(R"({"enabled": false, "paused": true,
      "throttle_bytes_per_second": 2097152, "window_millis": 7200000, "disabled_data_centers": ["dc3"]})"));
}

TEST_F(ClusterCommands, NetworkSumsTheShards) {
  send_to_nobody();
  Json small = get("/v1/network").json["messages"][1];
  EXPECT_EQ(small, Json::parse(R"({"name": "Small messages", "pending": 1, "completed": 0, "dropped": 0})"));
  run_for(std::chrono::seconds(3));
  small = get("/v1/network").json["messages"][1];
  EXPECT_EQ(small, Json::parse(R"({"name": "Small messages", "pending": 0, "completed": 0, "dropped": 1})"));
  const Json dropped = get("/v1/thread_pools").json["dropped"];
  EXPECT_FALSE(dropped.empty());
  for (const Json& each : dropped) {
    EXPECT_EQ(each["dropped"], each["type"] == "MUTATION_REQ" ? 1 : 0) << each;
  }
}

TEST_F(ClusterCommands, Metrics) {
  send_to_nobody();
  run_for(std::chrono::seconds(3));
  HttpRequest request{"GET", "/metrics", "", "", {{"host", "127.0.0.1:7199"}}};
  const std::string text = send(request).body;
  EXPECT_THAT(text, HasSubstr("cassandra_gossip_live_nodes 1\n"));
  EXPECT_THAT(text, HasSubstr("cassandra_gossip_unreachable_nodes 1\n"));
  EXPECT_THAT(text, HasSubstr("cassandra_hints_written_total 10\n"));
  EXPECT_THAT(text, HasSubstr("cassandra_internode_expired_messages_total{type=\"small\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("cassandra_dropped_messages_total{verb=\"MUTATION_REQ\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("cassandra_read_repairs_attempted_total 0\n"));
}

TEST_F(ClusterCommands, Views) {
  send_to_nobody();
  EXPECT_THAT(cql("SELECT address, port, dc, rack, pending_count, sent_count FROM system_views.internode_outbound", 1),
              ElementsAre(ElementsAre("127.0.0.2", "7000", "dc1", "r2", "1", "0")));
  EXPECT_THAT(cql("SELECT address FROM system_views.internode_inbound"), IsEmpty());
  EXPECT_THAT(
      cql("SELECT host_id, address, dc, rack, status, files FROM system_views.pending_hints", 1),
      testing::UnorderedElementsAre(ElementsAre(host_id(3).to_string(), "127.0.0.3", "dc1", "r3", "DOWN", "3"),
                                    ElementsAre(host_id(9).to_string(), "null", "Unknown", "Unknown", "Unknown", "1")));
  EXPECT_THAT(cql("SELECT address, status_with_port, rack FROM system_views.gossip_info WHERE address = '127.0.0.3'"),
              ElementsAre(ElementsAre("127.0.0.3", "shutdown,true", "r3")));
}

}  // namespace
}  // namespace cassandra_like
