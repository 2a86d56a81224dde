// Clients that do not take their answers: what they make the server hold is bounded, and given back.
#include <gtest/gtest.h>

#include "tests/transport/harness.h"

namespace cassandra_like::transport_test {
namespace {

TEST(SlowReaders, AreNotReadFrom) {
  TransportOptions options;
  options.max_unsent_bytes = 10'000;
  TestServer test(options);
  TestClient client(test, 4);
  test.processor.on_request = [](const std::string&) {
    QueryResult result;
    result.warnings.push_back(std::string(3000, 'w'));
    return Task<Result<QueryResult>>(Result<QueryResult>(std::move(result)));
  };
  client.connection->block();
  for (int16_t stream = 0; stream < 20; ++stream) client.query("SELECT", stream);
  test.executor.run();
  EXPECT_EQ(test.processor.log.size(), 4u);
  for (size_t served = 4; served < 20; served += 4) {
    client.connection->drain();
    client.connection->block();
    test.executor.run();
    EXPECT_EQ(test.processor.log.size(), served + 4);
  }
  client.connection->drain();
  for (int16_t stream = 0; stream < 20; ++stream) EXPECT_EQ(client.response()->header.stream, stream);
}

TEST(SlowReaders, AreReadFromAgainWhenTheyTookEverythingAtOnce) {
  TransportOptions options;
  options.max_unsent_bytes = 100;
  TestServer test(options);
  TestClient client(test, 4);
  Bytes requests;
  for (int16_t stream = 0; stream < 100; ++stream) {
    client.codec.append(requests, Opcode::kQuery, stream, query_body(4, "SELECT", {}));
  }
  client.connection->arrive(requests);
  for (int16_t stream = 0; stream < 100; ++stream) EXPECT_EQ(client.response()->header.stream, stream);
}

// Each answer is of 100,000 bytes.
struct LargeAnswers {
  explicit LargeAnswers(uint64_t max_total)
      : memory(std::make_shared<RequestMemory>(0, max_total)), test({}, options()) {
    test.processor.on_request = [](const std::string&) {
      return Task<Result<QueryResult>>(Result<QueryResult>(answer()));
    };
  }
  static QueryResult answer() {
    QueryResult result;
    result.warnings = {std::string(50'000, 'w'), std::string(50'000, 'w')};
    return result;
  }
  static Task<Result<QueryResult>> wait(Promise<Result<QueryResult>>* promise) { co_return co_await *promise; }
  CqlOptions options() const {
    CqlOptions options;
    options.request_memory = memory;
    return options;
  }
  std::shared_ptr<RequestMemory> memory;
  TestServer test;
};

TEST(SlowReaders, HoldTheMemoryOfTheirAnswers) {
  LargeAnswers large(1'000'000);
  const RequestMemory& memory = *large.memory;
  TestClient reads(large.test, 4);
  TestClient slow(large.test, 4);
  TestClient slow_in_segments(large.test, 5);
  reads.query("SELECT");
  large.test.executor.run();
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_TRUE(reads.response());

  for (TestClient* client : {&slow, &slow_in_segments}) {
    client->connection->block();
    client->query("SELECT", 1);
    client->query("SELECT", 2);
    large.test.executor.run();
    EXPECT_GT(memory.used(), 200'000u);
    EXPECT_LT(memory.used(), 202'000u);
    reads.query("SELECT");
    large.test.executor.run();
    EXPECT_LT(memory.used(), 202'000u);
    client->connection->drain();
    large.test.executor.run();
    EXPECT_EQ(memory.used(), 0u);
    EXPECT_TRUE(client->response());
    EXPECT_TRUE(client->response());
  }
}

TEST(SlowReaders, HoldNothingOnceTheyAreGone) {
  LargeAnswers large(1'000'000);
  TestClient slow(large.test, 4);
  slow.connection->block();
  slow.query("SELECT");
  large.test.executor.run();
  EXPECT_GT(large.memory->used(), 100'000u);
  slow.connection->client_closes();
  large.test.executor.run();
  EXPECT_EQ(large.memory->used(), 0u);
}

TEST(SlowReaders, HoldTheMemoryOfAnswersThatCameLater) {
  LargeAnswers large(1'000'000);
  Promise<Result<QueryResult>> first, second;
  large.test.processor.on_request = [&, asked = 0](const std::string&) mutable {
    return LargeAnswers::wait(asked++ == 0 ? &first : &second);
  };
  TestClient slow(large.test, 4);
  slow.connection->block();
  slow.query("SELECT", 1);
  slow.query("SELECT", 2);
  first.set(LargeAnswers::answer());
  second.set(LargeAnswers::answer());
  large.test.executor.run();
  EXPECT_GT(large.memory->used(), 200'000u);
  slow.connection->drain();
  large.test.executor.run();
  EXPECT_EQ(large.memory->used(), 0u);
}

TEST(SlowReaders, AreNotReadFromWhenTheMemoryOfAnswersIsFull) {
  LargeAnswers large(150'000);
  TestClient slow(large.test, 4);
  slow.connection->block();
  for (int16_t stream = 0; stream < 5; ++stream) slow.query("SELECT", stream);
  large.test.executor.run();
  EXPECT_EQ(large.test.processor.log.size(), 2u);
  TestClient reads(large.test, 4);
  reads.query("SELECT");
  EXPECT_TRUE(reads.response());
  slow.connection->drain();
  large.test.executor.run();
  EXPECT_EQ(large.test.processor.log.size(), 6u);
  for (int16_t stream = 0; stream < 5; ++stream) EXPECT_EQ(slow.response()->header.stream, stream);
  EXPECT_EQ(large.memory->used(), 0u);
}

}  // namespace
}  // namespace cassandra_like::transport_test
