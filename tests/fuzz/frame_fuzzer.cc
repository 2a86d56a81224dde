// libFuzzer: arbitrary bytes to a server's connection, raw, after a STARTUP, and within segments whose checksums are right;
// and the same bytes to the client's decoder. Nothing may crash, and all memory is given back.
//   build/fuzz/frame_fuzzer -max_len=4096 corpus/
#include <cstdint>

#include "base/log.h"
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
  append_segments(out, frame, kind.compression == Compression::kLz4);
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
}  // namespace cassandra_like::transport_test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace cassandra_like;
  using namespace cassandra_like::transport_test;
  set_log_level(LogLevel::kOff);
  if (size < 2) return 0;
  const Kind& kind = kKinds[bytes[0] % 8];
  const int mode = bytes[0] / 8 % 3;
  const size_t piece = bytes[1] == 0 ? size : bytes[1];
  BytesView data(reinterpret_cast<const char*>(bytes) + 2, size - 2);
  serve(data, kind, mode, piece);
  ClientCodec codec(kind.version, kind.compression);
  while (!data.empty() && codec.feed(data.substr(0, piece))) data.remove_prefix(std::min(piece, data.size()));
  return 0;
}
