// Whole sessions that were recorded with Cassandra 5.0.9 (data/capture.py), played against our server: whatever Cassandra
// answered must come out of it byte by byte. The processor is fed with what the recorded answers mean.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/transport/harness.h"
#include "transport/segment.h"

namespace cassandra_like::transport_test {
namespace {

struct Step {
  std::string name;
  Bytes sent;
  std::vector<Bytes> received;
  std::string end;  // of a raw one: open or closed
};

// In order; all sessions of the file.
std::map<std::string, std::vector<Step>> load_sessions() {
  std::map<std::string, std::vector<Step>> out;
  std::ifstream file(SOURCE_DIR "/tests/transport/data/sessions.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string session, name, direction, hex;
    words >> session >> name >> direction >> hex;
    Bytes data;
    CHECK(from_hex(hex, &data));
    std::vector<Step>& steps = out[session];
    if (direction == ">") {
      steps.push_back({name, data, {}, ""});
    } else if (direction == "<") {
      steps.back().received.push_back(data);
    } else {
      steps.back().end = direction;
    }
  }
  return out;
}

const std::map<std::string, std::vector<Step>>& sessions() {
  static const auto all = load_sessions();
  return all;
}

TypePtr to_type(const ClientType& type) {
  static const std::map<int, TypeKind> kSimple{
      {1, TypeKind::kAscii},   {2, TypeKind::kBigint},     {3, TypeKind::kBlob},     {4, TypeKind::kBoolean},
      {5, TypeKind::kCounter}, {6, TypeKind::kDecimal},    {7, TypeKind::kDouble},   {8, TypeKind::kFloat},
      {9, TypeKind::kInt},     {11, TypeKind::kTimestamp}, {12, TypeKind::kUuid},    {13, TypeKind::kText},
      {14, TypeKind::kVarint}, {15, TypeKind::kTimeuuid},  {16, TypeKind::kInet},    {17, TypeKind::kDate},
      {18, TypeKind::kTime},   {19, TypeKind::kSmallint},  {20, TypeKind::kTinyint}, {21, TypeKind::kDuration}};
  std::vector<TypePtr> elements;
  for (const ClientType& element : type.elements) elements.push_back(to_type(element));
  switch (type.id) {
    case 0: {
      Result<TypePtr> parsed = types::parse_class(type.name);
      CHECK(parsed.ok());
      return *parsed;
    }
    case 32:
      return types::list(elements[0], false);
    case 33:
      return types::map(elements[0], elements[1], false);
    case 34:
      return types::set(elements[0], false);
    case 48: {
      const size_t dot = type.name.find('.');
      return types::udt(type.name.substr(0, dot), type.name.substr(dot + 1), type.fields, elements, false);
    }
    case 49:
      return types::tuple(elements);
    default:
      return types::simple(kSimple.at(type.id));
  }
}

std::vector<ColumnSpec> to_columns(const std::vector<ClientColumn>& columns) {
  std::vector<ColumnSpec> out;
  for (const ClientColumn& c : columns) out.push_back({c.keyspace, c.table, c.name, to_type(c.type)});
  return out;
}

struct PreparedStatement : Statement {
  Task<Result<QueryResult>> execute(ExecutionContext&) const override { std::abort(); }
  StatementKind kind() const override { return StatementKind::kSelect; }
  ResultMetadataPtr result_metadata() const override { return metadata; }
  ResultMetadataPtr metadata;
};

// The results that the processor must return so that the server answers so.
class Replay {
 public:
  explicit Replay(FakeProcessor& processor) : processor_(processor) {}

  Result<QueryResult> result_of(const ClientResponse& response) {
    if (const auto* error = response.get<ErrorInfo>()) return Error(*error);
    QueryResult result;
    result.warnings = response.warnings;
    if (const auto* set = response.get<ClientSetKeyspace>()) result.value = SetKeyspaceResult{set->keyspace};
    if (const auto* change = response.get<SchemaEvent>()) result.value = SchemaChangeResult{*change};
    if (const auto* rows = response.get<ClientRows>()) result.value = rows_of(*rows);
    if (const auto* prepared = response.get<ClientPrepared>()) result.value = prepared_of(*prepared);
    return result;
  }

 private:
  RowsResult rows_of(const ClientRows& rows) {
    RowsResult out;
    // A skipped metadata is that of the statement executed before.
    Bytes id = last_prepared_ ? last_prepared_->id : "";
    if (!rows.metadata_id.empty()) id = rows.metadata_id;
    const bool is_skipped = (rows.flags & 4) != 0;
    out.metadata =
        std::make_shared<ResultMetadata>(is_skipped ? last_prepared_->columns : to_columns(rows.columns), id);
    out.row_count = static_cast<int32_t>(rows.rows.size());
    for (const auto& row : rows.rows) {
      for (const auto& cell : row) append_element(out.rows, cell ? BytesView(*cell) : kNull);
    }
    out.paging_state = rows.paging_state.value_or("");
    return out;
  }

  PreparedResult prepared_of(const ClientPrepared& prepared) {
    PreparedResult out;
    out.id = prepared.id;
    out.bind_variables = to_columns(prepared.variables);
    out.partition_key_indexes = prepared.partition_key_indexes;
    if (prepared.columns.empty()) return out;
    auto metadata = std::make_shared<ResultMetadata>(to_columns(prepared.columns), prepared.result_metadata_id);
    auto statement = std::make_shared<PreparedStatement>();
    statement->metadata = metadata;
    processor_.statements[out.id] = statement;
    out.metadata = last_prepared_ = metadata;
    return out;
  }

  FakeProcessor& processor_;
  ResultMetadataPtr last_prepared_;
};

// The frames in recorded bytes, bodies uncompressed: `header's first five bytes` and body.
std::vector<std::string> frames_of(BytesView data, Compression compression, bool segmented) {
  Bytes plain;
  Bytes scratch;
  while (segmented && !data.empty()) {
    Segment segment;
    EXPECT_EQ(read_segment(data, framing_of(compression), scratch, &segment), SegmentStatus::kIntact);
    plain += segment.payload;
    data.remove_prefix(segment.size);
  }
  if (segmented) data = plain;
  std::vector<std::string> out;
  while (!data.empty()) {
    const FrameHeader header = read_frame_header(data.data());
    BytesView body = data.substr(kFrameHeaderSize, static_cast<size_t>(header.length));
    Bytes uncompressed;
    if ((header.flags & kFlagCompressed) != 0) {
      EXPECT_TRUE(decompress_body(compression, body, uncompressed));
      body = uncompressed;
    }
    out.push_back(to_hex(data.substr(0, 5)) + " " + to_hex(body));
    data.remove_prefix(kFrameHeaderSize + static_cast<size_t>(header.length));
  }
  return out;
}

class GoldenSession : public testing::TestWithParam<const char*> {
 protected:
  int version() const { return GetParam()[1] - '0'; }
  Compression compression() const {
    return parse_compression(std::string_view(GetParam()).substr(3)).value_or(Compression::kNone);
  }

  // Makes the processor ready for what the step will ask.
  void prepare(const Step& step) {
    // The recorded codec's state is what the step needs to be decoded.
    std::vector<ClientResponse> responses;
    for (const Bytes& data : step.received) {
      EXPECT_TRUE(decoder_.feed(data)) << step.name;
      while (auto response = decoder_.next()) responses.push_back(std::move(*response));
    }
    test.processor.on_request = [this, responses](const std::string&) {
      Result<QueryResult> result = QueryResult{};
      std::vector<SchemaEvent> events;
      for (const ClientResponse& response : responses) {
        if (response.header.stream == kEventStream) {
          events.push_back(*response.get<SchemaEvent>());
        } else {
          result = replay_.result_of(response);
        }
      }
      if (!events.empty()) test.schema.publish(std::move(events));
      return Task<Result<QueryResult>>(std::move(result));
    };
    for (const ClientResponse& response : responses) {
      if (response.tracing_id) FakeTrace::next_id = *response.tracing_id;
    }
  }

  std::vector<std::string> recorded_frames(const Step& step, bool segmented) const {
    std::vector<std::string> out;
    for (const Bytes& data : step.received) {
      for (std::string& frame : frames_of(data, compression(), segmented)) out.push_back(std::move(frame));
    }
    return out;
  }

  TestServer test;

 private:
  ClientCodec decoder_{version(), compression()};
  Replay replay_{test.processor};
};

TEST_P(GoldenSession, IsAnsweredAsCassandraAnsweredIt) {
  FakeConnection* connection = test.connect();
  bool segmented = false;
  for (const Step& step : sessions().at(GetParam())) {
    SCOPED_TRACE(step.name);
    prepare(step);
    connection->sent.clear();
    connection->arrive(step.sent);
    test.executor.run();
    EXPECT_THAT(frames_of(connection->sent, compression(), segmented),
                testing::UnorderedElementsAreArray(recorded_frames(step, segmented)));
    // Without compression the bytes themselves are the same too, where there is one answer.
    if (compression() == Compression::kNone && step.received.size() == 1) {
      EXPECT_EQ(to_hex(connection->sent), to_hex(step.received[0]));
    }
    if (step.name == "startup") segmented = version() >= 5;
  }
}

TEST_P(GoldenSession, ReachesTheProcessorAsItWasMeant) {
  FakeConnection* connection = test.connect();
  for (const Step& step : sessions().at(GetParam())) {
    prepare(step);
    connection->arrive(step.sent);
  }
  const std::string session = GetParam();
  std::string keyspace = "golden_" + session;
  std::replace(keyspace.begin(), keyspace.end(), '-', '_');
  std::vector<std::string> expected{
      "prepare [] INSERT INTO t (k, c, v) VALUES (?, ?, ?)",
      "execute id1 (00000001, 61, 00000001) 1 timestamp=1000",
      "execute id1 (00000001, 62, 00000002) 1 timestamp=1001",
      "execute id1 (00000001, 63, 00000003) 1 timestamp=1002",
      "prepare [] SELECT c, v FROM t WHERE k = ?",
      "execute id2 (00000001) 1",
      "execute id2 (00000001) 1 skip",
      "execute id2 (00000002) 1",
      "query SELECT v FROM t WHERE k = :key AND c = :c (c=62, key=00000001) 1",
      "query SELECT * FROM t WHERE k = 1 1 page=2 serial=9",
      "execute id1 (00000001, 64, unset) 1",
      "batch 1 text:INSERT INTO t (k, c, v) VALUES (1, 'x', ?) (00000009) id:id1 (00000001, 79, null) 1 timestamp=2000",
      "query SELECT v FROM t WHERE k = 7 1 keyspace=" + keyspace + " now=1700000000",
      "prepare [" + keyspace + "] SELECT v FROM t WHERE k = ?",
      "query SELECT v FROM t WHERE k = 7 1 traced"};
  if (version() < 4) std::erase_if(expected, [](const auto& l) { return l.find("unset") != std::string::npos; });
  if (version() < 5) expected.erase(expected.end() - 3, expected.end() - 1);
  // The ids are numbered in the order in which they were first executed.
  std::vector<std::string> log = test.processor.log;
  std::vector<std::string> ids;
  for (std::string& line : log) {
    if (line.starts_with("execute ") && line.size() > 40 &&
        std::find(ids.begin(), ids.end(), line.substr(8, 32)) == ids.end())
      ids.push_back(line.substr(8, 32));
    for (size_t i = 0; i < ids.size(); ++i) {
      if (const size_t at = line.find(ids[i]); at != std::string::npos)
        line.replace(at, 32, fmt::format("id{}", i + 1));
    }
  }
  EXPECT_THAT(log, testing::IsSupersetOf(expected));
}

TEST_P(GoldenSession, MayArriveInSingleBytes) {
  FakeConnection* connection = test.connect();
  bool segmented = false;
  for (const Step& step : sessions().at(GetParam())) {
    SCOPED_TRACE(step.name);
    prepare(step);
    connection->sent.clear();
    for (const char& c : step.sent) {
      EXPECT_EQ(connection->sent, "");
      connection->arrive(BytesView(&c, 1));
    }
    test.executor.run();
    EXPECT_THAT(frames_of(connection->sent, compression(), segmented),
                testing::UnorderedElementsAreArray(recorded_frames(step, segmented)));
    if (step.name == "startup") segmented = version() >= 5;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenSession,
                         testing::Values("v3-plain", "v3-lz4", "v3-snappy", "v4-plain", "v4-lz4", "v4-snappy",
                                         "v5-plain", "v5-lz4", "v6-plain", "v6-lz4"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Like frames_of(), for a connection that goes over to segments after the first frame when it is v5's.
std::vector<std::string> raw_frames(const std::string& name, BytesView data, Compression compression) {
  // v1 and v2 have headers of their own.
  if (name == "version-1" || name == "version-2") return {to_hex(data)};
  if (!name.starts_with("v5-")) return frames_of(data, compression, false);
  std::vector<std::string> out = frames_of(data.substr(0, kFrameHeaderSize), compression, false);
  for (std::string& frame : frames_of(data.substr(kFrameHeaderSize), compression, true))
    out.push_back(std::move(frame));
  return out;
}

std::string hex_of_string(std::string_view text) {
  Bytes string;
  append_string(string, text);
  return to_hex(string);
}

// Bad input on a fresh connection, and whether Cassandra closed it.
TEST(GoldenErrors, AreThoseOfCassandra) {
  // Where Java's exceptions, or ids of its connections, show through; and where Cassandra closes without a word on
  // what does not decompress, or on a STARTUP that ends too early, which we name first.
  const std::map<std::string, std::string> kOurs{
      {"bad-utf8", "Cannot decode string as UTF8: 'c328'"},
      {"bad-lz4", "Provided frame does not appear to be LZ4 compressed"},
      {"bad-snappy", "Provided frame does not appear to be Snappy compressed"},
      {"truncated-startup", "Not enough bytes to read an UTF8 serialized string preceded by its 2 bytes length"},
      {"v5-short-header", "A segment ends with 2 bytes of a frame's header"},
      {"v5-short-envelope", "Frame of 109 bytes in a segment that has 12 left"},
      {"v5-bad-header-crc",
       "00000001 invalid, unrecoverable CRC mismatch detected in frame header. Read 12699813, Computed 12699812"},
      {"v5-bad-payload-crc",
       "00000001 invalid, unrecoverable CRC mismatch detected in frame body. Read 1797773272, Computed 1780996056"},
      {"v5-unsegmented",
       "00000001 invalid, unrecoverable CRC mismatch detected in frame header. Read 1289, Computed 2312196"}};
  for (const Step& step : sessions().at("raw")) {
    SCOPED_TRACE(step.name);
    TestServer test;
    FakeConnection* connection = test.connect();
    connection->arrive(step.sent);
    test.executor.run();
    Compression compression = Compression::kNone;
    if (step.name == "bad-lz4" || step.name == "not-compressed") compression = Compression::kLz4;
    if (step.name == "bad-snappy") compression = Compression::kSnappy;
    const std::vector<std::string> frames = raw_frames(step.name, connection->sent, compression);
    auto ours = kOurs.find(step.name);
    if (ours == kOurs.end()) {
      EXPECT_EQ(frames, raw_frames(step.name, step.received[0], compression));
    } else {
      ASSERT_EQ(frames.size(), step.name == "truncated-startup" ? 1u : 2u);  // (READY,) ERROR
      EXPECT_THAT(frames.back(), testing::EndsWith(" 0000000a" + hex_of_string(ours->second)));
    }
    EXPECT_EQ(connection->closed ? "closed" : "open", step.end);
  }
}

}  // namespace
}  // namespace cassandra_like::transport_test
