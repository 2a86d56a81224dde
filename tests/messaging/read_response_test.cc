// Thousands of reads, answered by Cassandra and by us: the same bytes and digests, wherever the partitions lie.
#include <cstdlib>
#include <fstream>

#include "messaging/read_command_codec.h"
#include "messaging/read_response.h"
#include "read/read_digest.h"
#include "read/response_writer.h"
#include "storage/engine/read_unfiltered_range.h"
#include "tests/messaging/read_oracle.h"
#include "tests/storage/fixture.h"

namespace cassandra_like::messaging_test {
namespace {

using storage_test::Node;

TablePtr find_oracle_table(const Uuid& id) { return oracle_data().table(id); }

std::unique_ptr<ReceivedReadRequest> decode(const Bytes& command, int version = kMessagingVersion50) {
  auto decoded = decode_read_request(command, version, find_oracle_table);
  EXPECT_TRUE(decoded.ok()) << decoded.error().message();
  return decoded.ok() ? std::move(*decoded) : nullptr;
}

// Passes partitions on to two sinks.
class Both : public UnfilteredSink {
 public:
  Both(UnfilteredSink& a, UnfilteredSink& b) : a_(a), b_(b) {}
  void begin_partition(const Partition& partition) override {
    a_.begin_partition(partition);
    b_.begin_partition(partition);
  }
  void unfiltered(const Unfiltered& unfiltered) override {
    a_.unfiltered(unfiltered);
    b_.unfiltered(unfiltered);
  }
  bool end_partition() override { return a_.end_partition() && b_.end_partition(); }

 private:
  UnfilteredSink &a_, &b_;
};

struct Answer {
  std::string error;
  Bytes partitions, digest;
};

// How a node with these shards does it.
struct Way {
  unsigned shards = 1;
  uint64_t turn = 1024;
  size_t read_ahead = size_t{1} << 20;
};

Task<Result<ReadStatistics>> read(Node& node, const Way& way, const ReadRequest& request, UnfilteredSink& sink) {
  if (way.shards == 1) return node.engine().read_unfiltered(request, sink);
  if (!request.command.range) {
    return node.engine(shard_of(request.command.keys[0].token, way.shards)).read_unfiltered(request, sink);
  }
  UnfilteredRangeRead range;
  range.runtime = &node.runtime();
  for (unsigned i = 0; i < way.shards; ++i) range.engines.push_back(&node.engine(i));
  range.request = &request;
  range.sink = &sink;
  return read_unfiltered_range(std::move(range));
}

Answer answer(Node& node, const Way& way, const ReadRequest& request) {
  Answer out;
  ResponseWriter writer(request, out.partitions);
  ReadDigest digest(request);
  Both both(writer, digest);
  auto done = node.run(read(node, way, request, both));
  if (!done.ok()) out.error = done.error().message();
  writer.finish();
  out.digest = digest.finish();
  return out;
}

void apply_all(Node& node, unsigned shards, size_t flush_after) {
  size_t applied = 0;
  for (const Bytes& bytes : oracle_data().mutations) {
    Arena arena;
    auto mutation = deserialize_mutation(
        bytes, [](const Uuid& id) { return find_oracle_table(id).get(); }, arena);
    ASSERT_TRUE(mutation.ok()) << mutation.error().message() << " " << to_hex(bytes);
    const unsigned shard = shard_of(mutation->key.token, shards);
    ASSERT_TRUE(node.run(node.engine(shard).apply(*mutation)).ok());
    if (++applied % flush_after == 0) node.flush();
  }
}

void expect_cassandras_answers(Node& node, const Way& way = {}) {
  size_t wrong = 0, at = 0;
  for (const OracleRead& read : oracle_data().reads) {
    SCOPED_TRACE("read " + std::to_string(at++));
    auto received = decode(read.command);
    ASSERT_NE(received, nullptr);
    ReadRequest& request = received->request;
    request.turn = way.turn;
    request.read_ahead = way.read_ahead;
    const Answer ours = answer(node, way, request);
    EXPECT_EQ(ours.error, "");
    EXPECT_EQ(to_hex(ours.partitions), to_hex(read.partitions));
    EXPECT_EQ(to_hex(ours.digest), to_hex(read.digest));
    wrong += ours.partitions != read.partitions || ours.digest != read.digest;
    ASSERT_LT(wrong, 5u);
  }
  EXPECT_GT(at, 3000u);
}

TEST(ReadResponse, FromAMemtable) {
  Node node(1, 1, {}, oracle_data().tables);
  apply_all(node, 1, SIZE_MAX);
  expect_cassandras_answers(node);
}

TEST(ReadResponse, FromSSTablesAndAMemtable) {
  Node node(1, 1, {}, oracle_data().tables);
  apply_all(node, 1, 70);
  expect_cassandras_answers(node);
}

TEST(ReadResponse, FromCompactedSSTablesAfterARestart) {
  Node node(1, 1, {}, oracle_data().tables);
  apply_all(node, 1, 150);
  // The oracle has kept all tombstones: none is old enough for this compaction, either.
  node.machine().shift_wall_clock(-std::chrono::hours(24 * 3650));
  node.compact();
  node.restart();
  expect_cassandras_answers(node);
}

TEST(ReadResponse, FromSeveralShards) {
  Node node(1, 3, {}, oracle_data().tables);
  apply_all(node, 3, SIZE_MAX);
  expect_cassandras_answers(node, {.shards = 3});
}

// Each shard has a partition at hand and no more, or the key of one.
TEST(ReadResponse, FromSeveralShardsInManySteps) {
  Node node(1, 3, {}, oracle_data().tables);
  apply_all(node, 3, SIZE_MAX);
  for (const size_t bytes : {1, 1000, 3000}) {
    expect_cassandras_answers(node, {.shards = 3, .turn = 2, .read_ahead = bytes});
  }
}

// A pause behind every row and every marker changes nothing of the answer.
TEST(ReadResponse, InManyTurns) {
  Node node(1, 1, {}, oracle_data().tables);
  apply_all(node, 1, 100);
  expect_cassandras_answers(node, {.turn = 1});
}

TEST(ReadCommand, HasCassandrasBytes) {
  for (const OracleRead& read : oracle_data().reads) {
    auto received = decode(read.command);
    ASSERT_NE(received, nullptr);
    for (int version : {kMessagingVersion40, kMessagingVersion50}) {
      Bytes encoded;
      encode_read_request(received->request, version, encoded);
      ASSERT_EQ(to_hex(encoded), to_hex(read.command));
    }
  }
}

// Whatever is missing at its end is missed.
TEST(ReadCommand, IsRefusedWhenItIsCut) {
  const Bytes& command = oracle_data().reads[0].command;
  for (size_t size = 0; size < command.size(); ++size) {
    auto decoded = decode_read_request(BytesView(command).substr(0, size), kMessagingVersion50, find_oracle_table);
    ASSERT_FALSE(decoded.ok()) << size;
  }
}

TEST(ReadCommand, TimesAfter2038AreVersion13s) {
  auto received = decode(oracle_data().reads[0].command);
  received->request.command.now_seconds = 3'000'000'000;
  Bytes encoded;
  encode_read_request(received->request, kMessagingVersion50, encoded);
  EXPECT_EQ(decode(encoded)->request.command.now_seconds, 3'000'000'000);
  EXPECT_EQ(decode(encoded, kMessagingVersion40)->request.command.now_seconds, 3'000'000'000 - (1LL << 32));
}

TEST(ReadCommand, NamesATableThatIsUnknown) {
  Bytes command = oracle_data().reads[0].command;
  auto decoded = decode_read_request(command, kMessagingVersion50, [](const Uuid&) { return TablePtr(); });
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().message(), "Couldn't find table with id 11111111-1111-1111-1111-111111111111");
}

TEST(ReadResponseBody, HasTheDataBehindItsLength) {
  DataResponse response;
  response.data() = response.data() + "partitions";
  const Bytes body(response.finish());
  EXPECT_EQ(to_hex(body),
            "000001"
            "0a" +
                to_hex("partitions"));
  auto parsed = parse_read_response(body);
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->is_digest());
  EXPECT_EQ(parsed->data, "partitions");
}

TEST(ReadResponseBody, IsADigest) {
  Bytes body;
  append_digest_response(body, "0123456789abcdef");
  auto parsed = parse_read_response(body);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->digest, "0123456789abcdef");
  EXPECT_FALSE(parse_read_response(BytesView(body).substr(0, 9)).ok());
}

// For ReadOracle.java, which reads them with Cassandra's own classes: READ_RESPONSES names the file.
TEST(ReadResponse, IsWrittenForCassandra) {
  const char* path = std::getenv("READ_RESPONSES");
  if (path == nullptr) GTEST_SKIP() << "READ_RESPONSES names no file";
  Node node(1, 1, {}, oracle_data().tables);
  apply_all(node, 1, SIZE_MAX);
  std::ofstream file(path, std::ios::binary);
  for (const OracleRead& read : oracle_data().reads) {
    auto received = decode(read.command);
    DataResponse response;
    ResponseWriter writer(received->request, response.data());
    ASSERT_TRUE(node.run(node.engine().read_unfiltered(received->request, writer)).ok());
    writer.finish();
    const BytesView body = response.finish();
    Bytes length;
    append_be(length, static_cast<uint32_t>(body.size()));
    file << length << body;
  }
}

}  // namespace
}  // namespace cassandra_like::messaging_test
