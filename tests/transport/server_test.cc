// Clients of a server: pipelining, answers that come later, limits, slow and silent clients, events, draining.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transport/harness.h"
#include "transport/segment.h"

namespace cassandra_like::transport_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Statements that end when the test says so.
struct Later {
  explicit Later(FakeProcessor& processor) {
    processor.on_request = [this](const std::string&) {
      promises.push_back(std::make_unique<Promise<Result<QueryResult>>>());
      return wait(promises.back().get());
    };
  }
  static Task<Result<QueryResult>> wait(Promise<Result<QueryResult>>* promise) { co_return co_await *promise; }
  void finish(size_t i) { promises[i]->set(QueryResult{}); }
  std::vector<std::unique_ptr<Promise<Result<QueryResult>>>> promises;
};

TEST(Pipelining, AnswersEverythingThatOneReadBroughtInOneWrite) {
  for (int version : {3, 4, 5}) {
    TestServer test;
    TestClient client(test, version);
    Bytes requests;
    for (int16_t stream = 0; stream < 100; ++stream) {
      client.codec.append(requests, Opcode::kQuery, stream, query_body(version, "SELECT", {}));
    }
    const int writes = client.connection->writes;
    client.connection->arrive(requests);
    EXPECT_EQ(client.connection->writes, writes + 1);
    for (int16_t stream = 0; stream < 100; ++stream) {
      std::optional<ClientResponse> response = client.response();
      ASSERT_TRUE(response && response->get<ClientVoid>());
      EXPECT_EQ(response->header.stream, stream);
    }
    EXPECT_EQ(test.server->metrics().request_micros.count(), 101u);
  }
}

TEST(Pipelining, LooksAheadToWhatWillBeExecuted) {
  using Expected = std::vector<std::pair<std::string, std::string>>;
  for (int version : {3, 4, 5}) {
    TestServer test;
    TestClient client(test, version);
    auto expected_of = [&](std::string_view values) {
      test.processor.expected.clear();
      Bytes frames, segments;
      for (const char& value : values) {
        ClientQueryOptions options;
        options.values = {BytesView(&value, 1)};
        const size_t begin = begin_frame(frames, version, Opcode::kExecute, 1);
        frames += execute_body(version, "\x01\x02", "r", options);
        end_frame(frames, begin);
      }
      append_segments(segments, frames, Framing::kCrc);
      client.connection->arrive(version >= 5 ? segments : frames);
      return test.processor.expected;
    };
    EXPECT_EQ(expected_of("ab"), (Expected{{"0102", "0000000161"}, {"0102", "0000000162"}}));
    EXPECT_EQ(expected_of("a"), Expected()) << "it would wait as long for memory now as later";
    EXPECT_EQ(test.processor.log.size(), 3u);
    EXPECT_EQ(expected_of(std::string(40, 'x')).size(), 40u);
    EXPECT_EQ(test.processor.log.size(), 43u);
  }
}

TEST(Pipelining, AnswersWhatMustWaitWhenItIsDoneAndTogether) {
  TestServer test;
  Later later(test.processor);
  TestClient client(test, 4);
  for (int16_t stream = 1; stream <= 4; ++stream) client.query("INSERT", stream);
  EXPECT_FALSE(client.response());
  EXPECT_EQ(test.server->metrics().requests_in_flight, 4u);

  const int writes = client.connection->writes;
  later.finish(2);
  later.finish(0);
  std::optional<ClientResponse> first = client.response();
  std::optional<ClientResponse> second = client.response();
  EXPECT_EQ(first->header.stream, 3);
  EXPECT_EQ(second->header.stream, 1);
  EXPECT_EQ(client.connection->writes, writes + 1);
  later.finish(1);
  EXPECT_EQ(client.response()->header.stream, 2);
  later.finish(3);
  EXPECT_EQ(client.response()->header.stream, 4);
  EXPECT_EQ(test.server->metrics().requests_in_flight, 0u);
  EXPECT_EQ(test.server->metrics().request_bytes_in_flight, 0u);
}

TEST(Pipelining, SurvivesAClientThatLeavesBeforeItsAnswer) {
  TestServer test;
  Later later(test.processor);
  TestClient client(test, 5);
  client.query("INSERT");
  client.connection->client_closes();
  test.executor.run();
  EXPECT_THAT(test.server->clients(), ElementsAre());
  later.finish(0);
  test.executor.run();
  EXPECT_EQ(test.server->metrics().requests_in_flight, 0u);
}

TEST(LargeMessages, SpanSegments) {
  for (Compression compression : {Compression::kNone, Compression::kLz4}) {
    TestServer test;
    TestClient client(test, 5, compression);
    Bytes value;  // that does not compress
    for (uint64_t i = 0, x = 1; i < 500'000; ++i)
      value.push_back(static_cast<char>((x = x * 6364136223846793005 + 1) >> 56));
    test.processor.on_request = [&](const std::string& asked) {
      EXPECT_EQ(asked.size(), std::string("query INSERT () 1").size() + 2 * value.size());
      RowsResult rows;
      rows.metadata = make_result_metadata({{"k", "t", "c", types::blob()}});
      rows.row_count = 1;
      append_element(rows.rows, value);
      return Task<Result<QueryResult>>(Result<QueryResult>(QueryResult{.value = std::move(rows)}));
    };
    client.query("INSERT", 7, {.values = {value}});
    std::optional<ClientResponse> response = client.response();
    ASSERT_TRUE(response && response->get<ClientRows>());
    EXPECT_EQ(response->header.stream, 7);
    EXPECT_EQ(response->get<ClientRows>()->rows[0][0], value);
    // The connection goes on.
    client.send(Opcode::kOptions, 8, "");
    EXPECT_TRUE(client.response()->get<ClientSupported>());
  }
}

TEST(FrameSize, OfV3AndV4IsLimited) {
  TransportOptions options;
  options.max_frame_size = 1000;
  TestServer test(options);
  TestClient client(test, 4);
  client.query(std::string(2000, 'x'), 5);
  client.query("SELECT", 6);
  std::optional<ClientResponse> refused = client.response();
  EXPECT_EQ(refused->header.stream, 5);
  EXPECT_EQ(refused->get<ErrorInfo>()->code, ErrorCode::kInvalid);
  EXPECT_EQ(refused->get<ErrorInfo>()->message, "Request is too big: length 2016 exceeds maximum allowed length 1000.");
  EXPECT_EQ(client.response()->header.stream, 6);
}

TEST(Versions, OldOnesMayBeRefusedWithTheNextFrame) {
  TestServer test;
  TestClient old(test, 4), current(test, 5);
  old.query("SELECT", 1);
  EXPECT_TRUE(old.response()->get<ClientVoid>());
  EXPECT_TRUE(test.server->allows_older_protocols());
  test.server->allow_older_protocols(false);
  old.query("SELECT", 2);
  std::optional<ClientResponse> refused = old.response();
  ASSERT_TRUE(refused && refused->get<ErrorInfo>());
  EXPECT_EQ(refused->get<ErrorInfo>()->code, ErrorCode::kProtocolError);
  current.query("SELECT", 3);
  EXPECT_TRUE(current.response()->get<ClientVoid>());
  test.server->allow_older_protocols(true);
  TestClient again(test, 4);
  again.query("SELECT", 4);
  EXPECT_TRUE(again.response()->get<ClientVoid>());
}

TEST(FrameSize, OfV5MessagesIsLimited) {
  TransportOptions options;
  options.max_message_size = 200'000;
  TestServer test(options);
  TestClient client(test, 5);
  client.query(std::string(300'000, 'x'), 5);
  EXPECT_EQ(client.error(), "2200 CQL Message of size 300010 bytes exceeds allowed maximum of 200000 bytes");
  client.query("SELECT", 6);
  EXPECT_EQ(client.response()->header.stream, 6);
}

TransportOptions limited_bytes() {
  TransportOptions options;
  options.max_request_bytes_in_flight = 250;
  options.max_request_bytes_in_flight_per_ip = 150;
  options.receive_queue_capacity = 0;
  return options;
}

TEST(BytesInFlight, ThatAreTooManyAreRefusedWhereTheClientAsksForIt) {
  for (int version : {4, 5}) {
    TestServer test(limited_bytes());
    Later later(test.processor);
    TestClient client(test, version, Compression::kNone, {{"THROW_ON_OVERLOAD", "1"}});
    client.query(std::string(100, 'x'), 1);
    client.query(std::string(100, 'x'), 2);
    const size_t size = query_body(version, std::string(100, 'x'), {}).size();
    EXPECT_EQ(client.error(),
              fmt::format("1001 Request breached limit on bytes in flight. (Endpoint: {}/150 bytes, Global: "
                          "{}/250 bytes.)Server is currently in an overloaded state and cannot accept more "
                          "requests.",
                          size, size));
    EXPECT_EQ(test.server->metrics().requests_discarded, 1u);
    // Another host has room, the third has none.
    TestClient other(test, version, Compression::kNone, {{"THROW_ON_OVERLOAD", "1"}}, "10.0.0.2");
    TestClient third(test, version, Compression::kNone, {{"THROW_ON_OVERLOAD", "1"}}, "10.0.0.3");
    other.query(std::string(100, 'x'), 1);
    EXPECT_FALSE(other.response());
    third.query(std::string(100, 'x'), 1);
    EXPECT_THAT(third.error(), HasSubstr("1001 "));
    later.finish(0);
    later.finish(1);
    EXPECT_TRUE(client.response()->get<ClientVoid>());
    client.query(std::string(100, 'x'), 3);
    EXPECT_FALSE(client.response());
    later.finish(2);
    EXPECT_EQ(client.response()->header.stream, 3);
    EXPECT_TRUE(other.response()->get<ClientVoid>());
  }
}

TEST(BytesInFlight, ThatAreTooManyStopReadingOtherwise) {
  for (int version : {4, 5}) {
    TestServer test(limited_bytes());
    Later later(test.processor);
    TestClient client(test, version);
    for (int16_t stream = 1; stream <= 3; ++stream) client.query(std::string(100, 'x'), stream);
    // The second is run although it is too much; the third waits in the socket.
    EXPECT_EQ(test.processor.log.size(), 2u);
    EXPECT_TRUE(client.connection->paused);
    EXPECT_EQ(test.server->metrics().paused_connections, 1u);
    later.finish(0);
    test.executor.run();
    EXPECT_EQ(test.processor.log.size(), 3u);
    EXPECT_TRUE(client.response()->warnings.empty());
    later.finish(1);
    EXPECT_THAT(client.response()->warnings,
                ElementsAre("Request breached limit(s) on bytes in flight (Endpoint: 150, Global: 250) and triggered "
                            "backpressure."));
    later.finish(2);
    test.executor.run();
    EXPECT_FALSE(client.connection->paused);
    EXPECT_EQ(test.server->metrics().paused_connections, 0u);
  }
}

TEST(BytesInFlight, OfAV5ConnectionDoNotCountUpToItsOwnCapacity) {
  TransportOptions options = limited_bytes();
  options.receive_queue_capacity = 1000;
  TestServer test(options);
  Later later(test.processor);
  TestClient client(test, 5);
  for (int16_t stream = 0; stream < 8; ++stream) client.query(std::string(100, 'x'), stream);
  EXPECT_EQ(test.processor.log.size(), 8u);
  EXPECT_FALSE(client.connection->paused);
  for (size_t i = 0; i < 8; ++i) later.finish(i);
}

TEST(RequestsAtOnce, OfAConnectionAreLimited) {
  TransportOptions options;
  options.max_requests_per_connection = 2;
  TestServer test(options);
  Later later(test.processor);
  TestClient client(test, 5);
  Bytes requests;  // in one segment each; all in one read
  for (int16_t stream = 1; stream <= 4; ++stream) {
    client.codec.append(requests, Opcode::kQuery, stream, query_body(5, "INSERT", {}));
  }
  client.connection->arrive(requests);
  EXPECT_EQ(test.processor.log.size(), 2u);
  later.finish(1);
  EXPECT_EQ(client.response()->header.stream, 2);
  EXPECT_EQ(test.processor.log.size(), 3u);
  later.finish(0);
  EXPECT_EQ(client.response()->header.stream, 1);
  later.finish(2);
  EXPECT_EQ(client.response()->header.stream, 3);
  later.finish(3);
  EXPECT_EQ(client.response()->header.stream, 4);
}

TEST(RequestsAtOnce, StopWithinASegmentToo) {
  TransportOptions options;
  options.max_requests_per_connection = 1;
  TestServer test(options);
  Later later(test.processor);
  TestClient client(test, 5, Compression::kLz4);
  Bytes frames;
  for (int16_t stream = 1; stream <= 3; ++stream) {
    const size_t begin = begin_frame(frames, 5, Opcode::kQuery, stream);
    frames += query_body(5, "INSERT", {});
    end_frame(frames, begin);
  }
  Bytes segment;
  append_segments(segment, frames, Framing::kLz4);
  client.connection->arrive(segment);
  for (int16_t stream = 1; stream <= 3; ++stream) {
    EXPECT_EQ(test.processor.log.size(), static_cast<size_t>(stream));
    later.finish(static_cast<size_t>(stream) - 1);
    EXPECT_EQ(client.response()->header.stream, stream);
  }
}

TEST(Rate, IsLimited) {
  TransportOptions options;
  options.rate_limiting_enabled = true;
  options.max_requests_per_second = 10;
  TestServer test(options);
  TestClient thrower(test, 4, Compression::kNone, {{"THROW_ON_OVERLOAD", "1"}});
  test.executor.advance(std::chrono::seconds(2));
  for (int16_t stream = 0; stream < 11; ++stream) thrower.query("SELECT", stream);
  for (int16_t stream = 0; stream < 10; ++stream) EXPECT_TRUE(thrower.response()->get<ClientVoid>()) << stream;
  EXPECT_EQ(thrower.error(),
            "1001 Request breached global limit of 10 requests/second. Server is currently in an overloaded state and "
            "cannot accept more requests.");

  test.executor.advance(std::chrono::seconds(2));
  TestClient waiter(test, 4);
  for (int16_t stream = 0; stream < 12; ++stream) waiter.query("SELECT", stream);
  const size_t at_once = test.processor.log.size();
  EXPECT_TRUE(waiter.connection->paused);
  test.executor.advance(std::chrono::seconds(1));
  EXPECT_EQ(test.processor.log.size(), 10u + 12u);
  EXPECT_LT(at_once, 10u + 12u);
  EXPECT_FALSE(waiter.connection->paused);
}

TEST(Connections, AreLimitedInAllAndPerHost) {
  TransportOptions options;
  options.max_connections = 3;
  options.max_connections_per_ip = 2;
  TestServer test(options);
  FakeConnection* first = test.connect("10.0.0.1");
  EXPECT_NE(first, nullptr);
  EXPECT_NE(test.connect("10.0.0.1"), nullptr);
  EXPECT_EQ(test.connect("10.0.0.1"), nullptr);
  EXPECT_NE(test.connect("10.0.0.2"), nullptr);
  EXPECT_EQ(test.connect("10.0.0.3"), nullptr);
  EXPECT_EQ(test.server->metrics().connections_refused, 2u);
  first->client_closes();
  test.executor.run();
  EXPECT_NE(test.connect("10.0.0.1"), nullptr);
}

TEST(Connections, AreLimitedOverAllShards) {
  TransportOptions options;
  options.shards = 2;
  options.max_connections_per_ip = 1;
  TestServer here(options);
  TestServer there(options);
  here.server->set_peers({here.server.get(), there.server.get()});
  there.server->set_peers({here.server.get(), there.server.get()});
  FakeConnection* connection = here.connect("10.0.0.1");
  there.executor.run();
  EXPECT_EQ(there.connect("10.0.0.1"), nullptr);
  EXPECT_NE(there.connect("10.0.0.2"), nullptr);
  connection->client_closes();
  here.executor.run();
  there.executor.run();
  EXPECT_NE(there.connect("10.0.0.1"), nullptr);
}

// Long reads look at this between their turns.
TEST(ClosedConnections, TellTheirStatementsThatNobodyWaits) {
  TestServer test;
  Later later(test.processor);
  TestClient client(test, 4), other(test, 4);
  other.query("SELECT 0");
  const Abandonment& of_other = *test.processor.last_client->abandonment;
  client.query("SELECT 1");
  const Abandonment& of_client = *test.processor.last_client->abandonment;
  EXPECT_FALSE(of_client.is_set());
  client.connection->client_closes();
  test.executor.run();
  EXPECT_TRUE(of_client.is_set());
  EXPECT_FALSE(of_other.is_set());
  later.finish(0);
  later.finish(1);
}

TEST(Silence, ClosesIdleConnections) {
  TransportOptions options;
  options.idle_timeout = std::chrono::seconds(10);
  TestServer test(options);
  TestClient busy(test, 4);
  TestClient silent(test, 4);
  for (int i = 0; i < 6; ++i) {
    test.executor.advance(std::chrono::seconds(2));
    busy.query("SELECT");
    EXPECT_TRUE(busy.response());
  }
  test.executor.advance(std::chrono::seconds(2));
  EXPECT_FALSE(busy.connection->closed);
  EXPECT_TRUE(silent.connection->closed);
}

TEST(Silence, WithinAFrameClosesTheConnection) {
  TestServer test;
  FakeConnection* whole = test.connect();
  FakeConnection* half = test.connect();
  TestClient segment(test, 5);
  half->arrive(BytesView("\x04\x00\x00\x00\x05\x00\x00\x00\x05half", 13));
  segment.connection->arrive(BytesView("\x10\x00\x02", 3));
  test.executor.advance(std::chrono::seconds(40));
  EXPECT_FALSE(half->closed);
  test.executor.advance(std::chrono::seconds(40));
  EXPECT_TRUE(half->closed);
  EXPECT_TRUE(segment.connection->closed);
  EXPECT_FALSE(whole->closed);
}

TEST(Events, ReachThoseWhoRegistered) {
  TestServer test;
  TestClient all(test, 3);
  TestClient schema(test, 5, Compression::kLz4);
  TestClient none(test, 4);
  all.send(Opcode::kRegister, 0, register_body({"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"}));
  schema.send(Opcode::kRegister, 0, register_body({"schema_change"}));
  EXPECT_EQ(all.response()->opcode(), Opcode::kReady);
  EXPECT_EQ(schema.response()->opcode(), Opcode::kReady);

  const SchemaEvent function{"CREATED", "FUNCTION", "ks", "f", {"int", "text"}};
  const SchemaEvent table{"DROPPED", "TABLE", "ks", "t", {}};
  test.schema.publish({function, table});
  EXPECT_EQ(*schema.response()->get<SchemaEvent>(), function);
  EXPECT_EQ(*schema.response()->get<SchemaEvent>(), table);
  // v3 knows no functions: the bytes are `UPDATED KEYSPACE ks` and an empty name, as Cassandra writes them.
  test.executor.run();
  const Bytes sent = all.connection->sent;
  EXPECT_THAT(to_hex(sent), testing::StartsWith("8300ffff0c"));
  EXPECT_THAT(sent, HasSubstr(std::string("\0\x07UPDATED\0\x08KEYSPACE\0\x02ks\0\0", 25)));
  all.connection->sent.clear();

  test.server->node_up({"10.1.2.3", 9042});
  test.server->node_up({"10.1.2.3", 9042});
  test.server->node_added({"::1", 9043});
  const ClientResponse up = *all.response();
  EXPECT_EQ(up.header.stream, -1);
  EXPECT_EQ(up.get<ClientNodeEvent>()->kind, "STATUS_CHANGE");
  EXPECT_EQ(up.get<ClientNodeEvent>()->change, "UP");
  EXPECT_EQ(to_hex(up.get<ClientNodeEvent>()->address), "0a010203");
  EXPECT_EQ(up.get<ClientNodeEvent>()->port, 9042);
  const ClientResponse added = *all.response();
  EXPECT_EQ(added.get<ClientNodeEvent>()->kind, "TOPOLOGY_CHANGE");
  EXPECT_EQ(added.get<ClientNodeEvent>()->change, "NEW_NODE");
  EXPECT_EQ(added.get<ClientNodeEvent>()->address.size(), 16u);
  EXPECT_FALSE(all.response());
  test.server->node_down({"10.1.2.3", 9042});
  test.server->node_up({"10.1.2.3", 9042});
  EXPECT_EQ(all.response()->get<ClientNodeEvent>()->change, "DOWN");
  EXPECT_EQ(all.response()->get<ClientNodeEvent>()->change, "UP");
  EXPECT_FALSE(schema.response());
  EXPECT_FALSE(none.response());
  EXPECT_EQ(test.server->metrics().events_sent, 8u);
}

TEST(Tracing, TellsWhatWasAsked) {
  TestServer test;
  TestClient client(test, 5);
  client.send(Opcode::kQuery, 1, query_body(5, "SELECT 1", {.consistency = Consistency::kQuorum, .page_size = 100}),
              kFlagTracing);
  EXPECT_EQ(client.response()->tracing_id, FakeTrace::next_id);
  EXPECT_EQ(FakeTrace::last_request, "Execute CQL3 query");
  EXPECT_EQ(FakeTrace::last_parameters, (std::map<std::string, std::string>{{"query", "SELECT 1"},
                                                                            {"page_size", "100"},
                                                                            {"consistency_level", "QUORUM"},
                                                                            {"serial_consistency_level", "SERIAL"}}));
  client.send(Opcode::kPrepare, 1, prepare_body(5, "SELECT 2"), kFlagTracing);
  EXPECT_TRUE(client.response()->tracing_id);
  EXPECT_EQ(FakeTrace::last_request, "Preparing CQL3 query");
  EXPECT_EQ(FakeTrace::last_parameters, (std::map<std::string, std::string>{{"query", "SELECT 2"}}));
}

// settraceprobability: the session is written, and the client is not told of it.
TEST(Tracing, OfRequestsThatDidNotAskForIt) {
  auto settings = std::make_shared<TraceSettings>();
  TransportOptions options;
  options.trace_settings = settings;
  TestServer test(options);
  TestClient client(test, 5);
  auto is_traced = [&](const std::string& query) {
    FakeTrace::last_parameters.clear();
    client.send(Opcode::kQuery, 1, query_body(5, query, {}));
    EXPECT_FALSE(client.response()->tracing_id);
    return FakeTrace::last_parameters.contains("query");
  };
  EXPECT_FALSE(is_traced("SELECT 1"));
  settings->probability = 1;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(is_traced("SELECT 2"));
  settings->probability = 0;
  EXPECT_FALSE(is_traced("SELECT 3"));
}

TEST(Clients, AreListedWithTheirFacts) {
  TestServer test;
  TestClient client(test, 4, Compression::kSnappy, {{"DRIVER_NAME", "Driver"}, {"driver_version", "1.2"}});
  FakeConnection* fresh = test.connect("::1");
  test.processor.on_request = [](const std::string&) {
    return Task<Result<QueryResult>>(Result<QueryResult>(QueryResult{.value = SetKeyspaceResult{"ks"}}));
  };
  client.query("USE ks");
  EXPECT_EQ(client.response()->get<ClientSetKeyspace>()->keyspace, "ks");
  const std::vector<ClientInfo> clients = test.server->clients();
  ASSERT_EQ(clients.size(), 2u);
  EXPECT_EQ(clients[0].address.to_string(), "10.0.0.1:40000");
  EXPECT_STREQ(connection_stage_name(clients[0].stage), "ready");
  EXPECT_EQ(clients[0].user, "anonymous");
  EXPECT_EQ(clients[0].keyspace, "ks");
  EXPECT_EQ(clients[0].protocol_version, 4);
  EXPECT_EQ(clients[0].driver_name, "Driver");
  EXPECT_EQ(clients[0].driver_version, "1.2");
  EXPECT_EQ(clients[0].compression, "snappy");
  EXPECT_EQ(clients[0].requests, 2u);
  EXPECT_EQ(clients[0].options.at("DRIVER_VERSION"), "1.2");
  EXPECT_EQ(clients[1].address.host, "::1");
  EXPECT_STREQ(connection_stage_name(clients[1].stage), "established");
  EXPECT_EQ(clients[1].user, "");
  ASSERT_EQ(test.server->client_history().size(), 1u);
  EXPECT_EQ(test.server->client_history()[0].host, "10.0.0.1");
  EXPECT_EQ(test.server->client_history()[0].protocol_version, 4);
  EXPECT_EQ(test.server->metrics().connected_clients, 2u);
  fresh->client_closes();
}

TEST(ShardAwareness, IsAnnouncedWhereItIsEnabled) {
  TransportOptions options;
  options.shards = 4;
  options.shard_aware = true;
  TestServer test(options);
  TestClient client(test, 4);
  client.send(Opcode::kOptions, 0, "");
  std::map<std::string, std::vector<std::string>> supported = client.response()->get<ClientSupported>()->options;
  EXPECT_EQ(supported["SCYLLA_SHARD"], std::vector<std::string>{"0"});
  EXPECT_EQ(supported["SCYLLA_NR_SHARDS"], std::vector<std::string>{"4"});
  EXPECT_EQ(supported["SCYLLA_SHARDING_ALGORITHM"], std::vector<std::string>{"biased-token-round-robin"});
  EXPECT_EQ(supported["SCYLLA_SHARDING_IGNORE_MSB"], std::vector<std::string>{"12"});
  EXPECT_EQ(supported["SCYLLA_PARTITIONER"], std::vector<std::string>{"org.apache.cassandra.dht.Murmur3Partitioner"});
}

Task<void> stop_server(Server* server, bool* stopped) {
  co_await server->stop();
  *stopped = true;
}

TEST(Stopping, AnswersWhatIsInFlightAndMayBeUndone) {
  TestServer test;
  Later later(test.processor);
  TestClient client(test, 5);
  client.query("INSERT", 1);
  bool stopped = false;
  spawn(stop_server(test.server.get(), &stopped));
  test.executor.run();
  EXPECT_FALSE(test.server->running());
  EXPECT_FALSE(stopped);
  client.query("INSERT", 2);  // too late
  later.finish(0);
  EXPECT_EQ(client.response()->header.stream, 1);
  EXPECT_FALSE(client.response());
  EXPECT_TRUE(client.connection->closed);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(test.processor.log.size(), 1u);
  EXPECT_TRUE(test.server->start().ok());
  TestClient again(test, 5);
  EXPECT_EQ(again.startup.opcode(), Opcode::kReady);
}

TEST(Stopping, DoesNotWaitForever) {
  TestServer test;
  Later later(test.processor);
  TestClient waiting(test, 4);
  TestClient deaf(test, 4);
  deaf.connection->block();
  deaf.send(Opcode::kOptions, 0, "");
  waiting.query("INSERT", 1);
  bool stopped = false;
  spawn(stop_server(test.server.get(), &stopped));
  test.executor.advance(std::chrono::seconds(11));
  EXPECT_FALSE(stopped);
  EXPECT_FALSE(waiting.connection->closed);
  test.executor.advance(std::chrono::seconds(2));
  EXPECT_TRUE(waiting.connection->closed);
  deaf.connection->drain();
  test.executor.advance(std::chrono::seconds(2));
  EXPECT_TRUE(stopped);
  later.finish(0);  // nobody is left to be told
}

Bytes large_query(size_t size) {
  Bytes frame;
  const size_t begin = begin_frame(frame, 4, Opcode::kQuery, 1);
  frame += query_body(4, std::string(size, 'x'), {});
  end_frame(frame, begin);
  return frame;
}

TEST(BytesInFlight, ALargeFrameCountsBeforeItIsWhole) {
  TransportOptions options;
  options.max_request_bytes_in_flight = 300'000;
  TestServer test(options);
  TestClient first(test, 4), second(test, 4), small(test, 4);
  const Bytes frame = large_query(200'000);
  first.connection->arrive(BytesView(frame).substr(0, 100'000));
  EXPECT_FALSE(first.connection->paused);
  second.connection->arrive(BytesView(frame).substr(0, 100'000));
  EXPECT_TRUE(second.connection->paused);
  small.query("INSERT", 1);
  EXPECT_TRUE(small.response()->get<ClientVoid>());
  // Closed, it counts no more.
  first.connection->client_closes();
  test.executor.run();
  EXPECT_FALSE(second.connection->paused);
  second.connection->arrive(BytesView(frame).substr(100'000));
  EXPECT_TRUE(second.response()->get<ClientVoid>());
  EXPECT_EQ(test.server->metrics().paused_connections, 0u);
}

TEST(BytesInFlight, AFrameLargerThanTheLimitMayComeAlone) {
  TransportOptions options;
  options.max_request_bytes_in_flight = 100'000;
  TestServer test(options);
  TestClient client(test, 4);
  const Bytes frame = large_query(200'000);
  client.connection->arrive(BytesView(frame).substr(0, 100'000));
  EXPECT_FALSE(client.connection->paused);
  client.connection->arrive(BytesView(frame).substr(100'000));
  EXPECT_TRUE(client.response()->get<ClientVoid>());
}

TEST(Frames, OneThatExpandsBeyondTheLimitIsRefused) {
  TransportOptions options;
  options.max_frame_size = 1 << 20;
  TestServer test(options);
  TestClient client(test, 4, Compression::kLz4);
  Bytes body;
  compress_body(Compression::kLz4, Bytes(2 << 20, '\0'), body);
  Bytes frame;
  const size_t begin = begin_frame(frame, 4, Opcode::kQuery, 1, kFlagCompressed);
  frame += body;
  end_frame(frame, begin);
  client.connection->arrive(frame);
  EXPECT_EQ(client.error(), "2200 Request is too big: length 2097161 exceeds maximum allowed length 1048576.");
  client.query("INSERT", 2);
  EXPECT_TRUE(client.response()->get<ClientVoid>());
}

Bytes empty_frame(int version, uint8_t opcode) {
  Bytes frame;
  end_frame(frame, begin_frame(frame, version, static_cast<Opcode>(opcode), 1));
  return frame;
}

TEST(Frames, OfAResponseOrAnUnknownOpcodeAreAnsweredAndPassedOver) {
  TestServer test;
  TestClient client(test, 4);
  client.connection->arrive(empty_frame(4, static_cast<uint8_t>(Opcode::kResult)) + empty_frame(4, 17));
  EXPECT_EQ(client.error(), "000a Wrong protocol direction (expected RESPONSE, got REQUEST) for opcode 8 (RESULT)");
  EXPECT_EQ(client.error(), "000a Unknown opcode 17");
  client.query("INSERT", 2);
  EXPECT_TRUE(client.response()->get<ClientVoid>());
}

TEST(Frames, WhoseOpcodeCouldNotBeOneCloseTheConnection) {
  TestServer test;
  for (int opcode : {128, 255}) {
    TestClient old(test, 4), segmented(test, 5);
    // Before all of it is there.
    Bytes begun = empty_frame(4, static_cast<uint8_t>(opcode));
    store_be(begun.data() + 5, int32_t{100});
    old.connection->arrive(begun);
    EXPECT_TRUE(old.connection->closed);
    EXPECT_FALSE(old.response());
    Bytes segment;
    append_segments(segment, empty_frame(5, static_cast<uint8_t>(opcode)), Framing::kCrc);
    segmented.connection->arrive(segment);
    EXPECT_EQ(segmented.error(), fmt::format("000a Unknown opcode {}", opcode));
    EXPECT_TRUE(segmented.connection->closed);
  }
}

// The socket's buffer never holds more of it than came at once.
TEST(Frames, LargeOnesAreTakenAsTheyCome) {
  for (Compression compression : {Compression::kNone, Compression::kLz4}) {
    TestServer test;
    TestClient client(test, 4, compression);
    std::string text;  // that does not compress
    for (uint64_t i = 0, x = 1; i < 200'000; ++i) {
      text.push_back(static_cast<char>('0' + ((x = x * 6364136223846793005 + 1) >> 57) % 64));
    }
    Bytes frames;
    client.codec.append(frames, Opcode::kQuery, 1, query_body(4, text, {}), 0);
    client.codec.append(frames, Opcode::kQuery, 2, query_body(4, "SELECT", {}), 0);
    for (BytesView rest = frames; !rest.empty();) {
      const BytesView piece = rest.substr(0, 30'000);
      ASSERT_EQ(client.connection->handler->on_received(piece), piece.size());
      rest.remove_prefix(piece.size());
    }
    client.connection->flush();
    EXPECT_EQ(client.response()->header.stream, 1);
    EXPECT_EQ(client.response()->header.stream, 2);
    ASSERT_EQ(test.processor.log.size(), 2u);
    EXPECT_THAT(test.processor.log[0], HasSubstr(text));
    EXPECT_EQ(test.server->metrics().request_bytes_in_flight, 0u);
  }
}

// A stranger's frame must not take room because its header says so.
TEST(Frames, OfStrangersAreSmall) {
  TransportOptions options;
  options.authenticator = "PasswordAuthenticator";
  options.max_request_bytes_in_flight = 300'000;
  TestServer test(options);
  auto header = [](int version, Opcode opcode, int32_t length) {
    Bytes frame;
    end_frame(frame, begin_frame(frame, version, opcode, 7));
    store_be(frame.data() + 5, length);
    return frame;
  };
  auto refusal = [](const char* opcode) {
    return fmt::format(
        "000a The connection is not yet in a valid state to process multi frame CQL Messages, usually "
        "thismeans that authentication is still pending. type = {}, size = 200000",
        opcode);
  };
  for (int version : {3, 4, 5}) {
    for (Opcode opcode : {Opcode::kStartup, Opcode::kOptions}) {
      FakeConnection* stranger = test.connect();
      stranger->arrive(header(version, opcode, 200'000));
      ClientCodec codec(version, Compression::kNone);
      ASSERT_TRUE(codec.feed(stranger->sent));
      auto answer = codec.next();
      ASSERT_TRUE(answer && answer->get<ErrorInfo>()) << version;
      EXPECT_EQ(answer->header.stream, 7);
      EXPECT_EQ("000a " + answer->get<ErrorInfo>()->message, refusal(opcode_name(opcode)));
      EXPECT_TRUE(stranger->closed);
    }
  }
  TestClient client(test, 4);
  client.connection->arrive(header(4, Opcode::kAuthResponse, 200'000));
  EXPECT_EQ(client.error(), refusal("AUTH_RESPONSE"));
  EXPECT_TRUE(client.connection->closed);
}

}  // namespace
}  // namespace cassandra_like::transport_test
