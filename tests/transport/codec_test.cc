// Encodings that the recorded sessions do not reach. Expected bytes follow native_protocol_v3/v4/v5.spec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cql/context/paging_state.h"
#include "tests/transport/harness.h"
#include "transport/request.h"
#include "transport/response.h"
#include "transport/segment.h"

namespace cassandra_like::transport_test {
namespace {

std::string error_hex(int version, const ErrorInfo& error) {
  Bytes out;
  append_error(out, version, error);
  return to_hex(out);
}

TEST(Errors, OfTimeouts) {
  ErrorInfo write{.code = ErrorCode::kWriteTimeout, .message = "w", .consistency = 4, .required = 2, .received = 1};
  write.write_type = "SIMPLE";
  for (int version : {3, 4, 5}) {
    EXPECT_EQ(error_hex(version, write),
              "00001100"
              "000177"
              "0004"
              "00000001"
              "00000002"
              "000653494d504c45");
  }
  ErrorInfo cas = write;
  cas.write_type = "CAS";
  cas.contentions = 7;
  EXPECT_EQ(error_hex(4, cas),
            "00001100"
            "000177"
            "0004"
            "00000001"
            "00000002"
            "0003434153");
  EXPECT_EQ(error_hex(5, cas),
            "00001100"
            "000177"
            "0004"
            "00000001"
            "00000002"
            "0003434153"
            "0007");
  ErrorInfo read{
      .code = ErrorCode::kReadTimeout, .message = "r", .consistency = 1, .required = 1, .data_present = true};
  EXPECT_EQ(error_hex(4, read),
            "00001200"
            "000172"
            "0001"
            "00000000"
            "00000001"
            "01");
  ErrorInfo unavailable{
      .code = ErrorCode::kUnavailable, .message = "u", .consistency = 5, .required = 3, .received = 2};
  EXPECT_EQ(error_hex(3, unavailable),
            "00001000"
            "000175"
            "0005"
            "00000003"
            "00000002");
}

TEST(Errors, OfFailures) {
  ErrorInfo read{
      .code = ErrorCode::kReadFailure, .message = "r", .consistency = 4, .required = 2, .received = 1, .failures = 1};
  read.failure_reasons = {{Bytes("\x7f\0\0\x01", 4), 1}};
  EXPECT_EQ(error_hex(3, read),
            "00001200"
            "000172"
            "0004"
            "00000001"
            "00000002"
            "00");
  EXPECT_EQ(error_hex(4, read),
            "00001300"
            "000172"
            "0004"
            "00000001"
            "00000002"
            "00000001"
            "00");
  EXPECT_EQ(error_hex(5, read),
            "00001300"
            "000172"
            "0004"
            "00000001"
            "00000002"
            "00000001"
            "047f0000010001"
            "00");
  ErrorInfo write = read;
  write.code = ErrorCode::kWriteFailure;
  write.write_type = "BATCH";
  EXPECT_EQ(error_hex(3, write),
            "00001100"
            "000172"
            "0004"
            "00000001"
            "00000002"
            "00054241544348");
  EXPECT_EQ(error_hex(5, write),
            "00001500"
            "000172"
            "0004"
            "00000001"
            "00000002"
            "00000001"
            "047f0000010001"
            "00054241544348");
}

TEST(Errors, ThatOldVersionsDoNotKnow) {
  ErrorInfo function{
      .code = ErrorCode::kFunctionFailure, .message = "f", .keyspace = "ks", .table = "fn", .arg_types = {"int"}};
  EXPECT_EQ(error_hex(4, function),
            "00001400"
            "000166"
            "00026b73"
            "0002666e"
            "00010003696e74");
  EXPECT_EQ(error_hex(3, function),
            "00002200"
            "0019" +
                to_hex("ERROR FUNCTION_FAILURE: f"));
  ErrorInfo cdc{.code = ErrorCode::kCdcWriteFailure, .message = "c"};
  EXPECT_EQ(error_hex(4, cdc),
            "00001600"
            "000163");
  EXPECT_EQ(error_hex(3, cdc),
            "00002200"
            "001a" +
                to_hex("ERROR CDC_WRITE_FAILURE: c"));
  ErrorInfo unknown{
      .code = ErrorCode::kCasWriteUnknown, .message = "u", .consistency = 8, .required = 2, .received = 1};
  EXPECT_EQ(error_hex(5, unknown),
            "00001700"
            "000175"
            "0008"
            "00000001"
            "00000002");
  EXPECT_EQ(error_hex(4, unknown),
            "00001100"
            "000175"
            "0008"
            "00000001"
            "00000002"
            "0003434153");
  EXPECT_EQ(error_hex(4, {.code = ErrorCode::kDiskFull, .message = "d"}),
            "00000000"
            "000164");
}

TEST(Types, ThatAVersionDoesNotKnowAreCustom) {
  auto hex = [](int version, const TypePtr& type) {
    Bytes out;
    append_type(out, version, *type);
    return to_hex(out);
  };
  auto custom = [](const std::string& name) {
    Bytes out("\0\0", 2);
    append_string(out, "org.apache.cassandra.db.marshal." + name);
    return to_hex(out);
  };
  EXPECT_EQ(hex(3, types::smallint()), custom("ShortType"));
  EXPECT_EQ(hex(4, types::smallint()), "0013");
  EXPECT_EQ(hex(3, types::list(types::date(), false)), "0020" + custom("SimpleDateType"));
  EXPECT_EQ(hex(4, types::map(types::tinyint(), types::duration(), true)), "00210014" + custom("DurationType"));
  EXPECT_EQ(hex(5, types::duration()), "0015");
  EXPECT_EQ(hex(5, types::reversed(types::int_())), "0009");
  EXPECT_EQ(hex(5, types::tuple({types::int_(), types::text()})), "003100020009000d");
}

TEST(Segments, HoldAsManyWholeFramesAsFit) {
  for (const Framing framing : {Framing::kCrc, Framing::kLz4}) {
    Bytes frames;
    for (int16_t i = 0; i < 300; ++i) {
      const size_t begin = begin_frame(frames, 5, Opcode::kQuery, i);
      for (int j = 0; j < 1000; ++j) frames.push_back(static_cast<char>(i * j));
      end_frame(frames, begin);
    }
    Bytes wire;
    append_segments(wire, frames, framing);
    Bytes scratch, got;
    std::vector<size_t> sizes;
    for (BytesView rest = wire; !rest.empty();) {
      Segment segment;
      ASSERT_EQ(read_segment(rest, framing, scratch, &segment), SegmentStatus::kIntact);
      EXPECT_TRUE(segment.self_contained);
      sizes.push_back(segment.payload.size());
      got += segment.payload;
      rest.remove_prefix(segment.size);
    }
    EXPECT_EQ(got, frames);
    EXPECT_THAT(sizes, testing::ElementsAre(129u * 1009, 129u * 1009, 42u * 1009));
  }
}

TEST(Segments, ShowAnyFlippedBit) {
  for (const Framing framing : {Framing::kCrc, Framing::kLz4}) {
    Bytes frame, wire, scratch;
    end_frame(frame, begin_frame(frame, 5, Opcode::kOptions, 1));
    append_segments(wire, frame, framing);
    for (size_t bit = 0; bit < wire.size() * 8; ++bit) {
      Bytes bad = wire;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
      Segment segment;
      const SegmentStatus status = read_segment(bad, framing, scratch, &segment);
      EXPECT_TRUE(status == SegmentStatus::kCorruptHeader || status == SegmentStatus::kCorruptPayload) << bit;
    }
  }
}

TEST(Compression, DoesNotAllocateWhatAFewBytesClaim) {
  Bytes out;
  EXPECT_FALSE(decompress_body(Compression::kLz4, BytesView("\x0f\xff\xff\xff\0", 5), out));
  EXPECT_FALSE(decompress_body(Compression::kLz4, BytesView("\x7f\xff\xff\xff\0", 5), out));
  EXPECT_FALSE(decompress_body(Compression::kSnappy, BytesView("\xff\xff\xff\x7f\0", 5), out));
  EXPECT_FALSE(decompress_body(Compression::kLz4, BytesView("\0\0", 2), out));
  EXPECT_LT(out.capacity(), 10'000u);
}

TEST(Requests, ThatAreTruncatedAnywhereAreRefused) {
  const BytesView value = "value";
  const Bytes state = serialize_paging_state({}, 5);
  const ClientQueryOptions all{.consistency = Consistency::kTwo,
                               .values = {value, kNull, kUnset},
                               .names = {"a", "b", "c"},
                               .skip_metadata = true,
                               .page_size = 10,
                               .paging_state = state,
                               .serial_consistency = Consistency::kLocalSerial,
                               .timestamp = 5,
                               .keyspace = "ks",
                               .now_seconds = 6};
  ClientQueryOptions plain = all;
  plain.names.clear();
  const std::vector<std::pair<Opcode, Bytes>> requests{
      {Opcode::kQuery, query_body(5, "SELECT", all)},
      {Opcode::kPrepare, prepare_body(5, "SELECT", "ks")},
      {Opcode::kExecute, execute_body(5, "id", "metadata id", plain)},
      {Opcode::kBatch, batch_body(5, 1, {{false, "INSERT", {value}}, {true, "id", {kUnset}}}, {})},
      {Opcode::kRegister, register_body({"SCHEMA_CHANGE"})},
      {Opcode::kStartup, startup_body({{"CQL_VERSION", "3.0.0"}})},
      {Opcode::kAuthResponse, auth_response_body("token")}};
  for (const auto& [opcode, body] : requests) {
    for (size_t size = 0; size <= body.size(); ++size) {
      Request request;
      request.header.version = 5;
      request.header.opcode = static_cast<uint8_t>(opcode);
      request.body = body.substr(0, size);
      Status status = decode_request(request);
      EXPECT_EQ(status.ok(), size == body.size()) << opcode_name(opcode) << " " << size;
      if (!status.ok()) {
        EXPECT_EQ(status.error().code(), ErrorCode::kProtocolError);
      }
    }
  }
}

TEST(Requests, CarryEveryOption) {
  Request request;
  request.header.version = 5;
  request.header.opcode = static_cast<uint8_t>(Opcode::kQuery);
  request.header.flags = kFlagCustomPayload;
  append_be(request.body, uint16_t{1});
  append_string(request.body, "key");
  append_value(request.body, "payload");
  const BytesView value = "value";
  const Bytes state = serialize_paging_state({}, 5);
  request.body += query_body(5, "SELECT",
                             {.consistency = Consistency::kTwo,
                              .values = {value, kNull, kUnset},
                              .names = {"a", "b", "c"},
                              .skip_metadata = true,
                              .page_size = 10,
                              .paging_state = state,
                              .serial_consistency = Consistency::kLocalSerial,
                              .timestamp = 5,
                              .keyspace = "ks",
                              .now_seconds = 6});
  ASSERT_TRUE(decode_request(request).ok());
  const QueryOptions& o = request.options;
  EXPECT_EQ(request.text, "SELECT");
  EXPECT_EQ(o.consistency, Consistency::kTwo);
  EXPECT_THAT(o.value_names, testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(o.values[0], "value");
  EXPECT_TRUE(is_null(o.values[1]));
  EXPECT_TRUE(is_unset(o.values[2]));
  EXPECT_TRUE(o.skip_metadata);
  EXPECT_EQ(o.page_size, 10);
  EXPECT_EQ(o.paging_state, state);
  EXPECT_EQ(o.serial_consistency, Consistency::kLocalSerial);
  EXPECT_EQ(o.timestamp, 5);
  EXPECT_EQ(o.keyspace, "ks");
  EXPECT_EQ(o.now_seconds, 6);
  EXPECT_EQ(o.protocol_version, 5);
}

TEST(Requests, WithAPagingStateThatIsNoneAreRefusedWhateverTheyAsk) {
  const std::vector<std::pair<Opcode, Bytes>> requests{
      {Opcode::kQuery, query_body(4, "UPDATE", {.paging_state = "garbage"})},
      {Opcode::kExecute, execute_body(4, "id", "", {.paging_state = ""})},
      {Opcode::kBatch, batch_body(4, 1, {{false, "INSERT", {}}}, {.paging_state = "garbage"})}};
  for (const auto& [opcode, body] : requests) {
    Request request;
    request.header.version = 4;
    request.header.opcode = static_cast<uint8_t>(opcode);
    request.body = body;
    Status status = decode_request(request);
    ASSERT_FALSE(status.ok()) << opcode_name(opcode);
    EXPECT_EQ(status.error().code(), ErrorCode::kProtocolError);
    EXPECT_EQ(status.error().message(), "Invalid value for the paging state");
  }
}

TEST(Strings, ThatAreTooLongEndBehindAWholeCharacter) {
  for (size_t before : {65'532u, 65'533u, 65'534u, 65'535u}) {
    Bytes out;
    append_string(out, std::string(before, 'x') + "\xE2\x82\xAC and more");
    const size_t size = before == 65'532 ? 65'535 : before;
    EXPECT_EQ(load_be<uint16_t>(out.data()), size);
    EXPECT_EQ(out.size(), 2 + size);
  }
}

}  // namespace
}  // namespace cassandra_like::transport_test
