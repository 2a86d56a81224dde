// libFuzzer: arbitrary bytes to a server's connection, raw, after a STARTUP, and within segments whose checksums are right;
// and the same bytes to the client's decoder. Nothing may crash, and all memory is given back.
//   build/fuzz/frame_fuzzer -max_len=4096 corpus/
//
//   input := version, compression and mode:u8 size of the pieces that arrive:u8 (0: in one) bytes
#include "tests/fuzz/fuzz_target.h"
#include "tests/transport/harness.h"
#include "transport/segment.h"

namespace cassandra_like::transport_test {
namespace {

struct Kind {
  int version;
  Compression compression;
};
constexpr Kind kKinds[] = {{3, Compression::kNone},   {4, Compression::kLz4}, {4, Compression::kSnappy},
                           {5, Compression::kNone},   {5, Compression::kLz4}, {4, Compression::kNone},
                           {3, Compression::kSnappy}, {3, Compression::kLz4}};

Bytes startup_frame(const Kind& kind) {
  std::map<std::string, std::string> options{{"CQL_VERSION", "3.0.0"}};
  if (kind.compression != Compression::kNone) options["COMPRESSION"] = compression_name(kind.compression);
  Bytes out;
  const size_t begin = begin_frame(out, kind.version, Opcode::kStartup, 0);
  out += startup_body(options);
  end_frame(out, begin);
  return out;
}

// append_segments() wants whole frames, so the bytes are made one: a header is put in front of what is none.
Bytes in_segment(BytesView data, const Kind& kind) {
  Bytes frame;
  const uint8_t opcode = data.empty() ? 7 : static_cast<uint8_t>(data[0]) % 17;
  const size_t begin = begin_frame(frame, kind.version, static_cast<Opcode>(opcode), 1);
  frame.append(data.substr(data.empty() ? 0 : 1));
  end_frame(frame, begin);
  if (kind.version < 5) return frame;
  Bytes out;
  append_segments(out, frame, framing_of(kind.compression));
  return out;
}

void serve(BytesView data, const Kind& kind, int mode, size_t piece) {
  TransportOptions options;
  options.max_frame_size = options.max_message_size = 1 << 20;
  TestServer test(options);
  FakeConnection* connection = test.connect();
  if (mode > 0) connection->arrive(startup_frame(kind));
  Bytes wire = mode == 2 ? in_segment(data, kind) : Bytes(data);
  for (BytesView rest = wire; !rest.empty() && connection->handler != nullptr;) {
    connection->arrive(rest.substr(0, piece));
    rest.remove_prefix(std::min(piece, rest.size()));
    test.executor.run();
  }
}

}  // namespace

FUZZ_TARGET(frame) {
  if (input.size() < 2) return;
  const auto first = static_cast<uint8_t>(input[0]);
  const Kind& kind = kKinds[first % 8];
  const int mode = first / 8 % 3;
  const size_t piece = input[1] == 0 ? input.size() : static_cast<uint8_t>(input[1]);
  BytesView data = input.substr(2);
  serve(data, kind, mode, piece);
  ClientCodec codec(kind.version, kind.compression);
  while (!data.empty() && codec.feed(data.substr(0, piece))) data.remove_prefix(std::min(piece, data.size()));
}

}  // namespace cassandra_like::transport_test
