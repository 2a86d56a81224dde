// The schema of a real Cassandra 5.0.9, over its own wire: recorded (data/pulled_schema.txt: its version, then the bytes of a
// SCHEMA_PULL_RSP), and beside a running one, when INTERNODE_PEER names its address. INTERNODE_SELF is the loopback address of
// this end (127.0.0.23 if it is not set); INTERNODE_RECORD a file to record to. The peer has cassandra.yaml's defaults.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <future>

#include "messaging/wire/control_codec.h"
#include "peers/schema_exchange.h"
#include "runtime/linux/linux_runtime.h"
#include "tests/peers/peers_fixture.h"

namespace cassandra_like::test {
namespace {

using storage_test::make_table;

std::string version(ReplicaNode& node) { return node.on(0).schema().current()->version().to_string(); }

// Merges the body of a SCHEMA_PULL_RSP.
void merge_body(ReplicaNode& node, BytesView body) {
  auto mutations = split_schema_mutations(body, *node.on(0).schema().current());
  ASSERT_TRUE(mutations.ok()) << mutations.error().message();
  auto merged = node.merge(0, *mutations);
  ASSERT_TRUE(merged.ok()) << merged.error().message();
}

TEST(PulledSchema, OfACassandraHasItsVersionHere) {
  std::ifstream in(SOURCE_DIR "/tests/peers/data/pulled_schema.txt");
  std::string version_of_peer, hex;
  in >> version_of_peer >> hex;
  Bytes body;
  ASSERT_TRUE(from_hex(hex, &body));
  for (unsigned shards : {1u, 3u}) {
    ReplicaNode node(shards);
    merge_body(node, body);
    EXPECT_EQ(version(node), version_of_peer);
    EXPECT_EQ(node.table("orders", "shop")->all_columns_in_select_order().size(), 7u);
    EXPECT_EQ(node.table("gone", "shop"), nullptr);
    merge_body(node, body);
    EXPECT_EQ(version(node), version_of_peer);
  }
}

// One messenger on real sockets.
class RealMessenger {
 public:
  RealMessenger(const std::string& self, const std::string& peer)
      : runtime_(std::make_unique<LinuxRuntime>(1)), peer_(*InetAddressAndPort::parse(peer, kDefaultStoragePort)) {
    CHECK(runtime_->start().ok());
    LinkOptions options;
    options.self = *InetAddressAndPort::parse(self, kDefaultStoragePort);
    group_ = std::make_unique<MessengerGroup>(*runtime_, options);
    messenger_ = std::make_unique<Messenger>(*group_, 0);
    on_shard([&](std::promise<void>* done) {
      EXPECT_TRUE(messenger_->listen({self, kDefaultStoragePort}).ok());
      done->set_value();
    });
  }
  ~RealMessenger() {
    on_shard([&](std::promise<void>* done) { spawn(close(messenger_.get(), done)); });
    on_shard([&](std::promise<void>* done) {
      messenger_.reset();
      done->set_value();
    });
    runtime_->stop();
  }
  // A Cassandra that writes its schema to a busy disk does not answer in time.
  Bytes ask(Verb verb) {
    Bytes answer;
    for (int i = 0; i < 10 && answer.empty(); ++i) {
      on_shard([&](std::promise<void>* done) { spawn(wait(messenger_.get(), peer_, verb, &answer, done)); });
    }
    return answer;
  }
  void send(Verb verb, SharedBytes body) {
    on_shard([&](std::promise<void>* done) {
      EXPECT_TRUE(messenger_->send(peer_, verb, body));
      done->set_value();
    });
  }

 private:
  void on_shard(const std::function<void(std::promise<void>*)>& fn) {
    std::promise<void> done;
    runtime_->shard(0).executor.post([&] { fn(&done); });
    done.get_future().get();
  }
  static Task<void> wait(Messenger* messenger, InetAddressAndPort to, Verb verb, Bytes* out, std::promise<void>* done) {
    Task<Result<InboundMessage>> asking = messenger->request(to, verb, {});
    Result<InboundMessage> answer = co_await asking;
    if (answer.ok()) *out = Bytes(answer->payload);
    done->set_value();
  }
  static Task<void> close(Messenger* messenger, std::promise<void>* done) {
    co_await messenger->close();
    done->set_value();
  }

  std::unique_ptr<LinuxRuntime> runtime_;
  InetAddressAndPort peer_;
  std::unique_ptr<MessengerGroup> group_;
  std::unique_ptr<Messenger> messenger_;
};

TEST(RealCassandra, GivesItsSchemaAndTakesOurs) {
  const char* host = std::getenv("INTERNODE_PEER");
  if (host == nullptr) GTEST_SKIP() << "INTERNODE_PEER names no address";
  const char* self = std::getenv("INTERNODE_SELF");
  RealMessenger peer(self == nullptr ? "127.0.0.23" : self, host);
  auto version_of_peer = [&] { return decode_schema_version(peer.ask(Verb::kSchemaVersionReq))->to_string(); };
  const Bytes body = peer.ask(Verb::kSchemaPullReq);
  ReplicaNode node(2);
  merge_body(node, body);
  EXPECT_EQ(version(node), version_of_peer());
  if (const char* file = std::getenv("INTERNODE_RECORD")) {
    std::ofstream(file) << version_of_peer() << "\n" << to_hex(body) << "\n";
  }
  // Changes of this side, pushed as SchemaSync pushes them.
  auto change = [&](SchemaTransformation transformation) {
    auto changed = node.change(0, std::move(transformation));
    ASSERT_TRUE(changed.ok()) << changed.error().message();
    ASSERT_FALSE(changed->mutations.empty());
    peer.send(Verb::kSchemaPushReq, join_schema_mutations(changed->mutations));
    for (int i = 0; i < 100 && version_of_peer() != version(node); ++i) ::usleep(100'000);
    EXPECT_EQ(version_of_peer(), version(node));
  };
  // The simulated clock stands in the past: what was dropped once at a later time stays dropped.
  const std::string name = "ks" + std::to_string(::getpid());
  auto keyspace = std::make_shared<KeyspaceMetadata>();
  keyspace->name = name;
  keyspace->replication.options = {{"class", "org.apache.cassandra.locator.SimpleStrategy"},
                                   {"replication_factor", "1"}};
  change([&](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    return SchemaPtr(schema->with_keyspace(keyspace));
  });
  change([&](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    const TablePtr t = make_table("t");
    auto table = std::make_shared<TableMetadata>(name, "t", t->id, t->partition_key, t->clustering, t->regular_columns);
    return SchemaPtr(schema->with_keyspace(with_table(*schema->keyspace(name), std::move(table))));
  });
  change([&](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> {
    auto table = std::make_shared<TableMetadata>(*schema->table(name, "t"));
    table->params.comment = "altered";
    return SchemaPtr(schema->with_keyspace(with_table(*schema->keyspace(name), std::move(table))));
  });
  change(
      [&](const SchemaPtr& schema, int64_t) -> Result<SchemaPtr> { return SchemaPtr(schema->without_keyspace(name)); });
  // The whole schema again changes nothing.
  using Exported = Result<std::vector<Bytes>>;
  Exported all = node.run<Exported>(0, [&] { return export_schema(&node.runtime(0), &node.on(0)); });
  ASSERT_TRUE(all.ok());
  peer.send(Verb::kSchemaPushReq, join_schema_mutations(*all));
  ::usleep(500'000);
  EXPECT_EQ(version_of_peer(), version(node));
}

}  // namespace
}  // namespace cassandra_like::test
