// The internode protocol's bytes are, each of them, what Cassandra 5.0.9's own classes write.
#include "tests/messaging/wire_oracle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "messaging/wire/batch_codec.h"
#include "messaging/wire/control_codec.h"
#include "messaging/wire/failure_codec.h"
#include "messaging/wire/handshake.h"
#include "messaging/wire/message.h"
#include "messaging/wire/mutation_codec.h"
#include "tests/model/model_testing.h"

namespace cassandra_like::messaging_test {
namespace {

constexpr int64_t kWhen = 1700000000000000;
const Uuid kBatchId = *Uuid::parse("4a1e9f20-8c53-11ee-b9d1-0242ac120002");
const Uuid kHostId = *Uuid::parse("a1b2c3d4-0000-4000-8000-00000000000f");

InetAddressAndPort endpoint(const std::string& host, int port) {
  return *InetAddressAndPort::parse(host, static_cast<uint16_t>(port));
}

TEST(Verb, HasCassandrasTable) {
  VerbTimeouts timeouts;
  timeouts.rpc = 10001;
  timeouts.write = 2002;
  timeouts.read = 5003;
  timeouts.range = 10004;
  timeouts.counter = 5005;
  timeouts.truncate = 60006;
  timeouts.repair = 120007;
  size_t at = 0;
  for (const WireCase& c : wire_cases("verb")) {
    SCOPED_TRACE(c[0]);
    const VerbInfo* info = find_verb(std::stoul(c[1]));
    ASSERT_NE(info, nullptr);
    const std::string priority = "P" + std::to_string(static_cast<int>(info->priority));
    const std::string response = info->response == Verb::kNoVerb ? "-" : verb_name(info->response);
    const bool never = info->timeout == VerbTimeout::kNone;
    const WireCase ours{info->name, std::to_string(static_cast<int>(info->verb)),
                        priority,   info->is_response ? "1" : "0",
                        response,   never ? "-" : std::to_string(timeouts.of(info->verb))};
    EXPECT_EQ(ours, c);
    EXPECT_EQ(&verb_at(verb_index(info->verb)), info);
    ++at;
  }
  EXPECT_EQ(at, kVerbCount);
  EXPECT_EQ(find_verb(7), nullptr);
  EXPECT_EQ(find_verb(127), nullptr);
  EXPECT_EQ(find_verb(16382), nullptr);
  EXPECT_EQ(find_verb(uint64_t{1} << 40), nullptr);
}

TEST(Verb, TravelsByPriorityAndSize) {
  EXPECT_EQ(connection_type_of(Verb::kGossipDigestSyn, 100), ConnectionType::kUrgent);
  EXPECT_EQ(connection_type_of(Verb::kMutationReq, 65524), ConnectionType::kSmall);
  EXPECT_EQ(connection_type_of(Verb::kMutationReq, 65525), ConnectionType::kLarge);
  EXPECT_EQ(connection_type_of(Verb::kGossipDigestAck, 65525), ConnectionType::kLarge);
}

TEST(Endpoint, HasCassandrasBytes) {
  for (const WireCase& c : wire_cases("endpoint")) {
    const InetAddressAndPort ours = endpoint(c[0], std::stoi(c[1]));
    Bytes bytes;
    append_endpoint(bytes, ours);
    EXPECT_EQ(to_hex(bytes), c[3]);
    EXPECT_EQ(bytes.size(), endpoint_size(ours));
    EXPECT_EQ(ours.to_string().substr(1), c[2].substr(c[2].find('/') + 1));
    Reader in(bytes);
    EXPECT_EQ(read_endpoint(in), ours);
    EXPECT_TRUE(in.at_end() && !in.failed());
    for (size_t size = 0; size < bytes.size(); ++size) {
      Reader cut(BytesView(bytes).substr(0, size));
      read_endpoint(cut);
      EXPECT_TRUE(cut.failed()) << size;
    }
  }
}

TEST(Endpoint, IsOrderedByItsBytes) {
  const std::vector<InetAddressAndPort> sorted{endpoint("0:0:0:0:0:0:0:1", 9), endpoint("10.0.0.1", 7001),
                                               endpoint("127.0.0.1", 7000), endpoint("127.0.0.1", 7001),
                                               endpoint("200.0.0.1", 1)};
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  EXPECT_NE(sorted[2], sorted[3]);
}

TEST(Handshake, HasCassandrasBytes) {
  for (const WireCase& c : wire_cases("initiate")) {
    Initiate initiate;
    initiate.versions = {std::stoi(c[0]), std::stoi(c[1])};
    initiate.type = static_cast<ConnectionType>(std::stoi(c[2]));
    initiate.framing = static_cast<Framing>(std::stoi(c[3]));
    initiate.from = endpoint(c[4], std::stoi(c[5]));
    Bytes bytes;
    append_initiate(bytes, initiate);
    EXPECT_EQ(to_hex(bytes), c[6]);
    Initiate read;
    auto size = decode_initiate(bytes + "more", &read);
    ASSERT_TRUE(size.ok()) << size.error().message();
    EXPECT_EQ(*size, bytes.size());
    EXPECT_EQ(read, initiate);
  }
  for (const WireCase& c : wire_cases("accept")) {
    const Accept accept{std::stoi(c[1]), std::stoi(c[0])};
    Bytes bytes;
    append_accept(bytes, accept);
    EXPECT_EQ(to_hex(bytes), c[2]);
    Accept read;
    auto size = decode_accept(bytes + "more", &read);
    ASSERT_TRUE(size.ok());
    EXPECT_EQ(*size, kAcceptSize);
    EXPECT_EQ(read, accept);
  }
}

// LZ4 frames are compared by their contents: two compressors may find different matches.
TEST(Frame, HasCassandrasBytes) {
  for (const WireCase& c : wire_cases("frame")) {
    const auto framing = static_cast<Framing>(std::stoi(c[0]));
    const bool self_contained = c[1] == "1";
    const Bytes content = wire_bytes(c[2]), theirs = wire_bytes(c[3]);
    SCOPED_TRACE(std::string(framing_name(framing)) + " of " + std::to_string(content.size()));
    Bytes whole, in_parts;
    append_segment(whole, content, self_contained, framing);
    const size_t begin = begin_segment(in_parts, framing);
    in_parts += content;
    end_segment(in_parts, begin, self_contained, framing);
    EXPECT_EQ(to_hex(whole), to_hex(in_parts));
    if (framing != Framing::kLz4) {
      EXPECT_EQ(to_hex(whole), c[3]);
    }
    for (const Bytes& bytes : {whole, theirs}) {
      Bytes scratch;
      Segment segment;
      const Bytes with_more = bytes + "more";
      ASSERT_EQ(read_segment(with_more, framing, scratch, &segment), SegmentStatus::kIntact);
      EXPECT_EQ(to_hex(segment.payload), c[2]);
      EXPECT_EQ(segment.self_contained, self_contained);
      EXPECT_EQ(segment.size, bytes.size());
      EXPECT_EQ(segment.payload_size, content.size());
      for (size_t size = 0; size < bytes.size(); ++size) {
        const BytesView cut = BytesView(bytes).substr(0, size);
        ASSERT_EQ(read_segment(cut, framing, scratch, &segment), SegmentStatus::kIncomplete);
      }
    }
  }
}

TEST(Message, HasCassandrasBytes) {
  for (const WireCase& c : wire_cases("message")) {
    SCOPED_TRACE(c[0]);
    const Bytes bytes = wire_bytes(c[5]);
    MessageHead head;
    auto whole = decode_message_head(bytes, size_t{1} << 20, &head);
    ASSERT_TRUE(whole.ok() && *whole);
    EXPECT_EQ(head.header.id, static_cast<uint64_t>(std::stoll(c[2])));
    EXPECT_STREQ(verb_name(head.header.verb), c[3].c_str());
    EXPECT_EQ(std::to_string(head.header.expires_in_millis), c[4]);
    EXPECT_EQ(head.message_size, bytes.size());
    const BytesView payload = BytesView(bytes).substr(head.head_size);
    Bytes known, patched;
    append_message_head(known, head.header, payload.size());
    EXPECT_EQ(known.size(), message_head_size(head.header, payload.size()));
    known += payload;
    EXPECT_EQ(to_hex(known), c[5]);
    MessageWriter writer(patched, head.header);
    writer.out() += payload;
    writer.finish();
    EXPECT_EQ(to_hex(patched), c[5]);
    for (size_t size = 0; size < head.head_size; ++size) {
      auto cut = decode_message_head(BytesView(bytes).substr(0, size), size_t{1} << 20, &head);
      ASSERT_TRUE(cut.ok() && !*cut) << size;
    }
  }
}

MessageHeader header_of(const std::string& name, Bytes* bytes) {
  for (const WireCase& c : wire_cases("message")) {
    if (c[0] == name) *bytes = wire_bytes(c[5]);
  }
  MessageHead head;
  auto whole = decode_message_head(*bytes, size_t{1} << 20, &head);
  CHECK(whole.ok() && *whole);
  return head.header;
}

TEST(Message, CarriesParams) {
  Bytes bytes, other, third;
  const MessageHeader traced = header_of("traced", &bytes);
  EXPECT_EQ(traced.params.trace_session(), kBatchId);
  EXPECT_EQ(traced.params.trace_type(), TraceType::kRepair);
  EXPECT_EQ(ParamsBuilder().trace(kBatchId, TraceType::kRepair).get().entries, traced.params.entries);

  const MessageHeader forwarded = header_of("forwarded", &bytes);
  EXPECT_EQ(forwarded.params.respond_to(), endpoint("127.0.0.2", 7000));
  EXPECT_EQ(forwarded.params.trace_session(), std::nullopt);
  ParamsBuilder respond_to;
  EXPECT_EQ(respond_to.respond_to(endpoint("127.0.0.2", 7000)).get().entries, forwarded.params.entries);

  const MessageHeader forward = header_of("forward", &other);
  std::vector<ParamsBuilder::Forward> targets;
  forward.params.for_each_forward([&](const InetAddressAndPort& to, uint32_t id) { targets.push_back({to, id}); });
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].to, endpoint("127.0.0.3", 7000));
  EXPECT_EQ(targets[1].to, endpoint("::1", 7001));
  EXPECT_EQ(targets[1].id, 1'000'000u);
  ParamsBuilder again;
  EXPECT_EQ(to_hex(again.forward_to(targets).get().entries), to_hex(forward.params.entries));

  const MessageHeader custom = header_of("custom", &third);
  std::vector<std::string> entries;
  custom.params.for_each_custom(
      [&](BytesView key, BytesView value) { entries.push_back(Bytes(key) + "=" + to_hex(value)); });
  EXPECT_THAT(entries, testing::ElementsAre("key=0102", "other="));
}

// A message that is passed on keeps what this node does not know.
TEST(Message, PassesUnknownParamsOn) {
  Bytes bytes;
  const MessageHeader forward = header_of("forward", &bytes);
  ParamsBuilder given;
  given.copy_without(forward.params, ParamType::kTraceType).add(static_cast<ParamType>(200), "later version's");
  ParamsBuilder passed;
  passed.copy_without(given.get(), ParamType::kForwardTo).respond_to(endpoint("10.0.0.1", 7000));
  MessageHeader header{.id = 1, .verb = Verb::kMutationReq, .params = passed.get()};
  Bytes out;
  append_message_head(out, header, 0);
  MessageHead head;
  auto whole = decode_message_head(out, 1000, &head);
  ASSERT_TRUE(whole.ok() && *whole);
  EXPECT_EQ(head.header.params.count, 2u);
  EXPECT_EQ(head.header.params.find(ParamType::kForwardTo), std::nullopt);
  EXPECT_EQ(head.header.params.find(static_cast<ParamType>(200)), "later version's");
  EXPECT_EQ(head.header.params.respond_to(), endpoint("10.0.0.1", 7000));
}

std::string refusal(BytesView message) {
  MessageHead head;
  auto whole = decode_message_head(message, 1000, &head);
  return whole.ok() ? "none" : whole.error().message();
}

TEST(Message, IsRefusedByName) {
  Bytes message;
  append_message_head(message, {.id = 1, .verb = Verb::kEchoReq}, 994);
  EXPECT_EQ(refusal(message), "Message of size 1005 bytes exceeds allowed maximum of 1000 bytes");
  EXPECT_EQ(refusal(wire_bytes("0100000000000700")), "Unknown verb id 7");
  EXPECT_EQ(refusal(wire_bytes("010000000000c0400000")), "Unknown verb id 16384");
  EXPECT_EQ(refusal(wire_bytes("01000000000003f0ffffffff0000")), "message flags 4294967295 are no 32-bit number");
  EXPECT_EQ(refusal(wire_bytes("010000000000030001010100")), "malformed message param of type 1, 1 bytes long");
  EXPECT_EQ(refusal(wire_bytes("010000000000030000ffffffffffffffffff")),
            "Message of size 18446744073709551615 bytes exceeds allowed maximum of 1000 bytes");
}

TEST(Message, WasCreatedWhenCassandraSays) {
  for (const WireCase& c : wire_cases("created")) {
    SCOPED_TRACE(c[0] + " at " + c[1]);
    bool was_bad = false;
    const int64_t now = std::stoll(c[1]), created = std::stoll(c[2]);
    EXPECT_EQ(created_at_millis(static_cast<uint32_t>(std::stoul(c[0])), now, &was_bad), created);
    const auto low = static_cast<uint32_t>(std::stoul(c[0]));
    EXPECT_EQ(was_bad, created == now && low != static_cast<uint32_t>(now));
  }
}

TEST(MutationCodec, HasCassandrasBytes) {
  const Bytes one = wire_payload("mutation one"), two = wire_payload("mutation two");
  Arena arena;
  for (const Bytes& bytes : {one, two}) {
    auto mutation = decode_mutation(bytes, model_testing::table_by_id, arena);
    ASSERT_TRUE(mutation.ok()) << mutation.error().message();
    Bytes again;
    serialize(*mutation, again);
    EXPECT_EQ(to_hex(again), to_hex(bytes));
    EXPECT_FALSE(decode_mutation(bytes + "x", model_testing::table_by_id, arena).ok());
  }
  Bytes schema;
  append_schema_mutations(schema, std::vector<BytesView>{one, two});
  EXPECT_EQ(to_hex(schema), to_hex(wire_payload("schema")));
  auto mutations = decode_schema_mutations(schema, model_testing::table_by_id, arena);
  ASSERT_TRUE(mutations.ok());
  ASSERT_EQ(mutations->size(), 2u);
  EXPECT_EQ((*mutations)[1].key.key, "two");
  EXPECT_TRUE(decode_schema_mutations(wire_payload("empty schema"), model_testing::table_by_id, arena)->empty());
}

TEST(MutationCodec, HasCassandrasCounterMutations) {
  Arena arena;
  for (const WireCase& c : wire_cases("counter")) {
    Bytes bytes;
    append_counter_mutation(bytes, wire_bytes(c[1]), c[0]);
    EXPECT_EQ(to_hex(bytes), c[2]);
    auto counter = decode_counter_mutation(bytes, model_testing::table_by_id, arena);
    ASSERT_TRUE(counter.ok()) << counter.error().message();
    EXPECT_EQ(counter->consistency, c[0]);
    EXPECT_EQ(to_hex(counter->serialized), c[1]);
    EXPECT_EQ(counter->mutation.updates.size(), 1u);
    EXPECT_FALSE(decode_counter_mutation(bytes + "x", model_testing::table_by_id, arena).ok());
  }
}

TEST(MutationCodec, HasCassandrasHints) {
  const Bytes one = wire_payload("mutation one");
  const HintMessage hint{kHostId, kWhen / 1000, 864000, one};
  Bytes bytes;
  append_hint_message(bytes, hint);
  EXPECT_EQ(to_hex(bytes), to_hex(wire_payload("hint")));
  auto read = decode_hint_message(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->host_id, kHostId);
  EXPECT_EQ(read->created_millis, kWhen / 1000);
  EXPECT_EQ(read->gc_grace_seconds, 864000);
  EXPECT_EQ(read->mutation, one);
}

TEST(BatchCodec, HasCassandrasBytes) {
  const Bytes one = wire_payload("mutation one"), two = wire_payload("mutation two");
  Bytes bytes, empty, id;
  append_batch(bytes, kBatchId, kWhen, std::vector<BytesView>{one, two});
  append_batch(empty, kBatchId, kWhen, {});
  append_batch_id(id, kBatchId);
  EXPECT_EQ(to_hex(bytes), to_hex(wire_payload("batch")));
  EXPECT_EQ(to_hex(empty), to_hex(wire_payload("empty batch")));
  EXPECT_EQ(to_hex(id), to_hex(wire_payload("batch id")));
  auto batch = decode_batch(bytes);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->id, kBatchId);
  EXPECT_EQ(batch->created_micros, kWhen);
  EXPECT_THAT(batch->mutations, testing::ElementsAre(one, two));
  EXPECT_EQ(*decode_batch_id(id), kBatchId);
}

TEST(ControlCodec, HasCassandrasBytes) {
  Bytes request, response, failed, version;
  append_truncate_request(request, {"ks", "a_table"});
  append_truncate_response(response, {"ks", "a_table", true});
  append_truncate_response(failed, {"", "t", false});
  append_schema_version(version, kHostId);
  EXPECT_EQ(to_hex(request), to_hex(wire_payload("truncate request")));
  EXPECT_EQ(to_hex(response), to_hex(wire_payload("truncate response")));
  EXPECT_EQ(to_hex(failed), to_hex(wire_payload("failed truncate response")));
  EXPECT_EQ(to_hex(version), to_hex(wire_payload("schema version")));
  EXPECT_EQ(*decode_truncate_request(request), (TruncateRequest{"ks", "a_table"}));
  EXPECT_EQ(*decode_truncate_response(response), (TruncateResponse{"ks", "a_table", true}));
  EXPECT_EQ(*decode_truncate_response(failed), (TruncateResponse{"", "t", false}));
  EXPECT_EQ(*decode_schema_version(version), kHostId);
  for (const WireCase& c : wire_cases("ping")) {
    Bytes ping;
    append_ping_request(ping, static_cast<ConnectionType>(std::stoi(c[0])));
    EXPECT_EQ(to_hex(ping), c[1]);
    EXPECT_EQ(static_cast<int>(*decode_ping_request(ping)), std::stoi(c[0]));
  }
  EXPECT_FALSE(decode_ping_request(BytesView("\0", 1)).ok());
  EXPECT_FALSE(decode_ping_request("\4").ok());
}

TEST(FailureCodec, HasCassandrasReasons) {
  size_t at = 0;
  for (const WireCase& c : wire_cases("failure")) {
    const auto reason = static_cast<RequestFailureReason>(at++);
    EXPECT_EQ(failure_reason_name(reason), c[0]);
    Bytes bytes;
    append_failure_reason(bytes, reason);
    EXPECT_EQ(to_hex(bytes), c[1]);
    EXPECT_EQ(*decode_failure_reason(bytes), reason);
  }
  EXPECT_EQ(at, 8u);
  EXPECT_EQ(*decode_failure_reason("\x20"), RequestFailureReason::kUnknown);
  EXPECT_FALSE(decode_failure_reason("").ok());
}

// Whatever is cut off is missed, and nothing is allocated for what is announced and does not come.
TEST(Bodies, AreRefusedWhenTheyAreCut) {
  Arena arena;
  const Bytes batch = wire_payload("batch"), hint = wire_payload("hint"), schema = wire_payload("schema"),
              truncate = wire_payload("truncate response");
  for (size_t n = 0; n < batch.size(); ++n) EXPECT_FALSE(decode_batch(BytesView(batch).substr(0, n)).ok()) << n;
  for (size_t n = 0; n < truncate.size(); ++n) {
    EXPECT_FALSE(decode_truncate_response(BytesView(truncate).substr(0, n)).ok()) << n;
  }
  for (size_t n = 0; n < hint.size(); ++n) EXPECT_FALSE(decode_hint_message(BytesView(hint).substr(0, n)).ok()) << n;
  for (size_t n = 0; n < schema.size(); ++n) {
    EXPECT_FALSE(decode_schema_mutations(BytesView(schema).substr(0, n), model_testing::table_by_id, arena).ok()) << n;
  }
  EXPECT_FALSE(decode_schema_mutations(wire_bytes("7fffffff"), model_testing::table_by_id, arena).ok());
  EXPECT_FALSE(decode_batch(wire_bytes("00000000000000000000000000000000"
                                       "0000000000000000"
                                       "ffffffffffffffffff00"))
                   .ok());
}

}  // namespace
}  // namespace cassandra_like::messaging_test
